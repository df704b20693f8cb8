"""Calls that are ended before they return: timeouts, cancels, and clients that leave."""

import json
import time
import unittest

from support.clients import (HttpClient, RpcError, ShmClient, UnixWebSocketClient, WebSocketClient, ZmqClient,
                             await_running)
from support.peer_case import PeerCase

BLOCKERS = "fixtures.Blockers"
TIMEOUT_MS = 100


def call_params(method, *args):
    return {"type": BLOCKERS, "method": method, "args": list(args)}


class Timeouts(PeerCase):
    options = ()
    peer_arguments = {"sockets": True}

    def assert_times_out(self, client, method, *args, **envelope):
        begin = time.monotonic()
        error = client.request("call", call_params(method, *args), **envelope)["error"]
        seconds = time.monotonic() - begin
        self.assertEqual((-32000, "timeout"), (error["code"], error["data"]["reason"]))
        self.assertGreaterEqual(seconds, TIMEOUT_MS / 1000 - 0.01)
        self.assertLess(seconds, 5)

    def test_a_call_is_interrupted_and_its_connection_goes_on(self):
        for client in self.each(WebSocketClient, UnixWebSocketClient, ShmClient, HttpClient, ZmqClient):
            for _ in range(3):
                self.assert_times_out(client, "sleep", 60000, options={"timeout": TIMEOUT_MS})
                self.assertEqual("false", client.call("java.lang.Thread", "interrupted"))
                self.assertEqual("3", client.call("fixtures.Calculator", "add", 1, 2))
            await_running(self.client, 0)

    def test_each_request_of_a_batch_has_its_own_timeout(self):
        for client in self.each(WebSocketClient, ShmClient, HttpClient, ZmqClient):
            answers = json.loads(client.exchange(json.dumps([
                {"jsonrpc": "2.0", **one} for one in ({"id": 1, "method": "call", "params": call_params("sleep", 20)},
                {"id": 2, "method": "call", "params": call_params("sleep", 60000), "options": {"timeout": TIMEOUT_MS}},
                {"id": 3, "method": "call", "params": {"type": "java.lang.Thread", "method": "interrupted"}})])))
            self.assertEqual(["result", "error", "result"],
                             ["result" if "result" in one else "error" for one in answers])
            self.assertEqual("timeout", answers[1]["error"]["data"]["reason"])
            self.assertEqual("false", answers[2]["result"]["value"]["value"])

    def test_a_pinned_thread_loses_the_flag_too(self):
        for client in self.each(WebSocketClient, ShmClient):
            client.control("pin_thread")
            self.assert_times_out(client, "sleep", 60000, options={"timeout": TIMEOUT_MS})
            self.assertEqual("false", client.call("java.lang.Thread", "interrupted"))

    def test_what_is_no_timeout_is_refused(self):
        for wrong in (0, -1, 1.5, "100", None, True):
            error = self.client.request("control", {"method": "ping"}, options={"timeout": wrong})["error"]
            self.assertEqual(-32602, error["code"])
            self.assertIn("'timeout' must be an integer", error["data"]["message"])
        self.assertIn("result", self.client.request("control", {"method": "ping"}, options={"timeout": 10 ** 30}))


class CallTimeout(PeerCase):
    options = ("--call-timeout", "200")

    def test_the_smaller_one_counts(self):
        begin = time.monotonic()
        for options in ({}, {"options": {"timeout": 50}}, {"options": {"timeout": 60000}}):
            for client in self.each(WebSocketClient, HttpClient, ZmqClient):
                reply = client.request("call", call_params("sleep", 60000), **options)
                self.assertEqual("timeout", reply["error"]["data"]["reason"])
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_repeated_request_times_out_each_time(self):
        """The fast path, which knows it by then."""
        for client in self.each(WebSocketClient, ZmqClient):
            for milliseconds in (1, 1, 1, 60000, 60000):
                if milliseconds == 1:
                    client.call(BLOCKERS, "sleep", milliseconds)
                    continue
                with self.assertRaises(RpcError) as raised:
                    client.call(BLOCKERS, "sleep", milliseconds)
                self.assertEqual("timeout", raised.exception.data["reason"])


if __name__ == "__main__":
    unittest.main()
