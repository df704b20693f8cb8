"""Measures the peer, its floors and its rivals in one run: tables on stdout; tables, JSON and charts in a
folder.

A part is a module with the constants NAME, WHAT and COLUMNS, the function measure(options), which yields rows
for JSON, and the function cells(row), which returns the words of a row's line in the table. Options for a
part: runs, seconds, warm_up, full, and workloads, shapes, transports, rivals, placements, which are
collections of names. smoke() runs a part briefly, without figures.
"""

import argparse
import inspect
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

from bench import (audit, callbacks, chains, chart, clients, document, loadtable, process, python, rivals, shm, stages,
                   tables as tables_part, targets, tls, trust, values)
from bench.load import TRANSPORTS, UNIX_TRANSPORTS
from bench.report import print_head, print_line, table
from support.peer import BINARY, BUILD, ROOT

PARTS = {part.NAME: part for part in (loadtable, rivals, stages, process, chains, values, clients, shm,
                                      callbacks, tls, trust, audit, python, tables_part)}
PLACEMENTS = ("apart", "together")
LEGEND = """\
- A shape CxI is C connections with I calls in flight on each.
- Placement: "apart" gives server and client a core each, "together" puts both on one. With two idle cores the scheduler's
  choice alone moves the p50 of one connection several times over.
- Each figure is the median of the runs. A latency lasts from the read that made room for a call to the read that brought
  its answer, and includes the client's own work. Every answer is compared with the expected one.
- Server us is the server's processor time for a call: the figure that other work on the machine changes least.
- Floor (a), `jpeer-bench-floor`, is only the peer's transport, which answers with as many bytes: no reader, no
  policy, no JVM. Floor (c), `jpeer-bench-zmq-echo`, is libzmq alone.
- With calls in flight at all times, the mean latency is C x I over the rate. A p50 far below it belongs to a server that
  serves some connections before others.
"""


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = {line.split(":", 1)[1].strip() for line in file if line.startswith("model name")}
    return {"cores": os.cpu_count(), "processor": sorted(models), "kernel": platform.release(),
            "load_average": os.getloadavg()}


def output_of(*command):
    """The last line that a command prints; "unknown" if it prints nothing."""
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    return done.stdout.strip().rpartition("\n")[2] or "unknown"


def measured():
    """The measured commit, with "-dirty" if files differ from it, the system and the JVM."""
    return {"commit": output_of("git", "describe", "--always", "--dirty", "--exclude", "*"),
            "system": platform.freedesktop_os_release()["PRETTY_NAME"], "java": output_of(BINARY, "run", "--version")}


def show(title, module, rows, kept):
    """Prints each row when it is measured, and appends the row to `kept`."""
    print(f"\n## {title}\n")
    print_head(module.COLUMNS)
    for row in rows:
        kept.append(row)
        print_line(module.cells(row))


def tables(facts):
    """The text of the page with the tables of all parts."""
    machine_ = facts["machine"]
    yield (f"# All tables of a run\n\nCommit {facts['commit']}, {facts['runs']} runs of {facts['seconds']} s for a figure; "
           f"{machine_['cores']} cores ({', '.join(machine_['processor'])}), Linux {machine_['kernel']}, {facts['system']}, "
           f"{facts['java']}.\n\n{LEGEND}")
    shown = [(PARTS[name], rows) for name, rows in facts["parts"].items()]
    for module, rows in [*shown, (targets, facts["targets"])]:
        yield f"\n## {module.WHAT}\n\n{inspect.getdoc(module)}\n\n{table(module.COLUMNS, map(module.cells, rows))}"


def write(facts, folder):
    folder.mkdir(parents=True, exist_ok=True)
    written = {"bench.json": json.dumps(facts, indent=1) + "\n", "tables.md": "".join(tables(facts)),
               **chart.charts(facts["parts"])}
    print("")
    for name, words in written.items():
        if words is None:
            (folder / name).unlink(missing_ok=True)  # written by an earlier run, with other figures
            continue
        (folder / name).write_text(words, encoding="utf-8")
        print(f"written: {folder / name}")


def bench(options):
    """Writes the figures even if a later part fails."""
    facts = {**measured(), "machine": machine(), "seconds": options.seconds, "runs": options.runs, "parts": {},
             "targets": []}
    began = time.monotonic()
    try:
        for name in options.only:
            rows = facts["parts"].setdefault(name, [])
            show(PARTS[name].WHAT, PARTS[name], PARTS[name].measure(options), rows)
        show(targets.WHAT, targets, targets.judge(facts["parts"]), facts["targets"])
    finally:
        facts["took_seconds"] = round(time.monotonic() - began)
        write(facts, options.out)


def some_of(names):
    """Returns a parser of the option's text `a,b,c`. It accepts only these names, and returns them in the
    order of `names`."""
    names = tuple(names)

    def read(text):
        words = text.split(",")
        unknown = [word for word in words if word not in names]
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: none of {', '.join(names)}")
        return [name for name in names if name in words]

    return read


def add_choice(parser, flag, names, what):
    names = tuple(names)
    parser.add_argument(flag, type=some_of(names), default=names, metavar="A,B,...",
                        help=f"{what} (default all: {', '.join(names)})")


def read_options():
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.split("\n", maxsplit=1)[0],
                                     epilog="A run takes about 25 minutes, with --runs 3 --seconds 0.2 about "
                                            "half of it, with --only load --runs 1 about 3.")
    add_choice(parser, "--only", PARTS, "parts to measure")
    parser.add_argument("--runs", type=int, default=5, help="for each figure (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.4, help="for each run (default %(default)s)")
    parser.add_argument("--warm-up", type=int, default=1000, help="calls before each run (default %(default)s)")
    add_choice(parser, "--workloads", loadtable.WORKLOADS, "workloads")
    add_choice(parser, "--shapes", (loadtable.shape_name(*shape) for shape in loadtable.SHAPES), "shapes")
    add_choice(parser, "--transports", (*TRANSPORTS.values(), *UNIX_TRANSPORTS.values()), "transports")
    add_choice(parser, "--rivals", rivals.NAMES, "rivals")
    add_choice(parser, "--placements", PLACEMENTS, "placements")
    parser.add_argument("--full", action="store_true", help="every workload in every shape on every transport")
    parser.add_argument("--soak-divide", type=int, default=5,
                        help="the divisor of calls for the growth of memory (default %(default)s; 1: minutes)")
    parser.add_argument("--out", type=Path, default=BUILD / "bench", help="folder for the output")
    parser.add_argument("--smoke", action="store_true", help="a few calls of everything, no figures")
    return parser.parse_args()


def main():
    # Child processes end with this process, even if it is terminated.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    options = read_options()
    if options.smoke:
        for part in (*PARTS.values(), targets, chart, document):
            part.smoke()
    else:
        bench(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
