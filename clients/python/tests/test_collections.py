"""Collections, maps, iterators, streams and arrays by Python's protocols."""

import collections.abc
import array
import contextlib
import gc
import importlib.util
import decimal
import io
import itertools
import json
import operator
import unittest

import jpeer
from jpeer.classes import MIXINS
from support import FIXTURES, launch, module_peer

java = None  # set while the tests of this module run
setUpModule, tearDownModule = module_peer(globals(), classpath=[FIXTURES])


def array_list(*elements):
    return java.java.util.ArrayList(list(elements))


class Lists(unittest.TestCase):
    def test_a_list_reads_like_a_sequence(self):
        xs = array_list(3, 1, 2)
        self.assertEqual((list(xs), len(xs), xs[0], xs[-1], 2 in xs, 9 in xs), ([3, 1, 2], 3, 3, 2, True, False))
        first, *more = xs
        self.assertEqual((first, more), (3, [1, 2]))
        self.assertEqual((xs.index(2), xs.count(1), list(reversed(xs))), (2, 1, [2, 1, 3]))
        self.assertEqual((sorted(xs), max(xs), sum(xs)), ([1, 2, 3], 3, 6))
        self.assertRaises(ValueError, xs.index, 9)

    def test_lists_compare_with_python_lists(self):
        xs = array_list(3, 1, 2)
        self.assertTrue(xs == [3, 1, 2] and [3, 1, 2] == xs and xs == (3, 1, 2))
        self.assertTrue(xs != [3, 1] and xs != [3, 1, 9] and xs != 5 and xs is not None and xs != None)  # noqa: E711
        self.assertEqual(xs, java.java.util.List.of(3, 1, 2))
        self.assertEqual(xs, xs.clone())
        self.assertEqual(hash(xs), hash(xs.clone()))
        self.assertEqual({xs: "found"}[xs.clone()], "found")
        self.assertEqual(array_list(), [])

    def test_lists_are_repeated(self):
        xs = same = array_list(1, 2)
        self.assertEqual((xs * 2, 2 * xs, xs * 0), ([1, 2, 1, 2], [1, 2, 1, 2], []))
        xs *= 3
        self.assertEqual(same, [1, 2] * 3)
        xs *= 1
        self.assertEqual(same, [1, 2] * 3)
        xs *= -1
        self.assertEqual((same, xs is same), ([], True))
        for wrong in (1.5, "x", None):
            with self.assertRaises(TypeError):
                xs * wrong
            with self.assertRaises(TypeError):
                xs *= wrong

    def test_an_index_out_of_range_is_an_index_error(self):
        xs = array_list(*range(10))
        for index in (10, -11, 10**6):
            with self.subTest(index), self.assertRaises(IndexError):
                xs[index]
        self.assertRaises(java.java.lang.IndexOutOfBoundsException, xs.get, 10)
        with self.assertRaises(TypeError):
            xs["0"]

    def test_slices_are_those_of_python(self):
        xs, ys = array_list(*range(10)), list(range(10))
        bounds = (None, 0, 1, 4, 9, 10, 20, -1, -4, -20)
        for start, stop, step in itertools.product(bounds, bounds, (None, 1, 3, -1, -2)):
            self.assertEqual(xs[start:stop:step], ys[start:stop:step], (start, stop, step))
        with self.assertRaises(ValueError):
            xs[::0]

    def test_a_list_changes_like_a_python_list(self):
        xs, ys = array_list(*range(10)), list(range(10))
        for each in (xs, ys):
            each[0] = "first"
            each[-1] = None
            each[2:4] = ["x", "y", "z"]
            each[5:5] = [50]
            each[::4] = [0] * len(each[::4])
            del each[1]
            del each[-2:]
            del each[::3]
            each.append(1)
            each.extend(x for x in (2, 3))
            each += [4]
            each.insert(0, "front")
            each.insert(-1, "near the end")
            each.insert(100, "end")
            each.reverse()
        self.assertEqual(list(xs), ys)
        self.assertEqual((xs.pop(), xs.pop(0)), (ys.pop(), ys.pop(0)))
        for attempt in (lambda: array_list().pop(), lambda: array_list(1).pop(5)):
            self.assertRaises(IndexError, attempt)
        with self.assertRaises(ValueError):
            xs[::2] = [1]
        self.assertEqual(xs + [1], [*xs, 1])
        self.assertEqual([1] + xs, [1, *xs])

    def test_a_failed_assignment_changes_nothing(self):
        xs = array_list(1, 2, 3, 4, 5)
        for part, values in [
            (slice(1, 3), [1j]), (slice(1, 3), [8, 1j]), (slice(0, 0), [1j]), (slice(0, 4, 2), [8, 1j]),
        ]:
            with self.subTest(part), self.assertRaises(TypeError):
                xs[part] = values
            self.assertEqual(xs, [1, 2, 3, 4, 5])
        checked = java.java.util.Collections.checkedList(xs, java.java.lang.Integer.class_)
        with self.assertRaises(java.java.lang.ClassCastException):
            checked[1:4] = ["text"]
        self.assertEqual(xs, [1, 2, 3, 4, 5])

    def test_elements_of_a_list_of_fixed_length_can_be_replaced(self):
        xs = java.java.util.Arrays.asList(1, 2, 3)
        xs[0:2] = [8, 9]
        xs[::2] = [7, 6]
        self.assertEqual(xs, [7, 9, 6])
        with self.assertRaises(java.java.lang.UnsupportedOperationException):
            xs[0:2] = [1]
        self.assertEqual(xs, [7, 9, 6])

    def test_sort_takes_a_comparator_or_a_key(self):
        xs = array_list(3, 1, 2)
        xs.sort()
        self.assertEqual(xs, [1, 2, 3])
        xs.sort(reverse=True)
        self.assertEqual(xs, [3, 2, 1])
        xs.sort(lambda a, b: a - b)
        self.assertEqual(xs, [1, 2, 3])
        xs.sort(lambda a, b: a - b, reverse=True)
        self.assertEqual(xs, [3, 2, 1])
        words = array_list("ccc", "a", "bb")
        words.sort(key=len)
        self.assertEqual(words, ["a", "bb", "ccc"])
        words.sort(key=len, reverse=True)
        self.assertEqual(words, ["ccc", "bb", "a"])
        words.sort(java.java.util.Comparator.naturalOrder())
        self.assertEqual(words, ["a", "bb", "ccc"])
        self.assertRaises(TypeError, words.sort, len, key=len)

    def test_numbers_of_other_types_are_found(self):
        xs = array_list(jpeer.jlong(5), jpeer.jshort(6), jpeer.jfloat(1.5), jpeer.jchar("c"))
        self.assertTrue(5 in xs and 6 in xs and 1.5 in xs and "c" in xs)
        self.assertFalse(7 in xs or "d" in xs or None in xs or object() in xs)
        self.assertNotIn(None, java.java.util.List.of(1))
        self.assertNotIn("text", java.java.util.TreeSet([1]))

    def test_many_elements_are_read(self):
        numbers = list(range(100_000))
        xs = java.java.util.ArrayList(numbers)
        self.assertEqual(list(xs), numbers)
        self.assertEqual(xs[50_000:50_010], numbers[50_000:50_010])
        self.assertEqual(len(list(java.java.util.Collections.nCopies(20_000, java.java.awt.Point(1, 2)))), 20_000)

    def test_elements_may_be_collections(self):
        xs = array_list([1, 2], {"a": 1}, java.java.awt.Point(1, 2), None, "text")
        first, second, third, *_ = xs
        self.assertIsInstance(first, java.java.util.List)
        first.append(3)
        self.assertEqual(xs[0], [1, 2, 3])
        self.assertEqual(second, {"a": 1})
        third.x = 7
        self.assertEqual(xs[2].x, 7)

    def test_collections_belong_to_the_abstract_classes_of_python(self):
        self.assertIsInstance(array_list(), collections.abc.MutableSequence)
        self.assertIsInstance(java.java.util.HashMap(), collections.abc.MutableMapping)
        self.assertIsInstance(java.java.util.HashSet(), collections.abc.MutableSet)
        self.assertIsInstance(java.array("int", 1), collections.abc.Sequence)
        match array_list(1, 2, 3):
            case [one, *others]:
                self.assertEqual((one, others), (1, [2, 3]))
            case _:
                self.fail("no sequence")


