"""Methods side by side: delays at one rate of false alarms."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from causaldq.errors import ConfigError
from causaldq.estimates import estimate
from causaldq.limits import calibrate, true_graph
from causaldq.methods.base import Problem
from causaldq.methods.resolve import MethodLike, name_of, resolved
from causaldq.models.streams import StreamModel
from causaldq.progress import Reporter
from causaldq.run import delays
from causaldq.seeds import generator
from causaldq.worlds.public import Shift

if TYPE_CHECKING:
    import pandas as pd


def evaluate(
    methods: Sequence[MethodLike] | Mapping[str, MethodLike],
    streams: StreamModel,
    sensors: int,
    shifts: Sequence[Shift],
    *,
    arl0: float = 200.0,
    replications: int = 200,
    before: int = 50,
    horizon: int = 200,
    paths: int = 400,
    confidence: float = 0.95,
    seed: int = 0,
) -> "pd.DataFrame":
    """Detection delays of several methods, each at its own limit for the same run length.

    All methods are calibrated alike, watch the same replications, and see only what they read.

    Parameters
    ----------
    methods : sequence or mapping
        Names, classes or functions of the `Problem`; a mapping gives them names of its own.
    streams : StreamModel
        Where values come from, such as `simulate` gives.
    sensors : int
        m, streams that can be read at a time.
    shifts : sequence of Shift
        Changes to detect.
    arl0 : float
        Steps to a false alarm that every method is calibrated to.
    replications : int
        Runs per method and shift.
    before, horizon : int
        In-control steps before the change, and steps after it; a run without an alarm counts the
        horizon.
    paths : int
        In-control paths behind each limit.
    confidence : float
        Level of the intervals.
    seed : int
        The same seed gives the same table.

    Returns
    -------
    pandas.DataFrame
        A row per method and shift: `delay` with its standard error `se` and interval `low` to
        `high`, the shares of runs without an alarm (`missed`) and with one before the change
        (`early`, left out of the delay), the `limit` and the run length it `reached` on fresh
        paths.

    Examples
    --------
    >>> from causaldq import simulate
    >>> table = evaluate(
    ...     ["bayes_posterior", "random"], simulate(12, degree=0), 3, [Shift(1.5, streams=2)],
    ...     arl0=50, replications=100, paths=100,
    ... )
    >>> table.columns[:4].tolist()
    ['method', 'size', 'streams', 'delay']
    >>> bool(table.delay[0] < table.delay[1])
    True
    """
    import pandas as pd

    named = dict(methods) if isinstance(methods, Mapping) else {name_of(m): m for m in methods}
    if len(named) < len(methods):
        raise ConfigError("two methods have the same name; give a mapping with names of their own")
    if replications < 2 or before < 0 or horizon < 1 or not shifts:
        raise ConfigError(
            "give at least two replications, one shift, and one step after the change"
        )
    problem = Problem(streams.covariance, sensors, graphs=true_graph(streams))
    values = streams.in_control(replications, before + horizon, generator(seed, "values"))
    changes = [shift.change(streams, replications, generator(seed, "shifts")) for shift in shifts]
    rows = []
    with Reporter("evaluate", len(named), "method", lines=False) as reporter:
        for name, method in named.items():
            limit = calibrate(method, streams, sensors, arl0=arl0, paths=paths, seed=seed)
            made = resolved(method, problem)
            rng = generator(seed, "evaluate")
            nobody = [None for _ in changes]
            outcomes = delays(made, values, before, changes, nobody, limit.value, rng)
            for shift, outcome in zip(shifts, outcomes, strict=True):
                counted = np.where(outcome.false_alarm, np.nan, outcome.delay)[None]
                found = estimate(counted, confidence, horizon)
                rows.append(
                    {
                        "method": name,
                        "size": shift.size,
                        "streams": shift.streams,
                        "delay": found.mean,
                        "se": found.se,
                        "low": found.low,
                        "high": found.high,
                        "missed": float(outcome.censored.mean()),
                        "early": float(outcome.false_alarm.mean()),
                        "limit": limit.value,
                        "reached": np.inf if limit.reached.value is None else limit.reached.value,
                    }
                )
            reporter.advance(name)
    return pd.DataFrame(rows)
