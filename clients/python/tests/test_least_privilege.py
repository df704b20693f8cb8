"""Under a policy that allows only interfaces, Python's operators work on all classes that implement them."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import jpeer
import jpeer.aio
from support import FIXTURES, launch

INTERFACES = ("List", "Map", "Set", "Collection", "Iterator", "Map$Entry")
MAKERS = """
  - {class: "java.util.*", members: CONSTRUCTOR, method: "<init>", action: ALLOW}
  - {class: "java.util.concurrent.*", members: CONSTRUCTOR, action: ALLOW}
  - {class: java.util.Arrays, method: asList, action: ALLOW}
  - {class: java.util.Collections, method: "unmodifiable*", action: ALLOW}
  - {class: java.util.Collections, method: nCopies, action: ALLOW}
  - {class: java.util.Collections, method: enumeration, action: ALLOW}
  - {class: java.util.Collections, method: list, action: ALLOW}
  - {class: java.lang.reflect.Proxy, method: newProxyInstance, action: ALLOW}
  - {class: java.lang.reflect.InvocationHandler, action: ALLOW}
  - {class: fixtures.heritage.Heritage, action: ALLOW}
  - {class: fixtures.heritage.Open, action: ALLOW}
  - {class: java.util.stream.Stream, action: ALLOW}
  - {class: "java.util.function.*", action: ALLOW}
