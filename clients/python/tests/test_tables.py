"""java.table: rows of Java as columns, and what other libraries make of them."""

import asyncio
import collections
import datetime
import decimal
import itertools
import subprocess
import sys
import threading
import unittest
import unittest.mock
import uuid

import jpeer
from jpeer.rows import send_rows
from jpeer.tables import Chunk
from support import FIXTURES, ROOT, SECONDS, AioCase, launch, run_threads

H2 = "com.h2database:h2:2.3.232"


def setUpModule():
    global java, tables
    java = launch(classpath=[str(FIXTURES)])
    tables = java.fixtures.Tables


def tearDownModule():
    java.close()


def need(*names):
    """Imports the modules, or skips the test."""
    try:
        return [__import__(name) for name in names]
    except ImportError as error:
        raise unittest.SkipTest(f"{error.name} is not installed") from None


class Rows(unittest.TestCase):
    def test_a_table_has_columns_rows_and_a_length(self):
        table = java.table(tables.people(5), columns=["age", "address.city"])
        self.assertEqual((len(table), table.column_names), (5, ["age", "address.city"]))
        self.assertEqual(list(table["age"]), [0, 1, 2, 3, 4])
        self.assertEqual(table["address.city"], [None, "c1", None, "c3", None])
        self.assertEqual(list(table)[3], (3, "c3"))
        with self.assertRaisesRegex(KeyError, "'name' is no column of age, address.city"):
            table["name"]

    def test_every_type_has_its_python_type(self):
        first, second, third = java.table(tables.every())
        moment = datetime.datetime(2024, 2, 29, 12, 30, 0, 1)
        epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        self.assertEqual(first, (-1, 2, -3, 4, 0.5, -0.25, "€", True, datetime.date(1969, 12, 31), datetime.time(0, 0, 1), moment,
                                 epoch, decimal.Decimal("1.5"), "aé€😀\ufffd", b"\x01\x02", "x"))
        self.assertEqual(second, (0, 0, 0, 0, 0.0, 0.0, "a", False) + (None,) * 8)
        self.assertEqual(list(third[-1]), [1, 2])

    def test_a_column_may_change_its_type(self):
        self.assertEqual([row for row, in java.table(tables.growing())], [None, 1, 2, 3_000_000_000, 0.5, 7, "eight", 9])
        self.assertEqual([row for row, in java.table(tables.decimals())],
                         [decimal.Decimal("1.5"), decimal.Decimal("1" + "0" * 999), None, decimal.Decimal(1)])
        moments = [row for row, in java.table(tables.times())]
        self.assertEqual([(each.year, getattr(each, "nanosecond", 0)) for each in moments], [(2024, 0), (2024, 1), (9999, 0)])

    def test_rows_limits_the_rows_and_the_next_table_goes_on(self):
        rows = tables.stream(150_000)
        self.assertEqual([age for age, in java.table(rows, columns=["age"], rows=2)], [0, 1])
        self.assertEqual(len(java.table(rows, rows=70_000)), 70_000)
        rest = java.table(rows)
        self.assertEqual((len(rest), next(iter(rest))), (79_998, (70_002,)))
        self.assertEqual(len(java.table(rows)), 0)

    def test_what_is_longer_than_an_answer_is_complete(self):
        table = java.table(tables.longStrings(3, 20_000_000, 10_000_000, 10_000_000, 5))
        self.assertEqual([(length, len(text)) for length, text in table], [(each, each) for each in (3, 20_000_000, 10_000_000, 10_000_000, 5)])

    def test_a_result_set(self):
        self.assertEqual(list(java.table(tables.results(3, 3, 0, None))),
                         [(11, "s1", datetime.date(1970, 1, 2)), (21, "s2", datetime.date(1970, 1, 3)), (None, None, None)])
        self.assertEqual(java.table(tables.results(0, 2, 0, None)).column_names, ["C1", "C2"])
        wide = java.table(tables.results(3000, 1000, 0, None), rows=2500)
        self.assertEqual((len(wide), len(wide.column_names), wide["C1000"][0]), (2500, 1000, 1010))

    def test_errors(self):
        with self.assertRaises(java.java.sql.SQLException) as raised:
            java.table(tables.results(9000, 3, 5001, None))
        self.assertEqual((raised.exception.getSQLState(), raised.exception.getErrorCode()), ("08006", 42))
        with self.assertRaisesRegex(jpeer.PeerError, "has no record component, getter or public field"):
            java.table(tables.people(1), columns=["nope"])
        with self.assertRaisesRegex(TypeError, "java.table needs an object of Java with rows, not list"):
            java.table([1])
        with self.assertRaisesRegex(TypeError, "a list of names"):
            java.table(tables.people(1), columns="name")

    def test_later_rows_of_another_kind_lose_nothing(self):
        lists, maps = java.java.util.ArrayList, java.java.util.HashMap
        with self.assertRaisesRegex(jpeer.BadArgument, "row 1: a row has the key 'a', and the first has not"):
            java.table(lists([lists([1, 2]), maps({"a": 5, "b": 6})]))
        person = java.table(lists([lists([each]) for each in tables.people(1)]))["0"][0]
        with self.assertRaisesRegex(jpeer.BadArgument, "more components than the columns of the first"):
            java.table(lists([lists([1]), person]))
        late = java.table(lists([None, person]), columns=["age"])
        self.assertEqual((list(late), late._pages[0][1][0].nullable), ([(None,), (0,)], True))

    def test_another_thread_closes_the_result_set(self):
        results = tables.results(2**31 - 1, 3, 0, None)

        def act(is_reader):
            if is_reader:
                with self.assertRaisesRegex(jpeer.JavaException, "the ResultSet is closed"):
                    java.table(results)
            else:
                results.close()

        run_threads(act, [True, False])

    def test_batches(self):
        table = java.table(tables.people(50), columns=["age", "address.city"])
        self.assertEqual([len(part) for part in table.batches(20)], [20, 20, 10])
        self.assertEqual([row for part in table.batches(20) for row in part], list(table))
        self.assertEqual([row for part in table.batches(7) for row in java.table(java.rows(part))], list(table))
        parts = java.table_batches(tables.stream(70_000), columns=["age"], rows=30_000)
        self.assertEqual([(len(part), next(iter(part))) for part in parts], [(30_000, (0,)), (30_000, (30_000,)), (10_000, (60_000,))])

    def test_threads_share_an_iterator_by_turns_or_are_refused(self):
        rows = tables.stream(100_000)
        java.table(rows, columns=["age"], rows=1)
        taken = []

        def act(_):
            try:
                while part := list(java.table(rows, rows=500)):
                    taken.append([age for age, in part])
            except jpeer.PeerError as error:
                self.assertIn("another request is reading from this object", str(error))

        run_threads(act, range(4))
        taken.append([age for age, in java.table(rows)])
        self.assertEqual(sorted(age for part in taken for age in part), list(range(1, 100_000)))


