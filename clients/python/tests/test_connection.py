"""launch, connect, imports, output, and the end of connections."""

import contextlib
import importlib
import io
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import jpeer
from support import FIXTURES, SECONDS, RestartedPeer, await_true, launch, module_peer

java = None  # set while the tests of this module run
setUpModule, tearDownModule = module_peer(globals(), classpath=[FIXTURES], jvm_options=["-Dcolour=red"])


def has_ended(process):
    """True also for a zombie."""
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Launching(unittest.TestCase):
    def test_launch_passes_options(self):
        self.assertEqual(java.java.lang.System.getProperty("colour"), "red")
        self.assertGreater(java.process_id, 0)
        self.assertEqual(java.java.lang.ProcessHandle.current().pid(), java.process_id)
        self.assertEqual(java.timeout, SECONDS)

    def test_java_output_is_written_to_sys_stdout_and_stderr(self):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
            java.java.lang.System.out.println("to stdout: ü😀")
            java.java.lang.System.err.println("to stderr")
            await_true(lambda: "to stdout: ü😀\n" in out.getvalue() and "to stderr\n" in errors.getvalue())

    def test_output_arrives_before_the_call_returns(self):
        print_line, print_error = java.java.lang.System.out.println, java.java.lang.System.err.println
        for number in range(200):
            with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
                print_line(f"line {number}")
                self.assertEqual((out.getvalue(), errors.getvalue()), (f"line {number}\n", ""))
                print_error("é" * 50_000)
                self.assertEqual(len(errors.getvalue()), 50_001)

    def test_sys_stdout_may_call_java(self):
        class Asking(io.StringIO):
            def write(self, text):
                return super().write(f"{java.java.lang.Math.abs(-1)} {text}")

        with contextlib.redirect_stdout(Asking()) as out:
            java.java.lang.System.out.println("line")
            await_true(lambda: out.getvalue() == "1 line\n")

    def test_java_reads_stdin_from_a_file(self):
        with tempfile.TemporaryFile() as file:
            file.write("from a file: ü".encode())
            file.seek(0)
            with launch(stdin=file) as other:
                self.assertEqual(bytes(other.java.lang.System.in_.readAllBytes()).decode(), "from a file: ü")
            self.assertFalse(file.closed)
        self.assertEqual(bytes(java.java.lang.System.in_.readAllBytes()), b"")

    def test_output_is_utf_8_in_every_locale(self):
        program = (
            "import jpeer, os, sys\n"
            "with jpeer.launch() as java:\n"
            "    java.java.lang.System.out.println('\\u00fc\\u20ac')\n"
            "    os.makedirs(os.fsencode(sys.argv[1]) + b'/\\xc3\\xbc')\n"
            "    print(java.java.io.File(sys.argv[1] + '/\\u00fc').exists())\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-X", "utf8", "-c", program, folder], capture_output=True,
                                  env={**os.environ, "LC_ALL": "C"}, timeout=SECONDS)
        self.assertEqual(done.stdout.decode(), "ü€\nTrue\n", done.stderr)

    def test_options_are_a_word_or_a_list_of_words(self):
        """jvm_options and options accept one word, or a list of words."""
        with launch(jvm_options="-Dcolour=blue", options="--log-level=error") as other:
            self.assertEqual(other.java.lang.System.getProperty("colour"), "blue")
        for wrong in ({"-Dcolour": "blue"}, b"-Dcolour=blue", 5):
            self.assertRaisesRegex(TypeError, "jvm_options must be a list of words", jpeer.launch, jvm_options=wrong)
            self.assertRaisesRegex(TypeError, "options must be a list of words", jpeer.launch, options=wrong)

    def test_allow_limits_what_may_be_used(self):
        with launch(allow=["jdk:java.util.*", "java.lang.Integer"]) as small:
            self.assertEqual(small.java.lang.Integer.parseInt("5"), 5)
            self.assertEqual(len(small.java.util.ArrayList([1])), 1)
            with self.assertRaises(PermissionError):
                small.java.lang.System.exit(1)

    def test_a_failed_launch_raises_the_reason(self):
        self.assertRaises(FileNotFoundError, jpeer.launch, classpath=["/no/such.jar"])
        self.assertRaises((ConnectionError, OSError), jpeer.launch, program="/no/such/program")
        self.assertRaises((ConnectionError, OSError), jpeer.launch, options=["--no-such-option"])
        self.assertRaisesRegex(ConnectionError, "exit status 1: .*Unrecognized VM option 'NoSuch'", jpeer.launch,
                               jvm_options=["-XX:NoSuch"])

    def test_launch_sets_the_class_path(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/words.txt", "w", encoding="utf-8") as file:
                file.write("text")
            with launch(classpath=[folder]) as other:
                loader = other.java.lang.ClassLoader.getSystemClassLoader()
                self.assertEqual(bytes(loader.getResourceAsStream("words.txt").readAllBytes()), b"text")

    def test_the_default_class_path_is_classpath_or_empty(self):
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("CLASSPATH", None)
            os.environ.pop("JPEER_CLASS_PATH", None)
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                open("here.txt", "wb").close()
                with launch() as other:
                    self.assertIsNone(other.java.lang.ClassLoader.getSystemResource("here.txt"))
                os.environ["CLASSPATH"] = folder
                with launch() as other:
                    self.assertIsNotNone(other.java.lang.ClassLoader.getSystemResource("here.txt"))


class Connecting(unittest.TestCase):
    def test_connections_have_classes_of_their_own(self):
        with jpeer.connect(java.url, timeout=SECONDS) as other:
            self.assertIs(jpeer.default(), other)
            xs = other.java.util.ArrayList([1])
            self.assertEqual(xs, [1])
            self.assertIsNot(other.java.util.ArrayList, java.java.util.ArrayList)
            self.assertIsNone(other.process_id)
        self.assertIs(jpeer.default(), java)
        self.assertEqual(java.java.util.ArrayList([1]), [1])

    def test_a_wrong_address_is_an_error(self):
        self.assertRaises(OSError, jpeer.connect, "ws+unix:/no/such/socket")
        self.assertRaisesRegex((ValueError, RuntimeError), "scheme", jpeer.connect, "nonsense")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv to be another user")
    def test_another_user_of_the_machine_connects_if_it_is_admitted(self):
        program = (
            "import sys, jpeer\n"
            "try:\n"
            "    java = jpeer.connect(sys.argv[1])\n"
            "    print(java.java.util.ArrayList([3, 5]).size(), java.java.lang.Math.max(3, 5))\n"
            "except ConnectionError as error:\n"
            "    print(error)\n"
        )

        def run(user, url):
            words = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", sys.executable, "-c", program, url]
            environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, timeout=SECONDS)
            if "No module named" in done.stderr or "Permission denied" in done.stderr:
                self.skipTest("another user cannot read the package")
            return done.stdout

        with RestartedPeer("--allow-user", "65533") as peer:
            os.chmod(os.path.dirname(peer.url("shm").partition(":")[2]), 0o755)
            for scheme in ("ws+unix", "http+unix", "shm"):
                with self.subTest(scheme):
                    self.assertEqual(run("65533", peer.url(scheme)), "2 5\n")
                    self.assertIn("403 Forbidden: user 65534 may not use this peer", run("65534", peer.url(scheme)))

    def test_connections_with_one_peer_id_share_a_session(self):
        name = "5f2d7c1e-7a57-4b52-9d52-0d8f4ddc1d01"
        with jpeer.connect(java.url, peer_id=name) as one, jpeer.connect(java.url, peer_id=name) as other:
            kept = one.java.util.ArrayList()
            self.assertGreaterEqual(other.stats()["objects"], 1)
            self.assertEqual(kept, [])

    def test_unused_objects_are_released(self):
        Point, before = java.java.awt.Point, java.stats()["objects"]
        for _ in range(3_000):
            Point(1, 2)
        xs = java.java.util.ArrayList([Point(1, 2)] * 2_000)
        self.assertEqual(len({id(each) for each in list(xs)}), 2_000)
        for each in xs:
            each.x += 1
        del xs, each
        await_true(lambda: java.stats()["objects"] <= before)


