"""Judges of claims about the causal graph. They read graphs.csv, and delays beside it."""

from itertools import pairwise

import pandas as pd

from causaldq.pipeline.report.judges.cells import (
    Seen,
    beside,
    cells_of,
    delay_text,
    fewest_seeds,
    published_cells,
)
from causaldq.pipeline.report.judges.delays import compare
from causaldq.pipeline.report.judges.evidence import (
    Judgement,
    Outcome,
    Piece,
    of_gain,
    seeds_of_gain,
    shortening,
)
from causaldq.pipeline.report.tidy import Tidy

OURS, PLAIN = "causal_dq", "non_causal"
METRICS, QUALITY = "graph_metrics", "graph_quality"


def accurate(tidy: Tidy, *, p: int, tpr: float, fdr: float | None = None) -> Judgement:
    """The graph of the selected streams has at least this TPR, and at most this FDR."""
    rows = _graphs(tidy, METRICS)
    pieces = []
    for _, row in rows[rows["p"] == p].iterrows():
        wanted = [("TPR", row["mtpr"], row["mtpr"] >= tpr, f"at least {tpr:g}")]
        if fdr is not None:
            wanted.append(("FDR", row["mfdr"], row["mfdr"] <= fdr, f"at most {fdr:g}"))
        for name, value, met, bound in wanted:
            cell = f"{row['scenario']}, σ = {row['sigma']:g}, {name}"
            if pd.isna(value):
                pieces.append(Piece(cell, "open", "no edges to judge", "paper", METRICS))
                continue
            outcome: Outcome = "for" if met else "against"
            detail = f"{value:.2f} where {bound} is claimed"
            pieces.append(Piece(cell, outcome, detail, "paper", METRICS))
    absent = Piece(f"p = {p}", "missing", "no graph of this size in this profile")
    return Judgement(pieces or [absent], unit="values")


def better_is_faster(tidy: Tidy, *, settings: list[str], least: float) -> Judgement:
    """From the best graph to the worst, each gives a shorter delay than the next."""
    number = len(tidy.config.protocols) * (len(settings) - 1)
    return Judgement(
        [
            _across(tidy, better, worse, protocol, least, number)
            for protocol in tidy.config.protocols
            for better, worse in pairwise(settings)
        ],
        unit="steps in quality",
    )


def good_enough(tidy: Tidy, *, tpr: float, least: float) -> Judgement:
    """With a TPR above this, Causal DQ is shorter than the non-causal agent.

    The graph's quality is that of the paper's protocol; delays count under both. The table of
    qualities has the non-causal agent in a scenario of its own, so that its networks are judged
    across scenarios, and once where the table of metrics has them, too.
    """
    pieces = []
    qualities, metrics = _graphs(tidy, QUALITY), _graphs(tidy, METRICS)
    good = qualities.loc[qualities["mtpr"] > tpr, "setting"]
    others = metrics[~metrics["scenario"].isin(qualities["scenario"])]
    cells = cells_of(tidy, dict.fromkeys(others.loc[others["mtpr"] > tpr, "scenario"]))
    number = len(good) * len(tidy.config.protocols) + len(cells)
    for setting in good:
        for protocol in tidy.config.protocols:
            pieces.append(_across(tidy, str(setting), PLAIN, protocol, least, number))
    confidence = tidy.config.evaluation.confidence
    pieces += [compare(seen, OURS, PLAIN, least, confidence, number) for seen in cells]
    absent = Piece(f"TPR above {tpr:g}", "missing", "no such graph in this profile")
    return Judgement(pieces or [absent])


def too_poor(tidy: Tidy, *, tpr: float, reference: str, least: float) -> Judgement:
    """With a TPR below this, the delay is longer than with the graph of reference."""
    poor = _graphs(tidy, QUALITY)
    settings = poor.loc[poor["mtpr"] < tpr, "setting"]
    number = len(settings) * len(tidy.config.protocols)
    pieces = [
        _across(tidy, reference, str(setting), protocol, least, number)
        for setting in settings
        for protocol in tidy.config.protocols
    ]
    absent = Piece(f"TPR below {tpr:g}", "missing", "no such graph in this profile")
    return Judgement(pieces or [absent])


def _graphs(tidy: Tidy, table: str) -> pd.DataFrame:
    """Rows of Causal DQ; none if there were no networks."""
    if "graphs" not in tidy.files:
        return pd.DataFrame(columns=["setting", "p", "sigma", "scenario", "mtpr", "mfdr"])
    rows = tidy.graphs
    return rows[(rows["table"] == table) & (rows["method"] == OURS)]


def _across(tidy: Tidy, better: str, worse: str, protocol: str, least: float, cells: int) -> Piece:
    """Whether one setting of the quality table has a shorter delay than another."""
    first, second = (_quality(tidy, setting, protocol) for setting in (better, worse))
    cell = f"{better} against {worse}".replace("_", " ")
    one, other = (PLAIN if setting == PLAIN else OURS for setting in (better, worse))
    if not (first.has(one) and second.has(other)):
        return Piece(cell, "missing", "not in this profile", protocol)
    row, rest = first.rows[one], second.rows[other]
    _, low, high = shortening(row, rest, tidy.config.evaluation.confidence)
    detail = f"{delay_text(row)}; {delay_text(rest)}"
    seeds = seeds_of_gain(low, high, least, fewest_seeds(row, rest))
    outcome = of_gain(low, high, least, cells)
    return Piece(cell, outcome, detail, protocol, first.table, seeds)


def _quality(tidy: Tidy, setting: str, protocol: str) -> Seen:
    method = PLAIN if setting == PLAIN else OURS
    cells = published_cells(tidy, [QUALITY], settings=[setting], method=method)
    return beside(tidy, cells.iloc[0], protocol)
