"""The study of shifts that propagate downstream: what is shifted, told, and follows from it."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made import made_network
from scipy.stats import t

from causaldq.learn.equivariant.checkpoint import save_equivariant
from causaldq.methods.causal_dq import CausalDq
from causaldq.methods.causal_sr import CausalSr
from causaldq.pipeline.jobs import propagation
from causaldq.pipeline.jobs.name_causes import _identified
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.plan import Plan
from causaldq.pipeline.propagation.example import example
from causaldq.pipeline.propagation.settings import StudyJob
from causaldq.pipeline.propagation.study import Study
from causaldq.pipeline.propagation.summary import BEST, compared, over_graphs
from causaldq.pipeline.report.judges import JUDGES
from causaldq.pipeline.report.propagation import (
    compared_table,
    layout,
    named_caption,
    named_table,
    propagation_table,
)
from causaldq.pipeline.report.tidy import Tidy

ROOT = Path(__file__).parents[2]
CONFIG = load_config(ROOT / "config", {"profile": "ci"})
Delays = dict[tuple[str, str], list[float]]


def job(**changed: Any) -> StudyJob:
    return propagation.settings(Plan(CONFIG), "p6.g0").model_copy(update=changed)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    network = tmp_path_factory.mktemp("networks") / "causal_dq_eq.s0.safetensors"
    save_equivariant(network, made_network(causal=True), code="of a test")
    return Study(job(), {"causal_dq_eq": network})


def test_effects_follow_their_causes(study: Study) -> None:
    """The mean of a cell is what an intervention on the causes' own terms would bring."""
    cells, effects = study.cells, study.model.effects
    for row in range(len(cells.mean)):
        own = cells.mean[row] - cells.mean[row] @ effects
        assert (
            np.flatnonzero(np.abs(own) > 1e-12).tolist()
            == np.flatnonzero(cells.causes[row]).tolist()
        )
        np.testing.assert_allclose(np.abs(own[cells.causes[row]]), cells.delta[row])
        settled = np.zeros(study.model.p)
        for _ in range(study.model.p):
            settled = own + settled @ effects
        np.testing.assert_allclose(cells.mean[row], settled, atol=1e-12)


def test_agents_are_trained_on_the_first_graphs_only() -> None:
    study = CONFIG.propagation
    assert study is not None
    few = CONFIG.model_copy(update={"propagation": study.model_copy(update={"agent_graphs": 1})})
    first, second = (
        {one.method for one in propagation.settings(Plan(few), name).contestants}
        for name in ("p6.g0", "p6.g1")
    )
    assert first - second == {"causal_dq", "non_causal"}
    assert not second - first


def test_cells_share_their_causes(study: Study) -> None:
    """A larger shift is of the same streams; more causes include those of fewer."""
    cells, n = study.cells, study.job.replications
    assert cells.causes.sum(axis=1).tolist() == cells.roots.tolist()
    one, two = cells.roots == 1, cells.roots == 2
    np.testing.assert_allclose(cells.mean[one][n:], 2 * cells.mean[one][:n])
    assert (cells.causes[two] >= cells.causes[one]).all()


def test_who_is_told_the_rows_knows_nothing_else(study: Study) -> None:
    other = Study(study.job, study.networks)
    turned = replace(study.model, covariance=np.eye(study.model.p), effects=study.model.effects.T)
    other.__dict__["model"] = turned
    for contestant in (c for c in study.job.contestants if c.training is None):
        before, after = study.method(contestant), other.method(contestant)
        same = np.array_equal(before.problem.covariance, after.problem.covariance)
        assert same == (contestant.told == "rows"), contestant.method
        if isinstance(before, CausalSr) and isinstance(after, CausalSr) and same:
            np.testing.assert_array_equal(before.hypotheses.signatures, after.hypotheses.signatures)


def test_an_agent_is_trained_on_the_graph_it_is_tested_on(study: Study) -> None:
    by_name = {c.method: c for c in study.job.contestants if c.training is not None}
    assert set(by_name) == {"causal_dq", "non_causal"}
    trained = {name: study.method(contestant) for name, contestant in by_name.items()}
    assert all(isinstance(method, CausalDq) for method in trained.values())
    reach = study.model.total_effects() != 0
    np.testing.assert_array_equal(trained["causal_dq"].effects != 0, reach)
    assert trained["non_causal"].effects is None
    plan = by_name["causal_dq"].training.plan
    assert (plan.protocol, plan.propagate, plan.k) == ("fair", True, 1)


