"""One plant, row by row: which sensors to read next, the statistic, the alarm, the suspects."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from causaldq.calibration import RunLength
from causaldq.discovery.effects import direct_effects
from causaldq.discovery.settings import DiscoverySettings, UncertaintySettings
from causaldq.errors import CausalDQError, ConfigError, DataError
from causaldq.files import canonical_json, read_arrays, write_arrays
from causaldq.fitting import LimitChoice, falls_short, fitted
from causaldq.limits import Limit
from causaldq.methods.base import Method, Problem, State
from causaldq.methods.causal_sr import CausalSr, CausalSrState
from causaldq.methods.registry import named_method, saved_method
from causaldq.methods.resolve import MethodLike, name_of, resolved
from causaldq.models.in_control import ModelChoice
from causaldq.models.rows import fit_scale
from causaldq.models.streams import Records, StreamModel
from causaldq.rootcause import majority, ranked_causes
from causaldq.seeds import generator
from causaldq.statistic import StatisticSettings
from causaldq.types import Bools, Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

VERSION = 1
"""Of the file format."""
SHOWN = 5
"""Streams and causes named in a reading."""
LARGEST = 1e6
"""A value so many standard deviations from its mean is no reading: the sensor is at fault."""
PATHS = 200


@dataclass(frozen=True)
class NamedCause:
    """A suspected root cause, in the plant's words.

    Examples
    --------
    >>> NamedCause("pump", 0.9, 1.5, [["pump", "flow"]]).stream
    'pump'
    """

    stream: str
    probability: float
    """Given that there was a change."""
    shift: float
    """Its own shift, in standard deviations."""
    paths: list[list[str]]
    """How it reaches the streams that were read, if it does."""


@dataclass(frozen=True)
class Reading:
    """What one row of values says.

    Examples
    --------
    >>> from causaldq import Monitor, example_plant
    >>> rows = example_plant()
    >>> monitor = Monitor.fit(rows[:700], sensors=3, arl0=100, method="greedy")
    >>> reading = monitor.update({monitor.next[0]: rows.loc[700, monitor.next[0]]})
    >>> len(reading.read), len(reading.missing), len(reading.next)
    (1, 2, 3)
    """

    step: int
    """Rows so far, this one included."""
    time: Any
    """As given with the values."""
    alarm: bool
    statistic: float
    """Minus infinity where nothing has been read yet."""
    limit: float
    contributions: dict[str, float]
    """The streams that speak for a change most, largest first."""
    causes: list[NamedCause]
    """At an alarm, if the method weighs root causes: the most likely ones first."""
    read: list[str]
    """Sensors whose values were taken in."""
    missing: list[str]
    """Sensors that were asked for and gave no usable value."""
    next: list[str]
    """Sensors to read at the next step."""


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
        model: ModelChoice = "auto",
        limit: LimitChoice = "auto",
        paths: int = PATHS,
        seed: int = 0,
        progress: bool = True,
    ) -> Self:
        """Learn normal operation, and calibrate a method to a rate of false alarms.

        Scale and covariance come from all rows; the alarm limit from rows that the method was not
        fitted on (`causaldq.limits.cross_fitted_limit`), in blocks that keep their memory. A method
        that models the memory itself (`innovation_filter`) has limits of its own
        (`causaldq.memory_limits`). Either way the summary says what run length was reached on rows
        left out of the fit.

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
        model : {"auto", "independent", "state_space"}
            Of normal rows, for methods that use one with memory: rows independent of each other,
            a state-space model, or the one that later rows speak for.
        limit : {"auto", "bound", "simulated", "cross_fitted"}
            How the alarm limit is set with a state-space model: by the bound log `arl0`, which
            needs no calibration, or by simulation of fit and run together, which takes longer and
            comes closer to `arl0`; without one it is cross-fitted.
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
        labels, values = _table(rows, names)
        p = len(labels)
        if not 1 <= sensors <= p:
            raise ConfigError(f"{sensors} sensors for {p} streams; give 1 to {p}")
        scale = fit_scale(values, labels)
        graphs = _graphs(method, graph, labels, scale.apply(values), scale.mean, scale.sd, seed)
        found = fitted(
            method, values, labels, sensors, graphs, arl0=arl0, model=model, limit=limit,
            paths=paths, seed=seed, progress=progress,
        )  # fmt: skip
        return cls(
            found.method,
            name=name_of(method),
            names=labels,
            mean=found.scale.mean,
            sd=found.scale.sd,
            limit=found.limit,
            seed=seed,
            facts=found.facts,
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
        return falls_short(self.limit)

    def changes(self) -> dict[str, tuple[str, float]]:
        """The streams that most likely have changed, how, and with what probability.

        Returns
        -------
        dict
            Stream to kind of change ("mean up", "mean down", "variance") and its probability given
            that there was a change, largest first; empty for a method that tells no kinds apart.

        Examples
        --------
        >>> from causaldq import Monitor, example_plant
        >>> rows = example_plant()
        >>> monitor = Monitor.fit(rows[:400], 3, arl0=100, method="innovation_filter")
        >>> for minute in range(780, 850):
        ...     reading = monitor.update(rows.loc[minute, monitor.next])
        >>> next(iter(monitor.changes().items()))[1][0]
        'mean up'
        """
        named = self.method.kinds_of_change
        if not named:
            return {}
        chances = self.method.kinds(self._state)[0]
        kinds, sizes = chances.argmax(axis=1), chances.max(axis=1)
        return {
            self.names[i]: (named[kinds[i]], float(sizes[i]))
            for i in np.argsort(-sizes, kind="stable")[:SHOWN]
        }

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
        lines += [f"{key}: {self.facts[key]}" for key in ("model", "limit") if key in self.facts]
        wrong = self.facts.get("why", [])
        if self.falls_short:
            first = "DO NOT RELY ON IT: false alarms come more than twice as often as asked for"
            return "\n".join([first, *wrong, *lines])
        return "\n".join([*lines, *wrong])

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
            **{f"state.{key}": array for key, array in _flat(self._state).items()},
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
            "content": _digest(arrays),
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
            if facts["content"] != _digest(arrays):
                raise DataError(f"{path} is damaged: its arrays are not those that were written")
            problem = Problem(
                arrays["covariance"],
                facts["sensors"],
                StatisticSettings.model_validate(facts["statistic"]),
                arrays.get("graphs"),
            )
            if method is None:
                made = saved_method(facts["method"]).rebuilt(
                    problem, facts["options"], _part(arrays, "learned")
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
            monitor._state = _filled(monitor._state, _part(arrays, "state"))
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


def _table(
    rows: "pd.DataFrame | npt.ArrayLike", names: Sequence[str] | None
) -> tuple[tuple[str, ...], Floats]:
    """Stream names and values (n, p), refused if anything in them cannot be used."""
    columns = getattr(rows, "columns", None)
    if columns is not None:
        if names is not None:
            raise ConfigError("the rows have column names; give no others")
        labels = tuple(str(column) for column in columns)
        try:
            values = np.asarray(rows, np.float64)
        except (TypeError, ValueError):
            kinds = {str(c): str(k) for c, k in zip(columns, rows.dtypes, strict=True)}  # type: ignore[union-attr]
            text = next((c for c, k in kinds.items() if k in ("object", "str", "string")), "?")
            raise DataError(
                f"column {text!r} is not numeric; drop it, or make its values numbers"
            ) from None
    else:
        try:
            values = np.asarray(rows, np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the rows are no numbers ({error})") from None
        if values.ndim != 2:
            raise DataError(f"the rows have shape {values.shape}; give (rows, streams)")
        labels = tuple(names or (f"x{i + 1}" for i in range(values.shape[1])))
    if values.ndim != 2 or values.shape[1] != len(labels):
        raise DataError(f"{len(labels)} names for rows of shape {values.shape}")
    repeated = [name for name in labels if labels.count(name) > 1]
    if repeated:
        raise DataError(f"two streams are called {repeated[0]!r}; names must differ")
    gaps = ~np.isfinite(values)
    if gaps.any():
        row, column = np.argwhere(gaps)[0]
        raise DataError(
            f"stream {labels[column]!r} has no finite value in row {row} (and {int(gaps.sum()) - 1}"
            " more cells); drop those rows or streams before fitting"
        )
    return labels, values


def _graphs(
    method: MethodLike,
    given: npt.ArrayLike | None,
    names: tuple[str, ...],
    scaled: Floats,
    mean: Floats,
    sd: Floats,
    seed: int,
) -> Bools | None:
    """(g, p, p) for a method that wants causal graphs; None for the others."""
    p = len(names)
    if given is not None:
        graph = np.asarray(given)
        if graph.shape != (p, p):
            raise ConfigError(f"the graph has shape {graph.shape}; give ({p}, {p})")
        graph = graph.astype(bool)
        if np.linalg.matrix_power(graph.astype(np.int64) > 0, p).any():
            raise ConfigError("the graph has a cycle; a cause cannot be its own effect")
        return graph[None]
    kind = named_method(method) if isinstance(method, str) else method
    if getattr(kind, "graph", "none") == "none":
        return None
    from causaldq.discovery.uncertainty import possible_graphs

    none = np.empty((0, p))
    model = StreamModel(
        names, scaled, np.atleast_2d(np.corrcoef(scaled, rowvar=False)), np.zeros((p, p)),
        Records(mean, sd, none, none, none, 0),
    )  # fmt: skip
    return possible_graphs(
        model, DiscoverySettings(), UncertaintySettings(), generator(seed, "graphs")
    )


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _flat(state: Any, prefix: str = "") -> dict[str, npt.NDArray[Any]]:
    """Arrays of a state by the path of their fields."""
    found: dict[str, npt.NDArray[Any]] = {}
    for field in fields(state):
        value = getattr(state, field.name)
        name = f"{prefix}{field.name}"
        found |= _flat(value, f"{name}.") if is_dataclass(value) else {name: np.asarray(value)}
    return found


def _filled(template: Any, arrays: Mapping[str, npt.NDArray[Any]], prefix: str = "") -> Any:
    """A state like the template, with arrays from a file."""
    new: dict[str, Any] = {}
    for field in fields(template):
        value, name = getattr(template, field.name), f"{prefix}{field.name}"
        if is_dataclass(value):
            new[field.name] = _filled(value, arrays, f"{name}.")
            continue
        array = arrays[name]
        if array.ndim != value.ndim or array.dtype != value.dtype:
            raise ValueError(f"{name} of the state has another form")
        new[field.name] = array
    return replace(template, **new)


def _part(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> dict[str, npt.NDArray[Any]]:
    prefix = f"{name}."
    return {key.removeprefix(prefix): a for key, a in arrays.items() if key.startswith(prefix)}


def _digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode() + array.tobytes())
    return digest.hexdigest()
