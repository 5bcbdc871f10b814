"""The tidy summaries of all training runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from causaldq.files import write_csv
from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.contributing import joined
from causaldq.pipeline.evaluation.graphs import graph_table
from causaldq.pipeline.evaluation.training import read_curves, summarise
from causaldq.pipeline.plan import Plan

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files


def inputs(plan: Plan) -> "Files":
    return {
        "curves": plan.place_all(places.CURVE, network=plan.networks),
        "summaries": plan.place_all(places.GRAPH_SUMMARY, graph=plan.graphs()),
        "published": places.PUBLISHED,
    }


OUTPUTS = {
    "output": "results/{profile}/training.csv",
    "tidy": "results/{profile}/curves.csv",
    "graphs": "results/{profile}/graphs.csv",
}


def run(
    config: Config, *, curves: list[Path], summaries: list[Path], published: Path,
    output: Path, tidy: Path, graphs: Path,
) -> None:  # fmt: skip
    """Gather all training logs: final reward, epochs to reach it, hit shares, graph quality."""
    logs = read_curves(curves)
    summary = summarise(logs, config.evaluation.confidence)
    trained: dict[tuple[str, str, str], list[Path]] = {}
    for path in curves:
        scenario, method, _, protocol = path.stem.split(".")
        trained.setdefault((scenario, protocol, method), []).append(path)
    keys = zip(summary["scenario"], summary["protocol"], summary["method"], strict=True)
    write_csv(output, summary.assign(files=[joined(trained[key]) for key in keys]))
    write_csv(tidy, logs)
    by_graph = {path.stem: path for path in summaries}
    quality = graph_table(config, logs, by_graph, pd.read_csv(published))
    plan = Plan(config)
    used = [
        [*trained[scenario, "paper", method], by_graph[plan.graph_of(scenario)]]
        for scenario, method in zip(quality["scenario"], quality["method"], strict=True)
    ]
    write_csv(graphs, quality.assign(files=[joined(paths) for paths in used]))