def test_rows_alone_train_nobody(study: Study) -> None:
    agent = next(c for c in study.job.contestants if c.training is not None)
    with pytest.raises(ValueError, match="streams that are known"):
        study.method(agent.model_copy(update={"told": "rows"}))


def test_a_scenario_may_have_more_training_seeds_and_shared_networks_do_not() -> None:
    changed = {"profile": "ci", "training_seeds": 2, "scenarios": {"p10": {"training_seeds": 3}}}
    plan = Plan(load_config(ROOT / "config", changed))
    seeds: dict[str, set[int | None]] = {}
    for run in plan.runs.values():
        if run.scenario == "p10":
            seeds.setdefault(run.method, set()).add(run.seed)
    assert seeds["causal_dq"] == {0, 1, 2}
    assert seeds["causal_dq_eq"] == {0, 1}
    assert seeds["greedy"] == {None}
    assert {network.run.seed for network in plan.networks.values()} >= {0, 1, 2}


def test_graphs_take_the_networks_of_all_training_seeds() -> None:
    config = load_config(ROOT / "config", {"profile": "ci", "training_seeds": 2})
    plan = Plan(config)
    used = [plan.study_networks(name)["causal_dq_eq"] for name in plan.studies()]
    assert used == ["causal_dq_eq.s0", "causal_dq_eq.s1"]
    assert set(used) <= set(plan.shared_networks())


def test_every_method_has_every_cell_and_the_same_again(study: Study) -> None:
    rows = pd.DataFrame(study.results())
    assert len(rows) == len(study.job.contestants) * 4
    assert rows["add"].between(1, study.job.horizon).all()
    assert ((rows["top_1"] <= rows["top_3"]) | rows["top_1"].isna()).all()
    pd.testing.assert_frame_equal(rows, pd.DataFrame(Study(study.job, study.networks).results()))


def test_directions_are_worth_something() -> None:
    """On dense graphs a reversed graph names the cause less often; all seeds are fixed."""
    size = job().size.model_copy(update={"p": 15, "m": 5, "expected_degree": 5.0})
    names = ("causal_sr_known", "causal_sr_reversed")
    chosen = [c for c in job().contestants if c.method in names and c.told == "truth"]
    more = {"size": size, "contestants": chosen, "replications": 40, "horizon": 100}
    found = pd.concat(pd.DataFrame(Study(job(graph=graph, **more)).results()) for graph in range(3))
    means = found.groupby("method")[["add", "top_1"]].mean()
    known, wrong = means.loc["causal_sr_known"], means.loc["causal_sr_reversed"]
    assert known["top_1"] > wrong["top_1"] + 0.1
    assert known["add"] < wrong["add"]


def test_the_example_ends_with_its_alarm(study: Study) -> None:
    told = example(study)
    assert told["statistic"][-1] > told["limit"] >= max(told["statistic"][:-1])
    assert len(told["statistic"]) > told["change"]
    assert sum(told["posterior"]) == pytest.approx(1.0)
    edges = {tuple(edge) for edge in told["estimated_edges"]}
    for cause in told["causes"]:
        for explained in cause["explains"]:
            path = explained["path"]
            assert all(link in edges for link in pairwise(path))
            assert not path or (path[0], path[-1]) == (cause["stream"], explained["stream"])


def test_an_example_is_told_even_where_nothing_alarms() -> None:
    told = example(Study(job(horizon=1, deltas=[1e-6])))
    assert told["statistic"][-1] <= told["limit"] or len(told["statistic"]) <= told["change"]
    assert told["run"] == 0
    assert told["causes"]


def made_up(delays: Delays) -> pd.DataFrame:
    cell = {"problem": "p6", "p": 6, "m": 2, "expected_degree": 2.0, "roots": 1, "delta": 1.0}
    shares = dict.fromkeys(("top_1", "top_3", "mean_rank", "later_top_1"), 0.5)
    return pd.DataFrame(
        [
            {**cell, **shares, "graph": graph, "method": method, "told": told, "add": value}
            for (method, told), values in delays.items()
            for graph, value in enumerate(values)
        ]
    )


FIELD: Delays = {
    ("greedy", "truth"): [20.0, 30.0, 40.0],
    ("tssrp", "truth"): [10.0, 20.0, 40.0],
    ("causal_sr_known", "truth"): [8.0, 10.0, 40.0],
    ("causal_sr_correlation", "truth"): [16.0, 20.0, 80.0],
    ("causal_sr", "rows"): [10.0, 20.0, 40.0],
    ("causal_sr_no_graph", "rows"): [10.0, 20.0, 40.0],
}


