"""jpeer.aio."""

import asyncio
import unittest

import jpeer.aio
from support import SECONDS, launch

peer = None


def setUpModule():
    global peer
    peer = launch()


def tearDownModule():
    peer.close()


class Asyncio(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.java = await jpeer.aio.connect(peer.url)

    async def asyncTearDown(self):
        await self.java.close()

    async def test_objects(self):
        Point = self.java.java.awt.Point
        p = await Point(3, 4)
        self.assertEqual((await p.x, await p.getY()), (3, 4.0))
        await p.x.put(7)
        self.assertEqual(await p.getX(), 7.0)
        self.assertEqual(await self.java.java.lang.Math.max(3, 5), 5)
        self.assertEqual(await self.java.java.lang.Integer.MAX_VALUE, 2**31 - 1)
        self.assertEqual(await (await self.java.java.util.AbstractMap.SimpleEntry("k", "v")).getKey(), "k")
        self.assertIn("translate", dir(p))

    async def test_iteration(self):
        xs = await self.java.java.util.ArrayList(range(5_000))
        self.assertEqual([x async for x in xs], list(range(5_000)))
        stream = await xs.stream()
        self.assertEqual([x async for x in await stream.limit(3)], [0, 1, 2])
        array = await xs.toArray()
        self.assertEqual([x async for x in array], list(range(5_000)))
        points = await self.java.java.util.ArrayList([await self.java.java.awt.Point(1, 2)])
        self.assertEqual([await p.x async for p in points], [1])
        self.assertEqual(await points.get(0), await points.get(0))

    async def test_many_at_once(self):
        absolute = self.java.java.lang.Math.abs
        found = await asyncio.gather(*(absolute(-number) for number in range(500)))
        self.assertEqual(found, list(range(500)))

    async def test_the_loop_goes_on(self):
        ticks = []

        async def tick():
            while True:
                ticks.append(1)
                await asyncio.sleep(0)

        other = asyncio.create_task(tick())
        await self.java.java.lang.Thread.sleep(50)
        other.cancel()
        self.assertGreater(len(ticks), 1)

    async def test_names_that_python_keeps(self):
        System = self.java.java.lang.System
        self.assertEqual(repr(await System.in_).split()[1], "java.io.BufferedInputStream")
        latch = await self.java.java.util.concurrent.CountDownLatch(0)
        self.assertIsNone(await latch.await_())

    async def test_objects_of_hidden_classes(self):
        frozen = await self.java.java.util.Collections.unmodifiableList([1, 2])
        self.assertEqual(await frozen.size(), 2)

    async def test_an_end_that_a_timeout_makes(self):
        with self.assertRaises(TimeoutError):
            await asyncio.wait_for(self.java.java.lang.Thread.sleep(300), 0.01)
        self.assertEqual(await self.java.java.lang.Math.abs(-1), 1)

    async def test_coroutines_as_callbacks(self):
        async def compare(a, b):
            return 0

        xs = await self.java.java.util.ArrayList([3, 1, 2])
        with self.assertRaisesRegex(TypeError, "cannot await a coroutine"):
            await xs.sort(compare)

    async def test_errors(self):
        with self.assertRaises(ValueError) as caught:
            await self.java.java.lang.Integer.parseInt("x")
        self.assertEqual(caught.exception.java_class, "java.lang.NumberFormatException")
        self.assertEqual(await self.java.java.util.Objects.toString(caught.exception), str(caught.exception.toString()))
        with self.assertRaisesRegex(AttributeError, "Did you mean getX"):
            (await self.java.java.awt.Point()).getXX
        with self.assertRaisesRegex(AttributeError, "no Java class java.awt.Piont"):
            self.java.java.awt.Piont
        with self.assertRaises(TypeError):
            await self.java.java.lang.Math.abs("x")

    async def test_callbacks(self):
        xs = await self.java.java.util.ArrayList([3, 1, 2])
        await xs.sort(lambda a, b: a - b)
        self.assertEqual([x async for x in xs], [1, 2, 3])

    async def test_launching(self):
        async with jpeer.aio.launch() as java:
            self.assertEqual(await java.java.lang.Math.abs(-1), 1)

    async def test_closing(self):
        other = await jpeer.aio.connect(self.java.url)
        async with other:
            async with await other.java.io.StringReader("text") as reader:
                self.assertEqual(await reader.read(), ord("t"))
        with self.assertRaises(ConnectionError):
            await other.java.lang.Math.abs(-1)

    async def test_cancelled(self):
        task = asyncio.ensure_future(self.java.java.lang.Thread.sleep(300))
        await asyncio.sleep(0)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual(await asyncio.wait_for(self.java.java.lang.Math.abs(-1), SECONDS), 1)


if __name__ == "__main__":
    unittest.main()
