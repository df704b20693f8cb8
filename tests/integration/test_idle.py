"""An idle peer does nearly nothing. Counts the context switches of its own threads (not the JVM's)."""

import contextlib
import re
import time
from pathlib import Path

from support.clients import HttpClient, WebSocketClient, ZmqClient
from support.peer_case import PeerCase

SECONDS = 3
# The watcher wakes once a second, and each idle thread of the crew every 10 s. Threads that do not sleep would wake 200
# times a second.
MOST_A_SECOND = 8
ATTEMPTS = 6
OWN = re.compile(r"rpc-|jpeer|ZMQ")


def switches(peer):
    """Returns the number of context switches of each thread. The keys are (id, name) of the threads."""
    counts = {}
    for status in Path(f"/proc/{peer.pid}/task").glob("*/status"):
        with contextlib.suppress(OSError):
            text = status.read_text(encoding="utf-8")
            name = re.search(r"^Name:\s+(.*)$", text, re.MULTILINE)[1]
            if OWN.match(name):
                counts[status.parent.name, name] = sum(map(int, re.findall(r"voluntary_ctxt_switches:\s+(\d+)", text)))
    return counts


class Idle(PeerCase):
    def count_growth(self, peer):
        before = switches(peer)
        time.sleep(SECONDS)
        after = switches(peer)
        grown = {thread: count - before.get(thread, 0) for thread, count in after.items()}
        self.assertIn("rpc-watcher", {name for _, name in grown})
        return grown

    def assert_idle(self, peer):
        """Waits until the peer is idle. On a loaded machine that may need some time; a peer that polls never becomes
        idle."""
        time.sleep(1)
        for _ in range(ATTEMPTS):
            grown = self.count_growth(peer)
            if sum(grown.values()) <= SECONDS * MOST_A_SECOND:
                return
        self.fail(f"it is not idle: {grown}")

    def test_with_connections_and_after_work(self):
        peer = self.start()
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(kind(peer)) for kind in (WebSocketClient, HttpClient, ZmqClient)
                       for _ in range(3)]
            for _ in range(200):
                for client in clients:
                    self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
            self.assert_idle(peer)
            for client in clients:
                self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")

    def test_beside_a_call_that_takes_long(self):
        peer = self.start("--rpc-threads", "2", "--grace", "100")
        slow, other = self.connect(), self.connect()
        slow.send('{"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"type": "java.lang.Thread", '
                  '"method": "sleep", "args": [600000]}}')
        self.assert_idle(peer)
        self.assertEqual(other.call("fixtures.Calculator", "add", 1, 2), "3")
        peer.stop()  # otherwise the client's closing message would wait for its call
