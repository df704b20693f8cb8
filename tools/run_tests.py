"""Runs the test suites one after another, shows each runner's own summary, and closes with one line of counts.

usage: run_tests.py [--list] [STEP...]
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = "/usr/bin/python3"
CORES = str(os.cpu_count() or 2)
LSAN = f"suppressions={ROOT / 'tests/support/lsan.supp'}"
ASAN = {"ASAN_OPTIONS": "handle_segv=0:intercept_tls_get_addr=0", "UBSAN_OPTIONS": "print_stacktrace=1", "LSAN_OPTIONS": LSAN}
TSAN = {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1 handle_segv=0 report_signal_unsafe=0"}


def build(preset, *targets):
    return ["tools/build", preset, *targets]


def ctest(preset, *selection):
    return ["ctest", "--test-dir", f"build/{preset}", "--output-on-failure", "--parallel", CORES, *selection]


def unittest(folder):
    return [PYTHON, "-m", "unittest", "discover", "--start-directory", folder, "--buffer"]


def on(preset, **more):
    return {"JPEER_BUILD": f"build/{preset}", "PYTHONPATH": "tests", **more}


# name, what it is, commands, environment
STEPS = [
    ("includes", "the arrows between folders", [["tools/check-includes"]], {}),
    ("format", "clang-format", [["tools/check-format"]], {}),
    ("release", "units and corpora, optimised", [build("release"), ctest("release")], {}),
    ("dev", "units and corpora under ASan and UBSan", [build("dev"), ctest("dev")], ASAN),
    ("tsan", "what runs without a JVM under TSan", [build("tsan"), ctest("tsan", "--label-exclude", "jvm")], TSAN),
    ("conformance", "request and reply, under ASan and UBSan, on every transport",
     [[PYTHON, "tests/conformance/run.py"]], on("dev")),
    ("integration-asan", "the binary under ASan and UBSan", [unittest("tests/integration")], on("dev")),
    ("integration-jni", "the binary under -Xcheck:jni", [unittest("tests/integration")],
     on("release", JPEER_CHECK_JNI="1")),
    ("tidy", "clang-tidy", [["tools/check-tidy"]], {}),
]

CTEST = re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n\n(?:OK|FAILED)(?: \((.*)\))?", re.M)
PLAIN = re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed", re.M)


def count(output, status):
    """Passed and failed in a runner's output; a command that counts nothing is one test."""
    passed = failed = 0
    for match in CTEST.finditer(output):
        failed += int(match[1])
        passed += int(match[2]) - int(match[1])
    for match in UNITTEST.finditer(output):
        bad = sum(int(number) for number in re.findall(r"(?:failures|errors|unexpected successes)=(\d+)", match[2] or ""))
        skipped = sum(int(number) for number in re.findall(r"skipped=(\d+)", match[2] or ""))
        failed += bad
        passed += int(match[1]) - bad - skipped
    for match in PLAIN.finditer(output):
        passed += int(match[1])
        failed += int(match[2])
    if passed == 0 and failed == 0:
        return (1, 0) if status == 0 else (0, 1)
    return passed, failed if status == 0 else max(failed, 1)


def run_command(command, environment):
    """Shows the output while it comes; gives it and the status."""
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = []
    for line in process.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        lines.append(line)
    return "".join(lines), process.wait()


def run_step(name, what, commands, environment):
    print(f"\n==== {name}: {what}", flush=True)
    start = time.monotonic()
    passed = failed = 0
    for command in commands:
        output, status = run_command(command, environment)
        if status == 0 and command[0] == "tools/build":
            continue
        more_passed, more_failed = count(output, status)
        passed += more_passed
        failed += more_failed
        if status != 0:
            break
    print(f"==== {name}: {passed} good, {failed} bad, {time.monotonic() - start:.0f} s", flush=True)
    return passed, failed


def main(arguments):
    if arguments == ["--list"]:
        for name, what, _, _ in STEPS:
            print(f"{name:18}{what}")
        return 0
    unknown = set(arguments) - {step[0] for step in STEPS}
    if unknown:
        print(f"unknown step: {', '.join(sorted(unknown))} (--list shows them)", file=sys.stderr)
        return 2
    passed = failed = 0
    for step in STEPS:
        if not arguments or step[0] in arguments:
            more_passed, more_failed = run_step(*step)
            passed += more_passed
            failed += more_failed
    print(f"\n{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
