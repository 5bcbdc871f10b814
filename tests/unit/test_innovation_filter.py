"""The filter on innovations: its evidence, its bound, its sensors, what it says of a change."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from causaldq import check_method
from causaldq.methods.base import Problem
from causaldq.methods.change_times import ChangeTimes
from causaldq.methods.greedy import Greedy
from causaldq.methods.innovation_filter import (
    InnovationFilter,
    InnovationFilterSettings,
    InnovationState,
    _weighed,
)
from causaldq.models.state_space import Seen, StateSpace
from causaldq.run import statistics, step
from causaldq.types import Floats, Ints


def a_plant(p: int, rng: np.random.Generator, a: float = 0.8) -> StateSpace:
    factor = rng.normal(size=(p, 3 * p))
    q = factor @ factor.T
    scale = np.sqrt(np.diag(q))
    q = (1 - a**2) * 0.8 * q / np.outer(scale, scale)
    plain = StateSpace.independent(np.eye(p), rows=400)
    return replace(plain, a=np.full(p, a), q=q, r=0.2 * np.eye(p))


def a_filter(model: StateSpace, m: int, **changed: float) -> InnovationFilter:
    problem = Problem(model.covariance, m, dynamics=model)
    return InnovationFilter(problem, InnovationFilterSettings(**changed))  # type: ignore[arg-type]


def followed(
    method: InnovationFilter, paths: Floats, seed: int = 0
) -> tuple[InnovationState, list[Ints]]:
    rng = np.random.default_rng(seed)
    state, read = method.start(len(paths), None, rng), []
    for t in range(paths.shape[1]):
        state, streams, _ = step(method, state, paths[:, t], rng)
        read.append(streams)
    return state, read


@pytest.mark.parametrize(("p", "m"), [(7, 3), (5, 5), (4, 1)])
def test_it_keeps_to_the_contract_with_and_without_memory(p: int, m: int) -> None:
    check_method("innovation_filter", p=p, sensors=m)
    model = replace(
        a_plant(p, np.random.default_rng(1)),
        period=np.where(np.arange(p) == 0, 2.0, 1.0),
        gap_factors=np.tile(np.linspace(1.0, 2.0, 5), (p, 1)),
        excess=np.linspace(1.0, 1.5, p),
    )

    def with_memory(problem: Problem) -> InnovationFilter:
        return InnovationFilter(replace(problem, dynamics=model))

    check_method(with_memory, p=p, sensors=m)


@pytest.mark.parametrize("a", [0.0, 0.8])
def test_in_control_the_sum_is_at_most_the_number_of_steps_on_average(a: float) -> None:
    """The premise of the limit log ARL0, for sensors that follow the readings."""
    rng = np.random.default_rng(2)
    model, runs, steps = a_plant(5, rng, a), 3000, 20
    model = replace(model, mean_error=np.zeros((5, 5)))
    # The mean over runs of exp(statistic) has heavy tails; without faults of great size it has not.
    method = InnovationFilter(
        Problem(model.covariance, 2, dynamics=model),
        InnovationFilterSettings(variances=[0.05], inflations=[0.6], harmless=[0.0], mean_error=0),
    )
    sums = np.exp(statistics(method, model.simulate(runs, steps, rng), None, rng))
    error = sums.std(axis=0) / np.sqrt(runs)
    count = np.arange(1, steps + 1)
    assert (sums.mean(axis=0) < count + 4 * error).all()
    # With nothing taken for harmless and the mean known, it is an equality.
    assert (sums.mean(axis=0) > 0.93 * count - 4 * error).all()


def test_joining_candidates_keeps_the_sum() -> None:
    rng = np.random.default_rng(3)
    model = a_plant(4, rng)
    method = a_filter(model, 2)
    state, _ = followed(method, model.simulate(6, 37, rng))
    before = np.exp(method.statistic(state))
    begun = method._begun(state)
    np.testing.assert_allclose(np.exp(method.statistic(begun)), before + 1.0)
    slot = ChangeTimes(method.settings.levels, method.settings.kept).begins(state.time)
    assert (begun.began[np.arange(6), slot] == state.time).all()
    assert all(len(set(row)) == len(row) for row in begun.began[:, begun.began[0] >= 0].tolist())


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_without_memory_evidence_is_the_likelihood_ratio_of_readings(seed: int) -> None:
    """One stream, a change at the first step: shifts and inflations, integrated by hand."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=8) + 1.0
    model = replace(StateSpace.independent(np.eye(1), rows=1e12), mean_error=np.zeros((1, 1)))
    method = a_filter(model, 1)
    state = method.start(1, None, rng)
    for value in values:
        state = method.observe(state, np.array([[0]]), np.array([[value]]), rng)
    chosen = method.settings

    def log_density(covariance: Floats) -> float:
        _, log_det = np.linalg.slogdet(covariance)
        return float(-(values @ np.linalg.solve(covariance, values) + log_det) / 2)

    one = np.eye(8)
    moved = np.mean([np.exp(log_density(one + v)) for v in chosen.variances])
    wide, harmless = (
        np.mean([np.exp(log_density(one * (1 + kappa))) for kappa in kappas])
        for kappas in (chosen.inflations, chosen.harmless)
    )
    share = chosen.variance_share
    ratio = (1 - share) * moved / np.exp(log_density(one)) + share * wide / harmless
    first = state.began[0].tolist().index(0)
    assert np.exp(state.log_ratio[0, first, 0]) == pytest.approx(ratio, rel=1e-6)
    q = method.share
    # Nothing has joined the first candidate yet: it is the oldest of its kind.
    assert state.total[0, first] == pytest.approx(np.log(1 - q + q * ratio), abs=1e-6)


