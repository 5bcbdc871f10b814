"""Theorem 2, Remarks 11 and 12, the early variance of Remark 5, and the closing claim."""

from functools import lru_cache
from math import log, sqrt

import numpy as np

from causaldq.pipeline.theory.check import Check, Claim, Example, Trial, examine, number, rows, tell
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

THEOREM = "Theorem 2"


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
        rates = Rates.of(case.mdp, case.omega, case.alpha)
        text, witness = tell(case.mdp)
        optimum = solve(case.mdp, self.target)
        witness |= {
            "alpha": case.alpha,
            "omega": case.omega.tolist(),
            "optimum": optimum.tolist(),
            "error": float(mean[0]),
            "bound": float(bounds[0]),
        }
        if self.form != "corrected":
            proof = self.form == "proof"
            witness["terms"] = list(theorem2_terms(rates, mask_sum(case.mdp), 0, proof=proof))
        text += (
            f", $\\alpha={number(case.alpha)}$, $\\omega={rows(case.omega)}$, $Q_0=0$,"
            f" $Q^*={rows(optimum)}$"
        )
        return (
            f"{text}: at $t=0$, $\\|Q_0-Q^*\\|={number(mean[0])}$, bound {number(bounds[0])}.",
            witness,
        )

    def looseness(self, cases: list[Learning]) -> tuple[float, float]:
        """Median of bound over error at the last step; share of bounds above the trivial one."""
        ratios, trivial = [], []
        for case in cases:
            mean, _, bounds = self.sides(case)
            ratios.append(bounds[-1] / max(mean[-1], 1e-12))
            limit = value_limit(case.mdp, highest_entropy(case.mdp, self.kind))
            trivial.append(bounds[-1] > 2 * limit)
        return float(np.median(ratios)), float(np.mean(trivial))


def small_learning() -> list[Learning]:
    """One state, two actions, one of them masked; the entropy weighs ever more."""
    return [
        Learning(one_state((0.0, 0.0), (1, 0), tau=tau), alpha, np.full((1, 2), 0.5), 0)
        for tau in (1.0, 0.1, 0.05, 0.02, 0.01)
        for alpha in (0.1, 0.01)
    ]


def _vacuous_share(trivial: float) -> str:
    return (
        f" In {100 * trivial:.0f} per cent of the random problems the bound is vacuous: above twice"
        " the largest value there can be, which bounds the error without any theorem."
    )


def check_theorem2_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 2, section 5, as printed: the mean of |Q_t - Q*| is at most the sum of terms I to
    IV. Sampled Q-learning with the maximised causal value from Q_0 = 0, rewards at most 1 in size,
    Q* the optimum with causal entropy, the largest mask of all states.
    """
    claim = Claim(
        "theorem2_printed",
        THEOREM,
        r"$E\|Q_t-Q^*\|\le$ I + II + III + IV, $Q^*$ optimal with $\mathcal{H}_c/\tau$",
        "as printed",
    )
    compared = FiniteTime("causal", "causal", "printed", settings)
    drawn = random_learning(rng, settings, settings.learning.instances)
    trial = Trial(
        slack=compared.slack,
        describe=compared.describe,
        size=lambda case: case.mdp.size,
        drawn=drawn,
        small=small_learning(),
    )
    note = (
        r"Fails where one action is masked and $\tau$ is small, smaller than in any random problem:"
        r" term III is then 0 while each step can earn an entropy of $1/(e\tau)$. The proof takes"
        r" $Q^*$ to be at most $1/(1-\gamma)$, which is its size without entropy."
    )
    ratio, trivial = compared.looseness(drawn)
    return examine(claim, trial, note + _vacuous_share(trivial), looseness=ratio)


def check_theorem2_proof(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 2, its proof: soft Q-learning against the optimum without entropy, as in the work
    whose comparison systems it takes over, with the factor |A|^(1/2) in term III that the
    statement drops.
    """
    claim = Claim(
        "theorem2_proof",
        THEOREM,
        r"the same for soft Q-learning against $Q_0$, with the proof's $|A|^{1/2}$ in III",
        "as in the proof",
    )
    compared = FiniteTime("soft", "hard", "proof", settings)
    drawn = random_learning(rng, settings, settings.learning.instances)
    # at t = 0 nothing has been learned: the failure is that of the limit, at a late step
    trial = Trial(
        slack=compared.slack,
        describe=lambda case: _describe_late(compared, case),
        size=lambda case: case.mdp.size,
        drawn=drawn,
        small=_small_late(),
    )
    note = (
        r"Fails where one action is masked and $\tau$ is small, smaller than in any random problem:"
        r" term III is then 0, though the soft learner settles at a distance of up to"
        r" $\gamma\log|A|/(\tau(1-\gamma))$ from the optimum without entropy. By the proof's own"
        " steps term IV should carry $|A|^2$, not $|A|^{2/3}$."
    )
    ratio, trivial = compared.looseness(drawn)
    return examine(claim, trial, note + _vacuous_share(trivial), looseness=ratio)


