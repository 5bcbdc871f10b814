"""What a job that crosses policies and statistics is given."""

from causaldq.evaluation.calibration import CalibrationSettings
from causaldq.jobs.settings.monitor import MonitorSettings, ShowcaseRun


class CrossJob(MonitorSettings):
    """One policy (method, options) with the alarm statistic of every watcher."""

    scenario: str
    source: str
    policy: str
    """The policy's run, as it is named among the files given."""
    watchers: list[ShowcaseRun]
    deltas: list[float]
    calibration: CalibrationSettings
