#!/bin/sh
# kernel-gates.sh: compile kernels for real GPU targets, with no GPU present; one line per (kernel, target).
#
#   kernel-gates.sh DIR SPECS     SPECS: a file, one program a line, 'name.cl -DNAME=VALUE ...'; name.cl lies in DIR
#
# Each program is compiled as strict OpenCL C 1.2 with every optional extension off into valid SPIR-V 1.0, and for
# NVIDIA, AMD and Intel devices.  It fails if it does not compile without a warning, needs an optional capability,
# spills registers or takes too much local memory.  Programs run in parallel, their lines come in order.
#
# Exit 0: all good.  1: at least one line says FAIL.  2: usage, or a tool is missing (never a silent pass).
#
# Settings (environment):
#   LLVM=22         version of clang and llvm
#   SM, GFX, IGPU   target lists; an empty list turns that vendor off
#   MAX_SPILL=0     spilled bytes (NVIDIA; Intel: scratch) or registers (AMD)
#   MAX_LDS=16384   local memory per work-group, bytes (the OpenCL 1.2 minimum is 32768)
#   MAX_PROGRAMS=100   lines of SPECS
#   WG_MACRO=PK_WG  the macro that holds the work-group size; ptxas caps registers for it (256 where it is not defined)
#   CAPS=...        SPIR-V capabilities that a kernel may need
#   JOBS            programs at a time, default all processors
#
# Tools: clang, llvm, libclc, spirv-tools, ocloc, ptxas.  Local memory that a host passes with clSetKernelArg is not in
# the lds figures: no compiler can know it.  spill is bytes for NVIDIA and Intel, registers for AMD.  ld128 counts the
# 128-bit global loads among all global loads.
set -u
: "${LLVM=22}" "${SM=sm_75 sm_80 sm_90}" "${GFX=gfx906 gfx1030 gfx1100}" "${IGPU=skl tgllp dg2}"
: "${MAX_SPILL=0}" "${MAX_LDS=16384}" "${MAX_PROGRAMS=100}" "${WG_MACRO=PK_WG}" "${JOBS=$(nproc)}"
: "${CAPS=Addresses Linkage Kernel Int64 Int16 Int8 Vector16}"
export LLVM SM GFX IGPU MAX_SPILL MAX_LDS WG_MACRO CAPS

# OpenCL built-ins as bitcode; libclc renamed the AMD file in version 20.
nvclc=/usr/lib/clc/nvptx64--nvidiacl.bc
amdclc=/usr/lib/clc/amdgcn-amd-amdhsa.bc
[ -f $amdclc ] || amdclc=/usr/lib/clc/amdgcn--amdhsa.bc

need() {
    command -v "$1" >/dev/null || [ -f "$1" ] || { echo "MISSING $1 ($2)" >&2; exit 2; }
}

need_tools() {
    need "clang-$LLVM" "clang-$LLVM"
    need "opt-$LLVM" "llvm-$LLVM"
    need spirv-val spirv-tools
    [ -z "$SM" ] || { need $nvclc libclc; need ptxas "the CUDA toolkit"; }
    [ -z "$GFX" ] || need $amdclc libclc
    [ -z "$IGPU" ] || need ocloc "Intel's offline compiler"
}

# fail TARGET NAME REASON: prints it with the head of the tool's own words.
fail() {
    status=1
    printf '%-10s %-24s FAIL %s\n' "$1" "$2" "$3"
    sed 's/^/    /' "$tmp/log" | head -n 6
}

# line TARGET KERNEL LDS SPILL FIGURES: prints and judges.
line() {
    verdict=ok
    [ "$3" -le "$MAX_LDS" ] || verdict="FAIL lds"
    [ "$4" -le "$MAX_SPILL" ] || verdict="FAIL spill"
    [ "$verdict" = ok ] || status=1
    printf '%-10s %-24s lds=%-6s spill=%-5s %s %s\n' "$1" "$2" "$3" "$4" "$5" "$verdict"
}

# irbuild TRIPLE CPU LIB OPTIONS...: clang, link built-ins, then optimise with everything but the kernels made
# internal and nothing noinline: newer clangs put each kernel's body in a second, external, noinline function, whose
# spills would be counted apart.  Vendor compilers build one function.
irbuild() {
    triple=$1
    cpu=$2
    lib=$3
    shift 3
    "clang-$LLVM" -target "$triple" -Xclang -target-cpu -Xclang "$cpu" -nogpulib -x cl -cl-std=CL1.2 -w -O3 \
        -Xclang -disable-llvm-passes -Xclang -mlink-builtin-bitcode -Xclang "$lib" \
        "$@" -emit-llvm -S -o "$tmp/a.ll" "$file" >"$tmp/log" 2>&1 || return 1
    sed -i '/^attributes /s/ noinline / /' "$tmp/a.ll"
    kernels=$(sed -n 's/^define .*_kernel void @\([A-Za-z0-9_]*\)(.*/\1/p' "$tmp/a.ll")
    [ -n "$kernels" ] || { echo "no kernel in $file" >"$tmp/log"; return 1; }
    # shellcheck disable=SC2086 # one line
    "opt-$LLVM" -passes='internalize,default<O3>' -mcpu="$cpu" \
        -internalize-public-api-list="$(echo $kernels | tr ' ' ,)" "$tmp/a.ll" -o "$tmp/a.bc" >>"$tmp/log" 2>&1
}

