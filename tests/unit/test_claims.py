"""Each judge says what the planted numbers say; every claim can be judged, or says why not."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import binomtest, chi2, t, ttest_ind

from causaldq.errors import DataError
from causaldq.methods.registry import is_bound
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.aggregate import COLUMNS
from causaldq.pipeline.evaluation.training import combined, summarise
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.report.catalogue import catalogue
from causaldq.pipeline.report.claims import (
    claims_markdown,
    claims_summary,
    claims_table,
    compare_approaches,
    comparison_table,
    concerns,
    judge,
    latex,
    read_claims,
    verdict_words,
)
from causaldq.pipeline.report.judges import JUDGES
from causaldq.pipeline.report.judges.delays import share_interval
from causaldq.pipeline.report.judges.evidence import (
    Judgement,
    Piece,
    Seeds,
    count,
    of_equality,
    of_gain,
    seeds_of_equality,
    seeds_of_gain,
    seeds_to_decide,
    widened,
)
from causaldq.pipeline.report.tidy import Tidy
from causaldq.pipeline.theory.checks import read_statements

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "data/reference"
PUBLISHED = pd.read_csv(REFERENCE / "published.csv")
CLAIMS = read_claims(REFERENCE / "claims.yaml")
BY_ID = {claim["id"]: claim for claim in CLAIMS}

Row = dict[str, Any]
Plant = Callable[..., Tidy]


def settings(**changed: Any) -> Config:
    """A config with a scenario for each of the paper's cells that the tests plant."""

    def scenario(table: str, source: str, m: int, k: int, **more: Any) -> dict[str, Any]:
        made = {"table": table, "source": source, "m": m, "k": k, "deltas": [0.25, 0.5, 1.0]}
        return made | {"hyperparameters": "p10"} | more

    given = {
        "profile": "planted",
        "methods": ["causal_dq", "greedy"],
        "sources": {f"sim_p{p}": {"p": p} for p in (10, 50, 100)},
        "scenarios": {
            "p10": scenario("noise_free", "sim_p10", 6, 5),
            "p50": scenario("noise_free", "sim_p50", 12, 10),
            "p100": scenario("noise_free", "sim_p100", 22, 20),
            "flowing": scenario("sensitivity", "sim_p10", 6, 5, propagate=True),
        },
        "report": {"title": "planted", "note": ""},
    }
    return load_config(ROOT / "config", given | changed)


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Makes tidy results from planted rows."""

    def make(add: list[Row] | None = None, **files: pd.DataFrame) -> Tidy:
        frames = {"add": pd.DataFrame(add or [], columns=COLUMNS), "published": PUBLISHED, **files}
        for name, frame in frames.items():
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
        return Tidy(settings(), [tmp_path / f"{name}.csv" for name in frames])

    return make


def cell(
    delays: dict[str, float],
    best: set[str],
    *,
    protocol: str = "paper",
    table: str = "noise_free",
    setting: str = "case_a",
    scenario: str = "p10",
    size: tuple[int, int, int] = (10, 6, 5),
    delta: float = 0.5,
    sigma: float = 0.0,
    delta_train: float = 1.0,
    se: float = 0.1,
    **more: Any,
) -> list[Row]:
    """Rows of one cell: mean delays by method, and who is among the best."""
    return [
        {
            **dict(zip(("p", "m", "k"), size, strict=True)),
            **{"table": table, "setting": setting, "scenario": scenario, "protocol": protocol},
            **{"delta": delta, "sigma": sigma, "delta_train": delta_train, "method": method},
            **{"add": value, "se": se, "ci_low": value - 2 * se, "ci_high": value + 2 * se},
            **{"n_rep": 100, "n_seeds": 2, "freedom": 99.0, "censored": 0.0, "false_alarm": 0.2},
            **{"arl0": 200.0},
            **{"arl0_low": 180.0, "arl0_high": 220.0, "among_best": int(method in best)},
            **more,
        }
        for method, value in delays.items()
    ]


def outcomes(judgement: Judgement) -> list[tuple[str, str]]:
    return [(p.protocol, p.outcome) for p in judgement.pieces if p.outcome != "missing"]


def shortest(tidy: Tidy, **more: Any) -> Judgement:
    return JUDGES["shortest"](tidy, tables=["noise_free"], **more)


FIRST = {"causal_dq": 10.0, "tssrp": 12.0, "greedy": 13.0, "oracle_set": 5.0}
SECOND = {"causal_dq": 12.0, "tssrp": 10.0, "greedy": 13.0, "oracle_set": 5.0}


def verdicts(tidy: Tidy, name: str, **parameters: Any) -> pd.Series:
    claim = {"id": "one", "place": "here", "part": "delays", "claim": "It is so."}
    table, _ = judge([claim | {"judge": name, "with": parameters}], tidy)
    return table.iloc[0]


def test_the_shortest_delay_holds_where_nobody_is_shorter(plant: Plant) -> None:
    alone = cell(FIRST, {"causal_dq"}) + cell(FIRST, {"causal_dq"}, protocol="fair")
    row = verdicts(plant(alone), "shortest", tables=["noise_free"])
    assert row[["verdict", "verdict_paper", "verdict_fair"]].tolist() == ["holds"] * 3
    # of 30 published cells under two protocols, one under each
    assert row[["supporting", "cells", "missing"]].tolist() == [2, 2, 58]
    assert row["tables"] == "noise_free_p10"


def test_the_protocols_are_judged_apart_and_together(plant: Plant) -> None:
    rows = cell(FIRST, {"causal_dq", "greedy"}) + cell(FIRST, {"causal_dq"}, delta=1.0)
    rows += cell(SECOND, {"tssrp"}, protocol="fair", arl0=150.0)
    row = verdicts(plant(rows), "shortest", tables=["noise_free"])
    assert row["verdict"] == "does not hold"
    assert row["verdict_paper"] == "holds"
    assert row["verdict_fair"] == "does not hold"
    assert verdict_words(row) == "does not hold (true in 2 of 3, 57 not measured)"
    assert "alone the shortest in 1;" in row["evidence"]
    # who was ahead, and at which rate of false alarms
    assert "ahead elsewhere: TSSRP 1" in row["evidence"]
    assert "ARL0: Causal DQ 150, TSSRP 150" in row["evidence"]
    assert row["against"] == "fair protocol: noise-free, case (a), p = 10, m = 6, δ = 0.5"


def test_a_bound_does_not_compete(plant: Plant) -> None:
    assert is_bound("oracle_set")
    judged = shortest(plant(cell(FIRST, {"causal_dq"})))
    assert outcomes(judged) == [("paper", "for")]


def test_nothing_can_be_told_where_nobody_differs_or_nothing_was_measured(plant: Plant) -> None:
    alike = plant(cell(FIRST, {"causal_dq", "tssrp", "greedy"}))
    row = verdicts(alike, "shortest", tables=["noise_free"])
    assert verdict_words(row) == "inconclusive (within noise, or not measured)"
    assert "1 within noise" in row["evidence"]
    row = verdicts(alike, "shortest", tables=["noise"])
    assert verdict_words(row) == "inconclusive (not measured)"
    early = plant(cell({"causal_dq": np.nan, "tssrp": 3.0}, {"tssrp"}))
    assert outcomes(shortest(early)) == [("paper", "open")]


def test_only_the_papers_methods_count_among_the_five(plant: Plant) -> None:
    """By paired tests of their own: what greedy reaches is not asked."""
    delays = {"causal_dq": 12.0, "tssrp": 12.5, "sdq": 20.0, "greedy": 5.0}

    def tested(best_in_print: set[str]) -> list[Row]:
        rows = cell(delays, {"greedy"})
        return [row | {"among_published": int(row["method"] in best_in_print)} for row in rows]

    for best, expected in (
        ({"causal_dq", "tssrp"}, "for"),
        ({"tssrp"}, "against"),
        ({"causal_dq", "tssrp", "sdq"}, "open"),
    ):
        tidy = plant(tested(best))
        assert outcomes(shortest(tidy)) == [("paper", "against")]
        assert outcomes(shortest(tidy, of_the_paper=True)) == [("paper", expected)]


@pytest.mark.parametrize(
    ("own", "rival", "se", "more", "best", "expected"),
    [
        (10.0, 12.0, 0.1, {}, set(), "for"),
        (12.0, 10.0, 0.1, {}, set(), "against"),
        (10.0, 10.1, 0.1, {}, set(), "against"),  # a gain below 5% does not matter
        (10.0, 12.0, 3.0, {}, set(), "open"),
        (10.0, 12.0, 3.0, {"n_seeds": 1}, {"causal_dq"}, "for"),  # paired tests see more
        (10.0, 12.0, 3.0, {"n_seeds": 1}, {"random"}, "against"),
        (10.0, 12.0, 3.0, {}, {"causal_dq"}, "open"),  # but not that seeds differ
        (10.0, 12.0, 0.5, {}, set(), "for"),
        (10.0, 12.0, 0.5, {"freedom": 2.0}, set(), "open"),  # two errors from three seeds each
    ],
)
def test_two_methods_are_compared(
    plant: Plant,
    own: float,
    rival: float,
    se: float,
    more: dict[str, Any],
    best: set[str],
    expected: str,
) -> None:
    tidy = plant(cell({"causal_dq": own, "random": rival}, best, se=se, **more))
    judged = JUDGES["shorter_than"](tidy, rival="random", least=0.05, tables=["noise_free"])
    assert outcomes(judged) == [("paper", expected)]


def test_a_rival_that_was_not_run_is_named(plant: Plant) -> None:
    tidy = plant(cell({"causal_dq": 10.0}, {"causal_dq"}))
    judged = JUDGES["shorter_than"](tidy, rival="random", least=0.05, tables=["noise_free"])
    assert count(judged.pieces).missing == 60
    assert "not in this profile: Random" in {piece.detail for piece in judged.pieces}


def test_propagation_is_judged_where_shifts_flow(plant: Plant) -> None:
    delays = {"causal_dq": 10.0, "non_causal": 20.0}
    flowing = cell(delays, {"causal_dq"}, table="sensitivity", scenario="flowing")
    elsewhere = cell(delays, {"causal_dq"})
    judged = JUDGES["shorter_than"](plant(flowing + elsewhere), rival="non_causal", least=0.05)
    assert outcomes(judged) == [("paper", "for")]
    assert judged.pieces[0].cell.startswith("flowing")
    judged = JUDGES["shorter_than"](plant(elsewhere), rival="non_causal", least=0.05)
    assert [piece.outcome for piece in judged.pieces] == ["missing"]


@pytest.mark.parametrize(("own", "expected"), [(5.1, "for"), (9.0, "against"), (5.6, "open")])
def test_the_oracle_is_reached_or_not(plant: Plant, own: float, expected: str) -> None:
    tidy = plant(cell({"causal_dq": own, "oracle_set": 5.0}, {"causal_dq"}))
    judged = JUDGES["as_short_as"](tidy, bound="oracle_set", margin=0.1, tables=["noise_free"])
    assert outcomes(judged) == [("paper", expected)]


@pytest.mark.parametrize(
    ("half", "one", "se", "expected"),
    [(10.0, 10.5, 0.1, "for"), (10.0, 20.0, 0.1, "against"), (10.0, 11.0, 3.0, "open")],
)
def test_robust_means_within_a_margin(
    plant: Plant, half: float, one: float, se: float, expected: str
) -> None:
    rows = cell({"causal_dq": half}, set(), table="train_test", delta_train=0.5, se=se)
    rows += cell({"causal_dq": one}, set(), table="train_test", delta_train=1.0, se=se)
    judged = JUDGES["robust"](plant(rows), table="train_test", margin=0.25)
    assert outcomes(judged) == [("paper", expected)]
    # 15 pairs under two protocols
    assert len(judged.pieces) == 30


def extreme(delta: float, own: float, rival: float, **more: Any) -> list[Row]:
    return cell(
        {"causal_dq": own, "sdq": rival, "oracle_set": 1.0},
        {"causal_dq"},
        table="extreme",
        setting="extreme",
        size=(50, 3, 3),
        delta=delta,
        **more,
    )


@pytest.mark.parametrize(
    ("at_two", "expected"),
    [((10.0, 20.0), "for"), ((19.0, 20.0), "against"), ((16.2, 20.0), "open")],
)
def test_a_lead_widens_or_not(plant: Plant, at_two: tuple[float, float], expected: str) -> None:
    rows = extreme(0.5, 80.0, 100.0) + extreme(2.0, *at_two)
    judged = JUDGES["lead_grows"](plant(rows), table="extreme", smaller=0.5, larger=[2.0])
    assert outcomes(judged) == [("paper", expected)]


def test_what_shrinks_behind_is_no_lead(plant: Plant) -> None:
    rows = extreme(0.5, 200.0, 100.0) + extreme(2.0, 30.0, 20.0)
    judged = JUDGES["lead_grows"](plant(rows), table="extreme", smaller=0.5, larger=[2.0])
    assert outcomes(judged) == [("paper", "against")]


@pytest.mark.parametrize(
    ("delay", "run_length", "expected"),
    [
        (200.0, np.inf, "for"),
        (199.0, np.inf, "against"),
        # One false alarm in 200 steps makes a mean of 200 (1 - 1/e) = 126.4 of a horizon of 200.
        (126.3, 200.0, "for"),
        (126.1, 200.0, "against"),
    ],
)
def test_undetected_means_no_earlier_than_by_false_alarms(
    plant: Plant, delay: float, run_length: float, expected: str
) -> None:
    assert settings().scenarios["p10"].horizon == 200
    rows = [row | {"arl0": run_length} for row in extreme(0.25, 100.0, delay)]
    judged = JUDGES["undetected"](plant(rows), table="extreme", deltas=[0.25], methods=["sdq"])
    assert outcomes(judged) == [("paper", expected)]


@pytest.mark.parametrize(
    ("best", "lengths", "expected"),
    [
        ("tssrp", (200.0, 101.0), "against"),
        ("tssrp", (200.0, 99.0), "open"),
        ("tssrp", (np.inf, 200.0), "open"),
        ("causal_dq", (np.inf, 200.0), "for"),
        ("causal_dq", (90.0, 200.0), "open"),
    ],
)
def test_who_alarms_twice_as_often_is_not_called_the_shorter_one(
    plant: Plant, best: str, lengths: tuple[float, float], expected: str
) -> None:
    own, other = lengths
    rows = cell({"causal_dq": 11.0, "tssrp": 11.0}, {best})
    rows = [row | {"arl0": own if row["method"] == "causal_dq" else other} for row in rows]
    assert outcomes(shortest(plant(rows))) == [("paper", expected)]


def test_one_of_many_cells_contradicts_a_claim_only_beyond_chance() -> None:
    assert widened(-1.0, 3.0, 1) == (-1.0, 3.0)
    rng = np.random.default_rng(0)
    estimates = rng.standard_normal((4000, 36))
    _, high = widened(-1.96, 1.96, 36)
    # The claim is true, and a gain of zero the least that matters: how often does one cell fail it?
    assert ((estimates + high < 0).any(axis=1)).mean() < 0.035
    assert ((estimates + 1.96 < 0).any(axis=1)).mean() > 0.5
    assert of_gain(-0.3, -0.01, 0.0) == "against"
    assert of_gain(-0.3, -0.01, 0.0, cells=36) == "open"
    assert of_equality(1.01, 1.3, 1.0) == "against"
    assert of_equality(1.01, 1.3, 1.0, cells=36) == "open"


def test_no_alarm_is_judged_under_the_nominal_limit_alone(plant: Plant) -> None:
    where = {"table": "noise", "size": (50, 12, 10), "delta": 0.0}
    rows = cell({"causal_dq": 200.0, "greedy": 200.0}, set(), sigma=0.05, censored=1.0, **where)
    rows += cell({"causal_dq": 199.0, "greedy": 150.0}, set(), sigma=0.1, censored=0.99, **where)
    rows += cell({"causal_dq": 100.0}, set(), sigma=0.1, protocol="fair", **where)
    row = verdicts(plant(rows), "no_alarm", table="noise")
    assert row["verdict"] == row["verdict_paper"] == "does not hold"
    assert row["verdict_fair"] == ""
    assert "1 of 2 are silent, too" in row["evidence"]


@pytest.mark.parametrize("hits", [0, 3, 100])
def test_the_interval_of_a_share_is_the_exact_one(hits: int) -> None:
    known = binomtest(hits, 100).proportion_ci(0.95, "exact")
    assert share_interval(hits / 100, 100, 0.025) == pytest.approx((known.low, known.high))


@pytest.mark.parametrize(
    ("early", "n", "arl0", "expected"),
    [
        (0.0, 100, np.inf, "against"),  # too rare: with 95% confidence below 4%
        (0.2, 100, 200.0, "for"),
        (0.2, 100, 5.0, "against"),  # too frequent: at least 10 steps are due
        (0.0, 10, np.inf, "open"),
    ],
)
def test_the_nominal_limit_is_held_to_its_level(
    plant: Plant, early: float, n: int, arl0: float, expected: str
) -> None:
    known = {"false_alarm": early, "n_rep": n, "arl0": arl0, "arl0_low": arl0, "arl0_high": arl0}
    rows = cell({"causal_dq": 10.0}, set(), **known) + cell(
        {"causal_dq": 5.0}, set(), delta=1.0, **known
    )
    judged = JUDGES["nominal_limit"](plant(rows), method="causal_dq", tables=["noise_free"])
    assert outcomes(judged) == [("paper", expected)]


def test_the_printed_null_law_falls_short_of_its_level(plant: Plant) -> None:
    judged = JUDGES["null_law"](plant(), tables=["noise_free"])
    printed = [piece for piece in judged.pieces if piece.cell.startswith("as printed")]
    assert [piece.outcome for piece in printed] == ["against"] * 3
    chance = chi2.sf(chi2.ppf(0.95, 10) * (2 - 0.02), 10)
    assert f"probability {chance:.2g}" in printed[0].detail


def curves(ends: dict[str, list[tuple[float, int]]], scenario: str) -> Iterator[pd.DataFrame]:
    """Training logs: for each seed of a method where it ends, and from which epoch on."""
    epochs = np.arange(1, 41)
    for method, seeds in ends.items():
        for seed, (end, rise) in enumerate(seeds):
            reward = np.where(epochs < rise, 0.0, end)
            known = {"epoch": epochs, "paper_reward": reward, "hit_share": 0.5}
            names = {"scenario": scenario, "protocol": "paper", "method": method}
            yield pd.DataFrame(known).assign(
                frozen_hit_share=0.5, training_seed=f"s{seed}", **names
            )


def training(**by_scenario: dict[str, list[tuple[float, int]]]) -> pd.DataFrame:
    logs = [log for name, ends in by_scenario.items() for log in curves(ends, name)]
    return summarise(pd.concat(logs, ignore_index=True), 0.95)


EARLY, LATE = [(100.0, 8), (101.0, 9), (99.0, 8)], [(50.0, 28), (51.0, 29), (50.0, 30)]
VAGUE = [(50.0, 5), (51.0, 35), (50.0, 20)]
FLAT = [(50.0, 1), (51.0, 1), (50.0, 1)]


@pytest.mark.parametrize(
    ("own", "plain", "expected"),
    [
        (EARLY, LATE, "for"),
        (LATE, EARLY, "against"),
        (EARLY[:1] * 3, EARLY[:1] * 3, "against"),  # surely less than 10% faster
        (EARLY, EARLY, "open"),
        (EARLY, VAGUE, "open"),
        (EARLY, FLAT, "open"),  # who learns nothing is there at once
        (EARLY[:1], LATE[:1], "open"),  # one seed has no interval
    ],
)
def test_pace_is_read_off_the_seeds(
    plant: Plant, own: list[Any], plain: list[Any], expected: str
) -> None:
    tidy = plant(training=training(p50={"causal_dq": own, "non_causal": plain}))
    judged = JUDGES["faster"](tidy, tables=["noise_free"], p=[50, 100], least=0.1)
    assert outcomes(judged) == [("paper", expected)]
    assert [piece.cell for piece in judged.pieces] == ["p50", "p = 100"]


def test_half_the_epochs_is_more_than_fewer(plant: Plant) -> None:
    ends = {"causal_dq": [(90.0, 20), (91.0, 20), (90.0, 21)], "non_causal": LATE}
    tidy = plant(training=training(p100=ends))
    wanted = {"tables": ["noise_free"], "p": [100], "least": 0.1}
    assert outcomes(JUDGES["faster"](tidy, **wanted)) == [("paper", "for")]
    assert outcomes(JUDGES["faster"](tidy, **wanted, factor=0.5)) == [("paper", "against")]


@pytest.mark.parametrize(("own", "expected"), [(LATE, "for"), (EARLY, "against"), (VAGUE, "open")])
def test_about_as_fast_means_within_a_margin(plant: Plant, own: list[Any], expected: str) -> None:
    tidy = plant(training=training(p10={"causal_dq": own, "non_causal": LATE}))
    judged = JUDGES["as_fast"](tidy, tables=["noise_free"], p=[10], margin=0.25)
    assert outcomes(judged) == [("paper", expected)]


def test_saved_epochs_grow_from_one_size_to_the_next(plant: Plant) -> None:
    late = {"causal_dq": LATE, "non_causal": LATE}
    summary = training(p10=late, p50={"causal_dq": EARLY, "non_causal": LATE}, p100=late)
    judged = JUDGES["lead_in_epochs_grows"](
        plant(training=summary), tables=["noise_free"], p=[10, 50, 100]
    )
    assert outcomes(judged) == [("paper", "for"), ("paper", "against")]


def test_rewards_and_their_spread_are_compared(plant: Plant) -> None:
    wild = [(20.0, 28), (90.0, 29), (10.0, 30)]
    tidy = plant(training=training(p50={"causal_dq": EARLY, "non_causal": LATE}))
    wanted = {"tables": ["noise_free"], "p": [50]}
    assert outcomes(JUDGES["higher_reward"](tidy, **wanted)) == [("paper", "for")]
    assert outcomes(JUDGES["steadier"](tidy, **wanted)) == [("paper", "open")]
    tidy = plant(training=training(p50={"causal_dq": EARLY, "non_causal": wild}))
    assert outcomes(JUDGES["steadier"](tidy, **wanted)) == [("paper", "for")]
    tidy = plant(training=training(p50={"causal_dq": wild, "non_causal": EARLY}))
    assert outcomes(JUDGES["steadier"](tidy, **wanted)) == [("paper", "against")]
    assert outcomes(JUDGES["higher_reward"](tidy, **wanted)) == [("paper", "open")]


def test_a_difference_of_trainings_has_welchs_interval() -> None:
    rows = training(p50={"causal_dq": EARLY, "non_causal": VAGUE}).set_index("method")
    own, plain = rows.loc["causal_dq"], rows.loc["non_causal"]
    early, vague = ([epochs for _, epochs in seeds] for seeds in (EARLY, VAGUE))
    known = ttest_ind(vague, early, equal_var=False).confidence_interval(0.95)
    found = combined([(1, plain), (-1, own)], "epochs_to_95", 0.95)
    assert found == pytest.approx((np.mean(vague) - np.mean(early), known.low, known.high))


def test_a_part_alone_is_judged_by_reward_and_by_delay(plant: Plant) -> None:
    summary = training(
        p10={"causal_dq": EARLY, "non_causal": LATE, "causal_state_only": EARLY},
        p50={"causal_dq": EARLY, "non_causal": LATE, "causal_state_only": LATE},
    )
    delays = cell({"causal_state_only": 10.0, "non_causal": 9.0}, {"non_causal"})
    row = verdicts(
        plant(delays, training=summary),
        "part_helps",
        part="causal_state_only",
        tables=["noise_free"],
        least=0.05,
    )
    # more reward at p = 10, none at p = 50, a longer delay
    assert verdict_words(row) == "does not hold (true in 1 of 3)"
    row = verdicts(plant(), "part_helps", part="x", tables=["noise_free"], least=0.05)
    assert row["verdict"] == "inconclusive"


def graphs(**tpr: float) -> pd.DataFrame:
    known = {"table": "graph_quality", "p": 50, "sigma": 0.1, "method": "causal_dq", "mfdr": 0.5}
    rows = [known | {"setting": s, "scenario": s, "mtpr": value} for s, value in tpr.items()]
    metrics = {"table": "graph_metrics", "setting": "case_a", "scenario": "p10", "p": 10}
    rows.append(known | metrics | {"sigma": 0.0, "mtpr": 0.7, "mfdr": 0.4})
    return pd.DataFrame(rows)


def quality(**delays: float) -> list[Row]:
    return [
        row
        for setting, delay in delays.items()
        for row in cell(
            {"non_causal" if setting == "non_causal" else "causal_dq": delay},
            set(),
            **{"table": "graph_quality", "setting": setting, "scenario": setting},
            **{"size": (50, 12, 10), "delta": 1.0, "sigma": 0.1},
        )
    ]


def test_graph_quality_is_ordered_from_best_to_worst(plant: Plant) -> None:
    tidy = plant(quality(ground_truth=9.0, standard=12.0, low=11.0, no_edges=11.02))
    judged = JUDGES["better_is_faster"](
        tidy, settings=["ground_truth", "standard", "low", "no_edges"], least=0.05
    )
    assert outcomes(judged) == [("paper", "for"), ("paper", "against"), ("paper", "against")]


def test_a_good_graph_is_one_above_the_threshold(plant: Plant) -> None:
    rows = quality(ground_truth=9.0, standard=16.0, low=11.0, non_causal=14.0)
    rows += cell({"causal_dq": 10.0, "non_causal": 20.0}, {"causal_dq"})
    tidy = plant(rows, graphs=graphs(ground_truth=1.0, standard=0.5, low=0.17))
    judged = JUDGES["good_enough"](tidy, tpr=0.4, least=0.05)
    said = {piece.cell: piece.outcome for piece in judged.pieces if piece.outcome != "missing"}
    assert said == {
        "ground truth against non causal": "for",
        "standard against non causal": "against",
        "p10, noise-free, case (a), p = 10, m = 6, δ = 0.5": "for",
    }
    judged = JUDGES["too_poor"](tidy, tpr=0.2, reference="standard", least=0.05)
    assert outcomes(judged) == [("paper", "against")]
    judged = JUDGES["good_enough"](plant(rows), tpr=0.4, least=0.05)
    assert [piece.outcome for piece in judged.pieces] == ["missing"]


def test_a_network_of_both_tables_of_graphs_is_judged_once(plant: Plant) -> None:
    rows = quality(standard=16.0, non_causal=14.0)
    rows += cell({"causal_dq": 10.0, "non_causal": 20.0}, {"causal_dq"})
    found = graphs(standard=0.5)
    again = found[found["setting"] == "standard"].assign(table="graph_metrics", setting="case_a")
    once, twice = (
        JUDGES["good_enough"](plant(rows, graphs=shown), tpr=0.4, least=0.05)
        for shown in (found, pd.concat([found, again]))
    )
    assert len(once.pieces) > 1
    assert twice == once


def test_graphs_are_held_to_the_rates_claimed(plant: Plant) -> None:
    tidy = plant(graphs=graphs())
    judged = JUDGES["accurate"](tidy, p=10, tpr=0.6, fdr=0.3)
    assert [piece.outcome for piece in judged.pieces] == ["for", "against"]
    judged = JUDGES["accurate"](tidy, p=50, tpr=0.4)
    assert [piece.outcome for piece in judged.pieces] == ["missing"]


BOLD = PUBLISHED[PUBLISHED["bold"] == 1]


def test_every_bold_cell_is_judged_in_print_and_as_measured(plant: Plant) -> None:
    tidy = plant()
    printed = JUDGES["bold_in_print"](tidy).pieces
    measured = JUDGES["bold_as_measured"](tidy, least=0.05).pieces
    cells = [piece.cell for piece in printed]
    assert len(cells) == len(set(cells)) == len(BOLD) == 92
    for protocol in ("paper", "fair"):
        assert [piece.cell for piece in measured if piece.protocol == protocol] == cells
    judges = {claim.get("judge") for claim in CLAIMS}
    assert {"bold_in_print", "bold_as_measured"} <= judges


def test_bold_is_not_the_smallest_in_three_printed_cells(plant: Plant) -> None:
    pieces = JUDGES["bold_in_print"](plant()).pieces
    assert {piece.cell for piece in pieces if piece.outcome == "against"} == {
        "noise-free, case (b), p = 10, m = 6, δ = 0.25",
        "Tennessee Eastman, p = 50, m = 5, δ = 0.25",
        "Tennessee Eastman, p = 50, m = 5, δ = 1",
    }
    # all bold in the quality table; all alike in two extreme cells
    assert sum(piece.outcome == "open" for piece in pieces) == 5 + 2


def as_published() -> list[Row]:
    """Measurements that repeat the paper's numbers, as precisely as can be."""
    rows: list[Row] = []
    keys = ["table", "setting", "m", "k", "sigma", "delta", "delta_train"]
    printed = PUBLISHED[PUBLISHED["metric"] == "add"].fillna({"sigma": 0.0, "delta": 1.0, "k": 6})
    for _, part in printed.fillna({"delta_train": 1.0}).groupby(keys, sort=False):
        delays = dict(zip(part["method"], part["value"], strict=True))
        smallest = {m for m, value in delays.items() if value == min(delays.values())}
        first = part.iloc[0]
        for protocol in ("paper", "fair"):
            rows += cell(
                delays,
                smallest,
                protocol=protocol,
                size=(first["p"], first["m"], first["k"]),
                scenario="p10",
                se=1e-6,
                **{key: first[key] for key in ("table", "setting", "sigma", "delta")},
                delta_train=first["delta_train"],
            )
    return rows


