"""Java calls a client over real sockets: from threads of every kind, deep in the stack, in order, and in the middle
of other work. test_callback_ends.py covers failures, test_callback_connections.py several connections."""

import sys
import time
import unittest

from support import jdks
from support.callback_client import CallbackClient, ShmCallbackClient
from support.clients import RpcError, WebSocketClient, ref, typed
from support.peer_case import CALLING, CallbackCase

THREAD_NAME = (CALLING, "threadName")
FUTURE = "java.util.concurrent.CompletableFuture"
COUNTER = "java.util.concurrent.atomic.AtomicInteger"
ROUNDS = 60
CALLS = 8  # calls at the same time


class Recursion(CallbackCase):
    def descend(self, depth, *stack):
        """Calls back and forth, deeper each time. Returns the result, and the errors that have ended the descent.
        stack: the stack size of a new thread, on which the calls then run."""
        failed = []

        def next_one(call):
            try:
                return typed("int", self.call("descend", int(call.args[0]), argument()))
            except RpcError as error:
                failed.append(error)
                return typed("int", 10000)

        def argument():
            return self.client.give(next_one, 7)
        method = "descendOnThread" if stack else "descend"
        return int(self.call(method, depth, argument(), *stack)), failed

    def test_the_depth_is_limited(self):
        self.assertEqual(self.descend(63, 16 << 20), (63, []))
        result, [error] = self.descend(100, 16 << 20)
        self.assertEqual(result, 64 + 10000)
        self.assertEqual(error.throwable, "jpeer.peer.CallbackException")
        self.assertIn("the limit of 64 callbacks inside one another is reached (callback-depth)", error.detail)
        self.assert_serves()

    def test_recursion_works_on_a_thread_of_the_peer(self):
        self.assertEqual(self.descend(63), (63, []))


class FetchInside(CallbackCase):
    def test_a_fetch_of_the_iterator_that_asks_is_refused_at_once(self):
        """The outer fetch would wait for the inner fetch, no matter on which thread the iterator sends the
        request."""
        fetched, waited = [], []

        def next_one(call):
            began = time.monotonic()
            if call.method == "hasNext":
                return len(fetched) < 3
            fetched.append(self.client.request("jpeer.fetch", {"instance": iterator}))
            waited.append(time.monotonic() - began)
            return len(fetched)
        iterator = self.client.call("java.util.Objects", "requireNonNull", self.client.give(next_one, type="java.util.Iterator"))
        reply = self.client.request("jpeer.fetch", {"instance": iterator, "max": 10})
        self.assertEqual(reply["result"]["elements"], [1, 2, 3])
        self.assertEqual([(each["error"]["code"], each["error"]["data"]["message"]) for each in fetched],
                         [(-32000, "another request is fetching from this object")] * 3)
        self.assertLess(min(waited), 4)  # the best of three, for a loaded machine
        self.assert_serves()


class DeepRecursion(Recursion):
    options = ("--callback-depth", "10000")

    def setUp(self):
        """Each nested callback adds a dozen nested calls to the stack of this program, too."""
        super().setUp()
        self.addCleanup(sys.setrecursionlimit, sys.getrecursionlimit())
        sys.setrecursionlimit(20000)

    def test_the_depth_is_limited(self):
        """The stack ends before the allowed depth, on a thread of the peer and on a thread of the application."""
        for stack in ((), (1 << 20,)):
            for _ in range(2):
                result, [error] = self.descend(5000, *stack)
                self.assertGreater(result, 10002)
                self.assertEqual(error.code, -32000)
                self.assertIn("less than 256 KiB of the thread's stack are left", error.detail)
                self.assert_serves()


