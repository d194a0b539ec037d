#!/bin/sh
# coverage.sh: which lines of the host's C and of the kernels the tests run.
#
#   tools/coverage.sh [--host] [--kernels]
#
#   --host     builds with the preset `coverage`, runs the tests, and reports src/ and tools/profk/ by gcovr
#   --kernels  runs the small sizes under Oclgrind with a plugin that notes lines (tests/support/kernel_lines.cpp), and
#              reports cl/; of the build of the preset `ci`
#   neither    both
#
# The bars are 90 % of the lines of src/ and 95 % of the kernels' lines; functions that no test calls are listed.  What
# is not covered stands in build/coverage/host.txt and build/coverage/kernels.txt.
# Exit status: 0 above the bars, 1 below or a test failed, 2 usage.
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=tools/install_packages.sh
. tools/install_packages.sh

host_bar=90
kernel_bar=95
reports=build/coverage
failed=
jobs=${PROFK_JOBS:-$(nproc)}

# gcovr: the system's, else a Python package in a folder of its own.
find_gcovr() {
    gcovr=$(command -v gcovr || true)
    [ -z "$gcovr" ] || return 0
    need_packages python3/python3 python3-venv
    [ -d build/gcovr ] || python3 -m venv build/gcovr
    [ -x build/gcovr/bin/gcovr ] || build/gcovr/bin/pip install --quiet 'gcovr>=7'
    gcovr=build/gcovr/bin/gcovr
}

# The library's symbols are not looked at (gcov adds its own), nor is it installed.
host() {
    find_gcovr
    cmake --preset coverage
    cmake --build --preset coverage --parallel "$jobs"
    find build/coverage -name '*.gcda' -delete
    ctest --preset coverage --parallel "$jobs" --label-exclude '^install$' --exclude-regex '^symbols$' || failed=yes
    "$gcovr" --root . --gcov-ignore-parse-errors=negative_hits.warn --filter src/ --filter tools/profk/ \
        --txt "$reports/host.txt" --json "$reports/host.json" build/coverage
    python3 - "$reports/host.json" "$host_bar" <<'PYTHON'
import json, sys

lines, uncalled = {"src": [0, 0], "tools/profk": [0, 0]}, []
for file in json.load(open(sys.argv[1]))["files"]:
    total = lines["src" if file["file"].startswith("src/") else "tools/profk"]
    ran = {}
    for line in file["lines"]:
        ran[line["line_number"]] = ran.get(line["line_number"], False) or line["count"] > 0
    total[0] += sum(ran.values())
    total[1] += len(ran)
    uncalled += [f'{file["file"]}:{f["lineno"]}' for f in file["functions"] if f["execution_count"] == 0]
for name, (ran, of) in lines.items():
    print(f"{name}: {100 * ran / of:.1f} % of {of} lines")
print("functions that no test calls:", ", ".join(uncalled) or "none")
sys.exit(100 * lines["src"][0] < float(sys.argv[2]) * lines["src"][1])
PYTHON
}

# The plugin must be built with the headers of the LLVM that Oclgrind is linked with.
build_plugin() {
    need_packages g++/g++ oclgrind liboclgrind-dev
    version=$(dpkg-query -W -f='${Depends}' 'liboclgrind-[0-9]*' | sed -n 's/.*libllvm\([0-9]*\).*/\1/p')
    need_packages "llvm-$version-dev/llvm-config-$version"
    mkdir -p "$reports"
    g++ -std=c++17 -O2 -fno-rtti -shared -fPIC -isystem /usr/include/oclgrind \
        -isystem "$("llvm-config-$version" --includedir)" -Wall -Wextra -Werror -o "$reports/kernel_lines.so" \
        tests/support/kernel_lines.cpp
}

# No optimisation and no inlining: lines vanish in both.  The cache of programs is off, so that all are compiled so.
kernels() {
    build_plugin
    cmake --preset ci
    cmake --build --preset ci --parallel "$jobs" --target test_exact test_stages
    rm -f "$reports/kernel_lines.txt"
    for program in conformance/test_exact device/test_stages; do
        PROFK_CACHE_DIR='' PROFK_KERNEL_LINES="$PWD/$reports/kernel_lines.txt" oclgrind \
            --build-options "-cl-opt-disable -disable-llvm-passes" --plugins "$PWD/$reports/kernel_lines.so" \
            "build/ci/tests/$program" --small
    done
    python3 - "$reports/kernel_lines.txt" "$kernel_bar" cl "$reports/kernels.txt" <<'PYTHON'
import os, sys

ran = {}
for line in open(sys.argv[1]):
    place, flag = line.split()
    file, number = os.path.basename(place.rsplit(":", 1)[0]), int(place.rsplit(":", 1)[1])
    of = ran.setdefault(file, {})
    of[number] = of.get(number, False) or flag == "1"
files = sorted(f for f in os.listdir(sys.argv[3]) if f in ran or f.endswith(".cl"))
total = [sum(sum(ran.get(f, {}).values()) for f in files), sum(len(ran.get(f, {})) for f in files)]
with open(sys.argv[4], "w") as report:
    for f in files:
        text = open(os.path.join(sys.argv[3], f)).read().split("\n")
        missed = sorted(n for n, yes in ran.get(f, {}).items() if not yes)
        print(f"{f}: {sum(ran.get(f, {}).values())} of {len(ran.get(f, {}))} lines", file=report)
        print(*(f"    {n}: {text[n - 1].strip()}" for n in missed), sep="\n", file=report)
print(open(sys.argv[4]).read())
missing = [f for f in files if f not in ran]
print(f"kernels: {100 * total[0] / total[1]:.1f} % of {total[1]} lines")
if missing:
    print("never built:", ", ".join(missing))
sys.exit(bool(missing) or 100 * total[0] < float(sys.argv[2]) * total[1])
PYTHON
}

case $# in 0) set -- --host --kernels ;; esac
for option in "$@"; do
    case $option in
    --host | --kernels) ;;
    *) sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
for option in "$@"; do
    case $option in
    --host) host ;;
    --kernels) kernels ;;
    esac
done
if [ -n "$failed" ]; then
    echo "a test failed"
    exit 1
fi
