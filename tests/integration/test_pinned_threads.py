"""Connections that have a Java thread of their own. tests/conformance/control/pin_thread.json covers a single
connection."""

import json

from support.callback_client import CallbackClient
from support.clients import RpcError, ShmClient, UnixWebSocketClient, WebSocketClient, request
from support.peer import eventually
from support.peer_case import CALLING, FAILED, PeerCase

PINNED = (WebSocketClient, UnixWebSocketClient, ShmClient)
AFFINITY = "fixtures.Affinity"


def pin(client, name):
    client.control("pin_thread", {"name": "name", "value": name})


def thread_of(client):
    return client.call(AFFINITY, "threadName")


def has_thread(client, name):
    return client.call("fixtures.ThreadNames", "isRunning", name) == "true"


def end_sleep(client):
    """Cancels request 1, and receives both answers."""
    client.send(json.dumps(request(3, "control", {"method": "cancel", "args": [{"name": "id", "value": 1}]})))
    assert {json.loads(client.receive())["id"] for _ in range(2)} == {1, 3}


class Pinned(PeerCase):
    options = ()
    peer_arguments = {"sockets": True}

    def test_the_thread_ends_with_its_connection(self):
        for kind in PINNED:
            with kind(self.peer) as client:
                pin(client, f"ends {kind.name}")
                self.assertEqual(f"ends {kind.name}", thread_of(client))
                self.assertTrue(has_thread(self.client, f"ends {kind.name}"))
            eventually(lambda: not has_thread(self.client, f"ends {kind.name}"))

    def test_a_pinned_thread_ends_when_it_is_replaced_or_unpinned(self):
        for client in self.each(*PINNED):
            pin(client, "first")
            pin(client, "second")
            self.assertEqual("second", thread_of(client))
            eventually(lambda: not has_thread(self.client, "first"))
            client.control("unpin_thread")
            self.assertIn("rpc-", thread_of(client))
            eventually(lambda: not has_thread(self.client, "second"))

    def test_the_same_request_again_and_again_gives_each_time_its_own_name(self):
        for client in self.each(*PINNED):
            for number in range(30):
                client.control("ping")
                pin(client, f"name {number % 3}")
                self.assertEqual(f"name {number % 3}", thread_of(client))

    def test_two_connections_of_a_session_have_two_threads(self):
        session = {"peer-id": "4b1c1f0e-6a53-4c0e-9d52-3d3f6c0f9d11"}
        for kind in PINNED:
            with kind(self.peer, session) as one, kind(self.peer, session) as two:
                pin(one, "one")
                pin(two, "two")
                lock = one.new("java.util.concurrent.locks.ReentrantLock")
                for _ in range(50):
                    one.call("java.util.concurrent.locks.ReentrantLock", "lock", on=lock)
                    held = "isHeldByCurrentThread"
                    self.assertEqual("true", one.call("java.util.concurrent.locks.ReentrantLock", held, on=lock))
                    self.assertEqual("false", two.call("java.util.concurrent.locks.ReentrantLock", held, on=lock))
                    self.assertEqual("false", two.call("java.util.concurrent.locks.ReentrantLock", "tryLock", on=lock))
                    one.call("java.util.concurrent.locks.ReentrantLock", "unlock", on=lock)

    def test_an_interrupt_stays_for_the_next_request(self):
        for client in self.each(*PINNED):
            pin(client, "interrupted")
                        # An object of any class, so that the session has a ref.
            thread = client.new("java.lang.ThreadLocal")
            self.assertTrue(thread)
            current = client.value("call", {"type": "java.lang.Thread", "method": "currentThread", "args": []})["ref"]
            client.call("java.lang.Thread", "interrupt", on=current)
            self.assertEqual("true", client.call("java.lang.Thread", "interrupted"))

    def test_many_requests_that_were_sent_together_are_answered_in_order(self):
        for kind in PINNED:
            with kind(self.peer) as client:
                pin(client, "many")
                count = 500
                for number in range(count):
                    client.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": f"{AFFINITY}.threadName",
                                            "params": []}))
                for number in range(count):
                    answer = json.loads(client.receive())
                    self.assertEqual((number, "many"), (answer["id"], answer["result"]))

    def test_input_is_read_while_a_call_lasts(self):
        """The crew answers requests that need not wait."""
        for kind in PINNED:
            with kind(self.peer) as client:
                pin(client, "sleeps")
                client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "java.lang.Thread.sleep", "params": [600000]}))
                client.send(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "control",
                                        "params": {"method": "share_session"}}))
                self.assertEqual(2, json.loads(client.receive())["id"])
                end_sleep(client)
                self.assertEqual("sleeps", thread_of(client))

    def test_a_request_with_an_executor_runs_there_and_not_on_the_pinned_thread(self):
        self.start("--thread-affinity", "SINGLE=fixtures.Affinity.single", sockets=True)
        for client in self.each(*PINNED):
            pin(client, "mine")
            answer = client.exchange(json.dumps({"jsonrpc": "2.0", "id": 1, "method": f"{AFFINITY}.threadName",
                                                 "params": [], "options": {"threadAffinity": "SINGLE"}}))
            self.assertEqual("fixture-single", json.loads(answer)["result"])
            self.assertEqual("mine", thread_of(client))

    def test_a_nested_request_runs_on_the_thread_that_waits(self):
        client = self.connect(CallbackClient)
        pin(client, "waits")
        seen = []
        answer = client.call(CALLING, "here", client.give(lambda call: seen.append(thread_of(client)) or "done"))
        self.assertEqual((["waits"], "done"), (seen, answer))
        nested = []

        def pin_again(_):
            try:
                pin(client, "nested")
            except RpcError as error:
                nested.append((error.code, error.detail))
            return "done"
        client.call(CALLING, "here", client.give(pin_again))
        self.assertEqual([(-32602, "'pin_thread' cannot be nested in a callback")], nested)
        self.assertEqual("waits", thread_of(client))