class Threads(CallbackCase):
    options = ("-Djava.util.concurrent.ForkJoinPool.common.parallelism=4",)

    def square(self, call):
        number = int(call.args[0])
        if number % 10 == 0:
            self.names.add(self.client.call(*THREAD_NAME))
        return typed("int", number * number)

    def test_threads_of_pools_and_parallel_streams_can_call(self):
        for method, threads in (("invokeAll", "pool-"), ("parallelStream", "ForkJoinPool-")):
            self.names = set()
            total = self.call(method, self.client.give(self.square), 200)
            self.assertEqual(int(total), sum(number * number for number in range(200)))
            self.assertTrue(all(name.startswith(threads) for name in self.names), self.names)

    def test_parallel_sort(self):
        asked = []

        def compare(call):
            asked.append(call)
            return int(call.args[0]) - int(call.args[1])
        self.assertEqual(self.call("parallelSort", self.client.give(compare), 20000, 128), "true")
        self.assertGreater(len(asked), 100)

    def test_answers_in_any_order(self):
        begun = self.client.begin_call(CALLING, "invokeAll", self.client.give(), 8)
        held = self.client.await_calls(8)
        self.assertEqual(sorted(int(call.args[0]) for call in held), list(range(8)))
        for call in sorted(held, key=lambda call: -int(call.args[0])):
            call.answer(typed("int", 2 ** int(call.args[0])))
        self.assertEqual(self.client.end(begun), "255")

    def test_a_thread_of_the_application_can_call(self):
        """The request that started the thread has ended when the thread calls, and nothing else is in flight."""
        self.call("onThread", self.client.give())
        call = self.client.await_call()
        nested = [self.client.end(self.client.begin_call(CALLING, name, within=call.id)) for name in ("threadName", "local")]
        self.assertEqual(nested, ["own", "local"])
        self.assertNotEqual(self.call("threadName"), "own")
        call.answer("mine")
        self.assertEqual(self.call("outcome"), "mine")

    def test_a_nested_request_has_the_locks_of_the_thread(self):
        held = []

        def function(call):
            held.append(self.call("holdsMonitor"))
            return "done"
        self.assertEqual(self.call("holdingMonitor", self.client.give(function)), "done")
        self.assertEqual(held, ["true"])
        self.assertEqual(self.call("holdsMonitor"), "false")

    def test_an_interrupt_ends_the_wait(self):
        """The wait ends on a thread of the peer and on a thread of the application. The late answer is dropped."""
        expected = "CallbackException: the thread was interrupted while it waited for the client, interrupted"
        other = self.connect()
        begun = self.client.begin_call(CALLING, "here", self.client.give())
        late = self.client.await_call()
        other.call(CALLING, "interruptCaller")
        self.assertEqual(self.client.end(begun), expected)
        late.answer("late")
        self.assert_serves()
        self.call("onThread", self.client.give())
        late = self.client.await_call()
        other.call(CALLING, "interruptCaller")
        self.assertEqual(self.call("outcome"), expected)
        late.answer("late")
        self.assert_serves()

    def test_a_thread_that_is_interrupted_begins_no_call(self):
        """An event does not wait, and is sent."""
        result = self.call("whenInterrupted", self.client.give(oneway=True), self.client.give())
        self.assertEqual(result, "CallbackException: the thread is interrupted, interrupted")
        self.assertEqual(([event.args for event in self.client.events], self.client.held), ([["heard"]], []))

    def test_a_nested_request_leaves_the_context_class_loader(self):
        self.call("withLoader", self.client.give(lambda call: self.call("local")))
        self.assertEqual(self.call("outcome"), "local true")

    def test_a_nested_request_can_interrupt_the_waiting_thread(self):
        def function(call):
            self.call("interruptCaller")
            return "an answer that nobody waits for"
        self.assertEqual(self.call("here", self.client.give(function)),
                         "CallbackException: the thread was interrupted while it waited for the client, interrupted")
        self.assert_serves()

    def test_a_waiting_thread_may_hold_monitors_that_others_need(self):
        """The thread holds a monitor that the JVM or the peer could lock, and other clients are served."""
        other = self.connect()
        names = ("java.lang.Class", "java.lang.Thread", "java.lang.ClassLoader", "java.lang.reflect.Proxy",
                 "java.lang.ref.Cleaner", "jpeer.peer.CallbackKind", "jpeer.peer.PeerThread", "jpeer.peer.Released")
        for name in names:
            monitor = self.client.call("java.lang.Class", "forName", name)
            begun = self.client.begin_call(CALLING, "holding", {"ref": monitor}, self.client.give())
            call = self.client.await_call()
            self.assertEqual(other.call(CALLING, "here", other.give(lambda call: "served", 7)), "served")
            other.await_released(7)
            call.answer("done")
            self.assertEqual(self.client.end(begun), "done")

    def test_a_handler_of_uncaught_exceptions_can_call(self):
        self.call("endThread", self.client.give(type="java.lang.Thread$UncaughtExceptionHandler"))
        call = self.client.await_call()
        thread, thrown = call.args
        message = self.client.begin_call("java.lang.Throwable", "getMessage", on=thrown, within=call.id)
        self.assertEqual(self.client.end(message), "uncaught")
        name = self.client.begin_call("java.lang.Thread", "currentThread", within=call.id)
        self.assertEqual(self.client.end(name), thread)
        call.answer()
        self.assert_serves()


