"""Figures, as PDF for the document and PNG for pages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import NullFormatter, ScalarFormatter

from causaldq.evaluation.aggregate import is_bound
from causaldq.evaluation.training import epochs_to_final
from causaldq.files import write_atomically
from causaldq.report.labels import label

COLOURS = plt.get_cmap("tab10").colors
plt.rcParams.update(
    {
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "figure.constrained_layout.use": True,
        "svg.hashsalt": "causaldq",
    }
)


def save(figure: Any, path: Path) -> None:
    """Write PDF or PNG, by the name's ending, with no date in it."""
    kind = path.suffix.removeprefix(".")
    metadata = {"CreationDate": None} if kind == "pdf" else None

    def write(temporary: Path) -> None:
        figure.savefig(temporary, format=kind, dpi=150, metadata=metadata)

    write_atomically(path, write)


def save_both(draw: Callable[[], Any], path: Path) -> None:
    """Draw once, write `path` as PDF and as PNG."""
    figure = draw()
    for suffix in (".pdf", ".png"):
        save(figure, path.with_suffix(suffix))
    plt.close(figure)


def style(method: str, methods: list[str]) -> dict[str, Any]:
    """One look for each method: bounds dashed and black, Causal DQ thick, the rest coloured."""
    rivals = [m for m in methods if not is_bound(m)]
    if is_bound(method):
        dashes = ["--", ":", "-."]
        bounds = [m for m in methods if is_bound(m)]
        return {"color": "black", "linestyle": dashes[bounds.index(method) % 3], "linewidth": 1.2}
    index = rivals.index(method)
    return {
        "color": COLOURS[index % 10],
        "linestyle": "-" if index < 10 else "--",
        "linewidth": 2.4 if method == "causal_dq" else 1.2,
        "marker": "osv^D<>ph*"[index % 10],
        "markersize": 4,
    }


def delay_figure(rows: pd.DataFrame) -> Any:
    """Delay against shift, all methods with 95% bands, one panel a protocol and case."""
    panels = list(rows.groupby(["protocol", "setting"], sort=False))
    methods = list(rows["method"].unique())
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(3.6 * columns + 1.6, 3.1 * lines), squeeze=False, sharey=True
    )
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, ((protocol, setting), panel) in zip(axes.flat, panels, strict=False):
        quiet = panel[panel["sigma"] == panel["sigma"].min()]
        for method in methods:
            line = quiet[(quiet["method"] == method) & (quiet["delta"] > 0)].sort_values("delta")
            look = style(method, methods)
            axis.plot(line["delta"], line["add"], label=label(method), **look)
            axis.fill_between(
                line["delta"],
                line["ci_low"],
                line["ci_high"],
                color=look["color"],
                alpha=0.12,
                lw=0,
            )
        axis.set_title(f"{label(str(protocol))}, {label(str(setting))}")
        axis.set_yscale("log")
        axis.set_xlabel(r"shift $\delta$ (standard deviations)")
        axis.set_yticks([2, 5, 10, 20, 50, 100, 200])
        axis.yaxis.set_major_formatter(ScalarFormatter())
        axis.yaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].set_ylabel("average detection delay (steps)")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", fontsize=8)
    return figure


def training_figure(logs: pd.DataFrame) -> Any:
    """Reward by epoch: mean and 95% band over seeds, one panel a protocol.

    Agents are rewarded differently, so the paper's own reward is drawn for all.
    """
    protocols = list(logs["protocol"].unique())
    methods = list(logs["method"].unique())
    figure, axes = plt.subplots(
        1, len(protocols), figsize=(3.6 * len(protocols) + 2.0, 3.0), squeeze=False, sharey=True
    )
    for axis, protocol in zip(axes[0], protocols, strict=True):
        for method in methods:
            part = logs[(logs["protocol"] == protocol) & (logs["method"] == method)]
            if len(part):
                _training_curve(axis, part, label(method), style(method, methods))
        axis.set_title(label(str(protocol)))
        axis.set_xlabel("training epoch")
    axes[0, 0].set_ylabel("the paper's reward an episode")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", fontsize=8)
    return figure


def _training_curve(axis: Any, part: pd.DataFrame, name: str, look: dict[str, Any]) -> None:
    by_epoch = part.groupby("epoch")["paper_reward"]
    mean, count = by_epoch.mean(), by_epoch.count()
    half = 1.96 * (by_epoch.std() / np.sqrt(count)).fillna(0.0)
    axis.plot(mean.index, mean, label=name, **(look | {"marker": None}))
    band = {"color": look["color"], "alpha": 0.15, "linewidth": 0}
    axis.fill_between(mean.index, mean - half, mean + half, **band)
    reached = epochs_to_final(mean.to_numpy())
    axis.plot(reached, mean.loc[reached], "o", color=look["color"], markersize=5)
