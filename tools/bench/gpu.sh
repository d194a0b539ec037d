#!/bin/sh
# gpu.sh: everything that is to be known on a GPU, in one command, with no network: builds, checks that answers are
# exact, and measures profk beside bare reads and, where torch is there, beside torch.topk on the same GPU.
#
#   tools/bench/gpu.sh [--out DIR] [--budget SECONDS] [--kit DIR] [--small] [--ablations]
#   tools/bench/gpu.sh --pack [--kit DIR]
#
#   --out DIR         results: log, JSON, summary.md (default $OUT, else build/gpu)
#   --budget SECONDS  for everything (default 520); what does not fit is cut short or left out, and the summary says so
#   --kit DIR         OpenCL headers and loader for machines without (default build/gpu-kit)
#   --small           tiny sizes on whatever device there is, to try the script
#   --ablations       besides: the named benches, as far as the time goes
#   --pack            fill the kit from this machine (opencl-headers, ocl-icd) and stop; take the folder along
#
# NVIDIA's driver brings libnvidia-opencl.so.1 but containers often lack its .icd file: then one is made.
# Exit status: 0 done, 1 a step failed or an answer is wrong, 2 usage, 77 no OpenCL device.
set -eu
cd "$(dirname "$0")/../.."

out=${OUT:-build/gpu}
budget=520
kit=build/gpu-kit
small=
ablations=
pack=
while [ $# -gt 0 ]; do
    case $1 in
    --out | --budget | --kit)
        [ $# -gt 1 ] || { echo "gpu.sh: $1 needs a value" >&2; exit 2; }
        case $1 in --out) out=$2 ;; --budget) budget=$2 ;; --kit) kit=$2 ;; esac
        shift ;;
    --small) small=yes ;;
    --ablations) ablations=yes ;;
    --pack) pack=yes ;;
    *) sed -n '2,17s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
    shift
done

begin=$(date +%s)
left() { echo $((budget - $(date +%s) + begin)); }
least() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }
say() { printf '[%4d s] %s\n' "$(($(date +%s) - begin))" "$*"; }

