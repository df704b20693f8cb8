"""Runs the programs of this folder, which use real libraries from Python, with the wheel that tools/build-wheel makes.

usage: run.py [--build FOLDER] [NAME...]

--build: uses the package of a build (build/release) instead of a wheel. Prints a line for each program. A program is
skipped, with the reason, if Maven cannot fetch its libraries.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
SECONDS = 300
LINES_OF_LUCENE = 21
LUCENE, SPRING, KAFKA = "9.11.1", "6.1.14", "3.8.1"
LIBRARIES = {
    "lucene": [f"org.apache.lucene:lucene-{part}:{LUCENE}" for part in ("core", "queryparser", "queries", "sandbox")],
    "h2_rows": ["com.h2database:h2:2.3.232", *(f"org.springframework:spring-{part}:{SPRING}"
                                               for part in ("jdbc", "core", "beans", "tx", "jcl"))],
    "commons_math": ["org.apache.commons:commons-math3:3.6.1"],
    "swing": [],
    "kafka_streams": [*(f"org.apache.kafka:kafka-{part}:{KAFKA}" for part in ("streams", "streams-test-utils", "clients")),
                      "org.slf4j:slf4j-api:1.7.36", "org.rocksdb:rocksdbjni:7.9.2"],
    "py4j_tutorial": [],
    "million": [],
}


class Unavailable(Exception):
    """A library that cannot be fetched here."""


def fetch(coordinates):
    done = subprocess.run([ROOT / "tools/fetch-jar", coordinates], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(done.stderr.strip().splitlines()[-1])
    return done.stdout.strip()


def compile_tutorial(folder):
    """The Java part of Py4J's tutorial."""
    subprocess.run(["javac", "-d", folder, *(HERE / "py4jtutorial").glob("*.java")], check=True)
    return folder


def make_interpreter(folder):
    """A fresh venv with only the wheel."""
    wheels = sorted((ROOT / "build/wheel/dist").glob("*.whl"))
    if not wheels:
        raise SystemExit("run.py: no wheel in build/wheel/dist (tools/build-wheel makes it)")
    venv.create(folder, with_pip=True)
    python = Path(folder) / "bin/python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheels[-1]],
                   check=True)
    return python


def install(python, packages):
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unavailable(done.stderr.strip().splitlines()[-1])


def run_program(name, python, environment, folder):
    jars = [fetch(each) for each in LIBRARIES[name]]
    if name == "py4j_tutorial":
        jars.append(compile_tutorial(folder))
    done = subprocess.run([python, HERE / f"{name}.py"], env={**environment, "JARS": ":".join(jars)}, timeout=SECONDS,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{name}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip().splitlines()


def check_lucene(lines):
    source = (HERE / "lucene.py").read_text().splitlines()
    code = [line for line in source if line.strip()]
    if len(lines) != 10 or len(code) > LINES_OF_LUCENE:
        raise AssertionError(f"lucene: {len(lines)} hits, {len(code)} lines")
    return f"{len(code)} lines, {len(source)} with empty ones; best hit: {lines[0][:40]}..."


def run_alone(name, check):
    """Runs one check, which gets a folder and returns a line. Prints the result, and returns the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            end, message = "passed", check(Path(folder))
        except Unavailable as reason:
            end, message = "skipped", reason
        except AssertionError as fault:
            end, message = "failed", fault
    print(f"{end}: {name}: {message}")
    print(", ".join(f"{int(end == each)} {each}" for each in ("passed", "failed", "skipped")))
    return 1 if end == "failed" else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", metavar="FOLDER")
    parser.add_argument("names", nargs="*", default=list(LIBRARIES))
    given = parser.parse_args()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        if given.build is None:
            python = make_interpreter(Path(folder) / "venv")
        else:
            python = sys.executable
            environment["PYTHONPATH"] = str(Path(given.build).resolve() / "python")
        for name in given.names:
            try:
                lines = run_program(name, python, environment, folder)
                message = check_lucene(lines) if name == "lucene" else lines[-1]
                end = "passed"
            except Unavailable as reason:
                end, message = "skipped", reason
            except AssertionError as fault:
                end, message = "failed", fault
            counts[end] += 1
            print(f"{end}: {name}: {message}", flush=True)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