class Imports(unittest.TestCase):
    def test_classes_and_packages_can_be_imported(self):
        from jpeer.java.util import ArrayList, HashMap
        from jpeer.java.util.concurrent import TimeUnit
        import jpeer.java.lang

        self.assertIs(ArrayList, java.java.util.ArrayList)
        self.assertEqual(HashMap({"a": 1})["a"], 1)
        self.assertEqual(TimeUnit.SECONDS.name(), "SECONDS")
        self.assertEqual(jpeer.java.lang.Math.abs(-3), 3)
        from jpeer.java import util

        self.assertIs(util.ArrayList, ArrayList)
        self.assertIn("ArrayList", dir(util))

    def test_the_case_of_a_name_does_not_matter(self):
        small = java.fixtures.small
        self.assertEqual(small.functions.col("x"), "col x")
        self.assertEqual((small.functions.size, small.functions.inner.three()), (7, 3))
        self.assertEqual((small.read("p"), small.read.apply("q")), ("read p", "read q"))
        self.assertEqual(java.fixtures.Capital.Inside.two(), 2)
        self.assertEqual(small.lambda_.global_.one(), 1)
        self.assertEqual(dir(small), ["functions", "lambda_", "read"])
        self.assertEqual(dir(small.lambda_), ["global_"])
        from jpeer.fixtures.small import functions, read
        from jpeer.fixtures.small.functions import col, inner
        from jpeer.fixtures.small.lambda_ import global_
        from jpeer.fixtures.Capital import Inside
        import jpeer.fixtures.small.lambda_.global_ as module

        self.assertIs(functions, small.functions)
        self.assertEqual((col("y"), inner.three(), read("z"), Inside.two(), global_.one()), ("col y", 3, "read z", 2, 1))
        self.assertEqual(module.one(), 1)
        for name in ("jpeer.fixtures.smal", "jpeer.fixtures.small.nothing", "jpeer.fixtures.small.functions.none"):
            with self.subTest(name), self.assertRaises(ImportError):
                importlib.import_module(name)
        with self.assertRaisesRegex(ImportError, "Did you mean fixtures.small.functions"):
            from jpeer.fixtures.small import function  # noqa: F401

    def test_names_are_listed_as_the_policy_allows(self):
        with launch(classpath=[FIXTURES], allow=["fixtures.small.read"]) as other:
            self.assertEqual(dir(other.fixtures), ["small"])
            self.assertEqual(dir(other.fixtures.small), ["read"])
            self.assertEqual(other.fixtures.small.read.apply("p"), "read p")

    def test_the_default_is_the_last_connection(self):
        with launch() as other:
            from jpeer.java.util import ArrayList

            self.assertIs(ArrayList, other.java.util.ArrayList)
        from jpeer.java.util import ArrayList as Mine

        self.assertIs(Mine, java.java.util.ArrayList)

    def test_members_of_classes_can_be_imported(self):
        for _ in range(2):
            with launch() as other:
                from jpeer.java.util.Map import Entry
                from jpeer.java.util.Map.Entry import comparingByKey
                from jpeer.java.util.concurrent.TimeUnit import SECONDS
                import jpeer.java.util.Map

                self.assertIs(Entry, other.java.util.Map.Entry)
                self.assertIs(jpeer.java.util.Map, other.java.util.Map)
                self.assertEqual(SECONDS.toMillis(2), 2000)
                self.assertIsInstance(comparingByKey(), other.java.util.Comparator)
        self.assertIs(jpeer.java.util.Map, java.java.util.Map)
        from jpeer.java.util import Map

        self.assertIs(Map, java.java.util.Map)

    def test_star_imports_all_classes_of_a_package(self):
        found = {}
        exec("from jpeer.java.util.function import *", found)
        self.assertIs(found["Function"], java.java.util.function.Function)
        self.assertGreater(len(found), 40)

    def test_an_unknown_import_is_an_import_error_with_suggestions(self):
        with self.assertRaisesRegex(
            ImportError, r"no Java class java.util.ArayList. Did you mean java.util.ArrayList\?"
        ):
            from jpeer.java.util import ArayList  # noqa: F401
        with self.assertRaises(ImportError):
            from jpeer.java.utl import Nothing  # noqa: F401
        with self.assertRaises(ImportError):
            from jpeer.java.util.Map import Nothing  # noqa: F401
        with self.assertRaises(ImportError):
            import jpeer._nothing  # noqa: F401


