"""Theorem 1: bounds on Q*; Remarks 1 and 2: how large the mask is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb, log
from typing import Literal

import numpy as np

from causaldq.pipeline.theory.check import (
    Example,
    Setup,
    Trial,
    example,
    number,
    on_problems,
    rows,
    tell,
)
from causaldq.pipeline.theory.mdp import (
    Mdp,
    backup,
    causal_entropy,
    causal_value,
    ceiling,
    largest,
    log_sum_exp,
    mask_sum,
    one_state,
    printed_causal_value,
    small_mdps,
    softmax,
    solve,
)
from causaldq.types import Floats


@dataclass(frozen=True, eq=False)
class Guess:
    """A problem and any action values (S, A) on it."""

    mdp: Mdp
    q: Floats


def on_guesses(
    setup: Setup, slack: Callable[[Guess], float], describe: Callable[[Guess], Example]
) -> Trial[Guess]:
    drawn = [
        Guess(mdp, setup.rng.normal(scale=setup.rng.choice([0.1, 1.0, 3.0]), size=mdp.reward.shape))
        for mdp in setup.problems()
    ]
    return Trial(slack, drawn, _small_guesses(), describe=describe)


def _small_guesses() -> Iterator[Guess]:
    for mdp in small_mdps():
        for top in (0.0, 1.0):
            q = np.zeros(mdp.reward.shape)
            q[0, 0] = top
            yield Guess(mdp, q)


def _describe_guess(case: Guess) -> Example:
    """The value V_c of the proof beside the largest Q."""
    found = printed_causal_value(case.q, case.mdp.mask, case.mdp.tau)
    top = case.q.max(axis=1)
    bound = top + np.log(case.mdp.mask.sum(axis=1)) / case.mdp.tau
    _, witness = example(case.mdp, "", q=case.q, value=found, bound=bound)
    text = (
        f"$Q={rows(case.q)}$, $C={rows(case.mdp.mask)}$, $\\tau={number(case.mdp.tau)}$:"
        f" $V_c={rows(found)}$, $\\max Q+\\log(\\sum C)/\\tau={rows(bound)}$."
    )
    return text, witness


def value_bound_proof(setup: Setup) -> Trial[Guess]:
    """Theorem 1, its proof: V_c = [H_c + tau sum C pi Q] / (tau w) lies between max Q and
    max Q + log(sum C) / tau.
    """

    def slack(case: Guess) -> float:
        mdp = case.mdp
        found = printed_causal_value(case.q, mdp.mask, mdp.tau)
        top = case.q.max(axis=1)
        above = top + np.log(mdp.mask.sum(axis=1)) / mdp.tau - found
        return float(min(above.min(), (found - top).min()))

    return on_guesses(setup, slack, _describe_guess)


def value_identity_corrected(setup: Setup) -> Trial[Guess]:
    """Theorem 1, its proof, corrected: wherever it is defined, V_c equals the unmasked
    V = (1/tau) log sum exp(tau Q). Proof: put log pi = tau (Q - V) into H_c; both numerator terms
    are then multiples of w, which cancels. So max Q <= V_c <= max Q + log|A| / tau.
    """

    def slack(case: Guess) -> float:
        mdp = case.mdp
        found = printed_causal_value(case.q, mdp.mask, mdp.tau)
        apart = np.abs(found - log_sum_exp(case.q, mdp.tau)).max()
        below = (case.q.max(axis=1) + log(mdp.actions) / mdp.tau - found).min()
        return float(min(below, -apart))

    return on_guesses(setup, slack, _describe_guess)


def theorem1_defined(setup: Setup) -> Trial[Mdp]:
    """Theorem 1, section 5, as printed: its upper bound is a number, that is, in every state some
    action has a causal effect on the reward.
    """

    def describe(mdp: Mdp) -> Example:
        text, witness = tell(mdp)
        if mdp.states == 1:
            text = "before the change no stream is shifted, so $C=0$ for every action: "
            return text + r"$\log\sum C=\log 0=-\infty$, and no $Q^*$ lies below it.", witness
        return text + ".", witness

    trial = on_problems(setup, lambda mdp: float(mdp.mask.sum(axis=1).min()) - 1.0, describe)
    return replace(trial, small=[one_state((0.0,), (0,))])


def lower_bound(mdp: Mdp, q: Floats) -> Floats:
    """r + gamma E max Q(s'), (S, A)."""
    return backup(mdp, q.max(axis=1))


def printed_upper_bound(mdp: Mdp, q: Floats) -> Floats:
    """With the mask of the state s itself, (S, A); -inf where it is empty."""
    masked = mdp.mask.sum(axis=1).astype(np.float64)
    with np.errstate(divide="ignore"):
        excess = mdp.discount / (1 - mdp.discount) * np.log(masked) / mdp.tau
    return np.asarray(lower_bound(mdp, q) + excess[:, None], np.float64)


def generous_upper_bound(mdp: Mdp, q: Floats) -> Floats:
    """With the largest mask of all states, (S, A)."""
    excess = mdp.discount / (1 - mdp.discount) * log(mask_sum(mdp)) / mdp.tau
    return lower_bound(mdp, q) + excess


def _describe_bound(mdp: Mdp, q: Floats, side: str, bound: Floats) -> Example:
    """Q* beside a bound (S, A)."""
    text = f": $Q^*={rows(q)}$, {side} bound ${rows(bound)}$."
    return example(mdp, text, optimum=q, bound=bound)


def _bounded(
    setup: Setup,
    side: Literal["lower", "upper"],
    bound: Callable[[Mdp, Floats], Floats],
    optimum: Callable[[Mdp], Floats | None],
) -> Trial[Mdp]:
    """An optimum is on the right side of a bound (S, A) wherever both are numbers."""

    def slack(mdp: Mdp) -> float:
        q = optimum(mdp)
        if q is None:
            return 0.0
        apart = bound(mdp, q) - q if side == "upper" else q - bound(mdp, q)
        return float(apart[np.isfinite(apart)].min())

    def describe(mdp: Mdp) -> Example:
        q = optimum(mdp)
        assert q is not None
        return _describe_bound(mdp, q, side, bound(mdp, q))

    return on_problems(setup, slack, describe)


def theorem1_lower_printed(setup: Setup) -> Trial[Mdp]:
    """Theorem 1, section 5, as printed, lower half: Q* >= r + gamma E max Q(s'). Q* is read as the
    optimum over policies of reward plus H_c / tau, and the Q on the right as Q* itself.
    """
    return _bounded(setup, "lower", lower_bound, lambda mdp: solve(mdp, "causal"))


def theorem1_lower_proof(setup: Setup) -> Trial[Mdp]:
    """Theorem 1, lower half, with V as its proof first defines it: (1/tau) log of the mean of
    exp(tau Q) over actions drawn from a policy, here the even one.
    """
    return _bounded(setup, "lower", lower_bound, lambda mdp: solve(mdp, "averaged"))


def boltzmann_optimum(mdp: Mdp) -> Floats | None:
    """Fixed point (S, A) of r + gamma E[sum pi Q + H_c(pi) / tau], pi the Boltzmann policy of Q.

    None if plain iteration does not settle, which nothing guarantees here.
    """
    values = np.zeros(mdp.states)
    for _ in range(1000):
        q = backup(mdp, values)
        policy = softmax(q, mdp.tau)
        new = (policy * q).sum(axis=1) + causal_entropy(policy, mdp.mask) / mdp.tau
        if largest(new - values) < 1e-11:
            return backup(mdp, new)
        values = new
    return None


def theorem1_lower_used(setup: Setup) -> Trial[Mdp]:
    """Theorem 1, lower half, for the fixed point that an agent with a Boltzmann policy and causal
    entropy in its target aims at: Q = r + gamma E[sum pi Q + H_c(pi) / tau], pi from Q.
    """
    return _bounded(setup, "lower", lower_bound, boltzmann_optimum)


def theorem1_upper_printed(setup: Setup) -> Trial[Mdp]:
    """Theorem 1, section 5, as printed, upper half:
    Q* <= r + gamma E max Q(s') + gamma / (1 - gamma) log(sum C) / tau with the mask of state s;
    Q* the optimum with bonus H_c / tau, and Q on the right read as Q*, the larger of its two
    readings. States with an empty mask are left out.
    """
    return _bounded(setup, "upper", printed_upper_bound, lambda mdp: solve(mdp, "causal"))


def theorem1_upper_proof(setup: Setup) -> Trial[Mdp]:
    """Theorem 1, upper half, for the value of its proof: V_c, which equals the soft value, so Q*
    is the soft optimum. The largest mask of all states is granted.
    """
    return _bounded(setup, "upper", generous_upper_bound, lambda mdp: solve(mdp, "soft"))


def theorem1_corrected(setup: Setup) -> Trial[Mdp]:
    """Theorem 1, corrected: with Q0 the optimum without entropy and h the largest h(n) of all
    states, Q0 <= Q* <= Q0 + gamma / (1 - gamma) h / tau. Proof: max Q <= V <= max Q + h / tau for
    the maximised value V, and the excess adds up over the steps.
    """

    def bound(mdp: Mdp) -> Floats:
        return solve(mdp, "hard") + mdp.discount / (1 - mdp.discount) * ceiling(mdp) / mdp.tau

    def slack(mdp: Mdp) -> float:
        q = solve(mdp, "causal")
        return float(min((bound(mdp) - q).min(), (q - solve(mdp, "hard")).min()))

    def looseness(mdp: Mdp) -> float:
        q, plain = solve(mdp, "causal"), solve(mdp, "hard")
        return largest(bound(mdp) - plain) / max(largest(q - plain), 1e-9)

    trial = on_problems(
        setup, slack, lambda mdp: _describe_bound(mdp, solve(mdp, "causal"), "upper", bound(mdp))
    )
    return replace(trial, looseness=float(np.median([looseness(mdp) for mdp in trial.drawn])))


def _describe_any(case: Guess) -> Example:
    optimum = solve(case.mdp, "causal")
    low, high = lower_bound(case.mdp, case.q), generous_upper_bound(case.mdp, case.q)
    text = f", $Q={rows(case.q)}$: $Q^*={rows(optimum)}$, bounds ${rows(low)}$ and ${rows(high)}$."
    return example(case.mdp, text, q=case.q, optimum=optimum, lower=low, upper=high)


def theorem1_any_printed(setup: Setup) -> Trial[Guess]:
    """Theorem 1, section 5, as printed: the Q on the right carries no star. Read as any function,
    as in the theorem that the proof starts from.
    """

    def slack(case: Guess) -> float:
        optimum = solve(case.mdp, "causal")
        low, high = lower_bound(case.mdp, case.q), generous_upper_bound(case.mdp, case.q)
        return float(min((optimum - low).min(), (high - optimum).min()))

    return on_guesses(setup, slack, _describe_any)


def theorem1_any_corrected(setup: Setup) -> Trial[Guess]:
    """Theorem 1, corrected for any Q: with D = T Q - Q the residual of the maximised operator,
    T Q + gamma / (1 - gamma) min D <= Q* <= T Q + gamma / (1 - gamma) max D. Proof: T is monotone
    and adding a constant to Q adds gamma times it to T Q; apply T again and again.
    """

    def slack(case: Guess) -> float:
        mdp = case.mdp
        moved = backup(mdp, causal_value(case.q, mdp.mask, mdp.tau))
        factor = mdp.discount / (1 - mdp.discount)
        residual = moved - case.q
        optimum = solve(mdp, "causal")
        above = moved + factor * residual.max() - optimum
        below = optimum - moved - factor * residual.min()
        return float(min(above.min(), below.min()))

    return on_guesses(setup, slack, _describe_any)


def remark1_printed(setup: Setup) -> Trial[Mdp]:
    """Remark 1, section 5, as printed, about the two expressions: the upper bound of Theorem 1 is
    smaller than the non-causal one, which has |A| in place of the sum of the mask. Problems
    where the mask holds every action are left out.
    """
    return on_problems(
        setup,
        lambda mdp: log(mdp.actions) - log(mask_sum(mdp)),
        only=lambda mdp: mask_sum(mdp) < mdp.actions,
    )


def remark1_corrected(setup: Setup) -> Trial[Mdp]:
    """Remark 1, corrected: h(n) <= log|A|, so the valid bound with the mask is never above the
    valid bound without it, and below it unless every action is masked somewhere.
    """
    return on_problems(setup, lambda mdp: log(mdp.actions) - ceiling(mdp))


@dataclass(frozen=True)
class Sizes:
    """Streams, streams read, streams shifted."""

    p: int
    m: int
    k: int


def all_sizes(largest_p: int = 8) -> list[Sizes]:
    """Every p, m < p and k <= p, smallest first."""
    return [
        Sizes(p, m, k)
        for p in range(2, largest_p + 1)
        for m in range(1, p)
        for k in range(1, p + 1)
    ]


def masked_sets(sizes: Sizes) -> int:
    """Number of sets of m streams that hold one of the first k, by counting them."""
    shifted = set(range(sizes.k))
    return sum(bool(shifted & set(chosen)) for chosen in combinations(range(sizes.p), sizes.m))


def _on_sizes(
    slack: Callable[[Sizes], float],
    total: Callable[[Sizes], int] = masked_sets,
    actions: Callable[[Sizes], int] = lambda sizes: comb(sizes.p, sizes.m),
) -> Trial[Sizes]:
    """Tried on all sizes; `total`: sum of the mask, of so many actions."""

    def describe(sizes: Sizes) -> Example:
        found = vars(sizes) | {"mask_sum": total(sizes), "actions": actions(sizes)}
        text = (
            f"$p={sizes.p}$, $m={sizes.m}$, $k={sizes.k}$ shifted: $\\sum C={found['mask_sum']}$,"
            f" $m={sizes.m}$, $|A|={found['actions']}$."
        )
        return text, found

    return Trial(slack, all_sizes(), all_sizes(), describe=describe, size=lambda sizes: sizes.p)


def remark2_printed(_: Setup) -> Trial[Sizes]:
    """Remark 2, section 5, as printed: with sets of m of p streams as actions, sum C <= m, and
    m < C(p, m), for 1 <= m < p. Counted over every p up to 8, m and k.
    """
    return _on_sizes(
        lambda sizes: min(sizes.m - masked_sets(sizes), comb(sizes.p, sizes.m) - sizes.m - 1)
    )


def remark2_streams(_: Setup) -> Trial[Sizes]:
    """Remark 2, section 5, as the network has it: one action value per stream, so the sum of the
    mask is the number k of shifted streams, and there are p actions.
    """
    return _on_sizes(
        lambda sizes: min(sizes.m - sizes.k, sizes.p - sizes.m - 1),
        total=lambda sizes: sizes.k,
        actions=lambda sizes: sizes.p,
    )


def remark2_corrected(_: Setup) -> Trial[Sizes]:
    """Remark 2, corrected: with sets as actions sum C = C(p, m) - C(p - k, m), which is below
    |A| exactly when m <= p - k.
    """

    def slack(sizes: Sizes) -> float:
        total, actions = masked_sets(sizes), comb(sizes.p, sizes.m)
        formula = actions - comb(sizes.p - sizes.k, sizes.m)
        agrees = (total < actions) == (sizes.m <= sizes.p - sizes.k)
        return -float(abs(total - formula)) - (not agrees)

    return _on_sizes(slack)
