"""Slow calls delay nobody but their own connection, and the crew grows and shrinks again."""

import contextlib
import json
import re
import time
import uuid
from pathlib import Path

from support.clients import (HttpClient, ShmClient, UnixHttpClient, UnixZmqClient, WebSocketClient, ZmqClient, fetch,
                             plain, ref, typed)
from support.peer_case import PeerCase

PING = '{"jsonrpc":"2.0","id":"ping","method":"control","params":{"method":"ping"}}'
PASS = '{"jsonrpc":"2.0","id":"pass","method":"call","params":{"type":"fixtures.Blockers","method":"pass"}}'


def await_running(client, count):
    deadline = time.monotonic() + 60
    while client.call("fixtures.Blockers", "running") != str(count):
        assert time.monotonic() < deadline


def count_crew(peer):
    """Without the JVM's own threads, which come and go by themselves."""
    count = 0
    for name in Path(f"/proc/{peer.pid}/task").glob("*/comm"):
        with contextlib.suppress(OSError):
            count += bool(re.fullmatch(r"rpc-\d+\n", name.read_text(encoding="utf-8")))
    return count


class SlowCalls(PeerCase):
    def test_others_are_served_meanwhile_on_every_transport(self):
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

    def test_a_text_that_takes_for_ever_holds_up_its_own_request_alone(self):
        """jpeer.describe runs toString: all others are served, clients of the same session and object included."""
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
        deadline = time.monotonic() + 120
        while count_crew(peer) > 2:
            self.assertLess(time.monotonic(), deadline, "the crew did not shrink")
            time.sleep(0.2)

    def check_reserved(self, make):
        """Control and metadata are answered by this kind of client while every thread is inside Java."""
        peer = self.start("--rpc-threads", "2", "--rpc-threads-max", "2", "--busy-timeout", "10m", sockets=True)
        slow = [WebSocketClient(peer) for _ in range(2)]
        with make(peer) as client:
            for blocked in slow:
                blocked.send(PASS)
            for _ in range(20):
                self.assertIn("objects", plain(client.control("stats")))
                self.assertIn("epoch", plain(client.control("session")))
                self.assertIsNone(client.control("ping"))
            described = fetch(client, "fixtures.Calculator")
        self.assertEqual([one["className"] for one in described], ["fixtures.Calculator"])
        peer.process.kill()
        peer.process.wait()

    def test_control_and_metadata_are_answered_while_every_thread_is_inside_java(self):
        for make in (WebSocketClient, HttpClient, ZmqClient, ShmClient, UnixHttpClient, UnixZmqClient):
            with self.subTest(make.name):
                self.check_reserved(make)

    def test_share_session_and_descriptions_need_no_free_thread(self):
        peer = self.start("--rpc-threads", "2", "--rpc-threads-max", "2", "--busy-timeout", "10m")
        slow = [WebSocketClient(peer) for _ in range(2)]
        client = WebSocketClient(peer)
        for blocked in slow:
            blocked.send(PASS)
        name = plain(client.control("share_session"))
        self.assertEqual(str(uuid.UUID(name)), plain(client.control("share_session")))
        self.assertIn("openrpc", client.request("rpc.discover")["result"])
        described = client.request("jpeer.describe", {"type": "fixtures.Calculator"})
        self.assertIn("result", described)
        peer.process.kill()
        peer.process.wait()

    def test_a_call_behind_a_control_request_waits_for_a_free_thread(self):
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
        peer.process.kill()
        peer.process.wait()
