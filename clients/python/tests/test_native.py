"""The C half alone: connections, members, conversions, errors, with hooks of the tests' own."""

import array
import gc
import io
import math
import os
import select
import signal
import sys
import threading
import unittest
import weakref
from decimal import Decimal

from jpeer import _native
from jpeer._native import Array, Callback, Connection, Constructor, Field, Hooks, Method, Object, Result, Typed
from jpeer.connection import find_program
from support import FIXTURES, SECONDS

OBJECTS = 100_000
ROUNDS = 200


class PeerFailed(Exception):
    """What make_error makes here."""

    def __init__(self, code, message, throwable, data):
        super().__init__(message)
        self.code, self.throwable, self.data = code, throwable, data


def make_hooks():
    hooks = Hooks()
    hooks.classes = {"java.lang.String": Text}
    hooks.make_class = lambda name, handle: Array if name in ARRAYS else Object
    hooks.from_text = {
        "java.math.BigDecimal": Decimal,
        "java.time.LocalDate": lambda text: NotImplemented,
        "java.util.UUID": lambda text: ("uuid", text),
    }
    hooks.to_java = {Decimal: lambda value: Typed("java.math.BigDecimal", str(value))}
    hooks.other_to_java = refuse
    hooks.make_error = lambda connection, *error: PeerFailed(*error)
    return hooks


class Text:
    """Strings are no handles to Python."""

    @staticmethod
    def _from_object(handle):
        return handle._connection.call("java.lang.String", "toString", handle)


ARRAYS = ("[B", "[S", "[I", "[J", "[F", "[D", "[Z", "[C")


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


def text_of(value):
    return connection.call("java.lang.String", "valueOf", None, (Typed("java.lang.Object", value),))


class Values(unittest.TestCase):
    def test_there_and_back(self):
        for type, value in [
            ("int", -(2**31)),
            ("long", 2**63 - 1),
            ("short", -5),
            ("byte", 127),
            ("double", 0.1),
            ("double", math.inf),
            ("boolean", True),
            ("boolean", False),
            ("char", "\ud800"),
            ("java.lang.String", ""),
            ("java.lang.String", 'a"\\\n\0\U0001f600'),
            ("java.lang.String", "\udc00 alone"),
            ("java.lang.String", "x" * 100_000),
        ]:
            with self.subTest(type, value=repr(value)[:40]):
                found = echo(value, type)
                self.assertEqual(found, value)
                self.assertIs(builtin(found), builtin(value))
        self.assertTrue(math.isnan(echo(math.nan, "double")))
        self.assertEqual(echo(0.5, "float"), 0.5)
        self.assertIsNone(connection.call("java.util.Objects", "toString", None, (None, None)))

    def test_large_integers(self):
        for value in (2**63, -(2**63) - 1, 10**300):
            self.assertEqual(text_of(value), str(value))

    def test_the_parameter_decides(self):
        self.assertEqual(connection.call("java.lang.Math", "sqrt", None, (4,)), 2.0)
        self.assertEqual(connection.call("java.lang.Math", "addExact", None, (1, 2)), 3)
        self.assertEqual(connection.call("java.lang.String", "valueOf", None, (Typed("char", "a"),)), "a")

    def test_containers(self):
        for value, text in [
            ([1, "a", None, [2.5]], "[1, a, null, [2.5]]"),
            ((1, 2), "[1, 2]"),
            ({7}, "[7]"),
            (frozenset(), "[]"),
            ({"k": {"n": 1}}, "{k={n=1}}"),
            ({"type": "t"}, "{type=t}"),
            ({"value": 1}, "{value=1}"),
            ({"ref": 2}, "{ref=2}"),
            ([], "[]"),
            ({}, "{}"),
        ]:
            with self.subTest(value):
                self.assertEqual(text_of(value), text)

    def test_a_list_that_holds_itself(self):
        endless = []
        endless.append(endless)
        with self.assertRaises(RecursionError):
            text_of(endless)
        endless.clear()

    def test_by_the_hooks(self):
        self.assertEqual(echo(Decimal("1.50"), "java.math.BigDecimal"), Decimal("1.50"))
        with self.assertRaisesRegex(TypeError, "nothing like"):
            echo(object())

    def test_texts(self):
        uuid = "123e4567-e89b-12d3-a456-426614174000"
        self.assertEqual(connection.call("java.util.UUID", "fromString", None, (uuid,)), ("uuid", uuid))
        date = connection.call("java.time.LocalDate", "of", None, (2024, 2, 29))
        self.assertIsInstance(date, Object)
        self.assertEqual(date._java_type, "java.time.LocalDate")

    def test_what_new_makes_is_an_object(self):
        args = (Typed("java.lang.String", "1.5"),)
        in_batch = connection.batch([("new", "java.math.BigDecimal", args)])[0]
        for made in (
            connection.new("java.math.BigDecimal", args),
            Constructor(connection, "java.math.BigDecimal")("1.5"),
            in_batch,
        ):
            self.assertIsInstance(made, Object)
            self.assertEqual(connection.call("java.math.BigDecimal", "scale", made), 1)
            self.assertEqual(connection.call("java.math.BigDecimal", "negate", made), Decimal("-1.5"))


