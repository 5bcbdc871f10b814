"""Theorem 1: bounds on Q*; Remarks 1 and 2: how large the mask is."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb, log

import numpy as np

from causaldq.pipeline.theory.check import Check, Claim, Example, Trial, examine, number, rows, tell
from causaldq.pipeline.theory.mdp import (
    Kind,
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
    random_mdps,
    small_mdps,
    softmax,
    solve,
)
from causaldq.pipeline.theory.sensors import sensor_mdps
from causaldq.pipeline.theory.settings import TheorySettings
from causaldq.types import Floats

PROOF = "Theorem 1, proof"
THEOREM = "Theorem 1"


def of_problem(mdp: Mdp) -> float:
    return mdp.size


@dataclass(frozen=True, eq=False)
class Guess:
    """A problem and any action values (S, A) on it."""

    mdp: Mdp
    q: Floats


def random_guesses(rng: np.random.Generator, settings: TheorySettings) -> list[Guess]:
    return [
        Guess(mdp, rng.normal(scale=rng.choice([0.1, 1.0, 3.0]), size=mdp.reward.shape))
        for mdp in random_mdps(rng, settings)
    ]


def small_guesses() -> Iterator[Guess]:
    for mdp in small_mdps():
        for top in (0.0, 1.0):
            q = np.zeros(mdp.reward.shape)
            q[0, 0] = top
            yield Guess(mdp, q)


def _describe_guess(case: Guess) -> Example:
    """The value V_c of the proof beside the largest Q."""
    text, witness = tell(case.mdp)
    found = printed_causal_value(case.q, case.mdp.mask, case.mdp.tau)
    top = case.q.max(axis=1)
    bound = top + np.log(case.mdp.mask.sum(axis=1)) / case.mdp.tau
    witness |= {"q": case.q.tolist(), "value": found.tolist(), "bound": bound.tolist()}
    text = (
        f"$Q={rows(case.q)}$, $C={rows(case.mdp.mask)}$, $\\tau={number(case.mdp.tau)}$:"
        f" $V_c={rows(found)}$, $\\max Q+\\log(\\sum C)/\\tau={rows(bound)}$."
    )
    return text, witness


def check_value_bound_proof(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, its proof: V_c = [H_c + tau sum C pi Q] / (tau w) lies between max Q and
    max Q + log(sum C) / tau.
    """
    claim = Claim(
        "value_bound_proof",
        PROOF,
        r"$\max Q\le V_c\le\max Q+\log(\sum C)/\tau$",
        "as in the proof",
    )

    def slack(case: Guess) -> float:
        mdp = case.mdp
        found = printed_causal_value(case.q, mdp.mask, mdp.tau)
        top = case.q.max(axis=1)
        above = top + np.log(mdp.mask.sum(axis=1)) / mdp.tau - found
        return float(min(above.min(), (found - top).min()))

    trial = Trial(
        slack=slack,
        describe=_describe_guess,
        size=lambda case: case.mdp.size,
        drawn=random_guesses(rng, settings),
        small=small_guesses(),
    )
    note = (
        "The lower half stands. The upper half fails because the mask cancels in this formula"
        " (next line), and where the mask is 0 in a state the value is 0/0."
    )
    return examine(claim, trial, note, in_part=True)


