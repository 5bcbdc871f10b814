"""Figures, as PDF for the document and PNG for pages."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator
from PIL import Image

from causaldq.files import write_atomically
from causaldq.pipeline.evaluation.training import epochs_to_final
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.palette import INK, LIMIT, ORACLE, foremost, look, spread

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

    def write(temporary: Path) -> None:
        if kind == "png":
            _save_small(figure, temporary)
        else:
            figure.savefig(temporary, format=kind, dpi=DPI, metadata={"CreationDate": None})

    write_atomically(path, write)


def _save_small(figure: Any, path: Path) -> None:
    """A PNG with a table of 64 colours, a quarter of the size: git keeps figures of every run."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI)
    picture = Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    picture.save(path, format="png", optimize=True)


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


def style(method: str) -> dict[str, Any]:
    """A method's look, for matplotlib."""
    drawn = look(method)
    return {
        "color": drawn.colour,
        "linestyle": drawn.dashes,
        "linewidth": drawn.width,
        "marker": drawn.marker,
        "markersize": 4,
    }


MOST_LINES = 7
"""Methods that one panel has room for; tables have all."""


def delay_figure(rows: pd.DataFrame) -> Any:
    """Delay against shift with 95% bands, a column a protocol and case, named at the lines' ends.

    The foremost methods. Grey: below a CUSUM that is told everything; dashed: the oracle set.
    """
    panels = list(rows.groupby(["protocol", "setting"], sort=False))
    methods = foremost(rows["method"], MOST_LINES)
    figure, axes = plt.subplots(
        1,
        len(panels),
        figsize=(2.7 * len(panels) + 1.4, 3.4),
        squeeze=False,
        sharex=True,
        sharey=True,
    )
    for axis, ((protocol, setting), panel) in zip(axes[0], panels, strict=True):
        quiet = panel[(panel["sigma"] == panel["sigma"].min()) & (panel["delta"] > 0)]
        _shade(axis, quiet)
        _delay_panel(axis, quiet, methods)
        axis.set_title(f"{label(str(protocol))},\n{label(str(setting))}", fontsize=9)
        axis.set_xlabel(r"shift $\delta$ (standard deviations)")
    _name_lines(axes[0, -1], methods)
    axes[0, 0].set_ylabel("average detection delay (steps)")
    return figure


def _shade(axis: Any, rows: pd.DataFrame) -> None:
    """Grey below what is told everything; the oracle set as a dashed line."""
    by_method = {m: part.sort_values("delta") for m, part in rows.groupby("method")}
    if (limit := by_method.get(LIMIT)) is not None:
        axis.fill_between(limit["delta"], limit["add"], 0.5, color=INK, alpha=0.12, linewidth=0)
    if (oracle := by_method.get(ORACLE)) is not None:
        axis.plot(oracle["delta"], oracle["add"], color=INK, linestyle="--", linewidth=1)


def _name_lines(axis: Any, methods: list[str]) -> None:
    """Each method's name at the end of its line, moved apart where lines end together."""
    ends = {line.get_label(): line for line in axis.lines if line.get_label() in methods}
    drawn = [method for method in methods if method in ends]
    low, high = np.log(axis.get_ylim())
    places = [float(np.log(ends[method].get_ydata()[-1])) for method in drawn]
    right = axis.get_xlim()[1]
    for method, place in zip(drawn, spread(places, 0.055 * (high - low)), strict=True):
        end = (ends[method].get_xdata()[-1], ends[method].get_ydata()[-1])
        axis.annotate(
            label(method),
            xy=end,
            xytext=(right * 1.18, np.exp(place)),
            va="center",
            fontsize=8,
            color=INK,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": ends[method].get_color(),
                "linewidth": 0.9,
                "relpos": (0.0, 0.5),
                "shrinkB": 0,
            },
        )


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
        colours = [look(method).colour for method in methods]
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


def _delay_panel(axis: Any, rows: pd.DataFrame, methods: list[str]) -> None:
    for method in methods:
        line = rows[rows["method"] == method].set_index("delta").sort_index()
        if line.empty:
            continue
        drawn = style(method)
        axis.plot(line.index, line["add"], label=method, **drawn)
        band = {"color": drawn["color"], "alpha": 0.12, "linewidth": 0}
        axis.fill_between(line.index, line["ci_low"], line["ci_high"], **band)
    axis.set_xscale("log")
    axis.set_xticks(sorted(rows["delta"].unique()))
    axis.set_yscale("log")
    axis.set_ylim(bottom=max(0.8, 0.8 * rows["add"].min()))
    axis.set_yticks([tick for tick in TICKS if tick <= 1.3 * rows["ci_high"].max()])
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        side.set_minor_locator(NullLocator())


TICKS = (1, 2, 5, 10, 20, 50, 100, 200)


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
                drawn = style(method)
                _training_curve(above, part, label(method), drawn)
                _frozen_curve(below, part, drawn)
        above.set_title(label(str(protocol)))
        below.set_xlabel("training epoch")
        below.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0, 0].set_ylabel("the paper's reward an episode")
    axes[1, 0].set_ylabel("hits of the frozen network\n(share of shifted streams)")
    axes[1, 0].set_ylim(0, 1.03)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right center", fontsize=8)
    return figure


def _training_curve(axis: Any, part: pd.DataFrame, name: str, drawn: dict[str, Any]) -> None:
    by_epoch = part.groupby("epoch")["paper_reward"]
    mean, count = by_epoch.mean(), by_epoch.count()
    half = 1.96 * (by_epoch.std() / np.sqrt(count)).fillna(0.0)
    _seeds(axis, part, "paper_reward", drawn)
    axis.plot(mean.index, mean, label=name, **(drawn | {"marker": None}))
    band = {"color": drawn["color"], "alpha": 0.15, "linewidth": 0}
    axis.fill_between(mean.index, mean - half, mean + half, **band)
    reached = epochs_to_final(mean.to_numpy())
    axis.plot(reached, mean.loc[reached], "o", color=drawn["color"], markersize=5)


def _frozen_curve(axis: Any, part: pd.DataFrame, drawn: dict[str, Any]) -> None:
    """The network is only looked at now and then."""
    seen = part.dropna(subset="frozen_hit_share")
    _seeds(axis, seen, "frozen_hit_share", drawn)
    mean = seen.groupby("epoch")["frozen_hit_share"].mean()
    axis.plot(mean.index, mean, **drawn)


def _seeds(axis: Any, part: pd.DataFrame, column: str, drawn: dict[str, Any]) -> None:
    """Each seed as a thin line, where there are several."""
    seeds = [seed for _, seed in part.groupby("training_seed")]
    for seed in seeds if len(seeds) > 1 else []:
        axis.plot(seed["epoch"], seed[column], color=drawn["color"], linewidth=0.5, alpha=0.6)
