"""Tables and figures of methods over all shifts, and of policies with every statistic."""

from collections.abc import Container
from typing import Any

import numpy as np
import pandas as pd

from causaldq.methods.registry import BASELINES
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.latex import RULE, bold, line, tabular

OVERALL_CAPTION = (
    "Delay over all shifts and cases of a scenario, under the fair protocol. ``Best'' is the"
    " shortest of {baselines}, with its geometric mean in steps; it was found on the same runs,"
    " which is to its advantage. Other methods are given as ratios to it, on common replications,"
    " with 95\\% intervals in parentheses. Bold marks ratios whose interval lies below one, where a"
    " method is earlier. The location-agnostic networks are the same in all rows; $p$ is in italics"
    " where they were not trained on that size. All other methods are in overall.csv."
)
FIGURE_CAPTION = (
    "Delay over all shifts as a ratio to the best of {baselines}, which is the dashed line, under"
    " the fair protocol. Dots are ratios and lines their 95\\% intervals: below the dashed line a"
    " method is earlier. On the left are the sizes that the location-agnostic networks were trained"
    " on, and on the right sizes that they were not. The paper's networks are trained anew for each"
    " scenario, and are drawn where they were."
)
CROSS_CAPTION = (
    "Delay of every policy, which chooses the streams to read, with every alarm statistic, in"
    " scenario {scenario} under the fair protocol. Rows are policies and columns statistics, those"
    " of other methods or the paper's. A cell is the geometric mean of the delay in steps over"
    " $\\delta={deltas}$, at a limit set for the pair. Down a column only the policy differs, and"
    " along a row only the statistic. Bold marks the shortest delay of a column."
)
LOOKS_CAPTION = (
    "What the location-agnostic networks look at in scenario {scenario}. The colour says how much"
    " reading a stream is worth to them, relative to the average stream: red is more and blue is"
    " less. It depends on the evidence against the stream (upwards, the squared deviation of its"
    " mean so far) and on the steps since it was last read (to the right). Values are means over"
    " steps and runs, and blank cells never occurred."
)
STATISTICS = {"greedy": "paper's"}
"""Columns of the crossing whose statistic has another name than its method."""
ALWAYS_NAMED = ("greedy", "tssrp", "asmp", "tras", "cmab")
"""Baselines that captions name in every profile; the others where they ran."""
SHOWN = (
    "causal_dq", "non_causal", "bayes_posterior", "non_causal_eq", "causal_dq_eq", "any_shift",
)  # fmt: skip
"""Methods of table and figure: the paper's, and ours that are location-agnostic."""


def baselines_in_words(ran: Container[str], always: Container[str] = ALWAYS_NAMED) -> str:
    """The baselines, given the methods that ran."""
    named = [label(name) for name in BASELINES if name in always or name in ran]
    *others, last = [name.replace("Greedy", "greedy") for name in named] or ["the baselines"]
    return f"{', '.join(others)} and {last}" if others else last


def overall_table(rows: pd.DataFrame) -> str:
    """Scenarios by methods: the best baseline in steps, the others as ratios to it."""
    methods = [method for method in SHOWN if method in set(rows["method"])]
    lines = [line(["Scenario", "$p$, $m$, $k$", "Best", *map(label, methods)]), RULE]
    by_cell = {(row["scenario"], row["method"]): row for _, row in rows.iterrows()}
    for _, cell in rows.drop_duplicates("scenario").iterrows():
        name = cell["scenario"]
        best = by_cell[name, cell["against"]]
        against = f"{label(cell['against'])} {best['geometric_mean']:.1f}"
        texts = [label(name), _size(cell), against]
        found = (by_cell.get((name, method)) for method in methods)
        texts += ["" if row is None else _ratio(row) for row in found]
        lines.append(line(texts))
    return tabular("lrl" + "r" * len(methods), lines)


def _size(row: pd.Series) -> str:
    p = f"{row['p']}" if row["seen"] else rf"\emph{{{row['p']}}}"
    return f"{p}, {row['m']}, {row['k']}"


def _ratio(row: pd.Series) -> str:
    text = bold(f"{row['ratio']:.2f}", when=row["high"] < 1)
    return rf"{text} {{\scriptsize ({row['low']:.2f}, {row['high']:.2f})}}"


