"""The client library against a real peer, over each transport.

usage: test_client.py CLIENT_SCENARIOS
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from support.certificates import Servers
from support.other_users import CAN_BECOME, CANNOT_BECOME, become
from support.peer import BINARY, Peer, kill_after
from support.tls_proxy import TlsProxy

PROGRAM = sys.argv[1]
SECONDS = 60
ZMQ_SCHEMES = ("tcp", "ipc")
DUPLEX_SCHEMES = ("ws", "ws+unix", "shm", "wss")
SCHEMES = (*DUPLEX_SCHEMES, "http", "http+unix", "https", *ZMQ_SCHEMES)
TLS_SCHEMES = ("wss", "https")
# Scenarios that the program plays alone (scenarios.c).
SCENARIOS = (*((name, SCHEMES) for name in ("kinds", "refs", "overdue", "shared-session", "late", "threads", "reconnects")),
             *((name, DUPLEX_SCHEMES) for name in ("comparator", "listeners", "refused", "shared-beside", "pinned")),
             ("unpinned", tuple(scheme for scheme in SCHEMES if scheme not in DUPLEX_SCHEMES)),
             ("binary", ZMQ_SCHEMES), ("threads", ZMQ_SCHEMES, "binary"))


def url_of(peer, scheme):
    """The URL for a scheme. A client asks for shared memory over the socket of WebSockets."""
    return f"shm:{peer.socket_path('ws+unix')}" if scheme == "shm" else peer.address(scheme)


class Scenario:
    """A run of the program. say() waits for a word that the program prints, and lets the program continue.
    before: words before the command."""

    def __init__(self, url, name, *options, before=()):
        self.process = subprocess.Popen([*before, PROGRAM, url, name, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def await_word(self, word):
        with kill_after(self.process):
            line = self.process.stdout.readline()
            assert line == word + "\n", (word, line, self.process.stderr.read())

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        _, errors = self.process.communicate(timeout=SECONDS)
        assert self.process.returncode == 0, errors


def await_stop(pid):
    """Waits until SIGSTOP, which each thread receives at its own time, has stopped all threads."""
    deadline = time.monotonic() + SECONDS
    while any(status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "T"
              for status in Path(f"/proc/{pid}/task").glob("*/stat")):
        assert time.monotonic() < deadline
        time.sleep(0.005)


class ProxiedPeer:
    """A peer with a TLS proxy in front of it."""

    def __init__(self, cleanup):
        self.peer = Peer(sockets=True)
        cleanup(self.peer.close)
        folder = tempfile.TemporaryDirectory(prefix="jpeer-test-")
        cleanup(folder.cleanup)
        servers = Servers(folder.name)
        self.proxy = TlsProxy(self.peer.socket_path("ws+unix"), servers.context())
        cleanup(self.proxy.close)
        os.environ["TEST_CA_FILE"] = str(servers.certificate)

    def url(self, scheme):
        return self.proxy.url(scheme, "localhost") if scheme in TLS_SCHEMES else url_of(self.peer, scheme)


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.proxied = ProxiedPeer(cls.addClassCleanup)
        cls.peer = cls.proxied.peer

    @classmethod
    def tearDownClass(cls):
        with cls.peer:
            pass

    def urls(self, schemes=SCHEMES):
        return [self.proxied.url(scheme) for scheme in schemes]

    def test_scenarios(self):
        for name, schemes, *options in SCENARIOS:
            for url in self.urls(schemes):
                with self.subTest(name, url=url):
                    Scenario(url, name, *options).end()

    def test_a_stopped_peer(self):
        for url in self.urls():
            with self.subTest(url=url):
                scenario = Scenario(url, "stopped")
                scenario.await_word("stop")
                self.peer.send_signal(signal.SIGSTOP)
                try:
                    await_stop(self.peer.pid)
                    scenario.go_on()
                    scenario.await_word("continue")
                finally:
                    self.peer.send_signal(signal.SIGCONT)
                scenario.go_on()
                scenario.end()


class Curve(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-test-")))
        self.peer_key, self.app_key, self.stranger_key = (self.keygen(name) for name in ("peer", "app", "stranger"))

    def keygen(self, name):
        return subprocess.run([BINARY, "keygen", self.folder / name], capture_output=True, text=True, check=True,
                              timeout=SECONDS).stdout.strip()

    def play(self, peer, name, server_key, key_file, *options):
        given = {"TEST_SERVER_KEY": server_key, "TEST_KEY_FILE": key_file and str(self.folder / key_file)}
        return subprocess.run([PROGRAM, peer.address("tcp"), name, *options], capture_output=True, text=True, check=False,
                              timeout=SECONDS, env={**os.environ, **{key: text for key, text in given.items() if text}})

    def test_scenarios_with_curve_and_who_is_refused(self):
        people = self.folder / "people.yaml"
        people.write_text(f"principals:\n  - {{name: app, curve-keys: ['{self.app_key}']}}\n", encoding="utf-8")
        people.chmod(0o600)
        wide = self.folder / "wide"
        wide.write_bytes((self.folder / "app").read_bytes())
        wide.chmod(0o604)
        with Peer("--zmq-rpc", "auto", "--principals", people, "--zmq-curve-key", self.folder / "peer",
                  addresses=False) as peer:
            for name, *options in (("kinds",), ("refs",), ("reconnects",), ("threads",), ("binary",), ("threads", "binary")):
                with self.subTest(name, options=options):
                    done = self.play(peer, name, self.peer_key, "app", *options)
                    self.assertEqual(done.returncode, 0, done.stderr)
            for server_key, key_file, words in (
                    (self.peer_key, "stranger", "the peer has refused the public key of key_file"),
                    (self.app_key, "app", "CURVE has failed: server_key is not the peer's key"),
                    (None, None, "or needs CURVE (server_key and key_file)"),
                    (self.peer_key, None, "server_key needs key_file"),
                    (None, "app", "key_file has no effect without"),
                    (self.peer_key[:-1], "app", "server_key is no public key of CURVE"),
                    (self.peer_key, "none", "No such file"),
                    (self.peer_key, "people.yaml", "has no public-key of 40 characters"),
                    (self.peer_key, "wide", "so others could use the key: make it 0600")):
                with self.subTest(words):
                    done = self.play(peer, "kinds", server_key, key_file)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(words, done.stderr)
        with Peer() as peer:
            self.assertIn("or the peer has no CURVE", self.play(peer, "kinds", self.peer_key, "app").stderr)


@unittest.skipUnless(CAN_BECOME, CANNOT_BECOME)
class OtherUsers(unittest.TestCase):
    def test_an_admitted_user_plays_the_scenarios_of_each_unix_socket(self):
        words = become(65533, 65533)
        if subprocess.run([*words, PROGRAM], capture_output=True, check=False, timeout=SECONDS).returncode in (126, 127):
            self.skipTest("another user cannot run the program")
        with Peer("--allow-user", "65533", sockets=True) as peer:
            os.chmod(peer.folder.name, 0o755)
            for scheme in ("ws+unix", "http+unix", "shm", "ipc"):
                for name in ("kinds", "refs", *(("listeners", "pinned") if scheme in DUPLEX_SCHEMES else ())):
                    with self.subTest(name, scheme=scheme):
                        Scenario(url_of(peer, scheme), name, before=words).end()


class DyingPeer(unittest.TestCase):
    def test_a_peer_that_is_killed_ends_all_that_wait(self):
        for scheme, *options in (*((scheme,) for scheme in SCHEMES), ("tcp", "binary"), ("ipc", "binary")):
            with self.subTest(scheme=scheme, options=options):
                with contextlib.ExitStack() as stack:
                    proxied = ProxiedPeer(stack.callback)
                    scenario = Scenario(proxied.url(scheme), "killed", *options)
                    scenario.await_word("waits")
                    time.sleep(0.1)
                    proxied.peer.process.kill()
                    scenario.go_on()
                    scenario.end()


class Restarts(unittest.TestCase):
    """A peer is killed, and another peer with the same address is started. Its refs begin at 1 again."""

    def start(self, folder):
        return Peer("--json-rpc", f"unix:{folder}/json", "--zmq-rpc", f"ipc://{folder}/zmq", addresses=False)

    def run_scenario(self, name, restarts):
        for scheme in ("ws+unix", "http+unix", "shm", "ipc"):
            with self.subTest(scheme=scheme), tempfile.TemporaryDirectory(prefix="jpeer-test-") as folder:
                peer = self.start(folder)
                try:
                    scenario = Scenario(url_of(peer, scheme), name)
                    for _ in range(restarts):
                        scenario.await_word("restart")
                        peer.process.kill()
                        peer.close()
                        peer = self.start(folder)
                        scenario.go_on()
                    scenario.end()
                finally:
                    peer.close()

    def test_a_ref_of_the_old_peer_is_refused_by_the_new_one(self):
        self.run_scenario("restarts", restarts=5)

    def test_clients_of_one_session_name_its_objects_at_once(self):
        self.run_scenario("siblings", restarts=1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