HOME = next((home for home in jdks.homes() if jdks.feature_version(home) >= 21), None)


@unittest.skipIf(HOME is None, "no JDK of this machine has virtual threads")
class VirtualThreads(CallbackCase):
    options = ("--jvm", str(HOME), "-Djdk.virtualThreadScheduler.parallelism=2",
               "-Djdk.virtualThreadScheduler.maxPoolSize=2")

    def test_waits_leave_their_carriers(self):
        """Virtual threads that wait leave their carrier threads, also when a default method calls."""
        for method, greeting in (("onVirtualThreads", ""), ("greetOnVirtualThreads", "hello ")):
            self.call(method, self.client.give(), 8)
            held = self.client.await_calls(8)
            with WebSocketClient(self.peer) as other:
                self.assertEqual(other.call(CALLING, "runsTrivial"), "true")
            self.assertEqual(self.call("runsTrivial"), "true")
            for number, call in enumerate(held):
                call.answer(f"answer {number}")
            self.assertEqual({self.call("outcome") for _ in held}, {f"{greeting}answer {number} false" for number in range(8)})

    def test_virtual_threads_can_wait_in_recursion(self):
        def function(call):
            names.append(self.call("threadName"))
            return self.call("here", self.client.give(lambda inner: "deep"))
        names = []
        self.call("onVirtualThreads", self.client.give(function), 4)
        # Only this client is called, so the calls arrive while the outcomes are awaited.
        self.assertEqual([self.call("outcome") for _ in range(4)], ["deep false"] * 4)
        self.assertEqual(names, [""] * 4)

    def test_an_interrupt_ends_the_wait_of_a_virtual_thread(self):
        self.call("onVirtualThreads", self.client.give(), 1)
        late = self.client.await_call()
        self.call("interruptCaller")
        self.assertEqual(self.call("outcome"),
                         "CallbackException: the thread was interrupted while it waited for the client true")
        late.answer("late")
        self.assert_serves()


class Order(CallbackCase):
    def test_requests_after_a_waiting_request_keep_their_order(self):
        first = self.client.begin_call(CALLING, "here", self.client.give())
        call = self.client.await_call()
        later = [self.client.begin_call(CALLING, "echo", number) if number % 4 else
                  self.client.begin("control", {"method": "ping"}) for number in range(200)]
        nested = self.client.begin_call(CALLING, "echo", 1000, within=call.id)
        self.assertEqual(self.client.end(nested), "1000")
        call.answer("done")
        self.assertEqual(self.client.end(first), "done")
        results = [self.client.end(number) for number in later]
        self.assertEqual(results, [str(number) if number % 4 else None for number in range(200)])
        self.assertEqual(self.client.order, [nested, first, *later])

    def test_waiting_requests_can_call_back(self):
        """Each of many requests in flight calls back, and the answers are sent before the calls."""
        begun = [self.client.begin_call(CALLING, "here", self.client.give(lambda call, number=number: f"answer {number}"))
                 for number in range(100)]
        self.assertEqual([self.client.end(number) for number in begun], [f"answer {number}" for number in range(100)])
        self.assertEqual(self.client.order, begun)

    def test_answers_that_are_ready_leave_before_a_call(self):
        ready = [self.client.begin_call(CALLING, "echo", number) for number in range(10)]
        begun = self.client.begin_call(CALLING, "here", self.client.give())
        call = self.client.await_call()
        self.assertEqual(self.client.order, ready)
        call.answer("done")
        self.assertEqual(self.client.end(begun), "done")

    def test_an_answer_after_too_many_requests_is_reached(self):
        """Requests beyond the limit are refused at once; the others wait for the requests before them."""
        first = self.client.begin_call(CALLING, "here", self.client.give())
        call = self.client.await_call()
        later = [self.client.begin_call(CALLING, "echo", number) for number in range(1100)]
        call.answer("reached")
        self.assertEqual(self.client.end(first), "reached")
        waited, refused = later[:1000], later[1000:]
        self.assertEqual([self.client.end(number) for number in waited], [str(number) for number in range(1000)])
        self.assertEqual({self.client.reply(number)["error"]["code"] for number in refused}, {-32000})
        self.assertEqual(self.client.order, [*refused, first, *waited])

    def test_methods_with_a_result_are_no_events(self):
        total = self.call("invokeAll", self.client.give(lambda call: typed("int", 1), oneway=True), 8)
        self.assertEqual((total, self.client.events), ("8", []))

    def test_events_come_while_their_request_stays_in_java(self):
        begun = self.client.begin_call(CALLING, "tellAndStay", self.client.give(oneway=True), 500)
        while len(self.client.events) < 500:
            self.client.step()
        with WebSocketClient(self.peer) as other:
            other.call(CALLING, "leave")
        self.assertIsNone(self.client.end(begun))
        self.assertEqual([event.args for event in self.client.events], [[str(number)] for number in range(500)])


