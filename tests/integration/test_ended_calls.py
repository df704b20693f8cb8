"""Calls that are ended before they return: timeouts, cancels, and clients that leave."""

import asyncio
import json
import os
import random
import socket
import time
import unittest

import websockets

from support.binary_client import BinaryClient, Raised, call_message
from support.callback_client import CallbackClient, ShmCallbackClient, UnixCallbackClient
from support.clients import (HttpClient, RpcError, ShmClient, UnixHttpClient, UnixWebSocketClient, WebSocketClient,
                             ZmqClient, await_running, call_request, plain)
from support.peer import descriptors, eventually
from support.peer_case import PeerCase
from support.raw_websocket import RawWebSocket

BLOCKERS = "fixtures.Blockers"
TIMEOUT_MS = 100
STUBBORN_MS = 300  # of a call that has to begin before its timeout, on a loaded machine, too
READ_AHEAD = (WebSocketClient, UnixWebSocketClient, ShmClient)


def call_params(method, *args):
    return {"type": BLOCKERS, "method": method, "args": list(args)}


def cancel_request(number, target):
    return {"jsonrpc": "2.0", "id": number, "method": "control",
            "params": {"method": "cancel", "args": [{"name": "id", "value": target}]}}


class Timeouts(PeerCase):
    options = ()
    peer_arguments = {"sockets": True}

    def assert_times_out(self, client, method, *args, **envelope):
        begin = time.monotonic()
        error = client.request("call", call_params(method, *args), **envelope)["error"]
        seconds = time.monotonic() - begin
        self.assertEqual((-32000, "timeout"), (error["code"], error["data"]["reason"]))
        self.assertGreaterEqual(seconds, TIMEOUT_MS / 1000 - 0.01)

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

    def test_a_request_that_waits_times_out_where_it_is(self):
        """The timeout counts from the arrival of the request. The request is answered while the previous call runs,
        and is never run."""
        for client in self.each(*READ_AHEAD, ZmqClient):
            added = client.new("java.util.ArrayList")
            client.send(json.dumps(call_request(1, BLOCKERS, "pass")))
            await_running(self.client, 1)
            for number, options in ((2, {"timeout": TIMEOUT_MS}), (3, {"timeout": 60000}), (4, {})):
                client.send(json.dumps(call_request(number, "java.util.ArrayList", "add", number, on=added,
                                                    options=options)))
            answer = json.loads(client.receive())
            self.assertEqual((2, "timeout"), (answer["id"], answer["error"]["data"]["reason"]))
            self.client.call(BLOCKERS, "open")
            self.assertEqual([1, 3, 4], [json.loads(client.receive())["id"] for _ in range(3)])
            self.assertEqual("[3, 4]", client.call("java.util.ArrayList", "toString", on=added))

    def test_a_batch_that_waits_times_out_when_each_of_its_requests_has(self):
        for client in self.each(*READ_AHEAD, ZmqClient):
            added = client.new("java.util.ArrayList")
            client.send(json.dumps(call_request(1, BLOCKERS, "pass")))
            await_running(self.client, 1)
            for first, last in ((2, {}), (4, {"timeout": 60000}), (6, {"timeout": 2 * TIMEOUT_MS})):
                client.send("\n" + json.dumps([
                    call_request(number, "java.util.ArrayList", "add", number, on=added, options=options)
                    for number, options in ((first, {"timeout": TIMEOUT_MS}), (first + 1, last))]))
            answers = json.loads(client.receive())
            self.assertEqual([(6, "timeout"), (7, "timeout")],
                             [(one["id"], one["error"]["data"]["reason"]) for one in answers])
            self.client.call(BLOCKERS, "open")
            self.assertEqual(1, json.loads(client.receive())["id"])
            for _ in range(2):
                answers = json.loads(client.receive())
                self.assertEqual(["error", "result"], [list(one)[-1] for one in answers])
            self.assertEqual("[3, 5]", client.call("java.util.ArrayList", "toString", on=added))

    def test_what_has_waited_too_long_does_not_run(self):
        """A request may wait in the socket, in a batch, or in the queue of ZeroMQ."""
        late = {"options": {"timeout": TIMEOUT_MS}}
        for client in self.each(WebSocketClient, ShmClient, HttpClient, ZmqClient):
            added = client.new("java.util.ArrayList")
            batch = [call_request(1, BLOCKERS, "sleep", 3 * TIMEOUT_MS),
                     call_request(2, "java.util.ArrayList", "add", 2, on=added, **late)]
            answers = json.loads(client.exchange(json.dumps(batch)))
            self.assertEqual("timeout", answers[1]["error"]["data"]["reason"])
            if not isinstance(client, HttpClient):
                for one in batch:
                    client.send(json.dumps(one))
                answers = {one["id"]: one for one in (json.loads(client.receive()) for _ in range(2))}
                self.assertEqual("timeout", answers[2]["error"]["data"]["reason"])
            self.assertEqual("0", client.call("java.util.ArrayList", "size", on=added))

    def test_a_pinned_thread_loses_the_flag_too(self):
        for client in self.each(WebSocketClient, ShmClient):
            client.control("pin_thread")
            self.assert_times_out(client, "sleep", 60000, options={"timeout": TIMEOUT_MS})
            self.assertEqual("false", client.call("java.lang.Thread", "interrupted"))

    def test_invalid_timeouts_are_refused(self):
        for wrong in (0, -1, 1.5, "100", None, True):
            error = self.client.request("control", {"method": "ping"}, options={"timeout": wrong})["error"]
            self.assertEqual(-32602, error["code"])
            self.assertIn("'timeout' must be an integer", error["data"]["message"])
        self.assertIn("result", self.client.request("control", {"method": "ping"}, options={"timeout": 10 ** 30}))


