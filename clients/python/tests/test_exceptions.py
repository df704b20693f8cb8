"""Java's exceptions in Python, and Python's exceptions in Java."""

import gc
import pickle
import re
import traceback
import unittest
import unittest.mock
import weakref

import jpeer
from jpeer.exceptions import PYTHON_BASES
from support import FIXTURES, SECONDS, await_true, launch, module_peer, run_threads

java = None  # set while the tests of this module run
setUpModule, tearDownModule = module_peer(globals(), classpath=[FIXTURES])


def catch(kind, function, *args):
    try:
        function(*args)
    except kind as error:
        return error
    raise AssertionError(f"{kind} was not raised")


def raising(thrown):
    """A function that raises the exception, with any arguments."""

    def function(*_):
        raise thrown

    return function


class FromJava(unittest.TestCase):
    def test_except_matches_superclasses_and_interfaces(self):
        lang = java.java.lang
        for kind in (lang.NumberFormatException, lang.IllegalArgumentException, lang.RuntimeException, lang.Exception,
                     lang.Throwable, jpeer.JavaException, ValueError, Exception):
            with self.subTest(kind):
                error = catch(kind, lang.Integer.parseInt, "x")
                self.assertIs(type(error), lang.NumberFormatException)
        self.assertNotIsInstance(error, lang.IllegalStateException)
        self.assertIsInstance(error, lang.Object)

    def test_an_exception_has_message_class_and_frames(self):
        error = catch(ValueError, java.java.lang.Integer.parseInt, "x")
        self.assertEqual((str(error), error.args), ('For input string: "x"', ('For input string: "x"',)))
        self.assertEqual(error.java_class, "java.lang.NumberFormatException")
        self.assertIn("java.lang.Integer.parseInt(Integer.java:", error.java_frames[1])
        self.assertEqual(
            str(catch(java.java.lang.NullPointerException, java.java.util.Objects.requireNonNull, None)), ""
        )

    def test_the_traceback_has_the_java_frames(self):
        error = catch(ValueError, java.java.lang.Integer.parseInt, "x")
        found = traceback.extract_tb(error.__traceback__)
        names = [(entry.filename, entry.name) for entry in found]
        self.assertEqual(
            names[-2:],
            [
                ("Integer.java", "java.lang.Integer.parseInt"),
                ("NumberFormatException.java", "java.lang.NumberFormatException.forInputString"),
            ],
        )
        self.assertTrue(any(entry.filename == __file__ for entry in found))
        lines = [frame.rpartition(":")[2].rstrip(")") for frame in error.java_frames]
        self.assertEqual([str(entry.lineno) for entry in found[-2:]], lines[1::-1])
        text = "".join(traceback.format_exception(error))
        self.assertIn('File "Integer.java", line ', text)
        self.assertIn('java.lang.NumberFormatException: For input string: "x"', text)

    def test_causes_become_python_causes(self):
        future = java.java.util.concurrent.CompletableFuture.failedFuture(java.java.io.IOException("inner"))
        error = catch(java.java.util.concurrent.ExecutionException, future.get)
        self.assertIsInstance(error.__cause__, java.java.io.IOException)
        self.assertEqual(str(error.__cause__), "inner")
        self.assertEqual(error.__cause__.getMessage(), "inner")
        self.assertIsNone(error.__cause__.__cause__)

    def test_an_exception_has_the_members_of_its_throwable(self):
        error = catch(java.java.sql.SQLException, java.java.sql.DriverManager.getConnection, "jdbc:nothing:x")
        self.assertEqual((error.getSQLState(), error.getMessage()), ("08001", str(error)))
        self.assertEqual(error.getStackTrace()[0].getMethodName(), "getConnection")
        with self.assertRaisesRegex(AttributeError, "has no public member 'getSqlState'. Did you mean getSQLState"):
            error.getSqlState()

    def test_the_error_of_a_batch_has_its_throwable(self):
        wrong = ("call", "java.sql.DriverManager", "getConnection", None, ("jdbc:nothing:x",))
        error = catch(java.java.sql.SQLException, java._connection.batch, [wrong])
        self.assertEqual(error.getSQLState(), "08001")

    def test_a_throwable_may_be_created_and_passed(self):
        made = java.java.lang.IllegalStateException("x", java.java.io.IOException("y"))
        self.assertEqual((str(made), repr(made)), ("x", "IllegalStateException('x')"))
        self.assertEqual(str(made.getCause()), "y")
        holder = java.java.util.ArrayList([made])
        self.assertEqual(str(holder[0]), "x")
        self.assertIsInstance(holder[0], java.java.lang.RuntimeException)
        with self.assertRaises(java.java.lang.IllegalStateException):
            raise made

    def test_java_exceptions_derive_from_the_equivalent_python_exceptions(self):
        with self.assertRaises(FileNotFoundError):
            java.java.io.FileInputStream("/no/such/file")
        with self.assertRaises(OSError):
            java.java.io.FileInputStream("/no/such/file")
        with self.assertRaises(ArithmeticError):
            java.java.lang.Math.floorMod(1, 0)
        with self.assertRaises(TypeError):
            java.java.lang.Integer.class_.cast("x")
        self.assertIsInstance(java.java.lang.OutOfMemoryError("x"), MemoryError)

    def test_exceptions_cannot_be_pickled(self):
        error = catch(ValueError, java.java.lang.Integer.parseInt, "x")
        self.assertRaisesRegex(TypeError, "cannot pickle", pickle.dumps, error)

    def test_an_exception_of_a_denied_class_is_raised(self):
        with launch(allow=["java.util.ArrayList"]) as small:
            error = catch(jpeer.JavaException, small.java.util.ArrayList([1]).get, 5)
        self.assertEqual(error.java_class, "java.lang.IndexOutOfBoundsException")
        self.assertIn("out of bounds", str(error))

    def test_the_hierarchy_does_not_depend_on_the_policy(self):
        with launch(classpath=[FIXTURES], allow=["fixtures.Throwables", "fixtures.Throwables$*"]) as small:
            named = small.type("fixtures.Throwables").named
            for name, kind in PYTHON_BASES.items():
                with self.subTest(name):
                    cause = "java.io.IOException" if name == "java.io.UncheckedIOException" else None
                    error = catch(jpeer.JavaException, named, name, cause)
                    self.assertIsInstance(error, kind)
                    self.assertEqual((type(error).__name__, error.java_class), (name.rpartition(".")[2], name))
                    self.assertEqual(str(error), "named")
            runtime = small.type("java.lang.RuntimeException")  # found already, as a superclass
            error = catch(OSError, named, "fixtures.Throwables$OwnException", None)
            self.assertIs(type(error), small.type("fixtures.Throwables$OwnException"))
            self.assertIsInstance(error, runtime)
            self.assertNotIsInstance(error, small.type("java.io.IOException"))
            self.assertIs(type(error.__cause__), small.type("java.io.IOException"))
            self.assertRaises(jpeer.Denied, runtime, "made by a constructor that is not allowed")

    def test_except_matches_an_allowed_class_with_denied_superclasses(self):
        with launch(classpath=[FIXTURES], allow=["fixtures.Throwables", "fixtures.Throwables$*"]) as small:
            throwables = small.type("fixtures.Throwables")
            try:
                throwables.named("fixtures.Throwables$OwnException", None)
            except throwables.OwnException as error:
                self.assertEqual(error.getMessage(), "named")


