"""Small decision problems with a causal mask, and their exact solution.

tau is an inverse temperature, as in the paper's section 5 from Theorem 1 on: entropies enter
divided by it, and a Boltzmann policy is proportional to exp(tau Q). (In section 4.1 and in
Lemma 1 the same letter is a temperature.)

A value map turns the action values of a state into the state's value:

    hard          max Q, no entropy: what plain Q-learning does
    soft          max over policies of E Q + H / tau = (1/tau) log sum exp(tau Q)
    averaged      (1/tau) log of the mean of exp(tau Q), the definition in the paper's proof
    causal        max over policies of E Q + H_c / tau, with H_c = - sum C pi log pi

All four are non-expansions in the largest absolute difference, so the backup
r + gamma E V(s') is a gamma-contraction and has one fixed point.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Literal

import numpy as np

from causaldq.pipeline.theory.settings import TheorySettings
from causaldq.types import Bools, Floats

Kind = Literal["hard", "soft", "averaged", "causal"]


@dataclass(frozen=True, eq=False)
class Mdp:
    """A decision problem with S states and A actions."""

    transition: Floats
    """(S, A, S), rows sum to 1"""
    reward: Floats
    """(S, A)"""
    mask: Bools
    """(S, A), C of the paper: actions with a causal effect on the reward"""
    discount: float
    tau: float

    @property
    def states(self) -> int:
        return int(self.reward.shape[0])

    @property
    def actions(self) -> int:
        return int(self.reward.shape[1])

    @property
    def size(self) -> int:
        return self.reward.size

    def masked(self, mask: Bools) -> "Mdp":
        return replace(self, mask=mask)


def plogp(policy: Floats) -> Floats:
    """pi log pi, with 0 log 0 = 0."""
    safe = np.where(policy > 0, policy, 1.0)
    return np.asarray(policy * np.log(safe), np.float64)


def causal_entropy(policy: Floats, mask: Bools) -> Floats:
    """H_c (...,) of policies (..., A)."""
    return np.asarray(-(mask * plogp(policy)).sum(axis=-1), np.float64)


def softmax(q: Floats, tau: float) -> Floats:
    """Boltzmann policies (..., A) of inverse temperature tau."""
    weights = np.exp(tau * (q - q.max(axis=-1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), np.float64)


def log_sum_exp(q: Floats, tau: float) -> Floats:
    """(1/tau) log sum exp(tau q), (...,); -inf where all q are."""
    top = q.max(axis=-1)
    finite = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        logs = np.log(np.exp(tau * (q - finite[..., None])).sum(axis=-1))
    return np.asarray(finite + logs / tau, np.float64)


def causal_value(q: Floats, mask: Bools, tau: float) -> Floats:
    """max over policies of sum pi q + H_c(pi) / tau, in closed form; (...,).

    Let f be the best unmasked q. At the optimum masked actions have
    pi_i = exp(tau (q_i - nu) - 1) and unmasked ones no mass unless q_i = nu. Either nu = f and
    what the masked leave goes to the best unmasked action, or the masked take everything.
    """
    entirely, everything, weights, best = _causal_optimum(q, mask, tau)
    return np.where(entirely, everything, best + weights.sum(axis=-1) / tau)


def causal_policy(q: Floats, mask: Bools, tau: float) -> Floats:
    """The policy that attains `causal_value`, (..., A)."""
    entirely, everything, weights, _ = _causal_optimum(q, mask, tau)
    finite = np.where(np.isfinite(everything), everything, 0.0)[..., None]
    alone = np.where(mask, np.exp(np.minimum(tau * (q - finite), 0.0)), 0.0)
    rest = np.maximum(1.0 - weights.sum(axis=-1), 0.0)
    first_best = np.arange(q.shape[-1]) == np.where(mask, -np.inf, q).argmax(axis=-1)[..., None]
    shared = weights + np.where(first_best & ~mask, rest[..., None], 0.0)
    return np.where(entirely[..., None], alone, shared)


def _causal_optimum(q: Floats, mask: Bools, tau: float) -> tuple[Bools, Floats, Floats, Floats]:
    """Whether the masked take all mass; the value if so; else their masses; best unmasked q."""
    free = np.where(mask, -np.inf, q).max(axis=-1)
    everything = log_sum_exp(np.where(mask, q, -np.inf), tau)
    entirely = everything - 1.0 / tau >= free
    best = np.where(np.isfinite(free), free, 0.0)
    exponent = np.where(entirely[..., None], -np.inf, tau * (q - best[..., None]) - 1.0)
    weights = np.where(mask, np.exp(exponent), 0.0)
    return entirely, everything, weights, best


def value(q: Floats, mask: Bools, tau: float, kind: Kind) -> Floats:
    """The value map: (..., A) to (...,)."""
    if kind == "hard":
        return np.asarray(q.max(axis=-1), np.float64)
    if kind == "causal":
        return causal_value(q, mask, tau)
    soft = log_sum_exp(q, tau)
    return soft if kind == "soft" else soft - np.log(q.shape[-1]) / tau


def greedy(q: Floats, mask: Bools, tau: float, kind: Kind) -> Floats:
    """The policy (..., A) that the value map maximises over."""
    if kind == "hard":
        return np.asarray(np.arange(q.shape[-1]) == q.argmax(axis=-1)[..., None], np.float64)
    return causal_policy(q, mask, tau) if kind == "causal" else softmax(q, tau)


def bonus(policy: Floats, mask: Bools, tau: float, kind: Kind) -> Floats:
    """What a policy (..., A) earns beyond its rewards, (...,)."""
    if kind == "hard":
        return np.zeros(policy.shape[:-1])
    if kind == "causal":
        return causal_entropy(policy, mask) / tau
    entropy = causal_entropy(policy, np.ones_like(mask))
    return (entropy - (np.log(policy.shape[-1]) if kind == "averaged" else 0.0)) / tau


def backup(mdp: Mdp, values: Floats) -> Floats:
    """r + gamma E V(s'), (S, A), of state values (S,)."""
    flat = mdp.transition.reshape(mdp.size, mdp.states) @ values
    return mdp.reward + mdp.discount * flat.reshape(mdp.reward.shape)


def printed_causal_value(q: Floats, mask: Bools, tau: float) -> Floats:
    """V_c as the proof of Theorem 1 writes it: (H_c + tau sum C pi Q) / (tau w), (...,).

    pi is the Boltzmann policy of Q and w = sum C pi its masked mass; undefined where w = 0.
    """
    policy = softmax(q, tau)
    mass = (mask * policy).sum(axis=-1)
    values = causal_entropy(policy, mask) + tau * (mask * policy * q).sum(axis=-1)
    return np.asarray(values / (tau * mass), np.float64)


@lru_cache(maxsize=512)
def solve(mdp: Mdp, kind: Kind) -> Floats:
    """Q* (S, A) of a value map, by policy iteration: exact up to rounding.

    Each round solves the linear equations of the current policy, whose values then only rise.
    """
    q = mdp.reward
    values = np.full(mdp.states, -np.inf)
    for _ in range(200):
        policy = greedy(q, mdp.mask, mdp.tau, kind)
        moves = np.einsum("sa,sat->st", policy, mdp.transition)
        earned = (policy * mdp.reward).sum(axis=1) + bonus(policy, mdp.mask, mdp.tau, kind)
        found = np.linalg.solve(np.eye(mdp.states) - mdp.discount * moves, earned)
        q = backup(mdp, found)
        if np.all(found <= values + 1e-13 * (1.0 + np.abs(found))):
            break
        values = found
    return q


def iterate(mdp: Mdp, start: Floats, steps: int, kind: Kind) -> Floats:
    """Q_1 ... Q_steps (steps, S, A) of exact value iteration from state values V_0 (S,)."""
    values, found = start, []
    for _ in range(steps):
        found.append(backup(mdp, values))
        values = value(found[-1], mdp.mask, mdp.tau, kind)
    return np.array(found)


def largest(values: Floats) -> float:
    """The norm of the paper: the largest absolute entry."""
    return float(np.abs(values).max())


def mask_sum(mdp: Mdp) -> int:
    """The largest sum of the mask over the states: the reading most generous to the paper."""
    return int(mdp.mask.sum(axis=1).max())


def entropy_ceiling(masked: int, actions: int) -> float:
    """The largest H_c that a policy over `actions` can have with `masked` of them masked.

    w log(n/w) is largest at w = n/e: inside [0, 1] for n = 1, 2, else at w = 1; and w = 1 is
    forced when every action is masked.
    """
    if masked in (1, 2) and masked < actions:
        return masked / np.e
    return float(np.log(masked)) if masked else 0.0


def ceiling(mdp: Mdp) -> float:
    """The largest H_c that any state of the problem allows."""
    return max(entropy_ceiling(int(n), mdp.actions) for n in mdp.mask.sum(axis=1))


def random_mdp(
    rng: np.random.Generator,
    settings: TheorySettings,
    max_states: int | None = None,
    max_actions: int | None = None,
) -> Mdp:
    """A random problem with |r| <= 1 and at least one masked action in every state."""
    states = int(rng.integers(1, (max_states or settings.max_states) + 1))
    actions = int(rng.integers(2, (max_actions or settings.max_actions) + 1))
    rewards = rng.uniform(-1.0, 1.0, (states, actions))
    if rng.random() < 0.25:  # equal rewards, where entropy matters most
        rewards = np.full_like(rewards, rewards[0, 0])
    mask = rng.random((states, actions)) < rng.random()
    mask[np.arange(states), rng.integers(0, actions, states)] = True
    return Mdp(
        transition=rng.dirichlet(np.full(states, 0.5), (states, actions)),
        reward=rewards,
        mask=mask,
        discount=float(rng.uniform(settings.discount_low, settings.discount_high)),
        tau=float(np.exp(rng.uniform(np.log(settings.tau_low), np.log(settings.tau_high)))),
    )


def one_state(
    reward: tuple[float, ...], mask: tuple[int, ...], discount: float = 0.5, tau: float = 1.0
) -> Mdp:
    """A problem with a single state, to be checked by hand."""
    return Mdp(
        transition=np.ones((1, len(reward), 1)),
        reward=np.array([reward], np.float64),
        mask=np.array([mask], np.bool_),
        discount=discount,
        tau=tau,
    )


def small_mdps(max_actions: int = 3) -> Iterator[Mdp]:
    """One-state problems from small to large, with round numbers: where counterexamples are
    looked for first."""
    for actions in range(1, max_actions + 1):
        for reward in sorted(product((0.0, 1.0, -1.0), repeat=actions), key=_plainness):
            for mask in sorted(product((0, 1), repeat=actions), key=lambda c: (sum(c), c[::-1])):
                if any(mask):
                    yield one_state(reward, mask)


def _plainness(reward: tuple[float, ...]) -> tuple[int, int]:
    return sum(map(bool, reward)), sum(r < 0 for r in reward)
