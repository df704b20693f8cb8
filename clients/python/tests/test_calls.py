"""Classes, members and arguments."""

import copy
import inspect
import pickle
import re
import sys
import tempfile
import unittest
import weakref
import zipfile
from pathlib import Path

import jpeer
from support import FIXTURES, launch, module_peer

java = None  # set while the tests of this module run
setUpModule, tearDownModule = module_peer(globals(), classpath=[FIXTURES])


class Making(unittest.TestCase):
    def test_wrong_constructor_calls_are_type_errors(self):
        for attempt, text in [
            (lambda: java.java.util.List(), "java.util.List is an interface"),
            (lambda: java.java.lang.Runnable(print, print), "java.lang.Runnable is an interface"),
            (lambda: java.java.awt.Point(x=3), r"no keyword arguments: \['x'\]"),
            (lambda: java.java.util.List(f=print), "no keyword arguments"),
            (lambda: java.type("int[]")(), r"int\[\] accepts a length or the elements, not 0"),
            (lambda: java.type("int[]")(1, 2), r"int\[\] accepts a length or the elements, not 2"),
        ]:
            self.assertRaisesRegex(TypeError, text, attempt)

    def test_constructors_that_are_not_public_are_called_only_explicitly(self):
        lang, util = java.java.lang, java.java.util
        for attempt in (lang.Math, lang.Runtime, util.Collections, util.Optional, lambda: util.UUID(b"0123456789abcdef"),
                        lambda: lang.String(1, 2, 3, 4, 5, 6)):
            self.assertRaisesRegex(TypeError, "no public constructor.*jpeer.call", attempt)
        self.assertIsInstance(jpeer.call(lang.Math, "<init>"), lang.Math)
        self.assertEqual(str(lang.Thread("a name").getName()), "a name")
        self.assertEqual(str(util.Formatter().format("%s", 5)), "5")

    def test_the_first_object_of_a_class_gets_no_call(self):
        asked = []
        proxy = java.java.lang.reflect.Proxy.newProxyInstance(
            None, [java.class_object("java.util.Collection")], lambda proxy, method, args: asked.append(method.getName()))
        self.assertIsInstance(proxy, java.java.util.Collection)
        self.assertEqual(asked, [])


