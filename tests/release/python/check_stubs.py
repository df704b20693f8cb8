"""Runs mypy on the package itself, on the stubs of the JDK's main packages and of Lucene, and on a program with four
faults that mypy must find. Uses the wheel that tools/build-wheel makes.

usage: check_stubs.py

Skipped, with the reason, if mypy or the libraries cannot be fetched.
"""

import os
import re
import subprocess
import sys

import run

PACKAGES = ["mypy==1.14.1"]
PATTERNS = ["java.lang.*", "java.util.**", "java.io.*", "java.nio.**", "java.time.**", "java.sql.*", "javax.swing.**",
            "org.apache.lucene.**"]
CLASSES = 3000
SECONDS = 600
PROGRAM = """
from jpeer.java.lang import Integer, Iterable, NumberFormatException, Throwable
from jpeer.java.util import ArrayList, HashMap, List, Map, Optional
from jpeer.org.apache.lucene.store import ByteBuffersDirectory, Directory
from jpeer.java.time import LocalDate
xs: List = ArrayList([3, 1, 2])
elements: Iterable = xs
ages: Map = HashMap()
directory: Directory = ByteBuffersDirectory()
count: int = xs.size()
print(len(xs), xs[0], xs[1:2], 3 in xs, ages["a"], [x for x in xs])
text: str = xs.size()
xs.sizee()
xs.get("a")
print(LocalDate.of(2024, 1, 1).getYear())
try:
    print(LocalDate.of(2024, 1, 1).isoformat(), Optional.of("x").get().upper())
except NumberFormatException as error:
    raise Throwable(error.getMessage()) from error
"""
FAULTS = {12: "assignment", 13: "attr-defined", 14: "arg-type", 15: "attr-defined"}


def run_mypy(python, folder, *what, path="stubs"):
    done = subprocess.run([python, "-m", "mypy", "--strict", "--no-error-summary", *what], cwd=folder, text=True,
                          env={**os.environ, "MYPYPATH": path}, capture_output=True, timeout=SECONDS, check=False)
    return done.stdout + done.stderr


def write_stubs(python, folder):
    jars = [run.fetch(each) for each in run.LIBRARIES["lucene"]]
    done = subprocess.run([python, "-m", "jpeer", "stubs", *PATTERNS, "-o", folder / "stubs"], cwd=folder, text=True,
                          env={**os.environ, "CLASSPATH": ":".join(jars)}, capture_output=True, timeout=SECONDS,
                          check=True)
    return int(done.stdout.split()[0])


def check(folder):
    python = run.make_interpreter(folder / "venv")
    run.install(python, PACKAGES)
    output = run_mypy(python, folder, "-p", "jpeer", path="")
    if output:
        raise AssertionError(output)
    count = write_stubs(python, folder)
    stubs = [each for each in (folder / "stubs").rglob("*.pyi") if each.stat().st_size > 0]
    modules = sorted(".".join(each.parent.relative_to(folder / "stubs").parts) for each in stubs)
    (folder / "all.py").write_text("".join(f"import {each}\n" for each in modules), encoding="utf-8")
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    output = run_mypy(python, folder, "all.py")
    if output or count < CLASSES:
        raise AssertionError(f"{count} classes\n{output[:4000]}")
    output = run_mypy(python, folder, "program.py")
    found = {int(line): code for line, code in re.findall(r"^program\.py:(\d+): error: .*\[([a-z-]+)\]$", output, re.M)}
    if found != FAULTS:
        raise AssertionError(output)
    return f"mypy --strict accepts the package and {count} classes of {len(modules)} packages, and finds the {len(FAULTS)} faults of a program"


if __name__ == "__main__":
    sys.exit(run.run_alone("stubs", check))
