"""Verdicts on the paper's claims."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from causaldq.errors import DataError
from causaldq.files import write_csv
from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.graphs import COLUMNS as GRAPH_COLUMNS
from causaldq.pipeline.report.claims import compare_approaches, judge, read_claims
from causaldq.pipeline.report.gaps import gaps, promised
from causaldq.pipeline.report.tidy import Tidy

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


def inputs(plan: "Plan") -> "Files":
    from causaldq.pipeline.jobs.tidy_results import measured

    return {
        "tidy": [*measured(plan), places.PUBLISHED],
        "claims": "data/reference/claims.yaml",
        "comparison": "data/reference/comparison.yaml",
    }


OUTPUTS = {
    "output": "results/{profile}/claims.csv",
    "cells": "results/{profile}/claim_cells.csv",
    "compared": "results/{profile}/comparison.csv",
}


def run(
    config: Config, *, tidy: list[Path], claims: Path, comparison: Path,
    output: Path, cells: Path, compared: Path,
) -> None:  # fmt: skip
    """Judge the paper's claims, and its first table, by what was measured.

    Refused where a published number that the config promises to measure has none beside it.
    """
    results = Tidy(config, tidy)
    none = pd.DataFrame(columns=GRAPH_COLUMNS)
    graphs = results.graphs if "graphs" in results.files else none
    expected = promised(config, results.published)
    if missing := gaps(expected, results.add, graphs, list(config.protocols)):
        raise DataError(
            f"{len(missing)} published numbers have no measured one beside them, though the"
            f" settings ask for it: {'; '.join(missing)}"
        )
    verdicts, looked_at = judge(read_claims(claims), results)
    write_csv(output, verdicts)
    write_csv(cells, looked_at)
    write_csv(compared, compare_approaches(comparison, verdicts))