def builtin(value):
    return type(value)


class Arrays(unittest.TestCase):
    VALUES = [
        ("byte[]", b"\x00\x7f\x80", "b", [0, 127, -128]),
        ("short[]", array.array("h", [-1, 2]), "h", [-1, 2]),
        ("int[]", array.array("i", [-1, 2**31 - 1]), "i", [-1, 2**31 - 1]),
        ("long[]", array.array("q", [-(2**63)]), "q", [-(2**63)]),
        ("float[]", array.array("f", [0.5]), "f", [0.5]),
        ("double[]", array.array("d", [0.1, math.inf]), "d", [0.1, math.inf]),
        ("boolean[]", memoryview(b"\x01\x00").cast("?"), "?", [True, False]),
        ("char[]", Typed("char[]", ["a", "ä"]), "H", [97, 228]),
        ("int[]", Typed("int[]", []), "i", []),
    ]

    def test_there_and_back(self):
        for type, value, format, elements in self.VALUES:
            with self.subTest(type):
                made = connection.call("java.util.Objects", "requireNonNull", None, (value,))
                self.assertIsInstance(made, Array)
                with memoryview(made) as view:
                    self.assertEqual((view.format, view.tolist(), view.readonly), (format, elements, True))
                self.assertEqual(made._read(0, len(elements)).tolist(), elements)
                self.assertEqual(made._read(0, 0).tolist(), [])
                self.assertEqual(made._read(0, len(elements)).format, format)

    def test_refused(self):
        made = echo(b"abc", "byte[]")
        with self.assertRaises((BufferError, TypeError)):
            io.BytesIO(b"xyz").readinto(made)
        with self.assertRaises(PeerFailed):
            made._read(0, 10)


class Members(unittest.TestCase):
    def setUp(self):
        self.point_class = type(
            "Point",
            (Object,),
            {
                "__slots__": (),
                "x": Field(connection, "java.awt.Point", "x", False),
                "getX": Method(connection, "java.awt.Point", "getX", False, True),
                "move": Method(connection, "java.awt.Point", "move", False, True),
            },
        )
        self.new = Constructor(connection, "java.awt.Point")

    def test_methods(self):
        p = self.new(3, 4)
        get_x = self.point_class.getX
        self.assertEqual(get_x(p), 3.0)
        bound = get_x.__get__(p, self.point_class)
        self.assertEqual((bound(), bound.__name__, bound.__self__ is p), (3.0, "getX", True))
        self.assertEqual(bound, get_x.__get__(p, self.point_class))
        self.assertEqual(hash(bound), hash(get_x.__get__(p, self.point_class)))
        self.assertIn("java.awt.Point.getX", repr(bound))
        self.assertIsNone(self.point_class.move(p, 5, 6))
        self.assertEqual(get_x(p), 5.0)
        with self.assertRaisesRegex(TypeError, "keyword"):
            get_x(p, y=1)
        with self.assertRaisesRegex(TypeError, "needs an object"):
            get_x()
        with self.assertRaisesRegex(TypeError, "None has no members"):
            get_x(None)

    def test_a_value_as_the_receiver(self):
        length = Method(connection, "java.lang.String", "length", False, True)
        self.assertEqual(length("abc"), 3)

    def test_static_methods(self):
        add = Method(connection, "java.lang.Math", "addExact", True, False)
        self.assertEqual(add(1, 2), 3)
        self.assertIs(add.__get__(object(), object), add)

    def test_fields(self):
        p = self.new(3, 4)
        x = self.point_class.__dict__["x"]
        self.assertEqual(x.__get__(p, self.point_class), 3)
        x.__set__(p, 9)
        self.assertEqual(x.__get__(p, self.point_class), 9)
        self.assertIs(x.__get__(None, self.point_class), x)
        with self.assertRaisesRegex(AttributeError, "cannot be deleted"):
            x.__delete__(p)
        static = Field(connection, "java.lang.Integer", "MAX_VALUE", True)
        self.assertEqual(static.__get__(None, object), 2**31 - 1)
        with self.assertRaises(PeerFailed):
            static.put_static(1)

    def test_objects_are_not_made_by_python(self):
        with self.assertRaisesRegex(TypeError, "made by calling Java"):
            self.point_class()


