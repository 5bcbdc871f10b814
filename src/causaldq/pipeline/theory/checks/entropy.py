"""The proposition on convexity, and the bound on H_c in the proof of Theorem 1."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from causaldq.pipeline.theory import mdp as problems
from causaldq.pipeline.theory.check import Check, Claim, Example, Trial, examine, number, row
from causaldq.pipeline.theory.mdp import causal_entropy, softmax
from causaldq.pipeline.theory.settings import TheorySettings
from causaldq.types import Bools, Floats

PROPOSITION = "Proposition 1"
PROOF = "Theorem 1, proof"


@dataclass(frozen=True, eq=False)
class Mixture:
    """Two points (A,) and the weight of the first; `mask` (A,)."""

    mask: Bools
    first: Floats
    second: Floats
    weight: float


Entropy = Callable[[Floats, Bools], float]


def of_policy(policy: Floats, mask: Bools) -> float:
    return float(causal_entropy(policy, mask))


def of_logits(logits: Floats, mask: Bools) -> float:
    return of_policy(softmax(logits, 1.0), mask)


def renormalised(policy: Floats, mask: Bools) -> float:
    """Section 4.1's second form: the masked policy is divided by its mass first."""
    return of_policy(policy, mask) / float((mask * policy).sum())


def concavity_slack(case: Mixture, entropy: Entropy) -> float:
    """Entropy of the mixture minus the mixture of entropies: not negative if concave."""
    mixed = case.weight * case.first + (1 - case.weight) * case.second
    ends = entropy(case.first, case.mask), entropy(case.second, case.mask)
    return entropy(mixed, case.mask) - case.weight * ends[0] - (1 - case.weight) * ends[1]


def _masks(rng: np.random.Generator, settings: TheorySettings) -> Bools:
    mask = rng.random(int(rng.integers(2, settings.max_actions + 1))) < rng.random()
    mask[rng.integers(0, len(mask))] = True
    return mask


def _policies(rng: np.random.Generator, settings: TheorySettings) -> list[Mixture]:
    found = []
    for _ in range(settings.instances):
        mask = _masks(rng, settings)
        spread = np.full(len(mask), rng.choice([0.2, 1.0]))
        first, second = rng.dirichlet(spread, 2) * 0.999 + 0.001 / len(mask)
        found.append(Mixture(mask, first, second, float(rng.random())))
    return found


def _logits(rng: np.random.Generator, settings: TheorySettings) -> list[Mixture]:
    found = []
    for _ in range(settings.instances):
        mask = _masks(rng, settings)
        first, second = rng.normal(scale=2.0, size=(2, len(mask)))
        found.append(Mixture(mask, first, second, float(rng.random())))
    return found


def _small_masks() -> Iterator[Bools]:
    for mask in product((1, 0), repeat=2):
        if any(mask):
            yield np.array(mask, np.bool_)


def small_policies() -> Iterator[Mixture]:
    quarters = [np.array([k / 4, 1 - k / 4]) for k in range(1, 4)]
    for mask, first, second in product(list(_small_masks())[::-1], quarters, quarters):
        yield Mixture(mask, first, second, 0.5)


def small_logits() -> Iterator[Mixture]:
    for mask in _small_masks():
        for top in range(1, 6):
            yield Mixture(mask, np.array([0.0, 0.0]), np.array([float(top), 0.0]), 0.5)


def _describe(entropy: Entropy, names: tuple[str, str], case: Mixture) -> Example:
    mixed = entropy(case.weight * case.first + (1 - case.weight) * case.second, case.mask)
    ends = [entropy(x, case.mask) for x in (case.first, case.second)]
    average = case.weight * ends[0] + (1 - case.weight) * ends[1]
    text = (
        f"$C={row(case.mask)}$, ${names[0]}={row(case.first)}$, ${names[1]}={row(case.second)}$,"
        f" mixed with weight {number(case.weight)}: $\\mathcal{{H}}_c$ of the mixture is"
        f" {number(mixed)}, the mixture of {number(ends[0])} and {number(ends[1])} is"
        f" {number(average)}."
    )
    witness = {
        "mask": case.mask.astype(int).tolist(),
        "first": case.first.tolist(),
        "second": case.second.tolist(),
        "weight": case.weight,
        "mixed": mixed,
        "average": average,
    }
    return text, witness


def _size(case: Mixture) -> float:
    return len(case.mask)


def check_proposition1_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Proposition 1, section 5, as printed: H_c is concave in the policy pi, so -H_c is convex."""
    claim = Claim(
        "proposition1_printed",
        PROPOSITION,
        r"$\mathcal{H}_c(\pi)$ is concave in $\pi$",
        "as printed",
    )
    trial = Trial(
        slack=lambda case: concavity_slack(case, of_policy),
        describe=lambda case: _describe(of_policy, (r"\pi", r"\pi'"), case),
        size=_size,
        drawn=_policies(rng, settings),
        small=small_policies(),
    )
    return examine(claim, trial, "A sum of concave functions with weights 0 or 1.")


def check_proposition1_parameters(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Proposition 1, section 5, as the sentence before it wants it: convexity in the parameters
    of the policy. With a table of Q-values and a Boltzmann policy the parameters are the logits.
    """
    claim = Claim(
        "proposition1_parameters",
        PROPOSITION,
        r"$\mathcal{H}_c(\mathrm{softmax}(\theta))$ is concave in the parameters $\theta$",
        "as used",
    )
    trial = Trial(
        slack=lambda case: concavity_slack(case, of_logits),
        describe=lambda case: _describe(of_logits, (r"\theta", r"\theta'"), case),
        size=_size,
        drawn=_logits(rng, settings),
        small=small_logits(),
    )
    note = (
        "The paper wants stable optimisation over network parameters from this; already for a"
        " table of logits the entropy is neither convex nor concave."
    )
    return examine(claim, trial, note)