class Loaders(unittest.TestCase):
    """Two class loaders with the same classes."""

    @classmethod
    def setUpClass(cls):
        cls.java = launch()
        cls.loader = cls.java.add_classpath(FIXTURES)
        cls.held = cls.java.fixtures.small.functions
        url = cls.java.java.nio.file.Path.of(str(FIXTURES)).toUri().toURL()
        cls.other = cls.java.java.net.URLClassLoader([url], None)

    @classmethod
    def tearDownClass(cls):
        cls.java.close()

    def both(self, name):
        return self.java.type(name, loader=self.loader), self.java.type(name, loader=self.other)

    def test_classes_of_one_name_are_separate_by_loader(self):
        mine, other = self.both("fixtures.small.functions")
        self.assertIs(mine, self.held)
        self.assertIs(self.java.fixtures.small.functions, self.held)
        self.assertIsNot(other, self.held)
        other.size = 9
        self.assertEqual((self.held.size, other.size, jpeer.field(other, "size")), (7, 9, 9))
        self.assertEqual((self.held.col("x"), other.col("y"), jpeer.call(other, "col", "z")), ("col x", "col y", "col z"))
        self.assertEqual((self.held.inner.three(), other.inner.three()), (3, 3))
        self.assertIsNot(self.held.inner, other.inner)
        self.assertIs(self.java.type(other.class_), other)
        self.assertIs(self.java.type(self.held.class_), self.held)

    def test_objects_are_of_the_class_of_their_loader(self):
        mine, other = self.both("fixtures.Circle")
        shapes = self.both("fixtures.Shape")
        circles = self.java.java.util.ArrayList([mine(1.0), other(2.0)])
        for found in ([*circles], [circles.get(0), circles.get(1)]):
            self.assertEqual([type(each) for each in found], [mine, other])
            for of in ((mine, other), shapes):
                self.assertEqual([[isinstance(each, cls) for cls in of] for each in found], [[True, False], [False, True]])
            self.assertGreater(found[1].area(), found[0].area())
            self.assertTrue(all(isinstance(each, self.java.java.lang.Object) for each in found))
        self.assertIs(self.java.type(circles[1].getClass()), other)

    def test_enums_and_exceptions_are_separate_by_loader(self):
        for cls in self.both("fixtures.Color"):
            self.assertEqual(([each.name() for each in cls], cls["BLUE"].ordinal()), (["RED", "GREEN", "BLUE"], 2))
            self.assertIsInstance(cls.RED, cls)
        mine, other = self.both("fixtures.Throwables")
        for cls, another in ((mine, other), (other, mine)):
            name = f"{cls._java_name}$OwnException"
            with self.assertRaises(cls.OwnException) as caught:
                cls.named(name, None)
            self.assertNotIsInstance(caught.exception, another.OwnException)

    def test_a_name_unknown_to_the_loader_is_not_found(self):
        self.assertIs(self.java.type("java.lang.String", loader=self.other), self.java.java.lang.String)
        with self.assertRaises(jpeer.NotFound):
            self.java.type("fixtures.Nothing", loader=self.other)
        with self.assertRaises(jpeer.NotFound):
            self.java.type("fixtures.Nothing")
        self.assertRaises(FileNotFoundError, self.java.add_classpath, "/no/such.jar")

    def test_imports_find_added_classes(self):
        with launch() as java:
            java.add_classpath(FIXTURES)
            from jpeer.fixtures.small.functions import col

            self.assertEqual(col("x"), "col x")
            with self.assertRaises(ImportError):
                from jpeer.fixtures.small import Nothing  # noqa: F401

    def test_the_policy_judges_loaders(self):
        with launch(allow=["jdk:java.util.**"]) as java, self.assertRaises(PermissionError):
            java.add_classpath(FIXTURES)