class Requests(unittest.TestCase):
    def test_batches(self):
        size = ("call", "java.util.ArrayList", "size", Result(0), ())
        add = ("call", "java.util.ArrayList", "add", Result(0), ("a",))
        made, added, one = connection.batch([("new", "java.util.ArrayList", ()), add, size])
        self.assertIsInstance(made, Object)
        self.assertEqual((added, one), (True, 1))
        self.assertEqual(connection.batch([]), [])
        for step in (("nothing", 1), ("call",), 5, ("call", None, "x", None, ())):
            with self.subTest(step), self.assertRaises((ValueError, TypeError)):
                connection.batch([step])

    def test_fetch(self):
        made = connection.new("java.util.ArrayList", ([1, "a", None, 2.5, True, math.nan],))
        elements, done, rest = connection.fetch(made, 5)
        self.assertEqual((elements, done), ([1, "a", None, 2.5, True], False))
        elements, done, _ = connection.fetch(rest, 5)
        self.assertTrue(math.isnan(elements[0]))
        self.assertEqual((len(elements), done), (1, True))
        numbers = echo(array.array("i", range(10)), "int[]")
        self.assertEqual(connection.fetch(numbers, 2, 7)[0], [7, 8])

    def test_elements_with_types(self):
        date = Typed("java.time.LocalDate", "2024-02-29")
        number = Typed("java.math.BigDecimal", "1.50")
        made = connection.new("java.util.ArrayList", ([date, number, [1], Typed("char", "a")],))
        (date, number, inner, char), _, _ = connection.fetch(made)
        self.assertEqual((number, char), (Decimal("1.50"), "a"))
        self.assertEqual((date._java_type, inner._java_type), ("java.time.LocalDate", "java.util.ArrayList"))
        self.assertEqual(connection.call("java.time.LocalDate", "getYear", date), 2024)

    def test_describe(self):
        self.assertEqual(connection.describe(type="java.awt.Point")["class"], "java.awt.Point")
        self.assertEqual(connection.describe("abc")["class"], "java.lang.String")
        with self.assertRaises(TypeError):
            connection.describe()

    def test_a_loop_of_ones_own(self):
        found = []
        step = ("call", "java.lang.Math", "addExact", None, (1, 2))
        connection.send(step, SECONDS, lambda value, error: found.append((value, error)))
        connection.send(("call", "java.lang.Math", "none", None, ()), None, lambda *each: found.append(each))
        run_loop(connection, lambda: len(found) == 2)
        self.assertEqual(found[0], (3, None))
        self.assertIsNone(found[1][0])
        self.assertIsInstance(found[1][1], PeerFailed)


def run_loop(over, is_done):
    """Completions run here."""
    poll = select.poll()
    poll.register(over.descriptor(), select.POLLIN)
    while not is_done():
        if not poll.poll(SECONDS * 1000):
            raise TimeoutError
        over.process()


