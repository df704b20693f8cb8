"""Slow calls delay nobody but their own connection, and the crew grows and shrinks again."""

import contextlib
import json
import re
import uuid
from pathlib import Path

from support.clients import (await_running, HttpClient, ShmClient, UnixHttpClient, UnixZmqClient, WebSocketClient, ZmqClient, fetch,
                             plain, ref, typed)
from support.peer import eventually
from support.peer_case import PeerCase

PASS = '{"jsonrpc":"2.0","id":"pass","method":"call","params":{"type":"fixtures.Blockers","method":"pass"}}'


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
        eventually(lambda: count_crew(peer) <= 2, "the crew shrinks", 120)

    def test_what_needs_no_java_is_answered_while_every_thread_is_inside_java(self):
        """Control, metadata, descriptions and the name of the session, on every transport."""
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