def test_ratios_by_hand() -> None:
    found = compared(made_up(FIELD), 0.9).set_index(["method", "against"])
    row = found.loc[("causal_sr_known", BEST)]
    logs = np.log([0.8, 0.5, 1.0])
    half = t.ppf(0.95, 2) * logs.std(ddof=1) / np.sqrt(3)
    assert row["against_method"] == "tssrp", "of the smallest mean"
    assert row["ratio"] == pytest.approx(np.exp(logs.mean()))
    assert row["low"] == pytest.approx(np.exp(logs.mean() - half))
    assert row["high"] == pytest.approx(np.exp(logs.mean() + half))
    exact = found.loc[("causal_sr_known", "causal_sr_correlation")]
    assert [exact[name] for name in ("ratio", "low", "high")] == pytest.approx([0.5] * 3)
    assert found.loc[("causal_sr", "causal_sr_no_graph")]["ratio"] == pytest.approx(1.0)
    assert ("causal_sr_known", "causal_sr_no_graph") not in found.index, "told something else"


def test_an_interval_over_graphs_includes_their_variance() -> None:
    row = over_graphs(made_up({("greedy", "truth"): [1.0, 3.0]}), "add", 0.95).iloc[0]
    assert row["mean"] == 2.0
    assert row["half"] == pytest.approx(t.ppf(0.975, 1) * np.std([1, 3], ddof=1) / np.sqrt(2))


def test_tables_say_what_was_measured() -> None:
    rows = made_up(FIELD)
    assert f"& {np.mean([8.0, 10.0, 40.0]):.1f} $" in propagation_table(rows, 0.95)
    line = next(x for x in compared_table(compared(rows, 0.9)).splitlines() if "TSSRP" in x)
    assert f"{np.exp(np.log([0.8, 0.5, 1.0]).mean()):.2f} (" in line
    assert "-- &" in line, "nobody without a graph was told the truth"


@pytest.fixture
def tidy(tmp_path: Path) -> Callable[[Delays], Tidy]:
    def make(delays: Delays) -> Tidy:
        path = tmp_path / "propagation_compared.csv"
        compared(made_up(delays), 0.95).to_csv(path, index=False)
        return Tidy(CONFIG, [path])

    return make


@pytest.mark.parametrize(
    ("correlation", "expected"),
    [([16.1, 20.0, 80.0], "for"), ([8.0, 10.1, 40.0], "against"), ([16.0, 5.0, 80.0], "open")],
)
def test_the_verdict_on_correlations(
    tidy: Callable[[Delays], Tidy], correlation: list[float], expected: str
) -> None:
    delays = FIELD | {("causal_sr_correlation", "truth"): correlation}
    judge = JUDGES["shorter_on_graphs"]
    rival = "causal_sr_correlation"
    found = judge(tidy(delays), method="causal_sr_known", rival=rival, least=0.05)
    assert [piece.outcome for piece in found.pieces] == [expected]


def test_causes_stand_left_of_effects() -> None:
    edges = np.triu(np.random.default_rng(0).random((12, 12)) < 0.3, k=1)
    place = layout(edges)
    for i, j in np.argwhere(edges):
        assert place[i, 0] < place[j, 0]
    assert len(np.unique(place.round(6), axis=0)) == 12


def test_the_identified_are_those_of_the_highest_scores() -> None:
    names = ("a", "b", "c", "d")
    found = _identified(np.array([0.1, 0.5, 0.4, 0.0]), names, ["c"])
    assert [found[f"named_{i}"] for i in (1, 2, 3)] == ["b", "c", "a"]
    assert (found["near"], found["near_3"]) == (0, 1)
    assert _identified(np.full(4, np.nan), names, ["c"]) == {}, "no alarm, nobody named"


def test_the_table_of_the_identified_counts_alarms_only() -> None:
    rows = pd.DataFrame(
        {
            "method": "greedy",
            "event": "fault 4",
            "origin": "reactor cooling water",
            "lead": [20, 25, 30],
            "named_1": ["xmeas_9", "xmeas_9", np.nan],
            "near": [1, 1, np.nan],
            "near_3": [1, 1, np.nan],
            "later": ["xmeas_9", "xmeas_1", np.nan],
            "later_near": [1, 0, np.nan],
        }
    )
    text = named_table(rows)
    assert r"Greedy & \textbf{x9} & 100\% & 100\% & 50\% \\" in text
    assert "4 reactor cooling water." in named_caption(rows, 5)