pack_kit() {
    mkdir -p "$kit/CL"
    cp /usr/include/CL/*.h "$kit/CL/"
    loader=$(ldconfig -p | sed -n 's/.*libOpenCL\.so\.1 .*x86-64.* => //p' | head -n 1)
    [ -n "$loader" ] || { echo "gpu.sh: no libOpenCL.so.1 here to pack; install ocl-icd-libopencl1" >&2; exit 1; }
    cp "$loader" "$kit/libOpenCL.so.1"
    ln -sf libOpenCL.so.1 "$kit/libOpenCL.so"
    ls -l "$kit"
}
if [ -n "$pack" ]; then
    pack_kit
    exit 0
fi

mkdir -p "$out"
log=$out/gpu.log
summary=$out/summary.md
: >"$log"
printf '# GPU run\n\n' >"$summary"

# first FILE...: the first of them that is there.
first() {
    for file in "$@"; do
        if [ -e "$file" ]; then echo "$file"; return 0; fi
    done
    return 1
}

# --- OpenCL: driver, headers, loader -------------------------------------------------------------------------------
find_driver() {
    if [ -n "$small" ] || ls /etc/OpenCL/vendors/nvidia*.icd >/dev/null 2>&1; then
        return 0
    fi
    driver=$(ldconfig -p | sed -n 's/.*libnvidia-opencl\.so\.1.* => //p' | head -n 1)
    # shellcheck disable=SC2086 # patterns
    [ -n "$driver" ] || driver=$(first /usr/local/nvidia/lib64/libnvidia-opencl.so* /usr/local/nvidia/lib/libnvidia-opencl.so* \
        /usr/lib/x86_64-linux-gnu/libnvidia-opencl.so* /usr/lib64/libnvidia-opencl.so* || true)
    if [ -z "$driver" ]; then
        say "no libnvidia-opencl.so: this container has the driver without its OpenCL part (NVIDIA_DRIVER_CAPABILITIES" \
            "must hold 'compute'); trying whatever else is registered"
        return 0
    fi
    mkdir -p "$out/vendors"
    echo "$driver" >"$out/vendors/nvidia.icd"
    OCL_ICD_VENDORS=$(cd "$out/vendors" && pwd)
    OPENCL_VENDOR_PATH=$OCL_ICD_VENDORS # the name that Khronos' loader knows
    export OCL_ICD_VENDORS OPENCL_VENDOR_PATH
    say "driver $driver, with an .icd of our own"
}

find_opencl() {
    cuda=$(first /usr/local/cuda /usr/local/cuda-* || echo /usr/local/cuda)
    headers=$(first "$cuda/include/CL/cl.h" "$cuda/targets/x86_64-linux/include/CL/cl.h" /usr/include/CL/cl.h \
        "$kit/CL/cl.h") || { say "no CL/cl.h here nor in $kit; fill it with --pack elsewhere and bring it"; exit 77; }
    headers=$(cd "$(dirname "$headers")/.." && pwd)
    loader=$(first "$cuda/lib64/libOpenCL.so.1" "$cuda/targets/x86_64-linux/lib/libOpenCL.so.1" \
        /usr/lib/x86_64-linux-gnu/libOpenCL.so.1 /usr/lib64/libOpenCL.so.1 "$kit/libOpenCL.so.1") ||
        { say "no libOpenCL.so.1 here nor in $kit; fill it with --pack elsewhere and bring it"; exit 77; }
    loader=$(cd "$(dirname "$loader")" && pwd)/$(basename "$loader")
    LD_LIBRARY_PATH=$(dirname "$loader"):/usr/local/nvidia/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    say "headers $headers, loader $loader"
}

# --- build ---------------------------------------------------------------------------------------------------------
build() {
    folder=build/gpu-build
    # A cache of another machine names compilers and folders that are not here.
    rm -rf "$folder"
    if command -v cmake >/dev/null 2>&1 && cmake -S . -B "$folder" -DCMAKE_BUILD_TYPE=Release -DPROFK_BUILD_TESTS=OFF \
        -DPROFK_BUILD_EXAMPLES=OFF -DOpenCL_INCLUDE_DIR="$headers" -DOpenCL_LIBRARY="$loader" >>"$log" 2>&1 &&
        cmake --build "$folder" --parallel >>"$log" 2>&1; then
        profk=$folder/tools/profk
    else
        say "cmake is missing or failed: building with cc and python3"
        python3 tools/bench/build_plain.py "$folder" "$headers" "$loader" >>"$log" 2>&1 ||
            { tail -n 30 "$log"; say "the build failed"; exit 1; }
        profk=$folder/profk
    fi
    say "built $profk"
}

# --- steps ---------------------------------------------------------------------------------------------------------
# run MOST-SECONDS TITLE FILE COMMAND...: standard output to FILE; says how it went.  Status: the command's, 124 late,
# 125 no time left.
run() {
    most=$1 title=$2 file=$3
    shift 3
    seconds=$(least "$most" "$(left)")
    if [ "$seconds" -lt 5 ]; then
        say "$title: no time left"
        echo "- $title: no time left" >>"$summary"
        return 125
    fi
    start=$(date +%s)
    rc=0
    timeout "$seconds" "$@" >"$file" 2>>"$log" || rc=$?
    verdict="done"
    [ "$rc" = 0 ] || verdict="FAILED ($rc)"
    [ "$rc" != 124 ] || verdict="cut off"
    say "$title: $verdict, $(($(date +%s) - start)) s"
    echo "- $title: $verdict" >>"$summary"
    [ "$rc" = 0 ] || tail -n 3 "$log"
    return "$rc"
}

failed=
# A step that must not fail; that the time was too short for it is no failure.
must() {
    run "$@" || case $? in 124 | 125) ;; *) failed=yes ;; esac
}

bench() { # MOST-SECONDS TITLE FILE ARGUMENTS...: profk bench with the time as its budget too
    most=$1 title=$2 file=$3
    shift 3
    seconds=$(least "$most" "$(left)")
    must "$most" "$title" "$out/$file" "$profk" bench --device "$device" -q --json --budget $((seconds * 3 / 4 + 1)) "$@"
}

exactness() {
    types=f32,f16,bf16,f64,i8,u8,i16,u16,i32,u32,i64,u64
    inputs=normal,zeros,binary,narrow,descending
    # every answer of a bench is checked on the host; a wrong one ends it with status 1
    bench 60 "exact: types" exact-types.json -n "$check_n" -k 1,300 --dtype $types --distribution $inputs --runs 1 --warmup 1
    bench 40 "exact: smallest" exact-smallest.json -n "$check_n" -k 33 --dtype f32,i64,u8 --order smallest --runs 1
    bench 40 "exact: magnitude" exact-magnitude.json -n "$check_n" -k 33 --dtype f32,f16,i16 --order magnitude --runs 1
    bench 40 "exact: rows" exact-rows.json -n 20,1000,2^13 --rows 1000 -k 3 --runs 1 --mode exact,async
    bench 40 "exact: full" exact-full.json -n "$check_n" -k 1000 --route full --runs 1
}

speed() {
    bench 40 "one call" single.json -n "$one_n" -k "$one_k" --runs 30
    bench 150 "grid" grid.json grid -n "$grid_n" -k "$grid_k" --runs 15
    bench 90 "beyond 2^31" beyond.json -n "$beyond_n" -k "$beyond_k" --runs 10
    if python3 -c 'import torch' >>"$log" 2>&1; then
        must 150 "torch.topk" "$out/torch.md" python3 tools/bench/gpu_torch.py ${small:+--allow-cpu} \
            --budget "$(least 150 "$(left)")" --json "$out/peers.json" "$out/grid.json" "$out/beyond.json"
    else
        say "no torch for python3: no comparison"
        echo "- torch.topk: not there" >>"$summary"
    fi
}

named_benches() {
    for name in sample-size distributions check memory batches failure-budget; do
        bench 60 "$name" "$name.json" "$name" ${small:+--scale small}
    done
}

sizes() {
    device=gpu
    one_n=2^28 one_k=2^13
    check_n=1000,131075,2^22
    grid_n=2^21..2^31 grid_k=2^5,2^8,2^11,2^13,2^16,2^19,2^22
    beyond_n=3000000000,4300000000 beyond_k=2^10,2^18,2^22
    if [ -n "$small" ]; then
        device=${PROFK_DEVICE:-0}
        check_n=1000,20003 one_n=2^20 one_k=2^8
        grid_n="2^14..2^18*4" grid_k=2^5,2^8 beyond_n=1000003 beyond_k=2^10
    fi
}

report() {
    tables=
    for name in single grid beyond sample-size distributions check memory batches failure-budget; do
        if [ -s "$out/$name.json" ]; then tables="$tables $out/$name.json"; fi
    done
    {
        echo
        "$profk" devices
        echo
        # shellcheck disable=SC2086 # a list of files
        [ -z "$tables" ] || python3 tools/bench/tables.py $tables
        if [ -s "$out/torch.md" ]; then cat "$out/torch.md"; fi
    } >>"$summary" 2>>"$log"
}

say "$(uname -m), $(nproc) cores"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>>"$log" || say "no nvidia-smi"
find_driver
find_opencl
build
sizes
"$profk" devices || { say "no OpenCL device"; exit 77; }
"$profk" explain --device "$device" -n 4096 -k 1 >/dev/null 2>>"$log" || { tail -n 2 "$log"; say "no usable device '$device'"; exit 77; }
exactness
speed
# Its hundred kernels may take longer than all the rest to compile: it has what time is left.
must 150 "selftest" "$out/selftest.txt" "$profk" selftest --device "$device"
[ -z "$ablations" ] || named_benches
report
say "results in $out"
[ -z "$failed" ] || exit 1
