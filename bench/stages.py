"""The cost of each stage of a call in one process, without sockets (bench/stages).

Each workload has three rows. The row with the `key` NAME-ns has the time of the whole call and of each stage, and
NAME-allocations their allocations. NAME-ratio is the time of the call divided by its floor: the JNI calls that it needs
(for `ints` also a bare parse of the numbers). The calls are cut off after each stage in turn; the cost of a stage is
the difference of two cuts. "general" is the sum of all stages. "whole" is the cost of a call that the peer serves as
usual, with its fast path. Times are processor times of the thread. Every allocation of the C heap on the thread is
counted, also by the JVM.
"""

import json
import subprocess

from bench.report import ratio
from support.peer import BUILD, environment

NAME = "stages"
WHAT = "one call in the process, bytes in and bytes out: nanoseconds and allocations of each stage"

STAGES = BUILD / "bench/stages/jpeer-bench-stages"
SHOWN = ("read", "decode", "frame", "resolve", "convert", "jni", "write", "general", "whole", "floor")
ROUNDS_A_RUN = 21


def run_stages(only=(), **options):
    """Runs the executable, and returns its figures. The arguments are its options (rounds=101, iterations=2000). The
    result is {"rounds", "iterations", "workloads": [{"name", "what", "stages": {stage: figure}}]}, a figure
    is None if the workload does not have the stage, otherwise {"median_ns", "least_ns", "allocations"}.
    """
    command = [STAGES, "--json"]
    for name in only:
        command += ["--only", name]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment(), check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {done.returncode}")
    return json.loads(done.stdout)


def rows_of(workload):
    figures = workload["stages"]
    for unit, member in (("ns", "median_ns"), ("allocations", "allocations")):
        stages = {stage: figure and figure[member] for stage, figure in figures.items()}
        yield {"key": f"{workload['name']}-{unit}", "figure": stages["whole"], "stages": stages}
    if figures["floor"] is not None:
        yield {"key": f"{workload['name']}-ratio", "stages": {},
               "figure": figures["whole"]["median_ns"] / figures["floor"]["median_ns"]}


def measure(options):
    for workload in run_stages(rounds=options.runs * ROUNDS_A_RUN)["workloads"]:
        yield from rows_of(workload)


COLUMNS = ("workload", *SHOWN)


def cell(row, stage):
    figure = row["stages"].get(stage)
    if figure is None:
        return "-"
    return f"{figure:.2f}" if row["key"].endswith("-allocations") else f"{figure:.0f}"


def cells(row):
    if not row["stages"]:
        return [row["key"], *["-"] * (len(SHOWN) - 2), ratio(row["figure"], 1), "1.00"]
    return [row["key"], *(cell(row, stage) for stage in SHOWN)]


def smoke():
    """Measures every workload with a few calls."""
    workloads = run_stages(rounds=2, iterations=40)["workloads"]
    assert {"ping", "add", "ints"} <= {workload["name"] for workload in workloads}, workloads
    for workload in workloads:
        assert workload["stages"]["whole"]["median_ns"] > 0, workload
