"""The state-space model of normal rows, against dense Gaussian algebra and by-hand dropping."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal

from causaldq.models import em
from causaldq.models.in_control import _not_white, chosen_model, fit_in_control
from causaldq.models.state_space import StateSpace
from causaldq.types import Floats

SEEDS = st.integers(0, 2**32 - 1)
NAMES = ("a", "b", "c", "d", "e", "f")


def positive(p: int, rng: np.random.Generator) -> Floats:
    factor = rng.normal(size=(p, 2 * p))
    return np.asarray(factor @ factor.T / (2 * p))


def a_model(p: int, rng: np.random.Generator) -> StateSpace:
    plain = StateSpace.independent(np.eye(p), rows=1e12)
    a = rng.uniform(-0.5, 0.95, p)
    return replace(plain, a=a, q=0.5 * positive(p, rng), r=0.4 * positive(p, rng))


def dense(model: StateSpace, steps: int) -> tuple[Floats, Floats, Floats]:
    """Covariance of all rows; the matrix that makes z of its start and moves; their covariance."""
    p = model.p
    powers = [np.diag(model.a**lag) for lag in range(steps)]
    made = np.zeros((steps * p, steps * p))
    for t in range(steps):
        for s in range(t + 1):
            made[t * p : (t + 1) * p, s * p : (s + 1) * p] = powers[t - s]
    moves = block_diag(model.stationary, *[model.q] * (steps - 1))
    noise = block_diag(*[model.r] * steps)
    return made @ moves @ made.T + noise, made, moves


@given(seed=SEEDS)
@settings(max_examples=25)
def test_innovations_of_random_subsets_are_those_of_a_dense_gaussian(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p, steps, runs = 4, 6, 3
    model = a_model(p, rng)
    paths = model.simulate(runs, steps, rng)
    covariance, _, _ = dense(model, steps)
    belief, likelihood = model.start(runs), np.zeros(runs)
    read: list[list[int]] = [[] for _ in range(runs)]
    for t in range(steps):
        k = int(rng.integers(1, p + 1))
        streams = np.array([rng.choice(p, k, replace=False) for _ in range(runs)])
        values = np.take_along_axis(paths[:, t], streams, axis=1)
        values[0, 0] = np.nan  # a sensor that failed
        belief, seen = model.observe(belief, streams, values)
        for run in range(runs):
            here = [int(i) for i in streams[run][seen.news[run]]]
            places = [t * p + i for i in here]
            past = read[run]
            # What the rows before lead one to expect, by conditioning on all of them at once.
            expected, known = np.zeros(len(here)), covariance[np.ix_(places, places)]
            if past:
                gain = covariance[np.ix_(places, past)] @ np.linalg.inv(
                    covariance[np.ix_(past, past)]
                )
                expected = gain @ paths[run].ravel()[past]
                known = known - gain @ covariance[np.ix_(past, places)]
            news = seen.news[run]
            innovation = paths[run].ravel()[places] - expected
            np.testing.assert_allclose(seen.innovation[run][news], innovation, atol=1e-8)
            np.testing.assert_allclose(seen.covariance[run][np.ix_(news, news)], known, atol=1e-8)
            likelihood[run] += multivariate_normal.logpdf(innovation, cov=known) if here else 0
            read[run] += places
    for run in range(runs):
        values = paths[run].ravel()[read[run]]
        whole = multivariate_normal.logpdf(values, cov=covariance[np.ix_(read[run], read[run])])
        assert likelihood[run] == pytest.approx(whole, abs=1e-6)


def test_a_round_of_em_knows_the_expected_noises() -> None:
    """Its sums against dense conditional expectations, with cells and a whole row missing."""
    rng = np.random.default_rng(3)
    p, steps = 3, 7
    model = a_model(p, rng)
    rows = model.simulate(1, steps, rng)[0]
    rows[1, 2] = rows[4, 0] = np.nan
    rows[3] = np.nan
    moments, likelihood = em._moments(model, rows, model.stationary)
    covariance, made, moves = dense(model, steps)
    there = np.isfinite(rows.ravel())
    total, seen = covariance[np.ix_(there, there)], rows.ravel()[there]
    assert likelihood == pytest.approx(multivariate_normal.logpdf(seen, cov=total))
    noises = block_diag(moves, *[model.r] * steps)
    shown = np.hstack([made, np.eye(steps * p)])[there]
    gain = noises @ shown.T @ np.linalg.inv(total)
    mean = gain @ seen
    second = np.outer(mean, mean) + noises - gain @ shown @ noises

    def summed(matrix: Floats, rows_of: range, shift: int = 0) -> Floats:
        blocks = [
            matrix[(t + shift) * p : (t + shift + 1) * p, t * p : (t + 1) * p] for t in rows_of
        ]
        return np.sum(blocks, axis=0)

    own, size = steps * p, steps - 1
    v = summed(second[own:, own:], range(steps))
    np.testing.assert_allclose(steps * model.r + model.r @ moments.measurement @ model.r, v)
    e = summed(second[p:own, p:own], range(size))
    np.testing.assert_allclose(size * model.q + model.q @ moments.innovation @ model.q, e)
    z = summed(made @ second[:own, :own] @ made.T, range(size))
    np.testing.assert_allclose(moments.state, z)
    crossed = summed(second[:own, :own] @ made.T, range(size), shift=1)
    np.testing.assert_allclose(model.q @ moments.crossed, crossed, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_every_round_raises_the_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = a_model(4, rng).simulate(1, 250, rng)[0]
    rows[20:50, 1] = np.nan
    rows[100] = np.nan
    model = em.start_model(rows, rows, np.ones(4))
    first, likelihoods = model.stationary, []
    for _ in range(8):
        model, likelihood = em.em_round(model, rows, first, kept=1.0)
        likelihoods.append(likelihood)
    assert (np.diff(likelihoods) > 0).all(), likelihoods


def test_a_fit_finds_the_memory() -> None:
    rng = np.random.default_rng(5)
    true = StateSpace.independent(np.eye(3), rows=1e12)
    a = np.array([0.9, 0.5, 0.0])
    true = replace(true, a=a, q=np.diag(1 - a**2) * 0.8, r=np.eye(3) * 0.2)
    rows = true.simulate(1, 1500, rng)[0]
    found = em.fit_state_space(rows)
    # Memory and noise of a stream can stand in for each other; how rows go together cannot.
    for lag in (1, 2, 3):
        together = found.a**lag * np.diag(found.stationary)
        assert together == pytest.approx(0.8 * a**lag, abs=0.15)
    errors = found.innovations(rows).standardised
    assert np.nanmean(errors**2, axis=0) == pytest.approx(np.ones(3), abs=0.1)
    lagged = np.mean(errors[1:] * errors[:-1], axis=0)
    assert lagged == pytest.approx(np.zeros(3), abs=4 / np.sqrt(len(rows)))
    # Every fourth row of the same plant is as the thinned model says.
    thin = found.thinned(4)
    errors = thin.innovations(rows[::4]).standardised
    assert np.nanmean(errors**2, axis=0) == pytest.approx(np.ones(3), abs=0.15)


def test_held_values_are_the_same_as_dropping_them_by_hand() -> None:
    rng = np.random.default_rng(6)
    p = 4
    model = replace(a_model(p, rng), period=np.array([2.0, 1.0, 5.0, 1.0]))
    rows = model.simulate(1, 60, rng)[0]
    assert np.mean(rows[1:, 0] == rows[:-1, 0]) == pytest.approx(0.5, abs=0.05)
    assert np.mean(rows[1:, 2] == rows[:-1, 2]) == pytest.approx(0.8, abs=0.05)
    assert not (rows[1:, [1, 3]] == rows[:-1, [1, 3]]).any()
    np.testing.assert_allclose(em.holding(rows), [2.0, 1.0, 5.0, 1.0], rtol=0.15)
    whole = model.innovations(rows)
    dropped = model.innovations(em.without_repeats(rows, model.held))
    np.testing.assert_array_equal(whole.standardised, dropped.standardised)
    belief, by_hand = model.start(1), model.start(1)
    previous = np.full(p, np.nan)
    for row in rows:
        belief, _ = model.observe(belief, np.arange(p)[None], row[None])
        fresh = np.flatnonzero((row != previous) | ~model.held)
        by_hand, _ = model.observe(by_hand, fresh[None], row[fresh][None])
        previous = row
        np.testing.assert_allclose(belief.mean, by_hand.mean, atol=1e-10)
        np.testing.assert_allclose(belief.covariance, by_hand.covariance, atol=1e-10)
        np.testing.assert_array_equal(belief.unread, by_hand.unread)


def test_simulated_rows_have_the_model_s_covariance() -> None:
    rng = np.random.default_rng(7)
    model = a_model(3, rng)
    rows = model.simulate(400, 50, rng)
    flat = rows.reshape(-1, 3)
    np.testing.assert_allclose(flat.T @ flat / len(flat), model.covariance, atol=0.06)
    lagged = rows[:, 1:].reshape(-1, 3).T @ rows[:, :-1].reshape(-1, 3) / (400 * 49)
    np.testing.assert_allclose(lagged, model.a[:, None] * model.stationary, atol=0.06)


def test_rows_left_out_of_a_fit_do_not_matter() -> None:
    rng = np.random.default_rng(8)
    rows = a_model(4, rng).simulate(1, 200, rng)[0]
    part = np.arange(80, 120)
    spoilt = rows.copy()
    spoilt[part] = 1e6
    one, other = (
        fit_in_control(values, NAMES[:4], "state_space", without=part) for values in (rows, spoilt)
    )
    assert one.dynamics is not None
    assert other.dynamics is not None
    for name, array in one.dynamics.arrays().items():
        np.testing.assert_array_equal(array, other.dynamics.arrays()[name])
    np.testing.assert_array_equal(one.scale.mean, rows[np.r_[:80, 120:200]].mean(0))


@pytest.mark.parametrize(("memory", "name"), [(0.0, "independent"), (0.7, "state_space")])
def test_the_rows_choose_their_model(memory: float, name: str) -> None:
    rng = np.random.default_rng(9)
    plain = StateSpace.independent(np.eye(6), rows=1e12)
    a = np.full(6, memory)
    model = replace(plain, a=a, q=np.diag(1 - a**2) * 0.9, r=0.1 * np.eye(6))
    chosen, reason = chosen_model(model.simulate(1, 600, rng)[0], NAMES)
    assert chosen == name
    assert "log likelihood of a later row" in reason


def test_apart_each_stream_is_followed_as_if_alone() -> None:
    rng = np.random.default_rng(11)
    model = a_model(4, rng)
    rows = model.simulate(1, 30, rng)[0]
    apart = model.apart.innovations(rows).standardised
    for i in range(4):
        alone = replace(
            StateSpace.independent(np.eye(1), rows=1e12),
            a=model.a[[i]],
            q=model.q[[i]][:, [i]],
            r=model.r[[i]][:, [i]],
        )
        np.testing.assert_allclose(
            apart[:, [i]], alone.innovations(rows[:, [i]]).standardised, atol=1e-9
        )


def test_a_round_of_em_moves_by_the_mean_of_what_is_expected() -> None:
    """Q and R after a round are means of expected squares, with the memory the round found."""
    rng = np.random.default_rng(5)
    model = a_model(3, rng)
    rows = model.simulate(1, 12, rng)[0]
    n = len(rows)
    moments, _ = em._moments(model, rows, model.stationary)
    found, _ = em.em_round(model, rows, model.stationary, kept=1.0)
    step = found.a - model.a
    assert np.abs(step).max() > 0.01
    moves = (n - 1) * model.q + model.q @ moments.innovation @ model.q
    crossed = model.q @ moments.crossed * step
    moves = moves - crossed - crossed.T + moments.state * np.outer(step, step)
    np.testing.assert_allclose(found.q, moves / (n - 1), atol=1e-10)
    noises = n * model.r + model.r @ moments.measurement @ model.r
    np.testing.assert_allclose(found.r, noises / n, atol=1e-10)


def test_what_a_stream_holds_is_told_by_neighbours_that_are_both_there() -> None:
    nan = np.nan
    rows = np.array([[5, 5, nan, 7, 7, nan, 9, 9], [1, 2, 3, 4, nan, 6, 7, 8]], dtype=float).T
    np.testing.assert_allclose(em.holding(rows), [8.0, 1.0])  # as long as all rows; not at all


def test_a_stream_is_held_where_its_period_is_more_than_a_row() -> None:
    plain = StateSpace.independent(np.eye(3), rows=100)
    assert replace(plain, period=np.array([1.0, 1.5, 2.0])).held.tolist() == [False, True, True]


def test_the_long_run_weighs_lags_less_and_less() -> None:
    """Bartlett's weights, of lags up to LAGS: by the definition, and by hand for two spikes."""
    errors = np.random.default_rng(2).normal(size=(300, 2)).cumsum(axis=0)
    expected = np.ones(2)
    for i, one in enumerate(errors.T):
        for lag in range(1, em.LAGS + 1):
            share = sum(one[t] * one[t - lag] for t in range(lag, 300)) / (one @ one)
            expected[i] += 2 * (1 - lag / (em.LAGS + 1)) * share
    np.testing.assert_allclose(em.long_run(errors), expected)
    apart = np.zeros((100, 3))
    apart[10] = 1.0
    apart[[10 + em.LAGS, 11 + em.LAGS, 11], [0, 1, 2]] = 1.0
    last, first = 1 / (em.LAGS + 1), em.LAGS / (em.LAGS + 1)
    np.testing.assert_allclose(em.long_run(apart), [1 + last, 1.0, 1 + first])


