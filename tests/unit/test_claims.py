"""Every claim can be judged, or says why not; verdicts are shown as they are."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from planted_claims import (
    BY_ID,
    CLAIMS,
    EARLY,
    FIRST,
    LATE,
    PUBLISHED,
    REFERENCE,
    SECOND,
    Plant,
    Row,
    cell,
    settings,
    training,
    verdicts,
)
from scipy.stats import t

from causaldq.errors import DataError
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
)
from causaldq.pipeline.report.tidy import Tidy
from causaldq.pipeline.theory.checks import read_statements

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
