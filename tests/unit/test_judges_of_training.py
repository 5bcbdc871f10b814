"""Judges of training and of graphs say what the planted numbers say."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from planted_claims import EARLY, LATE, Plant, Row, cell, outcomes, training, verdicts
from scipy.stats import ttest_ind

from causaldq.pipeline.evaluation.training import combined
from causaldq.pipeline.report.claims import (
    verdict_words,
)
from causaldq.pipeline.report.judges import JUDGES

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