def test_errors_are_white_where_none_follows_from_the_one_before() -> None:
    errors = np.random.default_rng(4).normal(size=(500, 3))
    assert _not_white(errors) == 0
    errors[1:, 0] += 0.6 * errors[:-1, 0]
    errors[1:, 2] -= 0.6 * errors[:-1, 2]
    assert _not_white(errors) == 2


def test_a_round_of_em_does_not_depend_on_the_unit() -> None:
    rng = np.random.default_rng(6)
    model = a_model(3, rng)
    rows = model.simulate(1, 60, rng)[0]
    large = replace(model, q=1e6 * model.q, r=1e6 * model.r)
    found, _ = em.em_round(model, rows, model.stationary)
    scaled, _ = em.em_round(large, 1e3 * rows, large.stationary)
    np.testing.assert_allclose(scaled.a, found.a, atol=1e-6)
    np.testing.assert_allclose(scaled.q / 1e6, found.q, atol=1e-6)
    np.testing.assert_allclose(scaled.r / 1e6, found.r, atol=1e-6)


def test_the_grid_of_starts_holds_shares_of_noise_and_memories_that_fade() -> None:
    assert list(em.START_R) == sorted(set(em.START_R))
    assert 0 < em.START_R[0] < em.START_R[-1] < 1
    assert np.abs(em.START_A).max() < 1
