"""Conversion of values in both directions."""

import array
import collections
import copy
import datetime
import decimal
import enum
import json
import pickle
import types
import unittest
import uuid
import zoneinfo
from pathlib import Path

import jpeer
import jpeer.times
from support import FIXTURES, launch, module_peer

try:
    import numpy
except ImportError:
    numpy = None

java = None  # set while the tests of this module run
setUpModule, tearDownModule = module_peer(globals())


def there_and_back(value):
    holder = java.java.util.ArrayList()
    holder.add(value)
    return holder.get(0)


MADE = {
    datetime.date: jpeer.times.Date, datetime.datetime: jpeer.times.DateTime, datetime.time: jpeer.times.Time,
    datetime.timedelta: jpeer.times.Duration, decimal.Decimal: jpeer.times.BigDecimal, uuid.UUID: jpeer.times.UUID,
}


class Scalars(unittest.TestCase):
    VALUES = [
        None, True, False, 0, 1, -1, 2**31, -(2**31), 2**63 - 1, -(2**63), 2**63, -(10**40), 0.0, -0.5, 1e300, 5e-324,
        float("inf"), "", "text", "ü", "😀", "a\0b", "\ud800", "\n\t\"\\", "x" * 100_000,
        decimal.Decimal("1.50"), decimal.Decimal("1E+30"), uuid.uuid4(), datetime.date(2024, 2, 29),
        datetime.time(1, 2, 3, 4), datetime.datetime(2024, 2, 29, 1, 2), datetime.timedelta(days=-1, microseconds=7),
        datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc),
        datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5, minutes=45))),
        *(datetime.datetime(2024, 10, 27, 2, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"), fold=fold) for fold in (0, 1)),
        datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.time(23, 59, 59, 999999), datetime.timedelta(0),
        datetime.timedelta(days=999999999, seconds=3), datetime.timedelta(days=-400, microseconds=5),
    ]

    def test_a_value_comes_back_unchanged(self):
        for value in self.VALUES:
            with self.subTest(repr(value)[:40]):
                back = there_and_back(value)
                self.assertEqual(back, value)
                self.assertIs(type(back), MADE.get(type(value), type(value)))
                self.assertEqual(hash(back), hash(value))
                if isinstance(value, datetime.datetime):
                    self.assertEqual((back.fold, back.tzinfo), (value.fold, value.tzinfo))

    def test_every_class_made_from_text_converts(self):
        rows = json.loads((Path(__file__).parents[3] / "native/op/value_classes.json").read_text(encoding="utf-8"))
        rows = [row for row in rows if row.get("make") in ("parse", "construct")]
        self.assertGreater(len(rows), 10)
        for row in rows:
            with self.subTest(row["name"]):
                value, python = there_and_back(jpeer.cast(row["name"], row["example"])), row.get("python", {})
                if "read" not in python:
                    self.assertIsInstance(value, jpeer.JavaObject)
                    self.assertEqual(str(value), row["example"])
                    continue
                self.assertEqual(f"{type(value).__module__}.{type(value).__qualname__}", python.get("made", python["type"]))
                self.assertEqual(there_and_back(value), value)

    def test_time_zones_become_java_objects(self):
        offset = datetime.timezone(datetime.timedelta(hours=5, minutes=45))
        for value, name in ((offset, "java.time.ZoneOffset"), (zoneinfo.ZoneInfo("Europe/Berlin"), "java.time.ZoneId")):
            with self.subTest(name):
                made = there_and_back(value)
                self.assertIsInstance(made, java.type(name))
                self.assertEqual(str(made), "+05:45" if value is offset else "Europe/Berlin")

    def test_integers_of_any_length_convert(self):
        for value in (10**4999, -(7**9000)):
            self.assertTrue(there_and_back(value) == value)
            self.assertTrue(value in java.java.util.ArrayList([value]))
            self.assertTrue(java.java.math.BigInteger.negate(value) == -value)

    def test_nan_comes_back_as_nan(self):
        self.assertNotEqual(there_and_back(float("nan")), there_and_back(float("nan")))

    def test_nan_and_infinity_are_accepted_for_every_number(self):
        """Parameters, fields, elements, results of functions and other places of numbers."""
        lang, nio, nan, inf = java.java.lang, java.java.nio, float("nan"), float("inf")
        Point = java.type("java.awt.geom.Point2D$Float")
        point, floats, buffer = Point(nan, -inf), java.array("float", 2), nio.ByteBuffer.allocate(8)
        self.assertTrue(lang.Float.isNaN(nan) and lang.Float.isInfinite(-inf) and lang.Double.isNaN(nan))
        self.assertTrue(point.x != point.x and point.y == -inf)
        point.x = inf
        floats[0], floats[1:] = inf, [nan]
        buffer.putFloat(nan).putFloat(inf)
        self.assertEqual((point.x, floats[0], buffer.getFloat(4)), (inf, inf, inf))
        self.assertTrue(floats[1] != floats[1] and buffer.getFloat(0) != buffer.getFloat(0))
        self.assertEqual(java.array("float", [inf, 1, -inf]), [inf, 1.0, -inf])
        self.assertEqual(lang.String.format("%s %s", nan, inf), "NaN Infinity")
        self.assertEqual(str(java.java.util.ArrayList([nan, [inf], {"a": -inf}])), "[NaN, [Infinity], {a=-Infinity}]")
        self.assertEqual(java.java.util.Optional.of(inf).get(), inf)
        self.assertEqual(lang.Float.valueOf(inf).__class__, float)
        average = java.java.util.stream.Stream.of("a", "b").mapToDouble(lambda _: nan).average().getAsDouble()
        self.assertTrue(average != average)
        self.assertEqual(java.java.util.ArrayList([1, inf]).stream().map(lambda x: -x * inf).toList(), [-inf, -inf])
        expander = jpeer.cast("javax.swing.text.TabExpander", lambda x, offset: x)  # the method returns a float
        method = java.class_object("javax.swing.text.TabExpander").getMethod(
            "nextTabStop", java.class_object("float"), java.class_object("int"))
        self.assertEqual(method.invoke(expander, jpeer.cast("java.lang.Float", -inf), 1), -inf)
        self.assertRaises((TypeError, ValueError), lang.Math.addExact, nan, 1)

    def test_a_number_out_of_range_is_an_overflow_error(self):
        lang = java.java.lang
        point = java.java.awt.Point(1, 2)
        for attempt in (
            lambda: lang.Integer.toHexString(2**40), lambda: lang.Long.toHexString(2**64), lambda: lang.Math.addExact(2**64, 1),
            lambda: lang.Math.abs(2**64 + 1), lambda: lang.Float.isNaN(1e300), lambda: java.array("int", [1, 2**70]),
            lambda: setattr(point, "x", 2**40), lambda: setattr(point, "x", 2**70), lambda: java.array("long", 2**40),
            lambda: java.java.util.BitSet().set(2**31), lambda: java.array("byte", [1]).__setitem__(0, 128),
            lambda: java.array("int", array.array("q", [1, 2**31])), lambda: lang.Object.equals(point, 10**20_000),
            lambda: lang.Integer.toHexString(jpeer.jint(2**31)),
            lambda: java.array("long", 1).__setitem__(slice(None), array.array("Q", [2**63])),
        ):
            self.assertRaises(OverflowError, attempt)
        self.assertEqual(lang.Math.sqrt(2**64), 2.0**32)

    def test_all_integers_of_a_list_have_one_class(self):
        util = java.java.util
        for values, name in (
            ([1, 2], "Integer"), ([2, 2**40, 1], "Long"), ((2**31, 0), "Long"), ({3, -(2**31) - 1}, "Long"),
            (range(2**31 - 1, 2**31 + 1), "Long"), ([2**70, 1, -(2**40)], "java.math.BigInteger"),
        ):
            with self.subTest(values):
                made = util.ArrayList(values)
                self.assertTrue(all(made.indexOf(jpeer.cast(name, each)) >= 0 for each in values))
                made.sort()
                self.assertEqual(list(made), sorted(values))
        self.assertEqual(util.ArrayList([1, 2**40, "x"]).indexOf(jpeer.jint(1)), 0)
        self.assertEqual(list(util.TreeSet([1, 2**31])), [1, 2**31])
        self.assertEqual(util.Collections.max(util.HashMap({"a": 1, "b": 2**40}).values()), 2**40)
        self.assertEqual(list(util.TreeMap({2**40: 1, 1: 2**70})), [1, 2**40])
        self.assertEqual(util.Arrays.stream([1, 2**40]).sum(), 2**40 + 1)
        extended = util.ArrayList()
        extended.extend([2**40, *range(600_000)])  # needs several messages
        self.assertEqual(util.Collections.min(extended), 0)

    def test_subclasses_and_enums_convert_as_their_values(self):
        class Number(int):
            pass

        class Colour(enum.IntEnum):
            RED = 3

        class Unit(enum.Enum):
            DAYS = 1

        self.assertEqual(there_and_back(Number(5)), 5)
        self.assertEqual(there_and_back(Colour.RED), 3)
        self.assertEqual(
            java.java.util.concurrent.TimeUnit.HOURS.convert(2, jpeer.cast("java.util.concurrent.TimeUnit", Unit.DAYS)),
            48,
        )
        self.assertEqual(java.java.util.concurrent.TimeUnit.HOURS.convert(2, Unit.DAYS), 48)

    def test_the_parameter_decides_the_java_class(self):
        self.assertEqual(java.java.lang.Double.valueOf(5), 5.0)
        self.assertEqual(java.java.lang.Byte.valueOf(jpeer.jbyte(5)), 5)
        self.assertEqual(java.java.time.LocalDate.of(2024, "FEBRUARY", 29), datetime.date(2024, 2, 29))
        self.assertEqual(java.java.math.BigDecimal.valueOf(1.5), decimal.Decimal("1.5"))

    def test_a_value_that_would_lose_something_stays_an_object(self):
        for moment in (java.java.time.Instant.MAX, java.java.time.LocalDate.MAX, java.java.time.LocalDateTime.MIN):
            self.assertIsInstance(moment, jpeer.JavaObject)
            self.assertEqual(there_and_back(moment), moment)

    def test_java_time_has_nanoseconds(self):
        time, text_of = java.java.time, java.java.util.Objects.toString
        for name, text in [
            ("Instant", "2024-02-29T12:00:00.123456789Z"), ("LocalDateTime", "0001-01-01T00:00:00.000000001"),
            ("OffsetDateTime", "2024-02-29T12:00:00.000000999+05:45"), ("OffsetTime", "23:59:59.999999999-01:00"),
            ("ZonedDateTime", "2024-10-27T02:30:00.000000001+01:00[Europe/Berlin]"), ("LocalTime", "00:00:00.000001001"),
            ("Duration", "PT-0.000000001S"), ("Duration", "PT0.000000001S"),
        ]:
            with self.subTest(name, text=text):
                value = getattr(time, name).parse(text)
                self.assertEqual((text_of(value), value.toString(), text_of(there_and_back(value))), (text, text, text))
                for same in (there_and_back(value), pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
                    self.assertEqual((same, hash(same), type(same)), (value, hash(value), type(value)))
        self.assertEqual({type(time.Instant.now()) for _ in range(50)}, {jpeer.times.DateTime})

    def test_values_have_the_methods_of_java(self):
        time = java.java.time
        self.assertEqual(time.Instant.ofEpochSecond(1, 5).toEpochMilli(), 1000)
        self.assertEqual(time.LocalDate.of(2024, 2, 28).plusDays(1).plusDays(1), datetime.date(2024, 3, 1))
        self.assertEqual((time.LocalDate.of(2024, 2, 28) + datetime.timedelta(2)).getDayOfYear(), 61)
        self.assertEqual(java.java.math.BigDecimal.valueOf(1.5).add(2).setScale(2), decimal.Decimal("3.50"))
        self.assertEqual(java.java.util.UUID.fromString(str(uuid.UUID(int=7))).getLeastSignificantBits(), 7)
        for value in (time.Instant.now(), time.LocalDate.now(), jpeer.times.DateTime(2024, 1, 1)):
            self.assertFalse(hasattr(value, "nothing"))

    def test_an_optional_is_an_object(self):
        Optional, ints, util = java.java.util.Optional, java.java.util.stream.IntStream, java.java.util
        some, none = Optional.of("x"), Optional.empty()
        self.assertEqual((bool(some), bool(none), some.isPresent(), none.isEmpty()), (True, False, True, True))
        self.assertEqual((some.get(), none.orElse(5), some.map(str.upper).get(), bool(none.map(str.upper))), ("x", 5, "X", False))
        self.assertEqual((some == Optional.of("x"), hash(some) == hash(Optional.of("x")), none == Optional.empty()), (True,) * 3)
        self.assertEqual((str(some), list(some.stream()), some.flatMap(Optional.of) == some), ("Optional[x]", ["x"], True))
        self.assertRaises(LookupError, none.get)
        self.assertEqual((ints.of(3, 7).max().getAsInt(), bool(ints.empty().max()), ints.of(1, 2).average().orElse(0)), (7, False, 1.5))
        self.assertEqual(bool(util.OptionalLong.of(0)), True)
        held = util.ArrayList([some, none, Optional.of(util.ArrayList([1])), Optional.of(Optional.of(5)), ints.of(3).max()])
        for each in (held[0], *held[:1], next(iter(held)), util.HashMap({"k": some})["k"], java.array(Optional, [some])[0]):
            self.assertIsInstance(each, Optional)
        self.assertEqual((some in held, jpeer.to_python(held)), (True, ["x", None, [1], 5, 3]))
        given = []
        held.forEach(given.append)
        self.assertEqual(list(map(bool, given)), [True, False, True, True, True])

    def test_mutable_numbers_stay_objects(self):
        counter = java.java.util.concurrent.atomic.AtomicInteger(5)
        self.assertEqual((int(counter), float(counter)), (5, 5.0))

    def test_constructed_numbers_compare_by_value(self):
        big, exact = java.java.math.BigInteger("5"), java.java.math.BigDecimal("1.50")
        self.assertTrue(big > 4 and big >= 5.0 and 6 > big and not big < 5 and big < 5.5 and big != 6 and big == 5)
        self.assertTrue(exact > 1 and exact < decimal.Decimal("1.6") and exact == 1.5 and exact != "1.50")
        self.assertEqual((hash(big), hash(exact), {5: "found"}[big]), (hash(5), hash(1.5), "found"))
        self.assertTrue(big < java.java.math.BigInteger("6") and exact != java.java.math.BigDecimal("1.5"))
        self.assertEqual(int(java.java.math.BigInteger("9" * 30)), int("9" * 30))
        self.assertEqual((int(exact), float(exact), java.java.lang.Double("1.5") > 1), (1, 1.5, True))
        self.assertEqual(sorted([big, 7, 3]), [3, 5, 7])
        for other in (None, "text", object()):
            with self.assertRaises(TypeError):
                exact > other
            self.assertFalse(exact == other)

    def test_null_has_no_order(self):
        moment = java.java.time.Instant.parse("2024-01-01T00:00:00.000000001Z")
        with self.assertRaises(TypeError):
            moment > None
        self.assertTrue(moment > datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc))


class Containers(unittest.TestCase):
    def test_sequences_become_lists(self):
        for value in [[], [1, "a", None], (1, 2), range(5), collections.deque([1]), [[1], [2, [3]]], {}.keys()]:
            with self.subTest(value):
                self.assertEqual(plain(java.java.util.ArrayList(value)), plain(value))

    def test_generators_become_lists(self):
        self.assertEqual(list(java.java.util.ArrayList(x * x for x in range(4))), [0, 1, 4, 9])
        self.assertEqual(list(java.java.util.ArrayList(map(str, range(2)))), ["0", "1"])

    def test_sets_become_sets(self):
        self.assertEqual(java.java.util.HashSet({1, 2}), {1, 2})
        self.assertEqual(java.java.util.TreeSet(frozenset("ab")), {"a", "b"})

    def test_dicts_become_maps(self):
        HashMap = java.java.util.HashMap
        for value in [
            {}, {"a": 1}, {"type": "x", "value": 1, "ref": 3}, {1: "x", 2.5: "y", None: 0}, {True: [1]},
            types.MappingProxyType({"k": "v"}), {datetime.date(2024, 1, 1): 1},
        ]:
            with self.subTest(value):
                self.assertEqual({key: plain(each) for key, each in HashMap(value).items()}, dict(value))

    def test_nested_values_convert(self):
        made = java.java.util.ArrayList(
            [datetime.date(2024, 1, 1), {"a": [decimal.Decimal("1.5")]}, java.java.awt.Point(1, 2)]
        )
        self.assertEqual(made[0], datetime.date(2024, 1, 1))
        self.assertEqual(list(made[1]["a"]), [decimal.Decimal("1.5")])
        self.assertEqual(made[2].x, 1)


class Buffers(unittest.TestCase):
    def test_bytes_become_byte_arrays(self):
        for value in (b"", b"a\0\xff", bytearray(b"xyz"), memoryview(b"abc")):
            made = java.java.util.Arrays.copyOf(value, len(value))
            self.assertEqual(bytes(made), bytes(value))
            self.assertEqual(made, bytes(value))

    def test_arrays_of_numbers_keep_their_type(self):
        for code, values in [
            ("b", [-1, 2]), ("h", [-300]), ("i", [2**31 - 1]), ("q", [-(2**63)]), ("f", [0.5]), ("d", [1e300]),
        ]:
            with self.subTest(code):
                made = java.java.lang.reflect.Array.get(java.array("java.lang.Object", [array.array(code, values)]), 0)
                self.assertEqual(list(made), values)
                view = memoryview(made)
                self.assertEqual((view.format, view.tolist(), view.readonly), (code, values, True))

    def test_arrays_of_chars_and_booleans_have_a_buffer(self):
        self.assertEqual(list(java.array("char", ["a", "ü"])), ["a", "ü"])
        self.assertEqual(memoryview(java.array("char", ["a"])).format, "H")
        self.assertEqual(list(java.array("boolean", [True, False])), [True, False])
        self.assertEqual(memoryview(java.array("boolean", [True])).tolist(), [True])

    def test_unsigned_shorts_become_char_arrays(self):
        chars = java.array("char", "aü")
        String = java.java.lang.String
        self.assertEqual(String(memoryview(chars)), "aü")
        self.assertEqual(String.copyValueOf(memoryview(chars)), "aü")
        self.assertEqual(String.valueOf(array.array("H", [97, 98])), "ab")
        self.assertEqual(java.java.util.stream.IntStream.of(array.array("H", [97, 60_000])).sum(), 60_097)

    def test_a_buffer_becomes_a_collection(self):
        ArrayList = java.java.util.ArrayList
        self.assertEqual(ArrayList(array.array("d", [1.5])), [1.5])
        made = ArrayList()
        self.assertTrue(made.addAll(b"ab"))
        self.assertEqual(made, [97, 98])
        with self.assertRaisesRegex(TypeError, r"charAt\(byte\[\]\)|of another kind for int"):
            java.java.lang.String.charAt("text", b"ab")

    def test_elements_are_converted_to_the_array_type(self):
        self.assertEqual(java.array("double", array.array("q", [1, 2])), [1.0, 2.0])
        self.assertEqual(java.array("int", b"ab"), [97, 98])
        with self.assertRaises(TypeError):
            java.array("int", array.array("d", [1.5]))

    def test_a_buffer_may_have_no_strides(self):
        try:
            import ctypes
        except ImportError:
            self.skipTest("this Python was built without ctypes")
        Arrays = java.java.util.Arrays
        ints = (ctypes.c_int * 2)(7, 3)
        Arrays.sort(ints)
        self.assertEqual((list(ints), Arrays.toString(ints)), ([3, 7], "[3, 7]"))
        self.assertEqual(Arrays.deepToString(jpeer.cast("int[][]", (ctypes.c_int * 2 * 1)((7, 3)))), "[[7, 3]]")

    def test_a_buffer_may_be_strided_or_multidimensional(self):
        toString, deepToString = java.java.util.Arrays.toString, java.java.util.Arrays.deepToString
        doubles = memoryview(array.array("d", range(6)))
        self.assertEqual(toString(doubles[::2]), "[0.0, 2.0, 4.0]")
        self.assertEqual(toString(doubles[::-1][:2]), "[5.0, 4.0]")
        matrix = doubles.cast("B").cast("d", [2, 3])
        for name in ("double[][]", "float[][]"):
            self.assertEqual(deepToString(jpeer.cast(name, matrix)), "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]")
        cube = memoryview(array.array("q", range(8))).cast("B").cast("q", [2, 2, 2])
        self.assertEqual(deepToString(jpeer.cast("int[][][]", cube)), "[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]")

    def test_a_buffer_is_converted_to_the_parameter_type(self):
        nio, count = java.java.nio, 1_000_001
        self.assertEqual(nio.FloatBuffer.wrap(array.array("d", [0.1])).get(0), 0.10000000149011612)
        self.assertEqual(nio.FloatBuffer.wrap(array.array("d", bytes(8 * count))).remaining(), count)
        self.assertEqual(nio.IntBuffer.wrap(array.array("q", bytes(8 * count))).remaining(), count)
        self.assertEqual(nio.IntBuffer.wrap(array.array("B", [200])).get(0), 200)
        self.assertEqual(nio.ByteBuffer.wrap(array.array("B", [200])).get(0), -56)
        self.assertEqual(nio.ShortBuffer.wrap(array.array("H", [40_000])).get(0), -25_536)
        self.assertEqual(nio.IntBuffer.wrap(array.array("H", [40_000])).get(0), 40_000)
        self.assertEqual(nio.LongBuffer.wrap(array.array("L", [7])).get(0), 7)
        with self.assertRaisesRegex(OverflowError, r"argument 0\[1\]: 2147483648: out of range for int"):
            nio.IntBuffer.wrap(array.array("q", [1, 2**31]))
        with self.assertRaisesRegex(OverflowError, r"argument 0\[1\]: 1.0E300: out of range for float"):
            nio.FloatBuffer.wrap(array.array("d", [1, 1e300]))
        with self.assertRaisesRegex(OverflowError, r"argument 0\[0\]: 9007199254740993: out of range for double"):
            nio.DoubleBuffer.wrap(array.array("q", [2**53 + 1]))
        with self.assertRaises(OverflowError):
            nio.LongBuffer.wrap(array.array("Q", [2**63]))
        self.assertEqual(java.java.util.ArrayList(array.array("Q", [2**63])), [2**63])
        self.assertRaises(TypeError, nio.IntBuffer.wrap, array.array("d", [1]))

    def test_a_call_that_fills_a_buffer_updates_it(self):
        stream = java.java.io.ByteArrayInputStream(b"0123456789")
        target = bytearray(4)
        self.assertEqual((stream.read(target), target), (4, b"0123"))
        self.assertEqual((stream.read(memoryview(target)[::2]), target), (2, b"4153"))
        self.assertEqual((stream.read(bytes(2)), stream.read(jpeer.cast("byte[]", target), 1, 1)), (2, 1))
        self.assertEqual(target, b"4853")
        for code, values in (("d", [2.5, 1]), ("f", [2, 1]), ("q", [2, -1]), ("H", [40_000, 1]), ("L", [2**32, 1])):
            with self.subTest(code):
                numbers = array.array(code, values)
                java.java.util.Arrays.sort(numbers)
                self.assertEqual(numbers.tolist(), sorted(values))
        numbers = array.array("d", [2, 1])
        java.java.util.Arrays.sort(jpeer.cast("float[]", numbers))
        self.assertEqual(numbers.tolist(), [1, 2])
        steps = [("call", "java.util.Arrays", "fill", None, (array.array("i", [0]), 5)),
                 ("call", "java.util.Arrays", "fill", None, (array.array("i", [0, 0]), 6))]
        java._connection.batch(steps)
        self.assertEqual([step[4][0].tolist() for step in steps], [[5], [6, 6]])
        self.assertRaises(java.java.lang.IllegalArgumentException, java.java.util.Arrays.sort, numbers, 2, 1)

    def test_nio_buffers_have_the_buffer_protocol(self):
        nio = java.java.nio
        numbers = nio.ByteBuffer.wrap(b"hello")
        numbers.get()
        self.assertEqual((bytes(numbers), numbers.position(), memoryview(numbers).readonly), (b"ello", 1, True))
        self.assertEqual(bytes(numbers.asReadOnlyBuffer()) + bytes(nio.ByteBuffer.allocateDirect(2)), b"ello\0\0")
        for kind, code in (("Int", "i"), ("Long", "q"), ("Short", "h"), ("Char", "H"), ("Float", "f"), ("Double", "d")):
            view = memoryview(getattr(nio, f"{kind}Buffer").allocate(3))
            self.assertEqual((view.format, len(view)), (code, 3))

    @unittest.skipIf(numpy is None, "no numpy")
    def test_numpy_arrays_of_any_layout_convert(self):
        deepToString = java.java.util.Arrays.deepToString
        matrix = numpy.arange(6.0).reshape(2, 3)
        for name, value in [
            ("double[][]", matrix.T), ("double[][]", numpy.asfortranarray(matrix)), ("float[][]", matrix[:, ::2]),
            ("int[][]", matrix.T.astype("int64")), ("double[][]", matrix.astype(">f8")), ("double[][]", matrix.astype("f2")),
            ("double[][]", matrix.astype("longdouble")), ("short[][]", matrix.astype(">u2")), ("long[][]", matrix.astype("u8")),
            ("int[][][]", numpy.arange(8).reshape(2, 2, 2).T), ("int[][]", numpy.zeros((0, 3), int)),
            ("int[][]", numpy.zeros((3, 0), "u1")), ("double[][]", numpy.zeros((1001, 1000)).T),
            ("int[][]", numpy.zeros((1001, 1000), "int64")),
        ]:
            with self.subTest(f"{value.dtype} {value.shape} to {name}"):
                shown = value.astype("float64" if name[0] in "df" else "int64").tolist()
                self.assertEqual(deepToString(jpeer.cast(name, value)), str(shown))
        for kind in ("f2", ">f4", ">i8", "u4", "longdouble"):
            numbers = numpy.array([3, 1, 2], kind)
            java.java.util.Arrays.sort(numbers)
            self.assertEqual(numbers.tolist(), [1, 2, 3])
        with self.assertRaisesRegex(OverflowError, r"element 1: 1e\+4000: out of range"):
            java.java.nio.DoubleBuffer.wrap(numpy.array([1, numpy.longdouble("1e4000")]))

    @unittest.skipIf(numpy is None, "no numpy")
    def test_numpy_arrays_and_scalars_convert(self):
        values = numpy.arange(5, dtype="float64")
        made = java.java.util.Arrays.copyOf(values, 5)
        self.assertTrue((numpy.asarray(made) == values).all())
        for scalar, expected in [(numpy.int64(5), 5), (numpy.float32(1.5), 1.5), (numpy.bool_(True), True),
            (numpy.array(7), 7),
                                 (numpy.str_("x"), "x"), (numpy.float64(2.5), 2.5), (numpy.uint8(200),
                                 200)]:
            self.assertEqual(there_and_back(scalar), expected)
        for kind in ("float64", "float32", "int8"):
            matrix = java.java.util.Arrays.deepToString(jpeer.cast("double[][]", numpy.ones((2, 2), kind)))
            self.assertEqual(matrix, "[[1.0, 1.0], [1.0, 1.0]]")

    @unittest.skipIf(numpy is None, "no numpy")
    def test_java_matrices_become_numpy_arrays(self):
        there_and_back = lambda name, value: numpy.asarray(java.type(name)(value))  # noqa: E731
        for name, kind in [("byte", "i1"), ("short", "i2"), ("int", "i4"), ("long", "i8"), ("float", "f4"), ("double", "f8"),
                           ("boolean", "?"), ("char", "u2")]:
            for shape in ((2, 3), (1200, 2), (3, 0), (2, 2, 3)):
                with self.subTest(f"{name} {shape}"):
                    wanted = (numpy.arange(numpy.prod(shape)).reshape(shape) % 100).astype(kind)
                    found = there_and_back(name + "[]" * len(shape), wanted)
                    self.assertEqual((found.dtype, found.shape), (numpy.dtype(kind), shape))
                    self.assertTrue((found == wanted).all())
        empty = numpy.asarray(java.array("int", 0, 3))
        self.assertEqual((empty.shape, empty.dtype), ((0, 0), numpy.dtype("int32")))
        self.assertEqual(numpy.array(java.array("int", 1, 2), dtype="f8").dtype, numpy.dtype("f8"))
        with self.assertRaisesRegex(ValueError, r"the rows of int\[\]\[\] have 1 to 2 elements"):
            numpy.asarray(java.type("int[][]")([[1], [2, 3]]))
        with self.assertRaisesRegex(ValueError, r"double\[\]\[\]: row 1 is null"):
            numpy.asarray(java.type("double[][]")([[1.0], None]))
        ragged = numpy.array(java.type("int[][]")([[1], [2, 3], None]), dtype=object)
        self.assertEqual([each and list(each) for each in ragged], [[1], [2, 3], None])
        self.assertEqual(numpy.asarray(java.type("java.lang.String[][]")([["a", "b"]])).tolist(), [["a", "b"]])

    @unittest.skipIf(numpy is None, "no numpy")
    def test_matrices_become_numpy_arrays_under_a_small_policy(self):
        with launch(allow=["java.util.Arrays"]) as there:
            rows = there.java.util.Arrays.copyOf(jpeer.cast("int[][]", [[1, 2], [3, 4]]), 2)
            self.assertEqual(numpy.asarray(rows).tolist(), [[1, 2], [3, 4]])
            with self.assertRaises(PermissionError):
                there.java.lang.System.nanoTime()

    @unittest.skipIf(numpy is None, "no numpy")
    def test_numpy_arrays_fill_java_arrays(self):
        self.assertEqual(java.array("double", numpy.ones(3)), [1.0, 1.0, 1.0])
        self.assertEqual(java.type("double[]")(numpy.ones(3)), [1.0, 1.0, 1.0])
        self.assertEqual(java.type("double[][]")(numpy.ones((2, 2)))[1], [1.0, 1.0])
        self.assertEqual(java.array("int", numpy.int64(2)), [0, 0])
        self.assertEqual(java.array("double", numpy.arange(3)), [0.0, 1.0, 2.0])
        self.assertEqual(java.java.util.ArrayList(numpy.array([1.5])), [1.5])
        self.assertEqual(java.java.lang.String.copyValueOf(numpy.asarray(java.array("char", "ab"))), "ab")
        self.assertEqual(
            java.java.util.Arrays.deepToString(jpeer.cast("int[][]", numpy.ones((1, 2), "uint16"))), "[[1, 1]]"
        )

    @unittest.skipIf(numpy is None, "no numpy")
    def test_numpy_dates_and_masked_values_convert(self):
        for text in ("2024-02-29T01:02:03", "2024-02-29T01:02:03.000004", "2024-02-29T01:02:03.000004000"):
            self.assertEqual(there_and_back(numpy.datetime64(text)), datetime.datetime.fromisoformat(text[:26]))
        self.assertEqual(there_and_back(numpy.datetime64("2024-02-29")), datetime.date(2024, 2, 29))
        self.assertEqual(there_and_back(numpy.timedelta64(5, "ms")), datetime.timedelta(milliseconds=5))
        self.assertIsNone(there_and_back(numpy.datetime64("NaT")))
        self.assertEqual(there_and_back(numpy.longdouble(1.5)), 1.5)
        moments = numpy.array(["2024-02-29", "NaT"], "datetime64[ns]")
        self.assertEqual(there_and_back(moments), [datetime.datetime(2024, 2, 29), None])
        days = numpy.array(["2024-02-29"], "datetime64[D]")
        self.assertEqual(list(there_and_back(days)), [datetime.date(2024, 2, 29)])
        missing = numpy.ma.array([1, 2, 3], mask=[False, True, False])
        self.assertEqual(list(there_and_back(missing)), [1, None, 3])
        self.assertIsNone(there_and_back(numpy.ma.masked))
        with self.assertRaises(TypeError):
            java.java.util.Arrays.toString(jpeer.cast("int[]", missing))
        self.assertEqual(java.java.util.Arrays.toString(jpeer.cast("int[]", numpy.ma.array([1, 2]))), "[1, 2]")
        for refused in (numpy.datetime64("2024-02-29T01:02:03.000004001"), numpy.complex128(1j), numpy.clongdouble(1j)):
            self.assertRaises(TypeError, there_and_back, refused)


class LongValues(unittest.TestCase):
    """Values that are too long for one message, or have more elements than a request may have."""

    @classmethod
    def setUpClass(cls):
        cls.java = cls.enterClassContext(launch(options=["--message-max", "1m", "--values-max", "65536"]))

    def test_long_values_are_sent_in_pieces(self):
        util, lang = self.java.java.util, self.java.java.lang
        text = "é\n😀" * 200_000
        self.assertEqual(lang.String.length(text), 800_000)
        self.assertEqual(str(lang.StringBuilder(text).toString()), text)
        data = bytes(range(256)) * 8_000
        for value in (data, bytearray(data), memoryview(data)):
            self.assertEqual(bytes(self.java.array("byte", value)), data)
            given = memoryview(value).toreadonly()
            self.assertEqual(util.Arrays.hashCode(given), util.Arrays.hashCode(self.java.array("byte", data)))
        numbers = list(range(70_001))
        self.assertEqual(list(util.ArrayList(numbers)), numbers)
        self.assertEqual(list(util.ArrayList(array.array("i", numbers))), numbers)  # fits in one message as an array
        self.assertEqual(list(util.ArrayList([numbers[:40_000], numbers[:40_000]])), [numbers[:40_000]] * 2)
        self.assertEqual(list(util.ArrayList(["s" * 300_000] * 5)), ["s" * 300_000] * 5)
        self.assertEqual(dict(util.HashMap({str(i): i for i in numbers})), {str(i): i for i in numbers})
        for kind, values in (("int", range(300_000)), ("double", [0.1] * 300_000), ("char", "ab" * 200_000)):
            with self.subTest(kind):
                self.assertEqual(self.java.array(kind, list(values))[:], list(values))
        self.assertEqual(self.java.array("long", array.array("q", range(200_000)))[-1], 199_999)
        self.assertEqual(type(self.java.array("long", 200_000)), type(self.java.array("long", range(200_000))))

    def test_a_long_value_without_pieces_is_refused_before_it_is_sent(self):
        held = self.java.java.util.ArrayList([1])
        with self.assertRaisesRegex(OverflowError, "the peer accepts at most 65536 .values-max"):
            self.java.java.util.HashSet(set(range(70_001)))
        with self.assertRaisesRegex(OverflowError, "bytes, and the peer accepts at most 1048576 .message-max"):
            self.java.java.util.ArrayList(["s" * 2_000] * 900)
        with self.assertRaisesRegex(OverflowError, "2000000 bytes that Java could fill"):
            self.java.java.io.ByteArrayInputStream(b"abc").read(bytearray(2_000_000))
        self.assertEqual(list(held), [1])

    def test_integers_have_one_class_in_all_pieces(self):
        numbers = [*range(100_000), 2**40]
        self.assertEqual(self.java.java.util.Collections.max(numbers), 2**40)
        found = self.java.java.util.TreeSet(self.java.java.util.HashMap({str(each): each for each in numbers}).values())
        self.assertEqual(found.last(), 2**40)
        self.assertEqual(self.java.java.util.TreeMap({each: each for each in numbers}).lastKey(), 2**40)

    def test_pieces_are_released(self):
        before = self.java.stats()["objects"]
        for _ in range(3):
            self.assertEqual(self.java.java.lang.String.length("x" * 2_000_000), 2_000_000)
        self.assertLessEqual(self.java.stats()["objects"], before + 1)


class Pieces(unittest.TestCase):
    """Values that are sent in pieces become the same as whole ones."""

    @classmethod
    def setUpClass(cls):
        cls.java = cls.enterClassContext(launch(classpath=FIXTURES, options=["--message-max", "4k"]))

    def test_elements_become_the_declared_type(self):
        typed, keyed = self.java.fixtures.Typed, self.java.fixtures.Keyed
        instance = typed({})

        def construct(value):
            return typed(value).made()

        def put(value):
            self.java._connection.put("fixtures.Typed", "bytes", instance, value)
            return instance.bytesPut()

        def many(value):
            return dict(value, **{str(at): each for at, each in enumerate(list(value.values()) * 3_000)})

        lists = [(typed.longs, [1, None]), (typed.texts, ["a", 5]), (typed.units, ["SECONDS"]), (typed.own, [1, 2.5]),
                 (typed.extendLong, [1]), (typed.extend, [1, 0.5]), (typed.longArrays, [[1, 2]]), (typed.any, [1, 2**40]),
                 (typed.ShortHolder().keep, [3]), (typed.longs, [jpeer.jlong(1)])]
        for call, few in lists:
            with self.subTest(call, few=few):
                self.assertEqual(set(call(few * 3_000)[1:-1].split(", ")), set(call(few)[1:-1].split(", ")))
        self.assertIn("[[Long:1, Long:1", typed.spread([1] * 3_000))
        self.assertIn("[Long:1, Long:1", typed.arrays([[1] * 3_000, [2]]))
        dicts = [(construct, {"0": 1}), (put, {"0": 5}), (typed.nested, {"0": [{"x": 1}]}),
                 (keyed.longs, {"0": "x"}), (keyed.nested, {"0": {"2": 3}})]
        for call, few in dicts:
            with self.subTest(call, few=few):
                self.assertEqual({each.partition("=")[2] for each in call(many(few))[1:-1].split(", ")},
                                 {each.partition("=")[2] for each in call(few)[1:-1].split(", ")})
        self.assertTrue(keyed.longs(many({"0": "x"})).startswith("[Long:0="))
        for call, value, said in [
            (typed.longs, [1] * 3_000 + [1.5], r"argument 0\[3000\]: 1.5: not an integer for long"),
            (typed.longs, [2**63] * 3_000, r"argument 0\[0\]: 9223372036854775808: out of range for long"),
            (typed.longArrays, [[datetime.date(2024, 2, 29)]] * 3_000, "sent in pieces, it does not become"),
            (keyed.longs, many({"x": "x"}), 'the key "x"'),
            (keyed.longs, many({"0": "x"}) | {"-0": "y"}, "two of its keys are the same"),
        ]:
            with self.subTest(call, said=said):
                self.assertRaisesRegex((TypeError, ValueError, OverflowError), said, call, value)

    def test_elements_that_java_has_are_not_changed(self):
        typed, util = self.java.fixtures.Typed, self.java.java.util
        held = util.ArrayList([{"x": 7}])
        said = typed.nested({str(at): held if at % 2 else [{"x": 8}] for at in range(3_000)})
        self.assertEqual((said.count("[[x=Integer:7]]"), said.count("[[x=Short:8]]")), (1_500, 1_500))
        self.assertEqual(type(held[0]["x"]), int)


class Keys(unittest.TestCase):
    """The keys of a dict become the declared key type of a map."""

    def test_keys_become_the_declared_type(self):
        with launch(classpath=FIXTURES) as other:
            keyed = other.fixtures.Keyed
            self.assertEqual(keyed.find({5: "x"}, 5), "x")
            self.assertEqual(keyed.find({"5": "x"}, 5), "x")
            self.assertEqual(keyed.longs({"5": "x"}), "[Long:5=String:x]")
            self.assertEqual(keyed.longs({jpeer.jlong(5): "x"}), "[Long:5=String:x]")
            self.assertEqual(keyed.nested({"1": {"2": 3}}), "[Integer:1=[Long:2=Float:3.0]]")
            self.assertEqual(keyed.any({5: "x"}), "[Integer:5=String:x]")
            self.assertEqual(keyed.any({"5": "x"}), "[String:5=String:x]")
            self.assertRaisesRegex((TypeError, ValueError), 'the key "1.5"', keyed.integers, {"1.5": "x"})
            self.assertRaisesRegex(TypeError, 'the key "1.5": not an integer', keyed.integers, {1.5: "x"})
            self.assertRaisesRegex(OverflowError, 'the key "70000": out of range', keyed.shorts, {70000: "x"})
            for given, wanted in (
                (keyed.longs({5: "x"}), "[Long:5=String:x]"), (keyed.doubles({1: "x"}), "[Double:1.0=String:x]"),
                (keyed.floats({1.5: "x"}), "[Float:1.5=String:x]"), (keyed.booleans({True: "x"}), "[Boolean:true=String:x]"),
                (keyed.nested({1: {2: 3}, 4: {}}), "[Integer:1=[Long:2=Float:3.0], Integer:4=[]]"),
                (keyed.source(lambda: {1: {2: 3}}), "[Integer:1=[Long:2=Float:3.0]]"),
                (keyed.objects({5: 1}), "[Integer:5=Integer:1]"), (keyed.texts({5: 1}), "[String:5=Integer:1]"),
                (keyed.any({1.5: [1]}), "[Double:1.5=[Integer:1]]"), (keyed.any({float("inf"): 1}), "[Double:Infinity=Integer:1]"),
                (keyed.any({True: 1}), "[Boolean:true=Integer:1]"), (keyed.any({1: 2, "x": 3}), "[Integer:1=Integer:2, String:x=Integer:3]"),
                (keyed.any({jpeer.jlong(1): 2}), "[Long:1=Integer:2]"),
            ):
                self.assertEqual(given, wanted)
            for number in (5, 2**40, 2**70):
                self.assertEqual(dict(other.java.util.TreeMap({1: number, number: 1})), {1: number, number: 1})
            self.assertRaisesRegex((TypeError, ValueError), 'the key "-0"', keyed.integers, {"0": "x", "-0": "y"})


def plain(value):
    """Replaces all sequences by lists."""
    if isinstance(value, (list, tuple, range, collections.deque, type({}.keys()))) or hasattr(value, "_java_type"):
        return [plain(each) for each in value]
    return value
