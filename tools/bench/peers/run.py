#!/usr/bin/env python3
"""run.py: profk and other selections on the same data, in the same session, in turns.

  tools/bench/peers/run.py [--grid | --batches | --small] [--n LIST] [--k LIST] [--rounds R] ...

What is missing is installed first, under build/peers (numpy, torch, faiss-cpu) and with apt-get (libboost-dev), unless
--skip-install.  In every round each peer gets its turn at each cell; the minimum of all calls counts.  A LIST is that
of `profk bench`: 1000,2^20 or 2^16..2^28*4.  The data are floats, normal unless --distribution says otherwise, made by
profk bench --dump.

What each one returns: profk (--sort none beside it) and torch.topk values and indices, by rank; numpy.argpartition
indices; the faiss heap values and indices; the rest values.  Those that change their input work on a copy, which is part
of their time.
"""
import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
WORK = ROOT / "build" / "peers"

PYTHON_PEERS = {"numpy.partition": "numpy", "numpy.argpartition": "numpy", "torch.topk": "torch",
                "faiss heap": "faiss-cpu"}
CPP_PEERS = ["std::partial_sort_copy", "std::nth_element", "boost.compute sort", "boost.compute nth_element"]
BATCHES = [(65536, 128, 8), (4096, 8192, 64), (1000000, 20, 3)]  # rows, n, k
SMALL_BATCHES = [(64, 128, 8), (16, 1024, 64), (1000, 20, 3)]


def note(text):
    print(text, file=sys.stderr, flush=True)


def stop(text):
    sys.exit("run.py: " + text)


def number(text):
    if not re.fullmatch(r"\d+(\^\d+)?", text):
        raise argparse.ArgumentTypeError(f"'{text}' is no number like 1000 or 2^20")
    base, _, exponent = text.partition("^")
    return int(base) ** int(exponent or 1)


def number_list(text):
    numbers = []
    for item in text.split(","):
        low, dots, rest = item.partition("..")
        parts = re.split(r"([*+])", rest)
        numbers.append(number(low))
        if not dots:
            continue
        high, step, by = number(parts[0]), parts[1] if len(parts) > 1 else "*", number(parts[2]) if len(parts) > 2 else 2
        if step == "*" and by < 2 or by < 1:
            raise argparse.ArgumentTypeError(f"'{item}' does not grow")
        while (following := numbers[-1] * by if step == "*" else numbers[-1] + by) <= high:
            numbers.append(following)
    return numbers


# --- installing -------------------------------------------------------------------------------------------------


def venv_python():
    return WORK / "venv" / "bin" / "python"


def has_boost():
    return any((Path(folder) / "boost" / "compute.hpp").exists() for folder in ("/usr/include", "/usr/local/include"))


def install(packages, want_boost):
    if not venv_python().exists():
        venv.create(WORK / "venv", with_pip=True)
    missing = [package for package in packages
               if subprocess.run([venv_python(), "-m", "pip", "show", "-q", package], capture_output=True).returncode]
    if missing:
        note("installing " + " ".join(missing) + " in build/peers/venv (torch is large)")
        subprocess.run([venv_python(), "-m", "pip", "install", "-q", *missing], check=True)
    if want_boost and not has_boost() and shutil.which("apt-get"):
        sudo = [] if os.geteuid() == 0 else ["sudo"]
        note("installing libboost-dev")
        subprocess.run([*sudo, "apt-get", "install", "-y", "-q", "--no-install-recommends", "libboost-dev"], check=False,
                       stdout=subprocess.DEVNULL)


def compile_peers():
    """Returns the C++ peers that were built."""
    boost = ["-DPEERS_BOOST", "-lOpenCL"] if has_boost() else []
    compiler = os.environ.get("CXX", "c++")
    for extra in ([boost] if not boost else [boost, []]):
        line = [compiler, "-std=c++17", "-O3", "-march=native", "-w", HERE / "peers.cpp", "-o", WORK / "peers", *extra]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode == 0:
            return CPP_PEERS if extra else CPP_PEERS[:2]
        note(f"peers.cpp does not build with {' '.join(extra) or 'plain ' + compiler}:\n{done.stderr[:2000]}")
    return []


# --- turns ------------------------------------------------------------------------------------------------------


class Worker:
    """worker.py, kept running; one a package, because each brings a runtime for its threads."""

    def __init__(self):
        self.process = None

    def ask(self, request):
        if not self.process:
            self.process = subprocess.Popen([venv_python(), HERE / "worker.py"], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, text=True)
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            self.process.kill()
            self.process = None
            return {"error": "its process died"}

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()


def ask_cpp(request, device):
    done = subprocess.run([WORK / "peers", request["peer"], request["path"]] +
                          [str(request[key]) for key in ("n", "k", "rows", "calls")] + [device],
                          capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr.strip()[-300:]}


