"""CURVE on the ZeroMQ ports of the real peer, with clients of pyzmq: whose key comes in, and what others see."""

import contextlib
import json
import os
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import zmq
import zmq.auth

from support.clients import SECONDS, WHOAMI, CurveClient, RpcError, UnixZmqClient, whoami
from support.peer import BINARY, Peer, eventually, run_to_end
from support.peer_case import DENIED, PeerCase

FILE = """principals:
  - {{name: alice, curve-keys: ["{alice}"], allow: ["jdk:java.util.ArrayList", "jdk:java.lang.Thread"]}}
  - {{name: bob, curve-keys: ["{bob}"]}}
  - {{name: local, unix-users: [{user}]}}
"""
GUEST = "  - {name: guest, anonymous: true}\n"
PAUSE_MS = 500


def exchange_raw(path, properties, message):
    """One message of a client without CURVE, which says in its handshake what libzmq's own clients cannot (ZMTP 3.0)."""
    def read(count):
        data = b""
        while len(data) < count:
            more = client.recv(count - len(data))
            assert more, "the peer has closed the connection"
            data += more
        return data

    def read_frame():
        is_long = read(1)[0] & 2
        return read(int.from_bytes(read(8 if is_long else 1), "big"))

    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(SECONDS)
        client.connect(path)
        client.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
        read(64)
        ready = b"\x05READY" + b"".join(bytes([len(name)]) + name + len(value).to_bytes(4, "big") + value
                                        for name, value in properties.items())
        client.sendall(b"\x06" + len(ready).to_bytes(8, "big") + ready)
        read_frame()
        client.sendall(b"\x02" + len(message).to_bytes(8, "big") + message)
        return read_frame()


class Curve(PeerCase):
    def setUp(self):
        super().setUp()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-curve-")))
        self.key_file = self.folder / "peer.key"
        self.file = self.folder / "people.yaml"
        self.server_key = self.keygen(self.key_file).stdout.strip().encode()
        self.alice, self.bob, self.stranger = (zmq.curve_keypair() for _ in range(3))
        self.text = FILE.format(alice=self.alice[0].decode(), bob=self.bob[0].decode(), user=os.getuid())

    def keygen(self, *arguments):
        return subprocess.run([BINARY, "keygen", *arguments], capture_output=True, text=True, check=False, timeout=SECONDS)

    def write(self, text):
        new = self.folder / "new"
        new.write_text(text, encoding="utf-8")
        new.chmod(0o600)
        os.replace(new, self.file)

    def settings(self, port="auto"):
        return ("--zmq-rpc", port, "--principals", self.file, "--zmq-curve-key", self.key_file,
                "--rpc-policy-watch-interval", "50")

    def serve(self, text=None):
        self.write(self.text if text is None else text)
        return self.start(*self.settings(), addresses=False, sockets=True)

    def client(self, keys, **more):
        return self._opened.enter_context(CurveClient(self.peer, keys, **{"server_key": self.server_key, **more}))

    def assert_refused(self, client):
        self.assertEqual(client.await_event(zmq.EVENT_HANDSHAKE_FAILED_AUTH), 400)
        with contextlib.suppress(zmq.Again):  # libzmq has given the connection up: a send would wait for ever
            client.socket.send(json.dumps(WHOAMI).encode(), zmq.DONTWAIT)
        self.assertFalse(client.has_answer(100))


