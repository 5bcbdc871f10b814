"""The two assumptions: can they be met by what the paper builds?"""

from dataclasses import dataclass

import numpy as np

from causaldq.pipeline.theory.check import Example, Setup, Trial, number


@dataclass(frozen=True)
class Regression:
    """A table of one entry theta, its target y, and a bound G on the squared gradient."""

    theta: float
    target: float
    limit: float


def assumption1_printed(setup: Setup) -> Trial[Regression]:
    """Assumption 1, section 5: the squared gradient of the loss has one bound G for all
    parameters. Tried on the smallest Q-function there is, one number theta with the loss
    (y - theta)^2; with a single action the entropy is 0.
    """

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
        beyond(float(setup.rng.normal()), float(np.exp(setup.rng.normal(scale=3.0))))
        for _ in range(setup.settings.instances)
    ]
    return Trial(
        slack=lambda case: case.limit - 4 * (case.theta - case.target) ** 2,
        describe=describe,
        size=lambda case: case.limit,
        drawn=drawn,
        small=[beyond(0.0, 1.0)],
    )


def assumption2_printed(setup: Setup) -> Trial[int]:
    """Assumption 2, section 5: rewards are at most 1 in size. Tried on the rewards of section 4.3,
    1 a hit and U = -20 for none.
    """
    hit, miss = setup.settings.sensors.hit, setup.settings.sensors.miss

    def describe(hits: int) -> Example:
        reward = hit * hits if hits else miss
        return f"{hits} hits: reward {number(reward)}.", {"hits": hits, "reward": reward}

    return Trial(
        slack=lambda hits: 1.0 - abs(hit * hits if hits else miss),
        describe=describe,
        size=float,
        drawn=list(range(13)),
        small=range(13),
    )