def bench(arguments, *options):
    done = subprocess.run([arguments.profk, "bench", "--json", "-q", *options], capture_output=True, text=True)
    if done.returncode:
        stop(f"profk bench failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def ask_profk(arguments, request):
    cells = [bench(arguments, "--input", request["path"], "--dtype", "f32", "-n", str(request["n"]), "-k",
                   str(request["k"]), "--rows", str(request["rows"]), "--runs", str(request["calls"]), "--sort",
                   sort)["cells"][0] for sort in ("rank", "none")]
    return {"ms": [cells[0]["min_ms"], cells[0]["median_ms"]], "read_ms": min(cell["read_ms"] for cell in cells),
            "route": cells[0]["route"], "unsorted_ms": cells[1]["min_ms"]}


class Cell:
    """One shape: all times of everyone, and what they found."""

    def __init__(self, rows, n, k):
        self.rows, self.n, self.k = rows, n, k
        self.times, self.read, self.unsorted, self.route, self.kth, self.errors = {}, [], [], None, {}, {}

    def take(self, name, reply):
        if "error" in reply:
            self.errors[name] = reply["error"]
            note(f"{name}, n {self.n}, k {self.k}: {reply['error']}")
            return
        self.times.setdefault(name, []).append(reply["ms"])
        if name == "profk":
            self.read.append(reply["read_ms"])
            self.unsorted.append(reply["unsorted_ms"])
            self.route = reply["route"]
        else:
            self.kth[name] = reply["kth"]

    def times_of(self, name):
        """The minimum of all calls, and the median over rounds of each round's."""
        rounds = [min(ms) for ms in self.times[name]]
        return {"min_ms": min(rounds), "median_ms": statistics.median(rounds)}

    def result(self):
        if len(set(self.kth.values())) > 1:
            stop(f"the peers do not agree at n {self.n}, k {self.k}: {self.kth}")
        peers = {name: self.times_of(name) for name in self.times if name != "profk"}
        result = {"n": self.n, "k": self.k, "rows": self.rows, "dtype": "f32",
                  "profk": dict(self.times_of("profk"), read_ms=min(self.read), route=self.route,
                                unsorted_ms=min(self.unsorted)), "peers": peers,
                  "errors": self.errors}
        if peers:
            best = min(peers, key=lambda name: peers[name]["min_ms"])
            result["best_peer"] = best
            result["speedup"] = peers[best]["min_ms"] / result["profk"]["min_ms"]
        return result


def peers_of(cell, peers):
    for name in peers:
        if name == "faiss heap" and cell.rows == 1 or name.startswith("boost") and cell.rows > 1:
            continue
        if name not in cell.errors:
            yield name


def measure(arguments, cell, path, peers, device, workers):
    for _ in range(arguments.rounds):
        request = {"path": str(path), "n": cell.n, "k": cell.k, "rows": cell.rows, "calls": arguments.calls}
        cell.take("profk", ask_profk(arguments, request))
        for name in peers_of(cell, peers):
            turn = dict(request, peer=name)
            package = PYTHON_PEERS.get(name)
            cell.take(name, workers[package].ask(turn) if package else ask_cpp(turn, device))


# --- results ----------------------------------------------------------------------------------------------------


def mean_of(results):
    ratios = [cell["speedup"] for cell in results if "speedup" in cell]
    return math.exp(statistics.mean(map(math.log, ratios))) if ratios else None


def write_results(arguments, facts, results):
    """After each cell: what was measured survives an interruption."""
    data = {"bench": "peers", "device": facts["device"], "platform": facts["platform"], "driver": facts["driver"],
            "version": facts["version"], "rounds": arguments.rounds, "distribution": arguments.distribution,
            "geometric_mean": mean_of(results),
            "cells": results}
    written = arguments.json.with_suffix(".new")
    written.write_text(json.dumps(data, indent=1) + "\n")
    written.replace(arguments.json)


def print_results(results, peers):
    names = [name for name in peers if any(name in cell["peers"] for cell in results)]
    heading = ["rows", "n", "k", "read ms", "profk ms", "unsorted ms", "route"] + names + ["best peer / profk"]
    print("| " + " | ".join(heading) + " |\n|" + " ---: |" * len(heading))
    for cell in results:
        row = [cell["rows"], cell["n"], cell["k"], f"{cell['profk']['read_ms']:.3f}",
               f"{cell['profk']['min_ms']:.3f}", f"{cell['profk']['unsorted_ms']:.3f}", cell["profk"]["route"]]
        row += [f"{cell['peers'][name]['min_ms']:.3f}" if name in cell["peers"] else "-" for name in names]
        row.append(f"{cell['speedup']:.2f}" if "speedup" in cell else "-")
        print("| " + " | ".join(map(str, row)) + " |")


def power(n):
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else str(n)


def print_matrix(results):
    """Best peer over profk, a line for each n, a column for each k."""
    cells = {(cell["n"], cell["k"]): cell for cell in results if cell["rows"] == 1 and "speedup" in cell}
    ks = sorted({k for _, k in cells})
    if len(cells) < 2:
        return
    print("\n| n \\ k | " + " | ".join(map(power, ks)) + " |\n|" + " ---: |" * (len(ks) + 1))
    for n in sorted({n for n, _ in cells}):
        row = [f"{cells[n, k]['speedup']:.2f}" if (n, k) in cells else "-" for k in ks]
        print(f"| {power(n)} | " + " | ".join(row) + " |")


def summary(results):
    misses = [cell for cell in results if cell.get("speedup", 1.0) < 1.0]
    mean = mean_of(results)
    if mean is not None:
        print(f"\ngeometric mean of best peer / profk: {mean:.2f} over "
              f"{sum('speedup' in cell for cell in results)} cells; slower than the best peer in {len(misses)}")
    for cell in misses:
        best = cell["peers"][cell["best_peer"]]["min_ms"]
        print(f"  slower: rows {cell['rows']}, n {cell['n']}, k {cell['k']}: {cell['best_peer']} takes "
              f"{cell['speedup']:.2f} of profk's time, {best / cell['profk']['unsorted_ms']:.2f} of it unsorted")


def default_profk():
    for folder in ("release", "ci", "dev"):
        path = ROOT / "build" / folder / "tools" / "profk"
        if path.exists():
            return str(path)
    return "profk"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", action="store_true", help="single rows only (default: these and the batches)")
    parser.add_argument("--batches", action="store_true", help="the batches only")
    parser.add_argument("--small", action="store_true", help="tiny sizes, to try the script")
    parser.add_argument("--n", type=number_list, help="default 2^16..2^28*16")
    parser.add_argument("--k", type=number_list, help="default 2^3..2^18*8; those above n/4 are left out")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=5, help="calls of one turn at most; none starts after a second")
    parser.add_argument("--distribution", default="normal", help="one of profk bench's (default normal)")
    parser.add_argument("--peers", help="comma-separated; default: all of " + ", ".join([*PYTHON_PEERS, *CPP_PEERS]))
    parser.add_argument("--skip-install", action="store_true")
    parser.add_argument("--profk", default=default_profk(), help="the command (default: build/release, ci or dev)")
    parser.add_argument("--json", type=Path, default=WORK / "peers.json", help="results (default build/peers/peers.json)")
    arguments = parser.parse_args()
    if arguments.rounds < 1 or arguments.calls < 1:
        parser.error("--rounds and --calls are 1 or more")
    return arguments


