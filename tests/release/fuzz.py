"""Runs fuzz targets of tests/fuzz for some time, each from its corpus, under ASan and UBSan, two at a time. New inputs
are not added to the tree.

usage: fuzz.py [--seconds N] TARGET...
"""

import argparse
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CORPORA = ROOT / "tests/fuzz/corpus"
PROGRAMS = ROOT / "build/fuzz/tests/fuzz"
AT_ONCE = 2


def fuzz(target, seconds):
    """The program's last output, and its status. The program ends at the first fault."""
    with tempfile.TemporaryDirectory(prefix="jpeer-fuzz-") as found:
        command = [PROGRAMS / f"{target}_fuzz", f"-max_total_time={seconds}", "-timeout=20", "-print_final_stats=1",
                   f"-artifact_prefix={ROOT}/build/fuzz/{target}-", found, CORPORA / target]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              check=False)
    return done.stdout, done.returncode


def executions(output):
    return next((int(line.split()[-1]) for line in output.splitlines() if "number_of_executed_units" in line), 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=int, default=900)
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    options = parser.parse_args()
    # The runtime library for clang is a separate package, which is only recommended.
    subprocess.run([ROOT / "tools/install-packages", "libclang-rt-14-dev"], check=True)
    subprocess.run([ROOT / "tools/build", "fuzz", *(f"{target}_fuzz" for target in options.targets)], check=True)
    failed = 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        results = pool.map(lambda target: fuzz(target, options.seconds), options.targets)
        for target, (output, status) in zip(options.targets, results):
            print(f"{target}: {executions(output):,} executions in {options.seconds} s", flush=True)
            if status != 0:
                failed += 1
                print("\n".join(output.splitlines()[-60:]))
    print(f"{len(options.targets) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
