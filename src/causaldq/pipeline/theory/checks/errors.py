"""Corollary 1 and Remark 3: how far Q_t is from Q*, exactly iterated and learned."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np

from causaldq.pipeline.theory.check import (
    Example,
    Setup,
    Trial,
    example,
    number,
    on_problems,
    row,
    rows,
)
from causaldq.pipeline.theory.learning import draw, errors, learn
from causaldq.pipeline.theory.mdp import (
    Kind,
    Mdp,
    ceiling,
    iterate,
    largest,
    log_sum_exp,
    mask_sum,
    one_state,
    random_mdp,
    small_mdps,
    solve,
    value,
)
from causaldq.types import Floats


@dataclass(frozen=True, eq=False)
class Start:
    """A problem and the state values V_0 (S,) from which it is iterated."""

    mdp: Mdp
    values: Floats


def starts(setup: Setup, problems: list[Mdp], centre: Callable[[Mdp], Floats]) -> list[Start]:
    """V_0 at, near and far from some values."""
    rng = setup.rng
    return [
        Start(mdp, centre(mdp) + rng.choice([0.0, 0.1, 1.0, 5.0]) * rng.normal(size=mdp.states))
        for mdp in problems
    ]


def at_zero(mdp: Mdp) -> Floats:
    """V_0 = 0, (S,)."""
    return np.zeros(mdp.states)


def optimal_values(kind: Kind) -> Callable[[Mdp], Floats]:
    """V* (S,) of a value map."""
    return lambda mdp: value(solve(mdp, kind), mdp.mask, mdp.tau, kind)


def printed_values(mdp: Mdp) -> Floats:
    """V_c* (S,) by the paper's formula, which equals the soft value of the causal optimum."""
    return log_sum_exp(solve(mdp, "causal"), mdp.tau)


def mask_bias(mdp: Mdp) -> float:
    """gamma / (1 - gamma) log(sum C) / tau, with the largest sum of all states."""
    return mdp.discount / (1 - mdp.discount) * log(mask_sum(mdp)) / mdp.tau


def ceiling_bias(mdp: Mdp) -> float:
    """The same with the largest causal entropy there can be."""
    return mdp.discount / (1 - mdp.discount) * ceiling(mdp) / mdp.tau


@dataclass(frozen=True)
class Iteration:
    """Which iteration is compared with which optimum and which bound."""

    kind: Kind
    """Value map that is iterated."""
    target: Kind
    """Value map whose optimum is called Q*."""
    values: Callable[[Mdp], Floats]
    """V* in the bound."""
    bias: Callable[[Mdp], float]
    steps: int

    def sides(self, case: Start) -> tuple[Floats, Floats]:
        """Errors and bounds at t = 1 ... steps."""
        mdp = case.mdp
        found = iterate(mdp, case.values, self.steps, self.kind)
        apart: Floats = np.abs(found - solve(mdp, self.target)).max(axis=(1, 2))
        distance = largest(case.values - self.values(mdp))
        decay = np.power(mdp.discount, np.arange(1.0, self.steps + 1.0))
        return apart, decay * distance + self.bias(mdp)

    def slack(self, case: Start) -> float:
        apart, bounds = self.sides(case)
        return float((bounds - apart).min())

    def describe(self, case: Start) -> Example:
        apart, bounds = self.sides(case)
        t = int((bounds - apart < -1e-9).argmax())
        optimum = solve(case.mdp, self.target)
        return example(
            case.mdp,
            f", $V_0={row(case.values)}$, $Q^*={rows(optimum)}$: at $t={t + 1}$,"
            f" $\\|Q_t-Q^*\\|={number(apart[t])}$, bound {number(bounds[t])}.",
            start=case.values,
            optimum=optimum,
            distance=largest(case.values - self.values(case.mdp)),
            t=t + 1,
            error=apart[t],
            bound=bounds[t],
        )

    def looseness(self, cases: Sequence[Start]) -> float:
        """Median of bound over error at the last step, where the error is not 0."""
        last = [[side[-1] for side in self.sides(case)] for case in cases]
        return float(np.median([bound / error for error, bound in last if error > 1e-9]))

    def trial(self, setup: Setup) -> Trial[Start]:
        """From around V*; small problems and miniatures from around 0."""
        return Trial(
            slack=self.slack,
            drawn=starts(setup, setup.problems(), self.values),
            small=(Start(mdp, np.zeros(1)) for mdp in small_mdps()),
            sensors=starts(setup, setup.miniatures(), at_zero),
            describe=self.describe,
        )


