"""A peer is killed, and another peer gets its address. An object of the old peer is never mistaken for an
object of the new peer."""

import asyncio
import gc
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

import jpeer
import jpeer.aio
from support import SECONDS, RestartedPeer

SCHEMES = ("ws+unix", "http+unix", "shm")


def until_connected(function):
    """The function's result, once the connection has noticed the end of its peer and found the new peer."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            return function()
        except (ConnectionError, TimeoutError):
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def await_peer(java):
    until_connected(java.stats)


class Worker(ThreadPoolExecutor):
    """A thread that keeps its link, and runs functions."""

    def __init__(self):
        super().__init__(1)

    def run(self, function):
        return self.submit(function).result(SECONDS)


def on_thread(function):
    """The function's result, computed on a new thread with a link of its own."""
    with Worker() as worker:
        return worker.run(function)


class Restarts(unittest.TestCase):
    def check_each(self, check, schemes=SCHEMES, **options):
        for scheme in schemes:
            with self.subTest(scheme=scheme, **options), RestartedPeer() as peer:
                with jpeer.connect(peer.url(scheme), timeout=SECONDS, reconnects=True, **options) as java:
                    check(peer, java)

    def check_stale(self, java, old, new):
        """Tests each place of a request that can have an object."""
        before = list(new)
        for what, attempt in (
            ("receiver", lambda: old.add("wrong")),
            ("str", lambda: str(old)),
            ("size", lambda: len(old)),
            ("elements", lambda: list(old)),
            ("argument", lambda: new.add(old)),
            ("inside of a list", lambda: new.addAll([1, old])),
            ("argument of a constructor", lambda: java.java.util.ArrayList(old)),
            ("argument of a static method", lambda: java.java.util.Objects.toString(old)),
            ("element of an array", lambda: java.array("java.lang.Object", [old])),
            ("batch", lambda: java._connection.batch([("call", "java.util.List", "add", new, ("wrong",)),
                                                      ("call", "java.util.List", "add", old, ("wrong",))])),
            ("another link", lambda: on_thread(lambda: old.size())),
        ):
            with self.subTest(what):
                with self.assertRaises(jpeer.StaleObject) as caught:
                    attempt()
                self.assertIsInstance(caught.exception, ReferenceError)
                # Over HTTP a new link does not know the epoch yet, and the peer refuses the request.
                self.assertRegex(str(caught.exception), "another epoch|ArrayList" if what == "another link" else "ArrayList")
        self.assertEqual(list(new), before)

    def test_an_object_of_the_old_peer_is_stale(self):
        def check(peer, java):
            old = java.java.util.ArrayList(["old"])
            peer.restart()
            await_peer(java)
            new = java.java.util.ArrayList(["new"])
            self.assertEqual(old._number, new._number)
            self.check_stale(java, old, new)
            self.assertFalse(old == new)
            self.assertFalse(jpeer.same(old, new))
            del old
            gc.collect()
            self.assertEqual(list(new), ["new"])

        self.check_each(check)
        self.check_each(check, peer_id="6f0b64be-5d4c-4d0c-9b7e-0a1b2c3d4e5f")

    def test_the_first_use_after_a_restart_is_refused(self):
        """No other call has noticed the new peer."""

        def check(peer, java):
            old, List = java.java.util.ArrayList(["old"]), java.java.util.ArrayList
            peer.restart()
            with jpeer.connect(peer.url("ws+unix"), timeout=SECONDS) as other:
                others = other.java.util.ArrayList(["other"])
                with self.assertRaises(jpeer.StaleObject):
                    until_connected(lambda: str(old))
                self.assertEqual(list(others), ["other"])
            new = List(["new"])
            self.assertEqual(list(new), ["new"])

        self.check_each(check)

    def test_objects_of_two_peers_are_never_equal(self):
        def check(peer, java):
            Random = java.java.util.Random  # compares by identity, without a request
            old = Random()
            kept = {old: "old"}
            peer.restart()
            await_peer(java)
            new = Random()
            self.assertEqual(old._number, new._number)
            self.assertNotEqual(old, new)
            self.assertNotIn(new, kept)
            self.assertIn(old, kept)
            self.assertEqual(on_thread(lambda: java.java.util.List.of(new).get(0)), new)

        self.check_each(check)

    def test_threads_share_the_session_of_the_new_peer(self):
        """Each thread has a link of its own. All links join the same session of the new peer."""

        def check(peer, java):
            worker = Worker()
            old = worker.run(lambda: java.java.util.ArrayList(["old"]))
            list(old), worker.run(lambda: list(old))
            peer.restart()
            await_peer(java)
            new = java.java.util.ArrayList(["new"])
            self.assertEqual(old._number, new._number)
            for _ in range(3):
                with self.assertRaises((jpeer.StaleObject, ConnectionError)):
                    worker.run(lambda: old.add("wrong"))
            worker.run(lambda: await_peer(java))
            with self.assertRaises(jpeer.StaleObject):
                worker.run(lambda: old.add("wrong"))
            self.assertEqual(worker.run(lambda: list(new)), ["new"])
            more = worker.run(lambda: java.java.util.ArrayList([new]))
            self.assertEqual(more[0], new)
            self.assertEqual(list(more[0]), ["new"])
            del old
            gc.collect()
            worker.run(java.stats)
            self.assertEqual(on_thread(lambda: list(new)), ["new"])
            worker.shutdown()

        self.check_each(check)

    def test_an_unaware_link_uses_objects_of_the_new_peer(self):
        """A thread whose link is still connected to the old peer gets an object of the new peer."""

        def check(peer, java):
            worker = Worker()
            worker.run(lambda: java.java.util.ArrayList(["old"]))
            peer.restart()
            await_peer(java)
            new = java.java.util.ArrayList(["new"])
            self.assertEqual(until_connected(lambda: worker.run(lambda: list(new))), ["new"])
            worker.shutdown()

        self.check_each(check)

    def test_functions_are_passed_to_the_new_peer(self):
        def check(peer, java):
            calls = []

            def note(each):
                calls.append(each)

            def fail(each):
                raise KeyError("mine")

            consumer = java.java.util.function.Consumer(note)
            failing = java.java.util.function.Consumer(fail)
            java.java.util.List.of(1).forEach(consumer)
            with self.assertRaises(KeyError):
                java.java.util.List.of(1).forEach(failing)
            old = java.java.util.ArrayList(["old"])
            peer.restart()
            await_peer(java)
            new = java.java.util.ArrayList(["new"])
            java.java.util.List.of(new).forEach(consumer)
            self.assertEqual((calls[0], list(calls[1]), len(calls)), (1, ["new"], 2))
            for _ in range(2):
                with self.assertRaises(KeyError):
                    java.java.util.List.of(1).forEach(failing)
            made = java.java.util.HashMap()
            self.assertRaises(jpeer.StaleObject, made.computeIfAbsent, "key", lambda key: old)
            self.assertEqual(made.size(), 0)

        self.check_each(check, ("ws+unix", "shm"))


