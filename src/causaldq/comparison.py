"""Methods side by side: delays at one rate of false alarms."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from causaldq.calibration import measured_run_length
from causaldq.covariance import is_diagonal
from causaldq.errors import ConfigError
from causaldq.estimates import estimate
from causaldq.limits import CONFIDENCE, RESAMPLES, Limit, calibrate, true_graph
from causaldq.methods.any_shift import AnyShift
from causaldq.methods.base import Method, Problem
from causaldq.methods.bayes_posterior import BayesPosterior
from causaldq.methods.causal_sr import CausalSr
from causaldq.methods.resolve import MethodLike, name_of, resolved
from causaldq.models.streams import StreamModel
from causaldq.progress import Reporter
from causaldq.run import delays, statistics
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
    limit: Literal["simulated", "bound"] = "simulated",
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
    limit : {"simulated", "bound"}
        Whether limits are those at which simulated paths reach `arl0`, or those that guarantee it
        without simulation, for methods that have such a one (see `bound_limit`); `reached` then
        says how cautious it is, and the delays what that costs.
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
    if replications < 2 or before < 0 or horizon < 1 or not shifts or not named:
        raise ConfigError(
            "give at least one method, two replications, one shift, and one step after the change"
        )
    if limit not in ("simulated", "bound"):
        raise ConfigError(f"limit is {limit!r}; give 'simulated' or 'bound'")
    problem = Problem(streams.covariance, sensors, graphs=true_graph(streams))
    values = streams.in_control(replications, before + horizon, generator(seed, "values"))
    changes = [shift.change(streams, replications, generator(seed, "shifts")) for shift in shifts]
    rows = []
    with Reporter("evaluate", len(named), "method", lines=False) as reporter:
        for name, method in named.items():
            made = resolved(method, problem)
            alarm = (
                calibrate(method, streams, sensors, arl0=arl0, paths=paths, seed=seed)
                if limit == "simulated"
                else _bounded(made, streams, arl0, paths, seed)
            )
            rng = generator(seed, "evaluate")
            nobody = [None for _ in changes]
            outcomes = delays(made, values, before, changes, nobody, alarm.value, rng)
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
                        "limit": alarm.value,
                        "reached": np.inf if alarm.reached.value is None else alarm.reached.value,
                    }
                )
            reporter.advance(name)
    return pd.DataFrame(rows)


def bound_limit(method: Method[Any], arl0: float) -> float:
    """The limit that guarantees a run length, whatever the sensors do, without simulation.

    In control, a Shiryaev-Roberts sum R grows by one a step on average, so that the expected time
    of an alarm is the expected sum at the alarm: it is at least A if the alarm is raised at A.

    `bayes_posterior` counts each of its candidates as often as there are times it stands for. Those
    that have begun by step n weigh at most g n + c, with g = (levels + 1) / 2 and
    c = (3 * 2^(levels - 1) - 1) / 2 - g, so that it has to be g ARL0 + c. Where streams are
    correlated, its sum and that of `any_shift` are not of likelihood ratios: there is no bound.

    Parameters
    ----------
    method : Method
        A root-cause mixture, or `any_shift` or the filter on independent streams.
    arl0 : float
        Steps to a false alarm.

    Returns
    -------
    float
        Of the alarm statistic, the log of R.

    Examples
    --------
    >>> from causaldq.methods import CausalSrNoGraph
    >>> round(bound_limit(CausalSrNoGraph(Problem(np.eye(5), 2)), 200), 3)
    5.298
    """
    if not 1 <= arl0 < np.inf:
        raise ConfigError(f"arl0 is {arl0}; give the steps to a false alarm, at least 1")
    if isinstance(method, CausalSr):
        return float(np.log(arl0))
    if not isinstance(method, AnyShift | BayesPosterior):
        raise ConfigError(
            f"the statistic of {type(method).__name__} is no Shiryaev-Roberts sum: there is no"
            ' bound for its limit; give limit="simulated"'
        )
    if not is_diagonal(method.problem.covariance):
        raise ConfigError(
            f"{type(method).__name__} has a bound for its limit on independent streams only;"
            ' give limit="simulated"'
        )
    if isinstance(method, AnyShift):
        return float(np.log(arl0))
    levels = method.settings.levels
    growth = (levels + 1) / 2
    first = (3 * 2 ** (levels - 1) - 1) / 2 - growth
    return float(np.log(growth * arl0 + first))


def _bounded(
    method: Method[Any], streams: StreamModel, arl0: float, paths: int, seed: int
) -> Limit:
    """The guaranteed limit, and the run length that it reaches on the paths of `calibrate`."""
    if paths < 10:
        raise ConfigError(f"{paths} paths; give at least 10")
    value = bound_limit(method, arl0)
    steps = int(np.ceil(5 * arl0))
    fresh = streams.in_control(paths, steps, generator(seed, "check"), held_out=True)
    seen = statistics(method, fresh, None, generator(seed, "check", "method"), lambda _: value)
    rng = generator(seed, "interval")
    return Limit(value, arl0, measured_run_length(seen, value, CONFIDENCE, RESAMPLES, rng))
