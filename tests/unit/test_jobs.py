"""Definitions of jobs: the command line and the rule follow from them."""

import argparse
import json
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from causaldq.errors import ConfigError
from causaldq.pipeline import jobs
from causaldq.pipeline.arguments import add_options, argv, call, job_module, options, settings_model
from causaldq.pipeline.code import PLANNING
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.plan import Plan
from causaldq.pipeline.rules import JobRule
from causaldq.setting import Settings

ROOT = Path(__file__).parents[2]
PLAN = Plan(load_config(ROOT / "config", {"profile": "ci"}))
NAMES = sorted({module.name for module in pkgutil.iter_modules(jobs.__path__)} - {"tidy_results"})


class Given(Settings):
    seed: int
    share: float


SEEN: dict[str, Any] = {}


def work(
    job: Given, *, one: Path, some: list[Path], perhaps: Path | None = None,
    more: list[Path] | None = None, named: dict[str, Path], output: Path,
) -> None:  # fmt: skip
    """Remember what it was called with."""
    SEEN.update(locals())


def parsed(run: Any, words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_options(parser, run)
    return parser.parse_args(words)


def test_a_signature_is_a_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("causaldq.pipeline.jobs.work")
    module.run = work  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    given = Given(seed=3, share=0.25)
    inputs = {"one": "a b.csv", "some": ["c", "d"], "named": {"fair": "e=f", "r.s0:graphs": "g"}}
    words = argv("work", given, inputs | {"perhaps": []}, {"output": "h", "facts": "beside.json"})
    assert words[:3] == ["python", "scripts/work.py", "--settings"]
    assert json.loads(words[3]) == {"seed": 3, "share": 0.25}
    assert shlex.split(shlex.join(words)) == words
    assert "--perhaps" not in words, "there is none"
    assert "beside.json" not in words, "it is written beside what is named"
    call(work, parsed(work, words[2:]))
    assert {
        "job": given, "one": Path("a b.csv"), "some": [Path("c"), Path("d")], "perhaps": None,
        "more": None, "named": {"fair": Path("e=f"), "r.s0:graphs": Path("g")}, "output": Path("h"),
    } == SEEN  # fmt: skip
    without = [*words[2:4], "--one", "a", "--some", "b", "--output", "c"]
    call(work, parsed(work, without))
    assert SEEN["named"] == {}
    for needed in ("--one", "--some", "--output", "--settings"):
        place = without.index(needed)
        with pytest.raises((SystemExit, argparse.ArgumentError)):
            parsed(work, without[:place] + without[place + 2 :])


def test_settings_may_come_from_a_file_and_are_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "given.json"
    file.write_text('{"seed": 4, "share": 0.5}')
    rest = ["--one", "a", "--some", "b", "--output", "c"]
    call(work, parsed(work, ["--settings", str(file), *rest]))
    assert SEEN["job"] == Given(seed=4, share=0.5)
    with pytest.raises(ConfigError, match=r"--settings: share: Field required"):
        call(work, parsed(work, ["--settings", '{"seed": 4}', *rest]))


@pytest.mark.parametrize("name", NAMES)
def test_a_job_is_whole(name: str) -> None:
    """One file has it all, and the names of files agree between its parts."""
    module = job_module(name)
    assert module.run.__doc__
    assert (ROOT / f"scripts/{name}.py").is_file()
    said = {"train": {"protocols": ["paper", "fair"]}, "figures": {"of_delays": True}}.get(name, {})
    rule = JobRule(PLAN, ROOT, name, **said)
    (unit,) = {*re.findall(r"\{(\w+)\}", rule.log)} or {""}
    units = {
        "source": "tep" if name in ("fetch", "prepare") else "sim_p10", "scenario": "tep_m5",
        "graph": "sim_p10", "limits": "sim_p10.m6.greedy", "run": "p10.causal_dq.s0",
        "network": "causal_dq_eq.s0", "policy": "greedy", "study": "p6.g0", "name": "data",
    }  # fmt: skip
    wildcards = {unit: units[unit]} if unit else {}
    inputs, outputs = rule.inputs(wildcards), rule.outputs
    named = {option.name: option for option in options(module.run)}
    assert not inputs.keys() & outputs.keys()
    # What is no argument is read or written beside what is.
    assert (inputs.keys() | outputs.keys()) - named.keys() <= {"template", "facts"}
    required = {option for option in named if named[option].required}
    assert required <= inputs.keys() | outputs.keys()
    assert all("{profile}" not in str(path) for path in [*inputs.values(), *outputs.values()])
    if settings_model(module.run) and name not in ("fetch",):
        text = rule.settings(wildcards)
        model = settings_model(module.run)
        assert model is not None
        assert model.model_validate_json(text).as_argument() == text
    # The command that Snakemake runs is accepted by the script's own parser.
    parsed_files = parsed(
        module.run,
        [*(["--settings", "{}"] if settings_model(module.run) else []),
         *shlex.split(rule.files(wildcards))],
    )  # fmt: skip
    for option, paths in {**inputs, **outputs}.items():
        if option in named and named[option].kind == "file" and paths:
            assert str(getattr(parsed_files, option)) == str(
                paths if isinstance(paths, str) else paths[0]
            ).format(**wildcards)


def test_there_is_a_rule_for_every_job_and_a_job_for_every_script() -> None:
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    assert sorted(set(re.findall(r'= job\("(\w+)"', rules))) == NAMES
    scripts = {path.stem for path in (ROOT / "scripts").glob("*.py")}
    assert scripts - set(NAMES) == {"bench"}


@pytest.mark.parametrize("name", NAMES)
def test_what_plans_a_job_is_not_called_by_its_work(name: str) -> None:
    """The code hash leaves it out."""
    module = job_module(name)
    planning = {part for part in PLANNING if hasattr(module, part)}
    functions = {
        value for value in vars(module).values()
        if callable(value) and getattr(value, "__module__", "") == module.__name__
    }  # fmt: skip
    for value in functions - {getattr(module, part) for part in planning}:
        compiled = getattr(value, "__code__", None)
        assert compiled is None or not planning & set(compiled.co_names), value


def test_the_workflow_starts_without_torch_and_matplotlib() -> None:
    """Planning loads every job's definition, and no more of its work than it must."""
    ask = (
        "import sys\nfrom causaldq.pipeline.arguments import job_module\n"
        f"for name in {NAMES}: job_module(name)\n"
        "print([name for name in ('torch', 'matplotlib', 'nbconvert', 'papermill', 'sklearn')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
