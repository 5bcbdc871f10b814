"""The study's jobs: one graph, and all of them together."""

from pathlib import Path

import pandas as pd

from causaldq.evaluation.contributing import joined
from causaldq.files import read_json, write_csv, write_json, write_rows
from causaldq.propagation.example import example
from causaldq.propagation.settings import StudyJob
from causaldq.propagation.study import COLUMNS, Study
from causaldq.propagation.summary import compared


def run_propagation(job: StudyJob, networks: dict[str, Path], output: Path, told: Path) -> None:
    """All methods on one graph, and one run in full."""
    study = Study(job, networks)
    write_rows(output, COLUMNS, list(study.results()))
    write_json(told, example(study))


def run_gather(
    graphs: list[Path], told: Path, confidence: float, output: Path, ratios: Path, shown: Path
) -> None:
    """One tidy table of all graphs, what follows from it, and one run to look at."""
    parts = [pd.read_csv(path).assign(files=str(path)) for path in graphs]
    rows = pd.concat(parts, ignore_index=True)
    write_csv(output, rows)
    by_problem = {name: joined(part["files"]) for name, part in rows.groupby("problem")}
    found = compared(rows, confidence)
    write_csv(ratios, found.assign(files=[by_problem[name] for name in found["problem"]]))
    write_json(shown, read_json(told))
