"""TLS, tokens and headers: a TLS proxy in front of a peer, and servers that break the rules."""

import asyncio
import contextlib
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import jpeer
import jpeer.aio
from support import FIXTURES, ROOT, SECONDS, await_true, module_peer, run_threads

sys.path.append(str(ROOT / "tests/support"))
from certificates import Servers  # noqa: E402
from tls_proxy import TlsProxy  # noqa: E402

java = None  # set while the tests of this module run
servers = None
launch_peer, close_peer = module_peer(globals(), classpath=[FIXTURES])
folder = tempfile.TemporaryDirectory(prefix="jpeer-test-")
TOKEN = "jp_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG"
SCHEMES = ("wss", "https")


def setUpModule():
    global servers
    launch_peer()
    servers = Servers(folder.name)


def tearDownModule():
    close_peer()
    folder.cleanup()


class TlsCase(unittest.TestCase):
    def proxy(self, context=None, target=None, plain=False, **options):
        target = target or java.url.partition(":")[2]
        return self.enterContext(TlsProxy(target, None if plain else context or servers.context(), **options))

    def connect(self, proxy, scheme="wss", host=None, **options):
        options = {"ca_file": servers.certificate, "timeout": SECONDS, **options}
        return self.enterContext(jpeer.connect(proxy.url(scheme, host), **options))

    @contextlib.contextmanager
    def server(self, *words):
        """OpenSSL's own server with a good certificate: its URL and its process."""
        certificate, key = servers.good
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = ["openssl", "s_server", "-cert", certificate, "-key", key, "-accept", f"127.0.0.1:{port}", *words]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0) as server:
            timer = threading.Timer(SECONDS, server.kill)
            timer.start()
            try:
                while b"ACCEPT" not in (line := server.stdout.readline()):
                    self.assertTrue(line, "the server has ended, or does not accept in time")
                timer.cancel()
                yield f"https://127.0.0.1:{port}", server
            finally:
                timer.cancel()
                server.kill()

    def refusal(self, proxy, kind=ConnectionError, scheme="wss", host=None, **options):
        """Returns the text of the error of connecting; it has no token."""
        with self.assertRaises(kind) as raised:
            self.connect(proxy, scheme, host, **options)
        self.assertNotIn(TOKEN, str(raised.exception))
        return str(raised.exception)


