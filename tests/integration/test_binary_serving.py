"""How binary messages are served: their order, slow messages, limits, a busy peer, and a peer that ends."""

import contextlib
import json
import signal

from support import colfer
from support.binary_client import (BinaryClient, Raised, call_message, control_message, meta_message, new_message, obj,
                                   part_of)
from support.clients import WebSocketClient
from support.peer import Peer, eventually
from support.peer_case import BinaryCase, PeerCase

PASS = call_message("fixtures.Blockers", "pass")
REFUSED = "java.util.concurrent.RejectedExecutionException"


def await_running(client, count):
    eventually(lambda: client.call("fixtures.Blockers", "running") == count, f"{count} calls run")


def add(left, right):
    return call_message("fixtures.Calculator", "add", left, right)


class Order(BinaryCase):
    def test_both_forms_on_one_socket_keep_their_order(self):
        for shape in ("dealer", "framed"):
            with BinaryClient(self.peer, shape) as client:
                for number in range(600):
                    if number % 3 == 0:
                        client.send_bytes(json.dumps({"jsonrpc": "2.0", "id": number, "method": "call", "params": {
                            "type": "fixtures.Calculator", "method": "add", "args": [number, 1]}}).encode())
                    else:
                        client.send(client.addressed(add(number, 1) if number % 3 == 1 else control_message("ping")))
                for number in range(600):
                    reply = client.receive_bytes()
                    if number % 3 == 0:
                        self.assertEqual(json.loads(reply)["id"], number)
                        self.assertEqual(json.loads(reply)["result"]["value"]["value"], str(number + 1))
                        continue
                    part = part_of(client.check(colfer.decode("Message", reply)))
                    if number % 3 == 1:
                        self.assertEqual(part["returnValue"]["object"]["value"], str(number + 1))
                    else:
                        self.assertEqual(part["status"], 1)

    def test_both_forms_on_one_socket_have_one_session(self):
        client = self.connect(BinaryClient)
        number = client.new("com.example.Calculator")
        params = {"type": "com.example.Calculator", "method": "accumulate", "instance": number, "args": [5]}
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": params})
        reply = json.loads(client.exchange_bytes(text.encode()))
        self.assertEqual(reply["result"]["value"]["value"], "5")
        self.assertEqual(client.call("com.example.Calculator", "accumulate", 1, on=number), 6)

    def test_a_slow_call_delays_nobody_else(self):
        uuid = bytes(range(16))
        steering = self.connect(BinaryClient)
        with contextlib.ExitStack() as opened:
            slow = [opened.enter_context(BinaryClient(self.peer, shape, uuid)) for shape in BinaryClient.SHAPES]
            for client in slow:
                client.send(client.addressed(PASS))
            await_running(steering, len(slow))
            for shape in BinaryClient.SHAPES:  # also a client of the same session
                for name in (uuid, b""):
                    with BinaryClient(self.peer, shape, name) as quick:
                        self.assertEqual(quick.call("fixtures.Calculator", "add", 1, 2), 3)
            slow[1].send(slow[1].addressed(add(3, 4)))
            steering.call("fixtures.Blockers", "open")
            for client in slow:
                self.assertEqual(client.receive()["execMessage"]["returnValue"]["object"]["value"], "1")
            self.assertEqual(slow[1].receive()["execMessage"]["returnValue"]["object"]["value"], "7")


