"""Python objects that Java calls."""

import fractions
import functools
import gc
import operator
import threading
import unittest
import unittest.mock
import weakref

import jpeer
from support import FIXTURES, SECONDS, await_true, launch, module_peer, run_threads

java = None  # set while the tests of this module run
setUpModule, tearDownModule = module_peer(globals(), classpath=[FIXTURES])


class Functions(unittest.TestCase):
    def test_every_kind_of_callable_is_a_function(self):
        class Twice:
            def __call__(self, x):
                return x * 2

            def method(self, x):
                return x * 2

            @staticmethod
            def static(x):
                return x * 2

        def named(x):
            return x * 2

        for function in (
            lambda x: x * 2, named, Twice(), Twice().method, Twice.static, functools.partial(operator.mul, 2),
        ):
            with self.subTest(function):
                found = java.java.util.stream.Stream.of(1, 2).map(jpeer.cast("java.util.function.Function", function))
                self.assertEqual(list(found), [2, 4])
        self.assertEqual(list(java.java.util.stream.Stream.of(-1, 2).map(abs)), [1, 2])
        found = []
        java.java.util.ArrayList([1, 2]).forEach(found.append)
        self.assertEqual(found, [1, 2])

    def test_the_parameter_decides_what_a_result_becomes(self):
        Declared = java.fixtures.Declared

        @jpeer.implements("java.util.function.Function")
        class One:
            def apply(self, text):
                return 1

        def one(text):
            return 1

        for given in (one, One(), java.fixtures.Declared.LongMaker(one)):
            with self.subTest(given):
                self.assertEqual((Declared.apply(given), Declared.apply(given), Declared.same(given, given)), (2, 2, True))
        self.assertEqual([Declared.any(one), Declared.raw(One()), Declared.shorts(One()), Declared.texts(one)],
                         ["Integer:1", "Integer:1", "Short:1", "String:1"])
        for given in (one, One()):
            self.assertEqual((Declared.both(given, given), Declared.sameOfTwo(given, given)), ("Long:1 Integer:1", False))
        self.assertEqual(Declared.unary(java.java.util.function.UnaryOperator(one)), 2)
        self.assertEqual([Declared.lists(lambda: [1, 2]), Declared.maps(lambda: {"1": 2}), Declared.arrays(lambda: (1, 2))],
                         ["3[Long:1, Long:2]", "[Short:1=Double:2.0]", "[Long:1, Long:2]"])
        self.assertEqual([Declared.each([one, One()]), Declared.all(one, One()), Declared.curried(lambda a: one)],
                         ["[Long:2, Long:2]", "[Long:2, Long:2]", "Long:1"])
        self.assertEqual([Declared.optional(lambda: jpeer.cast("java.util.Optional", each)) for each in (1, None)],
                         ["Long:2", "nothing"])
        with self.assertRaisesRegex(jpeer.JavaException, "value: 70000: out of range for short"):
            Declared.shorts(lambda text: 70000)
        with self.assertRaisesRegex(jpeer.JavaException, r"value\[1\]: 2.5: not an integer for long"):
            Declared.lists(lambda: [1, 2.5])
        comparing = java.java.util.Comparator.comparing(lambda text: 1 if text == "a" else 2)
        self.assertEqual(list(java.java.util.stream.Stream.of("b", "a").sorted(comparing)), ["a", "b"])

    def test_arity_chooses_among_overloads(self):
        executor = java.java.util.concurrent.Executors
        self.assertEqual(java.java.util.stream.Stream.of(1, 2, 3).reduce(0, lambda a, b: a + b), 6)
        self.assertEqual(list(java.java.util.stream.Stream.iterate(1, lambda x: x + 1).limit(3)), [1, 2, 3])
        self.assertEqual(executor.callable(jpeer.cast("java.lang.Runnable", lambda: None), 5).call(), 5)

    def test_calling_an_interface_converts_a_function(self):
        Function = java.java.util.function.Function
        text = (
            java.java.util.stream.Stream.of(1, 2)
            .map(Function(str))
            .collect(java.java.util.stream.Collectors.joining(","))
        )
        self.assertEqual(text, "1,2")
        self.assertRaises(TypeError, Function, 5)
        self.assertRaises(TypeError, Function)

    def test_java_methods_are_functions(self):
        self.assertEqual(list(java.java.util.stream.Stream.of("1", "2").map(java.java.lang.Integer.parseInt)), [1, 2])
        xs = java.java.util.ArrayList()
        java.java.util.ArrayList([1, 2]).forEach(xs.append)
        self.assertEqual(xs, [1, 2])

    def test_a_boolean_method_gets_the_truth_of_the_result(self):
        numbers = java.java.util.stream.IntStream.range(0, 6)
        self.assertEqual(list(numbers.filter(lambda n: n % 2)), [1, 3, 5])
        words = java.java.util.ArrayList(["a", "", "b"])
        self.assertTrue(words.removeIf(lambda word: None if word else [1]))
        self.assertEqual(words, ["a", "b"])

        @jpeer.implements("java.util.function.Predicate")
        class Known:
            def test(self, word):
                return {"a": 5}.get(word)

        self.assertEqual(list(words.stream().filter(Known())), ["a"])
        self.assertEqual(list(words.stream().map(lambda word: [])), [[], []])

    def test_a_result_of_the_wrong_type_is_an_error(self):
        with self.assertRaises(jpeer.JavaException):
            java.java.util.ArrayList([2, 1]).sort(lambda a, b: "text")
        with self.assertRaises((jpeer.JavaException, TypeError)):
            java.java.util.ArrayList([2, 1]).sort(lambda a, b: object())

    def test_a_function_with_the_wrong_number_of_parameters_is_an_error(self):
        with self.assertRaisesRegex(TypeError, "positional argument"):
            java.java.util.ArrayList([2, 1]).sort(jpeer.cast("java.util.Comparator", lambda a: 0))

    def test_the_same_function_is_the_same_object(self):
        class Holder:
            __hash__ = None

            def method(self):
                pass

        def function():
            pass

        holder = Holder()
        for target in (function, holder.method):
            with self.subTest(target):
                xs = java.java.util.ArrayList()
                xs.add(jpeer.cast("java.lang.Runnable", target))
                self.assertTrue(xs.remove(jpeer.cast("java.lang.Runnable", target)))
        xs.add(jpeer.cast("java.lang.Runnable", function))
        self.assertFalse(xs.remove(jpeer.cast("java.lang.Runnable", lambda: None)))

    def test_a_listener_can_be_removed_by_its_function(self):
        model = java.type("javax.swing.DefaultBoundedRangeModel")()
        seen = []

        def changed(event):
            seen.append(event.getSource().getValue())

        model.addChangeListener(changed)
        model.setValue(5)
        model.removeChangeListener(changed)
        model.setValue(7)
        self.assertEqual(seen, [5])

    def test_a_bound_built_in_method_is_the_same_object_each_time(self):
        support = java.type("java.beans.PropertyChangeSupport")("source")
        seen, xs = [], java.java.util.ArrayList()
        for listener in (lambda: seen.append, lambda: xs.add):
            support.addPropertyChangeListener(listener())
            support.removePropertyChangeListener(listener())
            self.assertEqual(len(support.getPropertyChangeListeners()), 0)

    def test_functions_that_java_drops_are_freed(self):
        def function(x):
            return x

        reference = weakref.ref(function)
        self.assertEqual(list(java.java.util.stream.Stream.of(1).map(function)), [1])
        del function

        def is_gone():
            java.gc()
            java.java.lang.System.nanoTime()  # receives the messages that Java has sent
            gc.collect()
            return reference() is None

        await_true(is_gone)


