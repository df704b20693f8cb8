"""Rows of a query of H2 in memory (int, long, double, varchar(20), timestamp, 1 % nulls; the query included) through
java.table, and rows that are inserted as batches, beside a program in Java alone that does the same with arrays of primitives,
and beside JayDeBeApi, JPype's dbapi2 and Py4J.

The peer, the program in Java and Py4J's JVM have the server's core, Python has the other; JayDeBeApi and JPype contain their
JVM, and run whole on Python's core. The rounds of jpeer and of Java alone alternate, and the first half of them is for HotSpot
and does not count. The rivals read fewer rows, and their times are multiplied. H2 comes through Maven, the libraries from PyPI; what
cannot be fetched is left out.

A row has a `key`, the `measured` time in ms, as its `floor` the time of Java alone, and their ratio, the `figure`. The rows of
rivals have the rival's time as `measured`, jpeer's as `floor`.
"""

import contextlib
import json
import statistics
import sys

from bench import process, python, rivals
from bench.load import pinned
from bench.loadtable import placements
from bench.shm import address
from support.peer import Peer, environment

NAME = "tables"
WHAT = "rows of a query by columns: java.table beside Java alone, and rows that are inserted"

H2 = "com.h2database:h2:2.3.232"
PACKAGES = ("numpy==2.4.6", "pandas==3.1.1", "pyarrow==26.0.1")
ROWS = 1000000
SENT = 100000
ROUNDS_A_RUN = 4
QUERY = "select * from rows_of_bench"
CREATE = ("create table rows_of_bench as select cast(x as int) a, case when mod(x, 100) <> 0 then x * 1000 end b,"
          " case when mod(x, 100) <> 1 then cast(x as double) / 3 end c,"
          " case when mod(x, 100) <> 2 then cast('abcdefghijklmno' || mod(x, 10000) as varchar(20)) end d,"
          " case when mod(x, 100) <> 3 then cast(dateadd(second, x, timestamp '2024-01-01 00:00:00') as timestamp(6)) end e"
          " from system_range(1, {})")
TARGET = "create table sent_of_bench (a int, b bigint, c double, d varchar(20), e timestamp)"
INSERT = "insert into sent_of_bench values (?, ?, ?, ?, ?)"
# For each rival: its packages, the part of the rows that it reads, and the part that it inserts; 0: none.
RIVALS = {
    "JayDeBeApi": (("JayDeBeApi==1.2.3", "JPype1==1.7.1"), 20, 10),
    "JPype": (("JPype1==1.7.1",), 20, 10),
    "Py4J": (("py4j==0.10.9.9",), 500, 0),
}

COLUMNS = process.COLUMNS
cells = process.cells



class Library(rivals.Program):
    """bench/python/tables.py with a library."""

    def __init__(self, core, library, where, rows, sent, folders):
        super().__init__(core, python.PYTHON, python.PROGRAMS / "tables.py", library, where, sent, CREATE.format(rows), QUERY,
                         TARGET, INSERT, env=environment(PYTHONPATH=":".join(map(str, folders))))
        self.await_line("ready")
        self.counts = {"insert": sent}
        self.rows = rows

    def measure(self, kind):
        self.ask(kind)
        made = json.loads(self.await_line("{"))
        if made["rows"] != self.counts.get(kind, self.rows):
            raise SystemExit(f"{kind}: {made['rows']} rows of {self.rows}")
        return made


