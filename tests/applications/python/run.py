"""Runs the programs of this folder with the Python package of a build. Each uses a real library and its dependencies.

usage: run.py [NAME...]

The programs of the folder migrations are pairs: a program by JPype or Py4J, and the same program by jpeer. Both check
their results by other means, and have to print the same lines. The first program runs only if PyPI provides
its package. Prints a line for each program, ending with the program's own last line. A program is skipped,
with the reason, if its libraries cannot be fetched.

A policy is learnt from each program except Kafka's: it runs once more while its peer observes and writes an audit, and again
under the policy that `jpeer policy suggest` has made of that. Nothing that it used is denied, and nothing else is allowed.
"""

import difflib
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from support import learnt, maven  # noqa: E402
from support.peer import BINARY, BUILD, ROOT  # noqa: E402

SECONDS = 300
# Libraries, whose dependencies Maven adds. The Java part of a program is in the folder java, under the program's name.
LIBRARIES = {
    "clojure": ["org.clojure:clojure:1.12.0"],
    "hibernate": ["org.hibernate.orm:hibernate-core:7.4.15.Final", "com.h2database:h2:2.3.232"],
    "kafka": ["org.apache.kafka:kafka_2.13:4.4.0"],
    "spark": ["org.apache.spark:spark-sql_2.13:4.2.0"],
    "curves": ["org.apache.commons:commons-math3:3.6.1"],
    "documents": ["org.apache.tika:tika-core:3.3.1", "org.apache.tika:tika-parsers-standard-package:3.3.1"],
    "gateway": [],
    "pictures": ["net.imagej:ij:1.54f"],
}
WITHOUT = ["com.github.junrar:junrar"]  # a dependency of Tika; its licence is not open-source
MIGRATIONS = {"curves": "jpype", "documents": "jpype", "gateway": "py4j", "pictures": "jpype"}
PACKAGES = {"jpype": "JPype1==1.7.1", "py4j": "py4j==0.10.9.9", "numpy": "numpy==1.26.4"}
WITH_NUMPY = ("curves", "pictures")
NOT_LEARNT = ("kafka",)  # one of its peers ends while the other writes into the same audit


def compile_java(name, jars, folder):
    """The class path, with the Java part of the program, if the program has a Java part."""
    sources = sorted((HERE / "java" / name).rglob("*.java"))
    if not sources:
        return jars
    path = ["-cp", jars] if jars else []
    subprocess.run(["javac", "--release", "17", "-proc:none", *path, "-d", folder, *sources], check=True)
    return f"{jars}:{folder}" if jars else str(folder)


def run_program(file, jars, packages=(), **variables):
    """The printed lines."""
    path = ":".join([str(BUILD / "python"), *packages])
    with subprocess.Popen([sys.executable, file], env={**os.environ, "PYTHONPATH": path, "JARS": jars, **variables},
                          text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # a JVM that the program started keeps the pipes open, too
            output, errors = process.communicate()
            raise AssertionError(f"{file.name}: no end within {SECONDS} s\n{output}{errors[-4000:]}") from None
    if process.returncode != 0:
        raise AssertionError(f"{file.name}: status {process.returncode}\n{output}{errors[-4000:]}")
    return output.strip().splitlines()


def fetch_packages(names):
    """Fetches Python packages; their folder, as a list."""
    packages = [PACKAGES[name] for name in names]
    if not packages:
        return []
    done = subprocess.run([ROOT / "tools/fetch-python", *packages], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise maven.Unavailable(f"{' and '.join(packages)} was not fetched from PyPI: {done.stderr.strip().splitlines()[-1]}")
    return [done.stdout.strip()]


def check_migration(name, jars, numpy):
    before = MIGRATIONS[name]
    printed = run_program(program_of(name), jars, numpy)
    try:
        packages = fetch_packages([before, *(["numpy"] if numpy else [])])
    except maven.Unavailable as reason:
        return f"{printed[-1]}; not compared with {before}: {reason}"
    wanted = run_program(HERE / f"migrations/{name}_with_{before}.py", jars, packages)
    if printed != wanted:
        changes = "\n".join(difflib.unified_diff(wanted, printed, before, "jpeer", lineterm=""))
        raise AssertionError(f"the results differ from those with {before}\n{changes}")
    return f"{printed[-1]}; the same {len(printed)} lines as with {PACKAGES[before]}"


def check_learning(name, jars, numpy, folder):
    """What this has shown."""
    policy, audits = Path(folder) / "learnt.yaml", [Path(folder) / f"{mode}.json" for mode in ("observed", "enforced")]
    run_program(program_of(name), jars, numpy, JPEER_POLICY_MODE="observe", JPEER_RPC_DEFAULT_ACTION="DENY",
                JPEER_AUDIT=str(audits[0]))
    policy.write_text(learnt.suggest(audits[0]), encoding="utf-8")
    members = learnt.check(policy, audits[:1], jars)
    warnings = subprocess.run([BINARY, "policy", "check", policy], capture_output=True, text=True, check=False).stderr
    if warnings:
        raise AssertionError(f"the learnt policy has warnings\n{warnings}")
    run_program(program_of(name), jars, numpy, JPEER_RPC_POLICY=str(policy), JPEER_AUDIT=str(audits[1]))
    denied = [line for line in audits[1].read_text(encoding="utf-8").splitlines() if json.loads(line).get("verdict") == "DENY"]
    if denied:
        raise AssertionError("the learnt policy denies\n" + "\n".join(denied))
    used = len(learnt.used_members(*audits[:1]))
    return f"learnt {used} uses; of {members} members of their classes it allows no other"


def program_of(name):
    return HERE / (f"migrations/{name}_with_jpeer.py" if name in MIGRATIONS else f"{name}.py")


def check(name):
    with tempfile.TemporaryDirectory(prefix="jpeer-applications-") as folder:
        jars = compile_java(name, maven.class_path(name, LIBRARIES[name], WITHOUT) if LIBRARIES[name] else "", folder)
        numpy = fetch_packages(["numpy"] if name in WITH_NUMPY else [])
        said = check_migration(name, jars, numpy) if name in MIGRATIONS else run_program(program_of(name), jars)[-1]
        return said if name in NOT_LEARNT else f"{said}; {check_learning(name, jars, numpy, folder)}"


def main(names):
    unknown = set(names) - set(LIBRARIES)
    if unknown:
        raise SystemExit(f"run.py: no program {', '.join(sorted(unknown))}; there are {', '.join(LIBRARIES)}")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in names or LIBRARIES:
        try:
            end, result = "passed", check(name)
        except maven.Unavailable as reason:
            end, result = "skipped", reason
        except AssertionError as fault:
            end, result = "failed", fault
        counts[end] += 1
        print(f"{end}: {name}: {result}", flush=True)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
