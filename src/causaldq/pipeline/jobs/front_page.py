"""The page that a person reads first."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.files import write_text
from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.report.tidy import Tidy

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class FrontPageJob(Config):
    has_document: bool
    """Whether there is a paper.pdf to link to."""


def settings(plan: "Plan") -> FrontPageJob:
    return plan.share(FrontPageJob, has_document=plan.has_latex)


def inputs(plan: "Plan") -> "Files":
    from causaldq.pipeline.jobs.tidy_results import judged
    from causaldq.pipeline.report.catalogue import catalogue

    shown = catalogue(plan.config)
    return {
        "template": "src/causaldq/pipeline/report/templates/overview.html",
        "tidy": judged(plan),
        "provenance": plan.place(places.PROVENANCE),
        "notebooks": [f"notebooks/{name}.ipynb" for name in shown.notebooks],
    }


OUTPUTS = {"output": "results/{profile}/overview.html"}


def run(
    job: FrontPageJob, *, template: Path, tidy: list[Path], provenance: Path,
    notebooks: list[Path], output: Path,
) -> None:  # fmt: skip
    """Write the page that a person reads first, from tidy results and finished figures."""
    from causaldq.pipeline.report.front_page import front_page
    from causaldq.pipeline.report.tidy import short_hash

    results = Tidy(job, tidy)
    told = short_hash(provenance)
    page = front_page(job, results, told, notebooks, template, document=job.has_document)
    write_text(output, page)
