"""Settings of a training run; light, so that planning needs no torch."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from causaldq.setting import Case, Count, NotNegative, Places, Positive, Protocol, Settings, Share
from causaldq.statistic import StatisticSettings


class Hyperparameters(Settings):
    """One row of the paper's last table."""

    entropy_weight: Annotated[NotNegative, Field(description="alpha")]
    learning_rate: Positive
    discount: Annotated[Share, Field(description="gamma")]
    batch: Count
    temperature_decay: Annotated[Share, Field(description="tau, factor a training epoch")]


class RewardSettings(Settings):
    """The paper's reward: section 4.3."""

    hit: Annotated[NotNegative, Field(description="y, for each shifted stream selected")]
    hit_state: Annotated[NotNegative, Field(description="w, on the state's indicator")]
    miss: Annotated[float, Field(le=0, description="U, when no selected stream is shifted")]
    before: Annotated[float, Field(description="r1, before the change")]
    after: Annotated[float, Field(description="r2, after the shift's rewarded duration")]
    duration: Annotated[Count, Field(description="e, rewarded steps after the change")]
    credit: Annotated[
        Literal["per_stream", "team"],
        Field(description="regress each stream on its own share, or the set on the sum"),
    ]


class LearnedMethod(Settings):
    """Which causal parts an agent has, and how it explores."""

    causal_state: Annotated[bool, Field(description="phi in the state")]
    causal_reward: Annotated[
        bool, Field(description="every hit counts; else any hit counts the same")
    ]
    causal_entropy: Annotated[bool, Field(description="H_c in target and loss")]
    exploration: Literal["boltzmann", "epsilon_greedy"]
    hit: Annotated[NotNegative | None, Field(description="overrides reward.hit")] = None
    miss: Annotated[float | None, Field(le=0, description="overrides reward.miss")] = None


class AgentSettings(Settings):
    """The double Q-network and its training, the same for all learned methods."""

    hidden: Annotated[list[Count], Field(min_length=1)]
    optimiser: Literal["sgd", "adam"]
    replay: Annotated[Count, Field(description="transitions kept")]
    warmup: Annotated[Count, Field(description="transitions before the first update")]
    target_every: Annotated[Count, Field(description="updates between target copies")]
    temperature_start: Positive
    temperature_floor: Positive
    epsilon_start: Share
    epsilon_floor: Share
    unobserved_cap: Annotated[Count, Field(description="largest Y in the state")]
    episodes: Annotated[Count, Field(description="episodes run side by side")]
    episode_steps: Count
    latest_change: Annotated[
        int, Field(ge=0, description="change time is uniform between 0 and this")
    ]
    epochs: Annotated[Count, Field(description="rounds of side-by-side episodes")]
    updates_per_step: Count
    frozen_check_every: Annotated[Count, Field(description="epochs between frozen-policy checks")]
    save_every: Annotated[Count, Field(description="epochs between resume points")]
    reward: RewardSettings

    @model_validator(mode="after")
    def _change_within_episode(self) -> Self:
        if self.latest_change >= self.episode_steps:
            raise ValueError(
                f"latest_change {self.latest_change} must be below"
                f" episode_steps {self.episode_steps}"
            )
        return self


class ShiftPlan(Settings):
    """Where, when and how far the means of training episodes shift."""

    protocol: Protocol
    places: Places
    seed: int
    """Of the places that `paper` draws once."""
    k: int
    cases: list[Case]
    delta: float
    sigmas: list[float]
    propagate: bool
    latest_change: int


class TrainingSettings(Settings):
    """All that a training run depends on beside its data and graph."""

    seed: int
    network: str
    m: int
    method: LearnedMethod
    agent: AgentSettings
    hyperparameters: Hyperparameters
    statistic: StatisticSettings
    plan: ShiftPlan


class TrainJob(Settings):
    """Networks trained one after the other: to start a job takes longer than it looks."""

    networks: list[TrainingSettings]
