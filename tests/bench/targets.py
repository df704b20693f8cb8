"""The targets of the project, each computed from one run's data: met, not met, or not measured in that run.

A run's data is a dictionary of parts, each a list of rows. Load and rival rows are looked up by placement, transport,
workload and shape; rows of the parts "stages" and "process" by their `key`, and they have their `figure`.
"""

import dataclasses
from collections.abc import Callable

BOTH = ("apart", "together")
RATE = "calls_per_second"
P50 = "p50_us"


@dataclasses.dataclass
class Target:
    what: str
    limit: float
    measured: Callable  # takes the run's data: a number, None where it was not measured
    least: bool = False  # the limit is the least, not the most
    unit: str = ""

    def wanted(self):
        return f"{'>=' if self.least else '<='} {self.limit:g}{self.unit and ' ' + self.unit}"

    def verdict(self, figure):
        if figure is None:
            return "not measured"
        return "met" if (figure >= self.limit if self.least else figure <= self.limit) else "not met"


def worst(ratios, least):
    """The one that decides; None where any is missing."""
    known = list(ratios)
    if not known or None in known:
        return None
    return min(known) if least else max(known)


def ratio_in(row, base, figure):
    figures = row["figures"]
    if "jpeer" not in figures or base not in figures or not figures[base][figure]:
        return None
    return figures["jpeer"][figure] / figures[base][figure]


def load_ratio(placements, transport, shape, base, figure, part="load"):
    """jpeer's figure of `add` over that of the base, in the placement where it is worst."""
    least = figure == RATE

    def measured(run):
        ratios = []
        for placement in placements:
            rows = [row for row in run.get(part, ())
                    if (row["placement"], row["transport"], row["workload"]) == (placement, transport, "add")
                    and (row["connections"], row["in_flight"]) == shape and base in row["figures"]]
            ratios += [ratio_in(row, base, figure) for row in rows] or [None]
        return worst(ratios, least)

    return measured


def every_rival(figure):
    """jpeer's figure over the rival's, where it is worst of all rows."""
    def measured(run):
        ratios = [ratio_in(row, base, figure) for row in run.get("rivals", ()) for base in row["figures"]
                  if base != "jpeer"]
        return worst(ratios, figure == RATE)

    return measured


def keyed(part, key):
    """The figure of the row with this key; of several (placements, collectors), the worst."""
    def measured(run):
        return worst((row["figure"] for row in run.get(part, ()) if row["key"] == key), least=False)

    return measured


TARGETS = (
    Target("add, 1x1, together, WebSocket: p50 over floor (a)", 1.15,
           load_ratio(("together",), "WebSocket", (1, 1), "floor", P50)),
    Target("add, 16x16, WebSocket: calls/s over floor (a)", 0.75,
           load_ratio(BOTH, "WebSocket", (16, 16), "floor", RATE), least=True),
    Target("add, 16x16, WebSocket: calls/s over Py4J", 1.2,
           load_ratio(BOTH, "WebSocket", (16, 16), "Py4J", RATE, "rivals"), least=True),
    Target("add, 1x1, WebSocket, apart and together: p50 over Py4J", 1.0,
           load_ratio(BOTH, "WebSocket", (1, 1), "Py4J", P50, "rivals")),
    Target("every rival, every shape: p50 ratio", 1.0, every_rival(P50)),
    Target("every rival, every shape: calls/s ratio", 1.0, every_rival(RATE), least=True),
    Target("add, 1x64, ZeroMQ: calls/s over floor (c)", 0.75,
           load_ratio(BOTH, "ZeroMQ", (1, 64), "zmq-echo", RATE), least=True),
    Target("add, 16x1, HTTP: calls/s over floor (a)", 0.8,
           load_ratio(BOTH, "HTTP", (16, 1), "floor", RATE), least=True),
    Target("in-process add, bytes to bytes", 500, keyed("stages", "add-ns"), unit="ns"),
    Target("in-process add: heap allocations", 0, keyed("stages", "add-allocations")),
    Target("int[1000] sum over bare parse and SetIntArrayRegion", 1.3, keyed("stages", "ints-ratio")),
    Target("exec to first answered ping over java Hello", 1.25, keyed("process", "start-ratio")),
    Target("RSS when ready above floor (e)", 8, keyed("process", "ready-rss-mib"), unit="MiB"),
    Target("RSS after 10,000,000 adds and the large workloads, above the first tenth", 2,
           keyed("process", "rss-growth-mib"), unit="MiB"),
    Target("one new with 1,000,000 objects held over 1,000", 1.2, keyed("process", "objects-ratio")),
    Target("young collection with 1,000,000 refs over a plain array", 1.1, keyed("process", "collection-ratio")),
    Target("10,000 idle WebSockets: RSS each", 4, keyed("process", "idle-kib"), unit="KiB"),
    Target("10,000 idle WebSockets: p99 of a busy one over none open", 1.2, keyed("process", "idle-p99-ratio")),
    Target("64 calls asleep: p99 of another over none asleep", 1.5, keyed("process", "asleep-p99-ratio")),
    Target("fetch_classes_info, first", 800, keyed("process", "metadata-first-ms"), unit="ms"),
    Target("fetch_classes_info, again", 50, keyed("process", "metadata-again-ms"), unit="ms"),
    Target("fetch_classes_info, peak RSS above before", 64, keyed("process", "metadata-peak-mib"), unit="MiB"),
)

COLUMNS = ("target", "wanted", "measured", "verdict")


def judge(run):
    """A row for each target."""
    for target in TARGETS:
        figure = target.measured(run)
        yield {"target": target.what, "wanted": target.wanted(), "figure": figure,
               "verdict": target.verdict(figure), "unit": target.unit}


def cells(row):
    figure = row["figure"]
    unit = row["unit"] and " " + row["unit"]
    return [row["target"], row["wanted"], "-" if figure is None else f"{figure:.3g}{unit}", row["verdict"]]
