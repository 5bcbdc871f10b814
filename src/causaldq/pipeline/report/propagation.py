"""Tables and figures of the study on propagation."""

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from causaldq.pipeline.propagation.summary import (
    AGENTS,
    BEST,
    CONTROLS,
    ESTIMATED,
    FILTER,
    KNOWN,
    LEARNED,
    NO_GRAPH,
    NO_GRAPH_ROWS,
    over_graphs,
)
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.latex import RULE, bold, latex, line, tabular
from causaldq.pipeline.report.palette import BLUE, GREY, RED

CAPTION = (
    "Delay, and share of root causes that are named, where a shift propagates downstream from one"
    " root cause, with $p={p}$ streams and $m={m}$ sensors. Cells are means over {graphs} random"
    " graphs {density}, with 95\\% $t$ intervals. Delays are in steps, at the same run length in"
    " control. ``Named'' is the share of alarms at which the true root cause is ranked first (among"
    " the first three), and ``later'' that {later} steps on, at the smallest shift. Methods above"
    " the line know the covariance, and the true graph if they use one; those below have in-control"
    " rows only.{trained}"
)
TRAINED = (
    " Causal DQ and non-causal DQ are trained anew on {agents} of the graphs; location-agnostic"
    " networks were trained once, without such shifts."
)
COMPARED_CAPTION = (
    "Ratios of delays where shifts propagate downstream, as geometric means over random graphs with"
    " 95\\% $t$ intervals. Rows have streams $p$, sensors $m$, edges per stream (degree), root"
    " causes and the shift $\\delta$. ``Best'' is the shortest of {baselines} in the row, found on"
    " the same runs. ``True graph'' and ``estimated'' are the root-cause mixture with the true"
    " graph, and with one estimated from rows; ``no graph'' is that mixture without causal"
    " knowledge. Below one, the first of a pair is earlier, in bold where the whole interval says"
    " so. A dash says that a pair was not measured."
)
DENSE, SPARSE = "dense", "sparse"


def name_of(method: str, told: str) -> str:
    return f"{label(method)}, from rows" if told == "rows" else label(method)


def propagation_table(rows: pd.DataFrame, confidence: float) -> str:
    """Methods by delay and accuracy, one cause, on dense and on sparse graphs of one size."""
    here = rows[rows["roots"] == rows["roots"].min()]
    degrees = sorted(here["expected_degree"].unique(), reverse=True)
    deltas = sorted(here["delta"].unique())
    cells = {
        column: _by_key(over_graphs(here, column, confidence))
        for column in ("add", "top_1", "top_3", "later_top_1")
    }
    width = 2 * len(deltas) + 1
    groups = [DENSE, SPARSE][: len(degrees)] if len(degrees) > 1 else [DENSE]
    titles = [rf"{what}, $\delta={d:g}$" for what in ("delay", "named") for d in deltas]
    lines = [
        line(["", *(rf"\multicolumn{{{width}}}{{c}}{{{g}}}" for g in groups)]),
        line(["Method", *[*titles, "later"] * len(degrees)]),
        RULE,
    ]
    contestants = here[["method", "told"]].drop_duplicates().itertuples(index=False)
    last = "truth"
    for method, told in contestants:
        if told != last:
            lines.append(RULE)
            last = told
        texts = [name_of(method, told)]
        for degree in degrees:
            keys = [(degree, delta, method, told) for delta in deltas]
            texts += [_measured(cells["add"][key], 1) for key in keys]
            texts += [
                f"{_share(cells['top_1'][key])} ({_share(cells['top_3'][key])})" for key in keys
            ]
            texts.append(_share(cells["later_top_1"][keys[0]]))
        lines.append(line(texts))
    return tabular("l" + "r" * width * len(degrees), lines)


Key = tuple[float, float, str, str]


def _by_key(rows: pd.DataFrame) -> dict[Key, pd.Series]:
    return {
        (row["expected_degree"], row["delta"], row["method"], row["told"]): row
        for _, row in rows.iterrows()
    }


def _measured(row: pd.Series, digits: int) -> str:
    half = "" if pd.isna(row["half"]) else rf" $\pm$ {row['half']:.{digits}f}"
    return f"{row['mean']:.{digits}f}{half}"


