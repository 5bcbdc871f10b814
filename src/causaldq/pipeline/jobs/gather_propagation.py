"""All random graphs of the study on propagation together."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from causaldq.files import read_json, write_csv, write_json
from causaldq.pipeline import places
from causaldq.pipeline.contributing import joined
from causaldq.pipeline.propagation.summary import compared
from causaldq.setting import Settings

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class GatherJob(Settings):
    confidence: float
    """Of intervals."""


def settings(plan: "Plan") -> GatherJob:
    return plan.share(GatherJob, plan.config.evaluation)


def inputs(plan: "Plan") -> "Files":
    studies = list(plan.studies())
    return {
        "graphs": plan.place_all(places.STUDY, study=studies),
        "told": plan.place_all(places.STUDY_EXAMPLE, study=studies[:1]),
    }


OUTPUTS = {
    "output": "results/{profile}/propagation.csv",
    "ratios": "results/{profile}/propagation_compared.csv",
    "example": "results/{profile}/root_cause.json",
}


def run(
    job: GatherJob, *, graphs: list[Path], told: Path, output: Path, ratios: Path, example: Path
) -> None:
    """Gather all random graphs of the study on propagation, and compare methods over them."""
    parts = [pd.read_csv(path).assign(files=str(path)) for path in graphs]
    rows = pd.concat(parts, ignore_index=True)
    write_csv(output, rows)
    by_problem = {name: joined(part["files"]) for name, part in rows.groupby("problem")}
    found = compared(rows, job.confidence)
    write_csv(ratios, found.assign(files=[by_problem[name] for name in found["problem"]]))
    write_json(example, read_json(told))
