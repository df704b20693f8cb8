"""Values with several forms: if the peer refuses one form, the next form is tried."""

import array
import datetime
import pathlib
import select
import socket
import tempfile
import unittest
import zoneinfo

import jpeer
from jpeer._native import Forms, Typed
from support import SECONDS, module_peer

java = None  # set while the tests of this module run
setUpModule, tearDownModule = module_peer(globals())


class Order(unittest.TestCase):
    def setUp(self):
        self.asked = []

    def form(self, value):
        """A form that records when it is made."""

        def make():
            self.asked.append(value)
            return value

        return make

    def forms(self, *values):
        return Forms(*map(self.form, values))

    def test_the_first_accepted_form_is_used(self):
        self.assertEqual(java.java.lang.Integer.parseInt(self.forms("5", "6")), 5)
        self.assertEqual(java.java.lang.Integer.parseInt(self.forms([1], {}, "7", "8")), 7)
        self.assertEqual(self.asked, ["5", [1], {}, "7"])

    def test_the_error_is_that_of_the_last_form(self):
        with self.assertRaisesRegex(TypeError, r"parseInt\(java.util.List\)"):
            java.java.lang.Integer.parseInt(self.forms([1], {}))
        self.assertEqual(self.asked, [[1], {}])

    def test_no_form_is_tried_after_java_has_run(self):
        with self.assertRaises(java.java.lang.NumberFormatException):
            java.java.lang.Integer.parseInt(self.forms("x", "5"))
        self.assertEqual(self.asked, ["x"])

    def test_forms_of_several_values_are_combined(self):
        forms = Forms([1], 5)
        self.assertEqual(java.java.lang.Math.addExact(forms, forms), 10)
        self.assertEqual(java.java.lang.Math.addExact(forms, Forms([], [], 6)), 11)
        self.assertEqual(java.java.lang.Math.addExact(Forms(7, []), forms), 12)
        self.assertEqual(java.java.util.Arrays.asList(Forms(Typed("java.util.List", 5), [5]), 3), [[5], 3])
        self.assertEqual(java.array("int", [forms, 2, forms]), [5, 2, 5])


class Moments(unittest.TestCase):
    MOMENTS = [
        datetime.datetime(2024, 7, 1, 12, 30, tzinfo=zone)
        for zone in (
            datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=5, minutes=45)),
            zoneinfo.ZoneInfo("Europe/Berlin"),
        )
    ]

    def test_a_datetime_becomes_the_class_of_the_parameter(self):
        time = java.java.time
        for moment in self.MOMENTS:
            with self.subTest(moment.tzinfo):
                self.assertEqual(java.java.util.Date.from_(moment).getTime(), moment.timestamp() * 1000)
                for kind in (time.Instant, time.OffsetDateTime, time.ZonedDateTime):
                    now = kind.parse("2030-01-01T00:00:00Z")
                    self.assertTrue(kind.isAfter(now, moment))
                    self.assertFalse(kind.isAfter(moment, moment))
                    self.assertTrue(kind.isAfter(now, jpeer.cast(kind, moment)))

    def test_the_zone_decides_the_class_of_a_datetime(self):
        kinds = [java.java.util.Objects.toString(moment) for moment in self.MOMENTS]
        self.assertEqual(
            kinds, ["2024-07-01T12:30:00Z", "2024-07-01T12:30+05:45", "2024-07-01T12:30+02:00[Europe/Berlin]"]
        )

    def test_a_datetime_without_a_zone_is_no_instant(self):
        with self.assertRaisesRegex(TypeError, "LocalDateTime"):
            java.java.util.Date.from_(datetime.datetime(2024, 7, 1))

    def test_an_instant_outside_the_calendar_is_refused(self):
        edge = datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
        with self.assertRaisesRegex(TypeError, "OffsetDateTime"):
            java.java.util.Date.from_(edge)


class Paths(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name, "lines.txt")
        self.path.write_text("text")

    def test_a_path_becomes_a_file(self):
        io = java.java.io
        with io.FileReader(self.path) as reader:
            self.assertEqual(reader.read(), ord("t"))
        with io.FileInputStream(self.path) as stream:
            self.assertEqual(stream.read(), ord("t"))
        made = io.File.createTempFile("abc", "b", self.path.parent)
        self.assertEqual(made.getParent(), self.folder.name)
        builder = java.java.lang.ProcessBuilder("true")
        builder.directory(self.path.parent)
        self.assertEqual(builder.directory().getPath(), self.folder.name)
        self.assertEqual(jpeer.cast(io.File, self.path).type, "java.io.File")
        self.assertTrue(io.File.exists(jpeer.cast(io.File, self.path)))
        self.assertEqual(java.array("java.io.File", [self.path])[0].getName(), "lines.txt")

    def test_a_path_becomes_a_java_path(self):
        self.assertEqual(java.java.nio.file.Files.readString(self.path), "text")
        with self.assertRaises(java.java.io.FileNotFoundException):
            java.java.io.FileReader(self.path.parent / "nothing")


