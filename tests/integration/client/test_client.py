"""The client library against a real peer, over each transport.

usage: test_client.py CLIENT_SCENARIOS
"""

import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from support.peer import Peer

PROGRAM = sys.argv[1]
SECONDS = 60
ZMQ_SCHEMES = ("tcp", "ipc")
DUPLEX_SCHEMES = ("ws", "ws+unix", "shm")
SCHEMES = (*DUPLEX_SCHEMES, "http", "http+unix", *ZMQ_SCHEMES)


def url_of(peer, scheme):
    """Shared memory is asked for over the socket of WebSockets."""
    return f"shm:{peer.socket_path('ws+unix')}" if scheme == "shm" else peer.address(scheme)


class Scenario:
    """A run of the program. say() waits for its word and lets it go on."""

    def __init__(self, url, name, *options):
        self.process = subprocess.Popen([PROGRAM, url, name, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)

    def await_word(self, word):
        line = self.process.stdout.readline()
        assert line == word + "\n", (word, line, self.process.stderr.read())

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        _, errors = self.process.communicate(timeout=SECONDS)
        assert self.process.returncode == 0, errors


def await_stop(pid):
    """Until SIGSTOP, which comes to each thread in its own time, has stopped all of them."""
    deadline = time.monotonic() + SECONDS
    while any(status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "T"
              for status in Path(f"/proc/{pid}/task").glob("*/stat")):
        assert time.monotonic() < deadline
        time.sleep(0.005)


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.peer = Peer(sockets=True)

    @classmethod
    def tearDownClass(cls):
        with cls.peer:
            pass

    def urls(self, schemes=SCHEMES):
        return [url_of(self.peer, scheme) for scheme in schemes]

    def each_url(self, name, *options, schemes=SCHEMES):
        for url in self.urls(schemes):
            with self.subTest(url=url):
                Scenario(url, name, *options).end()

    def test_calls_of_each_kind(self):
        self.each_url("kinds")

    def test_binary_messages(self):
        self.each_url("binary", schemes=ZMQ_SCHEMES)

    def test_a_hundred_threads_with_binary_messages(self):
        self.each_url("threads", "binary", schemes=ZMQ_SCHEMES)

    def test_java_calls_a_comparator(self):
        self.each_url("comparator", schemes=DUPLEX_SCHEMES)

    def test_listeners_hear_in_order(self):
        self.each_url("listeners", schemes=DUPLEX_SCHEMES)

    def test_what_the_peer_refuses_it_lets_go_of(self):
        self.each_url("refused", schemes=DUPLEX_SCHEMES)

    def test_refs_go_with_the_next_messages(self):
        self.each_url("refs")

    def test_very_many_releases_go_on_their_own(self):
        self.each_url("overdue")

    def test_a_shared_session_loses_what_its_client_held(self):
        self.each_url("shared-session")

    def test_a_session_is_shared_while_its_call_lasts(self):
        self.each_url("shared-beside", schemes=DUPLEX_SCHEMES)

    def test_a_late_answer_leaves_nothing_behind(self):
        self.each_url("late")

    def test_a_hundred_threads_share_a_connection(self):
        self.each_url("threads")

    def test_a_broken_connection_is_opened_again_for_the_same_session(self):
        self.each_url("reconnects")

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


class DyingPeer(unittest.TestCase):
    def test_a_peer_that_is_killed_ends_all_that_wait(self):
        for scheme, *options in (*((scheme,) for scheme in SCHEMES), ("tcp", "binary"), ("ipc", "binary")):
            with self.subTest(scheme=scheme, options=options):
                peer = Peer(sockets=True)
                try:
                    scenario = Scenario(url_of(peer, scheme), "killed", *options)
                    scenario.await_word("waits")
                    time.sleep(0.1)
                    peer.process.kill()
                    scenario.go_on()
                    scenario.end()
                finally:
                    peer.close()


class Restarts(unittest.TestCase):
    """A peer is killed, and another one takes its address, where refs begin at 1 again."""

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

    def test_an_object_of_the_old_peer_is_none_of_the_new_one(self):
        self.run_scenario("restarts", restarts=5)

    def test_clients_of_one_session_name_its_objects_at_once(self):
        self.run_scenario("siblings", restarts=1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
