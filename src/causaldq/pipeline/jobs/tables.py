"""Tables: LaTeX, a tidy twin of each, and the headline in Markdown."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.files import by_name, write_csv, write_text
from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.report.catalogue import catalogue, headline_scenario
from causaldq.pipeline.report.headline import headline_text
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
    scenario = headline_scenario(config)
    claims = results.claims if "claims" in results.files else None
    write_text(headline, headline_text(scenario, results.cells(scenario), claims))
