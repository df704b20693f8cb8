"""Runs the real binary for a test.

JPEER_BUILD names the build folder (default build/release), JPEER_CHECK_JNI=1 adds -Xcheck:jni. JPEER_LEDGER=1 runs
jpeer_ledger in place of jpeer, which serves each message under the reference ledger (tests/ledger). A peer's stderr is
kept, and stop() fails if a sanitizer, -Xcheck:jni or the ledger complained in it. With JPEER_TLS=1 the ports of peers that
tests start without options for addresses speak TLS, and so do their clients.
"""

import contextlib
import functools
import itertools
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from support import certificates

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / os.environ.get("JPEER_BUILD", "build/release")
BINARY = BUILD / ("tests/ledger/jpeer_ledger" if os.environ.get("JPEER_LEDGER") == "1" else "jpeer")
FIXTURES = BUILD / "java-fixtures" / "fixtures.jar"

START_SECONDS = 60
STOP_SECONDS = 60

COMPLAINTS = re.compile(
    r"WARNING in native method|WARNING: JNI local refs|FATAL ERROR in native method|AddressSanitizer|LeakSanitizer"
    r"|ThreadSanitizer|runtime error:|A fatal error has been detected|^reference ledger: ")
# A frame like "sun.font.FreetypeFontScaler.initNativeScaler(java.desktop@17.0.15/Native Method)". Below a frame of
# java.base, a hook of the peer may be running, because the JVM calls the hook while it makes a class.
NATIVE_OF_JDK = re.compile(r"\tat [\w.$]+\((?:java\.(?!base@)|jdk\.)[\w.]+@[^/)]*/Native Method\)")


def environment(leaks=False, **changes):
    """The environment of a peer: without the caller's JPEER_ variables, and with the options of the
    sanitizers that HotSpot needs.

    Leaks are detected only without a JVM: memory of Java objects (a zip file's inflater) is reachable only from the Java
    heap, which LeakSanitizer does not read.
    """
    variables = {name: value for name, value in os.environ.items() if not name.startswith("JPEER_")}
    variables["ASAN_OPTIONS"] = f"handle_segv=0:intercept_tls_get_addr=0:detect_leaks={int(leaks)}"
    variables["UBSAN_OPTIONS"] = "print_stacktrace=1"
    variables.update(changes)
    return variables


def has_ended(pid):
    """True if the process has ended; it need not be a child of ours, and may remain a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def eventually(condition, what="what the test waits for", seconds=START_SECONDS):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what() if callable(what) else what}"
        time.sleep(0.01)


@contextlib.contextmanager
def kill_after(process, seconds=START_SECONDS):
    """Within it, reads of the process's output end after that time: the process is killed."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def threads_of(pid):
    """Name, state and processor seconds of each thread: whether a process hangs, or gets no processor."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        name, fields = re.fullmatch(r"\d+ \((.*)\) (.*)\n", (task / "stat").read_text(encoding="utf-8"), re.S).groups()
        state, *numbers = fields.split()
        found.append(f"{name} {state} {sum(map(int, numbers[10:12])) / os.sysconf('SC_CLK_TCK'):.2f} s")
    return ", ".join(found)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def jvm_options():
    return ["-J", "-Xcheck:jni"] if os.environ.get("JPEER_CHECK_JNI") == "1" else []


def complaints_in(text):
    """Returns each line that complains, with the frames of Java below it. -Xcheck:jni also warns of native code of the
    JDK (its fonts): then the innermost frame is a native method of a module, and jpeer is not at fault."""
    lines = text.splitlines()
    found = []
    for number, line in enumerate(lines):
        if COMPLAINTS.search(line):
            frames = [*itertools.takewhile(lambda each: each.startswith("\tat "), lines[number + 1 : number + 9])]
            if not (line.startswith("WARNING in native method") and frames and NATIVE_OF_JDK.match(frames[0])):
                found.append("\n".join([line, *frames]))
    return found


def run_to_end(*arguments, env=None, timeout=START_SECONDS, pass_fds=(), cwd=None):
    """Runs jpeer with these arguments until it ends. Returns the completed process, with its output as text."""
    done = subprocess.run([BINARY, *arguments], env=env or environment(), timeout=timeout, capture_output=True,
                          text=True, check=False, pass_fds=pass_fds, cwd=cwd)
    found = complaints_in(done.stderr + done.stdout)
    assert not found, f"jpeer was not clean: {found[:5]}"
    return done


@functools.cache
def tls_files():
    """The folder of a server's pair, and the context of clients that trust it."""
    folder = tempfile.TemporaryDirectory(prefix="jpeer-tls-")
    authority = certificates.Authority(folder.name, "root")
    certificates.install(authority.issue("server"), folder.name)
    return folder, certificates.client_context(authority)


