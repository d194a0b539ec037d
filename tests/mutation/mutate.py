#!/usr/bin/env python3
"""Applies the mutants of mutants.txt, one at a time, and sees that the tests find each.

    mutate.py BUILD.txt [--sample N] [--only PATTERN] [--jobs N] [--list]

BUILD.txt is written by CMake and says how a test program is linked.  A mutant is killed if a test fails, crashes or
hangs on PoCL, or if Oclgrind reports anything.  The checker that the table names goes first; if it finds nothing, the
other one tries.  Before that every run is made without a mutant and must find nothing.

Tests of a mutant:  stages PATTERN  is  test_stages --small --only PATTERN,  all PATTERN  on PoCL without --small.

--sample N takes N mutants by the seed PROFK_TEST_SEED.  Exit status: 0 all killed but those named equivalent, which
must survive; 1 if not; 2 a mutant does not fit its file, or something is missing.
"""
import argparse
import concurrent.futures
import fnmatch
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

CHECKERS = ("pocl", "oclgrind")
HUNG_SECONDS = 120
HERE = os.path.dirname(os.path.abspath(__file__))


def give_up(message):
    print(f"mutate: {message}", file=sys.stderr)
    sys.exit(2)


class Mutant:
    def __init__(self, name, file):
        self.name, self.file, self.checker, self.tests, self.why = name, file, None, None, None
        self.lines = []  # (sign, text)

    def is_equivalent(self):
        return self.why is not None and self.why.startswith("equivalent: ")


def read_mutants(path):
    mutants = []
    for number, line in enumerate(open(path, encoding="ascii"), 1):
        line = line.rstrip("\n")
        words = line.split(maxsplit=2)
        if not line or line.startswith("#"):
            continue
        if words[0] == "mutant" and len(words) == 3:
            mutants.append(Mutant(words[1], words[2]))
        elif words[0] == "by" and len(words) == 3 and words[1] in CHECKERS:
            mutants[-1].checker, mutants[-1].tests = words[1], words[2]
        elif words[0] == "why" and len(words) == 3:
            mutants[-1].why = line.split(maxsplit=1)[1]
        elif line[0] in " -+":
            mutants[-1].lines.append((line[0], line[1:].strip()))
        else:
            give_up(f"{path}:{number}: what is '{line}'?")
    names = [m.name for m in mutants]
    for m in mutants:
        if names.count(m.name) != 1 or m.checker is None or [s for s, _ in m.lines].count("-") != 1:
            give_up(f"{path}: {m.name}: not one name, one 'by' and one line that goes")
    return mutants


def mutate(mutant, folder):
    """Changes the file in folder; the lines must stand there once, one after another."""
    path = os.path.join(folder, mutant.file)
    text = open(path, encoding="ascii").read().split("\n")
    old = [line for sign, line in mutant.lines if sign != "+"]
    bare = [line.strip() for line in text]
    places = [i for i in range(len(text)) if bare[i:i + len(old)] == old]
    if len(places) != 1:
        give_up(f"{mutant.name}: its lines stand {len(places)} times in {mutant.file}, not once")
    new = [line for sign, line in mutant.lines if sign != "-"]
    if old == new:
        give_up(f"{mutant.name}: changes nothing")
    text[places[0]:places[0] + len(old)] = new
    open(path, "w", encoding="ascii").write("\n".join(text))


