"""How callbacks end: delete_session, the stop of the peer, System.exit, the collector; and what remains."""

import os
import signal
import socket
import uuid
from urllib.parse import urlsplit

import websockets

from support.callback_client import CallbackClient
from support.clients import SECONDS, ref, typed
from support.peer import eventually
from support.peer_case import CALLING, CallbackCase

SINGLE = ("--thread-affinity", "SINGLE=fixtures.Affinity.single")
DELETED = "CallbackException: the session of the client was deleted"


class EndCase(CallbackCase):
    options = None

    def assert_stops(self):
        """Checks that the peer stops without a fault, and that nothing of its clients remains."""
        for client in self.peer.clients:
            client.close()
        self.assertEqual(self.peer.stop(), 0)

    def await_refusal(self):
        """Waits until the peer stops, and accepts no connections any more."""
        address = urlsplit(self.peer.address("ws"))

        def is_refused():
            try:
                return socket.create_connection((address.hostname, address.port), SECONDS).close()
            except (ConnectionRefusedError, ConnectionResetError):
                return True
        eventually(is_refused)

    def assert_goodbye(self, client):
        with self.assertRaises(websockets.ConnectionClosed):
            while True:
                client.step()
        self.assertEqual(client.socket.close_code, 1001)


class DeletedSessions(EndCase):
    def test_delete_session_ends_open_calls(self):
        name = {"peer-id": str(uuid.uuid4())}
        one = self.serve()
        one.close()
        one, other = self.connect(CallbackClient, name), self.connect(CallbackClient, name)
        one.call(CALLING, "keep", "kept", one.give(number=7))
        begun, call = self.begin(one)
        other.call(CALLING, "onThread", other.give())
        others = other.await_call()
        other.control("delete_session")
        self.assertEqual(one.end(begun), DELETED)
        self.assertEqual(self.outcome(), DELETED)
        for late in (call, others):
            late.answer("late")
        self.assertEqual(other.call(CALLING, "callKept", "kept"), DELETED)
        for client in (one, other):
            client.await_released(1)
            self.assertEqual(client.call(CALLING, "here", client.give(lambda call: "anew", 1)), "anew")
        self.assertEqual(one.released[7], 1)
        self.assertEqual(one.call(CALLING, "here", one.give(lambda call: "anew", 7)), "anew")
        self.assert_stops()

    def test_a_nested_request_can_delete_the_session(self):
        client = self.serve()

        def function(call):
            client.control("delete_session")
            return "an answer that comes too late"
        self.assertEqual(client.call(CALLING, "here", client.give(function)), DELETED)
        self.assertEqual(client.call(CALLING, "here", client.give(lambda call: "anew")), "anew")
        self.assert_stops()

    def test_delete_session_ends_every_call_of_a_recursion(self):
        """Every call on the thread ends."""
        client = self.serve()
        client.call(CALLING, "keep", "inner", client.give(number=9))
        begun, outer = self.begin(client)
        nested = client.begin_call(CALLING, "callKept", "inner", within=outer.id)
        inner = client.await_call()
        last = client.begin("control", {"method": "delete_session"}, options={"within": inner.id})
        client.end(last)
        self.assertEqual(client.end(nested), DELETED)
        self.assertEqual(client.end(begun), DELETED)
        self.assert_stops()