# spirv OPTIONS...: strict warnings with every optional extension off, then valid SPIR-V 1.0 for OpenCL 1.2.
# -Wno-sometimes-uninitialized: false alarm on __local scalars that one work-item sets.  -Wno-unused-function: the
# functions of the shared headers, which are expanded into each file.
#
# Valid at one level of optimisation is enough: the SPIR-V backend of LLVM 22 writes invalid modules for some valid
# kernels (optimised: vectors of one component, AND of unlike widths, not the same from run to run; at -O0: a null
# constant as a member index), and what is to be judged here is the kernel.  The warnings come from the front end.
spirv() {
    for level in -O2 -O0; do
        if ! "clang-$LLVM" -target spirv64v1.0-unknown-unknown -x cl -cl-std=CL1.2 $level -Xclang -cl-ext=-all \
            -Wall -Wextra -Wconversion -Wshadow -Wcast-align -Wdouble-promotion -Wno-sometimes-uninitialized -Wno-unused-function -Werror \
            "$@" -c -o "$tmp/a.spv" "$file" >"$tmp/log" 2>&1; then
            fail spirv1.0 "$name" "does not compile cleanly"
            return
        fi
        if spirv-val --target-env opencl1.2 "$tmp/a.spv" >"$tmp/log" 2>&1; then
            break
        fi
        cat "$tmp/log" >>"$tmp/invalid"
    done
    if [ -s "$tmp/log" ]; then
        mv "$tmp/invalid" "$tmp/log"
        fail spirv1.0 "$name" "invalid SPIR-V at -O2 and at -O0"
    else
        needs=$(spirv-dis "$tmp/a.spv" | awk '$1 == "OpCapability" { print $2 }')
        optional=
        for cap in $needs; do
            case " $CAPS " in *" $cap "*) ;; *) optional="$optional $cap" ;; esac
        done
        : >"$tmp/log"
        if [ -n "$optional" ]; then
            fail spirv1.0 "$name" "needs optional capability:$optional"
        else
            # shellcheck disable=SC2086 # one line
            printf '%-10s %-24s valid, needs %s ok\n' spirv1.0 "$name" "$(echo $needs | tr ' ' ,)"
        fi
    fi
}

# ldg128 KERNEL: "128-bit global loads/all global loads" in a cubin.  From Turing on a SASS instruction is 16 bytes;
# its low 9 bits 0x181 are a global load, and bits 73-75 its size, 6 meaning 128 bits.
ldg128() {
    "llvm-objcopy-$LLVM" -O binary --only-section=".text.$1" "$tmp/a.cubin" "$tmp/sass" 2>/dev/null
    od -An -v -tx8 -w16 "$tmp/sass" | awk '
        { op = substr($1, 14, 3); size = int((index("0123456789abcdef", substr($2, 14, 1)) - 1) / 2) }
        op ~ /^[39]81$/ { all++; if (size == 6) wide++ }
        END { printf "%d/%d", wide, all }'
}

