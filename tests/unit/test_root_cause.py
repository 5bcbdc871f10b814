"""Naming the cause: ranks, paths, and what is measured at the alarm."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made import made

from causaldq.errors import ConfigError
from causaldq.methods.base import Method, Problem
from causaldq.methods.causal_sr import CausalSr, CausalSrSettings, CausalSrState
from causaldq.methods.registry import BASELINES
from causaldq.models.streams import StreamModel
from causaldq.rootcause import (
    Suspicions,
    cause_ranks,
    causes_at_alarm,
    ranked_causes,
    strongest_path,
    summarise_ranks,
    suspicion,
)
from causaldq.run import delays, step
from causaldq.statistic import StatisticSettings
from causaldq.types import Floats

SETTINGS = CausalSrSettings(
    deltas=[0.5, 1.0, 2.0], delta_prior=None, graph_free=0.0, prune=1e-4, order_seed=0
)
STATISTIC = StatisticSettings(decay=0.1, form="normalised", ridge=1e-6)
P, M = 6, 3


@pytest.fixture
def model() -> StreamModel:
    """0 -> 1 -> 2 and 3 -> 2, 4 -> 5; variances are one."""
    effects = np.zeros((P, P))
    effects[0, 1], effects[1, 2], effects[3, 2], effects[4, 5] = 0.7, 0.5, 0.6, -0.8
    own = np.array([1, 1 - 0.49, 1 - 0.25 - 0.36, 1, 1, 1 - 0.64])
    total = np.linalg.inv(np.eye(P) - effects)
    covariance = total.T @ np.diag(own) @ total
    return StreamModel(tuple("abcdef"), np.zeros((0, P)), covariance, effects)


@pytest.fixture
def method(model: StreamModel) -> CausalSr:
    problem = Problem(model.covariance, M, STATISTIC, (model.effects != 0)[None])
    return CausalSr(problem, SETTINGS)


# --- ranks -------------------------------------------------------------------------------------


def test_ranks_by_hand() -> None:
    scores = np.array([[0.1, 0.7, 0.2], [0.4, 0.2, 0.4], [0.3, 0.3, 0.3], [np.nan] * 3])
    first = np.array([[True, False, False]] * 4)
    assert cause_ranks(scores, first) == pytest.approx([3.0, 1.5, 2.0, np.nan], nan_ok=True)
    # Of two causes the better placed counts.
    two = np.array([[True, True, False]] * 4)
    assert cause_ranks(scores, two) == pytest.approx([1.0, 1.5, 2.0, np.nan], nan_ok=True)


def test_summary_by_hand() -> None:
    found = summarise_ranks(np.array([1.0, 1.5, 3.0, 7.5, np.nan]))
    assert (found.runs, found.top_1, found.top_3) == (4, 0.25, 0.75)
    assert found.mean_rank == pytest.approx(3.25)
    nothing = summarise_ranks(np.array([np.nan]))
    assert nothing.runs == 0
    assert np.isnan(nothing.top_1)


# --- at the alarm ------------------------------------------------------------------------------


def test_delays_are_those_of_the_monitor(model: StreamModel, method: CausalSr) -> None:
    """Ties are broken at random, so exactly only where no tie decides; here they are few."""
    n, change, horizon, later, limit = 200, 20, 60, 7, 4.0
    paths = model.in_control(n, change + horizon + later, np.random.default_rng(1))
    mean = np.zeros((n, P))
    mean[:, 0] = 1.0
    seen = causes_at_alarm(method, paths, change, mean, limit, later, np.random.default_rng(2))
    expected = delays(
        method, paths[:, : change + horizon], change, [mean], [None], limit,
        np.random.default_rng(2),
    )[0]  # fmt: skip
    assert seen.outcome.false_alarm.any()
    assert np.array_equal(seen.outcome.false_alarm, expected.false_alarm)
    assert np.array_equal(seen.outcome.delay, expected.delay)
    assert np.array_equal(seen.outcome.censored, expected.censored)
    alarmed = ~expected.false_alarm & ~expected.censored
    for scores in (seen.at_alarm, seen.later):
        assert np.array_equal(~np.isnan(scores).any(axis=1), alarmed)


def test_suspicions_are_those_at_the_alarm_and_later(model: StreamModel, method: CausalSr) -> None:
    change, later, limit = 5, 4, 3.0
    paths = model.in_control(1, 60, np.random.default_rng(4))
    mean = np.array([[0.0, 0, 0, 0, 1.5, -1.2]])
    seen = causes_at_alarm(method, paths, change, mean, limit, later, np.random.default_rng(2))
    delay = int(seen.outcome.delay[0])
    assert 0 < delay < 51
    rng, posteriors = np.random.default_rng(2), []
    state = method.start(1, None, rng)
    for t in range(change + delay + later):
        values = paths[:, t] + (mean if t >= change else 0.0)
        state, _, value = step(method, state, values, rng)
        posteriors.append(method.cause_posterior(state)[0])
        assert t < change + delay - 1 or value[0] > limit or t > change + delay - 1
    assert seen.at_alarm[0] == pytest.approx(posteriors[change + delay - 1])
    assert seen.later[0] == pytest.approx(posteriors[-1])


def test_futures_share_a_past_and_nothing_else(model: StreamModel, method: CausalSr) -> None:
    rng = np.random.default_rng(4)
    paths = model.in_control(30, 20 + 40 + 5, rng)
    one, other = model.total_effects()[:2]
    means = [np.tile(one, (30, 1)), np.tile(2 * other, (30, 1))]

    def seen(mean: Floats) -> Suspicions:
        return causes_at_alarm(method, paths, 20, mean, 2.0, 5, np.random.default_rng(2))

    together, apart = seen(np.concatenate(means)), [seen(mean) for mean in means]
    assert 0 < apart[0].outcome.false_alarm.sum() < 30
    for name in ("false_alarm", "delay", "censored"):
        assert np.array_equal(
            getattr(together.outcome, name),
            np.concatenate([getattr(part.outcome, name) for part in apart]),
        )
    for name in ("at_alarm", "later"):
        joined = np.concatenate([getattr(part, name) for part in apart])
        np.testing.assert_allclose(getattr(together, name), joined, rtol=1e-9)


def test_runs_that_all_alarm_before_the_change_end_there(model: StreamModel) -> None:
    filtering: Method[Any] = made("bayes_posterior", Problem(model.covariance, M, STATISTIC))
    paths = model.in_control(4, 20 + 40 + 5, np.random.default_rng(4))
    rng = np.random.default_rng(2)
    seen = causes_at_alarm(filtering, paths, 20, np.ones((8, P)), -np.inf, 5, rng)
    assert seen.outcome.false_alarm.tolist() == [True] * 8
    assert np.isnan(seen.at_alarm).all()
    assert np.isnan(seen.later).all()


def test_more_readings_name_the_cause_better(model: StreamModel, method: CausalSr) -> None:
    """And both better than chance, which is one in six."""
    n, limit, later = 400, 2.5, 20
    rng = np.random.default_rng(3)
    paths = model.in_control(n, 10 + 200 + later, rng)
    root = rng.integers(P, size=n)
    mean = model.total_effects()[root]
    seen = causes_at_alarm(method, paths, 10, mean, limit, later, rng)
    causes = root[:, None] == np.arange(P)
    first = summarise_ranks(cause_ranks(seen.at_alarm, causes))
    second = summarise_ranks(cause_ranks(seen.later, causes))
    assert first.top_1 > 0.6
    assert first.top_1 < 0.95
    assert second.top_1 > first.top_1 + 0.03
    assert second.mean_rank < first.mean_rank


@pytest.mark.parametrize("name", [*BASELINES, "random"])
def test_every_method_suspects_what_it_saw_shift(name: str) -> None:
    """Independent streams: the shifted one must come out on top, whatever the method."""
    problem = Problem(np.eye(P), M, STATISTIC)
    found: Method[Any] = made(name, problem)
    rng = np.random.default_rng(1)
    state = found.start(50, None, rng)
    for _ in range(60):
        values = rng.standard_normal((50, P)) + 2.0 * (np.arange(P) == 4)
        state, _, _ = step(found, state, values, rng)
    assert (suspicion(found, state).argmax(axis=1) == 4).mean() > 0.9


def test_a_bound_suspects_nothing() -> None:
    problem = Problem(np.eye(P), M, STATISTIC)
    found = made("full_observation", problem)
    with pytest.raises(ConfigError, match="FullObservation"):
        suspicion(found, found.start(1, None, np.random.default_rng(0)))


# --- the report --------------------------------------------------------------------------------


def all_paths(effects: np.ndarray, start: int, end: int) -> list[tuple[int, ...]]:
    if start == end:
        return [(end,)]
    return [
        (start, *rest)
        for child in np.flatnonzero(effects[start])
        for rest in all_paths(effects, int(child), end)
    ]


@given(seed=st.integers(0, 2**32 - 1))
def test_the_strongest_path_is_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = 7
    order = rng.permutation(p)
    effects = np.zeros((p, p))
    links = np.triu(rng.random((p, p)) < 0.5, k=1)
    # Beyond one in size, so that a longer path can be the stronger.
    effects[np.ix_(order, order)] = links * rng.uniform(0.3, 1.8, (p, p))
    effects *= rng.choice([-1.0, 1.0], (p, p))

    def strength(path: tuple[int, ...]) -> float:
        return float(np.prod([abs(effects[i, j]) for i, j in pairwise(path)]))

    for start in range(p):
        for end in range(p):
            possible = all_paths(effects, start, end)
            found = strongest_path(effects, start, end)
            if possible:
                assert found in possible
                assert strength(found) == pytest.approx(max(map(strength, possible)))
            else:
                assert found == ()


def test_sizes_are_those_given_the_cause(model: StreamModel, method: CausalSr) -> None:
    """Where no cause is certain: by loops over all hypotheses, each with its probability."""
    rng = np.random.default_rng(6)
    state = method.start(1, None, rng)
    for values in model.in_control(1, 3, rng).transpose(1, 0, 2):
        state, _, _ = step(method, state, values, rng)
    assert isinstance(state, CausalSrState)
    posterior = method.posterior(state)[0]
    causes = ranked_causes(method, state, 0, np.arange(P), model.effects, P)
    assert sorted(cause.stream for cause in causes) == list(range(P))
    assert max(cause.posterior for cause in causes) < 0.9
    for cause in causes:
        weight, size, moved = 0.0, 0.0, np.zeros(P)
        for h, root in enumerate(method.hypotheses.causes):
            for k, delta in enumerate(method.sizes):
                if root == cause.stream:
                    weight += posterior[k, h]
                    size += posterior[k, h] * delta
                    moved += posterior[k, h] * delta * method.hypotheses.signatures[h]
        assert cause.posterior == pytest.approx(weight)
        assert cause.shift == pytest.approx(size / weight)
        for told in cause.explanations:
            assert told.expected == pytest.approx(moved[told.stream] / weight)


def test_the_report_names_the_cause_its_size_and_its_paths(
    model: StreamModel, method: CausalSr
) -> None:
    rng = np.random.default_rng(5)
    state = method.start(2, None, rng)
    mean = np.zeros((2, P))
    mean[1] = -2.0 * model.total_effects()[0]
    read: list[int] = []
    for values in model.in_control(2, 40, rng).transpose(1, 0, 2):
        state, streams, _ = step(method, state, values + mean, rng)
        read += streams[1].tolist()
    assert isinstance(state, CausalSrState)
    causes = ranked_causes(method, state, 1, np.array([0, 1, 2, 4]), model.effects, 3)
    assert len(causes) == 3
    first = causes[0]
    assert first.stream == 0
    assert first.posterior > 0.99
    assert first.posterior == pytest.approx(method.cause_posterior(state)[1, 0])
    assert first.shift == pytest.approx(-2.0, abs=0.1)
    paths = {e.stream: (e.path, e.expected) for e in first.explanations}
    assert [e.stream for e in first.explanations][:3] == [0, 1, 2]
    assert paths[0][0] == (0,)
    assert paths[1] == ((0, 1), pytest.approx(-2.0 * 0.7, abs=0.1))
    assert paths[2] == ((0, 1, 2), pytest.approx(-2.0 * 0.35, abs=0.05))
    assert paths[4] == ((), pytest.approx(0.0, abs=1e-6))
    assert causes[0].posterior >= causes[1].posterior >= causes[2].posterior
