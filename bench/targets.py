"""The targets of the project, each computed from one run's data: met, not met, or not measured in that run.

A run's data is a dictionary of parts, each a list of rows. Load and rival rows are looked up by placement, transport,
workload and shape; rows of the parts "stages" and "process" have a `figure`, and are looked up by their `key`.
"""

import dataclasses
import operator
from collections.abc import Callable

BOTH = ("apart", "together")
RATE = "calls_per_second"
P50 = "p50_us"
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclasses.dataclass
class Target:
    what: str
    wanted: str  # an operator and a number
    measured: Callable  # gets the run's data, and returns (figure, where it was measured); None: not measured
    unit: str = ""

    def verdict(self, figure):
        operator, limit = self.wanted.split()
        return "met" if OPERATORS[operator](figure, float(limit)) else "not met"


def worst(found, figure):
    """Returns the worst of the pairs (ratio, where), because the worst decides; None if there is no pair, or
    a pair is missing."""
    found = list(found)
    if not found or None in found:
        return None
    return (min if figure == RATE else max)(found)


def ratio_in(row, base, figure):
    """jpeer's figure divided by the figure of the base, and where it was measured."""
    ours, theirs = (row["figures"].get(server, {}).get(figure) for server in ("jpeer", base))
    if ours is None or not theirs:
        return None
    return ours / theirs, f"{row['placement']}, {row['connections']}x{row['in_flight']}"


def load_ratio(workload, placements, transport, shape, base, figure, part="load"):
    """Finds the ratio to the base in each placement, and returns the worst."""
    def measured(run):
        found = []
        for placement in placements:
            wanted = (placement, transport, workload, *shape)
            rows = [row for row in run.get(part, ()) if base in row.get("figures", ()) and wanted == (
                row["placement"], row["transport"], row["workload"], row["connections"], row["in_flight"])]
            found += [ratio_in(row, base, figure) for row in rows] or [None]
        return worst(found, figure)

    return measured


def add_ratio(*wanted):
    return load_ratio("add", *wanted)


def binary_ratio(*wanted):
    return load_ratio("add-binary", *wanted)


def binary_over_json(placements, shape, base, figure):
    """Divides two ratios of `add` to its floor over ZeroMQ: the ratio of binary messages by the ratio of
    JSON. Returns the worst placement."""
    def measured(run):
        found = []
        for placement in placements:
            binary, json = (load_ratio(workload, (placement,), "ZeroMQ", shape, base, figure)(run)
                            for workload in ("add-binary", "add"))
            found.append((binary[0] / json[0], binary[1]) if binary and json else None)
        return worst(found, figure)

    return measured


def every_rival(figure):
    """The worst ratio to any rival, with the number of rivals that were measured, because some may be absent."""
    def measured(run):
        rows = run.get("rivals", ())
        found = worst((ratio_in(row, row["rival"], figure) for row in rows), figure)
        if found is None:
            return None
        row = next(row for row in rows if ratio_in(row, row["rival"], figure) == found)
        rivals = {row["rival"] for row in rows}
        return found[0], f"{row['rival']}, {row['workload']}, {found[1]}; the worst of {len(rivals)} rivals"

    return measured


def keyed(part, key):
    """The figure of the row with this key. If several rows have the key (for several placements or collectors), the
    worst of their figures, which is the highest."""
    def measured(run):
        figures = [row["figure"] for row in run.get(part, ()) if row.get("key") == key]
        return (max(figures), "") if figures else None

    return measured


def lowest(part, key):
    """Like keyed, for figures of which the lowest is the worst."""
    def measured(run):
        figures = [row["figure"] for row in run.get(part, ()) if row.get("key") == key]
        return (min(figures), "") if figures else None

    return measured


def keyed_ratio(part, key, base):
    """The figure of the row `key` divided by the figure of the row `base`."""
    def measured(run):
        figure, under = (keyed(part, wanted)(run) for wanted in (key, base))
        return (figure[0] / under[0], "") if figure and under and under[0] else None

    return measured