def _share(row: pd.Series) -> str:
    return "--" if pd.isna(row["mean"]) else f"{row['mean']:.2f}".lstrip("0")


def caption(rows: pd.DataFrame, later: int) -> str:
    degrees = [f"{degree:g}" for degree in sorted(rows["expected_degree"].unique(), reverse=True)]
    agents = rows[rows["method"] == AGENTS[0][0]]["graph"].nunique()
    return CAPTION.format(
        p=rows["p"].iloc[0],
        m=rows["m"].iloc[0],
        graphs=rows["graph"].nunique(),
        density=f"of each density ({' or '.join(degrees)} edges per stream)"
        if len(degrees) > 1
        else f"with {degrees[0]} edges per stream",
        later=later,
        trained=TRAINED.format(agents=agents) if agents else "",
    )


COLUMNS = [
    ("true graph / best", KNOWN, (BEST, "truth")),
    ("true graph / no graph", KNOWN, NO_GRAPH),
    ("estimated / best", ESTIMATED, (BEST, "truth")),
    ("estimated / no graph", ESTIMATED, NO_GRAPH_ROWS),
    ("Causal / non-causal DQ", *AGENTS),
]


def compared_table(ratios: pd.DataFrame) -> str:
    """Each problem, number of causes and shift: what the graph is worth."""
    names = ["$p$", "$m$", "degree", "causes", r"$\delta$", "best"]
    lines = [line([*names, *(title for title, _, _ in COLUMNS)])]
    for key, part in ratios.groupby(["problem", "p", "m", "expected_degree"], sort=False):
        lines.append(RULE)
        for (roots, delta), cell in part.groupby(["roots", "delta"], sort=False):
            best = cell[cell["against"] == BEST]["against_method"]
            texts = [f"{key[1]}", f"{key[2]}", f"{key[3]:g}", f"{roots}", f"{delta:g}"]
            texts.append(label(best.iloc[0]) if len(best) else "")
            texts += [_ratio(_pair(cell, one, other)) for _, one, other in COLUMNS]
            lines.append(line(texts))
    return tabular("rrrrrlrrrrr", lines)


def _pair(cell: pd.DataFrame, one: tuple[str, str], other: tuple[str, str]) -> pd.Series | None:
    found = cell[
        (cell["method"] == one[0])
        & (cell["told"] == one[1])
        & (cell["against"] == other[0])
        & (cell["against_told"] == other[1])
    ]
    return found.iloc[0] if len(found) else None


def _ratio(row: pd.Series | None) -> str:
    if row is None or pd.isna(row["ratio"]):
        return "--"
    text = bold(f"{row['ratio']:.2f}", when=row["high"] < 1)
    return text if pd.isna(row["low"]) else f"{text} ({row['low']:.2f}, {row['high']:.2f})"


