"""Lemma 1: is the Bellman operator with causal entropy a contraction?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from causaldq.pipeline.theory.check import Check, Claim, Example, Trial, examine, number, rows, tell
from causaldq.pipeline.theory.mdp import (
    Mdp,
    backup,
    causal_entropy,
    causal_value,
    largest,
    one_state,
    random_mdps,
    softmax,
)
from causaldq.pipeline.theory.sensors import sensor_mdps
from causaldq.pipeline.theory.settings import TheorySettings
from causaldq.types import Floats

PLACE = "Lemma 1"


@dataclass(frozen=True, eq=False)
class Pair:
    """Two action-value functions (S, A) on one problem, and a policy (S, A)."""

    mdp: Mdp
    first: Floats
    second: Floats
    policy: Floats


Operator = Callable[[Pair, Floats], Floats]


def fixed_policy(pair: Pair, q: Floats) -> Floats:
    """The operator as printed: a given policy, entropy subtracted with weight tau; (S, A)."""
    mdp = pair.mdp
    entropy = causal_entropy(pair.policy, mdp.mask)
    return backup(mdp, (pair.policy * q).sum(axis=1) - mdp.tau * entropy)


def own_policy(pair: Pair, q: Floats, sign: float) -> Floats:
    """The same with the Boltzmann policy of q at temperature tau, entropy with a sign; (S, A)."""
    mdp = pair.mdp
    policy = softmax(q, 1.0 / mdp.tau)
    entropy = causal_entropy(policy, mdp.mask)
    return backup(mdp, (policy * q).sum(axis=1) + sign * mdp.tau * entropy)


def section4_target(pair: Pair, q: Floats) -> Floats:
    """What section 4.1 regresses on: r + gamma E max Q(s') + H_c(pi(.|s)); (S, A)."""
    mdp = pair.mdp
    entropy = causal_entropy(softmax(q, 1.0 / mdp.tau), mdp.mask)
    return backup(mdp, q.max(axis=1)) + entropy[:, None]


def maximised(pair: Pair, q: Floats) -> Floats:
    """The operator that chooses the policy, entropy included; (S, A)."""
    return backup(pair.mdp, causal_value(q, pair.mdp.mask, pair.mdp.tau))


def contraction_slack(pair: Pair, operator: Operator, factor: float) -> float:
    """factor |Q - Q'| - |T Q - T Q'|."""
    moved = largest(operator(pair, pair.first) - operator(pair, pair.second))
    return factor * largest(pair.first - pair.second) - moved


def random_pairs(rng: np.random.Generator, settings: TheorySettings) -> list[Pair]:
    """Far apart and close together, so that slopes are seen too."""
    return [_random_pair(rng, mdp) for mdp in random_mdps(rng, settings)]


def sensor_pairs(rng: np.random.Generator, settings: TheorySettings) -> list[Pair]:
    return [_random_pair(rng, mdp) for mdp in sensor_mdps(settings.sensors)]


def _random_pair(rng: np.random.Generator, mdp: Mdp) -> Pair:
    first = rng.normal(scale=rng.choice([0.3, 1.0, 5.0]), size=mdp.reward.shape)
    apart = rng.normal(scale=rng.choice([0.01, 1.0, 5.0]), size=mdp.reward.shape)
    if rng.random() < 0.3:  # a constant, by which nothing can shrink more than by gamma
        apart = np.full_like(apart, apart[0, 0])
    policy = rng.dirichlet(np.ones(mdp.actions), mdp.states)
    return Pair(mdp, first, first + apart, policy)


def small_pairs(tau: float = 1.0) -> Iterator[Pair]:
    """One state, round values of Q."""
    for actions in (1, 2):
        for size in range(1, 7):
            values = [v for v in product(range(size + 1), repeat=actions) if max(v) == size]
            for first, second in product(values, product(range(size + 1), repeat=actions)):
                for mask in product((1, 0), repeat=actions):
                    if any(mask) and first != second:
                        mdp = one_state((0.0,) * actions, mask, tau=tau)
                        policy = np.full((1, actions), 1.0 / actions)
                        unit = tau if tau < 1 else 1.0
                        yield Pair(
                            mdp,
                            np.array([first], np.float64) * unit,
                            np.array([second], np.float64) * unit,
                            policy,
                        )


def size(pair: Pair) -> float:
    return pair.mdp.size


def _describe(operators: dict[str, Operator], pair: Pair) -> Example:
    """Both functions and how far the operators move them apart."""
    text, witness = tell(pair.mdp)
    text += rf", $Q={rows(pair.first)}$, $Q'={rows(pair.second)}$"
    witness |= {"first": pair.first.tolist(), "second": pair.second.tolist()}
    witness["policy"] = pair.policy.tolist()
    ends = []
    for name, operator in operators.items():
        moved = largest(operator(pair, pair.first) - operator(pair, pair.second))
        witness[f"moved{name}"] = moved
        ends.append(rf"$\|TQ-TQ'\|={number(moved)}${name}")
    allowed = pair.mdp.discount * largest(pair.first - pair.second)
    witness["allowed"] = allowed
    return f"{text}: {', '.join(ends)}, $\\gamma\\|Q-Q'\\|={number(allowed)}$.", witness


def check_lemma1_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Lemma 1, section 5, as printed: for any fixed policy pi the operator
    T Q(s,a) = r + gamma E[sum pi Q - tau H_c(pi)] brings any two functions closer by a factor
    gamma, in the largest absolute difference.

    The entropy does not depend on Q, so it cancels: the lemma would hold with any bounded
    function of the state in its place, and with either sign.
    """
    claim = Claim(
        "lemma1_printed",
        PLACE,
        r"$\|T^\pi_cQ-T^\pi_cQ'\|\le\gamma\|Q-Q'\|$ for a fixed policy $\pi$",
        "as printed",
    )
    trial = Trial(
        slack=lambda pair: contraction_slack(pair, fixed_policy, pair.mdp.discount),
        describe=lambda pair: _describe({"": fixed_policy}, pair),
        size=size,
        drawn=random_pairs(rng, settings),
        small=small_pairs(),
        sensors=sensor_pairs(rng, settings),
    )
    note = (
        "The entropy of a fixed policy does not depend on Q and cancels, so the lemma says nothing"
        " about causal entropy; and evaluating a fixed policy is not learning an optimal one. It"
        " subtracts the entropy where the target of section 4.1 adds it."
    )
    return examine(claim, trial, note)


def check_lemma1_softmax(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Lemma 1, section 5, as it is used: the policy is the Boltzmann policy of the Q being
    updated, so it moves with Q. Counted as satisfied if either sign of the entropy does it.
    """
    claim = Claim(
        "lemma1_softmax",
        PLACE,
        r"the same with $\pi=\mathrm{softmax}(Q/\tau)$, entropy of either sign",
        "as used",
    )
    signs: dict[str, Operator] = {
        " (entropy added)": lambda pair, q: own_policy(pair, q, 1.0),
        " (subtracted)": lambda pair, q: own_policy(pair, q, -1.0),
    }
    trial = Trial(
        slack=lambda pair: max(
            contraction_slack(pair, operator, pair.mdp.discount) for operator in signs.values()
        ),
        describe=lambda pair: _describe(signs, pair),
        size=size,
        drawn=random_pairs(rng, settings),
        small=small_pairs(),
        sensors=sensor_pairs(rng, settings),
    )
    note = (
        "Convergence of the algorithm would need this reading, since its policy is computed from"
        " the Q that it updates. Boltzmann averages are known not to be non-expansions."
    )
    return examine(claim, trial, note)


def check_lemma1_target(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Lemma 1, section 5, for the target that section 4.1 prints: max Q at the next state plus
    the causal entropy at the current state, not discounted.
    """
    claim = Claim(
        "lemma1_target",
        PLACE,
        r"the same for the target $r+\gamma\max Q(s',\cdot)+\mathcal{H}_c(\pi(\cdot|s))$",
        "as used",
    )
    trial = Trial(
        slack=lambda pair: contraction_slack(pair, section4_target, pair.mdp.discount),
        describe=lambda pair: _describe({"": section4_target}, pair),
        size=size,
        drawn=random_pairs(rng, settings),
        small=small_pairs(tau=0.25),
        sensors=sensor_pairs(rng, settings),
    )
    note = (
        "The slope of the entropy in Q grows like one over the temperature, so at low temperatures,"
        " where training ends, this backup can push functions apart."
    )
    return examine(claim, trial, note)


def check_lemma1_corrected(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Lemma 1, corrected: T Q = r + gamma E max over pi of [sum pi Q + H_c(pi) / tau] is a
    gamma-contraction. Proof: for each pi the bracket moves by at most |Q - Q'|, and so does a
    maximum of such brackets.
    """
    claim = Claim(
        "lemma1_corrected",
        PLACE,
        r"$TQ=r+\gamma E\max_\pi[\sum\pi Q+\mathcal{H}_c(\pi)/\tau]$ contracts by $\gamma$",
        "corrected",
    )
    trial = Trial(
        slack=lambda pair: contraction_slack(pair, maximised, pair.mdp.discount),
        describe=lambda pair: _describe({"": maximised}, pair),
        size=size,
        drawn=random_pairs(rng, settings),
        small=small_pairs(),
        sensors=sensor_pairs(rng, settings),
    )
    note = (
        "With the policy chosen inside the operator, entropy included, the regularised problem has"
        " one optimum and value iteration finds it. All corrected statements below are about it."
    )
    return examine(claim, trial, note)