class Cancels(PeerCase):
    options = ()
    peer_arguments = {"sockets": True}

    def begin(self, client, number, method, *args, **envelope):
        client.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": "call", "params": call_params(method, *args),
                                **envelope}))

    def cancel(self, client, target, number="cancel"):
        client.send(json.dumps(cancel_request(number, target)))

    def receive(self, client, count):
        answers = [json.loads(client.receive()) for _ in range(count)]
        return {one["id"]: one for one in answers}

    def test_what_runs_is_interrupted_at_once(self):
        for client in self.each(*READ_AHEAD, ZmqClient):
            for target in (7, "seven", 'a\u00e9"\n', 1.5, -3):
                self.begin(client, target, "sleep", 60000)
                options = {} if target == 7 else {"options": {"timeout": 60000}}
                client.send(json.dumps({**cancel_request("cancel", target), **options}))
                answers = self.receive(client, 2)
                self.assertEqual("true", answers["cancel"]["result"]["value"]["value"])
                self.assertEqual("cancelled", answers[target]["error"]["data"]["reason"])
                self.assertEqual("false", client.call("java.lang.Thread", "interrupted"))
            await_running(self.client, 0)

    def test_a_cancel_that_may_change_nothing_is_refused(self):
        for client in self.each(*READ_AHEAD, ZmqClient):
            self.begin(client, 7, "sleep", 300)
            client.send(json.dumps({**cancel_request("cancel", 7), "options": {"idempotent": True}}))
            answers = self.receive(client, 2)
            self.assertIn("result", answers[7])
            self.assertEqual(-32001, answers["cancel"]["error"]["code"])

    def test_what_waits_never_runs(self):
        for client in self.each(*READ_AHEAD, ZmqClient):
            added = client.new("java.util.ArrayList")
            self.begin(client, 1, "sleep", 60000)
            for number in (2, 3, 4):
                client.send(json.dumps(call_request(number, "java.util.ArrayList", "add", number, on=added)))
            for target in (3, 1):
                self.cancel(client, target, f"cancel {target}")
            answers = self.receive(client, 6)
            self.assertEqual(["cancelled", "cancelled"], [answers[number]["error"]["data"]["reason"] for number in (1, 3)])
            self.assertTrue(all("result" in answers[number] for number in (2, 4)))
            self.assertEqual("[2, 4]", client.call("java.util.ArrayList", "toString", on=added))

    def test_a_cancel_is_found_after_large_requests(self):
        for client in self.each(*READ_AHEAD, ZmqClient):
            text = client.new("java.lang.StringBuilder")
            self.begin(client, 1, "sleep", 60000)
            for number in range(2, 7):
                client.send(json.dumps(call_request(number, "java.lang.StringBuilder", "append", "x" * 1000000, on=text)))
            self.cancel(client, 1)
            answers = self.receive(client, 7)
            self.assertEqual("true", answers["cancel"]["result"]["value"]["value"])
            self.assertEqual("cancelled", answers[1]["error"]["data"]["reason"])
            self.assertEqual("5000000", client.call("java.lang.StringBuilder", "length", on=text))

    def test_unknown_names_are_not_found(self):
        for client in self.each(*READ_AHEAD, HttpClient, ZmqClient):
            self.assertEqual("false", plain(client.value("control", cancel_request(0, 99)["params"])))
        for client in self.each(*READ_AHEAD, ZmqClient):
            self.begin(client, 1, "sleep", 100)
            self.cancel(client, 2)
            answers = self.receive(client, 2)
            self.assertEqual("false", answers["cancel"]["result"]["value"]["value"])
            self.assertIn("result", answers[1])

    def test_another_connection_finds_nothing(self):
        for client in self.each(*READ_AHEAD, ZmqClient):
            self.begin(client, 5, "sleep", 200)
            self.assertEqual("false", plain(self.client.value("control", cancel_request(0, 5)["params"])))
            self.assertIn("result", self.receive(client, 1)[5])

    def test_the_rest_of_a_batch_is_cancelled_with_a_request_of_it(self):
        for client in self.each(*READ_AHEAD, ZmqClient):
            for repeat in range(3):  # the fast path knows all requests after the first request
                batch = [call_request(1, "fixtures.Calculator", "add", 1, 2),
                         {"jsonrpc": "2.0", "id": 2, "method": "call", "params": call_params("sleep", 60000)},
                         {"jsonrpc": "2.0", "id": 3, "method": "call", "params": call_params("sleep", 1)}]
                client.send(json.dumps(batch))
                await_running(self.client, 1)
                begin = time.monotonic()
                self.cancel(client, 3)
                answers = [json.loads(client.receive()) for _ in range(2)]
                of_batch = next(one for one in answers if isinstance(one, list))
                if time.monotonic() - begin < 1:  # after a second the answer does not wait for the thread
                    self.assertIn("result", of_batch[0])
                self.assertEqual(["cancelled"] * 2, [one["error"]["data"]["reason"] for one in of_batch[1:]])

    def test_a_notification_cancels_too(self):
        for client in self.each(*READ_AHEAD, ZmqClient):
            self.begin(client, 1, "sleep", 60000)
            message = cancel_request(0, 1)
            del message["id"]
            client.send(json.dumps(message))
            self.assertEqual("cancelled", self.receive(client, 1)[1]["error"]["data"]["reason"])

    def test_invalid_cancels_are_refused(self):
        for args in ([], [1], [{"name": "id"}], [{"name": "id", "value": None}], [{"name": "id", "value": [1]}],
                     [{"name": "ID", "value": 1}], [{"name": "id", "value": 1}] * 2):
            error = self.client.request("control", {"method": "cancel", "args": args})["error"]
            self.assertEqual(-32602, error["code"])
            self.assertIn("'cancel' takes one argument", error["data"]["message"])


