"""Learning works: where the shift never moves, the network finds it."""

from pathlib import Path

import numpy as np
import pytest
from made import training

from causaldq.discovery.algorithms import discover
from causaldq.discovery.effects import propagation_effects
from causaldq.learn.checkpoint import Checkpoint
from causaldq.learn.train import train
from causaldq.methods.base import Method, Problem, Truth
from causaldq.methods.oracle_set import OracleSet
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.plan import Plan
from causaldq.run import delays
from causaldq.seeds import generator
from causaldq.worlds.shifts import InjectedSet, inject
from causaldq.worlds.simulation import simulate

CONFIG = load_config(
    Path(__file__).parents[2] / "config", {"profile": "paper", "agent": {"epochs": 25}}
)
DELTAS = [0.5, 1.0, 1.5, 2.0]


def mean_delays(method: Method, sets: InjectedSet, limit: float) -> np.ndarray:  # type: ignore[type-arg]
    means = [sets.mean("paper", "case_a", delta, 0.0) for delta in DELTAS]
    shifted = sets.shifted["paper"]
    truths = [Truth(shifted, mean) if method.is_bound else None for mean in means]
    rng = generator(1, "learning")
    outcomes = delays(method, sets.paths["paper"], sets.change, means, truths, limit, rng)
    return np.array([outcome.delay[~outcome.false_alarm].mean() for outcome in outcomes])


@pytest.mark.parametrize("scenario", ["p10", "p50"])
def test_the_trained_network_comes_close_to_the_oracle(scenario: str) -> None:
    wanted = CONFIG.scenarios[scenario]
    settings = training(Plan(CONFIG), f"{scenario}.causal_dq.s0.paper")
    model = simulate(CONFIG.sources[wanted.source], generator(2, scenario))
    graph = discover(model, CONFIG.discovery)
    correlation = np.corrcoef(model.rows, rowvar=False)
    effects = propagation_effects(graph, correlation, 4, generator(2, "directions"))
    trained = train(model, effects, settings)
    assert trained.log[-1]["frozen_hit_share"] > 0.9

    problem = Problem(model.covariance, wanted.m, CONFIG.statistic)
    policy = Checkpoint(trained.online, effects, settings, model.p).method(problem)
    sets = inject(
        model,
        k=wanted.k,
        order=np.arange(model.p),
        protocols=["paper"],
        cases=["case_a"],
        propagate=False,
        replications=100,
        in_control_steps=50,
        horizon=200,
        rng=generator(2, "replications"),
    )
    oracle = OracleSet(problem)
    limit = oracle.published_limit(lambda: np.zeros((1, 1)), CONFIG.calibration)
    assert (mean_delays(policy, sets, limit) < 1.25 * mean_delays(oracle, sets, limit)).all()
