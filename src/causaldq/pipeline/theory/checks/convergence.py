"""Lemma 2 and Remarks 7 to 10: how many steps it takes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, log

import numpy as np

from causaldq.pipeline.theory.check import Example, Setup, Trial, example, number, on_problems, row
from causaldq.pipeline.theory.checks.errors import (
    Iteration,
    Start,
    at_zero,
    ceiling_bias,
    mask_bias,
    optimal_values,
)
from causaldq.pipeline.theory.mdp import (
    Kind,
    Mdp,
    backup,
    causal_policy,
    iterate,
    largest,
    mask_sum,
    small_mdps,
    softmax,
    solve,
    value,
)
from causaldq.types import Floats

EXCESSES = (0.3, 0.03, 0.003)
"""Precision beyond the bias, as shares of the initial distance."""
CLOSE = 1e-3
"""Error at which an iteration counts as converged."""


def steps_needed(distance: float, excess: float, discount: float) -> int:
    """Steps after which gamma^t distance is at most the excess; at least 1."""
    if distance <= excess:
        return 1
    return max(1, ceil(log(excess / distance) / log(discount) - 1e-12))


def _distance(compared: Iteration, case: Start) -> float:
    """|V_0 - V*|, kept away from 0 so that shares of it mean something."""
    return max(largest(case.values - compared.values(case.mdp)), 0.01)


def _lemma_slack(compared: Iteration, case: Start) -> float:
    """Least of epsilon minus the error after the steps that the proof says are enough."""
    mdp = case.mdp
    distance = _distance(compared, case)
    bias = compared.bias(mdp)
    needed = [steps_needed(distance, share * distance, mdp.discount) for share in EXCESSES]
    found = iterate(mdp, case.values, max(needed), compared.kind)
    target = solve(mdp, compared.target)
    return min(
        bias + share * distance - largest(found[t - 1] - target)
        for share, t in zip(EXCESSES, needed, strict=True)
    )


def _lemma_describe(compared: Iteration, case: Start) -> Example:
    mdp = case.mdp
    distance = _distance(compared, case)
    bias = compared.bias(mdp)
    target = solve(mdp, compared.target)
    for share in EXCESSES:
        t = steps_needed(distance, share * distance, mdp.discount)
        error = largest(iterate(mdp, case.values, t, compared.kind)[-1] - target)
        epsilon = bias + share * distance
        if error > epsilon + 1e-9:
            break
    text = (
        f", $V_0={row(case.values)}$, distance {number(distance)}, bias term {number(bias)},"
        f" $\\varepsilon={number(epsilon)}$: the lemma's step count is {t}, the error then"
        f" {number(error)}."
    )
    numbers = {"t": t, "epsilon": epsilon, "error": error, "distance": distance, "bias": bias}
    return example(mdp, text, start=case.values, **numbers)


def _lemma(setup: Setup, compared: Iteration) -> Trial[Start]:
    return replace(
        compared.trial(setup),
        slack=lambda case: _lemma_slack(compared, case),
        small=(Start(mdp, np.ones(1)) for mdp in small_mdps()),
        describe=lambda case: _lemma_describe(compared, case),
    )


def lemma2_printed(setup: Setup) -> Trial[Start]:
    """Lemma 2, section 5, as printed, with the constants of its proof: to come within epsilon of
    Q*, log((epsilon - b) / |V_0 - V*|) / log(gamma) steps are enough, b the bias term of
    Corollary 1. Causal iteration against its own optimum, V* its value: what the printed order of
    magnitude hides is granted.
    """
    steps = setup.settings.iterations
    own = optimal_values("causal")
    return _lemma(setup, Iteration("causal", "causal", own, mask_bias, steps))


def lemma2_hard(setup: Setup) -> Trial[Start]:
    """Lemma 2, section 5, as its text wants it, with a bias that no number of steps removes: soft
    iteration against the optimum without entropy.
    """
    steps = setup.settings.iterations
    return _lemma(setup, Iteration("soft", "hard", optimal_values("hard"), mask_bias, steps))


def lemma2_corrected(setup: Setup) -> Trial[Start]:
    """Lemma 2, corrected: for the maximised value, against the optimum without entropy, with
    b = gamma / (1 - gamma) h / tau.
    """
    steps = setup.settings.iterations
    return _lemma(setup, Iteration("causal", "hard", optimal_values("hard"), ceiling_bias, steps))


def remark7_printed(setup: Setup) -> Trial[Mdp]:
    """Remark 7, section 5, as printed, about the two expressions: for the same epsilon and the
    same initial distance, the step count of Lemma 2 is smaller with the mask than with |A|.
    """

    def slack(mdp: Mdp) -> float:
        other = mdp.discount / (1 - mdp.discount) * log(mdp.actions) / mdp.tau
        epsilon = 1.01 * other
        return (log(epsilon - mask_bias(mdp)) - log(epsilon - other)) / -log(mdp.discount)

    return on_problems(setup, slack, only=lambda mdp: mask_sum(mdp) < mdp.actions)


def measured_steps(case: Start, kind: Kind) -> int:
    """Steps of exact iteration until within `CLOSE` of its own optimum."""
    mdp, values, steps = case.mdp, case.values, 1
    while largest((q := backup(mdp, values)) - solve(mdp, kind)) > CLOSE:
        values, steps = value(q, mdp.mask, mdp.tau, kind), steps + 1
    return steps


def remark7_steps(setup: Setup) -> Trial[Start]:
    """Remark 7, section 5, about the steps themselves: from V_0 = 0 the iteration with causal
    entropy comes within 0.001 of its optimum in no more steps than that with the entropy of all
    actions comes within 0.001 of its own.
    """

    def slack(case: Start) -> int:
        return measured_steps(case, "soft") - measured_steps(case, "causal")

    def describe(case: Start) -> Example:
        causal, soft = measured_steps(case, "causal"), measured_steps(case, "soft")
        text = f", $V_0={row(case.values)}$: {causal} steps with the mask, {soft} without."
        return example(case.mdp, text, start=case.values, causal=causal, soft=soft)

    drawn = [Start(mdp, at_zero(mdp)) for mdp in setup.problems()]
    signs = np.sign([slack(case) for case in drawn])
    return Trial(
        slack=slack,
        drawn=drawn,
        small=(Start(mdp, np.zeros(1)) for mdp in small_mdps()),
        sensors=[Start(mdp, at_zero(mdp)) for mdp in setup.miniatures()],
        describe=describe,
        measured={
            name: 100 * np.mean(signs == sign)
            for name, sign in (("fewer", 1), ("as_many", 0), ("more", -1))
        },
    )


def rate(mdp: Mdp, kind: Kind) -> float:
    """Asymptotic factor of the error a step: spectral radius of the operator's derivative.

    The derivative of the value map is its policy, so this is gamma times a stochastic matrix.
    """
    q = solve(mdp, kind)
    policy = causal_policy(q, mdp.mask, mdp.tau) if kind == "causal" else softmax(q, mdp.tau)
    moves = np.einsum("sa,sat->st", policy, mdp.transition)
    return float(mdp.discount * np.abs(np.linalg.eigvals(moves)).max())


def remark8_rate(setup: Setup) -> Trial[Mdp]:
    """Remark 8, section 5: the iteration with causal entropy converges exponentially, at a faster
    rate than that with the entropy of all actions. The rate is the spectral radius of the
    operator's derivative at its fixed point.
    """

    def describe(mdp: Mdp) -> Example:
        causal, soft = rate(mdp, "causal"), rate(mdp, "soft")
        text = f": the factor is {number(causal)} with the mask and {number(soft)} without."
        return example(mdp, text, causal=causal, soft=soft)

    return Trial(
        slack=lambda mdp: rate(mdp, "soft") - rate(mdp, "causal"),
        drawn=setup.problems(),
        small=(mdp for mdp in small_mdps() if mask_sum(mdp) < mdp.actions),
        describe=describe,
    )


def remark9_printed(setup: Setup) -> Trial[Mdp]:
    """Remark 9, section 5: gamma log(sum C) / (tau (1 - gamma)) is the smallest error that can be
    reached, and reaching it takes infinitely many steps. Problems with a sum of at least 2, so
    that it is not 0; causal iteration against its own optimum, from V_0 = 0.
    """

    def errors(mdp: Mdp) -> Floats:
        found = iterate(mdp, at_zero(mdp), setup.settings.iterations, "causal")
        return np.asarray(np.abs(found - solve(mdp, "causal")).max(axis=(1, 2)), np.float64)

    def describe(mdp: Mdp) -> Example:
        apart, floor = errors(mdp), mask_bias(mdp)
        t = int((apart < floor - 1e-9).argmax())
        text = (
            f", $V_0=0$: at $t={t + 1}$ the error is {number(apart[t])}, the supposed floor"
            f" {number(floor)}."
        )
        return example(mdp, text, t=t + 1, error=apart[t], floor=floor)

    return Trial(
        slack=lambda mdp: float(errors(mdp).min()) - mask_bias(mdp),
        drawn=[mdp for mdp in setup.problems() if mask_sum(mdp) > 1],
        small=(mdp for mdp in small_mdps() if mask_sum(mdp) > 1),
        describe=describe,
    )


def remark10_printed(setup: Setup) -> Trial[Mdp]:
    """Remark 10, section 5, about the expression: the bias term grows with the sum of the mask and
    with gamma, and falls with tau.
    """

    def term(masked: int, discount: float, tau: float) -> float:
        return discount / (1 - discount) * log(masked) / tau

    def slack(mdp: Mdp) -> float:
        masked, discount, tau = mask_sum(mdp), mdp.discount, mdp.tau
        here = term(masked, discount, tau)
        return min(
            term(masked + 1, discount, tau) - here,
            term(masked, (1 + discount) / 2, tau) - here,
            term(masked, discount, tau / 2) - here,
        )

    return Trial(slack, setup.problems(), small_mdps())


@dataclass(frozen=True, eq=False)
class Discounts:
    """A problem, and a larger discount for it."""

    mdp: Mdp
    higher: float


def bias(mdp: Mdp) -> float:
    """Measured: |Q* - Q0| with causal entropy."""
    return largest(solve(mdp, "causal") - solve(mdp, "hard"))


def _small_discounts() -> Iterator[Discounts]:
    """Two states too: with one, the bias only grows."""
    for mdp in small_mdps():
        yield Discounts(mdp, 0.75)
    # the first action leads to state 2, the second to state 1; only the former pays, in state 2
    transition = np.zeros((2, 2, 2))
    transition[:, 0, 1] = transition[:, 1, 0] = 1.0
    reward = np.array([[0.0, 0.0], [1.0, 0.0]])
    mask = np.array([[1, 0], [1, 0]], np.bool_)
    for tau in (1.0, 2.0, 4.0):
        yield Discounts(Mdp(transition, reward, mask, 0.25, tau), 0.75)


def remark10_bias(setup: Setup) -> Trial[Discounts]:
    """Remark 10, section 5, about the bias itself: |Q* - Q0| does not fall when the mask grows,
    when tau falls, or when gamma grows; Q* the optimum with causal entropy, Q0 without.
    """

    def slack(case: Discounts) -> float:
        mdp = case.mdp
        here = bias(mdp)
        return min(
            bias(mdp.masked(np.ones_like(mdp.mask))) - here,
            bias(replace(mdp, tau=mdp.tau / 2)) - here,
            bias(replace(mdp, discount=case.higher)) - here,
        )

    def describe(case: Discounts) -> Example:
        low, high = bias(case.mdp), bias(replace(case.mdp, discount=case.higher))
        text = (
            f": the bias is {number(low)}; with $\\gamma={number(case.higher)}$ it is"
            f" {number(high)}."
        )
        return example(case.mdp, text, higher=case.higher, bias=low, bias_higher=high)

    drawn = [
        Discounts(mdp, (1 + mdp.discount) / 2 if setup.rng.random() < 0.5 else mdp.discount + 0.01)
        for mdp in setup.problems()
    ]
    return Trial(slack, drawn, _small_discounts(), describe=describe)
