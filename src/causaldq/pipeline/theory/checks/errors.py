"""Corollaries 1 and 2 and Remarks 3 to 6: how far Q_t is from Q*, exactly iterated."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log

import numpy as np

from causaldq.pipeline.theory.check import (
    Check,
    Claim,
    Example,
    Trial,
    examine,
    number,
    row,
    rows,
    tell,
)
from causaldq.pipeline.theory.learning import draw, errors, learn
from causaldq.pipeline.theory.mdp import (
    Kind,
    Mdp,
    backup,
    causal_policy,
    ceiling,
    iterate,
    largest,
    log_sum_exp,
    mask_sum,
    one_state,
    printed_causal_value,
    random_mdp,
    random_mdps,
    small_mdps,
    softmax,
    solve,
    value,
)
from causaldq.pipeline.theory.sensors import sensor_mdps
from causaldq.pipeline.theory.settings import TheorySettings
from causaldq.types import Bools, Floats

COROLLARY1 = "Corollary 1"
COROLLARY2 = "Corollary 2"


@dataclass(frozen=True, eq=False)
class Start:
    """A problem and the state values V_0 (S,) from which it is iterated."""

    mdp: Mdp
    values: Floats


def starts(
    rng: np.random.Generator, problems: list[Mdp], centre: Callable[[Mdp], Floats]
) -> list[Start]:
    """V_0 at, near and far from some values."""
    return [
        Start(mdp, centre(mdp) + rng.choice([0.0, 0.1, 1.0, 5.0]) * rng.normal(size=mdp.states))
        for mdp in problems
    ]


def optimal_values(mdp: Mdp, kind: Kind) -> Floats:
    """V* (S,) of a value map."""
    return value(solve(mdp, kind), mdp.mask, mdp.tau, kind)


def printed_values(mdp: Mdp) -> Floats:
    """V_c* (S,) by the paper's formula, which equals the soft value of the causal optimum."""
    return log_sum_exp(solve(mdp, "causal"), mdp.tau)


def mask_bias(mdp: Mdp) -> float:
    """gamma / (1 - gamma) log(sum C) / tau, with the largest sum of all states."""
    return mdp.discount / (1 - mdp.discount) * log(mask_sum(mdp)) / mdp.tau


def ceiling_bias(mdp: Mdp) -> float:
    """The same with the largest causal entropy there can be."""
    return mdp.discount / (1 - mdp.discount) * ceiling(mdp) / mdp.tau


def size(case: Start) -> float:
    return case.mdp.size


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
        text, witness = tell(case.mdp)
        optimum = solve(case.mdp, self.target)
        witness |= {
            "start": case.values.tolist(),
            "optimum": optimum.tolist(),
            "distance": largest(case.values - self.values(case.mdp)),
            "t": t + 1,
            "error": float(apart[t]),
            "bound": float(bounds[t]),
        }
        text += f", $V_0={row(case.values)}$, $Q^*={rows(optimum)}$"
        return (
            f"{text}: at $t={t + 1}$, $\\|Q_t-Q^*\\|={number(apart[t])}$, bound"
            f" {number(bounds[t])}.",
            witness,
        )

    def looseness(self, cases: list[Start]) -> float:
        """Median of bound over error at the last step, where the error is not 0."""
        last = [[side[-1] for side in self.sides(case)] for case in cases]
        return float(np.median([bound / error for error, bound in last if error > 1e-9]))


