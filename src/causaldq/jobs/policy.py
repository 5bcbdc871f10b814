"""Policy files, for monitoring outside the pipeline."""

from pathlib import Path

from causaldq.files import read_json
from causaldq.follow import write_policy
from causaldq.jobs.settings.monitor import PolicyJob


def run_policy(
    job: PolicyJob, streams: Path, limits: Path, given: dict[str, Path], output: Path
) -> None:
    """Put a method, its limit and its network into one file."""
    limit = read_json(limits)["fair"]["*"]["limit"]
    write_policy(job, streams, limit, given, output)