class Errors(unittest.TestCase):
    def test_throwables(self):
        with self.assertRaises(PeerFailed) as caught:
            connection.call("java.lang.Integer", "parseInt", None, ("x",))
        error = caught.exception
        self.assertEqual(error.code, -32000)
        self.assertEqual(error.throwable[:2], ("java.lang.NumberFormatException", 'For input string: "x"'))
        self.assertTrue(any("Integer.parseInt" in frame for frame in error.throwable[2]))
        self.assertIsNone(error.throwable[3])

    def test_of_the_peer(self):
        with self.assertRaises(PeerFailed) as caught:
            connection.control("nothing")
        self.assertIsNone(caught.exception.throwable)

    def test_wrong_arguments(self):
        for call, error in [
            (lambda: connection.call("java.lang.Math\0", "abs", None, (1,)), ValueError),
            (lambda: connection.call(5, "abs", None, (1,)), TypeError),
            (lambda: connection.call("java.lang.Math", "abs", None, 5), TypeError),
            (lambda: Typed(5, 5), TypeError),
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
            with self.assertRaises(error):
                call()
        self.assertEqual(connection.timeout, SECONDS)

    def test_objects_of_another_connection(self):
        other = Connection(connection.url, make_hooks())
        made = other.new("java.util.ArrayList")
        with self.assertRaisesRegex(ValueError, "another connection"):
            text_of(made)
        other.close()
        with self.assertRaises(ConnectionError):
            other.call("java.util.ArrayList", "size", made)
        self.assertTrue(other.is_closed)

    def test_requests_that_are_sent_again(self):
        """make_error gives NotImplemented: everything is sent once more, if nothing of it has run."""
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
        with self.assertRaises(PeerFailed):
            other.batch([wrong])
        self.assertEqual(len(asked), 4)
        found = []
        other.send(wrong, SECONDS, lambda *each: found.append(each))
        run_loop(other, lambda: found)
        self.assertEqual((len(asked), found[0][0]), (6, None))
        self.assertIsInstance(found[0][1], PeerFailed)
        made = other.new("java.util.ArrayList")
        add = ("call", "java.util.ArrayList", "add", made, (1,))
        with self.assertRaisesRegex(RuntimeError, "others have run"):
            other.batch([add, wrong])
        self.assertEqual(other.call("java.util.ArrayList", "size", made), 1)
        again = Connection(connection.url, always_again())
        with self.assertRaisesRegex(RuntimeError, "twice"):
            again.call(*wrong[1:])
        again.send(wrong, SECONDS, lambda *each: found.append(each))
        run_loop(again, lambda: len(found) == 2)
        self.assertIsInstance(found[1][1], RuntimeError)
        again.close()
        other.close()


def always_again():
    hooks = make_hooks()
    hooks.make_error = lambda *error: NotImplemented
    return hooks


class Callbacks(unittest.TestCase):
    def test_calls_and_exceptions(self):
        seen = []

        def compare(interface, method, parameters, args):
            seen.append((interface, method, list(parameters)))
            if args[0] == 13:
                raise KeyError("no luck")
            return args[1] - args[0]

        callback = Callback(connection, compare, lambda error: ("java.lang.IllegalStateException", str(error)))
        values = connection.new("java.util.ArrayList", ([2, 3, 1],))
        connection.call("java.util.ArrayList", "sort", values, (Typed("java.util.Comparator", callback),))
        self.assertEqual(connection.fetch(values)[0], [3, 2, 1])
        self.assertEqual(seen[0], ("java.util.Comparator", "compare", ["java.lang.Object", "java.lang.Object"]))
        values = connection.new("java.util.ArrayList", ([13, 13],))
        with self.assertRaises(PeerFailed) as caught:
            connection.call("java.util.ArrayList", "sort", values, (Typed("java.util.Comparator", callback),))
        self.assertEqual(caught.exception.throwable[:2], ("java.lang.IllegalStateException", "'no luck'"))

    def test_one_object_as_long_as_java_has_it(self):
        callback = Callback(connection, lambda *call: None, str, interfaces=["java.lang.Runnable"])
        first = echo(callback, "java.lang.Runnable")
        again = echo(callback, "java.lang.Runnable")
        self.assertEqual(first._number, again._number)

    def test_it_lives_as_long_as_java_has_it(self):
        callback = Callback(connection, lambda *call: None, str, interfaces=["java.lang.Runnable"])
        reference = weakref.ref(callback)
        kept = echo(callback, "java.lang.Runnable")
        del callback
        gc.collect()
        connection.control("gc")
        connection.control("ping")
        self.assertIsNotNone(reference())
        del kept
        for _ in range(200):
            connection.control("gc")
            connection.control("ping")
            if reference() is None:
                break
            threading.Event().wait(0.05)
        self.assertIsNone(reference())

    def test_many_that_come_and_go(self):
        """Java's collector and Python race: a handle that has ended may be replaced before it says so."""
        other = Connection(connection.url, make_hooks())
        callback = Callback(other, lambda *call: 1, str, interfaces=["java.util.concurrent.Callable"])
        is_over = threading.Event()

        def collect():
            while not is_over.is_set():
                connection.control("gc")

        collector = threading.Thread(target=collect)
        collector.start()
        args = (Typed("java.util.concurrent.Callable", callback),)
        threads = [threading.Thread(target=call_often, args=(other, args)) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        is_over.set()
        collector.join()
        reference = weakref.ref(callback)
        del callback, args, threads
        other.close()
        gc.collect()
        self.assertIsNone(reference())


def call_often(over, args):
    for _ in range(300):
        over.call("java.util.Objects", "nonNull", None, args)


class Threads(unittest.TestCase):
    def test_sixteen_on_one_connection(self):
        add = Method(connection, "java.lang.Math", "addExact", True, False)
        wrong = []

        def call(number):
            for i in range(300):
                if add(number * 1000, i) != number * 1000 + i:
                    wrong.append((number, i))

        threads = [threading.Thread(target=call, args=(number,)) for number in range(16)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertEqual(wrong, [])

    def test_closing_while_they_wait(self):
        other = launch()
        found = []

        def wait():
            try:
                other.call("java.lang.Thread", "sleep", None, (SECONDS * 1000,))
            except ConnectionError as error:
                found.append(error)

        threads = [threading.Thread(target=wait) for _ in range(4)]
        for each in threads:
            each.start()
        while other.pending < 4:
            threading.Event().wait(0.01)
        other.stop(SECONDS)
        for each in threads:
            each.join()
        self.assertEqual(len(found), 4)
        self.assertTrue(other.is_closed)


class Memory(unittest.TestCase):
    def test_objects_end_on_both_sides(self):
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

    def test_nothing_is_left_in_python(self):
        """References to what conversions, errors and members make are given back."""
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
        for _ in range(6):  # what is made once comes first
            gc.collect()
            before = sys.getallocatedblocks()
            for _ in range(ROUNDS):
                use_all()
            gc.collect()
            growth.append(sys.getallocatedblocks() - before)
        self.assertLess(min(growth), ROUNDS / 2, growth)


class Signals(unittest.TestCase):
    def wait_and_signal(self, expected):
        timer = threading.Thread(target=send_when_waiting, args=(connection, signal.SIGINT))
        timer.start()
        try:
            connection.call("java.lang.Thread", "sleep", None, (2000,))
        except expected:
            return True
        finally:
            timer.join()
        return False

    def test_keyboard_interrupt(self):
        self.assertTrue(self.wait_and_signal(KeyboardInterrupt))
        self.assertEqual(connection.call("java.lang.Math", "abs", None, (-1,)), 1)

    def test_a_handler_that_does_not_raise(self):
        seen = []
        before = signal.signal(signal.SIGINT, lambda *each: seen.append(each[0]))
        try:
            self.assertFalse(self.wait_and_signal(KeyboardInterrupt))
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(seen, [signal.SIGINT])


def send_when_waiting(over, number):
    while over.pending == 0:
        threading.Event().wait(0.01)
    os.kill(os.getpid(), number)


class Ends(unittest.TestCase):
    def test_a_dead_peer(self):
        other = launch()
        os.kill(other.process_id, signal.SIGKILL)
        with self.assertRaises(ConnectionError):
            while True:
                other.control("ping")
        other.close()

    def test_fork(self):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                connection.control("ping")
            except RuntimeError as error:
                status = 0 if "fork" in str(error) else 2
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        connection.control("ping")

    def test_a_connection_that_nobody_has(self):
        reference = weakref.ref(Connection(connection.url, make_hooks()))
        gc.collect()
        self.assertIsNone(reference())

    def test_version(self):
        self.assertRegex(_native.version(), r"^\d+\.\d+\.\d+$")
