"""Corollary 2 and Remarks 4 to 6: what is left of the error in the limit."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from causaldq.pipeline.theory.check import Example, Setup, Trial, example, number, on_problems, rows
from causaldq.pipeline.theory.checks.errors import ceiling_bias, mask_bias, optimal_values
from causaldq.pipeline.theory.mdp import (
    Kind,
    Mdp,
    backup,
    iterate,
    largest,
    printed_causal_value,
    small_mdps,
    solve,
)
from causaldq.types import Bools, Floats


def _limit(
    setup: Setup, kind: Kind, bound: Callable[[Mdp], float], name: str = "bound"
) -> Trial[Mdp]:
    """The limit of an iteration is no further from the optimum without entropy than a bound."""

    def error(mdp: Mdp) -> float:
        return largest(solve(mdp, kind) - solve(mdp, "hard"))

    def describe(mdp: Mdp) -> Example:
        found, hard = solve(mdp, kind), solve(mdp, "hard")
        text = (
            f": $Q_\\infty={rows(found)}$, $Q_0={rows(hard)}$, error {number(error(mdp))},"
            f" {name} {number(bound(mdp))}."
        )
        return example(mdp, text, limit=found, hard=hard, error=error(mdp), bound=bound(mdp))

    return on_problems(setup, lambda mdp: bound(mdp) - error(mdp), describe)


def second_bound(mdp: Mdp, power: int) -> float:
    """2 g / (1 - gamma)^power, g = max|r|."""
    return 2 * largest(mdp.reward) / (1 - mdp.discount) ** power


def corollary2_own(setup: Setup) -> Trial[Mdp]:
    """Corollary 2, section 5, as printed, with Q* the optimum of the problem with causal entropy:
    the limit of |Q_t - Q*| is at most the smaller of gamma log(sum C) / (tau (1 - gamma)) and
    2 g / (1 - gamma)^3, g = max|r|. Q_t is iterated until it no longer moves.
    """

    def slack(mdp: Mdp) -> float:
        values = optimal_values("causal")(mdp)
        error = largest(backup(mdp, values) - solve(mdp, "causal"))
        return min(mask_bias(mdp), second_bound(mdp, 3)) - error

    return on_problems(setup, slack)


def corollary2_hard(setup: Setup) -> Trial[Mdp]:
    """Corollary 2, section 5, as its remarks read it: the bias of the iteration with causal
    entropy against the optimum without entropy, with the exponent 3 of the statement.
    """
    return _limit(setup, "causal", lambda mdp: min(mask_bias(mdp), second_bound(mdp, 3)))


def corollary2_proof(setup: Setup) -> Trial[Mdp]:
    """Corollary 2, its proof: the soft iteration, against the optimum without entropy, with
    2 g / (1 - gamma)^2 as second bound.
    """
    return _limit(setup, "soft", lambda mdp: min(mask_bias(mdp), second_bound(mdp, 2)))


def corollary2_reward(setup: Setup) -> Trial[Mdp]:
    """Corollary 2, its proof, second bound alone: the bias of the soft iteration is at most
    2 g / (1 - gamma)^2, because V lies between the smallest and the largest Q.
    """
    return _limit(setup, "soft", lambda mdp: second_bound(mdp, 2))


def corollary2_size(setup: Setup) -> Trial[int]:
    """Corollary 2, its proof: every reward is at most g in size, g being the causal reward of a
    detection. Tried on rewards of section 4.3: at most min(m, k) hits of 1 each, U = -20 for none.
    """
    hit, miss = setup.settings.sensors.hit, setup.settings.sensors.miss

    def describe(hits: int) -> Example:
        text = (
            f"reward {number(hit)} a hit, at most {hits} hit{'s' if hits > 1 else ''},"
            f" $U={number(miss)}$: $g\\le{number(hit * hits)}$ but $|U|={number(-miss)}$."
        )
        return text, {"hits": hits, "reward": hit * hits, "miss": miss}

    return Trial(
        slack=lambda hits: hit * hits - abs(miss),
        describe=describe,
        size=float,
        drawn=list(range(1, 13)),
        small=range(1, 13),
    )


def corollary2_corrected(setup: Setup) -> Trial[Mdp]:
    """Corollary 2, corrected: the bias of the iteration with causal entropy against the optimum
    without is between 0 and gamma / (1 - gamma) h / tau. There is no second bound.
    """
    return _limit(setup, "causal", ceiling_bias)


def corollary2_average(setup: Setup) -> Trial[Mdp]:
    """Corollary 2, second bound, corrected: for a value between the smallest and the largest Q,
    as the averaged soft value of the proof's definition, the bias is at most
    2 gamma g / (1 - gamma). Proof: all values then stay within g / (1 - gamma).
    """
    return _limit(
        setup, "averaged", lambda mdp: 2 * mdp.discount * largest(mdp.reward) / (1 - mdp.discount)
    )


def remark4_printed(setup: Setup) -> Trial[Mdp]:
    """Remark 4, section 5, as printed: the error against Q*, the optimum of the problem with causal
    entropy, does not go to 0. Measured after the steps that bring gamma^t below 1e-12.
    """

    def limit(mdp: Mdp) -> float:
        found = iterate(mdp, np.zeros(mdp.states), steps_to_the_end(mdp), "causal")[-1]
        return largest(found - solve(mdp, "causal"))

    def describe(mdp: Mdp) -> Example:
        optimum = solve(mdp, "causal")
        return example(mdp, f": $Q_t\\to Q^*={rows(optimum)}$, error 0.", optimum=optimum)

    small = (mdp for mdp in small_mdps() if mdp.actions > 1)
    return Trial(limit, setup.problems(), small, describe=describe)


def remark4_hard(setup: Setup) -> Trial[Mdp]:
    """Remark 4, section 5, as it must be meant: causal entropy keeps the iteration away from the
    optimum without entropy.
    """

    def describe(mdp: Mdp) -> Example:
        optimum, hard = solve(mdp, "causal"), solve(mdp, "hard")
        return example(mdp, f": $Q_\\infty=Q_0={rows(optimum)}$.", optimum=optimum, hard=hard)

    return on_problems(
        setup,
        lambda mdp: largest(solve(mdp, "causal") - solve(mdp, "hard")),
        describe,
        only=lambda mdp: mdp.actions > 1,
    )


@dataclass(frozen=True, eq=False)
class TwoMasks:
    """A problem, and a second mask (S, A) that holds the first."""

    mdp: Mdp
    wider: Bools


def _on_two_masks(setup: Setup, slack: Callable[[TwoMasks], float]) -> Trial[TwoMasks]:
    rng = setup.rng
    drawn = [
        TwoMasks(mdp, mdp.mask | (rng.random(mdp.mask.shape) < rng.random()))
        for mdp in setup.problems()
    ]
    small = (TwoMasks(m, np.ones_like(m.mask)) for m in small_mdps() if not m.mask.all())
    return Trial(slack, drawn, small)


def steps_to_the_end(mdp: Mdp) -> int:
    """Steps that bring gamma^t below 1e-12."""
    return int(np.ceil(28 / -np.log(mdp.discount)))


def printed_limit(mdp: Mdp) -> Floats:
    """Limit (S, A) of iterating with V_c as the proof prints it, mask and all."""
    q = mdp.reward
    for _ in range(steps_to_the_end(mdp)):
        q = backup(mdp, printed_causal_value(q, mdp.mask, mdp.tau))
    return q


def remark5_proof(setup: Setup) -> Trial[TwoMasks]:
    """Remark 5, section 5, with the value V_c of the proofs: the bias depends on the mask. Two
    masks, one within the other, are iterated to the end with the printed formula.
    """

    def slack(case: TwoMasks) -> float:
        return largest(printed_limit(case.mdp) - printed_limit(case.mdp.masked(case.wider)))

    def describe(case: TwoMasks) -> Example:
        found = printed_limit(case.mdp)
        text = f": with this mask and with $C={rows(case.wider)}$ alike $Q_\\infty={rows(found)}$."
        return example(case.mdp, text, wider=case.wider.astype(int), limit=found)

    return replace(_on_two_masks(setup, slack), describe=describe)


def remark5_corrected(setup: Setup) -> Trial[TwoMasks]:
    """Remark 5, corrected: with the maximised value a larger mask never lowers any Q, so the bias
    grows with the mask. Proof: H_c only gains terms, none negative.
    """

    def slack(case: TwoMasks) -> float:
        wider = solve(case.mdp.masked(case.wider), "causal")
        return float((wider - solve(case.mdp, "causal")).min())

    return _on_two_masks(setup, slack)


def remark6_soft(setup: Setup) -> Trial[Mdp]:
    """Remark 6, section 5, about the errors themselves, against an agent with the entropy of all
    actions: the mask does not increase the final distance to the optimum without entropy.
    """
    return _limit(
        setup, "causal", lambda mdp: largest(solve(mdp, "soft") - solve(mdp, "hard")), "soft"
    )


def remark6_plain(setup: Setup) -> Trial[Mdp]:
    """Remark 6, section 5, against the non-causal agent of the paper's experiments, which has no
    entropy: the causal one ends at least as close to the optimum.
    """
    return _limit(setup, "causal", lambda _: 0.0, "without entropy")
