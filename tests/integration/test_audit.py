"""The audit of the real peer: who did what and how it ended, when the file is moved, and when the disk is full."""

import asyncio
import contextlib
import fcntl
import itertools
import json
import os
import socket
import stat
import statistics
import struct
import subprocess
import tempfile
import termios
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from support import certificates, learnt
from support.binary_client import BinaryClient, call_message
from support.callback_client import CallbackClient
from support.clients import (HttpClient, RpcError, ShmClient, UnixWebSocketClient, UnixZmqClient, WebSocketClient,
                             ZmqClient, await_running, call_request, fetch, own_name, ref, typed)
from support.metrics import ask, place_of
from support.peer import BINARY, FIXTURES, environment, eventually, run_to_end
from support.peer_case import CALLING, FAILED, PING, PeerCase, allow, deny
from support.principals import ALICE, BOB, CAROL, FILE, LISTED, TokenHttpClient, bearer
from support.raw_websocket import RawWebSocket, frame

CALCULATOR, BLOCKERS, FIELDS = "fixtures.Calculator", "fixtures.Blockers", "fixtures.Fields"
ADD = (CALCULATOR, "add", 1, 2)


class Audited(PeerCase):
    """A peer with an audit, whose lines are read."""

    def setUp(self):
        super().setUp()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-audit-")))
        self.path = self.folder / "audit.json"

    def audited(self, *options, **more):
        return self.start("--audit", self.path, *options, **more)

    def lines(self, *paths):
        """The lines of the files, of which each is a JSON object. A line that is being written does not count yet."""
        return [json.loads(line) for path in paths or (self.path,)
                for line in path.read_text(encoding="utf-8").split("\n")[:-1]]

    def events(self, event, **members):
        return [line for line in self.lines() if line["event"] == event
                and all(line.get(name) == value for name, value in members.items())]

    def await_event(self, event, **members):
        eventually(lambda: self.events(event, **members),
                   lambda: f"a line {event} {members}: {self.path.read_text(encoding='utf-8')}")
        return self.events(event, **members)[-1]

    def last(self):
        return [line for line in self.lines() if line["event"] == "end"][-1]

    def assert_gapless(self, lines):
        self.assertEqual([line["seq"] for line in lines], list(range(1, len(lines) + 1)))


def make_link_of_another_user(target, path):
    path.symlink_to(target)
    os.lchown(path, LISTED, LISTED)


def attempt(action, *args, **named):
    try:
        return action(*args, **named)
    except RpcError as error:
        return error


