"""Lemma 2 and Remarks 7 to 10: how many steps it takes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, log

import numpy as np

from causaldq.pipeline.theory.check import Check, Claim, Example, Trial, examine, number, row, tell
from causaldq.pipeline.theory.checks.errors import (
    Iteration,
    Start,
    ceiling_bias,
    mask_bias,
    optimal_values,
    rate,
    starts,
)
from causaldq.pipeline.theory.mdp import (
    Kind,
    Mdp,
    backup,
    iterate,
    largest,
    mask_sum,
    random_mdps,
    small_mdps,
    solve,
    value,
)
from causaldq.pipeline.theory.sensors import sensor_mdps
from causaldq.pipeline.theory.settings import TheorySettings
from causaldq.types import Floats

LEMMA = "Lemma 2"
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
        if error > bias + share * distance + 1e-9:
            break
    text, witness = tell(mdp)
    epsilon = bias + share * distance
    witness |= {"start": case.values.tolist(), "t": t, "epsilon": epsilon, "error": error}
    witness |= {"distance": distance, "bias": bias}
    return (
        f"{text}, $V_0={row(case.values)}$, distance {number(distance)}, bias term"
        f" {number(bias)}, $\\varepsilon={number(epsilon)}$: the lemma's step count is {t}, the"
        f" error then {number(error)}.",
        witness,
    )


def _lemma_trial(
    rng: np.random.Generator, settings: TheorySettings, compared: Iteration
) -> Trial[Start]:
    return Trial(
        slack=lambda case: _lemma_slack(compared, case),
        describe=lambda case: _lemma_describe(compared, case),
        size=lambda case: case.mdp.size,
        drawn=starts(rng, random_mdps(rng, settings), compared.values),
        small=(Start(mdp, np.ones(1)) for mdp in small_mdps()),
        sensors=starts(rng, sensor_mdps(settings.sensors), lambda mdp: np.zeros(mdp.states)),
    )


def check_lemma2_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Lemma 2, section 5, as printed, with the constants of its proof: to come within epsilon of
    Q*, log((epsilon - b) / |V_0 - V*|) / log(gamma) steps are enough, b the bias term of
    Corollary 1. Causal iteration against its own optimum, V* its value: what the printed order of
    magnitude hides is granted.
    """
    claim = Claim(
        "lemma2_printed",
        LEMMA,
        r"$T=O(\log\frac{1}{\varepsilon-b})$ steps, $b=\frac{\gamma}{1-\gamma}"
        r"\frac{\log\sum C}{\tau}$, to the optimum with $\mathcal{H}_c/\tau$",
        "as printed",
    )
    compared = Iteration(
        "causal",
        "causal",
        lambda mdp: optimal_values(mdp, "causal"),
        mask_bias,
        settings.iterations,
    )
    note = (
        "Vacuous: the error falls below $b$ itself in finitely many steps, so a count that grows"
        r" without limit as $\varepsilon$ approaches $b$ bounds one that does not grow."
    )
    return examine(claim, _lemma_trial(rng, settings, compared), note, vacuous=True)


