"""Writes tables as Markdown, as a whole or line by line during a run, and formats figures."""

import statistics


def table_line(words):
    return f"| {' | '.join(words)} |\n"


def table(columns, rows):
    return "".join(map(table_line, [columns, ["---"] * len(columns), *rows]))


def print_line(words):
    print(table_line(words), end="", flush=True)


def print_head(columns):
    print(table(columns, ()), end="", flush=True)


def median_of(runs):
    """Returns the median of each figure of the runs. All runs have the same figures."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def ratio(figure, base):
    """Returns figure / base with two decimals; a dash if there is no base."""
    return f"{figure / base:.2f}" if figure is not None and base else "-"
