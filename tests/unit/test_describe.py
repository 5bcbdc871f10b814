"""What the pages show of sources, shifts and graphs is what is there."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from causaldq.discovery.graph import Graph, quality
from causaldq.pipeline.evaluation.edges import KINDS, UNJUDGED, edge_counts, edge_table
from causaldq.pipeline.jobs import describe, discover, inject, simulate
from causaldq.pipeline.jobs.describe import QUIET, SHIFTED, SOURCE_COLUMNS
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.plan import Plan
from causaldq.worlds.shifts import InjectedSet

ROOT = Path(__file__).parents[2]
CONFIG = load_config(ROOT / "config", {"profile": "ci", "only": ["p10"]})
NAMES = [f"x{i}" for i in range(8)]


def graphs(seed: int) -> tuple[Graph, Graph]:
    """A true graph, and one that has edges of every kind."""
    rng = np.random.default_rng(seed)
    p = len(NAMES)
    true = np.triu(rng.random((p, p)) < 0.5, k=1)
    draw = np.triu(rng.integers(5, size=(p, p)), k=1)
    directed = (draw == 1) | (draw == 2).T
    undirected = (draw == 3) | (draw == 3).T
    return Graph(directed, undirected), Graph(true, np.zeros((p, p), dtype=bool))


@pytest.mark.parametrize("seed", range(20))
def test_edges_add_up_to_the_quality_of_the_graph(seed: int) -> None:
    found, truth = graphs(seed)
    table = edge_table("plant", NAMES, found, truth)
    counted = edge_counts(table).iloc[0]
    expected = quality(found, truth)
    assert counted["SHD"] == expected.shd
    assert counted["TPR"] == pytest.approx(expected.tpr)
    assert counted["FDR"] == pytest.approx(expected.fdr)
    there = table[table["kind"] != "extra"]
    pairs = list(zip(there["cause_place"], there["effect_place"], strict=True))
    assert sorted(pairs) == [tuple(edge) for edge in np.argwhere(truth.directed).tolist()]


def test_nothing_is_judged_where_the_truth_is_not_known() -> None:
    found, _ = graphs(0)
    table = edge_table("plant", NAMES, found, None)
    assert set(table["kind"]) == set(UNJUDGED)
    assert not set(UNJUDGED) & set(KINDS)
    assert len(table) == found.edges()


def test_a_replication_is_shown_as_it_was_injected(tmp_path: Path) -> None:
    plan = Plan(CONFIG)
    assert plan.drawn() == {"sim_p10": "p10"}
    files = {name: tmp_path / name for name in ("p10.npz", "sources", "paths", "edges", "summary")}
    streams, facts, graph = (tmp_path / f"sim_p10.{kind}" for kind in ("npz", "json", "graph"))
    simulate.run(simulate.settings(plan, "sim_p10"), streams=streams, facts=facts)
    inject.run(inject.settings(plan, "p10"), streams=streams, output=files["p10.npz"])
    discovered = discover.settings(plan, "sim_p10")
    discover.run(discovered, streams=streams, output=graph, summary=files["summary"])
    describe.run(
        describe.settings(plan),
        facts=[facts],
        streams=[streams],
        injected=[files["p10.npz"]],
        graphs=[graph],
        sources=files["sources"],
        paths=files["paths"],
        edges=files["edges"],
    )
    sets = InjectedSet.load(files["p10.npz"])
    table = pd.read_csv(files["paths"])
    for (protocol, stream), rows in table.groupby(["protocol", "stream"]):
        place = int(str(stream).removeprefix("x")) - 1
        in_control = sets.paths[protocol][0, : len(rows), place]
        is_shifted = sets.shifted[protocol][0, place]
        # p10 of the test profile has shifts of 0.5 and 2.
        added = np.where(np.arange(len(rows)) >= sets.change, 2.0 * is_shifted, 0.0)
        assert rows["shifted"].eq(is_shifted).all()
        assert np.allclose(rows["value"], in_control + added)
        assert np.allclose(rows["mean"], added)
    counts = table.groupby(["protocol", "shifted"])["stream"].nunique()
    assert counts.tolist() == [QUIET, SHIFTED] * 2
    source = pd.read_csv(files["sources"]).iloc[0]
    assert list(source.index) == SOURCE_COLUMNS
    assert (source["source"], source["p"], source["covariance"]) == ("sim_p10", 10, "known")
    assert set(pd.read_csv(files["edges"])["kind"]) <= set(KINDS)
