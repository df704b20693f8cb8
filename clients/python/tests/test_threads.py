"""Threads of Python that share one connection: none waits behind another's call."""

import gc
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import jpeer
from support import SECONDS, await_true, launch, module_peer, run_threads


java = None  # while the tests of this module run
setUpModule, tearDownModule = module_peer(globals())


def links():
    return java._connection.link_count


class Blocked(unittest.TestCase):
    """A thread that is inside Java, and what others do meanwhile."""

    def setUp(self):
        self.queue = java.java.util.concurrent.LinkedBlockingQueue()
        self.taken = []
        self.taker = threading.Thread(target=lambda: self.taken.append(self.queue.take()))
        self.taker.start()
        self.addCleanup(self.release)

    def release(self):
        self.queue.put("the end")
        self.taker.join(SECONDS)

    def test_another_thread_ends_the_wait(self):
        self.queue.put("there")
        self.taker.join(SECONDS)
        self.assertEqual(self.taken, ["there"])

    def test_many_others(self):
        with ThreadPoolExecutor(8) as pool:
            texts = list(pool.map(java.java.lang.Integer.toString, range(500)))
        self.assertEqual(texts, [str(n) for n in range(500)])

    def test_callbacks_of_others(self):
        def total(size):
            counts = []
            java.java.util.ArrayList(range(size)).forEach(lambda n: counts.append(java.java.lang.Math.abs(-n)))
            return sum(counts)

        with ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(total, range(20))), [sum(range(n)) for n in range(20)])

    def test_a_callback_that_another_thread_has_given(self):
        names = java.java.util.TreeSet(lambda a, b: (a > b) - (a < b))

        def fill(numbers):
            for n in numbers:
                names.add(n)
            return list(names)

        self.assertEqual(run_threads(fill, [(3, 1, 2)]), [[1, 2, 3]])


class JavaThreads(unittest.TestCase):
    """Each thread of Python's has a Java thread of its own."""

    def test_a_lock_is_held_by_one_thread_at_a_time(self):
        lock, inside, most = java.java.util.concurrent.locks.ReentrantLock(), [0], []

        def work(_):
            for _ in range(50):
                lock.lock()
                inside[0] += 1
                most.append(inside[0])
                time.sleep(0.0005)
                inside[0] -= 1
                lock.unlock()

        run_threads(work, range(4))
        self.assertEqual(set(most), {1})

    def test_a_thread_local_is_the_threads_own(self):
        local = java.java.lang.ThreadLocal()

        def work(number):
            found = [local.get()]
            for each in range(50):
                local.set(number * 1000 + each)
                found.append(local.get())
            return found

        expected = [[None, *(number * 1000 + each for each in range(50))] for number in range(8)]
        for _ in range(2):  # the second time links are used again, and the Java threads are new
            self.assertEqual(run_threads(work, range(8)), expected)

    def test_what_a_thread_changes_of_itself_stays(self):
        thread = java.java.lang.Thread
        loader = java.java.net.URLClassLoader(java.array("java.net.URL", 0))

        def work(number):
            mine = loader if number % 2 else None
            for _ in range(20):
                thread.currentThread().setContextClassLoader(mine)
                self.assertEqual(thread.currentThread().getContextClassLoader(), mine)
            thread.currentThread().interrupt()
            return thread.interrupted()

        self.assertEqual(run_threads(work, range(4)), [True] * 4)

    def test_its_name_is_the_threads(self):
        def name():
            names.append(java.java.lang.Thread.currentThread().getName())

        names = []
        for given in ("worker", "Arbeiter \u00fc", "two words"):
            thread = threading.Thread(target=name, name=given)
            thread.start()
            thread.join(SECONDS)
        self.assertEqual(names, ["worker", "Arbeiter \u00fc", "two words"])
        self.assertIn("MainThread", [each.getName() for each in java.java.lang.Thread.getAllStackTraces().keySet()])

    def test_others_change_nothing_of_it(self):
        main = java.java.lang.Thread.currentThread()
        for change in (main.interrupt, lambda: main.setName("x"), lambda: main.setContextClassLoader(None)):
            self.assertRaises(PermissionError, run_threads, lambda _, change=change: change(), [None])
        for change in (main.stop, main.join, lambda: main.setDaemon(False), lambda: main.setPriority(1)):
            self.assertRaises(PermissionError, change)

    def test_connect_does_it_where_it_is_asked_to(self):
        thread = java.java.lang.Thread
        with jpeer.connect(java.url, timeout=SECONDS, pin=True) as other:
            self.assertEqual(other.java.lang.Thread.currentThread().getName(), "MainThread")
        with jpeer.connect(java.url, timeout=SECONDS) as other:
            self.assertIn("rpc-", other.java.lang.Thread.currentThread().getName())
        self.assertEqual(thread.currentThread().getName(), "MainThread")
        self.assertRaisesRegex(ValueError, "reconnects", jpeer.connect, java.url, pin=True, reconnects=True)
        http = java.url.replace("ws+unix:", "http+unix:")
        self.assertRaisesRegex(RuntimeError, "is for connections over WebSocket", jpeer.connect, http, pin=True)

    def test_beyond_the_limit_is_an_error(self):
        with launch(options=["--pinned-threads-max", "3"]) as other:
            barrier, local = threading.Barrier(4), other.java.lang.ThreadLocal()

            def work(number):
                try:
                    local.set(number)
                    return local.get()
                except RuntimeError as error:
                    return str(error)
                finally:
                    barrier.wait(SECONDS)

            found = run_threads(work, range(4))  # beside this thread
            self.assertEqual(sum(isinstance(each, int) for each in found), 2)
            for each in found:
                self.assertTrue(isinstance(each, int) or "pinned-threads-max is 3" in each, each)
            await_true(lambda: run_threads(lambda _: self.can_call(other), [None])[0], "a thread's place is free again")

    @staticmethod
    def can_call(connection):
        try:
            return connection.java.lang.Math.abs(-1) == 1
        except RuntimeError:
            return False


