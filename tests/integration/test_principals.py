"""Principals of the real peer: who may come in, with which rights and limits, and what a reload ends."""

import contextlib
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import websockets.exceptions

from support import certificates, principals, shm
from support.callback_client import CallbackClient
from support.clients import (SECONDS, WHOAMI, HttpClient, RpcError, ShmClient, UnixZmqClient, call_request,
                             fetch, own_name, request, whoami)
from support.other_users import CAN_BECOME, CANNOT_BECOME, ask_zmq, become, curl
from support.peer import BINARY, BUILD, eventually, run_to_end
from support.peer_case import DENIED, FAILED
from support.principals import (ALICE, BOB, CAROL, DAVE, FILE, GROUP, LISTED, UNLISTED, Principals, TokenHttpClient, bearer,
                                by, digest)

NOBODY = "this peer serves its principals only"


class Admission(Principals):
    def test_a_listed_token_comes_in_and_anything_else_is_refused(self):
        peer = self.serve()
        url = peer.address("http")
        for who, arguments, expected in (
                ("no evidence", (), 401),
                ("a token", ("-H", "Authorization: Bearer " + ALICE), "alice"),
                ("another one", ("-H", "authorization: bearer " + BOB), "bob"),
                ("a wrong one", ("-H", "Authorization: Bearer " + ALICE[:-1]), 401),
                ("an empty one", ("-H", "Authorization: Bearer "), 401),
                ("the hash", ("-H", "Authorization: Bearer " + digest(ALICE)), 401),
                ("another scheme", ("-H", "Authorization: Basic " + ALICE), 401),
                ("two", ("-H", "Authorization: Bearer " + ALICE, "-H", "Authorization: Bearer " + BOB), 400),
                ("in the URL", ("--url-query", "access_token=" + ALICE), 401)):
            with self.subTest(who=who, over="unix"):
                self.assertEqual(self.status(*arguments), expected)
            with self.subTest(who=who, over="tcp"):
                done = subprocess.run(["curl", "-s", "-m", str(SECONDS), "-H", "Content-Type: application/json", "-d",
                                       json.dumps(WHOAMI), "-w", "%{http_code}", *arguments, url],
                                      capture_output=True, text=True, check=False, timeout=SECONDS)
                self.assertIn(f'\\"{expected}\\"' if isinstance(expected, str) else str(expected), done.stdout)
        for token in (ALICE, BOB, CAROL):
            self.assertNotIn(token, peer.stderr())

    @unittest.skipUnless(CAN_BECOME, CANNOT_BECOME)
    def test_listed_users_and_groups_come_in_and_a_token_counts_first(self):
        self.serve()
        token = ("-H", "Authorization: Bearer ")
        for who, before, arguments, expected in (
                ("a listed user", become(LISTED, LISTED), (), "bob"),
                ("another one", become(UNLISTED, UNLISTED), (), 401),
                ("a group", become(UNLISTED, GROUP), (), "carol"),
                ("a supplementary group", become(UNLISTED, UNLISTED, 7, GROUP), (), "carol"),
                ("the user before the group", become(LISTED, GROUP), (), "bob"),
                ("a token before the user", become(LISTED, LISTED), (token[0], token[1] + ALICE), "alice"),
                ("a token alone", become(UNLISTED, UNLISTED), (token[0], token[1] + ALICE), "alice"),
                ("a wrong token of a listed user", become(LISTED, LISTED), (token[0], token[1] + "x"), 401)):
            with self.subTest(who=who):
                self.assertEqual(self.status(*arguments, before=before), expected)

    def test_a_client_without_evidence_is_the_anonymous_principal(self):
        self.serve(FILE + "  - {name: guest, anonymous: true, allow: ['jdk:java.lang.Math']}\n", "--zmq-rpc", "auto")
        self.assertEqual(self.status(), "guest")
        self.assertEqual(self.status("-H", "Authorization: Bearer x"), 401)
        with UnixZmqClient(self.peer) as client:
            self.assertEqual(whoami(client)["principal"], "guest")
            self.assertEqual(client.call("java.lang.Math", "max", 1, 2), "2")
            self.assert_denied(client.call, "java.lang.Integer", "valueOf", 1)

    def assert_denied(self, call, *arguments):
        with self.assertRaises(RpcError) as raised:
            call(*arguments)
        self.assertEqual(raised.exception.code, DENIED)

    def test_each_request_of_a_connection_shows_its_own_evidence(self):
        peer = self.serve(FILE, "--rpc-threads", "1")
        address = urlsplit(peer.address("http"))
        body = json.dumps(WHOAMI)

        def head(*fields):
            return "".join(["POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n",
                            *(field + "\r\n" for field in fields), f"Content-Length: {len(body)}\r\n\r\n", body])
        tokens = (ALICE, BOB, ALICE, CAROL, BOB, BOB)
        with socket.create_connection((address.hostname, address.port), timeout=SECONDS) as client:
            client.sendall("".join([*(head("Authorization: Bearer " + token) for token in tokens), head()]).encode())
            received = b""
            while b" 401 " not in received or NOBODY.encode() not in received:
                more = client.recv(65536)
                self.assertTrue(more, received)
                received += more
        self.assertEqual(re.findall(rb'principal\\":\\"(\w+)', received),
                         [b"alice", b"bob", b"alice", b"carol", b"bob", b"bob"])

    def test_the_body_of_a_stranger_is_not_read(self):
        peer = self.serve()
        address = urlsplit(peer.address("http"))
        with socket.create_connection((address.hostname, address.port), timeout=SECONDS) as client:
            client.sendall(b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
            self.assertTrue(client.recv(65536).startswith(b"HTTP/1.1 401 "))

    def test_a_page_may_send_a_token(self):
        self.serve(FILE, "--allow-origin", "https://app.test")
        with HttpClient(self.peer) as client:
            client.connection.request("OPTIONS", "/rpc", headers={
                "Origin": "https://app.test", "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization"})
            response = client.connection.getresponse()
            self.assertEqual(response.status, 204)
            self.assertIn("authorization", response.getheader("Access-Control-Allow-Headers"))


class Rights(Principals):
    def assert_code(self, code, words, call, *arguments, **more):
        with self.assertRaises(RpcError) as raised:
            call(*arguments, **more)
        self.assertEqual(raised.exception.code, code, raised.exception)
        self.assertIn(words, str(raised.exception) + raised.exception.detail)

    def test_each_principal_has_rights_of_its_own(self):
        self.serve(FILE, "--rpc-threads", "1")
        client = self.http(ALICE)
        for _ in range(3):  # the one thread keeps the members, and the verdicts of each policy
            for token, member, is_allowed in (
                    (ALICE, "java.lang.Math", True), (BOB, "java.lang.Math", True),
                    (ALICE, "java.lang.Integer", False), (BOB, "java.lang.Integer", True),
                    (CAROL, "java.lang.Integer", True), (CAROL, "java.lang.Runtime", False),
                    (BOB, "java.lang.Runtime", True)):
                client.token = token
                call = {"java.lang.Math": ("abs", 1), "java.lang.Integer": ("parseInt", "1"),
                        "java.lang.Runtime": ("getRuntime",)}[member]
                with self.subTest(token=token[-1], member=member):
                    if member == "java.lang.Runtime":
                        ref = client.call(member, *call)
                        call = ("load", "/nowhere.so")
                        code = DENIED if not is_allowed else FAILED
                        with self.assertRaises(RpcError) as raised:
                            client.call(member, *call, on=ref)
                        self.assertEqual(raised.exception.code, code)
                    elif is_allowed:
                        self.assertEqual(client.call(member, *call), "1")
                    else:
                        self.assert_code(DENIED, member, client.call, member, *call)

    def test_a_session_is_its_principals(self):
        self.serve()
        alice = self.http(ALICE)
        ref = alice.new("java.util.ArrayList")
        self.assertIsNotNone(alice.peer_id)
        bob = self.http(BOB, alice.peer_id)
        self.assert_code(FAILED, str(ref), bob.call, "java.util.ArrayList", "size", on=ref)
        bob.control("delete_session")
        self.assertEqual(alice.call("java.util.ArrayList", "size", on=ref), "0")
        shared = self.websocket(ALICE)
        ref = shared.new("java.util.ArrayList")
        name = shared.control("share_session")["value"]
        self.assert_code(FAILED, str(ref), self.http(BOB, name).call, "java.util.ArrayList", "size", on=ref)
        self.assertEqual(self.http(ALICE, name).call("java.util.ArrayList", "size", on=ref), "0")

    def test_a_callback_is_of_the_principal_that_has_given_it(self):
        self.serve(FILE.replace('allow: ["jdk:java.lang.Math"', 'allow: ["fixtures.Calling", "jdk:java.util.concurrent.Callable"'))
        alice, bob = (CallbackClient(self.peer, bearer(token)) for token in (ALICE, BOB))
        alice.end(alice.begin_call("fixtures.Calling", "keep", "hers", alice.give()))
        asked = bob.begin_call("fixtures.Calling", "callKept", "hers")
        call = alice.await_call()  # on the thread of bob's call
        nested = alice.begin_call("java.lang.Integer", "parseInt", "1", within=call.id)
        self.assert_code(DENIED, "Integer", alice.end, nested)
        number = alice.begin("control", {"method": "whoami"})
        call.answer("done")
        self.assertEqual(json.loads(alice.end(number))["principal"], "alice")
        self.assertIn("done", bob.end(asked))
        self.assertEqual(bob.call("java.lang.Integer", "parseInt", "1"), "1")

    def test_limits_name_themselves(self):
        self.serve()
        alice, bob = self.websocket(ALICE), self.websocket(BOB)
        for _ in range(4):
            alice.new("java.util.ArrayList")
        self.assert_code(FAILED, "limits.objects", alice.new, "java.util.ArrayList")
        bob.new("java.util.ArrayList")
        alice.control("delete_session")
        alice.new("java.util.ArrayList")
        second = self.websocket(ALICE)
        second.new("java.util.ArrayList")
        third = self.websocket(ALICE)
        self.assert_code(FAILED, "limits.sessions", third.new, "java.util.ArrayList")
        status, content = curl(self.peer.socket_path("http+unix"), "-H", "Authorization: Bearer " + ALICE)
        self.assertEqual((status, "limits.connections" in content), (503, True), content)
        third.close()
        eventually(lambda: self.status("-H", "Authorization: Bearer " + ALICE) == "alice", "room for a connection")

    def test_calls_are_limited(self):
        self.serve()
        alice, second, bob = self.websocket(ALICE), self.websocket(ALICE), self.websocket(BOB)
        alice.send(json.dumps(call_request(7, "java.lang.Thread", "sleep", 60000)))
        eventually(lambda: "Thread.sleep" in bob.control("calls")["value"], "the call in the list")
        self.assert_code(FAILED, "limits.calls", second.call, "java.lang.Math", "abs", 1)
        self.assertEqual(bob.call("java.lang.Math", "abs", 1), "1")
        alice.send(json.dumps(request(8, "control", {"method": "cancel", "args": [{"name": "id", "value": 7}]})))
        self.assertEqual({json.loads(alice.receive())["id"] for _ in range(2)}, {7, 8})
        # a call that is slow to end is answered before that
        eventually(lambda: not self.is_refused(second), "the end of the call")

    @staticmethod
    def is_refused(client):
        try:
            client.call("java.lang.Math", "abs", 1)
        except RpcError as error:
            return "limits.calls" in error.detail
        return False

    def test_admin_sees_and_ends_what_others_have(self):
        self.serve()
        alice, bob, carol = self.websocket(ALICE), self.websocket(BOB), self.websocket(CAROL)
        sleep = {"jsonrpc": "2.0", "id": 7, "method": "call",
                 "params": {"type": "java.lang.Thread", "method": "sleep", "args": [60000]}}
        alice.send(json.dumps(sleep))
        eventually(lambda: "Thread.sleep" in bob.control("calls")["value"], "the call in the list")
        listed, = [call for call in json.loads(bob.control("calls")["value"]) if call["member"]]
        self.assertEqual(listed["principal"], "alice")
        self.assert_code(DENIED, "admin", carol.control, "calls")
        number = {"name": "call", "value": listed["call"]}
        self.assert_code(DENIED, "admin", carol.control, "cancel", number)
        # read ahead, while a call of carol's own runs
        carol.send(json.dumps(sleep))
        carol.send(json.dumps({"jsonrpc": "2.0", "id": 8, "method": "control",
                               "params": {"method": "cancel", "args": [number]}}))
        time.sleep(0.3)
        self.assertIn(listed["call"], [call["call"] for call in json.loads(bob.control("calls")["value"])])
        self.assertEqual(bob.control("cancel", number)["value"], "true")
        self.assertIn("error", json.loads(alice.receive()))
        carol.send('{"jsonrpc":"2.0","id":9,"method":"control","params":{"method":"cancel",'
                   '"args":[{"name":"id","value":7}]}}')
        answers = {json.loads(carol.receive())["id"] for _ in range(3)}
        self.assertEqual(answers, {7, 8, 9})


# ---- who x what: the table of docs/security.md ----

class WhoAndWhat(principals.PrincipalsTable):
    def http(self, token, peer_id=None):
        return self.row.enter_context(TokenHttpClient(self.peer, token, peer_id))

    def https(self, *arguments, cert=None, path="/rpc", body=WHOAMI):
        """curl: the name of the principal, the status, or "no TLS"."""
        pair = self.pairs.get(cert)
        done = subprocess.run(
            ["curl", "-s", "-m", str(SECONDS), "--cacert", self.ca.certificate, "-w", "\n%{http_code}", "-H",
             "Content-Type: application/json", *(("-d", json.dumps(body)) if body else ()), *arguments,
             *(("--cert", pair[0], "--key", pair[1]) if pair else ()), self.peer.address("https").removesuffix("/rpc") + path],
            capture_output=True, text=True, check=False, timeout=SECONDS)
        return self.outcome(*done.stdout.rpartition("\n")[::2])

    def unix(self, *arguments, user):
        return str(self.status(*arguments, before=self.become(user)))

    def raw(self, *heads):
        """Sends the requests at once on one connection. Returns the principal or the status of each answer."""
        address, body = urlsplit(self.peer.address("https")), json.dumps(WHOAMI)
        text = "".join(f"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{head}"
                       f"Content-Length: {len(body)}\r\n\r\n{body}" for head in heads)
        received = b""
        with socket.create_connection((address.hostname, address.port), timeout=SECONDS) as plain, \
                self.peer.tls.wrap_socket(plain, server_hostname="localhost") as client:
            client.sendall(text.encode())
            while len(found := re.findall(rb'principal\\":\\"(\w+)|HTTP/1.1 (4\d\d)', received)) < len(heads):
                more = client.recv(65536)
                if not more:
                    break
                received += more
        return ", ".join((name or status).decode() for name, status in found)

    def zmq(self, user):
        answer = ask_zmq(self.peer.address("ipc"), json.dumps(WHOAMI), before=self.become(user))
        return re.search(r'principal\\":\\"(\w+)|"code":(-\d+)', answer).expand(r"\1\2")

    def library(self, token):
        """The Python package, and so the C library."""
        file = self.folder / "token"
        file.touch(0o600)
        file.write_text(token, encoding="ascii")
        code = "import jpeer, sys; print(jpeer.connect(sys.argv[1], ca_file=sys.argv[2], token_file=sys.argv[3]).java.lang.Math.abs(-7))"
        environ = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
        if b"libasan" in BINARY.read_bytes():  # an extension that was built so needs the library before all others
            library = subprocess.run(["cc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True,
                                     timeout=SECONDS).stdout.strip()
            environ.update(LD_PRELOAD=library, ASAN_OPTIONS="detect_leaks=0")
        done = subprocess.run([sys.executable, "-c", code, self.peer.address("wss"), self.ca.certificate, file], check=False,
                              env=environ, capture_output=True, text=True, timeout=SECONDS)
        return done.stdout.strip() or re.search("401|$", done.stderr).group()

    @staticmethod
    def code(call, *arguments, **more):
        """The error's code, and the limit that its text names."""
        try:
            return str(call(*arguments, **more))
        except RpcError as error:
            return " ".join([str(error.code), *re.findall(r"limits\.\w+", error.detail)])

    # ---- rows of several requests ----

    def expiring(self):
        """A certificate that ends while its connection is open."""
        def ask():
            response, body = client.post(json.dumps(WHOAMI))
            return self.outcome(body, str(response.status))
        found = []
        for seconds in (3, 10, 30):  # on a busy machine the first one has ended before its connection
            end = time.strftime("%y%m%d%H%M%SZ", time.gmtime(time.time() + seconds))
            pair = self.ca.issue("ending", certificates.CLIENT, "200101000000Z", end, subject="alice")
            self.peer.tls = certificates.client_context(self.ca, pair)
            client = self.row.enter_context(HttpClient(self.peer))
            self.peer.tls = certificates.client_context(self.ca)
            with contextlib.suppress(OSError):
                found = [ask()]
            if found == ["alice"]:
                break
        eventually(lambda: found.append(ask()) or found[-1] != "alice", "the end of the certificate")
        return f"{found[0]}, {found[-1]}"

    def of_alice(self, ask, **keep):
        """The code of what bob does with a list of alice, and of what she does with it after that."""
        alice = self.http(ALICE)
        ref = alice.new("java.util.ArrayList")
        self.row.callback(alice.control, "delete_session")
        found = self.code(ask, self.http(BOB, alice.peer_id), ref)
        return f"{found}, {self.code(alice.call, 'java.util.ArrayList', 'size', on=ref)}"

    def shared_name(self):
        alice = self.socket(bearer(ALICE))
        ref = alice.new("java.util.ArrayList")
        name = alice.control("share_session")["value"]
        return self.code(self.http(BOB, name).call, "java.util.ArrayList", "size", on=ref)

    def from_shm(self):
        alice = self.http(ALICE)
        ref = alice.new("java.util.ArrayList")
        self.row.callback(alice.control, "delete_session")
        bob = self.socket({**bearer(BOB), "peer-id": alice.peer_id}, kind=ShmClient)
        return self.code(bob.call, "java.util.ArrayList", "size", on=ref)

    def callback(self):
        alice, bob = (self.socket(bearer(token), kind=CallbackClient) for token in (ALICE, BOB))
        alice.end(alice.begin_call("fixtures.Calling", "keep", "hers", alice.give()))
        asked = bob.begin_call("fixtures.Calling", "callKept", "hers")
        call = alice.await_call()
        found = self.code(alice.end, alice.begin_call("java.lang.Integer", "parseInt", "1", within=call.id))
        call.answer("done")
        bob.end(asked)
        return found

    def sleeping(self, token):
        client = self.socket(bearer(token))
        client.send(json.dumps(call_request(7, "java.lang.Thread", "sleep", 60000)))
        admin = self.socket(bearer(BOB))
        eventually(lambda: "Thread.sleep" in admin.control("calls")["value"], "the call")
        number, = [call["call"] for call in json.loads(admin.control("calls")["value"]) if "Thread.sleep" in str(call["member"])]
        return client, admin, {"name": "call", "value": number}

    def wake(self, sleeper, admin, number):
        """A call that is slow to end is answered before that, and counts until then."""
        admin.control("cancel", number)
        sleeper.receive()
        client = self.socket(bearer(ALICE))
        eventually(lambda: self.code(client.call, "java.lang.Math", "abs", 1) == "1", "the end of the call")

    def cancel(self, by_number):
        sleeper, admin, number = self.sleeping(ALICE)
        carol = self.socket(bearer(CAROL))
        found = self.code(lambda: carol.control("cancel", number if by_number else {"name": "id", "value": 7})["value"])
        self.wake(sleeper, admin, number)
        return found

    def exceed(self, limit):
        if limit == "calls":
            sleeper, admin, number = self.sleeping(ALICE)
            found = self.code(self.http(ALICE).call, "java.lang.Math", "abs", 1)
            self.wake(sleeper, admin, number)
            return found
        if limit == "connections":
            with self.assertRaises(websockets.exceptions.InvalidStatusCode) as raised:
                for _ in range(7):
                    self.socket(bearer(ALICE))
            _, body = self.http(ALICE).post(json.dumps(WHOAMI))
            return f"{raised.exception.status_code} " + re.search(r"limits\.\w+", body.decode()).group()
        clients = [self.socket(bearer(ALICE)) for _ in range(3)]
        if limit == "objects":
            return [self.code(clients[0].new, "java.util.ArrayList") for _ in range(5)][-1]
        return [self.code(client.new, "java.util.ArrayList") for client in clients][-1]

    def after(self, change, client=None, ask=None):
        """What becomes of a client when the file changes."""
        client = client() if client else self.socket(bearer(ALICE))
        found = [ask and self.code(ask, client)]
        self.write(change(self.text))
        if ask is not None:
            eventually(lambda: found.append(self.code(ask, client)) or found[-1] != "alice", "the reload")
        else:
            try:
                found.append(client.receive())
            except websockets.exceptions.ConnectionClosed as error:
                found.append(f"closed with {error.code}")
            except shm.Ended as error:
                found.append(re.search("listed no more|$", str(error)).group())
        self.write(self.text)
        eventually(lambda: self.https(*by(ALICE)) == "alice", "the old file")
        return found[-1]

    def slow_body(self):
        """The rest of a request arrives after the reload."""
        address, body = urlsplit(self.peer.address("https")), json.dumps(WHOAMI)
        with socket.create_connection((address.hostname, address.port), timeout=SECONDS) as plain, \
                self.peer.tls.wrap_socket(plain, server_hostname="localhost") as client:
            client.sendall(f"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: "
                           f"Bearer {ALICE}\r\nContent-Length: {len(body)}\r\n\r\n{body[:9]}".encode())
            return self.after(lambda text: text.replace(digest(ALICE), digest("jp_other")), lambda: self.http(CAROL), lambda _: (
                "alice" if self.https(*by(ALICE)) == "alice" else
                client.sendall(body[9:].encode()) or client.recv(65536).decode().split()[1]))

    ROWS = (
        ("nobody", "a call", "401", lambda t: t.https()),
        ("alice's token", "a call", "alice", lambda t: t.https(*by(ALICE))),
        ("a wrong token", "a call", "401", lambda t: t.https(*by(ALICE[:-1] + "x"))),
        ("the hash of a token, as token", "a call", "401", lambda t: t.https(*by(digest(ALICE)))),
        ("a token in the scheme Basic", "a call", "401", lambda t: t.https("-H", "Authorization: Basic " + ALICE)),
        ("a token in the URL", "a call", "401", lambda t: t.https("--url-query", "access_token=" + ALICE)),
        ("two fields Authorization", "a call", "400", lambda t: t.https(*by(ALICE), *by(BOB))),
        ("a token in a folded field", "a call", "400", lambda t: t.raw(f"Authorization: Bearer\r\n {ALICE}\r\n")),
        ("alice's token", "a length and chunks", "400", lambda t: t.raw(f"Authorization: Bearer {ALICE}\r\nTransfer-Encoding: chunked\r\n")),
        ("nobody", "GET of the description", "401", lambda t: t.https(path="/openrpc.json", body=None)),
        ("nobody", "GET of a call", "401", lambda t: t.https(path="/rpc/java.lang.Math.random", body=None)),
        ("an allowed page", "preflight", "204", lambda t: t.https(
            "-X", "OPTIONS", "-H", "Origin: https://app.test", "-H", "Access-Control-Request-Method: POST", body=None)),
        ("an allowed page without token", "a call", "401", lambda t: t.https("-H", "Origin: https://app.test")),
        ("another page with alice's token", "a call", "403", lambda t: t.https("-H", "Origin: https://evil.test", *by(ALICE))),
        ("two users of a proxy, and one without token", "one connection", "alice, bob, alice, 401", lambda t: t.raw(
            *(f"Authorization: Bearer {token}\r\n" for token in (ALICE, BOB, ALICE)), "")),
        ("alice's certificate, by name", "a call", "alice", lambda t: t.https(cert="alice")),
        ("bob's certificate, by digest", "a call", "bob", lambda t: t.https(cert="bob")),
        ("a certificate that nobody lists", "a call", "401", lambda t: t.https(cert="unlisted")),
        ("a certificate that nobody lists, and alice's token", "a call", "alice", lambda t: t.https(*by(ALICE), cert="unlisted")),
        ("alice's certificate, and bob's token", "a call", "bob", lambda t: t.https(*by(BOB), cert="alice")),
        ("alice's certificate, and a wrong token", "a call", "401", lambda t: t.https(*by("x"), cert="alice")),
        ("an expired certificate, and alice's token", "a call", "no TLS", lambda t: t.https(*by(ALICE), cert="expired")),
        ("alice's certificate, which expires", "HTTP keep-alive", "alice, 401", lambda t: t.expiring()),
        ("a revoked certificate", "a call", "no TLS", lambda t: t.https(cert="revoked")),
        ("a certificate of another CA", "a call", "no TLS", lambda t: t.https(cert="foreign")),
        ("alice's token", "WebSocket", "alice", lambda t: t.knows(headers=bearer(ALICE))),
        ("alice's certificate", "WebSocket", "alice", lambda t: t.knows(cert="alice")),
        ("subprotocols jpeer and alice's token", "WebSocket", "alice", lambda t: t.knows(offer=["jpeer", "jpeer.token." + ALICE])),
        ("subprotocol of alice's token alone", "WebSocket", "400", lambda t: t.knows(offer=["jpeer.token." + ALICE])),
        ("subprotocols jpeer and a wrong token", "WebSocket", "401", lambda t: t.knows(offer=["jpeer", "jpeer.token.x"])),
        ("a token as subprotocol, another as header", "WebSocket", "400", lambda t: t.knows(
            headers=bearer(BOB), offer=["jpeer", "jpeer.token." + ALICE])),
        ("alice's token", "the Python package and the C library", "7", lambda t: t.library(ALICE)),
        ("a wrong token", "the Python package and the C library", "401", lambda t: t.library(ALICE + "x")),
        ("alice's token", "shared memory", "alice", lambda t: t.knows(headers=bearer(ALICE), kind=ShmClient)),
        ("nobody", "shared memory", "401", lambda t: t.knows(kind=ShmClient)),
        ("a listed Unix user", "a call", "bob", lambda t: t.unix(user=LISTED)),
        ("a listed Unix user, and a wrong token", "a call", "401", lambda t: t.unix(*by("x"), user=LISTED)),
        ("another Unix user", "a call", "401", lambda t: t.unix(user=UNLISTED)),
        ("a listed Unix user", "ZeroMQ", "bob", lambda t: t.zmq(LISTED)),
        ("another Unix user", "ZeroMQ", "-32001", lambda t: t.zmq(UNLISTED)),
        ("alice", "a member that is not hers", "-32001", lambda t: t.code(t.http(ALICE).call, "java.lang.Integer", "parseInt", "1")),
        ("alice", "descriptions of a class of hers, and of another", "java.lang.Math", lambda t: ", ".join(
            sorted(each["className"] for each in fetch(t.http(ALICE), "java.lang.Math", "java.lang.Runtime")))),
        ("bob", "alice's peer-id, and her ref", "-32000, 0", lambda t: t.of_alice(
            lambda bob, ref: bob.call("java.util.ArrayList", "size", on=ref))),
        ("bob", "alice's peer-id, and delete_session", "None, 0", lambda t: t.of_alice(lambda bob, ref: bob.control("delete_session"))),
        ("bob", "alice's peer-id, and elements of her list", "-32000, 0", lambda t: t.of_alice(
            lambda bob, ref: own_name(bob, "jpeer.fetch", {"ref": ref}))),
        ("bob", "alice's peer-id over shared memory", "-32000", lambda t: t.from_shm()),
        ("bob", "the name of alice's shared session", "-32000", lambda t: t.shared_name()),
        ("alice", "a call beyond hers, within a callback from bob's call", "-32001", lambda t: t.callback()),
        ("alice's token", "whoami: known by, and limit of calls", f"token {digest(ALICE)[:15]}..., 1", lambda t: (
            lambda found: f"{found['known_by']}, {found['limits']['calls']}")(whoami(t.http(ALICE)))),
        ("carol, no admin", "control calls", "-32001", lambda t: t.code(t.http(CAROL).control, "calls")),
        ("carol, no admin", "cancel alice's call by its number", "-32001", lambda t: t.cancel(True)),
        *((who, "GET of the metrics", status, lambda t, given=given: t.https(*given, path="/metrics", body=None)) for who, status, given in (
            ("carol, no admin", "403", by(CAROL)), ("dave, metrics", "200", by(DAVE)), ("bob, admin", "200", by(BOB)),
            ("nobody", "401", ()))),
        ("a wrong token", "GET of the health", "200", lambda t: t.https(*by("x"), path="/healthz", body=None)),
        ("carol", "cancel with the id of alice's request", "false", lambda t: t.cancel(False)),
        *(("alice", f"more {limit} than hers", f"{code} limits.{limit}", lambda t, limit=limit: t.exceed(limit))
          for limit, code in (("objects", "-32000"), ("sessions", "-32000"), ("calls", "-32000"), ("connections", "503"))),
        ("alice, WebSocket", "her token is listed no more", "closed with 1008", lambda t: t.after(
            lambda text: text.replace(digest(ALICE), digest("jp_other")))),
        ("alice, WebSocket", "her token becomes carol's", "closed with 1008", lambda t: t.after(
            lambda text: text.replace(digest(ALICE), "X").replace(digest(CAROL), digest(ALICE)).replace("X", digest(CAROL)))),
        ("alice, certificate", "her certificate is listed no more", "closed with 1008", lambda t: t.after(
            lambda text: text.replace("CN=alice", "CN=anna"), lambda: t.socket(cert="alice"))),
        ("alice, shared memory", "her entry is another's", "listed no more", lambda t: t.after(
            lambda text: text.replace("name: alice", "name: anna"), lambda: t.socket(bearer(ALICE), kind=ShmClient))),
        ("alice, HTTP", "her token is listed no more, and then the body comes", "401", lambda t: t.slow_body()),
        ("alice, HTTP keep-alive", "her token is listed no more", "401", lambda t: t.after(
            lambda text: text.replace(digest(ALICE), digest("jp_other")), lambda: t.http(ALICE),
            lambda client: (lambda response, body: t.outcome(body, str(response.status)))(*client.post(json.dumps(WHOAMI))))),
    )
    OPEN_ROWS = (  # with an entry for those without evidence, and without a CA
        ("nobody", "a call", "guest", lambda t: t.https()),
        ("a wrong token", "a call", "401", lambda t: t.https(*by("x"))),
        ("a certificate that nobody lists", "a call", "guest", lambda t: t.https(cert="unlisted")),
        ("alice's certificate, by name without a CA", "a call", "guest", lambda t: t.https(cert="alice")),
        ("bob's certificate, by digest", "a call", "bob", lambda t: t.https(cert="bob")),
        ("an expired certificate", "a call", "no TLS", lambda t: t.https(cert="expired")),
        ("nobody", "WebSocket", "guest", lambda t: t.knows()),
        ("nobody", "shared memory", "guest", lambda t: t.knows(kind=ShmClient)),
        ("another Unix user", "ZeroMQ", "guest", lambda t: t.zmq(UNLISTED)),
    )

    def test_bad_certificates_count_as_wrong_evidence(self):
        self.begin(self.text, "--tls-client-ca", self.ca.certificate)
        address = urlsplit(self.peer.address("https"))
        bad = certificates.client_context(self.ca, self.pairs["expired"])

        def shake(_):
            with contextlib.suppress(OSError), \
                    socket.create_connection((address.hostname, address.port), timeout=SECONDS) as plain, \
                    bad.wrap_socket(plain, server_hostname="localhost") as client:
                client.recv(1)

        def ask(token, expected):
            begin = time.monotonic()
            self.assertEqual(self.https(*by(token)), expected)
            return time.monotonic() - begin

        def is_slow():
            time.sleep(0.3)  # the tokens alone are too few
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(shake, range(16)))
            return ask(ALICE, "alice") < 0.5 and ask("x", "401") > 0.95
        eventually(lambda: all(is_slow() for _ in range(3)), "delayed refusals, one after the other")



class Reload(Principals):
    options = None

    def serve(self, text=FILE, *options, **more):
        return super().serve(text, "--rpc-policy-watch-interval", "200", *options, **more)

    def test_whoever_is_gone_is_closed_and_the_rest_stay(self):
        self.serve(FILE.replace("connections: 3", "connections: 9"))
        alice, bob, http = self.websocket(ALICE), self.websocket(BOB), self.http(ALICE)
        idle, shared = self.websocket(ALICE), self._opened.enter_context(ShmClient(self.peer, bearer(ALICE)))
        self.assertEqual(http.call("java.lang.Math", "abs", 1), "1")
        kept = self.http(BOB)
        ref = kept.new("java.util.ArrayList")
        alice.send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "call", "params": {
            "type": "java.lang.Thread", "method": "sleep", "args": [60000]}}))
        eventually(lambda: "Thread.sleep" in bob.control("calls")["value"], "the call in the list")
        self.write(FILE.replace("name: alice", "name: anna").replace("a" * 43, "z" * 43)
                   .replace(digest(ALICE), digest("jp_other")))
        for client in (idle, alice):
            with self.assertRaises(websockets.exceptions.ConnectionClosed) as raised:
                client.receive()
            self.assertEqual(raised.exception.code, 1008)
        with self.assertRaisesRegex(Exception, "listed no more"):
            shared.receive()
        response, _ = http.post(json.dumps(WHOAMI))
        self.assertEqual(response.status, 401)
        eventually(lambda: "sleep" not in bob.control("calls")["value"], "the end of the call")
        self.assertEqual(kept.call("java.util.ArrayList", "size", on=ref), "0")

    def test_whoever_comes_in_during_a_reload_is_judged_by_the_new_file(self):
        alice = FILE.replace("connections: 3", "connections: 5000")
        anna = alice.replace("name: alice", "name: anna")
        self.serve(alice)
        opened, ended = [], threading.Event()

        def come_in():
            while not ended.wait(0.1) and len(opened) < 150:  # each has several descriptors here
                with contextlib.suppress(websockets.exceptions.WebSocketException):  # closed in its handshake
                    opened.append(self.websocket(ALICE))
        with ThreadPoolExecutor(8) as pool:
            comers = [pool.submit(come_in) for _ in range(8)]
            for number in range(21):
                self.write(alice if number % 2 else anna)
                self.peer.send_signal(signal.SIGHUP)
                time.sleep(0.1)
            eventually(lambda: self.status("-H", "Authorization: Bearer " + ALICE) == "anna", "the last reload")
            ended.set()
            for comer in comers:
                comer.result()
        self.assertGreater(len(opened), 20)

        def is_of_the_new_file(client):
            try:
                return whoami(client)["principal"] == "anna"
            except websockets.exceptions.ConnectionClosed as closed:
                self.assertEqual(closed.code, 1008)
                return True
        for client in opened:
            with client:
                eventually(lambda client=client: is_of_the_new_file(client), "the end of a client of the old file")

    def test_sessions_of_the_gone_end(self):
        self.serve()
        alice = self.http(ALICE)
        ref = alice.new("java.util.ArrayList")
        self.write(FILE.replace(digest(ALICE), digest("jp_other")).replace("name: alice", "name: anna"))
        eventually(lambda: self.status("-H", "Authorization: Bearer " + ALICE) == 401, "the reload")
        self.write(FILE)
        eventually(lambda: self.status("-H", "Authorization: Bearer " + ALICE) == "alice", "the next reload")
        with self.assertRaises(RpcError):
            self.http(ALICE, alice.peer_id).call("java.util.ArrayList", "size", on=ref)

    def test_new_rights_and_limits_hold_at_once_and_sessions_stay(self):
        self.serve()
        alice = self.websocket(ALICE)
        ref = alice.new("java.util.ArrayList")
        self.write(FILE.replace('"jdk:java.lang.Math"', '"jdk:java.lang.Integer"').replace("objects: 4", "objects: 9"))
        eventually(lambda: whoami(alice)["limits"]["objects"] == 9, "the reload")
        self.assertEqual(alice.call("java.lang.Integer", "parseInt", "1"), "1")
        self.assertEqual(alice.call("java.util.ArrayList", "size", on=ref), "0")
        with self.assertRaises(RpcError):
            alice.call("java.lang.Math", "abs", 1)

    def test_a_bad_file_leaves_the_old_one_in_force(self):
        peer = self.serve()
        os.mkfifo(self.file.with_name("pipe"))
        for number, (text, mode, expected) in enumerate((
                (FILE + "  - nome: dora\n", 0o600, r"people\.yaml:\d+:5: unknown key 'nome'"),
                (FILE.replace("limits:", "limits: ["), 0o600, r"people\.yaml:\d+:\d+: not YAML"),
                (FILE.replace('"jdk:java.lang.Math"', '"java.lang.*"'), 0o600, "matches classes of the JDK"),
                (FILE, 0o660, "others than its owner may write it"),
                (FILE.replace('"jdk:java.lang.Math"', f'"{ALICE} x"'), 0o600, r"'jp_\.\.\. x'.* has a blank"),
                (FILE.replace("allow:", f"policy: {ALICE} #"), 0o600, r"jp_\.\.\.: No such file"),
                (FILE.replace("allow:", f"preset: [{ALICE}] #"), 0o600, r"'jp_\.\.\.'"),
                (FILE.replace("allow:", "policy: pipe\n    preset: [deny-files] #"), 0o600, "pipe: no regular file"))):
            self.write(text, mode)
            eventually(lambda expected=expected: re.search("Failed to reload the principals: .*" + expected,
                                                           peer.stderr()), expected)
            self.assertEqual(self.status("-H", "Authorization: Bearer " + ALICE), "alice")
            self.assertEqual(peer.stderr().count("Failed to reload the principals"), number + 1)
        self.assertNotIn(ALICE, peer.stderr())

    def test_policies_of_entries_are_watched(self):
        policy = self.file.with_name("bob.yaml")
        policy.write_text("rules:\n  - {class: java.lang.Math, action: ALLOW}\n", encoding="utf-8")
        self.serve(FILE.replace("    admin: true", "    policy: bob.yaml"))
        bob = self.websocket(BOB)
        self.assertEqual(bob.call("java.lang.Math", "abs", 1), "1")
        with self.assertRaises(RpcError):
            bob.call("java.lang.Integer", "parseInt", "1")
        policy.write_text("rules:\n  - {class: java.lang.Integer, action: ALLOW}\n", encoding="utf-8")

        def is_allowed():
            try:
                return bob.call("java.lang.Integer", "parseInt", "1") == "1"
            except RpcError:
                return False
        eventually(is_allowed, "the new policy")


