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

    hit: Annotated[NotNegative, Field(description="y, for each shifted stream selected")] = 1.0
    hit_state: Annotated[NotNegative, Field(description="w, on the state's indicator")] = 0.0
    miss: Annotated[float, Field(le=0, description="U, when no selected stream is shifted")] = -20.0
    before: Annotated[float, Field(description="r1, before the change")] = 0.0
    after: Annotated[float, Field(description="r2, after the shift's rewarded duration")] = 0.0
    duration: Annotated[Count, Field(description="e, rewarded steps after the change")] = 100
    credit: Annotated[
        Literal["per_stream", "team"],
        Field(description="regress each stream on its own share, or the set on the sum"),
    ] = "per_stream"


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

    hidden: Annotated[list[Count], Field(min_length=1)] = [256, 256, 256, 256]
    optimiser: Literal["sgd", "adam"] = "sgd"
    replay: Annotated[Count, Field(description="transitions kept")] = 10000
    warmup: Annotated[Count, Field(description="transitions before the first update")] = 600
    target_every: Annotated[Count, Field(description="updates between target copies")] = 100
    temperature_start: Positive = 1.0
    temperature_floor: Positive = 0.05
    epsilon_start: Share = 0.9
    epsilon_floor: Share = 0.05
    unobserved_cap: Annotated[Count, Field(description="largest Y in the state")] = 100
    episodes: Annotated[Count, Field(description="episodes run side by side")] = 6
    episode_steps: Count = 100
    latest_change: Annotated[
        int, Field(ge=0, description="change time is uniform between 0 and this")
    ] = 50
    epochs: Annotated[Count, Field(description="rounds of side-by-side episodes")] = 40
    updates_per_step: Count = 1
    frozen_check_every: Annotated[
        Count, Field(description="epochs between frozen-policy checks")
    ] = 20
    save_every: Annotated[Count, Field(description="epochs between resume points")] = 10
    reward: RewardSettings = RewardSettings()

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
