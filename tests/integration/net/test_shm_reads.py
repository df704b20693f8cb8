"""A server in which reads of a shared word differ (differing_reads.h). A client over shared memory may be cut
off or get wrong answers, because such a client could cause both by itself. All other clients are served, and no
sanitizer reports a fault of the server."""

import os
import random

from stub import StubTest, WebSocket
from support import shm

CONNECTIONS = 400
MESSAGES = 50
RING = 65536


class DifferingReads(StubTest):
    options = {"shm_ring": RING, "message_max": 1 << 20}
    has_socket = True

    def talk(self, dice):
        """Sends messages. Returns how many came back intact, and how often the connection ended."""
        same = 0
        try:
            with shm.Channel(self.path) as channel:
                channel.milliseconds = 50
                for _ in range(MESSAGES):
                    message = b"x" * dice.choice((1, 100, 5000, 100000))
                    channel.send(message)
                    same += channel.receive() == message
        except (shm.Ended, shm.Broken, ConnectionError):
            return same, 1
        except shm.TimedOut:
            pass
        return same, 0

    def talk_beside_another(self):
        """Like talk, over several connections at once, between which a WebSocket is served correctly."""
        dice = random.Random("reads")
        same = ended = 0
        other = WebSocket(self.stub)
        self.addCleanup(other.close)
        for i in range(CONNECTIONS):
            more_same, more_ended = self.talk(dice)
            same += more_same
            ended += more_ended
            other.send_text(f"number {i}")
            self.assertEqual(f"number {i}", other.receive_text())
        return same, ended

    def test_only_their_own_client_is_served_wrongly(self):
        same, ended = self.talk_beside_another()
        self.assertGreater(same, 0)
        self.assertGreater(ended, 0)


class EverySecondRead(DifferingReads):
    def setUp(self):
        os.environ["STUB_DIFFERS_ALWAYS"] = "1"
        self.addCleanup(os.environ.pop, "STUB_DIFFERS_ALWAYS")
        super().setUp()

    def test_only_their_own_client_is_served_wrongly(self):
        _, ended = self.talk_beside_another()
        self.assertGreater(ended, 0)
