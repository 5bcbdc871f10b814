"""The trial of learned sensors: it begins as the filter, and looks ahead as brute force does."""

import learned_sensing as tool
import numpy as np
import pytest
from look_ahead import AheadState, LookAhead, Watch

from causaldq import simulate
from causaldq.methods.base import Problem
from causaldq.methods.bayes_posterior import BayesPosterior, BayesState
from causaldq.run import statistics
from causaldq.types import Floats


def watched(method: Watch | LookAhead, values: Floats) -> tuple[object, Floats]:
    """State after the values (n, steps, p), chosen by the method; and what it then chooses."""
    rng = np.random.default_rng(5)
    state = method.start(len(values), None, rng)
    for t in range(values.shape[1]):
        streams = method.choose(state, rng)
        read = np.take_along_axis(values[:, t], streams, axis=1)
        state = method.observe(state, streams, read, rng)
    return state, method.choose(state, rng)


@pytest.mark.parametrize("degree", [0.0, 3.0])
def test_an_untrained_network_is_the_filter(degree: float) -> None:
    streams = simulate(9, degree=degree, seed=2)
    problem = Problem(streams.covariance, 2)
    paths = streams.in_control(6, 70, np.random.default_rng(3))
    weights = tool.first_weights(np.random.default_rng(4))
    expected = statistics(BayesPosterior(problem), paths, None, np.random.default_rng(0))
    found = statistics(tool.Learned(problem, weights), paths, None, np.random.default_rng(0))
    np.testing.assert_array_equal(found, expected)
    weights[tool.FIRST :] = 1.0
    other = statistics(tool.Learned(problem, weights), paths, None, np.random.default_rng(0))
    assert (other != expected).any()


def test_the_network_does_not_mind_the_order_of_streams() -> None:
    rng = np.random.default_rng(1)
    method = tool.Learned(Problem(np.eye(7), 2), rng.standard_normal(tool.COUNT))
    state, _ = watched(method, rng.standard_normal((4, 30, 7)))
    assert isinstance(state, BayesState)
    order = rng.permutation(7)
    turned = BayesState(
        state.time,
        *(part[:, :, order] for part in (state.score, state.information)),
        *(part[:, :, order] for part in (state.log_ratio, state.worth)),
        state.total,
        state.unread[:, order],
    )
    worths = method.worths(state)
    assert worths.std(axis=1).min() > 0
    np.testing.assert_allclose(method.worths(turned), worths[:, order], rtol=1e-12)


def by_brute_force(method: LookAhead, state: AheadState, steps: int) -> Floats:
    """Worths (p,) of the first replication, on a fine grid, from the filter's own formulas."""
    grid = np.linspace(-9, 9, 181)
    density = np.exp(-(grid**2) / 2) / np.sqrt(2 * np.pi) * (grid[1] - grid[0])
    inner, share = state.inner, method.filter.share
    begun = np.isfinite(inner.total[0])
    weights = np.append(np.exp(inner.total[0] + method.filter.log_span)[begun], 1.0)
    weights /= weights.sum()

    def odds(score: Floats, count: Floats) -> Floats:
        ratio = np.mean(
            [
                np.exp(score**2 * v / (2 * (1 + count * v))) / np.sqrt(1 + count * v)
                for v in (0.03, 0.2, 1.5)
            ],
            axis=0,
        )
        return 1 - share + share * ratio

    def predicted(i: int, more: Floats, count: int) -> Floats:
        score = np.append(inner.score[0, begun, i], 0.0)[:, None]
        known = np.append(inner.information[0, begun, i], 0.0)[:, None]
        return np.asarray(weights @ (odds(score + more, known + count) / odds(score, known)))

    p = inner.score.shape[2]
    once = [predicted(i, grid, 1) for i in range(p)]
    now = np.array([(density * ratio * np.log(ratio)).sum() for ratio in once])
    if steps == 1:
        return now
    worth = np.empty(p)
    for i in range(p):
        other = np.sort(np.delete(now, i))[-method.problem.m]
        then = 0.0
        for x, at_x, ratio in zip(grid, density, once[i], strict=True):
            second = predicted(i, x + grid, 2) / ratio
            then += at_x * ratio * max(float((density * second * np.log(second)).sum()), other)
        worth[i] = now[i] + then - max(now[i], other)
    return worth


@pytest.mark.parametrize("steps", [1, 2])
def test_looking_ahead_agrees_with_brute_force(steps: int) -> None:
    rng = np.random.default_rng(6)
    method = LookAhead(Problem(np.eye(4), 2), steps)
    values = rng.standard_normal((1, 13, 4))
    values[:, :, 2] += 1.0
    state, chosen = watched(method, values)
    assert isinstance(state, AheadState)
    expected = by_brute_force(method, state, steps)
    # Where one would rather look elsewhere the integrand has a bend, which few points smooth out.
    close = 0.01 if steps == 1 else 0.05
    np.testing.assert_allclose(method.worths(state)[0], expected, rtol=close, atol=1e-6)
    assert sorted(chosen[0]) == sorted(np.argsort(expected)[-2:])


def test_a_ratio_of_delays_and_its_interval() -> None:
    base = np.exp(np.random.default_rng(7).standard_normal((2, 400)))
    assert tool.ratio(0.9 * base, base) == pytest.approx((0.9, 0.9, 0.9))
    other = np.exp(np.random.default_rng(8).standard_normal((2, 400)))
    _, low, high = tool.ratio(other, base)
    # Of two means of 400 log-normal values each, over two sizes: (e - 1) / 400 for each of four.
    spread = np.sqrt(4 * (np.e - 1) / 400) / 2
    assert np.log(high / low) == pytest.approx(2 * 1.96 * spread, rel=0.25)


def test_the_whole_trial_in_toy_size(capsys: pytest.CaptureFixture[str]) -> None:
    tool.main(["--quick"])
    said = capsys.readouterr().out
    assert "kept: the network after" in said
    assert said.count("| independent |") == said.count("| SEM |") == 5
