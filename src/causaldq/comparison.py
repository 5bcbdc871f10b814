"""Methods side by side: delays at one rate of false alarms."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from causaldq import limits
from causaldq.arguments import number, seed_of, sensors_of, whole
from causaldq.calibration import measured_run_length
from causaldq.callables import callable_method
from causaldq.covariance import Structured, is_diagonal
from causaldq.errors import ConfigError
from causaldq.estimates import estimate
from causaldq.limits import CONFIDENCE, RESAMPLES, Limit, true_graph
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

MOST_VALUES = 1e10
"""Of all paths together: 80 GB."""
HORIZON = 5.0
"""Length of the paths behind a limit, in units of the run length."""


def calibrate(
    method: MethodLike,
    streams: StreamModel,
    sensors: int,
    *,
    arl0: float = 200.0,
    paths: int = 400,
    horizon: float = HORIZON,
    seed: int = 0,
) -> Limit:
    """The alarm limit of a method, by simulation.

    Parameters
    ----------
    method : str, class or callable
        A name (see `method_names`), a subclass of `Method`, or a function of the `Problem`.
    streams : StreamModel
        Where in-control values come from, such as `simulate` gives.
    sensors : int
        m, streams that can be read at a time.
    arl0 : float
        Wanted steps to a false alarm.
    paths : int
        In-control paths to set the limit on, and as many fresh ones to check it.
    horizon : float
        Length of the paths, in units of `arl0`.
    seed : int
        The same seed gives the same limit; all methods see the same values.

    Returns
    -------
    Limit

    Examples
    --------
    >>> from causaldq import simulate
    >>> limit = calibrate("greedy", simulate(5, degree=0), sensors=2, arl0=20, paths=200)
    >>> 15 < limit.reached.value < 27
    True
    """
    _check_streams(streams)
    sensors, paths, seed = sensors_of(sensors, streams.p), whole("paths", paths, 10), seed_of(seed)
    horizon = number("horizon", horizon, "of run lengths, 1 or more", lambda x: x >= 1)
    arl0 = _run_length(arl0, horizon * paths * streams.p)
    return limits.calibrate(
        callable_method(method), streams, sensors,
        arl0=arl0, paths=paths, horizon=horizon, seed=seed,
    )  # fmt: skip


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

    if isinstance(methods, str) or not isinstance(methods, Collection):
        raise ConfigError(f"methods are {methods!r}; give a list, or a mapping of names to methods")
    named = dict(methods) if isinstance(methods, Mapping) else {name_of(m): m for m in methods}
    if len(named) < len(methods):
        raise ConfigError("two methods have the same name; give a mapping with names of their own")
    if not isinstance(shifts, Collection) or not all(isinstance(s, Shift) for s in shifts):
        raise ConfigError(f"shifts are {shifts!r}; give a list of Shift")
    if not shifts or not named:
        raise ConfigError("give at least one method and one shift")
    _check_streams(streams)
    sensors, seed = sensors_of(sensors, streams.p), seed_of(seed)
    replications, before = whole("replications", replications, 2), whole("before", before, 0)
    horizon, paths = whole("horizon", horizon, 1), whole("paths", paths, 10)
    arl0 = _run_length(arl0, HORIZON * paths * streams.p)
    confidence = number("confidence", confidence, "between 0 and 1", lambda x: 0 < x < 1)
    if limit not in ("simulated", "bound"):
        raise ConfigError(f"limit is {limit!r}; give 'simulated' or 'bound'")
    problem = Problem(streams.covariance, sensors, graphs=true_graph(streams))
    values = streams.in_control(replications, before + horizon, generator(seed, "values"))
    changes = [shift.change(streams, replications, generator(seed, "shifts")) for shift in shifts]
    rows = []
    with Reporter("evaluate", len(named), "method", lines=False) as reporter:
        for name, method in named.items():
            made = resolved(callable_method(method), problem)
            alarm = (
                limits.calibrate(method, streams, sensors, arl0=arl0, paths=paths, seed=seed)
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


def _check_streams(streams: Any) -> None:
    """Refuse streams whose parts do not belong together, or that cannot be drawn from."""
    if not isinstance(streams, StreamModel):
        raise ConfigError(
            f"the streams are a {type(streams).__name__}; give a StreamModel, such as `simulate`"
            " makes"
        )
    p = streams.p
    for name, wanted in (("covariance", (p, p)), ("effects", (p, p))):
        if np.shape(getattr(streams, name)) != wanted:
            raise ConfigError(
                f"the {name} of {p} streams has shape {np.shape(getattr(streams, name))}; give"
                f" {wanted}"
            )
    if isinstance(streams.covariance, Structured):
        return
    matrix = np.asarray(streams.covariance)
    if not np.allclose(matrix, matrix.T):
        raise ConfigError("the covariance of the streams is not symmetric; give [i, j] as [j, i]")
    if streams.records is None and streams.law is None:
        try:
            np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            raise ConfigError(
                "the covariance of the streams is not positive definite, so that nothing can be"
                " drawn from it; drop streams that follow from others"
            ) from None


def _run_length(given: Any, values: float) -> float:
    """Of a false alarm, if its paths fit into memory: of so many values for each step of it."""
    arl0 = number("arl0", given, "of steps to a false alarm, more than 1", lambda x: x > 1)
    if arl0 * values > MOST_VALUES:
        raise ConfigError(
            f"arl0 is {arl0:g}, and paths several times as long would not fit into"
            f" memory: give at most {MOST_VALUES / values:g}, or fewer paths"
        )
    return arl0


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
    value = bound_limit(method, arl0)
    steps = int(np.ceil(HORIZON * arl0))
    fresh = streams.in_control(paths, steps, generator(seed, "check"), held_out=True)
    seen = statistics(method, fresh, None, generator(seed, "check", "method"), lambda _: value)
    rng = generator(seed, "interval")
    return Limit(value, arl0, measured_run_length(seen, value, CONFIDENCE, RESAMPLES, rng))