class Sets(unittest.TestCase):
    def test_a_set_has_the_operators_of_python(self):
        s = java.java.util.TreeSet([1, 2])
        self.assertTrue(s == {1, 2} and {1, 2} == s and s != {1} and s != {1, 3})
        self.assertEqual((s & {1}, s | [5], s - {1}, s ^ {2, 3}), ({1}, {1, 2, 5}, {2}, {1, 3}))
        self.assertEqual(({1} & s, {5} - s), ({1}, {5}))
        self.assertTrue(s <= {1, 2, 3} and s < {1, 2, 3} and s >= {1} and s > {1} and s.isdisjoint({7}))
        s.update([9], {10})
        s.discard(1)
        s.discard(77)
        self.assertEqual(s, {2, 9, 10})
        self.assertEqual(java.java.util.HashSet([jpeer.jlong(5)]), {5})

    def test_sets_and_deques_with_an_order_are_reversible(self):
        for kind in ("TreeSet", "ArrayDeque", "LinkedList", "concurrent.ConcurrentLinkedDeque"):
            self.assertEqual(list(reversed(java.type(f"java.util.{kind}")([1, 2, 3]))), [3, 2, 1])
        with self.assertRaises(TypeError):
            reversed(java.java.util.HashSet([1]))

    def test_in_place_operators_change_the_java_set(self):
        for kind in (java.java.util.TreeSet, java.java.util.HashSet):
            s = same = kind([1, 2])
            s |= {3}
            s |= kind([4])
            s -= {1, 77}
            self.assertEqual(same, {2, 3, 4})
            s &= kind([2, 3, 9])
            s ^= {3, 5}
            self.assertEqual(same, {2, 5})
            self.assertIs(s, same)
            s -= s
            self.assertEqual(same, set())
        longs = same = java.java.util.HashSet([jpeer.jlong(5), jpeer.jlong(6)])
        longs -= {5}
        self.assertEqual(same, {6})
        with self.assertRaises(TypeError):
            longs |= 5


