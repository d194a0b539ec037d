#!/usr/bin/env python3
"""gpu_torch.py: torch.topk at the cells of `profk bench --json` files, on the same GPU, behind profk's own times.

  gpu_torch.py [--allow-cpu] [--budget SECONDS] [--json OUT] FILE...

Wall clock around topk and a synchronisation, warm, as profk bench measures.  Normal floats of its own: the input of
4.3e9 elements is not carried from one process to the other.  Prints a Markdown table; OUT is like the file of
peers/run.py, so that plot.py takes it.
"""
import argparse
import json
import sys
import time


def time_topk(torch, x, k, runs, synchronize):
    times = []
    for call in range(runs + 2):  # two of them warm up
        synchronize()
        start = time.perf_counter()
        torch.topk(x, k)
        synchronize()
        if call >= 2:
            times.append(1e3 * (time.perf_counter() - start))
    return min(times)


def make_input(torch, n, device):
    """In parts, because a generator may take more memory than what it gives."""
    x = torch.empty(n, dtype=torch.float32, device=device)
    part = 1 << 28
    for first in range(0, n, part):
        x[first:first + part].normal_()
    return x


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--allow-cpu", action="store_true")
    parser.add_argument("--budget", type=float, default=150.0)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    import torch
    if not torch.cuda.is_available() and not arguments.allow_cpu:
        sys.exit("gpu_torch.py: torch sees no GPU")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    begin = time.perf_counter()

    facts, cells = {}, []
    for path in arguments.files:
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
        except (OSError, ValueError):
            continue  # that bench had no time
        facts = {key: data[key] for key in ("device", "platform", "driver", "version")}
        cells += [cell for cell in data["cells"] if cell["rows"] == 1 and cell["dtype"] == "f32"]
    if not cells:
        sys.exit("gpu_torch.py: the files hold no cells")
    where = torch.cuda.get_device_name() if device == "cuda" else "the CPU"
    print(f"torch {torch.__version__} on {where} beside profk:\n")
    print("| n | k | read ms | profk ms | torch.topk ms | torch / profk |\n|" + " ---: |" * 6)

    whole, results = None, []
    for cell in sorted(cells, key=lambda cell: -cell["n"]):
        if time.perf_counter() - begin > arguments.budget - 20:
            print("\nThe time ran out.")
            break
        n, k = cell["n"], cell["k"]
        try:
            if whole is None:
                whole = make_input(torch, n, device)
            ms = time_topk(torch, whole[:n], k, arguments.runs, synchronize)
        except RuntimeError as error:  # out of memory, or an n that this torch cannot do
            print(f"| {n} | {k} | {cell['read_ms']:.3f} | {cell['min_ms']:.3f} | {str(error).splitlines()[0][:60]} | - |")
            continue
        results.append({"n": n, "k": k, "rows": 1, "dtype": "f32", "peers": {"torch.topk": {"min_ms": ms}},
                        "profk": {"min_ms": cell["min_ms"], "median_ms": cell["median_ms"],
                                  "read_ms": cell["read_ms"], "route": cell["route"]},
                        "best_peer": "torch.topk", "speedup": ms / cell["min_ms"]})
        print(f"| {n} | {k} | {cell['read_ms']:.3f} | {cell['min_ms']:.3f} | {ms:.3f} | {ms / cell['min_ms']:.2f} |",
              flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(dict(facts, bench="peers", cells=results), file, indent=1)


if __name__ == "__main__":
    main()
