"""LaTeX tables: measured (standard error), the published number in grey beside it."""

from collections.abc import Iterable

import pandas as pd

from causaldq.methods.registry import is_bound
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.latex import RULE, bold, grey, heading, latex, line, tabular
from causaldq.pipeline.sources.tep import FAULTS

PAPER_FLARES = 33
"""Parameters that the paper's flares have."""
TRAINING_CAPTION = (
    "Where training ends and how soon, as means over training seeds with 95\\% $t$ intervals. The"
    " reward is the paper's, per episode, counted alike for all agents, over the last five epochs."
    " The epoch is the first at which it reaches 95\\% of that. Hits are the share of the shifted"
    " streams that sensors could cover and do, while the agent explores and with its network"
    " frozen. The gain is how far an agent gets from the non-causal agent's reward (0\\%) to that"
    " of Causal DQ (100\\%); it is empty where these hardly differ. Other scenarios are in"
    " training.csv."
)


THE_PAPERS = ("causal_dq", "non_causal", "sdq", "tssrp", "asmp")
"""The methods that the paper compares."""


def of_the_paper(rows: pd.DataFrame) -> pd.DataFrame:
    """Cells of the methods that the paper compares, the best among them marked as such."""
    own = rows[rows["method"].isin(THE_PAPERS)]
    if own.empty:
        return rows
    return own.assign(among_best=own["among_published"], way_to_oracle=float("nan"))


def delay_table(rows: pd.DataFrame) -> str:
    """One scenario: a panel for each protocol, case and noise level; methods by shifts."""
    deltas = sorted(rows["delta"].unique())
    shifts = [rf"$\delta={delta:g}$" for delta in deltas]
    lines = [line(["Method", *shifts, "ARL$_0$", "early"])]
    for (protocol, setting, sigma), panel in rows.groupby(
        ["protocol", "setting", "sigma"], sort=False
    ):
        noise = rf", $\sigma={sigma:g}$" if len(rows["sigma"].unique()) > 1 else ""
        title = f"{label(str(protocol))}, {label(str(setting))}{noise}"
        title = title[0].upper() + title[1:]
        lines += heading(title, len(deltas) + 3)
        methods = list(panel["method"].unique())
        bounds = [m for m in methods if is_bound(m)]
        lines += _rows(panel, (m for m in methods if m not in bounds), deltas)
        if bounds:
            lines.append(rf"\cmidrule(l){{1-{len(deltas) + 3}}}")
            lines += _rows(panel, bounds, deltas)
    return tabular("l" + "r" * len(deltas) + "rr", lines)


def _rows(panel: pd.DataFrame, methods: Iterable[str], deltas: list[float]) -> list[str]:
    lines = []
    for method in methods:
        rows = panel[panel["method"] == method]
        by_delta = {row["delta"]: delay_cell(row) for _, row in rows.iterrows()}
        cells = [by_delta.get(delta, "") for delta in deltas]
        name = rf"\textit{{{label(method)}}}" if is_bound(method) else label(method)
        arl0 = _range([_run_length(value) for value in sorted(rows["arl0"])])
        early = _range([f"{100 * value:.0f}" for value in sorted(rows["false_alarm"])])
        lines.append(line([name, *cells, arl0, rf"{early}\%"]))
    return lines


def _range(texts: list[str]) -> str:
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]}--{texts[-1]}"


def _run_length(value: float) -> str:
    return "$\\infty$" if value == float("inf") else f"{value:.0f}"


def delay_cell(cell: pd.Series) -> str:
    """Measured delay, bold if no method is shorter beyond noise; published value in grey."""
    if pd.isna(cell["add"]):
        text = "--"
    else:
        mean = f"{cell['add']:.1f}"
        error = "--" if pd.isna(cell["se"]) else f"{cell['se']:.1f}"
        text = f"{bold(mean, when=cell['among_best'])} ({error})"
    method, gained = cell["method"], cell["way_to_oracle"]
    if not (pd.isna(gained) or is_bound(method) or method == "random"):
        text += rf" {{\tiny {100 * gained:.0f}\%}}"
    if not pd.isna(cell["published_add"]):
        text += grey(f"{cell['published_add']:.1f}")
    return text


def size(cell: pd.Series) -> str:
    """Streams, sensors and shifted streams; a flare shifts what it shifts."""
    if cell["setting"] == "sfd":
        of_paper = f" of the paper's {PAPER_FLARES}" if cell["p"] < PAPER_FLARES else ""
        return f"$p={cell['p']}$ streams{of_paper}, $m={cell['m']}$ sensors"
    shifted = f" and $k={cell['k']}$ shifted streams"
    return f"$p={cell['p']}$ streams, $m={cell['m']}$ sensors{shifted}"