def shm_ratio(workload, placements, shape, base, figure):
    return load_ratio(workload, placements, "shm", shape, base, figure, "shm")


def python_ratio(workload, placements, over, base, worst_of=max):
    """The figure of one library divided by the figure of another in the part `python`, in the worst
    placement."""
    def measured(run):
        found = []
        for row in run.get("python", ()):
            if row["workload"] == workload and row["placement"] in placements:
                figure, floor = (row["figures"][name] for name in (over, base))
                if figure is not None and floor:
                    found.append((figure / floor, row["placement"]))
        return worst_of(found) if found else None

    return measured


def python_figure(workload):
    """The figure of the Python package over shared memory, with client and peer on different cores."""
    def measured(run):
        found = [(row["figures"]["shm"], row["placement"]) for row in run.get("python", ())
                 if row["workload"] == workload and row["placement"] == "apart"]
        return found[0] if found else None

    return measured


def python_gain(workload, ours):
    """The figure of Py4J divided by the package's: how many times faster the package is."""
    return python_ratio(workload, BOTH, "Py4J", ours, min)


TARGETS = (
    Target("add, 1x1, WebSocket, together: p50, ratio to floor (a)", "<= 1.15",
           add_ratio(("together",), "WebSocket", (1, 1), "floor", P50)),
    Target("add, 16x16, WebSocket: calls/s, ratio to floor (a)", ">= 0.75",
           add_ratio(BOTH, "WebSocket", (16, 16), "floor", RATE)),
    Target("add, 16x16, WebSocket: calls/s, ratio to Py4J", ">= 1.2",
           add_ratio(BOTH, "WebSocket", (16, 16), "Py4J", RATE, "rivals")),
    Target("add, 1x1, WebSocket: p50, ratio to Py4J", "<= 1",
           add_ratio(BOTH, "WebSocket", (1, 1), "Py4J", P50, "rivals")),
    Target("every rival, every shape: p50 ratio", "< 1", every_rival(P50)),
    Target("every rival, every shape: calls/s ratio", "> 1", every_rival(RATE)),
    Target("add, 1x64, ZeroMQ: calls/s, ratio to floor (c)", ">= 0.75",
           add_ratio(BOTH, "ZeroMQ", (1, 64), "zmq-echo", RATE)),
    Target("add, 1x64, ZeroMQ, binary, together: calls/s, ratio to floor (c)", ">= 0.85",
           binary_ratio(("together",), "ZeroMQ", (1, 64), "zmq-echo", RATE)),
    Target("add, 1x64, ZeroMQ: calls/s, ratio to floor (c); ratio of binary to JSON", ">= 1",
           binary_over_json(BOTH, (1, 64), "zmq-echo", RATE)),
    Target("add, 1x1, ZeroMQ, binary: p50, ratio to floor (c)", "<= 1.15",
           binary_ratio(BOTH, "ZeroMQ", (1, 1), "zmq-echo", P50)),
    Target("add, 16x1, HTTP: calls/s, ratio to floor (a)", ">= 0.8", add_ratio(BOTH, "HTTP", (16, 1), "floor", RATE)),
    Target("add, 1x1, WebSocket over TLS, together: p50, ratio to OpenSSL alone", "<= 1.15",
           add_ratio(("together",), "wss", (1, 1), "tls-echo", P50, "tls")),
    Target("add, 16x16, WebSocket over TLS: calls/s, ratio to OpenSSL alone", ">= 0.75",
           add_ratio(BOTH, "wss", (16, 16), "tls-echo", RATE, "tls")),
    Target("add, 16x16, WebSocket, with --audit: calls/s, ratio to without", ">= 0.7",
           add_ratio(BOTH, "ws", (16, 16), "no-audit", RATE, "audit")),
    Target("in-process add, bytes to bytes", "<= 500", keyed("stages", "add-ns"), "ns"),
    Target("in-process add: heap allocations", "<= 0", keyed("stages", "add-allocations")),
    Target("in-process add, bytes to bytes: ratio of binary to JSON", "<= 1",
           keyed_ratio("stages", "add-binary-ns", "add-ns")),
    Target("in-process add, binary: heap allocations", "<= 0", keyed("stages", "add-binary-allocations")),
    Target("int[1000] sum: ratio to a bare parse and SetIntArrayRegion", "<= 1.3", keyed("stages", "ints-ratio")),
    Target("from exec to the first answered ping: ratio to java Hello", "<= 1.25", keyed("process", "start-ratio")),
    Target("RSS when ready, above a process with only a JVM", "<= 8", keyed("process", "ready-rss-mib"), "MiB"),
    Target("growth of RSS after the first tenth of 10,000,000 adds and of the large workloads", "<= 2",
           keyed("process", "rss-growth-mib"), "MiB"),
    Target("a `new` beside 1,000,000 objects: ratio to a `new` beside 1,000", "<= 1.2", keyed("process", "objects-ratio")),
    Target("young collection with 1,000,000 refs: ratio to a plain array", "<= 1.1",
           keyed("process", "collection-ratio")),
    Target("10,000 idle WebSockets: RSS each", "<= 4", keyed("process", "idle-kib"), "KiB"),
    Target("p99 of a WebSocket beside 10,000 idle ones: ratio to the p99 without", "<= 1.2",
           keyed("process", "idle-p99-ratio")),
    Target("p99 of a call beside 64 calls that sleep: ratio to the p99 without", "<= 1.5",
           keyed("process", "asleep-p99-ratio")),
    Target("a chain of ten in one batch, 1 ms of delay: ratio to a round trip", "<= 1.5",
           keyed("chains", "chain-batch-ms")),
    Target("double[1,000,000] as base64 there and back: ratio to a text of the same length", "<= 3",
           keyed("values", "doubles-ms")),
    Target("100,000 Strings: time of get(i), ratio to jpeer.fetch in steps of 1,000", ">= 20", keyed("values", "gets-ms")),
    Target("100,000 Strings: time of jpeer.fetch in steps of 1,000, ratio to a result by value", "<= 2",
           keyed("values", "fetch-ms")),
    Target("1,000,000 rows of H2 into Arrow: time of java.table, ratio to Java alone into arrays", "<= 2.5",
           keyed("tables", "tables-arrow-ms")),
    Target("1,000,000 rows of H2 into pandas: time of java.table, ratio to Java alone into arrays", "<= 4",
           keyed("tables", "tables-pandas-ms")),
    Target("1,000,000 rows of H2 into pandas: memory of the client, by the DataFrame's", "<= 1.5", keyed("tables", "tables-memory")),
    Target("executemany of 100,000 tuples: time, ratio to Java's own batches", "<= 1.5", keyed("tables", "tables-insert-ms")),
    Target("1,000,000 rows of H2 into pandas: time of JayDeBeApi, ratio to java.table", ">= 30",
           keyed("tables", "tables-pandas-JayDeBeApi")),
    Target("executemany of 100,000 tuples: time of JayDeBeApi, ratio to jpeer", ">= 5", keyed("tables", "tables-insert-JayDeBeApi")),
    Target("the client library, add, 1x1, WebSocket: p50, ratio to the generator", "<= 1.15",
           add_ratio(BOTH, "WebSocket", (1, 1), "generator", P50, "clients")),
    Target("the client library, add, 1x1, WebSocket-unix: p50, ratio to the generator", "<= 1.15",
           add_ratio(BOTH, "WebSocket-unix", (1, 1), "generator", P50, "clients")),
    Target("the client library, add, 1x64, WebSocket: calls/s, ratio to the generator", ">= 0.77",
           add_ratio(BOTH, "WebSocket", (1, 64), "generator", RATE, "clients")),
    Target("the client library, add, 1x64, WebSocket-unix: calls/s, ratio to the generator", ">= 0.77",
           add_ratio(BOTH, "WebSocket-unix", (1, 64), "generator", RATE, "clients")),
    Target("the client library, add, 1x1: heap allocations", "<= 0", keyed("clients", "allocations-1")),
    Target("the client library, add, 1x64: heap allocations", "<= 0", keyed("clients", "allocations-64")),
    Target("shared memory, add, 1x1, apart: p50, more than a ring echo and the call in the process", "<= 0.3",
           keyed("shm", "shm-over-echo-us"), "us"),
    Target("shared memory, add, 1x1, together: p50, ratio to the unix socket", "<= 0.5",
           shm_ratio("add", ("together",), (1, 1), "unix", P50)),
    Target("shared memory, add, 1x64, apart: calls/s, ratio to a ring echo with the call's processor time", ">= 0.8",
           lowest("shm", "shm-over-echo-rate")),
    Target("shared memory, add, 16x1, apart: calls/s, ratio to the unix socket", ">= 3",
           shm_ratio("add", ("apart",), (16, 1), "unix", RATE)),
    Target("shared memory, 1 MiB there and back, canned answers: p50, ratio to the unix socket", "<= 0.6",
           shm_ratio("text-canned", BOTH, (1, 1), "unix", P50)),
    Target("shared memory, 1 MiB there and back: p50, ratio to the unix socket", "<= 0.9",
           shm_ratio("text", BOTH, (1, 1), "unix", P50)),
    Target("p99 of a WebSocket beside 1, 4 and 64 shm clients that call each ms: ratio to unix-socket clients",
           "<= 1.2", keyed("shm", "crowd-p99-ratio")),
    Target("context switches a second with 1,000 idle shm connections: ratio to a peer without", "<= 1.2",
           keyed("shm", "idle-switches")),
    Target("1,000 idle shm connections: resident in the peer for each", "<= 32", keyed("shm", "idle-kib"), "KiB"),
    Target("a call with one callback, 1x1: p50, ratio to a call without a callback", "<= 2.3",
           keyed("callbacks", "one-callback")),
    Target("oneway events a second: ratio to messages of the same length written without a peer", ">= 0.8",
           lowest("callbacks", "events")),
    Target("p99 of a client while 256 Java threads wait in callbacks: ratio to the p99 without", "<= 1.5",
           keyed("callbacks", "waiting-p99")),
    Target("a comparison through Py4J: ratio to a comparison through the client library", "> 1",
           lowest("callbacks", "py4j-comparison")),
    Target("Python, add, shared memory, apart: p50, ratio to JPype's in its process", "<= 4",
           python_ratio("add", ("apart",), "shm", "JPype")),
    Target("Python, add, shared memory, apart: p50, ratio to Py4J's", "<= 0.1",
           python_ratio("add", ("apart",), "shm", "Py4J")),
    Target("Python, add, WebSocket: p50, ratio to a bare Python socket's", "<= 1.3",
           python_ratio("add", BOTH, "ws", "socket")),
    Target("Python, add, WebSocket: p50, ratio to Py4J's", "< 1", python_ratio("add", BOTH, "ws", "Py4J")),
    *(Target(f"Python, {what}, shared memory, apart: p50, ratio to JPype's in its process", wanted,
             python_ratio(workload, ("apart",), "shm", "JPype"))
      for workload, what, wanted in (("exception", "an exception", "<= 1.5"),
                                     ("sort", "10,000 sorted with a comparator", "<= 1"))),
    *(Target(f"Python, {what}, apart", wanted, python_figure(workload), unit)
      for workload, what, unit, wanted in (("new", "a new object and its end, shared memory", "us", "<= 3"),
                                           ("entries", "a dict of 5,000 entries, shared memory", "ms", "<= 5"),
                                           ("import", "import", "ms", "<= 40"),
                                           ("start", "start to the first call", "ms", "<= 150"),
                                           ("close", "close", "ms", "<= 50"))),
    *(Target(f"Python, {what}, {transport}: times as fast as Py4J", wanted, python_gain(workload, ours))
      for workload, what, wanted in (("doubles", "1,000,000 doubles there and back", ">= 50"),
                                     ("iterate", "10,000 elements iterated", ">= 10"),
                                     ("sort", "10,000 sorted with a comparator", ">= 3"))
      for ours, transport in (("shm", "shared memory"), ("ws", "WebSocket"))),
    Target("fetch_classes_info, first", "<= 800", keyed("process", "metadata-first-ms"), "ms"),
    Target("fetch_classes_info, again", "<= 50", keyed("process", "metadata-again-ms"), "ms"),
    Target("fetch_classes_info, growth of RSS at its peak", "<= 64", keyed("process", "metadata-peak-mib"), "MiB"),
)

