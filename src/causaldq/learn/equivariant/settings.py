"""Settings of the one network for all problems; light, so that planning needs no torch."""

from typing import Annotated, Literal

from pydantic import Field

from causaldq.methods.bayes_posterior import BayesPosteriorSettings
from causaldq.setting import Count, NotNegative, Positive, Settings, Share
from causaldq.statistic import StatisticSettings

Range = Annotated[list[NotNegative], Field(min_length=2, max_length=2)]
"""Lowest and highest."""
Reward = Literal["hits", "early_hits", "deviations", "information", "delay"]


class MixtureSettings(Settings):
    """The problems of training. Every round draws one of each, on a random graph."""

    sizes: Annotated[list[Count], Field(min_length=1, description="p")] = [10, 20, 50, 80, 100]
    degree: Range = [0.0, 8.0]
    weight: Annotated[Range, Field(description="of edges, before streams are scaled")] = [0.5, 1.0]
    sensors: Annotated[Range, Field(description="m as a share of p; two at least")] = [0.05, 0.6]
    shifted: Annotated[Range, Field(description="k as a share of p; one at least")] = [0.02, 0.5]
    shift: Annotated[Range, Field(description="delta, even on the log scale")] = [0.25, 2.0]
    latest_change: Annotated[int, Field(ge=0, description="change times are 0 to this")] = 40


class EquivariantSettings(Settings):
    """Network and training; the same for the causal one and its control."""

    hidden: Count = 32
    rounds: Annotated[Count, Field(description="problems trained on, one after the other")] = 120
    episodes: Annotated[Count, Field(description="of a round, side by side")] = 16
    steps: Annotated[Count, Field(description="of an episode")] = 60
    kept_rounds: Annotated[Count, Field(description="rounds in the replay memory")] = 40
    updates: Annotated[Count, Field(description="after each round")] = 40
    batch: Count = 64
    learning_rate: Positive = 0.001
    discount: Share = 0.8
    target_rate: Annotated[
        Share, Field(description="of the target's way to the network, a step")
    ] = 0.02
    entropy_weight: NotNegative = 0.02
    temperature: Annotated[Range, Field(description="of exploration: at the end, at the start")] = [
        0.05,
        1.0,
    ]
    reward: Annotated[
        Reward,
        Field(
            description="a hit; a hit that fades from the change on; the size of the stream's"
            " shift; its square; minus one a step until the alarm"
        ),
    ] = "information"
    fading: Annotated[Share, Field(description="of early_hits, a step")] = 0.95
    alarm: Annotated[Positive, Field(description="statistic at which `delay` ends")] = 5.5
    mixture: MixtureSettings = MixtureSettings()


class EquivariantJob(Settings):
    """All that a network depends on."""

    seed: int
    network: str
    causal: bool
    """Messages along effects, each stream rewarded for itself, causal entropy."""
    training: EquivariantSettings
    filter: BayesPosteriorSettings
    statistic: StatisticSettings
