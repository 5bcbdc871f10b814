"""The job: all checks, and the measured curves."""

from dataclasses import asdict
from pathlib import Path

from causaldq.files import write_csv, write_json
from causaldq.seeds import generator
from causaldq.theory.checks import run_checks
from causaldq.theory.curves import measured_curves
from causaldq.theory.settings import TheoryJob


def run_theory(job: TheoryJob, output: Path, curves: Path) -> None:
    """Write the checks as a JSON list and the curves as a tidy CSV."""
    write_json(output, [asdict(check) for check in run_checks(job.seed, job.theory)])
    write_csv(curves, measured_curves(generator(job.seed, "theory", "curves"), job.theory))
