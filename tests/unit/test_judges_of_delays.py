"""Each judge of delays says what the planted numbers say."""

from typing import Any

import numpy as np
import pytest
from planted_claims import FIRST, SECOND, Plant, Row, cell, outcomes, settings, shortest, verdicts
from scipy.stats import binomtest, chi2

from causaldq.methods.registry import is_bound
from causaldq.pipeline.report.claims import (
    verdict_words,
)
from causaldq.pipeline.report.judges import JUDGES
from causaldq.pipeline.report.judges.delays import share_interval
from causaldq.pipeline.report.judges.evidence import (
    count,
    of_equality,
    of_gain,
    widened,
)


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
