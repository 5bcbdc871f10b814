"""The tidy tables of all runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from causaldq.files import by_name, write_csv
from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.aggregate import (
    aggregate,
    aggregate_events,
    gather,
)

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


def inputs(plan: "Plan") -> "Files":
    return {
        "runs": plan.place_all(places.RUN, run=plan.runs),
        "limits": plan.place_all(places.LIMITS, limits=plan.limits),
        "facts": plan.place_all(places.STREAM_FACTS, source=plan.config.sources),
        "published": places.PUBLISHED,
    }


OUTPUTS = {"add": "results/{profile}/add.csv", "events": "results/{profile}/events.csv"}


def run(
    config: Config, *, runs: list[Path], limits: list[Path], facts: list[Path], published: Path,
    add: Path, events: Path,
) -> None:  # fmt: skip
    """Gather all runs into the tidy tables, with the published numbers beside the measured ones."""
    gathered = gather(config, by_name(runs), by_name(limits), by_name(facts))
    write_csv(add, aggregate(gathered, pd.read_csv(published)))
    write_csv(events, aggregate_events(gathered))
