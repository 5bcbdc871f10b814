"""Judges of the paper's own numbers, and of what it set in bold."""

from itertools import combinations

import pandas as pd

from causaldq.pipeline.report.judges.cells import beside, cell_label
from causaldq.pipeline.report.judges.delays import OURS, rank
from causaldq.pipeline.report.judges.evidence import Judgement, Outcome, Piece, of_gain, shortening
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.tidy import Tidy

CELL = ["table", "setting", "p", "m", "k", "sigma", "delta", "delta_train"]
TRAINED = "train_test"
"""Bold there marks the better of two training shifts, not the best of several methods."""
QUALITY = "graph_quality"
"""Every delay there is bold."""


def bold_in_print(tidy: Tidy) -> Judgement:
    """What is set in bold is the smallest printed number of its cell."""
    pieces = []
    for _, row in _bold(tidy).iterrows():
        rivals = _rivals(tidy, row)
        cell = cell_label(row)
        if rivals.empty:
            pieces.append(Piece(cell, "open", "the whole column is bold"))
            continue
        shorter = rivals[rivals["value"] < row["value"]]
        if (rivals["value"] == row["value"]).all():
            pieces.append(Piece(cell, "open", f"all are printed as {row['value']:g}"))
            continue
        outcome: Outcome = "against" if len(shorter) else "for"
        detail = f"{row['value']:g} in bold"
        if len(shorter):
            detail += "; smaller: " + ", ".join(
                f"{label(r['method'])} {r['value']:g}" for _, r in shorter.iterrows()
            )
        pieces.append(Piece(cell, outcome, detail))
    return Judgement(pieces)


def bold_as_measured(tidy: Tidy, *, least: float) -> Judgement:
    """What is set in bold is also the shortest when measured, or within noise of it."""
    rows = _bold(tidy)
    number = len(rows) * len(tidy.config.protocols)
    return Judgement(
        [
            _measured(tidy, row, protocol, least, number)
            for protocol in tidy.config.protocols
            for _, row in rows.iterrows()
        ]
    )


def _measured(tidy: Tidy, row: pd.Series, protocol: str, least: float, cells: int) -> Piece:
    seen = beside(tidy, row, protocol)
    if row["table"] == QUALITY:
        if not seen.has(str(row["method"])):
            return seen.absent(str(row["method"]))
        return seen.piece("open", "the whole column is bold, which says nothing")
    if row["table"] != TRAINED:
        return rank(seen)
    rivals = _rivals(tidy, row)
    trained = rivals.loc[rivals["method"] == OURS, "delta_train"].iloc[0]
    other = beside(tidy, pd.Series({**row, "delta_train": trained}), protocol)
    if not (seen.has(OURS) and other.has(OURS)):
        return (other if seen.has(OURS) else seen).absent(OURS)
    own, rest = seen.rows[OURS], other.rows[OURS]
    _, low, high = shortening(own, rest, tidy.config.evaluation.confidence)
    detail = f"{own['add']:.1f}, and {rest['add']:.1f} trained at δ = {trained:g}"
    return seen.piece(of_gain(low, high, least, cells), detail)


def _bold(tidy: Tidy) -> pd.DataFrame:
    rows = tidy.published
    return rows[(rows["bold"] == 1) & (rows["metric"] == "add")]


def _rivals(tidy: Tidy, row: pd.Series) -> pd.DataFrame:
    """The printed numbers that a bold one stands out from."""
    rows = tidy.published
    rows = rows[(rows["metric"] == "add") & (rows["table"] == row["table"])]
    for key in CELL:
        if not (row["table"] == TRAINED and key == "delta_train"):
            rows = rows[rows[key].isna() if pd.isna(row[key]) else rows[key] == row[key]]
    others: pd.DataFrame = rows[rows.index != row.name]
    return others


