"""What sources, shifts and graphs look like: tidy, for the pages that show them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from causaldq.discovery.graph import Graph
from causaldq.files import by_name, read_arrays, read_json, write_csv
from causaldq.models.streams import StreamModel
from causaldq.pipeline import places
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.edges import COLUMNS, edge_table
from causaldq.pipeline.plan import Plan
from causaldq.pipeline.sources.catalogue import Credits
from causaldq.worlds.shifts import InjectedSet
from causaldq.worlds.simulation import SimulationSource

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files


class DescribeJob(Config):
    credits: dict[str, Credits]
    """What is said of data sets, by name; of data/sources.yaml, what results show."""


def settings(plan: Plan) -> DescribeJob:
    return plan.share(DescribeJob, credits=plan.credits())


def inputs(plan: Plan) -> "Files":
    sources = plan.config.sources
    # Where nothing is trained, nobody needs a graph.
    known = sources if plan.networks else []
    return {
        "facts": plan.place_all(places.STREAM_FACTS, source=sources),
        "injected": plan.place_all(places.INJECTED, scenario=plan.drawn().values()),
        "streams": plan.place_all(places.STREAMS, source=known),
        "graphs": plan.place_all(places.GRAPH, graph=known),
    }


OUTPUTS = {
    "sources": "results/{profile}/sources.csv",
    "paths": "results/{profile}/paths.csv",
    "edges": "results/{profile}/edges.csv",
}

SHIFTED, QUIET = 3, 2
"""Streams that are shown of each replication: so many that shift, so many that do not."""
SHOWN_STEPS = 60
"""Steps after the change that are shown."""

SOURCE_COLUMNS = [
    *("source", "kind", "label", "title", "p", "rows", "held_out_rows", "covariance"),
    *("events", "address", "licence", "notes", "passed_over"),
]


def run(
    job: DescribeJob, *, facts: list[Path], injected: list[Path],
    streams: Sequence[Path] = (), graphs: Sequence[Path] = (),
    sources: Path, paths: Path, edges: Path,
) -> None:  # fmt: skip
    """Describe sources, one replication of each, and the edges of their graphs, as tidy tables."""
    known = {path.stem: read_json(path) for path in facts}
    rows = [_source(job, name, known[name]) for name in job.sources]
    write_csv(sources, pd.DataFrame(rows, columns=SOURCE_COLUMNS))
    sets, rows_of = by_name(injected), by_name(streams)
    drawn = [
        _replication(job, source, scenario, known[source]["streams"], sets[scenario])
        for source, scenario in Plan(job).drawn().items()
    ]
    write_csv(paths, pd.concat(drawn, ignore_index=True))
    found = [_edges(path.stem, rows_of[path.stem], path) for path in graphs]
    write_csv(edges, pd.concat(found) if found else pd.DataFrame(columns=COLUMNS))


def _source(job: DescribeJob, name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """What there is to know of a source."""
    wanted = job.sources[name]
    row = {"source": name, "kind": wanted.kind, "label": facts["label"], "p": facts["p"]}
    if isinstance(wanted, SimulationSource):
        return row | {
            "title": "Linear Gaussian streams on a random graph,"
            f" {wanted.expected_degree:g} edges per stream expected",
            "rows": wanted.rows,
            "covariance": "known",
        }
    row |= {
        "rows": facts["in_control_rows"],
        "held_out_rows": facts["held_out_rows"],
        "covariance": facts["covariance"],
        "events": len(facts["events"]),
        "notes": "; ".join(facts["notes"]),
        "passed_over": "; ".join(facts["passed_over"]),
    }
    # Data sets are labelled with where they came from; what the user gave is in no catalogue.
    data_set = facts["label"].partition(" (")[0]
    if data_set not in job.credits:
        return row | {"title": facts["label"]}
    entry = job.credits[data_set]
    return row | {"title": entry.title, "address": entry.address, "licence": entry.licence}


def _replication(
    config: Config, source: str, scenario: str, names: list[str], injected: Path
) -> pd.DataFrame:
    """Some streams of a scenario's first replication, at a shift of 1 if there is one."""
    wanted = config.scenarios[scenario]
    delta = 1.0 if 1.0 in wanted.deltas else max(wanted.deltas)
    sets = InjectedSet.load(injected)
    parts = []
    for protocol in config.protocols:
        shifted = sets.shifted[protocol][0]
        mean = sets.mean(protocol, wanted.cases[0], delta, wanted.sigmas[0])[0]
        values = sets.paths[protocol][0, : sets.change + SHOWN_STEPS]
        for stream in [*shifted.nonzero()[0][:SHIFTED], *(~shifted).nonzero()[0][:QUIET]]:
            part = pd.DataFrame({"step": range(len(values)), "value": values[:, stream]})
            part["mean"] = (part["step"] >= sets.change) * mean[stream]
            part["value"] += part["mean"]
            parts.append(
                part.assign(protocol=protocol, stream=names[stream], shifted=int(shifted[stream]))
            )
    return pd.concat(parts, ignore_index=True).assign(
        source=source, scenario=scenario, delta=delta, change=sets.change
    )


def _edges(source: str, streams: Path, graph: Path) -> pd.DataFrame:
    model = StreamModel.load(streams)
    found = read_arrays(graph, "directed", "undirected")
    truth = Graph.from_effects(model.effects) if model.records is None else None
    estimated = Graph(found["directed"], found["undirected"])
    return edge_table(source, list(model.names), estimated, truth)
