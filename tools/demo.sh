#!/bin/sh
# demo.sh: installs what is missing, builds, and shows profk at work:
# the ten highest and the ten lowest cells of a real elevation model, then the time for 2^26 generated floats.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tools/install_packages.sh
. tools/install_packages.sh

log=build/demo.log
mkdir -p build
show() { printf '\n$ %s\n' "$*"; }
quietly() {
    "$@" >>"$log" 2>&1 || { tail -n 40 "$log"; echo "failed: $* (whole log: $log)" >&2; exit 1; }
}

: >"$log"
# shellcheck disable=SC2086 # a list of words
need_packages $BUILD_PACKAGES >>"$log"
echo "building in build/release"
quietly cmake --preset release
quietly cmake --build --preset release --parallel "$(nproc)"

profk=build/release/tools/profk
show profk topk examples/data/elevation.npy -k 10
$profk topk examples/data/elevation.npy -k 10
show profk topk examples/data/elevation.npy -k 10 --order smallest
$profk topk examples/data/elevation.npy -k 10 --order smallest
show profk bench
$profk bench
