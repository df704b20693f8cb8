"""Long calls: they delay only their own connection, and the crew grows and shrinks again. Also tests the names of their
threads, the line in the log, and the effect of clients that leave."""

import contextlib
import itertools
import json
import os
import re
import resource
import uuid
from pathlib import Path

from support import jdks
from support.clients import (HttpClient, ShmClient, UnixHttpClient, UnixZmqClient, WebSocketClient, ZmqClient,
                             await_running, fetch, leave, plain, ref, typed)
from support.peer import Peer, descriptors, eventually
from support.peer_case import PeerCase

PASS = '{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"fixtures.Blockers","method":"pass"}}'
ENDLESS = 256


def dump_threads(peer):
    """The names of the Java threads, from a thread dump that the JVM writes itself."""
    before = len(peer.stdout())
    os.kill(peer.pid, 3)
    eventually(lambda: "JNI global refs" in peer.stdout()[before:], "no thread dump")
    return re.findall(r'^"(.*?)" ', peer.stdout()[before:], re.M)


def named(peer, text):
    return [name for name in dump_threads(peer) if text in name]


def ask_number(client):
    return int(re.search(r'\\"client\\":(\d+)', client.exchange(
        '{"jsonrpc":"2.0","id":1,"method":"control","params":{"method":"session"}}'))[1])


def count_crew(peer):
    """Returns the number of the peer's threads, without the JVM's own threads, which begin and end by themselves."""
    count = 0
    for name in Path(f"/proc/{peer.pid}/task").glob("*/comm"):
        with contextlib.suppress(OSError):
            count += bool(re.fullmatch(r"rpc-\d+\n", name.read_text(encoding="utf-8")))
    return count


class SlowCalls(PeerCase):
    def test_others_are_served_during_that_time_on_every_transport(self):
        peer = self.start()
        steering = self.connect()
        for slow_transport in (WebSocketClient, ZmqClient):
            slow = [slow_transport(peer) for _ in range(8)]
            for client in slow:
                client.send(PASS)
            await_running(steering, 8)
            for quick in self.each(WebSocketClient, HttpClient, ZmqClient):
                self.assertEqual(quick.call("fixtures.Calculator", "add", 1, 2), "3")
            steering.call("fixtures.Blockers", "open")
            for client in slow:
                self.assertIn('"value":"1"', client.receive())
                client.close()

    def test_a_text_that_takes_for_ever_delays_only_its_own_request(self):
        """jpeer.describe runs toString: all other clients are served, also clients of the same session and object."""
        session = {"peer-id": str(uuid.uuid4())}
        self.start()
        steering, looking = self.connect(), self.connect(WebSocketClient, session)
        beside = self.connect(WebSocketClient, session)
        looks = int(looking.call("fixtures.Looks", "waiting"))
        looking.send('{"jsonrpc":"2.0","id":1,"method":"jpeer.describe","params":{"instance":%d}}' % looks)
        await_running(steering, 1)
        self.assertEqual(beside.call("java.util.Objects", "isNull", ref(looks)), "false")
        for quick in self.each(WebSocketClient, HttpClient, ZmqClient):
            described = quick.request("jpeer.describe", [typed("java.lang.String", "x")])
            self.assertEqual(described["result"]["text"], "x")
        self.assertEqual(steering.call("fixtures.Blockers", "running"), "1")
        steering.call("fixtures.Blockers", "open")
        self.assertEqual(json.loads(looking.receive())["result"]["text"], "waited 1")

    def test_the_crew_grows_and_shrinks(self):
        peer = self.start("--rpc-threads", "2")
        steering = self.connect()
        slow = [WebSocketClient(peer) for _ in range(40)]
        for client in slow:
            client.send(PASS)
        await_running(steering, 40)
        self.assertGreaterEqual(count_crew(peer), 40)
        steering.call("fixtures.Blockers", "open")
        for client in slow:
            client.receive()
            client.close()
        eventually(lambda: count_crew(peer) <= 2, "the crew shrinks", 120)

    def test_what_needs_no_java_is_answered_while_every_thread_is_inside_java(self):
        """Such requests are control, metadata, descriptions and the name of the session, on every transport."""
        peer = self.start("--rpc-threads", "2", "--rpc-threads-max", "2", "--busy-timeout", "10m", sockets=True)
        clients = [make(peer) for make in (WebSocketClient, HttpClient, ZmqClient, ShmClient, UnixHttpClient, UnixZmqClient)]
        for blocked in (WebSocketClient(peer), WebSocketClient(peer)):
            blocked.send(PASS)
        for client in clients:
            for _ in range(20):
                self.assertIn("objects", plain(client.control("stats")))
                self.assertIn("epoch", plain(client.control("session")))
                self.assertIsNone(client.control("ping"))
            self.assertEqual([one["className"] for one in fetch(client, "fixtures.Calculator")], ["fixtures.Calculator"])
        name = plain(clients[0].control("share_session"))
        self.assertEqual(str(uuid.UUID(name)), plain(clients[0].control("share_session")))
        self.assertIn("openrpc", clients[0].request("rpc.discover")["result"])
        self.assertIn("result", clients[0].request("jpeer.describe", {"type": "fixtures.Calculator"}))
        peer.process.kill()
        peer.process.wait()

    def test_a_call_after_a_control_request_waits_for_a_free_thread(self):
        peer = self.start("--rpc-threads", "2", "--rpc-threads-max", "2", "--busy-timeout", "300ms")
        slow = [WebSocketClient(peer) for _ in range(2)]
        client = WebSocketClient(peer)
        for blocked in slow:
            blocked.send(PASS)
        stats = '{"jsonrpc":"2.0","id":"s%d","method":"control","params":{"method":"stats"}}'
        client.send(stats % 1)
        client.send('{"jsonrpc":"2.0","id":"add","method":"call","params":{"type":"fixtures.Calculator",'
                    '"method":"add","args":[1,2]}}')
        client.send(stats % 2)
        answers = [json.loads(client.receive()) for _ in range(3)]
        self.assertEqual([answer["id"] for answer in answers], ["s1", "add", "s2"])
        self.assertIn("busy", answers[1]["error"]["data"]["message"])
        self.assertIn("result", answers[2])
        refused, body = HttpClient(peer).post('{"jsonrpc":"2.0","method":"call","params":{"type":"fixtures.Calculator",'
                                              '"method":"add","args":[1,2]}}')
        self.assertEqual((refused.status, body), (204, b""))  # a notification gets no answer, not even this refusal
        peer.process.kill()
        peer.process.wait()