class Admission(Curve):
    def test_a_listed_key_comes_in_and_unix_sockets_need_none(self):
        self.serve()
        for name, keys in (("alice", self.alice), ("bob", self.bob)):
            known = whoami(self.client(keys))
            self.assertEqual((known["principal"], known["known_by"]), (name, "curve-key"))
        with UnixZmqClient(self.peer) as client:
            self.assertEqual(whoami(client)["principal"], "local")

    def test_a_stranger_sees_the_end_of_its_handshake(self):
        peer = self.serve()
        self.assert_refused(self.client(self.stranger))
        peer.await_stderr("no principal lists its CURVE key " + self.stranger[0].decode())
        without = self.client(None)
        without.send(json.dumps(WHOAMI))
        without.await_event(zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL)
        self.assertFalse(without.has_answer())
        wrong = self.client(self.alice, server_key=self.bob[0])
        wrong.await_event(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        self.assertFalse(wrong.has_answer())
        self.assertEqual(whoami(self.client(self.alice))["principal"], "alice")

    def test_a_wrong_key_is_not_anonymous(self):
        self.serve(self.text + GUEST)
        self.assert_refused(self.client(self.stranger))
        self.assertEqual(whoami(self.client(self.bob))["principal"], "bob")

    def test_without_a_key_of_the_peer_ports_are_of_the_anonymous(self):
        self.write(self.text + GUEST)
        self.start("--zmq-rpc", "auto", "--principals", self.file, addresses=False, sockets=True)
        self.assertEqual(whoami(self.client(None))["principal"], "guest")

    def test_only_a_client_of_curve_shows_a_key(self):
        peer = self.serve()
        properties = {b"Socket-Type": b"DEALER", b"User-Id": self.bob[0], b"Peer-Address": b"127.0.0.1"}
        answer = exchange_raw(peer.socket_path("ipc"), properties, json.dumps(WHOAMI).encode())
        self.assertIn(b'\\"local\\"', answer)

    def test_many_wrong_keys_are_refused_slowly(self):
        """That right ones do not wait for them: tests/unit/net/zeromq/test_zeromq_zap.c."""
        self.serve()
        begin = time.monotonic()
        wrong = [self.client(self.stranger) for _ in range(16)]
        good = self.client(self.alice)
        self.assertEqual(whoami(good)["principal"], "alice")
        for client in wrong:
            self.assert_refused(client)
        self.assertGreater(time.monotonic() - begin, 0.9)


class Sessions(Curve):
    def test_one_routing_id_of_two_principals_is_two_sessions(self):
        self.serve()
        with CurveClient(self.peer, self.alice, self.server_key, b"same") as alice:
            made = alice.new("java.util.ArrayList")
            self.assertEqual(alice.call("java.util.ArrayList", "size", on=made), "0")
        eventually(lambda: self.is_strange(self.bob, made), "that the routing id is free")
        eventually(lambda: not self.is_strange(self.alice, made), "that the routing id is free again")

    def is_strange(self, keys, made):
        """True if a new client gets an answer that does not know the object."""
        with CurveClient(self.peer, keys, self.server_key, b"same") as client:
            client.socket.rcvtimeo = PAUSE_MS
            try:
                return client.call("java.util.ArrayList", "size", on=made) != "0"
            except RpcError:
                return True
            except zmq.Again:
                return keys is self.alice

    def test_nobody_takes_over_the_routing_id_of_a_connection(self):
        self.serve()
        alice = self.client(self.alice, identity=b"same")
        self.assertEqual(whoami(alice)["principal"], "alice")  # her handshake has ended before bob's begins
        alice.send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "call", "params": {
            "type": "java.lang.Thread", "method": "sleep", "args": [2 * PAUSE_MS]}}))
        bob = self.client(self.bob, identity=b"same")
        bob.send(json.dumps(WHOAMI))
        self.assertEqual(json.loads(alice.receive())["id"], 7)
        self.assertFalse(bob.has_answer())
        self.assertEqual(whoami(alice)["principal"], "alice")