def test_a_step_in_the_mean_leaves_what_the_filter_has_not_absorbed() -> None:
    """1 - g, against how far the innovations of shifted readings move."""
    rng = np.random.default_rng(4)
    plain = StateSpace.independent(np.eye(1), rows=1e12)
    model = replace(plain, a=np.array([0.9]), q=np.array([[0.19]]), r=np.array([[0.1]]))
    method = a_filter(model, 1)
    rows = model.simulate(1, 12, rng)[0]
    state, plain_belief, moved_belief = method.start(1, None, rng), model.start(1), model.start(1)
    for t, row in enumerate(rows):
        streams = np.array([[0]]) if t != 5 else np.empty((1, 0), dtype=np.int64)
        first = state.began[0].tolist().index(0) if t else None
        left = 1.0 if first is None else 1.0 - state.absorbed[0, first, 0]
        values = row[None, : streams.shape[1]]
        state = method.observe(state, streams, values, rng)
        plain_belief, one = model.observe(plain_belief, streams, values)
        moved_belief, other = model.observe(moved_belief, streams, values + 2.0)
        if streams.size:
            assert other.innovation - one.innovation == pytest.approx(2.0 * left)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("mean up", lambda x: x + 2.5),
        ("mean down", lambda x: x - 2.5),
        ("variance", lambda x: 5.0 * x),
    ],
)
def test_an_alarm_names_the_stream_and_the_kind_of_change(kind: str, change: object) -> None:
    rng = np.random.default_rng(5)
    model = a_plant(6, rng, a=0.5)
    method = a_filter(model, 3)
    runs = 40
    paths = model.simulate(runs, 90, rng)
    paths[:, 40:, 2] = change(paths[:, 40:, 2])  # type: ignore[operator]
    state, _ = followed(method, paths)
    assert (method.statistic(state) > np.log(200)).mean() > 0.9
    kinds = method.kinds(state)
    np.testing.assert_allclose(kinds.sum(axis=2), method.posterior(state), atol=1e-9)
    assert (method.contributions(state).argmax(axis=1) == 2).mean() > 0.9
    named = [method.kinds_of_change[place] for place in kinds[:, 2].argmax(axis=1)]
    assert named.count(kind) > 0.9 * runs


def test_a_held_stream_is_read_again_when_it_is_due() -> None:
    rng = np.random.default_rng(6)
    p = 8
    model = replace(a_plant(p, rng, a=0.5), period=np.where(np.arange(p) < 4, 6.0, 1.0))
    method, plain = a_filter(model, 2), a_filter(replace(model, period=np.ones(p)), 2)
    state, read = followed(method, model.simulate(30, 120, rng))
    counts = np.bincount(np.concatenate(read).ravel(), minlength=p)
    assert counts[:4].mean() < counts[4:].mean()
    assert counts.min() > 0
    due = np.minimum(1.0, state.unread / model.period)
    np.testing.assert_allclose(method.worth(state), plain.worth(state) * due)