def cells_of(arguments):
    ns = arguments.n or ([2**14, 2**16] if arguments.small else [2**16, 2**20, 2**24, 2**28])
    ks = arguments.k or ([8, 256] if arguments.small else [2**e for e in (3, 6, 9, 12, 15, 18)])
    cells = []
    if not arguments.batches:
        cells += [Cell(1, n, k) for n in ns for k in ks if k <= n // 4]
    if not arguments.grid:
        cells += [Cell(*shape) for shape in (SMALL_BATCHES if arguments.small else BATCHES)]
    if not cells:
        stop("no cells; give other --n and --k")
    return cells


def prepare(arguments):
    """Installs and builds; returns the peers that can be asked."""
    names = [name.strip() for name in arguments.peers.split(",")] if arguments.peers else [*PYTHON_PEERS, *CPP_PEERS]
    unknown = [name for name in names if name not in PYTHON_PEERS and name not in CPP_PEERS]
    if unknown:
        stop(f"unknown peer {unknown[0]}; known are {', '.join([*PYTHON_PEERS, *CPP_PEERS])}")
    WORK.mkdir(parents=True, exist_ok=True)
    if not arguments.skip_install:
        install(sorted({PYTHON_PEERS[name] for name in names if name in PYTHON_PEERS} | {"numpy"}),
                any(name.startswith("boost") for name in names))
    built = compile_peers() if any(name in CPP_PEERS for name in names) else []
    if not venv_python().exists():
        note("build/peers/venv is missing: no Python peers")
        names = [name for name in names if name not in PYTHON_PEERS]
    return [name for name in names if name in PYTHON_PEERS or name in built]


def main():
    arguments = parse()
    cells = cells_of(arguments)
    peers = prepare(arguments)
    workers = {package: Worker() for package in PYTHON_PEERS.values()}
    path = WORK / "data.bin"
    most = max(cell.rows * cell.n for cell in cells)
    subprocess.run([arguments.profk, "bench", "--dump", path, "-n", str(most), "--distribution",
                    arguments.distribution, "-q"], check=True)
    facts = bench(arguments, "-n", "4096", "-k", "1", "--runs", "1")
    results = []
    for number_of, cell in enumerate(cells, 1):
        note(f"{number_of}/{len(cells)}: rows {cell.rows}, n {cell.n}, k {cell.k}")
        measure(arguments, cell, path, peers, facts["device"], workers)
        results.append(cell.result())
        write_results(arguments, facts, results)
    for worker in workers.values():
        worker.close()
    path.unlink()
    print_results(results, peers)
    print_matrix(results)
    summary(results)
    note(f"results in {arguments.json}")


if __name__ == "__main__":
    main()
