"""Snakemake's HTML report."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.errors import CausalDQError
from causaldq.files import write_bytes
from causaldq.pipeline import places
from causaldq.pipeline.config import Config

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan

TARGET = "everything_to_report"
"""The rule whose inputs are shown."""


def inputs(plan: "Plan") -> "Files":
    from causaldq.pipeline.jobs import aggregate, claims, document, front_page
    from causaldq.pipeline.report.catalogue import catalogue

    shown = catalogue(plan.config)
    tables = [table.name for table in shown.tables]
    figures = [figure.name for figure in shown.figures]
    made = [front_page.OUTPUTS["output"], aggregate.OUTPUTS["add"]]
    made += claims.OUTPUTS.values() if "claims" in shown.notebooks else []
    made += document.OUTPUTS.values() if plan.has_latex else []
    return {
        "shown": [
            *map(plan.place, made),
            *(
                path
                for place in (places.TABLE, places.TWIN)
                for path in plan.place_all(place, name=tables)
            ),
            *(
                path
                for place in (places.FIGURE, places.PICTURE)
                for path in plan.place_all(place, name=figures)
            ),
            *plan.place_all(places.PAGE, name=shown.notebooks),
        ]
    }


OUTPUTS = {"output": "results/{profile}/report.html"}


def run(config: Config, *, shown: list[Path], output: Path) -> None:
    """Make Snakemake's HTML report of finished results."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "config.json", Path(folder) / "report.html"
        given.write_text(json.dumps({"complete": True, **config.model_dump()}))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "snakemake", "--nolock"),
                *("--report", made, "--report-stylesheet", "workflow/report/style.css"),
                *("--configfile", given),
                *("--", TARGET),
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise CausalDQError(f"snakemake --report failed: {done.stderr.strip()[-2000:]}")
        write_bytes(output, made.read_bytes())