"""
ALLOWED = "".join(f'\n  - {{class: "java.util.{each}", action: ALLOW}}' for each in INTERFACES)


def setUpModule():
    global java, util, folder
    folder = tempfile.TemporaryDirectory(prefix="jpeer-test-")
    java = launch_with(MAKERS + ALLOWED)
    util = java.java.util


def tearDownModule():
    java.close()
    folder.cleanup()


def launch_with(rules, **options):
    path = Path(tempfile.mkstemp(".yaml", dir=folder.name)[1])
    path.write_text(f"version: 1\nrules:{rules}\n")
    return launch(classpath=[FIXTURES], policy=path, **options)


def listed(*elements):
    """An ArrayList, made without its constructor."""
    return util.Collections.list(util.Collections.enumeration(elements))


def tree(**entries):
    return util.TreeMap(entries)


class Operators(unittest.TestCase):
    def check(self, makers, idioms):
        for number, make in enumerate(makers):
            for name, (idiom, expected) in idioms.items():
                made = make()
                with self.subTest(number=number, type=type(made).__name__, idiom=name):
                    self.assertEqual(idiom(made), expected)

    def test_lists_can_be_read(self):
        abc = ["a", "b", "c"]
        self.check(
            [lambda: listed(*abc), lambda: util.LinkedList(abc), lambda: util.Vector(abc), lambda: util.List.of(*abc),
             lambda: util.Arrays.asList(*abc), lambda: util.Collections.unmodifiableList(util.ArrayList(abc)),
             lambda: util.ArrayList([*abc, "d"]).subList(0, 3), lambda: util.List.of(*abc, "d").subList(0, 3),
             lambda: java.java.util.concurrent.CopyOnWriteArrayList(abc), lambda: util.List.copyOf(util.ArrayList(abc))],
            {
                "list": (list, abc), "==": (lambda x: (x == abc, x == tuple(abc), x == ["a"]), (True, True, False)),
                "index": (lambda x: (x[0], x[-1]), ("a", "c")), "in": (lambda x: ("a" in x, "z" in x, 5 in x), (True, False, False)),
                "slices": (lambda x: (x[0:2], x[1:], x[::2], x[::-1]), (["a", "b"], ["b", "c"], ["a", "c"], ["c", "b", "a"])),
                "len": (lambda x: (len(x), bool(x), x.size(), x.isEmpty()), (3, True, 3, False)),
                "reversed": (lambda x: list(reversed(x)), ["c", "b", "a"]),
                "iterator": (lambda x: (list(x.iterator()), next(x.iterator()), x.iterator().next()), (abc, "a", "a")),
                "has": (lambda x: [hasattr(x, each) for each in ("get", "keys", "_foo", "size")], [True, False, False, True]),
                "isinstance": (lambda x: isinstance(x, util.List), True), "to_python": (jpeer.to_python, abc),
                "+": (lambda x: x + ["d"], [*abc, "d"]), "unpack": (lambda x: [*x], abc),
            },
        )  # fmt: skip

    def test_lists_can_be_changed(self):
        def changed(change):
            def idiom(x):
                change(x)
                return list(x)

            return idiom

        def put(where, value):
            return changed(lambda x: x.__setitem__(where, value))

        def delete(where):
            return changed(lambda x: x.__delitem__(where))

        self.check(
            [lambda: listed("a", "b", "c"), lambda: util.LinkedList(["a", "b", "c"])],
            {
                "append": (changed(lambda x: x.append("d")), ["a", "b", "c", "d"]), "[]": (put(0, "z"), ["z", "b", "c"]),
                "same length": (put(slice(0, 2), ["x", "y"]), ["x", "y", "c"]), "longer": (put(slice(0, 2), "xyz"), ["x", "y", "z", "c"]),
                "empty": (put(slice(None), []), []), "steps": (put(slice(0, 3, 2), "xy"), ["x", "b", "y"]), "del": (delete(0), ["b", "c"]),
                "del slice": (delete(slice(0, 2)), ["c"]), "del steps": (delete(slice(0, 3, 2)), ["b"]),
                "*=": (changed(lambda x: x.__imul__(3)), ["a", "b", "c"] * 3), "insert": (changed(lambda x: x.insert(-1, "z")), ["a", "b", "z", "c"]),
                "extend": (changed(lambda x: x.extend(util.List.of("d"))), ["a", "b", "c", "d"]), "pop": (lambda x: x.pop(), "c"),
            },
        )  # fmt: skip
        fixed = util.Arrays.asList("a", "b", "c")
        fixed[1:] = ["x", "y"]
        self.assertEqual(fixed, ["a", "x", "y"])

    def test_sets_can_be_read(self):
        chm = java.java.util.concurrent.ConcurrentHashMap
        self.check(
            [lambda: util.HashSet(["a", "b"]), lambda: util.TreeSet(["a", "b"]), lambda: util.Set.of("a", "b"),
             lambda: util.HashMap({"a": 1, "b": 2}).keySet(), lambda: tree(a=1, b=2).keySet(), lambda: chm({"a": 1, "b": 2}).keySet(),
             lambda: util.Collections.unmodifiableSet(util.HashSet(["a", "b"])), lambda: util.Map.of("a", 1, "b", 2).keySet()],
            {
                "for": (lambda x: sorted(each for each in x), ["a", "b"]), "==": (lambda x: (x == {"a", "b"}, x == {"a"}), (True, False)),
                "in": (lambda x: ("a" in x, "z" in x), (True, False)), "len": (len, 2), "<=": (lambda x: (x <= {"a", "b"}, x < {"a"}), (True, False)),
                "operators": (lambda x: (x & {"a"}, x | {"c"}, x - {"a"}, x ^ {"a"}), ({"a"}, {"a", "b", "c"}, {"b"}, {"b"})),
                "iterator": (lambda x: sorted(x.iterator()), ["a", "b"]),
            },
        )  # fmt: skip

    def test_maps_can_be_read(self):
        concurrent, plain = java.java.util.concurrent, {"a": 1, "b": 2}
        self.check(
            [lambda: util.HashMap(plain), lambda: tree(**plain), lambda: util.Map.of("a", 1, "b", 2), lambda: util.Hashtable(plain),
             lambda: concurrent.ConcurrentHashMap(plain), lambda: concurrent.ConcurrentSkipListMap(plain),
             lambda: util.Collections.unmodifiableMap(util.LinkedHashMap(plain)), lambda: util.Map.copyOf(plain)],
            {
                "for": (sorted, ["a", "b"]), "items": (lambda x: sorted(x.items()), [("a", 1), ("b", 2)]), "keys": (lambda x: sorted(x.keys()), ["a", "b"]),
                "values": (lambda x: sorted(x.values()), [1, 2]), "dict": (lambda x: (dict(x), dict(x.items()), {**x}), (plain, plain, plain)),
                "[]": (lambda x: (x["a"], x.get("b"), x.get("z", 5)), (1, 2, 5)), "in": (lambda x: ("a" in x, "z" in x), (True, False)),
                "==": (lambda x: (x == plain, x == {}), (True, False)), "len": (len, 2), "default": (lambda x: x.getOrDefault("z", 7), 7),
                "entries": (lambda x: sorted((each.getKey(), each.getValue()) for each in x.entrySet()), [("a", 1), ("b", 2)]),
                "iterator": (lambda x: next(x.entrySet().iterator())[0] in "ab", True), "pairs": (lambda x: ("a", 1) in x.items(), True),
            },
        )  # fmt: skip

    def test_maps_can_be_changed(self):
        ages = util.HashMap({"a": 1})
        ages.update({5: 50, 2**40: 60})
        ages |= {"b": 2}
        ages["c"] = 3
        del ages["a"]
        self.assertEqual((ages == {5: 50, 2**40: 60, "b": 2, "c": 3}, ages.pop("c"), ages.setdefault("z", 9)), (True, 3, 9))

    def test_entries_can_be_read(self):
        key, value = util.Map.entry("k", 1)
        self.assertEqual((key, value, util.Map.entry("k", 1) == util.Map.entry("k", 1)), ("k", 1, True))

    def test_classes_without_a_name_are_allowed_by_their_supertypes(self):
        proxy = java.java.lang.reflect.Proxy.newProxyInstance(None, [util.Iterator], lambda *_: True)
        self.assertTrue(proxy.hasNext())
        hidden = java.fixtures.heritage.Heritage.hidden()
        self.assertEqual((hidden.read(), hidden.take("x"), hidden.give()), ("Hidden", "took x", "given"))
        with self.assertRaisesRegex(PermissionError, "supertype that declares it .*fixtures.heritage.Ancestor"):
            hidden.secret()

    def test_methods_that_an_allowed_interface_inherits_are_allowed(self):
        for make in (lambda: listed(1, 2), lambda: util.List.of(1, 2), lambda: util.LinkedList([1, 2])):
            held, seen = make(), []
            held.forEach(seen.append)
            self.assertEqual((seen, str(held), f"{held}", hash(held) == held.hashCode(), held == make()), ([1, 2], "[1, 2]", "[1, 2]", True, True))
            self.assertEqual((list(held.stream()), next(held.stream()), list(held.stream().sorted())), ([1, 2], 1, [1, 2]))
            self.assertEqual(len({held, make()}), 1)
        hidden = java.fixtures.heritage.Heritage.hidden()
        self.assertEqual((hidden == hidden, hidden == listed(), hidden in [listed(), hidden], len({hidden})), (True, False, True, 1))

    def test_dict_accepts_a_list_of_pairs(self):
        self.assertEqual(dict(listed(util.Map.entry("a", 1), util.Map.entry("b", 2))), {"a": 1, "b": 2})


class Names(unittest.TestCase):
    """Names that are in no description."""

    def test_one_method_of_an_interface_may_be_allowed(self):
        rules = """
  - {class: fixtures.heritage.Heritage, method: hidden, action: ALLOW}
  - {class: fixtures.heritage.Open, method: read, action: ALLOW}"""
        with launch_with(rules) as other:
            for _ in range(2):
                bean = other.fixtures.heritage.Heritage.hidden()
                self.assertEqual(bean.read(), "Hidden")
            for use in (bean.give, bean.secret, bean.local, lambda: str(bean), lambda: bean == 5,
                        other.fixtures.heritage.Heritage.below):
                self.assertRaises(PermissionError, use)
            self.assertEqual(repr(bean), "<fixtures.heritage.Heritage$Hidden>")

    def test_objects_without_equals_of_their_own_are_compared_without_rules(self):
        rules = """
  - {class: fixtures.heritage.Heritage, method: hidden, action: ALLOW}
  - {class: fixtures.heritage.Open, method: read, action: ALLOW}
  - {class: java.util.concurrent.TimeUnit, method: valueOf, action: ALLOW}
  - {class: java.util.Collections, method: list, action: ALLOW}
  - {class: java.util.Collections, method: emptyEnumeration, action: ALLOW}"""
        with launch_with(rules) as other:
            there = other.java.util
            first, second = other.fixtures.heritage.Heritage.hidden(), other.fixtures.heritage.Heritage.hidden()
            self.assertEqual(({first, second, first}, first == second), ({first, second}, False))
            second_unit, minute = map(there.concurrent.TimeUnit.valueOf, ("SECONDS", "MINUTES"))
            self.assertEqual({second_unit: 1, minute: 2}[there.concurrent.TimeUnit.valueOf("SECONDS")], 1)
            made = [there.Collections.list(there.Collections.emptyEnumeration()) for _ in range(2)]
            self.assertRaises(PermissionError, hash, made[0])
            self.assertRaises(PermissionError, lambda: made[0] == made[1])

    def test_dir_shows_what_is_allowed(self):
        names = dir(util.PriorityQueue())
        self.assertEqual([each in names for each in ("size", "iterator", "comparator")], [True, True, False])

    def test_a_denied_method_raises_when_it_is_used(self):
        held = listed("a")
        with self.assertRaises(jpeer.Denied) as caught:
            held.trimToSize()
        self.assertIn('A rule that allows it: {class: "java.util.ArrayList", method: "trimToSize", action: ALLOW}', str(caught.exception))
        self.assertRegex(repr(held.trimToSize), "ArrayList.trimToSize, which the policy denies")
        self.assertRaises(TypeError, held.trimToSize, key=5)
        for use in (lambda: bool(held.modCount), lambda: held.modCount == 0, lambda: held.add(held.modCount), lambda: {held.modCount},
                    lambda: held.removeIf(held.test)):
            self.assertRaisesRegex(PermissionError, "A rule that allows it", use)
        self.assertEqual(held, ["a"])
        with self.assertRaisesRegex(PermissionError, 'class: "java.util.Collections", method: "shuffle"'):
            util.Collections.shuffle(held)

    def test_python_overrides_default_methods_that_only_callbacks_may_use(self):
        @jpeer.implements("fixtures.members.Callbacks$Greeter")
        class Mine:
            def name(self):
                return "me"

            def greet(self):
                return "from Python"

            def repeat(self, text):
                raise AssertionError("Java has no such overload")

        many = type("Many", (Mine,), {f"method{number}": lambda self: None for number in range(300)})
        greeter = "fixtures.members.Callbacks$Greeter"
        def wide(self, a=0, b=0, c=0, d=0, e=0, f=0, g=0, h=0, i=0, j=0):
            raise AssertionError("Java has no such method")

        optional = type("Optional", (Mine,), {f"method{number}": wide for number in range(25)})
        for described in ("", f'\n  - {{class: "{greeter}", method: name, action: ALLOW}}'):
            rules = f"""
  - {{class: fixtures.members.Callbacks, action: ALLOW}}{described}
  - {{class: "{greeter}", members: CALLBACK, action: ALLOW}}
