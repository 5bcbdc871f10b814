"""Recorded faults: delay against the rate of false alarms that rows in control really show.

A limit that promises a run length on the rows it was set on may not keep it on others. So every
method watches rows in control that were held out, and recordings of faults, at a number of limits,
and begins anew after each alarm. Rows for each alarm are the measured run length. Between those
limits run lengths and delays are interpolated, and methods are compared at an equal run length.

That is a device for comparing: nobody who sets a limit knows these rows beforehand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from causaldq.calibration import limit_for
from causaldq.errors import DataError
from causaldq.methods.base import Method
from causaldq.run import event_delays, statistics, step
from causaldq.types import Bools, Floats
from causaldq.worlds.events import Events

WITHIN = (10, 30, 100)
"""Rows within which a fault is found, or an alarm comes without one."""
RUN_LENGTHS = (40.0, 80.0, 160.0, 320.0, 640.0, 1280.0)
"""To a first alarm: limits for these are looked at, and the highest statistic of all."""
LEAST_ALARMS = 0.5
"""Counted where there was none, so that a run length can be told at least roughly."""


@dataclass(frozen=True)
class Recordings:
    """What is watched."""

    in_control: list[Floats]
    """Each (n, rows, p): recordings of the same length, all different."""
    stretch: int
    """Rows that count as one when it is asked how sure a rate is."""
    faults: Events

    def stretches(self) -> int:
        return sum(len(part) * -(-part.shape[1] // self.stretch) for part in self.in_control)

    def rows(self) -> int:
        return sum(part.shape[0] * part.shape[1] for part in self.in_control)


def recordings(held_out: Floats, window: int, events: Events, stretch: int) -> Recordings:
    """Rows (n, p) held out, in recordings of `window` rows, and those before faults.

    Rows before a fault that are fewer than a stretch are left out, and so are those that another
    recording has, too.
    """
    if not len(events) or not len(held_out):
        raise DataError("a table of faults needs recorded faults, and rows in control held out")
    whole = held_out.reshape(-1, window or len(held_out), held_out.shape[1])
    stretch = min(stretch, whole.shape[1])
    before = [rows[:change] for rows, change in zip(events.values, events.change, strict=True)]
    different = {rows.tobytes(): rows for rows in before if len(rows) >= stretch}
    by_length: dict[int, list[Floats]] = {}
    for rows in (*whole, *different.values()):
        by_length.setdefault(len(rows), []).append(rows)
    return Recordings([np.stack(parts) for parts in by_length.values()], stretch, events)


@dataclass(frozen=True)
class Watched:
    """What one method showed at a number of limits, ascending."""

    limits: Floats
    """(limits,)."""
    rows: Floats
    """(stretches,), rows in control."""
    alarms: Floats
    """(limits, stretches), in them."""
    without: Floats
    """(limits, within), share of places in control with an alarm within so many rows."""
    delay: Floats
    """(limits, recordings), rows from a fault's onset to the alarm, mean over watches."""
    found: Floats
    """(limits, within), share of faults and watches with an alarm within so many rows."""

    def run_lengths(self, weights: Floats) -> Floats:
        """(b, limits), rows for each alarm, ascending, stretches weighted (b, stretches)."""
        alarms = np.maximum(weights @ self.alarms.T, LEAST_ALARMS)
        return np.maximum.accumulate((weights @ self.rows)[:, None] / alarms, axis=1)

    def limits_at(self, run_length: float, weights: Floats) -> Floats:
        """(b,), limits with this measured run length, at most the highest."""
        known = np.log(self.run_lengths(weights))
        return np.array([np.interp(np.log(run_length), row, self.limits) for row in known])

    def log_delays(self, limits: Floats, weights: Floats) -> Floats:
        """(b,), log of the geometric mean delay over recordings, weighted (b, recordings)."""
        found = self._between(np.log(self.delay), limits)
        return np.asarray((found * weights).sum(axis=1) / weights.sum(axis=1))

    def delays(self, limit: float) -> Floats:
        """(recordings,)."""
        return np.asarray(np.exp(self._between(np.log(self.delay), np.array([limit]))[0]))

    def shares(self, limit: float) -> tuple[Floats, Floats]:
        """Of faults found, and of places without a fault, each (within,)."""
        at = np.array([limit])
        return self._between(self.found, at)[0], self._between(self.without, at)[0]

    def _between(self, values: Floats, limits: Floats) -> Floats:
        """(b, ...), values (limits, ...) at other limits (b,)."""
        above = np.clip(np.searchsorted(self.limits, limits), 1, len(self.limits) - 1)
        low, high = self.limits[above - 1], self.limits[above]
        part = np.clip((limits - low) / (high - low), 0.0, 1.0)
        part = part.reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray((1.0 - part) * values[above - 1] + part * values[above])


def watched(
    method: Method[Any],
    recorded: Recordings,
    own_limit: float,
    leads: Sequence[int],
    rng: np.random.Generator,
) -> Watched:
    """Let a method watch everything, at its own limit and at others.

    Watches of a fault begin so many rows (`leads`) before it.
    """
    first = [statistics(method, part, None, rng) for part in recorded.in_control]
    limits = _limits(first, recorded.stretch, own_limit)
    flags = [_alarms(method, part, limits, rng) for part in recorded.in_control]
    alarms, rows = [], []
    for part in flags:
        begins = np.arange(0, part.shape[2], recorded.stretch)
        counted = np.add.reduceat(part, begins, axis=2, dtype=np.float64)
        alarms.append(counted.reshape(len(limits), -1))
        rows.append(np.tile(np.diff(begins, append=part.shape[2]), part.shape[1]))
    delay, missed = _delays(method, recorded.faults, limits, leads, rng)
    return Watched(
        limits,
        rows=np.concatenate(rows).astype(np.float64),
        alarms=np.concatenate(alarms, axis=1),
        without=np.stack([_share_within(flags, span) for span in WITHIN], axis=1),
        delay=delay.mean(axis=1),
        found=np.stack([((delay <= span) & ~missed).mean(axis=(1, 2)) for span in WITHIN], axis=1),
    )


