"""Binary messages with a thread affinity: they run where a JSON request with that option does."""

import signal
import time
import unittest

from support.binary_client import (DENIED, BinaryClient, Raised, call_message, control_message, get_message,
                                   new_message, obj_null, put_message)
from support.clients import WebSocketClient
from support.peer import START_SECONDS, Peer

EXECUTORS = {"SINGLE": "fixtures.Affinity.single", "FIELD": "fixtures.Affinity.FIELD", "DIRECT": "fixtures.Affinity.DIRECT",
             "REJECTING": "fixtures.Affinity.REJECTING", "NOWHERE": "fixtures.Nowhere.later",
             "KEEPING": "fixtures.Affinity.KEEPING"}
FLAGS = [word for name, member in EXECUTORS.items() for word in ("--thread-affinity", f"{name}={member}")]
AFFINITY = "fixtures.Affinity"
THREAD = (AFFINITY, "threadName")


def on(affinity, message):
    return {**message, "execMessage": {**message["execMessage"], "threadAffinity": affinity}}


class Affinity(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.peer = Peer(*FLAGS)

    @classmethod
    def tearDownClass(cls):
        with cls.peer:
            pass

    def setUp(self):
        self.client = BinaryClient(self.peer)
        self.addCleanup(self.client.close)

    def test_it_runs_there(self):
        for shape in BinaryClient.SHAPES:
            with BinaryClient(self.peer, shape) as client:
                for affinity, thread in 3 * [("SINGLE", '"fixture-single"'), ("FIELD", '"fixture-field"'),
                                             ("DIRECT", '"rpc-'), ("nobody", '"rpc-'), ("", '"rpc-')]:
                    value = client.result(on(affinity, call_message(*THREAD)))["value"]
                    self.assertTrue(value.startswith(thread), (affinity, value))

    def test_every_operation(self):
        number = self.client.result(on("SINGLE", new_message("java.util.ArrayList")))["ref"]
        self.client.run(on("FIELD", call_message("java.util.ArrayList", "add", "x", on=number)))
        size = self.client.result(on("SINGLE", get_message("java.util.ArrayList", "size", on=number)))
        self.assertEqual(size["value"], "1")
        done = self.client.run(on("SINGLE", put_message(AFFINITY, "number", 7)))["staticFieldPutDone"]
        self.assertEqual(done["field"]["name"], "number")
        self.assertEqual(self.client.get(AFFINITY, "number"), 7)

    def test_replies_keep_their_order(self):
        names = ("SINGLE", "FIELD", "nobody", "DIRECT")
        for number in range(200):
            message = on(names[number % 4], call_message(AFFINITY, "inside", number % 3))
            self.client.send(self.client.addressed(message if number % 5 else control_message("ping")))
        for number in range(1, 201):
            reply = self.client.receive()
            part = reply.get("execMessage") or reply["controlMessage"]
            self.assertEqual(part["responseToId"], f"request-{number}")

    def test_what_goes_wrong_there(self):
        for affinity, message, type_name, text in (
                ("SINGLE", call_message(AFFINITY, "fail", "no"), "java.lang.IllegalArgumentException", "no"),
                ("SINGLE", call_message(AFFINITY, "nothing"), "java.lang.NoSuchMethodException", "nothing"),
                ("REJECTING", call_message(*THREAD), "java.util.concurrent.RejectedExecutionException", "full"),
                ("NOWHERE", call_message(*THREAD), "java.lang.ClassNotFoundException", "fixtures.Nowhere")):
            with self.assertRaises(Raised) as raised:
                self.client.run(on(affinity, message))
            self.assertEqual(raised.exception.type, type_name)
            self.assertIn(text, raised.exception.text)

    def test_one_that_has_no_work_for_others_holds_up_nobody(self):
        with BinaryClient(self.peer, "req") as waiting, WebSocketClient(self.peer) as steering:
            waiting.send(waiting.addressed(on("KEEPING", call_message(*THREAD))))
            deadline = time.monotonic() + START_SECONDS
            while steering.call(AFFINITY, "kept") != "1":
                self.assertLess(time.monotonic(), deadline)
            self.assertEqual(self.client.call("fixtures.Calculator", "add", 1, 2), 3)
            steering.call(AFFINITY, "runKept")
            self.assertIn("value", waiting.receive()["execMessage"]["returnValue"]["object"])


class Rules(unittest.TestCase):
    def test_the_policy_holds_there(self):
        with Peer(*FLAGS, "--rpc-allow", "java.lang.Math", allow=False) as peer, BinaryClient(peer) as client:
            self.assertEqual(client.result(on("SINGLE", call_message("java.lang.Math", "max", 3, 5)))["value"], "5")
            for message in (call_message(*THREAD), call_message("java.lang.Math", "max", obj_null("no.such.Thing"), 1)):
                for affinity in ("SINGLE", "nobody"):
                    with self.assertRaises(Raised) as raised:
                        client.run(on(affinity, message))
                    self.assertEqual(raised.exception.type, DENIED)

    def test_the_grace_time_ends_what_never_runs(self):
        with Peer(*FLAGS, "--grace", "300ms") as peer, BinaryClient(peer, "req") as client:
            client.send(client.addressed(on("KEEPING", call_message(*THREAD))))
            with WebSocketClient(peer) as steering:
                while steering.call(AFFINITY, "kept") != "1":
                    pass
            peer.send_signal(signal.SIGTERM)
            throwable = client.receive()["execMessage"]["raisedThrowable"]["throwable"]
            self.assertEqual(throwable["type"], "java.util.concurrent.RejectedExecutionException")
            self.assertIn("shutting down", throwable["message"])
            self.assertEqual(peer.wait(), 0)


if __name__ == "__main__":
    unittest.main()
