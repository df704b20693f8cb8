"""jpeer.aio: calls that overlap, and requests that do not block the loop."""

import asyncio
import os
import signal
import threading
import time
import unittest
import unittest.mock

import jpeer.aio
from support import AioCase, SECONDS, module_peer

peer = None  # set while the tests of this module run
setUpModule, tearDownModule = module_peer(globals(), "peer")


class FirstSight(AioCase):
    """Requests that the conversion of an answer needs are sent on a thread, not on the loop's."""

    async def asyncSetUp(self):
        await super().asyncSetUp()
        self.asked = {}  # the name of a described class -> whether it was described on the loop's thread
        loop = threading.get_ident()
        describe = self.java._java._classes._describe

        def note(name, handle):
            self.asked[name] = threading.get_ident() == loop
            return describe(name, handle)

        self.java._java._classes._describe = note

    async def test_the_class_of_an_object_is_described_on_a_thread(self):
        Collections = self.java.java.util.Collections
        self.assertTrue(self.asked["java.util.Collections"])  # an attribute cannot be awaited
        self.asked.clear()
        empty = await Collections.emptyList()
        self.assertIs(self.asked["java.util.Collections$EmptyList"], False)
        self.assertFalse(any(self.asked.values()))
        self.asked.clear()
        self.assertEqual(await empty.size(), 0)
        self.assertEqual(await (await Collections.emptyList()).size(), 0)
        self.assertEqual(self.asked, {})

    async def test_the_classes_of_elements_are_described_on_a_thread(self):
        Arrays = self.java.java.util.Arrays
        made = await asyncio.to_thread(lambda: self.java.java.awt.Point)
        points = [await made(1, 2)]
        maps = await Arrays.asList(await self.java.java.util.HashMap({"p": points[0]}), points[0])
        self.asked.clear()
        self.java._java._classes._classes.clear()
        self.java._java._hooks.classes.clear()
        found = [each async for each in maps]
        self.assertEqual(await found[1].getX(), 1.0)
        self.assertIs(self.asked["java.util.HashMap"], False)
        self.assertFalse(any(self.asked.values()))

    async def test_the_class_of_an_exception_is_described_on_a_thread(self):
        Integer = self.java.java.lang.Integer
        self.asked.clear()
        for _ in range(2):
            with self.assertRaises(ValueError) as caught:
                await Integer.parseInt("x")
        self.assertEqual(caught.exception.java_class, "java.lang.NumberFormatException")
        self.assertIs(self.asked["java.lang.NumberFormatException"], False)
        self.assertFalse(any(self.asked.values()))


