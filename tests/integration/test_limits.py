"""Limits through the binary. Each limit is an error only for the client that has reached it; the error names the flag,
and the peer remains usable."""

import json
import os
import resource
import socket
import time
from pathlib import Path

import websockets

from support.callback_client import CallbackClient
from support import shm
from support.binary_client import BinaryClient, call_message, obj_text
from support.clients import HttpClient, RpcError, ShmClient, WebSocketClient, ZmqClient, call_request
from support.peer import FIXTURES, eventually
from support.peer_case import CALLING, PeerCase
from support.raw_websocket import CLOSE, RawWebSocket, frame

# Longer than --message-max; libzmq drops a connection that sends more than twice as much.
LONG = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": {
    "type": "fixtures.Arguments", "method": "lengthOf", "args": ["x" * 6000]}})


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Limits(PeerCase):
    options = ("--message-max", "4K", "--send-buffer-max", "4K", "--array-value-max", "2", "--stack-frames-max", "1", "--depth-max", "16", "--batch-max", "2")

    def check_long(self, client):
        """Checks that a message that is too long makes no object, and that the answer has its id if the id is near its
        beginning."""
        ref = client.new("java.lang.Object")
        late = json.dumps({"params": {"args": ["x" * 200000]}, "method": "call", "jsonrpc": "2.0", "id": 1})
        for text, number in ((LONG, 1), (f"[{LONG}]", None), (late, None)):
            answer = json.loads(client.exchange(text))
            self.assertEqual((-32600, number), (answer["error"]["code"], answer["id"]))
            self.assertIn("message-max of 4096 bytes", answer["error"]["data"]["message"])
        self.assertEqual(client.call("java.lang.Object", "equals", {"ref": ref}, on=ref), "true")
        for text in (json.dumps(call_request(2, "java.lang.Thread", "sleep", 1500)), LONG, LONG.replace('"id": 1', '"id": 3'),
                     json.dumps(call_request(4, "fixtures.Calculator", "add", 1, 2))):
            client.send(text)
        self.assertEqual([2, 1, 3, 4], [json.loads(client.receive())["id"] for _ in range(4)])

    def test_a_long_message(self):
        self.check_long(self.connect())
        client = WebSocketClient(self.peer)
        client.send("x" * (64 * 4096 + 1))
        with self.assertRaises(websockets.ConnectionClosed) as closed:
            client.receive()
        self.assertEqual(closed.exception.rcvd.code, 1009)

    def test_a_long_message_by_http(self):
        client = self.connect(HttpClient)
        response, body = client.post(LONG)
        self.assertEqual((response.status, json.loads(body)["id"]), (413, 1))
        self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")

    def test_a_long_message_on_zeromq(self):
        client = self.connect(ZmqClient)
        self.assertIn("error", json.loads(client.exchange(LONG)))
        self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")

    def test_stack_frames(self):
        client = self.connect()
        error = self.failure(client.call, "fixtures.Throwables", "nested")
        self.assertEqual(len(error.data["stack_trace"]), 1)
        self.assertEqual(len(error.data["cause"]["stack_trace"]), 1)

    def test_depth_and_batch(self):
        client = self.connect()
        for text, flag in (("[" * 17 + "]" * 17, "depth"), ("[1,2,3]", "batch")):
            error = json.loads(client.exchange(text))["error"]
            self.assertEqual(error["code"], -32600)
            self.assertIn(flag, error["data"]["message"])