class NestedRequests(PeerCase):
    """Requests that a client sends in a callback have timeouts of their own, and are not affected by an
    interrupt of the outer call."""

    options = ()
    peer_arguments = {"sockets": True}
    CALLING = "fixtures.Calling"

    def call_back(self, client, **envelope):
        """Java calls the client; returns the request's number and the call."""
        number = client.begin("call", {"type": self.CALLING, "method": "here", "args": [client.give()]}, **envelope)
        return number, client.await_call()

    def nest(self, client, call, method, *args, **options):
        return client.begin("call", call_params(method, *args), options={"within": call.id, **options})

    def end(self, client, number):
        with self.assertRaises(RpcError) as raised:
            client.end(number)
        return raised.exception.data["reason"]

    def test_a_nested_request_times_out_without_the_call_around_it(self):
        client = self.connect(CallbackClient)
        for _ in range(3):
            number, call = self.call_back(client)
            self.assertEqual("timeout", self.end(client, self.nest(client, call, "sleep", 60000, timeout=TIMEOUT_MS)))
            self.assertEqual("false", client.end(self.nest(client, call, "await", 1000)))
            call.answer("done")
            self.assertEqual("done", client.end(number))
        self.assertEqual("0", client.call(BLOCKERS, "stray"))

    def test_the_timeout_of_the_call_around_them_waits_for_their_end(self):
        client = self.connect(CallbackClient)
        number, call = self.call_back(client)  # the first call takes time
        call.answer()
        client.end(number)
        timeout_ms = 10 * TIMEOUT_MS
        number, call = self.call_back(client, options={"timeout": timeout_ms})
        nested = self.nest(client, call, "await", 2000 * timeout_ms)
        begin = time.monotonic()
        self.assertEqual("false", client.end(nested))
        self.assertGreater(time.monotonic() - begin, 1.9 * timeout_ms / 1000)
        self.assertEqual("timeout", self.end(client, number))
        self.assertEqual("0", client.call(BLOCKERS, "stray"))

    def cancel(self, client, target, **envelope):
        """Returns whether the request was found."""
        return client.end(client.begin("control", cancel_request(0, target)["params"], **envelope)) == "true"

    def each_with_callbacks(self):
        for client in self.each(CallbackClient, UnixCallbackClient, ShmCallbackClient):
            yield client
            client.control("pin_thread")
            yield client
            client.control("unpin_thread")

    def test_a_nested_request_is_cancelled_without_the_call_around_it(self):
        for client in self.each_with_callbacks():
            for delay in (0, 0.1, 0.4):
                number, call = self.call_back(client)
                nested = self.nest(client, call, "sleep", 600000)
                time.sleep(delay)
                self.assertTrue(self.cancel(client, nested))
                self.assertEqual("cancelled", self.end(client, nested))
                self.assertEqual((False, False), (self.cancel(client, nested), self.cancel(client, "unknown")))
                self.assertEqual("false", client.end(self.nest(client, call, "await", 1000)))
                call.answer("done")
                self.assertEqual("done", client.end(number))
            await_running(self.client, 0)
        self.assertEqual("0", self.client.call(BLOCKERS, "stray"))

    def test_each_of_several_that_are_nested_in_each_other_is_cancelled_alone(self):
        for client in self.each_with_callbacks():
            for first in (0, 1, 2):
                numbers, calls = [], []
                for _ in range(2):
                    options = {"options": {"within": calls[-1].id}} if calls else {}
                    number, call = self.call_back(client, **options)
                    numbers.append(number)
                    calls.append(call)
                numbers.append(self.nest(client, calls[1], "sleep", 60000))
                self.assertTrue(self.cancel(client, numbers[first]))
                if first == 2:
                    self.assertEqual("cancelled", self.end(client, numbers[2]))
                else:
                    self.assertTrue(self.cancel(client, numbers[2]))
                    self.assertEqual("cancelled", self.end(client, numbers[2]))
                for level in (1, 0):
                    if level != first:
                        calls[level].answer("done")
                        self.assertEqual("done", client.end(numbers[level]))
                    else:
                        self.assertEqual("cancelled", self.end(client, numbers[level]))
            await_running(self.client, 0)
        self.assertEqual("0", self.client.call(BLOCKERS, "stray"))

    def test_a_nested_request_that_waits_never_runs(self):
        for client in self.each_with_callbacks():
            added = client.new("java.util.ArrayList")
            number, call = self.call_back(client)
            nested = self.nest(client, call, "sleep", 60000)
            waiting = [client.begin_call("java.util.ArrayList", "add", i, on=added, within=call.id) for i in range(3)]
            self.assertTrue(self.cancel(client, waiting[1]))
            self.assertEqual("cancelled", self.end(client, waiting[1]))
            self.assertTrue(self.cancel(client, nested))
            self.assertEqual("cancelled", self.end(client, nested))
            self.assertEqual(["true", "true"], [client.end(waiting[i]) for i in (0, 2)])
            call.answer("done")
            self.assertEqual("done", client.end(number))
            self.assertEqual("[0, 2]", client.call("java.util.ArrayList", "toString", on=added))

    def test_the_rest_of_a_nested_batch_is_cancelled_with_a_request_of_it(self):
        for client in self.each_with_callbacks():
            number, call = self.call_back(client)
            batch = [call_request("a", "fixtures.Calculator", "add", 1, 2),
                     {"jsonrpc": "2.0", "id": "b", "method": "call", "params": call_params("sleep", 60000)},
                     {"jsonrpc": "2.0", "id": "c", "method": "call", "params": call_params("sleep", 60000)}]
            batch[0]["options"] = {"within": call.id}
            client.send_json(batch)
            await_running(self.client, 1)
            client.send_json(cancel_request("cancel", "c"))
            answers = [json.loads(client.receive()) for _ in range(2)]
            found, of_batch = sorted(answers, key=lambda one: isinstance(one, list))
            self.assertEqual("true", found["result"]["value"]["value"])
            self.assertIn("result", of_batch[0])
            self.assertEqual(["cancelled"] * 2, [one["error"]["data"]["reason"] for one in of_batch[1:]])
            call.answer("done")
            self.assertEqual("done", client.end(number))

    def test_of_two_requests_with_one_id_the_innermost_is_cancelled(self):
        for client in self.each_with_callbacks():
            number, call = self.call_back(client)
            client.send_json({"jsonrpc": "2.0", "id": number, "method": "call", "params": call_params("sleep", 60000),
                              "options": {"within": call.id}})
            self.assertTrue(self.cancel(client, number))
            self.assertEqual("cancelled", self.end(client, number))
            call.answer("done")
            self.assertEqual("done", client.end(number))

    def test_a_request_that_is_nested_on_the_thread_of_another_connection_is_found(self):
        client, other = self.connect(CallbackClient), self.connect(CallbackClient)
        client.call(self.CALLING, "keep", "kept", client.give())
        begun = other.begin_call(self.CALLING, "callKept", "kept")
        call = client.await_call()
        nested = self.nest(client, call, "sleep", 60000)
        await_running(self.client, 1)
        self.assertFalse(self.cancel(other, nested + 1000))
        self.assertTrue(self.cancel(client, nested))
        self.assertEqual("cancelled", self.end(client, nested))
        call.answer("done")
        self.assertEqual("done", other.end(begun))

    def test_a_request_that_is_nested_on_a_thread_of_the_application_is_not_interrupted(self):
        client = self.connect(CallbackClient)
        client.call(self.CALLING, "onThread", client.give())
        call = client.await_call()
        nested, waiting = (self.nest(client, call, "sleep", 300) for _ in range(2))
        await_running(self.client, 1)
        self.assertEqual((False, True), (self.cancel(client, nested), self.cancel(client, waiting)))
        self.assertEqual("cancelled", self.end(client, waiting))
        self.assertIsNone(client.end(nested))
        call.answer("done")
        self.assertEqual("done", client.call(self.CALLING, "outcome"))