def shown(source, **given):
    return tables.show(java.rows(source, **given))


class Back(unittest.TestCase):
    """java.rows: from Python to Java."""

    shown = staticmethod(shown)

    def test_values_have_the_java_types_of_their_columns(self):
        utc, moment = datetime.UTC, datetime.datetime(2024, 2, 29, 12, 30, 0, 1)
        row = (1, 3_000_000_000, 0.5, True, "a€", b"\1", decimal.Decimal("-1.50"), datetime.date(1969, 12, 31), datetime.time(0, 0, 1),
               moment, moment.replace(tzinfo=utc), uuid.UUID(int=5), 2**70)
        self.assertEqual(self.shown([row, (None,) * 13]),
                         "[1, 3000000000, 0.5, true, a€, [1], -1.50, 1969-12-31, 00:00:01, 2024-02-29T12:30:00.000001, 2024-02-29T12:30:00.000001Z,"
                         " 00000000-0000-0000-0000-000000000005, 1180591620717411303424];[" + ", ".join(["null"] * 13) + "];")
        batch = tables.Batch(None, 0)
        self.assertEqual(send_rows(java, batch.statement(), [row, (None,) * 13]), [1, 2])
        self.assertIn("setObject 11 2024-02-29T12:30:00.000001Z:OffsetDateTime, setObject 12 00000000-0000-0000-0000-000000000005:UUID", str(batch.log))
        self.assertIn("setNull 11 2014, setNull 12 0, setNull 13 0, addBatch, executeBatch]", str(batch.log))

    def test_columns_of_several_types(self):
        self.assertEqual(self.shown([(1, 1), (0.5, "x"), (2, None)]), "[1.0, 1];[0.5, x];[2.0, null];")
        self.assertEqual(self.shown([(2**53 + 1,), (0.5,)]), "[9007199254740993];[0.5];")
        self.assertEqual(self.shown([("a\ud800",), ("b",)]), "[a\ud800];[b];")
        self.assertEqual(self.shown([(datetime.datetime(9999, 1, 1),), (java.java.time.LocalDateTime.of(2024, 1, 1, 0, 0, 0, 7),)]),
                         "[9999-01-01T00:00];[2024-01-01T00:00:00.000000007];")

    def test_elements_may_be_lists_or_maps(self):
        Row = collections.namedtuple("Row", "n t")
        self.assertEqual(self.shown([Row(1, "a")], of="java.util.Map"), "{n=1, t=a};")
        self.assertEqual(self.shown([[1, "a"]], of="java.util.List", target="java.util.LinkedList"), "[1, a];")
        self.assertEqual(self.shown([[], []]), "[];[];")
        for row in ({"n": 1}, {1, 2}, b"ab", bytearray(b"ab")):
            with self.subTest(row), self.assertRaisesRegex(TypeError, "row 1 is no tuple or list of values"):
                java.rows([(1, 2)[: len(row)], row])

    def test_a_table_goes_back(self):
        table = java.table(tables.every())
        self.assertEqual(list(java.table(java.rows(table)))[:2], list(table)[:2])
        many = java.table(tables.people(100_000), columns=["name", "age"])
        self.assertEqual(list(java.table(java.rows(many))), list(many))

    def test_rows_and_values_beyond_one_message(self):
        def rows():
            for i in range(3000):
                yield i, "x" * (20_000_000 if i == 2000 else 1000), i % 2 == 0, None if i % 3 else b"b" * 10_000

        sent = java.rows(rows())
        self.assertEqual([(n, len(t), flag, b and len(b)) for n, t, flag, b in java.table(sent)],
                         [(n, len(t), flag, b and len(b)) for n, t, flag, b in rows()])

    def test_an_endless_iterable_is_sent_until_java_refuses(self):
        with self.assertRaisesRegex(jpeer.JavaException, r"row 70000 \(.* rows were added\): full") as raised:
            java.rows(((i,) for i in itertools.count()), tables.fullAt(70_000))
        self.assertRegex(raised.exception.__notes__[0], r"the first \d+ rows were sent before")

    def test_errors_name_the_row(self):
        statement = tables.Batch("setString", 1).statement()
        with self.assertRaisesRegex(java.java.sql.SQLException, "row 1, column 1: setString fails"):
            send_rows(java, statement, [(1, "a"), (2, "b")])
        with self.assertRaises(java.java.sql.BatchUpdateException) as raised:
            send_rows(java, tables.Batch("executeBatch", 0).statement(), [(1,)])
        self.assertEqual(list(raised.exception.getUpdateCounts()), [1, -3, -2, -3])
        for bad, message in (([(1,), (1, 2)], "row 1 has 2 values, and the first has 1"), ([(1,), 2], "row 1 is no tuple or list of values, but int"),
                             (["ab"], "row 0 is no tuple or list of values, but str"), ([(decimal.Decimal("NaN"),)], "row 0, column 0: 'NaN' is no decimal")):
            with self.subTest(bad=bad), self.assertRaisesRegex((TypeError, ValueError, jpeer.PeerError), message):
                java.rows(bad)
        with self.assertRaisesRegex(jpeer.PeerError, "is no PreparedStatement and no Collection"):
            java.rows([(1,)], java.java.lang.Object())

    def test_another_thread_closes_the_statement(self):
        batch = tables.Batch(None, 0)
        statement = batch.statement()

        def act(is_sender):
            if is_sender:
                with self.assertRaisesRegex(java.java.sql.SQLException, "closed"):
                    send_rows(java, statement, ((i,) for i in itertools.count()))
            else:
                batch.close()

        run_threads(act, [True, False])


