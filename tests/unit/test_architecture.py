"""The storeys: core below learn below pipeline, and no cycle between rooms."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from layers import graph, knots, reach  # noqa: E402

HEAVY = ("torch", "pandas", "scipy", "snakemake", "dvc", "matplotlib", "pydantic", "rich")


def test_no_room_is_in_a_cycle() -> None:
    assert knots(graph()) == []


def test_a_cycle_would_be_found() -> None:
    assert knots({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def test_core_reaches_neither_training_nor_pipeline() -> None:
    uses = graph()
    above = {name for name in uses if name.startswith("pipeline")} | {"learn", "__main__"}
    for room in set(uses) - above:
        assert not reach(uses, room) & above, room
    assert not {name for name in reach(uses, "learn") if name.startswith("pipeline")}


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, causaldq; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & set(HEAVY)


def test_core_works_without_training_and_pipeline_packages() -> None:
    """As if torch, snakemake and the rest were not installed."""
    code = """
import sys
for name in ("torch", "safetensors", "gymnasium", "causallearn", "sklearn", "snakemake", "dvc",
             "papermill", "matplotlib", "jinja2", "yaml", "pyarrow", "pooch", "bibmon"):
    sys.modules[name] = None
import causaldq
from causaldq.__main__ import app
rows = causaldq.example_plant()
monitor = causaldq.Monitor.fit(rows[:300], 3, arl0=20, method="causal_sr", paths=20)
monitor.update(rows.loc[700])
"""
    subprocess.run([sys.executable, "-c", code], check=True)