class Bounds(PeerCase):
    def test_the_limit_of_pinned_threads(self):
        self.start("--pinned-threads-max", "2", sockets=True)
        for kind in PINNED:
            with kind(self.peer) as one, kind(self.peer) as two, kind(self.peer) as three:
                pin(one, "one")
                pin(two, "two")
                self.assert_fails(FAILED, "pinned-threads-max is 2", pin, three, "three")
                self.assertIn("rpc-", thread_of(three))
                two.control("unpin_thread")
                eventually(lambda: self.takes_place(three))
                self.assertEqual("three", thread_of(three))
            eventually(lambda: not has_thread(self.connect(), "one") and not has_thread(self.connect(), "three"))

    @staticmethod
    def takes_place(client):
        try:
            pin(client, "three")
        except RpcError:
            return False
        return True

    def test_pinned_threads_are_none_of_the_crew(self):
        """The peer serves others while all pinned threads are inside Java."""
        self.start("--rpc-threads", "1", "--rpc-threads-max", "1", sockets=True)
        clients = [self.connect(kind) for kind in PINNED]
        for number, client in enumerate(clients):
            pin(client, f"inside {number}")
            client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "java.lang.Thread.sleep", "params": [600000]}))
        with WebSocketClient(self.peer) as other:
            self.assertEqual("8", other.call("com.example.Calculator", "add", 1, 7))
        for client in clients:
            end_sleep(client)

    def test_a_peer_stops_with_pinned_threads_inside_java(self):
        peer = self.start(sockets=True)
        for kind in PINNED:
            client = self.connect(kind)
            pin(client, f"stays {kind.name}")
            client.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "java.lang.Thread.sleep", "params": [600000]}))
            pin(self.connect(kind), f"idle {kind.name}")
        eventually(lambda: has_thread(self.client, "stays shm"))
        peer.stop()
