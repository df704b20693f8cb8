"""Writes the figures of docs/performance.md: the charts, and the lines between `<!-- bench: NAME -->` and `<!-- end -->`.

usage: PYTHONPATH=tests python3 -m bench.document [BENCH_JSON]

Each figure is written with the command and the commit of its run. Figures that the run has not measured are
kept in the page. The page has no other figures; a test checks this.
"""

import dataclasses
import json
import re
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

from bench import chart, loadtable, python, trust
from bench.report import table, table_line
from support.peer import BUILD, ROOT

DOCS = ROOT / "docs"
PAGE = "performance.md"
COLUMNS = ("what", "cost", "`tools/bench`")
WIDTH = 120


@dataclasses.dataclass(frozen=True)
class Cost:
    what: str
    part: str
    find: Callable  # gets the part's rows, and returns the figure as text; "" if the rows do not have the figure
    options: str = ""  # further options of tools/bench, if the figure needs them


def by_placement(figure_in, wording):
    """The figure when server and client have a core each, then when they share one. figure_in(row) returns the row's
    figure, or None if the row is not about this cost."""
    def find(rows):
        found = {}
        for row in rows:
            figure = figure_in(row)
            if figure is not None:
                found.setdefault(row["placement"], wording(figure))
        return "; ".join(found[placement] + (" on one core" if placement == "together" else "")
                         for placement in chart.PLACEMENTS if placement in found)

    return find


def called(workload, transport, shape, figure="p50_us", calls=1):
    """A figure of jpeer from a row of the load table. calls: the number of requests in a call; the figure is divided by
    it."""
    def figure_in(row):
        if (row.get("workload"), row.get("transport")) != (workload, transport):
            return None
        return row["figures"]["jpeer"][figure] / calls if (row["connections"], row["in_flight"]) == shape else None

    return by_placement(figure_in, chart.say_time)


def through_python(workload):
    return by_placement(lambda row: row["figures"][python.SHM] if row["workload"] == workload else None, chart.say_time)


def keyed(*keys, words="{}", of=""):
    """The measured values of the rows with these keys, then the floor of the last row. Only rows whose text
    contains `of` count."""
    def find(rows):
        found = [next((row for row in rows if row.get("key") == key and of in row["what"]), None) for key in keys]
        if None in found:
            return ""
        return words.format(*(say(row["measured"], row["unit"]) for row in found),
                            say(found[-1]["floor"], found[-1]["unit"]))

    return find


def say(figure, unit):
    if figure is None:
        return ""
    if unit == "/s":
        return chart.say_count(figure)
    return chart.say_time(figure * {"us": 1, "ms": 1000}[unit]) if unit in ("us", "ms") else f"{figure:.3g} {unit}"


def in_process(rows):
    """The time of the call itself, without sockets."""
    return next((f"{row['figure']:.0f} ns" for row in rows if row["key"] == "add-ns"), "")


COSTS = (
    Cost("a call from Python, over shared memory", "python", through_python("add")),
    Cost("a call from C, over shared memory", "shm", called("add", "shm-library", (1, 1))),
    Cost("a call over a WebSocket on a Unix socket", "load", called("add", "WebSocket-unix", (1, 1))),
    Cost("a call over a WebSocket on TCP", "load", called("add", "WebSocket", (1, 1))),
    Cost("a call over HTTP", "load", called("add", "HTTP", (1, 1))),
    Cost("a call over ZeroMQ", "load", called("add", "ZeroMQ", (1, 1))),
    Cost("a call over a WebSocket with TLS", "tls", called("add", "wss", (1, 1))),
    Cost("a call over HTTP with a token", "trust", called("add", trust.TOKENS, (1, 1))),
    Cost("a call over ZeroMQ with CURVE", "trust", called("add", trust.CURVE, (1, 1))),
    Cost("the peer's processor time for one of 256 calls in flight, WebSocket", "load",
         called("add", "WebSocket", (16, 16), "server_us_per_call")),
    Cost("the same where the text of each request is new", "load",
         called("add-anew", "WebSocket", (16, 16), "server_us_per_call")),
    Cost("the same for each request in batches of 100", "load",
         called("batch", "WebSocket", (16, 1), "server_us_per_call", 100)),
    Cost("the call itself, from the bytes of the request to those of the answer", "stages", in_process),
    Cost("a call that Java answers by calling the client once, over shared memory", "callbacks",
         keyed("one-callback", words="{}; without the callback {}", of="(shm, apart)")),
    Cost("a sort of 100,000 with a comparator in C, over shared memory", "callbacks",
         keyed("sort-ms", words="{}; with Java's own {}", of="(shm, apart)")),
    Cost("each of its comparisons", "callbacks",
         keyed("comparison-us", of="(shm, apart)")),
    Cost("the same over a WebSocket on a Unix socket", "callbacks", keyed("comparison-us", of="(ws+unix, apart)")),
    Cost("events (`oneway`) from Java to a client in C", "callbacks",
         keyed("events", words="{} a second", of="(shm, apart)")),
    Cost("100,000 Strings of a list as one result", "values", keyed("list-ms")),
    Cost("the same in steps by `jpeer.fetch`", "values", keyed("fetch-ms")),
    Cost("the same by `get(i)`, one call after the other", "values", keyed("gets-ms")),
    Cost("1,000,000 doubles sent and given back, WebSocket", "values", keyed("doubles-ms")),
    Cost("1,000,000 rows of five columns of a query, into Arrow in Python", "tables",
         keyed("tables-arrow-ms", words="{}; Java alone into arrays {}")),
    Cost("the same into a DataFrame of pandas", "tables", keyed("tables-pandas-JayDeBeApi", words="{1}; JayDeBeApi {0}")),
    Cost("100,000 tuples of Python inserted as batches", "tables", keyed("tables-insert-ms", words="{}; Java's own batches {}")),
    Cost("ten calls that need one another, over a network with a round trip of 2 ms", "chains",
         keyed("chain-calls-ms", "chain-batch-ms", words="{}; as one batch {}")),
    Cost("the start of a peer, until the first answer", "process",
         keyed("start-ratio", words="{}; `java Hello` {}")),
    Cost("memory of a peer that has started", "process", keyed("ready-rss-mib", words="{}; a JVM alone {}")),
    Cost("memory for each idle WebSocket", "process", keyed("idle-kib", of="WebSockets")),
    Cost("memory for each idle connection over shared memory", "shm", keyed("idle-kib", of="shm")),
    Cost("memory after 10,000,000 calls", "process", keyed("rss-growth-mib", words="{}; after the first tenth {}", of=" add"),
         " --soak-divide 1"),
    Cost("a list of all classes of the JDK (`fetch_classes_info`)", "process",
         keyed("metadata-first-ms", "metadata-again-ms", words="{}; again {}")),
)