def ratio_figure(ratios: pd.DataFrame) -> Any:
    """Delay over that of the best baseline, by method and problem; one cause."""
    import matplotlib.pyplot as plt

    here = ratios[(ratios["against"] == BEST) & (ratios["roots"] == ratios["roots"].min())]
    problems = here[["problem", "p", "m", "expected_degree"]].drop_duplicates()
    asked = [KNOWN, ESTIMATED, NO_GRAPH, *CONTROLS, FILTER, *LEARNED]
    there = set(zip(here["method"], here["told"], strict=True))
    methods = [one for one in asked if one in there]
    columns = min(len(problems), 2)
    lines = -(-len(problems) // columns)
    figure, axes = plt.subplots(
        lines,
        columns,
        figsize=(8.6, 1.1 + (0.35 + 0.2 * len(methods)) * lines),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    markers = dict(zip(sorted(here["delta"].unique()), "os^D", strict=False))
    for axis, problem in zip(axes.ravel(), problems.itertuples(index=False), strict=False):
        part = here[here["problem"] == problem.problem]
        for delta, mark in markers.items():
            shift = 0.16 * (list(markers).index(delta) - (len(markers) - 1) / 2)
            for place, one in enumerate(methods):
                row = _pair(part[part["delta"] == delta], one, (BEST, "truth"))
                if row is None:
                    continue
                colour = GREY
                if one in (KNOWN, ESTIMATED):
                    colour = BLUE
                elif one == FILTER or one in LEARNED:
                    colour = RED
                axis.errorbar(
                    row["ratio"], place + shift,
                    xerr=[[row["ratio"] - row["low"]], [row["high"] - row["ratio"]]],
                    fmt=mark, markersize=4, capsize=2, linewidth=1,
                    color=colour,
                )  # fmt: skip
        axis.axvline(1.0, color="black", linewidth=0.8)
        axis.set_title(
            f"p = {problem.p}, m = {problem.m}, {problem.expected_degree:g} edges per stream",
            fontsize=8,
        )
    for axis in axes.ravel()[len(problems) :]:
        axis.set_visible(False)
    first = axes[0, 0]
    first.set_yticks(range(len(methods)), [name_of(*one) for one in methods], fontsize=7)
    first.set_ylim(len(methods) - 0.5, -0.5)
    first.set_xscale("log")
    longest = min(max(4.0, 1.05 * here["high"].max()), 20.0)
    first.set_xlim(0.4, longest)
    ticks = [tick for tick in (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0) if tick < longest]
    first.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    first.minorticks_off()
    for axis in axes[:, 0]:
        axis.tick_params(axis="y", labelsize=7)
    for axis in axes[-1]:
        axis.set_xlabel("delay over that of the best baseline")
    handles = [
        plt.Line2D([], [], marker=mark, linestyle="", color="black", markersize=4)
        for mark in markers.values()
    ]
    names = [rf"$\delta={delta:g}$" for delta in markers]
    figure.legend(handles, names, loc="outside upper right", ncols=len(names), fontsize=8)
    return figure


FIGURE_CAPTION = (
    "What causal knowledge is worth where one root cause shifts and its effects with it. Each panel"
    " is a problem, and each mark the delay of a method as a ratio to the best of {baselines}:"
    " geometric means over random graphs with 95\\% intervals. Left of the vertical line a method"
    " is earlier than the best of these. Blue is the root-cause mixture and grey its controls;"
    " orange are the filter, which knows nothing of causes, and learned methods."
)


def cause_figure(told: dict[str, Any]) -> Any:
    """One run at its alarm: the estimated graph, the identified root cause, its paths."""
    import matplotlib.pyplot as plt
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    names, p = told["streams"], len(told["streams"])
    edges = np.zeros((p, p), dtype=bool)
    for i, j in told["estimated_edges"]:
        edges[i, j] = True
    place = layout(edges)
    identified, truth = told["causes"][0], told["true_cause"]
    posterior, read = np.array(told["posterior"]), set(told["read"])
    figure, (axis, bars) = plt.subplots(1, 2, figsize=(9.0, 4.6), width_ratios=[3.2, 1])
    on_path = {
        (a, b) for explained in identified["explains"] for a, b in pairwise(explained["path"])
    }
    for i, j in told["estimated_edges"]:
        strong = (i, j) in on_path
        axis.annotate(
            "", xy=place[j], xytext=place[i],
            arrowprops={
                "arrowstyle": "-|>", "shrinkA": 8, "shrinkB": 8,
                "color": "#d55e00" if strong else "#cccccc",
                "linewidth": 2.0 if strong else 0.6, "zorder": 2 if strong else 0,
            },
        )  # fmt: skip
    colours = plt.get_cmap("YlOrRd")
    for i in range(p):
        axis.scatter(
            *place[i], s=190, zorder=3, color=colours(0.05 + 0.85 * posterior[i]),
            edgecolors="black", linewidths=2.2 if i in read else 0.5,
        )  # fmt: skip
        axis.text(*place[i], names[i].removeprefix("x"), ha="center", va="center", fontsize=6.5,
                  zorder=4)  # fmt: skip
    axis.scatter(*place[truth], s=420, zorder=1, facecolors="none", edgecolors="#0072b2",
                 linewidths=2)  # fmt: skip
    axis.set_axis_off()
    delay = len(told["statistic"]) - told["change"]
    alarm = f"alarm {delay} steps after the change"
    if told["statistic"][-1] <= told["limit"] or delay <= 0:
        alarm = "no alarm after the change"
    axis.set_title(
        f"{p} streams, {len(read)} sensors (thick rims): {alarm}.\n"
        f"Identified: {names[identified['stream']]} ({identified['posterior']:.0%});"
        f" blue ring: the true root cause, {names[truth]}.",
        fontsize=9,
    )
    scale = ScalarMappable(Normalize(0, 1), colours)
    figure.colorbar(scale, ax=axis, label="posterior of being the root cause", shrink=0.7, pad=0.01)
    order = np.argsort(-posterior, kind="stable")[:5][::-1]
    bars.barh(
        range(len(order)), posterior[order],
        color=[BLUE if i == truth else GREY for i in order],
    )  # fmt: skip
    bars.set_yticks(range(len(order)), [names[i] for i in order], fontsize=8)
    bars.set_xlim(0, 1)
    bars.set_xlabel("posterior")
    bars.set_title("most suspected", fontsize=9)
    return figure


CAUSE_CAPTION = (
    "How a root cause is identified in one run on the first random graph, at its alarm. The graph"
    " is estimated from in-control rows, with causes to the left of their effects. The darker a"
    " stream, the more likely it is the root cause; streams with thick rims were read at the alarm."
    " Orange arrows are the paths by which the identified root cause explains them, and the blue"
    " ring marks the true one. On the right are the streams that are most suspected; the true root"
    " cause is blue there, too."
)


def layout(edges: np.ndarray) -> np.ndarray:
    """Places (p, 2): causes to the left of their effects, columns spread evenly."""
    p = len(edges)
    depth = np.zeros(p, dtype=int)
    for _ in range(p):
        for i, j in np.argwhere(edges):
            depth[j] = max(depth[j], depth[i] + 1)
    place = np.zeros((p, 2))
    height = np.full(p, np.nan)
    for level in range(depth.max() + 1):
        column = np.flatnonzero(depth == level)
        parents = [height[np.flatnonzero(edges[:, j])] for j in column]
        middle = [np.nanmean(h) if len(h) and not np.isnan(h).all() else 0.5 for h in parents]
        column = column[np.argsort(middle, kind="stable")]
        height[column] = (np.arange(len(column)) + 0.5 + 0.2 * (level % 2)) / (len(column) + 0.2)
        place[column, 0] = level
        place[column, 1] = height[column]
    return place


SHARES = {"near": "near", "near_3": "one of 3", "later_near": "later"}
"""Shares over all alarms, by column: how they are called in the table."""


def named_table(rows: pd.DataFrame) -> str:
    """Methods by documented faults: the root cause identified most often, and if it is near."""
    events = list(rows["event"].unique())
    titles = ["Method", *(str(e).split()[-1] for e in events), *SHARES.values()]
    lines = [line(titles), RULE]
    for method, part in rows.groupby("method", sort=False):
        texts = [label(str(method)), *(_named(part[part["event"] == event]) for event in events)]
        shares = [part[column].mean() for column in SHARES]
        texts += ["--" if pd.isna(share) else rf"{100 * share:.0f}\%" for share in shares]
        lines.append(line(texts))
    return tabular("l" + "l" * len(events) + "r" * len(SHARES), lines)


SHORT = {"xmeas_": "x", "xmv_": "v"}
"""What streams of Tennessee Eastman begin with, and what is printed for it."""


def _named(runs: pd.DataFrame) -> str:
    """The stream most often ranked first; bold if it is near the origin."""
    found = runs.dropna(subset=["named_1"])
    if found.empty:
        return r"\textcolor{gray}{--}"
    first = str(found["named_1"].mode().iloc[0])
    short = next(
        (s + first.removeprefix(p) for p, s in SHORT.items() if first.startswith(p)), first
    )
    near = found[found["named_1"] == first]["near"].all()
    return bold(latex(short), when=bool(near))


def named_caption(rows: pd.DataFrame, m: int) -> str:
    origins = rows[["event", "origin"]].drop_duplicates().itertuples(index=False)
    return (
        "Root cause that each method identifies for recorded faults whose origin is documented,"
        f" with $m={m}$ sensors: the stream most often ranked first at the alarm, over"
        f" {rows['lead'].nunique()} runs that begin at different rows before the fault. Measured"
        " variables begin with x and manipulated ones with v. Bold marks streams near the origin,"
        " and a dash says that no run named a stream. On the right are shares of alarms after a"
        " fault: those where the first stream is near the origin, where one of the first three is,"
        " and where the first is some steps later. Methods without a model of causes name the"
        " stream that looks most shifted. Faults: "
        + "; ".join(f"{str(e).split()[-1]} {origin}" for e, origin in origins)
        + "."
    )
