"""Limits through the binary: each is an error for the one who reached it, names its flag, and leaves the rest usable."""

import contextlib
import json
import os
import resource
import socket
import threading
import time
import unittest

import websockets

from support.binary_client import BinaryClient, call_message, obj_text
from support.clients import HttpClient, RpcError, WebSocketClient, ZmqClient, typed
from support.peer import FIXTURES, START_SECONDS, Peer
from support.peer_case import PeerCase

# Longer than --message-max; libzmq drops a connection that sends more than twice as much.
LONG = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": {
    "type": "fixtures.Arguments", "method": "lengthOf", "args": ["x" * 6000]}})


class Limits(PeerCase):
    options = ("--message-max", "4K", "--send-buffer-max", "4K", "--array-value-max", "2", "--stack-frames-max", "1", "--depth-max", "16", "--batch-max", "2")

    def test_a_long_message_on_a_websocket(self):
        client = WebSocketClient(self.peer)
        client.send(LONG)
        with self.assertRaises(websockets.ConnectionClosed) as closed:
            client.receive()
        self.assertEqual(closed.exception.rcvd.code, 1009)

    def test_a_long_message_by_http(self):
        with HttpClient(self.peer) as client:
            response, _ = client.post(LONG)
            self.assertEqual(response.status, 413)

    def test_a_long_message_on_zeromq(self):
        with ZmqClient(self.peer) as client:
            self.assertIn("error", json.loads(client.exchange(LONG)))
            self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")

    def test_a_long_answer(self):
        for transport in (WebSocketClient, HttpClient, ZmqClient):
            with self.subTest(transport=transport.name), transport(self.peer) as client:
                told = client.value("call", {"type": "fixtures.Arguments", "method": "longText", "args": [8192]})
                self.assertEqual(set(told), {"type", "null", "ref"})
                self.assertEqual(client.call("java.lang.String", "length", on=told["ref"]), "8192")
                self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")

    def test_array_values(self):
        with WebSocketClient(self.peer) as client:
            for length, value in ((2, "[0,1]"), (3, None)):
                result = client.value("call", {"type": "fixtures.Arguments", "method": "manyInts", "args": [length]})
                self.assertEqual(result.get("value"), value)
                self.assertIn("ref", result)

    def test_stack_frames(self):
        with WebSocketClient(self.peer) as client:
            with self.assertRaises(RpcError) as raised:
                client.call("fixtures.Throwables", "nested")
            self.assertEqual(len(raised.exception.data["stack_trace"]), 1)
            self.assertEqual(len(raised.exception.data["cause"]["stack_trace"]), 1)

    def test_depth_and_batch(self):
        with WebSocketClient(self.peer) as client:
            for text, flag in (("[" * 17 + "]" * 17, "depth"), ("[1,2,3]", "batch")):
                error = json.loads(client.exchange(text))["error"]
                self.assertEqual(error["code"], -32600)
                self.assertIn(flag, error["data"]["message"])


class Depth(PeerCase):
    def test_the_deepest_arguments_fit_a_small_stack(self):
        with Peer("--depth-max", "256", "-J", "-Xss256k") as peer, BinaryClient(peer) as binary:
            for levels, left, right in ((240, "[", "]"), (240, '{"a":', "}"), (120, '[{"type":"List","value":', "}]")):
                value = left * levels + "[]" + right * levels
                self.assertIn("ref", binary.result(call_message("fixtures.Arguments", "echoObject", obj_text(value))))
                with WebSocketClient(peer) as client:
                    answer = json.loads(client.exchange(
                        '{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"fixtures.Arguments","method":"echoObject",'
                        f'"args":[{value}]}}}}'))
                    self.assertIn("ref", answer["result"]["value"])


class Arguments(PeerCase):
    def test_as_many_as_the_limit_says(self):
        with Peer() as peer:
            for transport in (WebSocketClient, HttpClient, ZmqClient):
                with self.subTest(transport=transport.name), transport(peer) as client:
                    for _ in range(2):
                        self.assertEqual(client.call("fixtures.Overloads", "objects", *[1] * 65535), "65535")
                    with self.assertRaises(RpcError) as raised:
                        client.call("fixtures.Overloads", "objects", *[1] * 65536)
                    self.assertEqual(raised.exception.code, -32602)
                    self.assertIn("65535", raised.exception.detail)

    def test_refs_may_be_many(self):
        with Peer() as peer, WebSocketClient(peer) as client:
            ref = client.new("java.util.ArrayList")
            for _ in range(2):
                self.assertEqual(client.call("fixtures.Overloads", "objects", *[{"ref": ref}] * 33000), "33000")