class Stops(EndCase):
    def test_answers_are_accepted_in_the_grace_time(self):
        """Answers are accepted in a request, and on a thread of the application that then calls once more."""
        waiting = self.serve("--grace", "60000")
        begun, call = self.begin(waiting)
        own = self.connect()
        own.call(CALLING, "both", own.give(), own.give())
        first = own.await_call()
        self.peer.send_signal(signal.SIGTERM)
        self.await_refusal()
        self.assertEqual(waiting.end(waiting.begin_call(CALLING, "echo", 5, within=call.id)), "5")
        call.answer("in time")
        self.assertEqual(waiting.end(begun), "in time")
        self.assert_goodbye(waiting)
        first.answer("first")
        own.await_call().answer("second")
        self.assert_goodbye(own)
        self.assertEqual(self.peer.wait(), 0)

    def test_the_grace_time_ends(self):
        """A client that never answers delays nothing."""
        waiting = self.serve("--grace", "100")
        self.begin(waiting)
        own = self.connect()
        own.call(CALLING, "onThread", own.give())
        own.await_call()
        deep = self.connect()
        deep.call(CALLING, "keep", "inner", deep.give(number=9))
        _, outer = self.begin(deep)
        deep.begin_call(CALLING, "callKept", "inner", within=outer.id)
        deep.await_call()
        crowd = self.connect()
        crowd.call(CALLING, "onThreads", crowd.give(), 50)
        crowd.await_calls(50)
        self.assertEqual(self.peer.stop(), 0)

    def test_a_nested_request_can_exit(self):
        """The process ends at once although a callback is open. It does not matter on which thread the callback waits,
        and on which thread the request runs."""
        there = {"threadAffinity": "SINGLE"}
        for method, executor, of_callback, of_request in (
                ("here", (), {}, {}), ("onThread", (), {}, {}), ("here", SINGLE, there, {}), ("here", SINGLE, {}, there)):
            with self.subTest(method=method, of_callback=of_callback, of_request=of_request):
                client = self.serve("--grace", "600000", *executor)
                client.begin("call", {"type": CALLING, "method": method, "args": [client.give()]}, options=of_callback)
                options = {"within": client.await_call().id, **of_request}
                if executor:
                    name = client.checked("call", {"type": CALLING, "method": "threadName"}, options=options)
                    self.assertEqual(name, "fixture-single")
                client.begin("call", {"type": CALLING, "method": "exit", "args": [7]}, options=options)
                self.assertEqual(self.peer.wait(), 7)

    def test_a_call_of_a_shutdown_hook_fails(self):
        """The hook's call fails, because the connections have ended, whether a signal or Java ends the process."""
        for ends_by_exit in (False, True):
            client = self.serve("--grace", "100")
            client.call(CALLING, "atTheEnd", client.give())
            self.begin(client)
            if ends_by_exit:
                self.connect().begin_call(CALLING, "exit", 7)
            else:
                self.peer.send_signal(signal.SIGTERM)
            self.assertEqual(self.peer.wait(), 7 if ends_by_exit else 0)
            self.assertIn("at the end: CallbackException: ", self.peer.stdout())

    def test_exit_on_a_thread_that_serves_another_connection(self):
        """The thread waits in callbacks of a connection that it does not serve."""
        for depth in (1, 70):
            client = self.serve("--grace", "600000", "--callback-depth", "100")
            give = client.give()
            client.call(CALLING, "keep", "others", client.give())
            self.connect().begin_call(CALLING, "callKept", "others")
            for left in range(depth - 1, 0, -1):
                client.begin_call(CALLING, "descend", left, give, within=client.await_call().id)
            client.begin_call(CALLING, "exit", 7, within=client.await_call().id)
            self.assertEqual(self.peer.wait(), 7)


