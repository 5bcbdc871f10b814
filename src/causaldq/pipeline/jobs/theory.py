"""The paper's theorems, checked on problems that can be solved exactly."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.files import write_csv, write_json
from causaldq.pipeline.theory.settings import TheorySettings
from causaldq.seeds import generator
from causaldq.setting import Settings

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class TheoryJob(Settings):
    seed: int
    theory: TheorySettings


def settings(plan: "Plan") -> TheoryJob:
    return plan.share(TheoryJob)


def inputs(plan: "Plan") -> "Files":
    return {"statements": "data/reference/theory.yaml"}


OUTPUTS = {
    "checks": "results/{profile}/theory.json",
    "curves": "results/{profile}/theory_curves.csv",
}


def run(job: TheoryJob, *, statements: Path, checks: Path, curves: Path) -> None:
    """Check the paper's theorems on small problems that can be solved exactly."""
    from causaldq.pipeline.theory.checks import read_statements, run_checks
    from causaldq.pipeline.theory.curves import measured_curves

    found = run_checks(job.seed, job.theory, read_statements(statements))
    write_json(checks, [asdict(check) for check in found])
    write_csv(curves, measured_curves(generator(job.seed, "theory", "curves"), job.theory))