class Stream:
    def __init__(self, table):
        self.__arrow_c_stream__ = table.__arrow_c_stream__


class Loop(AioCase):
    """jpeer.aio."""

    async def test_tables_batches_and_rows(self):
        table = await self.java.table(await self.java.fixtures.Tables.people(3))
        self.assertEqual(list(table["age"]), [0, 1, 2])
        self.assertEqual(await table["address"][1].city(), "c1")
        stream = await self.java.fixtures.Tables.stream(50_000)
        parts = [len(part) async for part in self.java.table_batches(stream, ["age"], rows=20_000)]
        self.assertEqual(parts, [20_000, 20_000, 10_000])
        made = await self.java.rows([(1, "a")], of="java.util.List")
        self.assertEqual(await made.toString(), "[[1, a]]")
        self.assertEqual(await (await self.java.rows(table, made)).size(), 4)
        async for part in self.java.table_batches(await self.java.fixtures.Tables.stream(50_000), ["age"], rows=10):
            break
        self.assertEqual(len(part), 10)

    async def test_batches_end_while_one_is_fetched(self):
        called, gate = threading.Event(), threading.Event()

        def row():
            called.set()
            gate.wait(SECONDS)
            return [1]

        stream = await self.java.java.util.stream.Stream.generate(row)

        async def read():
            async for _ in self.java.table_batches(stream, ["0"], rows=1):
                pass

        task = asyncio.create_task(read())
        await asyncio.to_thread(called.wait, SECONDS)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        gate.set()


