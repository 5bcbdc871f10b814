"""The sensor problem in miniature, small enough to write down every state.

A state is which streams are shifted (none, or one of the sets of k) and, for each of the p
streams, the level of its statistic. Reading a stream moves its normalised statistic,
z' = (1 - lambda) z + sqrt(1 - (1 - lambda)^2) x, between levels of |z|, each stood for by its
in-control mean; an unread stream keeps its level. An action is a set of m streams, and the mask
is 1 where that set holds a shifted stream: the paper's C(a, s), which takes for granted that the
state says where the shift is. Streams are independent.
"""

from functools import lru_cache
from itertools import combinations
from math import sqrt

import numpy as np
from scipy.stats import norm

from causaldq.pipeline.theory.mdp import Mdp
from causaldq.pipeline.theory.settings import SensorProblem, SensorSettings
from causaldq.types import Floats


def level_moves(settings: SensorSettings, shift: float) -> Floats:
    """Chance (L, L) that a reading with mean `shift` moves the statistic between levels."""
    edges = np.array([0.0, *settings.cuts, np.inf])
    keep = 1.0 - settings.decay
    scale = sqrt(1.0 - keep**2)
    mass = norm.cdf(edges[1:]) - norm.cdf(edges[:-1])
    centres = (norm.pdf(edges[:-1]) - norm.pdf(edges[1:])) / mass
    means = keep * centres[:, None] + scale * shift
    below = norm.cdf((edges - means) / scale) - norm.cdf((-edges - means) / scale)
    return np.diff(below, axis=1)


def sensor_mdp(
    problem: SensorProblem, settings: SensorSettings, discount: float, tau: float
) -> Mdp:
    """The miniature, rewards divided by the largest so that |r| <= 1.

    States are ordered by shift (none first) and then by the levels, first stream slowest.
    """
    p, m, k = problem.p, problem.m, problem.k
    shifts = [frozenset[int](), *(frozenset(chosen) for chosen in combinations(range(p), k))]
    actions = list(combinations(range(p), m))
    moves = {moved: level_moves(settings, settings.shift * moved) for moved in (False, True)}
    levels = len(settings.cuts) + 1
    cells = levels**p
    truth = _truth_moves(len(shifts), settings)
    transition = np.zeros((len(shifts), cells, len(actions), len(shifts), cells))
    reward = np.zeros((len(shifts), cells, len(actions)))
    mask = np.zeros(reward.shape, np.bool_)
    for s, shifted in enumerate(shifts):
        for a, action in enumerate(actions):
            reading: Floats = np.ones((1, 1))
            for stream in range(p):
                own = moves[stream in shifted] if stream in action else np.eye(levels)
                reading = np.asarray(np.kron(reading, own), np.float64)
            transition[s, :, a] = truth[s][None, :, None] * reading[:, None, :]
            if shifted:  # when the shift ends, the statistics start anew
                transition[s, :, a, 0] = 0.0
                transition[s, :, a, 0, 0] = truth[s, 0]
            hits = len(shifted & set(action))
            mask[s, :, a] = hits > 0
            if shifted:
                reward[s, :, a] = settings.hit * hits if hits else settings.miss
    states = len(shifts) * cells
    scale = np.abs(reward).max()
    return Mdp(
        transition=transition.reshape(states, len(actions), states),
        reward=reward.reshape(states, len(actions)) / scale,
        mask=mask.reshape(states, len(actions)),
        discount=discount,
        tau=tau,
    )


def _truth_moves(count: int, settings: SensorSettings) -> Floats:
    """Chances (Z, Z) that a shift begins, at a place drawn evenly, or ends."""
    moves = np.diag(np.full(count, 1.0 - settings.end))
    moves[:, 0] += settings.end
    moves[0] = settings.change / (count - 1)
    moves[0, 0] = 1.0 - settings.change
    return moves


def sensor_mdps(settings: SensorSettings) -> list[Mdp]:
    """Every miniature with every tau."""
    return list(_sensor_mdps(settings.model_dump_json()))


@lru_cache(maxsize=4)
def _sensor_mdps(text: str) -> tuple[Mdp, ...]:
    settings = SensorSettings.model_validate_json(text)
    return tuple(
        sensor_mdp(problem, settings, settings.discount, tau)
        for problem in settings.problems
        for tau in settings.taus
    )