class Implementations(unittest.TestCase):
    def test_implements_makes_a_class_an_interface(self):
        @jpeer.implements("java.util.Comparator")
        class Backwards:
            def compare(self, left, right):
                return right - left

        xs = java.java.util.ArrayList([1, 3, 2])
        xs.sort(Backwards())
        self.assertEqual(xs, [3, 2, 1])
        xs.sort(jpeer.cast("java.util.Comparator", Backwards()))

    def test_default_methods_run_in_java_unless_overridden(self):
        calls = []

        @jpeer.implements("java.util.Comparator")
        class Ordered:
            def compare(self, left, right):
                return left - right

        @jpeer.implements("java.util.Comparator")
        class Overriding(Ordered):
            def reversed(self):
                calls.append("reversed")
                return Ordered()

            def helper(self):
                pass

        nulls_first = java.java.util.Comparator.nullsFirst
        self.assertEqual(nulls_first(Ordered()).reversed().compare(1, 2), 1)
        self.assertEqual(nulls_first(Overriding()).reversed().compare(1, 2), -1)
        self.assertEqual(calls, ["reversed"])

    def test_a_method_overrides_the_overloads_of_its_arity(self):
        """The other overloads are declared by the interface: fixtures.members.Callbacks.Serializer."""

        @jpeer.implements("fixtures.members.Callbacks$Serializer")
        class Two:
            def serialize(self, topic, data):
                return f"two {topic} {data}"

        class Any(Two):
            def serialize(self, topic, *data):
                return f"any {topic} {data}"

        serialize = java.fixtures.members.Callbacks.serialize
        self.assertEqual(serialize(Two()), "headers: two t d; two t d")
        self.assertEqual(serialize(Any()), "any t ('h', 'd'); any t ('d',)")

    def test_a_class_may_have_many_methods(self):
        @jpeer.implements("java.util.Comparator")
        class Large(unittest.TestCase):
            def compare(self, left, right):
                return right - left

        xs = java.java.util.ArrayList([1, 3, 2])
        xs.sort(Large())
        self.assertEqual(xs, [3, 2, 1])
        many = {f"method{number}": lambda self: None for number in range(300)}
        xs.sort(type("Many", (Large,), {**many, "reversed": lambda self: Large()})())
        self.assertEqual(xs, [3, 2, 1])

    def test_a_class_may_implement_several_interfaces(self):
        ran = []

        @jpeer.implements(java.java.lang.Runnable, "java.util.concurrent.Callable")
        class Both:
            def run(self):
                ran.append("run")

            def call(self):
                return "called"

        both = Both()
        java.java.lang.Thread(both).run()
        task = java.java.util.concurrent.FutureTask(jpeer.cast("java.util.concurrent.Callable", both))
        task.run()
        self.assertEqual(task.get(), "called")
        self.assertEqual(ran, ["run"])

    def test_interfaces_of_bases_and_decorators_add_up(self):
        @jpeer.implements("java.lang.Runnable")
        class Base:
            def run(self):
                pass

        @jpeer.implements("java.util.concurrent.Callable")
        @jpeer.implements("java.util.function.Supplier")
        class Sub(Base):
            pass

        @jpeer.implements("java.util.Comparator")
        class Other:
            pass

        class Both(Sub, Other):
            pass

        names = jpeer.callbacks.interfaces_of(Both())
        self.assertEqual(
            sorted(each.rpartition(".")[2] for each in names), ["Callable", "Comparator", "Runnable", "Supplier"]
        )
        both = Both()
        java.java.lang.Thread(both).run()
        task = java.java.util.concurrent.FutureTask(jpeer.cast("java.lang.Runnable", both), 5)
        task.run()
        self.assertEqual(task.get(), 5)
        self.assertEqual(Base.__java_interfaces__, ("java.lang.Runnable",))

    def test_a_class_in_place_of_its_object_is_refused(self):
        @jpeer.implements("java.lang.Runnable")
        class Task:
            def run(self):
                pass

        class Plain:
            def __init__(self, value):
                self.value = value

        with self.assertRaisesRegex(TypeError, r"Task is a class that implements java.lang.Runnable: pass an object"):
            java.java.lang.Thread(Task)
        java.java.util.List.of(1).forEach(Plain)

    def test_a_missing_method_is_not_implemented(self):
        @jpeer.implements("java.lang.Runnable")
        class Nothing:
            pass

        with self.assertRaisesRegex(
            NotImplementedError, "Nothing has no method run, which java.lang.Runnable requires"
        ):
            java.java.util.concurrent.Executors.callable(Nothing()).call()

    def test_a_function_may_implement_an_interface(self):
        @jpeer.implements("java.util.function.UnaryOperator")
        def twice(x):
            return x * 2

        xs = java.java.util.ArrayList([1, 2])
        xs.replaceAll(twice)
        self.assertEqual(xs, [2, 4])
        self.assertEqual(twice(4), 8)

    def test_java_compares_by_identity_without_eq(self):
        @jpeer.implements("java.lang.Runnable")
        class Task:
            def run(self):
                pass

        one = Task()
        s = java.java.util.HashSet()
        s.add(one)
        s.add(one)
        s.add(Task())
        self.assertEqual(len(s), 2)

    def test_a_class_without_hash_has_none_in_java(self):
        @jpeer.implements("java.lang.Runnable")
        class Unhashable:
            def __eq__(self, other):
                return True

        class Callable:
            __eq__ = Unhashable.__eq__
            __hash__ = None

            def __call__(self):
                pass

        with self.assertRaisesRegex(TypeError, "unhashable type: 'Unhashable'"):
            java.java.util.HashSet().add(Unhashable())
        with self.assertRaisesRegex(TypeError, "unhashable type: 'Callable'"):
            java.java.util.HashSet().add(jpeer.cast("java.lang.Runnable", Callable()))
        self.assertTrue(java.java.util.ArrayList([Unhashable()]).contains(Unhashable()))

    def test_an_unknown_interface_is_an_error(self):
        @jpeer.implements("a.b.Nothing")
        class Wrong:
            pass

        with self.assertRaisesRegex((TypeError, AttributeError), "a.b.Nothing"):
            java.java.util.ArrayList().add(Wrong())


