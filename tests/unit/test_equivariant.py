"""The one network for all problems: what it must not depend on, and what it must."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from made import DEFAULTS, equivariant_job, made, made_network

from causaldq.errors import CheckpointError, ConfigError
from causaldq.learn.equivariant.checkpoint import load_equivariant, save_equivariant
from causaldq.learn.equivariant.episodes import draw
from causaldq.learn.equivariant.reward import Outcome, shares
from causaldq.learn.equivariant.train import (
    SeenTensors,
    causal_entropy,
    fresh_weights,
    train_equivariant,
    values,
)
from causaldq.methods.base import Problem
from causaldq.methods.bayes_posterior import BayesPosterior, BayesPosteriorSettings
from causaldq.methods.causal_dq_eq import CausalDqEq
from causaldq.methods.equivariant_features import conditional_variance, features
from causaldq.methods.equivariant_network import FEATURES, GLOBALS, Seen, advantages, links
from causaldq.methods.non_causal_eq import NonCausalEq
from causaldq.pipeline.evaluation.overall import Cells, crossing, ratio
from causaldq.pipeline.jobs.cross import Crossed
from causaldq.run import delays, step
from causaldq.seeds import generator
from causaldq.statistic import StatisticSettings
from causaldq.worlds.simulation import SimulationSource, simulate

STATISTIC = StatisticSettings.model_validate(DEFAULTS["statistic"])
FILTER = BayesPosteriorSettings.model_validate(DEFAULTS["baselines"]["bayes_posterior"])
SMALL = {
    "rounds": 3,
    "episodes": 3,
    "steps": 6,
    "updates": 3,
    "mixture": {**DEFAULTS["equivariant"]["mixture"], "sizes": [5, 8]},
}


def a_problem(p: int, m: int) -> Problem:
    source = SimulationSource(
        kind="simulation", p=p, expected_degree=3.0, weight_low=0.5, weight_high=1.0, rows=20
    )
    model = simulate(source, generator(2, "equivariant", p))
    return Problem(model.covariance, m, STATISTIC, (model.effects != 0)[None])


def seen_at_random(n: int, p: int, rng: np.random.Generator) -> Seen:
    single = lambda *shape: np.asarray(rng.normal(size=shape), np.float32)  # noqa: E731
    return Seen(single(n, p, FEATURES), single(n, GLOBALS), np.abs(single(n, p)))


def test_torch_and_numpy_give_the_same_values() -> None:
    rng = np.random.default_rng(0)
    for causal in (True, False):
        network = made_network(causal=causal)
        seen = seen_at_random(4, 9, rng)
        heard = links(rng.normal(size=(9, 9))) if causal else None
        tensors = {name: torch.from_numpy(w) for name, w in network.weights.items()}
        there, _ = values(
            tensors,
            SeenTensors(*map(torch.from_numpy, (seen.streams, seen.run, seen.worth))),
            None if heard is None else (torch.from_numpy(heard[0]), torch.from_numpy(heard[1])),
        )
        np.testing.assert_allclose(advantages(network.weights, seen, heard), there, rtol=2e-5)


def test_numbering_the_streams_otherwise_numbers_the_values_otherwise() -> None:
    rng = np.random.default_rng(1)
    network, seen = made_network(causal=True), seen_at_random(3, 8, rng)
    effects, order = rng.normal(size=(8, 8)), rng.permutation(8)
    turned = Seen(seen.streams[:, order], seen.run, seen.worth[:, order])
    here = advantages(network.weights, seen, links(effects))
    there = advantages(network.weights, turned, links(effects[np.ix_(order, order)]))
    np.testing.assert_allclose(there, here[:, order], rtol=2e-5)


def test_causes_and_effects_are_heard() -> None:
    rng = np.random.default_rng(2)
    network, seen = made_network(causal=True), seen_at_random(1, 3, rng)
    effects = np.zeros((3, 3))
    effects[0, 1] = 0.8
    quiet = advantages(network.weights, seen, links(np.zeros((3, 3))))[0]
    heard = advantages(network.weights, seen, links(effects))[0]
    assert heard[0] != quiet[0]
    assert heard[1] != quiet[1]
    assert heard[2] == pytest.approx(quiet[2], rel=1e-6)


def test_features_are_even_in_the_signs_of_streams() -> None:
    problem = a_problem(6, 2)
    signs = np.array([1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
    turned = Problem(problem.covariance * np.outer(signs, signs), 2, STATISTIC)
    rng = np.random.default_rng(3)
    found = []
    for here, sign in ((problem, np.ones(6)), (turned, signs)):
        method = BayesPosterior(here, FILTER)
        state = method.start(2, None, rng)
        for t in range(8):
            read = np.array([[t % 6, (t + 2) % 6]] * 2)
            read.sort(axis=1)
            value = np.random.default_rng(t).normal(size=(2, 6)) * sign
            state = method.observe(state, read, np.take_along_axis(value, read, axis=1), rng)
        found.append(features(method, state, conditional_variance(method.covariance)))
    np.testing.assert_allclose(found[0].streams, found[1].streams, atol=1e-5)
    np.testing.assert_allclose(found[0].run, found[1].run, atol=1e-5)


def test_an_untrained_network_does_as_the_filter_does() -> None:
    problem = a_problem(12, 4)
    job = equivariant_job(causal=True)
    weights = {name: tensor.detach().numpy() for name, tensor in fresh_weights(job).items()}
    learned, plain = (
        CausalDqEq(problem, FILTER, weights),
        BayesPosterior(problem, FILTER),
    )
    state = plain.start(5, None, np.random.default_rng(0))
    for t in range(15):
        rng = np.random.default_rng(t)
        here = plain.choose(state, np.random.default_rng(100 + t))
        there = learned.choose(state, np.random.default_rng(100 + t))
        np.testing.assert_array_equal(here, there)
        state, _, _ = step(plain, state, rng.normal(size=(5, 12)), rng)


@pytest.mark.parametrize(("p", "m"), [(4, 2), (9, 8), (40, 11), (150, 30)])
def test_one_network_serves_any_number_of_streams_and_sensors(p: int, m: int) -> None:
    method = made("causal_dq_eq", a_problem(p, m))
    rng = np.random.default_rng(5)
    state = method.start(2, None, rng)
    for _ in range(4):
        state, read, statistic = step(method, state, rng.normal(size=(2, p)), rng)
        assert read.shape == (2, m)
        assert all(len(set(row)) == m for row in read)
        assert np.isfinite(statistic).all()


def test_without_a_graph_only_the_control_can_be_used() -> None:
    problem = Problem(np.eye(5), 2, STATISTIC)
    with pytest.raises(ConfigError, match="non_causal_eq"):
        CausalDqEq(problem, FILTER, made_network(causal=True).weights)
    NonCausalEq(problem, FILTER, made_network(causal=False).weights)


# --- training ----------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [True, False])
def test_the_same_job_gives_the_same_weights_and_another_seed_others(causal: bool) -> None:
    job = equivariant_job(causal=causal, **SMALL)
    first, again = train_equivariant(job), train_equivariant(job)
    assert first.log == again.log
    other = train_equivariant(job.model_copy(update={"seed": 4}))
    for name, weights in first.weights.items():
        np.testing.assert_array_equal(weights, again.weights[name])
    assert not np.array_equal(first.weights["encode"], other.weights["encode"])
    assert ("causes" in first.weights) == causal


def test_training_brings_the_loss_down() -> None:
    """Nearly all streams shift, and it is paid for hits: the filter's prior is far off."""
    job = equivariant_job(
        causal=True,
        rounds=30,
        episodes=8,
        steps=20,
        updates=20,
        reward="hits",
        discount=0.01,
        entropy_weight=0.0,
        learning_rate=0.01,
        mixture={**SMALL["mixture"], "latest_change": 0, "shifted": [0.9, 0.9]},
    )
    trained = train_equivariant(job)
    early, late = (
        np.mean([row["loss"] for row in rows]) for rows in (trained.log[:5], trained.log[-5:])
    )
    assert late < 0.6 * early


