#!/usr/bin/env python3
"""build_plain.py: builds the command with cc alone, for machines without CMake.

  build_plain.py FOLDER OPENCL-INCLUDE-FOLDER LIBOPENCL-FILE

Makes FOLDER/kernels.c as tools/cmake/embed_kernels.cmake does, and FOLDER/profk from it, src/ and tools/profk/.
"""
import hashlib
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]+"([^"]+)"')


def expand(path, seen):
    """The text of a kernel file with its includes in it, each once, and #line directives."""
    lines = [f'#line 1 "{path.name}"']
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            lines.append(line)
            continue
        included = path.parent / found[1]
        if included in seen:
            lines.append("")
            continue
        seen.add(included)
        lines += expand(included, seen) + [f'#line {number + 1} "{path.name}"']
    return lines


def embed(folder):
    body, rows = "", ""
    for path in sorted((ROOT / "cl").glob("*.cl")):
        text = ("\n".join(expand(path, {path})) + "\n").encode()
        digits = ",".join(str(byte) for byte in text)
        body += f"static const char {path.stem}_cl[] = {{{digits},0}};\n"
        rows += f'    {{"{path.name}", {path.stem}_cl, sizeof {path.stem}_cl - 1, "{hashlib.sha256(text).hexdigest()}"}},\n'
    (folder / "kernels.c").write_text(
        '#include "runtime/kernels.h"\n' + body +
        f"const struct profk__kernel_source profk__kernel_sources[] = {{\n{rows}    {{0, 0, 0, 0}},\n}};\n"
        "const size_t profk__kernel_source_count = "
        "sizeof profk__kernel_sources / sizeof profk__kernel_sources[0] - 1;\n")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, headers, library = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    folder.mkdir(parents=True, exist_ok=True)
    embed(folder)
    flags = ["-std=c11", "-O2", "-DNDEBUG", "-D_POSIX_C_SOURCE=200809L", "-D_FILE_OFFSET_BITS=64",
             "-DPROFK_STATIC", "-DPROFK_BUILDING", "-DCL_TARGET_OPENCL_VERSION=120",
             f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", f"-I{headers}"]
    sources = [folder / "kernels.c", *(ROOT / "src").rglob("*.c"), *(ROOT / "tools" / "profk").glob("*.c")]
    cc = os.environ.get("CC", "cc")

    def compile_one(source):
        target = folder / (str(source.resolve()).replace("/", "_") + ".o")
        subprocess.run([cc, *flags, "-c", source, "-o", target], check=True)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, sources))
    subprocess.run([cc, *objects, "-o", folder / "profk", library, "-lpthread", "-lm"], check=True)


if __name__ == "__main__":
    main()
