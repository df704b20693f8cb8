"""Tables as Markdown, whole and line by line during a run, and the few formats of figures."""

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
    """One dictionary of figures, each the median over the runs; every run has the same ones."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def ratio(figure, base):
    """Two decimals, or a dash without a divisor."""
    return f"{figure / base:.2f}" if figure is not None and base else "-"
