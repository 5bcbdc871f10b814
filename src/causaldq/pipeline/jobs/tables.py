"""Tables: LaTeX, a tidy twin of each, and the headline in Markdown."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.files import by_name, write_csv, write_text
from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.training import verdict
from causaldq.pipeline.report.catalogue import catalogue, headline_scenario, training_shown
from causaldq.pipeline.report.claims import claims_summary
from causaldq.pipeline.report.markdown import headline as headline_table
from causaldq.pipeline.report.tidy import Tidy

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


def inputs(plan: "Plan") -> "Files":
    from causaldq.pipeline.jobs.tidy_results import judged

    return {"tidy": judged(plan)}


def outputs(plan: "Plan") -> "Files":
    names = [table.name for table in catalogue(plan.config).tables]
    return {
        "latex": plan.place_all(places.TABLE, name=names),
        "twins": plan.place_all(places.TWIN, name=names),
        "headline": "results/{profile}/headline.md",
    }


def run(
    config: Config, *, tidy: list[Path], latex: list[Path], twins: list[Path], headline: Path
) -> None:
    """Write each LaTeX table and its tidy twin from the tidy results, and the headline table."""
    results, latex_of, twin_of = Tidy(config, tidy), by_name(latex), by_name(twins)
    for table in catalogue(config).tables:
        write_csv(twin_of[table.name], table.twin(results))
        write_text(latex_of[table.name], table.latex(results))
    text = headline_table(results.cells(headline_scenario(config)))
    if "claims" in results.files:
        text += "\n" + "\n".join(f"- {line}" for line in claims_summary(results.claims)) + "\n"
    if "training" in results.files:
        text += "\n" + "\n".join(f"- {line}" for line in verdict(training_shown(results))) + "\n"
    write_text(headline, text)
