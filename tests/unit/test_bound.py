"""Limits that guarantee a run length without simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import a_covariance, a_problem, made

from causaldq import Shift, evaluate, simulate
from causaldq.comparison import bound_limit
from causaldq.errors import ConfigError
from causaldq.methods.base import Method, State
from causaldq.methods.bayes_posterior import BayesPosterior, BayesPosteriorSettings

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def expected_next_sum(
    method: Method[State], state: State, streams: list[int], rng: np.random.Generator
) -> float:
    """E R after the next readings of two streams, in control, by quadrature."""
    n = len(NODES) ** 2
    normal = np.stack(np.meshgrid(NODES, NODES), axis=-1).reshape(n, 2)
    weight = np.outer(WEIGHTS, WEIGHTS).reshape(n)
    factor = np.linalg.cholesky(method.problem.covariance[np.ix_(streams, streams)])
    copies = state.take(np.zeros(n, dtype=np.int64))
    after = method.observe(copies, np.tile(streams, (n, 1)), normal @ factor.T, rng)
    return float(weight @ np.exp(method.statistic(after)))


@pytest.mark.parametrize(
    ("name", "covariance"),
    [
        ("causal_sr_no_graph", np.diag([1.0, 0.5, 2.0])),
        ("causal_sr_no_graph", a_covariance(3)),
        ("any_shift", np.diag([1.0, 0.5, 2.0])),
    ],
)
def test_the_sum_grows_by_one_a_step(name: str, covariance: np.ndarray) -> None:
    """Whatever was read before: R minus the steps is a martingale. Some candidates join."""
    method = made(name, a_problem(covariance, 2))
    rng = np.random.default_rng(0)
    state = method.start(1, None, rng)
    total = 0.0
    for streams in [[0, 1], [0, 2], [0, 1], [1, 2]] * 3:
        grown = expected_next_sum(method, state, streams, rng)
        assert grown == pytest.approx(total + 1, rel=1e-3)
        values = np.array([[0.4, -0.9]])
        state = method.observe(state, np.array([streams]), values, rng)
        total = float(np.exp(method.statistic(state)[0]))


def test_the_filters_sum_grows_by_what_begins_less_what_is_dropped() -> None:
    method = BayesPosterior(a_problem(np.diag([1.0, 0.5, 2.0]), 2))
    rng = np.random.default_rng(0)
    state = method.start(1, None, rng)
    span, total = np.exp(method.log_span), 0.0
    dropped_some = False
    for t in range(20):
        streams = [t % 3, (t + 1) % 3]
        begins = int(method.times.begins(state.time)[0])
        dropped = span[begins] * np.exp(state.total[0, begins])
        dropped_some |= bool(dropped > 0)
        grown = expected_next_sum(method, state, streams, rng)
        assert grown == pytest.approx(total + span[begins] - dropped, rel=1e-3)
        state = method.observe(state, np.array([streams]), rng.normal(0.3, 1, (1, 2)), rng)
        total = float(np.exp(method.statistic(state)[0]))
    assert dropped_some


@settings(max_examples=20)
@given(levels=st.integers(1, 9), kept=st.integers(1, 4))
def test_what_the_filter_has_begun_weighs_no_more_than_its_bound(levels: int, kept: int) -> None:
    own = BayesPosteriorSettings(levels=levels, kept=kept)
    method = BayesPosterior(a_problem(np.eye(3), 1), own)
    begun = np.cumsum(np.exp(method.log_span)[method.times.begins(np.arange(3000))])
    bound = np.array([np.exp(bound_limit(method, float(n))) for n in range(1, 3001)])
    assert (begun <= bound * (1 + 1e-9)).all()
    # and not by far: the slack is bounded while both grow
    assert (bound - begun).max() <= 2.0 ** (levels + 1)


@pytest.mark.parametrize("name", ["causal_sr_no_graph", "bayes_posterior", "any_shift"])
def test_a_guaranteed_limit_keeps_its_promise_at_a_price(name: str) -> None:
    """200 paths: a relative standard error of 7%, and all methods are cautious by more."""
    streams = simulate(6, degree=0)
    asked = {"arl0": 40.0, "replications": 100, "paths": 200, "before": 5}
    shift = [Shift(1.0, streams=2)]
    bound = evaluate([name], streams, 2, shift, limit="bound", **asked)
    simulated = evaluate([name], streams, 2, shift, **asked)
    assert bound.limit[0] == pytest.approx(bound_limit(made(name, a_problem(np.eye(6), 2)), 40))
    assert bound.reached[0] > 40
    assert bound.limit[0] > simulated.limit[0]
    assert bound.delay[0] > simulated.delay[0]


@pytest.mark.parametrize(
    ("name", "covariance", "arl0", "message"),
    [
        ("greedy", np.eye(3), 200.0, "no Shiryaev-Roberts sum"),
        ("bayes_posterior", a_covariance(3), 200.0, "independent streams only"),
        ("any_shift", a_covariance(3), 200.0, "independent streams only"),
        ("bayes_posterior", np.eye(3), 0.0, "at least 1"),
        ("bayes_posterior", np.eye(3), np.inf, "at least 1"),
    ],
)
def test_no_bound_where_there_is_none(
    name: str, covariance: np.ndarray, arl0: float, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        bound_limit(made(name, a_problem(covariance, 2)), arl0)


def test_a_limit_of_no_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="'simulated' or 'bound'"):
        evaluate(["greedy"], simulate(5), 2, [Shift()], limit="exact")  # type: ignore[arg-type]


def test_ten_paths_are_the_least() -> None:
    def table(paths: int) -> object:
        given = {"arl0": 8.0, "limit": "bound", "replications": 10, "horizon": 20, "paths": paths}
        return evaluate(["bayes_posterior"], simulate(4, degree=0), 2, [Shift()], **given)  # type: ignore[arg-type]

    table(10)
    with pytest.raises(ConfigError, match="paths is 9; give a whole number of 10 or more"):
        table(9)
