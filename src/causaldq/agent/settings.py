"""Settings of a training run; light, so that planning needs no torch."""

from causaldq.config import AgentSettings, Hyperparameters, LearnedMethod, StatisticSettings
from causaldq.setting import Case, Places, Protocol, Settings


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
