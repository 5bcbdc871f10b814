"""Judges of claims about shifts that propagate downstream."""

import pandas as pd

from causaldq.pipeline.report.judges.evidence import Judgement, Outcome, Piece, of_gain
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.tidy import Tidy


def shorter_on_graphs(tidy: Tidy, *, method: str, rival: str, least: float) -> Judgement:
    """A method alarms earlier than a rival, where shifts propagate downstream on random graphs."""
    if tidy.config.propagation is None:
        return Judgement([Piece("shifts that propagate", "missing", "not in this profile")])
    rows = tidy.propagation_compared
    rows = rows[(rows["method"] == method) & (rows["against"] == rival)]
    return Judgement([_piece(row, least, len(rows)) for _, row in rows.iterrows()])


def _piece(row: pd.Series, least: float, cells: int) -> Piece:
    causes = "one cause" if row["roots"] == 1 else f"{row['roots']} causes"
    cell = (
        f"p = {row['p']}, m = {row['m']}, {row['expected_degree']:g} edges per stream, {causes},"
        f" δ = {row['delta']:g}"
    )
    outcome: Outcome = of_gain(1 - row["high"], 1 - row["low"], least, cells)
    detail = (
        f"{label(row['method'])} over {label(row['against'])}: ratio {row['ratio']:.2f}"
        f" ({row['low']:.2f} to {row['high']:.2f}), {row['n_graphs']} graphs"
    )
    return Piece(cell, outcome, detail, table="propagation_compared")
