"""tables.py LIBRARY WHERE SENT CREATE QUERY TARGET INSERT: reads a query of H2, and inserts rows, by a library. WHERE: the URL
of the peer, the jar of H2, or the port of Py4J's gateway. For each line of its input, which is the kind of a round, it prints a
line of JSON: the ms, the rows, and after "memory" the bytes that reading into pandas has needed and those of the DataFrame."""

import datetime
import gc
import json
import sys
import time

URL = "jdbc:h2:mem:bench;OPTIMIZE_REUSE_RESULTS=0"
KIB = 1024


def jpeer_library(url):
    import jpeer
    from jpeer import dbapi

    java = jpeer.connect(url)
    connection = java.java.sql.DriverManager.getConnection(URL)
    statement = connection.createStatement()
    cursor = dbapi.connect(URL, java=java).cursor()

    def insert(text, rows):
        cursor.executemany(text, rows)
        cursor.connection.commit()
        return cursor.rowcount

    def read(query):
        with statement.executeQuery(query) as results:
            return java.table(results)

    return {"execute": statement.execute, "insert": insert, "arrow": lambda query: read(query).to_arrow(),
            "pandas": lambda query: read(query).to_pandas()}


def by_cursor(connection):
    import pandas

    cursor = connection.cursor()

    def read(query):
        cursor.execute(query)
        return pandas.DataFrame(cursor.fetchall(), columns=[column[0] for column in cursor.description])

    def insert(text, rows):
        cursor.executemany(text, rows)
        return len(rows)

    return {"execute": cursor.execute, "insert": insert, "pandas": read}


def jaydebeapi_library(jar):
    import jaydebeapi

    made = by_cursor(jaydebeapi.connect("org.h2.Driver", URL, ["", ""], jar))
    # it cannot convert datetimes
    return {**made, "insert": lambda text, rows: made["insert"](text, [(*row[:4], str(row[4])) for row in rows])}


def jpype_library(jar):
    import jpype
    from jpype import dbapi2

    jpype.startJVM(classpath=[jar])
    return by_cursor(dbapi2.connect(URL))


def py4j_library(port):
    import pandas
    from py4j.java_gateway import GatewayParameters, JavaGateway

    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=int(port), auto_convert=True))
    connection = gateway.jvm.java.sql.DriverManager.getConnection(URL)
    statement = connection.createStatement()

    def read(query):
        results = statement.executeQuery(query)
        rows = []
        while results.next():
            rows.append([results.getObject(column) for column in range(1, 6)])
        return pandas.DataFrame(rows)

    return {"execute": statement.execute, "pandas": read}


def resident(key):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * KIB for line in file if line.startswith(key))


def measure_memory(read, query):
    gc.collect()
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the peak begins here
    before = resident("VmRSS")
    frame = read(query)
    return {"needed": resident("VmHWM") - before, "frame": int(frame.memory_usage(deep=True).sum()), "rows": len(frame)}


def main(library, where, sent, create, query, target, insert):
    parts = globals()[f"{library}_library"](where)
    parts["execute"](create)
    parts["execute"](target)
    begin = datetime.datetime(2024, 1, 1)
    if library == "jpeer":
        parts["pandas"](f"{query} fetch first 1000 rows only")  # imports the libraries, whose memory does not count
    rows = [(i, i * 1000, i / 3, f"abcdefghijklmno{i % 10000}", begin + datetime.timedelta(seconds=i)) for i in range(int(sent))]
    print("ready", flush=True)
    for line in sys.stdin:
        kind = line.strip()
        if kind == "memory":
            print(json.dumps(measure_memory(parts["pandas"], query)), flush=True)
            continue
        if kind == "insert":
            parts["execute"]("truncate table sent_of_bench")
        began = time.perf_counter()
        made = parts["insert"](insert, rows) if kind == "insert" else parts[kind](query)
        ms = (time.perf_counter() - began) * 1e3
        print(json.dumps({"ms": ms, "rows": made if kind == "insert" else len(made)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
