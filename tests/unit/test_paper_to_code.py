"""docs/paper-to-code.md names what exists, and leaves no label of the paper out."""

import re
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/paper-to-code.md").read_text()
NAMES = sorted(set(re.findall(r"`((?:[a-z_0-9]+\.)+[A-Za-z_0-9]+)`", PAGE)))


@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("results")])
def test_every_function_exists(name: str) -> None:
    module, _, what = f"causaldq.{name}".rpartition(".")
    assert callable(getattr(import_module(module), what))


def test_every_output_scenario_and_rule_exists() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.partition("## Tables and figures")[2].splitlines()
        if line.startswith("| ") and "---" not in line
    ][1:]
    rules = {path.stem for path in (ROOT / "scripts").glob("*.py")}
    scenarios = yaml.safe_load((ROOT / "config/experiments.yaml").read_text())["scenarios"]
    for _, named, ran, output in rows:
        assert set(filter(None, named.split(", "))) <= set(scenarios)
        assert set(filter(None, ran.split(", "))) <= rules
        for path in re.findall(r"`(results/[^`]+)`", output):
            assert (ROOT / path).exists(), path


def test_every_published_table_is_there() -> None:
    published = set(pd.read_csv(ROOT / "data/reference/published.csv")["table"])
    said = " ".join(re.findall(r"results/paper/tables/(\w+)\.tex", PAGE))
    assert {name for name in published if name not in said} == set()