class Certified(TlsCase):
    def test_a_certificate_is_verified_for_the_host(self):
        for scheme in SCHEMES:
            for host in ("localhost", "127.0.0.1"):
                with self.subTest(scheme=scheme, host=host):
                    self.assertEqual(self.connect(self.proxy(), scheme, host).java.lang.Math.max(3, 5), 5)

    def test_what_does_not_fit_is_refused(self):
        for pair, host, words in ((servers.wrong_host, "localhost", "is not for localhost"),
                                  (servers.wrong_host, "127.0.0.1", "is not for 127.0.0.1"),
                                  (servers.name_in_subject, "localhost", "is not for localhost"),
                                  (servers.self_signed, "localhost", "self-signed certificate"),
                                  (servers.expired, "localhost", "certificate has expired")):
            for scheme in SCHEMES:
                with self.subTest(pair[0].stem, scheme=scheme, host=host):
                    proxy = self.proxy(servers.context(pair))
                    self.assertIn(words, self.refusal(proxy, scheme=scheme, host=host, token=TOKEN))
                    self.assertEqual(proxy.received, b"")

    def test_an_unknown_authority_is_refused(self):
        self.assertIn("unable to get local issuer", self.refusal(self.proxy(), ca_file=None))
        self.assertIn("unable to get local issuer", self.refusal(self.proxy(), ca_file=servers.self_signed[0]))

    def test_ca_file_may_have_the_certificate_of_the_peer_itself(self):
        for pair in (servers.self_signed, servers.good):
            proxy = self.proxy(servers.context(pair))
            self.assertEqual(self.connect(proxy, ca_file=pair[0]).java.lang.Math.max(3, 5), 5)

    def test_a_client_certificate_is_sent_if_the_peer_asks(self):
        certificate, key = servers.client
        both = Path(folder.name, "both.pem")
        both.write_bytes(certificate.read_bytes() + key.read_bytes())
        for highest in (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2):
            proxy = self.proxy(servers.context(client_ca=servers.certificate, highest=highest))
            for scheme in SCHEMES:
                with self.subTest(highest, scheme=scheme):
                    self.refusal(proxy, scheme=scheme)
                    self.connect(proxy, scheme, cert_file=certificate, key_file=key)
                    self.connect(proxy, scheme, cert_file=both)
        for version in ("-tls1_3", "-tls1_2"):
            with self.server(version, "-Verify", "1", "-verify_return_error", "-CAfile", servers.certificate) as (url, _):
                with self.assertRaisesRegex(ConnectionError, "the peer refuses the TLS connection: .*alert"):
                    jpeer.connect(url, ca_file=servers.certificate, timeout=SECONDS)

    def test_files_that_cannot_be_used(self):
        encrypted = Path(folder.name, "encrypted.key")
        subprocess.run(["openssl", "ec", "-aes128", "-passout", "pass:secret", "-in", servers.client[1], "-out", encrypted],
                       check=True, capture_output=True, timeout=SECONDS)
        certificate = servers.client[0]
        for options, words in (({"ca_file": "/nowhere"}, "ca_file /nowhere: No such file"),
                               ({"ca_file": servers.good[1]}, "no certificate"),
                               ({"cert_file": "/nowhere"}, "cert_file /nowhere: No such file"),
                               ({"cert_file": certificate}, "not usable as PEM"),
                               ({"cert_file": certificate, "key_file": servers.good[1]}, "key values mismatch"),
                               ({"cert_file": certificate, "key_file": encrypted}, "has a passphrase"),
                               ({"key_file": encrypted}, "without cert_file")):
            with self.subTest(words):
                self.assertIn(words, self.refusal(self.proxy(), ValueError, **options))
        with self.assertRaisesRegex(ValueError, "for wss: and https:"):
            jpeer.connect(java.url, ca_file=servers.certificate)


