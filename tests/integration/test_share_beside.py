"""`control share_session` is answered while a call of its connection runs; all other requests keep their order."""

import itertools
import json
import os
import re
import socket
import struct
import time
import uuid

from support import clients
from support.callback_client import CallbackClient, ShmCallbackClient
from support.clients import (HttpClient, RpcError, ShmClient, UnixWebSocketClient, WebSocketClient, ZmqClient,
                             await_running, plain, ref)
from support.peer import Peer, environment, eventually
from support.peer_case import PeerCase
from support.raw_websocket import CLOSE, PING, PONG, SECONDS, RawWebSocket, frame

FUTURE = "java.util.concurrent.CompletableFuture"
LIST = "java.util.ArrayList"
TRANSPORTS = (WebSocketClient, UnixWebSocketClient, ShmClient)
ONE_THREAD = ("--rpc-threads", "1", "--rpc-threads-max", "1")


def request(number, method, params, **envelope):
    return json.dumps(clients.request(number, method, params, **envelope))


def control(number, method, **envelope):
    return request(number, "control", {"method": method}, **envelope)


def call(number, type_name, method, *args, on=None):
    return json.dumps(clients.call_request(number, type_name, method, *args, on=on))


def receive_name(client, number="share"):
    answer = json.loads(client.receive())
    assert answer["id"] == number, answer
    return str(uuid.UUID(plain(answer["result"]["value"])))


PASS = call("pass", "fixtures.Blockers", "pass")


def begin_callback(client):
    """Lets a thread of the application call the client. Returns that call, and the task whose result is the call's
    answer."""
    client.send(request(1, "new", {"type": "java.util.concurrent.FutureTask", "args": [{"ref": {"callback": 1}}]}))
    task = json.loads(client.receive())["result"]["value"]["ref"]
    client.send(request(2, "new", {"type": "java.lang.Thread", "args": [{"ref": task}]}))
    thread = json.loads(client.receive())["result"]["value"]["ref"]
    client.send(call(3, "java.lang.Thread", "start", on=thread))
    received = [json.loads(client.receive()) for _ in range(2)]
    return next(message for message in received if "method" in message), task


class ShareCase(PeerCase):
    options = ("--message-max", "1m")
    peer_arguments = {"sockets": True}

    def pass_all(self):
        """Ends the calls that wait in PASS."""
        self.client.call("fixtures.Blockers", "open")

    def await_running(self, count=1):
        await_running(self.client, count)


