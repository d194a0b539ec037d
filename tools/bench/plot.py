#!/usr/bin/env python3
"""plot.py: pictures from the JSON of `profk bench --json` and of tools/bench/peers/run.py.

  plot.py latency FILE [--out latency.png]            time against n, a line per k, the read limit beside them
  plot.py latency FILE --k 8192                       of a peers file: a line per peer at one k
  plot.py speedup PEERS-FILE [--peer NAME]            map over (n, k): the best peer's time over profk's

The suffix of --out chooses the format (.png, .svg, .pdf).  Needs matplotlib.
"""
import argparse
import json
import math
import sys


def stop(message):
    sys.exit("plot.py: " + message)


def load(path):
    """Cells of either kind of file, as dicts with n, k, profk_ms, read_ms and peers {name: ms}."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError) as error:
        stop(f"cannot read {path}: {error}")
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list) or not data["cells"]:
        stop(f"{path} has no cells; give the output of profk bench --json or of peers/run.py")
    cells = []
    for cell in data["cells"]:
        try:
            if cell["rows"] != 1:
                continue
            if "profk" in cell:  # peers/run.py
                one = {"profk_ms": cell["profk"]["min_ms"], "read_ms": cell["profk"]["read_ms"],
                       "peers": {name: peer["min_ms"] for name, peer in cell["peers"].items()}}
            else:
                one = {"profk_ms": cell["median_ms"], "read_ms": cell["read_ms"], "peers": {}}
            cells.append(dict(one, n=cell["n"], k=cell["k"]))
        except (KeyError, TypeError) as error:
            stop(f"{path}: a cell has no {error}; it is not a file of this version")
    if not cells:
        stop(f"{path} has batches only; the pictures are of single rows")
    return data, cells


def pyplot():
    try:
        import matplotlib
    except ImportError:
        stop("matplotlib is missing; install it (python3-matplotlib, or pip install matplotlib)")
    matplotlib.use("Agg")
    import matplotlib.pyplot
    return matplotlib.pyplot


def power(value):
    exponent = math.log2(value)
    return f"$2^{{{exponent:.0f}}}$" if exponent == int(exponent) else f"{value:.2g}"


def line(axes, cells, time, **style):
    """time(cell) against n; a cell without one is left out."""
    points = sorted((cell["n"], time(cell)) for cell in cells if time(cell) is not None)
    if points:
        axes.plot([n for n, _ in points], [ms for _, ms in points], marker=".", **style)


def plot_latency(data, cells, arguments):
    peers = sorted({name for cell in cells for name in cell["peers"]})
    figure, axes = pyplot().subplots(figsize=(7, 5))
    if peers:
        ks = sorted({cell["k"] for cell in cells})
        k = arguments.k or ks[len(ks) // 2]
        cells = [cell for cell in cells if cell["k"] == k]
        if not cells:
            stop(f"no cell has k = {k}; there is {', '.join(map(str, ks))}")
        line(axes, cells, lambda cell: cell["profk_ms"], label=f"profk, k = {power(k)}", color="black", linewidth=2)
        for name in peers:
            line(axes, cells, lambda cell, name=name: cell["peers"].get(name), label=name)
    else:
        for k in sorted({cell["k"] for cell in cells}):
            if arguments.k in (None, k):
                line(axes, [cell for cell in cells if cell["k"] == k], lambda cell: cell["profk_ms"],
                     label=f"k = {power(k)}")
    fastest = {}
    for cell in cells:
        fastest[cell["n"]] = min(cell["read_ms"], fastest.get(cell["n"], math.inf))
    axes.plot(sorted(fastest), [fastest[n] for n in sorted(fastest)], "k--", linewidth=1, label="read limit")
    axes.set(xlabel="n", ylabel="ms", title=data.get("device", ""))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    return figure


def speedup(cell, peer):
    times = [ms for name, ms in cell["peers"].items() if peer in (None, name)]
    return min(times) / cell["profk_ms"] if times else math.nan


def plot_speedup(data, cells, arguments):
    ns, ks = sorted({cell["n"] for cell in cells}), sorted({cell["k"] for cell in cells})
    table = [[math.nan] * len(ns) for _ in ks]
    for cell in cells:
        table[ks.index(cell["k"])][ns.index(cell["n"])] = speedup(cell, arguments.peer)
    logs = [[math.log2(x) if x == x else math.nan for x in row] for row in table]
    known = [abs(x) for row in logs for x in row if x == x]
    if not known:
        stop("no cell has a peer of that name; see the peers in the file")
    limit = max(known + [1.0])
    figure, axes = pyplot().subplots(figsize=(1.5 + 0.8 * len(ns), 1.5 + 0.6 * len(ks)))
    image = axes.imshow(logs, origin="lower", aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit)
    for y, row in enumerate(table):
        for x, value in enumerate(row):
            if value == value:
                axes.text(x, y, f"{value:.2g}", ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(ns)), [power(n) for n in ns])
    axes.set_yticks(range(len(ks)), [power(k) for k in ks])
    axes.set(xlabel="n", ylabel="k", title=f"{arguments.peer or 'best peer'} / profk, {data.get('device', '')}")
    figure.colorbar(image, ax=axes, label="log2 of the speed-up")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("picture", choices=["latency", "speedup"])
    parser.add_argument("file")
    parser.add_argument("--out", help="default: the picture's name with .png")
    parser.add_argument("--k", type=int, help="only this k")
    parser.add_argument("--peer", help="speed-up over this peer (default: over the best one of each cell)")
    arguments = parser.parse_args()
    data, cells = load(arguments.file)
    figure = (plot_latency if arguments.picture == "latency" else plot_speedup)(data, cells, arguments)
    out = arguments.out or arguments.picture + ".png"
    try:
        figure.savefig(out, dpi=150, bbox_inches="tight")
    except (OSError, ValueError) as error:
        stop(f"cannot write {out}: {error}")
    print(out)


if __name__ == "__main__":
    main()
