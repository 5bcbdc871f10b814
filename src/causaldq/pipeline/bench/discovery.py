"""Causal discovery beside causal-learn's own."""

from functools import partial

import numpy as np

from causaldq.discovery.algorithms import from_marks
from causaldq.discovery.pc import pc
from causaldq.discovery.settings import DiscoverySettings
from causaldq.pipeline.measure import Measurement, ratios, seconds
from causaldq.seeds import generator
from causaldq.types import Floats
from causaldq.worlds.simulation import SimulationSource, simulate

SIZES = (10, 30, 100)
LARGE = 300
"""Where the reference would take minutes."""


def discovery_speed(
    source: SimulationSource, settings: DiscoverySettings, rounds: int
) -> list[Measurement]:
    """The PC algorithm over causal-learn's, on the same rows; both give the same graph."""
    from causallearn.search.ConstraintBased.PC import pc as theirs

    def reference(rows: Floats) -> None:
        found = theirs(rows, alpha=settings.level, show_progress=False)
        graph, own = from_marks(found.G.graph), pc(rows, settings.level)
        if not np.array_equal(graph.directed, own.directed):
            raise AssertionError("causal-learn's graph is another one")

    measured = []
    for p in (*SIZES, LARGE):
        rng = generator(7, "bench", p)
        wanted = source.model_copy(update={"p": p, "rows": max(source.rows, 2 * p)})
        several = [simulate(wanted, rng).rows for _ in range(rounds if p < SIZES[-1] else 1)]
        ours = [seconds(partial(pc, rows, settings.level)) for rows in several]
        measured.append(Measurement(f"PC, p = {p}", ours, "s"))
        if p != LARGE:
            others = [seconds(partial(reference, rows)) for rows in several]
            what = f"PC's speed over causal-learn's, p = {p}"
            measured.append(Measurement(what, ratios(others, ours)))
    return measured
