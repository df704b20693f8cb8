"""Calls of Java's say which request of the client they come from, where the client has asked for that."""

import uuid

from support.clients import typed
from test_callbacks import CALLING, CallbackCase


class Origins(CallbackCase):
    OPTIONS = ("-Djava.util.concurrent.ForkJoinPool.common.parallelism=4",)

    def setUp(self):
        super().setUp()
        self.origins = []

    def note(self, call):
        self.origins.append(call.origin)
        return "noted"

    def asked(self, function=None, **beside):
        return self.client.give(function or self.note, origin=True, **beside)

    def test_of_a_request(self):
        self.call("here", self.asked())
        begun = [self.client.begin_call(CALLING, "here", self.asked()) for _ in range(2)]
        self.assertEqual([self.client.end(number) for number in begun], ["noted"] * 2)
        self.assertEqual(self.origins, ["request"] * 3)

    def test_nobody_has_asked(self):
        self.call("here", self.client.give(self.note))
        self.call("here", self.client.give(self.note, origin=False))
        self.assertEqual(self.origins, [None, None])

    def test_of_threads(self):
        def square(call):
            self.origins.append(call.origin)
            return typed("int", int(call.args[0]) ** 2)
        self.call("invokeAll", self.asked(square), 4)
        self.call("onThread", self.asked())
        self.call("outcome")
        self.assertEqual(self.origins, ["thread"] * 5)

    def test_of_nested_requests(self):
        """Inside one another, and beside one another."""
        ids = []

        def outer(call):
            ids.append(call.id)
            self.note(call)
            self.call("here", self.asked(inner))
            self.call("here", self.asked())
            return "outer"

        def inner(call):
            ids.append(call.id)
            self.note(call)
            self.call("here", self.asked())
            return "inner"
        self.call("here", self.asked(outer))
        self.assertEqual(self.origins, ["request", ids[0], ids[1], ids[0]])

    def test_of_requests_nested_in_a_call_of_a_thread(self):
        ids = []

        def outer(call):
            ids.append(call.id)
            self.note(call)
            self.call("here", self.asked())
            return "outer"
        self.call("onThread", self.asked(outer))
        self.call("outcome")
        self.assertEqual(self.origins, ["thread", *ids])

    def test_of_another_connection(self):
        """It is told of requests of the connection that the call comes on, and of no others."""
        session = {"peer-id": str(uuid.uuid4())}
        giver, caller = self.connect(session), self.connect(session)
        giver.call(CALLING, "keep", "f", giver.give(origin=True))
        for client, origin in ((caller, "thread"), (giver, "request")):
            begun = client.begin_call(CALLING, "callKept", "f")
            call = giver.await_call()
            self.assertEqual(call.origin, origin)
            call.answer("given")
            self.assertEqual(client.end(begun), "given")
        giver.call(CALLING, "drop", "f")

    def test_of_events(self):
        self.call("tell", self.client.give(oneway=True, origin=True), 3)
        self.assertEqual([event.origin for event in self.client.events], ["request"] * 3)

    def test_wrong_forms(self):
        error = self.fails(lambda: self.call("here", self.client.give(self.note, origin="yes")))
        self.assertEqual((error.code, error.detail), (-32602, "argument 0: 'origin' must be a boolean"))
        given = self.asked()
        self.call("keep", "g", given)
        error = self.fails(lambda: self.call("here", self.client.give(self.note, number=given["ref"]["callback"])))
        self.assertEqual(error.code, -32602)
        self.assertIn("with another oneway, borrow, origin or overrides", error.detail)
        self.call("drop", "g")