class Objects(unittest.TestCase):
    def test_same_compares_identity(self):
        p, q = java.java.awt.Point(1, 2), java.java.awt.Point(1, 2)
        points = java.java.util.ArrayList([p])
        self.assertTrue(jpeer.same(p, points[0]))
        self.assertFalse(jpeer.same(p, q))
        self.assertTrue(jpeer.same(None, None))
        self.assertFalse(jpeer.same(p, None))
        error = java.java.lang.Error("text")
        errors = java.java.util.ArrayList([error])
        self.assertTrue(jpeer.same(error, errors[0]))

    def test_objects_have_fields_and_methods(self):
        Point = java.type("java.awt.Point")
        p = Point(3, 4)
        p.x += 1
        self.assertEqual((p.x, p.y, p.getX()), (4, 4, 4.0))
        p.translate(1, -1)
        self.assertEqual(p, Point(5, 3))
        self.assertNotEqual(p, Point(0, 0))
        self.assertEqual(hash(p), hash(Point(5, 3)))
        self.assertEqual(str(p), "java.awt.Point[x=5,y=3]")
        self.assertEqual(repr(p), "<java.awt.Point: java.awt.Point[x=5,y=3]>")
        self.assertEqual(f"{Point(1, 2):>30}", "       java.awt.Point[x=1,y=2]")

    def test_classes_have_static_members(self):
        Integer = java.java.lang.Integer
        self.assertEqual(Integer.MAX_VALUE, 2**31 - 1)
        self.assertEqual(Integer.parseInt("12"), 12)
        self.assertEqual(java.java.lang.Math.max(3, 5), 5)
        with self.assertRaises(Exception):
            Integer.MAX_VALUE = 1
        with self.assertRaisesRegex(AttributeError, "no static field 'nothing'"):
            Integer.nothing = 1

    def test_nested_classes_are_attributes(self):
        self.assertEqual(java.java.util.Map.Entry._java_name, "java.util.Map$Entry")
        self.assertIs(java.java.util.HashMap.Entry, java.java.util.Map.Entry)
        self.assertIs(java.type("java.util.Map.Entry"), java.java.util.Map.Entry)
        self.assertEqual(java.java.util.AbstractMap.SimpleEntry("k", "v").getKey(), "k")
        self.assertEqual(str(java.java.lang.Thread.State.NEW), "NEW")

    def test_keywords_get_an_underscore(self):
        self.assertEqual(java.java.lang.System.in_.read(java.array("byte", 0)), 0)
        self.assertIsNotNone(java.java.awt.Point.class_)

    def test_isinstance_and_bases_follow_the_java_hierarchy(self):
        util = java.java.util
        xs = util.ArrayList()
        self.assertIsInstance(xs, util.List)
        self.assertIsInstance(xs, util.AbstractList)
        self.assertNotIsInstance(xs, util.Map)
        self.assertNotIsInstance("text", util.List)
        self.assertTrue(issubclass(util.ArrayList, util.Collection))
        self.assertIn(util.AbstractList, util.ArrayList.__mro__)
        self.assertIsInstance(xs, jpeer.JavaObject)
        with self.assertRaisesRegex(TypeError, "implements"):

            class Mine(util.ArrayList):  # noqa: F841
                pass

    def test_type_variables_that_the_class_binds_decide_conversions(self):
        base = java.fixtures.Declared.LongBase()
        self.assertEqual((base.set(1), base.next(), base.count(2), base.spread(1, 2)),
                         ("Long:1", 2, "Short:2", "Long[][Long:1, Long:2]"))
        base.kept, base.number = 7, 8
        self.assertEqual((base.next(), base.keptPut(), base.numberPut()), (8, "Long:7", "Short:8"))
        for error, wanted, call in (
                (jpeer.BadArgument, "argument 0: 2.5: not an integer for long", lambda: base.set(2.5)),
                (OverflowError, "argument 0: 70000: out of range for short", lambda: base.count(70000)),
                (OverflowError, "argument 1: 1.*: out of range for long", lambda: base.spread(1, 2**70)),
                (OverflowError, r"argument 0\[1\]: 70000: out of range for short",
                 lambda: java.fixtures.Declared.shortList([1, 70000])),
                (OverflowError, r"argument 0\[1\]: 1099511627776: out of range for short",
                 lambda: java.fixtures.Declared.shortList([1, 2**40]))):
            with self.subTest(wanted), self.assertRaisesRegex(error, wanted):
                call()
        with self.assertRaisesRegex(OverflowError, "value: 70000: out of range for short"):
            base.number = 70000
        optional = java.fixtures.Declared.optionalLong
        self.assertEqual([optional(jpeer.cast("java.util.Optional", each)) for each in (1, None)], ["Long:2", "nothing"])
        with self.assertRaisesRegex(jpeer.BadArgument, r"argument 0\[0\]: 2.5: not an integer for long"):
            optional(jpeer.cast("java.util.Optional", 2.5))
        self.assertEqual(java.fixtures.Typed.doubles({1, 2**40}), "[Double:1.0, Double:1.099511627776E12]")
        self.assertEqual(java.fixtures.Declared.ListBase().set([1, 2]), "[Long:1, Long:2]")
        self.assertEqual(java.fixtures.Declared.proxied().find(1), "Long:1")
        handler = java.fixtures.Declared.FunctionBase()
        handler.set(len)
        self.assertEqual(handler.run("four"), 4)

    def test_typed_values_choose_overloads(self):
        builder = java.java.lang.StringBuilder()
        builder.append(jpeer.jchar("a")).append(jpeer.jlong(5)).append(1.5).append(True).append(
            jpeer.cast("java.lang.Object", None)
        )
        self.assertEqual(str(builder), "a51.5truenull")
        xs = java.java.util.ArrayList([5, 6, 7])
        xs.remove(0)
        xs.remove(jpeer.cast("java.lang.Object", 7))
        self.assertEqual(list(xs), [6])
        self.assertEqual(java.java.lang.Math.max(jpeer.jfloat(1.5), 2), 2.0)
        valueOf = java.java.lang.String.valueOf
        self.assertEqual([valueOf(x) for x in (5, 2.5, True, "x")], ["5", "2.5", "true", "x"])

    def test_variable_arguments_may_be_empty(self):
        self.assertEqual(java.java.lang.String.format("%s-%s", 1, "x"), "1-x")
        self.assertEqual(java.java.lang.String.format("x"), "x")
        self.assertEqual(list(java.java.util.Arrays.asList(1, None, "a")), [1, None, "a"])

    def test_unbound_calls_take_values_as_receivers(self):
        self.assertEqual(java.java.lang.String.length("a\0b😀"), 5)
        self.assertEqual(java.java.util.ArrayList.size(java.java.util.ArrayList([1])), 1)

    def test_synthetic_methods_are_reached_by_call_alone(self):
        name = "fixtures/small/functions.class"
        with zipfile.ZipFile(FIXTURES) as jar, tempfile.TemporaryDirectory(prefix="jpeer-test-") as folder:
            data = jar.read(name)
            # JVMS 4.6: access flags (public static), name, descriptor, two attributes. Only `col` matches.
            (flags,) = (each.start() for each in re.finditer(rb"\x00\x09\x00.\x00.\x00\x02\x00", data, re.DOTALL))
            path = Path(folder, name)
            path.parent.mkdir(parents=True)
            path.write_bytes(data[:flags] + b"\x10\x09" + data[flags + 2 :])
            with launch(classpath=[folder]) as other:
                functions = other.fixtures.small.functions
                self.assertFalse(hasattr(functions, "col"))
                self.assertEqual(jpeer.call(functions, "col", "x"), "col x")

    def test_call_and_field_reach_members_of_every_visibility(self):
        xs = java.java.util.ArrayList([4, 5])
        self.assertEqual(jpeer.field(xs, "size"), 2)
        self.assertEqual(jpeer.call(xs, "elementData", 1), 5)
        jpeer.set_field(xs, "size", 1)
        self.assertEqual(len(xs), 1)
        self.assertEqual(jpeer.call(java.java.lang.String, "valueOf", 5), "5")
        self.assertEqual(jpeer.field(java.java.lang.Integer, "MIN_VALUE"), -(2**31))

    def test_a_class_argument_is_a_java_class(self):
        String = java.java.lang.String
        self.assertEqual(java.java.lang.reflect.Array.newInstance(String, 2), [None, None])
        self.assertEqual(String.class_.getName(), "java.lang.String")
        self.assertEqual(jpeer.cast(String, None).type, "java.lang.String")

    def test_comparable_objects_have_an_order(self):
        File = java.java.io.File
        self.assertTrue(File("/a") < File("/b") and File("/b") >= File("/b"))
        self.assertEqual([str(f) for f in sorted([File("/b"), File("/a")])], ["/a", "/b"])
        with self.assertRaises(TypeError):
            java.java.awt.Point(1, 1) < java.java.awt.Point(2, 2)

    def test_with_closes_an_autocloseable(self):
        with java.java.io.StringReader("text") as reader:
            self.assertEqual(reader.read(), ord("t"))
        self.assertRaises(java.java.io.IOException, reader.read)

    def test_objects_without_equals_compare_by_identity(self):
        Object = java.java.lang.Object
        one, other = Object(), Object()
        self.assertEqual(one, one)
        self.assertNotEqual(one, other)
        self.assertEqual(len({one, other, one}), 2)
        self.assertIsNone(weakref.ref(Object())())

    def test_java_lambdas_can_be_called(self):
        identity = java.java.util.function.Function.identity()
        self.assertEqual(identity.apply(5), 5)
        self.assertEqual(identity.andThen(lambda x: x + 1).apply(5), 6)
        self.assertEqual(identity, identity)

    def test_an_enum_is_a_collection_of_its_constants(self):
        Unit = java.java.util.concurrent.TimeUnit
        self.assertEqual(Unit.SECONDS, Unit["SECONDS"])
        self.assertEqual(len(Unit), 7)
        self.assertIn(Unit.DAYS, list(Unit))
        self.assertIn("DAYS", Unit)
        self.assertNotIn("YEARS", Unit)
        self.assertEqual({Unit.DAYS: 1}[Unit["DAYS"]], 1)
        self.assertLess(Unit.SECONDS, Unit.DAYS)
        self.assertEqual((Unit.DAYS.name(), Unit.DAYS.ordinal()), ("DAYS", 6))
        with self.assertRaises(KeyError):
            Unit["YEARS"]
        self.assertRaises(TypeError, iter, java.java.util.ArrayList)

    def test_copies_are_refused(self):
        p = java.java.awt.Point()
        for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
            self.assertRaisesRegex(TypeError, "cannot pickle or copy java.awt.Point", attempt, p)
        self.assertRaisesRegex(TypeError, "connect to its url", pickle.dumps, java)
        for value in (p.getX, java.java.awt.Point, java.java.lang.Math.abs, java.java.awt, java.java.lang.Exception):
            with self.assertRaisesRegex(TypeError, "cannot pickle or copy .*: it belongs to a connection"):
                pickle.dumps(value)


