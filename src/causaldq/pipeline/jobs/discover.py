"""Causal discovery on a source."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from causaldq.discovery.algorithms import discover
from causaldq.discovery.degrade import degraded
from causaldq.discovery.effects import propagation_effects
from causaldq.discovery.graph import Graph, quality
from causaldq.discovery.settings import DiscoverySettings
from causaldq.files import write_arrays, write_json
from causaldq.models.streams import StreamModel
from causaldq.pipeline import places
from causaldq.seeds import generator
from causaldq.setting import GraphQualities, Settings

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


class DiscoverJob(Settings):
    seed: int
    source: str
    discovery: DiscoverySettings
    quality: GraphQualities


def settings(plan: "Plan", graph: str) -> DiscoverJob:
    source, _, quality = graph.partition(".")
    return plan.share(DiscoverJob, source=source, quality=quality or "estimated")


def inputs(plan: "Plan", graph: str) -> "Files":
    return {"streams": plan.place(places.STREAMS, source=graph.partition(".")[0])}


OUTPUTS = {"output": places.GRAPH, "summary": places.GRAPH_SUMMARY}


def run(job: DiscoverJob, *, streams: Path, output: Path, summary: Path) -> None:
    """Estimate the causal graph of the streams from in-control rows, and the effects along it.

    The summary compares it with the true graph, where that is known.
    """
    model = StreamModel.load(streams)
    graph = _graph(job, model)
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
            "algorithm": job.discovery.algorithm if job.quality == "estimated" else job.quality,
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


def _graph(job: DiscoverJob, model: StreamModel) -> Graph:
    """The estimated graph, or one that is better or worse than could be estimated."""
    if job.quality == "estimated":
        return discover(model, job.discovery)
    if job.quality == "no_edges":
        return Graph.empty(model.p)
    truth = Graph.from_effects(model.effects)
    if job.quality == "ground_truth":
        return truth
    rng = generator(job.seed, job.source, "low quality")
    return degraded(truth, job.discovery.low_tpr, job.discovery.low_fdr, rng)
