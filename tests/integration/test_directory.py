"""Peers in the directory, against a real etcd and against servers that are none. Registrations without JVMs are those of
tests/integration/directory/registrations.c."""

import contextlib
import json
import random
import re
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.request
from pathlib import Path

from support import etcd as directory
from support.clients import WebSocketClient
from support.peer import BINARY, BUILD, Peer, environment, eventually, run_to_end
from support.peer_case import PING

SECONDS = 60
PROGRAM = BUILD / "tests/integration/directory/directory_registrations"
UUID = "0f81d4fa-7dec-41d0-a765-00a0c91e6bf6"
OTHER = "1f81d4fa-7dec-41d0-a765-00a0c91e6bf6"
PORTS = ("--json-rpc", "auto")


def start(*options, **arguments):
    """A peer that begins, and need not succeed."""
    return subprocess.Popen([BINARY, "run", "--as-service", *PORTS, *map(str, options)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(), **arguments)


class Registrations:
    """The program. Its log is a list of lines, which grows."""

    def __init__(self, endpoints, count=1, **options):
        words = [f"{name}={value}" for name, value in options.items()]
        self.process = subprocess.Popen([PROGRAM, endpoints, str(count), *words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(leaks=True))
        self.log, self.results = [], []
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()

    def _read_log(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip("\n"))

    def begin(self):
        """Returns the lines about the registrations."""
        for line in self.process.stdout:
            if line == "all\n":
                break
            self.results.append(line.rstrip("\n"))
        return self.results

    def await_log(self, text, seconds=SECONDS):
        eventually(lambda: self.count(text), lambda: f"{text!r} in {self.log}", seconds)

    def count(self, text):
        return sum(text in line for line in self.log)

    def end(self):
        """Returns how many milliseconds it took to withdraw."""
        self.process.stdin.close()
        self.process.stdin = None
        out = self.process.stdout.read()
        status = self.process.wait(SECONDS)
        self.reader.join(SECONDS)
        assert status == 0, (status, self.log)
        return int(re.search(r"withdrawn in (\d+) ms", out)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.reader.join(SECONDS)
        self.process.stderr.close()


class Server:
    """A server that is not etcd, or not a good one. answer: called with the connection and the request's path."""

    def __init__(self, answer):
        self.answer, self.requests, self.connections = answer, 0, []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.endpoints = f"127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                self.connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError):
            data = b""
            while True:
                while b"\r\n\r\n" not in data:
                    more = connection.recv(65536)
                    if not more:
                        return
                    data += more
                head, _, body = data.partition(b"\r\n\r\n")
                length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
                while len(body) < length:
                    body += connection.recv(65536)
                data = body[length:]
                self.requests += 1
                if self.answer(connection, head.split()[1].decode(), head + b"\r\n\r\n" + body[:length]) == "close":
                    connection.close()
                    return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for each in self.connections:
            each.close()


def ask_etcd(etcd, data):
    """The answer of a member to a request, as bytes."""
    with socket.create_connection(("127.0.0.1", etcd.ports[0])) as target:
        target.sendall(data.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
        answer = b""
        while more := target.recv(65536):
            answer += more
    return answer


def whole(body, status="200 OK", *headers):
    body = body if isinstance(body, bytes) else body.encode()
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def trickle(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(600):
        connection.sendall(b" ")
        time.sleep(0.1)


class UsageTest(unittest.TestCase):
    def test_a_wrong_option_is_a_usage_error(self):
        name = "takes a name of 1 to 255 bytes of UTF-8 without \"/\" and control characters"
        for words, text in (
                (["-d", "localhost"], "-d takes HOST:PORT or https://HOST:PORT"),
                (["-d", "a:1,,b:2"], "takes HOST:PORT"), (["-d", "a:0"], "takes HOST:PORT"),
                (["-d", "a:65536"], "takes HOST:PORT"), (["-d", "http://u:p@a:1"], "takes HOST:PORT"),
                (["-d", "a:1/path"], "takes HOST:PORT"), (["-d", ","], "takes HOST:PORT"),
                (["-d", ",".join(["a:1"] * 17)], "at most 16 endpoints"),
                (["-d", "a:1", "-n", "a/b"], f"--name with -d {name}"),
                (["-d", "a:1", "-n", "by-name"], "other than by-name"),
                (["-d", "a:1", "-n", "n" * 256], "-n takes a name of 1 to 255 bytes"),
                (["-d", "a:1", "-n", "a\x85b"], f"--name with -d {name}"),
                (["-d", "a:1", "--service", "a/b"], name), (["-d", "a:1", "--service", "s", "--service", "s"], "each name once"),
                (["-d", "a:1", "--dir-namespace", "x/y"], name), (["-d", "a:1", "--advertise", "a:1"], "without a port"),
                (["-d", "a:1", "--dir-ttl", "1"], "from 2 to 3600 s"), (["-d", "a:1", "--dir-ttl", "2h"], "from 2 to 3600 s"),
                (["-d", "a:1", "--dir-cert", "x"], "given together"), (["-d", "a:1", "--dir-cacert", "x"], "needs -d https://"),
                (["--service", "s"], "--service needs -d"), (["--dir-optional"], "--dir-optional needs -d")):
            with self.subTest(words):
                done = run_to_end("run", *PORTS, *words, "--as-service")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(text, done.stderr)
        for ports, text in ((["--json-rpc", "unix:/tmp/no"], "-d is for peers with ports"), ([], "-d is for peers with ports"),
                            (["--json-rpc", "0.0.0.0:auto", "--insecure-listen"], "needs --advertise")):
            done = run_to_end("run", *ports, "-d", "a:1", "--as-service")
            self.assertEqual((done.returncode, text in done.stderr), (2, True), done.stderr)

    def test_an_unreachable_directory_ends_the_start(self):
        for words, text in ((["-d", "127.0.0.1:1,127.0.0.1:2"], "127.0.0.1:1,127.0.0.1:2: none of 2 endpoints answers"),
                            (["-d", "no.such.host.invalid:1"], "no.such.host.invalid")):
            begun = time.monotonic()
            done = run_to_end("run", *PORTS, *words, "--dir-timeout", "1s", "--as-service")
            self.assertEqual((done.returncode, text in done.stderr), (1, True), done.stderr)
            self.assertLess(time.monotonic() - begun, 20)

    def test_the_user_file_must_be_private_and_have_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "user")
            for content, mode, text in (("a:b\n", 0o644, "others"), ("ab\n", 0o600, "one line, USER:PASSWORD"),
                                        ("a:b\nc:d\n", 0o600, "one line"), (":b", 0o600, "one line")):
                file.write_text(content)
                file.chmod(mode)
                done = run_to_end("run", *PORTS, "-d", "127.0.0.1:1", "--dir-user-file", str(file), "--as-service")
                self.assertEqual((done.returncode, text in done.stderr), (1, True), done.stderr)


class HostileTest(unittest.TestCase):
    """Servers that answer otherwise than etcd."""

    def fail_with(self, answer, *texts, timeout=2000, **options):
        with Server(answer) as server, Registrations(server.endpoints, timeout=timeout, **options) as program:
            begun = time.monotonic()
            result = program.begin()[0]
            self.assertLess(time.monotonic() - begun, timeout / 1000 + 10)
            self.assertTrue(result.startswith("failed "), result)
            for text in (f"the directory {server.endpoints}: ", *texts):
                self.assertIn(text, result)
            self.assertLess(program.end(), 5000)

    def test_answers_that_are_not_etcds_end_the_start_with_a_reason(self):
        send = lambda data: lambda connection, *_: connection.sendall(data)  # noqa: E731
        close = lambda data: lambda connection, *_: (connection.sendall(data), "close")[1]  # noqa: E731
        for answer, text in (
                (send(whole("garbage")), "does not answer as etcd does (HTTP status 200): \"garbage\""),
                (send(whole("\x1b[31m\u202e")), "\"\\x1b[31m\\u202e\""),
                (send(whole("{}")), "does not answer as etcd does"),
                (send(whole("[]")), "does not answer as etcd does"),
                (send(whole('{"ID":"1e3","TTL":"5"}')), "does not answer as etcd does"),
                (send(whole('{"ID":"99999999999999999999","TTL":"5"}')), "does not answer as etcd does"),
                (send(whole("{" * 100)), "does not answer as etcd does"),
                (send(whole('{"error":"\\u001b[2J","code":3}', "400 Bad Request")), "refuses: \\x1b[2J"),
                (send(whole("404 page not found", "404 Not Found")), "its JSON gateway is off"),
                (send(whole("", "302 Found", "Location: http://127.0.0.1:1/")), "redirect (302), which is not followed"),
                (send(whole('{"code":13}', "500 Internal Server Error")), "refuses: it does not say why"),
                (send(b"\x15\x03\x01\x00\x02garbage\r\n\r\n"), "if it speaks TLS, name it by https://"),
                (close(b""), "if it speaks TLS, name it by https://"),
                (close(whole('{"ID":"1","TTL":"5"}')[:-5]), ""),
                (close(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"), "")):
            with self.subTest(text):
                self.fail_with(answer, text)

    def test_an_answer_of_twenty_megabytes_is_refused(self):
        self.fail_with(lambda connection, *_: connection.sendall(whole(b" " * (20 << 20))),
                       "its answer has more than 16777216 bytes")

    def test_a_server_that_hangs_or_is_slow_costs_no_more_than_the_timeout(self):
        self.fail_with(lambda *_: None, "does not answer in time", timeout=1000)
        self.fail_with(lambda connection, *_: trickle(connection), "does not answer in time", timeout=1000)

    def test_a_signal_ends_a_start_that_waits_for_the_directory_at_once(self):
        with Server(lambda *_: None) as server:
            peer = start("-d", server.endpoints, "--dir-timeout", "1h", "--dir-ttl", "1h")
            try:
                eventually(lambda: server.requests > 0)
                begun = time.monotonic()
                peer.terminate()
                out = peer.communicate(timeout=SECONDS)[0]
                self.assertLess(time.monotonic() - begun, 5, out)
                self.assertNotIn("jpeer ready", out)
            finally:
                peer.kill()

    def test_an_optional_directory_that_is_unreachable_lets_the_peer_start(self):
        with Peer(*PORTS, "-d", "127.0.0.1:1", "--dir-optional", addresses=False) as peer:
            self.assertEqual(peer.stderr().count("cannot be used"), 1)
            time.sleep(2)
            self.assertEqual(peer.stderr().count("cannot be used"), 1)


@unittest.skipUnless(directory.installed(), directory.WHY_NOT)
class DirectoryTest(unittest.TestCase):
    """One member, for all tests of the class; each uses names of its own."""

    @classmethod
    def setUpClass(cls):
        cls.etcd = cls.enterClassContext(directory.Etcd())

    def setUp(self):
        self.etcd.ctl("del", "--prefix", "/pal")

    def names(self):
        return {key.rpartition("/")[2]: value for key, value in self.etcd.read("/pal/peers/by-name/").items()}

    def test_a_peer_is_listed_until_it_stops(self):
        name = "Ünïcode \"name\" with \\ and {}"
        options = ("-d", self.etcd.endpoints, "-n", name, "--uuid", UUID, "--service", "sums", "--service", "more")
        before = time.time() * 1000
        with Peer(*options) as peer:
            port = re.search(r":(\d+)", peer.address("ws"))[1]
            urls = {"jsonRpc": f"{'wss' if peer.tls else 'ws'}://127.0.0.1:{port}", "zmqRpc": peer.address("tcp")}
            entries = self.etcd.read()
            info = json.loads(entries.pop(f"/pal/peers/{UUID}/info"))
            self.assertAlmostEqual(info.pop("ctimeMillis"), before, delta=SECONDS * 1000)
            self.assertEqual(info, {"uuid": UUID, "name": name})
            state = json.loads(entries.pop(f"/pal/peers/{UUID}/state"))
            self.assertGreaterEqual(state.pop("mtimeMillis"), before - 1)
            self.assertEqual(state, urls)
            self.assertEqual(entries.pop(f"/pal/peers/by-name/{name}"), UUID)
            for service in ("sums", "more"):
                self.assertEqual(json.loads(entries.pop(f"/pal/services/{service}/{UUID}")), {"uuid": UUID, **urls})
            self.assertEqual(entries, {})
            if peer.tls is None:  # the published address needs no path
                asked = urllib.request.Request(urls["jsonRpc"].replace("ws:", "http:") + "/", json.dumps(PING).encode(),
                                               {"Content-Type": "application/json"})
                with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
                    self.assertNotIn("error", json.load(answer))
            peer.stop()
            self.assertEqual(self.etcd.read(), {})
            self.assertIn("withdrawn from the directory", peer.stderr())

    def test_a_peer_without_a_name_is_listed_by_its_uuid_alone(self):
        with Peer("-d", self.etcd.endpoints, "--dir-namespace", "other", "--advertise", "host.example"):
            entries = self.etcd.read("/other/")
            self.assertEqual(sorted(key.rpartition("/")[2] for key in entries), ["info", "state"])
            self.assertNotIn("name", json.loads(next(entries[key] for key in entries if key.endswith("/info"))))
            state = json.loads(next(entries[key] for key in entries if key.endswith("/state")))
            self.assertRegex(state["jsonRpc"], r"^wss?://host\.example:\d+$")
            self.assertRegex(state["zmqRpc"], r"^tcp://host\.example:\d+$")

    def test_a_taken_name_ends_a_start_with_its_owner(self):
        with Registrations(self.etcd.endpoints, name="mine", uuid=OTHER, ttl=2) as owner:
            self.assertEqual(owner.begin(), [f"listed {OTHER}"])
            text = f'the name "mine" is taken in the directory {self.etcd.endpoints}: {OTHER} has it, and listens on ws://127.0.0.1:1\n'
            for more, waits in ((["--dir-no-wait"], False), ([], True)):
                done = run_to_end("run", *PORTS, "-d", self.etcd.endpoints, "-n", "mine", *more, "--as-service")
                self.assertEqual((done.returncode, text in done.stderr), (1, True), done.stderr)
                self.assertEqual("waits up to 5 s" in done.stderr, waits, done.stderr)
            with Registrations(self.etcd.endpoints, name="other", uuid=OTHER) as twin:
                self.assertIn(f"the UUID {OTHER} is taken", twin.begin()[0])
            self.assertEqual(self.names(), {"mine": OTHER})

    def test_a_signal_ends_a_start_that_waits_for_a_name_at_once(self):
        with Registrations(self.etcd.endpoints, name="long", ttl=60) as owner:
            owner.begin()
            peer = start("-d", self.etcd.endpoints, "-n", "long")
            try:
                for line in peer.stdout:
                    if "waits up to 63 s" in line:
                        break
                begun = time.monotonic()
                peer.terminate()
                out = peer.communicate(timeout=SECONDS)[0]
                self.assertLess(time.monotonic() - begun, 5, out)
                self.assertNotIn("jpeer ready", out)
            finally:
                peer.kill()

    def test_a_peer_that_is_killed_five_times_has_its_name_again(self):
        options = (*PORTS, "-d", self.etcd.endpoints, "-n", "restarted", "--dir-ttl", "2")
        for number in range(5):  # with a UUID of its own, or the one of the peer before
            uuid = UUID if number > 2 else f"{number}f81d4fa-7dec-41d0-a765-00a0c91e6bf6"
            with contextlib.closing(Peer(*options, "--uuid", uuid, addresses=False)) as peer:
                self.assertEqual(self.names(), {"restarted": uuid})
                peer.process.kill()
        eventually(lambda: self.etcd.read() == {}, "the entries of a killed peer end with its lease", 10)

    def test_of_peers_that_start_at_once_one_has_the_name(self):
        with Registrations(self.etcd.endpoints, 20, name="one") as program:
            results = program.begin()
            self.assertEqual(sorted(each.split()[0] for each in results), ["failed"] * 19 + ["listed"], results)
            winner = next(each for each in results if each.startswith("listed")).split()[1]
            self.assertEqual(self.names(), {"one": winner})
            self.assertEqual(len(self.etcd.read()), 3)

    def test_two_hundred_registrations_at_once(self):
        with Registrations(self.etcd.endpoints, 200, name="peer-%", service="many", timeout=20000) as program:
            results = program.begin()
            self.assertEqual([each for each in results if not each.startswith("listed")], [])
            self.assertEqual(len(self.etcd.read()), 800)
            self.assertEqual(set(self.names()), {f"peer-{number}" for number in range(200)})
            program.end()
            self.assertEqual(self.etcd.read(), {})

    def test_a_name_of_255_bytes(self):
        with Registrations(self.etcd.endpoints, name="n" * 255) as program:
            self.assertTrue(program.begin()[0].startswith("listed"))
            self.assertEqual(list(self.names()), ["n" * 255])

    def test_dead_entries_are_replaced(self):
        self.etcd.put("/pal/peers/by-name/heir", OTHER)
        self.etcd.put(f"/pal/peers/{OTHER}/info", "{}")
        self.etcd.put(f"/pal/peers/{UUID}/info", "{}")
        with Registrations(self.etcd.endpoints, name="heir", uuid=UUID) as program:
            self.assertEqual(program.begin(), [f"listed {UUID}"])
            self.assertEqual(set(self.etcd.read()),
                             {f"/pal/peers/{UUID}/info", f"/pal/peers/{UUID}/state", "/pal/peers/by-name/heir"})
        self.etcd.put("/pal/peers/by-name/heir2", "\x01 no UUID")
        with Registrations(self.etcd.endpoints, name="heir2") as program:
            self.assertTrue(program.begin()[0].startswith("listed"))

    def test_an_owner_whose_entries_have_no_lease_is_not_waited_for(self):
        self.etcd.put("/pal/peers/by-name/kept", OTHER)
        self.etcd.put(f"/pal/peers/{OTHER}/state", "garbage")
        with Registrations(self.etcd.endpoints, name="kept", wait=1) as program:
            self.assertIn(f"{OTHER} has it, and listens on no address that it says", program.begin()[0])

    def test_an_answer_that_is_lost_is_settled_by_reading(self):
        lost = []

        def forward(connection, path, data):
            answer = ask_etcd(self.etcd, data)
            if path == "/v3/kv/txn" and not lost:
                lost.append(path)
            else:
                connection.sendall(answer)
            return "close"

        with Server(forward) as proxy, Registrations(proxy.endpoints, name="settled", uuid=UUID) as program:
            self.assertEqual(program.begin(), [f"listed {UUID}"])
            self.assertEqual((lost, self.names()), (["/v3/kv/txn"], {"settled": UUID}))

    def test_a_list_of_several_pages_begins_anew_if_the_first_ones_revision_is_compacted(self):
        pages = []

        def compact(connection, path, data):
            pages.append(path)
            answer = ask_etcd(self.etcd, data)
            if len(pages) % 2 == 1 and len(pages) < self.last:
                self.etcd.put("/pal/other", "x")
                revision = json.loads(self.etcd.ctl("get", "x", "-w", "json").stdout)["header"]["revision"]
                self.etcd.ctl("compaction", str(revision))
            connection.sendall(answer)
            return "close"

        uuids = [f"{number:08x}{UUID[8:]}" for number in range(600)]
        for at in range(0, 600, 100):  # etcd takes at most 128 operations in a transaction
            puts = "".join(f"put /pal/peers/{each}/state {{}}\n" for each in uuids[at:at + 100])
            self.etcd.ctl("txn", text=f"\n{puts}\n\n")
        for self.last, status, count in ((4, 0, 600), (99, 4, 0)):
            pages.clear()
            with self.subTest(status), Server(compact) as proxy:
                done = run_to_end("peers", "-d", proxy.endpoints, "--json", env=environment(leaks=True))
                self.assertEqual((done.returncode, done.stdout.count('"uuid"')), (status, count), done.stderr)
                self.assertEqual("has compacted its history during each of 5 reads" in done.stderr, status != 0, done.stderr)

    def test_answers_with_changed_bytes_do_no_harm(self):
        chance = random.Random(7)

        def change(connection, _, data):
            head, _, body = ask_etcd(self.etcd, data).partition(b"\r\n\r\n")
            if b"chunked" in head:
                body = body.partition(b"\r\n")[2].rpartition(b"\r\n0\r\n")[0]
            changed = bytearray(body)
            for _ in range(chance.choice((0, 0, 1, 2, 20))):
                at = chance.randrange(len(changed) + 1)
                changed[at : at + chance.randrange(3)] = bytes(chance.choices(b'"{}[],:0129-eE\\\0 tfn\xff\xc3', k=chance.randrange(3)))
            connection.sendall(whole(bytes(changed), head.split(b"\r\n")[0].decode()[9:]))

        with Server(change) as proxy, Registrations(proxy.endpoints, 150, name="peer-%", ttl=2, timeout=3000, wait=1) as program:
            results = program.begin()
            self.assertEqual(len(results), 150)
            self.assertTrue(any(each.startswith("listed") for each in results))
            time.sleep(2)
            program.end()

    def test_entries_that_someone_removes_come_back(self):
        with Registrations(self.etcd.endpoints, name="removed", ttl=2) as program:
            program.begin()
            self.etcd.ctl("del", "--prefix", "/pal")
            program.await_log("lacks the entries of this peer")
            eventually(lambda: len(self.etcd.read()) == 3, seconds=10)

    def test_a_stopped_process_loses_its_lease_and_then_its_name_until_that_is_free(self):
        with Registrations(self.etcd.endpoints, name="stopped", uuid=UUID, ttl=2) as program:
            program.begin()
            program.process.send_signal(signal.SIGSTOP)
            eventually(lambda: self.etcd.read() == {}, "the lease ends", 10)
            with Registrations(self.etcd.endpoints, name="stopped", uuid=OTHER) as usurper:
                usurper.begin()
                program.process.send_signal(signal.SIGCONT)
                program.await_log("listed by its UUID alone")
                program.await_log("the lease of this peer in the directory has ended")
                self.assertEqual(self.names(), {"stopped": OTHER})
                self.assertEqual(json.loads(self.etcd.read()[f"/pal/peers/{UUID}/info"]).get("name"), None)
                time.sleep(2)
                self.assertEqual(program.count("listed by its UUID alone"), 1)
                usurper.end()
            eventually(lambda: self.names() == {"stopped": UUID}, "the name is taken again", 10)
            self.assertEqual(json.loads(self.etcd.read()[f"/pal/peers/{UUID}/info"])["name"], "stopped")

    def test_a_directory_that_is_off_says_so(self):
        with tempfile.TemporaryDirectory(prefix="jpeer-etcd-") as folder:
            port, peer = directory.free_ports(2)
            config = Path(folder, "etcd.yml")
            config.write_text(f"name: m\ndata-dir: {folder}/data\nlisten-client-urls: http://127.0.0.1:{port}\n"
                              f"advertise-client-urls: http://127.0.0.1:{port}\nlisten-peer-urls: http://127.0.0.1:{peer}\n"
                              f"initial-advertise-peer-urls: http://127.0.0.1:{peer}\ninitial-cluster: m=http://127.0.0.1:{peer}\n")
            with subprocess.Popen(["etcd", "--config-file", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as etcd:
                try:
                    with Registrations(f"127.0.0.1:{port}", timeout=20000) as program:
                        self.assertIn("its JSON gateway is off", program.begin()[0])
                finally:
                    etcd.kill()


@unittest.skipUnless(directory.installed(), directory.WHY_NOT)
class LossTest(unittest.TestCase):
    """An etcd that hangs, ends, or loses its leader."""

    def latencies(self, client, count=300):
        found = []
        for _ in range(count):
            begun = time.perf_counter()
            self.assertNotIn("error", json.loads(client.exchange(json.dumps(PING))))
            found.append(time.perf_counter() - begun)
        return statistics.median(found), max(found)

    def test_a_peer_serves_and_stops_while_the_directory_hangs(self):
        with directory.Etcd() as etcd, Peer("-d", etcd.endpoints, "-n", "served", "--dir-ttl", "2") as peer:
            with WebSocketClient(peer) as client:
                self.latencies(client)
                before = self.latencies(client)
                etcd.members[0].hang()
                peer.await_stderr("cannot be used")
                during = self.latencies(client)
                self.assertLess(during[0], 3 * before[0] + 0.001, (before, during))
            begun = time.monotonic()
            peer.stop()
            self.assertLess(time.monotonic() - begun, 5)
            self.assertIn("could not be told that this peer ends", peer.stderr())
            etcd.members[0].go_on()
            eventually(lambda: etcd.read() == {}, "the entries end with their lease", 15)

    def test_a_loss_and_a_return_are_logged_once(self):
        with directory.Etcd() as etcd, Registrations(etcd.endpoints, name="back", ttl=2) as program:
            program.begin()
            etcd.members[0].kill()
            program.await_log("cannot be used")
            time.sleep(2)
            etcd.members[0].start()
            program.await_log("can be used again")
            eventually(lambda: len(etcd.read()) == 3, seconds=10)
            self.assertEqual((program.count("cannot be used"), program.count("can be used again")), (1, 1), program.log)
            etcd.members[0].kill()
            self.assertLess(program.end(), 1000)

    def test_a_cluster_goes_on_without_its_leader_and_comes_back_without_any(self):
        with directory.Etcd(3) as etcd, Registrations(etcd.endpoints, name="led", ttl=5) as program:
            program.begin()
            etcd.leader().kill()
            time.sleep(6)
            survivors = [member for member in etcd.members if member.process is not None]
            self.assertEqual(len(survivors), 2)
            self.assertEqual(program.count("has ended"), 0, program.log)
            self.assertEqual(len(etcd.read()), 3)
            survivors[0].hang()
            survivors[0].kill()
            survivors[1].kill()
            program.await_log("none of 3 endpoints answers")
            for member in etcd.members:
                member.start()
            program.await_log("can be used again")
            eventually(lambda: len(etcd.read()) == 3, seconds=20)

    def test_an_optional_peer_registers_as_soon_as_it_can(self):
        port = directory.free_ports(1)[0]
        with Registrations(f"127.0.0.1:{port}", optional=1, name="late") as program:
            self.assertTrue(program.begin()[0].startswith("listed"))
            program.await_log("cannot be used")
            with directory.Etcd(port=port) as etcd:
                program.await_log("registered in the directory")
                self.assertEqual(program.count("cannot be used"), 1)
                self.assertEqual(len(etcd.read()), 3)

    def test_a_free_name_is_taken_long_before_the_lease_has_to_be_kept(self):
        with directory.Etcd() as etcd:
            etcd.put(f"/pal/peers/{OTHER}/state", "{}")
            etcd.put("/pal/peers/by-name/late", OTHER)
            etcd.members[0].kill()
            with Registrations(etcd.endpoints, optional=1, name="late", ttl=3600) as program:
                program.begin()
                etcd.members[0].start()
                program.await_log("listed by its UUID alone")
                etcd.ctl("del", "/pal/peers/by-name/late")
                program.await_log("registered in the directory", 20)


@unittest.skipUnless(directory.installed(), directory.WHY_NOT)
class SecureTest(unittest.TestCase):
    def test_tls_with_a_user_and_a_password(self):
        with directory.Etcd(tls=True) as etcd:
            folder = Path(etcd.folder.name)
            user = folder / "user"
            user.write_text(etcd.enable_users())
            user.chmod(0o600)
            wrong = folder / "wrong"
            wrong.write_text("root:wrong\n")
            wrong.chmod(0o600)
            ca = etcd.authority.certificate
            plain = etcd.endpoints.replace("https://", "http://")
            with Registrations(plain, timeout=2000) as program:
                self.assertIn("if it speaks TLS, name it by https://HOST:PORT", program.begin()[0])
            for options, text in (({"ca": ca}, "etcd asks for a user and a password"),
                                  ({"ca": ca, "user": wrong}, "invalid user ID or password"),
                                  ({"user": user}, "certificate"), ({"ca": "/no/file", "user": user}, "/no/file")):
                with Registrations(etcd.endpoints, timeout=2000, **options) as program:
                    result = program.begin()[0]
                    self.assertIn(text, result)
                    self.assertNotIn("secret", result + "".join(program.log))
            options = ("--dir-cacert", ca, "--dir-user-file", user, "--dir-ttl", "5", "-n", "secure")
            with Peer("-d", etcd.endpoints, *options) as peer:
                self.assertEqual(len(etcd.read()), 3)
                peer.stop()
            self.assertEqual(etcd.read(), {})

    def test_a_token_that_has_ended_is_replaced_also_for_a_watch(self):
        paths = []

        def forward(connection, path, data):
            paths.append(path)
            connection.sendall(ask_etcd(etcd, data))
            return "close"

        with directory.Etcd(options=["--auth-token-ttl", "1"]) as etcd, Server(forward) as proxy:
            user = Path(etcd.folder.name, "user")
            user.write_text(etcd.enable_users())
            user.chmod(0o600)
            with Registrations(etcd.endpoints, user=user, watch_after=3000) as program:
                self.assertEqual(program.begin()[1:], ["watching"])
                program.end()
            with Registrations(proxy.endpoints, user=user, ttl=9, name="anew") as program:
                program.begin()
                self.assertEqual(paths.count("/v3/auth/authenticate"), 1)
                eventually(lambda: paths.count("/v3/auth/authenticate") > 1, lambda: f"authenticated anew: {paths}")
                eventually(lambda: paths[-1] == "/v3/kv/txn", lambda: f"asked again: {paths}")
                self.assertEqual((len(etcd.read()), program.count("cannot be used")), (3, 0), program.log)

    def test_a_client_certificate(self):
        with directory.Etcd(tls=True, verify=True) as etcd:
            ca, (cert, key) = etcd.authority.certificate, etcd.client
            with Registrations(etcd.endpoints, ca=ca, cert=cert, key=key) as program:
                self.assertTrue(program.begin()[0].startswith("listed"))
            with Registrations(etcd.endpoints, ca=ca, timeout=1000) as program:
                self.assertIn("failed", program.begin()[0])
            user = Path(etcd.folder.name, "user")
            user.write_text(etcd.enable_users())
            user.chmod(0o600)
            with Registrations(etcd.endpoints, ca=ca, cert=cert, key=key) as program:
                self.assertIn("use a certificate without a CN", program.begin()[0])


if __name__ == "__main__":
    unittest.main()