class Help(unittest.TestCase):
    def test_classes_and_methods_have_documentation(self):
        Point = java.java.awt.Point
        self.assertIn("Point(x: int, y: int)", Point.__doc__)
        self.assertEqual((Point.__name__, Point.__module__), ("Point", "java.awt"))
        self.assertEqual(java.java.util.Map.Entry.__qualname__, "Map.Entry")
        self.assertIn("-> void", Point.translate.__doc__)
        self.assertEqual(repr(Point), "<java class java.awt.Point>")

    def test_dir_lists_members_and_packages(self):
        self.assertTrue({"x", "translate", "getX"} <= set(dir(java.java.awt.Point(1, 2))))
        self.assertIn("Entry", dir(java.java.util.Map))
        self.assertTrue({"ArrayList", "concurrent"} <= set(dir(java.java.util)))
        self.assertIn("java", dir(java))

    def test_long_texts_are_cut(self):
        text = repr(java.java.lang.StringBuilder("x" * 100_000))
        self.assertLess(len(text), 300)

    def test_repr_never_fails(self):
        other = launch()
        p = other.java.awt.Point(1, 2)
        other.close()
        self.assertEqual(repr(p), "<java.awt.Point: ConnectionError>")
        self.assertIn("closed", repr(other))
        uncertain = java.java.util.ArrayList([1])
        uncertain.add(uncertain)
        self.assertIn("this Collection", repr(uncertain))


