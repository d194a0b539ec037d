#!/bin/sh
# check.sh: installs what is missing, builds and runs the tests.  One line a step, details in build/check/.
#
#   tools/check.sh [--gates] [--long]
#
#   --gates  besides: every kernel program for NVIDIA, AMD, Intel and strict SPIR-V; exactness on PoCL's basic device,
#            Mesa's rusticl and Intel's CPU runtime, and answers of the same bytes on all of them; the Khronos ICD
#            loader; devices with odd limits; the small sizes under Oclgrind; a sample of mutated kernels, which the
#            tests must find; all tests under AddressSanitizer and UndefinedBehaviorSanitizer; threads
#            under ThreadSanitizer; a build with clang; the fuzz targets, briefly.  A missing tool fails.
#   --long   besides: the long runs, and all mutants; a selection under valgrind; which lines the tests run, with bars;
#            with --gates also kernels for work-groups of 64 and 128
#
# A skipped test is a failure here: PoCL is installed, so there is a device.
# Exit status: 0 all good, 1 a step failed, 2 usage.
# shellcheck disable=SC2317 # try calls the functions
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tools/install_packages.sh
. tools/install_packages.sh

gates=
long=
for option in "$@"; do
    case $option in
    --gates) gates=yes ;;
    --long) long=yes ;;
    *) sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done

logs=build/check
jobs=$(nproc)
failed=
steps=0
begin=$(date +%s)
rm -rf "$logs"
mkdir -p "$logs"
export PROFK_CACHE_DIR="$PWD/$logs/profk-cache" # of what runs outside ctest: not the user's, and empty

# try NAME COMMAND...: runs a step, prints its line, and the end of its log if it failed.
try() {
    name=$1
    shift
    steps=$((steps + 1))
    log=$(printf '%s/%02d-%s.log' "$logs" "$steps" "$(echo "$name" | tr ' ' -)")
    start=$(date +%s)
    set +e # a command whose status is tested runs without -e, and so do the functions it calls
    (set -e; "$@") >"$log" 2>&1
    rc=$?
    set -e
    verdict=ok
    [ "$rc" = 0 ] || verdict="FAILED, see $log"
    printf '%-28s %4d s  %s\n' "$name" $(($(date +%s) - start)) "$verdict"
    [ "$rc" = 0 ] || { tail -n 60 "$log" | sed 's/^/    /'; failed="$failed, $name"; }
    return 0
}

finish() {
    total=$(($(date +%s) - begin))
    if [ -n "$failed" ]; then
        echo "check: FAILED${failed#,} ($steps steps, $total s)"
        exit 1
    fi
    echo "check: all $steps steps good ($total s)"
    exit 0
}

# must NAME COMMAND...: a step without which the others make no sense.
must() {
    try "$@"
    [ "$rc" = 0 ] || finish
}

build() { # PRESET: configures and builds
    cmake --preset "$1"
    cmake --build --preset "$1" --parallel "$jobs"
}

# LOG OF CTEST: the end of what each failed test wrote, where try prints it.
failed_tests() {
    awk '/ Testing: / { name = $0; output = "" }
         /^Test [A-Z]/ && !/Passed/ { print name output "\n" $0 }
         { output = output "\n" $0; output = substr(output, length(output) - 2000 < 1 ? 1 : length(output) - 2000) }' "$1"
}

run_tests() { # PRESET ARGUMENTS OF CTEST...
    preset=$1
    shift
    ctest --preset "$preset" --parallel "$jobs" --output-junit "$PWD/$logs/ctest-$preset.xml" "$@" || {
        failed_tests build/"$preset"/Testing/Temporary/LastTest.log
        return 1
    }
    if grep -E 'status="(notrun|disabled)"' "$logs/ctest-$preset.xml"; then
        echo "these tests were skipped"
        return 1
    fi
}

# The newest clang with a libclc that goes with it (clang-22 links the bitcode of libclc-15): "CLANG LIBCLC".
choose_llvm() {
    for probe in "dpkg -s" "apt-cache show"; do
        for pair in "22 15" "22 22" "21 21" "20 20" "19 19"; do
            # shellcheck disable=SC2086 # two words
            set -- $pair
            if $probe "clang-$1" && $probe "llvm-$1" && $probe "libclc-$2"; then
                echo "$pair" >&3
                return 0
            fi
        done 3>&1 >/dev/null 2>&1
    done
    return 1
}