class Backpressure(CallbackCase):
    options = ("--callback-timeout", "3000", "--send-buffer-max", "1M")

    def test_room_is_waited_for_until_the_timeout(self):
        """The client reads nothing until an event has thrown in Java. When the client reads again, it gets the
        earlier events, and a call that has waited for room."""
        last = self.client.give(lambda call: "asked")
        begun = self.client.begin_call(CALLING, "flood", self.client.give(oneway=True), 100000, last)
        with WebSocketClient(self.peer) as other:
            count, _, why = other.call(CALLING, "outcome").partition(" ")
        self.assertIn("there was no room for the event within 3000 ms (callback-timeout)", why)
        self.assertEqual(self.client.end(begun), "asked")
        self.assertEqual(len(self.client.events), int(count))
        self.assert_serves()


class OtherWork(CallbackCase):
    """Java calls the client while it loads a class, makes an argument or writes an error. The client sends a request
    each time."""

    def setUp(self):
        super().setUp()
        self.asked = 0
        self.answer = "yes"

        def function(call):
            self.asked += 1
            self.assertEqual(self.call("echo", 3), "3")
            return self.answer
        self.call("ask", self.client.give(function))

    def test_a_static_initializer_can_call(self):
        self.assertEqual(self.client.get("fixtures.Calling$Initialized", "VALUE"), "the client says yes")
        self.assertEqual(self.client.get("fixtures.Calling$Initialized", "VALUE"), "the client says yes")
        self.assertEqual(self.asked, 1)

    def test_a_static_initializer_that_fails_can_call(self):
        self.call("ask", self.client.give())
        begun = self.client.begin("get", {"type": "fixtures.Calling$Uninitialized", "field": "VALUE"})
        self.client.await_call().fail("no", throwable_type="java.lang.IllegalStateException")
        error = self.failure(self.client.end, begun)
        self.assertEqual(error.throwable, "java.lang.ExceptionInInitializerError")
        again = self.failure(self.client.get, "fixtures.Calling$Uninitialized", "VALUE")
        self.assertEqual(again.throwable, "java.lang.NoClassDefFoundError")
        self.assert_serves()

    def test_a_class_loader_can_call(self):
        loader = self.call("loader")
        made = self.client.request("new", {"type": "beyond.Bean", "args": ["mine"]}, options={"loader": loader})
        self.assertEqual(made["result"]["value"]["type"], "beyond.Bean")
        self.assertGreaterEqual(self.asked, 1)
        asked, self.answer = self.asked, "Nowhere"
        error = self.failure(self.client.checked, "new", {"type": "beyond.Absent"}, options={"loader": loader})
        self.assertEqual(error.code, -32601)
        self.assertGreater(self.asked, asked)

    def test_methods_of_elements_of_an_argument_can_call(self):
        joined = self.call("join", typed("fixtures.Calling$Asked", ["a", "b", "c"]))
        self.assertEqual(joined, "a yes, b yes, c yes")
        self.assertEqual(self.asked, 3)

    def test_the_message_of_an_error_can_call(self):
        error = self.failure(self.call, "fail")
        self.assertEqual((error.throwable, error.detail), ("fixtures.Calling$Asking", "the client says yes"))

    def test_a_message_whose_client_fails(self):
        self.call("ask", self.client.give())
        begun = self.client.begin_call(CALLING, "fail")
        self.client.await_call().fail("no")
        error = self.failure(self.client.end, begun)
        self.assertEqual(error.throwable, "fixtures.Calling$Asking")
        self.assert_serves()


