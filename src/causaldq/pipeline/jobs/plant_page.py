"""The page of a run on the user's own data."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.files import write_text
from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.jobs import front_page, policy, prepare
from causaldq.pipeline.report.tidy import Tidy

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


def inputs(plan: "Plan") -> "Files":
    from causaldq.pipeline.jobs.tidy_results import judged
    from causaldq.pipeline.report.catalogue import catalogue

    shown = catalogue(plan.config)
    return {
        "template": "src/causaldq/pipeline/report/templates/plant.html",
        "tidy": judged(plan),
        "provenance": plan.place(places.PROVENANCE),
        "figures": plan.place_all(places.PICTURE, name=[figure.name for figure in shown.figures]),
        "notebooks": plan.place_all(places.PAGE, name=shown.notebooks),
        "monitors": plan.place_all(policy.OUTPUTS["output"], run=plan.policies()),
        "rows": plan.place_all(prepare.OUTPUTS["tidy"], source=plan.config.sources),
    }


OUTPUTS = front_page.OUTPUTS


def run(
    config: Config, *, template: Path, tidy: list[Path], provenance: Path, figures: list[Path],
    notebooks: list[Path], monitors: Sequence[Path] = (), rows: list[Path], output: Path,
) -> None:  # fmt: skip
    """Write the page of a plant: what to watch it with, and what that says of its rows."""
    from causaldq.pipeline.report.plant_page import plant_page
    from causaldq.pipeline.report.tidy import short_hash

    results, told = Tidy(config, tidy), short_hash(provenance)
    page = plant_page(results, told, monitors, rows, figures, notebooks, template)
    write_text(output, page)
