"""Sampled Q-learning with a constant step size, many runs side by side, and bounds on its error.

At each step one pair (s, a) is drawn with probability omega(s, a), then s', and

    Q(s, a) <- Q(s, a) + alpha (r + gamma V(s') - Q(s, a))

with V one of the value maps: the process of the paper's Theorem 2.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from causaldq.pipeline.theory.mdp import Kind, Mdp, ceiling, value
from causaldq.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Samples:
    """What was drawn, for n runs of T steps; value maps compared on it see the same."""

    state: Ints
    """(T, n)"""
    action: Ints
    """(T, n)"""
    following: Ints
    """(T, n)"""


def draw(
    mdp: Mdp, omega: Floats, steps: int, runs: int, rng: np.random.Generator, block: int = 50_000
) -> Samples:
    """Pairs by omega (S, A), next states by the problem."""
    pairs = rng.choice(mdp.size, size=steps * runs, p=omega.ravel())
    cumulative = mdp.transition.reshape(mdp.size, mdp.states).cumsum(axis=1)
    following = np.empty(steps * runs, np.int64)
    for first in range(0, steps * runs, block):
        part = slice(first, first + block)
        uniform = rng.random(len(pairs[part]))
        below = (uniform[:, None] >= cumulative[pairs[part], :-1]).sum(axis=1)
        following[part] = below
    state, action = np.divmod(pairs, mdp.actions)
    return Samples(*(x.reshape(steps, runs) for x in (state, action, following)))


def learn(
    mdp: Mdp, kind: Kind, samples: Samples, alpha: float, start: Floats, keep: Ints
) -> Floats:
    """Q_t (len(keep), n, S, A) after the numbers of steps in `keep`, from Q_0 (S, A)."""
    steps, runs = samples.state.shape
    q = np.repeat(start[None], runs, axis=0)
    rows = np.arange(runs)
    wanted = set(keep.tolist())
    found = [q.copy()] if 0 in wanted else []
    for t in range(steps):
        s, a, following = samples.state[t], samples.action[t], samples.following[t]
        target = mdp.reward[s, a] + mdp.discount * value(
            q[rows, following], mdp.mask[following], mdp.tau, kind
        )
        q[rows, s, a] += alpha * (target - q[rows, s, a])
        if t + 1 in wanted:
            found.append(q.copy())
    return np.array(found)


def errors(found: Floats, reference: Floats) -> Floats:
    """Largest absolute error (len(keep), n) of learned values against (S, A)."""
    return np.asarray(np.abs(found - reference).max(axis=(2, 3)), np.float64)


@dataclass(frozen=True)
class Rates:
    """What the finite-time bounds depend on."""

    alpha: float
    discount: float
    tau: float
    smallest: float
    """omega_min"""
    largest: float
    """omega_max"""
    states: int
    actions: int

    @classmethod
    def of(cls, mdp: Mdp, omega: Floats, alpha: float) -> "Rates":
        return cls(
            alpha=alpha,
            discount=mdp.discount,
            tau=mdp.tau,
            smallest=float(omega.min()),
            largest=float(omega.max()),
            states=mdp.states,
            actions=mdp.actions,
        )

    @property
    def rho(self) -> float:
        return 1.0 - self.alpha * self.smallest * (1.0 - self.discount)


def theorem2_terms(
    rates: Rates, masked: int, t: int, *, proof: bool = False
) -> tuple[float, float, float, float]:
    """Terms I to IV of the printed bound; `masked` is the sum of the mask.

    The proof carries a factor |A|^(1/2) in the first part of term III that the statement drops.
    """
    gamma, alpha, rho = rates.discount, rates.alpha, rates.rho
    low, high, actions = rates.smallest, rates.largest, rates.actions
    left = 1.0 - gamma
    first = 4 * alpha * gamma * high * actions / left * t * rho ** (t - 1) if t else 0.0
    second = 2 * sqrt(6 * alpha) * gamma * high * sqrt(actions) / (low**1.5 * left**2.5)
    geometric = (1.0 - rho**t) / (1.0 - rho)
    bracket = (
        2 * gamma**2 * high**2 / (low**2 * left**2) * (sqrt(actions) if proof else 1.0)
        + 1 / (low * left)
        + alpha * gamma * high * sqrt(actions) * geometric
    )
    third = log(masked) / rates.tau * bracket
    fourth = sqrt(
        actions ** (2 / 3) * (2 / left) ** 2 * rho ** (2 * t)
        + 6 * alpha * actions / (low * left**3)
    )
    return first, second, third, fourth


def theorem2_bound(rates: Rates, masked: int, t: int, *, proof: bool = False) -> float:
    return sum(theorem2_terms(rates, masked, t, proof=proof))


def value_limit(mdp: Mdp, highest_entropy: float) -> float:
    """L: values that start within it stay within it, when |r| <= 1 and V <= max Q + h / tau."""
    return (1.0 + mdp.discount * highest_entropy / mdp.tau) / (1.0 - mdp.discount)


def corrected_bound(rates: Rates, limit: float, distance: float, t: int) -> float:
    """A finite-time bound that can be proved in a few lines, to the map's own fixed point.

    With D the diagonal of omega, e_t = Q_t - Q* obeys
    e_{t+1} = (1 - alpha D) e_t + alpha D (T Q_t - T Q*) + alpha w_t, w_t of mean 0 given the past.
    Split e_t = y_t + n_t with n_{t+1} = (1 - alpha D) n_t + alpha w_t, n_0 = 0. Every entry of n
    has E n(x)^2 <= alpha B^2 / (2 - alpha) where B = 2 L bounds the temporal difference, hence
    E |n| <= N = B sqrt(S A alpha / (2 - alpha)). As T is a gamma-contraction,
    |y_{t+1}| <= rho |y_t| + alpha omega_max gamma |n_t|. Summing up,

        E |Q_t - Q*| <= rho^t |Q_0 - Q*| + (1 + gamma omega_max / (omega_min (1 - gamma))) N.
    """
    noise = 2.0 * limit * sqrt(rates.states * rates.actions * rates.alpha / (2.0 - rates.alpha))
    spread = 1.0 + rates.discount * rates.largest / (rates.smallest * (1.0 - rates.discount))
    return rates.rho**t * distance + spread * noise


def highest_entropy(mdp: Mdp, kind: Kind) -> float:
    """How far, times tau, a value map can exceed the largest Q."""
    if kind == "causal":
        return ceiling(mdp)
    return log(mdp.actions) if kind == "soft" else 0.0
