"""Figures. Most show no delays, and need not wait for them, so that they are two jobs."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.report.catalogue import catalogue
from causaldq.pipeline.report.tidy import Tidy

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


def inputs(plan: "Plan", of_delays: bool) -> "Files":
    from causaldq.pipeline.jobs import tidy_results

    delays = tidy_results.delays(plan)
    others = [path for path in tidy_results.measured(plan) if path not in delays]
    return {"tidy": delays if of_delays else others}


def outputs(plan: "Plan", of_delays: bool) -> "Files":
    figures = catalogue(plan.config).figures
    names = [figure.name for figure in figures if figure.of_delays == of_delays]
    return {
        "pdf": plan.place_all(places.FIGURE, name=names),
        "png": plan.place_all(places.PICTURE, name=names),
    }


def run(config: Config, *, tidy: list[Path], pdf: list[Path], png: list[Path]) -> None:
    """Draw figures, as PDF and PNG, from the tidy results."""
    from causaldq.pipeline.report.figures import save_both

    results = Tidy(config, tidy)
    drawn = {figure.name: figure for figure in catalogue(config).figures}
    for path in pdf:
        save_both(partial(drawn[path.stem].draw, results), path.with_suffix(""))
