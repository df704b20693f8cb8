"""Python threads that share a connection: no thread waits for the call of another thread."""

import gc
import subprocess
import sys
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import jpeer
from support import SECONDS, await_true, launch, module_peer, run_threads


java = None  # set while the tests of this module run
setUpModule, tearDownModule = module_peer(globals())


def links():
    return java._connection.link_count


class Blocked(unittest.TestCase):
    """One thread is inside Java while other threads call."""

    def setUp(self):
        self.queue = java.java.util.concurrent.LinkedBlockingQueue()
        self.taken = []
        self.taker = threading.Thread(target=lambda: self.taken.append(self.queue.take()))
        self.taker.start()
        self.addCleanup(self.release)

    def release(self):
        self.queue.put("the end")
        self.taker.join(SECONDS)

    def test_another_thread_may_end_the_wait(self):
        self.queue.put("there")
        self.taker.join(SECONDS)
        self.assertEqual(self.taken, ["there"])

    def test_other_threads_make_many_calls(self):
        with ThreadPoolExecutor(8) as pool:
            texts = list(pool.map(java.java.lang.Integer.toString, range(500)))
        self.assertEqual(texts, [str(n) for n in range(500)])

    def test_other_threads_get_callbacks(self):
        def total(size):
            counts = []
            java.java.util.ArrayList(range(size)).forEach(lambda n: counts.append(java.java.lang.Math.abs(-n)))
            return sum(counts)

        with ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(total, range(20))), [sum(range(n)) for n in range(20)])

    def test_a_callback_may_be_used_by_another_thread(self):
        names = java.java.util.TreeSet(lambda a, b: (a > b) - (a < b))

        def fill(numbers):
            for n in numbers:
                names.add(n)
            return list(names)

        self.assertEqual(run_threads(fill, [(3, 1, 2)]), [[1, 2, 3]])


class JavaThreads(unittest.TestCase):
    """Each Python thread has a Java thread of its own."""

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
        for _ in range(2):  # the second time the links are used again, with new Java threads
            self.assertEqual(run_threads(work, range(8)), expected)

    def test_the_java_thread_keeps_its_state(self):
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

    def test_the_java_thread_has_the_name_of_the_python_thread(self):
        def name():
            names.append(java.java.lang.Thread.currentThread().getName())

        names = []
        for given in ("worker", "Arbeiter \u00fc", "two words"):
            thread = threading.Thread(target=name, name=given)
            thread.start()
            thread.join(SECONDS)
        self.assertEqual(names, ["worker", "Arbeiter \u00fc", "two words"])
        self.assertIn("MainThread", [each.getName() for each in java.java.lang.Thread.getAllStackTraces().keySet()])

    def test_other_threads_cannot_change_the_java_thread(self):
        main = java.java.lang.Thread.currentThread()
        for change in (main.interrupt, lambda: main.setName("x"), lambda: main.setContextClassLoader(None)):
            self.assertRaises(PermissionError, run_threads, lambda _, change=change: change(), [None])
        for change in (main.stop, main.join, lambda: main.setDaemon(False), lambda: main.setPriority(1)):
            self.assertRaises(PermissionError, change)

    def test_connect_pins_threads_only_with_pin(self):
        thread = java.java.lang.Thread
        with jpeer.connect(java.url, timeout=SECONDS, pin=True) as other:
            self.assertEqual(other.java.lang.Thread.currentThread().getName(), "MainThread")
        with jpeer.connect(java.url, timeout=SECONDS) as other:
            self.assertIn("rpc-", other.java.lang.Thread.currentThread().getName())
        self.assertEqual(thread.currentThread().getName(), "MainThread")
        self.assertRaisesRegex(ValueError, "reconnects", jpeer.connect, java.url, pin=True, reconnects=True)
        http = java.url.replace("ws+unix:", "http+unix:")
        self.assertRaisesRegex(RuntimeError, "is for connections over WebSocket", jpeer.connect, http, pin=True)

    def test_a_thread_beyond_the_limit_is_refused(self):
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

            found = run_threads(work, range(4))  # in addition to this thread
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

    def test_the_link_of_an_ended_thread_is_used_again(self):
        self.run_thread(java.java.lang.Math.abs, -1)
        before = links()
        for number in range(50):
            self.assertEqual(self.run_thread(java.java.lang.Math.abs, -number), number)
        self.assertEqual(links(), before)

    def test_objects_are_shared_by_all_threads(self):
        made = self.run_thread(java.java.util.ArrayList, [1, 2])
        made.append(3)
        self.assertEqual(self.run_thread(list, made), [1, 2, 3])
        self.assertEqual(made, java.java.util.ArrayList([1, 2, 3]))

    def test_an_object_may_be_released_by_another_thread(self):
        def make():
            kept.extend(java.java.lang.Object() for _ in range(2000))

        for stays in (False, True):
            with self.subTest(stays=stays), ThreadPoolExecutor(1) as pool:
                gc.collect()
                before, kept = java.stats()["objects"], []
                if stays:  # its thread makes no more calls
                    pool.submit(make).result(SECONDS)
                else:
                    self.run_thread(make)
                self.assertGreaterEqual(java.stats()["objects"], before + len(kept))
                kept.clear()
                self.await_objects(before)

    def await_objects(self, count):
        await_true(lambda: java.stats()["objects"] <= count, "the objects end")

    def test_a_peer_that_cannot_share_sessions_is_refused(self):
        self.assertRaisesRegex(ConnectionError, "--compat pal: .*share_session", launch, options=["--compat", "pal"])

    def test_links_of_calls_that_timed_out_are_used_again(self):
        """Later calls do not wait for abandoned ones, and the links are used again."""
        with jpeer.connect(java.url, timeout=SECONDS) as other:
            for number in range(20):
                queue = other.java.util.concurrent.LinkedBlockingQueue()
                other.timeout = 0.02
                self.assertRaises(TimeoutError, queue.take)
                other.timeout = SECONDS
                queue.put(number)
            self.assertLess(other._connection.link_count, 10)

    def test_callbacks_may_nest_on_several_threads(self):
        """Each level of callbacks calls Java again, on four threads at the same time."""

        def level(depth):
            found = []
            java.java.util.List.of(depth - 1).forEach(lambda n: found.append(level(n) if n > 0 else 0))
            return found[0] + 1

        with ThreadPoolExecutor(4) as pool:
            self.assertEqual(list(pool.map(level, [6] * 8)), [level(6)] * 8)


class Ends(unittest.TestCase):
    def run_program(self, output, *program):
        quiet = "-Wignore:This process:DeprecationWarning"  # of os.fork with threads, since CPython 3.12
        done = subprocess.run([sys.executable, quiet, "-c", *program], capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual((done.stdout, done.stderr), (output, ""))

    def test_close_ends_the_waits_of_all_threads(self):
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
        for _ in threads:  # the calls are still waiting in Java
            there.put("the end")

    def test_threads_may_end_during_close(self):
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

    def test_a_forked_process_cannot_use_the_connection(self):
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