class Mistakes(unittest.TestCase):
    def test_an_unknown_name_is_an_error_with_suggestions(self):
        with self.assertRaisesRegex(AttributeError, r"no Java class java.awt.Piont. Did you mean java.awt.Point\?"):
            java.java.awt.Piont
        self.assertRaisesRegex(jpeer.NotFound, "no Java class x.Y", java.type, "x.Y")
        with self.assertRaisesRegex(AttributeError, r"java.awt.Point has no public member 'getXX'. Did you mean getX"):
            java.java.awt.Point().getXX()
        with self.assertRaisesRegex(AttributeError, "has no public member 'fooo'"):
            java.java.awt.Point.fooo
        with self.assertRaises(AttributeError):
            java.java.awt.Point().fooo = 5
        with self.assertRaisesRegex(AttributeError, r"class or package java.util.arrayList. Did you mean java.util.ArrayList"):
            java.java.util.arrayList()
        with self.assertRaisesRegex(AttributeError, r"fixtures.small.function.col. Did you mean fixtures.small.functions\?"):
            java.fixtures.small.function.col("x")
        with self.assertRaisesRegex(TypeError, "java.util is a Java package: it cannot be called"):
            java.java.util()
        for name in ("", "java..x", "no such", "int", "a\0b"):
            with self.subTest(name), self.assertRaises((TypeError, AttributeError, ValueError)):
                java.type(name)

    def test_wrong_arguments_are_type_errors_with_candidates(self):
        with self.assertRaisesRegex(TypeError, r"Math.max\(java.lang.String, int\); candidates"):
            java.java.lang.Math.max("a", 1)
        with self.assertRaisesRegex(TypeError, "candidates"):
            java.java.awt.Point(1, 2, 3, 4)
        with self.assertRaisesRegex(TypeError, r"ambiguous for \(null\).*jpeer.cast\(TYPE, VALUE\)"):
            java.fixtures.Overloads.specific(None)
        with self.assertRaisesRegex(TypeError, "object has no form in Java; jpeer.implements gives"):
            java.java.util.ArrayList().add(object())
        with self.assertRaisesRegex(TypeError, r"candidates: .*; jpeer.cast\(INTERFACE, FUNCTION\)"):
            java.java.util.ArrayList().add(0, lambda: 1)
        with self.assertRaisesRegex(TypeError, r"Object is none: give it a type.*; jpeer.cast\(INTERFACE, FUNCTION\)"):
            java.java.util.HashMap({"key": lambda: 1})
        with self.assertRaisesRegex(TypeError, r"candidates: [^;]*(; java[^;]*)*$"):
            java.java.util.ArrayList().add(0, 1, 2, 3)
        with self.assertRaises(OverflowError):
            java.java.lang.Integer.toString(jpeer.jint(2**40))
        with self.assertRaises(TypeError):
            java.java.awt.Point().translate(dx=1)
        with self.assertRaises(TypeError):
            java.java.awt.Point().x = "text"

    def test_methods_have_signatures(self):
        point = java.java.awt.Point()
        self.assertEqual(str(inspect.signature(java.java.awt.Point.translate)), "(self, /, dx, dy)")
        self.assertEqual(str(inspect.signature(point.translate)), "(dx, dy)")
        try:
            found = str(inspect.signature(point.setLocation))  # it has overloads
        except ValueError:
            self.assertLess(sys.version_info, (3, 13))
        else:
            self.assertEqual(found, "(*args, **kwargs)")

    def test_an_abstract_class_makes_no_objects(self):
        with self.assertRaises(java.java.lang.InstantiationException):
            java.java.util.AbstractList()

    def test_an_object_of_another_connection_is_refused_as_argument(self):
        with launch() as other:
            foreign = other.java.util.ArrayList()
            with self.assertRaises((TypeError, ValueError)):
                java.java.util.ArrayList().add(foreign)
            self.assertNotEqual(foreign, java.java.lang.Object())
