"""Tests without a peer."""

import contextlib
import datetime
import decimal
import functools
import io
import os
import tempfile
import unittest
from pathlib import Path

import jpeer
from jpeer import callbacks, connection, exceptions, times, values


class Frames(unittest.TestCase):
    def test_a_frame_has_name_file_and_line(self):
        for text, parts in [
            (
                "java.base/java.util.ArrayList.get(ArrayList.java:427)",
                ("java.util.ArrayList.get", "ArrayList.java", 427),
            ),
            ("app//com.x.Y.m(Y.java:1)", ("com.x.Y.m", "Y.java", 1)),
            ("jdk.proxy1/jdk.proxy1.$Proxy0.run(Unknown Source)", ("jdk.proxy1.$Proxy0.run", "<unknown source>", 1)),
            (
                "java.base@17.0.1/java.lang.Class.forName0(Native Method)",
                ("java.lang.Class.forName0", "<native method>", 1),
            ),
            ("a.B$$Lambda$14/0x0001.apply(Unknown Source)", ("a.B$$Lambda$14/0x0001.apply", "<unknown source>", 1)),
            ("nonsense", ("nonsense", "<java>", 1)),
        ]:
            with self.subTest(text):
                self.assertEqual(exceptions.parse_frame(text), parts)

    def test_traceback_has_the_outermost_first(self):
        entry = exceptions.java_traceback(["a.B.inner(B.java:7)", "a.B.outer(B.java:9)"])
        found = []
        while entry is not None:
            found.append((entry.tb_frame.f_code.co_name, entry.tb_frame.f_code.co_filename, entry.tb_lineno))
            entry = entry.tb_next
        self.assertEqual(found, [("a.B.outer", "B.java", 9), ("a.B.inner", "B.java", 7)])

    def test_long_stacks_are_cut(self):
        entry = exceptions.java_traceback([f"a.B.m{i}(B.java:{i})" for i in range(1, 1000)])
        count = 0
        while entry is not None:
            count, entry = count + 1, entry.tb_next
        self.assertEqual(count, exceptions.FRAMES_MAX)