class Malformed(unittest.TestCase):
    def test_a_column_that_does_not_have_its_rows_is_refused(self):
        good = {"name": "a", "type": "int", "nullable": True, "data": bytearray(8)}
        self.assertEqual(Chunk(good, 2).values(), [0, 0])
        for bad in ({"type": "complex"}, {"data": bytearray(7)}, {"data": [1, 2]}, {"data": None}, {"valid": bytearray(2)}, {"type": "string"},
                    {"type": "string", "offsets": bytearray(8)},
                    {"type": "string", "offsets": bytearray(b"\0\0\0\0\2\0\0\0\1\0\0\0"), "data": bytearray(1)},
                    {"type": "string", "offsets": bytearray(b"\0\0\0\0\1\0\0\0\2\0\0\0"), "data": bytearray("é".encode())}, {"type": "string", "offsets": bytearray(b"\0\0\0\0\0\0\0\0\1\0\0\0")},
                    {"type": "timestamp", "data": bytearray(16)}, {"type": "decimal", "scale": 39, "data": bytearray(32)},
                    {"type": "object", "data": [1]}):
            with self.subTest(bad=bad), self.assertRaisesRegex(jpeer.ProtocolError, "malformed"):
                Chunk({**good, **bad}, 2)


class Libraries(unittest.TestCase):
    def test_numpy(self):
        numpy, = need("numpy")
        table = java.table(tables.every(), columns=["i", "z", "d", "string"])
        self.assertEqual([str(table[name].dtype) for name in ("i", "z", "d")], ["int32", "bool", "float64"])
        self.assertEqual(table["z"].tolist(), [True, False, True])
        self.assertEqual({name: str(array.dtype) for name, array in table.to_numpy().items()},
                         {"i": "int32", "z": "bool", "d": "float64", "string": "object"})
        self.assertEqual(java.table(tables.times(), rows=2)["0"].dtype, numpy.dtype("datetime64[ns]"))

    def test_arrow(self):
        need("pyarrow")
        names = ["b", "s", "i", "l", "f", "d", "z", "date", "time", "timestamp", "instant", "decimal", "string", "binary"]
        arrow = java.table(tables.every(), columns=names).to_arrow()
        self.assertEqual([str(field.type) for field in arrow.schema],
                         ["int8", "int16", "int32", "int64", "float", "double", "bool", "date32[day]", "time64[ns]", "timestamp[us]",
                          "timestamp[us, tz=UTC]", "decimal128(38, 2)", "string", "binary"])
        self.assertEqual(arrow.column("string").to_pylist(), ["aé€😀\ufffd", None, ""])
        self.assertEqual(arrow.column("decimal").to_pylist(), [decimal.Decimal("1.5"), None, decimal.Decimal("-2.25")])
        with self.assertRaisesRegex(TypeError, "column 'address': Arrow has no type for its values"):
            java.table(tables.people(2)).to_arrow()

    def test_a_value_that_arrow_would_change_is_refused(self):
        """By pyarrow, and so by the stream of such a column."""
        pyarrow, = need("pyarrow")
        time, lists = java.java.time, java.java.util.ArrayList
        fine, old, day = time.LocalDateTime.of(2024, 1, 1, 0, 0, 0, 123456789), time.LocalDateTime.of(1500, 1, 1, 0, 0, 0, 1), time.LocalDate.of(2024, 1, 1)
        zoned, noon = time.OffsetDateTime.of(fine, time.ZoneOffset.ofHours(5)), time.LocalDateTime.of(2024, 1, 1, 12, 0)
        for values, message in (
                ([old, fine], "nanoseconds"), ([time.Duration.ofNanos(1)], "nanoseconds"), ([time.OffsetTime.of(1, 0, 0, 0, time.ZoneOffset.UTC)], "zone"),
                ([day, noon], "several: date, datetime"), ([noon, zoned], "several: datetime, datetime with a zone"),
                ([time.Duration.ofSeconds(1), 1], "several: int, timedelta"), ([0.5, True], "several: bool, float"), ([b"x", "y"], "several: bytes, str"),
                ([decimal.Decimal("1.5"), "1.5"], "several: Decimal, str"), ([2**70, 1], "too large")):
            table = java.table(lists([lists([value]) for value in values]))
            for convert in (table.to_arrow, table.__arrow_c_stream__):
                with self.subTest(values), self.assertRaisesRegex(TypeError, f"column '0': Arrow has no type for its values: .*{message}"):
                    convert()
        self.assertEqual(java.table(lists([lists([zoned])])).to_arrow()["0"].cast(pyarrow.int64()).to_pylist(), [1704049200123456789])
        self.assertEqual(java.table(lists([lists([value]) for value in "\ud800a"]), columns=["0"]).to_arrow()["0"].to_pylist(), ["\ufffd", "a"])

    def test_pandas(self):
        pandas, = need("pandas")
        frame = java.table(tables.results(4, 3, 0, None)).to_pandas()
        self.assertEqual([str(each) for each in frame.dtypes[["C1", "C3"]]], ["Int32", "datetime64[s]"])
        self.assertEqual(frame["C1"].isna().tolist(), [False, False, True, False])
        self.assertEqual(frame["C2"].tolist()[:2], ["s1", "s2"])
        self.assertTrue(pandas.isna(frame["C3"][2]))
        self.assertEqual(len(java.table(tables.people(0)).to_pandas()), 0)
        lists, moment = java.java.util.ArrayList, datetime.datetime(2024, 1, 1)
        table = java.table(lists([lists([moment]), lists([None])]))
        self.assertTrue(pandas.isna(table.to_pandas()["0"][1]))
        self.assertEqual(list(table), [(moment,), (None,)])  # although its bytes are pandas' NaT now

    def test_the_arrow_stream_has_every_type_and_page(self):
        """Without any library: a Table is written as a stream, and read again from it."""
        def copy(table):
            return list(java.table(java.rows(Stream(table))))

        names = ["b", "s", "i", "l", "f", "d", "c", "z", "date", "time", "timestamp", "instant", "decimal", "string", "binary"]
        every = java.table(tables.every(), columns=names)
        self.assertEqual(copy(every), list(every))
        self.assertEqual(copy(java.table(tables.decimals())), [("1.5",), ("1" + "0" * 999,), (None,), ("1",)])
        self.assertEqual(copy(java.table(tables.growing(), rows=6)), [(None,), (1.0,), (2.0,), (3e9,), (0.5,), (7.0,)])
        people = java.table(tables.people(70_000), columns=["age", "address.city"])
        self.assertEqual(copy(people), list(people))
        self.assertEqual(copy(java.table(tables.people(0), columns=["age"])), [])
        with unittest.mock.patch.dict(sys.modules, {"pyarrow": None}):
            with self.assertRaisesRegex(TypeError, "column '0': Arrow has no type for its values: int, str"):
                java.table(tables.growing()).__arrow_c_stream__()

    def test_polars_and_duckdb_read_the_stream_without_pyarrow(self):
        polars, duckdb = need("polars", "duckdb")
        people = java.table(tables.people(70_000), columns=["name", "age"])
        with unittest.mock.patch.dict(sys.modules, {"pyarrow": None}):
            self.assertEqual(polars.DataFrame(people)["age"].to_list(), list(range(70_000)))
            self.assertEqual(duckdb.sql("select count(*), max(name), sum(age) from people").fetchall(),
                             [(70_000, "n9999", sum(range(70_000)))])

    def test_frames_of_polars_go_to_java(self):
        polars, = need("polars")
        frame = polars.DataFrame({
            "u": polars.Series([1, None, 2**63], dtype=polars.UInt64), "s": ["x", None, "a text of more than 12 bytes"],
            "c": polars.Series(["p", "q", "p"], dtype=polars.Categorical), "z": [True, None, False], "d": [datetime.date(1960, 1, 1)] * 3,
            "t": polars.Series([datetime.datetime(2024, 1, 1)] * 3).dt.replace_time_zone("Europe/Berlin"), "n": [None] * 3,
            "decimal": polars.Series(["1.50", "2.25", None]).cast(polars.Decimal(10, 2)), "b": [b"1", None, b""]})
        self.assertEqual(tables.show(java.rows(frame[1:])),
                         "[null, null, q, null, 1960-01-01, 2023-12-31T23:00:00Z, null, 2.25, null];"
                         "[9223372036854775808, a text of more than 12 bytes, p, false, 1960-01-01, 2023-12-31T23:00:00Z, null, null, []];")
        many = polars.DataFrame({"0": range(100_000), "1": [f"text {i}" for i in range(100_000)]})
        self.assertTrue(polars.DataFrame(java.table(java.rows(many))).equals(many))
        with self.assertRaisesRegex(TypeError, r"column 'l': Arrow's type '\+L' has no Java type"):
            java.rows(polars.DataFrame({"l": [[1], [2]]}))

    def test_frames_of_pandas_and_arrays_go_to_java(self):
        pandas, numpy = need("pandas", "numpy")
        frame = pandas.DataFrame({
            "I": pandas.array([1, None], dtype="Int64"), "f": [0.5, numpy.nan], "s": ["a", None], "B": pandas.array([True, None], dtype="boolean"),
            "t": pandas.to_datetime(["2024-01-01", None]), "tz": pandas.to_datetime(["2024-01-01 00:00:00+01:00"] * 2),
            "c": pandas.Categorical(["x", None]), "o": [decimal.Decimal("1.5"), None], "u": numpy.array([1, 2**63], dtype="u8")}, index=[5, 6])
        for modules in ({}, {"pyarrow": None}):
            with self.subTest(modules), unittest.mock.patch.dict(sys.modules, modules):
                self.assertEqual(tables.show(java.rows(frame)), "[1, 0.5, a, true, 2024-01-01T00:00, 2023-12-31T23:00:00Z, x, 1.5, 1];"
                                 "[null, null, null, null, null, 2023-12-31T23:00:00Z, null, null, 9223372036854775808];")
        self.assertEqual(tables.show(java.rows(numpy.arange(4).reshape(2, 2).T)), "[0, 2];[1, 3];")
        self.assertEqual(tables.show(java.rows(numpy.array([[1.5, numpy.nan]]))), "[1.5, NaN];")
        self.assertEqual(tables.show(java.rows(numpy.ma.MaskedArray([[1, 2]], mask=[[True, False]]))), "[null, 2];")

    def test_values_of_pandas_and_numpy_keep_nanoseconds_and_nulls(self):
        pandas, numpy = need("pandas", "numpy")
        fine = pandas.Timestamp("2024-01-01 00:00:00.123456789")
        self.assertEqual(shown([(fine, pandas.NaT, pandas.NA), (pandas.NaT, fine.tz_localize("UTC"), 1)]),
                         "[2024-01-01T00:00:00.123456789, null, null];[null, 2024-01-01T00:00:00.123456789Z, 1];")
        frame = pandas.DataFrame({
            "u": pandas.array([2**63, None], dtype="UInt64"), "ns": numpy.array([1001, "NaT"], "m8[ns]"), "s": numpy.array([1, 2], "m8[s]"),
            "o": pandas.Series([fine, None], dtype=object)})
        for modules in ({}, {"pyarrow": None}):
            with self.subTest(modules), unittest.mock.patch.dict(sys.modules, modules):
                self.assertEqual(shown(frame), "[9223372036854775808, PT0.000001001S, PT1S, 2024-01-01T00:00:00.123456789];"
                                 "[null, null, PT2S, null];")
        for column in (pandas.period_range("2024", periods=2, freq="M"), pandas.interval_range(0, 2), numpy.array([1], "m8[M]").reshape(1, 1)):
            with self.subTest(column), self.assertRaisesRegex(TypeError, "has no form in Java"):
                java.rows(column if isinstance(column, numpy.ndarray) else pandas.DataFrame({"a": column}))
        arrow, = need("pyarrow")
        column = pandas.Series([{"x": 1, "y": 2}], dtype=pandas.ArrowDtype(arrow.struct({"x": arrow.int64(), "y": arrow.int64()})))
        self.assertEqual(shown(pandas.DataFrame({"a": column})), "[{x=1, y=2}];")

    def test_extension_types_of_arrow(self):
        arrow, pandas = need("pyarrow", "pandas")
        ids = [uuid.UUID(int=7), None, uuid.UUID(int=2**128 - 1)]
        table = arrow.table({"u": arrow.array([each and each.bytes for each in ids], arrow.uuid()), "b": arrow.array([1, None, 0], arrow.bool8())})
        for source in (table, table.to_pandas(types_mapper=pandas.ArrowDtype)):
            self.assertEqual([tuple(row) for row in java.rows(source)], [(ids[0], True), (None, None), (ids[2], False)])
            self.assertEqual({type(row[1]) for row in java.rows(source)}, {bool, type(None)})
        self.assertEqual([tuple(row) for row in java.rows(arrow.table({"j": arrow.array(["[1]"], arrow.json_())}))], [("[1]",)])
        for bad in (arrow.array(pandas.period_range("2024", periods=2, freq="M")), arrow.array([b"x"], arrow.opaque(arrow.binary(), "a", "b"))):
            with self.assertRaisesRegex(TypeError, f"column 'p': Arrow's type '{bad.type.extension_name}' has no Java type"):
                java.rows(arrow.table({"p": bad}))

    def test_a_data_frame_shares_memory_and_no_changes(self):
        need("pandas")
        table = java.table(tables.results(4, 3, 0, None))
        frame = table.to_pandas()
        frame.loc[0, "C1"] = 99
        self.assertEqual((table.to_pandas().loc[0, "C1"], next(iter(table))[0], frame.loc[0, "C1"]), (11, 11, 99))
        del table
        frame.loc[1, "C1"] = 98
        self.assertEqual(frame["C1"].tolist()[:2], [99, 98])
        many = java.table(tables.people(100_000), columns=["age"])
        self.assertTrue((many["age"] == range(100_000)).all())
        self.assertIs(many["age"].base.obj, many["age"].base.obj)  # the pages were joined once
        self.assertEqual([row for row, in many][99_990:], list(range(99_990, 100_000)))
        self.assertEqual(many.to_pandas()["age"].sum(), sum(range(100_000)))
        flags = java.table(java.rows([(each % 3 == 0,) for each in range(70_000)]))  # whose array has another layout
        expected = [each % 3 == 0 for each in range(70_000)]
        self.assertTrue(flags["0"].tolist() == [flag for flag, in flags] == flags.to_pandas()["0"].tolist() == expected)
        ages = many["age"]
        frame = many.to_pandas()
        del many
        frame.loc[0, "age"] = 99
        self.assertEqual((ages[0], frame.loc[0, "age"]), (0, 99))

    def test_a_missing_library_is_named(self):
        try:
            need("pyarrow")
        except unittest.SkipTest:
            with self.assertRaisesRegex(ImportError, r"to_arrow\(\) needs pyarrow, which is not installed"):
                java.table(tables.people(1)).to_arrow()