def check_lemma2_hard(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Lemma 2, section 5, as its text wants it, with a bias that no number of steps removes: soft
    iteration against the optimum without entropy.
    """
    claim = Claim(
        "lemma2_hard",
        LEMMA,
        r"the same for the proofs' soft iteration against $Q_0$, where a bias remains",
        "as in the proof",
    )
    compared = Iteration(
        "soft", "hard", lambda mdp: optimal_values(mdp, "hard"), mask_bias, settings.iterations
    )
    note = (
        r"The bias that remains belongs to $\log|A|$, so no number of steps reaches $\varepsilon$"
        " near $b$."
    )
    return examine(claim, _lemma_trial(rng, settings, compared), note)


def check_lemma2_corrected(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Lemma 2, corrected: for the maximised value, against the optimum without entropy, with
    b = gamma / (1 - gamma) h / tau.
    """
    claim = Claim(
        "lemma2_corrected",
        LEMMA,
        r"the same for the maximised value against $Q_0$, $b=\frac{\gamma}{1-\gamma}\frac h\tau$",
        "corrected",
    )
    compared = Iteration(
        "causal", "hard", lambda mdp: optimal_values(mdp, "hard"), ceiling_bias, settings.iterations
    )
    return examine(claim, _lemma_trial(rng, settings, compared), "From Corollary 1, corrected.")


def check_remark7_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 7, section 5, as printed, about the two expressions: for the same epsilon and the
    same initial distance, the step count of Lemma 2 is smaller with the mask than with |A|.
    """
    claim = Claim(
        "remark7_printed",
        "Remark 7",
        r"the step count of Lemma 2 is smaller with $\sum C$ than with $|A|$",
        "as printed",
        strict=True,
    )

    def slack(mdp: Mdp) -> float:
        other = mdp.discount / (1 - mdp.discount) * log(mdp.actions) / mdp.tau
        epsilon = 1.01 * other
        return (log(epsilon - mask_bias(mdp)) - log(epsilon - other)) / -log(mdp.discount)

    trial = Trial(
        slack=slack,
        describe=tell,
        size=lambda mdp: mdp.size,
        drawn=[m for m in random_mdps(rng, settings) if mask_sum(m) < m.actions],
        small=[m for m in small_mdps() if mask_sum(m) < m.actions],
        sensors=[m for m in sensor_mdps(settings.sensors) if mask_sum(m) < m.actions],
    )
    note = (
        "True of the numbers; the one with the mask counts steps after which the error need not be"
        r" below $\varepsilon$ (Lemma 2 against the optimum without entropy)."
    )
    return examine(claim, trial, note)


def measured_steps(case: Start, kind: Kind) -> int:
    """Steps of exact iteration until within `CLOSE` of its own optimum."""
    mdp, values, steps = case.mdp, case.values, 1
    while largest((q := backup(mdp, values)) - solve(mdp, kind)) > CLOSE:
        values, steps = value(q, mdp.mask, mdp.tau, kind), steps + 1
    return steps


def check_remark7_steps(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 7, section 5, about the steps themselves: from V_0 = 0 the iteration with causal
    entropy comes within 0.001 of its optimum in no more steps than that with the entropy of all
    actions comes within 0.001 of its own.
    """
    claim = Claim(
        "remark7_steps",
        "Remark 7",
        r"measured steps to within 0.001: causal entropy $\le$ entropy of all actions",
        "as used",
    )

    def describe(case: Start) -> Example:
        causal, soft = measured_steps(case, "causal"), measured_steps(case, "soft")
        text, witness = tell(case.mdp)
        witness |= {"start": case.values.tolist(), "causal": causal, "soft": soft}
        return (
            f"{text}, $V_0={row(case.values)}$: {causal} steps with the mask, {soft} without.",
            witness,
        )

    drawn = [Start(mdp, np.zeros(mdp.states)) for mdp in random_mdps(rng, settings)]
    apart = np.array([measured_steps(c, "soft") - measured_steps(c, "causal") for c in drawn])
    trial = Trial(
        slack=lambda case: measured_steps(case, "soft") - measured_steps(case, "causal"),
        describe=describe,
        size=lambda case: case.mdp.size,
        drawn=drawn,
        small=(Start(mdp, np.zeros(1)) for mdp in small_mdps()),
        sensors=[Start(mdp, np.zeros(mdp.states)) for mdp in sensor_mdps(settings.sensors)],
    )
    note = (
        f"Fewer steps in {100 * np.mean(apart > 0):.0f} per cent of the random problems, as many in"
        f" {100 * np.mean(apart == 0):.0f}, more in {100 * np.mean(apart < 0):.0f}. The rate is the"
        " same (Remark 8); what differs is how far $V_0$ is from each optimum."
    )
    return examine(claim, trial, note)


def check_remark8_rate(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 8, section 5: the iteration with causal entropy converges exponentially, at a faster
    rate than that with the entropy of all actions. The rate is the spectral radius of the
    operator's derivative at its fixed point.
    """
    claim = Claim(
        "remark8_rate",
        "Remark 8",
        r"the error shrinks by a smaller factor a step with the mask than without",
        "as printed",
        strict=True,
    )

    def describe(mdp: Mdp) -> Example:
        text, witness = tell(mdp)
        witness |= {"causal": rate(mdp, "causal"), "soft": rate(mdp, "soft")}
        return (
            f"{text}: the factor is {number(rate(mdp, 'causal'))} with the mask and"
            f" {number(rate(mdp, 'soft'))} without.",
            witness,
        )

    trial = Trial(
        slack=lambda mdp: rate(mdp, "soft") - rate(mdp, "causal"),
        describe=describe,
        size=lambda mdp: mdp.size,
        drawn=random_mdps(rng, settings),
        small=(mdp for mdp in small_mdps() if mask_sum(mdp) < mdp.actions),
    )
    note = (
        r"Exponential it is, with factor $\gamma$ for both, not faster: the derivative is $\gamma$"
        " times a matrix of probabilities, whose spectral radius is 1 whatever the mask."
    )
    return examine(claim, trial, note, in_part=True)


def check_remark9_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 9, section 5: gamma log(sum C) / (tau (1 - gamma)) is the smallest error that can be
    reached, and reaching it takes infinitely many steps. Problems with a sum of at least 2, so
    that it is not 0; causal iteration against its own optimum, from V_0 = 0.
    """
    claim = Claim(
        "remark9_printed",
        "Remark 9",
        r"an error of $\frac{\gamma\log\sum C}{\tau(1-\gamma)}$ is not reached in finite time",
        "as printed",
        strict=True,
    )
    steps = settings.iterations

    def sides(mdp: Mdp) -> tuple[Floats, float]:
        found = iterate(mdp, np.zeros(mdp.states), steps, "causal")
        apart: Floats = np.abs(found - solve(mdp, "causal")).max(axis=(1, 2))
        return apart, mask_bias(mdp)

    def slack(mdp: Mdp) -> float:
        apart, bias = sides(mdp)
        return float(apart.min()) - bias

    def describe(mdp: Mdp) -> Example:
        apart, bias = sides(mdp)
        t = int((apart < bias - 1e-9).argmax())
        text, witness = tell(mdp)
        witness |= {"t": t + 1, "error": float(apart[t]), "floor": bias}
        return (
            f"{text}, $V_0=0$: at $t={t + 1}$ the error is {number(apart[t])}, the supposed floor"
            f" {number(bias)}.",
            witness,
        )

    trial = Trial(
        slack=slack,
        describe=describe,
        size=lambda mdp: mdp.size,
        drawn=[m for m in random_mdps(rng, settings) if mask_sum(m) > 1],
        small=(m for m in small_mdps() if mask_sum(m) > 1),
    )
    note = (
        "A bound on the error was taken for the error. The step count that opens the remark is"
        " Lemma 2 with its constant, and stands as that does."
    )
    return examine(claim, trial, note, in_part=True)


def check_remark10_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 10, section 5, about the expression: the bias term grows with the sum of the mask and
    with gamma, and falls with tau.
    """
    claim = Claim(
        "remark10_printed",
        "Remark 10",
        r"the bias term grows with $\sum C$ and $\gamma$, and falls with $\tau$",
        "as printed",
    )

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

    trial = Trial(
        slack=slack,
        describe=tell,
        size=lambda mdp: mdp.size,
        drawn=random_mdps(rng, settings),
        small=small_mdps(),
    )
    return examine(claim, trial, "True of the expression.")


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


def check_remark10_bias(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 10, section 5, about the bias itself: |Q* - Q0| does not fall when the mask grows,
    when tau falls, or when gamma grows; Q* the optimum with causal entropy, Q0 without.
    """
    claim = Claim(
        "remark10_bias",
        "Remark 10",
        r"the bias $\|Q^*-Q_0\|$ itself does so too",
        "as used",
    )

    def slack(case: Discounts) -> float:
        mdp = case.mdp
        here = bias(mdp)
        return min(
            bias(mdp.masked(np.ones_like(mdp.mask))) - here,
            bias(replace(mdp, tau=mdp.tau / 2)) - here,
            bias(replace(mdp, discount=case.higher)) - here,
        )

    def describe(case: Discounts) -> Example:
        text, witness = tell(case.mdp)
        low, high = bias(case.mdp), bias(replace(case.mdp, discount=case.higher))
        witness |= {"higher": case.higher, "bias": low, "bias_higher": high}
        return (
            f"{text}: the bias is {number(low)}; with $\\gamma={number(case.higher)}$ it is"
            f" {number(high)}.",
            witness,
        )

    trial = Trial(
        slack=slack,
        describe=describe,
        size=lambda case: case.mdp.size,
        drawn=[
            Discounts(mdp, (1 + mdp.discount) / 2 if rng.random() < 0.5 else mdp.discount + 0.01)
            for mdp in random_mdps(rng, settings)
        ],
        small=_small_discounts(),
    )
    note = (
        r"Mask and $\tau$ do what is said. A larger $\gamma$ can put the one masked action so far"
        " ahead that randomising no longer pays, and the bias goes."
    )
    return examine(claim, trial, note, in_part=True)
