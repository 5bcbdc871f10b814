"""Comparisons over all shift sizes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from causaldq.files import by_name, read_json, write_csv
from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.contributing import joined
from causaldq.pipeline.evaluation.aggregate import read_delays
from causaldq.pipeline.evaluation.overall import crossing, overall
from causaldq.pipeline.plan import Plan

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files


def inputs(plan: Plan) -> "Files":
    return {
        "runs": plan.place_all(places.RUN, run=plan.compared()),
        "facts": plan.place_all(places.STREAM_FACTS, source=plan.config.sources),
        "crossed": plan.place_all(places.CROSSED, policy=plan.crossed()),
    }


OUTPUTS = {"output": "results/{profile}/overall.csv", "cross": "results/{profile}/cross.csv"}


def run(
    config: Config, *, runs: Sequence[Path] = (), facts: list[Path],
    crossed: Sequence[Path] = (), output: Path, cross: Path,
) -> None:  # fmt: skip
    """Compare methods over all shift sizes, and policies with every statistic."""
    plan = Plan(config)
    sizes = {path.stem: int(read_json(path)["p"]) for path in facts}
    by_scenario = {name: sizes[plan.source_of(name)] for name in config.scenarios}
    found = overall(config, read_delays(plan, by_name(runs)), by_scenario)
    used = [
        [p for p in runs if _is_of(plan, p, row["scenario"], {row["method"], row["against"]})]
        for _, row in found.iterrows()
    ]
    write_csv(output, found.assign(files=[joined(paths) for paths in used]))
    table = crossing([pd.read_csv(path) for path in crossed])
    by_policy = {path.stem: str(path) for path in crossed}
    write_csv(cross, table.assign(files=[by_policy[name] for name in table["policy"]]))


def _is_of(plan: Plan, path: Path, scenario: str, methods: set[str]) -> bool:
    run = plan.runs[path.stem]
    return run.scenario == scenario and run.method in methods
