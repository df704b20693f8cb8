"""TLS of a peer as the command line sets it: its options, certificates of clients, and calls that need more than one answer.
tests/integration/net/test_tls.py tests the protocol."""

import asyncio
import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from pathlib import Path

from support import certificates
from support.callback_client import CallbackClient
from support.clients import HttpClient, UnixWebSocketClient, WebSocketClient, await_running, call_request
from support.peer import START_SECONDS, run_to_end
from support.peer_case import CALLING, PING, PeerCase

BLOCKERS = "fixtures.Blockers"
PAST = "210101000000Z"


class TlsCase(PeerCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="jpeer-tls-")))
        cls.authority = certificates.Authority(cls.folder, "ca")
        certificates.install(cls.authority.issue("server"), cls.folder)
        cls.tls = ("--tls-cert", cls.folder / "cert.pem", "--tls-key", cls.folder / "key.pem",
                   "--rpc-policy-watch-interval", "200")
        super().setUpClass()

    def ask(self, pair=None, context=None):
        """The answer to a ping over HTTPS, on a connection of its own."""
        port = int(self.peer.address("https").rsplit(":", 1)[1].split("/")[0])
        context = context or certificates.client_context(self.authority, pair)
        client = http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
        with contextlib.closing(client):
            client.request("POST", "/rpc", json.dumps(PING), {"Content-Type": "application/json"})
            return json.loads(client.getresponse().read())

    def refuse(self, pair, text, told="alert"):
        """The client is refused; in TLS 1.3 it learns this when it reads."""
        with self.assertRaisesRegex((ssl.SSLError, OSError), told):
            self.ask(pair)
        self.peer.await_stderr(text)


