"""Solar flares: at which spread of the quiet windows delays like the paper's can arise."""

from collections.abc import Iterator

import pandas as pd

from causaldq.pipeline.plan import Plan
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.latex import RULE, line, tabular
from causaldq.pipeline.report.shown import Table, table


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


def scale_caption(rows: pd.DataFrame) -> str:
    return (
        f"Surrogate solar flares, $p={rows['p'].iloc[0]}$ of the paper's 33 parameters,"
        f" $m={rows['m'].iloc[0]}$ sensors: delay in steps of at most 30, by how much the means of"
        " windows differ, in units of how much those of active regions with flares of one class do."
        " 0: all quiet windows are alike, as where one window sets the scale. Shift: median over"
        " parameters of what a flare window is off the quiet mean, in standard deviations of the"
        f" quiet rows. Mean and range over {rows['draw'].nunique()} draws of all windows; the"
        " paper, which had one draw, printed 12.8 to 18.2 steps with 6 sensors and 6.2 to 10.6"
        " with 10."
    )


def shown(plan: Plan) -> Iterator[Table]:
    if plan.config.flare_scale is not None:
        name = "flare_scale"
        yield table(name, lambda t: t.rows(name), scale_table, scale_caption, name)