class LongMessages(PeerCase):
    options = ("--message-max", "4K", "--body-timeout", "1s")
    peer_arguments = {"sockets": True}

    def test_over_shared_memory(self):
        Limits.check_long(self, self.connect(ShmClient))
        client = self.connect(ShmClient)
        client.send("x" * (64 * 4096 + 1))
        with self.assertRaisesRegex(shm.Ended, "64 times message-max"):
            client.receive()

    def test_the_rest_has_the_time_of_a_body(self):
        """The client sends half of the message, and then leaves or sends nothing more."""
        for gone in (True, False):
            with self.subTest(gone=gone), RawWebSocket(self.peer) as client:
                client.socket.sendall(frame(b"x" * 100000, length=200000))
                if gone:
                    client.socket.close()
                    continue
                opcode, payload = client.receive_frame()
                self.assertEqual((CLOSE, 1008), (opcode, int.from_bytes(payload[:2], "big")))

    def test_an_answer_of_a_callback(self):
        """The call in Java ends, and a request that is too long is answered before the call has an answer."""
        client = self.connect(CallbackClient)
        begun = client.begin_call(CALLING, "here", client.give())
        call = client.await_call()
        client.send(LONG)
        self.assertEqual(client.reply(1)["error"]["code"], -32600)
        client.send_json({"jsonrpc": "2.0", "id": call.id, "result": "x" * 100000})
        self.assertIn("the answer is longer than there is room for (message-max)", client.end(begun))
        self.assertEqual(client.call(CALLING, "here", client.give(lambda call: "still")), "still")


class Pieces(PeerCase):
    options = ("--message-max", "64K", "--input-max-total", "128K")

    def assemble(self, client, **more):
        answer = client.request("jpeer.assemble", {"type": "java.lang.String", "value": "x" * 50000, **more})
        if "error" in answer:
            raise RpcError(answer["error"])
        return answer["result"]["ref"]

    def test_pieces_count_until_they_are_used(self):
        """The limit counts the pieces of all sessions together."""
        one, other = self.connect(), self.connect()
        ref = self.assemble(one)
        self.assemble(other)
        for client, more in ((one, {"ref": ref}), (other, {})):
            error = self.failure(self.assemble, client, **more)
            self.assertEqual(error.code, -32000)
            self.assertIn("input-max-total", error.detail)
        self.assertEqual(one.call("java.lang.String", "length", on=ref), "50000")
        ref = self.assemble(one)
        one.control("delete_object", {"ref": ref})
        other.close()
        eventually(lambda: self.try_both(one), "the pieces of the client that has left are released")

    def try_both(self, client):
        refs = []
        try:
            refs = [self.assemble(client), self.assemble(client)]
        except RpcError:
            client.control("delete_session")
        return len(refs) == 2


class Depth(PeerCase):
    def test_the_deepest_arguments_fit_a_small_stack(self):
        peer = self.start("--depth-max", "256", "-J", "-Xss256k")
        binary = self.connect(BinaryClient)
        for levels, left, right in ((240, "[", "]"), (240, '{"a":', "}"), (120, '[{"type":"List","value":', "}]")):
            value = left * levels + "[]" + right * levels
            self.assertIn("ref", binary.result(call_message("fixtures.Arguments", "echoObject", obj_text(value))))
            with WebSocketClient(peer) as client:
                answer = json.loads(client.exchange(
                    '{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"fixtures.Arguments","method":"echoObject",'
                    f'"args":[{value}]}}}}'))
                self.assertIn("ref", answer["result"]["value"])


class Memory(PeerCase):
    def test_java_that_runs_out_of_memory_is_reported(self):
        client = self.serve("-Xmx64m")
        error = self.failure(client.call, "fixtures.HostileThrowables", "exhaust")
        self.assertEqual(error.throwable, "java.lang.OutOfMemoryError")
        self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")


class Arguments(PeerCase):
    def test_as_many_as_the_limit_says(self):
        self.start()
        for client in self.each(WebSocketClient, HttpClient, ZmqClient):
            for _ in range(2):
                self.assertEqual(client.call("fixtures.Overloads", "objects", *[1] * 65535), "65535")
            self.assert_fails(-32602, "65535", client.call, "fixtures.Overloads", "objects", *[1] * 65536)