gate_packages() {
    pair=$(choose_llvm) || { $(needs_sudo) apt-get update; pair=$(choose_llvm); } || {
        echo "no clang of version 19 to 22 with a libclc for it is to be had"
        return 1
    }
    clang=${pair% *}
    # ocloc (Intel's offline compiler) comes with the driver or in a package of its own
    ocloc=intel-opencl-icd
    if apt-cache show intel-ocloc >/dev/null 2>&1; then ocloc=intel-ocloc; fi
    need_packages "clang-$clang" "llvm-$clang" "libclc-${pair#* }" spirv-tools "$ocloc/ocloc" oclgrind
    need_packages "libclang-rt-$clang-dev" python3/python3 # libFuzzer; the mutants
    echo "$clang" >"$logs/llvm"

    : >"$logs/gate-path"
    nvidia_tool ptxas nvidia-cuda-nvcc
    nvidia_tool nvdisasm nvidia-cuda-nvdisasm
    command -v ocloc
}

# COMMAND PACKAGE: a tool of a CUDA toolkit if that knows sm_120, else of NVIDIA's Python package.
nvidia_tool() {
    tool=$(PATH=$PATH:/usr/local/cuda/bin command -v "$1" || true)
    if [ -z "$tool" ] || ! "$tool" --help | grep -i 'sm_*120' >/dev/null; then
        need_packages python3/python3 python3-venv
        [ -d build/cuda ] || python3 -m venv build/cuda
        build/cuda/bin/pip install --quiet "$2>=13,<14"
        tool=$(find "$PWD/build/cuda" -type f -name "$1")
    fi
    printf '%s:' "$(dirname "$tool")" >>"$logs/gate-path"
    "$tool" --version
}

needs_sudo() { [ "$(id -u)" = 0 ] || echo sudo; }

# What only CPUs ask for (work-groups of one, long parts in vectors as wide as a CPU's registers) no GPU compiles by
# default: strict SPIR-V is all that must be.
kernel_gate() {
    build/ci/tests/device/list_programs --check
    build/ci/tests/device/list_programs >"$logs/programs.txt"
    only_cpu='PK_WG=1 \|PK_SLOTS=16 '
    grep -v "$only_cpu" "$logs/programs.txt" >"$logs/programs-all.txt"
    grep "$only_cpu" "$logs/programs.txt" >"$logs/programs-cpu.txt"
    compile_kernels "$logs/programs-all.txt" "$logs/kernels.txt" # what docs/kernels.md is made of
    (export SM='' GFX='' IGPU='' && compile_kernels "$logs/programs-cpu.txt" "$logs/kernels-cpu.txt")
}

# WG: what a GPU that is tuned to work-groups of that size compiles.
kernel_gate_at() {
    build/ci/tests/device/list_programs --wg "$1" >"$logs/programs-$1.txt"
    compile_kernels "$logs/programs-$1.txt" "$logs/kernels-$1.txt"
}

# SPECS OUTPUT: runs the kernel gate; shows what failed.
compile_kernels() {
    PATH=$(cat "$logs"/gate-path)$PATH LLVM=$(cat "$logs"/llvm) \
        tools/kernel-gates.sh build/ci/src/cl "$1" >"$2" || {
        grep -A 6 ' FAIL ' "$2" || true
        tail -n 1 "$2"
        return 1
    }
    tail -n 1 "$2"
}

# Intel's CPU runtime comes as a Python package.  Its .icd names a path that is not there, and its ICD loader would
# take the place of the system's: only its other libraries are used.
intel_runtime() {
    need_packages python3/python3 python3-venv
    [ -d build/intel ] || python3 -m venv build/intel/venv
    build/intel/venv/bin/pip install --quiet intel-opencl-rt intel-cmplr-lib-rt
    mkdir -p build/intel/lib build/intel/vendors
    ln -sf "$PWD"/build/intel/venv/lib/lib* build/intel/lib/
    rm -f build/intel/lib/libOpenCL*
    echo "$PWD/build/intel/venv/lib/libintelocl.so" >build/intel/vendors/intel.icd
}

# NAME PROGRAMS...: runs test programs on one of PoCL's devices or on another OpenCL implementation.
elsewhere() {
    implementation=$1
    shift
    POCL_CACHE_DIR=$PWD/build/pocl-cache
    PROFK_DEVICE=$implementation # no other one in its place
    export POCL_CACHE_DIR PROFK_DEVICE
    case $implementation in
    pthread | basic) export POCL_DEVICES="$implementation" ;;
    rusticl) export RUSTICL_ENABLE=llvmpipe OCL_ICD_VENDORS=/etc/OpenCL/vendors/rusticl.icd ;;
    intel) export LD_LIBRARY_PATH="$PWD/build/intel/lib" OCL_ICD_VENDORS="$PWD/build/intel/vendors" ;;
    esac
    build/ci/tools/profk devices
    for program in "$@"; do
        # shellcheck disable=SC2086 # a program and its options
        build/ci/tests/$program
    done
}

