"""Graphs of chosen quality, and the table that says how good they were."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from causaldq.discovery.degrade import degraded
from causaldq.discovery.graph import Graph, is_acyclic, quality
from causaldq.files import write_json
from causaldq.models.order import topological_order
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.graphs import graph_table
from causaldq.pipeline.jobs import discover
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.plan import Plan
from causaldq.pipeline.report.catalogue import catalogue
from causaldq.seeds import generator
from causaldq.worlds.simulation import simulate

CONFIG = load_config(Path(__file__).parents[2] / "config", {"profile": "paper"})


def a_truth(p: int, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    order = rng.permutation(p)
    directed = np.triu(rng.random((p, p)) < 6 / (p - 1), 1)[np.ix_(order, order)]
    return Graph(directed, np.zeros((p, p), dtype=bool))


@pytest.mark.parametrize("seed", range(5))
def test_a_graph_of_low_quality_has_the_quality_asked_for(seed: int) -> None:
    truth = a_truth(50, seed)
    low = degraded(truth, 0.17, 0.89, np.random.default_rng(seed))
    found = quality(low, truth)
    assert found.tpr == pytest.approx(0.17, abs=0.01)
    assert found.fdr == pytest.approx(0.89, abs=0.01)
    assert is_acyclic(low.directed)


def test_the_order_puts_causes_first() -> None:
    truth = a_truth(12, 1)
    place = np.argsort(topological_order(truth.directed))
    assert all(place[i] < place[j] for i, j in np.argwhere(truth.directed))
    cycle = np.array([[0, 1], [1, 0]], dtype=bool)
    with pytest.raises(ValueError, match="cycle"):
        topological_order(cycle)


def test_every_quality_is_what_it_says(tmp_path: Path) -> None:
    plan = Plan(CONFIG)
    wanted = CONFIG.sources["sim_p10"]
    model = simulate(wanted, generator(1, "graphs"))  # type: ignore[arg-type]
    model.save(tmp_path / "streams.npz")
    found = {}
    for name in ("sim_p10", "sim_p10.no_edges", "sim_p10.low", "sim_p10.ground_truth"):
        graph, summary = tmp_path / f"{name}.npz", tmp_path / f"{name}.json"
        job = discover.settings(plan, name)
        discover.run(job, streams=tmp_path / "streams.npz", output=graph, summary=summary)
        found[name] = pd.read_json(summary, typ="series")
    assert found["sim_p10.ground_truth"]["shd"] == 0
    assert found["sim_p10.ground_truth"]["tpr"] == 1
    assert found["sim_p10.no_edges"]["edges"] == 0
    assert found["sim_p10.no_edges"]["tpr"] == 0
    low, estimated = found["sim_p10.low"], found["sim_p10"]
    assert low["tpr"] < estimated["tpr"]
    assert low["algorithm"] == "low"
    assert estimated["algorithm"] == "pc"


def test_the_table_averages_over_the_last_epochs_and_seeds(tmp_path: Path) -> None:
    epochs = np.arange(1, 81)
    logs = pd.concat(
        [
            pd.DataFrame(
                {
                    "epoch": epochs,
                    # 100 before the last 50 epochs, then the seed's own value
                    "selected_shd": np.where(epochs <= 30, 100.0, value),
                    "selected_tpr": 0.5,
                    "selected_fdr": np.nan,
                }
            ).assign(scenario=scenario, protocol=protocol, method=method, training_seed=seed)
            for scenario in ("p50", "quality_low", "quality_non_causal")
            for protocol, method, seed, value in [
                ("paper", "causal_dq", "s0", 4.0),
                ("paper", "causal_dq", "s1", 8.0),
                ("fair", "causal_dq", "s0", 50.0),
                ("paper", "non_causal", "s0", np.nan),
            ]
        ]
    )
    summaries = {}
    for graph in Plan(CONFIG).graphs():
        summaries[graph] = tmp_path / f"{graph}.json"
        write_json(summaries[graph], {"algorithm": "pc", "shd": 9, "tpr": 0.4, "fdr": 0.3})
    published = pd.read_csv(Path(__file__).parents[2] / "data/reference/published.csv")
    table = graph_table(CONFIG, logs, summaries, published).set_index(["scenario", "method"])
    row = table.loc[("p50", "causal_dq")]
    assert row["mshd"] == 6.0
    assert row["mtpr"] == 0.5
    assert row["published_mshd"] == 33.2
    assert row["n_seeds"] == 2
    assert ("p50", "non_causal") not in table.index
    low = table.loc[("quality_low", "causal_dq")]
    assert (low["setting"], low["published_mtpr"]) == ("low", 0.17)
    assert np.isnan(table.loc[("quality_non_causal", "non_causal"), "whole_shd"])


def test_jobs_show_what_the_workflow_expects_of_them() -> None:
    """Settings keep their order on the way to a job: names and places depend on it."""
    told = Config.model_validate_json(CONFIG.as_argument())
    here, there = catalogue(CONFIG), catalogue(told)
    assert [table.name for table in here.tables] == [table.name for table in there.tables]
    assert [figure.name for figure in here.figures] == [figure.name for figure in there.figures]
    assert list(told.scenarios) == list(CONFIG.scenarios)