class Links(unittest.TestCase):
    def run_thread(self, function, *args):
        return run_threads(lambda _: function(*args), [None])[0]

    def test_threads_that_have_ended_leave_their_link(self):
        self.run_thread(java.java.lang.Math.abs, -1)
        before = links()
        for number in range(50):
            self.assertEqual(self.run_thread(java.java.lang.Math.abs, -number), number)
        self.assertEqual(links(), before)

    def test_objects_are_of_all_threads(self):
        made = self.run_thread(java.java.util.ArrayList, [1, 2])
        made.append(3)
        self.assertEqual(self.run_thread(list, made), [1, 2, 3])
        self.assertEqual(made, java.java.util.ArrayList([1, 2, 3]))

    def test_what_one_thread_has_made_and_another_lets_go_of(self):
        def make():
            kept.extend(java.java.lang.Object() for _ in range(2000))

        for stays in (False, True):
            with self.subTest(stays=stays), ThreadPoolExecutor(1) as pool:
                gc.collect()
                before, kept = java.stats()["objects"], []
                if stays:  # and calls no more
                    pool.submit(make).result(SECONDS)
                else:
                    self.run_thread(make)
                self.assertGreaterEqual(java.stats()["objects"], before + len(kept))
                kept.clear()
                self.await_objects(before)

    def await_objects(self, count):
        await_true(lambda: java.stats()["objects"] <= count, "the objects end")

    def test_a_peer_that_cannot_share_sessions(self):
        self.assertRaisesRegex(ConnectionError, "--compat pal: .*share_session", launch, options=["--compat", "pal"])

    def test_waits_that_are_given_up(self):
        """What comes after them does not wait behind them, and their links are used again."""
        with jpeer.connect(java.url, timeout=SECONDS) as other:
            for number in range(20):
                queue = other.java.util.concurrent.LinkedBlockingQueue()
                other.timeout = 0.02
                self.assertRaises(TimeoutError, queue.take)
                other.timeout = SECONDS
                queue.put(number)
            self.assertLess(other._connection.link_count, 10)

    def test_recursion_between_threads(self):
        """Each level of callbacks asks Java again, on four threads at once."""

        def level(depth):
            found = []
            java.java.util.List.of(depth - 1).forEach(lambda n: found.append(level(n) if n > 0 else 0))
            return found[0] + 1

        with ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(level, [6] * 8)), [level(6)] * 8)


