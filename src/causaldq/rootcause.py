"""After the alarm: which stream began, and by which path that explains what was read.

`suspicion` gives every method's own ranking of the streams; `causes_at_alarm` and
`RankSummary` measure how often it is right; `ranked_causes` is what an engineer reads.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from causaldq.errors import ConfigError
from causaldq.methods.any_shift import AnyShift, AnyShiftState
from causaldq.methods.base import Method, State
from causaldq.methods.bayes_posterior import BayesPosterior, BayesState
from causaldq.methods.causal_sr import CausalSr, CausalSrState
from causaldq.methods.cmab import CmabState
from causaldq.methods.local import LocalState
from causaldq.methods.tras import LocalCusums
from causaldq.methods.tssrp import TssrpState
from causaldq.run import Delays, step
from causaldq.types import Bools, Floats, Ints

S = TypeVar("S", bound=State)


def suspicion(method: Method[Any], state: State) -> Floats:
    """How much a method suspects each stream, (n, p): the larger, the more.

    A posterior where the method has one, else what it knows of each stream alone.
    """
    if isinstance(method, CausalSr) and isinstance(state, CausalSrState):
        return method.cause_posterior(state)
    if isinstance(method, BayesPosterior) and isinstance(state, BayesState):
        return method.posterior(state)
    if isinstance(method, AnyShift) and isinstance(state, AnyShiftState):
        return method.posterior(state)
    if isinstance(state, LocalState):
        return state.contributions
    if isinstance(state, TssrpState):
        return state.together()
    if isinstance(state, LocalCusums):
        return state.larger()
    if isinstance(state, CmabState):
        return np.asarray(np.abs(state.mean) / np.sqrt(state.variance), np.float64)
    try:
        return method.contributions(state)
    except NotImplementedError:
        raise ConfigError(
            f"{type(method).__name__} does not say which stream it suspects"
        ) from None


@dataclass(frozen=True)
class Suspicions:
    """What a method suspects when it alarms, and some steps later."""

    outcome: Delays
    at_alarm: Floats
    """(n, p), NaN where no alarm came between the change and the horizon."""
    later: Floats
    """(n, p), NaN likewise."""


def causes_at_alarm(
    method: Method[S],
    paths: Floats,
    change: int,
    mean: Floats,
    limit: float,
    later: int,
    rng: np.random.Generator,
) -> Suspicions:
    """Monitor paths (n, steps, p) that shift at the step `change` by `mean` (c n, p).

    Each path has c futures, which share its past; a block of n means is one of them. A run goes
    on `later` steps after its alarm, so the horizon ends as many before the paths.
    """
    n, steps, _ = paths.shape
    horizon = steps - change - later
    running = np.arange(n)
    state = method.start(n, None, rng)
    for t in range(change):
        if len(running) == 0:
            break
        state, _, value = step(method, state, paths[running, t], rng)
        quiet = value <= limit
        if not quiet.all():
            state, running = state.take(quiet), running[quiet]

    futures = len(mean) // n
    state = state.take(np.tile(np.arange(len(running)), futures))
    running = np.concatenate([future * n + running for future in range(futures)])
    alarm_at = np.zeros(len(mean), dtype=np.int64)
    alarm_at[running] = -1
    at_alarm, afterwards = np.full(mean.shape, np.nan), np.full(mean.shape, np.nan)
    for t in range(change, steps):
        if len(running) == 0:
            break
        values = paths[running % n, t] + mean[running]
        state, _, value = step(method, state, values, rng)
        since = t - change + 1
        alarms = (value > limit) & (alarm_at[running] < 0)
        alarm_at[running[alarms]] = since
        if alarms.any():
            at_alarm[running[alarms]] = suspicion(method, state.take(alarms))
        due = (alarm_at[running] > 0) & (alarm_at[running] + later == since)
        if due.any():
            afterwards[running[due]] = suspicion(method, state.take(due))
        ended = due | ((alarm_at[running] < 0) & (since >= horizon))
        if ended.any():
            state, running = state.take(~ended), running[~ended]
    false_alarm, censored = alarm_at == 0, alarm_at < 0
    delay = np.where(censored, horizon, alarm_at)
    return Suspicions(Delays(false_alarm, delay, censored), at_alarm, afterwards)


def cause_ranks(scores: Floats, causes: Bools) -> Floats:
    """Rank (n,) of the best placed of the true causes (n, p), 1 at best; NaN without scores.

    Streams with the same score share the mean of their ranks: a tie is not a find.
    """
    best = np.where(causes, scores, -np.inf).max(axis=1, keepdims=True)
    above = (scores > best).sum(axis=1)
    level = (scores == best).sum(axis=1) - 1
    return np.where(np.isnan(scores).any(axis=1), np.nan, 1.0 + above + level / 2)


@dataclass(frozen=True)
class RankSummary:
    """How well a method names the cause."""

    runs: int
    """Runs with an alarm after the change."""
    top_1: float
    top_3: float
    mean_rank: float


def summarise_ranks(ranks: Floats) -> RankSummary:
    """Shares over the ranks (n,) that are not NaN."""
    known = ranks[~np.isnan(ranks)]
    if len(known) == 0:
        return RankSummary(0, float("nan"), float("nan"), float("nan"))
    return RankSummary(
        len(known),
        float((known <= 1).mean()),
        float((known <= 3).mean()),
        float(known.mean()),
    )


@dataclass(frozen=True)
class Explanation:
    """How a suspected cause reaches a stream that was read."""

    stream: int
    path: tuple[int, ...]
    """From the cause to the stream; empty if the graph has none."""
    expected: float
    """Shift of the stream that the cause would bring."""


@dataclass(frozen=True)
class Cause:
    """A suspected root cause."""

    stream: int
    posterior: float
    """Given that there was a change."""
    shift: float
    """Posterior mean of its own shift, in its deviations, given that it is the cause."""
    explanations: tuple[Explanation, ...]
    """Of the streams read, those it moves most first."""


def ranked_causes(
    method: CausalSr, state: CausalSrState, row: int, read: Ints, effects: Floats, count: int
) -> list[Cause]:
    """The `count` most likely causes of one run, with the paths to the streams read.

    `effects` (p, p) are direct effects on a graph to draw paths on; entry [i, j] is that of
    i on j.
    """
    kept = method.posterior(state.take(np.array([row])))[0]
    known = method.hypotheses
    of_cause = known.by_cause(kept.sum(axis=0))
    shift = known.by_cause(method.sizes @ kept)
    moved = np.zeros((known.p, known.p))
    np.add.at(moved, known.causes, (method.sizes @ kept)[:, None] * known.signatures)
    causes = []
    for stream in np.argsort(-of_cause, kind="stable")[:count]:
        share = max(float(of_cause[stream]), np.finfo(float).tiny)
        expected = moved[stream] / share
        order = sorted(set(read.tolist()), key=lambda j: -abs(expected[j]))
        causes.append(
            Cause(
                int(stream),
                float(of_cause[stream]),
                float(shift[stream] / share),
                tuple(
                    Explanation(j, strongest_path(effects, int(stream), j), float(expected[j]))
                    for j in order
                ),
            )
        )
    return causes


def majority(graphs: Bools) -> Bools:
    """Of several graphs (g, p, p), the one that shares most links with the others."""
    share = graphs.mean(axis=0)
    agreement = np.where(graphs, share - 0.5, 0.0).sum(axis=(1, 2))
    return np.asarray(graphs[int(agreement.argmax())])


def strongest_path(effects: Floats, start: int, end: int) -> tuple[int, ...]:
    """The directed path whose product of direct effects (p, p) is largest in size.

    Empty if there is none. Effects are acyclic, so that a walk as long as there are streams
    settles all products.
    """
    p = len(effects)
    size = np.abs(effects)
    reached = np.zeros(p)
    reached[start] = 1.0
    before = np.full(p, -1)
    for _ in range(p):
        products = reached[:, None] * size
        best = products.argmax(axis=0)
        value = products[best, np.arange(p)]
        better = value > reached
        better[start] = False
        if not better.any():
            break
        reached[better] = value[better]
        before[better] = best[better]
    if reached[end] == 0.0:
        return ()
    path = [end]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return tuple(reversed(path))