class Options(TlsCase):
    def usage(self, *options):
        done = run_to_end("run", *options, "--as-service")
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def start_error(self, *options):
        done = run_to_end("run", "--json-rpc", "auto", *options, "--as-service")
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_options_that_do_not_fit_each_other_are_refused(self):
        cert, key = self.tls[:2], self.tls[2:4]
        ca = ("--tls-client-ca", self.authority.certificate)
        port = ("--json-rpc", "auto")
        for options, text in (
                ((*port, *cert), "--tls-cert and --tls-key are given together"),
                ((*port, *key), "--tls-cert and --tls-key are given together"),
                ((*port, *ca), "need --tls-cert"),
                ((*cert, *key), "it needs --json-rpc [HOST:]PORT"),
                (("--json-rpc", "unix:/tmp/x", *cert, *key), "it needs --json-rpc [HOST:]PORT"),
                ((*port, *cert, *key, "--tls-client-crl", self.authority.crl), "--tls-client-crl needs --tls-client-ca"),
                ((*port, *cert, *key, *ca, "--tls-client-auth", "none"), "has no effect with --tls-client-auth none"),
                ((*port, *cert, *key, "--tls-client-auth", "require"), "without, any certificate would be accepted"),
                ((*port, *cert, *key, "--tls-client-auth", "maybe"), "--tls-client-auth takes none|optional|require"),
                (("--json-rpc", "0.0.0.0:4711", *cert, *key), "--insecure-listen")):
            with self.subTest(options):
                self.assertIn(text, self.usage(*options))

    def test_files_that_cannot_be_used_are_named(self):
        cert, key = self.folder / "cert.pem", self.folder / "key.pem"
        other = self.authority.issue("another")[1]
        locked, empty, sealed = (self.folder / name for name in ("locked", "empty", "sealed"))
        locked.write_bytes(key.read_bytes())
        empty.touch(0o600)
        certificates.openssl("pkey", "-in", key, "-aes256", "-passout", "pass:secret", "-out", sealed)
        sealed.chmod(0o600)
        for mode in (0o644, 0o604, 0o660, 0o620, 0o602):
            locked.chmod(mode)
            self.assertIn(f"has the mode {mode:04o}", self.start_error("--tls-cert", cert, "--tls-key", locked))
        for mode in (0o600, 0o400, *((0o640, 0o440) if os.geteuid() == 0 else ())):  # 0640 is for root's files
            locked.chmod(mode)
            self.start("--tls-cert", cert, "--tls-key", locked)
        for certificate, private, text in (
                (cert, other, "is not the key of the certificate in"),
                (cert, empty, "has no private key in PEM"),
                (cert, sealed, "has no private key in PEM without a passphrase"),
                (key, key, "has no certificate in PEM"),
                (cert, self.folder / "missing", "No such file"),
                (self.folder, key, "no regular file")):
            with self.subTest(text):
                self.assertIn(text, self.start_error("--tls-cert", certificate, "--tls-key", private))
        ca = ("--tls-cert", cert, "--tls-key", key, "--tls-client-ca")
        self.assertIn("--tls-client-ca: ", self.start_error(*ca, empty))
        self.assertIn("has no revocation list", self.start_error(*ca, self.authority.certificate, "--tls-client-crl", cert))

    def test_only_ports_speak_tls(self):
        self.start(*self.tls, sockets=True)
        addresses = self.peer.facts["addresses"]
        self.assertEqual([a.split(":")[0] for a in addresses], ["wss", "https", "ws+unix", "http+unix", "tcp", "ipc"])
        self.assertIn("result", self.ask())
        self.assertEqual(self.connect(UnixWebSocketClient).call("fixtures.Calculator", "add", 1, 2), "3")

    def test_hangup_loads_the_files_again(self):
        self.start(*self.tls[:4], "--rpc-policy-watch-interval", "0")
        port = int(self.peer.address("https").rsplit(":", 1)[1].split("/")[0])
        before = ssl.get_server_certificate(("127.0.0.1", port))
        certificates.install(self.authority.issue("renewed"), self.folder)
        time.sleep(0.5)
        self.assertEqual(before, ssl.get_server_certificate(("127.0.0.1", port)))
        self.peer.send_signal(signal.SIGHUP)
        self.peer.await_stderr("TLS files reloaded")
        self.assertNotEqual(before, ssl.get_server_certificate(("127.0.0.1", port)))

    def test_a_page_of_this_server_comes_by_https(self):
        self.start(*self.tls)
        address = self.peer.address("https").removesuffix("/rpc")
        curl = ["curl", "--silent", "--cacert", self.authority.certificate, "--data", json.dumps(PING),
                "--header", "Content-Type: application/json", "--write-out", "%{http_code}", self.peer.address("https")]
        for origin, status in ((address, "200"), (address.replace("https", "http"), "403"), ("https://elsewhere", "403")):
            done = subprocess.run([*curl, "--header", f"Origin: {origin}"], capture_output=True, text=True, check=True,
                                  timeout=START_SECONDS)
            self.assertTrue(done.stdout.endswith(status), done.stdout)


class Clients(TlsCase):
    def begin(self, *options):
        self.start(*self.tls, *options)

    def test_a_clients_certificate_has_to_be_good_for_now_and_of_the_ca(self):
        issue = self.authority.issue
        good = issue("reporting", certificates.CLIENT)
        foreign = certificates.Authority(Path(self.enterContext(tempfile.TemporaryDirectory())), "foreign")
        stranger = foreign.issue("reporting", certificates.CLIENT)
        expired = issue("late", certificates.CLIENT, end=PAST, start="200101000000Z")
        early = issue("early", certificates.CLIENT, start="350101000000Z", end="360101000000Z")
        server_only = issue("web", "extendedKeyUsage=serverAuth")
        revoked = issue("leaver", certificates.CLIENT)
        self.authority.revoke(revoked[0])
        ca = ("--tls-client-ca", self.authority.certificate, "--tls-client-crl", self.authority.crl)
        for options, needs in ((ca, True), ((*ca, "--tls-client-auth", "optional"), False)):
            self.begin(*options)
            self.assertIn("result", self.ask(good))
            self.refuse(stranger, "certificate is refused: unable to get local issuer certificate")
            time.sleep(1)  # one line a second
            self.refuse(expired, "certificate is refused: certificate has expired")
            time.sleep(1)
            self.refuse(early, "certificate is refused: certificate is not yet valid")
            time.sleep(1)
            self.refuse(revoked, "certificate is refused: certificate revoked")
            time.sleep(1)
            self.refuse(server_only, "certificate is refused: unsuitable certificate purpose")
            if needs:
                time.sleep(1)
                self.refuse(None, "peer did not return a certificate")
            else:
                self.assertIn("result", self.ask())

    def test_no_session_resumes_where_certificates_are_asked_for(self):
        good = self.authority.issue("again", certificates.CLIENT)
        self.begin("--tls-client-ca", self.authority.certificate)
        port = int(self.peer.address("https").rsplit(":", 1)[1].split("/")[0])
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = certificates.client_context(self.authority, good)
            context.minimum_version = context.maximum_version = version
            session = None
            for _ in range(2):
                with socket.create_connection(("127.0.0.1", port), 60) as plain, \
                        context.wrap_socket(plain, server_hostname="localhost", session=session) as connection:
                    connection.sendall(b"GET /rpc/help HTTP/1.0\r\n\r\n")
                    self.assertTrue(connection.recv(100).startswith(b"HTTP/1."))
                    self.assertFalse(connection.session_reused)
                    session = connection.session

    def test_a_revocation_holds_for_new_connections(self):
        leaver = self.authority.issue("soon", certificates.CLIENT)
        self.begin("--tls-client-ca", self.authority.certificate, "--tls-client-crl", self.authority.crl)
        self.assertIn("result", self.ask(leaver))
        self.authority.revoke(leaver[0])
        self.peer.await_stderr("TLS files reloaded")
        self.refuse(leaver, "certificate revoked")