def cross_table(rows: pd.DataFrame) -> str:
    """Policies by statistics."""
    wide = rows.pivot_table(
        index="policy", columns="statistic", values="geometric_mean", sort=False
    )
    lines = [line(["Policy", *(STATISTICS.get(s, label(s)) for s in wide.columns)]), RULE]
    best = wide.min()
    for policy, row in wide.iterrows():
        texts = [
            bold(f"{value:.1f}", when=value == shortest)
            for value, shortest in zip(row, best, strict=True)
        ]
        lines.append(line([label(str(policy).partition(".")[0]), *texts]))
    return tabular("l" + "r" * len(wide.columns), lines)


def cross_caption(rows: pd.DataFrame, scenario: str) -> str:
    deltas = rows["deltas"].iloc[0].replace(";", ", ") if len(rows) else ""
    return CROSS_CAPTION.format(scenario=scenario.replace("_", " "), deltas=deltas)


TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Ratios that an axis may name."""


def overall_figure(rows: pd.DataFrame) -> Any:
    """Ratios to the best baseline, by scenario: sizes seen, and sizes not seen."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullLocator

    from causaldq.pipeline.report.palette import look

    methods = [method for method in SHOWN if method in set(rows["method"])]
    sides = [rows[rows["seen"] == 1], rows[rows["seen"] == 0]]
    names = [list(side["scenario"].unique()) for side in sides]
    width = max(9.0, 0.45 * sum(map(len, names)))
    figure, axes = plt.subplots(
        1, 2, figsize=(width, 4.2), sharey=True, width_ratios=[max(len(n), 1) for n in names]
    )
    titles = ("sizes trained on", "other sizes")
    drawn = rows[rows["method"].isin(methods)]
    least, most = min(drawn["low"].min(), 0.5), max(drawn["high"].max(), 2.0)
    for axis, side, scenarios, title in zip(axes, sides, names, titles, strict=True):
        axis.axhline(1.0, color="black", linestyle="--", linewidth=0.8)
        for place, method in enumerate(methods):
            part = side[side["method"] == method].set_index("scenario")
            part = part.loc[[name for name in scenarios if name in part.index]]
            x = [scenarios.index(name) + 0.13 * (place - len(methods) / 2) for name in part.index]
            axis.vlines(x, part["low"], part["high"], color=look(method).colour)
            axis.scatter(x, part["ratio"], color=look(method).colour, s=18, label=label(method))
        sizes = side.drop_duplicates("scenario").set_index("scenario")
        ticks = [
            f"{label(name)}\np={sizes.loc[name, 'p']}, m={sizes.loc[name, 'm']},"
            f" k={sizes.loc[name, 'k']}"
            for name in scenarios
        ]
        axis.set_xticks(np.arange(len(scenarios)), ticks, rotation=60, ha="right", fontsize=7)
        axis.set_yscale("log")
        axis.set_yticks([tick for tick in TICKS if least < tick < most])
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.yaxis.set_minor_locator(NullLocator())
        axis.set_title(title, fontsize=9)
    axes[0].set_ylabel("delay over the best baseline")
    handles, texts = axes[0].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=len(methods), fontsize=8)
    return figure


def looks_figure(rows: pd.DataFrame) -> Any:
    """Worth by evidence and by time unread, a panel a network."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    methods = list(rows["method"].unique())
    figure, axes = plt.subplots(
        1, len(methods), figsize=(4.2 * len(methods) + 0.6, 3.2), squeeze=False, sharey=True
    )
    high = max(rows["worth"].max(), 1 / rows["worth"].min(), 2.0)
    for axis, method in zip(axes[0], methods, strict=True):
        part = rows[rows["method"] == method]
        wide = part.pivot_table(index="evidence", columns="unread", values="worth")
        shown = axis.pcolormesh(
            np.arange(len(wide.columns) + 1),
            np.arange(len(wide) + 1),
            wide.to_numpy(),
            norm=LogNorm(1 / high, high),
            cmap="RdBu_r",
        )
        axis.set_xticks(np.arange(len(wide.columns)) + 0.5, [f"{v:g}" for v in wide.columns])
        axis.set_yticks(np.arange(len(wide)) + 0.5, [f"{v:g}" for v in wide.index])
        axis.set_xlabel("steps since it was read (at least)")
        axis.set_title(label(method), fontsize=9)
    axes[0, 0].set_ylabel("evidence against a stream (at least)")
    ticks = [1 / high, 1.0, high]
    bar = figure.colorbar(shown, ax=axes[0].tolist(), ticks=ticks, label="worth of reading it")
    bar.set_ticklabels([f"{tick:.2g}" for tick in ticks])
    bar.minorticks_off()
    return figure
