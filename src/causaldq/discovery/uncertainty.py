"""Several graphs that the in-control rows allow, instead of the one that they suggest."""

from dataclasses import replace

import numpy as np

from causaldq.discovery.algorithms import check, discover
from causaldq.discovery.graph import directions
from causaldq.discovery.orders import draw_graphs
from causaldq.discovery.settings import DiscoverySettings, UncertaintySettings
from causaldq.models.rows import block_bootstrap, block_length, memory
from causaldq.models.streams import StreamModel
from causaldq.types import Bools


def possible_graphs(
    model: StreamModel,
    discovery: DiscoverySettings,
    settings: UncertaintySettings,
    rng: np.random.Generator,
) -> Bools:
    """Equally likely acyclic graphs, (g, p, p); entry [i, j] says that i causes j.

    A known graph is not uncertain: only edges that it leaves open are settled in several ways.
    """
    known = discovery.algorithm in ("ground_truth", "file")
    if known or settings.by == "extensions":
        found = discover(model, discovery)
        return np.array(list(directions(found, settings.graphs, rng)))
    if settings.by == "bootstrap":
        return np.array([_bootstrap_graph(model, discovery, rng) for _ in range(settings.graphs)])
    check(model.rows, model.names)
    covariance = np.cov(model.rows, rowvar=False)
    return draw_graphs(covariance, _independent_rows(model), settings.graphs, settings.orders, rng)


def _bootstrap_graph(
    model: StreamModel, discovery: DiscoverySettings, rng: np.random.Generator
) -> Bools:
    """One way to settle the graph discovered on resampled rows."""
    n = len(model.rows)
    rows = block_bootstrap(model.rows, 1, n, block_length(model.rows), rng)[0]
    return next(directions(discover(replace(model, rows=rows), discovery), 1, rng))


def _independent_rows(model: StreamModel) -> int:
    """Rows that count: neighbours that repeat each other are not as many observations."""
    if model.records is None:
        return len(model.rows)
    return max(1, int(len(model.rows) / memory(model.rows).mean()))