class RestartsOfLoops(unittest.TestCase):
    def test_an_object_of_the_old_peer_is_stale(self):
        for scheme in SCHEMES:
            with self.subTest(scheme=scheme), RestartedPeer() as peer:
                asyncio.run(asyncio.wait_for(self.check(peer, scheme), SECONDS * 3))

    async def check(self, peer, scheme):
        async with await jpeer.aio.connect(peer.url(scheme), timeout=SECONDS, reconnects=True) as java:
            List = java.java.util.ArrayList
            olds = await asyncio.gather(*(List([f"old {number}"]) for number in range(6)))
            await asyncio.to_thread(peer.restart)
            end = time.monotonic() + SECONDS
            while True:
                try:
                    await java.stats()
                    break
                except (ConnectionError, TimeoutError):
                    self.assertLess(time.monotonic(), end)
                    await asyncio.sleep(0.01)
            news = []
            while len(news) < 6:
                try:
                    news.append(await List([f"new {len(news)}"]))
                except ConnectionError:
                    self.assertLess(time.monotonic(), end)
            self.assertEqual({each._target._number for each in olds}, {each._target._number for each in news})

            async def check_stale(old):
                with self.assertRaises(jpeer.StaleObject):
                    await old.toString()

            await asyncio.gather(*(check_stale(old) for old in olds))
            for old in olds:
                self.assertNotIn(old, news)
            texts = await asyncio.gather(*(new.toString() for new in news))
            self.assertEqual(texts, [f"[new {number}]" for number in range(6)])