def corollary1_printed(setup: Setup) -> Trial[Start]:
    """Corollary 1, section 5, as printed: |Q_t - Q*| <= gamma^t |V_0 - V_c*|
    + gamma / (1 - gamma) log(sum C) / tau, with Q* the optimum of the problem with causal entropy,
    Q_t its exact iteration, and V_c* by the printed formula with the Boltzmann policy of Q*.
    """
    compared = Iteration("causal", "causal", printed_values, mask_bias, setup.settings.iterations)
    return Trial(
        slack=compared.slack,
        drawn=starts(setup, setup.problems(), printed_values),
        small=(Start(mdp, printed_values(mdp)) for mdp in small_mdps()),
        describe=compared.describe,
    )


def corollary1_proof(setup: Setup) -> Trial[Start]:
    """Corollary 1, section 5, with the iteration of its proof, V_t the soft value, and Q* that
    iteration's own fixed point.
    """
    steps = setup.settings.iterations
    compared = Iteration("soft", "soft", optimal_values("soft"), mask_bias, steps)
    trial = compared.trial(setup)
    return replace(trial, looseness=compared.looseness(trial.drawn))


def corollary1_hard(setup: Setup) -> Trial[Start]:
    """Corollary 1, section 5, as the bound that its proof cites: the soft iteration against the
    optimum without entropy. Only in this reading is there a bias, as the remarks want it.
    """
    steps = setup.settings.iterations
    return Iteration("soft", "hard", optimal_values("hard"), mask_bias, steps).trial(setup)


@dataclass(frozen=True, eq=False)
class Learning:
    """A problem, a step size, how often each pair is drawn (S, A), and a seed for the draws."""

    mdp: Mdp
    alpha: float
    omega: Floats
    seed: int


def random_learning(setup: Setup, count: int) -> list[Learning]:
    """Problems for sampled Q-learning."""
    learning, rng = setup.settings.learning, setup.rng
    found = []
    for _ in range(count):
        mdp = random_mdp(rng, setup.settings, learning.max_states, learning.max_actions)
        low, high = np.log(learning.step_size_low), np.log(learning.step_size_high)
        alpha = float(np.exp(rng.uniform(low, high)))
        omega = rng.dirichlet(np.full(mdp.size, 5.0)).reshape(mdp.reward.shape)
        found.append(Learning(mdp, alpha, omega, int(rng.integers(2**31))))
    return found


def corollary1_learned(setup: Setup) -> Trial[Learning]:
    """Corollary 1, section 5, in its own words: Q_t is the learned function after t steps. Here Q
    is learned from samples, one update a step, from Q_0 = 0.
    """
    steps, runs = setup.settings.learning.steps, setup.settings.learning.replications
    keep = np.unique(np.geomspace(1, steps, 12).astype(np.int64))

    def sides(case: Learning) -> tuple[Floats, Floats]:
        """Mean errors less three standard errors, and bounds, at the steps kept."""
        mdp = case.mdp
        samples = draw(mdp, case.omega, steps, runs, np.random.default_rng(case.seed))
        found = learn(mdp, "soft", samples, case.alpha, np.zeros(mdp.reward.shape), keep)
        apart = errors(found, solve(mdp, "soft"))
        sure = apart.mean(axis=1) - 3 * apart.std(axis=1, ddof=1) / np.sqrt(apart.shape[1])
        start = value(np.zeros(mdp.reward.shape), mdp.mask, mdp.tau, "soft")
        distance = largest(start - optimal_values("soft")(mdp))
        decay = np.power(mdp.discount, keep.astype(np.float64))
        return sure, decay * distance + mask_bias(mdp)

    def slack(case: Learning) -> float:
        sure, bounds = sides(case)
        return float((bounds - sure).min())

    def describe(case: Learning) -> Example:
        sure, bounds = sides(case)
        text = (
            f", step size {number(case.alpha)}, $Q_0=0$: after one step"
            f" $\\|Q_1-Q^*\\|={number(sure[0])}$, bound {number(bounds[0])}."
        )
        return example(case.mdp, text, alpha=case.alpha, error=sure[0], bound=bounds[0])

    return Trial(
        slack=slack,
        drawn=random_learning(setup, setup.settings.learning.instances),
        small=[Learning(one_state((1.0,), (1,)), 0.1, np.ones((1, 1)), 0)],
        describe=describe,
    )