class Protocol(TlsCase):
    def test_old_versions_are_refused(self):
        for version in ("-tls1", "-tls1_1"):
            with self.server(version, "-cipher", "ALL:@SECLEVEL=0") as (url, _):
                with self.assertRaisesRegex(ConnectionError, "protocol version"):
                    jpeer.connect(url, ca_file=servers.certificate)

    def test_each_new_version_is_used(self):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            proxy = self.proxy(servers.context(lowest=version, highest=version))
            self.assertEqual(self.connect(proxy).java.lang.Math.max(3, 5), 5)

    def test_a_server_without_tls_is_named(self):
        async def answer(_, writer):
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await writer.drain()

        self.assertIn("does not speak TLS", self.refusal(self.proxy(plain=True, target=answer)))

    def test_a_server_that_stops_in_the_handshake_does_not_delay_past_the_timeout(self):
        async def say_nothing(reader, _):
            await reader.read(1 << 16)
            await asyncio.sleep(SECONDS)

        async def say_a_part(reader, writer):
            await reader.read(1 << 16)
            for byte in bytes([22, 3, 3, 0, 100, 2]):  # of a ServerHello
                writer.write(bytes([byte]))
                await asyncio.sleep(0.05)
            await asyncio.sleep(SECONDS)

        async def close(reader, _):
            await reader.read(1 << 16)

        for target, words in ((say_nothing, "TLS handshake: the peer did not answer in time"),
                              (say_a_part, "TLS handshake: the peer did not answer in time"),
                              (close, "ended during the TLS handshake")):
            with self.subTest(target.__name__):
                start = time.monotonic()
                self.assertIn(words, self.refusal(self.proxy(plain=True, target=target), connect_timeout=0.5))
                self.assertLess(time.monotonic() - start, 10)  # the default of connect_timeout

    def test_renegotiation_is_refused(self):
        def renegotiate(server):
            while b"share_session" not in os.read(server.stdout.fileno(), 1 << 16):
                pass
            server.stdin.write(b"R\n")

        with self.server("-tls1_2") as (url, server):
            asked = threading.Thread(target=renegotiate, args=[server], daemon=True)
            asked.start()
            with self.assertRaises(ConnectionError):
                jpeer.connect(url, ca_file=servers.certificate, timeout=SECONDS)
            asked.join(SECONDS)

    def test_redirects_are_not_followed(self):
        other = self.proxy()

        async def redirect(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 302 Found\r\nLocation: {other.url('https')}\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            await reader.read(1 << 16)

        for scheme in SCHEMES:
            self.assertIn("302 Found", self.refusal(self.proxy(target=redirect), scheme=scheme, token=TOKEN))
        self.assertEqual(other.received, b"")


class Data(TlsCase):
    def test_long_texts_go_both_ways(self):
        text = "0123456789abcdef" * (4 << 20)
        for scheme in SCHEMES:
            with self.subTest(scheme):
                self.assertTrue(self.connect(self.proxy(), scheme).java.lang.String.valueOf(text) == text)

    def test_records_of_one_byte(self):
        for scheme in SCHEMES:
            other = self.connect(self.proxy(piece=1), scheme)
            self.assertEqual(other.java.lang.String.valueOf("ü" * 3000), "ü" * 3000)

    def test_an_answer_that_was_cut_is_an_error(self):
        text = "x" * 3000
        for scheme in SCHEMES:
            cut = whole = 0
            for cut_after in (*range(200, 4000, 380), 100_000):
                with self.subTest(scheme, cut_after=cut_after):
                    proxy = self.proxy(cut_after=cut_after)
                    try:
                        with jpeer.connect(proxy.url(scheme), ca_file=servers.certificate, timeout=SECONDS) as other:
                            self.assertEqual(other.java.lang.String.valueOf(text), text)
                        whole += 1
                    except ConnectionError:
                        cut += 1
            self.assertGreater(cut, 5)
            self.assertGreater(whole, 0)

    def test_only_the_announced_end_ends_an_answer_without_a_length(self):
        answer = b'{"jsonrpc":"2.0","id":1,"result":{"void":false,"value":{"type":"java.lang.String","null":false,' \
            b'"value":"5c0b7b34-5a3c-4b9c-8f0e-0f1d2c3b4a59"}}}'
        for is_announced in (True, False):
            async def reply(reader, writer, is_announced=is_announced):
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + answer)
                await writer.drain()
                await asyncio.sleep(0.1)
                if not is_announced:
                    writer.transport.abort()

            text = self.refusal(self.proxy(target=reply), scheme="https", timeout=SECONDS)
            self.assertEqual("connection was cut" in text, not is_announced, text)

    def test_callbacks_and_threads_over_one_proxy(self):
        other = self.connect(self.proxy())

        def sort(seed):
            numbers = other.java.util.ArrayList([(seed * 7 + each * 31) % 101 for each in range(100)])
            for _ in range(3):
                numbers.sort(lambda a, b: a - b)
                numbers.sort(lambda a, b: b - a)
            return list(numbers)

        for result in run_threads(sort, list(range(8))):
            self.assertEqual(result, sorted(result, reverse=True))

    def test_a_call_times_out(self):
        other = self.connect(self.proxy(), timeout=0.2)
        with self.assertRaises(TimeoutError):
            other.java.lang.Thread.sleep(SECONDS * 1000)

        def answers():  # a loaded machine may need longer, too
            with contextlib.suppress(TimeoutError):
                return other.java.lang.Math.max(3, 5) == 5

        await_true(answers)

    def test_a_connection_that_was_cut_is_opened_again(self):
        for scheme in SCHEMES:
            proxy = self.proxy()
            other = self.connect(proxy, scheme, reconnects=True)
            numbers = other.java.util.ArrayList([1, 2])
            for _ in range(3):
                proxy.cut_all()
                for _ in range(50):
                    try:
                        self.assertEqual(numbers.size(), 2)
                        break
                    except ConnectionError:
                        time.sleep(0.1)
                else:
                    self.fail("no new connection")

    def test_a_fork_leaves_the_connection_to_the_parent(self):
        other = self.connect(self.proxy())
        child = os.fork()
        if child == 0:
            try:
                other.java.lang.Math.max(3, 5)
                os._exit(1)
            except RuntimeError:
                other.close()
                os._exit(0)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(other.java.lang.Math.max(3, 5), 5)

    def test_asyncio(self):
        async def run(proxy, scheme):
            async with jpeer.aio.connect(proxy.url(scheme), ca_file=servers.certificate, token=lambda: TOKEN) as other:
                most = other.type("java.lang.Math").max
                self.assertEqual(await asyncio.gather(*(most(each, 50) for each in range(100))), [50] * 51 + [*range(51, 100)])
                text = "x" * (1 << 20)
                self.assertEqual(await other.type("java.lang.String").valueOf(text), text)

        for scheme in SCHEMES:
            asyncio.run(run(self.proxy(), scheme))


