"""Puts a run's tables and charts into docs/: performance-tables.md, the charts, and the marked parts of performance.md.

usage: PYTHONPATH=tests python3 -m bench.document [BENCH_JSON]

A part of performance.md is marked by the line `<!-- bench: NAME -->` and ends with the line `<!-- end -->`. What the run
has not measured stays as it is in the pages: each section of performance-tables.md says of which run it is.
"""

import itertools
import json
import re
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path

from bench import (callbacks, chains, chart, clients, loadtable, process, python, rivals, shm, stages, targets,
                   values)
from bench.load import TRANSPORTS, UNIX_TRANSPORTS
from bench.report import ratio
from support.peer import BUILD, ROOT

DOCS = ROOT / "docs"
PLACEMENTS = ("apart", "together")
SHOWN_WORKLOAD = "add"
SHOWN_LOAD = ("placement", "transport", "shape", "calls/s", "p50 us", "p99 us", "server us", "floor calls/s", "floor p50",
              "calls/s over (a)", "p50 over (a)")
SHOWN_UNIX = ("placement", "transport", "shape", "calls/s", "p50 us", "p99 us", "server us", "calls/s over (a)",
              "p50 over (a)", "calls/s over (c)")
UNIX_TWINS = dict(zip(UNIX_TRANSPORTS.values(), TRANSPORTS.values()))
SHOWN_BINARY = ("placement", "workload", "shape", "calls/s", "p50 us", "p99 us", "server us", "calls/s over (a)",
                "p50 over (a)", "calls/s over (c)", "p50 over (c)")
GROWTH = re.compile("resident in (.*), above the first tenth")


def table_line(cells):
    return f"| {' | '.join(cells)} |\n"


def table(columns, rows):
    return "".join(map(table_line, [columns, ["---"] * len(columns), *rows]))


def some_columns(columns, rows):
    """The load table's rows in fewer columns."""
    places = [loadtable.COLUMNS.index(column) for column in columns]
    return table(columns, ([row[place] for place in places] for row in map(loadtable.cells, rows)))


def shown_load(facts):
    """The rows of `add` over TCP."""
    return some_columns(SHOWN_LOAD, (row for row in facts["parts"]["load"] if row["workload"] == SHOWN_WORKLOAD
                                     and row["transport"] in TRANSPORTS.values()))


def shown_unix(facts):
    """The rows of `add` over Unix sockets, with the ratio to those over TCP in the same run."""
    rows = {(row["placement"], row["transport"], row["connections"], row["in_flight"]): row
            for row in facts["parts"]["load"] if row["workload"] == loadtable.UNIX_WORKLOAD}
    lines = []
    for (placement, transport, *shape), row in rows.items():
        over = rows.get((placement, UNIX_TWINS.get(transport), *shape))
        if over is not None:
            made, tcp = row["figures"]["jpeer"], over["figures"]["jpeer"]
            shown = [loadtable.cells(row)[loadtable.COLUMNS.index(column)] for column in SHOWN_UNIX]
            lines.append(shown + [ratio(made[figure], tcp[figure]) for figure in ("calls_per_second", "p50_us")])
    return table((*SHOWN_UNIX, "calls/s over TCP", "p50 over TCP"), lines)


def shown_binary(facts):
    """Binary messages, each beside the same call in JSON over ZeroMQ."""
    rows = {(row["placement"], row["workload"], row["connections"], row["in_flight"]): row
            for row in facts["parts"]["load"] if row["transport"] == loadtable.TRANSPORTS["tcp"]}
    pairs = ((rows.get((placement, twin, *shape)), rows.get((placement, workload, *shape)))
             for placement in PLACEMENTS for workload, (twin, shapes) in loadtable.BINARY.items() for shape in shapes)
    return some_columns(SHOWN_BINARY, (row for pair in pairs for row in pair if row is not None))


def shown_rivals(facts):
    """Of `add`: a line for each rival and placement, a column for each shape."""
    shapes, lines = [], {}
    for row in facts["parts"]["rivals"]:
        if row["workload"] != SHOWN_WORKLOAD:
            continue
        shape = loadtable.shape_name(row["connections"], row["in_flight"])
        shapes += [] if shape in shapes else [shape]
        jpeer, rival = row["figures"]["jpeer"], row["figures"][row["rival"]]
        lines.setdefault((row["rival"], row["placement"]), {})[shape] = ", ".join(
            ratio(jpeer[figure], rival[figure]) for figure in ("calls_per_second", "p50_us"))
    order = sorted(lines, key=lambda line: [rival for rival, _ in lines].index(line[0]))
    return table(("rival, placement", *shapes),
                 ([", ".join(line), *(lines[line].get(shape, "-") for shape in shapes)] for line in order))


def shown_part(part):
    return lambda facts: table(part.COLUMNS, map(part.cells, facts["parts"][part.NAME]))


def table_lines(page, columns):
    """The lines of the page's table with these columns, without its head."""
    below = page.partition(table(columns, ()))[2]
    return itertools.takewhile(lambda line: line.startswith("|"), below.splitlines(keepends=True))


def shown_targets(facts, page):
    """The page's lines, those in their place that the run has measured, in the order of the targets."""
    lines = {line.removeprefix("| ").split(" | ")[0]: line for line in table_lines(page, targets.COLUMNS)}
    for row in facts["targets"]:
        if row["figure"] is not None:
            lines[row["target"]] = table_line(targets.cells(row))
    return table(targets.COLUMNS, ()) + "".join(lines[target.what] for target in targets.TARGETS
                                                if target.what in lines)


