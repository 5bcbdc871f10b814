"""The overview's chart: an SVG in the page itself, whose methods can be switched on and off."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import pandas as pd

from causaldq.methods.registry import is_bound
from causaldq.pipeline.report.headline import first_case
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.palette import LIMIT, ORACLE, foremost, look, spread

SHOWN = 7
"""Methods drawn at first; the others on demand."""
WIDTH, HEIGHT, TOP, BOTTOM = 340, 360, 30, 310
LEFT, APART, NAMES = 52, 30, 200
TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
DASH = {"-": "", "--": "6 4", ":": "2 3", "-.": "7 3 2 3"}


@dataclass(frozen=True)
class Entry:
    """A method, as the buttons over the chart offer it."""

    method: str
    name: str
    colour: str
    dashes: str
    is_shown: bool


@dataclass(frozen=True)
class Chart:
    """The SVG, and what can be switched on and off in it."""

    svg: str
    entries: list[Entry]


Scale = Callable[[float], float]


def delay_chart(rows: pd.DataFrame) -> Chart:
    """Delay against shift, a panel for each protocol, from the cells of one scenario.

    Grey below what is told everything. Each point says its number when it is pointed at.
    """
    rows = first_case(rows).dropna(subset="add")
    methods = [*foremost(rows["method"], len(rows)), *filter(is_bound, rows["method"].unique())]
    shown = [*methods[:SHOWN], *(m for m in methods[SHOWN:] if m == ORACLE)]
    across = _logarithmic(rows["delta"], LEFT, LEFT + WIDTH)
    up = _logarithmic([*rows["add"], max(0.9, 0.8 * rows["add"].min())], BOTTOM, TOP)
    protocols = list(rows["protocol"].unique())
    parts = []
    for place, protocol in enumerate(protocols):
        panel = rows[rows["protocol"] == protocol]
        inside = [_frame(panel, across, up, label(protocol), is_first=place == 0)]
        inside += [_line(panel, m, across, up, is_shown=m in shown) for m in methods]
        parts.append(f'<g transform="translate({place * (WIDTH + APART)} 0)">{"".join(inside)}</g>')
    width = LEFT + len(protocols) * (WIDTH + APART) + NAMES
    parts.append(_names(rows[rows["protocol"] == protocols[-1]], shown, up, width - NAMES))
    said = escape(_in_words(rows, shown))
    entries = [
        Entry(m, label(m), look(m).colour, DASH[look(m).dashes], m in shown) for m in methods
    ]
    svg = (
        f'<svg viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="{said}">{"".join(parts)}</svg>'
    )
    return Chart(svg, entries)


def _logarithmic(values: "Sequence[float] | pd.Series[float]", start: float, end: float) -> Scale:
    low, high = math.log(min(values)), math.log(max(values))
    over = (end - start) / ((high - low) or 1.0)
    return lambda value: round(start + (math.log(value) - low) * over, 1)


def _frame(panel: pd.DataFrame, across: Scale, up: Scale, title: str, *, is_first: bool) -> str:
    """Axes, grid, title, and the shaded limit."""
    low, high = BOTTOM, TOP
    parts = [f'<text class="title" x="{LEFT}" y="16">{escape(title)}</text>']
    if is_first:
        parts.append(
            f'<text class="below" transform="translate(12 {(low + high) / 2}) rotate(-90)">'
            "delay, in steps</text>"
        )
    limit = panel[panel["method"] == LIMIT].sort_values("delta")
    if len(limit):
        edge = _points(limit, across, up)
        right, left = across(panel["delta"].max()), across(panel["delta"].min())
        parts.append(f'<polygon class="limit" points="{edge} {right},{low} {left},{low}"/>')
    for tick in TICKS:
        y = up(tick)
        if high - 5 <= y <= low:
            parts.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y}" y2="{y}"/>')
            if is_first:
                parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y + 4}">{tick}</text>')
    for delta in sorted(panel["delta"].unique()):
        parts.append(f'<text class="below" x="{across(delta)}" y="{low + 18}">{delta:g}</text>')
    middle = LEFT + WIDTH / 2
    parts.append(
        f'<text class="below" x="{middle}" y="{low + 38}">shift δ, in standard deviations</text>'
    )
    return "".join(parts)


def _points(rows: pd.DataFrame, across: Scale, up: Scale) -> str:
    places = zip(map(across, rows["delta"]), map(up, rows["add"]), strict=True)
    return " ".join(f"{x},{y}" for x, y in places)


def _line(panel: pd.DataFrame, method: str, across: Scale, up: Scale, *, is_shown: bool) -> str:
    part = panel[panel["method"] == method].sort_values("delta")
    drawn = look(method)
    points = _points(part, across, up)
    dots = []
    for _, row in part.iterrows():
        said = f"{label(method)}, δ = {row['delta']:g}: {row['add']:.1f} steps"
        if row["ci_low"] < row["ci_high"]:
            said += f" (95% interval {row['ci_low']:.1f} to {row['ci_high']:.1f})"
        if row["protocol"] == "paper" and pd.notna(row["published_add"]):
            said += f", published {row['published_add']:.1f}"
        at = f'cx="{across(row["delta"])}" cy="{up(row["add"])}"'
        dots.append(f'<circle {at} r="4"><title>{escape(said)}</title></circle>')
    hidden = "" if is_shown else " hidden"
    return (
        f'<g class="method{hidden}" data-method="{method}" stroke="{drawn.colour}"'
        f' fill="{drawn.colour}" stroke-dasharray="{DASH[drawn.dashes]}">'
        f'<polyline stroke-width="{1.3 * drawn.width:.1f}" points="{points}"/>{"".join(dots)}</g>'
    )


def _names(panel: pd.DataFrame, methods: list[str], up: Scale, left: float) -> str:
    """Methods at the ends of their lines."""
    last = panel[panel["delta"] == panel["delta"].max()].set_index("method")["add"]
    there = [method for method in methods if method in last.index]
    ends = [up(last[method]) for method in there]
    parts = []
    for method, end, place in zip(there, ends, spread(ends, 17), strict=True):
        parts.append(
            f'<g class="method name" data-method="{method}" stroke="{look(method).colour}">'
            f'<line x1="{left - APART + 6}" y1="{end}" x2="{left - 6}" y2="{place:.1f}"/>'
            f'<text x="{left}" y="{place + 4:.1f}">{escape(label(method))}</text></g>'
        )
    return "".join(parts)


def _in_words(rows: pd.DataFrame, methods: list[str]) -> str:
    """The chart for those who cannot see it."""
    middle = sorted(rows["delta"].unique())[rows["delta"].nunique() // 2]
    texts = []
    for protocol, panel in rows[rows["delta"] == middle].groupby("protocol", sort=False):
        delays = panel.set_index("method")["add"]
        said = [f"{label(m)} {delays[m]:.1f}" for m in methods if m in delays.index]
        texts.append(f"{label(str(protocol))}: {', '.join(said)}")
    return f"Delay against shift. At a shift of {middle:g}, steps to the alarm. {'. '.join(texts)}."