class Tokens(TlsCase):
    def test_a_token_and_headers_are_in_each_head(self):
        for scheme in ("wss", "https", "ws", "http"):
            proxy = self.proxy(plain=scheme in ("ws", "http"))
            ca_file = servers.certificate if scheme in SCHEMES else None
            other = self.connect(proxy, scheme, token=TOKEN, headers={"X-Trace": "7"}, ca_file=ca_file)
            self.assertEqual(other.java.lang.Math.max(3, 5), 5)
            other.close()
            heads = proxy.received.count(b"HTTP/1.1\r\n")
            self.assertEqual(proxy.received.count(f"Authorization: Bearer {TOKEN}\r\nX-Trace: 7\r\n".encode()), heads)
            self.assertNotIn(TOKEN, repr(other) + repr(other._connection) + other.url)

    def test_a_token_function_is_called_for_each_connection_or_request(self):
        calls = []

        def count():
            calls.append(threading.get_ident())
            return f"token-{len(calls)}"

        proxy = self.proxy()
        self.connect(proxy, token=count).java.lang.Math.max(3, 5)
        self.assertEqual(len(calls), 1)
        other = self.connect(self.proxy(), "https", token=count)
        before = len(calls)
        self.assertEqual([other.java.lang.Math.max(3, each) for each in range(5)], [3, 3, 3, 3, 4])
        self.assertGreaterEqual(len(calls), before + 5)

    def test_a_token_file_is_read_again(self):
        path = Path(folder.name, "token")
        path.write_text("first\n", encoding="utf-8")
        proxy = self.proxy()
        other = self.connect(proxy, "https", token_file=path)
        path.write_text("second\n", encoding="utf-8")
        self.assertEqual(other.java.lang.Math.max(3, 5), 5)
        self.assertIn(b"Bearer first\r\n", proxy.received)
        self.assertIn(b"Bearer second\r\n", proxy.received)
        path.unlink()
        with self.assertRaisesRegex(ConnectionError, "token_file .*: No such file"):
            other.java.lang.Math.max(3, 5)
        path.write_text("third\n", encoding="utf-8")
        self.assertEqual(other.java.lang.Math.max(3, 5), 5)

    def test_a_token_is_not_sent_over_plain_tcp_to_another_address(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("192.0.2.1", 9))
            except OSError:
                self.skipTest("this machine has no other address")
            address = probe.getsockname()[0]
        accepted = []

        async def note(*_):
            accepted.append(True)

        proxy = self.proxy(plain=True, host="0.0.0.0", target=note)
        path = Path(folder.name, "any-token")
        path.write_text(TOKEN, encoding="utf-8")
        for scheme in ("ws", "http"):
            for option in ({"token": TOKEN}, {"token": lambda: self.fail("called")}, {"token_file": path}):
                with self.subTest(scheme, option=option):
                    text = self.refusal(proxy, scheme=scheme, host=address, ca_file=None, **option)
                    self.assertIn("only over TLS", text)
        self.assertEqual(accepted, [])

    def test_a_token_function_that_fails(self):
        class Vault(Exception):
            pass

        def refuse():
            raise Vault(f"no {TOKEN}")

        for scheme in SCHEMES:
            for function, words, cause in ((refuse, "it raised Vault", Vault), (lambda: "a\r\nX: y", "byte 2", None),
                                           (lambda: "", "empty", None), (lambda: "x" * (1 << 20), "it raised ValueError", ValueError),
                                           (lambda: "\udc80", "it raised ValueError", ValueError),
                                           (lambda: "a\0b", "it raised ValueError", ValueError),
                                           (lambda: None, "it raised TypeError", TypeError), (lambda x: x, "it raised TypeError", TypeError)):
                with self.subTest(scheme, words=words):
                    proxy = self.proxy()
                    with self.assertRaisesRegex(ConnectionError, words) as raised:
                        self.connect(proxy, scheme, token=function)
                    self.assertNotIn(TOKEN, str(raised.exception))
                    self.assertIs(type(raised.exception.__cause__), type(None) if cause is None else cause)
                    self.assertEqual(proxy.received, b"")

        def interrupt():
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.connect(self.proxy(), token=interrupt)

    def test_a_token_function_may_use_another_connection(self):
        other = self.connect(self.proxy(), "https", token=lambda: java.java.lang.String.valueOf("from-java"))
        self.assertEqual(run_threads(lambda each: other.java.lang.Math.max(each, 3), list(range(8))), [3, 3, 3, 3, 4, 5, 6, 7])

    def test_a_token_function_cannot_use_its_own_connection(self):
        for scheme in SCHEMES:
            others, faults = [], []

            def ask(others=others, faults=faults):
                for each in others:
                    try:
                        each.stats()
                    except ConnectionError as error:
                        faults.append(str(error))
                return "token"

            proxy = self.proxy()
            other = self.connect(proxy, scheme, token=ask, reconnects=True)
            others.append(other)
            proxy.cut_all()
            with contextlib.suppress(ConnectionError):
                other.stats()
            other.stats()
            self.assertIn("cannot use the client", faults[-1])

    def test_no_error_shows_a_token_that_a_server_quotes(self):
        async def quote(reader, writer):
            head = await reader.readuntil(b"\r\n\r\n")
            line = head.split(b"Authorization: ")[1].split(b"\r\n")[0]
            writer.write(b"HTTP/1.1 401 %s\r\nContent-Length: %d\r\n\r\n%s" % (line, len(line), line))
            await writer.drain()
            await asyncio.sleep(0.2)

        for scheme in SCHEMES:
            self.assertIn("401 Bearer ***", self.refusal(self.proxy(target=quote), scheme=scheme, token=TOKEN))

    def test_what_cannot_be_sent_is_refused(self):
        for options, kind, words in (({"token": "a b"}, ValueError, "byte 2"), ({"token": b"bytes"}, TypeError, "token is a str"),
                                     ({"token": TOKEN, "token_file": "x"}, ValueError, "exclude each other"),
                                     ({"headers": {"Authorization": TOKEN}}, ValueError, "set by the library"),
                                     ({"headers": {"X": f"{TOKEN}\r\nY: z"}}, ValueError, "line break"),
                                     ({"headers": {"X:Y": TOKEN}}, ValueError, "is not a name"),
                                     ({"headers": {"X": 5}}, TypeError, "are str")):
            with self.subTest(options=options):
                self.assertIn(words, self.refusal(self.proxy(), kind, **options))
        for url in (f"wss://{TOKEN}@localhost:1/", f"wss://localhost:1/rpc?token={TOKEN}"):
            with self.assertRaises(ValueError) as raised:
                jpeer.connect(url)
            self.assertNotIn(TOKEN, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