class Descriptors(PeerCase):
    """A peer that may open no more files. The test lowers the limit with prlimit, so that it need not open
    thousands of descriptors."""

    def limit(self, peer, soft):
        hard = resource.prlimit(peer.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(peer.pid, resource.RLIMIT_NOFILE, (hard if soft is None else soft, hard))

    def fails(self, client, *call):
        error = self.assert_fails(-32000, "too many open files", client.value, *call)
        return error.data

    def test_a_class_that_cannot_be_read_is_not_said_to_be_missing(self):
        add = {"type": "fixtures.Calculator", "method": "add", "args": [1, 2]}
        by_name = {"type": "java.lang.Class", "method": "forName", "args": ["fixtures.Circle"]}
        meta = {"method": "fetch_classes_info", "args": [{"name": "include_classes", "value": ["fixtures.Circle"]},
                                                         {"name": "compress_encode", "value": False}]}
        peer = self.start(class_path=FIXTURES.parent / "classes")
        client = self.connect()
        client.control("ping")
        self.limit(peer, 0)
        for name, params in (("call", add), ("call", by_name)):
            self.assertEqual(self.fails(client, name, params)["throwable_type"], "java.lang.ClassNotFoundException")
        self.assertEqual(self.fails(client, "meta", meta)["status"], "ERROR")
        self.limit(peer, None)
        self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
        self.assertEqual(client.value("call", by_name)["type"], "java.lang.Class")
        self.assertIn("fixtures.Circle", client.value("meta", meta)["value"])

    def test_the_jars_of_the_class_path_are_open_from_the_start(self):
        peer = self.start(class_path=FIXTURES)
        client = self.connect()
        client.control("ping")
        self.limit(peer, 0)
        self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
        self.limit(peer, None)


class Input(PeerCase):
    def test_what_all_clients_together_may_have_sent_is_bounded(self):
        """net/test_load.py has the rest."""
        self.start("--message-max", "1M", "--input-max-total", "1M", sockets=True)
        half, client = self.connect(RawWebSocket), self.connect(ZmqClient)
        half.socket.sendall(frame(b"x" * 600_000, length=1_000_000))
        eventually(lambda: "input-max-total" in client.exchange(LONG.replace("x" * 6000, "x" * 900_000)), "it is refused")
        self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")


class Connections(PeerCase):
    def test_too_few_descriptors_fill_no_log(self):
        """The log gets one line a second, however many connections cannot be accepted. Connections are accepted again
        as soon as there are descriptors."""
        peer = self.start()
        limits = resource.prlimit(peer.pid, resource.RLIMIT_NOFILE)
        used = len(os.listdir(f"/proc/{peer.pid}/fd"))
        resource.prlimit(peer.pid, resource.RLIMIT_NOFILE, (used + 2, limits[1]))
        port = int(peer.address("http").rsplit(":", 1)[1].split("/")[0])
        began = time.monotonic()
        waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(10)]
        peer.await_stderr("left out")
        lines = [line for line in peer.stderr().splitlines() if "cannot be accepted" in line]
        self.assertLessEqual(len(lines), 2 + time.monotonic() - began)
        used = processor_seconds(peer.pid)
        time.sleep(1)
        self.assertLess(processor_seconds(peer.pid) - used, 0.3, "it does not busy itself with what cannot be accepted")
        self.assertRegex(lines[-1], r"Too many open files \(\d+ such lines were left out before this one\)$")
        resource.prlimit(peer.pid, resource.RLIMIT_NOFILE, limits)
        with HttpClient(peer) as client:
            self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
        for connection in waiting:
            connection.close()

    def test_a_connection_above_the_limit_is_refused_and_others_are_served(self):
        self.start("--connections-max", "2")
        clients = [self.connect(), self.connect()]
        with self.assertRaises((OSError, EOFError, websockets.InvalidHandshake, websockets.ConnectionClosed)):
            WebSocketClient(self.peer).control("ping")
        for client in clients:
            self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