def test_it_keeps_its_run_length_on_its_own_model_and_beats_the_filter_without_memory() -> None:
    """Run length at least that asked for, and a shift found earlier at an equal rate."""
    from causaldq.calibration import average_run_length, limit_for, run_lengths
    from causaldq.methods.bayes_posterior import BayesPosterior
    from causaldq.run import delays

    rng = np.random.default_rng(7)
    model = a_plant(8, rng, a=0.9)
    method, plain = a_filter(model, 3), BayesPosterior(Problem(model.covariance, 3))
    in_control, after = model.simulate(60, 250, rng), model.simulate(80, 120, rng)
    mean = np.zeros((80, 8))
    mean[:, :3] = 1.0
    found = []
    for one in (method, plain):
        seen = statistics(one, in_control, None, np.random.default_rng(0))
        limit = limit_for(seen, 50.0)
        outcome = delays(one, after, 20, [mean], [None], limit, rng, restart=True)
        found.append(float(outcome[0].delay.mean()))
        if one is method:
            lengths, censored = run_lengths(seen, np.log(50.0))
            reached = average_run_length(lengths, censored)
            assert reached > 50.0 * (1 - 2 / np.sqrt((~censored).sum()))
    assert found[0] < found[1]


def test_kinds_of_change_add_up_to_the_chance_of_one() -> None:
    rng = np.random.default_rng(8)
    model = a_plant(4, rng)
    method = a_filter(model, 2)
    state, _ = followed(method, model.simulate(3, 15, rng))
    np.testing.assert_allclose(method.kinds(state).sum(axis=-1), method.posterior(state))


def test_what_a_reading_is_worth_by_hand() -> None:
    """A mean of half the size is worth log(1 + 1/4) where it shows against a deviation of two."""
    model = a_plant(3, np.random.default_rng(9))
    method = a_filter(replace(model, r=4.0 * np.eye(3)), 1)
    state = method.start(1, None, np.random.default_rng(0))
    shape = state.score.shape
    total = np.full(shape[:2], -np.inf)
    total[0, 1] = 800.0  # the candidate that is believed
    state = replace(
        state,
        covariance=np.zeros((1, 3, 3)),
        unread=np.full((1, 3), 5),
        size=np.full(shape, 1.0),
        absorbed=np.full(shape, 0.5),
        widened=np.full(shape, 0.3),
        moved=np.full(shape, 0.6),
        total=total,
    )
    worth = 4.0 * (0.3 + 0.6 * np.log(1 + 0.5 / 2.0))
    np.testing.assert_allclose(method.worth(state), np.full((1, 3), worth))


def test_wider_deviations_weigh_less() -> None:
    """Twice the width: a quarter of the score and of the information, four times the variance."""
    covariance = np.array([[[2.0, 0.5], [0.5, 1.0]]])
    seen = Seen(
        innovation=np.array([[1.0, -0.5]]),
        covariance=covariance,
        precision=np.linalg.inv(covariance),
        gain=np.zeros((1, 2, 2)),
        news=np.array([[True, True]]),
    )
    usual, wide = (_weighed(seen, np.full((1, 2), width)) for width in (1.0, 2.0))
    for part, alone, factor in zip(wide, usual, (1 / 4, 1 / 4, 4), strict=True):
        np.testing.assert_allclose(part, factor * alone)


def test_it_is_given_a_model_of_memory() -> None:
    assert InnovationFilter.uses_dynamics
    assert not Greedy.uses_dynamics


def test_change_times_are_kept_by_the_powers_of_two_in_them() -> None:
    """By the definition: how often two divides a time, and the first belongs to the highest."""
    times = ChangeTimes(levels=4, kept=2)
    for t in range(1, 64):
        level = min(next(k for k in range(7) if t % 2 ** (k + 1)), 3)
        assert times.begins(np.array([t]))[0] // 2 == level
    assert times.begins(np.array([0]))[0] // 2 == 3