class Changes(Curve):
    def test_a_key_that_is_listed_no_more_ends_its_calls_and_sessions(self):
        self.serve()
        alice, bob = self.client(self.alice), self.client(self.bob)
        self.assertEqual(whoami(alice)["principal"], "alice")
        self.write(self.text.replace(self.alice[0].decode(), self.stranger[0].decode()))
        self.await_refusal(alice)
        self.assertEqual(whoami(bob)["principal"], "bob")
        self.assert_refused(self.client(self.alice))
        self.assertEqual(whoami(self.client(self.stranger))["principal"], "alice")
        self.write(self.text + GUEST)
        eventually(lambda: self.code(alice) is None, "the next reload")
        self.assertEqual(whoami(alice)["principal"], "alice")

    def await_refusal(self, client):
        eventually(lambda: self.code(client) == DENIED, "the reload")

    def code(self, client):
        try:
            client.control("whoami")
        except RpcError as error:
            return error.code
        return None

    def test_a_drain_answers_and_clients_come_back_after_a_restart(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        self.write(self.text)
        with Peer(*self.settings(port), addresses=False) as peer:
            self.peer = peer
            alice = self.client(self.alice)
            self.assertEqual(whoami(alice)["principal"], "alice")
            for _ in range(16):
                self.client(self.stranger)  # some of these refusals are delayed beyond the end
            alice.send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "call", "params": {
                "type": "java.lang.Thread", "method": "sleep", "args": [PAUSE_MS]}}))
            time.sleep(0.1)
            peer.send_signal(15)
            self.assertEqual(json.loads(alice.receive())["id"], 7)
            self.assertEqual(peer.wait(), 0)
        with Peer(*self.settings(port), addresses=False):
            self.assertEqual(whoami(alice)["principal"], "alice")


class Start(Curve):
    def test_options_and_keys_that_do_not_fit_end_the_start(self):
        self.write(self.text)
        listed = ("--principals", self.file)
        port = ("--zmq-rpc", "auto")
        key = ("--zmq-curve-key", self.key_file)
        wide, other, swapped = self.folder / "wide.key", self.folder / "other.key", self.folder / "swapped.key"
        other_key = self.keygen(other).stdout.strip()
        wide.write_bytes(self.key_file.read_bytes())
        wide.chmod(0o640 if os.getuid() != 0 else 0o644)
        swapped.write_text(self.key_file.read_text(encoding="utf-8").replace(self.server_key.decode(), other_key),
                           encoding="utf-8")
        swapped.chmod(0o600)
        for status, words, expected in (
                (2, (*port, *key), "--zmq-curve-key needs --principals"),
                (2, (*listed, *key, "--json-rpc", "auto"), "it needs --zmq-rpc [HOST:]PORT"),
                (2, (*listed, *key, "--zmq-rpc", f"ipc://{self.folder}/zmq"), "it needs --zmq-rpc [HOST:]PORT"),
                (2, (*listed, *port), "needs --zmq-curve-key or a principal that is anonymous"),
                (2, (*listed, "--zmq-rpc", "0.0.0.0:4711"), "unless --insecure-listen or --zmq-curve-key is given"),
                (1, (*listed, *port, "--zmq-curve-key", self.folder / "none"), "--zmq-curve-key: "),
                (1, (*listed, *port, "--zmq-curve-key", wide), "so others could use the key: make it 0600"),
                (1, (*listed, *port, "--zmq-curve-key", self.file), "has no public-key of 40 characters of Z85"),
                (1, (*listed, *port, "--zmq-curve-key", swapped), "the public key is not the one of the secret key")):
            with self.subTest(expected=expected, words=words):
                done = run_to_end("run", *words, "--as-service")
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(expected, done.stderr)

    def test_every_address_may_be_served_with_curve_and_principals(self):
        self.write(self.text)
        self.start("--zmq-rpc", "0.0.0.0:auto", *self.settings()[2:], addresses=False)
        self.assertIn("0.0.0.0", self.peer.address("tcp"))
        self.assertEqual(whoami(self.client(self.alice))["principal"], "alice")

    def test_keygen_makes_a_file_that_pyzmq_reads_and_keeps_an_old_one(self):
        self.assertEqual(self.key_file.stat().st_mode & 0o777, 0o600)
        public, secret = zmq.auth.load_certificate(self.key_file)
        self.assertEqual((public, zmq.curve_public(secret)), (self.server_key, self.server_key))
        before = self.key_file.read_bytes()
        for arguments, status, expected in (((self.key_file,), 1, "File exists"), ((), 2, "takes one FILE"),
                                            (("a", "b"), 2, "takes one FILE"), (("--no",), 2, "takes one FILE")):
            done = self.keygen(*arguments)
            self.assertEqual(done.returncode, status)
            self.assertIn(expected, done.stderr)
        self.assertEqual(self.key_file.read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