def test_drawn_problems_keep_to_the_mixture() -> None:
    job = equivariant_job(causal=True)
    mixture = job.training.mixture
    rng = np.random.default_rng(6)
    for _ in range(30):
        drawn = draw(mixture, 9, rng)
        n, p = drawn.mean.shape
        assert (n, p in mixture.sizes) == (9, True)
        assert 2 <= drawn.m < p
        np.testing.assert_allclose(np.diag(drawn.covariance), 1.0)
        size = np.abs(drawn.mean)[drawn.mean != 0]
        assert ((size >= 0.25) & (size <= 2.0)).all()
        k = (drawn.mean != 0).sum(axis=1)
        assert ((k >= 1) & (k <= round(0.5 * p))).all()
        assert (drawn.change <= mixture.latest_change).all()


def test_rewards_by_hand() -> None:
    settings = equivariant_job(causal=True).training
    outcome = Outcome(
        selected=np.array([[0, 2], [1, 2]]),
        mean=np.array([[0.5, 0.0, -2.0], [0.0, 0.0, 1.0]]),
        since_change=np.array([2, 0]),
        alarmed=np.array([False, True]),
    )

    def earned(reward: str, *, causal: bool = True) -> list[list[float]]:
        changed = settings.model_copy(update={"reward": reward, "fading": 0.5})
        return shares(outcome, changed, causal=causal).tolist()

    assert earned("hits") == [[1, 1], [0, 1]]
    assert earned("early_hits") == [[0.25, 0.25], [0, 1]]
    assert earned("deviations") == [[0.5, 2], [0, 1]]
    assert earned("information") == [[0.25, 4], [0, 1]]
    assert earned("delay") == [[-1, -1], [0, 0]]
    assert earned("hits", causal=False) == [[1, 1], [0.5, 0.5]]


