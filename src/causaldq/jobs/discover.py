"""Causal discovery on a source."""

from pathlib import Path

import numpy as np

from causaldq.discovery.algorithms import discover
from causaldq.discovery.effects import propagation_effects
from causaldq.discovery.graph import Graph, quality
from causaldq.files import write_arrays, write_json
from causaldq.jobs.settings import DiscoverJob
from causaldq.seeds import generator
from causaldq.streams.model import StreamModel


def run_discover(job: DiscoverJob, streams: Path, output: Path, summary: Path) -> None:
    """Estimate the causal graph and the effects along it; compare it with the truth."""
    model = StreamModel.load(streams)
    graph = discover(model, job.discovery)
    rng = generator(job.seed, job.source, "directions")
    correlation = np.asarray(np.corrcoef(model.rows, rowvar=False))
    effects = propagation_effects(graph, correlation, job.discovery.max_directions, rng)
    compared = quality(graph, Graph.from_effects(model.effects))
    write_arrays(
        output,
        {"directed": graph.directed, "undirected": graph.undirected, "effects": effects},
    )
    write_json(
        summary,
        {
            "algorithm": job.discovery.algorithm,
            "column_order": list(model.names),
            "rows": len(model.rows),
            "edges": graph.edges(),
            "undirected": int(graph.undirected.sum() // 2),
            "true_edges": int((model.effects != 0).sum()),
            "shd": compared.shd,
            "tpr": compared.tpr,
            "fdr": compared.fdr,
        },
    )
