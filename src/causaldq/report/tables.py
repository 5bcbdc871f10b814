"""LaTeX tables: measured (standard error), the published number in grey beside it."""

from collections.abc import Iterable

import pandas as pd

from causaldq.evaluation.aggregate import is_bound
from causaldq.report.labels import label


def names(table: pd.DataFrame) -> list[str]:
    """Names of the delay tables: one for each scenario."""
    return [f"{t}_{s}" for t, s in table[["table", "scenario"]].drop_duplicates().to_numpy()]


def select(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """The rows behind one delay table."""
    return table[(table["table"] + "_" + table["scenario"]) == name]


def delay_table(rows: pd.DataFrame) -> str:
    """One scenario: a panel for each protocol, case and noise level; methods by shifts."""
    deltas = sorted(rows["delta"].unique())
    lines = [
        r"\begin{tabular}{@{}l" + "r" * len(deltas) + r"rr@{}}",
        r"\toprule",
        "Method & "
        + " & ".join(rf"$\delta={delta:g}$" for delta in deltas)
        + r" & ARL$_0$ & early \\",
    ]
    for (protocol, setting, sigma), panel in rows.groupby(
        ["protocol", "setting", "sigma"], sort=False
    ):
        noise = rf", $\sigma={sigma:g}$" if len(rows["sigma"].unique()) > 1 else ""
        title = f"{label(str(protocol))}, {label(str(setting))}{noise}"
        title = title[0].upper() + title[1:]
        width = len(deltas) + 3
        lines += [r"\midrule", rf"\multicolumn{{{width}}}{{@{{}}l}}{{\emph{{{title}}}}} \\"]
        methods = list(panel["method"].unique())
        bounds = [m for m in methods if is_bound(m)]
        lines += _rows(panel, (m for m in methods if m not in bounds), deltas)
        if bounds:
            lines.append(rf"\cmidrule(l){{1-{len(deltas) + 3}}}")
            lines += _rows(panel, bounds, deltas)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _rows(panel: pd.DataFrame, methods: Iterable[str], deltas: list[float]) -> list[str]:
    lines = []
    for method in methods:
        rows = panel[panel["method"] == method]
        by_delta = {row["delta"]: delay_cell(row) for _, row in rows.iterrows()}
        cells = [by_delta.get(delta, "") for delta in deltas]
        name = rf"\textit{{{label(method)}}}" if is_bound(method) else label(method)
        arl0 = _range([_run_length(value) for value in sorted(rows["arl0"])])
        early = _range([f"{100 * value:.0f}" for value in sorted(rows["false_alarm"])])
        lines.append(f"{name} & {' & '.join(cells)} & {arl0} & {early}\\% \\\\")
    return lines


def _range(texts: list[str]) -> str:
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]}--{texts[-1]}"


def _run_length(value: float) -> str:
    return "$\\infty$" if value == float("inf") else f"{value:.0f}"


def delay_cell(row: pd.Series) -> str:
    """Measured delay, bold if no method is shorter beyond noise; published value in grey."""
    if pd.isna(row["add"]):
        text = "--"
    else:
        mean = f"{row['add']:.1f}"
        text = (rf"\textbf{{{mean}}}" if row["among_best"] else mean) + f" ({row['se']:.1f})"
    if not (pd.isna(row["way_to_oracle"]) or is_bound(row["method"]) or row["method"] == "random"):
        text += rf" {{\tiny {100 * row['way_to_oracle']:.0f}\%}}"
    if not pd.isna(row["published_add"]):
        text += rf" \textcolor{{gray}}{{\footnotesize {row['published_add']:.1f}}}"
    return text


def caption(rows: pd.DataFrame, note: str) -> str:
    """A caption that can be read alone."""
    first = rows.iloc[0]
    seeds = int(rows["n_seeds"].max())
    return (
        f"Average detection delay with $p={first['p']}$ streams, $m={first['m']}$ sensors and"
        f" $k={first['k']}$ shifted streams ({first['source']}); standard errors in parentheses,"
        r" the paper's numbers in \textcolor{gray}{grey}. "
        f"{first['n_rep']} replications common to all methods, {seeds} training seeds; undetected"
        " runs count as the horizon, runs with an alarm before the change are left out and"
        r" counted under ``early''. ARL$_0$: steps to a false alarm, measured on fresh in-control"
        " paths. Bold: shortest, or not distinguishable from it (paired tests, Holm). Small"
        r" percentages: how much of the way from random sensors (0\%) to the oracle set (100\%)."
        f" Bounds, which know where the shift is, stand below the line. {note}"
    )


def training_table(summary: pd.DataFrame) -> str:
    """Where training ends and how soon, a panel for each scenario and protocol."""
    lines = [
        r"\begin{tabular}{@{}lrrrrr@{}}",
        r"\toprule",
        r"Agent & reward & epoch & hits, exploring & hits, frozen & gain \\",
    ]
    for (scenario, protocol), panel in summary.groupby(["scenario", "protocol"], sort=False):
        title = f"{scenario}, {label(str(protocol))}"
        lines += [r"\midrule", rf"\multicolumn{{6}}{{@{{}}l}}{{\emph{{{title}}}}} \\"]
        for _, row in panel.iterrows():
            gain = "" if pd.isna(row["share_of_gain"]) else f"{100 * row['share_of_gain']:.0f}\\%"
            cells = [
                _interval(row, "final_reward", 0),
                _interval(row, "epochs_to_95", 1),
                _interval(row, "final_hit_share", 2),
                _interval(row, "frozen_hit_share", 2),
                gain,
            ]
            lines.append(f"{label(str(row['method']))} & {' & '.join(cells)} \\\\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _interval(row: pd.Series, name: str, digits: int) -> str:
    """Mean and half width of the interval."""
    mean = f"{row[name]:.{digits}f}"
    half = row[f"{name}_high"] - row[name]
    return mean if pd.isna(half) else f"{mean} $\\pm$ {half:.{digits}f}"
