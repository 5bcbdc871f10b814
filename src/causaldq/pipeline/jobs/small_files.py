"""What is small enough for git, so that a clone can compute every number again from its runs."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.pipeline import places

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


def inputs(plan: "Plan") -> "Files":
    return {
        "files": [
            *plan.place_all(places.RUN, run=plan.runs),
            *plan.place_all(places.LIMITS, limits=plan.limits),
            *plan.place_all(places.FETCHED, source=plan.fetched()),
            *plan.place_all(places.STREAM_FACTS, source=plan.config.sources),
            *plan.place_all(places.GRAPH, graph=plan.graphs()),
            *plan.place_all(places.GRAPH_SUMMARY, graph=plan.graphs()),
            *plan.place_all(places.POSSIBLE_GRAPHS, source=plan.with_possible_graphs()),
            *plan.place_all(places.CURVE, network=[*plan.networks, *plan.shared_networks()]),
            *plan.place_all(places.STUDY, study=plan.studies()),
            *plan.place_all(places.STUDY_EXAMPLE, study=plan.studies()),
            *plan.place_all(places.CROSSED, policy=plan.crossed()),
        ]
    }


OUTPUTS = {"output": "results/{profile}/small_files.parquet"}


def run(*, files: list[Path], output: Path) -> None:
    """Keep runs, limits, graphs and what else is small, byte for byte, beside the results."""
    from causaldq.pipeline.lineage.small_files import write_small_files

    write_small_files(output, files, level=19)