class CallsAtOnce(AioCase):
    """Calls that wait for another call. A deadline ends a test that would wait for ever."""

    async def asyncSetUp(self):
        await super().asyncSetUp()
        self.latch = await self.java.java.util.concurrent.CountDownLatch(1)

    async def asyncTearDown(self):
        await asyncio.wait_for(self.latch.countDown(), SECONDS)
        await super().asyncTearDown()

    async def together(self, *calls):
        return await asyncio.wait_for(asyncio.gather(*calls), SECONDS)

    async def wait_until(self, holds):
        async with asyncio.timeout(SECONDS):
            while not holds():
                await asyncio.sleep(0.01)

    @property
    def link_count(self):
        return self.java._java._connection.link_count

    async def test_calls_that_wait_for_each_other_have_a_link_each(self):
        barrier = await self.java.java.util.concurrent.CyclicBarrier(10)
        found = await self.together(*(barrier.await_() for _ in range(10)))
        self.assertEqual(sorted(found), list(range(10)))
        self.assertGreaterEqual(self.link_count, 10)

    async def test_an_abandoned_call_does_not_delay_others(self):
        for _ in range(3):
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(self.latch.await_(), 0.05)
            self.assertEqual(await self.together(self.java.java.lang.Math.abs(-1)), [1])
        task = asyncio.create_task(self.latch.await_())
        await asyncio.sleep(0.05)
        task.cancel()
        self.assertEqual(await self.together(self.java.java.lang.Math.abs(-1)), [1])

    async def test_links_of_calls_that_timed_out_are_used_again(self):
        self.java.timeout = 0.05
        for _ in range(3):
            with self.assertRaises(TimeoutError):
                await self.latch.await_()
        self.java.timeout = None
        count = self.link_count
        links = self.java._links
        self.assertEqual(await self.together(self.java.java.lang.Math.abs(-1), self.latch.countDown()), [1, None])
        await self.wait_until(lambda: not any(link.is_abandoned for link in links._links.values()))
        self.assertEqual(sorted(map(len, links._free)), [0, len(links._links)])
        self.assertLessEqual(self.link_count, count + 2)

    async def test_a_cancelled_call_ends_in_java(self):
        queue = await self.java.java.util.concurrent.LinkedTransferQueue()

        async def waits():
            return await queue.hasWaitingConsumer()

        async def until(waiting):
            async with asyncio.timeout(SECONDS):
                while await waits() != waiting:
                    await asyncio.sleep(0.01)

        for _ in range(3):
            task = asyncio.create_task(queue.take())
            await until(True)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            await until(False)
            with self.assertRaises(TimeoutError):
                await asyncio.wait_for(queue.take(), 0.05)
            await until(False)
        links = self.java._links
        await self.wait_until(lambda: not any(link.calls for link in links._links.values()))
        self.assertFalse(await self.java.java.lang.Thread.interrupted())

    async def test_links_whose_threads_ignore_the_interrupt_go_on(self):
        """This holds for calls that give functions, too."""
        done = await self.java.java.util.concurrent.CompletableFuture()
        numbers = await self.java.java.util.concurrent.ConcurrentHashMap()
        keys = iter(range(100))

        async def give_functions():
            found = await self.together(*(numbers.computeIfAbsent(next(keys), lambda key: 7) for _ in range(8)))
            self.assertEqual(found, [7] * 8)

        await give_functions()
        for _ in range(2):
            tasks = [asyncio.create_task(done.join()) for _ in range(3)]  # which ignores interrupts
            await self.wait_until(lambda: sum(link.calls for link in self.java._links._links.values()) == 3)
            await asyncio.sleep(0.05)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await give_functions()
            await asyncio.sleep(1.2)  # their threads are lost
            await give_functions()
        self.assertTrue(await done.complete(None))
        await give_functions()

    async def test_a_call_that_is_cancelled_before_it_is_sent_is_not_sent(self):
        sends = unittest.mock.Mock(wraps=self.java._links._send)
        with unittest.mock.patch.object(self.java._links, "_send", sends):
            first = asyncio.create_task(self.latch.await_())
            second = asyncio.create_task(self.java.java.lang.Math.abs(-1))
            await asyncio.sleep(0)
            second.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await second
            await self.together(self.latch.countDown(), first)
        self.assertEqual([call.args[0].step[2] for call in sends.call_args_list], ["await", "countDown"])

    async def test_one_task_sees_its_own_order(self):
        async def run(number):
            xs = await self.java.java.util.ArrayList()
            for each in range(20):
                await xs.add(each)
                self.assertEqual(await xs.size(), each + 1)
            return [x async for x in xs]

        found = await self.together(*(run(number) for number in range(10)))
        self.assertEqual(found, [list(range(20))] * 10)

    async def test_quick_calls_share_few_links(self):
        for number in range(300):
            await self.java.java.lang.Math.abs(-number)
        self.assertLessEqual(self.link_count, 3)

    async def test_callbacks_that_wait_for_each_other_run_at_once(self):
        together = asyncio.Barrier(4)

        def meeting():
            async def meet(x):
                async with together:
                    return await self.java.java.lang.Math.addExact(x, 1)

            return meet

        async def replace(number):
            xs = await self.java.java.util.ArrayList([number])
            await xs.replaceAll(meeting())
            return await xs.get(0)

        self.assertEqual(await self.together(*map(replace, range(4))), [1, 2, 3, 4])

    async def test_a_function_stays_the_same_object(self):
        """Other links are free, and other calls are inside Java."""

        async def run():
            pass

        function = jpeer.cast("java.lang.Runnable", run)
        listeners = await self.java.java.util.ArrayList()
        await listeners.add(function)
        waiting = [asyncio.create_task(self.latch.await_()) for _ in range(5)]
        self.assertEqual(await self.together(listeners.contains(function), listeners.contains(function)), [True, True])
        self.assertEqual(await self.together(listeners.remove(function)), [True])
        await self.together(self.latch.countDown(), *waiting)

    async def test_a_function_that_a_thread_sent_stays_the_same_object(self):
        async def run():
            pass

        function = jpeer.cast("java.lang.Runnable", run)
        by_number = await self.java.java.util.HashMap({1: function, "": None})  # converted on the loop's thread
        self.assertTrue(await self.together(by_number.containsValue(function)))
        found = await self.together(*(by_number.containsValue(function) for _ in range(5)))
        self.assertEqual(found, [True] * 5)
        self.assertTrue(all(link.is_shared for free in self.java._links._free for link in free))

    async def test_more_calls_than_links_share_the_links(self):
        with unittest.mock.patch("jpeer.aio_links.LINKS_MAX", 3):
            waiting = [self.java.java.lang.Thread.sleep(100) for _ in range(6)]
            found = await self.together(*waiting, *(self.java.java.lang.Math.abs(-number) for number in range(20)))
        self.assertEqual(found[6:], list(range(20)))
        self.assertLessEqual(len(self.java._links._links), 3)

    async def test_calls_share_a_link_if_no_other_can_be_opened(self):
        with unittest.mock.patch.object(self.java._links, "_connection", wraps=self.java._java._connection) as native:
            native.open_link.side_effect = [None] * 50
            await self.together(self.java.java.lang.Thread.sleep(100), self.java.java.lang.Math.abs(-1))
        self.assertEqual(len(self.java._links._links), 1)

    async def test_closing_the_connection_fails_all_calls(self):
        other = await jpeer.aio.connect(peer.url)
        latch = await other.java.util.concurrent.CountDownLatch(1)
        waiting = [asyncio.create_task(latch.await_()) for _ in range(5)]
        await self.wait_until(lambda: len(other._links._links) >= 5)
        await other.close()
        ends = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), SECONDS)
        self.assertEqual([type(each) for each in ends], [ConnectionError] * 5)
        with self.assertRaises(ConnectionError):
            await latch.getCount()

    async def test_the_end_of_the_peer_fails_all_calls(self):
        async with jpeer.aio.launch() as java:
            latch = await java.java.util.concurrent.CountDownLatch(1)
            waiting = [asyncio.create_task(latch.await_()) for _ in range(5)]
            await self.wait_until(lambda: len(java._links._links) >= 5)
            os.kill(java.process_id, signal.SIGKILL)
            ends = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), SECONDS)
            self.assertTrue(all(isinstance(each, ConnectionError) for each in ends), ends)
            await self.wait_until(lambda: not java._links._links)
            with self.assertRaises(ConnectionError):
                await asyncio.wait_for(latch.getCount(), SECONDS)


class ClosedLoop(unittest.TestCase):
    def test_an_answer_after_the_end_of_the_loop_is_ignored(self):
        async def leave():
            java = await jpeer.aio.connect(peer.url)
            java._send("call", "java.lang.Thread", "sleep", None, (200,))
            return java

        with unittest.mock.patch("sys.unraisablehook") as hook:
            java = asyncio.run(leave())
            deadline = time.monotonic() + SECONDS
            while java._java._connection.unanswered() > 0 and time.monotonic() < deadline:
                java._java._connection.process()
            java._java.close()
        hook.assert_not_called()
