"""Settings: every mistake is one line that names the key, the value and what is allowed."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from causaldq.errors import ConfigError
from causaldq.loading import load_config, merge, schema

CONFIG = Path(__file__).parents[2] / "config"

BAD = {
    "unknown key": ({"sede": 1}, ["sede", "no such setting", "seed"]),
    "unknown nested key": (
        {"statistic": {"lambda": 0.1}},
        ["statistic.lambda", "no such setting", "decay"],
    ),
    "wrong type": ({"training_seeds": "two"}, ["training_seeds", "'two'", "integer"]),
    "negative seed": ({"seed": -1}, ["seed", "-1", "greater than or equal to 0"]),
    "share out of range": ({"statistic": {"decay": 1.5}}, ["statistic.decay", "1.5", "less"]),
    "m above p": ({"scenarios": {"p10": {"m": 11}}}, ["scenarios.p10.m", "11", "at most p = 10"]),
    "k above p": ({"scenarios": {"p10": {"k": 11}}}, ["scenarios.p10.k", "11", "at most p = 10"]),
    "no sensors": ({"scenarios": {"p10": {"m": 0}}}, ["scenarios.p10.m", "0", "greater than"]),
    "empty deltas": ({"scenarios": {"p10": {"deltas": []}}}, ["scenarios.p10.deltas", "[]"]),
    "repeated delta": (
        {"scenarios": {"p10": {"deltas": [1.0, 1.0]}}},
        ["scenarios.p10.deltas", "twice"],
    ),
    "unknown method": ({"methods": ["causal_qd"]}, ["methods", "'causal_qd'", "causal_dq"]),
    "unknown source": (
        {"scenarios": {"p10": {"source": "nowhere"}}},
        ["scenarios.p10.source", "'nowhere'", "sim_p10"],
    ),
    "flow in recorded rows": (
        {"scenarios": {"tep_m5": {"propagate": True}}},
        ["scenarios.tep_m5.propagate", "the true graph is not known"],
    ),
    "events of a simulation": (
        {"scenarios": {"p10": {"events": True}}}, ["scenarios.p10.events", "no such rows"],
    ),
    "shifted flares": (
        {"scenarios": {"flares_m6": {"deltas": [0.5]}}}, ["scenarios.flares_m6.deltas", "[1.0]"],
    ),
    "true graph of recorded rows": (
        {"scenarios": {"tep_m5": {"graph": "ground_truth"}}}, ["scenarios.tep_m5.graph"],
    ),
    "setting of two cases": (
        {"scenarios": {"p10": {"setting": "x"}}}, ["scenarios.p10.cases", "one case"],
    ),
    "unknown showcase": ({"report": {"showcase": "p11"}}, ["report.showcase", "'p11'"]),
    "too many sensors for the process": (
        {"scenarios": {"tep_m5": {"m": 51}}}, ["scenarios.tep_m5.m", "at most p = 50"],
    ),
    "unknown kind of source": (
        {"sources": {"tep": {"kind": "plc"}}}, ["sources.tep", "plc"],
    ),
    "own data without rows": (
        {"sources": {"mine": {"kind": "own", "file": "a.csv"}}},
        ["sources.mine", "first_in_control"],
    ),
    "unknown hyperparameters": (
        {"scenarios": {"p10": {"hyperparameters": "p11"}}},
        ["scenarios.p10.hyperparameters", "'p11'", "p10_noise"],
    ),
    "unknown hyperparameters of a problem": (
        {"profile": "ci", "propagation": {"problems": {"p6": {"hyperparameters": "p11"}}}},
        ["propagation.problems.p6.hyperparameters", "'p11'", "p10_noise"],
    ),
    "an agent told of rows only": (
        {"profile": "ci", "propagation": {"told_rows": ["causal_dq"]}},
        ["propagation.told_rows", "'causal_dq'", "causal_sr"],
    ),
    "unknown case": ({"scenarios": {"p10": {"cases": ["c"]}}}, ["scenarios.p10.cases", "'c'"]),
    "change after the episode": ({"agent": {"latest_change": 100}}, ["agent", "episode_steps"]),
    "unknown profile": ({"profile": "qiuck"}, ["qiuck.yaml", "quick"]),
    "infinite": ({"calibration": {"arl0": float("inf")}}, ["calibration.arl0", "inf"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_setting_is_one_line_that_names_it(case: str) -> None:
    given, expected = BAD[case]
    with pytest.raises(ConfigError) as caught:
        load_config(CONFIG, given)
    message = str(caught.value)
    assert "\n" not in message
    for part in expected:
        assert part in message


def test_scenarios_can_be_left_out_with_all_that_only_they_need() -> None:
    given = {"profile": "paper", "leave_out": ["p50", "unseen_p200"]}
    config, whole = load_config(CONFIG, given), load_config(CONFIG, {"profile": "paper"})
    assert set(whole.scenarios) - set(config.scenarios) == {"p50", "unseen_p200"}
    assert set(whole.sources) - set(config.sources) == {"sim_p200"}
    assert (config.report.showcase, config.cross) == (None, None)
    problems = load_config(
        CONFIG, {"profile": "paper", "leave_out": "propagation.p100"}
    ).propagation
    assert problems is not None
    assert whole.propagation is not None
    assert set(whole.propagation.problems) - set(problems.problems) == {"p100"}
    with pytest.raises(ConfigError, match="leave_out: there is no scenario 'p11'"):
        load_config(CONFIG, {"leave_out": "p11"})


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"scenario": "p11"}, "cross.scenario"),
        ({"policies": ["clever"]}, "cross.policies"),
        ({"statistics": ["causal_dq_eq"]}, "cross.statistics"),
    ],
)
def test_a_crossing_that_cannot_be_is_refused(changed: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        load_config(CONFIG, {"cross": changed})


def test_only_some_scenarios_can_be_asked_for() -> None:
    config = load_config(CONFIG, {"only": ["p10", "tep_m5"]})
    assert list(config.scenarios) == ["p10", "tep_m5"]
    assert list(config.sources) == ["sim_p10", "tep"]
    assert config.report.showcase is None
    assert load_config(CONFIG, {"only": "p50"}).report.showcase == "p50"
    with pytest.raises(ConfigError, match="only: there is no scenario 'p11'"):
        load_config(CONFIG, {"only": ["p11"]})


def test_complete_settings_are_taken_as_they_are() -> None:
    some = load_config(CONFIG, {"only": "p10"})
    assert load_config(CONFIG, {"complete": True, **some.model_dump()}) == some


def test_a_missing_setting_is_named(tmp_path: Path) -> None:
    defaults = yaml.safe_load((CONFIG / "defaults.yaml").read_text())
    del defaults["calibration"]["arl0"]
    (tmp_path / "defaults.yaml").write_text(yaml.safe_dump(defaults))
    for name in ("quick.yaml", "experiments.yaml"):
        (tmp_path / name).write_text((CONFIG / name).read_text())
    with pytest.raises(ConfigError, match=r"calibration.arl0: is missing"):
        load_config(tmp_path, {})


def test_broken_yaml_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "quick.yaml").write_text("profile: [quick\n")
    (tmp_path / "defaults.yaml").write_text("{}")
    with pytest.raises(ConfigError, match=r"quick.yaml is not valid YAML") as caught:
        load_config(tmp_path, {})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("profile", ["quick", "paper", "ci"])
def test_shipped_profiles_are_valid(profile: str) -> None:
    assert load_config(CONFIG, {"profile": profile}).profile == profile


def test_without_arguments_the_quick_profile_runs() -> None:
    assert load_config(CONFIG, {}).profile == "quick"


def test_an_override_reaches_its_setting_and_no_other() -> None:
    plain, changed = load_config(CONFIG, {}), load_config(CONFIG, {"seed": 7})
    assert changed.seed == 7
    assert changed.model_copy(update={"seed": plain.seed}) == plain


def test_nested_overrides_may_arrive_as_text() -> None:
    given = {"scenarios": {"p10": {"deltas": ["0.5", "1"], "propagate": "true"}}}
    scenario = load_config(CONFIG, given).scenarios["p10"]
    assert scenario.deltas == [0.5, 1.0]
    assert scenario.propagate is True


def test_a_profile_file_of_the_users_own_needs_no_place_in_config() -> None:
    own: dict[str, Any] = yaml.safe_load((CONFIG / "ci.yaml").read_text())
    own["profile"] = "mine"
    assert load_config(CONFIG, own).profile == "mine"


def test_resolved_settings_load_again_unchanged() -> None:
    config = load_config(CONFIG, {"profile": "ci"})
    assert load_config(CONFIG, json.loads(config.model_dump_json())) == config


def test_merge_replaces_lists_and_merges_mappings() -> None:
    assert merge({"a": {"b": 1, "c": [1, 2]}}, {"a": {"c": [3]}}) == {"a": {"b": 1, "c": [3]}}


def test_the_schema_on_disk_is_that_of_the_models() -> None:
    kept = json.loads((CONFIG / "schema.json").read_text())
    assert kept == schema(), "run: python -m causaldq schema > config/schema.json"
