"""Notebooks as pages."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.pipeline import places

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


def inputs(plan: "Plan", name: str) -> "Files":
    from causaldq.pipeline.jobs.tidy_results import judged
    from causaldq.pipeline.report.catalogue import catalogue

    names = [figure.name for figure in catalogue(plan.config).figures]
    return {
        "notebook": f"notebooks/{name}.ipynb",
        "tidy": judged(plan),
        "provenance": plan.place(places.PROVENANCE),
        "figures": plan.place_all(places.PICTURE, name=names),
    }


OUTPUTS = {"output": places.PAGE}


def run(
    *, notebook: Path, tidy: list[Path], provenance: Path, figures: list[Path], output: Path
) -> None:
    """Run a notebook on finished results with papermill, and render it to an HTML page."""
    from causaldq.pipeline.report.notebook import run_notebook

    run_notebook(notebook, tidy[0].parent, provenance, output)