class Peer:
    """A running jpeer. As a context manager, it stops the peer at the end, and checks that the peer was
    clean."""

    tls = None  # the context of clients of a peer with TLS

    def __init__(self, *options, application=("--as-service",), class_path=FIXTURES, allow=True, addresses=True,
                 sockets=False, env=None, pass_fds=(), first_ref=1, cwd=None, before=(),
                 program=BINARY):
        """before: words before the command, such as those of a program that becomes it. first_ref: where tests may expect refs to begin; None: at random, as without the option."""
        self.folder = tempfile.TemporaryDirectory(prefix="jpeer-test-")
        self.ready_file = Path(self.folder.name) / "ready.json"
        command = [*before, program, "run", "--ready-file", self.ready_file, *jvm_options()]
        if addresses:
            command += ["--json-rpc", "auto", "--zmq-rpc", "auto"]
        if addresses and os.environ.get("JPEER_TLS") == "1" and "--tls-cert" not in options:
            folder, self.tls = tls_files()
            command += ["--tls-cert", f"{folder.name}/cert.pem", "--tls-key", f"{folder.name}/key.pem"]
        if sockets:
            command += ["--json-rpc", f"unix:{self.folder.name}/json", "--zmq-rpc", f"ipc://{self.folder.name}/zmq"]
        if allow:
            command += ["--rpc-default-action", "ALLOW"]
        if first_ref is not None and "--first-ref" not in options:
            command += ["--first-ref", str(first_ref)]
        if class_path is not None:
            command += ["-cp", class_path]
        command += [*options, *application]
        self.output = open(Path(self.folder.name) / "stdout", "w+", encoding="utf-8", errors="replace")
        self.errors = open(Path(self.folder.name) / "stderr", "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=self.errors, env=env or environment(), pass_fds=pass_fds, cwd=cwd)
        self.looked_at = {}
        self.clients = []  # clients that close() closes
        self.facts = self._await_ready()

    def _await_ready(self):
        deadline = time.monotonic() + START_SECONDS
        while not self.ready_file.exists():
            ended = self.process.poll() is not None
            if ended or time.monotonic() > deadline:
                errors = self.stderr()
                what = "ended" if ended else f"is not ready ({threads_of(self.pid)})"
                self.close()
                raise AssertionError(f"the peer {what}: {errors}")
            time.sleep(0.005)
        return json.loads(self.ready_file.read_text(encoding="utf-8"))

    def address(self, scheme):
        if self.tls and scheme in ("ws", "http"):
            scheme += "s"
        return next(address for address in self.facts["addresses"] if address.startswith(scheme + ":"))

    def socket_path(self, scheme):
        """The path of an address with the scheme ws+unix, http+unix or ipc."""
        return self.address(scheme).partition(":")[2].removeprefix("//")

    @property
    def pid(self):
        return self.process.pid

    def stdout(self):
        return Path(self.output.name).read_text(encoding="utf-8", errors="replace")

    def stderr(self):
        return Path(self.errors.name).read_text(encoding="utf-8", errors="replace")

    def new_complaints(self):
        """The complaints in all complete lines that were printed since the last call."""
        found = []
        for file in (self.output, self.errors):
            with open(file.name, "rb") as written:  # the file's own position is the peer's
                written.seek(self.looked_at.get(file.name, 0))
                lines = written.read().rpartition(b"\n")[0]
            self.looked_at[file.name] = self.looked_at.get(file.name, 0) + len(lines)
            found += complaints_in(lines.decode(errors="replace"))
        return found

    def await_stdout(self, text):
        self._await(text, self.stdout)

    def await_stderr(self, text):
        self._await(text, self.stderr)

    def _await(self, text, output):
        eventually(lambda: text in output(), lambda: f"{text!r} is printed: {self.stdout()}{self.stderr()}")

    def resident_kib(self):
        return self._memory_kib("VmRSS")

    def peak_kib(self):
        """The peak of resident memory since the peer started."""
        return self._memory_kib("VmHWM")

    def _memory_kib(self, name):
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return int(re.search(rf"{name}:\s+(\d+)", status).group(1))

    def send_signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=STOP_SECONDS):
        """The exit status. The peer must end without being stopped."""
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"the peer did not end in {timeout} s: {self.stderr()}") from None
        found = complaints_in(self.stderr() + self.stdout())
        assert not found, f"the peer was not clean: {found[:5]}"
        return status

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.send_signal(number)
        return self.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for client in self.clients:
            client.close()
        self.output.close()
        self.errors.close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                self.stop()
        finally:
            self.close()
