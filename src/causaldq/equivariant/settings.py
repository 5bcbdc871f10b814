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

    sizes: Annotated[list[Count], Field(min_length=1, description="p")]
    degree: Range
    weight: Annotated[Range, Field(description="of edges, before streams are scaled")]
    sensors: Annotated[Range, Field(description="m as a share of p; two at least")]
    shifted: Annotated[Range, Field(description="k as a share of p; one at least")]
    shift: Annotated[Range, Field(description="delta, even on the log scale")]
    latest_change: Annotated[int, Field(ge=0, description="change times are 0 to this")]


class EquivariantSettings(Settings):
    """Network and training; the same for the causal one and its control."""

    hidden: Count
    rounds: Annotated[Count, Field(description="problems trained on, one after the other")]
    episodes: Annotated[Count, Field(description="of a round, side by side")]
    steps: Annotated[Count, Field(description="of an episode")]
    kept_rounds: Annotated[Count, Field(description="rounds in the replay memory")]
    updates: Annotated[Count, Field(description="after each round")]
    batch: Count
    learning_rate: Positive
    discount: Share
    target_rate: Annotated[Share, Field(description="of the target's way to the network, a step")]
    entropy_weight: NotNegative
    temperature: Annotated[Range, Field(description="of exploration: at the end, at the start")]
    reward: Annotated[
        Reward,
        Field(
            description="a hit; a hit that fades from the change on; the size of the stream's"
            " shift; its square; minus one a step until the alarm"
        ),
    ]
    fading: Annotated[Share, Field(description="of early_hits, a step")]
    alarm: Annotated[Positive, Field(description="statistic at which `delay` ends")]
    mixture: MixtureSettings


class EquivariantJob(Settings):
    """All that a network depends on."""

    seed: int
    network: str
    causal: bool
    """Messages along effects, each stream rewarded for itself, causal entropy."""
    training: EquivariantSettings
    filter: BayesPosteriorSettings
    statistic: StatisticSettings
