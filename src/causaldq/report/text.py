"""Tables as Markdown: on the terminal, in the README and on pages."""

import pandas as pd

from causaldq.report.labels import label


def headline(table: pd.DataFrame) -> str:
    """A Markdown table: measured delay beside the published one, first case of each scenario."""
    lines = []
    for scenario, rows in table.groupby("scenario", sort=False):
        # A scenario's cells can belong to several of the paper's tables.
        for column in ("table", "setting", "sigma"):
            rows = rows[rows[column] == rows[column].iloc[0]]
        first = rows.iloc[0]
        deltas = sorted(rows["delta"].unique())
        lines += [
            f"{scenario}: p = {first['p']}, m = {first['m']}, k = {first['k']},"
            f" {label(first['setting'])}. Delay (published):",
            "",
            "| protocol | method | " + " | ".join(f"δ = {d:g}" for d in deltas) + " | ARL0 |",
            "|---|---|" + "---:|" * (len(deltas) + 1),
        ]
        for (protocol, method), part in rows.groupby(["protocol", "method"], sort=False):
            by_delta = part.set_index("delta")
            cells = [_cell(by_delta.loc[d]) for d in deltas]
            arl0 = part["arl0"].iloc[0]
            length = f"{arl0:.0f}" if arl0 != float("inf") else "∞"
            lines.append(f"| {protocol} | {label(str(method))} | {' | '.join(cells)} | {length} |")
        lines.append("")
    return "\n".join(lines)


def as_markdown(rows: pd.DataFrame) -> str:
    """A table as it is."""
    lines = [list(rows.columns), ["---"] * len(rows.columns), *rows.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _cell(row: pd.Series) -> str:
    if pd.isna(row["add"]):
        return "–"
    text = f"{row['add']:.1f}"
    if row["among_best"]:
        text = f"**{text}**"
    return text if pd.isna(row["published_add"]) else f"{text} ({row['published_add']:.1f})"
