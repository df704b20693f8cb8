"""jpeer.aio."""

import asyncio
import datetime
import inspect
import threading

import jpeer.aio
from support import FIXTURES, AioCase, module_peer

peer = None  # set while the tests of this module run
setUpModule, tearDownModule = module_peer(globals(), "peer")


class Threads(AioCase):
    """Tasks run on any thread of the peer, except inside thread()."""

    async def name(self):
        return await (await self.java.java.lang.Thread.currentThread()).getName()

    async def test_a_task_gets_a_java_thread_of_its_own(self):
        local = await self.java.java.lang.ThreadLocal()

        async def work(number):
            async with self.java.thread(f"task {number}"):
                found = []
                for each in range(20):
                    await local.set(number * 100 + each)
                    await asyncio.sleep(0)
                    found.append(await local.get())
                return await self.name(), found, await asyncio.gather(self.name(), self.name())

        found = await asyncio.gather(*(work(number) for number in range(5)))
        self.assertEqual(
            found,
            [(f"task {n}", [n * 100 + each for each in range(20)], [f"task {n}"] * 2) for n in range(5)],
        )
        self.assertIn("rpc-", await self.name())

    async def test_the_thread_ends_with_the_block(self):
        local = await self.java.java.lang.ThreadLocal()
        for number in range(5):
            async with self.java.thread("again"):
                self.assertIsNone(await local.get())
                await local.set(number)
        with self.assertRaises(ZeroDivisionError):
            async with self.java.thread("fails"):
                1 / 0
        self.assertIn("rpc-", await self.name())