def _small_late() -> list[Learning]:
    return [
        Learning(one_state((0.0, 0.0), (1, 0), tau=tau), 0.1, np.full((1, 2), 0.5), 0)
        for tau in (1.0, 0.1, 0.05, 0.02, 0.01)
    ]


def _describe_late(compared: FiniteTime, case: Learning) -> Example:
    """At the step where the failure is clearest, with the limit that can be found by hand."""
    mean, error, bounds = compared.sides(case)
    at = int((bounds - mean + 3 * error).argmin())
    t = int(kept_steps(compared.settings)[at])
    text, witness = tell(case.mdp)
    limit = solve(case.mdp, compared.kind)
    witness |= {
        "alpha": case.alpha,
        "omega": case.omega.tolist(),
        "t": t,
        "limit": limit.tolist(),
        "optimum": solve(case.mdp, compared.target).tolist(),
        "error": float(mean[at]),
        "bound": float(bounds[at]),
    }
    return (
        f"{text}, $\\alpha={number(case.alpha)}$, $\\omega={rows(case.omega)}$, $Q_0=0$: learning"
        f" tends to ${rows(limit)}$ while the optimum without entropy is"
        f" ${rows(solve(case.mdp, compared.target))}$; at $t={t}$ the mean error is"
        f" {number(mean[at])}, the bound {number(bounds[at])}.",
        witness,
    )