def delay_caption(rows: pd.DataFrame, *, restart: bool) -> str:
    """A caption that can be read alone."""
    first, seeds = rows.iloc[0], int(rows["n_seeds"].max())
    learned = f", and over {seeds} training seeds of learned methods" if seeds else ""
    has_printed = rows["published_add"].notna().any()
    printed = r" and the paper's numbers in \textcolor{gray}{grey}" if has_printed else ""
    said = [
        f"Average detection delay, in steps from the change to the alarm, with {size(first)}"
        f" (data: {latex(first['source'])}).",
        f"Cells are means over {first['n_rep']} replications{learned}, with standard errors in"
        f" parentheses{printed}.",
        "Bold marks the shortest of a panel's column, and what paired tests cannot tell from it.",
        "ARL$_0$ is the mean number of steps to a false alarm, and ``early'' the share of runs with"
        f" an alarm before the change, which {'begin anew' if restart else 'are left out'}.",
    ]
    if rows["way_to_oracle"].notna().any():
        said.append(
            r"Small percentages say how far a method gets from random sensors (0\%) to sensors on"
            r" the shifted streams (100\%)."
        )
    if any(is_bound(method) for method in rows["method"].unique()):
        said.append("Bounds, below the line, know where the shift is or read every stream.")
    return " ".join(said)


def event_table(rows: pd.DataFrame) -> str:
    """Methods by recorded events: mean delay, and what false alarms it cost."""
    events = list(rows["event"].unique())
    shortest = rows.groupby("event")["delay"].min()
    titles = [latex(_event_number(event)) for event in events]
    lines = [line(["Method", *titles, "false", r"ARL$_0$"]), RULE]
    for method, part in rows.groupby("method", sort=False):
        by_event = part.set_index("event")
        texts = [_event_cell(by_event.loc[event], shortest[event]) for event in events]
        rate = 1000 * part["false_alarms"].sum() / part["in_control_steps"].sum()
        texts += [f"{rate:.1f}", _run_length(part["arl0"].iloc[0])]
        lines.append(line([label(str(method)), *texts]))
    return tabular("l" + r"@{\hspace{7pt}}r" * (len(events) + 2), lines)


def event_label(event: str) -> str:
    """The event's number or name, and what is known of its origin."""
    number = _event_number(event)
    known = FAULTS.get(int(number)) if number.isdigit() else None
    return f"{number}: {known}" if known else event.capitalize()


def _event_number(event: str) -> str:
    return event.removeprefix("fault ")


def _event_cell(row: pd.Series, shortest: float) -> str:
    if row["missed"] == 1:
        return r"\textcolor{gray}{--}"
    text = f"{row['delay']:.0f}"
    text = bold(text, when=row["delay"] == shortest)
    return text if row["missed"] == 0 else rf"{text}\rlap{{$^*$}}"


def event_caption(rows: pd.DataFrame) -> str:
    """What a picture of recorded events shows."""
    return (
        f"{_of_events(rows)} Each row is a fault and each column a method: the darker a cell, the"
        " later the alarm, and a cross marks faults where most runs had none."
    )


def event_table_caption(rows: pd.DataFrame) -> str:
    """The same of a table, with what only it has."""
    labels = [latex(event_label(str(event))) for event in rows["event"].unique()]
    return (
        f"{_of_events(rows)} Columns are faults. A star says that some runs had no alarm, and a"
        " grey dash that none had one. Bold marks the smallest mean, without a test, for runs share"
        " one recording. ``False'' counts false alarms in 1000 steps before the faults, and ARL$_0$"
        " is the run length on rows that set no limit. Faults: " + "; ".join(labels) + "."
    )


def _of_events(rows: pd.DataFrame) -> str:
    first = rows.iloc[0]
    return (
        f"Delay on recorded faults with $p={first['p']}$ streams and $m={first['m']}$ sensors"
        f" (data: {latex(first['source'])}): mean readings from a fault's onset to the alarm, over"
        f" {first['n_rep']} runs that begin at different rows before it. A run without an alarm"
        " counts with all readings under the fault. Limits are set for the same run length on"
        " in-control training rows."
    )


def training_table(summary: pd.DataFrame) -> str:
    """Where training ends and how soon, a panel for each scenario and protocol."""
    lines = [r"Agent & reward & epoch & hits, exploring & hits, frozen & gain \\"]
    shown = {"final_reward": 0, "epochs_to_95": 1, "final_hit_share": 2, "frozen_hit_share": 2}
    for (scenario, protocol), part in summary.groupby(["scenario", "protocol"], sort=False):
        lines += heading(f"{latex(str(scenario))}, {label(str(protocol))}", 6)
        for _, agent in part.iterrows():
            gain = agent["share_of_gain"]
            cells = [_interval(agent, name, digits) for name, digits in shown.items()]
            cells.append("" if pd.isna(gain) else rf"{100 * gain:.0f}\%")
            lines.append(line([label(str(agent["method"])), *cells]))
    return tabular("lrrrrr", lines)


def _interval(row: pd.Series, name: str, digits: int) -> str:
    """Mean and half width of the interval."""
    mean = f"{row[name]:.{digits}f}"
    half = row[f"{name}_high"] - row[name]
    return mean if pd.isna(half) else f"{mean} $\\pm$ {half:.{digits}f}"
