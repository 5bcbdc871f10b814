"""Pictures of what the methods are given: streams that shift, and causal graphs."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from causaldq.pipeline.evaluation import edges as edge
from causaldq.pipeline.report.captions import MOST_DRAWN
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.palette import BLUE, GREY, ORANGE, RED, SKY

SHORT_NAME = 4
"""Letters of a name that has room in a circle."""
LOOKS: dict[str, tuple[str, str, str, str]] = {
    edge.RIGHT: (BLUE, "-", "-|>", "s"),
    edge.OPEN: (SKY, "-", "-", "D"),
    edge.REVERSED: (ORANGE, "-.", "-|>", "v"),
    edge.EXTRA: (RED, "--", "-|>", "x"),
    edge.MISSED: (GREY, ":", "-|>", "."),
    edge.FOUND: (BLUE, "-", "-|>", "s"),
    edge.FOUND_OPEN: (SKY, "-", "-", "D"),
}
"""By kind of edge: colour, line, arrow, and mark in a matrix."""


def streams_figure(rows: pd.DataFrame) -> Any:
    """Some streams of one replication, a column a protocol, shifted ones coloured."""
    protocols = list(rows["protocol"].unique())
    lines = int(rows.groupby("protocol")["stream"].nunique().max())
    figure, axes = plt.subplots(
        lines,
        len(protocols),
        figsize=(4.4 * len(protocols), 0.75 * lines + 0.9),
        squeeze=False,
        sharex=True,
    )
    for axis in axes.ravel():
        axis.set_visible(False)
    for column, (protocol, part) in enumerate(rows.groupby("protocol", sort=False)):
        for axis, (name, stream) in zip(
            axes[:, column], part.groupby("stream", sort=False), strict=False
        ):
            axis.set_visible(True)
            _stream(axis, stream, str(name))
        axes[0, column].set_title(label(str(protocol)))
        last = part["stream"].nunique() - 1
        axes[last, column].tick_params(labelbottom=True)
        axes[last, column].set_xlabel("step")
    return figure


def _stream(axis: Any, rows: pd.DataFrame, name: str) -> None:
    change = rows["change"].iloc[0]
    is_shifted = bool(rows["shifted"].iloc[0])
    after = rows[rows["step"] >= change]
    axis.plot(rows["step"], rows["value"], color="#888888", linewidth=0.8)
    if is_shifted:
        axis.plot(after["step"], after["value"], color=RED, linewidth=0.9)
    axis.plot(rows["step"], rows["mean"], color="black", linewidth=1.0, drawstyle="steps-mid")
    axis.axvline(change - 0.5, color="black", linewidth=0.8, linestyle=":")
    axis.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=8, labelpad=8)
    axis.tick_params(labelsize=7)


def graph_figure(rows: pd.DataFrame) -> Any:
    """A graph edge by edge: with arrows if it is small, as a matrix of causes by effects if not."""
    if rows.empty:
        figure, axis = plt.subplots(figsize=(4.0, 1.0))
        axis.text(0.5, 0.5, "no edges were found", ha="center", va="center")
        axis.axis("off")
        return figure
    p = int(rows["p"].iloc[0])
    kinds = [kind for kind in LOOKS if (rows["kind"] == kind).any()]
    size = 5.0 if p <= MOST_DRAWN else 6.0
    figure, axis = plt.subplots(figsize=(size + 2.2, size))
    if p <= MOST_DRAWN:
        _arrows(axis, rows, p)
    else:
        _matrix(axis, rows, kinds, p)
    handles = [_legend(kind, int((rows["kind"] == kind).sum()), p) for kind in kinds]
    figure.legend(handles=handles, loc="outside right upper", fontsize=9)
    return figure


def _legend(kind: str, count: int, p: int) -> Line2D:
    colour, line, _, mark = LOOKS[kind]
    text = f"{kind}: {count}"
    if p <= MOST_DRAWN:
        return Line2D([], [], color=colour, linestyle=line, linewidth=2, label=text)
    return Line2D([], [], color=colour, linestyle="", marker=mark, label=text)


def _arrows(axis: Any, rows: pd.DataFrame, p: int) -> None:
    """Streams on a circle."""
    angles = np.pi / 2 - 2 * np.pi * np.arange(p) / p
    places = np.column_stack([np.cos(angles), np.sin(angles)])
    names = dict(zip(rows["cause_place"], rows["cause"], strict=True))
    names |= dict(zip(rows["effect_place"], rows["effect"], strict=True))
    is_long = max(map(len, map(str, names.values()))) > SHORT_NAME
    shape = "round,pad=0.4" if is_long else "circle,pad=0.35"
    boxes = [
        axis.text(
            x, y, names.get(place, ""), ha="center", va="center", fontsize=9,
            bbox={"boxstyle": shape, "facecolor": "white", "edgecolor": "black"},
        ).get_bbox_patch()
        for place, (x, y) in enumerate(places)
    ]  # fmt: skip
    for _, row in rows.iterrows():
        colour, line, arrow, _ = LOOKS[row["kind"]]
        cause, effect = row["cause_place"], row["effect_place"]
        axis.annotate(
            "",
            xy=places[effect],
            xytext=places[cause],
            arrowprops={
                "arrowstyle": arrow,
                "color": colour,
                "linestyle": line,
                "linewidth": 1.6,
                "mutation_scale": 13,
                # Lines end at the boxes, so that arrowheads are seen.
                "patchA": boxes[cause],
                "patchB": boxes[effect],
                "shrinkA": 0,
                "shrinkB": 1,
                "connectionstyle": "arc3,rad=0.06",
            },
        )
    wide = 1.5 if is_long else 1.2
    axis.set(xlim=(-wide, wide), ylim=(-1.2, 1.2), aspect="equal")
    axis.axis("off")


def _matrix(axis: Any, rows: pd.DataFrame, kinds: list[str], p: int) -> None:
    for kind in kinds:
        part = rows[rows["kind"] == kind]
        colour, _, _, mark = LOOKS[kind]
        axis.scatter(
            part["effect_place"] + 1, part["cause_place"] + 1, color=colour, marker=mark, s=900 / p,
            linewidths=1.2 if mark == "x" else 0,
        )  # fmt: skip
    axis.plot([0.5, p + 0.5], [0.5, p + 0.5], color="#dddddd", linewidth=0.8, zorder=0)
    axis.set(xlim=(0.5, p + 0.5), ylim=(p + 0.5, 0.5), aspect="equal")
    axis.set_xlabel("effect (number of the stream)")
    axis.set_ylabel("cause (number of the stream)")