class Collected(EndCase):
    def test_an_object_is_not_collected_while_it_is_called(self):
        client = self.serve()
        begun = client.begin_call(CALLING, "callLast",
                                  typed("java.util.concurrent.Callable[]", [client.give(number=7)]))
        call = client.await_call()
        for _ in range(3):
            client.checked("control", {"method": "gc"}, options={"within": call.id})
        self.assertEqual(client.released[7], 0)
        call.answer("still")
        self.assertEqual(client.end(begun), "still")
        client.await_released(7)
        self.assert_stops()

    def test_who_keeps_the_handler_keeps_the_proxy(self):
        client = self.serve()
        handler = client.call("java.lang.reflect.Proxy", "getInvocationHandler",
                              client.give(number=7, type="java.util.Comparator"))
        for _ in range(3):
            client.control("gc")
        self.assertEqual(client.released[7], 0)
        client.control("delete_object", ref(handler))
        client.await_released(7)
        self.assert_stops()

    def test_an_id_is_released_with_the_last_of_its_objects(self):
        """Each interface, and each function that parameters declare, makes an object of its own."""
        client = self.serve()
        kept = client.call("java.util.Objects", "requireNonNull", client.give(number=7, type="java.util.function.Function"))
        for _ in range(2):
            self.assertEqual(client.call("fixtures.Declared", "apply", client.give(lambda call: 1, 7)), "2")
        self.assertEqual(client.call("fixtures.Declared", "any", ref(kept)), "Integer:1")
        for _ in range(3):
            client.control("gc")
        self.assertEqual(client.released[7], 0)
        self.assertEqual(client.call("fixtures.Declared", "apply", client.give(lambda call: 1, 7)), "2")
        client.control("delete_object", ref(kept))
        client.await_released(7)
        self.assertEqual(client.released, {7: 4})
        self.assert_stops()

    def test_classes_that_type_arguments_name_can_be_unloaded(self):
        client = self.serve()
        for _ in range(2):
            twin = ref(client.call("fixtures.members.Loaders", "twin"))
            given = client.give(lambda call, own=twin: own, 7)
            self.assertEqual(client.call("fixtures.members.Twin", "isGiven", given, on=twin["ref"]), "true")
            client.control("delete_object", twin)
        self.assertEqual(client.call("fixtures.members.Loaders", "alive"), "0")
        client.await_released(7)
        self.assert_stops()

    def test_an_id_can_be_given_while_its_release_is_sent(self):
        """An ID is given again while its release is on its way. Each argument is counted once, and each works as a
        callback."""
        client = self.serve()
        for number in range(200):
            self.assertEqual(client.call(CALLING, "here", client.give(lambda call: "works", 7)), "works")
            client.call(CALLING, "here", client.give(lambda call: "works", 8))
            if number % 20 == 0:
                client.control("gc")
        begun = [client.begin_call(CALLING, "here", client.give(lambda call: "works", 7)) for _ in range(100)]
        client.control("gc")
        self.assertEqual({client.end(number) for number in begun}, {"works"})
        for number in (7, 8):
            client.await_released(number)
        self.assertEqual(client.released, {7: 300, 8: 200})
        self.assert_stops()

    def test_requests_that_fail_give_as_well(self):
        client = self.serve()
        for method, args in (("here", [1]), ("nowhere", []), ("here", [])):
            self.failure(client.call, CALLING, method, client.give(number=7), client.give(number=7), *args)
        client.await_released(7)
        self.assertEqual(client.released, {7: 6})
        client.control("delete_session")
        self.assertEqual(client.released, {7: 6})
        self.assert_stops()

    def test_a_cleaner_of_the_application_waits(self):
        """The peer releases other callbacks during that time."""
        client, other = self.serve(), self.connect()
        client.call(CALLING, "whenCollected", client.give())
        eventually(lambda: client.control("gc") or client.held, "the cleaner calls")
        call = client.await_call()
        other.call(CALLING, "here", other.give(lambda call: "works", 7))
        other.await_released(7)
        call.answer("cleaned")
        self.assertEqual(self.outcome(), "cleaned")
        self.assert_stops()


class Borrowed(EndCase):
    POINT = "java.util.concurrent.atomic.AtomicInteger"

    def sort(self, client, numbers, **beside):
        def compare(call):
            one, other = (int(client.call(self.POINT, "get", on=each)) for each in call.args)
            return one - other
        begun = client.call("java.util.ArrayList", "sort", client.give(compare, **beside), on=numbers)
        self.assertIsNone(begun)

    def test_a_comparator_leaves_nothing(self):
        client = self.serve()
        for borrow in (True, False):
            numbers = client.call(CALLING, "numbers", 50)
            before = client.stats()["objects"]
            self.sort(client, numbers, borrow=borrow)
            self.assertEqual(client.stats()["objects"] - before, 0 if borrow else 50)
            client.control("delete_object", ref(numbers))
        self.assert_stops()

    def test_what_was_held_before_stays(self):
        client = self.serve()
        numbers = client.call(CALLING, "numbers", 10)
        first = client.call("java.util.ArrayList", "get", 0, on=numbers)
        before = client.stats()["objects"]
        self.sort(client, numbers, borrow=True)
        self.assertEqual(client.stats()["objects"], before)
        self.assertEqual(client.call(self.POINT, "get", on=first), "9")

        def keep(call):
            kept.append(client.call("java.util.Objects", "requireNonNull", ref(call.args[0])))
            return None
        kept = []
        client.call("java.util.ArrayList", "forEach", client.give(keep, borrow=True), on=numbers)
        self.assertEqual(client.stats()["objects"], before + 9)
        self.assertEqual([client.call(self.POINT, "get", on=each) for each in kept], [str(each) for each in range(10)])
        self.assert_stops()


