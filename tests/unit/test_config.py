"""Settings: every mistake is one line that names the key, the value and what is allowed."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from causaldq.calibration import CalibrationSettings
from causaldq.discovery.settings import DiscoverySettings, UncertaintySettings
from causaldq.errors import ConfigError
from causaldq.learn.equivariant.settings import EquivariantSettings
from causaldq.learn.settings import AgentSettings, RewardSettings
from causaldq.methods.registry import index_methods
from causaldq.pipeline.config import BaselineSettings, Config, EvaluationSettings
from causaldq.pipeline.loading import check_files, load_config, merge
from causaldq.pipeline.plan import Plan
from causaldq.setting import Settings, Share
from causaldq.statistic import StatisticSettings
from causaldq.worlds.simulation import SimulationSource

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
        load_config(CONFIG, {"profile": "paper", **given})
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
        load_config(CONFIG, {"profile": "paper", "leave_out": "p11"})


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
        load_config(CONFIG, {"profile": "paper", "cross": changed})


def test_only_some_scenarios_can_be_asked_for() -> None:
    config = load_config(CONFIG, {"only": ["p10", "tep_m5"]})
    assert list(config.scenarios) == ["p10", "tep_m5"]
    assert list(config.sources) == ["sim_p10", "tep"]
    assert config.report.showcase is None
    assert load_config(CONFIG, {"only": "p50"}).report.showcase == "p50"
    with pytest.raises(ConfigError, match="only: there is no scenario 'p11'"):
        load_config(CONFIG, {"only": ["p11"]})


def work(config: Config) -> set[tuple[str, str]]:
    """All units of work that a config asks for, by kind and id."""
    plan = Plan(config)
    kinds = {
        "run": plan.runs,
        "network": plan.networks,
        "shared network": plan.shared_networks(),
        "propagation": plan.studies(),
        "graph": plan.graphs(),
        "source": config.sources,
        "crossed": plan.crossed(),
    }
    return {(kind, name) for kind, names in kinds.items() for name in names}


@pytest.mark.parametrize("profile", ["ci", "quick", "paper"])
def test_some_scenarios_ask_for_no_more_work_than_all(profile: str) -> None:
    whole = load_config(CONFIG, {"profile": profile})
    for name in whole.scenarios:
        some = load_config(CONFIG, {"profile": profile, "only": name})
        assert work(some) <= work(whole), name
    # What the profile leaves out can be asked for all the same, if by name.
    if profile == "quick":
        assert "unseen_p30" not in whole.scenarios
        asked = load_config(CONFIG, {"only": "unseen_p30"})
        assert list(asked.scenarios) == ["unseen_p30"]
        assert asked.propagation == whole.propagation


OWN_FILES: dict[str, dict[str, Any]] = {
    "sources.mine.file": {
        "sources": {
            "mine": {
                "kind": "own", "file": "here.csv", "first_in_control": 1, "last_in_control": 9,
            }
        }
    },
    "sources.flares.path": {"sources": {"flares": {"path": "here.csv"}}},
    "discovery.file": {"discovery": {"algorithm": "file", "file": "here.csv"}},
}  # fmt: skip


@pytest.mark.parametrize("place", OWN_FILES)
def test_a_file_of_the_users_own_has_to_be_there(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = load_config(CONFIG, {"profile": "paper", **OWN_FILES[place]})
    with pytest.raises(ConfigError, match=rf"^{place}: here.csv does not exist; put it there"):
        check_files(config)
    Path("here.csv").touch()
    check_files(config)
    Path("here.csv").unlink()
    Path("here.csv").mkdir()
    if place == "sources.flares.path":  # a folder of windows
        check_files(config)
    else:
        with pytest.raises(ConfigError, match=rf"^{place}: here.csv is a folder; give a file"):
            check_files(config)


def test_complete_settings_are_taken_as_they_are() -> None:
    some = load_config(CONFIG, {"only": "p10"})
    assert load_config(CONFIG, {"complete": True, **some.model_dump()}) == some


def test_a_missing_setting_is_named(tmp_path: Path) -> None:
    defaults = yaml.safe_load((CONFIG / "defaults.yaml").read_text())
    del defaults["hyperparameters"]["p10"]["batch"]
    (tmp_path / "defaults.yaml").write_text(yaml.safe_dump(defaults))
    for name in ("quick.yaml", "paper.yaml", "experiments.yaml"):
        (tmp_path / name).write_text((CONFIG / name).read_text())
    with pytest.raises(ConfigError, match=r"hyperparameters.p10.batch: is missing"):
        load_config(tmp_path, {})


@pytest.mark.parametrize(
    ("place", "settings"),
    [
        ("statistic", StatisticSettings()),
        ("calibration", CalibrationSettings()),
        ("discovery", DiscoverySettings()),
        ("uncertainty", UncertaintySettings()),
        ("agent", AgentSettings()),
        ("equivariant", EquivariantSettings()),
        ("evaluation", EvaluationSettings()),
        ("source_defaults.simulation", SimulationSource(p=2)),
        *(
            (f"baselines.{name}", kind.options())
            for name, kind in index_methods().items()
            if kind.options is not None and name in BaselineSettings.model_fields
        ),
    ],
    ids=str,
)
def test_the_defaults_of_the_file_are_those_of_the_library(place: str, settings: Settings) -> None:
    """The library's are the definition; the file lists them for those who change some."""
    written = yaml.safe_load((CONFIG / "defaults.yaml").read_text())
    for part in place.split("."):
        written = written[part]
    defined = settings.model_dump()
    assert written == {name: value for name, value in defined.items() if name in written}
    assert set(defined) - set(written) <= {"file", "kind", "p"}


