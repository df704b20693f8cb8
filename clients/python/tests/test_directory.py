"""Peers in a directory: a real etcd, and peers that register with it, end, and are started again."""

import asyncio
import collections
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jpeer
import jpeer.aio
import support
from jpeer.connection import find_program
from support import FIXTURES, ROOT, SECONDS, await_true, run_threads

sys.path.append(str(ROOT / "tests/support"))
import certificates  # noqa: E402

support.certificates = certificates  # where etcd.py looks for it
import etcd as directory  # noqa: E402

KILLING_SECONDS = float(os.environ.pop("JPEER_TEST_KILLING_SECONDS", "12"))
CLIENTS = 16


class Peer:
    """A peer with a JVM that registers."""

    def __init__(self, etcd, *options):
        self.folder = tempfile.TemporaryDirectory(prefix="jpeer-test-")
        self.options = ["-d", etcd.endpoints, "--dir-ttl", "2", *options]
        self.process = None
        self.begin()
        self.await_ready()

    def begin(self):
        self.ready = Path(self.folder.name, f"{uuid.uuid4()}.json")
        self.process = subprocess.Popen(
            [find_program(), "run", "--ready-file", self.ready, "--json-rpc", "auto", "--zmq-rpc", "auto",
             "--rpc-default-action", "ALLOW", "--first-ref", "1", "--log-level", "warn", "-cp", FIXTURES,
             "-J", "-XX:TieredStopAtLevel=1", *self.options, "--as-service"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def await_ready(self):
        end = time.monotonic() + SECONDS
        while not self.ready.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError("the peer has not started")
            time.sleep(0.005)
        self.facts = json.loads(self.ready.read_text())

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        self.process.wait(SECONDS)

    def close(self):
        self.kill()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class PackageCase(directory.DirectoryCase):
    def peer(self, *options):
        return self.enterContext(Peer(self.etcd, *options))

    def connect(self, target, **options):
        return self.enterContext(jpeer.connect(self.url(target), **{"timeout": SECONDS, **options}))

    def refuse(self, target, words, error=ConnectionError, **options):
        with self.assertRaisesRegex(error, words):
            self.connect(target, **options)


class Names(PackageCase):
    def test_a_peer_is_found_by_its_name_and_its_uuid(self):
        peer = self.peer("-n", "calc")
        [found] = jpeer.peers(self.etcd.endpoints)
        self.assertEqual((found.name, found.uuid), ("calc", peer.facts["uuid"]))
        self.assertIn(f"{found.json_rpc}/rpc", peer.facts["addresses"])
        self.assertIn(found.zmq_rpc, peer.facts["addresses"])
        self.assertLess(abs(found.since.timestamp() - time.time()), SECONDS)
        self.assertEqual(jpeer.wait_for(self.etcd.endpoints, "calc"), found)
        self.assertEqual(jpeer.wait_for(self.etcd.endpoints, found.uuid.upper(), timeout=1), found)
        for target in ("calc", found.uuid, found.uuid.upper()):
            self.assertEqual(self.connect(target).java.lang.Math.max(3, 5), 5)
        self.assertEqual(self.connect("calc", connect_timeout=5, reconnects=True).java.lang.Math.max(3, 5), 5)
        self.refuse("other", "no peer of the directory has that name")
        self.refuse(str(uuid.uuid4()), "no peer of the directory has that UUID")
        self.refuse("service/math", "no peer of the directory has that service")
        name = str(uuid.uuid4())
        self.etcd.put_peer(found.json_rpc, name)
        self.assertEqual(self.connect(name).java.lang.Math.max(3, 5), 5)
        self.refuse("by-name", "takes a name", ValueError)
        self.refuse("calc", "pin", ValueError, pin=True)

    def test_a_name_that_moves_to_another_process_makes_objects_stale(self):
        old = self.peer("-n", "calc")
        java = self.connect("calc")
        held = java.java.util.ArrayList([1, 2])
        number = held._number
        on_thread = run_threads(lambda _: java.java.util.ArrayList([5]), range(2))
        old.stop()
        new = self.peer("-n", "calc")
        begun = time.monotonic()
        for each in (held, *on_thread):
            with self.assertRaisesRegex(jpeer.StaleObject, "of a peer that has ended"):
                each.size()
        self.assertLess(time.monotonic() - begun, 5)
        made = java.java.util.ArrayList([7])
        self.assertEqual(made._number, number)  # which the old peer has used, too
        self.assertEqual(made.size(), 1)
        self.assertNotEqual(old.facts["uuid"], new.facts["uuid"])
        with self.assertRaises(jpeer.StaleObject):
            made.addAll(held)

    def test_a_peer_that_was_killed_is_found_again(self):
        peer = self.peer("-n", "calc")
        java = self.connect("calc")
        self.assertEqual(java.java.lang.Math.max(3, 5), 5)
        peer.kill()
        with self.assertRaisesRegex(jpeer.NotSent, "the request was not sent"):
            java.java.lang.Math.max(3, 5)
        peer.begin()  # waits until its name is free
        peer.await_ready()

        def answers():
            try:
                return java.java.lang.Math.max(3, 5) == 5
            except jpeer.NotSent:
                return False
        await_true(answers, "the new peer answers")

    def test_a_call_whose_connection_ends_says_that_it_was_sent(self):
        peer = self.peer("-n", "calc")
        java = self.connect("calc")
        timer = threading.Timer(0.5, peer.kill)
        timer.start()
        with self.assertRaisesRegex(ConnectionError, "the request was sent, and may have run") as raised:
            java.java.lang.Thread.sleep(60000)
        self.assertNotIsInstance(raised.exception, jpeer.NotSent)
        timer.join()

    def test_wait_for_returns_when_the_peer_registers(self):
        started = time.monotonic()
        with self.assertRaisesRegex(TimeoutError, "calc"):
            jpeer.wait_for(self.etcd.endpoints, "calc", timeout=0.3)
        self.assertLess(time.monotonic() - started, 5)
        timer = threading.Timer(0.5, self.etcd.put_peer, ["ws://127.0.0.1:1", "calc"])
        timer.start()
        self.assertEqual(jpeer.wait_for(self.etcd.endpoints, "calc", timeout=SECONDS).name, "calc")
        timer.join()

    def test_a_wait_for_a_name_that_no_peer_can_have_fails_at_once(self):
        for name in ("", "a/b", "by-name", "x" * 256, "a\n"):
            for wait in (jpeer.wait_for, lambda *args, **options: asyncio.run(jpeer.aio.wait_for(*args, **options))):
                with self.subTest(name), self.assertRaisesRegex(ValueError, "^wait_for takes a name "):
                    wait(self.etcd.endpoints, name, timeout=SECONDS)

    def test_a_wait_ends_in_time_while_the_directory_hangs(self):
        [member] = self.etcd.members
        member.hang()
        try:
            started = time.monotonic()
            with self.assertRaisesRegex(ConnectionError, "does not answer in time"):
                jpeer.wait_for(self.etcd.endpoints, "calc", timeout=0.3)
            self.assertLess(time.monotonic() - started, 4)
        finally:
            member.go_on()

    def test_a_signal_ends_the_wait(self):
        def stop(*_):
            raise InterruptedError("the signal")
        before = signal.signal(signal.SIGALRM, stop)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        started = time.monotonic()
        with self.assertRaisesRegex(InterruptedError, "the signal"):
            jpeer.wait_for(self.etcd.endpoints, "calc", timeout=SECONDS)
        self.assertLess(time.monotonic() - started, 5)

    def test_fifty_wait_at_once(self):
        timer = threading.Timer(1, self.etcd.put_peer, ["ws://127.0.0.1:1", "calc"])
        timer.start()
        found = run_threads(lambda _: jpeer.wait_for(self.etcd.endpoints, "calc", timeout=SECONDS), range(50))
        self.assertEqual({each.json_rpc for each in found}, {"ws://127.0.0.1:1"})
        timer.join()

    def test_asyncio(self):
        async def run():
            with self.assertRaises(TimeoutError):
                await jpeer.aio.wait_for(self.etcd.endpoints, "calc", timeout=0.2)
            waiting = asyncio.create_task(jpeer.aio.wait_for(self.etcd.endpoints, "calc"))
            await asyncio.sleep(0.2)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            waiting = asyncio.create_task(jpeer.aio.wait_for(self.etcd.endpoints, "calc", timeout=SECONDS))
            await asyncio.sleep(0.2)
            [member] = self.etcd.members
            member.kill()
            await asyncio.sleep(1.5)
            member.start()
            peer = await asyncio.to_thread(self.peer, "-n", "calc", "--service", "math")
            self.assertEqual((await waiting).name, "calc")
            self.assertEqual([each.name for each in await jpeer.aio.peers(self.etcd.endpoints)], ["calc"])
            async with jpeer.aio.connect(self.url("service/math")) as java:
                self.assertEqual(await java.java.lang.Math.max(3, 5), 5)
                sleeping = asyncio.ensure_future(java.java.lang.Thread.sleep(60000))
                await asyncio.sleep(0.5)
                await asyncio.to_thread(self.peer, "--service", "math")
                peer.kill()
                with self.assertRaisesRegex(ConnectionError, "the request was sent, and may have run"):
                    await sleeping
                for _ in range(100):
                    self.assertEqual(await java.java.lang.Math.max(3, 5), 5)
        asyncio.run(run())


class Services(PackageCase):
    def test_connections_are_spread_over_the_peers(self):
        peers = [self.peer("--service", "math") for _ in range(4)]
        connections = [self.connect("service/math") for _ in range(64)]
        counts = collections.Counter(each.java.lang.ProcessHandle.current().pid() for each in connections)
        self.assertEqual(set(counts), {each.process.pid for each in peers})
        self.assertTrue(all(12 <= count <= 20 for count in counts.values()), counts)

    def test_threads_of_a_connection_are_at_one_peer(self):
        peers = {peer.process.pid: peer for peer in (self.peer("--service", "math") for _ in range(3))}
        java = self.connect("service/math")

        def pids():
            return set(run_threads(lambda _: java.java.lang.ProcessHandle.current().pid(), range(8)))
        [first] = pids()
        peers[first].kill()
        [second] = pids()
        self.assertIn(second, set(peers) - {first})

    def test_an_idempotent_call_goes_to_another_peer(self):
        tally = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-test-")), "tally")
        options = ("--service", "math", "--rpc-idempotent", "fixtures.Tally.addSlowly,java.util.List.of")
        peers = {peer.process.pid: peer for peer in (self.peer(*options), self.peer(*options))}
        java = self.connect("service/math")
        first = peers[java.java.lang.ProcessHandle.current().pid()]
        java.idempotent = True
        self.assertTrue(java.idempotent)
        with self.assertRaisesRegex(jpeer.Denied, "idempotent"):
            java.fixtures.Tally.add(str(tally), "line")
        with self.assertRaisesRegex(jpeer.Denied, "idempotent"):
            java._connection.batch([("call", "fixtures.Tally", "add", None, (str(tally), "line"))])
        self.assertFalse(tally.exists())
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(java.fixtures.Tally.addSlowly, str(tally), "line", 2000)
            await_true(lambda: tally.exists() and tally.read_text(), "the call runs")
            first.kill()
            self.assertEqual(call.result(), "line")
        self.assertEqual(tally.read_text().splitlines(), ["line", "line"])
        made = java.java.util.List.of(1, 2)
        java.idempotent = False
        self.assertEqual(made.size(), 2)
        self.assertTrue(self.connect("service/math", idempotent=True).idempotent)

    def test_peers_that_do_not_answer_are_passed_over(self):
        """Ports that are closed, accept and never answer, and answer garbage."""
        peer = self.peer("--service", "math")
        silent = self.enterContext(socket.create_server(("127.0.0.1", 0)))
        garbage = self.enterContext(socket.create_server(("127.0.0.1", 0)))

        def answer():
            while True:
                try:
                    accepted, _ = garbage.accept()
                except OSError:
                    return
                with accepted:
                    accepted.recv(4096)
                    accepted.sendall(b"SSH-2.0-\x1b[2Jgarbage\r\n" * 100)
        threading.Thread(target=answer, daemon=True).start()
        for port in (1, silent.getsockname()[1], garbage.getsockname()[1]):
            self.etcd.put_peer(f"ws://127.0.0.1:{port}", f"peer{port}", "math")
        connections = [self.connect("service/math", connect_timeout=4) for _ in range(8)]
        self.assertEqual({each.java.lang.ProcessHandle.current().pid() for each in connections}, {peer.process.pid})
        self.refuse("peer1", "dir://.*/peer1: ws://127.0.0.1:1: Connection refused")
        self.refuse(f"peer{silent.getsockname()[1]}", "time", (ConnectionError, TimeoutError), connect_timeout=0.5)
        self.refuse(f"peer{garbage.getsockname()[1]}", "^[^\x1b]*$", ConnectionError)
        garbage.shutdown(socket.SHUT_RDWR)
        peer.kill()
        with self.assertRaisesRegex(jpeer.NotSent, "none of the 4 members has accepted a connection"):
            connections[0].java.lang.Math.max(3, 5)

    def test_nothing_runs_twice_while_peers_are_killed(self):
        """Each second a peer is killed and started again. A call is answered, or its error says whether it was sent."""
        tally = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="jpeer-test-")), "tally")
        tally.touch()
        peers = [self.peer("--service", "math") for _ in range(4)]
        end = time.monotonic() + KILLING_SECONDS
        answered, unsent, sent, wrong = set(), set(), set(), []

        def work(client):
            number = 0
            java = jpeer.connect(self.url("service/math"), timeout=SECONDS)
            with java:
                while time.monotonic() < end:
                    line = f"{client}-{number}"
                    number += 1
                    try:
                        result = java.fixtures.Tally.add(str(tally), line)
                        (answered.add if result == line else wrong.append)(line)
                    except jpeer.NotSent as error:
                        (unsent.add if "not sent" in str(error) else wrong.append)(line)
                    except ConnectionError as error:
                        (sent.add if "was sent" in str(error) else wrong.append)(f"{line}: {error}")
                    time.sleep(0.005)

        def kill():
            while time.monotonic() < end:
                peer = random.choice(peers)
                peer.kill()
                peer.begin()
                peer.await_ready()
                time.sleep(max(0, 1 - (time.monotonic() % 1)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with ThreadPoolExecutor(CLIENTS + 1) as pool:
                killer = pool.submit(kill)
                for each in [pool.submit(work, number) for number in range(CLIENTS)] + [killer]:
                    each.result()
        ran = collections.Counter(tally.read_text().splitlines())
        self.assertEqual(wrong, [])
        self.assertEqual([line for line, count in ran.items() if count > 1], [])
        self.assertEqual(answered - set(ran), set())
        self.assertEqual(unsent & set(ran), set())
        self.assertGreater(len(answered), 50 * KILLING_SECONDS)
        print(f"{len(answered)} answered, {len(sent)} sent without an answer, {len(unsent)} not sent", file=sys.stderr)


class Hostile(PackageCase):
    def test_entries_that_no_peer_writes(self):
        """Each is left out of the list with a warning, and a connection to it is refused."""
        good = self.etcd.put_peer("ws://127.0.0.1:1", "good")
        number = str(uuid.uuid4())
        self.etcd.put("/pal/peers/by-name/bad", number)
        for value, words in (
            ('{"jsonRpc":"ws://user:secret@127.0.0.1:1"}', "has a user or a password"),
            ('{"jsonRpc":"shm:/run/peer"}', "not a URL of this member"),
            ('{"jsonRpc":"ws+unix:/run/peer"}', "not a URL of this member"),
            ('{"jsonRpc":"http://127.0.0.1:1"}', "not a URL of this member"),
            ('{"jsonRpc":"dir://127.0.0.1:1/good"}', "not a URL of this member"),
            ('{"jsonRpc":"ws://127.0.0.1"}', "no port"),
            ('{"jsonRpc":"ws://127.0.0.1:1/\\u001b[2J"}', "control characters"),
            ('{"jsonRpc":"ws://' + "a" * 1_000_000 + ':1"}', "too long"),
            ('{"jsonRpc":7}', "not a string"),
            ("[" * 1000, "not JSON"),
            ("\x1b[2J", "not JSON"),
            ("", "not JSON"),
        ):
            with self.subTest(value=value[:60]):
                if len(value) < 100_000:
                    self.etcd.put(f"/pal/peers/{number}/state", value)
                else:
                    subprocess.run(["etcdctl", "--endpoints", self.etcd.endpoints, "put", f"/pal/peers/{number}/state"],
                                   input=value, text=True, check=True, capture_output=True,
                                   env={**os.environ, "ETCDCTL_API": "3"})
                with self.assertWarnsRegex(RuntimeWarning, f"1 entry of the directory cannot be read.*{words}") as warned:
                    self.assertEqual([each.uuid for each in jpeer.peers(self.etcd.endpoints)], [good])
                self.assertNotIn("secret", str(warned.warning))
                self.assertNotIn("\x1b", str(warned.warning))
                self.refuse("bad", words)

    def test_a_name_is_of_the_peer_that_the_directory_names(self):
        owner = self.etcd.put_peer("ws://127.0.0.1:1", "calc")
        other = self.etcd.put_peer("ws://127.0.0.1:2")
        self.etcd.put(f"/pal/peers/{other}/info", json.dumps({"uuid": other, "name": "calc"}))
        self.assertEqual([(each.uuid, each.name) for each in jpeer.peers(self.etcd.endpoints)], [(owner, "calc"), (other, None)])
        self.assertEqual(jpeer.wait_for(self.etcd.endpoints, "calc").uuid, owner)
        self.etcd.put("/pal/peers/by-name/calc", "\x1b[2Jnobody")
        self.refuse("calc", r"names no UUID for that name, but \"\\x1b\[2Jnobody\"")

    def test_a_peer_without_tls_does_not_get_what_needs_tls(self):
        self.etcd.put_peer("ws://127.0.0.1:1", "calc")
        with tempfile.TemporaryDirectory(prefix="jpeer-test-") as folder:
            servers = certificates.Servers(folder)
            self.refuse("calc", "has no TLS", ca_file=servers.certificate)
        self.etcd.put_peer("ws://192.0.2.1:1", "far")  # of no network
        begun = time.monotonic()
        self.refuse("far", "192.0.2.1:1: .*token", token="jp_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG")
        self.assertLess(time.monotonic() - begun, 5)

    def test_a_directory_that_is_none(self):
        with self.assertRaisesRegex(ConnectionError, "127.0.0.1:1"):
            jpeer.peers("127.0.0.1:1")
        with self.assertRaisesRegex(ConnectionError, "127.0.0.1:1"):
            jpeer.connect("dir://127.0.0.1:1/calc")
        with self.assertRaisesRegex(ValueError, "address of the directory"):
            jpeer.peers("nothing")
        with self.assertRaisesRegex(ValueError, "namespace"):
            jpeer.peers(self.etcd.endpoints, namespace="a/b")
        with self.assertRaisesRegex(TypeError, "a directory has the settings"):
            jpeer.connect(self.url("calc"), directory={"ca": "x"})
        for endpoints in ("u:p@127.0.0.1:1", "127.0.0.1:1,"):
            with self.assertRaises(ValueError):
                jpeer.connect(f"dir://{endpoints}/calc")


@unittest.skipUnless(directory.installed(), directory.WHY_NOT)
class Clusters(unittest.TestCase):
    def test_look_ups_go_on_while_the_leader_is_killed(self):
        with directory.Etcd(members=3) as etcd:
            etcd.put_peer("ws://127.0.0.1:1", "calc")
            done = threading.Event()

            def look_up(_):
                found = []
                while not done.is_set():
                    try:
                        found.append([each.name for each in jpeer.peers(etcd.endpoints, timeout=SECONDS)])
                    except ConnectionError as error:
                        found.append(error)
                    time.sleep(0.05)
                return found

            def kill_leader():
                time.sleep(0.5)
                leader = etcd.leader()
                leader.kill()
                time.sleep(6)
                done.set()
            killer = threading.Thread(target=kill_leader)
            killer.start()
            results = run_threads(look_up, range(8))
            killer.join()
            self.assertEqual([each for found in results for each in found if each != ["calc"]], [])
            self.assertTrue(all(len(found) > 5 for found in results))

    def test_a_wait_goes_on_while_a_member_hangs(self):
        with directory.Etcd(members=3) as etcd:
            etcd.put_peer("ws://127.0.0.1:1", "first")
            leader = etcd.leader()
            leader.hang()
            try:
                begun = time.monotonic()
                found = run_threads(lambda _: jpeer.wait_for(etcd.endpoints, "first", timeout=SECONDS), range(4))
                self.assertEqual({each.name for each in found}, {"first"})
                self.assertLess(time.monotonic() - begun, 30)
            finally:
                leader.go_on()

    def test_tls_and_a_user(self):
        with directory.Etcd(tls=True) as etcd:
            user = Path(etcd.folder.name, "user")
            user.write_text(etcd.enable_users())
            user.chmod(0o600)
            etcd.put_peer("ws://127.0.0.1:1", "calc")
            authority = etcd.authority.certificate
            settings = {"ca_file": authority, "user_file": user}
            self.assertEqual([each.name for each in jpeer.peers(etcd.endpoints, **settings)], ["calc"])
            self.assertEqual(jpeer.wait_for(etcd.endpoints, "calc", **settings).name, "calc")
            plain = etcd.endpoints.replace("https://", "")
            with self.assertRaisesRegex(ConnectionError, "ws://127.0.0.1:1: Connection refused"):
                jpeer.connect(f"dir://{plain}/calc", directory=settings)
            with self.assertRaises(ConnectionError) as raised:
                jpeer.peers(etcd.endpoints, ca_file=authority)
            self.assertNotIn("secret", str(raised.exception))
            with self.assertRaisesRegex(ConnectionError, "certificate"):
                jpeer.peers(etcd.endpoints, user_file=user)
            user.chmod(0o644)
            with self.assertRaises(ValueError):
                jpeer.peers(etcd.endpoints, **settings)


if __name__ == "__main__":
    unittest.main()
