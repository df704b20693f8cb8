"""Rows of a query of H2 in memory (int, long, double, varchar(20), timestamp, 1 % nulls; the query included) through
java.table, beside a program in Java alone that reads the same rows into arrays of primitives.

The peer and the program in Java have the server's core, Python has the other. The first half of the rounds is for
HotSpot and does not count. H2 comes through Maven, pyarrow and pandas from PyPI; without them the part is left out.

A row has a `key`, the `measured` time in ms, as its `floor` the time of Java alone, and their ratio, the `figure`.
"""

import json
import statistics
import subprocess
import sys

from bench import process, python, rivals
from bench.load import pinned
from bench.loadtable import placements
from support.peer import Peer, environment

NAME = "tables"
WHAT = "rows of a query by columns: java.table beside Java alone"

H2 = "com.h2database:h2:2.3.232"
PACKAGES = ("pyarrow==26.0.1", "pandas==3.1.1")
ROWS = 1000000
ROUNDS_A_RUN = 4
QUERY = "select * from rows_of_bench"
CREATE = ("create table rows_of_bench as select cast(x as int) a, case when mod(x, 100) <> 0 then x * 1000 end b,"
          " case when mod(x, 100) <> 1 then cast(x as double) / 3 end c,"
          " case when mod(x, 100) <> 2 then cast('abcdefghijklmno' || mod(x, 10000) as varchar(20)) end d,"
          " case when mod(x, 100) <> 3 then cast(dateadd(second, x, timestamp '2024-01-01 00:00:00') as timestamp(6)) end e"
          " from system_range(1, {})")

COLUMNS = process.COLUMNS
cells = process.cells


def warm(times):
    return statistics.median(times[len(times) // 2:])


def run(rows, rounds):
    """Returns the ms of Java alone, of java.table into Arrow, and into pandas. LeftOut: something cannot be fetched."""
    jar = rivals.fetched(H2)
    packages = [python.fetched(package) for package in PACKAGES]
    if None in packages:
        raise rivals.LeftOut("pyarrow and pandas")
    _, server, client = placements()[0]
    create = CREATE.format(rows)
    with pinned(server):
        alone = subprocess.run(["java", "-cp", jar, rivals.SOURCES / "TableAlone.java", str(rows), str(rounds), create, QUERY],
                               stdout=subprocess.PIPE, text=True, check=True, env=environment()).stdout
    with pinned(server):
        peer = Peer("--log-level", "warn", class_path=jar)
    with peer, pinned(client):
        done = subprocess.run([python.PYTHON, python.PROGRAMS / "tables.py", peer.address("ws"), str(rounds), create, QUERY],
                              stdout=subprocess.PIPE, text=True, check=True,
                              env=environment(PYTHONPATH=f"{python.PACKAGE}:{packages[0]}"))
    made = json.loads(done.stdout)
    if made["rows"] != rows:
        raise SystemExit(f"java.table has read {made['rows']} rows of {rows}")
    return warm([float(word) for word in alone.split()]), warm(made["arrow"]), warm(made["pandas"])


def measure(options, rows=ROWS):
    try:
        alone, arrow, pandas = run(rows, options.runs * ROUNDS_A_RUN)
    except rivals.LeftOut as why:
        print(f"{NAME} is left out: {why}", file=sys.stderr)
        return
    yield process.row("tables-arrow-ms", f"{rows:,} rows of five columns into Arrow; floor: Java alone into arrays", arrow, "ms", alone)
    yield process.row("tables-pandas-ms", "the same into pandas", pandas, "ms", alone)


def smoke():
    """Runs every program once."""
    try:
        assert all(figure > 0 for figure in run(1000, 2))
    except rivals.LeftOut as why:
        print(f"{NAME} is left out: {why}", file=sys.stderr)
