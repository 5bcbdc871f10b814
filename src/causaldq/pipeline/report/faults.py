"""Recorded faults at an equal rate of false alarms: table and figure, and published delays."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from causaldq.methods.registry import BASELINES
from causaldq.pipeline.contributing import joined
from causaldq.pipeline.evaluation.charts import IN_A_ROW, SHARE_ABOVE
from causaldq.pipeline.plan import Plan
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.latex import RULE, bold, grey, line, tabular
from causaldq.pipeline.report.palette import INK, look
from causaldq.pipeline.report.shown import Figure, Table, table
from causaldq.pipeline.report.tidy import Tidy

FIRST = ("innovation_filter", "bayes_posterior", "any_shift", "causal_sr")
"""What is shown of ours where there is no room for all."""
MOST_LINES = 7
CITED = ("cva_tr2", "tdpca")
"""Charts whose published delays are cited."""


def fault_rows(tidy: Tidy, scenario: str) -> pd.DataFrame:
    return tidy.rows(f"faults_{scenario}")


def _at(rows: pd.DataFrame, run_length: float) -> pd.DataFrame:
    """By method, at a measured run length."""
    return rows[rows["arl0"] == run_length].set_index("method", drop=False)


def _run_lengths(rows: pd.DataFrame) -> tuple[float, float]:
    """The one asked for, or the next measured, and the largest."""
    known = sorted(rows["arl0"].unique())
    asked = rows["asked"].iloc[0]
    return min(known, key=lambda value: abs(np.log(value / asked))), known[-1]


def fault_table(rows: pd.DataFrame) -> str:
    """Methods: what was reached, and delays where all reach the same."""
    usual, rare = _run_lengths(rows)
    at, later = _at(rows, usual), _at(rows, rare)
    titles = [
        *("Method", "reached", rf"delay, 1 in {usual:g}", "ratio", rf"delay, 1 in {rare:g}"),
        *(f"in {span}" for span in _spans(rows)),
    ]
    lines = [line(titles), RULE]
    shortest = at[at["reads_all"] == 0]["delay"].min()
    for reads_all, part in at.groupby("reads_all", sort=True):
        lines += [RULE] if reads_all and len(lines) > 2 else []
        for (_, row), (_, rarely) in zip(
            part.iterrows(), later.loc[part.index].iterrows(), strict=True
        ):
            lines.append(_fault_line(row, rarely, shortest, _spans(rows)))
    return tabular("lrrrrrrr", lines, is_small=True)


def _spans(rows: pd.DataFrame) -> list[str]:
    """Rows within which faults are found."""
    return [str(name).removeprefix("found_") for name in rows if str(name).startswith("found_")]


def _fault_line(row: pd.Series, later: pd.Series, shortest: float, spans: list[str]) -> str:
    ratio = "" if pd.isna(row["ratio"]) else _between(row, "ratio", "ratio_low", "ratio_high", 2)
    delay = _between(row, "delay", "low", "high", 1)
    shares = [
        f"{100 * row[f'found_{n}']:.0f}\\%" + grey(f"{100 * row[f'none_{n}']:.0f}\\%")
        for n in spans
    ]
    return line(
        [
            label(str(row["method"])),
            _between(row, "reached", "reached_low", "reached_high", 0)
            + ("" if row["kept"] else " not kept"),
            bold(delay, when=row["delay"] == shortest),
            ratio,
            _between(later, "delay", "low", "high", 0),
            *shares,
        ]
    )


def _between(row: pd.Series, value: str, low: str, high: str, digits: int) -> str:
    ends = f"{row[low]:.{digits}f}--{row[high]:.{digits}f}"
    return rf"{row[value]:.{digits}f} {{\scriptsize ({ends})}}"


def fault_caption(rows: pd.DataFrame) -> str:
    first, (usual, rare) = rows.iloc[0], _run_lengths(rows)
    said = [
        f"Delay on recorded faults at equal rates of false alarms, with $p={first['p']}$ streams"
        f" and $m={first['m']}$ sensors.",
        f"``Reached'' counts rows per false alarm on {first['rows']} unseen in-control"
        f" rows, where {first['asked']:g} were asked for; ``not kept'' is less than half.",
        f"Delays are rows from the onset, as geometric means over {first['recordings']} recordings,"
        f" at limits with one false alarm in {usual:g} or {rare:g} of those rows"
        f" ({first['rows'] / rare:.0f} alarms in all): a device for comparing, since nobody knows"
        " such limits beforehand.",
        "The ratio is to the best baseline.",
        f"The last columns have the share of faults found so soon at 1 in {usual:g}, and in"
        r" \textcolor{gray}{grey} that of in-control places with an alarm as soon.",
        "Parentheses hold 95\\% intervals, and bold marks the shortest delay.",
    ]
    if rows["reads_all"].any():
        said.append("Charts below the line read every stream.")
    return " ".join(said)


def delay_rows(tidy: Tidy, scenarios: list[str]) -> pd.DataFrame:
    """Delays on each fault: ours by sensors, charts in the way they were published, cited ones."""
    found: dict[str, pd.Series] = {}
    run_length = 0.0
    for name in scenarios:
        run_length, _ = _run_lengths(fault_rows(tidy, name))
        rows = tidy.rows(f"fault_delays_{name}")
        rows = rows[rows["arl0"] == run_length]
        by_method = dict(tuple(rows.groupby("method", sort=False)))
        ours = next((method for method in FIRST if method in by_method), None)
        if ours is not None:
            found[f"{ours}, m={rows['m'].iloc[0]}"] = _by_event(by_method[ours], "delay")
        for method, part in by_method.items():
            if part["published_way"].notna().any():
                found[str(method)] = _by_event(part, "published_way")
    cited = tidy.rows("cited_delays")
    for chart in CITED:
        part = cited[cited["chart"] == chart]
        found[chart] = pd.Series(part["rows"].to_numpy(), "fault " + part["fault"].astype(str))
    events = next(iter(found.values())).index
    wide = pd.DataFrame({name: part.reindex(events) for name, part in found.items()})
    used = [tidy.files[f"fault_delays_{name}"] for name in scenarios]
    files = joined([*used, tidy.files["cited_delays"]])
    return wide.rename_axis("event").reset_index().assign(run_length=run_length, files=files)


def _by_event(rows: pd.DataFrame, column: str) -> pd.Series:
    return rows.groupby("event", sort=False)[column].mean()


def delay_table(rows: pd.DataFrame) -> str:
    columns = [name for name in rows.columns if name not in ("event", "run_length", "files")]
    lines = [line(["Fault", *(_column(str(name)) for name in columns)]), RULE]
    for _, row in rows.iterrows():
        texts = [f"{row[name]:.0f}" if row[name] > 0 else "--" for name in columns]
        lines.append(line([str(row["event"]).removeprefix("fault "), *texts]))
    return tabular("l" + "r" * len(columns), lines)


def _column(name: str) -> str:
    method, _, sensors = name.partition(", m=")
    return f"{label(method)}, $m={sensors}$" if sensors else label(name)


def delay_caption(rows: pd.DataFrame) -> str:
    charts = (
        f" PCA and DPCA charts read every stream, and alarm at the first of {IN_A_ROW} rows in a"
        f" row above a limit that {100 * SHARE_ABOVE:g}\\% of held-out rows exceed."
        if "pca_t2" in rows
        else ""
    )
    return (
        "Delay on each recorded fault, in rows of 3 minutes. The first row under the fault is 1,"
        " and a dash says that it was not found, or not published. Columns with $m$ sensors are at"
        f" a limit with one false alarm in {rows['run_length'].iloc[0]:g} held-out rows.{charts}"
        " The last two columns are cited (data/reference/cited\\_delays.csv): CVA reads all 52"
        f" variables and counts to the first of {IN_A_ROW} rows above its limit, and TDPCA is from"
        " 500 runs per fault of the data of Rieth et al. Rates of false alarms differ with these"
        " conventions, so that columns cannot be ranked."
    )


def figure_methods(rows: pd.DataFrame) -> list[str]:
    """At most seven: ours first, then the earliest of the others and of the charts."""
    usual, _ = _run_lengths(rows)
    order = _at(rows, usual).sort_values("delay", kind="stable")
    ours = [name for name in FIRST if name in order.index]
    rivals = [name for name in order.index if name in BASELINES or name == "round_robin"]
    charts = [name for name in order.index if order.loc[name, "reads_all"]]
    chosen = [*ours[:3], *rivals[: MOST_LINES - len(ours[:3]) - len(charts[:2])], *charts[:2]]
    return chosen[:MOST_LINES]


def fault_figure(panels: list[pd.DataFrame]) -> Any:
    """Delay against the measured rate of false alarms, a panel a number of sensors."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullLocator

    chosen = [figure_methods(rows) for rows in panels]
    figure, axes = plt.subplots(
        1, len(panels), figsize=(3.9 * len(panels) + 0.6, 4.2), squeeze=False, sharey=True
    )
    for axis, rows, methods in zip(axes[0], panels, chosen, strict=True):
        ends = {}
        for method in methods:
            part = rows[rows["method"] == method].sort_values("arl0")
            thick = 2.4 if method == FIRST[0] else 1.3
            dashes = "--" if part["reads_all"].iloc[0] else "-"
            drawn = {"color": look(method).colour, "lw": thick, "ls": dashes}
            axis.plot(part["arl0"], part["delay"], marker="o", ms=3, **drawn)
            ends[method] = float(part["delay"].iloc[-1])
        first, last = rows["arl0"].min(), rows["arl0"].max()
        places = _apart({name: np.log(end) for name, end in ends.items()}, 0.13)
        for method, place in places.items():
            colour = look(method).colour
            lead = {"arrowstyle": "-", "color": colour, "lw": 0.5}
            axis.annotate(
                label(method), (last, ends[method]), (last * 1.12, np.exp(place)), fontsize=8,
                color=INK, va="center", arrowprops=lead,
            )  # fmt: skip
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlim(first * 0.9, last * (last / first) ** 0.55)
        axis.set_xticks(sorted(rows["arl0"].unique()))
        axis.set_yticks([2, 5, 10, 20, 50, 100, 200, 500])
        axis.set_ylim(min(4.0, rows["delay"].min()), max(ends.values()) * 1.3)
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            side.set_minor_locator(NullLocator())
        m, p = rows["m"].iloc[0], rows["p"].iloc[0]
        axis.set_title(f"{m} of {p} streams read" if m < p else f"all {p} streams read")
        axis.set_xlabel("rows in control for each false alarm, measured")
    axes[0, 0].set_ylabel("delay over the faults (rows, geometric mean)")
    return figure