class Casts(unittest.TestCase):
    def test_cast_makes_optionals(self):
        toString = java.java.util.Objects.toString
        for name, value, text in [
            ("", 5, "Optional[5]"), ("", None, "Optional.empty"),
            ("", datetime.date(2024, 2, 29), "Optional[2024-02-29]"), ("", [1], "Optional[[1]]"),
            ("", jpeer.cast("java.util.Optional", 5), "Optional[Optional[5]]"), ("", jpeer.jlong(5), "Optional[5]"),
            ("Int", 5, "OptionalInt[5]"), ("Int", None, "OptionalInt.empty"), ("Long", 5, "OptionalLong[5]"),
            ("Double", 1.5, "OptionalDouble[1.5]"),
        ]:
            with self.subTest(text):
                made = jpeer.cast(f"java.util.Optional{name}", value)
                self.assertEqual(toString(made), text)
        Optional = java.java.util.Optional
        self.assertTrue(Optional.isPresent(jpeer.cast(Optional, 5)))
        for held in (Optional.of(5), Optional.empty()):
            self.assertEqual(toString(jpeer.cast(Optional, held)), str(held))
        with self.assertRaises(TypeError):
            toString(jpeer.cast("java.util.OptionalInt", "text"))

    def test_a_result_becomes_an_optional(self):
        @jpeer.implements("java.util.stream.IntStream")
        class Numbers:
            def max(self):
                return 7

            def min(self):
                return None

            def findAny(self):
                return jpeer.cast("java.util.OptionalInt", 8)

            def findFirst(self):
                return java.java.util.OptionalInt.of(6)

            def sum(self):
                return 9

        stream = java.class_object("java.util.stream.IntStream")
        asked = [stream.getMethod(name).invoke(Numbers()) for name in ("max", "min", "findAny", "findFirst", "sum")]
        self.assertEqual(list(map(jpeer.to_python, asked)), [7, None, 8, 6, 9])

        @jpeer.implements("java.lang.module.ModuleFinder")
        class Nothing:
            def find(self, name):
                return None

        ModuleFinder = java.java.lang.module.ModuleFinder
        self.assertFalse(ModuleFinder.compose(Nothing(), ModuleFinder.ofSystem()).find("no.such"))
        found = ModuleFinder.compose(Nothing(), ModuleFinder.ofSystem()).find("java.base")
        self.assertEqual(found.get().descriptor().name(), "java.base")

    def test_cast_passes_a_python_object_as_any_of_its_interfaces(self):
        @jpeer.implements("java.lang.Runnable", "java.lang.Comparable")
        class Both:
            ran = 0

            def run(self):
                self.ran += 1

            def compareTo(self, other):
                return 0

        both = Both()
        for kind in ("java.lang.Object", "java.lang.Runnable"):
            kept = java.array("java.lang.Object", [jpeer.cast(kind, both)])
            self.assertIs(kept[0], both)
            java.java.lang.Thread(kept[0]).run()
            self.assertEqual(java.java.util.Collections.max([both, kept[0]]), both)
        self.assertEqual(both.ran, 2)
        self.assertRegex(java.java.lang.String.valueOf(jpeer.cast(java.java.lang.Object, both)), r"callback \d+")
        xs = java.java.util.ArrayList([both])
        self.assertTrue(xs.remove(jpeer.cast("java.lang.Object", both)))


class InALoop(unittest.TestCase):
    def send(self, *step):
        connection, found = java._connection, []
        woken, wakes = socket.socketpair()

        def done(*result):
            found.append(result)
            wakes.send(b".")  # the answer may have been read by a thread that listens for Java's calls

        with woken, wakes:
            poll = select.poll()
            poll.register(connection.descriptor(), select.POLLIN)
            poll.register(woken, select.POLLIN)
            connection.send(step, SECONDS, done)
            while not found:
                self.assertTrue(poll.poll(SECONDS * 1000))
                connection.process()
        return found[0]

    def test_a_loop_tries_other_forms(self):
        made, error = self.send("new", "java.util.ArrayList", (array.array("i", [1, 2]),))
        self.assertEqual((made, error), ([1, 2], None))
