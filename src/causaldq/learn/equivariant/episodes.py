"""Rounds of training: a problem drawn from the mixture, and episodes of it side by side."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from causaldq.learn.equivariant.reward import Outcome, shares
from causaldq.learn.equivariant.settings import EquivariantJob, MixtureSettings
from causaldq.methods.base import Problem
from causaldq.methods.bayes_posterior import BayesPosterior
from causaldq.methods.equivariant_features import conditional_variance, features
from causaldq.methods.equivariant_network import Array, Heard, Seen, links
from causaldq.methods.information import most_informative
from causaldq.types import Bools, Floats, Ints
from causaldq.worlds.simulation import SimulationSource, random_weights, standardise

Value = Callable[[Seen, Heard], Array]
"""What streams are worth, from what is seen and the links."""


@dataclass(frozen=True)
class Drawn:
    """A problem of the mixture."""

    covariance: Floats
    effects: Floats
    m: int
    mean: Floats
    """(episodes, p), the shift."""
    change: Ints
    """(episodes,)"""


def draw(settings: MixtureSettings, episodes: int, rng: np.random.Generator) -> Drawn:
    """A graph, a number of sensors, and for each episode where, when and how far means shift."""
    p = int(rng.choice(settings.sizes))
    source = SimulationSource(
        kind="simulation",
        p=p,
        expected_degree=float(min(_uniform(settings.degree, rng), p - 1)),
        weight_low=settings.weight[0],
        weight_high=settings.weight[1],
        rows=max(p, 10),
    )
    effects, _, covariance = standardise(random_weights(source, rng))
    m = int(np.clip(round(p * _uniform(settings.sensors, rng)), 2, p - 1))
    most = np.maximum(
        1, np.round(p * rng.uniform(settings.shifted[0], settings.shifted[1], episodes))
    ).astype(np.int64)
    order = np.argsort(rng.random((episodes, p)), axis=1)
    shifted = np.empty((episodes, p), dtype=bool)
    np.put_along_axis(shifted, order, np.arange(p) < most[:, None], axis=1)
    signs = np.where(rng.random((episodes, 1)) < 0.5, 1.0, rng.choice([-1.0, 1.0], (episodes, p)))
    low, high = np.log(settings.shift)
    size = np.exp(rng.uniform(low, high, (episodes, 1)))
    change = rng.integers(0, settings.latest_change + 1, episodes)
    return Drawn(covariance, effects, m, shifted * signs * size, change)


def _uniform(bounds: list[float], rng: np.random.Generator) -> float:
    return float(rng.uniform(bounds[0], bounds[1]))


@dataclass(frozen=True)
class Round:
    """Transitions of a round: time first, then episodes."""

    streams: Array
    """(steps + 1, n, p, FEATURES)"""
    run: Array
    """(steps + 1, n, GLOBALS)"""
    worth: Array
    """(steps + 1, n, p)"""
    selected: Ints
    """(steps, n, m)"""
    shares: Array
    """(steps, n, m)"""
    mask: Array
    """(steps, n, p), shifted by now"""
    ended: Bools
    """(steps, n), nothing is earned any more"""
    heard: Heard

    @property
    def reward(self) -> float:
        """Mean over steps and episodes."""
        return float(self.shares.sum(axis=2).mean())


def play(job: EquivariantJob, value: Value, temperature: float, rng: np.random.Generator) -> Round:
    """Episodes of one problem, explored by noise on the log of what streams are worth."""
    settings = job.training
    drawn = draw(settings.mixture, settings.episodes, rng)
    n, p = drawn.mean.shape
    heard = links(drawn.effects)
    problem = Problem(drawn.covariance, drawn.m, job.statistic)
    method = BayesPosterior(problem, job.filter)
    alone = conditional_variance(np.asarray(method.covariance))
    noise = rng.standard_normal((settings.steps, n, p)) @ np.linalg.cholesky(drawn.covariance).T
    state = method.start(n, None, rng)
    seen = [features(method, state, alone)]
    alarmed = np.zeros(n, dtype=bool)
    selections, earned, masks, ended = [], [], [], []
    for t in range(settings.steps):
        worth = np.asarray(value(seen[-1], heard), np.float64)
        explored = worth * np.exp(temperature * rng.gumbel(size=(n, p)))
        selected = most_informative(method.covariance, explored, drawn.m)
        shift = drawn.mean * (t >= drawn.change)[:, None]
        reading = np.take_along_axis(noise[t] + shift, selected, axis=1)
        state = method.observe(state, selected, reading, rng)
        outcome = Outcome(selected, shift, t - drawn.change, alarmed)
        earned.append(shares(outcome, settings, causal=job.causal))
        alarmed = alarmed | ((t >= drawn.change) & (method.log_evidence(state) > settings.alarm))
        ended.append(alarmed if settings.reward == "delay" else np.zeros(n, dtype=bool))
        masks.append(shift != 0)
        selections.append(selected)
        seen.append(features(method, state, alone))
    return Round(
        streams=np.stack([step.streams for step in seen]),
        run=np.stack([step.run for step in seen]),
        worth=np.stack([step.worth for step in seen]),
        selected=np.stack(selections),
        shares=np.stack(earned).astype(np.float32),
        mask=np.stack(masks).astype(np.float32),
        ended=np.stack(ended),
        heard=heard,
    )