def shorter_in_print(tidy: Tidy, *, table: str, rival: str) -> Judgement:
    """Causal DQ's printed delay is the shorter one of two in every cell of a table."""
    rows = tidy.published
    rows = rows[(rows["metric"] == "add") & (rows["table"] == table)]
    pieces = []
    for _, part in rows.groupby(CELL, sort=False, dropna=False):
        by_method = part.set_index("method")["value"]
        outcome: Outcome = "for" if by_method[OURS] < by_method[rival] else "against"
        detail = f"{label(OURS)} {by_method[OURS]:g}, {label(rival)} {by_method[rival]:g}"
        pieces.append(Piece(cell_label(part.iloc[0]), outcome, detail))
    return Judgement(pieces)


def lead_grows_in_print(
    tidy: Tidy, *, table: str, smaller: float, larger: list[float]
) -> Judgement:
    """The printed lead over the best rival, in percent, is wider for larger shifts."""
    rows = tidy.published
    rows = rows[(rows["metric"] == "add") & (rows["table"] == table)]
    leads = {}
    for key, part in rows.groupby(["p", "m", "delta"], sort=False):
        by_method = part.set_index("method")["value"]
        leads[key] = 1 - by_method[OURS] / by_method.drop(OURS).min()
    pieces = []
    for (p, m, delta), lead in leads.items():
        if delta in larger:
            before = leads[p, m, smaller]
            outcome: Outcome = "for" if lead > before else "against"
            detail = f"{100 * lead:.0f}% here, {100 * before:.0f}% at δ = {smaller:g}"
            pieces.append(Piece(f"p = {p}, m = {m}, δ = {delta:g}", outcome, detail))
    return Judgement(pieces)


def same_experiment(tidy: Tidy) -> Judgement:
    """An experiment that stands in two tables has the same number in both, as far as printed."""
    rows = tidy.published
    rows = rows[rows["metric"] == "add"]
    trained = rows[(rows["table"] == TRAINED) & (rows["delta_train"] == 1)]
    quality = rows[(rows["table"] == QUALITY) & rows["setting"].isin(["standard", "non_causal"])]
    pieces = []
    for table, part, keys, rounding in (
        ("noise_free", trained, ["p", "delta", "method"], 0.0),
        # Whole numbers there.
        ("noise", quality, ["p", "sigma", "delta", "method"], 0.5),
    ):
        first = rows[(rows["table"] == table) & (rows["setting"] == "case_a")]
        for _, row in part.iterrows():
            twin = first[(first[keys] == row[keys]).all(axis=1)].iloc[0]
            outcome: Outcome = "for" if abs(twin["value"] - row["value"]) <= rounding else "against"
            detail = f"{label(row['method'])}: {row['value']:g} here, {twin['value']:g} there"
            pieces.append(Piece(f"{cell_label(row)}; {cell_label(twin)}", outcome, detail))
    return Judgement(pieces, unit="numbers")


def own_numbers(tidy: Tidy, *, at_most: int) -> Judgement:
    """Different experiments share at most a few numbers, digit for digit.

    Cells where nobody detects anything are alike by nature, and one experiment may stand in
    two tables: neither counts.
    """
    rows = tidy.published
    rows = rows[(rows["metric"] == "add") & (rows["se"] > 0) & (rows["table"] != TRAINED)]
    cells = [(part.iloc[0], _numbers(part)) for _, part in rows.groupby(CELL, dropna=False)]
    twins: dict[int, list[str]] = {}
    for (i, (one, numbers)), (j, (other, others)) in combinations(enumerate(cells), 2):
        shared = [label(m) for m in numbers if m in others and numbers[m] == others[m]]
        if len(shared) > at_most:
            for here, there in ((i, other), (j, one)):
                text = f"as in {cell_label(there)}: {', '.join(shared)}"
                twins.setdefault(here, []).append(text)
    pieces = [
        Piece(
            cell_label(first),
            "against" if i in twins else "for",
            "; ".join(twins.get(i, ["numbers of its own"])),
        )
        for i, (first, _) in enumerate(cells)
    ]
    return Judgement(pieces)


def _numbers(part: pd.DataFrame) -> dict[str, tuple[float, float]]:
    return {
        str(row["method"]): (float(row["value"]), float(row["se"])) for _, row in part.iterrows()
    }