def test_had_we_measured_the_printed_numbers_the_verdicts_would_be_those_in_print(
    plant: Plant,
) -> None:
    tidy = plant(as_published())
    for protocol in ("paper", "fair"):
        measured = JUDGES["bold_as_measured"](tidy, least=0.0).pieces
        measured = [piece for piece in measured if piece.protocol == protocol]
        printed = JUDGES["bold_in_print"](tidy).pieces
        assert [piece.outcome for piece in measured] == [piece.outcome for piece in printed]
    row = verdicts(tidy, "shortest", tables=["noise_free"])
    assert verdict_words(row) == "does not hold (true in 58 of 60)"
    row = verdicts(tidy, "shortest", tables=["noise"])
    assert verdict_words(row) == "holds (48 of 48)"
    row = verdicts(tidy, "shorter_than", rival="non_causal", least=0.0, tables=["train_test"])
    assert verdict_words(row) == "does not hold (true in 58 of 60)"


def test_the_papers_numbers_are_compared_with_each_other(plant: Plant) -> None:
    tidy = plant()
    twice = JUDGES["same_experiment"](tidy).pieces
    assert len(twice) == 30 + 2
    assert [piece.detail for piece in twice if piece.outcome == "against"] == [
        "Causal DQ: 64.4 here, 62.4 there",
        "Non-causal DQ: 14 here, 12.3 there",
    ]
    alike = [p for p in JUDGES["own_numbers"](tidy, at_most=1).pieces if p.outcome == "against"]
    assert {piece.cell for piece in alike} == {
        "noise-free, case (a), p = 100, m = 22, δ = 1",
        "Tennessee Eastman, p = 50, m = 5, δ = 1",
    }
    trained = JUDGES["shorter_in_print"](tidy, table="train_test", rival="non_causal")
    assert count(trained.pieces).against == 1
    leads = JUDGES["lead_grows_in_print"](tidy, table="extreme", smaller=0.5, larger=[1.5, 2.0])
    against = [piece for piece in leads.pieces if piece.outcome == "against"]
    assert [piece.detail for piece in against] == ["2% here, 13% at δ = 0.5"]