def _apart(places: dict[str, float], gap: float) -> dict[str, float]:
    """Places of labels, moved up where they would overlap."""
    moved: dict[str, float] = {}
    lowest = -np.inf
    for name, place in sorted(places.items(), key=lambda entry: entry[1]):
        moved[name] = lowest = max(place, lowest + gap)
    return moved


FIGURE_CAPTION = (
    "Delay on recorded faults, as a geometric mean over all of them, against the number of rows per"
    " false alarm that was measured on in-control rows which no limit has seen. Each panel is a"
    " number of sensors, and each line a method; dashed lines are charts that read every stream."
    " Further down is earlier, and methods are to be compared along a vertical line, where their"
    " false alarms are equally rare. Methods that the figure has no room for are in the tables."
)


def shown(plan: Plan) -> Iterator[Table | Figure]:
    scenarios = plan.with_fault_table()
    for name in scenarios:
        rows = partial(fault_rows, scenario=name)
        yield table(f"faults_{name}", rows, fault_table, fault_caption, f"faults_{name}")
    if scenarios:
        every = partial(delay_rows, scenarios=scenarios)
        yield table("fault_delays", every, delay_table, delay_caption)

        def draw(tidy: Tidy) -> Any:
            return fault_figure([fault_rows(tidy, name) for name in scenarios])

        yield Figure("faults", "Real faults", "faults", draw, FIGURE_CAPTION)