def command(facts, *parts):
    return f"`tools/bench --only {','.join(parts)} --runs {facts['runs']} --seconds {facts['seconds']}`"


def run_sentence(facts, *parts):
    """A sentence that says how to repeat a chart, and where the chart's figures were measured."""
    machine = facts["machine"]
    said = (f"{command(facts, *parts)}, commit {facts['commit']}; {machine['cores']} cores ({', '.join(machine['processor'])}), "
            f"Linux {machine['kernel'].split('-')[0]}, {facts['system']}, {facts['java']}.")
    return textwrap.fill(said, WIDTH, break_on_hyphens=False, break_long_words=False) + "\n"


def costs_table(facts, written):
    """The lines of the table. A line that the run has measured replaces the written line."""
    lines = {line.removeprefix("| ").split(" | ")[0]: line for line in written.splitlines(keepends=True)
             if line.startswith("| ")}
    for cost in COSTS:
        found = cost.find(facts["parts"].get(cost.part, ()))
        if found:
            lines[cost.what] = table_line([cost.what, found, f"`--only {cost.part}{cost.options}`, {facts['commit']}"])
    return table(COLUMNS, ()) + "".join(lines[cost.what] for cost in COSTS if cost.what in lines)


def fill_parts(page, facts):
    def fill(match):
        begins, name, written, end = match.groups()
        if name == "costs":
            written = costs_table(facts, written) + "\n"
        else:
            parts = chart.CHARTS[f"{name}.svg"][0]
            if all(facts["parts"].get(part) for part in parts):
                written = run_sentence(facts, *parts) + "\n"
        return f"{begins}\n{written}{end}"

    return re.sub(r"(<!-- bench: (\w+) -->\n)\n?(.*?)(<!-- end -->)", fill, page, flags=re.S)


def write(facts, docs=DOCS):
    page = docs / PAGE
    written = {page: fill_parts(page.read_text(encoding="utf-8"), facts)}
    written.update({docs / name: svg for name, svg in chart.charts(facts["parts"]).items() if svg is not None})
    for path, words in written.items():
        path.write_text(words, encoding="utf-8")
        print(f"written: {path}")


def smoke():
    """Writes the page twice: a run without figures must change nothing, and a run with one figure changes one line."""
    facts = {"commit": "none", "system": "none", "java": "none", "machine": {"processor": [], "kernel": "0", "cores": 1},
             "runs": 0, "seconds": 0, "parts": {}}
    with tempfile.TemporaryDirectory() as folder:
        page = Path(shutil.copy(DOCS / PAGE, folder))
        before = page.read_text(encoding="utf-8")
        assert re.findall(r"<!-- bench: (\w+) -->", before) == ["python", "calls", "costs"], before
        write(facts, Path(folder))
        assert page.read_text(encoding="utf-8") == before
        row = {"placement": "together", "transport": "HTTP", "workload": "add", "connections": 1, "in_flight": 1}
        write({**facts, "parts": {loadtable.NAME: [{**row, "figures": {"jpeer": {"p50_us": 123}}}]}}, Path(folder))
        changed = set(page.read_text(encoding="utf-8").splitlines()) - set(before.splitlines())
        assert changed == {"| a call over HTTP | 123 us on one core | `--only load`, none |"}, changed


def main():
    if len(sys.argv) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(sys.argv[1]) if len(sys.argv) == 2 else BUILD / "bench/bench.json"
    write(json.loads(path.read_text(encoding="utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