class ThreadNames(PeerCase):
    def test_a_thread_is_named_for_a_long_call_and_only_for_that(self):
        def check(case):
            home, transport = case
            with Peer("--jvm", home, "--rpc-threads", "2", sockets=True) as peer, transport(peer) as client, \
                    WebSocketClient(peer) as steering:
                number = ask_number(client)
                client.send(PASS)
                eventually(lambda: named(peer, " session "), "the thread got no name")
                names = named(peer, " session ")
                self.assertEqual(1, len(names))
                self.assertRegex(names[0], rf"^rpc-\d+ session {number} fixtures\.Blockers\.pass$")
                steering.call("fixtures.Blockers", "open")
                self.assertIn('"value":"1"', client.receive())
                self.assertEqual([], named(peer, " session "))
                self.assertIn(names[0].split()[0], dump_threads(peer))
        self.at_once(check, itertools.product(jdks.homes(), (WebSocketClient, ShmClient)))

    def on_one_thread(self, *checks):
        """Runs each test on each JDK, with a peer of its own; all at once, because they mostly wait."""
        def run(case):
            home, check = case
            with Peer("--jvm", home, "--rpc-threads", "1", "--rpc-threads-max", "1") as peer, WebSocketClient(peer) as client:
                check(peer, client, lambda method, *args: (client.call("fixtures.ThreadNames", method, *args) or "").strip('"'))
        self.at_once(run, itertools.product(jdks.homes(), checks))

    def test_the_call_that_comes_before_the_first_second_is_over_finds_its_own_name(self):
        """A call that reads the name of its own thread reads the peer's name at first, and after a second the name for
        a long call. The next call reads the peer's name again."""
        def check(_, client, call):
            number = ask_number(client)
            call("nameAfter", 0)  # loads the class, which may take a second on a busy machine
            names = call("nameAfter", 2500).split("|")
            self.assertEqual(["rpc-0", f"rpc-0 session {number} fixtures.ThreadNames.nameAfter"], names)
            self.assertEqual("rpc-0|rpc-0", call("nameAfter", 0))
        self.on_one_thread(check)

    def test_a_name_that_java_code_gives_stays(self):
        def give_early(peer, _, call):
            """Names the thread before the second is over: the peer then gives the thread no name."""
            self.assertEqual("early", call("renameAfter", 0, "early", 2500))
            self.assertIn("early", dump_threads(peer))
            self.assertEqual("early|early", call("nameAfter", 2500))

        def give_late(peer, _, call):
            """Names the thread after the peer has named it."""
            self.assertEqual("late", call("renameAfter", 2500, "late", 1000))
            self.assertIn("late", dump_threads(peer))

        def put_back(_, __, call):
            call("renameForAWhile", 2500)
            self.assertEqual("rpc-0|rpc-0", call("nameAfter", 0))
        self.on_one_thread(give_early, give_late, put_back)

    def test_a_monitor_on_the_thread_holds_up_nobody(self):
        """Thread.setName would wait for a client that is synchronized on the thread that is to be named."""
        peer = self.start("--rpc-threads", "2")
        client, steering = self.connect(), self.connect()
        client.send('{"jsonrpc":"2.0","id":1,"method":"call","params":'
                    '{"type":"fixtures.ThreadNames","method":"passWithMonitor"}}')
        eventually(lambda: named(peer, "passWithMonitor"), "the thread got no name")
        steering.call("fixtures.Blockers", "open")
        self.assertIn('"value":"1"', client.receive())
        self.assertEqual([], named(peer, " session "))

    def test_names_come_and_go_while_calls_end_at_that_very_time(self):
        def check(home):
            with Peer("--jvm", home, "--rpc-threads-max", "32") as peer:
                clients = [WebSocketClient(peer) for _ in range(24)]
                for turn in range(3):
                    for i, client in enumerate(clients):
                        client.send('{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"fixtures.Blockers",'
                                    '"method":"sleep","args":[%d]}}' % (950 + 20 * i))
                    for client in clients:
                        self.assertIn('"result"', client.receive())
                    self.assertEqual([], named(peer, " session "), turn)
                for client in clients:
                    client.close()
        self.at_once(check, jdks.homes())

    def test_a_call_on_an_executor_leaves_both_threads_their_names(self):
        client = self.serve("--thread-affinity", "POOL=fixtures.ThreadNames.POOL")
        reply = client.exchange('{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"fixtures.ThreadNames",'
                                '"method":"nameAfter","args":[2500]},"options":{"threadAffinity":"POOL"}}')
        self.assertIn('"own|own"', reply)

    def test_a_repeated_call_is_named_as_the_first(self):
        """The second call takes the fast path."""
        peer = self.start("--rpc-threads", "1")
        client = self.connect()
        for milliseconds in (0, 0, 0, 3000):
            client.send('{"jsonrpc":"2.0","id":1,"method":"call","params":{"type":"fixtures.Blockers",'
                        '"method":"sleep","args":[%d]}}' % milliseconds)
            if milliseconds == 0:
                client.receive()
        eventually(lambda: named(peer, "fixtures.Blockers.sleep"), "the thread got no name")
        client.receive()
        self.assertEqual([], named(peer, " session "))


