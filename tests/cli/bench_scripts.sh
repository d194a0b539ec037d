#!/bin/sh
# bench_scripts.sh PROFK PYTHON SCRIPTS SCRATCH: the scripts around profk bench, on its smallest benches.
set -eu
profk=$1 python=$2 scripts=$3 scratch=$4/bench-scripts
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
mkdir -p "$scratch"

for script in "$scripts"/*.py "$scripts"/peers/*.py; do
    "$python" -c 'import ast, sys; ast.parse(open(sys.argv[1], encoding="utf-8").read())' "$script"
done
sh -n "$scripts/gpu.sh"
"$python" "$scripts/peers/run.py" --help >/dev/null

"$profk" devices >/dev/null || exit 77
for bench in grid sample-size failure-budget distributions batches check memory; do
    "$profk" bench $bench --scale small --runs 2 --warmup 1 --json >"$scratch/$bench.json"
    "$python" "$scripts/tables.py" "$scratch/$bench.json" >"$scratch/$bench.md"
    test "$(grep -c '^|' "$scratch/$bench.md")" -ge 3
done
if "$python" "$scripts/tables.py" "$0" 2>/dev/null; then exit 1; fi
if "$python" "$scripts/plot.py" latency "$0" 2>/dev/null; then exit 1; fi
if "$python" -c 'import matplotlib' 2>/dev/null; then
    "$python" "$scripts/plot.py" latency "$scratch/grid.json" --out "$scratch/grid.svg"
    test -s "$scratch/grid.svg"
fi