"""
            with launch_with(rules) as own:
                greet = own.fixtures.members.Callbacks.greeter
                with self.subTest(described=described):
                    self.assertEqual(greet(Mine()), "from Python")
                    self.assertEqual(own.fixtures.members.Callbacks.repeat(Mine()), "ABABme")
                    self.assertEqual(greet(optional()), "from Python")
                    with self.assertRaisesRegex(ValueError, "more than 255 overrides"):
                        greet(many())

    def test_the_rule_in_the_error_allows_the_method(self):
        with self.assertRaises(PermissionError) as caught:
            listed().ensureCapacity(5)
        rule = str(caught.exception).partition("{")[2].partition("}")[0]
        with launch_with(MAKERS + ALLOWED + f"\n  - {{{rule}}}") as other:
            self.assertIsNone(other.java.util.ArrayList().ensureCapacity(5))

    def test_exceptions_have_only_allowed_members(self):
        with self.assertRaises(ValueError) as caught:
            java.java.lang.reflect.Proxy.newProxyInstance(None, [util.Iterator, util.Iterator], lambda *_: True)
        self.assertRaises(PermissionError, caught.exception.getMessage)
        with launch() as other, self.assertRaises(ValueError) as caught:
            other.java.lang.Integer.parseInt("x")
        self.assertIsNone(getattr(caught.exception, "exceptions", None))  # asked for by reports of exceptions

    def test_unknown_names_do_not_exist_if_everything_is_allowed(self):
        with launch() as other:
            held = other.java.util.ArrayList([1])
            for name in ("keys", "foo", "elementData", "removeRange", "modCount", "_size"):
                self.assertFalse(hasattr(held, name), name)
            self.assertFalse(hasattr(other.java.util.Arrays, "foo"))
            self.assertFalse(hasattr(other.array("int", [1]), "foo"))
            self.assertFalse(hasattr(other.java.util.function.Function.identity(), "foo"))
        self.assertFalse(hasattr(held, "never asked for"))

    def test_looking_up_a_name_calls_nothing(self):
        with launch(classpath=[FIXTURES]) as other:
            lists = [other.java.util.ArrayList([1, 2]) for _ in range(2)]
            for each in lists:
                self.assertRaises(AttributeError, lambda each=each: each.removeRange)
            self.assertEqual(lists[0], [1, 2])

    def calls(self, idiom):
        before = java.stats()["calls"]
        idiom()
        return java.stats()["calls"] - before

    def test_an_unknown_name_costs_one_request_once(self):
        held = util.ArrayDeque(["a"])
        hasattr(held, "trim")  # describes the class and its supertypes
        for name, count in (("trim", 0), ("trim2", 1), ("trim2", 0)):
            self.assertEqual(self.calls(lambda name=name: hasattr(held, name)), count)
        self.assertEqual(self.calls(lambda: hasattr(held, "_trim")), 0)
        for idiom, count in ((held.size, 1), (lambda: held.contains("a"), 1), (lambda: len(held), 1), (held.iterator, 1),
                             (lambda: str(held), 1), (lambda: hash(held), 0), (lambda: held.forEach(str), 1),
                             (lambda: list(held.parallelStream()), 4)):
            idiom()
            self.assertEqual(self.calls(idiom), count)

    def test_looking_up_a_denied_name_is_logged(self):
        rules = MAKERS + '\n  - {class: "java.util.ArrayList", method: trimToSize, action: LOG_AND_DENY}' + ALLOWED
        log = io.StringIO()
        with contextlib.redirect_stderr(log), launch_with(rules, options=["--log-level", "info"]) as other:
            held = other.java.util.ArrayList()
            self.assertTrue(hasattr(held, "trimToSize"))
        self.assertRegex(log.getvalue(), r'operation=call class="java.util.ArrayList" member="trimToSize" verdict=DENY')


class Loop(unittest.IsolatedAsyncioTestCase):
    async def test_asyncio_needs_no_more_rules(self):
        async with jpeer.aio.connect(java.url) as there:
            held = await there.java.util.ArrayList(["a"])
            self.assertEqual((await held.size(), [each async for each in held]), (1, ["a"]))
            self.assertFalse(hasattr(held, "keys"))
            self.assertEqual([each async for each in await held.stream()], ["a"])
            with self.assertRaisesRegex(PermissionError, "A rule that allows it"):
                await held.trimToSize()
            with self.assertRaisesRegex(PermissionError, "A rule that allows it"):
                await there.java.util.Collections.shuffle(held)
