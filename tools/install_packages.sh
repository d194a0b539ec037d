# shellcheck shell=sh disable=SC2034 # sourced, see below
# install_packages.sh: sourced by check.sh and demo.sh.
#
# need_packages NAME...: installs those Debian or Ubuntu packages that are missing, with sudo when not root, and asks
# for nothing when none is.  A name may be followed by /COMMAND: then a command of that name serves as well, wherever
# it came from.  On a system without apt-get it only names what is missing.

need_packages() {
    missing=
    for entry in "$@"; do
        package=${entry%%/*}
        case $entry in
        */*) if command -v "${entry#*/}" >/dev/null 2>&1; then continue; fi ;;
        esac
        if [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]; then
            missing="$missing $package"
        fi
    done
    [ -n "$missing" ] || return 0

    if ! command -v apt-get >/dev/null 2>&1; then
        echo "install these first, under the names your system gives them:$missing" >&2
        return 1
    fi
    root=
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "run this as root, or install these first:$missing" >&2
            return 1
        fi
        root=sudo
    fi
    echo "installing$missing" >&2
    # The package lists of this machine may be absent or old: fetch them when they do not lead to the packages.
    # shellcheck disable=SC2086 # lists of words
    apt_install $missing || { $root env DEBIAN_FRONTEND=noninteractive apt-get update && apt_install $missing; }
}

apt_install() {
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# What building and testing need: a C and a C++ compiler, CMake, the OpenCL loader with its headers, PoCL (a device
# on every CPU), cmocka (the tests), pkg-config (the test of profk.pc), clinfo (to look at the devices).
BUILD_PACKAGES="cmake/cmake make/make gcc/gcc g++/g++ ocl-icd-opencl-dev opencl-headers pocl-opencl-icd"
TEST_PACKAGES="libcmocka-dev pkg-config/pkg-config clinfo/clinfo"
