"""What the README shows is what happens."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from browser import CHROMIUM, chromium
from clones import ROOT, call, make_clone

pytestmark = pytest.mark.workflow
README = (ROOT / "README.md").read_text()


def test_every_snakemake_command_of_the_readme_is_accepted() -> None:
    pages = README + (ROOT / "docs/reproduce.md").read_text()
    commands = re.findall(r"^(snakemake .*?)(?: +#.*)?$", pages, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        if "plant" not in command and "/data/" not in command:
            call(ROOT, "bash", "-c", f"{command} --dry-run")


def blocks(heading: str, language: str = "") -> list[str]:
    """Code blocks of a section."""
    section = README.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return [block for kind, block in found if kind == language]


def test_the_python_example_prints_what_the_readme_says(tmp_path: Path) -> None:
    (first,) = blocks("As a library", "python")
    shown = next(block for block in blocks("As a library") if "asked" in block)
    done = subprocess.run(
        [sys.executable, "-c", first], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == shown


def test_own_data_are_monitored_as_the_readme_says(tmp_path: Path) -> None:
    clone = make_clone(tmp_path / "clone")
    example, inspect, fit, watch, run = blocks("Your plant")[0].splitlines()
    for command in (example, inspect):
        call(clone, "bash", "-c", command)
    assert "500 asked" in call(clone, "bash", "-c", fit).stdout
    watched = call(clone, "bash", "-c", watch, check=False)
    assert watched.returncode == 3
    alarm = re.search(r"^ *\d+  (\d+)  .*ALARM", watched.stdout.splitlines()[-2])
    assert alarm
    assert re.search(r"^ +\d+  raised 1: ", watched.stdout.splitlines()[-1])
    assert 800 <= int(alarm.group(1)) < 850, "the first alarm is the fault"
    seen_on_the_page(clone, blocks("Your plant")[1], alarm.group(1))
    call(clone, "bash", "-c", run)
    results = clone / "results/plant"
    delays = pd.read_csv(results / "add.csv")
    methods = {"bayes_posterior", "causal_dq", "causal_sr", "greedy", "tssrp", "random"}
    assert set(delays["method"]) == methods
    assert set(delays["source"]) == {"own (plant.csv)"}
    assert pd.read_csv(results / "events.csv")["missed"].max() < 1
    assert not (results / "report.html").exists()
    the_plant_has_a_page(results)
    fault = "cat <(head -n 1 plant.csv) <(tail -n 99 plant.csv)"
    for method in ("greedy", "causal_sr", "causal_dq"):
        monitor = (
            f"artifacts/plant/policies/plant.{method}{'.s0' * (method == 'causal_dq')}.monitor"
        )
        piped = call(clone, "bash", "-c", f"{fault} | causaldq watch {monitor}", check=False)
        assert piped.returncode == 3, piped.stdout
        # the fault's rows, and nothing else, were piped in
        assert sum("  next: " in line for line in piped.stdout.splitlines()) == 99
    assert "cause: reactor_temperature" in call(
        clone, "bash", "-c",
        f"{fault} | causaldq watch artifacts/plant/policies/plant.causal_sr.monitor", check=False,
    ).stdout  # fmt: skip
    # Without the data nothing tells whether all this is still good.
    (clone / "plant.csv").unlink()
    again = call(clone, "bash", "-c", run, check=False)
    assert again.returncode == 1
    assert "sources.plant.file: plant.csv does not exist; put it there" in again.stdout
    checked = call(
        clone, "env", f"PYTHONPATH={clone}/src", "python", "-m", "causaldq", "verify",
        "results/plant", "--configfile", "config/plant.yaml", check=False,
    )  # fmt: skip
    assert checked.returncode == 1
    assert "sources.plant.file: plant.csv does not exist" in checked.stdout


def seen_on_the_page(folder: Path, command: str, minute: str) -> None:
    """The alarm of the watch for a year, as Chromium shows it."""
    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium")
    (folder / "rows.csv").write_bytes((folder / "plant.csv").read_bytes())
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command.replace('8765', '0')}"],
            cwd=folder, stderr=said, env=environment,
        )  # fmt: skip
        try:
            while not (found := re.search(r"page: (http\S+)", (folder / "said").read_text())):
                assert process.poll() is None, (folder / "said").read_text()
                time.sleep(0.05)
            with chromium() as browser:
                page = browser.open(found[1])
                while "raised" not in page.evaluate("document.body.textContent"):
                    assert process.poll() is None
                    time.sleep(0.05)
                events = page.evaluate("document.querySelector('#events tbody').textContent")
                assert page.complaints == []
        finally:
            process.terminate()
            assert process.wait() == 3
    assert minute in events
    first = json.loads((folder / "alarms.jsonl").read_text().splitlines()[0])
    assert (first["event"], first["time"]) == ("raised", minute)


def the_plant_has_a_page(results: Path) -> None:
    """The verdict first, and nothing of the paper."""
    pages = [path for path in results.rglob("*.html") if path.name != "cards.html"]
    assert {path.name for path in pages} == {"overview.html", "audit.html"}
    text = (results / "overview.html").read_text()
    for page in pages:
        said = re.sub(r"base64,[^\"]+|<style.*?</style>|<script.*?</script>", "", page.read_text(),
                      flags=re.DOTALL)  # fmt: skip
        for word in ("Tennessee", "paper", "Not measured", "arXiv"):
            assert word not in said, (page.name, word)
    assert "published" not in text
    order = ["is recommended", "asked", "reached", "causaldq watch artifacts/plant/policies/"]
    order += ["Statistic over", "Sensors", "Contributions", "Causal graph", "All methods"]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    command = re.search(r"<pre><code>(.*?)</code>", text)
    assert command
    done = call(results.parents[1], "bash", "-c", f"{command[1]} --stop", check=False)
    assert done.returncode == 3, done.stderr


def test_every_tool_command_on_top_works() -> None:
    pages = README + (ROOT / "docs/reproduce.md").read_text()
    commands = re.findall(r"^(causaldq check .*?)(?: +#.*)?$", pages, re.MULTILINE)
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
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    layout = re.search(r"## What is where\n```\n(.*?)```", contributing, re.DOTALL)
    assert layout
    for line in layout.group(1).splitlines():
        for name in re.split(r" {2,}", line)[0].split() if "<" not in line.split()[0] else []:
            assert (ROOT / name).exists(), name