class Operations(Audited):
    def check(self, action, **expected):
        """The action, one operation, has left a line with these members before it was answered."""
        before = len(self.events("end"))
        attempt(action)
        new = self.events("end")[before:]
        self.assertEqual(len(new), 1, new)
        self.assertEqual({name: new[0].get(name) for name in expected}, expected)
        return new[0]

    def test_each_kind_of_operation_and_of_end_has_a_line(self):
        rules = (deny(FIELDS, method="aLong") + allow("fixtures.**") + allow("java.util.ArrayList"))
        self.start_with(rules, "--audit", self.path, sockets=True)
        client = self.client
        rule = "rule 2 (policy.yaml:4)"
        fields, calculator = client.new(FIELDS), client.new(CALCULATOR)
        ints = client.get(FIELDS, "ints", on=fields)
        allowed = {"verdict": "ALLOW", "rule": rule, "outcome": "ok"}

        def on_own_name(name, *params):
            return lambda: own_name(client, name, *params)

        def over(kind):
            with kind(self.peer) as other:
                return other.call(*ADD)

        def binary(message):
            with BinaryClient(self.peer) as other:
                other.send(message)
                other.receive()

        table = [
            (lambda: client.call(*ADD), {"operation": "call", "member": f"{CALCULATOR}.add", **allowed}),
            (lambda: client.call(*ADD), {"operation": "call", "member": f"{CALCULATOR}.add", **allowed}),  # fast path
            (lambda: client.new(CALCULATOR), {"operation": "new", "member": f"{CALCULATOR}.<init>", **allowed}),
            (lambda: client.call(CALCULATOR, "accumulate", 1, on=calculator),
             {"operation": "call", "member": f"{CALCULATOR}.accumulate", **allowed}),
            (lambda: client.request("call", {"instance": calculator, "method": "accumulate", "args": [1]}),
             {"operation": "call", "member": f"{CALCULATOR}.accumulate", **allowed}),
            (lambda: client.get(FIELDS, "aByte", on=fields), {"operation": "get", "member": f"{FIELDS}.aByte", **allowed}),
            (lambda: client.put(FIELDS, "aByte", 3, on=fields),
             {"operation": "put", "member": f"{FIELDS}.aByte", **allowed}),
            (lambda: client.request("get", {"type": "int[]", "field": "[0]", "instance": ints}),
             {"operation": "get", "outcome": "ok"}),
            (lambda: client.call("fixtures.Throwables", "plain", "x"),
             {"outcome": "exception", "throwable": "java.lang.IllegalStateException", "verdict": "ALLOW", "rule": rule}),
            (lambda: client.call("fixtures.Throwables", "divide", 1, 0),
             {"outcome": "exception", "throwable": "java.lang.ArithmeticException", "rule": rule}),
            (lambda: client.call("fixtures.Throwables", "divide", 1, 0), {"outcome": "exception", "verdict": "ALLOW"}),
            (lambda: client.get(FIELDS, "aLong", on=fields),
             {"outcome": "denied", "verdict": "DENY", "rule": "rule 1 (policy.yaml:3)"}),
            (lambda: client.call("java.lang.System", "exit", 0),
             {"outcome": "denied", "verdict": "DENY", "rule": "default action", "member": "java.lang.System.exit"}),
            (lambda: client.call(CALCULATOR, "missing"), {"outcome": "not found", "member": f"{CALCULATOR}.missing"}),
            (lambda: client.new("fixtures.Missing"), {"outcome": "not found"}),
            (lambda: client.call(CALCULATOR, "add", "x", 1), {"outcome": "invalid"}),
            (lambda: client.call(CALCULATOR, "accumulate", 1, on=999999), {"outcome": "error"}),
            (lambda: client.request("call", {"type": CALCULATOR}), {"outcome": "invalid", "method": "call"}),
            (lambda: client.request("nonsense", {}), {"outcome": "invalid", "method": "nonsense"}),
            (lambda: client.exchange("{"), {"outcome": "invalid"}),
            (lambda: client.exchange('{"jsonrpc":"2.0","id":1}'), {"outcome": "invalid"}),
            (on_own_name(f"{CALCULATOR}.add", 1, 2), {"operation": "call", "member": f"{CALCULATOR}.add", **allowed}),
            (lambda: client.request("jpeer.describe", {"type": CALCULATOR}), {"operation": "describe"}),
            (on_own_name("rpc.discover"), {"method": "rpc.discover", "outcome": "ok"}),
            (lambda: fetch(client, CALCULATOR), {"operation": "meta", "member": "fetch_classes_info", "outcome": "ok"}),
            (lambda: client.control("ping"), {"operation": "control", "member": "ping", "outcome": "ok"}),
            (lambda: client.control("whoami"), {"operation": "control", "member": "whoami", "outcome": "ok"}),
            (lambda: client.control("stats"), {"operation": "control", "member": "stats"}),
            (lambda: client.control("calls"), {"operation": "control", "member": "calls"}),
            (lambda: client.control("gc"), {"operation": "control", "member": "gc", "outcome": "denied",
                                            "verdict": "DENY", "rule": "default action"}),
            (lambda: client.control("delete_object", ref(999998)), {"member": "delete_object", "outcome": "not found"}),
            (lambda: client.request("call", {"type": CALCULATOR, "method": "add\u200b\x07", "args": []}),
             {"member": f"{CALCULATOR}.add\u200b\x07", "outcome": "not found"}),
            (lambda: over(HttpClient), {"channel": "HTTP_RPC", "address": "127.0.0.1", **allowed}),
            (lambda: over(ZmqClient), {"channel": "ZMQ_SOCKET_RPC", **allowed}),
            (lambda: over(UnixWebSocketClient), {"uid": os.getuid(), "pid": os.getpid(), **allowed}),
            (lambda: over(ShmClient), {"uid": os.getuid(), "pid": os.getpid(), **allowed}),
            (lambda: over(UnixZmqClient), {"uid": os.getuid(), "pid": os.getpid(), **allowed}),
            (lambda: binary(call_message(CALCULATOR, "add", 1, 2)),
             {"channel": "ZMQ_SOCKET_RPC", "operation": "call", "member": f"{CALCULATOR}.add", **allowed}),
            (lambda: binary(call_message("java.lang.System", "gc")), {"outcome": "denied", "rule": "default action"}),
        ]
        for action, expected in table:
            with self.subTest(expected=expected):
                self.assertEqual(self.check(action, **expected)["principal"], "owner")
        token = "jp_" + "aB3" * 14
        for name in (token, "x" * 500 + token, "x" * 1010 + token, "x" + token * 30):
            attempt(client.call, name, name)
        self.assertNotIn("aB3aB3aB3aB3", self.path.read_text(encoding="utf-8"))
        self.assertIn('"member":"jp_....jp_..."', self.path.read_text(encoding="utf-8"))
        self.assertIn("\\u200b\\u0007", self.path.read_text(encoding="utf-8"))
        client.exchange_or_nothing(json.dumps({"jsonrpc": "2.0", "method": "call",
                                               "params": {"type": CALCULATOR, "method": "add", "args": [1, 2]}}))
        self.assertEqual(len(self.events("end", notification=True, outcome="ok")), 1)
        self.assert_gapless(self.lines())

    def test_each_request_of_a_batch_has_a_line(self):
        self.audited()
        batch = [call_request(1, *ADD), call_request(2, CALCULATOR, "no"), {**PING, "id": 3}, 4]
        self.client.exchange(json.dumps(batch))
        self.assertEqual([line["outcome"] for line in self.events("end")], ["ok", "not found", "ok", "invalid"])

    def test_callbacks_and_what_is_nested_in_them_have_lines(self):
        self.audited()
        client = self.connect(CallbackClient)
        client.call(CALLING, "here", client.give(lambda call: client.end(client.begin_call(*ADD, within=call.id))))
        self.assertEqual([(line["event"], line["member"], line["outcome"]) for line in self.lines()
                          if line["event"] in ("end", "callback")],
                         [("end", f"{CALCULATOR}.add", "ok"),
                          ("callback", "java.util.concurrent.Callable.call", "ok"),
                          ("end", f"{CALLING}.here", "ok")])

    def test_a_call_that_lasts_has_a_line_at_its_start(self):
        self.audited()
        begun = threading.Thread(target=self.client.call, args=(BLOCKERS, "pass"))
        begun.start()
        start = self.await_event("start", member=f"{BLOCKERS}.pass")
        with WebSocketClient(self.peer) as other:
            other.call(BLOCKERS, "open")
        begun.join()
        end = self.await_event("end", member=f"{BLOCKERS}.pass")
        self.assertEqual(end["start"], start["seq"])
        self.assertGreaterEqual(end["us"], 900_000)

    def test_a_lasting_call_of_a_pinned_connection_has_one_too(self):
        self.audited()
        self.client.control("pin_thread")
        self.client.send(json.dumps(call_request(1, BLOCKERS, "pass")))
        start = self.await_event("start", member=f"{BLOCKERS}.pass")
        with WebSocketClient(self.peer) as other:
            other.call(BLOCKERS, "open")
        self.client.receive()
        self.assertEqual(self.await_event("end", member=f"{BLOCKERS}.pass")["start"], start["seq"])

    def test_a_lasting_call_that_is_nested_has_one_too(self):
        self.audited()
        client = self.connect(CallbackClient)

        def nest(call):
            begun = client.begin_call(BLOCKERS, "pass", within=call.id)
            start = self.await_event("start", member=f"{BLOCKERS}.pass")
            with WebSocketClient(self.peer) as other:
                other.call(BLOCKERS, "open")
            client.end(begun)
            self.assertEqual(self.await_event("end", member=f"{BLOCKERS}.pass")["start"], start["seq"])
        client.call(CALLING, "here", client.give(nest))
        self.assertEqual(len(self.events("start")), 2)
        self.assertEqual(self.last()["start"], self.events("start", member=f"{CALLING}.here")[0]["seq"])

    def test_the_call_that_ends_the_jvm_remains(self):
        for method, status, nests in (("exit", 3, False), ("halt", 4, False), ("exit", 5, True), ("halt", 6, True)):
            self.path = self.folder / f"{status}.json"
            peer = self.audited("--audit-starts")
            if nests:
                client = self.connect(CallbackClient)
                client.begin_call(CALLING, "here", client.give())
                client.begin_call(BLOCKERS, method, status, within=client.await_call().id)
            else:
                self.connect().send(json.dumps(call_request(1, BLOCKERS, method, status)))
            self.assertEqual(peer.wait(), status)
            self.assertEqual([line["member"] for line in self.events("start")],
                             [f"{CALLING}.here"] * nests + [f"{BLOCKERS}.{method}"])
            self.assertEqual(self.lines()[-1], {**self.lines()[-1], "event": "ended", "status": status})
            self.assert_gapless(self.lines())

    def test_exit_by_native_code_leaves_the_last_lines(self):
        """A debugger asks JDWP's agent to end the process: the agent calls exit(3)."""
        def shake_hands():
            connection = debugger.accept()[0]
            connection.sendall(b"JDWP-Handshake")
            self.assertEqual(connection.recv(14, socket.MSG_WAITALL), b"JDWP-Handshake")
            return connection
        with socket.create_server(("127.0.0.1", 0)) as debugger, ThreadPoolExecutor(1) as pool:
            attached = pool.submit(shake_hands)
            peer = self.audited(f"-J-agentlib:jdwp=transport=dt_socket,server=n,suspend=n,address=127.0.0.1:{debugger.getsockname()[1]}")
        with attached.result() as connection:
            connection.sendall(struct.pack(">IIBBBI", 15, 1, 0, 1, 10, 7))  # VirtualMachine.Exit
            self.assertEqual(peer.wait(), 7)
        self.assertEqual(peer.stderr().count("info  the peer ends at once: native code called exit(3)\n"), 1, peer.stderr())
        self.assertEqual(self.lines()[-1], {**self.lines()[-1], "event": "ended", "by": "exit(3)"})
        self.assertNotIn("status", self.lines()[-1])
        self.assert_gapless(self.lines())

    def test_each_end_of_the_process_has_one_line(self):
        for status, *words in ((0, "-cp", FIXTURES, "fixtures.Main", "return"), (7, "-cp", FIXTURES, "fixtures.Main", "exit", "7"),
                               (1, "-cp", FIXTURES, "fixtures.UncaughtMain"), (1, "-cp", FIXTURES, "fixtures.Missing"),
                               (2, "--as-service", "--rpc-policy", "/nowhere")):
            self.path.unlink(missing_ok=True)
            self.assertEqual(run_to_end("run", "--json-rpc", "auto", "--audit", self.path, *words).returncode, status)
            self.assertEqual([(line["event"], line.get("status")) for line in self.lines()], [("begun", None), ("ended", status)])

    def test_calls_that_are_ended(self):
        self.audited("--rpc-threads", "3", "--rpc-threads-max", "3", "--busy-timeout", "100ms")
        client = self.client
        # The watcher may answer before the thread has returned, which makes the line.
        client.request("call", {"type": BLOCKERS, "method": "pass", "args": []}, options={"timeout": 50})
        self.assertEqual(self.await_event("end", member=f"{BLOCKERS}.pass", outcome="timeout")["verdict"], "ALLOW")
        client.send(json.dumps(call_request(7, BLOCKERS, "pass")))
        with WebSocketClient(self.peer) as other:
            await_running(other, 1)
        client.send(json.dumps({"jsonrpc": "2.0", "id": 8, "method": "control",
                                "params": {"method": "cancel", "args": [{"name": "id", "value": 7}]}}))
        self.await_event("end", member=f"{BLOCKERS}.pass", outcome="cancelled")
        self.await_event("end", member="cancel", outcome="ok")
        leaver = WebSocketClient(self.peer)
        leaver.send(json.dumps(call_request(1, BLOCKERS, "pass")))
        with WebSocketClient(self.peer) as other:
            await_running(other, 1)
        leaver.close()
        self.await_event("end", member=f"{BLOCKERS}.pass", outcome="left")

    def test_an_answer_that_the_watcher_sends_has_its_line(self):
        self.audited()
        client = self.connect(ZmqClient)
        client.call(*ADD)  # the next ones end within their turn
        for turn in range(3):
            for arguments in ((BLOCKERS, "sleep", 50), ADD, (BLOCKERS, "sleep", 200)):
                client.send(json.dumps(call_request(1, *arguments)))
            for answers in range(1, 4):  # the second is sent while the third call lasts
                client.receive()
                # Its own line, and perhaps that of the call after it, whose answer has not arrived yet.
                self.assertIn(len(self.events("end")) - 1 - 3 * turn - answers, (0, 1))

    def test_answers_in_place_of_a_thread_say_whose_they_are(self):
        """Over ZeroMQ, too: of requests whose time is over before their turn, of a lost thread, and of a cancel."""
        self.audited("--call-timeout", "300ms")
        sleep = {"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"type": "java.lang.Thread", "method": "sleep", "args": [200]}}
        with ZmqClient(self.peer) as client:
            client.send(json.dumps(sleep))
            client.send(json.dumps({**sleep, "id": 2, "options": {"timeout": 20}}))
            client.receive(), client.receive()
            client.send(json.dumps(call_request(3, BLOCKERS, "passStubbornly")))
            client.receive()
            client.send(json.dumps(call_request(4, BLOCKERS, "pass")))
            time.sleep(0.1)
            client.send(json.dumps({"jsonrpc": "2.0", "id": 5, "method": "control",
                                    "params": {"method": "cancel", "args": [{"name": "id", "value": 4}]}}))
            client.receive(), client.receive()
        with BinaryClient(self.peer) as client:
            client.send(call_message("java.lang.Thread", "sleep", 250))
            client.send(call_message("java.lang.Thread", "sleep", 250))
            client.receive(), client.receive()
        self.connect().call(BLOCKERS, "open")
        lines = [line for line in self.lines() if line["event"] in ("end", "answered") and line.get("channel") != "WEBSOCKET_RPC"]
        self.assertIn("answered", {line["event"] for line in lines})
        self.assertIn("cancel", {line.get("member") for line in lines})
        self.assertEqual([], [line for line in lines if line.get("channel") != "ZMQ_SOCKET_RPC" or line.get("principal") != "owner"
                              or not {"session", "address"} <= line.keys() or not {"operation", "method"} & line.keys()])

    def test_limits_and_lost_threads(self):
        self.audited("--lost-threads-max", "0", "--session-max-objects", "1", "--message-max", "1000", "--grace", "100ms")
        client = self.client
        client.new(CALCULATOR)
        self.check(lambda: client.new(CALCULATOR), outcome="limit", operation="new")
        self.check(lambda: client.exchange(json.dumps(call_request(1, BLOCKERS, "x" * 2000))), outcome="invalid",
                   reason="The message passes the limit message-max of 1000 bytes")
        self.check(lambda: client.request("call", {"type": BLOCKERS, "method": "running"}, epoch="0" * 16), outcome="stale")
        answer = client.request("call", {"type": BLOCKERS, "method": "passStubbornly", "args": []}, options={"timeout": 50})
        self.assertEqual(answer["error"]["data"]["reason"], "timeout")
        self.await_event("answered", method="call", outcome="timeout")
        self.peer.await_stderr("its thread is lost")
        self.check(lambda: client.request("call", {"type": CALCULATOR, "method": "add", "args": [1, 2]}),
                   outcome="refused", method="call", principal="owner")

    def test_values_are_in_the_lines_on_request_only(self):
        for options, values, message in (((), None, None), (("--audit-values",), ["secret"], "secret")):
            self.path = self.folder / f"{len(options)}.json"
            self.audited(*options)
            attempt(self.client.call, "fixtures.Throwables", "plain", "secret")
            self.assertEqual((self.last().get("values"), self.last().get("message")), (values, message))
            attempt(self.client.call, "fixtures.Throwables", "plain", "x" * 5000)
            self.assertEqual(self.last().get("values"), values and ["..."])
            attempt(self.client.call, "fixtures.Throwables", "plain", "a\u2028\u202e\x7f\x9b\u00e9")
            self.assertEqual(self.last().get("values"), values and ["a\u2028\u202e\x7f\x9b\u00e9"])
            self.assertEqual("\u00e9" in self.path.read_text(encoding="utf-8"), bool(options))
            self.assertNotRegex(self.path.read_text(encoding="utf-8"), "[\u2028\u202e\x7f\x9b]")
            self.assertEqual("secret" in self.path.read_text(encoding="utf-8"), bool(options))


class Others(Audited):
    def test_connections_refusals_and_reloads_have_lines(self):
        principals = self.folder / "principals.yaml"
        principals.write_text(FILE, encoding="utf-8")
        principals.chmod(0o600)
        self.audited("--principals", principals, "--rpc-policy-watch-interval", "50ms", allow=False,
                     addresses=False, *("--json-rpc", "auto"))
        with TokenHttpClient(self.peer, ALICE) as client:
            client.call("java.lang.Math", "abs", -1)
        self.assertEqual(self.last()["principal"], "alice")
        connection = self.last()["connection"]
        self.await_event("connected", connection=connection, address="127.0.0.1")
        self.await_event("disconnected", connection=connection, principal="alice")
        with TokenHttpClient(self.peer, "jp_" + "z" * 43) as client:
            client.post(json.dumps(PING))
        self.assertEqual(self.await_event("refused")["address"], "127.0.0.1")
        self.assertNotIn("z" * 43, self.path.read_text(encoding="utf-8"))
        principals.write_text(FILE + "  - nonsense: 1\n", encoding="utf-8")
        self.assertIn("nonsense", self.await_event("reload", what="principals", outcome="error")["reason"])
        principals.write_text(FILE, encoding="utf-8")
        self.await_event("reload", what="principals", outcome="ok")

    def test_foreign_pages_and_too_many_connections_have_lines(self):
        self.audited("--connections-max", "1")
        self.client.call(*ADD)
        connection = self.await_event("connected")["connection"]  # of self.client
        port = urlsplit(self.peer.address("ws")).port
        with socket.create_connection(("127.0.0.1", port), timeout=10) as one_more:
            one_more.recv(1)
        self.await_event("refused", reason="too many connections (connections-max)", address="127.0.0.1")
        self.client.close()
        self.await_event("disconnected", connection=connection)

        def answer_to(host, origin):
            with contextlib.suppress(ConnectionResetError), socket.create_connection(("127.0.0.1", port), timeout=10) as page:
                page.sendall(f"POST / HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nContent-Length: 0\r\n\r\n".encode())
                return page.recv(1000)
            return b""

        for host, origin, reason in (
                ("localhost", "https://example.com", "web pages of other origins are not served: --allow-origin names exceptions"),
                ("example.com", "http://example.com", "this server listens on a loopback address and is not the Host that was asked for")):
            eventually(lambda h=host, o=origin: b" 403 " in answer_to(h, o), "a page is refused, when the place is free")
            refused = self.await_event("refused", reason=reason)
            self.await_event("connected", connection=refused["connection"])

    def test_reloads_of_policy_and_tls_have_lines(self):
        authority = certificates.Authority(self.folder)
        first, second = (authority.issue(name) for name in ("first", "second"))
        tls = self.folder / "tls"
        tls.mkdir()
        certificates.install(first, tls)
        self.start_with(allow("fixtures.**"), "--audit", self.path, "--tls-cert", tls / "cert.pem", "--tls-key", tls / "key.pem",
                        "--rpc-policy-watch-interval", "50ms")
        policy = self.policy
        policy.write_text("rules: [", encoding="utf-8")
        self.assertIn("policy.yaml:2", self.await_event("reload", what="policy", outcome="error")["reason"])
        policy.write_text("defaultAction: ALLOW\n", encoding="utf-8")
        self.assertEqual(self.await_event("reload", what="policy", outcome="ok")["file"], str(policy))
        certificates.put(second[0], tls / "cert.pem")  # does not fit the key
        self.assertIn("key", self.await_event("reload", what="tls", outcome="error")["reason"])
        certificates.put(second[1], tls / "key.pem")
        self.await_event("reload", what="tls", outcome="ok")

    def test_what_an_operator_reads_has_lines(self):
        principals = self.folder / "principals.yaml"
        principals.touch(0o600)
        principals.write_text(FILE.replace("  - name: alice\n", "  - name: alice\n    metrics: true\n"), encoding="utf-8")
        self.audited("--principals", principals, "--metrics-listen", "auto", "--json-rpc", "auto", allow=False, addresses=False)
        for token, status, name, outcome in ((ALICE, 200, "alice", "ok"), (CAROL, 403, "carol", "denied")):
            self.assertEqual(ask(place_of(self.peer), headers=bearer(token))[0], status)
            self.await_event("end", method="GET /metrics", principal=name, outcome=outcome, channel="HTTP_RPC")
        self.assertEqual(ask(self.peer.address("http"), "/openrpc.json", headers=bearer(BOB))[0], 200)
        self.await_event("end", method="GET /openrpc.json", principal="bob", outcome="ok")
        numbers = [line["connection"] for line in self.events("connected")]
        self.assertEqual(sorted(numbers), list(range(1, len(numbers) + 1)))  # of both kinds of addresses

    def test_the_file_is_for_its_owner_and_no_pipe(self):
        self.path.touch(0o644)
        self.audited()
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o600)
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for path, text in ((pipe, "is a pipe"), (self.folder, "is a folder"), (self.folder / "no" / "file", "No such file")):
            done = run_to_end("run", "--as-service", "--audit", path)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"jpeer run: --audit: {path}", done.stderr)
            self.assertIn(text, done.stderr)
        if os.geteuid() == 0:
            link = self.folder / "link"
            make_link_of_another_user("/dev/null", link)
            self.assertIn("is a link of another user", run_to_end("run", "--as-service", "--audit", link).stderr)
        for options, text in ((("--audit", "-"), "the path of a file"), (("--audit-values",), "needs --audit")):
            done = run_to_end("run", "--as-service", *options)
            self.assertEqual(done.returncode, 2)
            self.assertIn(text, done.stderr)

    def test_the_moved_file_goes_on_while_its_path_cannot_be_used(self):
        self.audited()
        moved = self.folder / "moved"
        self.path.rename(moved)
        rows = [(os.mkfifo, os.unlink, "is a pipe"), (os.mkdir, os.rmdir, "is a folder")]
        if os.geteuid() == 0:
            rows.append((lambda path: make_link_of_another_user("/dev/null", path), os.unlink, "is a link of another user"))
        for make, remove, reason in rows:
            make(self.path)
            before = len(self.lines(moved))
            eventually(lambda: self.client.call(*ADD) and reason in self.peer.stderr(), reason)
            self.assertGreater(len(self.lines(moved)), before)
            remove(self.path)
            eventually(lambda: self.client.call(*ADD) and self.path.exists(), "the path is used")
            moved = self.folder / f"moved {reason}"
            self.path.rename(moved)

    def test_no_line_is_lost_or_doubled_when_the_file_is_moved_under_load(self):
        self.audited()
        moved = []
        stops = threading.Event()
        counts = []

        def call():
            with WebSocketClient(self.peer) as client:
                for count in itertools.count():
                    if stops.is_set():
                        counts.append(count)
                        return
                    client.exchange(json.dumps([call_request(1, *ADD), call_request(2, *ADD)]))
        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(5):
            eventually(self.path.exists, "the file is opened anew")
            time.sleep(0.1)
            moved.append(self.folder / f"audit.{number}")
            self.path.rename(moved[-1])
        eventually(self.path.exists, "the file is opened anew")
        stops.set()
        for thread in threads:
            thread.join()
        self.peer.stop()
        lines = self.lines(*moved, self.path)
        self.assert_gapless(lines)
        self.assertEqual(sum(line["event"] == "end" for line in lines), 2 * sum(counts))
        used = [line for line in self.lines(self.path) if line["event"] == "used"]
        self.assertEqual([line["member"] for line in used], ["add"])  # each file has all that was used

    def test_operations_go_on_or_stop_while_the_disk_is_full(self):
        self.path = Path("/dev/full")
        self.audited()
        self.assertEqual(self.client.call(*ADD), "3")
        self.peer.await_stderr("the audit cannot be written: /dev/full: No space left on device: operations go on")
        self.audited("--audit-on-error", "stop")
        for client in self.each(WebSocketClient, HttpClient, ZmqClient):
            error = self.assert_fails(FAILED, "because the audit cannot be written", client.call, *ADD)
            self.assertEqual(error.data["reason"], "audit")

    def test_it_is_written_again_also_if_no_further_line_could_be_kept(self):
        link, good = self.folder / "link", self.folder / "good.json"

        def point_to(path):
            new = self.folder / "new"
            new.symlink_to(path)
            new.replace(link)
        good.touch()
        point_to(good)
        self.path = link
        self.audited()
        batch = json.dumps([call_request(1, *ADD)] * 500)
        calls = itertools.count(1)

        def notices():
            next(calls)
            self.client.call(*ADD)
            return "the audit cannot be written" in self.peer.stderr()
        self.client.call(*ADD)
        self.await_event("connected")
        point_to("/dev/full")
        eventually(notices, "the path is looked up now and then")
        for _ in range(12):
            self.client.exchange(batch)
        point_to(good)
        self.peer.await_stderr("the audit is written again")
        self.await_event("lost")
        self.peer.stop()
        lines = self.lines(good)
        lost = sum(line.get("count", 0) for line in lines if line["event"] == "lost")
        self.assertEqual(lines[-1]["seq"], len(lines) + lost)
        self.assertEqual(lost + sum(line["event"] == "end" for line in lines), 6000 + next(calls))

    def test_the_lines_of_a_full_disk_are_written_later(self):
        link = self.folder / "link"
        link.symlink_to("/dev/full")
        self.path = link
        self.audited("--audit-on-error", "stop")
        self.assert_fails(FAILED, "audit", self.client.call, *ADD)
        good = self.folder / "good.json"
        good.touch()
        link.unlink()
        link.symlink_to(good)
        eventually(lambda: not isinstance(attempt(self.client.call, *ADD), RpcError), "operations run again")
        self.peer.stop()
        lines = self.lines(good)
        self.assert_gapless(lines)
        self.assertEqual([line["outcome"] for line in lines if line["event"] == "end"][-1], "ok")
        self.assertIn("audit", [line.get("outcome") for line in lines])


