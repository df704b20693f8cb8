"""The C half with hooks of the tests: features that the package itself does not use, and memory leaks."""

import gc
import math
import os
import select
import signal
import sys
import threading
import unittest
import weakref

from jpeer._native import Array, Callback, Connection, Constructor, Hooks, Method, Object, Typed
from jpeer.connection import find_program
from support import FIXTURES, SECONDS, await_true, run_threads

OBJECTS = 100_000
ROUNDS = 200


class PeerFailed(Exception):
    """The exception that make_error makes in these tests."""

    def __init__(self, code, message, throwable, data):
        super().__init__(message)
        self.code, self.throwable, self.data = code, throwable, data


def make_hooks():
    hooks = Hooks()
    hooks.in_pieces = lambda value, declared: None
    hooks.classes, hooks.from_text, hooks.to_java = {}, {}, {}
    hooks.make_class = lambda name, handle: Array if name == "[B" else Object
    hooks.other_to_java = refuse
    hooks.make_error = lambda connection, *error: PeerFailed(*error)
    return hooks


def refuse(value):
    raise TypeError(f"Java has nothing like {value!r}")


def launch(hooks=None):
    made = Connection.launch(
        hooks or make_hooks(), program=find_program(), class_path=os.fspath(FIXTURES), start_timeout=SECONDS
    )
    made.timeout = SECONDS
    return made


connection = None


def setUpModule():
    global connection
    connection = launch()


def tearDownModule():
    connection.stop(SECONDS)


def echo(value, type="java.lang.Object"):
    return connection.call("java.util.Objects", "requireNonNull", None, (Typed(type, value),))


def run_loop(over, is_done):
    """Runs the completions on this thread."""
    poll = select.poll()
    poll.register(over.descriptor(), select.POLLIN)
    while not is_done():
        if not poll.poll(SECONDS * 1000):
            raise TimeoutError
        over.process()


class Errors(unittest.TestCase):
    def test_a_wrong_argument_is_a_type_or_value_error(self):
        for call, error in [
            (lambda: connection.call("java.lang.Math\0", "abs", None, (1,)), ValueError),
            (lambda: connection.call(5, "abs", None, (1,)), TypeError),
            (lambda: connection.call("java.lang.Math", "abs", None, 5), TypeError), (lambda: Typed(5, 5), TypeError),
            (lambda: Connection("ws://127.0.0.1:1", make_hooks(), connect_timeout=math.nan), ValueError),
            (lambda: Connection("ws://127.0.0.1:1", make_hooks(), connect_timeout=-1), ValueError),
            (lambda: Connection("ws://127.0.0.1:1", make_hooks(), pending_max=-1), ValueError),
            (lambda: Connection("nonsense:x", make_hooks()), ValueError),
            (lambda: Connection("ws+unix:/nowhere", make_hooks()), ConnectionError),
            (lambda: Connection("ws+unix:/nowhere", object()), AttributeError),
            (lambda: connection.send(("control", "ping"), math.inf, print), ValueError),
            (lambda: connection.send(("nothing", 1), None, print), ValueError),
            (lambda: setattr(connection, "timeout", 1e10), ValueError),
            (lambda: setattr(connection, "timeout", "1"), TypeError),
            (lambda: Callback(connection, print, print, interfaces=[5]), TypeError),
            (lambda: Callback(connection, print, print, interfaces=["a.B"] * 16), ValueError),
        ]:
            self.assertRaises(error, call)
        self.assertEqual(connection.timeout, SECONDS)

    def test_a_request_is_sent_again_once_if_nothing_has_run(self):
        """If make_error returns NotImplemented, the request is sent once more, unless a part of it has run."""
        asked = []

        def make_error(connection, *error):
            asked.append(error[1])
            return NotImplemented if len(asked) % 2 else PeerFailed(*error)

        hooks = make_hooks()
        hooks.make_error = make_error
        other = Connection(connection.url, hooks)
        wrong = ("call", "java.lang.Integer", "parseInt", None, ("x",))
        with self.assertRaises(PeerFailed):
            other.call(*wrong[1:])
        self.assertEqual(len(asked), 2)
        self.assertRaises(PeerFailed, other.batch, [wrong])
        self.assertEqual(len(asked), 4)
        found = []
        other.send(wrong, SECONDS, lambda *each: found.append(each))
        run_loop(other, lambda: found)
        self.assertEqual((len(asked), found[0][0]), (6, None))
        self.assertIsInstance(found[0][1], PeerFailed)
        made = other.new("java.util.ArrayList")
        add = ("call", "java.util.ArrayList", "add", made, (1,))
        self.assertRaisesRegex(RuntimeError, "others have run", other.batch, [add, wrong])
        self.assertEqual(other.call("java.util.ArrayList", "size", made), 1)
        hooks.make_error = lambda *error: NotImplemented
        again = Connection(connection.url, hooks)
        with self.assertRaisesRegex(RuntimeError, "twice"):
            again.call(*wrong[1:])
        again.send(wrong, SECONDS, lambda *each: found.append(each))
        run_loop(again, lambda: len(found) == 2)
        self.assertIsInstance(found[1][1], RuntimeError)
        again.close()
        other.close()