class ListedCalls(PeerCase):
    options = ()
    peer_arguments = {"sockets": True}

    def cancel_call(self, client, number):
        return plain(client.value("control", {"method": "cancel", "args": [{"name": "call", "value": number}]}))

    def test_another_client_sees_and_ends_calls(self):
        for client in self.each(*READ_AHEAD, HttpClient, ZmqClient):
            self.assertEqual([], json.loads(plain(client.control("calls"))))
            other = self.connect(WebSocketClient)
            session = json.loads(plain(other.control("session")))["client"]
            other.send(json.dumps(call_request(1, BLOCKERS, "sleep", 60000)))
            await_running(self.client, 1)
            (call,) = json.loads(plain(client.control("calls")))
            self.assertEqual(("owner", session, f"{BLOCKERS}.sleep"), (call["principal"], call["session"], call["member"]))
            self.assertRegex(call["thread"], r"^rpc-\d+$")
            self.assertTrue(0 <= call["ms"] < 60000)
            self.assertIn("Thread.sleep", call["stack"][0])
            self.assertIn(f"{BLOCKERS}.sleep(Blockers.java:", call["stack"][-1])
            self.assertEqual("true", self.cancel_call(client, call["call"]))
            self.assertEqual("cancelled", json.loads(other.receive())["error"]["data"]["reason"])
            # the answer leaves before the thread has finished the message
            eventually(lambda client=client, call=call: self.cancel_call(client, call["call"]) == "false", "the call has ended")
            self.assertEqual("false", other.call("java.lang.Thread", "interrupted"))

    def test_a_call_that_is_being_interrupted_is_listed_too(self):
        other = self.connect(WebSocketClient)
        other.send(json.dumps(call_request(1, BLOCKERS, "passInChannel", options={"timeout": 3 * STUBBORN_MS})))
        other.receive()
        (call,) = json.loads(plain(self.client.control("calls")))
        self.assertEqual((None, []), (call["member"], call["stack"]))
        self.assertEqual("false", self.cancel_call(self.client, call["call"] + 1))
        self.client.call(BLOCKERS, "open")
        await_running(self.client, 0)

    def test_what_names_no_call_is_refused(self):
        for value in (0, -1, 1.5, "1", None, 10 ** 30):
            error = self.client.request("control", {"method": "cancel", "args": [{"name": "call", "value": value}]})["error"]
            self.assertEqual(-32602, error["code"])
        error = self.client.request("control", {"method": "calls", "args": [1]})["error"]
        self.assertEqual("'calls' takes no arguments", error["data"]["message"])


def leave(client):
    """Closes the connection without the closing handshake, for which a client inside a call would wait."""
    if isinstance(client, WebSocketClient):
        client.socket.transport.abort()
        client.loop.run_until_complete(asyncio.sleep(0))
    elif isinstance(client, HttpClient):
        client.connection.sock.close()
    else:
        client.close()