class Guessing(Principals):
    def test_wrong_tokens_are_slow_and_right_ones_are_not(self):
        peer = self.serve(FILE, "--rpc-threads", "2")
        guess = (b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
                 b"Authorization: Bearer jp_x\r\n\r\n{}")
        good = self.http(ALICE)

        def is_served_before_a_delayed_guess():
            """Not if the machine lets ten guesses last a second, or sends the right token after the delay."""
            with contextlib.ExitStack() as opened:
                clients = [opened.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(40)]
                begin = time.monotonic()
                for client in clients:
                    client.settimeout(SECONDS)
                    client.connect(peer.socket_path("http+unix"))
                    client.sendall(guess)
                self.assertEqual(good.call("java.lang.Math", "abs", 1), "1")
                waiting = set(clients).difference(select.select(clients, (), (), 0)[0])
                for client in waiting:
                    self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 401 "))
                return bool(waiting) and time.monotonic() - begin >= 0.9
        eventually(is_served_before_a_delayed_guess, "a right token is served while wrong ones wait")


class Start(Principals):
    def test_principals_that_are_unsafe_end_the_start(self):
        anonymous = "principals:\n  - {name: guest, anonymous: true%s}\n"
        for text, mode, options, words in (
                (anonymous % ", admin: true", 0o600, (), "guest is anonymous and has admin"),
                (FILE, 0o620, (), "others than its owner may write it (mode 0620)"),
                (FILE, 0o602, (), "others than its owner may write it (mode 0602)"),
                (FILE, 0o600, ("--json-rpc", "0.0.0.0:4711"), "takes a loopback address unless"),
                (FILE, 0o600, ("--json-rpc", "unix:x", "--allow-user", "0"), "--allow-user is not for a peer with"),
                (FILE, 0o600, ("--zmq-rpc", "auto"), "needs --zmq-curve-key or a principal that is anonymous"),
                (FILE.replace("bob", "alice"), 0o600, (), "the entry of line 3 has the name alice already"),
                ("", 0o600, (), "the file lists no principals")):
            with self.subTest(words=words):
                self.write(text, mode)
                done = run_to_end("run", "--principals", self.file, *options, "--as-service")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)


    def test_a_file_of_principals_that_is_not_regular_ends_the_start(self):
        os.mkfifo(self.file)
        for file, words in ((self.file, "no regular file"), (self.file.parent, "no regular file"),
                            ("/dev/zero", "no regular file"), (self.file.with_name("gone"), "No such file")):
            with self.subTest(file=file):
                self.assertIn(words, run_to_end("run", "--principals", file, "--json-rpc", "auto", "--as-service").stderr)


