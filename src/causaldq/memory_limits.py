"""Alarm limits for a method that models the plant's memory.

Paths cannot be joined from blocks of rows here: the method would take every seam for a fault. The
limit is a bound, or comes from the model itself; what it reaches is measured on the rows as they
follow each other.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from causaldq.calibration import RunLength, limit_at_most, limit_for
from causaldq.errors import DataError
from causaldq.limits import Limit, check_arl0, known_from
from causaldq.methods.base import Method, Problem
from causaldq.models.in_control import InControl, fit_in_control
from causaldq.progress import Reporter
from causaldq.run import statistics, step
from causaldq.seeds import generator
from causaldq.types import Bools, Floats

Make = Callable[[Problem], Method[Any]]

WATCHES = 8
"""Runs over each part of the rows, with other first sensors."""
REFITS = 8
"""Plants of the model's making, each fitted anew."""
LEAST_PART = 20
"""Rows of a part that is left out."""
HORIZON = 3.0
"""Length of simulated paths, in units of the run length asked for."""


def bounding_limit(arl0: float) -> float:
    """log ARL0: enough for a sum of likelihood ratios, which is n on average after n steps.

    Examples
    --------
    >>> round(bounding_limit(200.0), 3)
    5.298
    """
    check_arl0(arl0)
    return math.log(arl0)


def refitted_limit(
    make: Make,
    normal: InControl,
    rows: int,
    names: tuple[str, ...],
    sensors: int,
    graphs: Bools | None,
    *,
    arl0: float,
    paths: int,
    seed: int,
    progress: bool = False,
) -> float:
    """The limit by simulation of fit and run together.

    Plants are drawn from the fitted model, as many rows of each as there were; each is fitted anew,
    and its method watches further rows of the same plant. So the limit counts what so few rows
    leave unknown, which simulating the run alone does not.
    """
    check_arl0(arl0)
    if normal.dynamics is None:
        raise DataError("rows without memory have limits of their own; see cross_fitted_limit")
    steps, each = int(np.ceil(HORIZON * arl0)), max(paths // REFITS, 1)
    seen = []
    with Reporter("alarm limit", REFITS, "plant", lines=False, bar=progress) as reporter:
        for number in range(REFITS):
            rng = generator(seed, "refit", number)
            drawn = normal.dynamics.simulate(1, rows, rng)[0]
            again = fit_in_control(drawn, names, "state_space")
            method = make(_problem(again, sensors, graphs))
            watched = again.scale.apply(normal.dynamics.simulate(each, steps, rng))
            seen.append(
                statistics(method, watched, None, rng, lambda so_far: limit_at_most(so_far, arl0))
            )
            reporter.advance()
    return limit_for(np.concatenate(seen), arl0)


def reached_on_rows(
    make: Make,
    value: float,
    rows: Floats,
    names: tuple[str, ...],
    sensors: int,
    graphs: Bools | None,
    *,
    arl0: float,
    folds: int,
    seed: int,
    progress: bool = False,
) -> Limit:
    """The limit `value`, with the run length it reaches on rows (n, p) left out of the fit.

    Each part of the rows is watched from its first to its last row by the method fitted without it;
    after an alarm the watch begins anew.
    """
    check_arl0(arl0)
    if len(rows) < folds * LEAST_PART:
        raise DataError(
            f"{len(rows)} rows of normal operation are too few to tell what the limit reaches:"
            f" give at least {folds * LEAST_PART}"
        )
    parts, alarms = np.array_split(np.arange(len(rows)), folds), []
    with Reporter("rows left out", folds, "part", lines=False, bar=progress) as reporter:
        for part in parts:
            others = fit_in_control(rows, names, "state_space", without=part)
            method = make(_problem(others, sensors, graphs))
            rng = generator(seed, "fold", int(part[0]))
            alarms.append(count_alarms(method, others.scale.apply(rows[part]), value, rng))
            reporter.advance()
    lengths = np.array([float(len(part)) for part in parts])
    return Limit(value, arl0, known_from(lengths, np.array(alarms)))


def reached_on_recordings(
    method: Method[Any], recordings: list[Floats], limit: float, seed: int
) -> RunLength:
    """Run length on recordings (n, p), standardised, that the method was not fitted on."""
    rng = generator(seed, "held out")
    alarms = [count_alarms(method, rows, limit, rng) for rows in recordings]
    return known_from(np.array([float(len(rows)) for rows in recordings]), np.array(alarms))


def count_alarms(
    method: Method[Any], rows: Floats, limit: float, rng: np.random.Generator
) -> float:
    """Alarms in rows (n, p), the mean of several watches; evidence begins anew after an alarm."""
    state = method.start(WATCHES, None, rng)
    alarms = 0
    for row in rows:
        state, _, value = step(method, state, np.tile(row, (WATCHES, 1)), rng)
        over = np.flatnonzero(value > limit)
        if len(over):
            alarms += len(over)
            state = method.again(state, over, None, rng)
    return alarms / WATCHES


def _problem(normal: InControl, sensors: int, graphs: Bools | None) -> Problem:
    return Problem(normal.covariance.matrix, sensors, graphs=graphs, dynamics=normal.dynamics)
