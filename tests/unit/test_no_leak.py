"""Nothing that was not read, and nothing of the future or the truth, moves a policy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from made import course, made

from causaldq.learn.checkpoint import Checkpoint
from causaldq.learn.environment import Episodes, build_environment
from causaldq.learn.learner import q_network
from causaldq.learn.settings import TrainingSettings
from causaldq.methods.base import Method, Problem, Truth
from causaldq.methods.local import LocalMethod
from causaldq.methods.oracle_set import OracleSet
from causaldq.methods.registry import index_methods
from causaldq.models.streams import StreamModel
from causaldq.run import delays, statistics
from causaldq.statistic import StatisticSettings

P, M, N, STEPS = 7, 3, 3, 10
NAMES = [
    "causal",
    "non_causal",
    *(name for name, kind in index_methods().items() if issubclass(kind, LocalMethod)),
]
SEEDS = st.integers(0, 2**32 - 1)
GARBAGE = st.sampled_from([np.nan, np.inf, -np.inf, 1e300, -7.0])
MakeMethod = Callable[..., Method[Any]]


def test_all_local_policies_are_here() -> None:
    assert {"greedy", "random", "round_robin"} <= set(NAMES)


@pytest.fixture(scope="module")
def a_method(training_settings: Callable[..., TrainingSettings]) -> MakeMethod:
    """Makes a policy, learned ones with random weights large enough to react to what is read."""

    def make(name: str, dense: bool) -> Method[Any]:
        mixing = np.random.default_rng(1).standard_normal((P, P + 3))
        covariance = mixing @ mixing.T / P + 0.2 * np.eye(P) if dense else np.eye(P)
        statistic = StatisticSettings(decay=0.1, form="normalised", ridge=1e-6)
        problem = Problem(covariance, M, statistic)
        if name in index_methods():
            return made(name, problem)
        causal = name == "causal"
        settings = training_settings(m=M, method={"causal_state": causal})
        torch.manual_seed(3)
        network = q_network((3 if causal else 2) * P, [16, 16], P)
        effects = np.eye(P) + 0.3 * np.triu(np.ones((P, P)), k=1) if causal else None
        return Checkpoint(network, effects, settings, P).method(problem)

    return make


def some_paths(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 2.0 * rng.standard_normal((N, STEPS, P)) + rng.choice([0.0, 2.0], (N, 1, P))


def spoil(paths: np.ndarray, read: np.ndarray, future: int, garbage: float) -> np.ndarray:
    """Keep what was read before step `future`; everything else becomes garbage."""
    spoilt = np.full_like(paths, garbage)
    for t in range(future):
        for row in range(len(paths)):
            for stream in read[t, row]:
                spoilt[row, t, stream] = paths[row, t, stream]
    return spoilt


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20)
@given(seed=SEEDS, garbage=GARBAGE, future=st.integers(1, STEPS))
def test_what_was_not_read_changes_nothing(
    a_method: MakeMethod, name: str, dense: bool, seed: int, garbage: float, future: int
) -> None:
    """The next action is included: it rests on the past, not on the row that it will read."""
    method = a_method(name, dense)
    paths = some_paths(seed)
    read, values = course(method, paths, None, seed)
    with np.errstate(all="ignore"):
        read_again, values_again = course(method, spoil(paths, read, future, garbage), None, seed)
    assert np.array_equal(read_again[: future + 1], read[: future + 1])
    assert np.array_equal(values_again[:future], values[:future])


@pytest.mark.parametrize("name", ["causal", "non_causal", "greedy"])
def test_what_was_read_does_change_something(a_method: MakeMethod, name: str) -> None:
    """Or the test above would prove nothing."""
    method = a_method(name, True)
    read, values = course(method, some_paths(1), None, 1)
    other_read, other_values = course(method, some_paths(2), None, 1)
    assert not np.array_equal(read, other_read)
    assert not np.array_equal(values, other_values)


class Forbidden:
    """A truth that must not be looked at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"the truth was asked for its {name}")


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_is_not_looked_at(a_method: MakeMethod, name: str) -> None:
    method = a_method(name, True)
    assert not method.is_bound
    paths = some_paths(4)
    without = course(method, paths, None, 4)
    with_truth = course(method, paths, Forbidden(), 4)
    assert np.array_equal(without[0], with_truth[0])
    assert np.array_equal(without[1], with_truth[1])
    assert np.array_equal(statistics(method, paths, None, np.random.default_rng(4)), without[1].T)


def test_the_oracle_needs_the_truth() -> None:
    statistic = StatisticSettings(decay=0.1, form="normalised", ridge=1e-6)
    oracle = OracleSet(Problem(np.eye(P), M, statistic))
    assert oracle.is_bound
    paths, rng = some_paths(1), np.random.default_rng(0)
    with pytest.raises(ValueError, match="truth"):
        statistics(oracle, paths, None, rng)
    with pytest.raises(ValueError, match="truth"):
        delays(oracle, paths, 2, [np.zeros((N, P))], [None], 1.0, rng)
    with pytest.raises(AssertionError, match="shifted"):
        course(oracle, paths, Forbidden(), 0)
    shifted = np.zeros((N, P), dtype=bool)
    shifted[:, [1, 4, 6]] = True
    read, _ = course(oracle, paths, Truth(shifted, shifted * 1.0), 0)
    assert (read == [1, 4, 6]).all()


@pytest.mark.parametrize("causal", [True, False])
@given(seed=SEEDS, garbage=GARBAGE)
def test_training_states_come_from_what_was_read(
    chain_model: Callable[[int], StreamModel],
    training_settings: Callable[..., TrainingSettings],
    causal: bool,
    seed: int,
    garbage: float,
) -> None:
    """Same readings, other hidden values, another change and other shifted streams: the
    reward differs, the state does not."""
    model, rng = chain_model(P), np.random.default_rng(seed)
    settings = training_settings(m=M, method={"causal_state": causal})
    effects = np.eye(P) + 0.3 * np.eye(P, k=1)
    selected = np.argsort(rng.random((STEPS, N, P)), axis=2)[:, :, :M]
    paths = some_paths(seed)
    states, rewards = [], []
    for again in (False, True):
        env = build_environment(model, effects, settings)
        values = spoil(paths, selected, STEPS, garbage) if again else paths
        shifted = np.zeros((N, P), dtype=bool)
        shifted[:, 0 if again else -1] = True
        seen = [env.reset(Episodes(values, np.full(N, 5 if again else 2), shifted))]
        for t in range(STEPS):
            state, outcome = env.step(selected[t])
            seen.append(state)
            rewards.append(outcome.shares)
        states.append(np.array(seen))
    assert np.array_equal(states[0], states[1])
    assert np.isfinite(states[0]).all()
    assert not np.array_equal(rewards[:STEPS], rewards[STEPS:])