class Maps(unittest.TestCase):
    def test_maps_with_an_order_are_reversible(self):
        for kind in (java.java.util.LinkedHashMap, java.java.util.TreeMap):
            m = kind({"a": 1, "b": 2})
            self.assertEqual((list(reversed(m)), list(reversed(m.items()))), (["b", "a"], [("b", 2), ("a", 1)]))
        m = java.java.util.HashMap({0: "x", 1: "y"})
        for each in (m, m.items()):
            self.assertRaisesRegex(TypeError, "not reversible", reversed, each)

    def test_items_are_a_set(self):
        m = java.java.util.LinkedHashMap()
        m["b"], m["a"] = 1, 2
        items, others = m.items(), {"a": 2, "c": 3}.items()
        self.assertEqual((items & others, items - others, others - items), ({("a", 2)}, {("b", 1)}, {("c", 3)}))
        self.assertEqual((items | {1}, items ^ others), ({1, ("b", 1), ("a", 2)}, {("b", 1), ("c", 3)}))
        self.assertTrue(items == {"a": 2, "b": 1}.items() and items != others and items >= {("b", 1)})
        self.assertTrue(items.isdisjoint({1}) and isinstance(items, collections.abc.Set))
        for other in (5, "ab", (1,), None):
            self.assertNotIn(other, items)
        self.assertEqual([tuple(each) for each in java.java.util.ArrayList(items)], [("b", 1), ("a", 2)])
        self.assertEqual(java.java.util.ArrayList({"b": 1, "a": 2}.keys()), ["b", "a"])

    def test_in_place_or_changes_the_java_map(self):
        m = same = java.java.util.HashMap({"a": 1})
        m |= {"b": 2}
        m |= java.java.util.HashMap({5: None})
        m |= [("c", 3)]
        self.assertIs(m, same)
        self.assertEqual(m, {"a": 1, "b": 2, "c": 3, 5: None})

    def test_a_map_reads_like_a_dict(self):
        m = java.java.util.LinkedHashMap({"a": 1, "b": 2})
        self.assertEqual((m["a"], len(m), list(m), "a" in m, "z" in m), (1, 2, ["a", "b"], True, False))
        self.assertEqual(
            (list(m.keys()), list(m.values()), list(m.items())), (["a", "b"], [1, 2], [("a", 1), ("b", 2)])
        )
        self.assertEqual((m.get("a"), m.get("z"), m.get("z", 7)), (1, None, 7))
        self.assertTrue(m == {"a": 1, "b": 2} and m != {"a": 1} and {"a": 1, "b": 2} == m)
        self.assertEqual(dict(m), {"a": 1, "b": 2})
        self.assertEqual(dict(m.items()), {"a": 1, "b": 2})
        self.assertIn(("a", 1), m.items())
        self.assertNotIn(("a", 2), m.items())
        self.assertEqual(len(m.items()), 2)
        self.assertEqual(m | {"c": 3}, {"a": 1, "b": 2, "c": 3})
        self.assertEqual(m._ipython_key_completions_(), ["a", "b"])
        with self.assertRaises(KeyError):
            m["z"]

    def test_a_map_changes_like_a_dict(self):
        m = java.java.util.HashMap()
        m["a"] = 1
        m.update({"b": 2}, c=3)
        m.update(java.java.util.HashMap({5: None}))
        self.assertEqual(m, {"a": 1, "b": 2, "c": 3, 5: None})
        self.assertIsNone(m[5])
        self.assertEqual((m.pop("a"), m.pop("a", 9), m.setdefault("b", 0), m.setdefault("d", 4)), (1, 9, 2, 4))
        del m["b"]
        with self.assertRaises(KeyError):
            del m["b"]
        self.assertRaises(KeyError, m.pop, "b")
        self.assertEqual(dict([m.popitem()]).keys() - {"c", "d", 5}, set())
        self.assertEqual(len(m), 2)
        with self.assertRaises(KeyError):
            java.java.util.HashMap().popitem()

    def test_keys_of_other_types(self):
        m = java.java.util.HashMap()
        m.put(jpeer.jlong(5), "long")
        self.assertEqual((m[5], 5 in m, m.get(5)), ("long", True, "long"))
        del m[5]
        self.assertEqual(len(m), 0)
        tree = java.java.util.TreeMap({"a": 1})
        self.assertNotIn(5, tree)
        self.assertEqual(tree.get(5, "none"), "none")

    def test_entries_are_pairs(self):
        m = java.java.util.TreeMap({"a": 1})
        for entry in m.entrySet():
            self.assertEqual((entry.getKey(), entry.getValue(), entry.key, entry.value), ("a", 1, "a", 1))
        key, value = m.firstEntry()
        self.assertEqual((key, value, m.firstEntry()[1]), ("a", 1, 1))

    def test_properties_are_a_map(self):
        self.assertEqual(java.java.lang.System.getProperties()["line.separator"], "\n")