class Marks(unittest.TestCase):
    """Where @implements, or an attribute with the same effect, stores the names."""

    @jpeer.implements("java.util.function.Supplier")
    class Supplier:
        def get(self):
            return 6

    class Delegate:
        def __init__(self, target):
            self.target = target

        def __getattr__(self, name):
            return getattr(self.target, name)

    class Slot:
        __slots__ = ("__java_interfaces__",)

        def get(self):
            return 6

    class Property:
        __java_interfaces__ = property(lambda self: ("java.util.function.Supplier",))

        def get(self):
            return 6

    def test_interfaces_of_delegates_slots_and_properties_count(self):
        slot = self.Slot()
        slot.__java_interfaces__ = ("java.util.function.Supplier",)
        for mine in (self.Delegate(self.Supplier()), slot, self.Property()):
            with self.subTest(mine):
                self.assertEqual(java.java.util.Objects.requireNonNullElseGet(None, mine), 6)
                self.assertIs(java.java.util.ArrayList([mine]).get(0), mine)

    def test_an_attribute_of_another_type_does_not_count(self):
        class Text:
            __java_interfaces__ = "java.util.function.Supplier"

        class Listed(self.Delegate):
            __java_interfaces__ = ["java.util.function.Supplier"]

        for mine in (Text(), Listed(5), self.Delegate(5), self.Slot()):
            with self.subTest(mine), self.assertRaisesRegex(TypeError, "has no form in Java"):
                java.java.util.ArrayList([mine])


