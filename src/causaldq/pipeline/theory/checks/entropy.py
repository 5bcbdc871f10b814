"""The proposition on convexity, and the bound on H_c in the proof of Theorem 1."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from causaldq.pipeline.theory import mdp as problems
from causaldq.pipeline.theory.check import Example, Setup, Trial, number, row
from causaldq.pipeline.theory.mdp import causal_entropy, softmax
from causaldq.types import Bools, Floats


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


def _mask(setup: Setup) -> Bools:
    mask = setup.rng.random(int(setup.rng.integers(2, setup.settings.max_actions + 1)))
    marked = mask < setup.rng.random()
    marked[setup.rng.integers(0, len(mask))] = True
    return marked


def _policies(setup: Setup, mask: Bools) -> Floats:
    spread = np.full(len(mask), setup.rng.choice([0.2, 1.0]))
    return setup.rng.dirichlet(spread, 2) * 0.999 + 0.001 / len(mask)


def _logits(setup: Setup, mask: Bools) -> Floats:
    return setup.rng.normal(scale=2.0, size=(2, len(mask)))


def _random_mixtures(
    setup: Setup, ends: Callable[[Setup, Bools], Floats] = _policies
) -> list[Mixture]:
    found = []
    for _ in range(setup.settings.instances):
        mask = _mask(setup)
        first, second = ends(setup, mask)
        found.append(Mixture(mask, first, second, float(setup.rng.random())))
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


def _concave(
    drawn: list[Mixture], small: Iterator[Mixture], entropy: Entropy, symbol: str
) -> Trial[Mixture]:
    return Trial(
        slack=lambda case: concavity_slack(case, entropy),
        drawn=drawn,
        small=small,
        describe=lambda case: _describe(entropy, (symbol, f"{symbol}'"), case),
        size=lambda case: len(case.mask),
    )


def proposition1_printed(setup: Setup) -> Trial[Mixture]:
    """Proposition 1, section 5, as printed: H_c is concave in the policy pi, so -H_c is convex."""
    return _concave(_random_mixtures(setup), small_policies(), of_policy, r"\pi")


def proposition1_parameters(setup: Setup) -> Trial[Mixture]:
    """Proposition 1, section 5, as the sentence before it wants it: convexity in the parameters
    of the policy. With a table of Q-values and a Boltzmann policy the parameters are the logits.
    """
    return _concave(_random_mixtures(setup, _logits), small_logits(), of_logits, r"\theta")


def proposition1_renormalised(setup: Setup) -> Trial[Mixture]:
    """Proposition 1, section 5, for the causal entropy as section 4.1 writes it for continuous
    actions, where the masked policy is divided by its mass.
    """
    return _concave(_random_mixtures(setup), small_policies(), renormalised, r"\pi")


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


def _on_masked(setup: Setup, slack: Callable[[Masked], float]) -> Trial[Masked]:
    return Trial(
        slack=slack,
        drawn=[Masked(case.mask, case.first) for case in _random_mixtures(setup)],
        small=_small_masked(),
        describe=_describe_masked,
        size=lambda case: len(case.mask),
    )


def entropy_bound_proof(setup: Setup) -> Trial[Masked]:
    """Theorem 1, its proof: the causal entropy lies between 0 and the logarithm of the sum of
    the mask.
    """
    return _on_masked(setup, printed_ceiling_slack)


def entropy_bound_corrected(setup: Setup) -> Trial[Masked]:
    """Theorem 1, its proof, corrected: with n masked actions and w their mass,
    H_c <= w log(n/w) <= h(n), where h(n) = n/e for n = 1 and 2 if some action is not masked, and
    log n otherwise. Proof: entropy within the masked is largest when they share w evenly; then
    maximise over w in [0, 1].
    """
    return _on_masked(setup, corrected_ceiling_slack)