def test_broken_yaml_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "quick.yaml").write_text("profile: [quick\n")
    (tmp_path / "defaults.yaml").write_text("{}")
    with pytest.raises(ConfigError, match=r"quick.yaml is not valid YAML") as caught:
        load_config(tmp_path, {})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("profile", ["quick", "paper", "longer", "ci"])
def test_shipped_profiles_are_valid(profile: str) -> None:
    assert load_config(CONFIG, {"profile": profile}).profile == profile


def test_without_arguments_the_quick_profile_runs() -> None:
    assert load_config(CONFIG, {}).profile == "quick"


def test_an_override_of_what_does_not_run_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"scenarios.tep_m5: quick does not run it; ask for it"):
        load_config(CONFIG, {"scenarios": {"tep_m5": {"m": 4}}})
    asked = load_config(CONFIG, {"scenarios": {"tep_m5": {"m": 4}}, "only": ["tep_m5"]})
    assert asked.scenarios["tep_m5"].m == 4


def test_a_profile_may_extend_one_that_extends_another(tmp_path: Path) -> None:
    quick, paper = load_config(CONFIG, {}), load_config(CONFIG, {"profile": "paper"})
    assert quick.training_seeds == paper.training_seeds
    assert quick.calibration == paper.calibration
    own = quick.scenarios["p10"].training_study
    assert own.protocols == paper.scenarios["p10"].training_study.protocols == ["paper"]
    fewer = {"training_seeds": None, "training_study": own}
    assert quick.scenarios["p10"] == paper.scenarios["p10"].model_copy(update=fewer)
    (tmp_path / "defaults.yaml").write_text("{}")
    (tmp_path / "a.yaml").write_text("{profile: a, extends: b}")
    (tmp_path / "b.yaml").write_text("{extends: a}")
    with pytest.raises(ConfigError, match="extends: b extends itself, by b, a"):
        load_config(tmp_path, {"profile": "a"})


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
    assert kept == Config.model_json_schema(), "run: python -m causaldq schema > config/schema.json"


def test_published_profiles_have_the_stages_of_the_first() -> None:
    """A copy, which `make publish` makes: DVC cannot follow a link in a commit."""
    copies = sorted(CONFIG.parent.glob("*/dvc.yaml"))
    assert CONFIG.parent / "paper/dvc.yaml" in copies
    for place in copies:
        assert not place.is_symlink()
        assert place.read_bytes() == (CONFIG.parent / "dvc.yaml").read_bytes(), place


def test_a_share_lies_between_none_and_all() -> None:
    class One(Settings):
        share: Share

    assert One(share=0.5).share == 0.5
    for wrong in (0.0, 1.0, -0.1, 1.1):
        with pytest.raises(ValidationError):
            One(share=wrong)


def test_the_paper_s_reward() -> None:
    """Section 4.3: +1 for a hit, -20 for none, over the hundred steps after the change."""
    found = RewardSettings().model_dump(exclude={"credit"})
    expected = {"hit": 1, "hit_state": 0, "miss": -20, "before": 0, "after": 0, "duration": 100}
    assert found == expected