# The ICD loader of the Khronos group in place of ocl-icd, with PoCL.  It comes with Intel's runtime and needs some of
# its libraries; it takes a folder for OCL_ICD_VENDORS.  Which loader ran, the dynamic linker's log tells.
other_loader() {
    mkdir -p build/khronos/lib build/khronos/vendors
    ln -sf "$PWD"/build/intel/venv/lib/libOpenCL.so* "$PWD"/build/intel/venv/lib/libsvml.so \
        "$PWD"/build/intel/venv/lib/libirng.so "$PWD"/build/intel/venv/lib/libimf.so \
        "$PWD"/build/intel/venv/lib/libintlc.so* build/khronos/lib/
    cp /etc/OpenCL/vendors/pocl.icd build/khronos/vendors/
    for program in "$@"; do
        rm -f "$logs"/loader.*
        # shellcheck disable=SC2086 # a program and its options
        POCL_CACHE_DIR=$PWD/build/pocl-cache PROFK_DEVICE=pthread OCL_ICD_VENDORS=$PWD/build/khronos/vendors \
            LD_LIBRARY_PATH=$PWD/build/khronos/lib LD_DEBUG=libs LD_DEBUG_OUTPUT=$logs/loader build/ci/tests/$program
        loaded=$(cat "$logs"/loader.* | sed -n 's/.*calling init: \(.*libOpenCL.*\)/\1/p' | sort -u)
        echo "loaded $loaded"
        [ "$loaded" = "$PWD/build/khronos/lib/libOpenCL.so.1" ]
    done
}

# SETTING FACT PROGRAMS...: PoCL's device under SETTING, which must have FACT in the JSON of `profk devices`.  What PoCL
# compiles does not depend on these settings, byte for byte, so its cache serves all of them.
odd_device() {
    export "${1?}"
    fact=$2
    shift 2
    build/ci/tools/profk devices --json | tee "$logs/odd-device.json"
    grep -F "$fact" "$logs/odd-device.json" >/dev/null
    elsewhere pthread "$@"
}

# PoCL's two devices at once: either gives the answers that the first gave alone.
two_devices() {
    POCL_CACHE_DIR=$PWD/build/pocl-cache
    export POCL_CACHE_DIR POCL_DEVICES="pthread basic"
    build/ci/tools/profk devices | tee "$logs/two-devices.txt"
    [ "$(grep -c 'Portable Computing Language' "$logs/two-devices.txt")" = 2 ]
    for device in pthread basic; do
        PROFK_DEVICE=$device build/ci/tests/conformance/test_identical --small >"$logs/answers-two.txt"
        grep '^digest ' "$logs/answers-two.txt" >"$logs/digests-two.txt"
        diff "$logs/digests-pthread.txt" "$logs/digests-two.txt"
    done
}

# Its threads or none: both are seen, since same_answers runs it with threads.
rusticl_without_threads() {
    export LP_NUM_THREADS=0
    elsewhere rusticl "$@"
}

# NAME [--small]: on every implementation the same bytes, that is the lines of PoCL's pthread, which must come first.
same_answers() {
    answers=$logs/answers-$1.txt
    elsewhere "$1" "conformance/test_identical ${2-}" >"$answers"
    grep '^digest ' "$answers" >"$logs/digests-$1.txt"
    diff "$logs/digests-pthread.txt" "$logs/digests-$1.txt"
    echo "$(wc -l <"$logs/digests-$1.txt") digests are those of PoCL's pthread"
}

# Oclgrind exits 0 whatever it finds: its log is what counts.
oclgrind_run() {
    report=$logs/oclgrind-report.txt
    rm -f "$report"
    for program in conformance/test_exact device/test_stages; do
        oclgrind --log "$report" --data-races --uninitialized --check-api "build/ci/tests/$program" --small
        if [ -s "$report" ]; then
            head -n 100 "$report"
            return 1
        fi
    done
    echo "nothing reported"
}

# PoCL 3.1 keeps one copy for all threads of local memory that a kernel hands to a function which was not inlined: a
# symbol in what it compiled tells.
local_memory() {
    find build/pocl-cache -name 'profk_*.so' -newer build/ci/CMakeCache.txt -exec nm {} + >"$logs/symbols.txt"
    if grep ' b profk_' "$logs/symbols.txt"; then return 1; fi
    echo "$(grep -c '_workgroup_fast$' "$logs/symbols.txt" || true) kernels have their own"
}

# A first pass looks for everything but leaks and compiles the kernels that are not in PoCL's cache yet: the compiler
# leaks.  The second one looks for leaks too.
sanitizer_tests() {
    ASAN_OPTIONS=detect_leaks=0 run_tests asan --label-exclude '^install$'
    run_tests asan --label-exclude '^install$'
}

