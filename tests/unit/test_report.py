"""Summaries and tables say what the numbers behind them say."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from causaldq.errors import DataError
from causaldq.pipeline.evaluation.training import epochs_to_final, summarise, verdict
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.report.catalogue import catalogue
from causaldq.pipeline.report.front_page import opening
from causaldq.pipeline.report.markdown import SHOWN_AGNOSTIC, filled, headline, readme_tables
from causaldq.pipeline.report.overall import baselines_in_words
from causaldq.pipeline.report.paper_tables import sensitivity_rows
from causaldq.pipeline.report.shown import caption
from causaldq.pipeline.report.tables import (
    delay_caption,
    delay_table,
    event_table,
    event_table_caption,
    training_table,
)
from causaldq.pipeline.report.tidy import Tidy

ROOT = Path(__file__).parents[2]


def curve(start: float, end: float, rise: int, epochs: int = 20) -> np.ndarray:
    """Flat, then at `end` from epoch `rise` on."""
    return np.where(np.arange(1, epochs + 1) < rise, start, end)


def logs(curves: dict[str, list[np.ndarray]]) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {
                "epoch": np.arange(1, len(values) + 1),
                "paper_reward": values,
                "hit_share": values / 100,
                "frozen_hit_share": [np.nan] * (len(values) - 1) + [0.5],
            }
        ).assign(scenario="p10", protocol="paper", method=method, training_seed=f"s{seed}")
        for method, seeds in curves.items()
        for seed, values in enumerate(seeds)
    ]
    return pd.concat(parts, ignore_index=True)


def test_a_curve_reaches_its_final_value_when_its_running_mean_does() -> None:
    # At 100 from epoch 8 on; the mean of three epochs is there from epoch 10 on.
    assert epochs_to_final(curve(0, 100, 8)) == 10
    assert epochs_to_final(np.full(20, 50.0)) == 1
    # Rewards may be negative: within 5% of -100 is -105 and above.
    assert epochs_to_final(curve(-200, -100, 5)) == 7


def test_the_summary_averages_over_seeds_and_shares_out_the_gain() -> None:
    table = summarise(
        logs(
            {
                "causal_dq": [curve(0, 90, 4), curve(0, 110, 6)],
                "non_causal": [curve(20, 20, 1), curve(20, 20, 1)],
                "causal_reward_only": [curve(0, 80, 4), curve(0, 80, 4)],
            }
        ),
        confidence=0.95,
    ).set_index("method")
    assert table.loc["causal_dq", "final_reward"] == 100
    # Two values 90 and 110: standard error 10, t quantile with one degree of freedom 12.706.
    assert table.loc["causal_dq", "final_reward_high"] == pytest.approx(100 + 127.06, abs=0.01)
    assert table.loc["causal_dq", "epochs_to_95"] == 7
    assert table.loc["causal_reward_only", "share_of_gain"] == pytest.approx(60 / 80)


def test_the_verdict_is_read_off_the_intervals() -> None:
    clear = summarise(
        logs(
            {
                "causal_dq": [curve(0, 100, 4), curve(0, 101, 4)],
                "non_causal": [curve(0, 50, 12), curve(0, 51, 12)],
                "causal_reward_only": [curve(0, 100, 4), curve(0, 101, 4)],
            }
        ),
        0.95,
    )
    text = "\n".join(verdict(clear))
    assert "faster than the non-causal agent in 1 of 1 settings" in text
    assert "ends higher (100 against 50)" in text
    assert "final reward sooner (epoch 6.0 against 14.0" in text
    assert "reward 100%" in text
    vague = summarise(
        logs(
            {
                "causal_dq": [curve(0, 50, 4), curve(0, 150, 12)],
                "non_causal": [curve(0, 60, 4), curve(0, 120, 12)],
            }
        ),
        0.95,
    )
    text = "\n".join(verdict(vague))
    assert "faster than the non-causal agent in 0 of 1 settings" in text
    assert "does not end clearly higher" in text
    assert "neither sooner nor later" in text


def test_one_seed_gives_no_interval_and_no_verdict() -> None:
    alone = logs({"causal_dq": [curve(0, 100, 4)], "non_causal": [curve(0, 50, 12)]})
    text = "\n".join(verdict(summarise(alone, 0.95)))
    assert "in 0 of 1 settings" in text
    assert "one seed, so no interval" in text
    assert "inf" not in text


@pytest.fixture
def table() -> pd.DataFrame:
    def row(
        method: str, delta: float, add: float, best: int, published: float
    ) -> dict[str, object]:
        return {
            "table": "noise_free", "scenario": "p10", "setting": "case_a", "protocol": "fair",
            "sigma": 0.0, "p": 10, "m": 6, "k": 5, "delta": delta, "method": method, "add": add,
            "se": 0.5, "among_best": best, "published_add": published, "arl0": 200.0,
            "false_alarm": 0.25, "way_to_oracle": 0.5,
        }  # fmt: skip

    return pd.DataFrame(
        [
            row("causal_dq", 0.5, 12.34, 0, 19.5),
            row("causal_dq", 1.0, np.nan, 0, 10.8),
            row("greedy", 0.5, 11.11, 1, np.nan),
            row("greedy", 1.0, 6.0, 1, np.nan),
            row("oracle_set", 0.5, 9.99, 0, np.nan),
            row("oracle_set", 1.0, 5.0, 0, np.nan),
        ]
    )


def test_a_delay_table_shows_measured_published_and_bounds(table: pd.DataFrame) -> None:
    lines = delay_table(table).splitlines()
    rows = {line.split(" & ")[0]: line for line in lines if " & " in line}
    assert r"12.3 (0.5) {\tiny 50\%} \textcolor{gray}{\footnotesize 19.5}" in rows["Causal DQ"]
    assert r"-- " in rows["Causal DQ"]
    assert r"\textbf{11.1} (0.5)" in rows["Greedy"]
    assert "textcolor" not in rows["Greedy"]
    bound = r"\textit{Oracle set}"
    rule = next(i for i, line in enumerate(lines) if "cmidrule" in line)
    assert lines.index(rows["Greedy"]) < rule < lines.index(rows[bound])
    # method, two shifts, ARL0, share of early alarms
    assert all(line.count("&") == 4 for line in rows.values())


def test_the_headline_has_the_same_numbers(table: pd.DataFrame) -> None:
    text = headline(table)
    assert "| fair | Causal DQ | 12.3 (19.5) | – | 200 |" in text
    assert "| fair | Greedy | **11.1** | **6.0** | 200 |" in text


def test_a_training_table_has_a_row_for_each_agent() -> None:
    summary = summarise(
        logs({"causal_dq": [curve(0, 90, 4)], "non_causal": [curve(0, 9, 4)]}), 0.95
    )
    text = training_table(summary)
    assert "Causal DQ & 90 & 6.0 & 0.90 & 0.50 & 100\\% \\\\" in text


NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_opens_with_what_one_learns(notebook: Path) -> None:
    title, learned = opening(notebook)
    assert title
    assert learned.endswith(".")
    first = "".join(json.loads(notebook.read_text())["cells"][0]["source"])
    assert first.startswith(f"# {title}\n\nWhat you learn here: ")


def test_readme_and_docs_show_the_committed_results() -> None:
    markers = set()
    for file in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        page = file.read_text()
        assert readme_tables(page, ROOT / "results/paper", "p50") == page, file.name
        markers |= set(re.findall(r"<!-- (.*?): generated by", page))
    assert markers == {"findings", "claims", "headline", "causes", "location-agnostic", "speed"}


@pytest.mark.parametrize(
    ("results", "scenario", "words"),
    [
        ("results/paper", "p5O", "results/paper has no scenario 'p5O'; give one of p10, p50, p100"),
        ("results/paper", "", "results/paper has no scenario ''; give one of"),
        ("results/nope", "p50", "results/nope/add.csv does not exist; check the name"),
        ("README.md", "p50", "README.md/add.csv is no table (Not a directory)"),
    ],
)
def test_a_page_is_left_alone_if_there_is_nothing_to_put_into_it(
    results: str, scenario: str, words: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_bytes((ROOT / "docs/results.md").read_bytes())
    done = subprocess.run(
        [
            *(sys.executable, "-m", "causaldq", "readme", results),
            *("--scenario", scenario, "--file", page),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"DataError: {words}")
    assert done.stderr.count("\n") == 1
    assert page.read_bytes() == (ROOT / "docs/results.md").read_bytes()


def test_what_the_readme_says_of_the_crossing_was_measured() -> None:
    section = (ROOT / "docs/results.md").read_text().partition("## Wherever the shift is")[2]
    said = " ".join(section.partition("\n## ")[0].split())
    cross = pd.read_csv(ROOT / "results/paper/cross.csv").set_index(["policy", "statistic"])
    steps = {
        (policy, statistic): f"{cross.loc[(policy, statistic), 'geometric_mean']:.1f}"
        for policy in ("greedy", "bayes_posterior")
        for statistic in ("greedy", "bayes_posterior")
    }
    greedy, ours = (
        [steps[policy, statistic] for statistic in ("greedy", "bayes_posterior")]
        for policy in ("greedy", "bayes_posterior")
    )
    assert (
        f"greedy's takes {greedy[0]} steps with the paper's, {greedy[1]} with the filter's" in said
    )
    assert f"the filter's own sensors take {ours[0]} and {ours[1]}" in said
    overall = pd.read_csv(ROOT / "results/paper/overall.csv")
    shown = overall[overall["scenario"].isin(SHOWN_AGNOSTIC)]
    gains = 100 * (1 - shown[shown["method"] == "bayes_posterior"]["ratio"])
    assert f"by {gains.min():.0f} to {gains.max():.0f}%" in said


def test_the_caption_of_a_problem_gives_its_size() -> None:
    config = load_config(ROOT / "config", {"profile": "paper"})
    tidy = Tidy(config, sorted((ROOT / "results/paper").glob("*.csv")))
    kinds = {"delay", "training", "streams", "graph"}
    figures = [figure for figure in catalogue(config).figures if figure.kind in kinds]
    assert {figure.kind for figure in figures} == kinds
    for figure in figures:
        assert re.search(r"\$p=\d+\$ streams", caption(figure, tidy)), figure.name


@pytest.mark.parametrize(("scenario", "told"), [("unseen_p30", True), ("unseen_p200", False)])
def test_a_caption_explains_percentages_where_there_are_some(scenario: str, told: bool) -> None:
    add = pd.read_csv(ROOT / "results/paper/add.csv")
    rows = add[add["scenario"] == scenario]
    assert ("random" in set(rows["method"])) == told
    assert ("Small percentages" in delay_caption(rows, restart=False)) == told


def test_a_page_is_filled_where_it_has_a_place_and_only_there() -> None:
    start, end = "<!-- headline: generated by `make readme` -->\n", "<!-- end of headline -->"
    assert filled("# A page\n", "headline", lambda: "text") == "# A page\n"
    filled_in = filled(f"a\n{start}old\n{end}\nb\n", "headline", lambda: "text")
    assert filled_in == f"a\n{start}text\n{end}\nb\n"
    with pytest.raises(DataError, match="place for headline does not end"):
        filled(f"a\n{start}old\n", "headline", lambda: "text")


def test_what_was_changed_stands_beside_what_was_not() -> None:
    columns = ["setting", "p", "m", "k", "delta", "method", "protocol"]
    plain = pd.DataFrame(
        [
            ("case_a", 50, 12, 10, 1.0, "greedy", "fair"),
            ("case_b", 50, 12, 10, 1.0, "greedy", "fair"),
            ("case_a", 50, 12, 10, 1.5, "greedy", "fair"),
            ("case_a", 50, 12, 10, 1.0, "cusum", "fair"),
            ("case_a", 10, 6, 5, 1.0, "greedy", "fair"),
        ],
        columns=columns,
    )
    changed = pd.DataFrame([("decay 0.05", 50, 12, 10, 1.0, "greedy", "fair")], columns=columns)
    together = sensitivity_rows(changed, plain)
    assert list(together["setting"]) == ["nothing changed", "decay 0.05"]
    assert list(together["method"]) == ["greedy", "greedy"]


def test_recorded_faults_stand_in_columns_and_missed_runs_are_marked() -> None:
    def row(event: str, method: str, delay: float, missed: float) -> dict[str, object]:
        return {
            **{"event": event, "method": method, "delay": delay, "missed": missed},
            **{"false_alarms": 3, "in_control_steps": 1500, "arl0": 80.4},
            **{"p": 50, "m": 5, "n_rep": 20, "source": "tep_classic (package)"},
        }

    rows = pd.DataFrame(
        [
            *(row("fault 1", "greedy", 7.2, 0.0), row("fault 4", "greedy", 31.0, 0.1)),
            *(row("fault 1", "random", 9.0, 0.0), row("fault 4", "random", 800.0, 1.0)),
        ]
    )
    lines = event_table(rows).splitlines()
    assert lines[2] == r"Method & 1 & 4 & false & ARL$_0$ \\"
    assert lines[4] == r"Greedy & \textbf{7} & \textbf{31}\rlap{$^*$} & 2.0 & 80 \\"
    assert lines[5] == r"Random & 9 & \textcolor{gray}{--} & 2.0 & 80 \\"
    assert event_table_caption(rows).endswith(
        "Faults: 1: A/C feed ratio, step; 4: reactor cooling water, step."
    )


def test_captions_name_the_methods_that_the_best_was_found_among() -> None:
    always = "greedy, TSSRP, ASMP, TRAS"
    assert baselines_in_words({"greedy", "causal_dq"}) == f"{always} and CMAB"
    assert (
        baselines_in_words({"cds", "bsscd", "bayes_posterior"}) == f"{always}, CMAB, BSSCD and CDS"
    )
    assert baselines_in_words(["tssrp", "greedy", "causal_dq"], always=()) == "greedy and TSSRP"
    assert baselines_in_words(["tssrp"], always=()) == "TSSRP"