def corollary1_corrected(setup: Setup) -> Trial[Start]:
    """Corollary 1, corrected, for the iteration that maximises over policies with causal entropy:
    against its own optimum |Q_t - Q*| <= gamma^t |V_0 - V*|; against the optimum Q0 without
    entropy |Q_t - Q0| <= gamma^t |V_0 - V0| + gamma / (1 - gamma) h / tau. Proof: the value map
    is a non-expansion, and exceeds the maximum by at most h / tau at each step.
    """
    steps = setup.settings.iterations
    own = Iteration("causal", "causal", optimal_values("causal"), lambda _: 0.0, steps)
    plain = Iteration("causal", "hard", optimal_values("hard"), ceiling_bias, steps)
    trial = plain.trial(setup)
    return replace(
        trial,
        slack=lambda case: min(own.slack(case), plain.slack(case)),
        looseness=plain.looseness(trial.drawn),
    )


def remark3_printed(setup: Setup) -> Trial[Mdp]:
    """Remark 3, section 5, as printed, about the two expressions: the bound of Corollary 1 with
    the mask is smaller than that with |A|, at every t and from the same V_0.
    """
    return on_problems(
        setup,
        lambda mdp: log(mdp.actions) / mdp.tau * mdp.discount / (1 - mdp.discount) - mask_bias(mdp),
        only=lambda mdp: mask_sum(mdp) < mdp.actions,
    )


def remark3_errors(setup: Setup) -> Trial[Start]:
    """Remark 3, section 5, about the errors themselves: iterated exactly from the same V_0, the
    causal value iteration is at every step at least as close to the optimum without entropy as
    the soft one. (Closer to what each aims at would compare two different targets.)
    """
    steps = setup.settings.iterations

    def error(case: Start, kind: Kind) -> Floats:
        """At t = 1 ... steps."""
        found = iterate(case.mdp, case.values, steps, kind) - solve(case.mdp, "hard")
        return np.asarray(np.abs(found).max(axis=(1, 2)), np.float64)

    def describe(case: Start) -> Example:
        causal, soft = error(case, "causal"), error(case, "soft")
        t = int((soft - causal).argmin())
        text = (
            f", $V_0={row(case.values)}$: at $t={t + 1}$ the error is {number(causal[t])}"
            f" with the mask and {number(soft[t])} without."
        )
        return example(case.mdp, text, start=case.values, t=t + 1, causal=causal[t], soft=soft[t])

    drawn = starts(setup, setup.problems(), at_zero)
    final = [error(case, "causal")[-1] <= error(case, "soft")[-1] + 1e-9 for case in drawn]
    return Trial(
        slack=lambda case: float((error(case, "soft") - error(case, "causal")).min()),
        drawn=drawn,
        small=(Start(mdp, np.zeros(1)) for mdp in small_mdps()),
        sensors=[Start(mdp, at_zero(mdp)) for mdp in setup.miniatures()],
        describe=describe,
        measured={"final": 100 * np.mean(final)},
    )