class Origins(CallbackCase):
    options = ("-Djava.util.concurrent.ForkJoinPool.common.parallelism=4",)

    def setUp(self):
        super().setUp()
        self.origins = []

    def note(self, call):
        self.origins.append(call.origin)
        return "noted"

    def asked(self, function=None, **beside):
        return self.client.give(function or self.note, origin=True, **beside)

    def test_a_call_of_a_request_has_the_origin_request(self):
        self.call("here", self.asked())
        begun = [self.client.begin_call(CALLING, "here", self.asked()) for _ in range(2)]
        self.assertEqual([self.client.end(number) for number in begun], ["noted"] * 2)
        self.assertEqual(self.origins, ["request"] * 3)

    def test_the_client_has_not_asked(self):
        self.call("here", self.client.give(self.note))
        self.call("here", self.client.give(self.note, origin=False))
        self.assertEqual(self.origins, [None, None])

    def test_a_call_of_an_application_thread_has_the_origin_thread(self):
        def square(call):
            self.origins.append(call.origin)
            return typed("int", int(call.args[0]) ** 2)
        self.call("invokeAll", self.asked(square), 4)
        self.call("onThread", self.asked())
        self.call("outcome")
        self.assertEqual(self.origins, ["thread"] * 5)

    def test_origins_name_nested_requests(self):
        """Requests may be nested, or one after the other."""
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

    def test_origins_name_only_requests_of_the_own_connection(self):
        """The origin names requests of the connection that receives the call, and no others."""
        giver, caller = self.connect_again()
        giver.call(CALLING, "keep", "f", giver.give(origin=True))
        for client, origin in ((caller, "thread"), (giver, "request")):
            begun = client.begin_call(CALLING, "callKept", "f")
            call = giver.await_call()
            self.assertEqual(call.origin, origin)
            call.answer("given")
            self.assertEqual(client.end(begun), "given")
        giver.call(CALLING, "drop", "f")

    def test_events_have_an_origin(self):
        self.call("tell", self.client.give(oneway=True, origin=True), 3)
        self.assertEqual([event.origin for event in self.client.events], ["request"] * 3)

    def test_wrong_forms_of_the_option_are_refused(self):
        error = self.failure(self.call, "here", self.client.give(self.note, origin="yes"))
        self.assertEqual((error.code, error.detail), (-32602, "argument 0: 'origin' must be a boolean"))
        number = self.asked()["ref"]["callback"]
        self.call("keep", "g", self.asked(number=number))
        for other in ({}, *({"origin": True, **more} for more in ({"oneway": True}, {"borrow": True}, {"overrides": ["x"]}))):
            with self.subTest(other):
                self.assert_fails(-32602, "with another oneway, borrow, origin or overrides", self.call, "here",
                                  self.client.give(self.note, number=number, **other))
        self.assertEqual(self.call("here", self.asked(number=number, arity=0)), "noted")
        self.call("drop", "g")


class OrderOfAnswers(CallbackCase):
    """Messages that a client sends after its answer are served after the answer, even if the answer waits for a Java
    thread.

    Suppliers on Java threads answer with a new object, and release its ref with the next message. The threads are an
    executor's own: the common pool does not guarantee that it runs as many blocked tasks at once as its
    parallelism says.
    """

    options = ()
    peer_arguments = {"sockets": True}

    @staticmethod
    def delete(client, envelope, **args):
        return client.begin("control", {"method": "delete_object", "args": [args]}, **envelope)

    def supply(self, client, release):
        """release(client, ref): sends a request, whose id it returns."""
        supplier = client.give()
        pool = client.call("java.util.concurrent.Executors", "newFixedThreadPool", CALLS)
        futures, ended = [], []
        for _ in range(ROUNDS):
            begun = [client.begin_call(FUTURE, "supplyAsync", supplier, ref(pool)) for _ in range(CALLS)]
            made = [client.begin("new", {"type": COUNTER, "args": [7]}) for _ in range(CALLS)]
            futures += [client.end(number) for number in begun]
            objects = [client.end(number) for number in made]
            for call, counter in zip(client.await_calls(CALLS), objects):
                call.answer(ref(counter))
                ended.append(release(client, counter))
        for number in ended:
            client.end(number)
        for future in futures:
            kept = client.call(FUTURE, "join", on=future)
            self.assertEqual(client.call(COUNTER, "get", on=kept), "7")
        client.call("java.util.concurrent.ExecutorService", "shutdown", on=pool)

    def test_a_sent_ref_is_released(self):
        for transport in (CallbackClient, ShmCallbackClient):
            with self.subTest(transport.name):
                self.supply(self.connect(transport), lambda client, number: self.delete(client, {}, ref=number, told=1))

    def test_a_ref_is_deleted_in_a_batch(self):
        def release(client, made):
            number = next(client.ids)
            client.send_json([{"jsonrpc": "2.0", "method": "control", "params": {"method": "ping"}},
                              {"jsonrpc": "2.0", "id": number, "method": "control",
                               "params": {"method": "delete_object", "args": [ref(made)]}}])
            return number
        client = self.connect(CallbackClient)
        handle = client.handle
        client.handle = lambda message: handle(message[0] if isinstance(message, list) else message)
        self.supply(client, release)
