"""Lemma 1: is the Bellman operator with causal entropy a contraction?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from causaldq.pipeline.theory.check import Example, Setup, Trial, number, rows, tell
from causaldq.pipeline.theory.mdp import (
    Mdp,
    backup,
    causal_entropy,
    causal_value,
    largest,
    one_state,
    softmax,
)
from causaldq.types import Floats


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


def random_pair(rng: np.random.Generator, mdp: Mdp) -> Pair:
    """Far apart or close together, so that slopes are seen too."""
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


def _contracts(setup: Setup, operators: dict[str, Operator], tau: float = 1.0) -> Trial[Pair]:
    """One of the operators, named as the counterexample is to name it, contracts by gamma."""
    return Trial(
        slack=lambda pair: max(
            contraction_slack(pair, operator, pair.mdp.discount) for operator in operators.values()
        ),
        drawn=[random_pair(setup.rng, mdp) for mdp in setup.problems()],
        small=small_pairs(tau),
        sensors=[random_pair(setup.rng, mdp) for mdp in setup.miniatures()],
        describe=lambda pair: _describe(operators, pair),
    )


def lemma1_printed(setup: Setup) -> Trial[Pair]:
    """Lemma 1, section 5, as printed: for any fixed policy pi the operator
    T Q(s,a) = r + gamma E[sum pi Q - tau H_c(pi)] brings any two functions closer by a factor
    gamma, in the largest absolute difference.

    The entropy does not depend on Q, so it cancels: the lemma would hold with any bounded
    function of the state in its place, and with either sign.
    """
    return _contracts(setup, {"": fixed_policy})


def lemma1_softmax(setup: Setup) -> Trial[Pair]:
    """Lemma 1, section 5, as it is used: the policy is the Boltzmann policy of the Q being
    updated, so it moves with Q. Counted as satisfied if either sign of the entropy does it.
    """
    signs: dict[str, Operator] = {
        " (entropy added)": lambda pair, q: own_policy(pair, q, 1.0),
        " (subtracted)": lambda pair, q: own_policy(pair, q, -1.0),
    }
    return _contracts(setup, signs)


def lemma1_target(setup: Setup) -> Trial[Pair]:
    """Lemma 1, section 5, for the target that section 4.1 prints: max Q at the next state plus
    the causal entropy at the current state, not discounted.
    """
    return _contracts(setup, {"": section4_target}, tau=0.25)


def lemma1_corrected(setup: Setup) -> Trial[Pair]:
    """Lemma 1, corrected: T Q = r + gamma E max over pi of [sum pi Q + H_c(pi) / tau] is a
    gamma-contraction. Proof: for each pi the bracket moves by at most |Q - Q'|, and so does a
    maximum of such brackets.
    """
    return _contracts(setup, {"": maximised})
