"""Running methods on paths. The only place where hidden values meet a method: it hands
over the chosen streams' values, and nothing else."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from causaldq.calibration import limit_at_most, limit_for
from causaldq.methods.base import Method, State, Truth
from causaldq.types import Bools, Floats, Ints
from causaldq.worlds.changes import Change, stacked

S = TypeVar("S", bound=State)


def step(
    method: Method[S], state: S, values: Floats, rng: np.random.Generator
) -> tuple[S, Ints, Floats]:
    """One monitoring step on the rows `values` (n, p): next state, streams read, statistic."""
    streams = method.choose(state, rng)
    observed = np.take_along_axis(values, streams, axis=1)
    state = method.observe(state, streams, observed, rng)
    return state, streams, method.statistic(state)


STRIDE = 25
"""Steps between two looks at which paths can stop."""


def statistics(
    method: Method[S],
    paths: Floats,
    truth: Truth | None,
    rng: np.random.Generator,
    ceiling: Callable[[Floats], float] | None = None,
) -> Floats:
    """Statistic at every step (n, steps) of the paths (n, steps, p).

    With a ceiling, which may depend on the statistics so far (n, steps so far), a path stops
    soon after it has been above; its statistic is infinite from there on.
    """
    n, steps, _ = paths.shape
    state = method.start(n, truth, rng)
    values = np.full((n, steps), np.inf)
    running = np.arange(n)
    for t in range(steps):
        state, _, values[running, t] = step(method, state, paths[running, t], rng)
        if ceiling is not None and (t + 1) % STRIDE == 0:
            so_far = values[:, : t + 1]
            below = so_far[running].max(axis=1) <= ceiling(so_far)
            if not below.all():
                running = running[below]
                state = state.take(np.flatnonzero(below))
            if len(running) == 0:
                break
    return values


def simulated_limit(
    method: Method[S],
    paths: Floats,
    arl0: float,
    rng: np.random.Generator,
    truth: Truth | None = None,
) -> float:
    """The limit at which a method reaches `arl0` on in-control paths (n, steps, p)."""
    seen = statistics(method, paths, truth, rng, lambda so_far: limit_at_most(so_far, arl0))
    return limit_for(seen, arl0)


@dataclass(frozen=True)
class Delays:
    """Outcome of monitoring n replications through a change."""

    false_alarm: Bools
    """(n,), alarmed before the change."""
    delay: Ints
    """(n,), readings after the change up to and including the alarm; the horizon if there
    was none; 0 where a false alarm ended the run."""
    censored: Bools
    """(n,), no alarm within the horizon."""

    def rows(self) -> Iterator[dict[str, object]]:
        """A tidy row for each replication."""
        for replication, delay in enumerate(self.delay):
            yield {
                "replication": replication,
                "delay": delay,
                "censored": int(self.censored[replication]),
                "false_alarm": int(self.false_alarm[replication]),
            }

    def kept(self) -> Floats:
        """Delays (1, n), as one seed's; NaN where a false alarm ended the run."""
        return np.where(self.false_alarm, np.nan, self.delay.astype(np.float64))[None, :]