class Texts(unittest.TestCase):
    def test_pandas_values_convert_without_pandas(self):
        class Timedelta(datetime.timedelta):
            nanoseconds = 7

        class NaTType(datetime.datetime):
            __eq__ = __lt__ = lambda self, other: False
            __ne__ = lambda self, other: True
            __hash__ = None

        self.assertEqual(values.text_of(Timedelta(seconds=-1)), ("java.time.Duration", "PT-0.999999993S"))
        for kind in (datetime.datetime, datetime.timedelta):
            self.assertRaisesRegex(TypeError, "no form in Java", values.writers()[kind], NaTType(1, 1, 1))

    def test_what_would_lose_something_stays_an_object(self):
        for name, text in [
            ("LocalDate", "-0005-01-01"), ("LocalDate", "+10000-01-01"),
            ("LocalDateTime", "0000-01-01T00:00"), ("Instant", "+1000000000-12-31T23:59:59.999999999Z"),
            ("ZonedDateTime", "2024-01-01T00:00+01:00[No/Such]"), ("ZonedDateTime",
            "2024-01-01T00:00+05:00[Europe/Berlin]"),
            ("Duration", "PT24000000024H"),
        ]:
            with self.subTest(name, text=text):
                self.assertIs(values.FROM_TEXT[f"java.time.{name}"](text), NotImplemented)

    def test_durations_are_parsed(self):
        for text, seconds in [("PT8H6M12.345S", 29172.345), ("PT-0.5S", -0.5), ("PT0S", 0), ("PT-1M", -60)]:
            self.assertEqual(values.FROM_TEXT["java.time.Duration"](text).total_seconds(), seconds)

    def test_nanoseconds_count_in_comparison_and_arithmetic(self):
        utc = datetime.timezone.utc
        plain = datetime.datetime(2024, 1, 1, 0, 0, 0, 5, utc)
        same, later = times.DateTime(2024, 1, 1, 0, 0, 0, 5, utc), times.DateTime(2024, 1, 1, 0, 0, 0, 5, utc, nanosecond=7)
        self.assertEqual((same == plain, plain == same, hash(same) == hash(plain)), (True, True, True))
        self.assertEqual((later == plain, plain == later, later != plain, plain != later), (False, False, True, True))
        self.assertTrue(plain < later and later > plain and same <= plain and not later <= plain and plain >= same)
        one = times.Duration(nanoseconds=1)
        self.assertEqual((later - plain, plain - later, same - plain), (7 * one, -7 * one, datetime.timedelta(0)))
        self.assertEqual((plain + (later - plain), one + later - one, later - 7 * one), (plain + 7 * one, later, plain))
        self.assertEqual(later.astimezone(datetime.timezone(datetime.timedelta(hours=1))), later)
        self.assertEqual((later.replace(year=2025).nanosecond, later.replace(microsecond=0).nanosecond), (7, 0))
        self.assertEqual((later.time().nanosecond, f"{later:%Y}", later.isoformat()), (7, "2024", plain.isoformat()))
        self.assertEqual((bool(one), bool(one - one), abs(-one)), (True, False, one))
        self.assertEqual(one * 1000, datetime.timedelta(microseconds=1))
        self.assertEqual((divmod(10 * one, 3 * one), one / (4 * one), 10 * one // 3), ((3, one), 0.25, 3 * one))
        self.assertEqual(datetime.timedelta(microseconds=1) - one, 999 * one)
        self.assertEqual(repr(one), "Duration(0, nanoseconds=1)")
        for wrong in (-1, 1000):
            self.assertRaises(ValueError, times.DateTime, 2024, 1, 1, nanosecond=wrong)
        with self.assertRaises(TypeError):
            later < datetime.datetime(2024, 1, 1)

    def test_long_numbers_are_parsed(self):
        digits = "9" * 6000
        self.assertEqual(values.FROM_TEXT["java.math.BigInteger"](digits), 10**6000 - 1)
        with self.assertRaises(ValueError):
            values.text_of(decimal.Decimal("NaN"))

    def test_a_subclass_is_sent_as_its_base(self):
        class Day(datetime.date):
            pass

        self.assertEqual(values.text_of(Day(2024, 1, 2)), ("java.time.LocalDate", "2024-01-02"))
        self.assertIsNone(values.text_of("text"))


class Arity(unittest.TestCase):
    def test_the_arity_is_the_number_of_needed_arguments(self):
        class Callable:
            def __call__(self, x): ...

        for function, count in [
            (lambda: 0, 0), (lambda a, b: 0, 2), (lambda *a: 0, -1), (lambda a, b=1: 0, -1), (lambda a, *, k=1: 0, 1),
            (lambda a, **k: 0, 1), ([].append, 1), (Callable(), 1), (functools.partial(pow, 2), -1), (print, -1),
            (int, -1), (lambda *, k: 0, -1),
        ]:
            self.assertEqual(callbacks.arity_of(function), count, function)

    def test_an_exception_whose_text_fails_has_a_message(self):
        class Bad(Exception):
            def __str__(self):
                raise RuntimeError

        self.assertIn("Bad", callbacks._message_of(Bad()))


class ClassPath(unittest.TestCase):
    def test_patterns_in_the_class_path_are_expanded(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("b.jar", "a.jar", "c.txt"):
                Path(folder, name).touch()
            a, b = f"{folder}/a.jar", f"{folder}/b.jar"
            self.assertEqual(connection.join_class_path([f"{folder}/*.jar"]), f"{a}{os.pathsep}{b}")
            self.assertEqual(connection.join_class_path(Path(a)), a)
            self.assertEqual(connection.join_class_path(f"{b}{os.pathsep}{a}"), f"{b}{os.pathsep}{a}")
            self.assertEqual(connection.join_class_path([f"{folder}/*"]), f"{folder}/*")
            self.assertIsNone(connection.join_class_path(()))
            for missing in ("x.jar", "*.zip", "no/*"):
                with self.assertRaisesRegex(FileNotFoundError, "does not exist"):
                    connection.join_class_path([f"{folder}/{missing}"])


class Output(unittest.TestCase):
    def test_characters_split_between_reads_are_joined(self):
        take = connection.Output()
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
            for byte in "ü😀".encode():
                take(1, bytes([byte]))
            take(2, b"a\xff\n")
            take(2, b"jpeer ready: uuid")
            take(2, b" 1\nb")
            take(2, b"c")
        self.assertEqual((out.getvalue(), errors.getvalue()), ("ü😀", "a\ufffd\nbc"))

    def test_the_ready_line_is_removed(self):
        for pieces, shown in [
            ([b"jpeer ready: x\n"], ""), ([b"warning\njpeer ready: x\n", b"y"], "warning\ny"), ([b"a", b"b\n"], "ab\n"),
            ([b"a\nb\njpeer re", b"ady: x\nc\nd\n"], "a\nb\nc\nd\n"), ([b"\n\njpeer ready: x\n\n"], "\n\n\n"),
        ]:
            take = connection.Output()
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                for piece in pieces:
                    take(2, piece)
            self.assertEqual(errors.getvalue(), shown, pieces)

    def test_a_stream_that_refuses_text_is_no_error(self):
        take = connection.Output()
        raw = io.BytesIO()
        terminal = io.TextIOWrapper(raw, encoding="ascii")
        with contextlib.redirect_stdout(terminal):
            take(1, "ü\n".encode())
        self.assertEqual(raw.getvalue(), b"\\xfc\n")
        closed = io.StringIO()
        closed.close()
        with contextlib.redirect_stdout(closed):
            take(1, b"lost")
        with contextlib.redirect_stdout(None):
            take(1, b"lost")


class WithoutConnection(unittest.TestCase):
    def test_without_a_connection_there_is_no_default(self):
        self.assertRaisesRegex(RuntimeError, "jpeer.launch", jpeer.default)

    def test_without_a_connection_imports_fail(self):
        with self.assertRaisesRegex(ImportError, "jpeer.launch"):
            from jpeer.java.util import ArrayList  # noqa: F401

    def test_wrong_arguments_of_helpers_are_type_errors(self):
        for attempt in (lambda: jpeer.implements(), lambda: jpeer.implements(5), lambda: jpeer.cast(5, 5),
                        lambda: jpeer.call(5, "x"), lambda: jpeer.field("x", "y")):
            self.assertRaises(TypeError, attempt)

    def test_typed_values_have_their_type(self):
        moment = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
        made = jpeer.cast("java.time.OffsetDateTime", moment)
        self.assertEqual((made.type, made.value), ("java.time.OffsetDateTime", "2024-01-01T00:00:00+00:00"))
        self.assertEqual((jpeer.jlong(5).type, jpeer.jlong(5).value), ("long", 5))
