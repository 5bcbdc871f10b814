"""Many plants in one process: monitors of one size, those of one method advanced together."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import groupby
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from causaldq.arguments import whole
from causaldq.covariance import Structured, blocks
from causaldq.errors import CausalDQError, ConfigError, DataError
from causaldq.methods.base import State
from causaldq.methods.resolve import MethodLike
from causaldq.monitor import Monitor
from causaldq.normal import NOT_MEASURED
from causaldq.online import LARGEST
from causaldq.sealed import Arrays, read_sealed, write_sealed
from causaldq.sensors import SPIKE, SensorState, allowed, set_aside
from causaldq.state_arrays import flat
from causaldq.types import Bools, Floats, Ints

VERSION = 1
"""Of the file format."""
BATCH = 125
"""Monitors whose arrays advance at once: few enough to stay in a core's own memory."""


@dataclass(frozen=True)
class FleetReading:
    """What one row of k plants said.

    Parameters
    ----------
    alarm : array of bool, shape (k,)
        Whether the statistic exceeds its limit.
    fault : array of bool, shape (k,)
        The method failed, and the monitor began anew.
    statistic : array, shape (k,)
        As of `Reading`.
    missing : array of bool, shape (k, m)
        Sensors that gave no value that can be used.
    aside : array of bool, shape (k, m)
        Values further off than normal operation gives, which wait to be repeated.

    Examples
    --------
    >>> one = FleetReading(*[np.zeros(2, bool)] * 2, np.zeros(2), *[np.zeros((2, 1), bool)] * 2)
    >>> one.alarm.any()
    np.False_
    """

    alarm: Bools
    fault: Bools
    statistic: Floats
    missing: Bools
    aside: Bools