def delays(
    method: Method[S],
    paths: Floats,
    change: int,
    changes: Sequence[Floats | Change],
    truths: Sequence[Truth | None],
    limit: float,
    rng: np.random.Generator,
    *,
    restart: bool = False,
) -> list[Delays]:
    """Monitor the same paths (n, steps, p) under several changes, or shifted means (n, p).

    Until the change all alternatives share one past, so it is run once unless the truths
    differ. A replication is dropped once it has alarmed; with `restart` it begins anew after
    an alarm before the change.
    """
    n, steps, _ = paths.shape
    groups = len(changes)
    replication = np.tile(np.arange(n), groups)
    after = stacked([c if isinstance(c, Change) else Change(c) for c in changes])
    false_alarm = np.zeros(n * groups, dtype=bool)
    alarm_at = np.full(n * groups, -1)

    shares_past = all(truth is None for truth in truths)
    past = 1 if shares_past else groups
    truth = None if shares_past else _stack(truths)
    state = method.start(n * past, truth, rng)
    alarmed = np.zeros(n * past, dtype=bool)
    for t in range(change):
        values = np.tile(paths[:, t], (past, 1))
        state, _, value = step(method, state, values, rng)
        alarmed |= value > limit
        if restart and (value > limit).any():
            again = np.flatnonzero(value > limit)
            known = None if truth is None else truth.take(again)
            state = method.again(state, again, known, rng)
    false_alarm[:] = np.tile(alarmed, groups // past)

    running = np.arange(n * groups) if restart else np.flatnonzero(~false_alarm)
    state = state.take(running % (n * past))
    for t in range(change, steps):
        if len(running) == 0:
            break
        values = after.values(paths[replication[running], t], running, t - change + 1)
        state, _, value = step(method, state, values, rng)
        over = value > limit
        alarm_at[running[over]] = t - change + 1
        if over.any():
            state = state.take(np.flatnonzero(~over))
            running = running[~over]

    left_out = false_alarm & (not restart)
    censored = (alarm_at < 0) & ~left_out
    delay = np.where(censored, steps - change, np.where(left_out, 0, alarm_at))
    return [
        Delays(false_alarm[rows], delay[rows], censored[rows])
        for rows in (np.arange(g * n, (g + 1) * n) for g in range(groups))
    ]


def _stack(truths: Sequence[Truth | None]) -> Truth:
    known = [truth for truth in truths if truth is not None]
    if len(known) != len(truths):
        raise ValueError("give the truth for all alternatives or for none")
    return Truth(
        np.concatenate([truth.shifted for truth in known]),
        np.concatenate([truth.mean for truth in known]),
    )


@dataclass(frozen=True)
class EventDelays:
    """Outcome of monitoring n runs through recorded events."""

    false_alarms: Ints
    """(n,), alarms before the fault; monitoring begins anew after each."""
    in_control_steps: Ints
    """(n,), steps in which they could happen."""
    delay: Ints
    """(n,), readings under the fault up to and including the alarm; all of them if missed."""
    missed: Bools
    """(n,), no alarm while the recording lasts."""


def event_delays(
    method: Method[S],
    recordings: Floats,
    which: Ints,
    start: Ints,
    change: Ints,
    limit: float | Floats,
    rng: np.random.Generator,
) -> EventDelays:
    """Monitor n runs through recordings (r, steps, p) of faults.

    Run i watches recording `which[i]` from row `start[i]` on; the fault sets in at row
    `change[i]`. All runs advance together; those that have not begun yet, or have raised a
    false alarm, begin anew. There is one limit for all of them, or one for each.
    """
    n, steps = len(which), recordings.shape[1]
    limits = np.broadcast_to(limit, n)
    false_alarms = np.zeros(n, dtype=np.int64)
    alarm_at = np.full(n, -1)
    running = np.arange(n)
    state = method.start(n, None, rng)
    for t in range(steps):
        again = np.flatnonzero(start[running] >= t) if t else running[:0]
        if len(again):
            state = state.put(again, method.start(len(again), None, rng))
        state, _, value = step(method, state, recordings[which[running], t], rng)
        over = (value > limits[running]) & (t >= start[running])
        early = over & (t < change[running])
        if early.any():
            false_alarms[running[early]] += 1
            state = method.again(state, np.flatnonzero(early), None, rng)
        found = over & ~early
        if found.any():
            alarm_at[running[found]] = t - change[running[found]] + 1
            state = state.take(np.flatnonzero(~found))
            running = running[~found]
        if len(running) == 0:
            break
    missed = alarm_at < 0
    return EventDelays(
        false_alarms, change - start, np.where(missed, steps - change, alarm_at), missed
    )
