#!/usr/bin/env python3
"""tables.py: Markdown tables from files of `profk bench NAME --json`, one per named bench, as the paper has them.

  tables.py FILE...
"""
import json
import statistics
import sys


def power(value):
    exponent = value.bit_length() - 1
    return f"2^{exponent}" if value == 1 << exponent and value > 64 else str(value)


def print_table(heading, rows):
    print("| " + " | ".join(heading) + " |")
    print("|" + " ---: |" * len(heading))
    for row in rows:
        print("| " + " | ".join(str(entry) for entry in row) + " |")
    print()


def groups(cells, *keys):
    """Cells with equal values of the keys, in the order in which they first come."""
    found = {}
    for cell in cells:
        found.setdefault(tuple(cell[key] for key in keys), []).append(cell)
    return found.items()


def plain(cells):
    print_table(["n", "k", "rows", "type", "distribution", "mode", "route", "min ms", "median ms", "p99 ms", "read ms",
                 "ratio"],
                [[power(c["n"]), power(c["k"]), c["rows"], c["dtype"], c["distribution"], c["mode"], c["route"],
                  f"{c['min_ms']:.3f}", f"{c['median_ms']:.3f}", f"{c['p99_ms']:.3f}", f"{c['read_ms']:.3f}",
                  f"{c['ratio']:.2f}"] for c in cells])


def sample_size(cells):
    """Table 5: the mean over k of slowest / fastest sample size, and of chosen / fastest."""
    rows = []
    for (n,), of_n in groups(cells, "n"):
        spread, chosen = [], []
        for _, of_k in groups(of_n, "k"):
            forced = [c["median_ms"] for c in of_k if c["forced_S"]]
            if forced:
                spread.append(max(forced) / min(forced))
                chosen += [c["median_ms"] / min(forced) for c in of_k if not c["forced_S"]]
        if chosen:
            rows.append([power(n), len(spread), f"{statistics.mean(spread):.2f}", f"{statistics.mean(chosen):.2f}",
                         f"{max(chosen):.2f}"])
    print_table(["n", "values of k", "slowest / fastest S", "chosen / fastest S", "worst k"], rows)


def failure_budget(cells):
    """Table 8: attempts that failed, predicted and observed, all (n, k) together; then Figure 9."""
    rows = []
    for (epsilon,), of_epsilon in groups(cells, "epsilon"):
        tried = [c for c in of_epsilon if c["route"] == "profk"]
        rows.append([epsilon, sum(c["runs"] for c in tried), sum(c["attempts"] for c in tried),
                     f"{sum(c['attempts'] * c['fail_recall'] for c in tried):.1f}",
                     sum(c["recall_misses"] for c in tried),
                     f"{sum(c['attempts'] * c['fail_overflow'] for c in tried):.1f}",
                     sum(c["overflows"] for c in tried)])
    print_table(["epsilon", "calls", "attempts", "predicted R < k", "observed R < k", "predicted R > M",
                 "observed R > M"], rows)
    rows = []
    for (n, k), of_shape in groups(cells, "n", "k"):
        least = min(c["mean_ms"] for c in of_shape)
        rows += [[power(n), power(k), c["epsilon"], f"{c['mean_ms']:.3f}", f"{c['mean_ms'] / least:.2f}",
                  f"{c['p99_ms'] / c['median_ms']:.2f}", f"{c['redraws'] / c['runs']:.4f}"] for c in of_shape]
    print_table(["n", "k", "epsilon", "mean ms", "mean / least", "p99 / median", "redraws per call"], rows)


def distributions(cells):
    """Table 7."""
    ks = sorted({c["k"] for c in cells})
    heading = ["distribution"] + [f"{what}, k = {power(k)}" for k in ks for what in ("median ms", "redraws per call")]
    rows = []
    for (name,), of_name in groups(cells, "distribution"):
        by_k = {c["k"]: c for c in of_name}
        row = [name]
        for k in ks:
            c = by_k.get(k)
            row += [f"{c['median_ms']:.3f}", f"{c['redraws'] / c['runs']:.3f}"] if c else ["-", "-"]
        rows.append(row)
    print_table(heading, rows)


def batches(cells):
    """Figure 8, then Table 6."""
    reference = 1e-3
    plain([c for c in cells if c["epsilon"] == reference])
    approximate = [c for c in cells if c["mode"] == "approximate"]
    base = {(c["n"], c["rows"], c["k"]): c["median_ms"] for c in approximate if c["epsilon"] == reference}
    rows = []
    for (epsilon,), of_epsilon in groups(approximate, "epsilon"):
        relative = [c["median_ms"] / base[c["n"], c["rows"], c["k"]] for c in of_epsilon
                    if (c["n"], c["rows"], c["k"]) in base]
        row = [epsilon, f"{statistics.median(relative):.2f}" if relative else "-"]
        for several in (False, True):
            recalls = [c["recall"] for c in of_epsilon if (c["rows"] > 1) == several]
            row.append(f"{min(recalls):.3f} / {statistics.median(recalls):.3f}" if recalls else "-")
        rows.append(row)
    print_table(["epsilon", f"latency relative to {reference}", "recall of one row (min / median)",
                 "recall of batches (min / median)"], rows)


def check(cells):
    """Appendix D: exact against no look at R."""
    rows = []
    for (n, k), of_shape in groups(cells, "n", "k"):
        by_mode = {c["mode"]: c["median_ms"] for c in of_shape}
        if {"exact", "async", "approximate"} <= set(by_mode):
            rows.append([power(n), power(k)] + [f"{by_mode[mode]:.3f}" for mode in ("exact", "async", "approximate")] +
                        [f"{100 * (by_mode['exact'] / by_mode['approximate'] - 1):.1f} %"])
    print_table(["n", "k", "exact ms", "asynchronous ms", "approximate ms", "exact above approximate"], rows)


def memory(cells):
    """Figure 4."""
    print_table(["n", "k", "input MB", "workspace MB", "S", "M"],
                [[power(c["n"]), power(c["k"]), f"{c['input_bytes'] / 1e6:.1f}", f"{c['workspace_bytes'] / 1e6:.3f}",
                  c["S"] if c["S"] is not None else "-", c["M"] if c["M"] is not None else "-"] for c in cells])


TABLES = {"sample-size": sample_size, "failure-budget": failure_budget, "distributions": distributions,
          "batches": batches, "check": check, "memory": memory}


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
            print(f"{data['bench']}: {data['device']}, {data['platform']} (driver {data['driver']}), profk "
                  f"{data['version']}{'' if data['complete'] else ', cut short by --budget'}\n")
            TABLES.get(data["bench"], plain)(data["cells"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            sys.exit(f"tables.py: {path} is no output of profk bench --json: {error!r}")


if __name__ == "__main__":
    main()
