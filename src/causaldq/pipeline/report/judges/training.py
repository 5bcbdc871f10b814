"""Judges of claims about training. They read the summary over seeds, training.csv."""

from itertools import pairwise

import pandas as pd
from scipy.special import fdtri

from causaldq.pipeline.evaluation.training import LEAST_GAIN, SMOOTHING, combined
from causaldq.pipeline.report.judges.cells import TABLES
from causaldq.pipeline.report.judges.delays import shorter_than
from causaldq.pipeline.report.judges.evidence import (
    NOT_BY_SEEDS,
    Judgement,
    Outcome,
    Piece,
    Seeds,
    of_equality,
    of_gain,
    seeds_of_equality,
    seeds_of_gain,
)
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.tidy import Tidy

OURS, PLAIN = "causal_dq", "non_causal"
EPOCHS, REWARD = "epochs_to_95", "final_reward"
NOT_LEARNED = "one agent has its final reward from the start, so there is no pace"

Pair = tuple[str, str, pd.Series, pd.Series]
"""A setting in words, its protocol, the rows of Causal DQ and of the other agent."""


def faster(
    tidy: Tidy,
    *,
    tables: list[str],
    least: float,
    p: list[int] | None = None,
    factor: float = 1.0,
) -> Judgement:
    """Causal DQ reaches 95% of its final reward in fewer epochs; in `factor` times as many.

    An agent that learns nothing is at its final reward at once: no pace can be told then.
    """
    pieces = []
    pairs = _pairs(tidy, tables, p)
    for where, protocol, own, plain in pairs:
        _, low, high = combined([(factor, plain), (-1, own)], EPOCHS, _confidence(tidy))
        bound = least * plain[EPOCHS]
        outcome = of_gain(low, high, bound, len(pairs))
        seeds = seeds_of_gain(low, high, bound, _n(own, plain))
        pieces.append(_pace(where, outcome, seeds, own, plain, protocol))
    return Judgement([*pieces, *_missing(tidy, tables, p, pieces)], unit="trainings")


def as_fast(tidy: Tidy, *, tables: list[str], p: list[int], margin: float) -> Judgement:
    """Both agents take about the same number of epochs."""
    pieces = []
    pairs = _pairs(tidy, tables, p)
    for where, protocol, own, plain in pairs:
        _, low, high = combined([(1, plain), (-1, own)], EPOCHS, _confidence(tidy))
        bound = margin * plain[EPOCHS]
        seeds = seeds_of_equality(low, high, bound, _n(own, plain))
        outcome = of_equality(low, high, bound, len(pairs))
        pieces.append(_pace(where, outcome, seeds, own, plain, protocol))
    return Judgement([*pieces, *_missing(tidy, tables, p, pieces)], unit="trainings")


def _n(*rows: pd.Series) -> int:
    return int(min(row["n_seeds"] for row in rows))


def _pace(
    where: str, outcome: Outcome, seeds: Seeds, own: pd.Series, plain: pd.Series, protocol: str
) -> Piece:
    detail = (
        f"epoch {own[EPOCHS]:.1f} against {plain[EPOCHS]:.1f};"
        f" final reward {own[REWARD]:.0f} against {plain[REWARD]:.0f}"
    )
    if not _learned(own, plain):
        return Piece(where, "open", f"{detail}; {NOT_LEARNED}", protocol, "training")
    return Piece(where, outcome, detail, protocol, "training", seeds)


def _learned(*rows: pd.Series) -> bool:
    """Whether all took longer to their final reward than the running mean is wide."""
    return all(row[EPOCHS] > SMOOTHING for row in rows)


def lead_in_epochs_grows(tidy: Tidy, *, tables: list[str], p: list[int]) -> Judgement:
    """The epochs that Causal DQ saves grow from each p to the next."""
    by_size = {size: _pairs(tidy, tables, [size]) for size in p}
    number = sum(len(by_size[larger]) for larger in p[1:])
    pieces = []
    for smaller, larger in pairwise(p):
        where = f"p = {smaller} to {larger}"
        for _, protocol, own, plain in by_size[larger]:
            before = [pair for pair in by_size[smaller] if pair[1] == protocol]
            if not before:
                continue
            _, _, own_before, plain_before = before[0]
            terms = [(1, plain), (-1, own), (-1, plain_before), (1, own_before)]
            growth, low, high = combined(terms, EPOCHS, _confidence(tidy))
            outcome = of_gain(low, high, 0.0, number)
            detail = f"saved epochs change by {growth:+.1f} ({low:+.1f} to {high:+.1f})"
            seeds = seeds_of_gain(low, high, 0.0, _n(*(row for _, row in terms)))
            if not _learned(*(row for _, row in terms)):
                outcome, detail, seeds = "open", f"{detail}; {NOT_LEARNED}", NOT_BY_SEEDS
            pieces.append(Piece(where, outcome, detail, protocol, "training", seeds))
        if not any(piece.cell == where for piece in pieces):
            pieces.append(Piece(where, "missing", "not trained in this profile"))
    return Judgement(pieces, unit="steps in p")