def test_every_claim_can_be_judged_without_any_measurement(plant: Plant) -> None:
    table, cells = judge(CLAIMS, plant())
    assert table["id"].tolist() == list(BY_ID)
    of_print = {"bold_in_print", "same_experiment", "own_numbers", "null_law"}
    of_print |= {claim["id"] for claim in CLAIMS if claim.get("judge", "").endswith("in_print")}
    unknown = set(table.loc[table["verdict"] == "inconclusive", "id"])
    assert unknown == set(BY_ID) - of_print
    assert set(cells["id"]) == {claim["id"] for claim in CLAIMS if "judge" in claim}
    assert table["evidence"].str.endswith(".").all()


def test_a_claim_of_which_a_profile_measures_nothing_says_so(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(JUDGES, "idle", lambda _: Judgement([]))
    table, _ = judge([BY_ID["pace_large"] | {"judge": "idle", "with": {}}], plant())
    assert table["verdict"].item() == "inconclusive"
    assert table["evidence"].item().startswith("This profile measures nothing")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"judge": "shortist"}, "claim a: there is no judge 'shortist'; known: shortest"),
        # Python 3.12 and later: a required keyword-only argument
        ({"with": {"table": "noise"}}, "claim a: judge shortest: missing a required .*'tables'"),
        ({"theory": ["lemma"]}, "claim a: give either a judge or ids of checks"),
        ({"part": "rest"}, "claim a: there is no part 'rest'"),
        ({"place": None}, "claim a: 'place' is missing"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_one_clear_error(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    claim: dict[str, Any] = {"id": "a", "place": "here", "part": "delays", "claim": "…"}
    claim |= {"judge": "shortest", "with": {"tables": ["noise"]}} | changed
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump([{k: v for k, v in claim.items() if v is not None}]))
    with pytest.raises(DataError) as error:
        read_claims(path)
    assert re.search(message, str(error.value))
    assert "\n" not in str(error.value)


def test_every_check_of_the_theory_belongs_to_exactly_one_claim() -> None:
    cited = [name for claim in CLAIMS for name in claim.get("theory", [])]
    known = [statement.id for statement in read_statements(REFERENCE / "theory.yaml")]
    assert sorted(cited) == sorted(known)


def test_a_statement_is_judged_by_all_its_readings(tmp_path: Path) -> None:
    said = [("a", "as printed", "holds"), ("b", "as in the proof", "does not hold")]
    said.append(("c", "corrected", "holds"))
    checks = [
        {"id": name, "reading": reading, "verdict": verdict, "vacuous": name == "a"}
        for name, reading, verdict in said
    ]
    (tmp_path / "theory.json").write_text(json.dumps(checks))
    tidy = Tidy(settings(), [tmp_path / "theory.json"])
    known = {"place": "here", "part": "theory", "claim": "…"}
    claims = [{"id": "one", "theory": ["a", "b", "c"]}, {"id": "two", "theory": ["a"]}]
    table, _ = judge([claim | known for claim in claims], tidy)
    assert table["verdict"].tolist() == ["holds in some readings", "holds"]
    assert [verdict_words(row) for _, row in table.iterrows()] == [
        "holds in some readings (1 of 2)",
        "holds (1 of 1)",
    ]
    assert table["evidence"].iloc[0] == (
        "As printed: holds; as in the proof: does not hold; corrected: holds;"
        " vacuous where it holds. Checks: a, b, c."
    )
    missing = {"id": "three", "theory": ["d"]} | known
    with pytest.raises(DataError, match="claim three: there is no check d"):
        judge([missing], tidy)


def test_summary_and_tables_repeat_the_verdicts(plant: Plant) -> None:
    rows = cell(FIRST, {"causal_dq"}) + cell(SECOND, {"tssrp"}, protocol="fair")
    table, _ = judge(CLAIMS, plant(rows))
    lines = claims_summary(table)
    assert lines[0].startswith("48 claims about measurements: ")
    assert "23 statements of section 5: inconclusive 23." in lines[0]
    assert len(lines) == 1 + sum(claim.get("headline", False) for claim in CLAIMS)
    assert (
        "simulated and real: does not hold (true in 1 of 2, 142 not measured);"
        " the paper's protocol holds (1 of 1), fair protocol does not hold (true in 0 of 1)."
        in lines[1]
    )
    part = table[table["part"] == "delays"]
    markdown = claims_markdown(part).splitlines()
    assert len(markdown) == len(part) + 2
    assert {line.count("|") for line in markdown} == {6}
    tex = [line for line in claims_table(part).splitlines() if "&" in line]
    assert len(tex) == len(part) + 1
    assert {line.count("&") for line in tex} == {4}


def test_text_becomes_latex() -> None:
    assert latex("δ = 0.5, 5% of a_b, ∞") == r"$\delta$ = 0.5, 5\% of a\_b, $\infty$"


def test_the_first_table_has_the_printed_ticks_and_our_verdicts(plant: Plant) -> None:
    table, _ = judge(CLAIMS, plant(cell(FIRST, {"causal_dq"})))
    rows = compare_approaches(REFERENCE / "comparison.yaml", table)
    ticks = rows.pivot(index="approach", columns="property", values="ticked")
    # as counted in the paper's source, row by row
    assert ticks.sum(axis=1).to_dict() == {
        "Causal DQ": 6,
        "Li et al. 2025 (SDQ)": 2,
        "Zhang and Mei 2023 (TSSRP)": 3,
        "Guo et al. 2024": 3,
        "Gao et al. 2024": 3,
        "Huang et al. 2024": 3,
    }
    assert ticks.sum()["Intervention-free"] == ticks.sum()["Scalable to other RL"] == 1
    assert ticks.sum()["Partial observability"] == 4
    measured = rows[rows["measured"] != ""]
    assert set(measured["approach"]) == {"Causal DQ"}
    by_property = measured.set_index("property")["measured"]
    # random sensors were not run, and the oracle set is twice as fast
    assert by_property["Partial observability"] == "holds 1, does not hold 1, inconclusive 1"
    assert by_property["Mathematical foundations"] == "inconclusive 23"
    tex = [line for line in comparison_table(rows).splitlines() if line.endswith(r"\\")]
    assert len(tex) == 1 + 6 + 1
    assert {line.count("&") for line in tex} == {6}


def test_claims_are_shown_where_a_table_of_the_paper_is_measured() -> None:
    config = settings()
    assert concerns(config)
    shown = catalogue(config)
    assert "claims" in shown.notebooks
    assert [table.name for table in shown.tables][:4] == [
        "claims_delays",
        "claims_learning",
        "claims_theory",
        "comparison",
    ]
    own = {"table": "own", "source": "sim_p10", "m": 6, "k": 5, "deltas": [1.0]}
    config = settings(scenarios={"plant": own | {"hyperparameters": "p10"}})
    assert not concerns(config)
    shown = catalogue(config)
    assert "claims" not in shown.notebooks
    assert not [table for table in shown.tables if table.name.startswith(("claims", "comp"))]


def test_evidence_links_to_tables_that_are_made(plant: Plant) -> None:
    rows = cell(FIRST, {"causal_dq"})
    summary = training(p10={"causal_dq": EARLY, "non_causal": LATE})
    table, _ = judge(CLAIMS, plant(rows, training=summary))
    linked = {name for names in table["tables"].dropna() for name in names.split(";") if name}
    made = {shown.name for shown in catalogue(settings()).tables}
    assert linked == {"noise_free_p10", "training"}
    assert linked <= made


def interval(middle: float, seeds: int) -> tuple[float, float]:
    """Of a difference between two agents whose seeds have a standard deviation of 1."""
    half = float(t.ppf(0.975, 2 * (seeds - 1)) * np.sqrt(2 / seeds))
    return middle - half, middle + half


@pytest.mark.parametrize(
    ("middle", "way"), [(0.8, "to_support"), (-0.4, "to_contradict"), (0.05, "to_contradict")]
)
def test_as_many_seeds_as_named_decide_and_fewer_do_not(middle: float, way: str) -> None:
    least = 0.5
    expected = {"to_support": "for", "to_contradict": "against"}[way]
    named = getattr(seeds_of_gain(*interval(middle, 3), least, 3), way)
    assert of_gain(*interval(middle, named), least) == expected
    assert of_gain(*interval(middle, named - 1), least) == "open"


@pytest.mark.parametrize(("middle", "way"), [(0.1, "to_support"), (-1.5, "to_contradict")])
def test_the_same_of_an_equality(middle: float, way: str) -> None:
    expected = {"to_support": "for", "to_contradict": "against"}[way]
    named = getattr(seeds_of_equality(*interval(middle, 3), 1.0, 3), way)
    assert of_equality(*interval(middle, named), 1.0) == expected
    assert of_equality(*interval(middle, named - 1), 1.0) == "open"


def test_one_seed_or_a_gain_on_the_wrong_side_asks_for_no_number() -> None:
    assert seeds_of_gain(-np.inf, np.inf, 0.5, 1) == (None, None)
    assert seeds_of_gain(*interval(-1.0, 3), 0.0, 3).to_support is None


def test_a_claim_about_every_cell_takes_one_against_it_or_all_for_it() -> None:
    def open_cell(*seeds: int | None) -> Piece:
        return Piece("cell", "open", "", seeds=Seeds(*seeds))

    assert seeds_to_decide([open_cell(5, None), open_cell(9, None)]) == 9
    assert seeds_to_decide([open_cell(5, None), open_cell(9, 7)]) == 7
    assert seeds_to_decide([open_cell(5, None), open_cell(None, None)]) is None


def test_an_inconclusive_claim_says_how_many_seeds_it_would_take(plant: Plant) -> None:
    near = [(90.0, 18), (91.0, 36), (90.0, 24)]
    tidy = plant(training=training(p50={"causal_dq": near, "non_causal": LATE}))
    verdicts, cells = judge([BY_ID["pace_large"]], tidy)
    (said,) = verdicts["seeds_to_decide"].dropna()
    assert f"About {said:.0f} training seeds would decide it" in verdicts["evidence"].iloc[0]
    assert cells[["seeds_to_support", "seeds_to_contradict"]].notna().any(axis=None)
