"""Callbacks and several connections: two connections of one session, nested callbacks of two clients, clients that vanish,
and clients whose answers are wrong, late, or too many."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

from support.callback_client import CallbackClient, ShmCallbackClient, UnixCallbackClient
from support.clients import SECONDS, WebSocketClient, plain, typed
from support.peer import ROOT, eventually, kill_after
from support.peer_case import CALLING, CallbackCase

DROPPED = "an answer was dropped, because no callback"
MISFIT = "does not fit"
DELETED = "CallbackException: the session of the client was deleted"
GONE = "CallbackException: the connection of the client has ended"


class OneSession(CallbackCase):
    def test_an_answer_counts_only_on_its_own_connection(self):
        one, other = self.connect_again()
        begun, call = self.begin(one)
        other.send_json({"jsonrpc": "2.0", "id": call.id, "result": "stolen"})
        self.assertEqual(other.reply(call.id)["error"]["code"], -32600)
        call.answer("mine")
        self.assertEqual(one.end(begun), "mine")

    def test_both_connections_have_an_open_call_with_the_same_id(self):
        """Each connection numbers its own calls."""
        one, other = self.connect_again()
        (first, call), (second, same) = self.begin(one), self.begin(other)
        self.assertEqual(call.id, same.id)
        same.answer("other")
        self.assertEqual(other.end(second), "other")
        same.answer("again")
        call.answer("one")
        self.assertEqual(one.end(first), "one")
        self.assert_serves(other)

    def test_a_nested_request_counts_only_on_its_own_connection(self):
        one, other = self.connect_again()
        begun, call = self.begin(one)
        self.assert_fails(-32602, "is no open callback that the message is nested in", other.end,
                          other.begin_call(CALLING, "threadName", within=call.id))
        call.answer("mine")
        self.assertEqual(one.end(begun), "mine")

    def test_an_id_is_an_object_of_its_own_connection(self):
        one, other = self.connect_again()
        for client, name in ((one, "one"), (other, "other")):
            client.call(CALLING, "keep", name, client.give(number=7))
        for caller in (one, other):
            for owner, name in ((one, "one"), (other, "other")):
                begun = caller.begin_call(CALLING, "callKept", name)
                owner.await_call().answer(f"of {name}")
                self.assertEqual(caller.end(begun), f"of {name}")


class OneProcess(CallbackCase):
    """Connections of clients that have named the same process."""

    peer_arguments = {"sockets": True}
    NAME = "0123456789abcdef0123456789abcdef"
    LOCAL = (UnixCallbackClient, ShmCallbackClient)

    def join(self, client, name=NAME):
        answer = client.value("control", {"method": "session", "args": [{"name": "process", "value": name}]})
        return json.loads(plain(answer))["client"]

    def connect_process(self, count=2, kinds=(CallbackClient,)):
        """Opens `count` connections of one session and process, alternating the kinds. Returns the number of
        the process, too."""
        session = {"peer-id": str(uuid.uuid4())}
        clients = [self.connect(kinds[i % len(kinds)], session) for i in range(count)]
        self.session = session
        numbers = {self.join(client) for client in clients}
        self.assertEqual(len(numbers), 1)
        return (*clients, numbers.pop())

    def test_an_id_is_an_object_of_the_process(self):
        one, other, number = self.connect_process(kinds=self.LOCAL)
        kept = one.new("java.util.ArrayList")
        for client in (one, other):
            client.call("java.util.ArrayList", "add", client.give(number=7, type="java.util.concurrent.Callable"), on=kept)
        reply = other.request("java.util.ArrayList.subList", [kept, 0, 2])["result"]
        self.assertEqual([each["callback"] for each in reply], [{"id": 7, "client": number}] * 2)
        self.assertEqual(reply[0]["ref"], reply[1]["ref"])

    def test_a_call_comes_on_the_connection_whose_request_the_thread_serves(self):
        one, other, _ = self.connect_process(kinds=self.LOCAL)
        one.call(CALLING, "keep", "process", one.give(number=7))
        for asking in (other, one, other):  # `asking` has given no callback itself
            asking.functions[7] = None
            begun = asking.begin_call(CALLING, "callKept", "process")
            call = asking.await_call()
            nested = asking.begin_call(CALLING, "callKept", "process", within=call.id)
            inner = asking.await_call()
            self.assertEqual(asking.end(asking.begin_call(CALLING, "echo", 3, within=inner.id)), "3")
            inner.answer("inner")
            self.assertEqual(asking.end(nested), "inner")
            call.answer("outer")
            self.assertEqual(asking.end(begun), "outer")

    def test_other_calls_come_on_the_connection_that_gave_the_object_last(self):
        one, other, _ = self.connect_process()
        one.call(CALLING, "keep", "process", one.give(number=7))
        one.call(CALLING, "onThread", one.give(number=7))
        one.await_call().answer("of one")
        self.assertEqual(self.outcome(), "of one")
        other.call(CALLING, "onThread", other.give(number=7))
        other.await_call().answer("of other")
        self.assertEqual(self.outcome(), "of other")

    def close_one(self, one, other, asking, pool):
        """Closes a connection. Java then uses the other connection, although the client has sent nothing on it
        since it gave the object."""
        other.functions[7] = lambda call: "the other"
        one.call(CALLING, "keep", "process", one.give(number=7))
        one.close()
        read = pool.submit(other.step)
        # Waits until the peer has seen the end.
        eventually(lambda: asking.call(CALLING, "callKept", "process") == "the other", "the other is not called")
        read.result()

    def test_objects_end_with_the_last_connection(self):
        one, other, _ = self.connect_process()
        with WebSocketClient(self.peer) as asking, ThreadPoolExecutor(1) as pool:
            self.close_one(one, other, asking, pool)
            other.close()
            eventually(lambda: asking.call(CALLING, "callKept", "process") == GONE, "it has not ended")

    def test_an_object_that_all_have_given_outlives_them(self):
        one, other, _ = self.connect_process()
        for client in (one, other):
            client.call(CALLING, "keep", "process", client.give(number=7))
        one.close()
        other.close()
        with WebSocketClient(self.peer) as asking:
            eventually(lambda: asking.call(CALLING, "callKept", "process") == GONE, "they have not ended")
            asking.call(CALLING, "drop", "process")
            for _ in range(5):
                asking.control("gc")
        self.assert_serves(self.connect())

    def test_releases_count_what_all_connections_gave(self):
        one, other, _ = self.connect_process()
        for client in (one, other, one):
            client.call(CALLING, "here", client.give(lambda call: "x", 7))
        deadline = time.monotonic() + SECONDS
        while one.released[7] + other.released[7] < 3:
            self.assertLess(time.monotonic(), deadline)
            for client in (one, other):
                client.control("gc")
                client.control("ping")
        self.assertEqual(one.released[7] + other.released[7], 3)

    def test_the_release_of_an_object_is_sent_to_another_connection_if_its_own_has_ended(self):
        one, other, _ = self.connect_process()
        with WebSocketClient(self.peer) as asking, ThreadPoolExecutor(1) as pool:
            self.close_one(one, other, asking, pool)
            read = pool.submit(other.step)
            asking.call(CALLING, "drop", "process")
            eventually(lambda: (asking.control("gc"), read.done())[1], "nothing is released")
            read.result()
        self.assertEqual(other.released[7], 1)

    def test_which_connections_belong_to_one_process(self):
        one, other, number = self.connect_process()
        stranger = self.connect()
        self.assertNotEqual(self.join(stranger), number)  # of another session
        elsewhere = self.connect(ShmCallbackClient, self.session)
        self.assertNotEqual(self.join(elsewhere), number)  # over a socket that names another user than TCP does
        self.assertEqual(self.join(one), number)  # again
        self.assert_fails(-32602, "belongs to another process already", self.join, one, self.NAME[::-1])
        self.assert_fails(-32602, "text of 22 to 128 bytes", self.join, self.connect(), "short")
        late = self.connect()
        late.call(CALLING, "here", late.give(lambda call: "x"))
        self.assert_fails(-32602, "has given callbacks already", self.join, late)
        begun, call = self.begin(one)
        self.assert_fails(-32602, "cannot be nested in a callback", one.checked, "control",
                          {"method": "session", "args": [{"name": "process", "value": self.NAME}]},
                          options={"within": call.id})
        nested = json.loads(one.checked("control", {"method": "session"}, options={"within": call.id}))
        self.assertEqual(nested["client"], number)
        call.answer("x")
        self.assertEqual(one.end(begun), "x")

    def test_delete_session_releases_for_all(self):
        one, other, _ = self.connect_process()
        one.call(CALLING, "keep", "process", one.give(number=7))
        other.call(CALLING, "keep", "other", other.give(number=8))
        one.control("delete_session")
        for client, id in ((one, 7), (other, 8)):
            client.control("ping")
            self.assertEqual(client.released[id], 1)
        self.assertEqual(other.call(CALLING, "callKept", "process"), DELETED)


class Interleaved(CallbackCase):
    def keep(self, client, name):
        client.call(CALLING, "keep", name, client.give())

    def test_callbacks_of_two_connections_can_be_nested(self):
        """All calls run on one Java thread, which waits for two clients."""
        one, other = self.connect(), self.connect()
        self.keep(other, "inner")
        begun, outer = self.begin(one)
        thread = one.end(one.begin_call(CALLING, "threadName", within=outer.id))
        nested = one.begin_call(CALLING, "callKept", "inner", within=outer.id)
        inner = other.await_call()
        self.assertEqual(other.end(other.begin_call(CALLING, "threadName", within=inner.id)), thread)
        # The outer call is still open, and its thread waits in the inner call.
        self.assertEqual(one.end(one.begin_call(CALLING, "threadName", within=outer.id)), thread)
        outer.answer("outer, whose answer is early")
        inner.answer("inner")
        self.assertEqual(one.end(nested), "inner")
        self.assertEqual(one.end(begun), "outer, whose answer is early")

    def test_nested_callbacks_work_on_a_thread_of_the_application(self):
        one, other = self.connect(), self.connect()
        self.keep(other, "inner")
        one.call(CALLING, "onThread", one.give())
        outer = one.await_call()
        nested = one.begin_call(CALLING, "callKept", "inner", within=outer.id)
        inner = other.await_call()
        self.assertEqual(other.end(other.begin_call(CALLING, "local", within=inner.id)), "local")
        inner.answer("inner")
        self.assertEqual(one.end(nested), "inner")
        outer.answer("outer")
        self.assertEqual(self.outcome(), "outer")

    def test_the_inner_client_vanishes(self):
        one, other = self.connect(), self.connect()
        self.keep(other, "inner")
        begun, outer = self.begin(one)
        nested = one.begin_call(CALLING, "callKept", "inner", within=outer.id)
        other.await_call()
        other.close()
        self.assertEqual(one.end(nested), GONE)
        outer.answer("outer")
        self.assertEqual(one.end(begun), "outer")

    def test_the_outer_client_vanishes(self):
        one, other = self.connect(), self.connect()
        self.keep(other, "inner")
        one.call(CALLING, "onThread", one.give())
        outer = one.await_call()
        one.begin_call(CALLING, "callKept", "inner", within=outer.id)
        inner = other.await_call()
        one.close()
        self.assertEqual(other.end(other.begin_call(CALLING, "local", within=inner.id)), "local")
        inner.answer("inner")
        self.assertEqual(self.outcome(), GONE)
        self.assert_serves(other)

    def test_each_calls_the_other(self):
        one, other = self.connect(), self.connect()
        self.keep(one, "one")
        self.keep(other, "other")
        for _ in range(20):
            (first, of_one), (second, of_other) = self.begin(one), self.begin(other)
            inner_first = one.begin_call(CALLING, "callKept", "other", within=of_one.id)
            inner_second = other.begin_call(CALLING, "callKept", "one", within=of_other.id)
            other.await_call().answer("to one")
            one.await_call().answer("to other")
            self.assertEqual(one.end(inner_first), "to one")
            self.assertEqual(other.end(inner_second), "to other")
            of_one.answer("one")
            of_other.answer("other")
            self.assertEqual((one.end(first), other.end(second)), ("one", "other"))


class Asking(CallbackCase):
    options = ("--callback-timeout", "0")

    def test_within_a_call_that_has_ended(self):
        """The client sends a request within the first call, while Java already waits in a second call that the client
        has not read."""
        client = self.connect()
        begun = client.begin_call(CALLING, "twice", client.give())
        first = client.await_call()
        with WebSocketClient(self.peer) as other:
            other.call(CALLING, "interruptCaller")
        second = client.await_call()
        later = client.begin_call(CALLING, "echo", 1)
        nested = client.begin_call(CALLING, "echo", 2, within=first.id)
        self.assert_fails(-32602, f"{first.id} is no open callback that the message is nested in", client.end, nested)
        second.answer("second")
        interrupted = "CallbackException: the thread was interrupted while it waited for the client, interrupted"
        self.assertEqual(client.end(begun), f"{interrupted}; second")
        self.assertEqual(client.end(later), "1")
        self.assertEqual(client.order, [nested, begun, later])


class LeavingCase(CallbackCase):
    def outcomes(self):
        """Clients leave in each way, while their own call or another thread calls them back. Yields the Java method, the
        way, and the outcome that Java sees."""
        for leave in (CallbackClient.close, CallbackClient.end_stream, CallbackClient.reset):
            for method in ("hereTold", "onThread"):
                client = self.connect()
                client.begin_call(CALLING, method, client.give())
                client.await_call()
                leave(client)
                yield method, leave.__name__, self.outcome()


class VanishingByDefault(LeavingCase):
    def test_java_gets_an_error_or_an_interrupt_when_the_client_leaves(self):
        """The client's own call is interrupted, and the peer continues to serve. A call from another thread gets the
        error that the client is gone."""
        for method, leave, outcome in self.outcomes():
            self.assertTrue(outcome == GONE or (method == "hereTold" and "interrupted" in outcome),
                            (method, leave, outcome))
        self.assertEqual("false", self.connect().call("java.lang.Thread", "interrupted"))


class Vanishing(LeavingCase):
    """The option keeps the peer from interrupting calls of clients that have left, so that the Java thread sees the end
    of the callback."""

    options = ("--on-disconnect", "finish")

    def test_java_gets_an_error_however_the_connection_ends(self):
        """The calling Java thread gets an error, whether it serves the request or is another thread, and the peer
        continues to serve."""
        for method, leave, outcome in self.outcomes():
            self.assertEqual(outcome, GONE, (method, leave))
        self.assert_serves(self.connect())

    def test_java_gets_an_error_when_the_client_is_killed(self):
        program = ("import sys; from types import SimpleNamespace; from support.callback_client import CallbackClient\n"
                   "peer = SimpleNamespace(clients=[], address=lambda scheme: sys.argv[1])\n"
                   "client = CallbackClient(peer)\n"
                   f"client.begin_call('{CALLING}', 'hereTold', client.give())\n"
                   "client.await_call(); print('called', flush=True); client.step()\n")
        process = subprocess.Popen([sys.executable, "-c", program, self.peer.address("ws")], stdout=subprocess.PIPE,
                                   env={**os.environ, "PYTHONPATH": str(ROOT / "tests")})
        with process:
            with kill_after(process):
                self.assertEqual(process.stdout.readline(), b"called\n")
            process.send_signal(signal.SIGKILL)
        self.assertEqual(self.outcome(), GONE)

    def test_later_requests_are_served(self):
        """Requests that a client has sent before it ended the stream are answered."""
        client = self.connect()
        first, _ = self.begin(client)
        later = [client.begin_call(CALLING, "echo", number) for number in range(10)]
        client.end_stream()
        self.assertEqual(client.end(first), GONE)
        self.assertEqual([client.end(number) for number in later], [str(number) for number in range(10)])

    def test_many_clients_may_vanish_at_once(self):
        clients = [self.connect() for _ in range(20)]
        for client in clients:
            client.begin_call(CALLING, "hereTold", client.give())
            client.begin_call(CALLING, "echo", 1)
        for client in clients:
            client.await_call()
        for client in clients:
            client.close()
        self.assertEqual({self.outcome() for _ in clients}, {GONE})


class Wrong(CallbackCase):
    """Wrong answers of a client. Each test has its own peer, because it counts lines of the log."""

    options = None

    def stop(self, dropped=0, misfits=0):
        for client in self.peer.clients:
            client.close()
        self.assertEqual(self.peer.stop(), 0)
        lines = self.peer.stderr()
        self.assertEqual((lines.count(DROPPED), lines.count(MISFIT)), (dropped, misfits), lines)

    def test_answers_that_nobody_waits_for_change_nothing(self):
        client = self.serve()
        for client in (client, self.connect()):
            begun, call = self.begin(client)
            for wrong in ("cb-99", "cb-0", "cb--1", "cb-", "7", 7, "cb-18446744073709551617", None, [], {}):
                client.send_json({"jsonrpc": "2.0", "id": wrong, "result": "wrong"})
            client.send_json([{"jsonrpc": "2.0", "id": "cb-98", "result": 1}, {"jsonrpc": "2.0", "id": "cb-97", "result": 1}])
            call.answer("right")
            self.assertEqual(client.end(begun), "right")
            call.answer("twice")
            call.fail("thrice")
            self.assert_serves(client)
        self.stop(dropped=2)

    def test_answers_in_one_array(self):
        client = self.serve()
        begun = client.begin_call(CALLING, "invokeAll", client.give(), 8)
        held = client.await_calls(8)
        client.send_json([{"jsonrpc": "2.0", "id": call.id, "result": typed("int", 1)} for call in held[:5]])
        client.send_json([{"jsonrpc": "2.0", "id": call.id, "result": typed("int", 1)} for call in held[3:]])
        self.assertEqual(client.end(begun), "8")
        self.stop(dropped=1)

    def test_values_that_do_not_fit_are_errors_in_java(self):
        """Java gets an error for each value; the log gets a line for the first wrong value of a
        connection."""
        client = self.serve()
        for wrong in ("x", {"ref": 999999}, typed("fixtures.Nothing", 1), {"no": "argument"}, [1, 2], 1.5):
            begun = client.begin_call("java.util.Objects", "compare", "a", "b", client.give())
            client.await_call().answer(wrong)
            error = self.failure(client.end, begun)
            self.assertEqual(error.throwable, "jpeer.peer.CallbackException", wrong)
        self.assert_serves(client)
        other = self.connect()
        begun = other.begin_call("java.util.Objects", "compare", "a", "b", other.give())
        other.await_call().answer("of another connection")
        self.failure(other.end, begun)
        self.stop(misfits=2)

    def test_a_void_method_accepts_no_value(self):
        client = self.serve()
        begun = client.begin_call(CALLING, "tell", client.give(), 1)
        client.await_call().answer("something")
        error = self.failure(client.end, begun)
        self.assertIn("the method returns void: the answer must be null", error.detail)
        self.stop(misfits=1)

    def test_bytes_that_are_not_json_are_errors_for_the_client(self):
        """The client gets an error for each of them, and the open call can still be answered."""
        client = self.serve("--callback-timeout", "0")
        begun, call = self.begin(client)
        for wrong in ("", "cb-1", "\u0000", '{"result":Infinity', '[{"id":"cb-1","result":NaN}]',
                      '{"id":"cb-9","result":'):
            client.send(wrong)
            self.assertEqual(client.reply(None)["error"]["code"], -32700, wrong)
        call.answer("right")
        self.assertEqual(client.end(begun), "right")
        self.stop()

    def test_answers_that_cannot_be_read_are_errors_in_java(self):
        """Java gets an error if the id belongs to its call. `result` and `error` together, as in JSON-RPC
        1.0, are accepted."""
        client = self.serve("--callback-timeout", "0")
        for code, wrong in ((-32700, '{"jsonrpc":"2.0","id":"%s","result":Infinity}'),
                            (-32700, '{"result":1 2,"id":"%s"}'),
                            (-32700, '{"id":"%s","error":{"code":5L,"message":"x"}}'),
                            (-32600, '{"id":"%s","result":' + "[" * 500 + "]" * 500 + "}"),
                            (-32600, '{"id":"%s","result":1,"error":{"code":1}}'),
                            (-32600, '{"id":"%s"}')):
            begun, call = self.begin(client)
            client.send(wrong % call.id)
            self.assertIn("CallbackException: the client's answer cannot be read: ", client.end(begun), wrong)
            [refusal] = [client.replies.pop(number) for number in (None, call.id) if number in client.replies]
            self.assertEqual(refusal["error"]["code"], code, wrong)
            self.assertEqual(client.order[-2:][1], begun)
        begun, call = self.begin(client)
        client.send_json({"id": call.id, "result": "taken", "error": None})
        self.assertEqual(client.end(begun), "taken")
        begun, call = self.begin(client)
        client.send_json({"id": call.id, "result": None, "error": {"code": 5, "message": "of 1.0"}})
        self.assertEqual(client.end(begun), "CallbackException: of 1.0")
        self.stop(misfits=1)

    def test_an_answer_after_the_timeout_is_dropped(self):
        client = self.serve("--callback-timeout", "100")
        begun, call = self.begin(client)
        self.assertEqual(client.end(begun),
                         "CallbackException: the client has not answered within 100 ms (callback-timeout)")
        call.answer("late")
        self.assert_fails(-32602, "", client.end, client.begin_call(CALLING, "threadName", within=call.id))
        client.call(CALLING, "onThread", client.give())
        late = client.await_call()
        self.assertIn("(callback-timeout)", self.outcome())
        late.answer("late")
        self.assertEqual(client.call(CALLING, "echo", 1), "1")
        self.stop(dropped=1)

    def test_threads_that_wait_for_no_answer_are_free_after_the_timeout(self):
        """Every thread that waits is free again, even if many threads wait."""
        client = self.serve("--callback-timeout", "200")
        client.call(CALLING, "onThreads", client.give(), 30)
        client.await_calls(30)
        self.assertEqual({self.outcome() for _ in range(30)},
                         {"CallbackException: the client has not answered within 200 ms (callback-timeout)"})
        self.stop()

    def test_callbacks_above_the_limit_throw(self):
        client = self.serve("--callbacks-max", "5")
        client.call(CALLING, "onThreads", client.give(), 6)
        held = client.await_calls(5)
        self.assertEqual(self.outcome(), "CallbackException: the limit of 5 open callbacks of a connection is reached "
                                         "(callbacks-max)")
        for call in held:
            call.answer("answered")
        self.assertEqual([self.outcome() for _ in held], ["answered"] * 5)
        self.stop()


class Deadlocks(CallbackCase):
    """The deadlocks of docs/callbacks.md: how they show, and how they end."""

    options = ("--callback-timeout", "60000")

    def test_a_lock_that_another_client_waits_for(self):
        one, other = self.connect(), self.connect()
        first, call = self.begin(one, "holdingMonitor")
        second = other.begin_call(CALLING, "holdingMonitor", other.give(lambda call: "second"))

        def is_blocked():
            self.peer.send_signal(signal.SIGQUIT)
            return "BLOCKED (on object monitor)" in self.peer.stdout()
        eventually(is_blocked, "a thread dump shows it")
        self.assertRegex(self.peer.stdout(), r"(?s)at jpeer\.peer\.Callback\.\S+\(.{1,2000}?- locked <")
        call.answer("first")
        self.assertEqual((one.end(first), other.end(second)), ("first", "second"))


class TimedDeadlocks(CallbackCase):
    options = ("--callback-timeout", "3000", "--thread-affinity", "SINGLE=fixtures.Affinity.single")

    def test_the_timeout_releases_the_lock(self):
        one, other = self.connect(), self.connect()
        first, _ = self.begin(one, "holdingMonitor")
        second = other.begin_call(CALLING, "holdingMonitor", other.give(lambda call: "second"))
        self.assertEqual(other.end(second), "second")
        self.assertIn("(callback-timeout)", one.end(first))

    def test_an_executor_of_one_thread(self):
        """The client uses the executor without `within`; with it the request runs there."""
        client, other = self.connect(), self.connect()
        begun = client.begin("call", {"type": CALLING, "method": "here", "args": [client.give()]},
                             options={"threadAffinity": "SINGLE"})
        call = client.await_call()
        self.assertEqual(client.end(client.begin_call(CALLING, "threadName", within=call.id)), "fixture-single")
        later = other.begin("call", {"type": CALLING, "method": "threadName"}, options={"threadAffinity": "SINGLE"})
        self.assertIn("(callback-timeout)", client.end(begun))
        self.assertEqual(other.end(later), "fixture-single")
