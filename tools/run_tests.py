"""Runs the test suites one after another, shows each runner's own output, and closes with one line of counts. Each test
that failed is named once more before that line, with the command that repeats it alone.

More tests run at once than there are cores, since many wait, and a command that does not end is stopped. The idle time of
the cores is used by the builds of later steps and by clang-tidy, at the lowest priority.

usage: run_tests.py [--all | --release] [--list] [STEP...]
       run_tests.py [--release] --flaky N STEP [PATTERN]
       run_tests.py --release sabotage [OPTION...]

Without an option these are the quick suites: the optimised build, the default JDK, no sanitizer. --all runs the tests of CI
for every change: the same tests under sanitizers and -Xcheck:jni, on each JDK, and more. --release has the suites that are
too slow for every change (tools/test-release). A STEP may be of the quick suites or of --all.

--flaky runs each test of a step N times (only tests whose names match the regular expression PATTERN), four
at once and together with a busy process on each core, and names the tests that failed at least once. Their
output is then in build/flaky. An interrupted command continues, if the commit is still the same.
"""

import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from support import jdks  # noqa: E402  (the folder of the tests' own modules has to be known first)

PYTHON = "/usr/bin/python3"
AT_ONCE = len(os.sched_getaffinity(0)) + 1
# The tests of a module wait for peers to start and for calls to sleep: three at once left 59% of two cores idle.
MODULES_AT_ONCE = 2 * len(os.sched_getaffinity(0)) + 1
# Several times the duration of the longest command. An interrupted test closes its resources.
LIMIT = ["timeout", "--foreground", "--signal=INT", "--kill-after=60", "2400"]
RELEASE_LIMIT = [*LIMIT[:-1], "5400"]
# Uses the idle time of the tests, and so has the duration of a whole run.
LATER = ["nice", "-n", "19"]
LSAN = f"suppressions={ROOT / 'tests/support/lsan.supp'}"
ASAN = {"ASAN_OPTIONS": "handle_segv=0:intercept_tls_get_addr=0", "UBSAN_OPTIONS": "print_stacktrace=1", "LSAN_OPTIONS": LSAN}
TSAN = {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1 handle_segv=0 report_signal_unsafe=0"}


def ctest(preset, *selection):
    return ["ctest", "--test-dir", f"build/{preset}", "--output-on-failure", "--parallel", str(AT_ONCE), *selection]


# A run of all has each module of tests/integration under the sanitizers or under -Xcheck:jni, most under both; the
# rest is in tools/test-release. Here: modules that add nothing to the checks of JNI, or use memory up to its limits.
WITHOUT_JNI = {"test_descriptions.py", "test_directory.py", "test_idle.py", "test_jsonrpc_1_1.py", "test_meta.py", "test_origins.py",
               "test_parent.py", "test_policy.py", "test_policy_reload.py", "test_share_beside.py", "test_shm.py",
               "test_unix_sockets.py"}
# Modules that start many JVMs, and read nothing that others do not read, too.
WITHOUT_ASAN = {"test_application.py", "test_docs_links.py", "test_docs_recipes.py", "test_epochs.py", "test_examples.py", "test_intruders.py",
                "test_java_line.py", "test_long_calls.py", "test_policy_values.py", "test_readiness.py", "test_readme.py",
                "test_start.py"}
assert not WITHOUT_JNI & WITHOUT_ASAN


# The conformance cases run under -Xcheck:jni on every JDK, integration tests on one JDK: the default JDK runs
# them under ASan.
CHECKED_HOMES = jdks.homes()[-1:]

# Long tests of single-threaded code: under TSan they cost minutes and can find nothing.
ONE_THREAD = "^test_(evaluate|index|jimage_.*|lint|match|name_index|presets_.*|text_wide.*|value_read)$"


def unittests(folder, wanted=lambda name: True):
    """A command for each module, the longest modules first."""
    modules = sorted((module for module in (ROOT / folder).glob("test_*.py") if wanted(module.name)),
                     key=lambda module: -module.stat().st_size)
    return [[PYTHON, "-m", "unittest", "discover", "--start-directory", folder, "--buffer", "--pattern", module.name]
            for module in modules]


def over(*transports):
    """The conformance cases, only over these transports."""
    return [PYTHON, "tests/conformance/run.py", *(f"--transport={name}" for name in transports)]


def on(preset, **more):
    return {"JPEER_BUILD": f"build/{preset}", "PYTHONPATH": "tests", **more}


INCLUDES = ("includes", "the arrows between folders", None, [["tools/check-includes"]], {})
# Without the bench and most tests of the installed libraries: a quick run needs two thirds of the build.
FIRST_BUILD = ("release jpeer fixtures jpeer_python_package"
               " tests/unit/all tests/fuzz/all tests/support/all tests/integration/client/all tests/integration/directory/all"
               " test_reference_ledger"
               " native/jsonrpc/all native/client/all")
# Everything except the bench, because linking it at full optimisation takes a minute and a half. The bench is
# in the build of dev, and in the step "bench" of tools/test-release.
RELEASE_BUILD = (FIRST_BUILD + " native/client/messages/all"
                 " tests/model/all tests/ledger/all tests/integration/all")
# name, description, preset (and targets) to build first, commands, environment
FIRST_STEPS = [
    INCLUDES,
    ("units", "units and corpora, optimised", FIRST_BUILD,
     [ctest("release", "--label-exclude", "checked|bench|net|library|model")], {}),
    ("conformance", "request and reply, on every transport", FIRST_BUILD, [[PYTHON, "tests/conformance/run.py"]],
     on("release")),
    ("integration", "the binary, with clients that users have", FIRST_BUILD, unittests("tests/integration"),
     on("release")),
    ("python-package", "the Python package's own tests, in the build folder", FIRST_BUILD,
     [[PYTHON, "tests/release/wheel.py", "--in-place"]], {"JPEER_BUILD": "build/release"}),
]

ALL_STEPS = [
    INCLUDES,
    ("format", "clang-format", None, [["tools/check-format"]], {}),
    # This one runs all JVM tests under -Xcheck:jni, the next all of them under the sanitizers: "plain" is neither.
    ("release", "units and corpora, optimised", RELEASE_BUILD,
     [ctest("release", "--label-exclude", "plain|bench|bench-smoke|net")], {}),
    ("dev", "units and corpora under ASan and UBSan", "dev", [ctest("dev", "--label-exclude", "checked|bench-smoke|rare")],
     ASAN),
    ("tsan", "units without a JVM under TSan", "tsan",
     [ctest("tsan", "--label-exclude", "jvm|rare", "--exclude-regex", ONE_THREAD)], TSAN),
    ("conformance-asan", "request and reply, under ASan and UBSan, on every transport", "dev",
     [[PYTHON, "tests/conformance/run.py"]], on("dev")),
    # Over transports with different forms of messages or lives of sessions: no other transport makes references.
    *((f"conformance-ledger-{home.name}", "request and reply, under -Xcheck:jni and a count of all references",
       RELEASE_BUILD, [over("websocket", "http", "zeromq-binary")],
       on("release", JPEER_LEDGER="1", JPEER_CHECK_JNI="1", JAVA_HOME=str(home))) for home in jdks.homes()),
    # Over one transport for each form of messages: the fast path has no others.
    ("conformance-no-fastpath", "the same with every request on the general path",
     "no-fastpath jpeer fixtures", [over("websocket", "zeromq-binary")], on("no-fastpath")),
    ("integration-asan", "the binary under ASan and UBSan", "dev",
     unittests("tests/integration", lambda name: name not in WITHOUT_ASAN), on("dev")),
    *((f"integration-jni-{home.name}", "the binary under -Xcheck:jni", RELEASE_BUILD,
       unittests("tests/integration", lambda name: name not in WITHOUT_JNI),
       on("release", JPEER_CHECK_JNI="1", JAVA_HOME=str(home))) for home in CHECKED_HOMES),
    ("mutate-callbacks", "changed answers to callbacks and changed chains for ten seconds, under ASan and UBSan", "dev",
     [[PYTHON, "tests/fuzz/mutate_callbacks.py", "--seconds", "10"]], on("dev")),
    ("mutate-scripts", "random and changed scripts of jpeer shell, 20 KB, under ASan and UBSan", "dev",
     [[PYTHON, "tests/fuzz/mutate_scripts.py", "--bytes", "20000"]], on("dev")),
    ("python", "the Python package's own tests, on the wheel, if PyPI is reached", RELEASE_BUILD,
     [[PYTHON, "tests/release/wheel.py"]], {"JPEER_BUILD": "build/release"}),
    ("clients", "clients of other authors, if their registries are reached", RELEASE_BUILD,
     [[PYTHON, "tests/clients/run.py"]], on("release")),
    ("colfer", "Colfer's own codecs and a Java client of binary messages, where Maven reaches its registry", "dev",
     [[PYTHON, "tests/colfer/run.py"]], on("dev")),
    ("tidy", "clang-tidy", "dev", [["tools/check-tidy"]], {}),
]

# Runs for hours, and has options: only if it is named.
SABOTAGE = ("sabotage", "changes of the product that no test notices (options: tests/release/sabotage.py)")
# Steps that need the cores and nothing of the others; they start early, and are shown in their place.
BACKGROUND = {"tidy"}

# The same, for suites that are too slow for every change. Mutated requests run for ten minutes on each JDK.
RELEASE_STEPS = [
    ("dev-checked", "units with a JVM, under ASan, UBSan and -Xcheck:jni at once; the benchmarks under the first two",
     "dev", [ctest("dev", "--label-regex", "checked|bench-smoke")], ASAN),
    ("net-over-tls", "many clients over TLS, under ASan and UBSan", "dev", [ctest("dev", "--label-regex", "rare")], ASAN),
    ("net-over-tls-tsan", "the same under TSan", "tsan", [ctest("tsan", "--label-regex", "rare")], TSAN),
    *((f"mutate-{home.name}", "mutated requests under -Xcheck:jni", "release",
       [[PYTHON, "tests/fuzz/mutate_requests.py", "--seconds", "600", "--jvm", str(home)]], on("release"))
      for home in jdks.homes()),
    *((f"mutate-callbacks-{home.name}", "changed answers to callbacks and changed chains under -Xcheck:jni", "release",
       [[PYTHON, "tests/fuzz/mutate_callbacks.py", "--seconds", "600", "--check-jni", "--jvm", str(home)]], on("release"))
      for home in jdks.homes()),
    ("mutate-callbacks-asan", "the same under ASan and UBSan", "dev",
     [[PYTHON, "tests/fuzz/mutate_callbacks.py", "--seconds", "600"]], on("dev")),
    ("mutate-scripts-long", "the same, 500 KB of other scripts", "dev",
     [[PYTHON, "tests/fuzz/mutate_scripts.py", "--bytes", "500000", "--seed", str(int(time.time()))]], on("dev")),
    ("fuzz-binary", "the parsers of binary messages, mutated for a quarter of an hour, under ASan and UBSan", None,
     [[PYTHON, "tests/release/fuzz.py", "--seconds", "900", "colfer", "binary_params"]], {}),
    ("fuzz-evidence", "the readers of what clients show, mutated for five minutes each, under ASan and UBSan", None,
     [[PYTHON, "tests/release/fuzz.py", "--seconds", "300", "http", "tls_records", "zap", "curve_keys", "principal_yaml"]], {}),
    ("colfer-long", "the step colfer with 200,000 structs, and its client under -Xcheck:jni", "release",
     [[PYTHON, "tests/colfer/run.py", "--structs", "200000", "--seed", str(int(time.time()))]],
     on("release", JPEER_CHECK_JNI="1")),
    ("races", "a million cancels beside calls that look at the flag of their thread, of the watch alone and over WebSocket",
     "release", [["build/release/tests/unit/rpc/test_call_watch"],
                 [PYTHON, "-m", "unittest", "discover", "-s", "tests/integration", "-p", "test_ended_calls.py", "-k", "Races"]],
     on("release", JPEER_RACE_CANCELS="1000000")),
    ("bench", "load generators and benchmarks, and their tests, optimised", "release",
     [ctest("release", "--label-regex", "bench|net")], {}),
    ("others-asan", "modules that the step integration-asan leaves out", "dev",
     unittests("tests/integration", WITHOUT_ASAN.__contains__), on("dev")),
    *((f"others-jni-{home.name}", "modules that the steps integration-jni leave out, under -Xcheck:jni", "release",
       unittests("tests/integration", WITHOUT_JNI.__contains__ if home in CHECKED_HOMES else lambda name: True),
       on("release", JPEER_CHECK_JNI="1", JAVA_HOME=str(home))) for home in jdks.homes()),
    ("applications", "real applications, started by java and by jpeer run, and real libraries used from Python", "release",
     [[PYTHON, "tests/applications/run.py"], [PYTHON, "tests/applications/python/run.py"]], on("release")),
    ("generators", "clients that generators write from the documents, where their registries are reached", "release",
     [[PYTHON, "tests/release/generators/run.py"]], on("release")),
    ("foreign", "the client library by foreign functions from Node and Ruby, where koffi's registry is reached", "release",
     [[PYTHON, "tests/release/foreign.py"]], on("release")),
    ("nginx", "who gets what through nginx, which is installed for it", "release",
     [["sh", "-c", "tools/install-packages nginx-light"
       f" && exec {PYTHON} -m unittest discover -s tests/integration -p test_real_clients.py"]], on("release")),
    ("browser", "pages of allowed and of other origins in Chromium", "release", [[PYTHON, "tests/release/browser.py"]],
     on("release")),
    ("strangers", "a good client beside half handshakes, and a minute of wrong tokens", "release",
     [[PYTHON, "tests/release/strangers.py"]], on("release")),
    ("prometheus", "a real Prometheus scrapes a peer under load, where Debian's package prometheus is installed", "release",
     [[PYTHON, "tests/release/prometheus.py"]], on("release")),
    ("failing-memory", "each allocation of the peer's own code fails once, and each with all after it", "release",
     [[PYTHON, "tests/release/failing_memory.py"]], on("release")),
    ("complexity", "requests of N, 2N and 4N of all that a client can make long", "release",
     [[PYTHON, "tests/release/complexity.py"]], on("release")),
    ("shm-hostile", "hostile clients of shared memory, under ASan and UBSan", "dev",
     [[PYTHON, "tests/release/shm_hostile.py", "--seconds", "600"]], on("dev")),
    ("hostile-peer-c", "a peer that answers everything wrongly, against the client library under ASan and UBSan", "dev",
     [[PYTHON, "tests/release/hostile_peer.py", "--seconds", "600", "c"]], on("dev")),
    ("hostile-peer-python", "the same against the Python package", "release",
     [[PYTHON, "tests/release/hostile_peer.py", "--seconds", "600", "python"]], on("release")),
    ("shm-kills", "10,000 kills of either side of shared memory", "release",
     [[PYTHON, "tests/release/shm_kills.py", "--kills", "10000"]], on("release")),
    ("wheel", "the wheel of the Python package in a Debian 12 with Python and a Java runtime alone, as root", None,
     [[PYTHON, "tests/release/wheel.py", "--bare-root"]], {}),
    ("compatibility", "the version before this one and this one, package and command line of each with the peer of the other", "release",
     [[PYTHON, "tests/release/compatibility.py"]], on("release")),
    ("service", "the units in a booted Debian 12, and the image of a container, as root", "release",
     [[PYTHON, "tests/release/service.py"]], on("release")),
    ("packages", "the .deb packages and the archive in a bare Debian 12 (the archive in a 13, too), and lintian, as root", None,
     [[PYTHON, "tests/release/packages.py"]], {}),
    ("reproducible", "two builds of the last commit in two folders have the same bytes", None,
     [[PYTHON, "tests/release/reproducible.py"]], {}),
    ("wheels", "the wheels of a release: what is in them, on old and new systems, aarch64 under qemu, musl, equal bytes of two builds", "release fixtures",
     [[PYTHON, "tests/release/wheels.py"]], on("release")),
    ("python-asan", "the Python package's own tests under ASan and UBSan", "dev",
     [["sh", "-c", f'LD_PRELOAD="$(cc -print-file-name=libasan.so)" exec {PYTHON} -m unittest discover -s clients/python/tests']],
     {"PYTHONPATH": "build/dev/python:clients/python/tests", "PYTHONMALLOC": "malloc",
      "ASAN_OPTIONS": "handle_segv=0:intercept_tls_get_addr=0:detect_leaks=0"}),
    ("python-shows", "programs that use real libraries from Python, with the wheel that the step python has built", None,
     [[PYTHON, "tests/release/python/run.py"]], {}),
    ("directory-kills", "a service of four peers, one of which is killed each second, for two minutes", "release",
     [[PYTHON, "-m", "unittest", "discover", "-s", "clients/python/tests", "-p", "test_directory.py", "-k", "nothing_runs"]],
     {"PYTHONPATH": "build/release/python:clients/python/tests", "JPEER_TEST_KILLING_SECONDS": "120"}),
    ("stubs", "stubs of the JDK and of Lucene, read by mypy, with that wheel", None,
     [[PYTHON, "tests/release/python/check_stubs.py"]], {}),
    ("tables", "tables and databases with pandas, pyarrow, polars, duckdb, SQLAlchemy, PostgreSQL and MariaDB, where PyPI is reached",
     "release",
     [["sh", "-c", f"tools/install-packages mariadb-server postgresql && exec {PYTHON} tests/release/tables/run.py"]], on("release")),
    ("notebook", "the notebooks of docs/notebooks in Jupyter, with that wheel", None,
     [[PYTHON, "tests/release/python/notebook.py"]], {}),
    ("soak", "memory after millions of calls, and objects after restarts of the peer", "release", [["tools/soak"]], {}),
    ("bare-root", "the README's two commands on a Debian 12 with its base system alone, as root", None,
     [["tests/release/bare_root.sh"]], {}),
    ("bare-user", "the same, as a user with sudo", None, [["tests/release/bare_root.sh", "--as-user"]], {}),
]


def count_ctest(match):
    return int(match[2]) - int(match[1]), int(match[1])


def count_unittest(match):
    bad = sum(int(number) for number in re.findall(r"(?:failures|errors|unexpected successes)=(\d+)", match[2] or ""))
    skipped = sum(int(number) for number in re.findall(r"skipped=(\d+)", match[2] or ""))
    return int(match[1]) - bad - skipped, bad


def count_plain(match):
    return int(match[1]), int(match[2])


# The last line of a runner, and how to read it. The last match counts: a runner may show the output of other
# tests before it.
RUNNERS = [
    (re.compile(r"^\d+% tests passed, (\d+) tests failed out of (\d+)", re.M), count_ctest),
    (re.compile(r"^Ran (\d+) tests? in .*\n\n(?:OK|FAILED)(?: \((.*)\))?", re.M), count_unittest),
    (re.compile(r"^(?:\w+: )?(\d+) passed, (\d+) failed", re.M), count_plain),
]


def count(output, status):
    """Passed and failed in a runner's output; a command that counts nothing is one test."""
    last = max(((match.start(), read(match)) for pattern, read in RUNNERS for match in pattern.finditer(output)), default=None)
    if last is None:
        return (1, 0) if status == 0 else (0, 1)
    passed, failed = last[1]
    return passed, failed if status == 0 else max(failed, 1)


def run_command(command, environment, show, limit=LIMIT):
    """Passes each line of output to show when it arrives; returns the whole output, and the status."""
    process = subprocess.Popen([*limit, *command], cwd=ROOT, env={**os.environ, **environment},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace")
    lines = []
    for line in process.stdout:
        show(line)
        lines.append(line)
    return "".join(lines), process.wait()


def show_now(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def run_commands(commands, environment, limit):
    """Each command with its output and status; of several, the output is shown when they end."""
    if len(commands) == 1:
        yield commands[0], *run_command(commands[0], environment, show_now, limit)
        return
    with ThreadPoolExecutor(MODULES_AT_ONCE) as pool:
        running = {pool.submit(run_command, command, environment, lambda line: None, limit): command
                   for command in commands}
        for number, one in enumerate(as_completed(running), 1):
            output, status = one.result()
            show_now(f"---- {number} of {len(commands)}: {running[one][-1]}\n{output}")
            yield running[one], output, status


class Background:
    """Runs the steps that do not need the result of a test, one after another: the builds, then the steps of
    BACKGROUND."""

    def __init__(self, steps, limit):
        self.pool = ThreadPoolExecutor(1)
        presets = dict.fromkeys(step[2] for step in steps if step[2] is not None)
        self.builds = {preset: self.submit(["tools/build", *preset.split()], {}, limit) for preset in presets}
        self.commands = {name: [(command, self.submit(command, environment, limit)) for command in commands]
                         for name, _, _, commands, environment in steps if name in BACKGROUND}

    def submit(self, command, environment, limit):
        return self.pool.submit(run_command, command, environment, lambda line: None, [*LATER, *limit])

    def is_built(self, preset):
        """Waits for the build, and shows its complaints."""
        if preset is None:
            return True
        output, status = self.builds[preset].result()
        show_now(output)
        return status == 0

    def results(self, name):
        """Like run_commands."""
        for command, one in self.commands[name]:
            output, status = one.result()
            show_now(output)
            yield command, output, status


# How each runner names a test that failed, and the words to add to its command that run this test alone.
def repeat_ctest(match, _):
    return ["--tests-regex", f"^{match[1]}$"]


def repeat_unittest(match, command):
    module, _, test = match[1].partition(".")
    if module == "unittest" or "unittest" not in command and "tests/release/wheel.py" not in command:
        return []  # a module that could not be loaded, or another runner that runs unittest inside
    return ["-k", test] if "unittest" in command else [f"{module}.py"]


def repeat_case(match, command):
    return ["--suite", match[1], "--transport", match[2]] if "tests/conformance/run.py" in command else []


FAILURES = [
    (re.compile(r"^\s+\d+ - (\S+) \([^()]+\)", re.M), repeat_ctest),
    (re.compile(r"^(?:FAIL|ERROR): \w+ \(([\w.]+)\)", re.M), repeat_unittest),
    (re.compile(r"^FAIL ([\w-]+)/.* \(([\w+-]+)\)$", re.M), repeat_case),
]


def name_failures(command, environment, output):
    """The failed tests of a command, each with a shell line that repeats it; the command itself, if it names
    no test."""
    start = [f"{name}={value}" for name, value in environment.items()]
    found = {re.sub(r"^(?:FAIL|ERROR):? ", "", match[0].strip()): shlex.join([*command, *repeat(match, command)])
             for pattern, repeat in FAILURES for match in pattern.finditer(output)}
    return {name: " ".join([*map(shlex.quote, start), line])
            for name, line in (found or {Path(command[-1]).name: shlex.join(command)}).items()}


def run_step(place, name, what, preset, commands, environment, limit, background, failures):
    show_now(f"\n==== {place} {name}: {what}\n")
    start = time.monotonic()
    passed = failed = 0
    results = ()
    if not background.is_built(preset):
        failed = 1
        failures[f"{name}: the build of {preset}"] = f"tools/build {preset}"
    elif name in BACKGROUND:
        results = background.results(name)
    else:
        results = run_commands(commands, environment, limit)
    for command, output, status in results:
        more_passed, more_failed = count(output, status)
        passed += more_passed
        failed += more_failed
        if more_failed:
            failures.update({f"{name}: {test}": line
                             for test, line in name_failures(command, environment, output).items()})
    show_now(f"==== {name}: {passed} good, {failed} bad, {time.monotonic() - start:.0f} s\n")
    return passed, failed


FLAKY_AT_ONCE = 4
FLAKY_FOLDER = ROOT / "build/flaky"


def single_tests(commands):
    """The name and the command of each test that can be run separately: for ctest each of its tests,
    otherwise each command."""
    for command in commands:
        if command[0] == "ctest":
            listed = subprocess.run([*command, "--show-only=json-v1"], cwd=ROOT, capture_output=True, check=True)
            for test in json.loads(listed.stdout)["tests"]:
                yield test["name"], [*command[:4], "--tests-regex", f"^{re.escape(test['name'])}$"]
        else:
            yield Path(next(part for part in reversed(command) if not part.startswith("-"))).stem, command


class FlakyRuns:
    """The runs of a step that are over, in a file, so that an interrupted command continues. Runs of another
    commit do not count."""

    def __init__(self, step):
        FLAKY_FOLDER.mkdir(parents=True, exist_ok=True)
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
        self.file = FLAKY_FOLDER / f"{step}.runs"
        before = self.file.read_text().splitlines() if self.file.exists() else []
        self.over = {}
        if before and before[0] == commit.strip():
            for line in before[1:]:
                name, number, has_failed = line.split()
                self.over[name, int(number)] = has_failed == "failed"
        else:
            self.file.write_text(f"{commit.strip()}\n")
        self.lock = threading.Lock()
        self.is_open = True

    def close(self):
        """Runs that end from now on were interrupted, and do not count."""
        self.is_open = False

    def add(self, name, number, has_failed):
        with self.lock:
            if not self.is_open:
                return
            self.over[name, number] = has_failed
            with self.file.open("a") as file:
                file.write(f"{name} {number} {'failed' if has_failed else 'good'}\n")


def run_flaky(times, step, tests, environment):
    """The exit status."""
    known = FlakyRuns(step)
    runs = [(name, command, number) for name, command in tests for number in range(1, times + 1)]
    left = [run for run in runs if (run[0], run[2]) not in known.over]
    random.shuffle(left)
    if len(left) < len(runs):
        show_now(f"{len(runs) - len(left)} of {len(runs)} runs were over before\n")

    def run_once(name, command, number):
        output, status = run_command(command, environment, lambda line: None)
        has_failed = count(output, status)[1] > 0
        if has_failed and known.is_open:
            (FLAKY_FOLDER / f"{name}-{number}.log").write_text(output)
            show_now(f"{name} failed, run {number}: {FLAKY_FOLDER.relative_to(ROOT)}/{name}-{number}.log\n")
        known.add(name, number, has_failed)

    spin = f"import os\nwhile os.getppid() == {os.getpid()}: pass"  # not longer than this process, however it ends
    spinners = [subprocess.Popen([sys.executable, "-c", spin]) for _ in os.sched_getaffinity(0)]
    try:
        with ThreadPoolExecutor(FLAKY_AT_ONCE) as pool:
            running = [pool.submit(run_once, *run) for run in left]
            try:
                for one in running:
                    one.result()
            except KeyboardInterrupt:
                known.close()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    failures = Counter(name for name, _, number in runs if known.over[name, number])
    for name, failed in sorted(failures.items()):
        print(f"FAIL {name}: {failed} of {times} runs")
    print(f"\n{len(tests) - len(failures)} passed, {len(failures)} failed, each run {times} times", flush=True)
    return 1 if failures or not tests else 0


def main_flaky(steps, arguments):
    chosen = [step for step in steps if len(arguments) in (2, 3) and step[0] == arguments[1]]
    if not chosen or not arguments[0].isdecimal():
        print("usage: --flaky N STEP [PATTERN] (--list shows the steps)", file=sys.stderr)
        return 2
    _, _, preset, commands, environment = chosen[0]
    if preset is not None and subprocess.run(["tools/build", *preset.split()], cwd=ROOT, check=False).returncode != 0:
        return 1
    pattern = arguments[2] if len(arguments) == 3 else ""
    tests = [test for test in single_tests(commands) if re.search(pattern, test[0])]
    return run_flaky(int(arguments[0]), arguments[1], tests, environment)


def main(arguments):
    if arguments[:2] == ["--release", SABOTAGE[0]]:
        return subprocess.run([PYTHON, "tests/release/sabotage.py", *arguments[2:]], cwd=ROOT, check=False).returncode
    named, limit = [*FIRST_STEPS, *ALL_STEPS[1:]], LIMIT
    steps = FIRST_STEPS
    if arguments[:1] == ["--release"]:
        steps, named, limit, arguments = RELEASE_STEPS, RELEASE_STEPS, RELEASE_LIMIT, arguments[1:]
    elif arguments[:1] == ["--all"]:
        steps, named, arguments = ALL_STEPS, ALL_STEPS, arguments[1:]
    is_flaky = arguments[:1] == ["--flaky"]
    if arguments == ["--list"]:
        for name, what, *_ in named + [SABOTAGE] * (steps is RELEASE_STEPS):
            print(f"{name:42}{what}")
        return 0
    if arguments:
        steps = named
    unknown = set() if is_flaky else set(arguments) - {step[0] for step in steps}
    if unknown:
        print(f"unknown step: {', '.join(sorted(unknown))} (--list shows them)", file=sys.stderr)
        return 2
    # Each test chooses its JVM, or finds it as for a user without this variable.
    os.environ.pop("JAVA_HOME", None)
    for home in jdks.homes():
        show_now(f"JDK {jdks.full_version(home)}: {home}\n")
    # A shell that starts this in the background has SIGINT ignored, and every peer would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if is_flaky:
        return main_flaky(steps, arguments[1:])
    passed = failed = 0
    failures = {}
    chosen = [step for step in steps if not arguments or step[0] in arguments]
    background = Background(chosen, RELEASE_LIMIT)
    try:
        for number, step in enumerate(chosen, 1):
            more_passed, more_failed = run_step(f"[{number}/{len(chosen)}]", *step, limit, background, failures)
            passed += more_passed
            failed += more_failed
    finally:
        background.pool.shutdown(cancel_futures=True)
    for name, line in failures.items():
        print(f"\nFAILED {name}\n    {line}")
    print(f"\n{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
