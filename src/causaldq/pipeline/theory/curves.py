"""Measured errors beside their bounds, on one miniature of the sensor problem.

Two panels. `iteration`: exact value iteration from V_0 = 0, distance to the optimum without
entropy, bounds of Corollary 1. `learning`: sampled Q-learning from Q_0 = 0, distance of each
learner to its own optimum, bounds of Theorem 2. Three agents that differ in entropy only:
causal (masked), soft (all actions) and plain (none, as the non-causal agent of the paper's
experiments). All have the same reward.
"""

from math import log

import numpy as np
import pandas as pd

from causaldq.pipeline.theory.learning import (
    Rates,
    corrected_bound,
    draw,
    errors,
    highest_entropy,
    learn,
    theorem2_bound,
    value_limit,
)
from causaldq.pipeline.theory.mdp import Kind, Mdp, iterate, largest, log_sum_exp, mask_sum, solve
from causaldq.pipeline.theory.sensors import sensor_mdp
from causaldq.pipeline.theory.settings import TheorySettings

AGENTS: dict[str, Kind] = {"causal": "causal", "soft": "soft", "plain": "hard"}


def measured_curves(rng: np.random.Generator, settings: TheorySettings) -> pd.DataFrame:
    """Tidy: panel, agent, step, error, standard_error, bound_printed, bound_corrected, trivial."""
    curves = settings.curves
    mdp = sensor_mdp(curves.problem, settings.sensors, settings.sensors.discount, curves.tau)
    return pd.concat([_iteration(mdp, settings), _learning(mdp, settings, rng)], ignore_index=True)


def printed_sum(mdp: Mdp, agent: str) -> int:
    """What stands in the logarithm of the printed bounds: 1 (so 0) where there is no entropy."""
    return {"causal": mask_sum(mdp), "soft": mdp.actions, "plain": 1}[agent]


def _iteration(mdp: Mdp, settings: TheorySettings) -> pd.DataFrame:
    steps = np.arange(1, settings.curves.iterations + 1)
    zero = np.zeros(mdp.states)
    target = solve(mdp, "hard")
    factor = mdp.discount / (1 - mdp.discount)
    parts = []
    for agent, kind in AGENTS.items():
        found = iterate(mdp, zero, len(steps), kind)
        optimum = solve(mdp, kind)
        values = optimum.max(axis=1) if kind == "hard" else log_sum_exp(optimum, mdp.tau)
        decay = mdp.discount**steps
        printed = decay * largest(values) + factor * log(printed_sum(mdp, agent)) / mdp.tau
        excess = factor * highest_entropy(mdp, kind) / mdp.tau
        parts.append(
            pd.DataFrame(
                {
                    "panel": "iteration",
                    "agent": agent,
                    "step": steps,
                    "error": np.abs(found - target).max(axis=(1, 2)),
                    "standard_error": 0.0,
                    "bound_printed": printed,
                    "bound_corrected": decay * largest(target.max(axis=1)) + excess,
                    "trivial": largest(target) + value_limit(mdp, highest_entropy(mdp, kind)),
                }
            )
        )
    return pd.concat(parts)


def _learning(mdp: Mdp, settings: TheorySettings, rng: np.random.Generator) -> pd.DataFrame:
    curves = settings.curves
    omega = np.full(mdp.reward.shape, 1.0 / mdp.size)
    samples = draw(mdp, omega, curves.steps, curves.replications, rng)
    spaced = np.geomspace(1, curves.steps, curves.points).astype(np.int64)
    keep = np.unique(np.append(spaced, 0))
    rates = Rates.of(mdp, omega, curves.step_size)
    zero = np.zeros(mdp.reward.shape)
    parts = []
    for agent, kind in AGENTS.items():
        optimum = solve(mdp, kind)
        apart = errors(learn(mdp, kind, samples, curves.step_size, zero, keep), optimum)
        limit = value_limit(mdp, highest_entropy(mdp, kind))
        masked = printed_sum(mdp, agent)
        parts.append(
            pd.DataFrame(
                {
                    "panel": "learning",
                    "agent": agent,
                    "step": keep,
                    "error": apart.mean(axis=1),
                    "standard_error": apart.std(axis=1, ddof=1) / np.sqrt(apart.shape[1]),
                    "bound_printed": [theorem2_bound(rates, masked, t) for t in keep.tolist()],
                    "bound_corrected": [
                        corrected_bound(rates, limit, largest(optimum), t) for t in keep.tolist()
                    ],
                    "trivial": 2 * limit,
                }
            )
        )
    return pd.concat(parts)
