"""Holds the peer's codec of the binary form against codecs that others wrote, and closes with a line of counts.

Maven makes codecs of jpeer.colf below build/java-client, in Java and in C, by Colfer's own compiler. Where it cannot
fetch what it needs, all is skipped, and a line says why. Random structs go to and fro between these codecs and the peer's
(the program peer_codec); interop/Law.java says what has to hold.

usage: run.py [--structs N] [--seed N]
"""

import argparse
import platform
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support import jdks, maven  # noqa: E402
from support.peer import BUILD, environment  # noqa: E402

RUN_SECONDS = 1800


def compile_generated_codec(project):
    """The generated codec in C, as a program that speaks of samples as peer_codec does."""
    generated, program = project / "target/c", project / "target/generated_codec"
    memory = ["-Dmalloc=sample_malloc", "-Dcalloc=sample_calloc"]  # see generated_codec.c
    subprocess.run(["cc", "-O1", "-w", *memory, "-c", generated / "Colfer.c", "-o", generated / "Colfer.o"], check=True)
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-I", generated, HERE / "generated_codec.c",
                    HERE / "frames.c", generated / "Colfer.o", "-o", program], check=True)
    return program


def run_java(project, *arguments):
    """Passed and failed in the program's own count; a program without one has failed."""
    libraries = f"{project}/target/classes:{project}/target/libraries/*"
    done = subprocess.run([jdks.homes()[0] / "bin/java", "-cp", libraries, *map(str, arguments)],
                          env=environment(leaks=True), timeout=RUN_SECONDS, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    *lines, last = done.stdout.splitlines() or [""]
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed", last)
    if counts is None:
        print(f"failed: {arguments[0]} ended with {done.returncode}: {done.stdout}", flush=True)
        return 0, 1
    if lines:
        print(*lines, sep="\n", flush=True)
    return int(counts[1]), int(counts[2])


def build():
    if platform.machine() != "x86_64":
        raise maven.Unavailable("Colfer's Maven plugin has a compiler for x86_64 alone")
    return maven.build(HERE, "java-client", "compile", project="java")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--structs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        project = build()
    except maven.Unavailable as reason:
        print(f"skipped: {reason}\n0 passed, 0 failed")
        return 0
    passed, failed = run_java(project, "interop.Interop", BUILD / "tests/colfer/peer_codec", compile_generated_codec(project),
                              arguments.seed, arguments.structs)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
