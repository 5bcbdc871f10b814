"""What sources, shifts and graphs look like: tidy, for the pages that show them."""

from pathlib import Path
from typing import Any

import pandas as pd

from causaldq.config import Config
from causaldq.discovery.graph import Graph
from causaldq.evaluation.edges import COLUMNS, edge_table
from causaldq.files import read_arrays, read_json, write_csv
from causaldq.plan import Plan
from causaldq.shifts import InjectedSet
from causaldq.sources.catalogue import Catalogue, read_catalogue
from causaldq.sources.settings import SimulationSource
from causaldq.streams.model import StreamModel

SHIFTED, QUIET = 3, 2
"""Streams that are shown of each replication: so many that shift, so many that do not."""
SHOWN_STEPS = 60
"""Steps after the change that are shown."""

SOURCE_COLUMNS = [
    *("source", "kind", "label", "title", "p", "rows", "held_out_rows", "covariance"),
    *("events", "address", "licence", "notes", "passed_over"),
]

Files = dict[str, Path]


def run_describe(
    config: Config, catalogue: Path, facts: Files, streams: Files, injected: Files, graphs: Files,
    sources: Path, paths: Path, edges: Path,
) -> None:  # fmt: skip
    """Tables of the sources, of one replication each, and of the edges of their graphs."""
    known = {name: read_json(path) for name, path in facts.items()}
    listed = read_catalogue(catalogue)
    rows = [_source(config, name, known[name], listed) for name in config.sources]
    write_csv(sources, pd.DataFrame(rows, columns=SOURCE_COLUMNS))
    drawn = [
        _replication(config, source, scenario, known[source]["streams"], injected[scenario])
        for source, scenario in Plan(config).drawn().items()
    ]
    write_csv(paths, pd.concat(drawn, ignore_index=True))
    found = [_edges(name, streams[name], path) for name, path in graphs.items()]
    write_csv(edges, pd.concat(found) if found else pd.DataFrame(columns=COLUMNS))


def _source(
    config: Config, name: str, facts: dict[str, Any], catalogue: Catalogue
) -> dict[str, Any]:
    """What there is to know of a source."""
    wanted = config.sources[name]
    row = {"source": name, "kind": wanted.kind, "label": facts["label"], "p": facts["p"]}
    if isinstance(wanted, SimulationSource):
        return row | {
            "title": "Linear Gaussian streams on a random graph,"
            f" {wanted.expected_degree:g} edges a stream expected",
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
    if data_set not in catalogue.sets:
        return row | {"title": facts["label"]}
    entry = catalogue[data_set]
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