class Fleet:
    """Monitors of k plants, with as many streams and sensors each, behind one interface.

    Their numbers are those of the monitors one by one. Plants with a method that takes many at once
    (`bayes_posterior`) and a covariance matrix advance together, in a fraction of the time, as far
    as they follow each other with one method and the same settings. All others, of whatever method,
    are advanced one by one, which takes as long as without a fleet. Names, scale, covariance, limit
    and method are each plant's own.

    Parameters
    ----------
    monitors : sequence of Monitor
        Of one class, and with sensors without rules of their own. The fleet takes them over: from
        then on it is the fleet that is updated and reset, not they.
    workers : int
        Threads that share the plants, up to 125 at a time.

    Examples
    --------
    >>> from causaldq import Fleet, Monitor, example_plant
    >>> rows = example_plant()
    >>> fleet = Fleet([
    ...     Monitor.fit(rows[:400], sensors=3, arl0=100, seed=seed, paths=20) for seed in range(2)
    ... ])
    >>> for minute in range(780, 860):
    ...     reading = fleet.update([rows.loc[minute]] * 2)
    >>> reading.alarm.tolist()
    [True, True]
    >>> next(iter(fleet.contributions(0)))
    'reactor_temperature'
    """

    def __init__(self, monitors: Sequence[Monitor], *, workers: int = 1) -> None:
        if not isinstance(monitors, Sequence):
            raise ConfigError(f"monitors are a {type(monitors).__name__}; give a list of Monitor")
        _check(monitors)
        self._workers = workers = whole("workers", workers, 1)
        self._batches = _batches(monitors)
        self._ends = np.cumsum([len(batch.monitors) for batch in self._batches])
        self.p, self.m = monitors[0].method.problem.p, monitors[0].method.problem.m
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), workers=self._workers), (list(self),)

    def __copy__(self) -> Self:
        """A fleet of its own: it does not draw from the random numbers of this one."""
        return deepcopy(self)

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, number: int) -> Monitor:
        """The monitor of one plant as it stands; it goes on with the fleet, not by itself."""
        batch, place = self._place(number)
        return batch.monitor(place)

    def _place(self, number: int) -> "tuple[_Batch | _OneByOne, int]":
        if not -len(self) <= number < len(self):
            raise IndexError(f"there is no plant {number}; give 0 to {len(self) - 1}")
        number %= len(self)
        batch = int(np.searchsorted(self._ends, number, side="right"))
        return self._batches[batch], number - int(self._ends[batch - 1] if batch else 0)

    def contributions(self, number: int) -> dict[str, float]:
        """The streams of one plant that speak most for a shift, and how strongly.

        Parameters
        ----------
        number : int
            Of the plant, counted from 0.
        """
        batch, place = self._place(number)
        return batch.monitor(place)._suspects()

    def reset(self, number: int) -> None:
        """Forget what was read in one plant, as after a repair.

        Parameters
        ----------
        number : int
            Of the plant, counted from 0.
        """
        batch, place = self._place(number)
        batch.monitor(place).reset()
        batch.put(place)

    def __iter__(self) -> Iterator[Monitor]:
        return (self[number] for number in range(len(self)))

    @property
    def next(self) -> Ints:
        """(k, m), the streams to read next in each plant, by number, ascending."""
        return np.concatenate([batch.streams for batch in self._batches])

    def update(self, values: npt.ArrayLike) -> FleetReading:
        """Take in one row of each plant, and choose the next sensors.

        Parameters
        ----------
        values : array, shape (k, m) or (k, p)
            In the plants' units: of the sensors of `next` in its order, or of all streams, of which
            only those asked for are looked at. NaN where a sensor gave nothing. A list of mappings
            or Series, or a DataFrame with a row for each plant, is read by its names.

        Returns
        -------
        FleetReading
        """
        given = self._given(values)
        if given.shape not in ((len(self), self.m), (len(self), self.p)):
            raise DataError(
                f"values have shape {given.shape}; give ({len(self)}, {self.m}) or"
                f" ({len(self)}, {self.p})"
            )
        if given.shape[1] == self.p:
            given = np.take_along_axis(given, self.next, axis=1)
        parts = np.split(given, self._ends[:-1])
        advance = self._pool.map if self._pool else map
        found = list(advance(lambda batch, part: batch.update(part), self._batches, parts))
        return FleetReading(
            *(np.concatenate([getattr(one, f.name) for one in found]) for f in fields(FleetReading))
        )

    def _given(self, values: Any) -> Floats:
        """Values (k, m) or (k, p); rows with names are read by them, whatever their order."""
        if hasattr(values, "columns"):
            values = [row for _, row in values.iterrows()]
        try:
            if isinstance(values, list | tuple) and any(hasattr(row, "keys") for row in values):
                if len(values) != len(self):
                    raise DataError(f"{len(values)} rows for {len(self)} plants; give one of each")
                plants = [one for batch in self._batches for one in batch.monitors]
                for one, streams in zip(plants, self.next, strict=True):
                    one._streams = streams
                return np.array([one._given(row) for one, row in zip(plants, values, strict=True)])
            if isinstance(values, np.ma.MaskedArray):
                values = np.ma.filled(values.astype(np.float64), np.nan)
            found = np.asarray(values)
            if found.dtype.kind in NOT_MEASURED:
                raise TypeError(f"they are {found.dtype}")
            return np.asarray(found, np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the values are no numbers ({error})") from None

    def save(self, path: str | PathLike[str]) -> None:
        """Write all monitors with all that they have seen, so that `load` resumes where they are.

        Parameters
        ----------
        path : path
            The file appears whole or not at all.
        """
        facts, arrays = zip(*(monitor._whole() for monitor in self), strict=True)
        write_sealed(path, "fleet", VERSION, {"plants": list(facts)}, _packed(arrays))

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        workers: int = 1,
        monitor: type[Monitor] = Monitor,
        method: MethodLike | None = None,
    ) -> Self:
        """Read a fleet that `save` wrote. Nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.
        workers : int
            Threads that share the plants.
        monitor : class
            Of the monitors: `LargeMonitor` for a fleet of those.
        method : class or callable, optional
            For plants with a method of your own, which all have then: what makes it.

        Raises
        ------
        CausalDQError
            If the file is damaged or of another version.
        """
        facts, arrays = read_sealed(path, "fleet", VERSION, "save it again")
        try:
            plants = facts["plants"]
            apart = _unpacked(arrays, len(plants))
            return cls(
                [monitor._rebuilt(*one, method) for one in zip(plants, apart, strict=True)],
                workers=workers,
            )
        except CausalDQError as error:
            raise type(error)(f"{path}: {error}") from None
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise DataError(f"{path} is no fleet, or damaged ({error}); save it again") from None


class _Generators:
    """The random numbers of many monitors, each from its own generator."""

    def __init__(self, generators: list[np.random.Generator]) -> None:
        self.generators = generators

    def random(self, shape: tuple[int, int]) -> Floats:
        drawn = np.empty(shape)
        for row, one in zip(drawn, self.generators, strict=True):
            one.random(out=row)
        return drawn


class _OneByOne:
    """Some plants of a fleet, k of them, each advanced by its own monitor."""

    def __init__(self, monitors: list[Monitor]) -> None:
        self.monitors = monitors

    @property
    def streams(self) -> Ints:
        return np.stack([one._streams for one in self.monitors])

    def monitor(self, number: int) -> Monitor:
        return self.monitors[number]

    def put(self, number: int) -> None:
        """The monitor is all there is."""

    def update(self, given: Floats) -> FleetReading:
        asked = [one.next for one in self.monitors]
        found = [one.update(row) for one, row in zip(self.monitors, given.tolist(), strict=True)]
        both = list(zip(asked, found, strict=True))
        return FleetReading(
            np.array([one.alarm for one in found]),
            np.array([bool(one.fault) for one in found]),
            np.array([one.statistic for one in found]),
            np.array([[name in one.missing for name in names] for names, one in both]),
            np.array([[name in one.aside for name in names] for names, one in both]),
        )


