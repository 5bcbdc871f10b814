"""What the README shows is what happens."""

import re
from pathlib import Path

import pandas as pd
import pytest
from clones import ROOT, call, make_clone, snakemake

pytestmark = pytest.mark.workflow
README = (ROOT / "README.md").read_text()


def test_adding_a_method_takes_the_file_and_the_line_of_the_readme(tmp_path: Path) -> None:
    clone = make_clone(tmp_path / "clone")
    file, line = re.findall(r"```python\n# (src/\S+\.py)\n(.*?)```", README, re.DOTALL)
    (clone / file[0]).write_text(file[1])
    registry = clone / line[0]
    text = registry.read_text()
    entry = "NAMES = (\n"
    assert entry in text
    registry.write_text(text.replace(entry, entry + line[1]))
    snakemake(clone, "-j2", "--config", "profile=ci", "methods=[first,random,oracle_set]")
    table = pd.read_csv(clone / "results/ci/add.csv")
    first = table[table["method"] == "first"]
    assert len(first[first["scenario"] == "p10"]) == 4
    assert first["add"].notna().all()
    assert "First" in (clone / "results/ci/tables/noise_free_p10.tex").read_text()


def test_every_snakemake_command_of_the_readme_is_accepted() -> None:
    commands = re.findall(r"^(snakemake .*?)(?: +#.*)?$", README, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        if "plant" not in command and "/data/" not in command:
            call(ROOT, "bash", "-c", f"{command} --dry-run")


def test_own_data_are_monitored_as_the_readme_says(tmp_path: Path) -> None:
    clone = make_clone(tmp_path / "clone")
    section = README.partition("## Your own data")[2].partition("\n## ")[0]
    block = re.search(r"```\n(.*?)```", section, re.DOTALL)
    assert block
    example, run, replay, pipe = block.group(1).splitlines()
    call(clone, "bash", "-c", example)
    call(clone, "bash", "-c", run)
    results = clone / "results/plant"
    delays = pd.read_csv(results / "add.csv")
    methods = {"bayes_posterior", "causal_dq", "causal_sr", "greedy", "tssrp", "random"}
    assert set(delays["method"]) == methods
    assert set(delays["source"]) == {"own (plant.csv)"}
    assert pd.read_csv(results / "events.csv")["missed"].max() < 1
    assert (results / "report.html").exists()
    replayed = call(clone, "bash", "-c", replay, check=False)
    assert replayed.returncode == 3
    assert replayed.stdout.splitlines()[-1].count("ALARM") == 1
    piped = call(clone, "bash", "-c", pipe, check=False)
    assert piped.returncode == 3
    # the fault's rows, and nothing else, were piped in
    assert sum("statistic" in line for line in piped.stdout.splitlines()) == 99
    shown = section.partition("        cause: ")[2].split(",")[0]
    assert f"cause: {shown}" in piped.stdout


def test_every_tool_command_on_top_works() -> None:
    top = README.partition("## What comes out")[0]
    commands = re.findall(r"^(python -m causaldq .*?)(?: +#.*)?$", top, re.MULTILINE)
    assert commands
    for command in commands:
        call(ROOT, "bash", "-c", command)


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"\bmake (\w+)\b", README))
    assert {"reproduce", "test"} <= targets
    for target in sorted(targets):
        call(ROOT, "make", "--dry-run", target)


def test_every_place_the_readme_names_exists() -> None:
    for name in re.findall(r"\]\(((?!http)[^)]+)\)", README):
        assert (ROOT / name).exists(), name
    layout = re.search(r"## Layout\n```\n(.*?)```", README, re.DOTALL)
    assert layout
    for line in layout.group(1).splitlines():
        name = line.split()[0]
        if not line.startswith(" ") and "<" not in name:
            assert (ROOT / name).exists(), name
