"""Figures, as PDF for the document and PNG for pages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from causaldq.files import write_atomically
from causaldq.methods.registry import is_bound
from causaldq.pipeline.evaluation.training import epochs_to_final
from causaldq.pipeline.report.labels import label

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


DPI = 150


def save(figure: Any, path: Path) -> None:
    """Write PDF or PNG, by the name's ending, with no date in it."""
    kind = path.suffix.removeprefix(".")
    metadata = {"CreationDate": None} if kind == "pdf" else None

    def write(temporary: Path) -> None:
        figure.savefig(temporary, format=kind, dpi=DPI, metadata=metadata)

    write_atomically(path, write)


def save_both(draw: Callable[[], Any], path: Path) -> None:
    """Draw once, lay out once, write `path` as PDF and as PNG.

    Left to itself, matplotlib lays a figure out for each file, and draws it in vain before.
    """
    figure = draw()
    figure.set_dpi(DPI)
    # Axes of a fixed shape find their place only when those around them have theirs.
    for _ in range(1 if all(axis.get_aspect() == "auto" for axis in figure.axes) else 2):
        figure.get_layout_engine().execute(figure)
    with plt.rc_context({"figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)
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
    """Delay against shift, all methods with 95% bands, a column a protocol and case.

    Below it the same delays divided by the oracle set's, where there is one: methods whose
    lines run together above are apart there.
    """
    panels = list(rows.groupby(["protocol", "setting"], sort=False))
    methods = list(rows["method"].unique())
    relative = "oracle_set" in methods
    lines = 2 if relative else 1
    figure, axes = plt.subplots(
        lines,
        len(panels),
        figsize=(4.0 * len(panels) + 1.8, 3.6 * lines),
        squeeze=False,
        sharex=True,
        sharey="row",
    )
    for column, ((protocol, setting), panel) in enumerate(panels):
        quiet = panel[(panel["sigma"] == panel["sigma"].min()) & (panel["delta"] > 0)]
        _delay_panel(axes[0, column], quiet, methods, None)
        axes[0, column].set_title(f"{label(str(protocol))}, {label(str(setting))}")
        if relative:
            oracle = quiet[quiet["method"] == "oracle_set"].set_index("delta")["add"]
            _delay_panel(axes[1, column], quiet, methods, oracle)
        axes[-1, column].set_xlabel(r"shift $\delta$ (standard deviations)")
    axes[0, 0].set_ylabel("average detection delay (steps)")
    if relative:
        axes[1, 0].set_ylabel("delay over the oracle set's")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", fontsize=8)
    return figure


def bar_figure(rows: pd.DataFrame) -> Any:
    """Delay of every method at the only shift there is, with 95% intervals, a panel a protocol."""
    panels = list(rows.groupby(["protocol", "setting"], sort=False))
    methods = list(rows["method"].unique())[::-1]
    figure, axes = plt.subplots(
        1,
        len(panels),
        figsize=(3.8 * len(panels) + 1.2, 0.28 * len(methods) + 1.0),
        squeeze=False,
        sharey=True,
    )
    for axis, ((protocol, setting), panel) in zip(axes[0], panels, strict=True):
        by_method = panel.set_index("method").reindex(methods)
        places = np.arange(len(methods))
        colours = ["black" if is_bound(method) else COLOURS[0] for method in methods]
        axis.hlines(places, by_method["ci_low"], by_method["ci_high"], color=colours)
        axis.scatter(by_method["add"], places, color=colours, s=18, zorder=3)
        published = by_method["published_add"]
        axis.scatter(published, places, marker="|", color="grey", s=60)
        axis.set_yticks(places, [label(method) for method in methods])
        axis.set_xlim(left=0)
        axis.set_ylim(-0.6, len(methods) - 0.4)
        axis.set_title(f"{label(str(protocol))}, {label(str(setting))}")
        axis.set_xlabel("average detection delay (steps); grey: published")
    return figure


def event_figure(rows: pd.DataFrame) -> Any:
    """Events by methods: the darker, the later the alarm; a cross where most runs had none."""
    from causaldq.pipeline.report.tables import event_label

    events, methods = list(rows["event"].unique()), list(rows["method"].unique())
    table = rows.set_index(["event", "method"])
    delays = table["delay"].unstack().loc[events, methods].to_numpy()
    missed = table["missed"].unstack().loc[events, methods].to_numpy()
    figure, axis = plt.subplots(figsize=(0.62 * len(methods) + 3.8, 0.24 * len(events) + 1.4))
    shades = axis.imshow(np.log10(delays), aspect="auto", cmap="viridis_r", vmin=0)
    for (row, column), share in np.ndenumerate(missed):
        if share > 0.5:
            axis.text(column, row, "×", ha="center", va="center", color="white")
    axis.set_xticks(range(len(methods)), [label(m) for m in methods], rotation=40, ha="right")
    axis.set_yticks(range(len(events)), [event_label(event) for event in events])
    axis.tick_params(length=0)
    ticks = [t for t in (1, 3, 10, 30, 100, 300, 1000) if t <= delays.max()]
    bar = figure.colorbar(shades, ax=axis, ticks=np.log10(ticks), label="delay (readings)")
    bar.ax.set_yticklabels([f"{tick:g}" for tick in ticks])
    return figure


def _delay_panel(
    axis: Any, rows: pd.DataFrame, methods: list[str], oracle: "pd.Series | None"
) -> None:
    for method in methods:
        line = rows[rows["method"] == method].set_index("delta").sort_index()
        if line.empty or (oracle is not None and method == "cusum"):
            continue
        look = style(method, methods)
        scale = 1.0 if oracle is None else oracle.reindex(line.index)
        axis.plot(line.index, line["add"] / scale, label=label(method), **look)
        band = {"color": look["color"], "alpha": 0.12, "linewidth": 0}
        axis.fill_between(line.index, line["ci_low"] / scale, line["ci_high"] / scale, **band)
    ticks = [1, 2, 5, 10, 20, 50, 100, 200] if oracle is None else [0.5, 1, 2, 3, 5, 10]
    axis.set_xscale("log")
    axis.set_xticks(sorted(rows["delta"].unique()))
    axis.set_yscale("log")
    axis.set_yticks(ticks)
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        side.set_minor_locator(NullLocator())


def training_figure(logs: pd.DataFrame) -> Any:
    """Reward and hits of the frozen network by epoch, every seed thin, a column a protocol.

    Agents are rewarded differently, so the paper's own reward is drawn for all.
    """
    protocols = list(logs["protocol"].unique())
    methods = list(logs["method"].unique())
    figure, axes = plt.subplots(
        2,
        len(protocols),
        figsize=(3.6 * len(protocols) + 2.0, 5.0),
        squeeze=False,
        sharex=True,
        sharey="row",
    )
    for (above, below), protocol in zip(axes.T, protocols, strict=True):
        for method in methods:
            part = logs[(logs["protocol"] == protocol) & (logs["method"] == method)]
            if len(part):
                look = style(method, methods)
                _training_curve(above, part, label(method), look)
                _frozen_curve(below, part, look)
        above.set_title(label(str(protocol)))
        below.set_xlabel("training epoch")
        below.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0, 0].set_ylabel("the paper's reward an episode")
    axes[1, 0].set_ylabel("hits of the frozen network\n(share of shifted streams)")
    axes[1, 0].set_ylim(0, 1.03)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", fontsize=8)
    return figure


def _training_curve(axis: Any, part: pd.DataFrame, name: str, look: dict[str, Any]) -> None:
    by_epoch = part.groupby("epoch")["paper_reward"]
    mean, count = by_epoch.mean(), by_epoch.count()
    half = 1.96 * (by_epoch.std() / np.sqrt(count)).fillna(0.0)
    _seeds(axis, part, "paper_reward", look)
    axis.plot(mean.index, mean, label=name, **(look | {"marker": None}))
    band = {"color": look["color"], "alpha": 0.15, "linewidth": 0}
    axis.fill_between(mean.index, mean - half, mean + half, **band)
    reached = epochs_to_final(mean.to_numpy())
    axis.plot(reached, mean.loc[reached], "o", color=look["color"], markersize=5)


def _frozen_curve(axis: Any, part: pd.DataFrame, look: dict[str, Any]) -> None:
    """The network is only looked at now and then."""
    seen = part.dropna(subset="frozen_hit_share")
    _seeds(axis, seen, "frozen_hit_share", look)
    mean = seen.groupby("epoch")["frozen_hit_share"].mean()
    axis.plot(mean.index, mean, **look)


def _seeds(axis: Any, part: pd.DataFrame, column: str, look: dict[str, Any]) -> None:
    """Each seed as a thin line, where there are several."""
    seeds = [seed for _, seed in part.groupby("training_seed")]
    for seed in seeds if len(seeds) > 1 else []:
        axis.plot(seed["epoch"], seed[column], color=look["color"], linewidth=0.5, alpha=0.6)