def check_proposition1_renormalised(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Proposition 1, section 5, for the causal entropy as section 4.1 writes it for continuous
    actions, where the masked policy is divided by its mass.
    """
    claim = Claim(
        "proposition1_renormalised",
        PROPOSITION,
        r"the same for section 4.1's $-\int\log\pi\,\mathrm{d}P_c$ (mask renormalised)",
        "as used",
    )
    trial = Trial(
        slack=lambda case: concavity_slack(case, renormalised),
        describe=lambda case: _describe(renormalised, (r"\pi", r"\pi'"), case),
        size=_size,
        drawn=_policies(rng, settings),
        small=small_policies(),
    )
    note = (
        "With one masked action this form is minus the logarithm of its probability, which is"
        " convex, and has no upper bound. The two definitions of section 4.1 differ by the"
        " factor $1/w$."
    )
    return examine(claim, trial, note)


@dataclass(frozen=True, eq=False)
class Masked:
    """A policy (A,) and a mask (A,)."""

    mask: Bools
    policy: Floats


def printed_ceiling_slack(case: Masked) -> float:
    """log(sum C) - H_c."""
    return float(np.log(case.mask.sum())) - of_policy(case.policy, case.mask)


def corrected_ceiling_slack(case: Masked) -> float:
    """The smaller slack of H_c <= w log(n/w) and w log(n/w) <= the ceiling."""
    masked = int(case.mask.sum())
    mass = float((case.mask * case.policy).sum())
    middle = mass * np.log(masked / mass) if mass > 0 else 0.0
    highest = problems.entropy_ceiling(masked, len(case.mask))
    return float(min(middle - of_policy(case.policy, case.mask), highest - middle))


def _masked(rng: np.random.Generator, settings: TheorySettings) -> list[Masked]:
    cases = _policies(rng, settings)
    return [Masked(case.mask, case.first) for case in cases]


def _small_masked() -> Iterator[Masked]:
    for actions in (2, 3):
        for masked in range(1, actions + 1):
            mask = np.arange(actions) < masked
            for parts in range(2, 5):
                for top in range(1, parts):
                    on = np.where(mask, top / parts / masked, 0.0)
                    off = np.where(mask, 0.0, (1 - top / parts) / max(actions - masked, 1))
                    policy = on + off
                    yield Masked(mask, policy / policy.sum())
            if masked < actions:
                on = np.where(mask, 1 / np.e, (1 - masked / np.e) / (actions - masked))
                yield Masked(mask, on)


def _describe_masked(case: Masked) -> Example:
    entropy = of_policy(case.policy, case.mask)
    masked = int(case.mask.sum())
    mass = float((case.mask * case.policy).sum())
    text = (
        f"$C={row(case.mask)}$, $\\pi={row(case.policy)}$: $\\mathcal{{H}}_c={number(entropy)}$,"
        f" $\\log\\sum C={number(np.log(masked))}$,"
        f" $w\\log(n/w)={number(mass * np.log(masked / mass))}$."
    )
    witness = {
        "mask": case.mask.astype(int).tolist(),
        "policy": case.policy.tolist(),
        "entropy": entropy,
        "bound": float(np.log(masked)),
    }
    return text, witness


def check_entropy_bound_proof(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, its proof: the causal entropy lies between 0 and the logarithm of the sum of
    the mask.
    """
    claim = Claim("entropy_bound_proof", PROOF, r"$\mathcal{H}_c\le\log\sum C$", "as in the proof")
    trial = Trial(
        slack=printed_ceiling_slack,
        describe=_describe_masked,
        size=lambda case: len(case.mask),
        drawn=_masked(rng, settings),
        small=_small_masked(),
    )
    note = (
        r"The mask does not renormalise the policy. With one masked action the entropy reaches"
        r" $1/e$, above $\log1=0$; with two of three or more, $2/e=0.7358$, above $\log2=0.6931$."
        " From three masked actions on the bound is right."
    )
    return examine(claim, trial, note)


def check_entropy_bound_corrected(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Theorem 1, its proof, corrected: with n masked actions and w their mass,
    H_c <= w log(n/w) <= h(n), where h(n) = n/e for n = 1 and 2 if some action is not masked, and
    log n otherwise. Proof: entropy within the masked is largest when they share w evenly; then
    maximise over w in [0, 1].
    """
    claim = Claim(
        "entropy_bound_corrected",
        PROOF,
        r"$\mathcal{H}_c\le w\log(n/w)\le h(n)$, $h(1)=1/e$, $h(2)=2/e$, $h(n)=\log n$",
        "corrected",
    )
    trial = Trial(
        slack=corrected_ceiling_slack,
        describe=_describe_masked,
        size=lambda case: len(case.mask),
        drawn=_masked(rng, settings),
        small=_small_masked(),
    )
    return examine(claim, trial, "Attained, so it cannot be improved.")