def _limits(first: Sequence[Floats], stretch: int, own: float) -> Floats:
    """Limits to look at, from statistics in control, each (n, rows)."""
    cut = [part[:, : part.shape[1] // stretch * stretch].reshape(-1, stretch) for part in first]
    at = [limit_for(np.concatenate(cut), length) for length in RUN_LENGTHS]
    highest = max(float(part.max()) for part in first)
    return np.unique([*at, highest, own])


def _alarms(method: Method[Any], paths: Floats, limits: Floats, rng: np.random.Generator) -> Bools:
    """(limits, n, rows), where a watch over paths (n, rows, p) alarms, beginning anew each time."""
    n, rows, _ = paths.shape
    limit = np.repeat(limits, n)
    flags = np.zeros((len(limit), rows), dtype=bool)
    state = method.start(len(limit), None, rng)
    for t in range(rows):
        state, _, value = step(method, state, np.tile(paths[:, t], (len(limits), 1)), rng)
        over = np.flatnonzero(value > limit)
        if len(over):
            flags[over, t] = True
            state = method.again(state, over, None, rng)
    return flags.reshape(len(limits), n, rows)


def _share_within(flags: Sequence[Bools], span: int) -> Floats:
    """(limits,), share of places with an alarm in the next `span` rows; of rows that there are."""
    held, places = np.zeros(len(flags[0])), 0
    for part in flags:
        wide = min(span, part.shape[2])
        inside = np.lib.stride_tricks.sliding_window_view(part, wide, axis=2)
        windows = np.asarray(inside.any(axis=-1))
        held += windows.sum(axis=(1, 2))
        places += windows[0].size
    return np.asarray(held / places)


def _delays(
    method: Method[Any],
    faults: Events,
    limits: Floats,
    leads: Sequence[int],
    rng: np.random.Generator,
) -> tuple[Floats, Bools]:
    """Delays (limits, leads, recordings), and where there was no alarm."""
    which = np.tile(np.arange(len(faults)), len(limits))
    limit = np.repeat(limits, len(faults))
    length = int((faults.values.shape[1] - faults.change).min())
    seen = []
    for given in leads:
        lead = min(given, int(faults.change.min()))
        cut = [
            rows[c - lead : c + length]
            for rows, c in zip(faults.values, faults.change, strict=True)
        ]
        begins = np.zeros(len(which), dtype=np.int64)
        seen.append(event_delays(method, np.stack(cut), which, begins, begins + lead, limit, rng))
    shape = (len(leads), len(limits), len(faults))
    delay, missed = (
        np.stack([getattr(one, name) for one in seen]).reshape(shape).swapaxes(0, 1)
        for name in ("delay", "missed")
    )
    return delay.astype(np.float64), missed


@dataclass(frozen=True)
class Draws:
    """Resamples of stretches and recordings, the same for all methods; the first is as they are."""

    stretches: Floats
    """(b, stretches)."""
    recordings: Floats
    """(b, recordings)."""

    @classmethod
    def of(cls, recorded: Recordings, resamples: int, rng: np.random.Generator) -> "Draws":
        def weights(n: int) -> Floats:
            drawn = rng.multinomial(n, np.full(n, 1.0 / n), size=resamples)
            return np.vstack([np.ones(n), drawn])

        return cls(weights(recorded.stretches()), weights(len(recorded.faults)))


def interval(values: Floats, confidence: float) -> tuple[float, float, float]:
    """The first value, and quantiles of the others."""
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(values[1:], [tail, 1.0 - tail], method="inverted_cdf")
    return float(values[0]), float(low), float(high)


def at_run_length(
    seen: Watched, run_length: float, draws: Draws, confidence: float
) -> dict[str, float]:
    """A method at the limit of a measured run length: its delay, and what share it finds."""
    limits = seen.limits_at(run_length, draws.stretches)
    delay, low, high = np.exp(interval(seen.log_delays(limits, draws.recordings), confidence))
    found, without = seen.shares(limits[0])
    return {
        "arl0": run_length,
        "limit": float(limits[0]),
        "delay": delay,
        "low": low,
        "high": high,
        **{f"found_{n}": float(share) for n, share in zip(WITHIN, found, strict=True)},
        **{f"none_{n}": float(share) for n, share in zip(WITHIN, without, strict=True)},
    }


def at_own_limit(
    seen: Watched, own_limit: float, draws: Draws, confidence: float
) -> dict[str, float]:
    """What a method's own limit reaches on these rows, and its delay there."""
    place = int(np.searchsorted(seen.limits, own_limit))
    reached, low, high = interval(seen.run_lengths(draws.stretches)[:, place], confidence)
    return {
        "own_limit": own_limit,
        "reached": reached,
        "reached_low": low,
        "reached_high": high,
        "own_delay": float(np.exp(np.log(seen.delay[place]).mean())),
    }


def ratio(
    first: Watched, second: Watched, run_length: float, draws: Draws, confidence: float
) -> tuple[float, float, float]:
    """Delay of the first over that of the second at an equal measured run length, paired."""
    logs = [
        seen.log_delays(seen.limits_at(run_length, draws.stretches), draws.recordings)
        for seen in (first, second)
    ]
    value, low, high = np.exp(interval(logs[0] - logs[1], confidence))
    return float(value), float(low), float(high)