class InterfacesOfFunctions(unittest.TestCase):
    """The result of calling an interface's class."""

    def test_java_returns_the_implementation_with_the_methods_of_its_interface(self):
        comparator = java.java.util.Comparator(operator.sub)
        back = java.java.util.TreeMap(comparator).comparator()
        self.assertIs(back, comparator)
        self.assertEqual((back(3, 1), back.compare(3, 1), back.reversed().compare(3, 1)), (2, 2, -2))
        self.assertEqual(back.hashCode(), back.hashCode())
        self.assertTrue(back.equals(comparator))
        predicate = java.java.util.function.Predicate(lambda n: n > 2)
        self.assertFalse(predicate.and_(lambda n: n < 5).test(9))
        with self.assertRaisesRegex(AttributeError, "java.util.Comparator> has no method 'nothing'"):
            back.nothing
        self.assertFalse(hasattr(back, "naturalOrder"))

    def test_objects_and_classes_may_be_the_target(self):
        class Backwards:
            def compare(self, left, right):
                return right - left

            def helper(self):
                return "mine"

        comparator = java.java.util.Comparator(Backwards())
        self.assertEqual((comparator.compare(1, 2), comparator.reversed().compare(1, 2)), (1, -1))
        self.assertEqual(comparator.helper(), "mine")
        self.assertRaises(TypeError, comparator, 1, 2)
        ordered = java.java.util.TreeSet([java.java.lang.Comparable(ComesBack.Ranked(each)) for each in (2, 1)])
        self.assertEqual([each.target.rank for each in ordered], [1, 2])
        self.assertTrue(java.java.util.ArrayList(ordered).contains(ComesBack.Ranked(2)))
        self.assertFalse(hasattr(java.java.util.function.Function(str), "join"))
        self.assertEqual(java.java.util.function.Function(str).apply(5), "5")

    def test_the_same_target_gives_the_same_implementation(self):
        class Owner:
            def method(self, left, right):
                return 0

        comparators, owner = java.java.util.Comparator, Owner()
        held = java.java.util.ArrayList([comparators(owner.method), comparators(owner.method), comparators(operator.sub)])
        self.assertIs(held[0], held[1])
        self.assertIs(comparators(owner.method), held[0])
        self.assertNotEqual(held[0], held[2])
        with jpeer.connect(java.url, timeout=SECONDS) as there:
            other = there.java.util.Comparator(operator.sub)
            self.assertEqual((other, hash(other)), (held[2], hash(held[2])))
            self.assertEqual(other.reversed().compare(1, 2), 1)