class Answers(BinaryCase):
    """Answers that are longer than the limit for the waiting answers of an identity."""

    options = ("--message-max", "4K", "--send-buffer-max", "4K", "--array-value-max", "100000",
               "--session-max-objects", "5")

    def test_a_long_text_is_a_ref(self):
        for shape in BinaryClient.SHAPES:
            with BinaryClient(self.peer, shape) as client:
                result = client.result(call_message("fixtures.Arguments", "longText", 8192))
                self.assertNotIn("value", result)
                self.assertEqual(client.call("java.lang.String", "length", on=result["ref"]), 8192)

    def test_nothing_beside_its_ref_is_kept(self):
        copies = call_message("java.util.Collections", "nCopies", 5000, "x")
        for _ in range(20):
            for message in (new_message("int[]", 5000), copies):
                result = self.client.result(message)
                self.assertNotIn("value", result)
                self.client.control("delete_object", result["ref"])
        for _ in range(5):
            self.client.new("java.lang.Object")
        self.assert_raised(new_message("java.lang.Object"), "java.lang.IllegalStateException", "session-max-objects")

    def test_metadata_that_is_too_long_is_an_error(self):
        reply = self.client.ask(meta_message(obj(False)))
        self.assertEqual(reply["status"], 2)
        self.assertIn("message-max", reply["body"])
        self.client.control("ping")

    def test_a_long_message_of_a_throwable(self):
        for length, text in ((3500, "x" * 3500), (3950, "message-max")):
            message = call_message("fixtures.Throwables", "plain", "x" * length)
            self.assert_raised(message, "java.lang.IllegalStateException", text)


class Busy(PeerCase):
    def test_a_busy_peer_answers_with_an_error_that_names_the_limit(self):
        peer = self.start("--rpc-threads", "2", "--rpc-threads-max", "2", "--busy-timeout", "300ms")
        with contextlib.ExitStack() as opened:
            first, second, waiting, pinging, collecting = (
                opened.enter_context(BinaryClient(peer, shape))
                for shape in ("dealer", "req", "req", "framed", "dealer"))
            for client in (first, second):
                client.send(client.addressed(PASS))
            with self.assertRaises(Raised) as raised:
                while True:
                    waiting.call("fixtures.Calculator", "add", 1, 2)
            self.assertEqual(raised.exception.type, REFUSED)
            self.assertIn("rpc-threads-max", raised.exception.text)
            pinging.control("ping")
            reply = collecting.ask(control_message("gc"))
            self.assertEqual(reply["status"], 2)
            self.assertIn("rpc-threads-max", reply["body"])
            self.assertEqual(collecting.ask(meta_message(obj(True)))["status"], 1)  # a thread is reserved for metadata
            reply = part_of(colfer.decode("Message", collecting.exchange_bytes(b"\0\3\1\1\3abc")))
            self.assertEqual((reply["status"], reply["responseToId"]), (2, "abc"))
            peer.process.kill()
            peer.process.wait()

    def test_too_many_that_wait_for_one_client(self):
        self.start("--zmq-pending-max", "10")
        client, steering = self.connect(BinaryClient), self.connect(BinaryClient)
        client.send(client.addressed(PASS))
        await_running(steering, 1)
        for number in range(30):
            client.send(client.addressed(add(number, 0)))
        refused = [client.receive()["execMessage"] for _ in range(21)]
        steering.call("fixtures.Blockers", "open")
        served = [client.receive()["execMessage"] for _ in range(10)]
        for reply in refused:
            self.assertEqual(reply["raisedThrowable"]["throwable"]["type"], REFUSED)
            self.assertIn("zmq-pending-max", reply["raisedThrowable"]["throwable"]["message"])
        self.assertEqual([reply["returnValue"]["object"]["value"] for reply in served], ["1", *map(str, range(9))])
        self.assertEqual([reply["responseToId"] for reply in refused], [f"request-{id}" for id in range(11, 32)])


class Ending(PeerCase):
    def start_slow_call(self, peer, client, method, *args):
        with WebSocketClient(peer) as other:
            client.send(client.addressed(call_message("fixtures.Blockers", method, *args)))
            eventually(lambda: other.call("fixtures.Blockers", "running") == "1", "the call runs")

    def test_a_call_that_outlives_the_grace_time_gets_an_error(self):
        def check(shape):
            with Peer("--grace", "200") as peer, BinaryClient(peer, shape) as client:
                self.start_slow_call(peer, client, "pass")
                peer.send_signal(signal.SIGTERM)
                throwable = client.receive()["execMessage"]["raisedThrowable"]["throwable"]
                self.assertEqual(throwable["type"], REFUSED)
                self.assertIn("shutting down", throwable["message"])
                self.assertEqual(peer.wait(), 0)
        self.at_once(check, BinaryClient.SHAPES)
