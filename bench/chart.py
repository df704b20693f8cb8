"""Draws a run as SVG: a call of `add` compared with the rivals', and Java from Python compared with Py4J and
JPype.

A chart has two panels side by side, with a band for each compared case and in it a bar for each server or library, all on
logarithmic scales: the figures span orders of magnitude. Colours and grey are of medium lightness, and there is no
background, so that a chart can be read on light and on dark pages.
"""

import dataclasses
import math
import xml.dom.minidom
from html import escape

from bench import python

WORKLOAD = "add"
TRANSPORTS = ("WebSocket", "HTTP", "ZeroMQ")
SHAPES = {(1, 1): "one call at a time", (16, 16): "16 connections, 16 calls in flight on each"}
PLACEMENTS = {"apart": "a core each for server and client", "together": "both on one core"}
OURS = ("#2f81f7", "#17a2a2", "#6e56cf")
RIVALS = ("#d29922", "#e0593e", "#bf4b8a", "#e08fb8", "#3fa34d", "#b08968")
GREY = "#7d8590"

LEFT, PANEL, GAP = 4, 424, 24
BAR, HEADING, BAND_GAP, TOP, LEGEND_ROW = 11, 15, 8, 30, 16
LABEL_WIDTH = 50
LEGEND_COLUMNS = 4
WIDTH = LEFT + 2 * PANEL + GAP


@dataclasses.dataclass
class Panel:
    title: str
    values: dict  # the keys are (band, series)
    say: object  # a function: the text for a value


class Scale:
    """Converts a figure to a width. The scale is logarithmic, and begins at the power of ten below the smallest
    figure."""

    def __init__(self, values, width):
        self.first = math.floor(math.log10(min(values)))
        self.last = math.ceil(math.log10(max(values)))
        self.width = width / max(1, self.last - self.first)

    def __call__(self, value):
        return (math.log10(value) - self.first) * self.width

    def decades(self):
        return [10 ** power for power in range(self.first, self.last + 1)]


def say_count(value):
    """The figure with three digits, and k or M."""
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}"


def say_time(microseconds):
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= size:
            value = microseconds / size
            return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"
    return f"{microseconds:.3g} us"


def text(x, y, words, anchor="start", size=10, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
            f'fill="{GREY}">{escape(words)}</text>')


def bands_of(panels, series):
    """Returns a list of (band, top of the band's heading, series in the band), and the bottom of the last band."""
    made, y = [], TOP
    for band in dict.fromkeys(band for panel in panels for band, _ in panel.values):
        names = [name for name in series if any((band, name) in panel.values for panel in panels)]
        made.append((band, y, names))
        y += HEADING + len(names) * BAR + BAND_GAP
    return made, y - BAND_GAP


def draw_panel(panel, bands, bottom, fills, left):
    scale = Scale([value for value in panel.values.values() if value > 0], PANEL - LABEL_WIDTH)
    yield text(left, 12, panel.title, weight="bold")
    decades = scale.decades()
    for i, decade in enumerate(decades):
        x = left + scale(decade)
        yield f'<path d="M{x:.1f} {TOP - 4}V{bottom}" stroke="{GREY}" stroke-opacity="0.3"/>'
        if len(decades) < 7 or i % 2 == 0:
            yield text(x, TOP - 7, panel.say(decade), "middle" if i else "start", 9)
    for band, top, names in bands:
        for i, name in enumerate(names):
            value = panel.values.get((band, name))
            if value is None:
                continue
            y = top + HEADING + i * BAR
            width = max(scale(value), 1) if value > 0 else 0
            yield (f'<rect x="{left}" y="{y + 1}" width="{width:.1f}" height="{BAR - 2}" fill="{fills[name]}">'
                   f"<title>{escape(name)}, {escape(band)}: {escape(panel.say(value))}</title></rect>")
            yield text(left + width + 3, y + BAR - 2, panel.say(value), size=9)


def legend(fills, top):
    width = WIDTH / LEGEND_COLUMNS
    for i, (name, fill) in enumerate(fills.items()):
        x, y = LEFT + i % LEGEND_COLUMNS * width, top + i // LEGEND_COLUMNS * LEGEND_ROW
        yield f'<rect x="{x:.1f}" y="{y}" width="10" height="10" fill="{fill}"/>'
        yield text(x + 14, y + 9, name)


