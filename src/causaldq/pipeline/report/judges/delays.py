"""Judges of claims about delays and alarms."""

from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import betaincinv, chdtrc, chdtri

from causaldq.estimates import Error, half_width, sum_of_errors
from causaldq.pipeline.report.judges.cells import (
    PAPER_METHODS,
    Row,
    Seen,
    all_beside,
    beside,
    cells_of,
    delay_text,
    fewest_seeds,
    published_cells,
    run_length,
    span,
)
from causaldq.pipeline.report.judges.evidence import (
    Judgement,
    Outcome,
    Piece,
    log_of_ratio,
    of_equality,
    of_gain,
    seeds_of_equality,
    seeds_of_gain,
    shortening,
    widened,
)
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.tidy import Tidy, table_name
from causaldq.worlds.simulation import SimulationSource

OURS = "causal_dq"
SURELY = 1.96
"""Standard errors beyond which a difference is no noise."""
MORE_ALARMS = "at more than twice as many false alarms"
AT_MOST = 2.0
"""Delays are compared where false alarms come at most so many times as often as the other's."""


def shortest(
    tidy: Tidy,
    *,
    tables: list[str],
    deltas: list[float] | None = None,
    of_the_paper: bool = False,
) -> Judgement:
    """Causal DQ is the shortest in every cell with a shift, or within noise of it.

    Of all that compete, or of the methods `of_the_paper`, by the paired tests behind add.csv.
    """
    seen = all_beside(tidy, published_cells(tidy, tables, deltas))
    if of_the_paper:
        return Judgement([rank(cell, of_the_paper=True) for cell in seen])
    notes: dict[str, str] = {
        protocol: _standing([cell for cell in seen if cell.protocol == protocol])
        for protocol in tidy.config.protocols
    }
    return Judgement([rank(cell) for cell in seen], notes=notes)


def rank(seen: Seen, *, of_the_paper: bool = False) -> Piece:
    """Whether Causal DQ is among the shortest of a cell, of all or of the paper's own methods.

    A cell in which all methods are within noise of each other says nothing. Nor does one in which
    who is shorter has more than twice as many false alarms.
    """
    if not seen.has(OURS):
        return seen.absent(OURS)
    rivals, tested = seen.rivals(), "among_best"
    if of_the_paper:
        rivals = {method: row for method, row in rivals.items() if method in PAPER_METHODS}
        tested = "among_published"
    if len(rivals) < 2:
        return seen.absent(*PAPER_METHODS)
    detail = delay_text(rivals[OURS])
    if (best := _best(rivals)) != OURS:
        detail += f"; shortest {delay_text(rivals[best])}"
    if all(row[tested] for row in rivals.values()):
        return seen.piece("open", f"{detail}; none of {len(rivals)} methods differs clearly")
    own = rivals.pop(OURS)
    if own[tested]:
        fair = [row for row in rivals.values() if own["arl0"] * AT_MOST >= row["arl0"]]
        return seen.piece("for" if fair else "open", detail if fair else f"{detail}; {MORE_ALARMS}")
    fair = [r for r in rivals.values() if r[tested] and r["arl0"] * AT_MOST >= own["arl0"]]
    return seen.piece("against" if fair else "open", detail if fair else f"{detail}; {MORE_ALARMS}")


def _best(rows: dict[str, Row]) -> str:
    return min(rows, key=lambda method: float(rows[method]["add"]))