class WaitingThreads(EndCase):
    CLIENTS = 40
    MAX = 12

    def counts(self):
        return tuple(len(os.listdir(f"/proc/{self.peer.pid}/{folder}")) for folder in ("task", "fd"))

    def test_no_more_than_the_limit_wait_in_callbacks(self):
        """Further calls throw; the descriptors of those that waited are closed with their connections."""
        peer = self.start("--rpc-threads", "2", "--rpc-threads-max", "8", "--callback-threads-max", str(self.MAX))
        other = self.connect(CallbackClient)
        threads, descriptors = self.counts()
        for _ in range(2):
            clients = [CallbackClient(peer) for _ in range(self.CLIENTS)]
            begun = [client.begin_call(CALLING, "here", client.give()) for client in clients]
            waiting = []
            for client, number in zip(clients, begun, strict=True):
                while not client.held and number not in client.replies:
                    client.step()
                if client.held:
                    waiting.append((client, number))
                else:
                    self.assertIn("the limit of 12 threads of the peer that wait in callbacks is reached",
                                  client.end(number))
            self.assertEqual(len(waiting), self.MAX)
            self.assertLessEqual(self.counts()[0], threads + self.MAX + 8 + 16)  # and some threads of the JVM
            for client, number in waiting[:2]:  # a client that waits can still send requests, and be called
                call = client.await_call()
                inner = client.begin_call(CALLING, "here", client.give(lambda call: "inner"), within=call.id)
                self.assertEqual(client.end(inner), "inner")
                call.answer("outer")
                self.assertEqual(client.end(number), "outer")
            self.assertEqual(other.call(CALLING, "here", other.give(lambda call: "again")), "again")
            for client in clients:
                client.close()
            eventually(lambda: self.counts()[1] <= descriptors + 4, "descriptors are closed")


class MethodsOfObject(CallbackCase):
    """equals, hashCode and toString of callbacks whose option `overrides` names them."""

    NAMES = ["equals", "hashCode", "toString"]

    def add_listeners(self, client):
        """Adds two listeners of a client to a list of the session."""
        listeners = client.new("java.util.ArrayList")
        for answer in ("first", "second"):
            client.call("java.util.ArrayList", "add",
                        client.give(lambda call, text=answer: {"toString": text, "hashCode": 5}.get(call.method, False),
                                    interfaces=["java.lang.Runnable"], overrides=self.NAMES), on=listeners)
        return listeners

    def test_are_answered_by_identity_when_the_connection_has_ended(self):
        one, other = self.connect_again()
        listeners = self.add_listeners(other)
        self.assertEqual(other.call("java.util.Objects", "toString", ref(listeners)), "[first, second]")
        second = other.call("java.util.ArrayList", "get", 1, on=listeners)
        other.close()
        eventually(lambda: one.call("java.util.Objects", "toString", ref(listeners)).startswith("[callback "))
        self.assertEqual(one.call("java.util.Objects", "toString", ref(listeners)), "[callback 1, callback 2]")
        self.assertEqual(one.call("java.util.ArrayList", "indexOf", ref(second), on=listeners), "1")
        self.assertNotEqual(one.call("java.util.Objects", "hashCode", ref(second)), "5")

    def test_a_call_that_the_end_of_the_connection_ends_is_answered_by_identity(self):
        one, other = self.connect_again()
        listener = other.call("java.util.Objects", "requireNonNull",
                              other.give(interfaces=["java.lang.Runnable"], overrides=self.NAMES))
        begun = one.begin_call("java.util.Objects", "toString", ref(listener))
        other.await_call()
        other.close()
        self.assertEqual(one.end(begun), "callback 1")

    def test_what_the_client_throws_is_thrown(self):
        listener = self.client.give(interfaces=["java.lang.Runnable"], overrides=self.NAMES)
        begun = self.client.begin_call("java.util.Objects", "toString", listener)
        self.client.await_call().fail("no")
        self.assertEqual(self.failure(self.client.end, begun).throwable, "jpeer.peer.CallbackException")