def higher_reward(tidy: Tidy, *, tables: list[str], p: list[int] | None = None) -> Judgement:
    """Causal DQ ends with the higher reward, counted alike for both agents."""
    pieces = []
    pairs = _pairs(tidy, tables, p)
    for where, protocol, own, plain in pairs:
        _, low, high = combined([(1, own), (-1, plain)], REWARD, _confidence(tidy))
        least = LEAST_GAIN * abs(plain[REWARD])
        outcome = of_gain(low, high, least, len(pairs))
        seeds = seeds_of_gain(low, high, least, _n(own, plain))
        detail = f"{own[REWARD]:.0f} against {plain[REWARD]:.0f}"
        pieces.append(Piece(where, outcome, detail, protocol, "training", seeds))
    return Judgement([*pieces, *_missing(tidy, tables, p, pieces)], unit="trainings")


def steadier(tidy: Tidy, *, tables: list[str], p: list[int]) -> Judgement:
    """Causal DQ's final reward varies less between training seeds, relative to its size."""
    pieces = []
    tail = (1 - _confidence(tidy)) / 2
    for where, protocol, own, plain in _pairs(tidy, tables, p):
        n = _n(own, plain)
        spreads = [row[f"{REWARD}_sd"] / abs(row[REWARD]) for row in (own, plain)]
        if n < 2 or not min(spreads) > 0 or not _learned(own, plain):
            why = f"{n} seeds" if n < 2 else NOT_LEARNED
            pieces.append(Piece(where, "open", why, protocol, "training"))
            continue
        ratio = (spreads[0] / spreads[1]) ** 2
        quantile = float(fdtri(n - 1, n - 1, 1 - tail))
        outcome: Outcome = "open"
        if ratio * quantile < 1:
            outcome = "for"
        elif ratio / quantile > 1:
            outcome = "against"
        detail = f"{100 * spreads[0]:.1f}% against {100 * spreads[1]:.1f}% between {n} seeds"
        pieces.append(Piece(where, outcome, detail, protocol, "training"))
    return Judgement([*pieces, *_missing(tidy, tables, p, pieces)], unit="trainings")


def part_helps(tidy: Tidy, *, part: str, tables: list[str], least: float) -> Judgement:
    """One causal part alone does better than none: in reward, and in delay where that was run."""
    pieces = []
    pairs = _pairs(tidy, tables, None, part)
    for where, protocol, alone, plain in pairs:
        gain, low, high = combined([(1, alone), (-1, plain)], REWARD, _confidence(tidy))
        bound = LEAST_GAIN * abs(plain[REWARD])
        seeds = seeds_of_gain(low, high, bound, _n(alone, plain))
        outcome = of_gain(low, high, bound, len(pairs))
        detail = f"reward {alone[REWARD]:.0f} against {plain[REWARD]:.0f} without any ({gain:+.0f})"
        if pd.notna(alone["share_of_gain"]):
            detail += f", {100 * alone['share_of_gain']:.0f}% of what all parts bring together"
        pieces.append(Piece(f"training, {where}", outcome, detail, protocol, "training", seeds))
    delays = shorter_than(tidy, rival=PLAIN, least=least, method=part, tables=tables)
    pieces += [piece for piece in delays.pieces if piece.outcome != "missing"]
    absent = Piece(label(part), "missing", "not in this profile")
    return Judgement(pieces or [absent], unit="comparisons")


def _pairs(tidy: Tidy, tables: list[str], p: list[int] | None, method: str = OURS) -> list[Pair]:
    if "training" not in tidy.files:
        return []
    pairs = []
    for (scenario, protocol), group in tidy.training.groupby(["scenario", "protocol"], sort=False):
        rows = group.set_index("method")
        if not {method, PLAIN} <= set(rows.index):
            continue
        wanted = tidy.config.scenarios.get(str(scenario))
        if wanted is None or wanted.table not in tables:
            continue
        size = tidy.config.sources[wanted.source].p
        if p is None or size in p:
            own, plain = (rows.loc[[name]].iloc[0] for name in (method, PLAIN))
            pairs.append((str(scenario), str(protocol), own, plain))
    return pairs


def _missing(
    tidy: Tidy, tables: list[str], p: list[int] | None, pieces: list[Piece]
) -> list[Piece]:
    """What was asked for and not trained."""
    if p is None:
        gone = [] if pieces else [TABLES[table] for table in tables]
    else:
        gone = [f"p = {size}" for size in p if not _pairs(tidy, tables, [size])]
    return [Piece(where, "missing", "not trained in this profile") for where in gone]


def _confidence(tidy: Tidy) -> float:
    return tidy.config.evaluation.confidence