SLOW_WRITE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
ssize_t write(int fd, const void *data, size_t size)
{
  static ssize_t (*next)(int, const void *, size_t);
  struct stat facts, audit;
  if (next == NULL)
    next = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
  while (access(getenv("SLOW_WHILE"), F_OK) == 0 && fstat(fd, &facts) == 0 && stat(getenv("SLOW_FILE"), &audit) == 0 &&
         facts.st_ino == audit.st_ino)
    usleep(10000);
  return next(fd, data, size);
}
"""


@unittest.skipIf(b"libasan" in BINARY.read_bytes(), "ASan's library has to be loaded before all others")
class Hanging(Audited):
    """A write(2) of the audit that does not return holds up the requests with lines only."""

    def setUp(self):
        super().setUp()
        library, self.hangs = self.folder / "slow.so", self.folder / "hangs"
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=SLOW_WRITE, text=True, check=True)
        self.audited(env=environment(LD_PRELOAD=str(library), SLOW_WHILE=str(self.hangs), SLOW_FILE=str(self.path)))

    def assert_monitored(self):
        place = self.peer.address("http")
        with socket.create_connection((urlsplit(place).hostname, urlsplit(place).port)):
            for path in ("/healthz", "/metrics", "/healthz"):
                self.assertEqual(ask(place, path)[0], 200, path)

    def test_health_and_metrics_are_answered_while_a_write_hangs(self):
        clients = [self.connect() for _ in range(3)]
        for client in clients:
            client.call(*ADD)
        self.hangs.touch()
        for number, client in enumerate(clients):
            client.send(json.dumps(call_request(number, *ADD)))
        self.assert_monitored()
        self.hangs.unlink()
        for number, client in enumerate(clients):
            self.assertEqual(json.loads(client.receive())["id"], number)
        self.peer.stop()
        self.assert_gapless(self.lines())

    def test_answers_over_zeromq_wait_and_hold_up_nobody(self):
        client, steering = self.connect(ZmqClient), self.connect()
        for number, arguments in enumerate([(BLOCKERS, "pass"), ADD, (BLOCKERS, "pass")]):
            client.send(json.dumps(call_request(number, *arguments)))
        await_running(steering, 1)
        self.hangs.touch()
        steering.send(json.dumps(call_request(9, BLOCKERS, "open")))
        self.assert_monitored()
        self.assertEqual(client.socket.poll(500), 0, "an answer has left before its line was written")
        self.hangs.unlink()
        self.assertEqual([json.loads(client.receive())["id"] for _ in range(2)], [0, 1])
        steering.receive()
        await_running(steering, 1)
        steering.call(BLOCKERS, "open")
        self.assertEqual(json.loads(client.receive())["id"], 2)


class SharedWrites(Audited):
    """While events wait, the answers of several connections leave together, after one write of their lines."""

    def setUp(self):
        super().setUp()
        self.audited("--rpc-threads", "1", "--rpc-threads-max", "1", "--body-timeout", "1s", sockets=True)
        # so many that the member surely looks for a backlog, and that the last eight do not end with one of them
        self.busy, self.slow, *self.clients = (self.enterContext(RawWebSocket(self.peer)) for _ in range(30))

    @staticmethod
    def begin(clients, request):
        """Sends the first bytes of a request one by one: each turn is short, however slow the machine is. Returns the rest."""
        whole = frame(json.dumps(request))
        for i in range(6):
            for client in clients:
                client.socket.sendall(whole[i:i + 1])
            time.sleep(0.01)
        return whole[6:]

    def send_together(self, *more):
        """All clients send a request while the only thread is busy, so briefly that the watcher serves none."""
        rest = self.begin(self.clients, call_request(1, *ADD))
        self.busy.send(json.dumps(call_request(1, BLOCKERS, "sleep", 4)))
        for client in self.clients:
            client.socket.sendall(rest)
        for client, data in more:
            client.socket.sendall(data)

    def test_no_answer_precedes_its_line(self):
        eventually(lambda: len(self.events("connected")) == 30, "no answer waits for these lines")
        numbers = sorted(line["connection"] for line in self.events("connected"))[2:]
        for answers in range(1, 4):
            self.send_together()
            for number, client in zip(numbers, self.clients, strict=True):
                client.receive()
                self.assertEqual(len(self.events("end", connection=number)), answers)

    def test_a_call_that_lasts_does_not_hold_up_the_answers_before_it(self):
        sleep = call_request(2, BLOCKERS, "sleep", 1500)
        self.send_together((self.slow, self.begin([self.slow], sleep)))
        for client in self.clients:
            client.receive()
        self.slow.socket.settimeout(0.1)
        with self.assertRaises(TimeoutError, msg="the call is over"):
            self.slow.receive()

    def test_a_client_with_much_to_do_does_not_hold_up_the_answers_before_it(self):
        before = []  # answers to that client when another has got its own
        sleep = call_request(2, BLOCKERS, "sleep", 1)
        for _ in range(5):
            long = self.enterContext(RawWebSocket(self.peer))
            self.send_together((long, self.begin([long], sleep) + frame(json.dumps(sleep)) * 40))
            self.clients[-1].receive()
            before.append(long.socket.recv(1 << 16, socket.MSG_DONTWAIT | socket.MSG_PEEK).count(b'"id"'))
            for client in self.clients[:-1]:
                client.receive()
        self.assertLess(statistics.median(before), 3, before)

    def test_a_client_that_reads_nothing_is_not_kept_by_what_it_sends(self):
        texts = json.dumps(call_request(2, "java.lang.String", "valueOf", "x" * 30000))
        before, unread = -1, 0
        while unread > before:  # the last answer has no room in the socket
            self.slow.send(texts)
            time.sleep(0.05)
            before, unread = unread, struct.unpack("i", fcntl.ioctl(self.slow.socket, termios.FIONREAD, b"1234"))[0]
        began = time.monotonic()
        with self.assertRaises(ConnectionError, msg="the connection goes on"):
            while time.monotonic() < began + 5:
                self.send_together((self.slow, self.begin([self.slow], call_request(3, *ADD))))
                for client in self.clients:
                    client.receive()

    def test_clients_that_leave_hold_up_nobody(self):
        self.send_together((self.slow, frame(json.dumps(call_request(2, *ADD))) * 16))
        for client in self.clients[::3]:
            client.close()
        for client in self.clients[1::3]:
            client.socket.shutdown(socket.SHUT_WR)
        for client in (*self.clients[1::3], *self.clients[2::3]):
            self.assertEqual(json.loads(client.receive())["id"], 1)
        self.assertEqual([json.loads(self.slow.receive())["id"] for _ in range(16)], [2] * 16)
        self.peer.stop()
        self.assert_gapless(self.lines())


class Learning(Audited):
    """--policy-mode observe, jpeer policy suggest, and what its policy allows."""

    def traffic(self):
        """What an application does, by every door. Returns what it has got."""
        client, results = self.connect(), []
        results.append(client.call(*ADD))
        fields = client.new(FIELDS)
        results += [client.get(FIELDS, "aByte", on=fields), client.put(FIELDS, "aByte", 3, on=fields),
                    client.get(FIELDS, "aStatic")]
        numbers = client.new("java.util.ArrayList", typed("java.util.Set", [3, 4]))
        results.append(client.request("call", {"instance": numbers, "method": "size", "args": []})["result"]["value"])
        results.append(client.request("jpeer.fetch", {"instance": numbers, "max": 10})["result"])
        results.append(client.call("fixtures.Arguments", "takeColor", typed("fixtures.Color", "RED")))
        colors = client.call("fixtures.Color", "values")
        results.append(client.request("get", {"type": "fixtures.Color[]", "field": "[0]", "instance": colors})["result"]["value"])
        results.append(own_name(client, "fixtures.OddCollections.listsThatShare"))  # lists of a class of its own
        results.append(own_name(client, "fixtures.OddCollections.sizeIsTooSmall"))
        results.append("error" in client.request("jpeer.describe", {"type": "fixtures.Shelf"}))
        proxy = self.connect(CallbackClient)
        results.append(proxy.call(CALLING, "here", proxy.give(lambda call: "called")))
        client.control("gc")
        with HttpClient(self.peer) as other:
            results.append(other.call(CALCULATOR, "addLong", 1, 2))
        with BinaryClient(self.peer) as other:
            results.append(other.call(CALCULATOR, "addDouble", 1.0, 2.0))
        return results

    def test_what_was_used_is_allowed_and_nothing_else(self):
        self.audited("--policy-mode", "observe", "--rpc-policy-preset", "deny-unsafe", "--rpc-policy",
                     self.make_policy(allow(CALCULATOR, method="add")), allow=False)
        self.assertIn("it is observed and not enforced", self.peer.stderr())
        wanted = self.traffic()
        self.assert_denied(self.connect().call, "java.lang.System", "exit", 0)  # by the preset
        observed = self.await_event("end", member=f"{CALCULATOR}.addLong")
        self.assertEqual((observed["verdict"], observed["rule"]), ("OBSERVED", "default action"))
        self.assertEqual(self.events("end", member=f"{CALCULATOR}.add")[0]["verdict"], "ALLOW")
        self.assertEqual(self.peer.stderr().count(f'class="{CALCULATOR}" member="addLong" rule="default action"'), 1)
        self.assertNotIn('member="add" ', self.peer.stderr())
        self.peer.stop()
        policy = self.folder / "learnt.yaml"
        policy.write_text(learnt.suggest(self.path), encoding="utf-8")
        self.assertGreater(learnt.check(policy, [self.path], FIXTURES), 300)
        self.assertIn("good\n", run_to_end("policy", "check", policy).stdout)
        self.start("--rpc-policy", policy, allow=False)
        self.assertEqual(self.traffic(), wanted)
        client = self.connect()
        for arguments in ((CALCULATOR, "addLong", 1, 2),  # used over HTTP only
                          (CALCULATOR, "accumulate", 1), ("java.lang.System", "exit", 0), ("java.util.ArrayList", "of"),
                          ("fixtures.Throwables", "plain", "x")):
            self.assert_denied(client.call, *arguments)
        self.assert_denied(client.get, FIELDS, "aLong", on=client.new(FIELDS))
        self.assert_denied(client.new, CALCULATOR)
        self.assertEqual(learnt.suggest(*[self.path] * 2), policy.read_text(encoding="utf-8"))

    def test_names_that_were_never_resolved_are_not_learnt(self):
        self.audited("--policy-mode", "observe", allow=False)
        client = self.client
        missing = "fixtures.Missing"
        for arguments in (("fixtures.Arguments", "takeColor", typed(missing, "RED")),
                          ("fixtures.Arguments", "takeColor", typed("fixtures.Color", "NOBODY")),
                          ("java.util.Objects", "hash", [typed(missing, 1)]),
                          ("java.util.Objects", "toString", typed("java.lang.Class", missing))):
            self.assertIsInstance(attempt(client.call, *arguments), RpcError, arguments)
        client.request("jpeer.describe", {"type": missing})
        proxy = self.connect(CallbackClient)
        attempt(proxy.call, CALLING, "here", proxy.give(lambda call: typed(missing, 1)))
        text = learnt.suggest(self.path)
        self.assertNotIn(missing, text)
        self.assertNotIn("NOBODY", text)
        # A failed call has been judged; the names of one that succeeds are learnt all the same.
        client.call("fixtures.Arguments", "takeColor", typed("fixtures.Color", "RED"))
        self.assertEqual(client.call("java.util.Objects", "toString", typed("java.lang.Class", "fixtures.Color")),
                         "class fixtures.Color")
        client.call("java.util.Objects", "hash", [typed("fixtures.Color", "RED")])
        text = learnt.suggest(self.path)
        self.assertIn('class: "fixtures.Color"\n    method: "RED"', text)
        self.assertIn('class: "fixtures.Color"\n    method: "class"', text)

    def test_what_the_policy_would_deny_is_allowed_unless_a_preset_denies(self):
        self.audited("--policy-mode", "observe", "--rpc-policy-preset", "deny-unsafe", "--rpc-policy", self.make_policy(
            deny("java.lang.System") + deny("fixtures.**") + allow("java.util.**")), allow=False)
        client = self.client
        self.assertEqual(client.call(*ADD), "3")
        self.assertEqual(self.last()["rule"], "rule 2 (policy.yaml:4)")
        self.assert_denied(client.call, "java.lang.System", "exit", 0)
        self.assertEqual(self.last()["rule"], "preset deny-unsafe")
        self.assert_denied(client.call, "jpeer.peer.Traces", "of")
        client.call("java.lang.System", "nanoTime")
        self.assertEqual(self.last()["verdict"], "OBSERVED")

    def test_it_is_for_loopback_and_unix_sockets(self):
        for address in ("--json-rpc", "--zmq-rpc"):
            done = run_to_end("run", "--as-service", "--policy-mode", "observe", "--insecure-listen", address, "0.0.0.0:auto")
            self.assertEqual(done.returncode, 2)
            self.assertIn("--policy-mode observe is for loopback addresses and Unix sockets only", done.stderr)

    def test_files_that_are_no_audit(self):
        good = {"seq": 1, "event": "used", "channel": "HTTP_RPC", "kind": "METHOD", "visibility": "PUBLIC",
                "class": "a.B$$Lambda/0x7f", "member": "run"}
        self.path.write_text(json.dumps(good) + '\n{"seq":2,"ev', encoding="utf-8")
        done = run_to_end("policy", "suggest", self.path)
        self.assertIn('class: "a.B$$Lambda*"\n    method: "run"\n    action: ALLOW\n    channel: [HTTP_RPC]\n', done.stdout)
        self.assertIn("audit.json:2: warning: the line is not whole", done.stderr)
        self.audited(allow=False)  # the torn line swallows none
        self.peer.stop()
        self.assertIn('\n{"seq":1,"time":', self.path.read_text(encoding="utf-8").split('{"seq":2,"ev')[1])
        done = run_to_end("policy", "suggest", self.path)
        self.assertEqual((done.returncode, done.stdout.count("- class")), (0, 1))
        self.path.write_text('{"event":"lost","count":1}\n{"event":"unnoted","count":1}\n', encoding="utf-8")
        done = run_to_end("policy", "suggest", self.path)
        self.assertIn("not all that was used was noted", done.stderr)
        self.assertIn("lines were lost", done.stderr)
        for text, reason in (("{}\n", "1: no line of an audit"), ("x\n", "1: byte 1:"),
                             (json.dumps({**good, "kind": "X"}) + "\n", "1: unknown member category 'X'"),
                             (json.dumps({**good, "member": 1}) + "\n", "1: the line has no text 'member'")):
            self.path.write_text(text, encoding="utf-8")
            done = run_to_end("policy", "suggest", self.path)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"jpeer policy suggest: {self.path}:{reason}", done.stderr)
        self.path.write_text(json.dumps(good) + "\n", encoding="utf-8")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([BINARY, "policy", "suggest", self.path], stdout=full, stderr=subprocess.PIPE, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be written: No space left on device", done.stderr)
        with open(self.path, "a", encoding="utf-8") as file:
            file.truncate(1 << 40)  # a hole: a line without an end
        for path, number in ((self.path, 2), ("/dev/zero", 1)):
            done = run_to_end("policy", "suggest", path)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{path}:{number}: the line has more than 1048576 bytes: no line of an audit", done.stderr)
        self.assertEqual(run_to_end("policy", "suggest").returncode, 2)
        self.assertEqual(run_to_end("policy", "suggest", self.folder / "no").returncode, 1)


if __name__ == "__main__":
    unittest.main()
