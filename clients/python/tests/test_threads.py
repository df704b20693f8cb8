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
        done = subprocess.run([sys.executable, "-c", *program], capture_output=True, text=True, timeout=SECONDS)
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