class Build:
    """Links test programs with the kernels of a folder."""

    def __init__(self, path):
        facts = dict(line.rstrip("\n").split("=", 1) for line in open(path, encoding="utf-8") if "=" in line)
        self.compiler, self.cmake, self.embed, self.cl = (facts[k] for k in ("compiler", "cmake", "embed", "cl"))
        self.flags = [f for f in facts["flags"].split(";") if f]
        objects = [os.path.normpath(o) for o in facts["objects"].split(";")]
        self.objects = [o for o in objects if not o.endswith("profk_objects.dir/kernels.c.o")]
        self.libraries = facts["libraries"].split(";")
        self.pocl_cache = facts["pocl_cache"]

    def link(self, cl, to):
        kernels = sorted(os.path.join(cl, name) for name in os.listdir(cl) if name.endswith(".cl"))
        c = os.path.join(to, "kernels.c")
        self.run(self.cmake, f"-DKERNELS={';'.join(kernels)}", f"-DEXPANDED={to}/expanded", f"-DOUT={c}", "-P",
                 self.embed)
        program = os.path.join(to, "test_stages")
        self.run(self.compiler, "-O0", *self.flags, "-o", program, c, *self.objects, *self.libraries)
        return program

    @staticmethod
    def run(*command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            give_up(f"{' '.join(command[:3])} ...: {done.stdout}")


def check(program, checker, tests, build, folder):
    """What a checker found, in a few words; None if nothing."""
    kind, pattern = tests.split()
    command = [program, "--only", pattern] + (["--small"] if kind == "stages" or checker == "oclgrind" else [])
    report, output = os.path.join(folder, "report.txt"), os.path.join(folder, "output.txt")
    for path in (report, output):
        open(path, "w", encoding="ascii").close()
    if checker == "oclgrind":
        command = ["oclgrind", "--log", report, "--data-races", "--uninitialized", "--check-api"] + command
    environment = dict(os.environ, PROFK_CACHE="0", POCL_CACHE_DIR=build.pocl_cache)
    with open(output, "w", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        begin = time.monotonic()
        while process.poll() is None and os.path.getsize(report) == 0 and time.monotonic() - begin < HUNG_SECONDS:
            time.sleep(0.05)
    status = process.poll()
    if status is None:  # one report is enough
        process.kill()
        process.wait()
    if os.path.getsize(report) > 0:
        text = open(report, encoding="utf-8", errors="replace").read().strip().split("\n")
        return text[0].strip()[:60]
    if status is None:
        return f"hangs for {HUNG_SECONDS} s"
    text = open(output, encoding="utf-8", errors="replace").read()
    if "profk__kernels_create" in text:
        give_up(f"a kernel does not compile: {text}")
    if status != 0:
        wrong = re.search(r"not so: (.*)", text)
        return wrong.group(1)[:60] if wrong else f"exit status {status}"
    passed = re.search(r"\[  PASSED  \] (\d+) test", text)
    if passed is None or passed.group(1) == "0":
        give_up(f"{' '.join(command)}: ran no test")
    return None


def judge(mutant, build):
    """Text, and whether all is as it should be."""
    with tempfile.TemporaryDirectory(prefix="profk-mutant-") as folder:
        cl = os.path.join(folder, "cl")
        shutil.copytree(build.cl, cl)
        mutate(mutant, cl)
        program = build.link(cl, folder)
        for checker in sorted(CHECKERS, key=lambda c: c != mutant.checker):
            found = check(program, checker, mutant.tests, build, folder)
            if found is not None:
                break
    if found is None:
        return f"survived    {mutant.why or 'SURVIVED'}", mutant.is_equivalent()
    return f"{checker:<10}  {found}", not mutant.is_equivalent()


def check_unchanged(mutants, build, pool):
    """All runs that are needed, without a mutant."""
    with tempfile.TemporaryDirectory(prefix="profk-mutant-") as folder:
        program = build.link(build.cl, folder)

        def run(checker_and_tests):
            own = tempfile.mkdtemp(dir=folder)
            return check(program, *checker_and_tests, build, own)

        needed = sorted({(m.checker, m.tests) for m in mutants})
        for (checker, tests), found in zip(needed, pool.map(run, needed)):
            if found is not None:
                give_up(f"without a mutant {checker} finds in {tests}: {found}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--only", default="*", metavar="PATTERN")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()

    build = Build(args.build)
    mutants = read_mutants(os.path.join(HERE, "mutants.txt"))
    with tempfile.TemporaryDirectory(prefix="profk-mutant-") as folder:  # all of them fit, whichever are run
        for i, mutant in enumerate(mutants):
            shutil.copytree(build.cl, os.path.join(folder, str(i)))
            mutate(mutant, os.path.join(folder, str(i)))
    mutants = [m for m in mutants if fnmatch.fnmatch(m.name, args.only)]
    if args.sample is not None:
        seed = int(os.environ.get("PROFK_TEST_SEED", "20240229"), 0)
        print(f"PROFK_TEST_SEED={seed}")
        mutants = random.Random(seed).sample(mutants, min(args.sample, len(mutants)))
    if args.list:
        for m in mutants:
            print(f"{m.name:<36} {m.file:<14} {m.checker:<9} {m.tests}")
        return 0
    if shutil.which("oclgrind") is None:
        give_up("oclgrind is missing; install it")

    begin = time.monotonic()
    wrong = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        check_unchanged(mutants, build, pool)
        print(f"without a mutant: nothing found ({time.monotonic() - begin:.0f} s)", flush=True)
        for mutant, (text, is_right) in zip(mutants, pool.map(lambda m: judge(m, build), mutants)):
            print(f"{'' if is_right else 'WRONG '}{mutant.name:<36} {text}", flush=True)
            if not is_right:
                wrong.append(mutant.name)
    print(f"{len(mutants)} mutants, {len(wrong)} not as they should be: {' '.join(wrong) or '-'} "
          f"({time.monotonic() - begin:.0f} s)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