class ClientsThatLeave(PeerCase):
    def test_256_endless_calls_hold_no_descriptor_and_are_logged(self):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit[1], 4096), limit[1]))
        peer = self.start("--busy-timeout", "200", "--rpc-threads-max", str(ENDLESS), "--on-disconnect", "finish",
                          sockets=True)
        steering = self.connect()
        before = descriptors(peer.pid)
        transports = [WebSocketClient, ShmClient, HttpClient]
        clients = [transports[i % 3](peer) for i in range(ENDLESS)]
        for client in clients:
            if isinstance(client, HttpClient):
                client.connection.request("POST", client.path, PASS, {"Content-Type": "application/json"})
            else:
                client.send(PASS)
        eventually(lambda: len(named(peer, " session ")) == ENDLESS, "not all threads got a name")
        self.assertGreaterEqual(descriptors(peer.pid), before + ENDLESS)
        for client in clients:
            leave(client)
        eventually(lambda: descriptors(peer.pid) <= before + 4, lambda: f"{descriptors(peer.pid)} are held")
        self.assertIn("busy", steering.exchange(PASS))
        peer.await_stderr("calls are in Java")
        line = next(line for line in peer.stderr().splitlines() if "calls are in Java" in line)
        self.assertRegex(line, rf"{ENDLESS} calls are in Java, as many as rpc-threads-max allows: "
                         rf"fixtures\.Blockers\.pass {ENDLESS}, oldest \d+ s; clients gone: {ENDLESS}; "
                         r"requests refused as busy: 1$")
        # the calls end with the peer: no free thread could run a call that opens their latch
        self.assertIn("objects", steering.exchange(
            '{"jsonrpc":"2.0","id":1,"method":"control","params":{"method":"stats"}}'))