def draw(title, panels):
    """The SVG's text; None if the run has nothing to show."""
    series = list(dict.fromkeys(name for panel in panels for _, name in panel.values))
    if not series:
        return None
    ours = [name for name in series if name.startswith("jpeer")]
    fills = {**dict(zip(ours, OURS)), **dict(zip((name for name in series if name not in ours), RIVALS * len(series)))}
    bands, bottom = bands_of(panels, series)
    parts = [text(LEFT, top + HEADING - 4, band, weight="bold") for band, top, _ in bands]
    for i, panel in enumerate(panels):
        parts += draw_panel(panel, bands, bottom, fills, LEFT + i * (PANEL + GAP))
    parts += legend(fills, bottom + LEGEND_ROW)
    height = bottom + (1 + -(-len(series) // LEGEND_COLUMNS)) * LEGEND_ROW
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" font-family="sans-serif" role="img"><title>{escape(title)}</title>')
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def draw_calls(parts):
    """Draws the parts `load` and `rivals`: calls of `add` over jpeer's transports and through each rival."""
    found = {}
    for part in ("load", "rivals"):
        for row in parts.get(part, ()):
            shape = row["connections"], row["in_flight"]
            if row["workload"] != WORKLOAD or shape not in SHAPES or row["transport"] not in TRANSPORTS:
                continue
            band = f"{SHAPES[shape]}, {PLACEMENTS[row['placement']]}"
            name = f"jpeer, {row['transport']}" if part == "load" else row["rival"]
            found[shape, row["placement"], band, name] = row["figures"]["jpeer" if part == "load" else name]
    panels = [Panel(title, {key[2:]: found[key][figure] for key in sorted(found, key=lambda key: key[:2])}, say)
              for figure, title, say in (("calls_per_second", "calls a second: longer is better", say_count),
                                         ("p50_us", "time of a call, p50: shorter is better", say_time))]
    return draw("add through jpeer and through its rivals", panels)


LIBRARIES = {python.SHM: "jpeer, shared memory", python.WEBSOCKET: "jpeer, WebSocket", python.PY4J: "Py4J",
             python.JPYPE: "JPype, in the process"}


def draw_python(parts):
    """Draws the part `python`. The row that only Py4J has gets only Py4J's bar."""
    panels = []
    for placement, title in PLACEMENTS.items():
        values = {}
        for row in parts.get(python.NAME, ()):
            if row["placement"] != placement:
                continue
            unit, band = python.WORKLOADS[row["workload"]]
            for library, name in LIBRARIES.items():
                figure = row["figures"][library]
                if figure is not None and (row["workload"] != python.AS_BYTES or library == python.PY4J):
                    values[band, name] = figure * {"us": 1, "ms": 1000}[unit]
        if values:
            panels.append(Panel(f"{title}: shorter is better", values, say_time))
    return draw("Java from Python", panels)


# A file's name, the parts of a run that it shows, and the function that draws it.
CHARTS = {"calls.svg": (("load", "rivals"), draw_calls), "python.svg": ((python.NAME,), draw_python)}


def charts(parts):
    """The text of each chart by the chart's name; None if a part that the chart needs was not measured."""
    return {name: draw_it(parts) if all(parts.get(part) for part in needed) else None
            for name, (needed, draw_it) in CHARTS.items()}


def smoke():
    """Checks that charts of a few invented figures are XML documents that contain all figures."""
    figures = {"calls_per_second": 12345.0, "p50_us": 6.5}
    row = {"placement": "apart", "transport": "HTTP", "workload": WORKLOAD, "connections": 1, "in_flight": 1}
    of_sort = {python.SHM: 2.5, python.WEBSOCKET: 33.0, python.PY4J: None, python.JPYPE: 0.5}
    parts = {"load": [{**row, "figures": {"jpeer": figures, "floor": figures}}],
             "rivals": [{**row, "rival": "A & B", "figures": {"jpeer": figures, "A & B": figures}}],
             python.NAME: [{"placement": "together", "workload": "sort", "unit": "ms", "figures": of_sort}]}
    shown = {name: [words.firstChild.data for words in xml.dom.minidom.parseString(svg).getElementsByTagName("text")]
             for name, svg in charts(parts).items()}
    assert shown["calls.svg"].count("12.3k") == shown["calls.svg"].count("6.5 us") == 2, shown
    assert "A & B" in shown["calls.svg"] and {"2.5 ms", "33 ms", "500 us"} <= set(shown["python.svg"]), shown
    assert "Py4J" not in shown["python.svg"], shown
    assert charts({"load": parts["load"]}) == {"calls.svg": None, "python.svg": None}