class Ends(unittest.TestCase):
    def test_a_closed_connection_refuses_everything(self):
        other = launch()
        p, Point = other.java.awt.Point(1, 2), other.java.awt.Point
        other.close()
        other.close()
        self.assertTrue(other.is_closed)
        for attempt in (lambda: p.x, lambda: Point(1, 2), lambda: p.getX(), lambda: other.type("java.util.HashSet"),
                        lambda: str(p), lambda: setattr(p, "x", 1), lambda: other.java.util.ArrayList):
            self.assertRaises(ConnectionError, attempt)
        del p

    def test_the_default_is_a_live_connection(self):
        with launch() as other:
            newest = launch()
            self.assertIs(jpeer.default(), newest)
            os.kill(newest.process_id, signal.SIGKILL)
            await_true(lambda: newest.is_closed)
            self.assertIn("closed", repr(newest))
            self.assertIs(jpeer.default(), other)
            from jpeer.java.util import Stack

            self.assertEqual(Stack().size(), 0)
            newest.close()

    def test_a_call_longer_than_the_timeout_is_a_timeout_error(self):
        with launch(timeout=SECONDS + 1) as other:
            self.assertEqual(other.timeout, SECONDS + 1)
            sleep = other.java.lang.Thread.sleep
            sleep(1)  # describes the class before the timeout is short
            other.timeout = 0.2
            with self.assertRaises(TimeoutError):
                sleep(SECONDS * 1000)
            other.timeout = SECONDS

    def test_a_call_that_has_timed_out_ends_in_java(self):
        other = launch()
        queue, lock = other.java.util.concurrent.LinkedTransferQueue(), other.java.util.concurrent.locks.ReentrantLock()
        lock.lock()
        other.timeout = 0.2
        self.assertRaises(TimeoutError, queue.take)
        other.timeout = SECONDS
        lock.unlock()  # works only if it runs on the Java thread that waited
        self.assertFalse(queue.hasWaitingConsumer())
        self.assertFalse(other.java.lang.Thread.interrupted())
        other.close()

    def test_a_call_that_was_interrupted_ends_in_java(self):
        lines = ("import os, signal", "java = jpeer.launch()", "queue = java.java.util.concurrent.LinkedTransferQueue()",
                 "def interrupt():", " while not queue.hasWaitingConsumer(): time.sleep(0.01)",
                 " os.kill(os.getpid(), signal.SIGINT)", "print('ready', flush=True)",
                 "threading.Thread(target=interrupt).start()", "try: queue.take()", "except KeyboardInterrupt: pass",
                 f"java.timeout = {SECONDS}", "print(queue.hasWaitingConsumer(), java.java.lang.Thread.interrupted())")
        self.assertEqual(self.run_program(lines, lambda process: None), (0, "False False\n"))

    def test_the_error_names_how_the_peer_ended(self):
        for end, how in [(lambda other: os.kill(other.process_id, signal.SIGKILL), "signal 9"),
                         (lambda other: other.java.lang.Runtime.getRuntime().halt(7), "exit status 7")]:
            other = launch()
            with contextlib.suppress(ConnectionError):
                end(other)
            self.assertRaisesRegex(ConnectionError, how, lambda: other.java.lang.Math.abs(-1))
            other.close()

    def test_exit_is_a_connection_error(self):
        other = launch()
        self.assertRaises(ConnectionError, other.java.lang.System.exit, 3)
        await_true(lambda: has_ended(other.process_id))
        self.assertRaisesRegex(ConnectionError, "exit status 3", lambda: other.java.lang.Math.abs(-1))
        other.close()

    def run_program(self, lines, act, **environment):
        """Runs a program until it prints a line, calls act(process), and returns the exit status and the further
        output."""
        program = [sys.executable, "-c", "import threading, time\nimport jpeer\n" + "\n".join(lines)]
        variables = {**os.environ, "NO_COLOR": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment}
        with subprocess.Popen(program, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            timer = threading.Timer(SECONDS, process.kill)
            timer.start()
            self.assertEqual(process.stdout.readline(), "ready\n")
            act(process)
            said = process.stdout.read()
            timer.cancel()
        return process.returncode, said

    def test_a_killed_program_leaves_nothing(self):
        for call in ("java.java.lang.Thread.sleep(600_000)", "time.sleep(600)"):
            with self.subTest(call), tempfile.TemporaryDirectory() as folder:
                lines = ("java = jpeer.launch()", "print('ready', flush=True)", call)

                def kill(process, folder=folder):
                    self.assertEqual(len(os.listdir(folder)), 1)
                    process.kill()

                self.assertEqual(self.run_program(lines, kill, TMPDIR=folder, XDG_RUNTIME_DIR="")[0], -signal.SIGKILL)
                await_true(lambda folder=folder: not os.listdir(folder), "the peer removes the folder")

    def test_close_does_not_wait_for_running_calls(self):
        other, errors = launch(), []

        def sleep():
            try:
                other.java.lang.Thread.sleep(600_000)
            except ConnectionError as error:
                errors.append(str(error))

        thread = threading.Thread(target=sleep)
        thread.start()
        await_true(lambda: other._connection.pending)
        process = other.process_id
        other.close()
        self.assertTrue(has_ended(process))  # already now, not only after the thread has handled its error
        thread.join(SECONDS)
        self.assertEqual(len(errors), 1)

    def test_close_ends_other_connections_to_the_peer(self):
        for pin in (False, True):
            lines = (
                "java = jpeer.launch()", f"other = jpeer.connect(java.url, pin={pin})", "held = other.java.util.ArrayList([1])",
                "held.forEach(lambda each: None)", "print('ready', flush=True)", "java.close()", "assert other.is_closed", "other.close()",
            )  # fmt: skip
            self.assertEqual(self.run_program(lines, lambda _: None), (0, ""))

    def test_ctrl_c_at_a_terminal_ends_the_program(self):
        try:
            for descriptor in pty.openpty():
                os.close(descriptor)
        except OSError as why:  # root without /dev/pts
            self.skipTest(f"no pseudo-terminal can be had here: {why}")
        for call in ("java.java.lang.Thread.sleep(600_000)",
                     "java.java.util.List.of(1).forEach(lambda _: java.java.lang.Thread.sleep(600_000))"):
            lines = (
                "import jpeer, threading, time", "java = jpeer.launch()", "java.java.util.List.of(1), java.java.lang.Thread.sleep(1)",
                "def report():", "    while not java._connection.pending: time.sleep(0.01)", "    print('ready', flush=True)",
                "threading.Thread(target=report).start()", call,
            )  # fmt: skip
            process, terminal = pty.fork()
            if process == 0:
                os.execve(sys.executable, [sys.executable, "-c", "\n".join(lines)],
                          {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))})
            with open(terminal, "r+b", buffering=0) as screen:
                self.assertEqual(screen.readline(), b"ready\r\n")
                screen.write(b"\x03")
                said = b""
                with contextlib.suppress(OSError):  # the program has closed the terminal
                    while more := screen.read(4096):
                        said += more
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), -signal.SIGINT)
            lines = said.decode().replace("^C", "").splitlines()
            self.assertEqual([line for line in lines if line.strip() and not line.startswith(" ")],
                             ["Traceback (most recent call last):", "KeyboardInterrupt"])

    def test_ctrl_c_ends_the_wait(self):
        """The connection remains usable."""
        main = threading.get_ident()

        def interrupt():
            await_true(lambda: java._connection.pending)
            signal.pthread_kill(main, signal.SIGINT)

        FileInputStream = java.java.io.FileInputStream
        with tempfile.TemporaryDirectory() as folder:
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            thread = threading.Thread(target=interrupt)
            with self.assertRaises(KeyboardInterrupt):
                thread.start()
                FileInputStream(pipe)  # waits for a writer
            thread.join()
            self.assertEqual(java.java.lang.Math.abs(-1), 1)
            os.close(os.open(pipe, os.O_RDWR))

    def test_ctrl_c_ends_the_requests_of_nested_callbacks(self):
        """The innermost request is cancelled: Java's take is interrupted, and raises KeyboardInterrupt in Python. The
        requests around it end with this exception, unless a function catches it."""
        main = threading.main_thread().ident
        queue = java.java.util.concurrent.LinkedTransferQueue()

        def interrupt():
            await_true(queue.hasWaitingConsumer)
            signal.pthread_kill(main, signal.SIGINT)

        def once(function):
            java.java.util.List.of(1).forEach(lambda _: function())

        def caught():
            self.assertRaises(KeyboardInterrupt, queue.take)

        taken = jpeer.cast("java.util.function.Consumer", lambda _: queue.take())
        for nested in (
            queue.take, lambda: once(queue.take), caught,
            lambda: java._connection.batch([("call", "java.lang.Iterable", "forEach", java.java.util.List.of(1), (taken,))]),
        ):
            with self.subTest(nested):
                thread = threading.Thread(target=interrupt)
                with contextlib.nullcontext() if nested is caught else self.assertRaises(KeyboardInterrupt):
                    thread.start()
                    once(nested)
                thread.join()
                await_true(lambda: not queue.hasWaitingConsumer())
                self.assertEqual(java.java.lang.Math.abs(-1), 1)

    def test_a_peer_ends_with_its_program(self):
        program = (
            "import jpeer\n"
            "java = jpeer.launch()\n"
            "xs = java.java.util.ArrayList([3, 1, 2])\n"
            "xs.sort(lambda a, b: a - b)\n"
            "print(list(xs), java.process_id)\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("[1, 2, 3] "), done.stdout)
        process = int(done.stdout.split()[-1])
        await_true(lambda: has_ended(process))