class ClientsThatLeave(PeerCase):
    CLIENTS = (WebSocketClient, UnixWebSocketClient, ShmClient)

    def begin(self, kind, *requests):
        client = kind(self.peer)
        for one in requests:
            client.send(json.dumps({"jsonrpc": "2.0", "method": "call", **one}))
        await_running(self.client, 1)
        return client

    def post(self, kind):
        """Sends an HTTP request, and does not wait for the answer."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": call_params("sleep", 60000)})
        client = kind(self.peer)
        client.connection.request("POST", "/", body, {"Content-Type": "application/json"})
        await_running(self.client, 1)
        return client

    def test_calls_of_a_client_that_left_are_interrupted(self):
        self.start(sockets=True)
        for kind in self.CLIENTS:
            with self.subTest(kind.name):
                leave(self.begin(kind, {"id": 1, "params": call_params("sleep", 60000)},
                                 {"id": 2, "params": call_params("sleep", 60000)}))
                await_running(self.client, 0)
        for kind in (HttpClient, UnixHttpClient):
            with self.subTest(kind.name):
                leave(self.post(kind))
                await_running(self.client, 0)
                client = self.post(kind)
                client.connection.sock.sendall(b"POST /rpc HTTP/1.1\r\n")  # the next request, which the peer does not read
                leave(client)
                await_running(self.client, 0)

    def test_a_half_closed_http_client_has_not_left(self):
        self.start(sockets=True)
        for kind in (HttpClient, UnixHttpClient):
            with self.subTest(kind.name), kind(self.peer) as client:
                body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "call", "params": call_params("sleep", 2000)})
                client.connection.request("POST", "/", body, {"Content-Type": "application/json"})
                client.connection.sock.shutdown(socket.SHUT_WR)
                self.assertIn(b'"result"', client.connection.getresponse().read())

    def test_a_thousand_calls_of_500_clients_that_leave_are_ended(self):
        peer = self.start("--rpc-threads-max", "600", sockets=True)
        clients = [RawWebSocket(peer) for _ in range(500)]
        for client in clients:
            for number in (1, 2):
                client.send(json.dumps(call_request(number, BLOCKERS, "sleep", 600000)))
        await_running(self.client, 500)
        for client in clients:
            client.close()
        await_running(self.client, 0)
        self.assertEqual("false", self.client.call("java.lang.Thread", "interrupted"))

    def test_notifications_of_a_client_that_left_finish(self):
        self.start(sockets=True)
        for kind in self.CLIENTS:
            with self.subTest(kind.name):
                leave(self.begin(kind, {"params": call_params("pass")}))
                time.sleep(0.3)
                self.assertEqual("1", self.client.call(BLOCKERS, "running"))
                self.client.call(BLOCKERS, "open")
                await_running(self.client, 0)

    def test_notifications_of_a_batch_of_a_client_that_left_finish(self):
        self.start(sockets=True)
        for kind in self.CLIENTS:
            with self.subTest(kind.name):
                name = f"left {kind.name}"
                batch = [call_request(0, BLOCKERS, "pass"), call_request(1, BLOCKERS, "sleep", 60000),
                         call_request(0, "java.lang.System", "setProperty", name, "late")]
                del batch[0]["id"], batch[2]["id"]
                client = kind(self.peer)
                client.send(json.dumps(batch))
                await_running(self.client, 1)
                leave(client)
                time.sleep(1.5)  # a thread that ignores its interrupt would be lost
                self.assertEqual("1", self.client.call(BLOCKERS, "running"))
                self.client.call(BLOCKERS, "open")
                eventually(lambda name=name: self.client.call("java.lang.System", "getProperty", name) == "late")
                self.assertEqual("0", self.client.call(BLOCKERS, "running"))
        self.assertNotIn("lost", self.peer.stderr())

    def test_every_call_of_a_client_that_left_finishes_with_on_disconnect_finish(self):
        self.start("--on-disconnect", "finish", sockets=True)
        for kind in self.CLIENTS:
            with self.subTest(kind.name):
                leave(self.begin(kind, {"id": 1, "params": call_params("pass")}))
                time.sleep(0.3)
                self.assertEqual("1", self.client.call(BLOCKERS, "running"))
                self.client.call(BLOCKERS, "open")
                await_running(self.client, 0)


class StubbornCalls(PeerCase):
    """Calls whose threads ignore the interrupt."""

    options = ()
    peer_arguments = {"sockets": True}

    def tearDown(self):
        self.client.call(BLOCKERS, "open")
        await_running(self.client, 0)
        super().tearDown()

    def test_the_answer_does_not_wait_for_the_thread(self):
        for client in self.each(WebSocketClient, UnixWebSocketClient, ShmClient, HttpClient, UnixHttpClient, ZmqClient):
            error = client.request("call", call_params("passStubbornly"), options={"timeout": STUBBORN_MS})["error"]
            self.assertEqual((-32000, "timeout"), (error["code"], error["data"]["reason"]))
            await_running(self.client, 1)
            self.client.call(BLOCKERS, "open")
            self.assertEqual("3", client.call("fixtures.Calculator", "add", 1, 2))
            self.assertEqual("false", client.call("java.lang.Thread", "interrupted"))
            await_running(self.client, 0)

    def test_a_cancel_does_not_wait_for_the_thread(self):
        for client in self.each(*READ_AHEAD, ZmqClient):
            client.send(json.dumps(call_request(1, BLOCKERS, "passStubbornly")))
            client.send(json.dumps(cancel_request(2, 1)))
            answers = [json.loads(client.receive()) for _ in range(2)]
            self.assertEqual({1, 2}, {one["id"] for one in answers})
            await_running(self.client, 1)
            # The id belongs to a request that waits now.
            client.send(json.dumps(call_request(1, BLOCKERS, "open")))
            client.send(json.dumps(cancel_request(2, 1)))
            answers = {one["id"]: one for one in (json.loads(client.receive()) for _ in range(2))}
            if answers[2]["result"]["value"]["value"] == "true":
                self.assertEqual("cancelled", answers[1]["error"]["data"]["reason"])
                await_running(self.client, 1)
            self.client.call(BLOCKERS, "open")
            self.assertEqual("3", client.call("fixtures.Calculator", "add", 1, 2))

    def test_a_batch_waits_a_second_for_its_other_requests(self):
        for client in self.each(*READ_AHEAD, HttpClient, ZmqClient):
            batch = [call_request(1, BLOCKERS, "sleep", 1),
                     call_request(2, BLOCKERS, "passStubbornly", options={"timeout": STUBBORN_MS}),
                     call_request(3, BLOCKERS, "open")]
            begin = time.monotonic()
            answers = json.loads(client.exchange(json.dumps(batch)))
            self.assertGreater(time.monotonic() - begin, 1)
            self.assertEqual(["timeout"] * 3, [one["error"]["data"]["reason"] for one in answers])
            self.client.call(BLOCKERS, "open")
            await_running(self.client, 0)
            waiting = self.connect()
            waiting.send(json.dumps(call_request(1, BLOCKERS, "pass")))
            await_running(self.client, 1)
            self.assertEqual("3", client.call("fixtures.Calculator", "add", 1, 2))
            await_running(self.client, 1)  # the third request would have let it pass, had it run
            self.client.call(BLOCKERS, "open")

    def test_an_interrupt_that_never_returns_holds_nothing(self):
        """The interrupt closes a channel of the application, and closing it blocks. At first there are more calls
        whose interrupt blocks than threads that interrupt."""
        clients = [self.connect(WebSocketClient) for _ in range(6)]
        for client in clients:
            client.send(json.dumps(call_request(1, BLOCKERS, "passInChannel", options={"timeout": 3 * STUBBORN_MS})))
        for client in clients:
            self.assertEqual("timeout", json.loads(client.receive())["error"]["data"]["reason"])
            self.assertEqual("3", client.call("fixtures.Calculator", "add", 1, 2))
        await_running(self.client, 12)
        for client in self.each(*READ_AHEAD):
            self.client.control("stats")
            client.send(json.dumps(call_request(1, BLOCKERS, "sleep", 600000)))
            client.send(json.dumps(cancel_request(2, 1)))
            answers = {one["id"]: one for one in (json.loads(client.receive()) for _ in range(2))}
            self.assertEqual("cancelled", answers[1]["error"]["data"]["reason"])
        self.peer.await_stderr("fixtures.Blockers.passInChannel has lasted")

    def test_a_batch_goes_on_after_a_call_that_was_ended(self):
        for client in self.each(*READ_AHEAD, HttpClient, ZmqClient):
            batch = [call_request(1, BLOCKERS, "sleep", 60000, options={"timeout": TIMEOUT_MS}),
                     call_request(2, BLOCKERS, "sleep", 1500)]
            answers = json.loads(client.exchange(json.dumps(batch)))
            self.assertEqual("timeout", answers[0]["error"]["data"]["reason"])
            self.assertIn("result", answers[1])

    def test_a_connection_goes_on_without_the_thread(self):
        for client in self.each(*READ_AHEAD, ZmqClient):
            kept = client.new("java.util.ArrayList")
            for _ in range(3):
                client.send(json.dumps(call_request(1, BLOCKERS, "passStubbornly", options={"timeout": STUBBORN_MS})))
                self.assertEqual("timeout", json.loads(client.receive())["error"]["data"]["reason"])
                self.assertEqual("true", client.call("java.util.ArrayList", "add", 1, on=kept))
                self.assertEqual("3", client.call("fixtures.Calculator", "add", 1, 2))
            await_running(self.client, 3)
            self.client.call(BLOCKERS, "open")
            await_running(self.client, 0)
            self.assertEqual("3", client.call("java.util.ArrayList", "size", on=kept))

    def test_one_with_callbacks_goes_on_too(self):
        client = self.connect(CallbackClient)
        calling = "fixtures.Calling"
        for _ in range(3):  # the second thread is lost while it has callbacks that the first thread has given
            number = client.begin("call", {"type": calling, "method": "here", "args": [client.give()]})
            client.await_call().answer("done")
            self.assertEqual("done", client.end(number))
            number = client.begin("call", call_params("passStubbornly"), options={"timeout": STUBBORN_MS})
            with self.assertRaises(RpcError) as raised:
                client.end(number)
            self.assertEqual("timeout", raised.exception.data["reason"])
        await_running(self.client, 3)
        number = client.begin("call", {"type": calling, "method": "here", "args": [client.give()]})
        client.await_call().answer("lost")
        self.assertEqual("lost", client.end(number))
        self.client.call(BLOCKERS, "open")
        await_running(self.client, 0)
        number = client.begin("call", {"type": calling, "method": "here", "args": [client.give()]})
        client.await_call().answer("back")
        self.assertEqual("back", client.end(number))

    def test_a_client_that_leaves_takes_its_session_along_when_the_thread_is_back(self):
        for kind in READ_AHEAD:
            with self.subTest(kind.name):
                before = descriptors(self.peer.pid)
                client = kind(self.peer)
                client.send(json.dumps(call_request(1, BLOCKERS, "passStubbornly")))
                await_running(self.client, 1)
                leave(client)
                eventually(lambda: descriptors(self.peer.pid) <= before + 1)
                self.client.call(BLOCKERS, "open")
                await_running(self.client, 0)

    def test_a_pinned_connection_refuses_calls_until_its_thread_is_back(self):
        for client in self.each(WebSocketClient, ShmClient):
            client.control("pin_thread")
            client.send(json.dumps(call_request(1, BLOCKERS, "passStubbornly", options={"timeout": STUBBORN_MS})))
            client.send(json.dumps(call_request(2, "fixtures.Calculator", "add", 1, 2)))
            answers = [json.loads(client.receive()) for _ in range(2)]
            self.assertEqual([1, 2], [one["id"] for one in answers])
            self.assertIn("does not return", answers[1]["error"]["data"]["message"])
            for number in (3, 4):
                client.send(json.dumps(call_request(number, "fixtures.Calculator", "add", 1, 2)))
                self.assertIn("does not return", json.loads(client.receive())["error"]["data"]["message"])
            self.client.call(BLOCKERS, "open")
            await_running(self.client, 0)
            eventually(lambda: "result" in client.request(
                "call", {"type": "fixtures.Calculator", "method": "add", "args": [1, 2]}))


class LostThreads(PeerCase):
    MAX = 8

    def lose(self, make, count):
        clients = [make() for _ in range(count)]
        for client in clients:
            client.send(json.dumps(call_request(1, BLOCKERS, "passStubbornly", options={"timeout": STUBBORN_MS})))
        for client in clients:
            self.assertEqual("timeout", json.loads(client.receive())["error"]["data"]["reason"])
        return clients

    def is_refused(self, client, words):
        error = client.request("call", {"type": "fixtures.Calculator", "method": "add", "args": [1, 2]}).get("error")
        return error is not None and words in error["data"]["message"]

    def test_lost_threads_are_replaced_and_one_client_may_hold_a_quarter(self):
        peer = self.start("--rpc-threads", "1", "--rpc-threads-max", "2", "--lost-threads-max", str(self.MAX),
                          "--busy-timeout", "10s", sockets=True)
        other = self.connect(UnixWebSocketClient)
        self.lose(lambda: self.connect(WebSocketClient), 2)
        steering = self.connect(WebSocketClient)
        eventually(lambda: self.is_refused(steering, "this client"))
        self.assertEqual("3", other.call("fixtures.Calculator", "add", 1, 2))
        self.assertIsNone(steering.control("ping"))
        peer.await_stderr("fixtures.Blockers.passStubbornly has lasted")
        other.call(BLOCKERS, "open")
        eventually(lambda: not self.is_refused(steering, "this client"))

    def test_the_line_about_busy_threads_counts_the_clients_that_have_left_lost_threads(self):
        peer = self.start("--rpc-threads", "3", "--rpc-threads-max", "3", "--lost-threads-max", "0",
                          "--busy-timeout", "3000", sockets=True)
        steering, *others = [self.connect(WebSocketClient) for _ in range(3)]
        for client in (steering, *others):
            client.send(json.dumps(call_request(1, BLOCKERS, "passStubbornly")))
        eventually(lambda: len(json.loads(plain(self.client.control("calls")))) == 3)
        for client in others:
            client.socket.transport.abort()
            client.close()
        peer.await_stderr("its thread is lost, one of 2 ")
        self.assertIn("busy", self.client.exchange(json.dumps(call_request(2, "fixtures.Calculator", "add", 1, 2))))
        peer.await_stderr("; clients gone: 2; requests refused as busy: 1\n")

    def test_a_refusal_of_a_waiting_message_that_is_too_long_has_its_id(self):
        self.start("--message-max", "4K", sockets=True)
        for client in self.each(WebSocketClient, ShmClient):
            client.control("pin_thread")
            client.send(json.dumps(call_request(1, BLOCKERS, "passStubbornly", options={"timeout": STUBBORN_MS})))
            client.send(json.dumps(call_request(2, "fixtures.Calculator", "add", "x" * 8000)))
            answers = [json.loads(client.receive()) for _ in range(2)]
            self.assertEqual([1, 2], [one["id"] for one in answers])
            self.assertIn("message-max", answers[1]["error"]["data"]["message"])
            self.client.call(BLOCKERS, "open")
            await_running(self.client, 0)

    def test_64_lost_threads_delay_no_stats(self):
        peer = self.start("--lost-threads-max", "256", sockets=True)
        steering = self.connect(UnixWebSocketClient)
        clients = [WebSocketClient(peer) for _ in range(64)]
        seconds = []
        for client in clients:  # a timeout could pass before all of them have a thread
            client.send(json.dumps(call_request(1, BLOCKERS, "passStubbornly")))
        await_running(steering, 64)
        for client in clients:
            client.send(json.dumps(cancel_request(2, 1)))
        end = time.monotonic() + 5
        while time.monotonic() < end:
            begin = time.monotonic()
            steering.control("stats")
            seconds.append(time.monotonic() - begin)
            time.sleep(0.005)
        seconds.sort()
        self.assertLess(seconds[len(seconds) // 2], 0.5)  # a loaded machine delays some
        peer.await_stderr("its thread is lost, one of 64 ")
        self.assertEqual("3", steering.call("fixtures.Calculator", "add", 1, 2))
        steering.call(BLOCKERS, "open")
        await_running(steering, 0)
        for client in clients:
            answers = {one["id"]: one for one in (json.loads(client.receive()) for _ in range(2))}
            self.assertEqual("cancelled", answers[1]["error"]["data"]["reason"])
            client.close()

    def test_binary_requests_are_answered_too(self):
        peer = self.start("--call-timeout", str(STUBBORN_MS), sockets=True)
        for number, shape in enumerate(BinaryClient.SHAPES):
            with self.subTest(shape), BinaryClient(peer, shape) as client:
                with self.assertRaises(Raised) as raised:
                    client.call(BLOCKERS, "passStubbornly")
                self.assertIn("longer than its timeout", raised.exception.text)
                eventually(lambda number=number: peer.stderr().count("passStubbornly has lasted") > number)
                self.assertEqual(3, client.call("fixtures.Calculator", "add", 1, 2))
                client.call(BLOCKERS, "open")
                await_running(self.client, 0)
                self.assertEqual(3, client.call("fixtures.Calculator", "add", 1, 2))

    def test_binary_requests_time_out_while_they_wait(self):
        """The thread of the request before them is lost a second after its timeout, and would serve them then."""
        peer = self.start("--call-timeout", str(TIMEOUT_MS))

        def wait():
            with BinaryClient(peer) as client:
                begin = time.monotonic()
                for method in ("passStubbornly", "open"):
                    client.send(client.addressed(call_message(BLOCKERS, method)))
                for _ in range(2):
                    text = client.receive()["execMessage"]["raisedThrowable"]["throwable"]["message"]
                    self.assertIn("longer than its timeout", text)
                seconds = time.monotonic() - begin
            self.assertEqual("1", self.client.call(BLOCKERS, "running"), "the second request did not run")
            self.client.call(BLOCKERS, "open")
            await_running(self.client, 0)
            return seconds
        self.assertLess(min(wait() for _ in range(5)), 1)  # the best of some, for a loaded machine

    def test_calls_are_refused_above_the_number_of_lost_threads(self):
        self.start("--lost-threads-max", "0", sockets=True)
        self.lose(lambda: self.connect(WebSocketClient), 1)
        for kind in (WebSocketClient, UnixWebSocketClient, ShmClient, HttpClient, ZmqClient):
            client = self.connect(kind)
            eventually(lambda client=client: self.is_refused(client, "threads of the peer"))
            self.assertIsNone(client.control("ping"))


class Races(PeerCase):
    """An interrupt hits only the request that it is for."""

    options = ()
    CANCELS = int(os.environ.get("JPEER_RACE_CANCELS", "3000"))  # a release has a million
    CONNECTIONS = 32

    async def race(self, seed):
        """Cancels calls at random moments. Each call returns whether its thread was interrupted when the call began."""
        chance = random.Random(seed)
        found = 0
        async with websockets.connect(self.peer.address("ws")) as socket:
            number = 0
            while found < self.CANCELS // self.CONNECTIONS:
                number += 1
                await socket.send(json.dumps(call_request(number, BLOCKERS, "await", chance.randrange(4000, 14000))))
                await asyncio.sleep(chance.random() * 0.014)
                await socket.send(json.dumps(cancel_request("cancel", number)))
                answers = {one["id"]: one for one in [json.loads(await socket.recv()) for _ in range(2)]}
                was_found = answers["cancel"]["result"]["value"]["value"] == "true"
                found += was_found
                if "result" in answers[number]:
                    self.assertEqual("false", answers[number]["result"]["value"]["value"])
                else:
                    self.assertEqual("cancelled", answers[number]["error"]["data"]["reason"])
                    self.assertTrue(was_found)
        return found

    async def race_nested(self, seed):
        """The same with requests that are nested in a callback. The call around them sees no interrupt."""
        chance = random.Random(seed)
        found = 0
        async with websockets.connect(self.peer.address("ws")) as socket:
            await socket.send(json.dumps(call_request("outer", "fixtures.Calling", "here", {"ref": {"callback": 1}})))
            call = json.loads(await socket.recv())["id"]
            number = 0
            while found < self.CANCELS // self.CONNECTIONS // 4:
                number += 1
                request = call_request(number, BLOCKERS, "await", chance.randrange(4000, 14000))
                await socket.send(json.dumps({**request, "options": {"within": call}}))
                await asyncio.sleep(chance.random() * 0.014)
                await socket.send(json.dumps(cancel_request("cancel", number)))
                answers = {one["id"]: one for one in [json.loads(await socket.recv()) for _ in range(2)]}
                was_found = answers["cancel"]["result"]["value"]["value"] == "true"
                if "result" in answers[number]:
                    self.assertEqual("false", answers[number]["result"]["value"]["value"])
                else:
                    self.assertEqual("cancelled", answers[number]["error"]["data"]["reason"])
                    self.assertTrue(was_found)
                    found += 1
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": call, "result": "done"}))
            answer = json.loads(await socket.recv())
            while answer.get("id") != "outer":  # a released callback
                answer = json.loads(await socket.recv())
            self.assertEqual("done", answer["result"]["value"]["value"])

    def test_a_cancel_hits_no_other_request(self):
        for race in (self.race, self.race_nested):
            async def race_all(race=race):
                return await asyncio.gather(*(race(seed) for seed in range(self.CONNECTIONS)))
            asyncio.run(race_all())
            self.assertEqual("0", self.client.call(BLOCKERS, "stray"))


class CallTimeout(PeerCase):
    options = ("--call-timeout", "200")

    def test_the_smaller_of_two_timeouts_counts(self):
        for options in ({}, {"options": {"timeout": 50}}, {"options": {"timeout": 600000}}):
            for client in self.each(WebSocketClient, HttpClient, ZmqClient):
                reply = client.request("call", call_params("sleep", 600000), **options)
                self.assertEqual("timeout", reply["error"]["data"]["reason"])

    def test_a_repeated_request_times_out_each_time(self):
        """The fast path serves the request after the first time, and must obey the timeout, too."""
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
