"""Alarm limits for a wanted run length: on simulated paths, or cross-fitted on recorded rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from causaldq.calibration import (
    RunLength,
    limit_at_most,
    limit_for,
    measured_run_length,
    run_lengths,
)
from causaldq.errors import ConfigError, DataError
from causaldq.methods.base import Method, Problem
from causaldq.methods.resolve import MethodLike, resolved
from causaldq.models.rows import Covariance, block_indices, estimate_covariance, fit_scale
from causaldq.models.streams import StreamModel
from causaldq.progress import Reporter
from causaldq.run import STRIDE, simulated_limit, statistics, step
from causaldq.seeds import generator
from causaldq.types import Bools, Floats, Ints

CONFIDENCE = 0.95
RESAMPLES = 1000
"""Bootstrap samples behind the interval of a run length."""
MARGIN = 2.0
"""Paths stop above the limit of so many times the run length that is asked for."""


@dataclass(frozen=True)
class Limit:
    """An alarm limit, and what it is worth.

    Parameters
    ----------
    value : float
        Alarm when the statistic exceeds it.
    asked : float
        Steps to a false alarm that were asked for, ARL0.
    reached : RunLength
        Steps to a false alarm on values that the limit was not set on, with a 95% interval.

    Examples
    --------
    >>> from causaldq import Monitor, example_plant
    >>> monitor = Monitor.fit(example_plant()[:700], sensors=3, arl0=100, method="greedy")
    >>> monitor.limit.asked
    100
    """

    value: float
    asked: float
    reached: RunLength


def calibrate(
    method: MethodLike,
    streams: StreamModel,
    sensors: int,
    *,
    arl0: float = 200.0,
    paths: int = 400,
    horizon: float = 5.0,
    seed: int = 0,
) -> Limit:
    """`causaldq.calibrate`, with what it was given looked at."""
    check_arl0(arl0)
    if paths < 10 or horizon < 1:
        raise ConfigError(f"{paths} paths of {horizon} run lengths: give at least 10, of 1 or more")
    made = resolved(method, Problem(streams.covariance, sensors, graphs=true_graph(streams)))
    steps = int(np.ceil(arl0 * horizon))
    to_set, to_check = (
        streams.in_control(paths, steps, generator(seed, purpose), held_out=purpose == "check")
        for purpose in ("set", "check")
    )
    value = simulated_limit(made, to_set, arl0, generator(seed, "set", "method"))
    fresh = statistics(made, to_check, None, generator(seed, "check", "method"), lambda _: value)
    rng = generator(seed, "interval")
    return Limit(value, arl0, measured_run_length(fresh, value, CONFIDENCE, RESAMPLES, rng))


def true_graph(streams: StreamModel) -> Bools | None:
    """The graph of simulated streams, for methods that want one; None where it is not known."""
    return (streams.effects != 0)[None] if streams.effects.any() else None


def check_arl0(arl0: float) -> None:
    if not (np.isfinite(arl0) and arl0 > 1):
        raise ConfigError(f"arl0 is {arl0}; give the wanted steps to a false alarm, more than 1")


# --- recorded rows -----------------------------------------------------------------------------


@dataclass
class _Fold:
    """A part of the rows, watched by a method that was fitted without it."""

    method: Method[Any]
    rows: Floats
    """(r, p), in the scale of the other parts."""
    paths: Ints
    """(n, steps), which of the rows each path takes."""
    rng: np.random.Generator
    state: Any
    running: Ints
    seen: Floats
    """Statistics (n, steps); infinite once a path has stopped."""


def cross_fitted_limit(
    make: Callable[[Problem], Method[Any]],
    rows: Floats,
    names: tuple[str, ...],
    sensors: int,
    graphs: Bools | None,
    *,
    arl0: float,
    block: int,
    paths: int,
    folds: int,
    seed: int,
    progress: bool = False,
    estimate: Callable[[Floats], Covariance] = estimate_covariance,
) -> Limit:
    """The limit on recorded rows (n, p), in their own units, without the same rows twice.

    Rows that estimate the scale and covariance look better behaved to a method than rows it has not
    seen, and a limit set on them is too low. So the rows are cut into parts; each is watched by the
    method fitted on all others, in blocks that keep the rows' memory, and the limit is set on all
    parts together. What it reaches is measured part by part, at the limit that the other parts set.
    """
    check_arl0(arl0)
    least = folds * max(10, 2 * block)
    if len(rows) < least:
        raise DataError(
            f"{len(rows)} rows of normal operation are too few for a limit: streams that remember"
            f" {block} rows ask for at least {least}"
        )
    steps = int(np.ceil(2 * arl0))
    parts = np.array_split(np.arange(len(rows)), folds)
    made = [
        _fold(
            make,
            rows,
            names,
            part,
            sensors,
            graphs,
            max(paths // folds, 1),
            steps,
            block,
            seed,
            estimate,
        )
        for part in parts
    ]
    looks = range(0, steps, STRIDE)
    reporter = Reporter("alarm limit", len(looks), "part", lines=False, bar=progress)
    with reporter:
        for first in looks:
            for fold in made:
                _advance(fold, first, min(first + STRIDE, steps))
            _stop_paths_above(made, min(first + STRIDE, steps), MARGIN * arl0)
            reporter.advance()
    value = limit_for(np.concatenate([fold.seen for fold in made]), arl0)
    return Limit(value, arl0, _reached_by_others(made, arl0, len(rows)))


def _fold(
    make: Callable[[Problem], Method[Any]],
    rows: Floats,
    names: tuple[str, ...],
    part: Ints,
    sensors: int,
    graphs: Bools | None,
    paths: int,
    steps: int,
    block: int,
    seed: int,
    estimate: Callable[[Floats], Covariance],
) -> _Fold:
    others = np.delete(rows, part, axis=0)
    scale = fit_scale(others, names)
    covariance = estimate(scale.apply(others)).matrix
    method = make(Problem(covariance, sensors, graphs=graphs))
    rng = generator(seed, "fold", int(part[0]))
    drawn = block_indices(len(part), paths, steps, min(block, len(part)), rng)
    return _Fold(
        method,
        scale.apply(rows[part]),
        drawn,
        rng,
        method.start(paths, None, rng),
        np.arange(paths),
        np.full((paths, steps), np.inf),
    )


def _advance(fold: _Fold, first: int, last: int) -> None:
    for t in range(first, last):
        if len(fold.running) == 0:
            return
        fold.state, _, fold.seen[fold.running, t] = step(
            fold.method, fold.state, fold.rows[fold.paths[fold.running, t]], fold.rng
        )


def _stop_paths_above(folds: list[_Fold], steps: int, arl0: float) -> None:
    """Paths far above what the limit can be have nothing more to say."""
    ceiling = limit_at_most(np.concatenate([fold.seen[:, :steps] for fold in folds]), arl0)
    for fold in folds:
        below = fold.seen[fold.running, :steps].max(axis=1) <= ceiling
        fold.running = fold.running[below]
        fold.state = fold.state.take(np.flatnonzero(below))


def _reached_by_others(folds: list[_Fold], arl0: float, rows: int) -> RunLength:
    """Run length of each part at the limit of the others, over all parts."""
    alarms, time = [], []
    for left_out, fold in enumerate(folds):
        others = [other.seen for number, other in enumerate(folds) if number != left_out]
        limit = limit_for(np.concatenate(others), arl0)
        length, without = run_lengths(fold.seen, limit)
        alarms.append(int((~without).sum()))
        time.append(int(length.sum()))
    seen, watched = np.array(alarms, np.float64), np.array(time, np.float64)
    # Blocks of the same rows, drawn again and again, tell no more than the rows.
    return known_from(watched * rows / watched.sum(), seen * rows / watched.sum())


def known_from(rows: Floats, alarms: Floats) -> RunLength:
    """The run length that recordings of so many rows (r,) gave, with its interval.

    That of a Poisson rate, from as many alarms and rows as there were, over how much more
    recordings differ from each other than by chance (Pearson's dispersion, at least 1). What
    several watches of the same rows saw is to be given as their mean.

    Examples
    --------
    >>> known_from(np.array([500.0]), np.array([2.5])).value
    200.0
    """
    from scipy.special import chdtri

    time, count = float(rows.sum()), float(alarms.sum())
    expected = rows * count / time
    spread = 1.0
    if len(rows) > 1 and count:
        spread = max(1.0, float(((alarms - expected) ** 2 / expected).sum()) / (len(rows) - 1))
    tail = (1.0 - CONFIDENCE) / 2
    known, seen = time / spread, count / spread
    low = float(2 * known / chdtri(2 * seen + 2, tail))
    high = float(2 * known / chdtri(2 * seen, 1 - tail)) if seen >= 0.5 else None
    return RunLength(time / count if count else None, low, high)