class FromPython(unittest.TestCase):
    def test_the_same_exception_comes_back(self):
        thrown = ValueError("bad ü")

        def compare(left, right):
            raise thrown

        error = catch(ValueError, java.java.util.ArrayList([2, 1]).sort, compare)
        self.assertIs(error, thrown)
        names = [entry.name for entry in traceback.extract_tb(error.__traceback__)]
        self.assertEqual(names[-1], "compare")
        self.assertIn("java.util.ArrayList.sort", names)
        self.assertLess(names.index("java.util.ArrayList.sort"), names.index("compare"))

    def test_exceptions_of_every_kind_come_back(self):
        for thrown in (KeyError("k"), RuntimeError(), StopIteration(5), ZeroDivisionError("z"), IndexError("i"),
            OSError(2, "o"), TypeError("t"), TimeoutError("t"), FileNotFoundError(2, "f"), ConnectionError("c"),
                       NotImplementedError("n"), AssertionError("a"), UnicodeDecodeError("utf-8", b"x", 0, 1,
                       "r")):
            with self.subTest(thrown):
                self.assertIs(catch(type(thrown), java.java.util.ArrayList([1]).forEach, raising(thrown)), thrown)

    def test_an_exception_comes_back_as_a_cause(self):
        thrown = KeyError("missing")

        task = java.java.util.concurrent.FutureTask(jpeer.cast("java.util.concurrent.Callable", raising(thrown)))
        task.run()
        error = catch(java.java.util.concurrent.ExecutionException, task.get)
        self.assertIs(error.__cause__, thrown)

    def test_python_may_raise_java_exceptions(self):
        def accept(element):
            raise java.java.io.UncheckedIOException("from here", java.java.io.IOException("inner"))

        error = catch(java.java.io.UncheckedIOException, java.java.util.ArrayList([1]).forEach, accept)
        self.assertEqual((str(error), str(error.__cause__)), ("from here", "inner"))

    def test_exceptions_come_back_under_a_small_policy(self):
        for more in ([], ["jdk:java.lang.*"]):
            with launch(allow=["java.util.ArrayList", "jdk:java.util.function.*", *more]) as small:
                for _ in range(2):
                    thrown = ValueError("same\0")
                    self.assertIs(catch(Exception, small.java.util.ArrayList([1]).forEach, raising(thrown)), thrown)

    def test_an_exception_of_another_connection_comes_back(self):
        with jpeer.connect(java.url, timeout=SECONDS) as other:
            thrown = catch(ValueError, other.java.lang.Integer.parseInt, "x")
            self.assertIs(catch(ValueError, java.java.util.ArrayList([1]).forEach, raising(thrown)), thrown)

    def test_java_sees_an_equivalent_throwable(self):
        seen = []

        def supply():
            raise ValueError("bad")

        future = java.java.util.concurrent.CompletableFuture.completedFuture(1)
        later = future.thenApply(lambda value: supply()).exceptionally(lambda error: seen.append(error) or 7)
        self.assertEqual(later.get(), 7)
        self.assertIsInstance(seen[0], java.java.util.concurrent.CompletionException)
        self.assertIsInstance(seen[0].getCause(), java.java.lang.IllegalArgumentException)
        self.assertEqual(seen[0].getCause().getMessage(), "ValueError: bad")

    def test_a_python_exception_becomes_the_equivalent_java_class(self):
        for thrown, name in (
            (OSError(2, "o"), "java.io.FileNotFoundException"), (OSError("o"), "java.io.IOException"),
            (FileNotFoundError("f"), "java.io.FileNotFoundException"), (ConnectionError("c"), "java.io.IOException"),
            (PermissionError("p"), "java.lang.SecurityException"), (OSError(13, "p"), "java.lang.SecurityException"),
            (jpeer.exceptions.Denied("d"), "java.lang.SecurityException"), (TimeoutError("t"), "java.util.concurrent.TimeoutException"), (TypeError("t"), "java.lang.ClassCastException"),
            (KeyError("k"), "java.util.NoSuchElementException"), (RuntimeError("r"), "java.lang.RuntimeException"),
        ):
            with self.subTest(thrown):
                self.assertEqual(self.trace_of(raising(thrown)).partition(":")[0], name)

    def test_a_permission_error_becomes_an_unchecked_exception(self):
        with self.assertRaises(PermissionError) as caught:
            java.java.util.ArrayList([2, 1]).sort(raising(PermissionError("no")))
        self.assertNotIn("Undeclared", str(caught.exception))
        self.assertIsNone(caught.exception.__cause__)
        caught = []
        java.java.util.concurrent.CompletableFuture.supplyAsync(raising(PermissionError("no"))).exceptionally(
            lambda error: caught.append(error.getCause())).get()
        self.assertEqual(caught[0].java_class, "java.lang.SecurityException")

    def test_a_denied_class_becomes_a_runtime_exception(self):
        """The denied class becomes a RuntimeException. Other exceptions keep their classes."""
        with launch(allow=["jdk:java.util.**", "jdk:java.lang.**"]) as small:
            for thrown, name in (
                (ValueError("v"), "java.lang.IllegalArgumentException"), (OSError("o"), "java.lang.RuntimeException"),
                (ValueError("v"), "java.lang.IllegalArgumentException"), (OSError("o"), "java.lang.RuntimeException"),
            ):
                task = small.java.util.concurrent.FutureTask(raising(thrown))
                task.run()
                error = catch(small.java.util.concurrent.ExecutionException, task.get)
                self.assertEqual(str(error), f"{name}: {type(thrown).__name__}: {thrown}")
                self.assertIs(error.__cause__, thrown)

    def trace_of(self, function):
        """The stack trace as Java logs it."""
        return java.fixtures.Calling.traceOf(function)

    def test_frames_and_causes_are_seen_by_java(self):
        def inner():
            raise KeyError("no column")

        def outer():
            try:
                inner()
            except KeyError as error:
                raise RuntimeError("row 17") from error

        text = self.trace_of(outer)
        name = f"{__name__}.FromPython.test_frames_and_causes_are_seen_by_java.<locals>"
        self.assertRegex(text, rf"RuntimeError: row 17\n\tat {re.escape(name)}\.outer\(test_exceptions\.py:\d+\)\n\tat jpeer")
        self.assertRegex(text, r"Caused by: java\.util\.NoSuchElementException: KeyError: 'no column'\n"
                               rf"\tat {re.escape(name)}\.inner\(test_exceptions\.py:\d+\)\n")
        self.assertNotIn("callbacks.py", text)

    def test_deep_recursion_has_64_frames(self):
        def descend(depth):
            if depth == 0:
                raise RuntimeError("deep")
            descend(depth - 1)

        error = catch(RuntimeError, java.java.util.ArrayList([1]).forEach, lambda _: descend(200))
        frames = jpeer.callbacks.frames_of(error)
        self.assertEqual((len(frames), {each[1].rpartition(".")[2] for each in frames}), (64, {"descend"}))
        names = [entry.name for entry in traceback.extract_tb(error.__traceback__)]
        self.assertEqual(names.count("descend"), 201)  # each frame once

    def test_names_of_modules_run_no_code(self):
        class Name(str):
            __slots__ = ()

            def __str__(self):
                raise AssertionError("asked")

            startswith = replace = encode = __str__

        for name in (Name("module"), unittest.mock.Mock(__str__=Name.__str__), None):
            fail = eval("lambda _: 1 / 0", {"__name__": name})  # noqa: S307
            error = catch(ZeroDivisionError, java.java.util.ArrayList([1]).forEach, fail)
            self.assertEqual(jpeer.callbacks.frames_of(error)[0][:3], ("", "<lambda>", "<string>"))

    def test_throwables_leave_the_session(self):
        def fail(_):
            raise ValueError("dropped")

        held = java.java.util.ArrayList([1])
        catch(ValueError, held.forEach, fail)
        before = java.stats()["objects"]
        for _ in range(300):
            catch(ValueError, held.forEach, fail)
        held.size()
        self.assertLess(java.stats()["objects"], before + 100)
        held.size()
        await_true(lambda: java.stats()["objects"] <= before + 2)

    def test_each_thread_gets_its_own_exception(self):
        def run(_):
            for _ in range(50):
                thrown = KeyError("same")
                found.append(catch(Exception, java.java.util.ArrayList([1]).forEach, raising(thrown)) is thrown)

        found = []
        run_threads(run, range(12))
        self.assertEqual(found, [True] * 600)

    def test_each_future_has_its_own_cause(self):
        errors = [KeyError("same") for _ in range(40)]
        supply = java.java.util.concurrent.CompletableFuture.supplyAsync
        futures = [supply(raising(error)) for error in errors]
        for future, error in zip(futures, errors, strict=True):
            self.assertIs(catch(java.java.util.concurrent.ExecutionException, future.get).__cause__, error)

    def test_messages_arrive_unchanged(self):
        for text in ("a\0b", "\ud800", "", "ü😀"):
            with self.subTest(text):
                thrown = ValueError(text)
                self.assertIs(catch(ValueError, java.java.util.ArrayList([1]).forEach, raising(thrown)), thrown)
                task = java.java.util.concurrent.FutureTask(jpeer.cast("java.util.concurrent.Callable", raising(thrown)))
                task.run()
                seen = task.exceptionNow() if hasattr(task, "exceptionNow") else None
                if seen is not None:
                    self.assertEqual(str(seen), f"ValueError: {text}" if text else "ValueError")
        error = catch(ValueError, java.java.lang.Integer.parseInt, "a\0b")
        self.assertEqual(str(error), 'For input string: "a\0b"')

    def test_exceptions_that_java_collects_are_freed(self):
        class Thrown(Exception):
            pass

        def accept(element):
            error = Thrown("swallowed")
            references.append(weakref.ref(error))
            raise error

        references = []
        completed = java.java.util.concurrent.CompletableFuture.completedFuture
        for _ in range(40):
            completed(1).thenAccept(accept)
        self.assertEqual(len(references), 40)

        def are_gone():
            java.gc()
            gc.collect()
            return all(each() is None for each in references)

        await_true(are_gone)

    def test_the_oldest_of_many_exceptions_are_forgotten(self):
        def fail():
            raise KeyError("kept by Java")

        task = java.java.util.concurrent.FutureTask
        tasks = [task(jpeer.cast("java.util.concurrent.Callable", fail)) for _ in range(1100)]
        for each in tasks:
            each.run()
        error = catch(java.java.util.concurrent.ExecutionException, tasks[-1].get)
        self.assertIsInstance(error.__cause__, KeyError)
        error = catch(java.java.util.concurrent.ExecutionException, tasks[0].get)
        self.assertIsInstance(error.__cause__, java.java.util.NoSuchElementException)

    def test_an_exception_that_came_back_is_freed(self):
        class Thrown(Exception):
            pass

        def accept(element):
            raise Thrown("once")

        reference = weakref.ref(catch(Thrown, java.java.util.ArrayList([1]).forEach, accept))
        gc.collect()
        self.assertIsNone(reference())