def check_value_identity_corrected(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, its proof, corrected: wherever it is defined, V_c equals the unmasked
    V = (1/tau) log sum exp(tau Q). Proof: put log pi = tau (Q - V) into H_c; both numerator terms
    are then multiples of w, which cancels. So max Q <= V_c <= max Q + log|A| / tau.
    """
    claim = Claim(
        "value_identity_corrected",
        PROOF,
        r"$V_c=\frac1\tau\log\sum_ae^{\tau Q(s,a)}\le\max Q+\log|A|/\tau$ for every mask",
        "corrected",
    )

    def slack(case: Guess) -> float:
        mdp = case.mdp
        found = printed_causal_value(case.q, mdp.mask, mdp.tau)
        apart = np.abs(found - log_sum_exp(case.q, mdp.tau)).max()
        below = (case.q.max(axis=1) + log(mdp.actions) / mdp.tau - found).min()
        return float(min(below, -apart))

    trial = Trial(
        slack=slack,
        describe=_describe_guess,
        size=lambda case: case.mdp.size,
        drawn=random_guesses(rng, settings),
        small=small_guesses(),
    )
    note = (
        "The value that the proofs call causal is the ordinary soft value: the mask drops out. What"
        " they bound by the mask is therefore a quantity that does not depend on the mask."
    )
    return examine(claim, trial, note)


def check_theorem1_defined(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, section 5, as printed: its upper bound is a number, that is, in every state some
    action has a causal effect on the reward.
    """
    claim = Claim(
        "theorem1_defined",
        THEOREM,
        r"$\log\sum C$ is defined in every state",
        "as printed",
    )
    no_change = one_state((0.0,), (0,))

    def describe(mdp: Mdp) -> Example:
        text, witness = tell(mdp)
        if mdp.states == 1:
            text = "before the change no stream is shifted, so $C=0$ for every action: "
            return text + r"$\log\sum C=\log 0=-\infty$, and no $Q^*$ lies below it.", witness
        return text + ".", witness

    trial = Trial(
        slack=lambda mdp: float(mdp.mask.sum(axis=1).min()) - 1.0,
        describe=describe,
        size=of_problem,
        drawn=random_mdps(rng, settings),
        small=[no_change],
        sensors=sensor_mdps(settings.sensors),
    )
    note = (
        "Every state before the change is such a state. Random problems have at least one masked"
        " action everywhere, so that the other lines do not fail for this reason alone; in the"
        " miniature the largest sum over states is taken where one number is needed."
    )
    return examine(claim, trial, note)


def _describe_bound(mdp: Mdp, kind: Kind, side: str, bound: Floats) -> Example:
    """Q* beside a bound (S, A)."""
    text, witness = tell(mdp)
    q = solve(mdp, kind)
    witness |= {"optimum": q.tolist(), "bound": bound.tolist()}
    return f"{text}: $Q^*={rows(q)}$, {side} bound ${rows(bound)}$.", witness


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


def check_theorem1_lower_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, section 5, as printed, lower half: Q* >= r + gamma E max Q(s'). Q* is read as the
    optimum over policies of reward plus H_c / tau, and the Q on the right as Q* itself.
    """
    claim = Claim(
        "theorem1_lower_printed",
        THEOREM,
        r"$Q^*\ge r+\gamma E\max Q^*(s',\cdot)$, $Q^*$ optimal with bonus $\mathcal{H}_c/\tau$",
        "as printed",
    )
    trial = Trial(
        slack=lambda mdp: float(
            (solve(mdp, "causal") - lower_bound(mdp, solve(mdp, "causal"))).min()
        ),
        describe=lambda mdp: _describe_bound(
            mdp, "causal", "lower", lower_bound(mdp, solve(mdp, "causal"))
        ),
        size=of_problem,
        drawn=random_mdps(rng, settings),
        small=small_mdps(),
        sensors=sensor_mdps(settings.sensors),
    )
    note = "The greedy policy is among those maximised over and has no negative entropy."
    return examine(claim, trial, note)


def check_theorem1_lower_proof(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, lower half, with V as its proof first defines it: (1/tau) log of the mean of
    exp(tau Q) over actions drawn from a policy, here the even one.
    """
    claim = Claim(
        "theorem1_lower_proof",
        THEOREM,
        r"the same with $V=\frac1\tau\log E_{a\sim\pi}e^{\tau Q}$, $\pi$ even",
        "as in the proof",
    )
    trial = Trial(
        slack=lambda mdp: float(
            (solve(mdp, "averaged") - lower_bound(mdp, solve(mdp, "averaged"))).min()
        ),
        describe=lambda mdp: _describe_bound(
            mdp, "averaged", "lower", lower_bound(mdp, solve(mdp, "averaged"))
        ),
        size=of_problem,
        drawn=random_mdps(rng, settings),
        small=small_mdps(),
        sensors=sensor_mdps(settings.sensors),
    )
    note = (
        "The proof defines V with an expectation and goes on with a sum. An average never exceeds"
        " the largest, whatever the policy, so the inequality turns round."
    )
    return examine(claim, trial, note)


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


def check_theorem1_lower_used(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, lower half, for the fixed point that an agent with a Boltzmann policy and causal
    entropy in its target aims at: Q = r + gamma E[sum pi Q + H_c(pi) / tau], pi from Q.
    """
    claim = Claim(
        "theorem1_lower_used",
        THEOREM,
        r"the same for $Q^*=r+\gamma E[\sum\pi Q^*+\mathcal{H}_c/\tau]$, $\pi$ Boltzmann",
        "as used",
    )

    def slack(mdp: Mdp) -> float:
        q = boltzmann_optimum(mdp)
        return 0.0 if q is None else float((q - lower_bound(mdp, q)).min())

    def describe(mdp: Mdp) -> Example:
        q = boltzmann_optimum(mdp)
        assert q is not None
        text, witness = tell(mdp)
        bound = lower_bound(mdp, q)
        witness |= {"optimum": q.tolist(), "bound": bound.tolist()}
        return f"{text}: $Q^*={rows(q)}$, lower bound ${rows(bound)}$.", witness

    trial = Trial(
        slack=slack,
        describe=describe,
        size=of_problem,
        drawn=random_mdps(rng, settings),
        small=small_mdps(),
        sensors=sensor_mdps(settings.sensors),
    )
    note = (
        "Only the entropy of all actions makes up for the mean of Q falling short of its maximum;"
        " the masked part of it need not. Problems where the iteration does not settle count as"
        " satisfied."
    )
    return examine(claim, trial, note)


def check_theorem1_upper_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, section 5, as printed, upper half:
    Q* <= r + gamma E max Q(s') + gamma / (1 - gamma) log(sum C) / tau with the mask of state s;
    Q* the optimum with bonus H_c / tau, and Q on the right read as Q*, the larger of its two
    readings. States with an empty mask are left out.
    """
    claim = Claim(
        "theorem1_upper_printed",
        THEOREM,
        r"$Q^*\le r+\gamma E\max Q^*(s',\cdot)+\frac{\gamma}{1-\gamma}\frac{\log\sum C}{\tau}$,"
        r" $Q^*$ optimal",
        "as printed",
    )

    def slack(mdp: Mdp) -> float:
        q = solve(mdp, "causal")
        apart = printed_upper_bound(mdp, q) - q
        return float(apart[np.isfinite(apart)].min())

    trial = Trial(
        slack=slack,
        describe=lambda mdp: _describe_bound(
            mdp, "causal", "upper", printed_upper_bound(mdp, solve(mdp, "causal"))
        ),
        size=of_problem,
        drawn=random_mdps(rng, settings),
        small=small_mdps(),
        sensors=sensor_mdps(settings.sensors),
    )
    note = (
        r"Fails with one or two masked actions, where the entropy can exceed $\log\sum C$, and"
        " where the next states have larger masks than $s$. With three or more masked actions in"
        " every state and the largest sum it holds: that is the corrected line."
    )
    return examine(claim, trial, note)


def check_theorem1_upper_proof(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, upper half, for the value of its proof: V_c, which equals the soft value, so Q*
    is the soft optimum. The largest mask of all states is granted.
    """
    claim = Claim(
        "theorem1_upper_proof",
        THEOREM,
        r"the same for the proof's $V_c$ (soft optimum), largest $\sum C$ of all states",
        "as in the proof",
    )
    trial = Trial(
        slack=lambda mdp: float(
            (generous_upper_bound(mdp, solve(mdp, "soft")) - solve(mdp, "soft")).min()
        ),
        describe=lambda mdp: _describe_bound(
            mdp, "soft", "upper", generous_upper_bound(mdp, solve(mdp, "soft"))
        ),
        size=of_problem,
        drawn=random_mdps(rng, settings),
        small=small_mdps(),
        sensors=sensor_mdps(settings.sensors),
    )
    note = (
        r"The soft optimum exceeds the one without entropy by up to"
        r" $\gamma\log|A|/(\tau(1-\gamma))$, whatever the mask."
    )
    return examine(claim, trial, note)


def check_theorem1_corrected(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, corrected: with Q0 the optimum without entropy and h the largest h(n) of all
    states, Q0 <= Q* <= Q0 + gamma / (1 - gamma) h / tau. Proof: max Q <= V <= max Q + h / tau for
    the maximised value V, and the excess adds up over the steps.
    """
    claim = Claim(
        "theorem1_corrected",
        THEOREM,
        r"$Q_0\le Q^*\le Q_0+\frac{\gamma}{1-\gamma}\frac{\max_s h(n_s)}{\tau}$, $Q_0$ optimal"
        " without entropy",
        "corrected",
    )

    def bound(mdp: Mdp) -> Floats:
        return solve(mdp, "hard") + mdp.discount / (1 - mdp.discount) * ceiling(mdp) / mdp.tau

    def slack(mdp: Mdp) -> float:
        q = solve(mdp, "causal")
        return float(min((bound(mdp) - q).min(), (q - solve(mdp, "hard")).min()))

    trial = Trial(
        slack=slack,
        describe=lambda mdp: _describe_bound(mdp, "causal", "upper", bound(mdp)),
        size=of_problem,
        drawn=(problems := random_mdps(rng, settings)),
        small=small_mdps(),
        sensors=sensor_mdps(settings.sensors),
    )
    gaps = [
        largest(bound(mdp) - solve(mdp, "hard"))
        / max(largest(solve(mdp, "causal") - solve(mdp, "hard")), 1e-9)
        for mdp in problems
    ]
    note = "Attained when all rewards are equal, so it cannot be improved without more knowledge."
    return examine(claim, trial, note, looseness=float(np.median(gaps)))


def _describe_any(case: Guess) -> Example:
    text, witness = tell(case.mdp)
    optimum = solve(case.mdp, "causal")
    low, high = lower_bound(case.mdp, case.q), generous_upper_bound(case.mdp, case.q)
    witness |= {"q": case.q.tolist(), "optimum": optimum.tolist()}
    witness |= {"lower": low.tolist(), "upper": high.tolist()}
    text += f", $Q={rows(case.q)}$: $Q^*={rows(optimum)}$"
    return f"{text}, bounds ${rows(low)}$ and ${rows(high)}$.", witness


def check_theorem1_any_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, section 5, as printed: the Q on the right carries no star. Read as any function,
    as in the theorem that the proof starts from.
    """
    claim = Claim(
        "theorem1_any_printed",
        THEOREM,
        r"both halves with any $Q$ on the right",
        "as printed",
    )

    def slack(case: Guess) -> float:
        optimum = solve(case.mdp, "causal")
        low, high = lower_bound(case.mdp, case.q), generous_upper_bound(case.mdp, case.q)
        return float(min((optimum - low).min(), (high - optimum).min()))

    trial = Trial(
        slack=slack,
        describe=_describe_any,
        size=lambda case: case.mdp.size,
        drawn=random_guesses(rng, settings),
        small=small_guesses(),
    )
    note = (
        "The cited theorem has terms in the residual of Q; on the way to the statement they are"
        " replaced by a bound that leaves Q out."
    )
    return examine(claim, trial, note)


def check_theorem1_any_corrected(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, corrected for any Q: with D = T Q - Q the residual of the maximised operator,
    T Q + gamma / (1 - gamma) min D <= Q* <= T Q + gamma / (1 - gamma) max D. Proof: T is monotone
    and adding a constant to Q adds gamma times it to T Q; apply T again and again.
    """
    claim = Claim(
        "theorem1_any_corrected",
        THEOREM,
        r"$TQ+\frac{\gamma}{1-\gamma}\min\Delta\le Q^*\le TQ+\frac{\gamma}{1-\gamma}\max\Delta$,"
        r" $\Delta=TQ-Q$",
        "corrected",
    )

    def slack(case: Guess) -> float:
        mdp = case.mdp
        moved = backup(mdp, causal_value(case.q, mdp.mask, mdp.tau))
        factor = mdp.discount / (1 - mdp.discount)
        residual = moved - case.q
        optimum = solve(mdp, "causal")
        above = moved + factor * residual.max() - optimum
        below = optimum - moved - factor * residual.min()
        return float(min(above.min(), below.min()))

    trial = Trial(
        slack=slack,
        describe=_describe_any,
        size=lambda case: case.mdp.size,
        drawn=random_guesses(rng, settings),
        small=small_guesses(),
    )
    return examine(claim, trial, "The cited theorem itself, which carries over to the mask.")


def check_remark1_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 1, section 5, as printed, about the two expressions: the upper bound of Theorem 1 is
    smaller than the non-causal one, which has |A| in place of the sum of the mask. Problems
    where the mask holds every action are left out.
    """
    claim = Claim(
        "remark1_printed",
        "Remark 1",
        r"$\log\sum C<\log|A|$: the causal bound is the smaller number",
        "as printed",
        strict=True,
    )
    trial = Trial(
        slack=lambda mdp: log(mdp.actions) - log(mask_sum(mdp)),
        describe=lambda mdp: tell(mdp),
        size=of_problem,
        drawn=[m for m in random_mdps(rng, settings) if mask_sum(m) < m.actions],
        small=[m for m in small_mdps() if mask_sum(m) < m.actions],
        sensors=[m for m in sensor_mdps(settings.sensors) if mask_sum(m) < m.actions],
    )
    note = (
        "True of the numbers and empty of meaning: the smaller one is not a bound (Theorem 1,"
        " upper half), and in the proof's reading both are meant to bound the same $Q^*$."
    )
    return examine(claim, trial, note)


def check_remark1_corrected(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Remark 1, corrected: h(n) <= log|A|, so the valid bound with the mask is never above the
    valid bound without it, and below it unless every action is masked somewhere.
    """
    claim = Claim(
        "remark1_corrected",
        "Remark 1",
        r"$h(n)\le\log|A|$: the corrected causal bound is the smaller one",
        "corrected",
    )
    trial = Trial(
        slack=lambda mdp: log(mdp.actions) - ceiling(mdp),
        describe=lambda mdp: tell(mdp),
        size=of_problem,
        drawn=random_mdps(rng, settings),
        small=small_mdps(),
        sensors=sensor_mdps(settings.sensors),
    )
    note = (
        "A statement about two different optima: masking entropy away biases $Q^*$ less, and no"
        " entropy at all, as in the paper's own non-causal agent, biases it least."
    )
    return examine(claim, trial, note)


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


def _describe_sizes(sizes: Sizes, total: int, actions: int) -> Example:
    text = (
        f"$p={sizes.p}$, $m={sizes.m}$, $k={sizes.k}$ shifted: $\\sum C={total}$, $m={sizes.m}$,"
        f" $|A|={actions}$."
    )
    return text, {
        "p": sizes.p,
        "m": sizes.m,
        "k": sizes.k,
        "mask_sum": total,
        "actions": actions,
    }


def check_remark2_printed(
    rng: np.random.Generator,  # noqa: ARG001
    settings: TheorySettings,  # noqa: ARG001
) -> Check:
    """Remark 2, section 5, as printed: with sets of m of p streams as actions, sum C <= m, and
    m < C(p, m), for 1 <= m < p. Counted over every p up to 8, m and k.
    """
    claim = Claim(
        "remark2_printed",
        "Remark 2",
        r"$\sum_aC\le m<|A|=\binom pm$, actions are sets of $m$ streams",
        "as printed",
    )
    trial = Trial(
        slack=lambda sizes: min(sizes.m - masked_sets(sizes), comb(sizes.p, sizes.m) - sizes.m - 1),
        describe=lambda sizes: _describe_sizes(sizes, masked_sets(sizes), comb(sizes.p, sizes.m)),
        size=lambda sizes: sizes.p,
        drawn=all_sizes(),
        small=all_sizes(),
    )
    note = (
        r"The second half, $m<\binom pm$, stands. The first fails for all but small problems:"
        " every set that holds a shifted stream is masked. At $p=10$, $m=6$, $k=5$ all 210 sets"
        " are, so nothing is gained."
    )
    return examine(claim, trial, note, in_part=True)


def check_remark2_streams(
    rng: np.random.Generator,  # noqa: ARG001
    settings: TheorySettings,  # noqa: ARG001
) -> Check:
    """Remark 2, section 5, as the network has it: one action value a stream, so the sum of the
    mask is the number k of shifted streams, and there are p actions.
    """
    claim = Claim(
        "remark2_streams",
        "Remark 2",
        r"$\sum_iC_i=k\le m<|A|=p$, actions are streams",
        "as used",
    )
    trial = Trial(
        slack=lambda sizes: min(sizes.m - sizes.k, sizes.p - sizes.m - 1),
        describe=lambda sizes: _describe_sizes(sizes, sizes.k, sizes.p),
        size=lambda sizes: sizes.p,
        drawn=all_sizes(),
        small=all_sizes(),
    )
    note = (
        "Right when no more streams shift than are read, as in all of the paper's simulations; the"
        " comparison is then between $k$ and $p$, not between $m$ and the number of sets. (Section"
        " 4.1 gives the mask $m$ entries, one a selected stream. Their sum is at most $m$ by"
        " definition, but it is not the sum over actions that the theorems need.)"
    )
    return examine(claim, trial, note, in_part=True)


def check_remark2_corrected(
    rng: np.random.Generator,  # noqa: ARG001
    settings: TheorySettings,  # noqa: ARG001
) -> Check:
    """Remark 2, corrected: with sets as actions sum C = C(p, m) - C(p - k, m), which is below
    |A| exactly when m <= p - k.
    """
    claim = Claim(
        "remark2_corrected",
        "Remark 2",
        r"$\sum_aC=\binom pm-\binom{p-k}m$, below $|A|$ just when $m\le p-k$",
        "corrected",
    )

    def slack(sizes: Sizes) -> float:
        total, actions = masked_sets(sizes), comb(sizes.p, sizes.m)
        formula = actions - comb(sizes.p - sizes.k, sizes.m)
        agrees = (total < actions) == (sizes.m <= sizes.p - sizes.k)
        return -float(abs(total - formula)) - (not agrees)

    trial = Trial(
        slack=slack,
        describe=lambda sizes: _describe_sizes(sizes, masked_sets(sizes), comb(sizes.p, sizes.m)),
        size=lambda sizes: sizes.p,
        drawn=all_sizes(),
        small=all_sizes(),
    )
    return examine(claim, trial, "By counting the sets that avoid all shifted streams.")