class Iterators(unittest.TestCase):
    def test_iterators_continue_where_a_loop_stopped(self):
        it = array_list(1, 2, 3, 4, 5).iterator()
        self.assertEqual((next(it), next(it)), (1, 2))
        self.assertEqual(list(itertools.islice(it, 2)), [3, 4])
        self.assertEqual((list(it), list(it)), ([5], []))
        self.assertRaises(StopIteration, next, it)

    def test_next_consumes_one_element(self):
        it = array_list(1, 2, 3).iterator()
        next(it)
        self.assertEqual(it.next(), 2)

    def test_enumerations_are_iterators(self):
        util = java.java.util
        self.assertEqual(list(util.Collections.enumeration(array_list(1, 2))), [1, 2])
        self.assertEqual(list(util.concurrent.ConcurrentHashMap({"a": 1}).keys()), ["a"])  # also an Iterator
        self.assertEqual(list(util.Hashtable({"a": 1}).elements()), [1])

    def test_an_object_of_two_interfaces_has_the_additions_of_both(self):
        """Tests each pair of interfaces that a proxy can implement."""
        known = [each for each in MIXINS if each != "scala.Product2"]
        interfaces = [each for each in known if java.class_object(each).isInterface()]
        proxies = 0
        for pair in itertools.combinations(interfaces, 2):
            try:
                proxy = java.java.lang.reflect.Proxy.newProxyInstance(
                    None, [java.class_object(each) for each in pair], lambda *_: None)
            except (ValueError, jpeer.JavaException):  # their methods differ only in the result
                continue
            proxies += 1
            with self.subTest(pair):
                for each in pair:
                    self.assertIsInstance(proxy, MIXINS[each])
        self.assertGreater(proxies, 30)

    def test_scala_and_kotlin_collections_iterate(self):
        scala = java.fixtures.Iterables.asInScala(1, 2, 3)
        self.assertEqual((list(scala), len(scala), list(scala.iterator())), ([1, 2, 3], 3, [1, 2, 3]))
        iterator = scala.iterator()
        self.assertEqual((next(iterator), list(iterator)), (1, [2, 3]))
        self.assertRaises(StopIteration, next, iterator)
        kotlin = java.fixtures.Iterables.asInKotlin(*range(100))
        self.assertEqual((list(kotlin), next(iter(kotlin))), (list(range(100)), 0))
        self.assertEqual(jpeer.to_python([scala, {"k": kotlin.iterator()}]), [[1, 2, 3], {"k": list(range(100))}])

    def test_int_of_a_number_beyond_long_is_exact(self):
        Digits, huge = java.fixtures.Texts.Digits, 2**64 - 2
        for number in (huge, -huge, 2**63, 2**63 - 1, -2**63, -2**63 - 1, 2**53 + 1, 0):
            self.assertEqual(int(Digits(str(number), str(number))), number)
            self.assertEqual(jpeer.to_python(Digits(str(number), str(number))), number)
        self.assertEqual(int(Digits("3.75", "15/4")), 3)
        with self.assertRaisesRegex(OverflowError, "36893488147419103229/2 of fixtures.Texts.Digits exceeds a long"):
            int(Digits("18446744073709551614.5", "36893488147419103229/2"))
        adder = java.java.util.concurrent.atomic.DoubleAdder()
        adder.add(1e300)
        self.assertEqual(int(adder), int(1e300))
        adder.add(float("inf"))
        with self.assertRaises(OverflowError):
            int(adder)
        adder.add(float("-inf"))
        with self.assertRaises(ValueError):
            int(adder)

    def test_to_python_converts_nested_values(self):
        util, atomic = java.java.util, java.java.util.concurrent.atomic
        inner = util.HashMap({"n": atomic.AtomicInteger(3), "x": atomic.DoubleAdder(), "day": util.concurrent.TimeUnit.DAYS})
        ints = java.array("int", [1, 2])
        outer = util.LinkedHashMap({"a": util.ArrayList([inner, ints, util.TreeSet(["z"]), None, True, 1.5, "text"])})
        outer["o"] = util.Optional.of(util.ArrayList([1]))
        outer["b"] = util.stream.Stream.of(util.List.of(1), util.List.of())
        wanted = {"a": [{"n": 3, "x": 0.0, "day": "DAYS"}, [1, 2], ["z"], None, True, 1.5, "text"], "o": [1], "b": [[1], []]}
        self.assertEqual(json.loads(json.dumps(jpeer.to_python(outer))), wanted)
        self.assertEqual(jpeer.to_python(util.AbstractMap.SimpleEntry("k", util.ArrayList())), ("k", []))
        self.assertEqual(jpeer.to_python(java.java.math.BigDecimal("1.10")), decimal.Decimal("1.10"))
        thread = java.java.lang.Object()
        self.assertIs(jpeer.to_python(thread), thread)
        xs = array_list(1)
        self.assertEqual(jpeer.to_python([xs, xs]), [[1], [1]])
        xs.add(util.Map.of("xs", xs))
        self.assertRaisesRegex(ValueError, "contains itself", jpeer.to_python, xs)

    def test_streams_iterate(self):
        Stream = java.java.util.stream.Stream
        self.assertEqual(list(Stream.of(1, 2, 3).map(lambda x: x * 2)), [2, 4, 6])
        self.assertEqual(list(java.java.util.stream.IntStream.range(0, 3_000)), list(range(3_000)))
        self.assertEqual(sorted(array_list(3, 1).stream()), [1, 3])

    def test_an_endless_stream_is_read_on_demand(self):
        powers = java.java.util.stream.Stream.iterate(1, lambda x: x * 2)
        self.assertEqual(list(itertools.islice(powers, 10)), [2**n for n in range(10)])
        self.assertEqual(next(powers), 1024)

    def test_every_iterable_iterates(self):
        self.assertEqual([str(each) for each in java.java.nio.file.Path.of("/a/b")], ["a", "b"])

    def test_an_exception_ends_a_loop_after_the_elements_before_it(self):
        stream = array_list(1, 2, 0, 4).stream().map(lambda x: 4 // x)
        found = []
        with self.assertRaises(ZeroDivisionError):
            for each in stream:
                found.append(each)
        self.assertEqual(found, [4, 2])

    def test_a_python_iterator_is_a_java_iterator(self):
        values = java.java.util.Iterator(iter("abc"))
        stream = java.java.util.stream.StreamSupport.stream(
            java.java.util.Spliterators.spliteratorUnknownSize(values, 0), False
        )
        self.assertEqual(list(stream.toList()), ["a", "b", "c"])


class Leaks(unittest.TestCase):
    def held(self):
        gc.collect()
        java.java.lang.System.nanoTime()  # sends the releases of dropped objects
        return java.stats()["objects"]

    def test_unfinished_iterators_are_freed(self):
        xs = array_list(*range(100))
        stream = java.java.util.stream.Stream

        def read_some():
            next(xs.iterator())
            list(itertools.islice(xs.iterator(), 20))
            list(itertools.islice(stream.iterate(1, lambda x: x + 1), 10))
            for _ in xs.stream():
                break

        read_some()
        before = self.held()
        for _ in range(20):
            read_some()
        self.assertLessEqual(self.held(), before)


class Arrays(unittest.TestCase):
    def test_array_takes_elements_or_lengths(self):
        self.assertEqual(java.array("int", 3), [0, 0, 0])
        self.assertEqual(java.array("int", [5]), [5])
        self.assertEqual(java.array("double", range(3)), [0.0, 1.0, 2.0])
        self.assertEqual(java.array("java.lang.String", ["a", None, "ü😀"]), ["a", None, "ü😀"])
        self.assertEqual(java.array(java.java.awt.Point, 2), [None, None])
        self.assertEqual([len(each) for each in java.array("int", 2, 3)], [3, 3])
        self.assertEqual(len(java.array("java.lang.String", 2, 3)[1]), 3)
        self.assertEqual(java.type("int[]")([1, 2]), [1, 2])
        self.assertEqual(java.type("int[][]")([[1], [2, 3]])[1], [2, 3])
        self.assertRaises(TypeError, java.array, "int", ["x"])
        self.assertRaises(java.java.lang.NegativeArraySizeException, java.array, "int", -1)

    def test_arrays_are_sequences_of_fixed_length(self):
        for xs in (java.array("int", range(30)), java.array("java.lang.Object", list(range(30)))):
            with self.subTest(xs):
                self.assertEqual((len(xs), xs.length, xs[0], xs[-1], list(xs)), (30, 30, 0, 29, list(range(30))))
                self.assertEqual(
                    (xs[1:5], xs[::-7], 8 in xs, 99 in xs), ([1, 2, 3, 4], [29, 22, 15, 8, 1], True, False)
                )
                xs[0] = 7
                xs[-1] = 8
                xs[1:3] = [70, 80]
                self.assertEqual((xs[0], xs[29], xs[1:3], xs.index(80), xs.count(7)), (7, 8, [70, 80], 2, 2))
                with self.assertRaises(IndexError):
                    xs[30]
                with self.assertRaises(ValueError):
                    xs[1:3] = [1]
                with self.assertRaisesRegex(TypeError, "the length of an array is fixed"):
                    del xs[0]
                self.assertEqual(xs[:2] * 2, (xs * 2)[:2] * 2)
                same = xs
                for attempt in (operator.iadd, operator.imul):
                    self.assertRaisesRegex(TypeError, "the length of an array is fixed", attempt, same, 2)

    def test_clone_copies_an_array(self):
        for name, content in (("int", [1, 2]), ("java.lang.String", ["a", None]), ("char", "ab"), ("double", 0)):
            xs = java.array(name, content)
            copy = xs.clone()
            self.assertEqual((list(copy), type(copy), copy == xs), (list(xs), type(xs), False))
        xs = java.array("int", 2, 1)
        self.assertTrue(jpeer.same(xs.clone()[0], xs[0]))

    def test_other_arrays_are_assigned_to_ranges(self):
        xs = java.array("int", 6)
        xs[:2] = array.array("q", [1, 2])
        xs[2:4] = java.array("int", [3, 4])
        xs[4:5] = java.array("byte", [5])
        xs[-1:] = b"\xff"
        self.assertEqual(xs, [1, 2, 3, 4, 5, 255])
        xs[::3] = memoryview(b"78")
        for wrong, error in ((b"123", ValueError), (array.array("q", [1, 2**31]), OverflowError),
                             (array.array("d", [1, 2]), TypeError), ([1, 2**31], OverflowError)):
            with self.assertRaises(error):
                xs[:2] = wrong
        self.assertEqual(xs, [55, 2, 3, 56, 5, 255])
        large = java.array("float", 2_000_000)
        large[:] = array.array("d", [0.5]) * 2_000_000
        self.assertEqual((large[0], large[-1]), (0.5, 0.5))
        rows = java.array("double", 2, 2)
        rows[:] = memoryview(array.array("d", range(4))).cast("B").cast("d", [2, 2])
        self.assertEqual(list(map(list, rows)), [[0, 1], [2, 3]])

    def test_an_array_longer_than_an_answer_is_read_in_ranges(self):
        """The array is read in ranges, as large as the peer allows, and keeps its type."""
        with launch(options=["--message-max", "1m", "--send-buffer-max", "1m"]) as other:
            formats = {"byte": "b", "short": "h", "int": "i", "long": "q", "float": "f", "double": "d", "boolean": "?"}
            for kind, form in {**formats, "char": "H"}.items():
                with self.subTest(kind):
                    large = other.array(kind, 2_000_003)
                    large[-1] = {"char": "x", "boolean": True}.get(kind, 1)
                    view = memoryview(large)
                    self.assertEqual((view.format, len(view)), (form, 2_000_003))
                    self.assertEqual((view[0], view[-2], view[-1]), (0, 0, ord("x") if kind == "char" else 1))
                    self.assertEqual(len(bytes(large)), view.nbytes)
                    self.assertEqual(large[2_000_000:], [*"\0\0x"] if kind == "char" else [0, 0, 1])
            self.assertEqual(bytes(other.array("int", 0)), b"")

    def test_a_wrong_element_is_refused(self):
        xs = java.array("int", 2)
        with self.assertRaises(TypeError):
            xs[0] = "x"
        with self.assertRaises(OverflowError):
            xs[0] = 2**40
        with self.assertRaises(java.java.lang.ArrayStoreException):
            java.java.lang.System.arraycopy(
                java.array("java.lang.String", ["x"]), 0, java.array("java.lang.Integer", 1), 0, 1
            )

    def test_arrays_compare_with_lists_and_by_identity(self):
        xs = java.array("int", [1, 2])
        self.assertTrue(xs == [1, 2] and xs == xs and xs != java.array("int", [1, 2]) and xs != [1])
        self.assertEqual(hash(xs), hash(xs))

    def test_repr_shows_ten_elements(self):
        for name in ("boolean", "byte", "char", "double", "float", "int", "long", "short", "java.lang.String"):
            self.assertTrue(repr(java.array(name, 1)).startswith(f"<{name}[] of 1: "), name)
        self.assertEqual(repr(java.array("int", [1, 2])), "<int[] of 2: [1, 2]>")
        self.assertEqual(repr(java.array("int", 100)), "<int[] of 100: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ...]>")


class Progress(unittest.TestCase):
    def test_to_list_reads_everything_with_progress(self):
        xs = java.java.util.ArrayList(range(3_000))
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            self.assertEqual(jpeer.to_list(xs, progress=True), list(range(3_000)))
            self.assertEqual(jpeer.to_list(xs.stream(), progress=True), list(range(3_000)))
            it = java.java.util.ArrayList(range(30)).iterator()
            self.assertEqual([next(it), next(it), *jpeer.to_list(it, progress=True)], list(range(30)))
            self.assertEqual(jpeer.to_list(java.java.util.TreeMap({"a": 1, "b": 2}), progress=True), ["a", "b"])
            self.assertEqual(jpeer.to_list(java.array("int", [1, 2]), progress=True), [1, 2])
        self.assertEqual(jpeer.to_list([1, 2], progress=True), [1, 2])
        if importlib.util.find_spec("tqdm") is None:
            self.skipTest("no tqdm")
        self.assertIn("3000/3000", shown.getvalue())