def check_corollary1_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Corollary 1, section 5, as printed: |Q_t - Q*| <= gamma^t |V_0 - V_c*|
    + gamma / (1 - gamma) log(sum C) / tau, with Q* the optimum of the problem with causal entropy,
    Q_t its exact iteration, and V_c* by the printed formula with the Boltzmann policy of Q*.
    """
    claim = Claim(
        "corollary1_printed",
        COROLLARY1,
        r"$\|Q_t-Q^*\|\le\gamma^t\|V_0-V_c^*\|+\frac{\gamma}{1-\gamma}\frac{\log\sum C}{\tau}$,"
        r" $V_c^*$ by its formula",
        "as printed",
    )
    compared = Iteration("causal", "causal", printed_values, mask_bias, settings.iterations)
    trial = Trial(
        slack=compared.slack,
        describe=compared.describe,
        size=size,
        drawn=starts(rng, random_mdps(rng, settings), printed_values),
        small=(Start(mdp, printed_values(mdp)) for mdp in small_mdps()),
    )
    note = (
        "The printed $V_c^*$ is not the value of the optimum with causal entropy, so starting at it"
        " is not starting at the solution. Not tried on the miniature, where $V_c^*$ is 0/0 before"
        " the change."
    )
    return examine(claim, trial, note)


def check_corollary1_proof(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Corollary 1, section 5, with the iteration of its proof, V_t the soft value, and Q* that
    iteration's own fixed point.
    """
    claim = Claim(
        "corollary1_proof",
        COROLLARY1,
        r"the same for the proof's soft iteration and its own fixed point",
        "as in the proof",
    )
    compared = Iteration(
        "soft", "soft", lambda mdp: optimal_values(mdp, "soft"), mask_bias, settings.iterations
    )
    drawn = starts(rng, random_mdps(rng, settings), lambda mdp: optimal_values(mdp, "soft"))
    sensors = starts(rng, sensor_mdps(settings.sensors), lambda mdp: np.zeros(mdp.states))
    trial = Trial(
        slack=compared.slack,
        describe=compared.describe,
        size=size,
        drawn=drawn,
        small=(Start(mdp, np.zeros(1)) for mdp in small_mdps()),
        sensors=sensors,
    )
    note = (
        "Holds because the first term alone is already a bound; the second is superfluous, and any"
        r" number that is not negative could stand there. The error goes to 0 like $\gamma^t$ while"
        " the bound stays at its second term: vacuous as $t$ grows."
    )
    return examine(claim, trial, note, looseness=compared.looseness(drawn), vacuous=True)