def warm(times):
    return statistics.median(times[len(times) // 2:])


def packages(names):
    """Returns the folder of the packages. LeftOut: they cannot be fetched."""
    folder = python.fetched(*names)
    if folder is None:
        raise rivals.LeftOut(" and ".join(names))
    return folder


def measure_jpeer(stack, jar, rows, sent, rounds):
    """Returns the ms of each kind, and the memory that reading into pandas needs, by the DataFrame's."""
    _, server, client = placements()[0]
    folders = [python.PACKAGE, packages(PACKAGES)]
    alone = stack.enter_context(rivals.Program(server, "java", "-cp", jar, rivals.SOURCES / "TableAlone.java", rows, sent,
                                               CREATE.format(rows), QUERY, TARGET, INSERT))
    with pinned(server):
        peer = stack.enter_context(Peer("--log-level", "warn", class_path=jar, sockets=True))
    library = stack.enter_context(Library(client, "jpeer", address(peer, "shm"), rows, sent, folders))
    times = {"read": [], "insert-alone": [], "arrow": [], "pandas": [], "insert": []}
    made = library.measure("memory")  # before other rounds leave free memory
    for _ in range(rounds):
        for kind, command in (("read", "read"), ("insert-alone", "insert")):
            alone.ask(command)
            times[kind].append(float(alone.await_line(tuple("0123456789"))))
        for kind in ("arrow", "pandas", "insert"):
            times[kind].append(library.measure(kind)["ms"])
    return {kind: warm(each) for kind, each in times.items()}, made["needed"] / made["frame"]


def measure_rival(name, jar, rows, sent):
    """Returns the ms for reading all rows into pandas, and for inserting; None: it was not measured."""
    names, reads, inserts = RIVALS[name]
    _, server, client = placements()[0]
    folders = [packages((*names, *PACKAGES[:2]))]
    with contextlib.ExitStack() as stack:
        where = jar
        if name == "Py4J":
            gateway = rivals.fetched(python.PY4J_JAR)
            program = stack.enter_context(rivals.Program(server, "java", "-cp", f"{jar}:{gateway}",
                                                         rivals.SOURCES / "TableGateway.java"))
            where = program.await_line(tuple("0123456789"))
        library = stack.enter_context(Library(client, f"{name.lower()}", where, max(rows // reads, 1),
                                              max(sent // (inserts or sent), 1), folders))
        read = library.measure("pandas")["ms"] * reads
        return read, library.measure("insert")["ms"] * inserts if inserts else None


def measure(options, rows=ROWS, sent=SENT):
    try:
        jar = rivals.fetched(H2)
        with contextlib.ExitStack() as stack:
            times, memory = measure_jpeer(stack, jar, rows, sent, options.runs * ROUNDS_A_RUN)
    except rivals.LeftOut as why:
        print(f"{NAME} is left out: {why}", file=sys.stderr)
        return
    yield process.row("tables-arrow-ms", f"{rows:,} rows of five columns into Arrow; floor: Java alone into arrays", times["arrow"],
                      "ms", times["read"])
    yield process.row("tables-pandas-ms", "the same into pandas", times["pandas"], "ms", times["read"])
    yield process.row("tables-memory", "memory that the same needs, by the DataFrame's", memory, "times")
    yield process.row("tables-insert-ms", f"executemany of {sent:,} tuples; floor: Java's own batches",
                      times["insert"], "ms", times["insert-alone"])
    for name, (_, reads, inserts) in RIVALS.items():
        try:
            read, insert = measure_rival(name, jar, rows, sent)
        except rivals.LeftOut as why:
            print(f"{name} is left out: {why}", file=sys.stderr)
            continue
        yield process.row(f"tables-pandas-{name}", f"into pandas by {name}, {rows // reads:,} rows times {reads}; floor: jpeer", read, "ms",
                          times["pandas"])
        if insert is not None:
            yield process.row(f"tables-insert-{name}", f"executemany by {name}, {sent // inserts:,} rows times {inserts}; floor: jpeer",
                              insert, "ms", times["insert"])


def smoke():
    """Runs every program once."""
    try:
        jar = rivals.fetched(H2)
        with contextlib.ExitStack() as stack:
            times, memory = measure_jpeer(stack, jar, 1000, 100, 2)
        assert memory >= 0 and all(figure > 0 for figure in times.values()), times
        for name in RIVALS:
            assert measure_rival(name, jar, 1000, 100)[0] > 0
    except rivals.LeftOut as why:
        print(f"{NAME} is left out: {why}", file=sys.stderr)
