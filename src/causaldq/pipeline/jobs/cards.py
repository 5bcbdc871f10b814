"""The page of lineage cards: where every measured number comes from."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.files import write_text
from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.report.tidy import Tidy
from causaldq.pipeline.sources.catalogue import Credits

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class CardsJob(Config):
    credits: dict[str, Credits]
    """What is said of data sets, by name."""


def settings(plan: "Plan") -> CardsJob:
    return plan.share(CardsJob, credits=plan.credits())


def inputs(plan: "Plan") -> "Files":
    from causaldq.pipeline.jobs.tidy_results import judged

    return {
        "template": "src/causaldq/pipeline/lineage/templates/cards.html",
        "tidy": judged(plan),
        "provenance": plan.place(places.PROVENANCE),
        "runs": plan.place_all(places.RUN, run=plan.runs),
        "limits": plan.place_all(places.LIMITS, limits=plan.limits),
        "facts": plan.place_all(places.STREAM_FACTS, source=plan.config.sources),
        "curves": plan.place_all(places.CURVE, network=plan.networks),
        "published": places.PUBLISHED,
    }


OUTPUTS = {"output": "results/{profile}/cards.html"}


def run(
    job: CardsJob, *, template: Path, tidy: list[Path], provenance: Path, runs: list[Path],
    limits: list[Path], facts: list[Path], curves: list[Path], published: Path, output: Path,
) -> None:  # fmt: skip
    """Write a card for every measured number, with the jobs behind it."""
    from causaldq.pipeline.lineage.cards import Given, cards_page
    from causaldq.pipeline.report.tidy import short_hash

    given = Given(runs, limits, facts, curves, published, job.credits)
    told = short_hash(provenance)
    write_text(output, cards_page(job, Tidy(job, tidy), given, told, template))
