"""What the naming of causes of recorded faults is given."""

from causaldq.jobs.settings.monitor import MonitorSettings, ShowcaseRun


class NameCausesJob(MonitorSettings):
    """Whom each method accuses of recorded faults; method and options are set for each run."""

    scenario: str
    runs: list[ShowcaseRun]
    limits: dict[str, str]
    """Which limits each run uses."""
    leads: list[int]
    """Steps before a fault at which monitoring begins, one run each."""
    later: int
    """Steps after the alarm at which the cause is named again."""