class Tokens(Principals):
    def run_token(self, *arguments):
        return run_to_end("token", "new", *map(str, arguments))

    def test_a_new_token_is_listed_by_its_hash_and_comes_in(self):
        self.write(FILE, 0o640)
        done = self.run_token("carol", "--file", self.file)
        token, hashed = done.stdout.split()
        self.assertRegex(token, r"^jp_[A-Za-z0-9_-]{43}$")
        self.assertEqual(hashed, digest(token))
        text = self.file.read_text(encoding="utf-8")
        self.assertEqual(text.replace(f'"{hashed}", ', ""), FILE)
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o640)
        self.serve(text)
        self.assertEqual(self.status("-H", "Authorization: Bearer " + token), "carol")

    def test_programs_that_add_at_the_same_time_keep_all_hashes(self):
        self.write(FILE)
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda _: self.run_token("carol", "--file", self.file), range(24)))
        text = self.file.read_text(encoding="utf-8")
        self.assertEqual([done.stderr for done in made if done.stdout.split()[1] not in text], [])
        os.remove(self.file)
        os.mkfifo(self.file)
        self.assertIn("no regular file", self.run_token("carol", "--file", self.file).stderr)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([BINARY, "token", "new", "carol"], stdout=full, stderr=subprocess.PIPE, check=False,
                                  timeout=SECONDS)
        self.assertIn(b"the token could not be printed: No space left", done.stderr)

    def test_a_token_changes_no_file_unless_its_principal_is_named_there(self):
        token, hashed = self.run_token("anyone").stdout.split()
        self.assertEqual(hashed, digest(token))
        self.write(FILE)
        done = self.run_token("dora", "--file", self.file)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("no principal has the name dora", done.stderr)
        self.assertEqual(self.file.read_text(encoding="utf-8"), FILE)


if __name__ == "__main__":
    unittest.main()