class Descriptors(PeerCase):
    """A peer that may open no file any more, from outside, so that no client needs to use them up."""

    def limit(self, peer, soft):
        hard = resource.prlimit(peer.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(peer.pid, resource.RLIMIT_NOFILE, (hard if soft is None else soft, hard))

    def fails(self, client, *call):
        with self.assertRaises(RpcError) as raised:
            client.value(*call)
        self.assertEqual(raised.exception.code, -32000)
        self.assertIn("too many open files", raised.exception.detail)
        return raised.exception.data

    def test_a_class_that_cannot_be_read_is_not_said_to_be_missing(self):
        add = {"type": "fixtures.Calculator", "method": "add", "args": [1, 2]}
        by_name = {"type": "java.lang.Class", "method": "forName", "args": ["fixtures.Circle"]}
        meta = {"method": "fetch_classes_info", "args": [{"name": "include_classes", "value": ["fixtures.Circle"]},
                                                         {"name": "compress_encode", "value": False}]}
        with Peer(class_path=FIXTURES.parent / "classes") as peer, WebSocketClient(peer) as client:
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
        with Peer(class_path=FIXTURES) as peer, WebSocketClient(peer) as client:
            client.control("ping")
            self.limit(peer, 0)
            self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
            self.limit(peer, None)


class Input(PeerCase):
    """--input-max-total: what is collected from all clients together."""

    def test_unfinished_messages_are_bounded_and_small_requests_go_on(self):
        mib = 1 << 20
        heap = ("-J", "-Xms64m", "-J", "-Xmx64m", "-J", "-XX:+AlwaysPreTouch")  # none of it counts as growth
        with Peer("--message-max", "4M", "--input-max-total", "16M", *heap) as peer:
            port = int(peer.address("http").rsplit(":", 1)[1].split("/")[0])
            head = (f"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    f"Content-Length: {4 * mib}\r\n\r\n").encode()
            with HttpClient(peer) as client:
                client.call("fixtures.Calculator", "add", 1, 2)
                before = peer.resident_kib()
                greedy = [socket.create_connection(("127.0.0.1", port)) for _ in range(24)]
                ends = []
                threads = [threading.Thread(target=self.send_most, args=(one, head, 4 * mib - 65536, ends), daemon=True)
                           for one in greedy]
                for thread in threads:
                    thread.start()
                began = time.monotonic()
                most = 0
                while len(ends) < 24 - 5:  # what is left fits
                    self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
                    most = max(most, peer.resident_kib() - before)
                    self.assertLess(time.monotonic() - began, START_SECONDS)
                for head in ends:
                    self.assertIn(b" 503 ", head)
                if os.environ.get("JPEER_BUILD", "build/release").endswith("release"):
                    self.assertLess(most, (16 + 24) * 1024)
                for one in greedy:
                    with contextlib.suppress(OSError):
                        one.shutdown(socket.SHUT_RDWR)
                for thread in threads:
                    thread.join()
                for one in greedy:
                    one.close()

    @staticmethod
    def send_most(connection, head, size, ends):
        with contextlib.suppress(OSError):
            connection.sendall(head)
            for _ in range(0, size, 65536):
                connection.sendall(b" " * 65536)
        with contextlib.suppress(OSError):
            ends.append(connection.recv(4096))


class Connections(PeerCase):
    def test_too_few_descriptors_fill_no_log(self):
        """One line a second, however often a connection cannot be taken; and all goes on when there are some again."""
        with Peer() as peer:
            limits = resource.prlimit(peer.pid, resource.RLIMIT_NOFILE)
            used = len(os.listdir(f"/proc/{peer.pid}/fd"))
            resource.prlimit(peer.pid, resource.RLIMIT_NOFILE, (used + 2, limits[1]))
            port = int(peer.address("http").rsplit(":", 1)[1].split("/")[0])
            began = time.monotonic()
            waiting = [socket.create_connection(("127.0.0.1", port)) for _ in range(10)]
            while "left out" not in peer.stderr():
                self.assertLess(time.monotonic() - began, START_SECONDS)
                time.sleep(0.05)
            lines = [line for line in peer.stderr().splitlines() if "cannot be accepted" in line]
            self.assertLessEqual(len(lines), 2 + time.monotonic() - began)
            self.assertRegex(lines[-1], r"Too many open files \(\d+ such lines were left out before this one\)$")
            resource.prlimit(peer.pid, resource.RLIMIT_NOFILE, limits)
            with HttpClient(peer) as client:
                self.assertEqual(client.call("fixtures.Calculator", "add", 1, 2), "3")
            for connection in waiting:
                connection.close()

    def test_one_too_many_is_closed_and_the_others_go_on(self):
        with Peer("--connections-max", "2") as peer:
            clients = [WebSocketClient(peer) for _ in range(2)]
            with self.assertRaises((OSError, EOFError, websockets.InvalidHandshake, websockets.ConnectionClosed)):
                WebSocketClient(peer).control("ping")
            for client in clients:
                client.control("ping")
            clients[0].close()
            self.assertEqual(clients[1].call("fixtures.Calculator", "add", 1, 2), "3")


if __name__ == "__main__":
    unittest.main()
