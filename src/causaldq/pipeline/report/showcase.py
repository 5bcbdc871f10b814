"""Figures of the scenario that is looked at more closely."""

import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, NullLocator

from causaldq.pipeline.report.figures import style
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.palette import ALARM, BLUE, GREEN, INK, ORANGE, RED

SHIFTED, QUIET = ALARM, "#7f9bb3"


def watch_figure(rows: pd.DataFrame) -> Any:
    """Time by stream for each method; readings of shifted streams in red."""
    methods = list(rows["method"].unique())
    columns = 3
    lines = math.ceil(len(methods) / columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(8.6, 1.9 * lines), squeeze=False, sharex=True, sharey=True
    )
    for axis, method in zip(axes.ravel(), methods, strict=False):
        part = rows[rows["method"] == method]
        change = int(part["change"].iloc[0])
        colours = np.where(part["shifted"] == 1, SHIFTED, QUIET)
        axis.scatter(part["step"], part["stream"], c=colours, s=1.6, marker="s", linewidths=0)
        axis.axvline(change - 0.5, color="black", linewidth=0.8)
        over = part[(part["statistic"] > part["limit"]) & (part["step"] >= change)]["step"]
        name = label(method)
        if len(over):
            alarm = int(over.min())
            axis.plot(alarm, -1.5, marker="^", color="black", markersize=5, clip_on=False)
            name += f": alarm after {alarm - change + 1}"
        axis.set_title(name, fontsize=8)
    for axis in axes.ravel()[len(methods) :]:
        axis.set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel("stream")
    for axis in axes[-1]:
        axis.set_xlabel("step")
    return figure


def tradeoff_figure(rows: pd.DataFrame) -> Any:
    """Delay against run length in control."""
    methods = list(rows["method"].unique())
    figure, axis = plt.subplots(figsize=(6.4, 3.8))
    for method in methods:
        line = rows[rows["method"] == method].sort_values("arl0")
        look = style(method)
        axis.plot(line["arl0"], line["add"], label=label(method), **look)
        band = {"color": look["color"], "alpha": 0.10, "linewidth": 0}
        axis.fill_between(line["arl0"], line["ci_low"], line["ci_high"], **band)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(sorted(rows["arl0"].unique()))
    axis.set_yticks([1, 2, 5, 10, 20, 50, 100, 200])
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        side.set_minor_locator(NullLocator())
    axis.set_xlabel("steps to a false alarm")
    axis.set_ylabel(rf"delay at $\delta={rows['delta'].iloc[0]:g}$ (steps)")
    figure.legend(loc="outside right center", fontsize=8)
    return figure


def places_figure(rows: pd.DataFrame) -> Any:
    """Delay of each network where it was trained and elsewhere, a panel a method."""
    methods = list(rows["method"].unique())
    columns = min(len(methods), 3)
    lines = math.ceil(len(methods) / columns)
    figure, axes = plt.subplots(
        lines,
        columns,
        figsize=(max(2.9 * columns, 6.4), 2.5 * lines + 0.9),
        squeeze=False,
        sharey=True,
    )
    for axis in axes.ravel()[len(methods) :]:
        axis.set_visible(False)
    looks = {
        ("paper", "paper"): ("trained on fixed places, shift there", RED, "-"),
        ("paper", "fair"): ("trained on fixed places, shift anywhere", BLUE, "-"),
        ("fair", "paper"): ("trained on all places, shift in the fixed ones", GREEN, "--"),
        ("fair", "fair"): ("trained on all places, shift anywhere", ORANGE, "--"),
        ("mixture", "paper"): ("trained elsewhere, shift in the fixed places", INK, ":"),
        ("mixture", "fair"): ("trained elsewhere, shift anywhere", "grey", ":"),
    }
    for axis, method in zip(axes.ravel(), methods, strict=False):
        for pair, (name, colour, dashes) in looks.items():
            part = rows[
                (rows["method"] == method)
                & (rows["trained"] == pair[0])
                & (rows["tested"] == pair[1])
            ]
            if part.empty:
                continue
            mean = part.groupby("delta")["add"].mean()
            axis.plot(mean.index, mean, color=colour, linestyle=dashes, label=name)
            axis.scatter(part["delta"], part["add"], color=colour, s=8, alpha=0.6)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xticks(sorted(rows["delta"].unique()))
        axis.set_yticks([2, 5, 10, 20, 50, 100, 200])
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            side.set_minor_locator(NullLocator())
        axis.set_title(label(method))
        axis.set_xlabel(r"shift $\delta$")
    for axis in axes[:, 0]:
        axis.set_ylabel("average delay (steps)")
    named = {
        name: handle
        for axis in axes.ravel()
        for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        list(named.values()), list(named), loc="outside lower center", ncols=2, fontsize=8
    )
    return figure
