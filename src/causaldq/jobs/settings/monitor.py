"""What jobs that run a method are given."""

from typing import Any

from causaldq.evaluation.calibration import CalibrationSettings
from causaldq.setting import Case, Places, Protocol, Settings
from causaldq.statistic import StatisticSettings


class Cell(Settings):
    """One combination of case, noise and shift."""

    case: Case
    sigma: float
    delta: float

    @property
    def key(self) -> str:
        return self.key_of(self.case, self.sigma, self.delta)

    @staticmethod
    def key_of(case: str, sigma: float, delta: float) -> str:
        return f"{case}/{float(sigma):g}/{float(delta):g}"


class MonitorSettings(Settings):
    """What a method runs with; shared by calibration and evaluation."""

    seed: int
    method: str
    m: int
    protocols: list[Protocol]
    statistic: StatisticSettings
    options: dict[str, Any]
    """Of the method itself."""


class CalibrateJob(MonitorSettings):
    """A limit depends on the method, the streams and m; on shifts only for bounds."""

    unit: str
    source: str
    calibration: CalibrationSettings
    confidence: float
    bootstrap: int
    k: int | None
    """Only for bounds."""
    cells: list[Cell] | None
    """Only for bounds whose statistic depends on the shift: one limit for each cell."""
    propagate: bool
    places: Places
    grid: list[float]
    """More run lengths that a limit is wanted for."""


class EvaluateJob(MonitorSettings):
    scenario: str
    cells: list[Cell]
    events: bool
    restart: bool
    replications: int
    """Runs through each recorded event, which start at different rows."""


class PolicyJob(MonitorSettings):
    """What a policy file remembers."""

    source: str


class ShowcaseRun(Settings):
    method: str
    options: dict[str, Any]
    seed: int | None
    """Training seed of a learned method."""


class ShowcaseJob(MonitorSettings):
    """One scenario looked at more closely; method and options are set by the job for each run."""

    scenario: str
    runs: list[ShowcaseRun]
    limits: dict[str, str]
    """Which limits each run uses."""
    arl0: float
    arl0_grid: list[float]
    delta: float
    deltas: list[float]
    confidence: float
    bootstrap: int
