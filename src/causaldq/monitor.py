"""One plant, row by row: which sensors to read next, the statistic, the alarm, the suspects."""

import json
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from causaldq.calibration import RunLength
from causaldq.discovery.effects import direct_effects
from causaldq.errors import CausalDQError, ConfigError, DataError
from causaldq.files import canonical_json, read_arrays, write_arrays
from causaldq.limits import Limit, cross_fitted_limit
from causaldq.methods.base import Method, Problem, State
from causaldq.methods.causal_sr import CausalSr, CausalSrState
from causaldq.methods.registry import saved_method
from causaldq.methods.resolve import MethodLike, name_of, resolved
from causaldq.models.rows import block_length, estimate_covariance, fit_scale
from causaldq.normal import graphs_for, table
from causaldq.reading import NamedCause, Reading
from causaldq.rootcause import majority, ranked_causes
from causaldq.seeds import generator
from causaldq.state_arrays import digest, filled, flat, part
from causaldq.statistic import StatisticSettings
from causaldq.types import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1
"""Of the file format."""
SHOWN = 5
"""Streams and causes named in a reading."""
LARGEST = 1e6
"""A value so many standard deviations from its mean is no reading: the sensor is at fault."""
FOLDS = 5
PATHS = 200
FALLS_SHORT = 0.5
"""A run length below this share of what was asked for is said first."""