class Callbacks(unittest.TestCase):
    def test_a_callback_survives_the_collection_of_its_java_object(self):
        """Java's collector and Python race: a callback may be replaced before the peer reports the end of its
        object."""
        other = Connection(connection.url, make_hooks())
        callback = Callback(other, lambda *_: lambda: 1, str, interfaces=["java.util.concurrent.Callable"])
        is_over = threading.Event()

        def collect():
            while not is_over.is_set():
                connection.control("gc")

        collector = threading.Thread(target=collect)
        collector.start()
        args = (Typed("java.util.concurrent.Callable", callback),)
        run_threads(lambda _: [other.call("java.util.Objects", "nonNull", None, args) for _ in range(300)], range(4))
        is_over.set()
        collector.join()
        reference = weakref.ref(callback)
        del callback, args
        other.close()
        gc.collect()
        self.assertIsNone(reference())


class Memory(unittest.TestCase):
    def test_objects_are_released_on_both_sides(self):
        other = Connection(connection.url, make_hooks())
        new = Constructor(other, "java.lang.Object")
        some = [new() for _ in range(1000)]
        self.assertEqual(other.ref_count, 1000)
        del some
        for _ in range(OBJECTS):
            new()
        self.assertEqual(other.ref_count, 0)
        other.control("ping")
        self.assertIn('"objects":0,', other.control("stats"))
        other.close()

    def test_no_python_object_is_leaked(self):
        """References of conversions, errors and members are dropped."""
        values = connection.new("java.util.ArrayList", ([1, "a", [2]],))
        add = Method(connection, "java.lang.Math", "addExact", True, False)

        def use_all():
            connection.fetch(values)
            echo({"a": [1, 2.5, "x" * 1000, None, True], "b": (1,)})
            echo(b"abc", "byte[]")._read(0, 2)
            add(1, 2)
            connection.batch([("new", "java.lang.Object", ()), ("get", "java.lang.Integer", "MAX_VALUE", None)])
            connection.describe(type="java.lang.Runnable")
            try:
                add("x")
            except PeerFailed:
                pass
            try:
                echo(object())
            except TypeError:
                pass

        growth = []
        for _ in range(6):  # the first rounds fill caches
            gc.collect()
            before = sys.getallocatedblocks()
            for _ in range(ROUNDS):
                use_all()
            gc.collect()
            growth.append(sys.getallocatedblocks() - before)
        self.assertLess(min(growth), ROUNDS / 2, growth)


class Signals(unittest.TestCase):
    def test_a_signal_handler_that_does_not_raise_does_not_end_the_wait(self):
        seen = []

        def signal_a_wait():
            await_true(lambda: connection.pending > 0)
            os.kill(os.getpid(), signal.SIGINT)

        before = signal.signal(signal.SIGINT, lambda *each: seen.append(each[0]))
        other = threading.Thread(target=signal_a_wait)
        other.start()
        try:
            connection.call("java.lang.Thread", "sleep", None, (2000,))
        finally:
            other.join()
            signal.signal(signal.SIGINT, before)
        self.assertEqual(seen, [signal.SIGINT])
