"""Draws a run as SVG: calls a second and p50 of `add`, a chart for each placement.

A chart has two panels side by side, a band for each shape and a bar for each server, all on logarithmic scales: what
is compared spans orders of magnitude. Colours and grey are of medium lightness, and there is no background, so that
it can be read on light and on dark pages.
"""

import math
import xml.dom.minidom
from html import escape

WORKLOAD = "add"
PANELS = (("calls_per_second", "calls a second: longer is better"), ("p50_us", "p50 in us: shorter is better"))
TRANSPORT_COLOURS = {"WebSocket": "#2f81f7", "HTTP": "#17a2a2", "ZeroMQ": "#6e56cf"}
FLOOR_OPACITY = 0.4  # a floor has its transport's colour
RIVAL_COLOURS = ("#d29922", "#e0593e", "#bf4b8a", "#e08fb8", "#3fa34d", "#b08968")
GREY = "#7d8590"

LEFT, PANEL, GAP = 52, 400, 24
BAR, BAND_GAP, TOP, LEGEND_ROW = 11, 12, 30, 16
LABEL_WIDTH = 46
LEGEND_COLUMNS = 5
WIDTH = LEFT + 2 * PANEL + GAP


def shape_of(row):
    return row["connections"], row["in_flight"]


def series_of(run, placement):
    """(server, transport): {shape: figures}; a rival has no transport. Each transport's floors are beside it."""
    series = {}
    for part in ("load", "rivals"):
        for row in run.get(part, ()):
            if (row["placement"], row["workload"]) != (placement, WORKLOAD) or row["transport"] not in TRANSPORT_COLOURS:
                continue
            for server, figures in row["figures"].items():
                if part == "load":
                    series.setdefault((server, row["transport"]), {})[shape_of(row)] = figures
                elif server != "jpeer":  # the load table has it, floors and all
                    series.setdefault((server, ""), {})[shape_of(row)] = figures
    transports = list(TRANSPORT_COLOURS)
    return dict(sorted(series.items(), key=lambda item: (
        transports.index(item[0][1]) if item[0][1] else len(transports), item[0][0] != "jpeer" and item[0][1] != "")))


def name_of(key):
    return ", ".join(word for word in key if word)


def fills_for(keys):
    """Of each, the words of a rectangle that say how it is filled."""
    rivals = iter(RIVAL_COLOURS * len(keys))
    fills = {}
    for server, transport in keys:
        colour = TRANSPORT_COLOURS[transport] if transport else next(rivals)
        opacity = FLOOR_OPACITY if transport and server != "jpeer" else 1
        fills[server, transport] = f'fill="{colour}" fill-opacity="{opacity}"'
    return fills


class Scale:
    """From a figure to a width, logarithmic from the power of ten below the least."""

    def __init__(self, values, width):
        self.first = math.floor(math.log10(min(values)))
        self.last = math.ceil(math.log10(max(values)))
        self.width = width / max(1, self.last - self.first)

    def __call__(self, value):
        return (math.log10(value) - self.first) * self.width

    def decades(self):
        return [10 ** power for power in range(self.first, self.last + 1)]


def short(value):
    """Three digits, and k or M behind them."""
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}"


def text(x, y, words, anchor="start", size=10, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
            f'fill="{GREY}">{escape(words)}</text>')


def bands(series):
    """Shape, the top of its band, the keys of those that have it; and the end of all."""
    made, y = [], TOP
    for shape in sorted({shape for figures in series.values() for shape in figures}):
        keys = [key for key, figures in series.items() if shape in figures]
        made.append((shape, y, keys))
        y += len(keys) * BAR + BAND_GAP
    return made, y - BAND_GAP


def panel(series, fills, figure, title, left):
    values = [figures[figure] for shapes in series.values() for figures in shapes.values() if figures[figure] > 0]
    scale = Scale(values, PANEL - LABEL_WIDTH)
    places, bottom = bands(series)
    yield text(left, 12, title, weight="bold")
    for decade in scale.decades():
        x = left + scale(decade)
        yield f'<path d="M{x:.1f} {TOP - 4}V{bottom}" stroke="{GREY}" stroke-opacity="0.3"/>'
        yield text(x, TOP - 7, short(decade), "middle", 9)
    for shape, top, keys in places:
        for i, key in enumerate(keys):
            value = series[key][shape][figure]
            y = top + i * BAR
            width = max(scale(value), 1) if value > 0 else 0
            yield (f'<rect x="{left}" y="{y + 1}" width="{width:.1f}" height="{BAR - 2}" {fills[key]}>'
                   f"<title>{escape(name_of(key))}, {shape[0]}x{shape[1]}: {value:,.1f}</title></rect>")
            yield text(left + width + 3, y + BAR - 2, short(value), size=9)


def legend(series, fills, top):
    width = WIDTH / LEGEND_COLUMNS
    for i, key in enumerate(series):
        x, y = i % LEGEND_COLUMNS * width, top + i // LEGEND_COLUMNS * LEGEND_ROW
        yield f'<rect x="{x:.1f}" y="{y}" width="10" height="10" {fills[key]}/>'
        yield text(x + 14, y + 9, name_of(key))


def draw(run, placement):
    """The SVG's text; None where the run has nothing to show."""
    series = series_of(run, placement)
    if not series:
        return None
    fills = fills_for(series)
    places, bottom = bands(series)
    parts = [text(LEFT - 6, top + len(keys) * BAR / 2 + 4, f"{shape[0]}x{shape[1]}", "end", weight="bold")
             for shape, top, keys in places]
    for i, (figure, title) in enumerate(PANELS):
        parts += panel(series, fills, figure, title, LEFT + i * (PANEL + GAP))
    parts += legend(series, fills, bottom + LEGEND_ROW)
    height = bottom + (1 + -(-len(series) // LEGEND_COLUMNS)) * LEGEND_ROW
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" font-family="sans-serif" role="img">'
            f"<title>{escape(WORKLOAD)}, server and client {escape(placement)}: connections x calls in flight</title>")
    return "\n".join([head, *parts, "</svg>"]) + "\n"


def smoke():
    """A chart of a few figures that nobody measured is an XML document that has them all."""
    figures = {"calls_per_second": 12345.0, "p50_us": 6.5}
    row = {"placement": "apart", "transport": "HTTP", "workload": WORKLOAD, "connections": 1, "in_flight": 1}
    run = {"load": [{**row, "figures": {"jpeer": figures, "floor": figures}}],
           "rivals": [{**row, "figures": {"jpeer": figures, "A & B": figures}}]}
    words = list(xml.dom.minidom.parseString(draw(run, "apart")).documentElement.getElementsByTagName("text"))
    shown = [word.firstChild.data for word in words]
    assert shown.count("12.3k") == shown.count("6.5") == 3 and "A & B" in shown, shown
    assert draw(run, "together") is None
