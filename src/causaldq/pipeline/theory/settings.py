"""How many instances the checks draw, and how large."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from causaldq.setting import Count, Positive, Settings, Share


class SensorProblem(Settings):
    """One miniature of the sensor problem."""

    p: Annotated[int, Field(ge=2, le=6, description="streams")]
    m: Annotated[Count, Field(description="streams read at a time")]
    k: Annotated[Count, Field(description="streams that shift")]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.m >= self.p or self.k > self.p:
            raise ValueError(f"m = {self.m} must be below p = {self.p}, and k = {self.k} within it")
        return self


class SensorSettings(Settings):
    """What all miniatures share."""

    problems: Annotated[list[SensorProblem], Field(min_length=1)]
    cuts: Annotated[
        list[Positive],
        Field(min_length=1, description="limits between the levels of a stream's |statistic|"),
    ]
    shift: Annotated[Positive, Field(description="delta, in standard deviations")]
    decay: Annotated[Share, Field(description="lambda of the statistic")]
    change: Annotated[Share, Field(description="chance a step that the streams shift")]
    end: Annotated[Share, Field(description="chance a step that the shift ends")]
    hit: Annotated[Positive, Field(description="reward of a shifted stream that is read")]
    miss: Annotated[float, Field(lt=0, description="U, when none is read")]
    discount: Share
    taus: Annotated[list[Positive], Field(min_length=1)]


class LearningSettings(Settings):
    """Sampled Q-learning, for the statements on learned values."""

    instances: Count
    max_states: Count
    max_actions: Annotated[int, Field(ge=2)]
    steps: Annotated[int, Field(ge=10)]
    replications: Annotated[int, Field(ge=8)]
    step_size_low: Share
    step_size_high: Share


class CurveSettings(Settings):
    """The measured curves: one miniature, exact iteration and sampled learning."""

    problem: SensorProblem
    tau: Positive
    step_size: Share
    steps: Annotated[int, Field(ge=100)]
    replications: Annotated[int, Field(ge=8)]
    points: Annotated[int, Field(ge=10, description="steps at which the error is kept")]
    iterations: Annotated[int, Field(ge=5)]


class TheorySettings(Settings):
    """Sizes of the checks."""

    instances: Annotated[Count, Field(description="random problems a statement is tried on")]
    max_states: Count
    max_actions: Annotated[int, Field(ge=2)]
    discount_low: Share
    discount_high: Share
    tau_low: Positive
    tau_high: Positive
    iterations: Annotated[int, Field(ge=5, description="steps t over which errors are compared")]
    sensors: SensorSettings
    learning: LearningSettings
    curves: CurveSettings