class _Batch:
    """Some plants of a fleet, k of them, whose arrays advance at once."""

    def __init__(self, monitors: list[Monitor]) -> None:
        self.monitors = monitors
        first = monitors[0].method
        covariance = np.stack([one.method.problem.covariance for one in monitors])
        problem = replace(first.problem, covariance=covariance, graphs=None)
        self.method: Any = type(first).rebuilt(problem, _settings(monitors[0]), {})
        self.rng: Any = _Generators([one._rng for one in monitors])
        self.mean, self.sd = (
            np.stack([getattr(one, n) for one in monitors]) for n in ("mean", "sd")
        )
        self.low = np.stack([one._layout.low for one in monitors])
        self.high = np.stack([one._layout.high for one in monitors])
        self.limit = np.array([one.limit.value for one in monitors])
        self.state: Any = _joined([one._state for one in monitors])
        self.seen = _stacked([one._seen for one in monitors])
        self.streams = np.stack([one._streams for one in monitors])
        self.statistic = np.array([one._statistic for one in monitors])

    def monitor(self, number: int) -> Monitor:
        """Plant `number`, brought up to what the batch has seen."""
        one = self.monitors[number]
        one._state = self.state.take(np.array([number]))
        one._seen, one._streams = _row(self.seen, number), self.streams[number].copy()
        one._statistic = float(self.statistic[number])
        one._strength = self.strength(number)
        return one

    def put(self, number: int) -> None:
        """Take over what was done to the monitor of one plant."""
        one = self.monitors[number]
        self.state = self.state.put(np.array([number]), one._state)
        _put_row(self.seen, number, one._seen)
        self.streams[number], self.statistic[number] = one._streams, one._statistic

    def strength(self, number: int) -> Floats:
        """(p,), how strongly each stream of a plant speaks for a shift; zero before it is read."""
        if self.statistic[number] == -np.inf:
            return np.zeros(self.mean.shape[1])
        state = self.state.take(np.array([number]))
        return np.asarray(self.monitors[number].method.contributions(state)[0], np.float64)

    def update(self, given: Floats) -> FleetReading:
        asked, rows = self.streams, np.arange(len(given))[:, None]
        scaled = (given - self.mean[rows, asked]) / self.sd[rows, asked]
        inside = (self.low[rows, asked] <= given) & (given <= self.high[rows, asked])
        usable = (np.abs(scaled) <= LARGEST) & inside  # false for NaN
        scaled[~usable] = 0.0
        precision = np.linalg.inv(blocks(self.method.covariance, asked))
        off = (precision @ scaled[:, :, None])[:, :, 0]
        off /= np.sqrt(np.diagonal(precision, axis1=1, axis2=2))
        odd = np.flatnonzero(~usable.all(axis=1) | (np.abs(off).max(axis=1) > SPIKE))
        before, seen = self.state, self.seen
        self.state = self.method.observe(before, asked, scaled, self.rng)
        self.seen = _after(seen, rows, asked, off)
        aside = np.zeros_like(usable)
        for i in odd.tolist():
            aside[i] = self._one_by_one(i, before, _row(seen, i), usable[i], scaled[i])
        self.statistic = self.method.statistic(self.state)
        read = (usable & ~aside).any(axis=1)
        fault = ~np.isfinite(self.statistic) & (read | (self.statistic != -np.inf))
        for i in np.flatnonzero(fault).tolist():
            fresh = self.monitors[i].method.start(1, None, self.rng.generators[i])
            self.state = self.state.put(np.array([i]), fresh)
            _put_row(self.seen, i, SensorState.new(self.mean.shape[1]))
            self.statistic[i] = -np.inf
        for one in self.monitors:
            one.step += 1
        self._choose(asked, fault)
        return FleetReading(self.statistic > self.limit, fault, self.statistic, ~usable, aside)

    def _one_by_one(
        self, i: int, before: Any, seen: SensorState, usable: Bools, scaled: Floats
    ) -> Bools:
        """A plant with values that are missing or not to be believed yet, (m,)."""
        method, asked = self.monitors[i].method, self.streams[i]
        arrived, values = asked[usable], scaled[usable]
        spikes, off = set_aside(self.method.covariance[i], arrived, values, seen)
        one = before.take(np.array([i]))
        one = method.observe(
            one, arrived[~spikes][None], values[~spikes][None], self.rng.generators[i]
        )
        self.state = self.state.put(np.array([i]), one)
        _put_row(self.seen, i, seen.after(asked[~usable], arrived, off, spikes))
        aside = np.zeros_like(usable)
        aside[usable] = spikes
        return aside

    def _choose(self, current: Ints, fault: Bools) -> None:
        self.streams = self.method.choose(self.state, self.rng)
        seen = self.seen
        troubled = (seen.rest | seen.misses | seen.again).any(axis=1)
        for i in np.flatnonzero(troubled).tolist():
            here = None if fault[i] else current[i]
            layout, one = self.monitors[i]._layout, _row(seen, i)
            self.streams[i] = allowed(self.streams[i], self.strength(i), layout, one, here)