NAME = "targets"
WHAT = "the targets, from the figures above"
COLUMNS = ("target", "wanted", "measured", "where", "verdict")


def judge(run):
    """Makes a row for each target."""
    for target in TARGETS:
        row = {"target": target.what, "wanted": target.wanted, "unit": target.unit}
        found = target.measured(run)
        if found is None:
            yield {**row, "figure": None, "where": "", "verdict": "not measured"}
        else:
            yield {**row, "figure": found[0], "where": found[1], "verdict": target.verdict(found[0])}


def cells(row):
    unit = row["unit"] and " " + row["unit"]
    measured = "-" if row["figure"] is None else f"{row['figure']:{'.3g' if row['figure'] < 1000 else ',.0f'}}{unit}"
    return [row["target"], row["wanted"] + unit, measured, row["where"] or "-", row["verdict"]]


def smoke():
    """Checks the verdicts on invented figures."""
    def row(placement, rival, rate):
        return {"placement": placement, "transport": "WebSocket", "workload": "add", "connections": 16,
                "in_flight": 16, "rival": rival, "figures": {"jpeer": {RATE: rate, P50: 1}, rival: {RATE: 100, P50: 2}}}

    def load(placement, workload, rate):
        return {"placement": placement, "transport": "ZeroMQ", "workload": workload, "connections": 1, "in_flight": 64,
                "figures": {"jpeer": {RATE: rate}, "zmq-echo": {RATE: 100}}}

    run = {"rivals": [row("apart", "Py4J", 130), row("together", "Py4J", 110), row("apart", "RMI", 200)],
           "load": [load("apart", "add", 50), load("apart", "add-binary", 100),
                    load("together", "add", 50), load("together", "add-binary", 75)],
           "stages": [{"key": "add-ns", "figure": 500}, {"key": "add-binary-ns", "figure": 400}],
           "process": [{"key": "idle-kib", "figure": figure} for figure in (3, 5)]}
    verdicts = {made["target"]: (made["figure"], made["verdict"]) for made in judge(run)}
    for target, expected in (
            ("add, 16x16, WebSocket: calls/s, ratio to Py4J", (1.1, "not met")),
            ("every rival, every shape: p50 ratio", (0.5, "met")),
            ("every rival, every shape: calls/s ratio", (1.1, "met")),
            ("add, 1x64, ZeroMQ, binary, together: calls/s, ratio to floor (c)", (0.75, "not met")),
            ("add, 1x64, ZeroMQ: calls/s, ratio to floor (c); ratio of binary to JSON", (1.5, "met")),
            ("in-process add, bytes to bytes", (500, "met")),
            ("in-process add, bytes to bytes: ratio of binary to JSON", (0.8, "met")),
            ("10,000 idle WebSockets: RSS each", (5, "not met")),
            ("fetch_classes_info, again", (None, "not measured"))):
        assert verdicts[target] == expected, (target, verdicts[target])
    del run["rivals"][1]
    assert next(made for made in judge(run) if "ratio to Py4J" in made["target"])["verdict"] == "not measured"
