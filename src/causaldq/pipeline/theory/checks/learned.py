"""Theorem 2, Remarks 11 and 12, the early variance of Remark 5, and the closing claim."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import log, sqrt

import numpy as np

from causaldq.pipeline.theory.check import Example, Setup, Trial, example, number, rows
from causaldq.pipeline.theory.checks.errors import Learning, random_learning
from causaldq.pipeline.theory.learning import (
    Rates,
    corrected_bound,
    draw,
    errors,
    highest_entropy,
    learn,
    theorem2_bound,
    theorem2_terms,
    value_limit,
)
from causaldq.pipeline.theory.mdp import Kind, largest, mask_sum, one_state, solve, value
from causaldq.pipeline.theory.settings import TheorySettings
from causaldq.types import Floats, Ints


def kept_steps(settings: TheorySettings) -> Ints:
    """Steps at which learned values are looked at, 0 among them."""
    return _kept(settings.learning.steps)


def _kept(last: int) -> Ints:
    return np.unique([0, *np.geomspace(1, last, 15).astype(np.int64)])


def learned(case: Learning, kind: Kind, settings: TheorySettings) -> Floats:
    """Q_t (steps kept, runs, S, A) from Q_0 = 0; every kind sees the same samples."""
    learning = settings.learning
    return _learned(case, kind, learning.steps, learning.replications)


@lru_cache(maxsize=256)
def _learned(case: Learning, kind: Kind, steps: int, runs: int) -> Floats:
    samples = draw(case.mdp, case.omega, steps, runs, np.random.default_rng(case.seed))
    start = np.zeros(case.mdp.reward.shape)
    return learn(case.mdp, kind, samples, case.alpha, start, _kept(steps))


def mean_error(found: Floats, reference: Floats) -> tuple[Floats, Floats]:
    """Mean and standard error (steps kept,) of the largest absolute error."""
    apart = errors(found, reference)
    return apart.mean(axis=1), apart.std(axis=1, ddof=1) / sqrt(apart.shape[1])


class FiniteTime:
    """One reading of Theorem 2: which learner, which Q*, which bound."""

    def __init__(self, kind: Kind, target: Kind, form: str, settings: TheorySettings) -> None:
        self.kind, self.target, self.form, self.settings = kind, target, form, settings

    def bounds(self, case: Learning) -> Floats:
        """At the steps kept."""
        mdp = case.mdp
        rates = Rates.of(mdp, case.omega, case.alpha)
        steps = kept_steps(self.settings).tolist()
        if self.form == "corrected":
            limit = value_limit(mdp, highest_entropy(mdp, self.kind))
            distance = largest(solve(mdp, self.kind))
            return np.array([corrected_bound(rates, limit, distance, t) for t in steps])
        proof = self.form == "proof"
        return np.array([theorem2_bound(rates, mask_sum(mdp), t, proof=proof) for t in steps])

    def sides(self, case: Learning) -> tuple[Floats, Floats, Floats]:
        """Mean errors, their standard errors, bounds."""
        found = learned(case, self.kind, self.settings)
        mean, error = mean_error(found, solve(case.mdp, self.target))
        return mean, error, self.bounds(case)

    def slack(self, case: Learning) -> float:
        """A failure must be three standard errors clear."""
        mean, error, bounds = self.sides(case)
        return float((bounds - (mean - 3 * error)).min())

    def describe(self, case: Learning) -> Example:
        """At t = 0, where nothing is random."""
        mean, _, bounds = self.sides(case)
        optimum = solve(case.mdp, self.target)
        numbers = {"optimum": optimum, "error": mean[0], "bound": bounds[0]}
        if self.form != "corrected":
            rates = Rates.of(case.mdp, case.omega, case.alpha)
            proof = self.form == "proof"
            numbers["terms"] = theorem2_terms(rates, mask_sum(case.mdp), 0, proof=proof)
        text = (
            f", $\\alpha={number(case.alpha)}$, $\\omega={rows(case.omega)}$, $Q_0=0$,"
            f" $Q^*={rows(optimum)}$: at $t=0$, $\\|Q_0-Q^*\\|={number(mean[0])}$, bound"
            f" {number(bounds[0])}."
        )
        return example(case.mdp, text, alpha=case.alpha, omega=case.omega, **numbers)

    def looseness(self, cases: Sequence[Learning]) -> tuple[float, float]:
        """Median of bound over error at the last step; share of bounds above the trivial one."""
        ratios, trivial = [], []
        for case in cases:
            mean, _, bounds = self.sides(case)
            ratios.append(bounds[-1] / max(mean[-1], 1e-12))
            limit = value_limit(case.mdp, highest_entropy(case.mdp, self.kind))
            trivial.append(bounds[-1] > 2 * limit)
        return float(np.median(ratios)), float(np.mean(trivial))

    def trial(
        self,
        setup: Setup,
        describe: Callable[[Learning], Example] | None = None,
        alphas: tuple[float, ...] = (0.1, 0.01),
    ) -> Trial[Learning]:
        drawn = random_learning(setup, setup.settings.learning.instances)
        ratio, trivial = self.looseness(drawn)
        return Trial(
            slack=self.slack,
            drawn=drawn,
            small=small_learning(alphas),
            describe=describe or self.describe,
            looseness=ratio,
            measured={"trivial": 100 * trivial},
        )


def small_learning(alphas: tuple[float, ...] = (0.1, 0.01)) -> list[Learning]:
    """One state, two actions, one of them masked; the entropy weighs ever more."""
    return [
        Learning(one_state((0.0, 0.0), (1, 0), tau=tau), alpha, np.full((1, 2), 0.5), 0)
        for tau in (1.0, 0.1, 0.05, 0.02, 0.01)
        for alpha in alphas
    ]


def theorem2_printed(setup: Setup) -> Trial[Learning]:
    """Theorem 2, section 5, as printed: the mean of |Q_t - Q*| is at most the sum of terms I to
    IV. Sampled Q-learning with the maximised causal value from Q_0 = 0, rewards at most 1 in size,
    Q* the optimum with causal entropy, the largest mask of all states.
    """
    return FiniteTime("causal", "causal", "printed", setup.settings).trial(setup)


def theorem2_proof(setup: Setup) -> Trial[Learning]:
    """Theorem 2, its proof: soft Q-learning against the optimum without entropy, as in the work
    whose comparison systems it takes over, with the factor |A|^(1/2) in term III that the
    statement drops.
    """
    compared = FiniteTime("soft", "hard", "proof", setup.settings)
    # at t = 0 nothing has been learned: the failure is that of the limit, at a late step
    return compared.trial(setup, lambda case: _describe_late(compared, case), alphas=(0.1,))


def _describe_late(compared: FiniteTime, case: Learning) -> Example:
    """At the step where the failure is clearest, with the limit that can be found by hand."""
    mean, error, bounds = compared.sides(case)
    at = int((bounds - mean + 3 * error).argmin())
    t = int(kept_steps(compared.settings)[at])
    limit, optimum = solve(case.mdp, compared.kind), solve(case.mdp, compared.target)
    text = (
        f", $\\alpha={number(case.alpha)}$, $\\omega={rows(case.omega)}$, $Q_0=0$: learning"
        f" tends to ${rows(limit)}$ while the optimum without entropy is ${rows(optimum)}$; at"
        f" $t={t}$ the mean error is {number(mean[at])}, the bound {number(bounds[at])}."
    )
    numbers = {"limit": limit, "optimum": optimum, "error": mean[at], "bound": bounds[at]}
    return example(case.mdp, text, alpha=case.alpha, omega=case.omega, t=t, **numbers)


def theorem2_corrected(setup: Setup) -> Trial[Learning]:
    """Theorem 2, corrected: with L = (1 + gamma h / tau) / (1 - gamma),
    E|Q_t - Q*| <= rho^t |Q_0 - Q*|
    + (1 + gamma omega_max / (omega_min (1 - gamma))) 2 L sqrt(|S||A| alpha / (2 - alpha)),
    for the maximised causal value and its own optimum. `learning.corrected_bound` has the proof.
    """
    return FiniteTime("causal", "causal", "corrected", setup.settings).trial(setup)


def remark11_printed(setup: Setup) -> Trial[Learning]:
    """Remark 11, section 5: as t grows, term I of Theorem 2 goes to 0 and terms III and IV to
    constants. Evaluated once rho^t is below 1e-20 and at twice that t.
    """

    def slack(case: Learning) -> float:
        rates = Rates.of(case.mdp, case.omega, case.alpha)
        late = int(60 / -log(rates.rho)) + 1
        masked = mask_sum(case.mdp)
        first, second = (theorem2_terms(rates, masked, t) for t in (late, 2 * late))
        moved = max(abs(a - b) / (1 + abs(b)) for a, b in zip(first, second, strict=True))
        return -max(moved, second[0])

    return Trial(slack, random_learning(setup, setup.settings.instances), small_learning())


def remark12_printed(setup: Setup) -> Trial[Learning]:
    """Remark 12, section 5, about the two expressions: term III is smaller with the sum of the
    mask than with |A|.
    """

    def slack(case: Learning) -> float:
        rates = Rates.of(case.mdp, case.omega, case.alpha)
        causal = theorem2_terms(rates, mask_sum(case.mdp), 100)[2]
        return theorem2_terms(rates, case.mdp.actions, 100)[2] - causal

    cases = random_learning(setup, setup.settings.instances)
    drawn = [case for case in cases if mask_sum(case.mdp) < case.mdp.actions]
    return Trial(slack, drawn, small_learning())


class Comparison:
    """The mean error of causal learning against that of another learner, each to its own Q*."""

    def __init__(self, other: Kind, settings: TheorySettings) -> None:
        self.other, self.settings = other, settings

    def sides(self, case: Learning) -> tuple[Floats, Floats, Floats]:
        """Mean errors of both, and the standard error of their paired difference."""
        kinds: tuple[Kind, Kind] = ("causal", self.other)
        causal, other = (
            errors(learned(case, kind, self.settings), solve(case.mdp, kind)) for kind in kinds
        )
        apart = causal - other
        spread = apart.std(axis=1, ddof=1) / sqrt(apart.shape[1])
        return causal.mean(axis=1), other.mean(axis=1), spread

    def slack(self, case: Learning) -> float:
        """Not smaller only if three standard errors clear of it, at some step."""
        causal, other, spread = self.sides(case)
        return float((other - causal + 3 * spread).min())

    def describe(self, case: Learning) -> Example:
        """At t = 1, where by hand both errors are those of the entry not yet updated."""
        causal, other, _ = self.sides(case)
        own, others = solve(case.mdp, "causal"), solve(case.mdp, self.other)
        name = "entropy of all actions" if self.other == "soft" else "no entropy"
        text = (
            f", $\\alpha={number(case.alpha)}$, $Q_0=0$: $Q^*={rows(own)}$ with the mask,"
            f" ${rows(others)}$ with {name}; after one step, whichever entry it updates, the errors"
            f" are {number(causal[1])} and {number(other[1])}."
        )
        numbers = {"optimum": own, "other": others, "error": causal[1], "other_error": other[1]}
        return example(case.mdp, text, alpha=case.alpha, **numbers)

    def trial(self, setup: Setup) -> Trial[Learning]:
        drawn = random_learning(setup, setup.settings.learning.instances)
        return Trial(self.slack, drawn, small_comparisons(), describe=self.describe)


def small_comparisons() -> list[Learning]:
    return [
        Learning(one_state(reward, (1, 0)), 0.1, np.full((1, 2), 0.5), 0)
        for reward in ((0.0, 0.0), (1.0, 1.0), (-1.0, -1.0))
    ]


def remark12_errors(setup: Setup) -> Trial[Learning]:
    """Remark 12, section 5, about the errors themselves: on the same samples, at every step looked
    at, the mean error of Q-learning with causal entropy is not larger than that with the entropy
    of all actions, each against its own optimum.
    """
    return Comparison("soft", setup.settings).trial(setup)


def variance(case: Learning, kind: Kind, settings: TheorySettings, at: int) -> float:
    """Mean over entries of the variance over runs, at one of the steps kept."""
    return float(learned(case, kind, settings)[at].var(axis=0).mean())


def remark5_variance(setup: Setup) -> Trial[Learning]:
    """Remark 5, section 5: causal entropy lowers the variance early in training. Variance over
    runs on the same samples, after a tenth of the steps, against the entropy of all actions and
    against none; satisfied if not above either by more than a tenth.
    """
    settings = setup.settings
    early = int(np.searchsorted(kept_steps(settings), settings.learning.steps // 10))
    kinds: tuple[Kind, Kind, Kind] = ("causal", "soft", "hard")

    def variances(case: Learning) -> list[float]:
        return [variance(case, kind, settings, early) for kind in kinds]

    def slack(case: Learning) -> float:
        causal, soft, hard = variances(case)
        return 1.1 * min(soft, hard) - causal

    def after_one_step(case: Learning, kind: Kind) -> float:
        """By hand: one of two entries becomes alpha (r + gamma V(0, 0))."""
        mdp = case.mdp
        start = float(value(np.zeros((1, mdp.actions)), mdp.mask, mdp.tau, kind)[0])
        moved: float = case.alpha * (mdp.reward[0, 0] + mdp.discount * start)
        return moved**2 / 4

    def describe(case: Learning) -> Example:
        causal, soft, hard = found = [after_one_step(case, kind) for kind in kinds]
        text = (
            f", $\\alpha={number(case.alpha)}$, $Q_0=0$, either entry updated with chance 1/2:"
            f" after one step its variance is {number(causal)} with causal entropy,"
            f" {number(soft)} with the entropy of all actions, {number(hard)} with none."
        )
        return example(case.mdp, text, alpha=case.alpha, variances=found)

    drawn = random_learning(setup, settings.learning.instances)
    causal, soft, hard = np.array([variances(case) for case in drawn]).T
    return Trial(
        slack=slack,
        drawn=drawn,
        small=small_comparisons(),
        describe=describe,
        measured={
            "below_soft": 100 * np.mean(causal < soft),
            "below_hard": 100 * np.mean(causal < hard),
        },
    )


def closing_bounds(setup: Setup) -> Trial[Learning]:
    """The sentence that closes section 5, about bounds: those of Causal DQ are smaller than those
    of the non-causal case. The non-causal agent of the experiments has no entropy, so its bounds
    are the same with no entropy term at all.
    """

    def limit(case: Learning, kind: Kind) -> float:
        return value_limit(case.mdp, highest_entropy(case.mdp, kind))

    def bound(case: Learning, kind: Kind) -> float:
        rates = Rates.of(case.mdp, case.omega, case.alpha)
        distance = largest(solve(case.mdp, kind))
        return corrected_bound(rates, limit(case, kind), distance, setup.settings.learning.steps)

    def describe(case: Learning) -> Example:
        limits = limit(case, "causal"), limit(case, "hard")
        text = (
            f": every bound grows with $L=(1+\\gamma h/\\tau)/(1-\\gamma)$, which is"
            f" {number(limits[0])} with causal entropy and {number(limits[1])} without entropy."
        )
        return example(case.mdp, text, limits=limits)

    return Trial(
        slack=lambda case: bound(case, "hard") - bound(case, "causal"),
        drawn=random_learning(setup, setup.settings.instances),
        small=small_comparisons(),
        describe=describe,
    )


def closing_errors(setup: Setup) -> Trial[Learning]:
    """The sentence that closes section 5, about errors and time: on the same samples the mean
    error of Q-learning with causal entropy is never above that without entropy, each against its
    own optimum.
    """
    return Comparison("hard", setup.settings).trial(setup)
