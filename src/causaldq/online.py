"""A method at work: a row of values comes in, the statistic and the next sensors come out."""

import math
from collections.abc import Mapping, Sequence, Set
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from causaldq.covariance import Structured, ridged
from causaldq.discovery.effects import direct_effects
from causaldq.errors import DataError
from causaldq.files import canonical_json
from causaldq.limits import Limit
from causaldq.lost_readings import without_suspicion
from causaldq.methods.base import Method, State
from causaldq.methods.causal_sr import CausalSr, CausalSrState
from causaldq.reading import NamedCause, Reading
from causaldq.rootcause import majority, ranked_causes
from causaldq.sealed import Arrays
from causaldq.seeds import generator
from causaldq.sensors import Layout, SensorRules, SensorState, allowed, set_aside
from causaldq.setting import Settings
from causaldq.state_arrays import filled, flat, part
from causaldq.types import Bools, Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5
"""Streams and causes named in a reading."""
UNORDERED = (str, bytes, Set)
"""What Python makes a list of, but not one of values in the order of the sensors."""
NO_NUMBERS = (bool, np.bool_, complex, np.timedelta64)
LARGEST = 1e6
"""A value so many standard deviations from its mean is no reading: the sensor is at fault."""


class Online:
    """A calibrated method on one plant, row by row; `Monitor` adds how one is made and kept."""

    _state: State
    _statistic: float
    _strength: Floats
    _streams: Ints
    """Sensors to read next, ascending."""
    _seen: SensorState

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
        sensors: SensorRules | None = None,
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
            Settings that the method was made with; by default those that it has.
        seed : int
            Of the random choices of sensors.
        facts : mapping, optional
            What the summary tells of the fit.
        sensors : SensorRules, optional
            What the plant allows; by default every sensor can be read at any time.
        """
        self.method, self.name, self.names = method, name, tuple(names)
        self.mean, self.sd = np.asarray(mean, np.float64), np.asarray(sd, np.float64)
        made = getattr(method, "settings", None)
        if options is None:
            options = made.model_dump(exclude_defaults=True) if isinstance(made, Settings) else {}
        self.limit, self.options, self.seed = limit, dict(options), seed
        self.facts = dict(facts or {})
        _check(self)
        problem = method.problem
        self._covariance = ridged(problem.covariance, problem.statistic.ridge)
        self._known = frozenset(self.names)
        self._rng = generator(seed, name, "follow")
        self.step = 0
        self.sensors = sensors or SensorRules()
        self._layout = Layout.of(self.sensors, self.names, method.problem.m)
        self._begin()

    @property
    def next(self) -> list[str]:
        """Names of the sensors to read at the next step."""
        return [self.names[i] for i in self._streams]

    def update(
        self, values: "Mapping[str, Any] | pd.Series[Any] | Sequence[Any]", time: Any = None
    ) -> Reading:
        """Take in one row of values, and choose the next sensors.

        Parameters
        ----------
        values : mapping, Series, DataFrame of one row, or sequence
            Values by stream name, in the plant's units; or, without names, one for each sensor of
            `next`, in its order. Sensors that gave nothing may be left out or be None or NaN;
            values of streams that were not asked for are not looked at.
        time : any
            Kept with the reading.

        Returns
        -------
        Reading
            A value that is no number, or out of the stated range, is `missing`, and another
            sensor is asked for next. A value further off than normal operation gives is put
            `aside` and read again: it is believed if it is repeated, or the third such in a row, so
            that one reading alone neither raises an alarm nor holds it
            (`causaldq.sensors.set_aside`).
        """
        asked = self._streams
        given = self._given(values)
        scaled = (given - self.mean[asked]) / self.sd[asked]
        low, high = self._layout.low[asked], self._layout.high[asked]
        usable = (np.abs(scaled) <= LARGEST) & (low <= given) & (given <= high)  # false for NaN
        arrived, missing = asked[usable], asked[~usable]
        scaled = scaled[usable]
        spikes, off = set_aside(self._covariance, arrived, scaled, self._seen)
        read, aside = arrived[~spikes], arrived[spikes]
        self._seen = self._seen.after(missing, arrived, off, spikes)
        self.step += 1
        fault = self._observe(read, scaled[~spikes], np.concatenate([missing, aside]))
        if fault:
            self._begin()
        else:
            self._choose()
        alarm = self._statistic > self.limit.value
        return Reading(
            step=self.step,
            time=time,
            alarm=alarm,
            statistic=self._statistic,
            limit=self.limit.value,
            contributions=self._suspects(),
            causes=self._causes(read) if alarm else [],
            read=[self.names[i] for i in read],
            missing=[self.names[i] for i in missing],
            aside=[self.names[i] for i in aside],
            values={self.names[i]: float(x) for i, x in zip(arrived, given[usable], strict=True)},
            next=self.next,
            fault=fault,
        )

    def _observe(self, read: Ints, scaled: Floats, lost: Ints) -> str:
        """Take in what was read, and what was not; why that is impossible, if it is."""
        try:
            self._state = self.method.observe(
                self._state, read[None, :], scaled[None, :], self._rng
            )
            if len(lost):
                self._state = without_suspicion(self.method, self._state, lost)
            dead = self._seen.dead(self._layout)
            if len(dead):
                self._state = self.method.without(self._state, dead)
            self._statistic = float(self.method.statistic(self._state)[0])
            self._strength = self._told()
        except (np.linalg.LinAlgError, ArithmeticError) as error:
            return f"the method failed: {error}"
        if math.isfinite(self._statistic) or (self._statistic == -math.inf and not len(read)):
            return ""
        return f"the statistic is {self._statistic}"

    def _told(self) -> Floats:
        """How strongly each stream speaks for a shift, (p,); NaN if the method does not say."""
        try:
            return np.asarray(self.method.contributions(self._state)[0], np.float64)
        except NotImplementedError:
            return np.full(self.method.problem.p, np.nan)

    def _suspects(self) -> dict[str, float]:
        """The streams that speak most for a change, and how strongly, largest first."""
        strength = self._strength
        return {
            self.names[i]: float(strength[i])
            for i in np.argsort(-strength, kind="stable")[:SHOWN]
            if not np.isnan(strength[i])
        }

    def _choose(self, wanted: Ints | None = None) -> None:
        """What the method wants, as far as the plant allows; at first no sensor has to move."""
        if wanted is None:
            wanted = self.method.choose(self._state, self._rng)[0]
        here = self._streams if self.step else None
        self._streams = allowed(wanted, self._strength, self._layout, self._seen, here)

    def _begin(self, state: State | None = None) -> None:
        """Nothing has been read that counts; sensors move from where they are."""
        p = self.method.problem.p
        self._state = self.method.start(1, None, self._rng) if state is None else state
        self._statistic, self._strength = -math.inf, np.zeros(p)
        self._seen = SensorState.new(p)
        self._choose()

    def _given(self, values: Any) -> Floats:
        """Values of the sensors asked for, (m,), NaN where there is none."""
        if hasattr(values, "columns"):
            if len(values) != 1:
                raise DataError(f"{len(values)} rows at once; give one after the other")
            values = values.iloc[0]
        if isinstance(values, Mapping) or hasattr(values, "to_dict"):
            named: dict[str, Any] = {}
            for key, value in values.items():
                name = str(key)
                if name not in self._known:
                    raise DataError(
                        f"there is no stream {name!r}; the monitor knows {', '.join(self.names)}"
                    )
                if name in named:
                    raise DataError(f"there are two values of {name!r}; give one")
                named[name] = value
            return np.array([_number(named.get(name)) for name in self.next])
        asked = self.next
        try:
            listed = [] if isinstance(values, UNORDERED) else list(values)
        except TypeError:
            listed = []
        if len(listed) != len(asked):
            given = f"{len(listed)} values" if listed else f"{type(values).__name__} without values"
            raise DataError(
                f"{given} for {len(asked)} sensors; give one for each of {', '.join(asked)}, or"
                " values by name"
            )
        return np.array([_number(value) for value in listed])

    def _causes(self, read: Ints) -> list[NamedCause]:
        method, names = self.method, self.names
        if not isinstance(method, CausalSr) or not isinstance(self._state, CausalSrState):
            return []
        effects = direct_effects(self.graph, method.covariance)
        return [
            NamedCause(
                names[cause.stream],
                cause.posterior,
                cause.shift,
                [[names[i] for i in e.path] for e in cause.explanations if len(e.path) > 1],
            )
            for cause in ranked_causes(method, self._state, 0, read, effects, SHOWN)
        ]

    @property
    def graph(self) -> Bools:
        """What causes what, (p, p), as most of the method's graphs have it; empty without any."""
        graphs = self.method.problem.graphs
        p = len(self.names)
        return np.zeros((p, p), dtype=bool) if graphs is None else majority(graphs)

    def __copy__(self) -> Self:
        """A monitor of its own: it does not draw from the random numbers of this one."""
        return deepcopy(self)

    def reset(self) -> None:
        """Forget what was read since the monitor began, as after a repair."""
        self._begin()

    def restart(self) -> None:
        """Forget what spoke for a change, but not where the plant is, as after an alarm."""
        self._begin(self.method.again(self._state, np.array([0]), None, self._rng))

    def use(self, sensors: SensorRules) -> None:
        """Change what the plant allows, from the next choice of sensors on.

        Parameters
        ----------
        sensors : SensorRules
            Sensors that have failed, are always read, cost more, move together, and so on.

        Examples
        --------
        >>> from causaldq import Monitor, SensorRules, example_plant
        >>> monitor = Monitor.fit(example_plant()[:700], sensors=3, arl0=100, method="greedy")
        >>> monitor.use(SensorRules(always=["feed_flow"], without=["steam_flow"]))
        >>> "feed_flow" in monitor.next, "steam_flow" in monitor.next
        (True, False)
        """
        self._layout = Layout.of(sensors, self.names, self.method.problem.m)
        self.sensors = sensors
        self._choose(self._streams)

    def snapshot(self) -> tuple[dict[str, Any], Arrays]:
        """All that it has seen, as facts for JSON and arrays; `restore` takes it back."""
        arrays: Arrays = {
            "streams": self._streams,
            "statistic": np.array([self._statistic]),
            "strength": self._strength,
            **{f"state.{key}": array for key, array in flat(self._state).items()},
            **{f"seen.{key}": array for key, array in flat(self._seen).items()},
        }
        facts = {
            "step": self.step,
            "rng": self._rng.bit_generator.state,
            "rules": self.sensors.model_dump(mode="json"),
        }
        return facts, arrays

    def restore(self, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go back to where a snapshot was taken."""
        self.use(SensorRules.model_validate_json(canonical_json(facts["rules"])))
        self.step = int(facts["step"])
        self._state = filled(self._state, part(arrays, "state"))
        # What files of before do not hold has not happened.
        none = flat(SensorState.new(len(self.names)))
        self._seen = filled(self._seen, none | part(arrays, "seen"))
        self._streams, self._strength = arrays["streams"], arrays["strength"]
        self._statistic = float(arrays["statistic"][0])
        self._rng.bit_generator.state = facts["rng"]


def _check(monitor: Online) -> None:
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
    if isinstance(monitor.method.problem.covariance, Structured):
        return  # positive definite by its form
    try:
        np.linalg.cholesky(monitor.method.problem.covariance + 1e-9 * np.eye(p))
    except np.linalg.LinAlgError:
        raise DataError("the covariance of the streams is not positive definite") from None


def _number(value: Any) -> float:
    """NaN for what is no number; Python takes True and 1_000 for one, a plant does not."""
    if isinstance(value, list | tuple | Mapping) or getattr(value, "ndim", None):
        raise DataError(f"a value is a {type(value).__name__}; give one number for each sensor")
    if isinstance(value, NO_NUMBERS) or (isinstance(value, str) and "_" in value):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
