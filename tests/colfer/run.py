"""Compares the binary form with code of other authors: a line for each part, and a closing line of counts.

Maven makes codecs of jpeer.colf below build/java-client, in Java and in C, by Colfer's own compiler. If it cannot fetch its
dependencies, all is skipped, and a line says why.

interop: random structs are exchanged between these codecs and the peer's (the program peer_codec); interop.py has the
required relations.

client: a check of each kind of message by a Java client with the generated codec and a REQ socket of JeroMQ.

usage: run.py [--structs N] [--seed N] [PART...]
"""

import argparse
import platform
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import interop  # noqa: E402
from support import jdks, maven  # noqa: E402
from support.peer import BUILD, Peer, environment  # noqa: E402

RUN_SECONDS = 1800
PARTS = ("interop", "client")


def compile_generated_codec(project):
    """The generated codec in C, as a program with the interface of peer_codec."""
    generated, program = project / "target/c", project / "target/generated_codec"
    memory = ["-Dmalloc=sample_malloc", "-Dcalloc=sample_calloc"]  # see generated_codec.c
    subprocess.run(["cc", "-O1", "-w", *memory, "-c", generated / "Colfer.c", "-o", generated / "Colfer.o"], check=True)
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-I", generated, HERE / "generated_codec.c",
                    HERE / "frames.c", generated / "Colfer.o", "-o", program], check=True)
    return program


def run_java(project, *arguments):
    """The numbers of passed and failed checks that the program prints. A program that prints none has
    failed."""
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
        raise maven.Unavailable("Colfer's Maven plugin has a compiler only for x86_64")
    return maven.build(HERE, "java-client", "compile", project="java")


def run_interop(project, arguments):
    java = [jdks.homes()[0] / "bin/java", "-cp", project / "target/classes", "interop.GeneratedCodec"]
    return interop.run([[BUILD / "tests/colfer/peer_codec"], java, [compile_generated_codec(project)]], arguments.seed,
                       arguments.structs)


def run_client(project):
    try:
        with Peer() as peer:
            passed, failed = run_java(project, "client.Checks", peer.address("tcp"))
    except AssertionError as complaint:
        print(f"failed: client: {complaint}", flush=True)
        return 0, 1
    if failed == 0:
        print(f"passed: client: {passed} checks", flush=True)
    return passed, failed


def run_parts(project, arguments):
    wanted = arguments.parts or PARTS
    if "interop" in wanted:
        yield run_interop(project, arguments)
    if "client" in wanted:
        yield run_client(project)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--structs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=(*PARTS, []))
    arguments = parser.parse_args()
    try:
        project = build()
    except maven.Unavailable as reason:
        print(f"skipped: {reason}\n0 passed, 0 failed")
        return 0
    counts = list(run_parts(project, arguments))
    passed, failed = (sum(numbers) for numbers in zip(*counts))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