def test_causal_entropy_counts_the_shifted_only() -> None:
    q = torch.tensor([[0.0, 0.0, 0.0, 0.0]])
    half = causal_entropy(q, torch.tensor([[1.0, 1.0, 0.0, 0.0]]), 1.0)
    assert half.item() == pytest.approx(0.5 * np.log(4))


def test_a_checkpoint_comes_back_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    network, path = made_network(causal=False), tmp_path / "network.safetensors"
    save_equivariant(path, network, "code")
    loaded = load_equivariant(path)
    assert loaded.job == network.job
    np.testing.assert_array_equal(loaded.weights["encode"], network.weights["encode"])
    problem = a_problem(5, 2)
    assert isinstance(NonCausalEq(problem, FILTER, loaded.weights), NonCausalEq)
    with pytest.raises(CheckpointError, match="not the weights of CausalDqEq"):
        CausalDqEq(problem, FILTER, loaded.weights)
    content = path.read_bytes()
    path.write_bytes(content[:-4])
    with pytest.raises(CheckpointError, match="train it again"):
        load_equivariant(path)
    path.unlink()
    with pytest.raises(CheckpointError, match="does not exist"):
        load_equivariant(path)


# --- comparisons -------------------------------------------------------------------------------


def test_a_method_crossed_with_itself_is_itself() -> None:
    problem = a_problem(8, 3)
    rng = np.random.default_rng(8)
    paths = rng.normal(size=(20, 40, 8)) @ np.linalg.cholesky(problem.covariance).T
    shift = [np.full((20, 8), 1.0)]
    alone = delays(
        made("round_robin", problem), paths, 10, shift, [None], 9.0, np.random.default_rng(1)
    )
    twice = Crossed(made("round_robin", problem), made("round_robin", problem))
    crossed = delays(twice, paths, 10, shift, [None], 9.0, np.random.default_rng(1))
    np.testing.assert_array_equal(alone[0].delay, crossed[0].delay)