class Database(unittest.TestCase):
    def test_the_types_of_h2(self):
        found = subprocess.run([str(ROOT / "tools/fetch-jar"), H2], capture_output=True, text=True, check=False)
        if found.returncode != 0:
            self.skipTest(f"H2 cannot be fetched: {found.stderr.strip()[-200:]}")
        with launch(classpath=[found.stdout.strip()]) as peer:
            connection = peer.java.sql.DriverManager.getConnection("jdbc:h2:mem:tables")
            results = connection.createStatement().executeQuery(
                "select cast(1 as tinyint) a, cast(2 as smallint) b, 3 c, cast(4 as bigint) d, cast(0.5 as real) e, 0.25e0 f, true g,"
                " cast(12.50 as numeric(10, 2)) h, 'text' i, cast(X'0102' as varbinary(2)) j, date '2024-02-29' k, time '12:00:01' l,"
                " timestamp '2024-02-29 12:00:01.000002' m, timestamp with time zone '2024-02-29 12:00:00+01:00' n,"
                " cast('11111111-2222-3333-4444-555555555555' as uuid) o, cast(null as int) p, cast('long' as clob) q,"
                " cast(X'03' as blob) r")
            row, = peer.table(results)
        expected = (1, 2, 3, 4, 0.5, 0.25, True, decimal.Decimal("12.50"), "text", b"\x01\x02", datetime.date(2024, 2, 29),
                    datetime.time(12, 0, 1), datetime.datetime(2024, 2, 29, 12, 0, 1, 2),
                    datetime.datetime(2024, 2, 29, 11, tzinfo=datetime.UTC))
        self.assertEqual(row[:14], expected)
        self.assertEqual((str(row[14]), *row[15:]), ("11111111-2222-3333-4444-555555555555", None, "long", b"\x03"))


if __name__ == "__main__":
    unittest.main()