class ComesBack(unittest.TestCase):
    """A Python object is the same object when Java returns it."""

    @jpeer.implements("java.util.function.Supplier")
    class Supplier:
        def __init__(self, value):
            self.value = value

        def get(self):
            return self

        def __str__(self):
            return f"supplies {self.value}"

    class Ranked:
        def __init__(self, rank):
            self.rank = rank

        def __lt__(self, other):
            return self.rank < other.rank

        def __eq__(self, other):
            return isinstance(other, type(self)) and self.rank == other.rank

        def __hash__(self):
            return hash(self.rank)

    def test_every_result_gives_the_same_python_object(self):
        mine = self.Supplier(1)
        held = java.java.util.ArrayList([mine])
        seen = []
        held.forEach(seen.append)
        for back in (held.get(0), held[0], *held, *held.toArray(), held.iterator().next(), *held.stream(), *seen,
                     java.java.util.Map.of("a", mine).get("a"), *java.java.util.Map.of("a", mine).values(),
                     java.java.util.Objects.requireNonNull(mine), java.java.util.Optional.of(mine).get(),
                     java.java.util.AbstractMap.SimpleEntry("key", mine).getValue(),
                     java.java.util.concurrent.atomic.AtomicReference(mine).get(),
                     java.java.util.concurrent.CompletableFuture.supplyAsync(mine).get()):
            self.assertIs(back, mine)
        self.assertEqual(held.get(0).value, 1)
        function = java.java.util.function.Supplier(lambda: 5)
        self.assertIs(java.java.util.Objects.requireNonNull(function), function)

    def test_a_function_as_another_interface_leaves_others_as_they_are(self):
        mine, handler = self.Supplier(1), java.java.lang.Thread.setDefaultUncaughtExceptionHandler
        held = java.java.util.ArrayList([mine])

        def function(*_):
            return 0

        tree = java.java.util.TreeMap(function)
        more = [functools.partial(function) for _ in range(20)]
        for each in more:
            java.java.util.TreeMap(each)
        tasks = java.java.util.ArrayList([jpeer.cast("java.lang.Runnable", each) for each in more])
        self.assertEqual([*tasks], more)
        handler(function)
        self.addCleanup(handler, None)
        self.assertIs(java.java.lang.Thread.getDefaultUncaughtExceptionHandler(), function)
        self.assertIs(tree.comparator(), function)
        self.assertTrue(held.contains(mine))
        self.assertTrue(held.remove(mine))

    def test_all_threads_and_links_give_the_same_python_object(self):
        mine = [self.Supplier(number) for number in range(20)]
        held = java.java.util.concurrent.CopyOnWriteArrayList(mine)
        found = []

        def look(_):
            for number, each in enumerate(mine):
                found.append(held.get(number) is each and held.indexOf(each) == number)

        run_threads(look, range(8))
        self.assertEqual(found, [True] * 160)

    def test_another_connection_gives_a_java_object(self):
        mine = self.Supplier(1)
        java.java.lang.System.getProperties().put("mine", mine)
        with jpeer.connect(java.url, timeout=SECONDS) as other:
            theirs = other.java.lang.System.getProperties().get("mine")
            self.assertIsInstance(theirs, other.java.util.function.Supplier)
            self.assertEqual(str(theirs), "supplies 1")
        self.assertIs(java.java.lang.System.getProperties().remove("mine"), mine)

    def test_an_object_that_java_has_dropped_is_freed(self):
        mine = self.Supplier(1)
        held = java.java.util.ArrayList([mine])
        self.assertIs(held.get(0), mine)
        gone = weakref.ref(mine)
        del mine
        gc.collect()
        self.assertIs(held.get(0), gone())
        held.clear()
        await_true(lambda: java.gc() or gc.collect() is None or gone() is None)

    def test_java_uses_the_text_equality_and_hash_of_python(self):
        one, same, other = self.Ranked(2**40), self.Ranked(2**40), self.Ranked(3)
        objects = java.java.util.Objects
        self.assertTrue(objects.equals(one, same))
        self.assertFalse(objects.equals(one, other))
        self.assertFalse(objects.equals(one, "x"))
        self.assertEqual(objects.hashCode(one), objects.hashCode(same))
        self.assertEqual(java.java.util.HashSet([one, same, other]).size(), 2)
        self.assertEqual(objects.toString(self.Supplier(4)), "supplies 4")
        held = java.java.util.ArrayList([one, other])
        self.assertTrue(held.remove(self.Ranked(3)))
        self.assertEqual(list(held), [one])

    def test_methods_with_java_names_precede_special_methods(self):
        class Named(self.Supplier):
            def toString(self):
                return "Java's name"

            def hashCode(self):
                return 7

        self.assertEqual(java.java.util.Objects.toString(Named(1)), "Java's name")
        self.assertEqual(java.java.util.Objects.hashCode(Named(1)), 7)

    def test_an_object_with_an_order_is_comparable(self):
        ranked = [self.Ranked(each) for each in (3, 1, 2)]
        ordered = sorted(ranked)
        tree = java.java.util.TreeSet(ranked)
        self.assertEqual([*tree], ordered)
        self.assertIs(tree.first(), ordered[0])
        self.assertIs(java.java.util.PriorityQueue(ranked).poll(), ordered[0])
        held = java.java.util.ArrayList(ranked)
        held.sort(None)
        self.assertEqual([*held], ordered)
        self.assertIs(java.java.util.Collections.max(ranked), ordered[2])

        @jpeer.implements("java.lang.Comparable")
        class Both(self.Ranked):
            def compareTo(self, other):
                return other.rank - self.rank

        self.assertEqual([each.rank for each in java.java.util.TreeSet([Both(1), Both(2)])], [2, 1])

    def test_an_order_adds_to_the_interfaces_of_a_class(self):
        @jpeer.implements("java.lang.Runnable")
        class Task(self.Ranked):
            def run(self):
                ran.append(self.rank)

        ran, low, high = [], Task(1), Task(2)
        tree = java.java.util.TreeSet([high, low])
        self.assertIs(tree.first(), low)
        self.assertTrue(tree.contains(jpeer.cast("java.lang.Comparable", high)))
        java.java.lang.Thread(low).run()
        self.assertEqual(ran, [1])

    def test_a_denied_order_does_not_prevent_other_interfaces(self):
        """If the parameter is another interface, the object is passed without its order."""
        @jpeer.implements("java.lang.Runnable")
        class Task(self.Ranked):
            def run(self):
                pass

        task, allowed = Task(1), ["jdk:java.util.**", "jdk:java.lang.Object", "jdk:java.lang.Runnable"]
        with launch(allow=allowed) as small:
            self.assertIs(small.java.util.ArrayList([task]).get(0), task)
            with self.assertRaisesRegex(PermissionError, "java.lang.Comparable"):
                small.java.util.ArrayList([self.Ranked(1)])
            self.assertIs(small.java.util.ArrayList([task]).get(0), task)

    def test_a_callable_with_an_order_is_comparable(self):
        class Callable(self.Ranked):
            def __call__(self, *_):
                return self.rank

            def __str__(self):
                return f"calls {self.rank}"

        one, same, other = Callable(2**40), Callable(2**40), Callable(3)
        tree = java.java.util.TreeSet([one, other])
        self.assertIs(tree.first(), other)
        self.assertTrue(tree.contains(same))
        self.assertEqual(java.java.util.Objects.requireNonNullElseGet(None, one), 2**40)
        self.assertEqual(list(java.java.util.stream.Stream.of(1, 2).map(other)), [3, 3])
        listeners = java.java.util.HashSet([jpeer.cast("java.lang.Runnable", each) for each in (one, other)])
        self.assertTrue(listeners.remove(jpeer.cast("java.lang.Runnable", same)))
        self.assertEqual([*listeners], [other])
        self.assertEqual(listeners.toString(), "[calls 3]")

    def test_containers_with_an_order_and_others_are_refused(self):
        class Column(self.Ranked):
            def __iter__(self):
                raise AssertionError("asked")

        for value in (object(), complex(1), fractions.Fraction(1, 2)):
            with self.assertRaisesRegex(TypeError, "has no form in Java"):
                java.java.util.ArrayList().add(value)
        self.assertFalse(jpeer.values.is_comparable(Column(1)))