def check_corollary1_hard(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Corollary 1, section 5, as the bound that its proof cites: the soft iteration against the
    optimum without entropy. Only in this reading is there a bias, as the remarks want it.
    """
    claim = Claim(
        "corollary1_hard",
        COROLLARY1,
        r"the same for the soft iteration against $Q_0$, as in the bound that is cited",
        "as in the proof",
    )
    compared = Iteration(
        "soft", "hard", lambda mdp: optimal_values(mdp, "hard"), mask_bias, settings.iterations
    )
    trial = Trial(
        slack=compared.slack,
        describe=compared.describe,
        size=size,
        drawn=starts(rng, random_mdps(rng, settings), lambda mdp: optimal_values(mdp, "hard")),
        small=(Start(mdp, np.zeros(1)) for mdp in small_mdps()),
        sensors=starts(rng, sensor_mdps(settings.sensors), lambda mdp: np.zeros(mdp.states)),
    )
    note = (
        r"With $\log|A|$ in place of $\log\sum C$ it is the known bound and holds; the mask cannot"
        " be put in, because the iteration does not depend on it. $Q^*$ here is the optimum without"
        " entropy, and $V^*$ its value."
    )
    return examine(claim, trial, note)


@dataclass(frozen=True, eq=False)
class Learning:
    """A problem, a step size, how often each pair is drawn (S, A), and a seed for the draws."""

    mdp: Mdp
    alpha: float
    omega: Floats
    seed: int


def random_learning(
    rng: np.random.Generator, settings: TheorySettings, count: int
) -> list[Learning]:
    """Problems for sampled Q-learning."""
    learning = settings.learning
    found = []
    for _ in range(count):
        mdp = random_mdp(rng, settings, learning.max_states, learning.max_actions)
        low, high = np.log(learning.step_size_low), np.log(learning.step_size_high)
        alpha = float(np.exp(rng.uniform(low, high)))
        omega = rng.dirichlet(np.full(mdp.size, 5.0)).reshape(mdp.reward.shape)
        found.append(Learning(mdp, alpha, omega, int(rng.integers(2**31))))
    return found


def check_corollary1_learned(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Corollary 1, section 5, in its own words: Q_t is the learned function after t steps. Here Q
    is learned from samples, one update a step, from Q_0 = 0.
    """
    claim = Claim(
        "corollary1_learned",
        COROLLARY1,
        r"the same for $Q_t$ learned from samples",
        "as used",
    )
    learning = settings.learning
    keep = np.unique(np.geomspace(1, learning.steps, 12).astype(np.int64))

    def sides(case: Learning) -> tuple[Floats, Floats]:
        """Mean errors less three standard errors, and bounds, at the steps kept."""
        mdp = case.mdp
        samples = draw(
            mdp,
            case.omega,
            learning.steps,
            learning.replications,
            np.random.default_rng(case.seed),
        )
        found = learn(mdp, "soft", samples, case.alpha, np.zeros(mdp.reward.shape), keep)
        apart = errors(found, solve(mdp, "soft"))
        sure = apart.mean(axis=1) - 3 * apart.std(axis=1, ddof=1) / np.sqrt(apart.shape[1])
        start = value(np.zeros(mdp.reward.shape), mdp.mask, mdp.tau, "soft")
        distance = largest(start - optimal_values(mdp, "soft"))
        decay = np.power(mdp.discount, keep.astype(np.float64))
        return sure, decay * distance + mask_bias(mdp)

    def slack(case: Learning) -> float:
        sure, bounds = sides(case)
        return float((bounds - sure).min())

    def describe(case: Learning) -> Example:
        sure, bounds = sides(case)
        text, witness = tell(case.mdp)
        witness |= {"alpha": case.alpha, "error": float(sure[0]), "bound": float(bounds[0])}
        return (
            f"{text}, step size {number(case.alpha)}, $Q_0=0$: after one step"
            f" $\\|Q_1-Q^*\\|={number(sure[0])}$, bound {number(bounds[0])}.",
            witness,
        )

    trial = Trial(
        slack=slack,
        describe=describe,
        size=lambda case: case.mdp.size,
        drawn=random_learning(rng, settings, learning.instances),
        small=[Learning(one_state((1.0,), (1,)), 0.1, np.ones((1, 1)), 0)],
    )
    note = (
        r"One sampled update of one entry cannot shrink the error by $\gamma$. The factor that"
        " Q-learning can hope for is that of Theorem 2, much closer to 1."
    )
    return examine(claim, trial, note)


def check_corollary1_corrected(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Corollary 1, corrected, for the iteration that maximises over policies with causal entropy:
    against its own optimum |Q_t - Q*| <= gamma^t |V_0 - V*|; against the optimum Q0 without
    entropy |Q_t - Q0| <= gamma^t |V_0 - V0| + gamma / (1 - gamma) h / tau. Proof: the value map
    is a non-expansion, and exceeds the maximum by at most h / tau at each step.
    """
    claim = Claim(
        "corollary1_corrected",
        COROLLARY1,
        r"$\|Q_t-Q^*\|\le\gamma^t\|V_0-V^*\|$ and"
        r" $\|Q_t-Q_0\|\le\gamma^t\|V_0-V_{Q_0}\|+\frac{\gamma}{1-\gamma}\frac h\tau$",
        "corrected",
    )
    steps = settings.iterations
    own = Iteration(
        "causal", "causal", lambda mdp: optimal_values(mdp, "causal"), lambda _: 0.0, steps
    )
    plain = Iteration(
        "causal", "hard", lambda mdp: optimal_values(mdp, "hard"), ceiling_bias, steps
    )
    drawn = starts(rng, random_mdps(rng, settings), lambda mdp: optimal_values(mdp, "hard"))
    trial = Trial(
        slack=lambda case: min(own.slack(case), plain.slack(case)),
        describe=plain.describe,
        size=size,
        drawn=drawn,
        small=(Start(mdp, np.zeros(1)) for mdp in small_mdps()),
        sensors=starts(rng, sensor_mdps(settings.sensors), lambda mdp: np.zeros(mdp.states)),
    )
    note = "The value map is a non-expansion; the rest is Theorem 1, corrected."
    return examine(claim, trial, note, looseness=plain.looseness(drawn))


def check_remark3_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 3, section 5, as printed, about the two expressions: the bound of Corollary 1 with
    the mask is smaller than that with |A|, at every t and from the same V_0.
    """
    claim = Claim(
        "remark3_printed",
        "Remark 3",
        r"the bound of Corollary 1 is smaller with $\sum C$ than with $|A|$",
        "as printed",
        strict=True,
    )
    trial = Trial(
        slack=lambda mdp: (
            log(mdp.actions) / mdp.tau * mdp.discount / (1 - mdp.discount) - mask_bias(mdp)
        ),
        describe=tell,
        size=lambda mdp: mdp.size,
        drawn=[m for m in random_mdps(rng, settings) if mask_sum(m) < m.actions],
        small=[m for m in small_mdps() if mask_sum(m) < m.actions],
        sensors=[m for m in sensor_mdps(settings.sensors) if mask_sum(m) < m.actions],
    )
    note = (
        "True of the numbers, the first terms being equal because $V_c^*=V^*$. It is no statement"
        " about errors, and only the larger number bounds them (Corollary 1, soft iteration)."
    )
    return examine(claim, trial, note)


def check_remark3_errors(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 3, section 5, about the errors themselves: iterated exactly from the same V_0, the
    causal value iteration is at every step at least as close to the optimum without entropy as
    the soft one. (Closer to what each aims at would compare two different targets.)
    """
    claim = Claim(
        "remark3_errors",
        "Remark 3",
        r"the error $\|Q_t-Q_0\|$ itself: causal entropy $\le$ entropy of all actions",
        "as used",
    )
    steps = settings.iterations

    def sides(case: Start) -> tuple[Floats, Floats]:
        target = solve(case.mdp, "hard")
        kinds: tuple[Kind, Kind] = ("causal", "soft")
        causal, soft = (
            np.abs(iterate(case.mdp, case.values, steps, kind) - target).max(axis=(1, 2))
            for kind in kinds
        )
        return causal, soft

    def slack(case: Start) -> float:
        causal, soft = sides(case)
        return float((soft - causal).min())

    def describe(case: Start) -> Example:
        causal, soft = sides(case)
        t = int((soft - causal).argmin())
        text, witness = tell(case.mdp)
        witness |= {"start": case.values.tolist(), "t": t + 1}
        witness |= {"causal": float(causal[t]), "soft": float(soft[t])}
        return (
            f"{text}, $V_0={row(case.values)}$: at $t={t + 1}$ the error is {number(causal[t])}"
            f" with the mask and {number(soft[t])} without.",
            witness,
        )

    drawn = starts(rng, random_mdps(rng, settings), lambda mdp: np.zeros(mdp.states))
    trial = Trial(
        slack=slack,
        describe=describe,
        size=size,
        drawn=drawn,
        small=(Start(mdp, np.zeros(1)) for mdp in small_mdps()),
        sensors=[Start(mdp, np.zeros(mdp.states)) for mdp in sensor_mdps(settings.sensors)],
    )
    last = [[side[-1] for side in sides(case)] for case in drawn]
    final = np.mean([causal <= soft + 1e-9 for causal, soft in last])
    note = (
        "On the way up from a low start, more entropy means larger values, and these can be closer"
        f" to the optimum. At the last step {100 * final:.0f} per cent of the random problems"
        " satisfy it; in the limit all do (Remark 6)."
    )
    return examine(claim, trial, note, in_part=True)


@dataclass(frozen=True)
class Limit:
    """The limit of an iteration against the optimum without entropy, and a bound on it."""

    kind: Kind
    bound: Callable[[Mdp], float]
    name: str

    def sides(self, mdp: Mdp) -> tuple[float, float]:
        return largest(solve(mdp, self.kind) - solve(mdp, "hard")), self.bound(mdp)

    def slack(self, mdp: Mdp) -> float:
        error, bound = self.sides(mdp)
        return bound - error

    def describe(self, mdp: Mdp) -> Example:
        error, bound = self.sides(mdp)
        text, witness = tell(mdp)
        found, hard = solve(mdp, self.kind), solve(mdp, "hard")
        witness |= {"limit": found.tolist(), "hard": hard.tolist()}
        witness |= {"error": error, "bound": bound}
        return (
            f"{text}: $Q_\\infty={rows(found)}$, $Q_0={rows(hard)}$, error {number(error)},"
            f" {self.name} {number(bound)}.",
            witness,
        )


def _limit_trial(rng: np.random.Generator, settings: TheorySettings, limit: Limit) -> Trial[Mdp]:
    return Trial(
        slack=limit.slack,
        describe=limit.describe,
        size=lambda mdp: mdp.size,
        drawn=random_mdps(rng, settings),
        small=small_mdps(),
        sensors=sensor_mdps(settings.sensors),
    )


def check_corollary2_own(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Corollary 2, section 5, as printed, with Q* the optimum of the problem with causal entropy:
    the limit of |Q_t - Q*| is at most the smaller of gamma log(sum C) / (tau (1 - gamma)) and
    2 g / (1 - gamma)^3, g = max|r|. Q_t is iterated until it no longer moves.
    """
    claim = Claim(
        "corollary2_own",
        COROLLARY2,
        r"$\lim\|Q_t-Q^*\|\le\min\{\frac{\gamma\log\sum C}{\tau(1-\gamma)},"
        r"\frac{2g}{(1-\gamma)^3}\}$, $Q^*$ optimal with $\mathcal{H}_c/\tau$",
        "as printed",
    )

    def slack(mdp: Mdp) -> float:
        values = optimal_values(mdp, "causal")
        error = largest(backup(mdp, values) - solve(mdp, "causal"))
        return min(mask_bias(mdp), 2 * largest(mdp.reward) / (1 - mdp.discount) ** 3) - error

    trial = Trial(
        slack=slack,
        describe=tell,
        size=lambda mdp: mdp.size,
        drawn=random_mdps(rng, settings),
        small=small_mdps(),
        sensors=sensor_mdps(settings.sensors),
    )
    note = (
        "Vacuous: the iteration converges to this $Q^*$, so the limit is 0 and any bound would do."
    )
    return examine(claim, trial, note, vacuous=True)


def check_corollary2_hard(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Corollary 2, section 5, as its remarks read it: the bias of the iteration with causal
    entropy against the optimum without entropy, with the exponent 3 of the statement.
    """
    claim = Claim(
        "corollary2_hard",
        COROLLARY2,
        r"the same against $Q_0$, the optimum without entropy",
        "as used",
    )
    limit = Limit(
        "causal",
        lambda mdp: min(mask_bias(mdp), 2 * largest(mdp.reward) / (1 - mdp.discount) ** 3),
        "bound",
    )
    note = (
        r"Fails with one or two masked actions, where $h(n)$ exceeds $\log n$; and where all"
        " rewards are 0, so that the second bound is 0 while the entropy is not."
    )
    return examine(claim, _limit_trial(rng, settings, limit), note)


def check_corollary2_proof(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Corollary 2, its proof: the soft iteration, against the optimum without entropy, with
    2 g / (1 - gamma)^2 as second bound.
    """
    claim = Claim(
        "corollary2_proof",
        COROLLARY2,
        r"the same for the soft iteration, with the proof's $\frac{2g}{(1-\gamma)^2}$",
        "as in the proof",
    )
    limit = Limit(
        "soft",
        lambda mdp: min(mask_bias(mdp), 2 * largest(mdp.reward) / (1 - mdp.discount) ** 2),
        "bound",
    )
    note = "Statement and proof differ in the exponent. Neither is the reason why this fails."
    return examine(claim, _limit_trial(rng, settings, limit), note)


def check_corollary2_reward(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Corollary 2, its proof, second bound alone: the bias of the soft iteration is at most
    2 g / (1 - gamma)^2, because V lies between the smallest and the largest Q.
    """
    claim = Claim(
        "corollary2_reward",
        COROLLARY2,
        r"the second bound alone: bias at most $\frac{2g}{(1-\gamma)^2}$",
        "as in the proof",
    )
    limit = Limit("soft", lambda mdp: 2 * largest(mdp.reward) / (1 - mdp.discount) ** 2, "bound")
    note = (
        "A value with entropy added does not lie between the smallest and the largest $Q$, so no"
        " multiple of $g$ can bound the bias: take rewards 0."
    )
    return examine(claim, _limit_trial(rng, settings, limit), note)


def check_corollary2_size(
    rng: np.random.Generator,  # noqa: ARG001
    settings: TheorySettings,
) -> Check:
    """Corollary 2, its proof: every reward is at most g in size, g being the causal reward of a
    detection. Tried on rewards of section 4.3: at most min(m, k) hits of 1 each, U = -20 for none.
    """
    claim = Claim(
        "corollary2_size",
        COROLLARY2,
        r"$|r_t|\le g$ with $g$ the causal reward of section 4.3",
        "as in the proof",
    )
    hit, miss = settings.sensors.hit, settings.sensors.miss

    def describe(hits: int) -> Example:
        text = (
            f"reward {number(hit)} a hit, at most {hits} hit{'s' if hits > 1 else ''},"
            f" $U={number(miss)}$: $g\\le{number(hit * hits)}$ but $|U|={number(-miss)}$."
        )
        return text, {"hits": hits, "reward": hit * hits, "miss": miss}

    trial = Trial(
        slack=lambda hits: hit * hits - abs(miss),
        describe=describe,
        size=float,
        drawn=list(range(1, 13)),
        small=range(1, 13),
    )
    note = "The paper's example of $U$ is larger than any reward that its simulations can pay."
    return examine(claim, trial, note)


def check_corollary2_corrected(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Corollary 2, corrected: the bias of the iteration with causal entropy against the optimum
    without is between 0 and gamma / (1 - gamma) h / tau. There is no second bound.
    """
    claim = Claim(
        "corollary2_corrected",
        COROLLARY2,
        r"$\lim\|Q_t-Q_0\|\le\frac{\gamma}{1-\gamma}\frac{\max_sh(n_s)}{\tau}$",
        "corrected",
    )
    return examine(
        claim, _limit_trial(rng, settings, Limit("causal", ceiling_bias, "bound")), "See Theorem 1."
    )


def check_corollary2_average(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Corollary 2, second bound, corrected: for a value between the smallest and the largest Q,
    as the averaged soft value of the proof's definition, the bias is at most
    2 gamma g / (1 - gamma). Proof: all values then stay within g / (1 - gamma).
    """
    claim = Claim(
        "corollary2_average",
        COROLLARY2,
        r"without added entropy the bias is at most $\frac{2\gamma g}{1-\gamma}$",
        "corrected",
    )
    limit = Limit(
        "averaged",
        lambda mdp: 2 * mdp.discount * largest(mdp.reward) / (1 - mdp.discount),
        "bound",
    )
    note = (
        "So where the printed second bound applies at all, it is too large by a factor of at least"
        r" $1/(1-\gamma)^2$, 100 at $\gamma=0.9$: larger than the range of all values."
    )
    return examine(claim, _limit_trial(rng, settings, limit), note)


def check_remark4_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 4, section 5, as printed: the error against Q*, the optimum of the problem with causal
    entropy, does not go to 0. Measured after the steps that bring gamma^t below 1e-12.
    """
    claim = Claim(
        "remark4_printed",
        "Remark 4",
        r"$\lim\|Q_t-Q^*\|>0$, $Q^*$ optimal with $\mathcal{H}_c/\tau$",
        "as printed",
        strict=True,
    )

    def limit(mdp: Mdp) -> float:
        steps = int(np.ceil(28 / -np.log(mdp.discount)))
        found = iterate(mdp, np.zeros(mdp.states), steps, "causal")[-1]
        return largest(found - solve(mdp, "causal"))

    def describe(mdp: Mdp) -> Example:
        text, witness = tell(mdp)
        optimum = solve(mdp, "causal")
        witness |= {"optimum": optimum.tolist()}
        return f"{text}: $Q_t\\to Q^*={rows(optimum)}$, error 0.", witness

    trial = Trial(
        slack=limit,
        describe=describe,
        size=lambda mdp: mdp.size,
        drawn=random_mdps(rng, settings),
        small=(mdp for mdp in small_mdps() if mdp.actions > 1),
    )
    return examine(claim, trial, "It is the bound that does not go to 0; the error does.")


def check_remark4_hard(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 4, section 5, as it must be meant: causal entropy keeps the iteration away from the
    optimum without entropy.
    """
    claim = Claim(
        "remark4_hard",
        "Remark 4",
        r"$\lim\|Q_t-Q_0\|>0$: causal entropy leaves a bias",
        "as used",
        strict=True,
    )

    def describe(mdp: Mdp) -> Example:
        text, witness = tell(mdp)
        optimum = solve(mdp, "causal")
        witness |= {"optimum": optimum.tolist(), "hard": solve(mdp, "hard").tolist()}
        return f"{text}: $Q_\\infty=Q_0={rows(optimum)}$.", witness

    trial = Trial(
        slack=lambda mdp: largest(solve(mdp, "causal") - solve(mdp, "hard")),
        describe=describe,
        size=lambda mdp: mdp.size,
        drawn=random_mdps(rng, settings),
        small=(mdp for mdp in small_mdps() if mdp.actions > 1),
        sensors=sensor_mdps(settings.sensors),
    )
    note = (
        r"Usually so. But if the only masked action beats the others by $1/\tau$, taking it for"
        " certain is worth more than any entropy, and there is no bias at all."
    )
    return examine(claim, trial, note, in_part=True)


@dataclass(frozen=True, eq=False)
class TwoMasks:
    """A problem, and a second mask (S, A) that holds the first."""

    mdp: Mdp
    wider: Bools


def _two_masks(rng: np.random.Generator, problems: list[Mdp]) -> list[TwoMasks]:
    return [
        TwoMasks(mdp, mdp.mask | (rng.random(mdp.mask.shape) < rng.random())) for mdp in problems
    ]


def _small_two_masks() -> Iterator[TwoMasks]:
    for mdp in small_mdps():
        if not mdp.mask.all():
            yield TwoMasks(mdp, np.ones_like(mdp.mask))


def printed_limit(mdp: Mdp) -> Floats:
    """Limit (S, A) of iterating with V_c as the proof prints it, mask and all."""
    q = mdp.reward
    for _ in range(int(np.ceil(28 / -np.log(mdp.discount)))):
        q = backup(mdp, printed_causal_value(q, mdp.mask, mdp.tau))
    return q


def check_remark5_proof(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 5, section 5, with the value V_c of the proofs: the bias depends on the mask. Two
    masks, one within the other, are iterated to the end with the printed formula.
    """
    claim = Claim(
        "remark5_proof",
        "Remark 5",
        r"the limit with the proof's $V_c$ depends on the mask",
        "as in the proof",
        strict=True,
    )

    def describe(case: TwoMasks) -> Example:
        text, witness = tell(case.mdp)
        found = printed_limit(case.mdp)
        witness |= {"wider": case.wider.astype(int).tolist(), "limit": found.tolist()}
        return (
            f"{text}: with this mask and with $C={rows(case.wider)}$ alike"
            f" $Q_\\infty={rows(found)}$.",
            witness,
        )

    def slack(case: TwoMasks) -> float:
        return largest(printed_limit(case.mdp) - printed_limit(case.mdp.masked(case.wider)))

    trial = Trial(
        slack=slack,
        describe=describe,
        size=lambda case: case.mdp.size,
        drawn=_two_masks(rng, random_mdps(rng, settings)),
        small=_small_two_masks(),
    )
    note = "Iterated with the formula as printed. The mask cancels (Theorem 1, proof)."
    return examine(claim, trial, note)


def check_remark5_corrected(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 5, corrected: with the maximised value a larger mask never lowers any Q, so the bias
    grows with the mask. Proof: H_c only gains terms, none negative.
    """
    claim = Claim(
        "remark5_corrected",
        "Remark 5",
        r"with the maximised value the bias does not fall when the mask grows",
        "corrected",
    )

    def slack(case: TwoMasks) -> float:
        wider = solve(case.mdp.masked(case.wider), "causal")
        return float((wider - solve(case.mdp, "causal")).min())

    trial = Trial(
        slack=slack,
        describe=lambda case: tell(case.mdp),
        size=lambda case: case.mdp.size,
        drawn=_two_masks(rng, random_mdps(rng, settings)),
        small=_small_two_masks(),
    )
    note = "A larger mask allows every policy what the smaller one did, and more."
    return examine(claim, trial, note)


def check_remark6_soft(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 6, section 5, about the errors themselves, against an agent with the entropy of all
    actions: the mask does not increase the final distance to the optimum without entropy.
    """
    claim = Claim(
        "remark6_soft",
        "Remark 6",
        r"final error $\|Q_\infty-Q_0\|$: causal entropy $\le$ entropy of all actions",
        "as used",
    )
    limit = Limit("causal", lambda mdp: largest(solve(mdp, "soft") - solve(mdp, "hard")), "soft")
    note = (
        "Holds for the maximised value. With the value of the proofs the two are equal, so nothing"
        " is reduced."
    )
    return examine(claim, _limit_trial(rng, settings, limit), note)


def check_remark6_plain(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 6, section 5, against the non-causal agent of the paper's experiments, which has no
    entropy: the causal one ends at least as close to the optimum.
    """
    claim = Claim(
        "remark6_plain",
        "Remark 6",
        r"final error: causal entropy $\le$ no entropy (the agent of section 6)",
        "as used",
    )
    limit = Limit("causal", lambda _: 0.0, "without entropy")
    note = (
        "The non-causal agent of section 6 is the network with the causal parts removed, so its"
        " target has no entropy and no bias. The paper's comparison is with an agent it never"
        " runs."
    )
    return examine(claim, _limit_trial(rng, settings, limit), note)


def rate(mdp: Mdp, kind: Kind) -> float:
    """Asymptotic factor of the error a step: spectral radius of the operator's derivative.

    The derivative of the value map is its policy, so this is gamma times a stochastic matrix.
    """
    q = solve(mdp, kind)
    policy = causal_policy(q, mdp.mask, mdp.tau) if kind == "causal" else softmax(q, mdp.tau)
    moves = np.einsum("sa,sat->st", policy, mdp.transition)
    return float(mdp.discount * np.abs(np.linalg.eigvals(moves)).max())
