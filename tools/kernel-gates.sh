#!/bin/sh
# kernel-gates.sh: compile kernels for real GPU targets, with no GPU present; one line per (kernel, target).
#
#   kernel-gates.sh DIR SPECS     SPECS: a file, one program a line, 'name.cl -DNAME=VALUE ...'; name.cl lies in DIR
#
# Each program is compiled as strict OpenCL C 1.2 with every optional extension off into valid SPIR-V 1.0, and for
# NVIDIA, AMD and Intel devices.  It fails if it does not compile without a warning, needs an optional capability,
# spills registers, keeps an array in private memory, takes too much local memory, or loads in pieces what should be one
# load of 128 bits.  Programs run in parallel, their lines come in order.
#
# Exit 0: all good.  1: at least one line says FAIL.  2: usage, or a tool is missing (never a silent pass).
#
# Settings (environment):
#   LLVM=22         version of clang and llvm
#   SM, GFX, IGPU   target lists; an empty list turns that vendor off
#   MAX_SPILL=0     spilled bytes (NVIDIA; Intel: scratch) or registers (AMD)
#   MAX_PRIVATE=64  stack or scratch of a work-item, bytes (NVIDIA, AMD); profk_sample keeps 10 words there
#   MAX_LDS=16384   local memory per work-group, bytes (the OpenCL 1.2 minimum is 32768)
#   MAX_PROGRAMS=100   lines of SPECS
#   WG_MACRO=PK_WG  the macro that holds the work-group size; ptxas caps registers for it (256 where it is not defined)
#   WIDE=profk_filter  the kernel whose PK_ITEMS loads must be 128 bits wide where PK_VEC * PK_WIDTH_BITS is 128
#   CAPS=...        SPIR-V capabilities that a kernel may need
#   JOBS            programs at a time, default all processors
#
# Tools: clang, llvm, libclc, spirv-tools, ocloc, ptxas and nvdisasm that know the SM listed.  Local memory that a host
# passes with clSetKernelArg is not in the lds figures: no compiler can know it.  spill is bytes for NVIDIA and Intel,
# registers for AMD.  ld128 counts the 128-bit global loads among all global loads.
set -u
: "${LLVM=22}" "${SM=sm_75 sm_80 sm_90 sm_120}" "${GFX=gfx906 gfx1030 gfx1100}" "${IGPU=skl tgllp dg2}"
: "${MAX_SPILL=0}" "${MAX_PRIVATE=64}" "${MAX_LDS=16384}" "${MAX_PROGRAMS=100}" "${WG_MACRO=PK_WG}"
: "${JOBS=$(nproc)}" "${WIDE=profk_filter}"
: "${CAPS=Addresses Linkage Kernel Int64 Int16 Int8 Vector16}"
export LLVM SM GFX IGPU MAX_SPILL MAX_PRIVATE MAX_LDS WG_MACRO WIDE CAPS

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
    [ -z "$SM" ] || { need $nvclc libclc; need ptxas "the CUDA toolkit"; need nvdisasm "the CUDA toolkit"; }
    [ -z "$GFX" ] || need $amdclc libclc
    [ -z "$IGPU" ] || need ocloc "Intel's offline compiler"
}

# fail TARGET NAME REASON: prints it with the head of the tool's own words.
fail() {
    status=1
    printf '%-10s %-24s FAIL %s\n' "$1" "$2" "$3"
    sed 's/^/    /' "$tmp/log" | head -n 6
}

# line TARGET KERNEL LDS SPILL PRIVATE FIGURES: prints and judges.
line() {
    verdict=ok
    [ "$3" -le "$MAX_LDS" ] || verdict="FAIL lds"
    [ "$5" -le "$MAX_PRIVATE" ] || verdict="FAIL private memory"
    [ "$4" -le "$MAX_SPILL" ] || verdict="FAIL spill"
    case "$2 $6" in
    "$WIDE "*ld128=*) # with fewer than $wide, which is 0 where vectors are no 128 bits, some vector was taken apart
        found=${6##*ld128=}
        [ "${found%%/*}" -ge "$wide" ] || verdict="FAIL loads: $wide must be 128 bits wide"
        ;;
    "$WIDE "*simd=*) ;; # the Intel compiler's loads are not looked at
    "$WIDE "*) verdict="FAIL no loads found" ;;
    esac
    [ "$verdict" = ok ] || status=1
    printf '%-10s %-24s lds=%-6s spill=%-5s %s %s\n' "$1" "$2" "$3" "$4" "$6" "$verdict"
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