# nvidia SM OPTIONS...
nvidia() {
    sm=$1
    shift
    if ! { irbuild nvptx64-nvidia-cuda "$sm" $nvclc -Wno-linker-warnings "$@" &&
        "llc-$LLVM" -O3 -mcpu="$sm" "$tmp/a.bc" -o "$tmp/a.ptx" >"$tmp/log" 2>&1 &&
        ptxas -v -arch="$sm" -maxntid "$wg" -o "$tmp/a.cubin" "$tmp/a.ptx" >"$tmp/log" 2>&1; }; then
        fail "$sm" "$name" "does not build"
        return
    fi
    for k in $kernels; do
        figures=$(awk -v k="$k" '
            /Function properties for/ { on = ($NF == k) }
            on && /spill stores/ { stack = $1; spill = $5 }
            on && /Used [0-9]+ registers/ {
                for (i = 2; i <= NF; i++) {
                    if ($i ~ /^registers/) r = $(i - 1)
                    if ($i ~ /^smem/) s = $(i - 2)
                }
                print s + 0, spill + 0, "regs=" r " stack=" stack
                exit
            }' "$tmp/log")
        if [ -z "$figures" ]; then
            fail "$sm" "$k" "ptxas tells nothing about it"
            continue
        fi
        rest=${figures#* }
        line "$sm" "$k" "${figures%% *}" "${rest%% *}" "${rest#* } ld128=$(ldg128 "$k")"
    done
}

# amd GFX OPTIONS...
amd() {
    gfx=$1
    shift
    if ! { irbuild amdgcn-amd-amdhsa "$gfx" $amdclc "$@" &&
        "llc-$LLVM" -O3 -mcpu="$gfx" -filetype=obj "$tmp/a.bc" -o "$tmp/a.o" >"$tmp/log" 2>&1; }; then
        fail "$gfx" "$name" "does not build"
        return
    fi
    "llvm-objdump-$LLVM" -d "$tmp/a.o" >"$tmp/isa"
    "llvm-readelf-$LLVM" --notes "$tmp/a.o" | awk '
        $1 == "-" { sub(/^ *- /, "") }
        /^ *\.group_segment_fixed_size:/ { lds = $2 }
        /^ *\.private_segment_fixed_size:/ { scratch = $2 }
        /^ *\.sgpr_count:/ { s = $2 }
        /^ *\.vgpr_count:/ { v = $2 }
        /^ *\.sgpr_spill_count:/ { ss = $2 }
        /^ *\.vgpr_spill_count:/ { vs = $2 }
        /^ *\.symbol:/ { name = $2; gsub(/\.kd|\x27/, "", name) }
        /^ *\.wavefront_size:/ {
            print name, lds, ss + vs, "vgpr=" v " sgpr=" s " scratch=" scratch " wave=" $2
        }' >"$tmp/notes"
    [ -s "$tmp/notes" ] || fail "$gfx" "$name" "no kernel information"
    while read -r k lds spill rest; do
        wide=$(awk -v k="<$k>:" '
            /^[0-9a-f]+ <.*>:/ { on = ($2 == k) }
            on && /(global|flat|buffer)_load/ { all++; if (/load_(dwordx4|b128)/) w++ }
            END { printf "%d/%d", w, all }' "$tmp/isa")
        line "$gfx" "$k" "$lds" "$spill" "$rest ld128=$wide"
    done <"$tmp/notes"
}

# intel DEVICE OPTIONS...
intel() {
    igpu=$1
    shift
    rm -rf "$tmp/intel"
    if ! ocloc compile -file "$file" -device "$igpu" -options "-cl-std=CL1.2 $*" \
        -internal_options -cl-intel-allow-zebin -out_dir "$tmp/intel" -output k >"$tmp/log" 2>&1; then
        fail "$igpu" "$name" "does not build"
        return
    fi
    "llvm-objcopy-$LLVM" --dump-section .ze_info="$tmp/ze" "$tmp"/intel/k_*.bin "$tmp/junk"
    awk 'function out() { if (name != "") print name, slm + 0, scratch + 0, "simd=" simd " grf=" grf; name = "" }
        /^kernels_misc_info:/ { exit }
        /^  - name:/ { out(); name = $3; slm = scratch = 0 }
        /^ *simd_size:/ { simd = $2 }
        /^ *grf_count:/ { grf = $2 }
        /^ *slm_size:/ { slm = $2 }
        /type: +scratch/ { inside = 1 }
        inside && /^ *size:/ { scratch = $2; inside = 0 }
        END { out() }' "$tmp/ze" >"$tmp/notes"
    [ -s "$tmp/notes" ] || fail "$igpu" "$name" "no kernel information"
    while read -r k lds spill rest; do
        line "$igpu" "$k" "$lds" "$spill" "$rest"
    done <"$tmp/notes"
}

# one DIR OUT NUMBER NAME OPTIONS...: all targets of one program; its lines go to OUT/NUMBER, its status to OUT/failed.
one() {
    file=$1/$4
    name=$4
    out=$2
    number=$3
    shift 4
    tmp=$out/$number.d
    mkdir "$tmp"
    status=0
    wg=256
    for option in "$@"; do
        case $option in "-D$WG_MACRO="*) wg=${option#*=} ;; esac
    done
    {
        echo "$name $*"
        spirv "$@"
        for target in $SM; do nvidia "$target" "$@"; done
        for target in $GFX; do amd "$target" "$@"; done
        for target in $IGPU; do intel "$target" "$@"; done
    } >"$out/$number" 2>&1
    [ "$status" = 0 ] || echo "$name $*" >>"$out/failed"
    rm -rf "$tmp"
}

if [ "${1:-}" = --one ]; then
    # shellcheck disable=SC2086 # a line of SPECS is a list of words
    set -- "$2" "$3" $4
    one "$@"
    exit 0
fi

if [ $# != 2 ] || [ ! -d "$1" ] || [ ! -s "$2" ]; then
    sed -n '2,20s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
need_tools
out=$(mktemp -d) || exit 2
trap 'rm -rf "$out"' EXIT
count=$(wc -l <"$2")
awk '{ printf "%03d %s\n", NR, $0 }' "$2" | xargs -d '\n' -n 1 -P "$JOBS" "$0" --one "$1" "$out"
cat "$out"/[0-9]*
done_count=$(find "$out" -maxdepth 1 -type f -name '[0-9]*' | wc -l)
failed=0
[ ! -f "$out/failed" ] || failed=$(wc -l <"$out/failed")
echo "$count programs (at most $MAX_PROGRAMS), $failed failed"
[ "$failed" = 0 ] && [ "$count" -le "$MAX_PROGRAMS" ] && [ "$done_count" = "$count" ]
