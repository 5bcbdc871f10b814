"""The two assumptions: can they be met by what the paper builds?"""

from dataclasses import dataclass

import numpy as np

from causaldq.pipeline.theory.check import Check, Claim, Example, Trial, examine, number
from causaldq.pipeline.theory.settings import TheorySettings


@dataclass(frozen=True)
class Regression:
    """A table of one entry theta, its target y, and a bound G on the squared gradient."""

    theta: float
    target: float
    limit: float


def check_assumption1_printed(rng: np.random.Generator, settings: TheorySettings) -> Check:
    """Assumption 1, section 5: the squared gradient of the loss has one bound G for all
    parameters. Tried on the smallest Q-function there is, one number theta with the loss
    (y - theta)^2; with a single action the entropy is 0.
    """
    claim = Claim(
        "assumption1_printed",
        "Assumption 1",
        r"$E\|\nabla_\theta L\|^2\le G$ for all $\theta$ can be met",
        "as printed",
    )

    def describe(case: Regression) -> Example:
        gradient = 2 * (case.theta - case.target)
        text = (
            f"$Q_\\theta=\\theta$, target $y={number(case.target)}$: for $G={number(case.limit)}$"
            f" take $\\theta={number(case.theta)}$; the squared gradient is"
            f" {number(gradient**2)}."
        )
        witness = {"theta": case.theta, "target": case.target, "limit": case.limit}
        return text, witness | {"squared": gradient**2}

    def beyond(target: float, limit: float) -> Regression:
        return Regression(target + float(np.sqrt(limit)), target, limit)

    drawn = [
        beyond(float(rng.normal()), float(np.exp(rng.normal(scale=3.0))))
        for _ in range(settings.instances)
    ]
    trial = Trial(
        slack=lambda case: case.limit - 4 * (case.theta - case.target) ** 2,
        describe=describe,
        size=lambda case: case.limit,
        drawn=drawn,
        small=[beyond(0.0, 1.0)],
    )
    note = (
        "A squared loss has an unbounded gradient unless parameters are kept in a bounded set,"
        " which the paper does not say. No proof uses the assumption."
    )
    return examine(claim, trial, note)


def check_assumption2_printed(
    rng: np.random.Generator,  # noqa: ARG001
    settings: TheorySettings,
) -> Check:
    """Assumption 2, section 5: rewards are at most 1 in size. Tried on the rewards of section 4.3,
    1 a hit and U = -20 for none.
    """
    claim = Claim(
        "assumption2_printed",
        "Assumption 2",
        r"$|r|\le R_{\max}\le1$ for the reward of section 4.3",
        "as printed",
    )
    hit, miss = settings.sensors.hit, settings.sensors.miss

    def describe(hits: int) -> Example:
        reward = hit * hits if hits else miss
        return f"{hits} hits: reward {number(reward)}.", {"hits": hits, "reward": reward}

    trial = Trial(
        slack=lambda hits: 1.0 - abs(hit * hits if hits else miss),
        describe=describe,
        size=float,
        drawn=list(range(13)),
        small=range(13),
    )
    note = (
        "Met after dividing all rewards by 20, as the miniature does. That also makes the entropy"
        " weigh 20 times as much as in the agent, whose target adds it to the undivided reward."
    )
    return examine(claim, trial, note)