def _standing(cells: list[Seen]) -> str:
    """How often alone, who is ahead elsewhere, and at which rates of false alarms."""
    ranked = [(cell.rivals(), rank(cell).outcome) for cell in cells if cell.has(OURS)]
    if not ranked:
        return ""
    ahead = Counter(_best(rivals) for rivals, outcome in ranked if outcome == "against")
    alone = sum(
        outcome == "for" and sum(row["among_best"] for row in rivals.values()) == 1
        for rivals, outcome in ranked
    )
    text = f"alone the shortest in {alone}"
    if ahead:
        text += "; ahead elsewhere: " + ", ".join(f"{label(m)} {n}" for m, n in ahead.most_common())
    five = [{m: rivals[m] for m in PAPER_METHODS if m in rivals} for rivals, _ in ranked]
    first = sum(len(rows) > 1 and _best(rows) == OURS for rows in five)
    text += f"; its mean is the smallest of the paper's own methods in {first} of {len(five)}"
    lengths = {
        m: [rivals[m]["arl0"] for rivals, _ in ranked if m in rivals] for m in (OURS, *ahead)
    }
    return f"{text}; ARL0: " + ", ".join(f"{label(m)} {span(lengths[m])}" for m in lengths)


def shorter_than(
    tidy: Tidy,
    *,
    rival: str,
    least: float,
    method: str = OURS,
    tables: list[str] | None = None,
    deltas: list[float] | None = None,
) -> Judgement:
    """A method is shorter than one rival: in published cells, or where shifts propagate.

    For it if the interval of the ratio says so; against it if the rival is the shorter one, or
    the gain is below `least`. Paired tests decide what the interval leaves open, unless there
    are several training seeds, whose differences they do not count.
    """
    if tables is not None:
        seen = all_beside(tidy, published_cells(tidy, tables, deltas))
    else:
        flowing = [name for name, s in tidy.config.scenarios.items() if s.propagate]
        seen = cells_of(tidy, flowing)
    if not seen:
        return Judgement([Piece("shifts that propagate", "missing", "not in this profile")])
    confidence = tidy.config.evaluation.confidence
    judge = partial(compare, first=method, second=rival, least=least, confidence=confidence)
    measured = sum(cell.has(method, rival) for cell in seen)
    return Judgement([judge(cell, cells=max(measured, 1)) for cell in seen])


def compare(
    seen: Seen, first: str, second: str, least: float, confidence: float, cells: int
) -> Piece:
    """Whether the first of two methods is the shorter one in a cell, of so many of a claim."""
    if not seen.has(first, second):
        return seen.absent(first, second)
    one, other = seen.rows[first], seen.rows[second]
    gain, low, high = shortening(one, other, confidence)
    outcome: Outcome = of_gain(low, high, least, cells)
    has_seeds = max(one["n_seeds"], other["n_seeds"]) > 1
    if outcome == "open" and not has_seeds and one["among_best"] != other["among_best"]:
        outcome = "for" if one["among_best"] else "against"
    return seen.piece(
        outcome,
        f"{delay_text(one)}, {delay_text(other)};"
        f" ratio {1 - gain:.2f} ({1 - high:.2f} to {1 - low:.2f})",
        seeds_of_gain(low, high, least, fewest_seeds(one, other)),
    )


def as_short_as(tidy: Tidy, *, bound: str, margin: float, tables: list[str]) -> Judgement:
    """Causal DQ comes within a margin of a bound."""
    pieces = []
    confidence = tidy.config.evaluation.confidence
    cells = all_beside(tidy, published_cells(tidy, tables))
    measured = sum(seen.has(OURS, bound) for seen in cells)
    for seen in cells:
        if not seen.has(OURS, bound):
            pieces.append(seen.absent(OURS, bound))
            continue
        own, best = seen.rows[OURS], seen.rows[bound]
        _, low, high = shortening(own, best, confidence)
        outcome = of_gain(low + margin, high + margin, 0.0, measured)
        detail = f"{delay_text(own)}, {delay_text(best)}"
        pieces.append(seen.piece(outcome, detail))
    return Judgement(pieces)