class Asyncio(AioCase):
    async def test_calls_and_fields_of_objects_are_awaited(self):
        Point = self.java.java.awt.Point
        p = await Point(3, 4)
        self.assertEqual((await p.x, await p.getY()), (3, 4.0))
        await p.x.put(7)
        self.assertEqual(await p.getX(), 7.0)
        self.assertEqual(await self.java.java.lang.Math.max(3, 5), 5)
        self.assertEqual(await self.java.java.lang.Integer.MAX_VALUE, 2**31 - 1)
        self.assertEqual(await (await self.java.java.util.AbstractMap.SimpleEntry("k", "v")).getKey(), "k")
        self.assertIn("translate", dir(p))

    async def test_a_call_that_fills_a_buffer_updates_it(self):
        stream, target = await self.java.java.io.ByteArrayInputStream(b"0123456789"), bytearray(3)
        self.assertEqual((await stream.read(target), target), (3, b"012"))
        with self.assertRaises(BufferError):
            waits = asyncio.ensure_future(stream.read(target))
            await asyncio.sleep(0)
            target.append(0)
        self.assertEqual((await waits, target), (3, b"345"))

    async def test_async_for_reads_lists_streams_and_arrays(self):
        xs = await self.java.java.util.ArrayList(range(5_000))
        self.assertEqual([x async for x in xs], list(range(5_000)))
        stream = await xs.stream()
        self.assertEqual([x async for x in await stream.limit(3)], [0, 1, 2])
        array = await xs.toArray()
        self.assertEqual([x async for x in array], list(range(5_000)))
        points = await self.java.java.util.ArrayList([await self.java.java.awt.Point(1, 2)])
        self.assertEqual([await p.x async for p in points], [1])
        self.assertEqual(await points.get(0), await points.get(0))

    async def test_the_loop_runs_during_a_call(self):
        ticks = []

        async def tick():
            while True:
                ticks.append(1)
                await asyncio.sleep(0)

        other = asyncio.create_task(tick())
        await self.java.java.lang.Thread.sleep(50)
        other.cancel()
        self.assertGreater(len(ticks), 1)

    async def test_names_that_python_reserves_get_an_underscore(self):
        System = self.java.java.lang.System
        self.assertEqual(repr(await System.in_).split()[1], "java.io.BufferedInputStream")
        latch = await self.java.java.util.concurrent.CountDownLatch(0)
        self.assertIsNone(await latch.await_())

    async def test_java_calls_coroutines_on_the_loop(self):
        Math = self.java.java.lang.Math
        threads = set()

        async def compare(a, b):
            threads.add(threading.get_ident())
            return await Math.subtractExact(a, b)

        xs = await self.java.java.util.ArrayList([3, 1, 2])
        await xs.sort(compare)
        self.assertEqual([x async for x in xs], [1, 2, 3])
        self.assertEqual(threads, {threading.get_ident()})

    async def test_coroutines_convert_arguments_results_and_exceptions(self):
        Point = self.java.java.awt.Point
        points = await self.java.java.util.ArrayList([await Point(1, 2)])

        async def move(point):
            await point.translate(1, 1)
            return await Point(await point.x, 9)

        await points.replaceAll(move)
        self.assertEqual([(await p.x, await p.y) async for p in points], [(2, 9)])

        async def fail(point):
            raise LookupError("no such point")

        with self.assertRaisesRegex(LookupError, "no such point"):
            await points.forEach(fail)

        @jpeer.implements("java.util.Comparator")
        class Backwards:
            async def compare(self, a, b):
                await asyncio.sleep(0)
                return b - a

        xs = await self.java.java.util.ArrayList([1, 3, 2])
        await xs.sort(Backwards())
        self.assertEqual([x async for x in xs], [3, 2, 1])

    async def test_tasks_of_a_coroutine_may_outlive_its_call(self):
        left = []

        async def later():
            await asyncio.sleep(0.01)
            return await self.java.java.lang.Math.abs(-7)

        async def function(x):
            left.append(asyncio.create_task(later()))
            return x

        await (await self.java.java.util.ArrayList([1])).replaceAll(function)
        self.assertEqual(await left[0], 7)

    async def test_functions_do_not_run_on_the_loop(self):
        threads = set()
        for _ in range(20):
            await (await self.java.java.util.ArrayList([1])).forEach(lambda _: threads.add(threading.get_ident()))
        self.assertNotIn(threading.get_ident(), threads)

    def test_a_coroutine_without_a_loop_is_refused(self):
        async def compare(a, b):
            return 0

        with self.assertRaisesRegex(TypeError, "only a connection of jpeer.aio accepts a coroutine function"):
            peer.java.util.ArrayList([3, 1, 2]).sort(compare)

    async def test_errors_are_those_of_jpeer(self):
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

    async def test_except_matches_java_classes(self):
        lang = self.java.java.lang
        with self.assertRaises(lang.NumberFormatException):
            await lang.Integer.parseInt("x")
        try:
            await lang.Integer.parseInt("x")
        except self.java.java.io.IOException:
            self.fail("no IOException")
        except (lang.NullPointerException, lang.IllegalArgumentException) as error:
            self.assertIsInstance(error, lang.RuntimeException)
            self.assertIsInstance(error, ValueError)
            self.assertIsInstance(error, self.java.java.io.Serializable)
        made = await lang.IllegalStateException("made here")
        self.assertEqual(type(made), lang.IllegalStateException)
        self.assertEqual(str(made), "made here")
        self.assertEqual(lang.IllegalStateException.__name__, "IllegalStateException")
        self.assertTrue(issubclass(lang.IllegalStateException, lang.Throwable))
        with self.assertRaisesRegex(AttributeError, "no public member 'getMessages'"):
            lang.Throwable.getMessages

        async def fail(x):
            raise await lang.IllegalStateException("from a coroutine")

        with self.assertRaisesRegex(lang.IllegalStateException, "from a coroutine"):
            await (await self.java.java.util.ArrayList([1])).forEach(fail)

    async def test_a_class_nested_in_a_throwable_is_a_class(self):
        reason = self.java.java.security.cert.CertPathValidatorException.BasicReason
        for _ in range(2):
            self.assertEqual(await (await reason.EXPIRED).name(), "EXPIRED")
            reason = self.java.java.security.cert.CertPathValidatorException.BasicReason

    async def test_isinstance_and_issubclass_use_java_classes(self):
        util = self.java.java.util
        xs = await util.ArrayList([1])
        self.assertIsInstance(xs, util.List)
        self.assertIsInstance(xs, util.AbstractList)
        self.assertNotIsInstance(xs, util.Map)
        self.assertNotIsInstance(5, util.List)
        self.assertTrue(issubclass(util.ArrayList, util.Collection))
        self.assertFalse(issubclass(util.ArrayList, util.Map))
        self.assertEqual(util.ArrayList, util.ArrayList)
        self.assertEqual(len({util.ArrayList, util.ArrayList, util.List}), 2)

    async def test_cast_accepts_classes_and_objects(self):
        numbers = await self.java.java.util.ArrayList([10, 20])
        self.assertTrue(await numbers.remove(jpeer.cast(self.java.java.lang.Object, 10)))
        self.assertEqual([n async for n in numbers], [20])
        cast = jpeer.cast(self.java.java.lang.Object, numbers)
        self.assertEqual(await self.java.java.lang.String.valueOf(cast), "[20]")

    async def test_iterating_over_a_map_gives_its_keys(self):
        ages = await self.java.java.util.TreeMap({"Ada": 36, "Alan": 41})
        self.assertEqual([name async for name in ages], ["Ada", "Alan"])
        entries = [entry async for entry in await ages.entrySet()]
        self.assertEqual([(entry.key, entry.getValue()) for entry in entries], [("Ada", 36), ("Alan", 41)])
        points = await self.java.java.util.HashMap({"p": await self.java.java.awt.Point(1, 2)})
        self.assertEqual([await point.x async for _, point in await points.entrySet()], [1])

    async def test_assignments_are_refused(self):
        Point = self.java.java.awt.Point
        p = await Point(3, 4)
        with self.assertRaisesRegex(AttributeError, r"java.awt.Point.x is a field .*: await x.x.put\(value\)"):
            p.x = 5
        with self.assertRaisesRegex(AttributeError, "java.awt.Point.move is a method"):
            p.move = 5
        with self.assertRaisesRegex(AttributeError, "no public member 'xx'"):
            p.xx = 5
        with self.assertRaisesRegex(AttributeError, "MAX_VALUE is a field"):
            self.java.java.lang.Integer.MAX_VALUE = 5
        with self.assertRaisesRegex(AttributeError, "members of Java cannot be deleted"):
            del p.x
        self.assertEqual(await p.x, 3)

    async def test_classes_of_another_loader_can_be_used(self):
        loader = await self.java.add_classpath(FIXTURES)
        functions = self.java.fixtures.small.functions
        self.assertEqual((await functions.col("x"), await functions.size), ("col x", 7))
        self.assertEqual(self.java.type("fixtures.small.functions", loader=loader), functions)
        circle = await self.java.type("fixtures.Circle", loader=loader)(1.0)
        self.assertGreater(await circle.area(), 3)
        self.assertTrue(isinstance(circle, self.java.fixtures.Circle))
        self.assertEqual(len([each async for each in self.java.fixtures.Color]), 3)
        self.assertEqual(self.java.type(await self.java.fixtures.Color.class_), self.java.fixtures.Color)
        with self.assertRaisesRegex(AttributeError, "Did you mean java.util.ArrayList"):
            self.java.java.util.arrayList()

    async def test_the_connection_has_the_members_of_jpeer_java(self):
        numbers = await self.java.array("double", [1.5, 2.5])
        self.assertEqual([each async for each in numbers], [1.5, 2.5])
        zeros = await self.java.array("int", 2, 3)
        self.assertEqual([len([each async for each in row]) async for row in zeros], [3, 3])
        self.assertEqual([each async for each in await self.java.array(self.java.java.lang.String, 1)], [None])
        self.assertEqual([each async for each in await self.java.type("int[]")([4, 5])], [4, 5])
        string = await self.java.class_object("java.lang.String")
        self.assertEqual(await string.getName(), "java.lang.String")
        self.assertEqual(await (await self.java.java.util.Map.class_).isInterface(), True)
        self.assertEqual(await (await self.java.java.lang.Error.class_).isInterface(), False)
        self.assertGreater((await self.java.stats())["objects"], 0)
        self.assertIsNone(await self.java.gc())
        self.assertIsNone(self.java.timeout)
        latch = await self.java.java.util.concurrent.CountDownLatch(1)
        self.java.timeout = 0.05
        with self.assertRaises(TimeoutError):
            await latch.await_()
        self.java.timeout = None
        await latch.countDown()
        self.assertEqual((self.java.is_closed, self.java.process_id), (False, None))

    async def test_call_field_and_set_field_are_awaited(self):
        p = await self.java.java.awt.Point(3, 4)
        self.assertEqual(await jpeer.call(p, "getX"), 3.0)
        self.assertEqual(await jpeer.call(self.java.java.lang.Math, "max", 3, 5), 5)
        self.assertIsNone(await jpeer.set_field(p, "x", 7))
        self.assertEqual(await jpeer.field(p, "x"), 7)
        self.assertEqual(await jpeer.field(self.java.java.lang.Integer, "MAX_VALUE"), 2**31 - 1)
        with self.assertRaisesRegex(AttributeError, "none"):
            await jpeer.call(self.java.java.lang.Error, "none")
        points = await self.java.java.util.ArrayList([p])
        self.assertTrue(jpeer.same(p, await points.get(0)))
        self.assertFalse(jpeer.same(p, points))

    async def test_members_have_names_texts_and_signatures(self):
        ArrayList = self.java.java.util.ArrayList
        xs = await ArrayList([1])
        self.assertEqual(xs.size.__doc__, "size() -> int")
        self.assertEqual(xs.size.__name__, "size")
        self.assertEqual(repr(xs.size), "<async Java method java.util.ArrayList.size>")
        self.assertEqual(str(inspect.signature(xs.subList)), "(fromIndex, toIndex)")
        self.assertIn("-> boolean", ArrayList.add.__doc__)
        p = await self.java.java.awt.Point(3, 4)
        self.assertEqual(repr(p.x), "<async Java field java.awt.Point.x>")
        self.assertIn("put(value)", p.x.__doc__)

    async def test_a_method_of_a_class_takes_the_receiver_first(self):
        day = datetime.date(2024, 2, 29)
        self.assertEqual(await self.java.java.time.LocalDate.plusDays(day, 1), datetime.date(2024, 3, 1))
        sent = await self.java.java.time.LocalDate.of(2024, 2, 28)
        self.assertEqual(await (await sent.plusDays(1)).getDayOfYear(), 60)
        xs = await self.java.java.util.ArrayList([1])
        self.assertEqual(await self.java.java.util.List.size(xs), 1)
        self.assertEqual([x async for x in await self.java.java.util.List.copyOf(xs)], [1])
        with self.assertRaisesRegex(TypeError, "java.util.List.size needs an object"):
            await self.java.java.util.List.size()
        error = await self.java.java.lang.Error("text")
        self.assertEqual(await self.java.java.lang.Throwable.getMessage(error), "text")

    async def test_the_truth_of_an_optional_is_awaited(self):
        some = await self.java.java.util.Optional.of(5)
        self.assertEqual((await some.isPresent(), await some.get()), (True, 5))
        self.assertRaisesRegex(TypeError, "await x.isPresent", bool, some)
        self.assertTrue(await self.java.java.util.ArrayList())

    async def test_enums_are_iterable_and_interfaces_take_functions(self):
        days = [day async for day in self.java.java.time.DayOfWeek]
        self.assertEqual((len(days), await days[0].name()), (7, "MONDAY"))
        with self.assertRaisesRegex(TypeError, "it is not an enum"):
            [each async for each in self.java.java.util.List]
        later = await self.java.java.util.concurrent.Callable(lambda: 5)
        pool = await self.java.java.util.concurrent.Executors.newSingleThreadExecutor()
        self.assertEqual(await (await pool.submit(later)).get(), 5)
        await pool.shutdown()

    async def test_a_closed_connection_refuses_calls(self):
        other = await jpeer.aio.connect(self.java.url)
        async with other:
            async with await other.java.io.StringReader("text") as reader:
                self.assertEqual(await reader.read(), ord("t"))
        with self.assertRaises(ConnectionError):
            await other.java.lang.Math.abs(-1)
