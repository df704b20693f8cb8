"""What a client sends after its answer comes after it, also where the answer waits for a thread of Java's."""

import unittest

from support.callback_client import CallbackClient, ShmCallbackClient
from support.clients import ref
from support.peer import Peer

FUTURE = "java.util.concurrent.CompletableFuture"
EXECUTORS = "java.util.concurrent.Executors"
SERVICE = "java.util.concurrent.ExecutorService"
COUNTER = "java.util.concurrent.atomic.AtomicInteger"
ROUNDS = 60
CALLS = 8  # at once


class Order(unittest.TestCase):
    """
    Suppliers on threads of Java's answer with a new object, and release its ref with the next message.

    The threads are an executor's own: the common pool does not promise that it runs as many blocked tasks at once as it
    has parallelism.
    """

    @classmethod
    def setUpClass(cls):
        cls.peer = Peer(sockets=True)

    @classmethod
    def tearDownClass(cls):
        with cls.peer:
            pass

    def connect(self, transport):
        client = transport(self.peer)
        self.addCleanup(client.close)
        return client

    @staticmethod
    def delete(client, envelope, **args):
        return client.begin("control", {"method": "delete_object", "args": [args]}, **envelope)

    def supply(self, client, let_go):
        """let_go(client, ref): sends a request, whose id it returns."""
        supplier = client.give()
        pool = client.call(EXECUTORS, "newFixedThreadPool", CALLS)
        futures, ended = [], []
        for _ in range(ROUNDS):
            begun = [client.begin_call(FUTURE, "supplyAsync", supplier, ref(pool)) for _ in range(CALLS)]
            made = [client.begin("new", {"type": COUNTER, "args": [7]}) for _ in range(CALLS)]
            futures += [client.end(number) for number in begun]
            objects = [client.end(number) for number in made]
            for call, told in zip(client.await_calls(CALLS), objects):
                call.answer(ref(told))
                ended.append(let_go(client, told))
        for number in ended:
            client.end(number)
        for future in futures:
            kept = client.call(FUTURE, "join", on=future)
            self.assertEqual(client.call(COUNTER, "get", on=kept), "7")
        client.call(SERVICE, "shutdown", on=pool)

    def test_the_telling_of_a_ref_is_let_go_of(self):
        for transport in (CallbackClient, ShmCallbackClient):
            with self.subTest(transport.name):
                self.supply(self.connect(transport), lambda client, told: self.delete(client, {}, ref=told, told=1))

    def test_a_ref_is_deleted_in_a_batch(self):
        def let_go(client, told):
            number = next(client.ids)
            client.send_json([{"jsonrpc": "2.0", "method": "control", "params": {"method": "ping"}},
                              {"jsonrpc": "2.0", "id": number, "method": "control",
                               "params": {"method": "delete_object", "args": [ref(told)]}}])
            return number
        client = self.connect(CallbackClient)
        take = client.take
        client.take = lambda message: take(message[0] if isinstance(message, list) else message)
        self.supply(client, let_go)
