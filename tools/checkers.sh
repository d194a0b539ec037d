#!/bin/sh
# checkers.sh: runs a test under ThreadSanitizer, another under valgrind's memcheck.
#
#   tools/checkers.sh threads   test_threads, built with the preset `tsan`: races between threads that share a context
#   tools/checkers.sh memory    the readers of files over the fuzzers' corpora, the parameters, and a selection by the
#                               command on PoCL's basic device, built with the preset `ci`: wrong reads and writes,
#                               undefined values and lost memory, in the kernels, too
#
# Only what is found in our own frames counts: tests/support/tsan.supp and valgrind.supp name the libraries.  The first
# memory run compiles kernels under valgrind, which takes minutes (to valgrind's CPU they are others); later ones find
# them in build/pocl-cache.
# Exit status: 0 nothing found, 2 usage, else something was found or a step failed.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tools/install_packages.sh
. tools/install_packages.sh

jobs=${PROFK_JOBS:-$(nproc)}
export POCL_CACHE_DIR="$PWD/build/pocl-cache"
export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd # other drivers' libraries only add to what must be suppressed

# ThreadSanitizer does not start where the kernel spreads addresses further than it knows: then without that.
threads() {
    cmake --preset tsan
    cmake --build --preset tsan --parallel "$jobs" --target test_threads
    export TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan.supp:exitcode=66"
    program=build/tsan/tests/device/test_threads
    fixed=
    "$program" --only none >/dev/null 2>&1 || fixed="setarch -R"
    # shellcheck disable=SC2086 # a command or none
    $fixed "$program"
}

memory() {
    need_packages valgrind
    cmake --preset ci
    cmake --build --preset ci --parallel "$jobs" --target replay_npy replay_store replay_command profk_command
    work=build/checkers
    rm -rf "$work"
    mkdir -p "$work"
    export POCL_DEVICES=basic PROFK_CACHE_DIR="$PWD/$work/cache"
    check="valgrind -q --suppressions=tests/support/valgrind.supp --error-exitcode=9 --leak-check=full
        --errors-for-leak-kinds=definite"
    for name in npy store command; do
        # shellcheck disable=SC2086 # a command
        $check "build/ci/tests/fuzz/replay_$name" tests/fuzz/corpus/"$name"/*
    done
    tail -c 12000 examples/data/elevation.npy >"$work/input.raw"
    # shellcheck disable=SC2086 # a command
    {
        $check build/ci/tools/profk params -n 100000 -k 100
        $check build/ci/tools/profk topk "$work/input.raw" --dtype u32 -k 10 --route rows --json
    }
}

case $#${1-} in
1threads | 1memory) "$1" ;;
*) sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