def check_theorem2_corrected(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 2, corrected: with L = (1 + gamma h / tau) / (1 - gamma),
    E|Q_t - Q*| <= rho^t |Q_0 - Q*|
    + (1 + gamma omega_max / (omega_min (1 - gamma))) 2 L sqrt(|S||A| alpha / (2 - alpha)),
    for the maximised causal value and its own optimum. `learning.corrected_bound` has the proof.
    """
    claim = Claim(
        "theorem2_corrected",
        THEOREM,
        r"$E\|Q_t-Q^*\|\le\rho^t\|Q_0-Q^*\|+(1+\frac{\gamma\omega_{\max}}{\omega_{\min}(1-\gamma)})"
        r"2L\sqrt{\frac{|S||A|\alpha}{2-\alpha}}$",
        "corrected",
    )
    compared = FiniteTime("causal", "causal", "corrected", settings)
    drawn = random_learning(rng, settings, settings.learning.instances)
    trial = Trial(
        slack=compared.slack,
        describe=compared.describe,
        size=lambda case: case.mdp.size,
        drawn=drawn,
        small=small_learning(),
    )
    note = (
        "The bias is gone: a learner goes to the optimum of its own value map, up to noise of order"
        " the root of the step size. To the optimum without entropy add"
        r" $\gamma h/(\tau(1-\gamma))$."
    )
    ratio, trivial = compared.looseness(drawn)
    return examine(claim, trial, note + _vacuous_share(trivial), looseness=ratio)


def check_remark11_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 11, section 5: as t grows, term I of Theorem 2 goes to 0 and terms III and IV to
    constants. Evaluated once rho^t is below 1e-20 and at twice that t.
    """
    claim = Claim(
        "remark11_printed",
        "Remark 11",
        r"as $t\to\infty$, I $\to0$, and III and IV tend to constants",
        "as printed",
    )

    def slack(case: Learning) -> float:
        rates = Rates.of(case.mdp, case.omega, case.alpha)
        late = int(60 / -log(rates.rho)) + 1
        masked = mask_sum(case.mdp)
        first, second = (theorem2_terms(rates, masked, t) for t in (late, 2 * late))
        moved = max(abs(a - b) / (1 + abs(b)) for a, b in zip(first, second, strict=True))
        return -max(moved, second[0])

    trial = Trial(
        slack=slack,
        describe=lambda case: tell(case.mdp),
        size=lambda case: case.mdp.size,
        drawn=random_learning(rng, settings, settings.instances),
        small=small_learning(),
    )
    note = (
        "True of the expression; II is constant throughout. As the step size goes to 0 term III"
        " keeps its size, while the final error itself goes to 0."
    )
    return examine(claim, trial, note)


def check_remark12_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 12, section 5, about the two expressions: term III is smaller with the sum of the
    mask than with |A|.
    """
    claim = Claim(
        "remark12_printed",
        "Remark 12",
        r"term III is smaller with $\sum C$ than with $|A|$",
        "as printed",
        strict=True,
    )

    def slack(case: Learning) -> float:
        rates = Rates.of(case.mdp, case.omega, case.alpha)
        causal = theorem2_terms(rates, mask_sum(case.mdp), 100)[2]
        return theorem2_terms(rates, case.mdp.actions, 100)[2] - causal

    cases = random_learning(rng, settings, settings.instances)
    trial = Trial(
        slack=slack,
        describe=lambda case: tell(case.mdp),
        size=lambda case: case.mdp.size,
        drawn=[case for case in cases if mask_sum(case.mdp) < case.mdp.actions],
        small=small_learning(),
    )
    note = "True of the numbers. The smaller one is not a bound (Theorem 2)."
    return examine(claim, trial, note)


class Comparison:
    """The mean error of causal learning against that of another learner, each to its own Q*."""

    def __init__(self, other: Kind, settings: TheorySettings) -> None:
        self.other, self.settings = other, settings

    def sides(self, case: Learning) -> tuple[Floats, Floats, Floats]:
        """Mean errors of both, and the standard error of their paired difference."""
        both: list[Floats] = []
        kinds: tuple[Kind, Kind] = ("causal", self.other)
        for kind in kinds:
            both.append(errors(learned(case, kind, self.settings), solve(case.mdp, kind)))
        apart = both[0] - both[1]
        spread = apart.std(axis=1, ddof=1) / sqrt(apart.shape[1])
        return both[0].mean(axis=1), both[1].mean(axis=1), spread

    def slack(self, case: Learning) -> float:
        """Not smaller only if three standard errors clear of it, at some step."""
        causal, other, spread = self.sides(case)
        return float((other - causal + 3 * spread).min())

    def describe(self, case: Learning) -> Example:
        """At t = 1, where by hand both errors are those of the entry not yet updated."""
        causal, other, _ = self.sides(case)
        text, witness = tell(case.mdp)
        own, others = solve(case.mdp, "causal"), solve(case.mdp, self.other)
        witness |= {"alpha": case.alpha, "optimum": own.tolist(), "other": others.tolist()}
        witness |= {"error": float(causal[1]), "other_error": float(other[1])}
        name = "entropy of all actions" if self.other == "soft" else "no entropy"
        return (
            f"{text}, $\\alpha={number(case.alpha)}$, $Q_0=0$: $Q^*={rows(own)}$ with the mask,"
            f" ${rows(others)}$ with {name}; after one step, whichever entry it updates, the errors"
            f" are {number(causal[1])} and {number(other[1])}.",
            witness,
        )


def _small_comparisons() -> list[Learning]:
    return [
        Learning(one_state(reward, (1, 0)), 0.1, np.full((1, 2), 0.5), 0)
        for reward in ((0.0, 0.0), (1.0, 1.0), (-1.0, -1.0))
    ]


def check_remark12_errors(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 12, section 5, about the errors themselves: on the same samples, at every step looked
    at, the mean error of Q-learning with causal entropy is not larger than that with the entropy
    of all actions, each against its own optimum.
    """
    claim = Claim(
        "remark12_errors",
        "Remark 12",
        r"the mean error itself: causal entropy $\le$ entropy of all actions, same samples",
        "as used",
    )
    compared = Comparison("soft", settings)
    trial = Trial(
        slack=compared.slack,
        describe=compared.describe,
        size=lambda case: case.mdp.size,
        drawn=random_learning(rng, settings, settings.learning.instances),
        small=_small_comparisons(),
    )
    note = "Early errors are set by how far $Q_0$ is from each optimum, late ones by noise."
    return examine(claim, trial, note)


def variance(case: Learning, kind: Kind, settings: TheorySettings, at: int) -> float:
    """Mean over entries of the variance over runs, at one of the steps kept."""
    return float(learned(case, kind, settings)[at].var(axis=0).mean())


def check_remark5_variance(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 5, section 5: causal entropy lowers the variance early in training. Variance over
    runs on the same samples, after a tenth of the steps, against the entropy of all actions and
    against none; satisfied if not above either by more than a tenth.
    """
    claim = Claim(
        "remark5_variance",
        "Remark 5",
        r"early variance of $Q_t$ is lower with causal entropy than with all or none",
        "as printed",
    )
    steps = kept_steps(settings)
    early = int(np.searchsorted(steps, settings.learning.steps // 10))

    def sides(case: Learning, at: int) -> tuple[float, float, float]:
        kinds: tuple[Kind, Kind, Kind] = ("causal", "soft", "hard")
        causal, soft, hard = (variance(case, kind, settings, at) for kind in kinds)
        return causal, soft, hard

    def slack(case: Learning) -> float:
        causal, soft, hard = sides(case, early)
        return 1.1 * min(soft, hard) - causal

    def describe(case: Learning) -> Example:
        """After one step by hand: one of two entries becomes alpha (r + gamma V(0, 0))."""
        text, witness = tell(case.mdp)
        mdp = case.mdp

        zero = np.zeros((1, mdp.actions))
        kinds: tuple[Kind, Kind, Kind] = ("causal", "soft", "hard")
        found = [
            (
                case.alpha
                * (mdp.reward[0, 0] + mdp.discount * float(value(zero, mdp.mask, mdp.tau, kind)[0]))
            )
            ** 2
            / 4
            for kind in kinds
        ]
        witness |= {"alpha": case.alpha, "variances": found}
        return (
            f"{text}, $\\alpha={number(case.alpha)}$, $Q_0=0$, either entry updated with chance"
            f" 1/2: after one step its variance is {number(found[0])} with causal entropy,"
            f" {number(found[1])} with the entropy of all actions, {number(found[2])} with none.",
            witness,
        )

    drawn = random_learning(rng, settings, settings.learning.instances)
    trial = Trial(
        slack=slack,
        describe=describe,
        size=lambda case: case.mdp.size,
        drawn=drawn,
        small=_small_comparisons(),
    )
    against = np.array([sides(case, early) for case in drawn])
    below_soft = 100 * np.mean(against[:, 0] < against[:, 1])
    below_hard = 100 * np.mean(against[:, 0] < against[:, 2])
    note = (
        f"Below the entropy of all actions in {below_soft:.0f} per cent of the random problems,"
        f" below no entropy in {below_hard:.0f}. The remark's other half, more effective"
        " exploration, is not defined sharply enough to be checked: cannot be told."
    )
    return examine(claim, trial, note)


def check_closing_bounds(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """The sentence that closes section 5, about bounds: those of Causal DQ are smaller than those
    of the non-causal case. The non-causal agent of the experiments has no entropy, so its bounds
    are the same with no entropy term at all.
    """
    claim = Claim(
        "closing_bounds",
        "Section 5, end",
        r"the bounds are smaller than those of the non-causal agent of section 6",
        "as used",
    )

    def slack(case: Learning) -> float:
        mdp = case.mdp
        rates = Rates.of(mdp, case.omega, case.alpha)
        causal, plain = (
            corrected_bound(
                rates,
                value_limit(mdp, highest_entropy(mdp, kind)),
                largest(solve(mdp, kind)),
                settings.learning.steps,
            )
            for kind in _causal_and_hard()
        )
        return plain - causal

    def describe(case: Learning) -> Example:
        mdp = case.mdp
        text, witness = tell(mdp)
        limits = [value_limit(mdp, highest_entropy(mdp, kind)) for kind in _causal_and_hard()]
        witness |= {"limits": limits}
        return (
            f"{text}: every bound grows with $L=(1+\\gamma h/\\tau)/(1-\\gamma)$, which is"
            f" {number(limits[0])} with causal entropy and {number(limits[1])} without entropy.",
            witness,
        )

    trial = Trial(
        slack=slack,
        describe=describe,
        size=lambda case: case.mdp.size,
        drawn=random_learning(rng, settings, settings.instances),
        small=_small_comparisons(),
    )
    note = (
        "Against an agent with the entropy of all actions the corrected bounds are smaller (Remark"
        " 1). The paper runs no such agent."
    )
    return examine(claim, trial, note)


def _causal_and_hard() -> tuple[Kind, Kind]:
    return "causal", "hard"


def check_closing_errors(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """The sentence that closes section 5, about errors and time: on the same samples the mean
    error of Q-learning with causal entropy is never above that without entropy, each against its
    own optimum.
    """
    claim = Claim(
        "closing_errors",
        "Section 5, end",
        r"the mean error itself: causal entropy $\le$ no entropy, same samples",
        "as used",
    )
    compared = Comparison("hard", settings)
    trial = Trial(
        slack=compared.slack,
        describe=compared.describe,
        size=lambda case: case.mdp.size,
        drawn=random_learning(rng, settings, settings.learning.instances),
        small=_small_comparisons(),
    )
    note = (
        "What the paper's experiments show is therefore no consequence of its theorems, whatever"
        " its cause: these are about the entropy alone."
    )
    return examine(claim, trial, note)