# spirv_in_scalars: a.spv, which is LLVM's bitcode so far, becomes SPIR-V without operations on vectors.
spirv_in_scalars() {
    "opt-$LLVM" -passes=scalarizer "$tmp/a.spv" -o "$tmp/a.bc" >"$tmp/log" 2>&1 &&
        "clang-$LLVM" -target "$spirv_target" -O2 -Xclang -disable-llvm-passes -x ir -c -o "$tmp/a.spv" "$tmp/a.bc" \
            >>"$tmp/log" 2>&1
}

# spirv OPTIONS...: strict warnings with every optional extension off, then valid SPIR-V 1.0 for OpenCL 1.2.
# -Wno-sometimes-uninitialized: false alarm on __local scalars that one work-item sets.  -Wno-unused-function: the
# functions of the shared headers, which are expanded into each file.
#
# Valid in one of three ways is enough: the SPIR-V backend of LLVM 22 writes invalid modules for some valid kernels
# (optimised: a choice between vectors by one condition, which SPIR-V 1.4 allows, vectors of one component, AND of
# unlike widths, not the same from run to run; at -O0: a null constant as a member index), and what is to be judged
# here is the kernel.  The third way takes vectors apart before the backend sees them.  The warnings come from the front
# end.
spirv() {
    spirv_target=spirv64v1.0-unknown-unknown
    warnings="-Wall -Wextra -Wconversion -Wshadow -Wcast-align -Wdouble-promotion -Wno-sometimes-uninitialized"
    for way in -O2 -O0 "-O2 -emit-llvm"; do
        # shellcheck disable=SC2086 # lists of options
        if ! "clang-$LLVM" -target $spirv_target -x cl -cl-std=CL1.2 $way -Xclang -cl-ext=-all \
            $warnings -Wno-unused-function -Werror "$@" -c -o "$tmp/a.spv" "$file" >"$tmp/log" 2>&1; then
            fail spirv1.0 "$name" "does not compile cleanly"
            return
        fi
        if [ "$way" = "-O2 -emit-llvm" ] && ! spirv_in_scalars; then
            echo "no module in scalars" >>"$tmp/log"
            cat "$tmp/log" >>"$tmp/invalid"
            break
        fi
        if spirv-val --target-env opencl1.2 "$tmp/a.spv" >"$tmp/log" 2>&1; then
            break
        fi
        cat "$tmp/log" >>"$tmp/invalid"
    done
    if [ -s "$tmp/log" ]; then
        mv "$tmp/invalid" "$tmp/log"
        fail spirv1.0 "$name" "invalid SPIR-V in every way"
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

# ptx_assemble SM OPTIONS OF PTXAS...: a.ptx to a.cubin; the figures are in the log.
ptx_assemble() {
    arch=$1
    shift
    ptxas -v -arch="$arch" -maxntid "$wg" "$@" -o "$tmp/a.cubin" "$tmp/a.ptx" >"$tmp/log" 2>&1
}

# ptx_figures KERNEL: "LDS SPILL STACK REGISTERS" from ptxas's log.
ptx_figures() {
    awk -v k="$1" '
        /Function properties for/ { on = ($NF == k) }
        on && /spill stores/ { stack = $1; spill = $5 }
        on && /Used [0-9]+ registers/ {
            for (i = 2; i <= NF; i++) {
                if ($i ~ /^registers/) r = $(i - 1)
                if ($i ~ /^smem/) s = $(i - 2)
            }
            print s + 0, spill + 0, stack + 0, "regs=" r
            exit
        }' "$tmp/log"
}

# count_wide DISASSEMBLY KERNEL PLACE ANY WIDE: " ld128=N/M", N of the kernel's M loads being 128 bits wide: the lines
# that match WIDE and ANY between the one that matches PLACE and ends in the kernel's name and the next PLACE.
count_wide() {
    awk -v k="$2" -v place="$3" -v any="$4" -v wide="$5" '
        $0 ~ place { on = index($0, k) > 0 }
        on && $0 ~ any { all++; if ($0 ~ wide) n++ }
        END { printf " ld128=%d/%d", n, all }' "$1"
}

# nvidia SM OPTIONS...
#
# Told the size of a work-group, ptxas may give up a few registers to fit one work-group more on a multiprocessor, and
# spill them.  What spills is therefore assembled once more for one work-group at a time: what still spills must.  The
# line says what ptxas gave up before ("traded").
nvidia() {
    sm=$1
    shift
    if ! { irbuild nvptx64-nvidia-cuda "$sm" $nvclc -Wno-linker-warnings "$@" &&
        "llc-$LLVM" -O3 -mcpu="$sm" "$tmp/a.bc" -o "$tmp/a.ptx" >"$tmp/log" 2>&1 && ptx_assemble "$sm"; }; then
        fail "$sm" "$name" "does not build"
        return
    fi
    for k in $kernels; do
        traded=
        ptx_figures "$k" >"$tmp/figures"
        if ! read -r lds spill stack registers <"$tmp/figures"; then
            fail "$sm" "$k" "ptxas tells nothing about it"
            continue
        fi
        if [ "$spill" != 0 ]; then
            traded=" traded=$spill"
            mv "$tmp/log" "$tmp/first"
            ptx_assemble "$sm" -minnctapersm 1
            ptx_figures "$k" >"$tmp/figures"
            read -r lds spill stack registers <"$tmp/figures"
            mv "$tmp/first" "$tmp/log"
        fi
        loads=
        if [ "$k" = "$WIDE" ]; then
            nvdisasm -c -ndf "$tmp/a.cubin" >"$tmp/isa" 2>&1
            loads=$(count_wide "$tmp/isa" ".text.$k" '^\.text\.' '[ \t]LDG?(\.[A-Z0-9]+)* ' '[.]128')
        fi
        line "$sm" "$k" "$lds" "$spill" "$stack" "$registers stack=$stack$traded$loads"
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
            print name, lds, ss + vs, scratch, "vgpr=" v " sgpr=" s " scratch=" scratch " wave=" $2
        }' >"$tmp/notes"
    [ -s "$tmp/notes" ] || fail "$gfx" "$name" "no kernel information"
    while read -r k lds spill scratch rest; do
        if [ "$k" = "$WIDE" ]; then
            "llvm-objdump-$LLVM" -d "$tmp/a.o" >"$tmp/isa"
            rest=$rest$(count_wide "$tmp/isa" "<$k>:" '^[0-9a-f]+ <' '(global|flat|buffer)_load' '_(dwordx4|b128)')
        fi
        line "$gfx" "$k" "$lds" "$spill" "$scratch" "$rest"
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
        line "$igpu" "$k" "$lds" "$spill" 0 "$rest"
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
    wide=0
    vector_nbits=1
    for option in "$@"; do
        case $option in
        "-D$WG_MACRO="*) wg=${option#*=} ;;
        -DPK_ITEMS=*) wide=${option#*=} ;;
        -DPK_VEC=* | -DPK_WIDTH_BITS=*) vector_nbits=$((vector_nbits * ${option#*=})) ;;
        esac
    done
    [ "$vector_nbits" = 128 ] || wide=0
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

# tool_versions: the first line of a run; other versions give other figures.
tool_versions() {
    printf 'compiled with clang %s' "$("clang-$LLVM" --version | sed -n 's/.*version \([0-9.]*\).*/\1/p')"
    [ -z "$SM" ] || printf ', ptxas %s' "$(ptxas --version | sed -n 's/.*, V\([0-9.]*\).*/\1/p')"
    printf '\n'
}

if [ "${1:-}" = --one ]; then
    # shellcheck disable=SC2086 # a line of SPECS is a list of words
    set -- "$2" "$3" $4
    one "$@"
    exit 0
fi

if [ $# != 2 ] || [ ! -d "$1" ] || [ ! -s "$2" ]; then
    sed -n '2,26s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
need_tools
tool_versions
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