clang_build() {
    cmake -S . -B build/clang -DCMAKE_C_COMPILER="clang-$(cat "$logs"/llvm)" -DCMAKE_BUILD_TYPE=Debug
    cmake --build build/clang --parallel "$jobs"
}

# Each fuzz target for some seconds, from its corpus on; "Done N runs" in the log.  What breaks one goes to $logs.
fuzz() {
    cmake -S . -B build/fuzz -DCMAKE_C_COMPILER="clang-$(cat "$logs"/llvm)" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DPROFK_SANITIZE=address,undefined -DPROFK_BUILD_FUZZERS=ON -DPROFK_BUILD_EXAMPLES=OFF
    cmake --build build/fuzz --parallel "$jobs" --target fuzz_npy fuzz_store fuzz_command fuzz_problem
    for target in npy store command problem; do
        mkdir -p "build/fuzz/corpus/$target"
        silent=0
        [ "$target" != command ] || silent=2 # its messages about wrong command lines
        # the compiler leaks
        ASAN_OPTIONS=detect_leaks=0 POCL_CACHE_DIR="$PWD/build/pocl-cache" \
            OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd \
            "build/fuzz/tests/fuzz/fuzz_$target" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" \
            -max_total_time=12 -max_len=2048 -timeout=100 -close_fd_mask="$silent" \
            -artifact_prefix="$logs/fuzz-$target-"
    done
}

# bench checks its answers; forced work-groups of 1024 become what the device allows.
odd_devices() {
    bench="../tools/profk bench -n 20000 -k 100 --force shape=tile,wg=1024 --route"
    for wg in 1 3; do
        try "work-groups of at most $wg" odd_device POCL_MAX_WORK_GROUP_SIZE=$wg "\"max_work_group\":$wg," \
            "conformance/test_exact --small"
    done
    for wg in 100 896; do
        try "work-groups of at most $wg" odd_device POCL_MAX_WORK_GROUP_SIZE=$wg "\"max_work_group\":$wg," \
            "conformance/test_exact --small" "$bench profk" "$bench full"
    done
    machine="L3Cache:1(size=8388608) L2Cache:2(size=32768) core:1 pu:1"
    try "local memory of 32 KiB" odd_device "HWLOC_SYNTHETIC=NUMANode:1(memory=25769803776) $machine" \
        '"local_bytes":32768,' "conformance/test_exact --small"
    try "128 MiB an allocation" odd_device "HWLOC_SYNTHETIC=NUMANode:1(memory=268435456) $machine" \
        '"max_alloc_bytes":134217728,' "conformance/test_shapes --small"
    try "two devices" two_devices
}

# shellcheck disable=SC2086 # lists of words
must "packages" need_packages $BUILD_PACKAGES $TEST_PACKAGES
[ -z "$gates" ] || must "packages of the gates" gate_packages
must "build" build ci
try "tests" run_tests ci
try "local memory" local_memory
if [ -n "$gates" ]; then
    try "kernel gate" kernel_gate
    if [ -n "$long" ]; then
        for wg in 64 128; do try "kernel gate, groups of $wg" kernel_gate_at "$wg"; done
    fi
    try "packages of other devices" need_packages mesa-opencl-icd
    try "runtime of another device" intel_runtime
    try "same answers on pthread" same_answers pthread
    try "same answers on basic" same_answers basic --small # one core
    try "same answers on rusticl" same_answers rusticl
    try "same answers on intel" same_answers intel --small # its compiler takes a second a program
    # user events of test_shapes deadlock in it
    try "exactness on basic" elsewhere basic conformance/test_exact conformance/test_reports
    try "exactness on rusticl" rusticl_without_threads conformance/test_exact "conformance/test_shapes --small" \
        "device/test_stages --small"
    try "exactness on intel" elsewhere intel "conformance/test_exact --small" "conformance/test_shapes --small" \
        device/test_stages
    try "exactness, Khronos loader" other_loader "conformance/test_exact --small" "conformance/test_shapes --small"
    odd_devices
    try "oclgrind" oclgrind_run
    try "mutants, a sample" run_tests ci --build-config Gate --label-regex '^gate$'
    try "clang build" clang_build
    try "fuzz" fuzz
    try "races between threads" tools/checkers.sh threads
    must "sanitizer build" build asan
    try "sanitizer tests" sanitizer_tests
fi
if [ -n "$long" ]; then
    try "long tests" run_tests long
    try "memory under valgrind" tools/checkers.sh memory
    try "coverage" tools/coverage.sh
fi
finish