def robust(tidy: Tidy, *, table: str, margin: float) -> Judgement:
    """Causal DQ's delay changes by less than a margin with the shift it was trained at."""
    cells = published_cells(tidy, [table])
    trained = sorted(cells["delta_train"].unique())
    pieces = []
    for protocol in tidy.config.protocols:
        for _, cell in cells[cells["delta_train"] == trained[0]].iterrows():
            seen = beside(tidy, cell, protocol)
            other = beside(tidy, pd.Series({**cell, "delta_train": trained[-1]}), protocol)
            if not (seen.has(OURS) and other.has(OURS)):
                pieces.append((other if seen.has(OURS) else seen).absent(OURS))
                continue
            one, two = seen.rows[OURS], other.rows[OURS]
            _, low, high = shortening(one, two, tidy.config.evaluation.confidence)
            pieces.append(
                seen.piece(
                    of_equality(low, high, margin, 2 * len(cells)),
                    f"{one['add']:.1f}, and {two['add']:.1f} trained at δ = {trained[-1]:g}",
                    seeds_of_equality(low, high, margin, fewest_seeds(one, two)),
                )
            )
    return Judgement(pieces)


def lead_grows(tidy: Tidy, *, table: str, smaller: float, larger: list[float]) -> Judgement:
    """Causal DQ's relative lead over the best rival is wider for larger shifts."""
    confidence = tidy.config.evaluation.confidence
    cells = published_cells(tidy, [table], larger)
    number = len(cells) * len(tidy.config.protocols)
    pieces = []
    for protocol in tidy.config.protocols:
        for _, cell in cells.iterrows():
            seen = beside(tidy, cell, protocol)
            start = beside(tidy, pd.Series({**cell, "delta": smaller}), protocol)
            first, last = _lead(start), _lead(seen)
            if first is None or last is None:
                pieces.append(seen.piece("missing", "not in this profile, or without a rival"))
                continue
            (before, error_before), (after, error_after) = first, last
            half = half_width(sum_of_errors([error_before, error_after]), confidence)
            widening = before - after
            outcome = of_gain(widening - half, widening + half, 0.0, number)
            behind = half_width(error_after, confidence)
            if widened(after - behind, after + behind, number)[0] > 0:
                # Clearly behind: what grows is not a lead.
                outcome = "against"
            pieces.append(
                seen.piece(
                    outcome,
                    f"lead {_percent(1 - np.exp(after))} here,"
                    f" {_percent(1 - np.exp(before))} at δ = {smaller:g}",
                )
            )
    return Judgement(pieces)


def _lead(seen: Seen) -> tuple[float, Error] | None:
    """Logarithm of Causal DQ's delay over the best rival's, and its error."""
    others = {method: row for method, row in seen.rivals().items() if method != OURS}
    if not (seen.has(OURS) and others):
        return None
    return log_of_ratio(seen.rows[OURS], others[_best(others)])


def undetected(
    tidy: Tidy,
    *,
    table: str,
    methods: list[str],
    deltas: list[float] | None = None,
    settings: list[str] | None = None,
) -> Judgement:
    """The shift is not detected: delays are no shorter than false alarms alone would make them.

    A run without an alarm counts the horizon; where false alarms come every ARL0 steps, one within
    the horizon is no detection.
    """
    pieces = []
    for seen in all_beside(tidy, published_cells(tidy, [table], deltas, settings)):
        for method in methods:
            if not seen.has(method):
                piece = seen.absent(method)
            else:
                row = seen.rows[method]
                horizon = tidy.config.scenarios[row["scenario"]].horizon
                due = _by_chance(row["arl0"], horizon)
                clearly = row["add"] + SURELY * row["se"] < due * (1 - 1e-9)
                outcome: Outcome = "against" if clearly else "for"
                detail = f"{delay_text(row)}; {due:.0f} by false alarms alone, horizon {horizon}"
                piece = seen.piece(outcome, detail)
            pieces.append(piece)
    return Judgement(pieces)


def _by_chance(run_length: float, horizon: float) -> float:
    """Mean delay without a shift, if false alarms come at a constant rate."""
    if np.isinf(run_length):
        return horizon
    return float(run_length * -np.expm1(-horizon / run_length))