class TheName(ShareCase):
    def test_the_name_is_sent_while_a_call_runs_and_other_connections_use_its_session(self):
        for threads in ((), ONE_THREAD):
            self.start(*threads, sockets=True)
            for make in TRANSPORTS:
                self.check_the_name(make, threads)

    def check_the_name(self, make, threads):
        with self.subTest(make.name, threads=threads), make(self.peer) as client:
            future = client.new(FUTURE)
            sleep = call("sleep", "fixtures.Blockers", "sleep", 400)
            client.send(sleep if threads else call("get", FUTURE, "get", on=future))
            client.send(control("share", "share_session"))
            with make(self.peer, {"peer-id": receive_name(client)}) as other:
                made = other.new(LIST)  # if the peer has one thread, the thread serves this after the sleep
                self.assertEqual("true", other.call(FUTURE, "complete", ref(made), on=future))
                answer = json.loads(client.receive())
                if threads:
                    self.assertEqual({"id": "sleep", "result": {"void": True}, "jsonrpc": "2.0"}, answer)
                    self.assertEqual(made, client.call(FUTURE, "get", on=future))
                else:
                    self.assertEqual(made, answer["result"]["value"]["ref"])
                client.close()
                self.assertEqual("0", other.call(LIST, "size", on=made))

    def test_it_is_the_session_of_a_call_that_was_the_first_of_its_connection(self):
        """The other connection can use the result of such a call, and the first connection can use the
        other's objects."""
        for make in TRANSPORTS:
            with self.subTest(make.name), make(self.peer) as client:
                client.send(json.dumps([json.loads(PASS), json.loads(request("new", "new", {"type": LIST}))]))
                client.send(control("share", "share_session"))
                name = receive_name(client)
                with make(self.peer, {"peer-id": name}) as other:
                    early = other.new(LIST)
                    self.await_running()
                    self.pass_all()
                    passed, made = json.loads(client.receive())
                    self.assertEqual(("pass", "new"), (passed["id"], made["id"]))
                    late = made["result"]["value"]["ref"]
                    self.assertNotEqual(early, late)
                    self.assertEqual("true", other.call(LIST, "add", ref(early), on=late))
                    self.assertEqual("[[]]", client.call(LIST, "toString", on=late).strip('"'))
                self.assertEqual(name, plain(client.control("share_session")))

    def test_a_named_session_returns_its_own_name(self):
        session = str(uuid.uuid4())
        client = self.connect(WebSocketClient, {"peer-id": session})
        client.send(PASS)
        client.send(control("share", "share_session"))
        self.assertEqual(session, receive_name(client))
        self.await_running()
        self.pass_all()
        self.assertEqual("pass", json.loads(client.receive())["id"])

    def test_the_name_is_sent_while_a_request_waits_in_a_callback_or_is_nested_in_one(self):
        for make in (CallbackClient, ShmCallbackClient):
            with self.subTest(make.name), make(self.peer) as client:
                # a client with a callback that is not called
                kept = client.new("java.util.concurrent.FutureTask", client.give())
                client.send(PASS)
                client.send(control("share", "share_session"))
                name = receive_name(client)
                self.await_running()
                self.pass_all()
                self.assertEqual("pass", json.loads(client.receive())["id"])
                self.assertGreater(kept, 0)
                # a client whose callback is called, and has not answered
                client.send(call("run", "java.util.concurrent.FutureTask", "run", on=kept))
                asked = json.loads(client.receive())
                self.assertEqual("call", asked["params"]["method"])
                client.send(control("share", "share_session"))
                self.assertEqual(name, receive_name(client))
                # a client whose nested request runs
                client.send(json.dumps({**json.loads(PASS), "options": {"within": asked["id"]}}))
                self.await_running()
                client.send(control("share", "share_session"))
                self.assertEqual(name, receive_name(client))
                self.pass_all()
                self.assertEqual("pass", json.loads(client.receive())["id"])
                client.send(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": None}))
                self.assertEqual("run", json.loads(client.receive())["id"])

    def test_http_and_zeromq_have_names_of_their_own(self):
        session = str(uuid.uuid4())
        http, zmq = self.connect(HttpClient, session), self.connect(ZmqClient)
        self.assertEqual(session, plain(http.control("share_session")))
        with self.assertRaisesRegex(RpcError, "routing id"):
            zmq.control("share_session")


class TheOrder(ShareCase):
    def test_only_single_well_formed_requests_for_the_name_pass_a_call(self):
        for make in TRANSPORTS:
            with self.subTest(make.name), make(self.peer) as client:
                epoch = json.loads(plain(client.control("session")))["epoch"]
                client.send(PASS)
                client.send(control(1, "ping"))
                client.send(control(2, "stats"))
                client.send('{"jsonrpc":"2.0","id":3,"method":')
                client.send(json.dumps([json.loads(control(4, "share_session"))]))
                client.send('{"jsonrpc":"2.0","method":"control","params":{"method":"share_session"}}')
                client.send(request(5, "control", {"method": "share_session", "args": [1]}))
                client.send(control(6, "share_session", epoch=epoch))
                client.send(control(7, "share_session", epoch="0" * 16))
                client.send(control(8, "share_session", options={"keep": True}))
                client.send(request(9, "control", {"method": "share_session", "args": ["x" * 5000]}))
                client.send(call(10, "fixtures.Calculator", "add", 1, 2))
                client.send(control("upper", "SHARE_Session"))
                client.send(control("share", "share_session").replace("control", "c\\u006fntrol"))
                names = [receive_name(client, "upper"), receive_name(client)]
                self.await_running()
                client.send(control("share", "share_session"))
                names.append(receive_name(client))
                self.assertEqual(1, len(set(names)))
                self.pass_all()
                answers = [json.loads(client.receive()) for _ in range(11)]
                self.assertEqual(["pass", 1, 2], [answer["id"] for answer in answers[:3]])
                self.assertEqual(-32700, answers[3]["error"]["code"])
                self.assertEqual(names[0], plain(answers[4][0]["result"]["value"]))
                self.assertIn("takes no arguments", answers[5]["error"]["data"]["message"])
                self.assertEqual((6, names[0]), (answers[6]["id"], plain(answers[6]["result"]["value"])))
                self.assertEqual("stale", answers[7]["error"]["data"]["reason"])
                self.assertEqual([8, 9, 10], [answer["id"] for answer in answers[8:]])
                self.assertEqual("3", plain(answers[10]["result"]["value"]))

    def test_with_compat_pal_there_is_no_such_method(self):
        self.start("--compat", "pal")
        client = self.connect()
        client.send(PASS)
        client.send(control("share", "share_session"))
        self.await_running()
        self.pass_all()
        self.assertEqual("pass", json.loads(client.receive())["id"])
        self.assertEqual(-32601, json.loads(client.receive())["error"]["code"])

    def test_requests_keep_their_order_if_a_reserved_thread_takes_a_part_of_them(self):
        """The only thread continues with a call of another connection. `stats` is served, and the call after `stats`
        is refused."""
        def check(make):
            with Peer(*ONE_THREAD, "--busy-timeout", "250ms", sockets=True) as peer, make(peer) as client:
                other = WebSocketClient(peer)
                client.send(call(0, "fixtures.Blockers", "sleep", 200))
                for number in range(1, 16):
                    client.send(call(number, "fixtures.Calculator", "add", 1, number) if number % 2 == 0 else
                                control(number, "stats"))
                client.send(control("share", "share_session"))
                receive_name(client)
                other.send(call("other", "fixtures.Blockers", "sleep", 20000))
                answers = [json.loads(client.receive()) for _ in range(16)]
                self.assertEqual(list(range(16)), [answer["id"] for answer in answers])
                for number in range(2, 16, 2):
                    if "error" in answers[number]:
                        self.assertIn("busy", answers[number]["error"]["data"]["message"])
                    else:
                        self.assertEqual(str(1 + number), plain(answers[number]["result"]["value"]))
                peer.process.kill()
                peer.process.wait()
        self.at_once(check, (WebSocketClient, ShmClient))

    def test_a_call_after_stats_is_not_lost_while_a_callback_is_open(self):
        def check(make):
            with Peer(*ONE_THREAD, "--busy-timeout", "120ms", sockets=True) as peer, make(peer) as client:
                other = WebSocketClient(peer)
                begin_callback(client)
                other.send(PASS)
                time.sleep(0.2)
                for number in range(10, 20):
                    add = call(number, "fixtures.Calculator", "add", 1, 2)
                    client.send(add if number % 2 else control(number, "stats"))
                answers = [json.loads(client.receive()) for _ in range(10)]
                self.assertEqual(list(range(10, 20)), [answer["id"] for answer in answers])
                self.assertEqual([number % 2 == 1 for number in range(10)], ["error" in answer for answer in answers])
                peer.process.kill()
                peer.process.wait()
        self.at_once(check, (CallbackClient, ShmCallbackClient))


class BadInput(ShareCase):
    """The option keeps the peer from interrupting calls, which each end of the input does by default."""

    options = (*ShareCase.options, "--on-disconnect", "finish")

    def test_thousands_of_requests_for_the_name(self):
        """Whether the client reads at once or only at the end, each request is answered once, in order, and before the
        call."""
        count = 3000
        for make in (WebSocketClient, ShmClient):
            with self.subTest(make.name), make(self.peer) as client:
                client.send(PASS)
                name = None
                for first in range(0, count, 100):
                    for number in range(first, first + 100):
                        client.send(control(number, "share_session"))
                    for number in range(first, first + 100):
                        received = receive_name(client, number)
                        name = name or received
                        self.assertEqual(name, received)
                self.pass_all()
                self.assertEqual("pass", json.loads(client.receive())["id"])

    def test_a_client_that_sends_without_end_is_not_read(self):
        """Requests for the name, whose answers are not read, and short and long requests after a call."""
        for make_request, sent_max in ((lambda number: control(number, "share_session"), 64 << 20),
                                       (lambda number: call(number, "fixtures.Calculator", "add", 1, 2), 4 << 20),
                                       (lambda number: call(number, "java.lang.String", "valueOf", "x" * 300000), 4 << 20)):
            with self.subTest(first=make_request(0)[:200]):
                self.check_backpressure(make_request, sent_max)

    def check_backpressure(self, make_request, sent_max):
        """Sends requests until the socket accepts no more. After that, all requests must be answered in
        order."""
        env = environment()
        env["ASAN_OPTIONS"] += ":quarantine_size_mb=4"  # or freed memory counts as growth
        peer = self.start("--message-max", "1m", sockets=True, env=env)
        with RawWebSocket(peer) as client:
            client.send(PASS)
            self.await_running()
            before = peer.resident_kib()
            sent = bytes_sent = 0
            client.socket.settimeout(0.5)
            rest = b""
            for number in itertools.count():
                data = frame(make_request(number))
                try:
                    while data:
                        taken = client.socket.send(data)
                        bytes_sent += taken
                        data = data[taken:]
                except TimeoutError:
                    rest = data
                    break
                sent = number + 1
                self.assertLess(bytes_sent, sent_max, "the client is read without end")
            self.assertLess(peer.resident_kib() - before, 16 << 10)
            client.socket.settimeout(SECONDS)
            self.pass_all()
            ids = []
            is_rest_sent = False
            while len(ids) < sent + 2:
                ids.append(json.loads(client.receive())["id"])
                if not is_rest_sent:
                    client.socket.sendall(rest)
                    is_rest_sent = True
            ids.remove("pass")
            self.assertEqual(list(range(sent + 1)), ids)

    def check_that_it_rests(self):
        """Waits until the peer uses no processor. The JVM's own work ends after a while; a peer that polls never
        rests."""
        def used():
            before = cpu_seconds(self.peer.pid)
            time.sleep(0.4)
            return cpu_seconds(self.peer.pid) - before
        eventually(lambda: used() < 0.12, "the peer rests")

    def test_half_a_frame_after_a_call(self):
        """The peer waits for the other half without using the processor. The name can be asked for afterwards."""
        whole = frame(call("add", "fixtures.Calculator", "add", 1, 2))
        for cut in (1, 5, 40):
            with self.subTest(cut=cut), RawWebSocket(self.peer) as client:
                client.send(PASS)
                client.socket.sendall(whole[:cut])
                self.await_running()
                time.sleep(0.3)
                self.check_that_it_rests()
                client.socket.sendall(whole[cut:] + frame(control("share", "share_session")))
                receive_name(client)
                self.pass_all()
                self.assertEqual(["pass", "add"], [json.loads(client.receive())["id"] for _ in range(2)])

    def test_half_a_frame_while_a_callback_of_another_thread_is_open(self):
        with RawWebSocket(self.peer) as client:
            asked, task = begin_callback(client)
            client.send(PASS)
            self.await_running()
            whole = frame(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": "done"}))
            client.socket.sendall(whole[:1])
            time.sleep(0.3)
            self.check_that_it_rests()
            client.socket.sendall(whole[1:])
            self.pass_all()
            message = json.loads(client.receive())
            if message.get("method") == "callback_released":
                message = json.loads(client.receive())
            self.assertEqual("pass", message["id"])
            client.send(call(4, "java.util.concurrent.FutureTask", "get", on=task))
            self.assertEqual("done", plain(json.loads(client.receive())["result"]["value"]))

    def test_a_ping_frame_after_a_call_is_answered(self):
        with RawWebSocket(self.peer) as client:
            client.send(PASS)
            client.send(b"here", PING)
            self.assertEqual((PONG, b"here"), client.receive_frame())
            self.pass_all()
            self.assertEqual("pass", json.loads(client.receive())["id"])

    def test_the_end_of_input_after_a_call(self):
        """The end of input ends the connection, after the messages before it were answered."""
        for name, last, code in (("a close frame", frame(struct.pack(">H", 1000), CLOSE), 1000),
                                 ("a message that is too long", frame(b"x" * 100, length=(64 << 20) + 1), 1009),
                                 ("a frame without a mask", b"\x81\x01x", 1002)):
            with self.subTest(name), RawWebSocket(self.peer) as client:
                client.send(PASS)
                client.send(call("add", "fixtures.Calculator", "add", 1, 2))
                client.send(control("share", "share_session"))
                receive_name(client)
                client.socket.sendall(last + frame(control("late", "share_session")))
                self.await_running()
                time.sleep(0.3)
                self.pass_all()
                self.assertEqual(["pass", "add"], [json.loads(client.receive())["id"] for _ in range(2)])
                opcode, payload = client.receive_frame()
                self.assertEqual((CLOSE, code), (opcode, struct.unpack(">H", payload[:2])[0]))

    def test_a_client_that_sends_no_more_still_gets_its_answers(self):
        """The client sends no more, but still reads."""
        with RawWebSocket(self.peer) as client:
            client.send(PASS)
            client.send(call("add", "fixtures.Calculator", "add", 1, 2))
            client.send(control("share", "share_session"))
            client.socket.shutdown(socket.SHUT_WR)
            receive_name(client)
            self.await_running()
            time.sleep(0.3)
            self.check_that_it_rests()
            self.pass_all()
            self.assertEqual(["pass", "add"], [json.loads(client.receive())["id"] for _ in range(2)])

    def test_a_connection_that_is_closed_in_the_call_holds_nothing(self):
        """Descriptors and rings are released although the calls do not end. Each session is released with the last
        of its clients."""
        for make in (RawWebSocket, ShmClient):
            with self.subTest(make.name):
                peer = self.peer
                before = len(os.listdir(f"/proc/{peer.pid}/fd"))
                names = []
                for _ in range(8):
                    client = make(peer)
                    client.send(PASS)
                    client.send(control("share", "share_session"))
                    names.append(receive_name(client))
                    client.close()
                self.await_running(8)
                eventually(lambda: len(os.listdir(f"/proc/{peer.pid}/fd")) <= before + 8, "descriptors are held")
                eventually(lambda: count_rings(peer) == 0, "rings are held")
                with WebSocketClient(peer, {"peer-id": names[0]}) as other:
                    made = other.new(LIST)
                    self.pass_all()
                    self.await_running(0)
                    self.assertEqual("0", other.call(LIST, "size", on=made))

                def has_ended():
                    with WebSocketClient(peer, {"peer-id": names[0]}) as after:
                        try:
                            after.call(LIST, "size", on=made)
                        except RpcError as error:
                            self.assertIn("No object found", str(error))
                            return True
                    return False
                # The peer may notice late that the previous client has left.
                eventually(has_ended, "the session has not ended")

    def test_a_first_callback_that_is_refused_without_a_thread_leaves_no_call(self):
        """The watcher, which runs no call, opens the duplex to send that the callback was released."""
        def check(case):
            make, leaves = case
            with Peer(*ONE_THREAD, "--busy-timeout", "100ms", "--grace", "10m", sockets=True) as peer:
                other = WebSocketClient(peer)
                for busy_ms in (400, 4_000, 20_000):  # on a busy machine the shorter calls end too soon
                    client = make(peer)
                    other.send(call("other", "fixtures.Blockers", "sleep", busy_ms))
                    time.sleep(0.1)
                    number = client.begin("new", {"type": "java.util.concurrent.FutureTask", "args": [client.give()]})
                    reply = client.reply(number)
                    if "error" in reply:
                        break
                    client.close()
                    other.receive()
                self.assertIn("busy", reply["error"]["data"]["message"])
                if leaves:
                    client.close()
                self.assertEqual("other", json.loads(other.receive())["id"])
                other.close()
                peer.process.terminate()
                peer.process.wait(SECONDS)  # less than --grace, for which the peer would wait for a call
                if not leaves:
                    client.close()
        self.at_once(check, itertools.product((CallbackClient, ShmCallbackClient), (False, True)))

    def test_the_stop_of_a_peer_whose_calls_last(self):
        def check(make):
            with Peer("--grace", "300ms", sockets=True) as peer:
                client = make(peer)
                client.send(PASS)
                client.send(control(1, "ping"))
                client.send(control("share", "share_session"))
                receive_name(client)
                peer.process.terminate()
                self.assertIn("the peer is shutting down", client.receive())
                peer.process.wait(SECONDS)
        self.at_once(check, TRANSPORTS)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def count_rings(peer):
    with open(f"/proc/{peer.pid}/maps", encoding="utf-8") as file:
        return len(re.findall(r"memfd:", file.read()))