def _check(monitors: Sequence[Monitor]) -> None:
    """Refuse monitors that one interface cannot hold."""
    if not len(monitors):
        raise ConfigError("a fleet without monitors; give at least one")
    first, known = monitors[0], set[int]()
    for number, one in enumerate(monitors):
        if not isinstance(one, Monitor):
            raise ConfigError(f"plant {number} is a {type(one).__name__}; give a list of Monitor")
        if id(one) in known:
            raise ConfigError(
                f"plant {number} is a monitor that the fleet has already; give each plant its own,"
                " such as copy.deepcopy(monitor)"
            )
        known.add(id(one))
        if not one._layout.is_plain:
            raise ConfigError(f"plant {number} has rules for its sensors, which a fleet has not")
        if type(one) is not type(first) or _size(one) != _size(first):
            raise ConfigError(
                f"plant {number} differs from plant 0 in streams, sensors or class of monitor;"
                " give each kind a fleet of its own"
            )


def _batches(monitors: Sequence[Monitor]) -> "list[_Batch | _OneByOne]":
    """The plants in their order, those that can together."""
    found: list[_Batch | _OneByOne] = []
    for kind, group in groupby(monitors, _kind):
        plants = list(group)
        form = _Batch if kind else _OneByOne
        for part in np.array_split(np.arange(len(plants)), -(-len(plants) // BATCH)):
            found.append(form([plants[i] for i in part]))
    return found


def _size(monitor: Monitor) -> tuple[int, int]:
    return monitor.method.problem.p, monitor.method.problem.m


def _kind(monitor: Monitor) -> tuple[Any, ...]:
    """Of one kind, plants advance together; empty for those that cannot."""
    method = monitor.method
    if not method.many_plants or isinstance(method.problem.covariance, Structured):
        return ()
    return (type(method), _settings(monitor), method.problem.statistic)


def _settings(monitor: Monitor) -> dict[str, Any]:
    """Of the method."""
    return dict(monitor.method.settings.model_dump())  # type: ignore[attr-defined]


def _packed(plants: Sequence[Arrays]) -> Arrays:
    """Arrays of all plants: stacked where all have one of the name and form, or by number."""
    packed: Arrays = {}
    for name in dict.fromkeys(name for one in plants for name in one):
        forms = {(a.shape, a.dtype) if (a := one.get(name)) is not None else () for one in plants}
        if len(forms) == 1:
            packed[name] = np.stack([one[name] for one in plants])
        else:
            packed |= {f"{i}.{name}": one[name] for i, one in enumerate(plants) if name in one}
    return packed


def _unpacked(packed: Arrays, count: int) -> list[Arrays]:
    """What `_packed` took, of so many plants."""
    plants: list[Arrays] = [{} for _ in range(count)]
    for name, array in packed.items():
        number, _, rest = name.partition(".")
        if number.isdigit():
            plants[int(number)][rest] = array
        else:
            for i, one in enumerate(plants):
                one[name] = array[i]
    return plants


def _joined(states: list[State]) -> State:
    """States of one replication each, as one of all."""
    parts = {
        f.name: np.concatenate([getattr(one, f.name) for one in states]) for f in fields(states[0])
    }
    return replace(states[0], **parts)


def _stacked(states: list[SensorState]) -> SensorState:
    """Sensors of k plants: arrays (k, p)."""
    return SensorState(
        *(np.stack(arrays) for arrays in zip(*(flat(one).values() for one in states), strict=True))
    )


def _row(seen: SensorState, number: int) -> SensorState:
    return SensorState(*(array[number] for array in flat(seen).values()))


def _put_row(seen: SensorState, number: int, one: SensorState) -> None:
    for array, row in zip(flat(seen).values(), flat(one).values(), strict=True):
        array[number] = row


def _after(seen: SensorState, rows: Ints, asked: Ints, off: Floats) -> SensorState:
    """One row later, in plants where every value was taken."""
    unread, misses, lean = seen.unread + 1, seen.misses.copy(), seen.lean.copy()
    unread[rows, asked] = misses[rows, asked] = 0
    lean[rows, asked] = off
    odd = seen.odd.copy()
    odd[rows, asked] = 0
    return SensorState(
        unread, misses, np.maximum(seen.rest - 1, 0), lean, np.zeros_like(seen.again), odd
    )