class Monitor:
    """A calibrated method at work on one plant.

    Made by `Monitor.fit` from rows of normal operation, or by `Monitor.load`. Reads only the
    sensors it asks for.

    Attributes
    ----------
    next : list of str
        Names of the sensors to read at the next step.
    names : tuple of str
        All streams.
    limit : Limit
        The alarm limit, with the run length asked for and reached.

    Examples
    --------
    >>> from causaldq import Monitor, example_plant
    >>> rows = example_plant()
    >>> monitor = Monitor.fit(rows[:700], sensors=3, arl0=100, method="greedy")
    >>> len(monitor.next)
    3
    >>> reading = monitor.update(rows.loc[700, monitor.next], time=700)
    >>> reading.alarm, reading.missing
    (False, [])
    """

    def __init__(
        self,
        method: Method[Any],
        *,
        name: str,
        names: Sequence[str],
        mean: Floats,
        sd: Floats,
        limit: Limit,
        options: Mapping[str, Any] | None = None,
        seed: int = 0,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Put a method to work that is calibrated already; `fit` is the usual way.

        Parameters
        ----------
        method : Method
            Made for standardised streams.
        name : str
            Of the method.
        names : sequence of str
            Of the streams, in the order of the method's problem.
        mean, sd : array, shape (p,)
            In-control means and standard deviations in the plant's units.
        limit : Limit
            Alarm limit.
        options : mapping, optional
            Settings that the method was made with.
        seed : int
            Of the random choices of sensors.
        facts : mapping, optional
            What the summary tells of the fit.
        """
        self.method, self.name, self.names = method, name, tuple(names)
        self.mean, self.sd = np.asarray(mean, np.float64), np.asarray(sd, np.float64)
        self.limit, self.options, self.seed = limit, dict(options or {}), seed
        self.facts = dict(facts or {})
        _check(self)
        self._rng = generator(seed, name, "follow")
        self._state: State = method.start(1, None, self._rng)
        self.step = 0
        self._streams = method.choose(self._state, self._rng)

    # --- making one ----------------------------------------------------------------------------

    @classmethod
    def fit(
        cls,
        rows: "pd.DataFrame | npt.ArrayLike",
        sensors: int,
        *,
        arl0: float = 200.0,
        method: MethodLike = "bayes_posterior",
        graph: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
        paths: int = PATHS,
        seed: int = 0,
        progress: bool = True,
    ) -> Self:
        """Learn normal operation, and calibrate a method to a rate of false alarms.

        Scale and covariance come from all rows; the alarm limit from rows that the method was not
        fitted on (`causaldq.limits.cross_fitted_limit`), in blocks that keep their memory.

        Parameters
        ----------
        rows : DataFrame or array, shape (n, p)
            Rows of normal operation, evenly spaced in time, one column per stream, without gaps.
        sensors : int
            Streams that can be read at a time, m.
        arl0 : float
            Wanted steps to a false alarm.
        method : str, class or callable
            A name (see `causaldq.method_names`), a subclass of `Method`, or a function of the
            `Problem`. The default is a filter over the time of the change and the streams that
            shifted.
        graph : array, shape (p, p), optional
            What causes what, entry [i, j] true if stream i acts on stream j, for methods that weigh
            root causes (`causal_sr`). By default they draw several graphs that the rows allow.
        names : sequence of str, optional
            Of the streams, where the rows have no columns.
        paths : int
            In-control paths behind the limit; its error is about 1 / sqrt(paths).
        seed : int
            The same rows and seed give the same monitor.
        progress : bool
            Show a bar at a terminal.

        Returns
        -------
        Monitor

        Raises
        ------
        CausalDQError
            If the rows cannot be used; the message names the stream, the row and the remedy.
        """
        labels, values = table(rows, names)
        p = len(labels)
        if not 1 <= sensors <= p:
            raise ConfigError(f"{sensors} sensors for {p} streams; give 1 to {p}")
        scale = fit_scale(values, labels)
        scaled = scale.apply(values)
        covariance = estimate_covariance(scaled)
        block = block_length(scaled)
        graphs = graphs_for(method, graph, labels, scaled, scale.mean, scale.sd, seed)
        limit = cross_fitted_limit(
            lambda problem: resolved(method, problem),
            values,
            labels,
            sensors,
            graphs,
            arl0=arl0,
            block=block,
            paths=paths,
            folds=FOLDS,
            seed=seed,
            progress=progress,
        )
        return cls(
            resolved(method, Problem(covariance.matrix, sensors, graphs=graphs)),
            name=name_of(method),
            names=labels,
            mean=scale.mean,
            sd=scale.sd,
            limit=limit,
            seed=seed,
            facts={
                "rows": len(values),
                "covariance": covariance.estimator,
                "shrinkage": covariance.shrinkage,
                "memory": block,
            },
        )

    # --- at work -------------------------------------------------------------------------------

    @property
    def next(self) -> list[str]:
        """Names of the sensors to read at the next step."""
        return [self.names[i] for i in self._streams[0]]

    def update(
        self, values: "Mapping[str, Any] | pd.Series[Any] | Sequence[Any]", time: Any = None
    ) -> Reading:
        """Take in one row of values, and choose the next sensors.

        Parameters
        ----------
        values : mapping, Series or sequence
            Values by stream name, in the plant's units; or, without names, one for each sensor of
            `next`, in its order. Sensors that gave nothing may be left out or be None or NaN;
            values of streams that were not asked for are not looked at.
        time : any
            Kept with the reading.

        Returns
        -------
        Reading
        """
        asked = self._streams[0]
        given = self._given(values)
        scaled = (given - self.mean[asked]) / self.sd[asked]
        usable = np.abs(scaled) <= LARGEST  # false for NaN
        read, missing = asked[usable], asked[~usable]
        self._state = self.method.observe(
            self._state, read[None, :], scaled[usable][None, :], self._rng
        )
        self.step += 1
        statistic = float(self.method.statistic(self._state)[0])
        strength = self.method.contributions(self._state)[0]
        alarm = statistic > self.limit.value
        causes = self._causes(read) if alarm else []
        self._streams = self.method.choose(self._state, self._rng)
        return Reading(
            step=self.step,
            time=time,
            alarm=alarm,
            statistic=statistic,
            limit=self.limit.value,
            contributions={
                self.names[i]: float(strength[i])
                for i in np.argsort(-strength, kind="stable")[:SHOWN]
            },
            causes=causes,
            read=[self.names[i] for i in read],
            missing=[self.names[i] for i in missing],
            next=self.next,
        )

    def _given(self, values: Any) -> Floats:
        """Values of the sensors asked for, (m,), NaN where there is none."""
        if hasattr(values, "to_dict"):
            values = values.to_dict()
        if isinstance(values, Mapping):
            unknown = [name for name in values if name not in self.names]
            if unknown:
                raise DataError(
                    f"there is no stream {unknown[0]!r}; the monitor knows {', '.join(self.names)}"
                )
            return np.array([_number(values.get(name)) for name in self.next])
        listed = list(values)
        if len(listed) != len(self.next):
            raise DataError(
                f"{len(listed)} values for {len(self.next)} sensors; give one for each of"
                f" {', '.join(self.next)}, or values by name"
            )
        return np.array([_number(value) for value in listed])

    def _causes(self, read: Ints) -> list[NamedCause]:
        method, names = self.method, self.names
        if not isinstance(method, CausalSr) or not isinstance(self._state, CausalSrState):
            return []
        graph = np.zeros((len(names), len(names)), dtype=bool)
        if method.problem.graphs is not None:
            graph = majority(method.problem.graphs)
        effects = direct_effects(graph, method.covariance)
        return [
            NamedCause(
                names[cause.stream],
                cause.posterior,
                cause.shift,
                [[names[i] for i in e.path] for e in cause.explanations if len(e.path) > 1],
            )
            for cause in ranked_causes(method, self._state, 0, read, effects, SHOWN)
        ]

    def reset(self) -> None:
        """Forget what was read since the monitor began, as after a repair."""
        self._state = self.method.start(1, None, self._rng)
        self._streams = self.method.choose(self._state, self._rng)

    # --- what it is ----------------------------------------------------------------------------

    @property
    def falls_short(self) -> bool:
        """Whether false alarms come more than twice as often as asked for."""
        reached = self.limit.reached.value
        return reached is not None and reached < FALLS_SHORT * self.limit.asked

    def summary(self) -> str:
        """What was fitted, and the rate of false alarms asked for and reached.

        Returns
        -------
        str
            Some lines for people; where the promise is not kept, that comes first.

        Examples
        --------
        >>> from causaldq import Monitor, example_plant
        >>> monitor = Monitor.fit(example_plant()[:700], sensors=3, arl0=100, method="greedy")
        >>> print(monitor.summary().splitlines()[0])
        greedy: 8 streams, 3 read at a time, fitted on 700 rows
        """
        reached = self.limit.reached
        value = "no false alarm at all" if reached.value is None else f"{reached.value:.0f} reached"
        high = "no upper limit" if reached.high is None else f"{reached.high:.0f}"
        lines = [
            f"{self.name}: {len(self.names)} streams, {self.method.problem.m} read at a time"
            + (f", fitted on {self.facts['rows']} rows" if "rows" in self.facts else ""),
            f"steps to a false alarm: {self.limit.asked:.0f} asked, {value} on rows left out of the"
            f" fit (95% interval {reached.low:.0f} to {high})",
        ]
        if "covariance" in self.facts:
            shrunk, memory = self.facts["shrinkage"], self.facts["memory"]
            lines.append(
                f"covariance: {self.facts['covariance'].replace('_', ' ')}"
                + (f", shrunk by {shrunk:.0%}" if shrunk else "")
                + (f"; memory of {memory} rows" if memory > 1 else "; rows have no memory")
            )
        if self.falls_short:
            lines.insert(
                0,
                "DO NOT RELY ON IT: false alarms come more than twice as often as asked for",
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Monitor {self.name}: {len(self.names)} streams, step {self.step}>"

    # --- in a file -----------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the monitor with all that it has seen, so that `load` resumes where it is.

        Parameters
        ----------
        path : path
            The file appears whole or not at all.
        """
        problem = self.method.problem
        arrays: dict[str, npt.NDArray[Any]] = {
            "mean": self.mean,
            "sd": self.sd,
            "covariance": problem.covariance,
            "streams": self._streams,
            **{f"learned.{key}": array for key, array in self.method.learned().items()},
            **{f"state.{key}": array for key, array in flat(self._state).items()},
        }
        if problem.graphs is not None:
            arrays["graphs"] = problem.graphs
        reached = self.limit.reached
        facts = {
            "version": VERSION,
            "method": self.name,
            "options": self.options,
            "names": list(self.names),
            "sensors": problem.m,
            "statistic": problem.statistic.model_dump(),
            "limit": self.limit.value,
            "asked": self.limit.asked,
            "reached": [reached.value, reached.low, reached.high],
            "seed": self.seed,
            "facts": self.facts,
            "step": self.step,
            "rng": self._rng.bit_generator.state,
            "content": digest(arrays),
        }
        text = np.frombuffer(canonical_json(facts).encode(), dtype=np.uint8)
        write_arrays(Path(path), {**arrays, "monitor": text})

    @classmethod
    def load(cls, path: str | PathLike[str], *, method: MethodLike | None = None) -> Self:
        """Read a monitor that `save` wrote. Nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.
        method : class or callable, optional
            For a monitor with a method of your own: what makes it.

        Returns
        -------
        Monitor
            It goes on from the row after the last one that it had seen.

        Raises
        ------
        CausalDQError
            If the file is damaged, of another version, or could never alarm.
        """
        place = Path(path)
        arrays = read_arrays(place, "monitor", "mean", "sd", "covariance", "streams")
        try:
            facts = json.loads(arrays.pop("monitor").tobytes())
            if facts["version"] != VERSION:
                raise DataError(
                    f"{path} has version {facts['version']}; this is causaldq for version"
                    f" {VERSION}: fit it again"
                )
            if facts["content"] != digest(arrays):
                raise DataError(f"{path} is damaged: its arrays are not those that were written")
            problem = Problem(
                arrays["covariance"],
                facts["sensors"],
                StatisticSettings.model_validate(facts["statistic"]),
                arrays.get("graphs"),
            )
            if method is None:
                made = saved_method(facts["method"]).rebuilt(
                    problem, facts["options"], part(arrays, "learned")
                )
            else:
                made = resolved(method, problem)
            monitor = cls(
                made,
                name=facts["method"],
                names=facts["names"],
                mean=arrays["mean"],
                sd=arrays["sd"],
                limit=Limit(facts["limit"], facts["asked"], RunLength(*facts["reached"])),
                options=facts["options"],
                seed=facts["seed"],
                facts=facts["facts"],
            )
            monitor.step = int(facts["step"])
            monitor._state = filled(monitor._state, part(arrays, "state"))
            monitor._streams = arrays["streams"]
            monitor._rng.bit_generator.state = facts["rng"]
        except CausalDQError as error:
            raise type(error)(f"{path}: {error}".removeprefix(f"{path}: {path} ")) from None
        except (KeyError, TypeError, ValueError, ValidationError, np.linalg.LinAlgError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"{path} is no monitor, or damaged ({reason}); fit it again") from None
        return monitor


def _check(monitor: Monitor) -> None:
    """Refuse what could never alarm, or could not tell streams apart."""
    p = monitor.method.problem.p
    names, limit = monitor.names, monitor.limit.value
    if len(names) != p or len(set(names)) != p:
        raise DataError(f"{len(set(names))} different names for {p} streams")
    if not math.isfinite(limit):
        raise DataError(f"the alarm limit is {limit}, which nothing can exceed or fall below")
    if monitor.mean.shape != (p,) or monitor.sd.shape != (p,):
        raise DataError(f"means and standard deviations must have shape ({p},)")
    bad = ~(np.isfinite(monitor.mean) & np.isfinite(monitor.sd) & (monitor.sd > 0))
    if bad.any():
        raise DataError(
            f"stream {names[int(np.argmax(bad))]!r} has no finite mean and positive standard"
            " deviation"
        )
    try:
        np.linalg.cholesky(monitor.method.problem.covariance + 1e-9 * np.eye(p))
    except np.linalg.LinAlgError:
        raise DataError("the covariance of the streams is not positive definite") from None


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan
