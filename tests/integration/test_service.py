"""The peer as a service: its messages to a service manager, the sockets that it receives from it, the units, and the peer as
the first process of a container."""

import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from support.clients import UnixHttpClient, UnixWebSocketClient, UnixZmqClient, WebSocketClient, ZmqClient
from support.metrics import ask, place_of
from support.other_users import CAN_BECOME, CANNOT_BECOME, curl
from support.peer import BINARY, BUILD, FIXTURES, ROOT, START_SECONDS, Peer, environment, eventually, has_ended, run_to_end, tls_files
from support.peer_case import PeerCase

BLOCK = '{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"fixtures.Blockers","method":"pass"}}'
# Becomes the program with these descriptors as its first ones, like systemd: NAMES FD,FD... PID PROGRAM...
PASS_SOCKETS = """
import os, sys
names, descriptors, process, *command = sys.argv[1:]
descriptors = [int(each) for each in descriptors.split(",")]
for place, each in enumerate(descriptors, 100):
    os.dup2(each, place)
for place in range(len(descriptors)):
    os.dup2(100 + place, 3 + place)
    os.close(100 + place)
os.environ.update(LISTEN_FDS=os.environ.get("LISTEN_FDS", str(len(descriptors))), LISTEN_PID=process or str(os.getpid()))
if names:
    os.environ["LISTEN_FDNAMES"] = names
os.execv(command[0], command)
"""


class ServiceManager:
    """A fake one, at a path or at an abstract name."""

    def __init__(self, folder, abstract=False):
        self.name = f"@jpeer-test-{os.getpid()}-{time.monotonic_ns()}" if abstract else f"{folder}/notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.name.replace("@", "\0", 1) if abstract else self.name)
        self.socket.settimeout(START_SECONDS)
        self.messages = []

    def next(self):
        """The next message, as a dict."""
        lines = self.socket.recv(4096).decode().split("\n")
        self.messages.append(dict(line.split("=", 1) for line in lines))
        return self.messages[-1]

    def until(self, name, value="1"):
        """The next message with this line."""
        while self.next().get(name) != value:
            pass
        return self.messages[-1]

    def rest(self):
        """The messages that have arrived; the peer has ended."""
        self.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.next()
        return self.messages