def test_the_ratio_is_of_common_replications() -> None:
    first = np.array([[[2.0, 4.0, np.nan, 100.0]], [[1.0, 1.0, 1.0, 50.0]]])
    second = np.array([[[4.0, 8.0, 5.0, np.nan]], [[2.0, 2.0, 2.0, np.nan]]])
    found, low, high = ratio(Cells(first), Cells(second), 0.95, 200, np.random.default_rng(0))
    assert found == pytest.approx(0.5)
    assert low == pytest.approx(0.5)
    assert high == pytest.approx(0.5)


def test_an_interval_of_noise_holds_one() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.exponential(10, size=(2, 3, 1, 80))
    found, low, high = ratio(Cells(first), Cells(second), 0.95, 500, rng)
    assert low < found < high
    assert low < 1 < high


def test_few_seeds_that_differ_widen_the_interval() -> None:
    """Three seeds at 8, 10 and 12 steps a replication, against 10: by hand, with Student's law."""
    rng = np.random.default_rng(1)
    noise = np.exp(0.01 * rng.standard_normal((2, 1, 80)))
    first = np.array([8.0, 10.0, 12.0])[None, :, None] * noise
    found, low, high = ratio(Cells(first), Cells(10.0 * noise), 0.95, 200, rng)
    logs = np.log([0.8, 1.0, 1.2])
    half = 4.303 * logs.std(ddof=1) / np.sqrt(3)
    assert found == pytest.approx(1.0)
    assert low == pytest.approx(np.exp(-half), rel=0.02)
    assert high == pytest.approx(np.exp(half), rel=0.02)


def test_a_crossing_leaves_false_alarms_out() -> None:
    rows = pd.DataFrame(
        {
            "policy": "a",
            "statistic": "b",
            "delta": [1.0, 1.0, 2.0, 2.0],
            "replication": [0, 1, 0, 1],
            "delay": [4, 999, 1, 1],
            "false_alarm": [0, 1, 0, 0],
            "limit": 3.0,
        }
    )
    assert crossing([rows])["geometric_mean"].tolist() == [pytest.approx(2.0)]


def test_features_by_hand() -> None:
    """Scaled as they were in training, or trained weights would mean something else."""
    problem = a_problem(6, 2)
    method, rng = BayesPosterior(problem, FILTER), np.random.default_rng(4)
    state = method.start(2, None, rng)
    for _ in range(9):
        state, _, _ = step(method, state, rng.normal(size=(2, 6)), rng)
    alone = conditional_variance(method.covariance)
    found = features(method, state, alone)
    odds = method.posterior(state) / (1 - method.posterior(state))
    worth = method.expected_worth(state)
    deviations = np.abs(state.score) / np.sqrt(1 + state.information)
    expected = [
        np.log(odds) / 3,
        np.log(worth / worth.mean(axis=1, keepdims=True)) / 2,
        np.log(1 + state.unread) / 3,
        method.over_times(state, deviations, 0.0) / 2,
        method.over_times(state, np.log(1 + state.information), 0.0) / 3,
        np.tile(alone / 3, (2, 1)),
    ]
    np.testing.assert_allclose(found.streams, np.stack(expected, axis=-1), rtol=1e-4, atol=1e-6)
    evidence = method.log_evidence(state) / 5
    run = np.column_stack([np.full(2, 2 / 6), np.full(2, np.log(6) / 5), evidence])
    np.testing.assert_allclose(found.run, run, rtol=1e-5)


def test_a_mixture_of_dense_graphs_has_every_edge() -> None:
    mixture = equivariant_job(causal=True).training.mixture
    dense = mixture.model_copy(update={"sizes": [5], "degree": [50.0, 50.0]})
    for seed in range(5):
        drawn = draw(dense, 2, np.random.default_rng(seed))
        assert (drawn.effects != 0).sum() == 5 * 4 // 2


def test_the_network_is_for_one_plant_at_a_time() -> None:
    problem = a_problem(5, 2)
    several = Problem(np.tile(problem.covariance, (3, 1, 1)), 2, STATISTIC, problem.graphs)
    with pytest.raises(ConfigError, match="one covariance"):
        CausalDqEq(several, FILTER, made_network(causal=True).weights)
