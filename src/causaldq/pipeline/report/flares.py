"""Solar flares: at which spread of the quiet windows delays like the paper's can arise."""

from collections.abc import Iterator

import pandas as pd

from causaldq.pipeline.plan import Plan
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.latex import RULE, line, tabular
from causaldq.pipeline.report.shown import Table
from causaldq.pipeline.report.tables import PAPER_FLARES


def scale_table(rows: pd.DataFrame) -> str:
    """Spread between windows by methods: delays under each protocol, with the range over draws."""
    cells = [(p, m) for p in rows["protocol"].unique() for m in rows["method"].unique()]
    heads = [f"{label(str(method))}, {protocol}" for protocol, method in cells]
    lines = [line(["between", "shift", *heads]), RULE]
    for between, part in rows.groupby("between", sort=True):
        texts = [f"{between:g}", f"{part['shift'].median():.2g}"]
        for protocol, method in cells:
            delay = part[(part["protocol"] == protocol) & (part["method"] == method)]["delay"]
            texts.append(
                rf"{delay.mean():.1f} {{\scriptsize ({delay.min():.1f}--{delay.max():.1f})}}"
            )
        lines.append(line(texts))
    return tabular("rr" + "r" * len(cells), lines)


def scale_caption(rows: pd.DataFrame, printed: pd.DataFrame) -> str:
    """With what the paper printed, from cells that have it beside them."""
    by_sensors = printed.dropna(subset="published_add").groupby("m")["published_add"]
    ranges = [f"{part.min():g} to {part.max():g} steps with {m} sensors" for m, part in by_sensors]
    one_draw = f" The paper, with one draw, printed {' and '.join(ranges)}." if ranges else ""
    return (
        f"Delay on surrogate solar flares, with $p={rows['p'].iloc[0]}$ of the paper's"
        f" {PAPER_FLARES} parameters and $m={rows['m'].iloc[0]}$ sensors, by how much quiet windows"
        " differ. ``Between'' is the spread of window means: at 0 all windows are alike, and at 1"
        " they differ as active regions with flares of one class do. ``Shift'' is the median"
        " distance of a flare window from the quiet mean, in standard deviations of the quiet rows."
        f" Delays are in steps, as means with their range over {rows['draw'].nunique()} draws of"
        f" all windows, under the paper's and the fair protocol.{one_draw}"
    )


def shown(plan: Plan) -> Iterator[Table]:
    if plan.config.flare_scale is not None:
        name = "flare_scale"
        yield Table(
            name,
            lambda t: t.rows(name),
            lambda t: scale_table(t.rows(name)),
            lambda t: scale_caption(t.rows(name), t.table("sfd")),
            name,
        )
