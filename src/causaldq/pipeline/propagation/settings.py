"""Settings of the study; light, so that planning needs nothing else."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from causaldq.discovery.settings import DiscoverySettings, UncertaintySettings
from causaldq.learn.settings import TrainingSettings
from causaldq.setting import Count, Distinct, Name, Positive, Settings
from causaldq.statistic import StatisticSettings

Knowledge = Literal["truth", "rows"]


class Problem(Settings):
    """Random graphs of one size and density, with so many sensors."""

    p: Annotated[int, Field(ge=2, description="streams")]
    m: Annotated[Count, Field(description="sensors")]
    expected_degree: Annotated[Positive, Field(description="edges of a stream, in and out")]
    hyperparameters: Annotated[
        Name, Field(description="row of `hyperparameters`, for networks trained on its graphs")
    ]

    @model_validator(mode="after")
    def _sensors_fit(self) -> Self:
        if self.m > self.p:
            raise ValueError(f"m {self.m} exceeds p {self.p}")
        return self


class StudySettings(Settings):
    """One to three causes shift, and their effects with them, on many random graphs."""

    problems: Annotated[dict[Name, Problem], Field(min_length=1)]
    graphs: Annotated[int, Field(ge=2, description="random graphs of each problem")]
    agent_graphs: Annotated[
        int, Field(ge=1, description="of them, on which the paper's agents are trained")
    ]
    weight_low: Positive
    weight_high: Positive
    rows: Annotated[int, Field(ge=10, description="in-control rows that a graph is found from")]
    roots: Annotated[Distinct[Count], Field(description="how many causes shift")]
    deltas: Annotated[Distinct[Positive], Field(description="shift of each, in deviations")]
    told_truth: Annotated[
        Distinct[Name], Field(description="methods that know the covariance and may know the graph")
    ]
    told_rows: Annotated[
        Distinct[Name], Field(description="methods that have the in-control rows only")
    ]
    paths: Annotated[int, Field(ge=10, description="in-control paths to set each limit")]
    horizon_factor: Annotated[float, Field(gt=1, description="their length, in units of arl0")]
    replications: Annotated[int, Field(ge=2, description="of each graph, cause count and shift")]
    horizon: Annotated[Count, Field(description="steps after the change")]
    later: Annotated[Count, Field(description="steps after the alarm, to name the cause again")]


class Contestant(Settings):
    """A method, and what it is told."""

    method: str
    options: dict[str, Any]
    told: Knowledge
    training: TrainingSettings | None = None
    """Of a network for this graph alone, if it is the paper's agent."""


class StudyJob(Settings):
    """One graph of one problem."""

    seed: int
    problem: str
    size: Problem
    graph: int
    weights: tuple[float, float]
    rows: int
    roots: list[int]
    deltas: list[float]
    contestants: list[Contestant]
    paths: int
    calibration_steps: int
    arl0: float
    replications: int
    in_control_steps: int
    horizon: int
    later: int
    statistic: StatisticSettings
    discovery: DiscoverySettings
    uncertainty: UncertaintySettings