class Ends(unittest.TestCase):
    def run_program(self, output, *program):
        quiet = "-Wignore:This process:DeprecationWarning"  # of os.fork beside threads, from CPython 3.12 on
        done = subprocess.run([sys.executable, quiet, "-c", *program], capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual((done.stdout, done.stderr), (output, ""))

    def test_closing_ends_what_threads_wait_for(self):
        other = jpeer.connect(java.url, timeout=SECONDS)
        queue = other.java.util.concurrent.LinkedBlockingQueue()
        other.java.lang.System.getProperties().put("queue", queue)
        failures = []

        def take():
            try:
                queue.take()
            except ConnectionError as error:
                failures.append(error)

        threads = [threading.Thread(target=take) for _ in range(5)]
        for each in threads:
            each.start()
        while other._connection.pending < len(threads):
            time.sleep(0.01)
        other.close()
        for each in threads:
            each.join(SECONDS)
        self.assertEqual(len(failures), len(threads))
        self.assertRaises(ConnectionError, queue.size)
        there = java.java.lang.System.getProperties().remove("queue")
        for _ in threads:  # Java goes on waiting
            there.put("the end")

    def test_threads_that_end_while_the_connection_is_closed(self):
        program = (
            "import threading, time, jpeer\n"
            "def work(number):\n"
            "    java.java.lang.Math.abs(-1)\n"
            "    ready.wait()\n"
            "    time.sleep(number * 0.02)\n"
            "for _ in range(2):\n"
            "    java = jpeer.launch()\n"
            "    ready = threading.Barrier(9)\n"
            "    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]\n"
            "    for each in threads:\n"
            "        each.start()\n"
            "    ready.wait()\n"
            "    java.close()\n"
            "    for each in threads:\n"
            "        each.join()\n"
            "print('good')\n"
        )
        self.run_program("good\n", program)

    def test_a_killed_program_leaves_nothing(self):
        program = (
            "import os, signal, sys, threading, jpeer\n"
            "java = jpeer.connect(sys.argv[1])\n"
            "kept = [java.java.util.ArrayList([1])]\n"
            "thread = threading.Thread(target=lambda: kept.append(java.java.util.ArrayList([2])))\n"
            "thread.start()\n"
            "thread.join()\n"
            "print(java.stats()['objects'], flush=True)\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        kept = java.java.util.ArrayList()
        before = java.stats()["sessions_of_this_address"]
        self.run_program("2\n", program, java.url)
        await_true(lambda: java.stats()["sessions_of_this_address"] <= before, "the session ends")
        self.assertEqual(kept.size(), 0)

    def test_a_fork_on_a_thread_without_a_call(self):
        program = (
            "import os, threading, jpeer\n"
            "java = jpeer.launch()\n"
            "java.java.lang.Math.abs(-1)\n"
            "def fork():\n"
            "    pid = os.fork()\n"
            "    if pid == 0:\n"
            "        try:\n"
            "            java.java.lang.Math.abs(-1)\n"
            "        except RuntimeError as error:\n"
            "            os._exit(0 if 'fork' in str(error) else 3)\n"
            "        os._exit(4)\n"
            "    statuses.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
            "statuses = []\n"
            "thread = threading.Thread(target=fork)\n"
            "thread.start()\n"
            "thread.join()\n"
            "print(statuses, java.java.lang.Math.abs(-1))\n"
        )
        self.run_program("[0] 1\n", program)