class Calls(TlsCase):
    """More of the same: JPEER_TLS=1 runs the other suites over TLS."""

    def setUp(self):
        super().setUp()
        self.start(*self.tls)
        self.peer.tls = certificates.client_context(self.authority)

    def test_callbacks_run_over_tls(self):
        client = self.connect(CallbackClient)
        for _ in range(200):
            self.assertEqual(client.call(CALLING, "here", client.give(lambda call: "back")), "back")

    def test_bytes_after_a_broken_record_reach_nobody(self):
        """Whoever is on the way to the peer can change a record, and send bytes of their own after it."""
        body = json.dumps(call_request(1, "java.lang.System", "setProperty", "jpeer.injected", "yes")).encode()
        head = (f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        port = int(self.peer.address("https").rsplit(":", 1)[1].split("/")[0])
        read, write = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = certificates.client_context(self.authority).wrap_bio(read, write, server_hostname="127.0.0.1")
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    client.sendall(write.read())
                    read.write(client.recv(65536))
            client.sendall(write.read())
            tls.write(head)
            good = write.read()
            tls.write(b"x")
            broken = bytearray(write.read())
            broken[-1] ^= 1
            client.sendall(good + broken)
            with contextlib.suppress(OSError):
                for at in range(0, len(body), 40):
                    client.sendall(body[at:at + 40])
                    time.sleep(0.02)
                while client.recv(65536):
                    pass
        with HttpClient(self.peer) as asking:
            self.assertIsNone(asking.call("java.lang.System", "getProperty", "jpeer.injected"))

    def test_a_long_call_is_cancelled_and_reads_ahead(self):
        client, other = self.connect(), self.connect(HttpClient)
        client.send(json.dumps(call_request("long", BLOCKERS, "sleep", 60000)))
        await_running(other, 1)
        client.send(json.dumps(call_request("next", "fixtures.Calculator", "add", 1, 2)))
        client.send(json.dumps({"jsonrpc": "2.0", "id": "stop", "method": "control", "params": {
            "method": "cancel", "args": [{"name": "id", "value": "long"}]}}))
        answers = {answer["id"]: answer for answer in (json.loads(client.receive()) for _ in range(3))}
        self.assertEqual(answers["stop"]["result"]["value"]["value"], "true")
        self.assertEqual(answers["long"]["error"]["data"]["reason"], "cancelled")
        self.assertEqual(answers["next"]["result"]["value"]["value"], "3")

    def test_the_call_of_a_client_that_leaves_is_interrupted(self):
        def abort(client):
            client.socket.transport.abort()
            client.loop.run_until_complete(asyncio.sleep(0.01))  # the loop closes the socket
        other = self.connect()
        for leave in (WebSocketClient.close, abort):
            client = self.connect()
            client.send(json.dumps(call_request("long", BLOCKERS, "sleep", 10 * 60000)))
            await_running(other, 1)
            leave(client)
            await_running(other, 0)