class Notifications(PeerCase):
    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-service-"))

    def manage(self, *options, abstract=False, variables=(), **more):
        manager = ServiceManager(self.folder, abstract)
        self.addCleanup(manager.socket.close)
        self.start(*options, env=environment(NOTIFY_SOCKET=manager.name, **dict(variables)), **more)
        return manager

    def test_says_when_it_serves_and_when_it_stops(self):
        for abstract in (False, True):
            with self.subTest(abstract=abstract):
                manager = self.manage("--grace", "3s", abstract=abstract)
                self.assertEqual(manager.next(), {"STATUS": "starts the JVM"})
                ready = manager.next()
                self.assertEqual(ready["READY"], "1")
                for address in self.peer.facts["addresses"]:
                    self.assertIn(address, ready["STATUS"])
                self.peer.stop()
                stopping = manager.next()
                self.assertEqual((stopping["STOPPING"], stopping["EXTEND_TIMEOUT_USEC"]), ("1", "13000000"))
                self.assertEqual(len(manager.rest()), 3)

    def test_a_peer_without_addresses_is_ready_too(self):
        manager = self.manage(addresses=False)
        self.assertEqual(manager.until("READY")["STATUS"], "runs")

    def test_the_reason_of_a_failed_start_is_the_status(self):
        manager = ServiceManager(self.folder)
        self.addCleanup(manager.socket.close)
        done = run_to_end("run", "--jvm", "/nonexistent", "--as-service", env=environment(NOTIFY_SOCKET=manager.name))
        self.assertEqual(done.returncode, 1)
        messages = manager.rest()
        self.assertIn("/nonexistent", messages[-1]["STATUS"])
        self.assertFalse([each for each in messages if "READY" in each])

    def test_programs_that_the_application_starts_do_not_get_the_variables(self):
        variables = {"WATCHDOG_USEC": "60000000", "LISTEN_FDS": "1", "LISTEN_PID": "1", "LISTEN_FDNAMES": "x"}
        self.manage(variables=variables)
        left = Path(f"/proc/{self.peer.pid}/environ").read_text()  # what exec has given
        self.assertIn("NOTIFY_SOCKET=", left)
        for name in ("NOTIFY_SOCKET", *variables):
            self.assertEqual(self.client.call("java.lang.System", "getenv", name), None)

    def test_a_manager_that_cannot_be_told_does_not_stop_the_peer(self):
        stream = socket.socket(socket.AF_UNIX)
        self.addCleanup(stream.close)
        stream.bind(f"{self.folder}/stream")
        stream.listen()
        for name, word in ((f"{self.folder}/nobody", "No such file"), (f"{self.folder}/stream", "rotocol wrong type"),
                           ("relative", "neither a path"), ("/" + "x" * 200, "201 bytes"), ("@", "neither a path"),
                           ("vsock:2:1", "neither a path"), ("", None)):
            with self.subTest(name=name):
                self.start(env=environment(NOTIFY_SOCKET=name))
                self.assertEqual(self.client.call("fixtures.Calculator", "add", 1, 2), "3")
                self.assertEqual(self.peer.stop(), 0)
                if word:
                    self.assertIn(word, self.peer.stderr())
                self.assertEqual("NOTIFY_SOCKET" in self.peer.stderr(), word is not None)

    def test_a_manager_that_does_not_read_delays_the_end_by_seconds_at_most(self):
        manager = self.manage()
        filler = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(filler.close)
        filler.setblocking(False)
        with self.assertRaises(BlockingIOError):
            while True:
                filler.sendto(b"x", manager.name)
        begun = time.monotonic()
        self.assertEqual(self.peer.stop(), 0)
        self.assertLess(time.monotonic() - begun, 20)
        self.assertIn('cannot be told "STOPPING=1"', self.peer.stderr())

    def test_a_hangup_is_a_reload(self):
        self.make_policy("  - {class: '**', action: ALLOW}\n")
        manager = self.manage("--rpc-policy", self.policy, allow=False)
        manager.until("READY")
        for content in ("version: 1\n", "version: [\n"):  # READY=1 although the file does not load: the old one is in force
            self.policy.write_text(content)
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            self.peer.send_signal(signal.SIGHUP)
            reloading = manager.until("RELOADING")
            self.assertLessEqual(before, int(reloading["MONOTONIC_USEC"]))
            self.assertLessEqual(int(reloading["MONOTONIC_USEC"]), time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000)
            self.assertIn("serves", manager.until("READY")["STATUS"])
        self.await_lines("Failed to reload RPC policy")

    def test_a_hangup_of_a_service_without_files_does_not_stop_it(self):
        manager = self.manage()
        manager.until("READY")
        self.peer.send_signal(signal.SIGHUP)
        manager.until("RELOADING")
        manager.until("READY")
        self.assertEqual(self.client.call("fixtures.Calculator", "add", 1, 2), "3")

    def await_lines(self, text):
        eventually(lambda: text in self.peer.stderr(), text)

    def test_the_watchdog_gets_beats_while_the_peer_is_healthy(self):
        manager = self.manage("--rpc-threads", "1", "--rpc-threads-max", "1", "--busy-timeout", "200ms",
                              variables={"WATCHDOG_USEC": "100000"})
        manager.until("READY")
        begun = time.monotonic()
        for _ in range(5):
            manager.until("WATCHDOG")
        self.assertGreater(time.monotonic() - begun, 0.19)  # every 50 ms
        client = self.connect()
        client.send(BLOCK)
        manager.until("STATUS", "does not serve: every thread has been inside Java for --busy-timeout")
        self.assertEqual(ask(place_of(self.peer), "/healthz")[0], 503)
        manager.socket.settimeout(1)
        with self.assertRaises(TimeoutError):
            manager.until("WATCHDOG")
        self.assertIn("watchdog gets no beat", self.peer.stderr())
        manager.socket.settimeout(START_SECONDS)
        client.close()  # interrupts the call
        self.assertIn("serves", manager.until("WATCHDOG")["STATUS"])
        self.await_lines("gets its beat again")

    def test_a_watchdog_of_another_process_or_without_a_time_gets_no_beat(self):
        for variables, line in (({"WATCHDOG_USEC": "20000", "WATCHDOG_PID": "1"}, None),
                                ({"WATCHDOG_USEC": "soon"}, "no time in microseconds"), ({"WATCHDOG_USEC": "0"}, "no time")):
            with self.subTest(variables=variables):
                manager = self.manage(variables=variables)
                self.assertEqual(self.peer.stop(), 0)
                self.assertFalse([each for each in manager.rest() if "WATCHDOG" in each])
                if line:
                    self.assertIn(line, self.peer.stderr())
                manager.socket.close()
                os.unlink(manager.name)

    def test_a_peer_that_a_client_has_started_does_not_speak_for_the_client(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_inheritable(reader, True)
        manager = self.manage("--stop-on-eof", str(reader), pass_fds=(reader,))
        os.close(writer)
        self.peer.wait()
        self.assertEqual(manager.rest(), [])


class WhyItEnds(PeerCase):
    """One line of the log says it; tests of signals, System.exit, the application's end and the parent's are elsewhere
    (test_start, test_parent)."""

    def test_an_abort_of_the_watchdog(self):
        self.start("--log-format", "json", cwd=self.enterContext(tempfile.TemporaryDirectory()))
        os.kill(self.peer.pid, signal.SIGABRT)
        self.assertEqual(self.peer.process.wait(START_SECONDS), -signal.SIGABRT)
        self.assertIn(f"the peer ends: SIGABRT from process {os.getpid()} of user {os.geteuid()}", self.peer.stderr())

    def test_a_crash_of_the_jvm(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        log = Path(folder, "log")
        peer = Peer("--log-file", log, cwd=folder)
        self.addCleanup(peer.close)
        os.kill(peer.pid, signal.SIGSEGV)  # as HotSpot sees an invalid access in native code
        self.assertEqual(peer.process.wait(START_SECONDS), -signal.SIGABRT)
        self.assertRegex(log.read_text(), r"the peer ends: the JVM or native code has crashed .* hs_err_pid")


class Sockets(PeerCase):
    def setUp(self):
        super().setUp()
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-service-"))
        self.made = []

    def listen(self, address=("127.0.0.1", 0), kind=socket.SOCK_STREAM, listens=True, family=None):
        made = socket.socket(family or (socket.AF_UNIX if isinstance(address, str) else socket.AF_INET), kind)
        self.addCleanup(made.close)
        made.bind(address)
        if listens:
            made.listen()
        self.made.append(made)
        return made

    def before(self, names, process=""):
        """The words before a command that pass the sockets."""
        self.descriptors = [each.fileno() for each in self.made]
        return [sys.executable, "-c", PASS_SOCKETS, names, ",".join(map(str, self.descriptors)), process]

    def activate(self, names, *options, **more):
        before = self.before(names)
        return self.start(*options, addresses=False, before=before, pass_fds=self.descriptors, **more)

    def refusal(self, names, *options, process="", variables=()):
        before = self.before(names, process)
        done = subprocess.run([*before, BINARY, "run", *options, "--as-service"], pass_fds=self.descriptors, check=False,
                              env=environment(**dict(variables)), capture_output=True, text=True, timeout=START_SECONDS)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def test_serves_on_sockets_of_tcp_and_unix(self):
        port = self.listen().getsockname()[1]
        paths = [f"{self.folder}/{name}" for name in ("json", "zmq", "metrics")]
        for path in paths:
            self.listen(path)
        zmq_port = self.listen().getsockname()[1]
        self.activate("api:api:queue:figures:queue", "--json-rpc", "fd:api", "--zmq-rpc", "fd:queue", "--metrics-listen",
                      "fd:figures")
        self.assertEqual(sorted(self.peer.facts["addresses"]), sorted([
            f"ws://127.0.0.1:{port}/rpc", f"http://127.0.0.1:{port}/rpc", f"ws+unix:{paths[0]}", f"http+unix:{paths[0]}",
            f"ipc://{paths[1]}", f"tcp://127.0.0.1:{zmq_port}"]))
        for kind in (WebSocketClient, UnixWebSocketClient, UnixHttpClient, ZmqClient, UnixZmqClient):
            with kind(self.peer) as client:
                self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
        self.assertEqual(ask(self.peer.facts["metrics"][0], "/healthz")[0], 200)
        for each in os.listdir(f"/proc/{self.peer.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # a connection has ended
                if os.readlink(f"/proc/{self.peer.pid}/fd/{each}").startswith("socket:"):
                    flags = re.search(r"flags:\s+(\d+)", Path(f"/proc/{self.peer.pid}/fdinfo/{each}").read_text())
                    self.assertTrue(int(flags.group(1), 8) & os.O_CLOEXEC, each)

    def test_a_client_sees_the_peers_user_and_the_file_remains(self):
        path = f"{self.folder}/json"
        self.listen(path)
        self.activate("api", "--json-rpc", "fd:api")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            process = int.from_bytes(client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)
        self.assertEqual(process, self.peer.pid)
        self.assertEqual(self.peer.stop(), 0)
        self.assertTrue(Path(path).exists())
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)  # waits for the next peer
            self.activate("api", "--json-rpc", "fd:api")
            client.settimeout(START_SECONDS)
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            self.assertIn(b"200 OK", client.recv(1000))

    @unittest.skipUnless(CAN_BECOME, CANNOT_BECOME)
    def test_other_users_are_refused_although_the_file_lets_them_in(self):
        os.chmod(self.folder, 0o755)
        self.listen(f"{self.folder}/json")
        os.chmod(f"{self.folder}/json", 0o666)
        self.activate("api", "--json-rpc", "fd:api")
        status, _ = curl(f"{self.folder}/json", before=["setpriv", "--reuid", "65534", "--clear-groups"])
        self.assertEqual(status, 403)

    def test_tls_holds_for_ports_that_were_passed(self):
        port = self.listen().getsockname()[1]
        path = f"{self.folder}/json"
        self.listen(path)
        folder, context = tls_files()
        self.activate("api:api", "--json-rpc", "fd:api", "--tls-cert", f"{folder.name}/cert.pem", "--tls-key", f"{folder.name}/key.pem")
        self.assertIn(f"https://127.0.0.1:{port}/rpc", self.peer.facts["addresses"])
        self.assertIn(f"http+unix:{path}", self.peer.facts["addresses"])
        with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain, server_hostname="localhost") as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(b"200 OK", client.recv(1000))

    def test_names_that_no_socket_has(self):
        self.listen()
        self.assertIn('the service manager has passed (api), not "fd:app"', self.refusal("api", "--json-rpc", "fd:app"))
        self.assertIn("(unknown)", self.refusal("", "--json-rpc", "fd:app"))
        self.assertIn("takes each name once", self.refusal("api", "--json-rpc", "fd:api", "--metrics-listen", "fd:api"))
        done = run_to_end("run", "--json-rpc", "fd:api", "--as-service")
        self.assertEqual(done.returncode, 2)
        self.assertIn("(none: LISTEN_FDS is not set)", done.stderr)

    def test_variables_for_others_or_nonsense(self):
        self.listen()
        self.assertIn("(none: LISTEN_PID is 1, and this is process", self.refusal("api", "--json-rpc", "fd:api", process="1"))
        for number, reason in (("0", 'LISTEN_FDS is "0"'), ("-1", 'LISTEN_FDS is "-1"'), ("x", 'LISTEN_FDS is "x"'),
                               ("25", "LISTEN_FDS is 25, and 24 sockets can be used at most"),
                               ("99999999999999999999", "LISTEN_FDS is")):
            with self.subTest(number=number):
                self.assertIn(reason, self.refusal("api", "--json-rpc", "fd:api", variables={"LISTEN_FDS": number}))
        self.assertIn("descriptor 9: Bad file descriptor", self.refusal(
            "a:b:c:d:e:f:api", "--json-rpc", "fd:api", variables={"LISTEN_FDS": "7"}))

    def test_descriptors_that_do_not_fit(self):
        made = [(lambda: self.listen(kind=socket.SOCK_DGRAM, listens=False), "descriptor 3 is a datagram socket"),
                (lambda: self.listen(listens=False), "descriptor 3 does not listen"),
                (lambda: self.made.append(self.enterContext(open(os.devnull, encoding="ascii"))), "descriptor 3: Socket operation on non-socket"),
                (lambda: self.listen("\0jpeer-test"), "an abstract name has no mode"),
                (lambda: self.listen(f"{self.folder}/packets", socket.SOCK_SEQPACKET), "descriptor 3 is a packet socket")]
        for make, reason in made:
            with self.subTest(reason=reason):
                self.made.clear()
                make()
                self.assertIn(reason, self.refusal("api", "--json-rpc", "fd:api"))

    def test_the_rules_of_addresses_hold(self):
        self.listen(("0.0.0.0", 0))
        for option in ("--json-rpc", "--zmq-rpc", "--metrics-listen"):
            self.assertIn(f"{option} takes a loopback address", self.refusal("api", option, "fd:api"))
        self.made = []
        self.listen()
        self.assertIn("needs --json-rpc unix:PATH", self.refusal("api", "--json-rpc", "fd:api", "--allow-user", "0"))
        self.made = []
        self.listen(f"{self.folder}/json")
        self.assertIn("set SocketMode= in the socket unit", self.refusal("api", "--json-rpc", "fd:api", "--socket-mode", "0600"))

    def test_a_socket_that_no_address_names_is_closed(self):
        self.listen()
        spare = self.listen().getsockname()[1]
        self.activate("api:spare", "--json-rpc", "fd:api")
        self.assertIn("has passed the socket spare, which no address names", self.peer.stderr())
        self.made.pop().close()
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", spare))

    def test_a_descriptor_that_is_not_open_stays_the_peers_own(self):
        self.listen()
        self.activate("api:gone", "--json-rpc", "fd:api", env=environment(LISTEN_FDS="20"))
        self.assertIn("LISTEN_FDS is 20, but descriptor 4 is not open: there is no socket gone", self.peer.stderr())
        self.assertEqual(self.client.call("fixtures.Calculator", "add", 1, 2), "3")


@unittest.skipIf(shutil.which("systemd-analyze") is None, "systemd-analyze is not installed (Debian: systemd)")
class Units(PeerCase):
    """The units as they are installed. tests/release/service.py boots a systemd with them."""

    EXPOSURE = 15  # tenths: at most, see docs/security.md

    def setUp(self):
        super().setUp()
        self.prefix = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-units-")))
        subprocess.run(["cmake", "--install", BUILD, "--component", "program", "--prefix", self.prefix], check=True,
                       stdout=subprocess.DEVNULL)
        self.units = self.prefix / "lib/systemd/system"
        for kind in ("service", "socket"):
            (self.units / f"jpeer@app.{kind}").symlink_to(f"jpeer@.{kind}")

    def analyze(self, *words):
        return subprocess.run(["systemd-analyze", *words], check=False, capture_output=True, text=True, timeout=START_SECONDS,
                              env={**os.environ, "SYSTEMD_UNIT_PATH": f"{self.units}:"})

    def test_systemd_accepts_them(self):
        done = self.analyze("verify", "--man=no", "jpeer@app.service", "jpeer@app.socket")
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        self.assertIn(f"ExecStart={self.prefix}/bin/jpeer run @/etc/jpeer/%i.conf\n", (self.units / "jpeer@.service").read_text())

    def test_the_service_has_few_rights(self):
        done = self.analyze("security", "--offline=true", f"--threshold={self.EXPOSURE}", self.units / "jpeer@app.service")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        exposure = re.search(r"Overall exposure level for jpeer@app.service: ([\d.]+)", done.stdout)[1]
        self.assertIn(f"exposure {exposure} ", (ROOT / "docs/security.md").read_text(encoding="utf-8"))

    def test_the_sample_starts_a_peer(self):
        """Each option of the sample, also those in comments, is one of jpeer run."""
        sample = (self.prefix / "share/doc/jpeer/examples/service.conf").read_text(encoding="utf-8")
        known = run_to_end("run", "--help").stdout
        for option in re.findall(r"^(?:# )?(--[a-z][a-z-]+)", sample, re.M):
            self.assertRegex(known, rf"(?m)^ +{option}\b", option)
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-service-"))
        file = Path(folder, "app.conf")
        file.write_text(sample.replace("/run/jpeer/NAME", folder).replace("NAME", "app"), encoding="utf-8")
        peer = self.start(f"@{file}", addresses=False, allow=False, class_path=None, application=())
        self.assertEqual(peer.facts["addresses"], [f"ws+unix:{folder}/rpc.sock", f"http+unix:{folder}/rpc.sock"])


UNSHARE = ["unshare", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")), "--pid", "--fork", "--mount-proc"]


def children_of(pid):
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def can_be_first():
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(can_be_first(), "no PID namespace can be made here (unshare --pid)")
class FirstProcess(PeerCase):
    """jpeer is process 1 of a PID namespace, as in a container."""

    def begin(self, *words, **more):
        """Returns the process unshare, and the number of jpeer as seen from here. jpeer has been loaded: before that, for
        the time of the dynamic linker (2 ms), the kernel drops the signals to a first process."""
        process = subprocess.Popen([*UNSHARE, BINARY, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, env=environment(), text=True, **more)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        eventually(lambda: children_of(process.pid), "unshare has a child")
        first, = children_of(process.pid)
        self.addCleanup(lambda: has_ended(first) or os.kill(first, signal.SIGKILL))
        deadline = time.monotonic() + START_SECONDS
        while not children_of(first) and time.monotonic() < deadline:
            pass  # without a pause: the first moments are of interest
        return process, first

    def test_term_ends_it_at_each_moment_of_its_start(self):
        for ms in (*range(0, 40, 2), *range(40, 600, 35)):
            with self.subTest(ms=ms):
                process, first = self.begin("run", "--json-rpc", "auto", "--as-service")
                time.sleep(ms / 1000)
                os.kill(first, signal.SIGTERM)
                self.assertIn(process.wait(START_SECONDS), (0, 128 + signal.SIGTERM))

    def test_passes_signals_and_the_status_on(self):
        process, first = self.begin("run", "--json-rpc", "auto", "--ready-when", "class-loaded", "-cp", FIXTURES,
                                    "fixtures.Main", "exit", "7")
        self.assertEqual(process.wait(START_SECONDS), 7)
        process, first = self.begin("run", "--json-rpc", "auto", "--as-service")
        for line in process.stderr:
            if line.startswith("jpeer ready"):
                break
        os.kill(first, signal.SIGINT)
        self.assertEqual(process.wait(START_SECONDS), 0)
        self.assertIn("the peer stops: SIGINT", process.stderr.read())

    def test_waits_for_processes_whose_parents_have_ended(self):
        process, first = self.begin("run", "--json-rpc", "auto", "--rpc-default-action", "ALLOW", "--as-service")
        for line in process.stderr:
            if line.startswith("jpeer ready"):
                break
        address = re.search(r"ws://\S+?(?=[,\n])", line)[0]
        done = run_to_end("call", "--url", address, 'java.lang.Runtime.getRuntime().exec("setsid -f sleep 0.1").waitFor()')
        self.assertEqual((done.returncode, done.stdout), (0, "0\n"), done.stderr)
        eventually(lambda: len(children_of(first)) == 1, "the orphan is gone")
        os.kill(first, signal.SIGTERM)
        self.assertEqual(process.wait(START_SECONDS), 0)

    def test_sockets_and_the_watchdog_are_for_the_first_process(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-service-"))
        manager = ServiceManager(folder)
        self.addCleanup(manager.socket.close)
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        command = [*UNSHARE, sys.executable, "-c", PASS_SOCKETS, "api", str(listener.fileno()), "1", BINARY, "run",
                   "--json-rpc", "fd:api", "--as-service"]
        process = subprocess.Popen(command, pass_fds=[listener.fileno()], stderr=subprocess.DEVNULL,
                                   env=environment(NOTIFY_SOCKET=manager.name, WATCHDOG_USEC="200000", WATCHDOG_PID="1"))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertIn(f":{listener.getsockname()[1]}/rpc", manager.until("READY")["STATUS"])
        manager.until("WATCHDOG")
        address = listener.getsockname()
        listener.close()
        first, = children_of(process.pid)
        os.kill(first, signal.SIGTERM)
        self.assertEqual(process.wait(START_SECONDS), 0)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(address)


if __name__ == "__main__":
    unittest.main()