def shown_growth(facts):
    """Resident memory after a tenth of the calls and after all of them."""
    rows = [(GROWTH.fullmatch(row["what"]), row) for row in facts["parts"]["process"]]
    return table(("run", "at a tenth", "at the end", "growth"),
                 ([match[1], *(f"{row[figure]:.2f} {row['unit']}" for figure in ("floor", "measured", "figure"))]
                  for match, row in rows if match))


def shown_run(facts):
    """Which commit was measured where, as a sentence."""
    machine = facts["machine"]
    said = (f"Commit {facts['commit']}, {facts['runs']} runs of {facts['seconds']} s each for a figure, "
            f"{facts['took_seconds'] // 60} minutes in all; {machine['cores']} cores ({', '.join(machine['processor'])}), "
            f"Linux {machine['kernel'].split('-')[0]}, {facts['system']}, {facts['java']}.")
    return textwrap.fill(said, 119, break_on_hyphens=False) + "\n"


# The marked parts of performance.md: the part of the run that each needs, and what shows it.
PARTS = {"run": ("load", shown_run), "targets": (None, None), "add": ("load", shown_load), "unix": ("load", shown_unix),
         "binary": ("load", shown_binary), "rivals": ("rivals", shown_rivals), "clients": ("clients", shown_part(clients)),
         "shm": ("shm", shown_part(shm)), "callbacks": ("callbacks", shown_part(callbacks)),
         "python": ("python", shown_part(python)), "growth": ("process", shown_growth)}
# The sections of performance-tables.md, and at last the targets.
TABLES = (loadtable, rivals, stages, process, chains, values, clients, shm, callbacks, python)


def fill_parts(page, facts):
    def fill(match):
        begins, name, rows, end = match.groups()
        needed, show = PARTS[name]
        if name == "targets":
            rows = shown_targets(facts, page) + "\n"
        elif needed in facts["parts"]:
            rows = show(facts) + "\n"
        return f"{begins}\n{rows}{end}"

    return re.sub(r"(<!-- bench: (\w+) -->\n)\n?(.*?)(<!-- end -->)", fill, page, flags=re.S)


def heading(what):
    return f"## {what[0].upper()}{what[1:]}"


def section(part, facts):
    """A table, and the command and the run that it is of."""
    said = (f"`tools/bench --only {part.NAME} --runs {facts['runs']} --seconds {facts['seconds']}`, commit "
            f"{facts['commit']}.")
    return f"{said}\n\n{shown_part(part)(facts)}"


def all_tables(page, facts):
    sections = dict(re.findall(r"^(## .*?)\n\n(.*?)(?=\n## |\Z)", page, re.M | re.S))
    sections.update({heading(part.WHAT): section(part, facts) for part in TABLES if part.NAME in facts["parts"]})
    sections[heading(targets.WHAT)] = shown_targets(facts, page)
    machine = facts["machine"]
    said = (f"Each table is of the last run that has measured it. The last of all: {machine['cores']} cores "
            f"({', '.join(machine['processor'])}), Linux {machine['kernel'].split('-')[0]}, {facts['system']}, "
            f"{facts['java']}.")
    head = ("# Performance: all tables\n\n"
            "[performance.md](performance.md) explains the columns. `bench/document.py` writes this page.\n\n"
            f"{textwrap.fill(said, 119, break_on_hyphens=False)}\n")
    order = [what for what in (heading(part.WHAT) for part in (*TABLES, targets)) if what in sections]
    return head + "".join(f"\n{what}\n\n{sections[what]}" for what in order)


def write(facts, docs=DOCS):
    page, tables = docs / "performance.md", docs / "performance-tables.md"
    written = {page: fill_parts(page.read_text(encoding="utf-8"), facts),
               tables: all_tables(tables.read_text(encoding="utf-8"), facts)}
    for placement in PLACEMENTS:
        written[docs / f"{chart.WORKLOAD}-{placement}.svg"] = chart.draw(facts["parts"], placement)
    for path, words in written.items():
        if words is not None:
            path.write_text(words, encoding="utf-8")
            print(f"written: {path}")


def smoke():
    """The pages of two runs: one that has measured no part, which changes no table, and one whose parts are empty."""
    facts = {"commit": "none", "system": "none", "java": "none", "machine": {"processor": [], "kernel": "0", "cores": 1},
             "runs": 0, "seconds": 0, "took_seconds": 0, "targets": [], "parts": {}}
    with tempfile.TemporaryDirectory() as folder:
        page, tables = (Path(folder) / name for name in ("performance.md", "performance-tables.md"))
        for path in (page, tables):
            shutil.copy(DOCS / path.name, folder)
        write(facts, Path(folder))
        assert page.read_text(encoding="utf-8") == (DOCS / page.name).read_text(encoding="utf-8")
        lines = [[line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
                 for path in (tables, DOCS / tables.name)]
        assert lines[0] == lines[1]
        write({**facts, "parts": {part.NAME: [] for part in TABLES}}, Path(folder))
        written, sections = page.read_text(encoding="utf-8"), tables.read_text(encoding="utf-8")
    assert re.findall(r"<!-- bench: (\w+) -->", written) == list(PARTS), written
    assert written.count("<!-- end -->") == len(PARTS), written
    assert [line for line in sections.splitlines() if line.startswith("## ")] == [
        heading(part.WHAT) for part in (*TABLES, targets)], sections


def main():
    if len(sys.argv) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(sys.argv[1]) if len(sys.argv) == 2 else BUILD / "bench/bench.json"
    write(json.loads(path.read_text(encoding="utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
