"""Puts a run's tables and charts into docs/: performance-tables.md, the charts, and the marked parts of performance.md.

usage: PYTHONPATH=tests python3 -m bench.document [BENCH_JSON]

A part of performance.md is marked by the line `<!-- bench: NAME -->` and ends with the line `<!-- end -->`.
"""

import json
import re
import shutil
import sys
import tempfile
import textwrap
from pathlib import Path

from bench import chains, chart, clients, loadtable, process, rivals, shm, stages, targets, values
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


def table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


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


def shown_stages(facts):
    return table(stages.COLUMNS, map(stages.cells, facts["parts"]["stages"]))


def shown_process(facts):
    return table(process.COLUMNS, map(process.cells, facts["parts"]["process"]))


def shown_targets(facts):
    return table(targets.COLUMNS, map(targets.cells, facts["targets"]))


def shown_clients(facts):
    return table(clients.COLUMNS, map(clients.cells, facts["parts"]["clients"]))


def shown_shm(facts):
    return table(shm.COLUMNS, map(shm.cells, facts["parts"]["shm"]))


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


PARTS = {"run": shown_run, "targets": shown_targets, "add": shown_load, "unix": shown_unix, "binary": shown_binary,
         "rivals": shown_rivals, "clients": shown_clients, "shm": shown_shm, "growth": shown_growth}


def fill_parts(page, facts):
    def fill(match):
        return f"{match[1]}\n{PARTS[match[2]](facts)}\n{match[3]}"

    return re.sub(r"(<!-- bench: (\w+) -->\n).*?(<!-- end -->)", fill, page, flags=re.S)


def all_tables(facts):
    parts = (
        (loadtable.WHAT, table(loadtable.COLUMNS, map(loadtable.cells, facts["parts"]["load"]))),
        (rivals.WHAT, table(rivals.COLUMNS, map(rivals.cells, facts["parts"]["rivals"]))),
        (stages.WHAT, shown_stages(facts)),
        (process.WHAT, shown_process(facts)),
        *((part.WHAT, table(part.COLUMNS, map(part.cells, facts["parts"][part.NAME]))) 
          for part in (chains, values, clients, shm)),
        (targets.WHAT, shown_targets(facts)))
    head = ("# Performance: all tables of the last run\n\n"
            "[performance.md](performance.md) explains the columns. `tests/bench/document.py` writes this page.\n\n"
            f"{shown_run(facts)}")
    return head + "".join(f"\n## {what[0].upper()}{what[1:]}\n\n{rows}" for what, rows in parts)


def write(facts, docs=DOCS):
    page = docs / "performance.md"
    written = {page: fill_parts(page.read_text(encoding="utf-8"), facts), docs / "performance-tables.md": all_tables(facts)}
    for placement in PLACEMENTS:
        written[docs / f"{chart.WORKLOAD}-{placement}.svg"] = chart.draw(facts["parts"], placement)
    for path, words in written.items():
        if words is not None:
            path.write_text(words, encoding="utf-8")
            print(f"written: {path}")


def smoke():
    """The pages of a run that has measured nothing; every part of performance.md is one that is known."""
    facts = {"commit": "none", "system": "none", "java": "none", "machine": {"processor": [], "kernel": "0", "cores": 1},
             "runs": 0, "seconds": 0, "took_seconds": 0, "targets": [],
             "parts": dict.fromkeys(("load", "rivals", "stages", "process", "chains", "values", "clients", "shm"), [])}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(DOCS / "performance.md", folder)
        write(facts, Path(folder))
        page = (Path(folder) / "performance.md").read_text(encoding="utf-8")
    assert re.findall(r"<!-- bench: (\w+) -->", page) == list(PARTS), page
    assert page.count("<!-- end -->") == len(PARTS), page


def main():
    if len(sys.argv) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(sys.argv[1]) if len(sys.argv) == 2 else BUILD / "bench/bench.json"
    write(json.loads(path.read_text(encoding="utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
