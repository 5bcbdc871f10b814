"""What the measurements of speed are made of; the speeds themselves are no test."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

from causaldq.pipeline.bench.monitoring import exponent
from causaldq.pipeline.bench.scale import a_sparse_graph, some_plants
from causaldq.pipeline.bench.workflow import end_to_end, work_of_jobs
from causaldq.pipeline.measure import Measurement, Target, ratios, side_by_side
from causaldq.pipeline.report.markdown import speed

ROOT = Path(__file__).parents[2]


def test_a_row_has_the_median_the_spread_and_a_verdict() -> None:
    fast = Measurement("updates", [3.0, 1.0, 2.5], target=Target("at least", 2.0))
    assert fast.row() == "| updates | 2.5 | 1 | 3 | at least 2: yes |"
    slow = Measurement("a step", [25.0], "ms", Target("at most", 20.0))
    assert slow.row() == "| a step, ms | 25 | 25 | 25 | at most 20: no |"
    assert fast.record()["median"] == 2.5


def test_work_is_measured_by_turns() -> None:
    done: list[str] = []
    taken = side_by_side({"a": lambda: done.append("a"), "b": lambda: done.append("b")}, 3)
    assert done == ["a", "b"] * 4  # once to warm up
    assert [len(times) for times in taken.values()] == [3, 3]
    assert ratios([4.0, 9.0], [2.0, 3.0]) == [2.0, 3.0]


def test_the_exponent_of_a_power_law() -> None:
    assert exponent({p: 3e-6 * p**1.7 for p in (10, 30, 100)}) == pytest.approx(1.7)


def test_plants_that_speed_is_measured_on() -> None:
    graph = a_sparse_graph(300)
    assert np.allclose(graph.variance, 1.0)
    own = np.linalg.inv(graph.dense)
    linked = np.abs(own) > 0.02 * np.sqrt(np.outer(np.diag(own), np.diag(own)))
    assert 2.5 < (linked.sum() / 300 - 1) < 8.0  # three links a stream, and causes of one effect
    monitors, factors = some_plants(4, 2)
    assert len(monitors) == len(factors) == 1000
    found = monitors[7].method.problem.covariance
    assert np.allclose(factors[7] @ factors[7].T, found)


def note(folder: Path, output: str, start: float, end: float) -> None:
    name = base64.b64encode(output.encode()).decode()
    # Snakemake breaks long names into folders
    path = folder / f"@{name[:5]}" / name[5:] if len(name) > 60 else folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"starttime": start, "endtime": end}))


def test_whole_runs_are_read_from_snakemakes_records(tmp_path: Path) -> None:
    assert end_to_end(tmp_path / "none") == []
    note(tmp_path, "artifacts/quick/checkpoints/p50.causal_dq.s0.paper.safetensors", 0, 90)
    note(tmp_path, "artifacts/quick/checkpoints/p50.causal_dq.s0.paper.json", 0.1, 90)
    note(tmp_path, "artifacts/quick/runs/p50.greedy.csv", 0, 60)
    note(tmp_path, "artifacts/paper/runs/p50.greedy.csv", 0, 60)
    assert end_to_end(tmp_path, 2) == []  # there is no report yet
    note(tmp_path, "results/quick/report.html", 100, 120)
    minutes, idle = end_to_end(tmp_path, 2)
    assert minutes.values == [2.0]
    # the two outputs of one job count once
    assert idle.values == [pytest.approx(1 - (90 + 60 + 20) / 240)]
    # noted as begun while two were at work, which Snakemake does not do
    note(tmp_path, "artifacts/quick/runs/p50.random.csv", 55, 65)
    assert end_to_end(tmp_path, 2)[1].values == [pytest.approx(1 - (90 + 65 + 20) / 240)]
    note(tmp_path, "results/quick/report.html", 200, 220)
    assert end_to_end(tmp_path, 2) == []  # interrupted: nothing ran for more than a minute


def test_where_the_time_goes_is_read_from_the_jobs_records() -> None:
    (measured,) = (m for m in work_of_jobs(ROOT, 2) if m.what.startswith("paper"))
    by_rule = measured.detail["by_rule"]
    assert measured.values == [pytest.approx(sum(by_rule.values()) / 120)]
    text = speed({"workflow": [measured.record()]})
    assert f"| all | {sum(by_rule.values()):,.0f} (100%) |" in text
    assert f"| train | {by_rule['train']:,.0f} (" in text
    shares = [int(share) for share in re.findall(r"\((\d+)%\) \|$", text, re.MULTILINE)]
    assert sum(shares[:-1]) == pytest.approx(100, abs=len(shares) / 2)