class Threads(unittest.TestCase):
    def test_java_threads_can_call_functions(self):
        done = threading.Event()
        seen = []

        def run():
            seen.append(java.java.util.ArrayList([1, 2]).size())
            done.set()

        thread = java.java.lang.Thread(jpeer.cast("java.lang.Runnable", run))
        thread.start()
        self.assertTrue(done.wait(SECONDS))
        self.assertEqual(seen, [2])
        thread.join()

    def test_a_call_of_a_java_thread_runs_on_no_waiting_thread(self):
        """The waiting thread may be a thread of a pool, or the thread of another request."""
        CompletableFuture = java.java.util.concurrent.CompletableFuture
        here = threading.get_ident()
        self.assertNotEqual(CompletableFuture.supplyAsync(threading.get_ident).get(), here)

    def test_a_callback_runs_on_the_thread_that_made_the_call(self):
        """The thread that created the function does not matter."""
        task = java.java.util.concurrent.FutureTask(threading.get_ident)
        other = threading.Thread(target=task.run)
        other.start()
        other.join()
        self.assertEqual(task.get(), other.ident)
        seen = {}
        keep = java.java.util.ArrayList([jpeer.cast("java.util.function.Supplier", lambda: (
            threading.get_ident(), java.java.lang.Thread.currentThread().getName()))])

        def ask(number):
            own = java.java.lang.Thread.currentThread().getName()
            seen[number] = java.java.util.Objects.requireNonNullElseGet(None, keep[0])
            self.assertEqual(tuple(seen[number]), (threading.get_ident(), own))

        run_threads(ask, range(8))

    def test_a_callback_of_a_stream_runs_on_the_calling_thread(self):
        here = threading.get_ident()
        self.assertEqual(list(java.java.util.stream.Stream.of(1).map(lambda _: threading.get_ident())), [here])

    def test_objects_in_a_result_live_until_java_reads_them(self):
        """The Java thread reads the answer after Python has dropped the handles in it."""
        ArrayList = java.java.util.ArrayList
        supply = java.java.util.concurrent.CompletableFuture.supplyAsync
        for _ in range(10):
            futures = [supply(lambda: [ArrayList([5])]) for _ in range(40)]
            self.assertEqual([future.get() for future in futures], [[[5]]] * 40)

    def test_a_thread_that_cannot_be_started_is_an_error_of_one_call(self):
        with jpeer.connect(java.url, timeout=SECONDS) as other:
            supply = other.java.util.concurrent.CompletableFuture.supplyAsync
            failure = RuntimeError("can't start new thread")
            with unittest.mock.patch.object(threading.Thread, "start", side_effect=failure):
                self.assertRaisesRegex(RuntimeError, "new thread", supply, lambda: 5)
            self.assertEqual(supply(lambda: 5).get(), 5)

    def test_nested_calls_stay_on_the_thread_of_the_call(self):
        def idents(_=None):
            inner = java.java.util.stream.Stream.of(1).map(lambda _: threading.get_ident())
            return [threading.get_ident(), *inner]

        found = java.java.util.concurrent.CompletableFuture.supplyAsync(idents).get()
        self.assertEqual(len(set(found)), 1)
        self.assertNotEqual(found[0], threading.get_ident())
        [found] = java.java.util.stream.Stream.of(1).map(idents)
        self.assertEqual(list(found), [threading.get_ident()] * 2)

    def test_calls_that_wait_for_each_other_run_at_once(self):
        together = threading.Barrier(4)
        pool = java.java.util.concurrent.Executors.newFixedThreadPool(4)
        Callable = java.java.util.concurrent.Callable
        for _ in range(3):
            meet = [Callable(functools.partial(lambda _: together.wait(SECONDS), n)) for n in range(4)]
            futures = pool.invokeAll(meet)
            self.assertEqual(sorted(future.get() for future in futures), [0, 1, 2, 3])
        pool.shutdown()
        names = [each for each in threading.enumerate() if each.name == "jpeer-callbacks"]
        self.assertLessEqual(len(names), 16)