def no_alarm(tidy: Tidy, *, table: str) -> Judgement:
    """Without a shift Causal DQ never alarms.

    Under the paper's limit alone: the fair one is set so that everyone does.
    """
    pieces, quiet, others = [], 0, 0
    for _, cell in published_cells(tidy, [table], deltas=[0.0]).iterrows():
        seen = beside(tidy, cell, "paper")
        if OURS not in seen.rows:
            pieces.append(seen.absent(OURS))
            continue
        row = seen.rows[OURS]
        alarmed = 1 - row["censored"]
        outcome: Outcome = "for" if alarmed < 1e-9 else "against"
        detail = f"{_percent(alarmed)} of the runs alarm; ARL0 {run_length(row['arl0'])}"
        pieces.append(seen.piece(outcome, detail))
        rest = [row for method, row in seen.rows.items() if method != OURS]
        others += len(rest)
        quiet += sum(row["censored"] > 1 - 1e-9 for row in rest)
    note = (
        f"of the other methods in these cells {quiet} of {others} are silent, too;"
        " in the fair protocol alarms are due by design"
    )
    return Judgement(pieces, notes={"paper": note} if others else {})


def nominal_limit(tidy: Tidy, *, method: str, tables: list[str]) -> Judgement:
    """The nominal chi-square limit is exceeded as often as its level says.

    If it were exceeded in a share alpha of the in-control steps, at least alpha of the runs
    would alarm in any stretch before the change, and a false alarm would take at least
    1 / (2 alpha) steps on average, however the steps depend on each other. Both are
    consequences of the law at single steps alone.
    """
    add = tidy.add
    rows = add[(add["method"] == method) & (add["protocol"] == "paper")]
    rows = rows[rows["table"].isin(tables)].drop_duplicates("scenario")
    alpha = 1 - tidy.config.calibration.nominal_level
    tail = (1 - tidy.config.evaluation.confidence) / 2
    pieces = []
    for _, row in rows.iterrows():
        low, high = share_interval(row["false_alarm"], int(row["n_rep"]), tail)
        rare, frequent = high < alpha, row["arl0_high"] < 1 / (2 * alpha)
        sure = low >= alpha and row["arl0_low"] >= 1 / (2 * alpha)
        outcome: Outcome = "against" if rare or frequent else "for" if sure else "open"
        pieces.append(
            Piece(
                f"{row['scenario']}: p = {row['p']}, m = {row['m']}",
                outcome,
                f"{label(method)}: {_percent(row['false_alarm'])} of the runs alarm before the"
                f" change ({_percent(low)} to {_percent(high)}), due are {_percent(alpha)} or more;"
                f" ARL0 {run_length(row['arl0'])}",
                "paper",
                table_name(str(row["table"]), str(row["scenario"])),
            )
        )
    absent = Piece("the paper's limit", "missing", f"not in this profile: {label(method)}")
    return Judgement(pieces or [absent], unit="settings")


def null_law(tidy: Tidy, *, tables: list[str]) -> Judgement:
    """With all streams read, the statistic has the chi-square law: as printed, and as run.

    The printed quadratic form has the law of chi-square over 2 - lambda once it is
    stationary, so its chance to exceed the limit is known.
    """
    config = tidy.config
    alpha, decay = 1 - config.calibration.nominal_level, config.statistic.decay
    sizes = sorted({s.p for s in config.sources.values() if isinstance(s, SimulationSource)})
    pieces = []
    for p in sizes:
        chance = float(chdtrc(p, (2 - decay) * chdtri(p, alpha)))
        near: Outcome = "for" if abs(chance - alpha) < 0.1 * alpha else "against"
        detail = f"exceeds the limit with probability {chance:.2g}, nominal {alpha:.2g}"
        pieces.append(Piece(f"as printed, p = {p}, λ = {decay:g}", near, detail))
    run = nominal_limit(tidy, method="full_observation", tables=tables)
    form = f"as run ({config.statistic.form} form)"
    return Judgement([*pieces, *run.pieces], unit="settings", notes={"paper": form})


def share_interval(share: float, n: int, tail: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share of n."""
    hits = share * n
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return low, high


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"
