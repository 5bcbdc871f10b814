"""A policy file at work gives what the pipeline's own monitoring gives."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made import made
from typer.testing import CliRunner

from causaldq.__main__ import ALARMED, app
from causaldq.errors import DataError
from causaldq.example import ROWS, plant, write_example
from causaldq.files import write_arrays
from causaldq.follow import Policy, as_text, follow, write_policy
from causaldq.jobs.settings.monitor import PolicyJob
from causaldq.loading import load_config
from causaldq.seeds import generator
from causaldq.streams.model import Records, StreamModel

CONFIG = load_config(Path(__file__).parents[2] / "config", {"profile": "ci"})
NAMES = ("flow", "heat", "level", "speed")
MEAN, SD = np.array([10.0, 300.0, 5.0, -2.0]), np.array([1.0, 20.0, 0.1, 3.0])


def policy_file(folder: Path, method: str = "greedy", limit: float = 12.0) -> Path:
    rng = np.random.default_rng(1)
    none = np.empty((0, 4))
    rows = rng.standard_normal((50, 4))
    model = StreamModel(
        NAMES, rows, np.corrcoef(rows, rowvar=False), np.zeros((4, 4)),
        Records(MEAN, SD, rows, none, none, 0),
    )  # fmt: skip
    model.save(folder / "streams.npz")
    job = PolicyJob(
        seed=3, source="plant", method=method, m=2, protocols=["fair"],
        statistic=CONFIG.statistic, options=CONFIG.options_of(method),
    )  # fmt: skip
    write_policy(job, folder / "streams.npz", limit, {}, folder / "policy.zip")
    return folder / "policy.zip"


def a_csv(values: np.ndarray) -> str:
    return pd.DataFrame(values, columns=NAMES).to_csv(index_label="time")


@pytest.mark.parametrize("method", ["greedy", "tssrp", "asmp", "tras", "cmab", "random"])
def test_following_is_monitoring(tmp_path: Path, method: str) -> None:
    """The same sensors and statistics as a loop over the method, in standard deviations."""
    policy = Policy.load(policy_file(tmp_path, method))
    scaled = np.random.default_rng(2).standard_normal((30, 4)) + np.array([0, 0, 1.5, 0])
    readings = list(follow(policy, io.StringIO(a_csv(MEAN + SD * scaled)), "rows.csv"))
    rng = generator(3, method, "follow")
    machine = made(method, policy.method.problem)
    state = machine.start(1, None, rng)
    streams = machine.choose(state, rng)
    for row, reading in zip(scaled, readings, strict=True):
        assert reading.read == [NAMES[i] for i in streams[0]]
        state = machine.observe(state, streams, row[streams[0]][None], rng)
        streams = machine.choose(state, rng)
        assert reading.next == [NAMES[i] for i in streams[0]]
        assert reading.statistic == pytest.approx(machine.statistic(state)[0], rel=1e-9)
        assert reading.alarm == (reading.statistic > 12.0)
    assert next(iter(readings[-1].contributions)) == "level" or method in ("asmp", "random")


def test_only_the_sensors_asked_for_need_a_value(tmp_path: Path) -> None:
    policy = Policy.load(policy_file(tmp_path))
    scaled = np.random.default_rng(2).standard_normal((20, 4))
    whole = list(follow(policy, io.StringIO(a_csv(MEAN + SD * scaled)), "rows.csv"))
    table = pd.DataFrame(MEAN + SD * scaled, columns=NAMES)
    for row, reading in enumerate(whole):
        table.loc[row, [name for name in NAMES if name not in reading.read]] = np.nan
    text = table[list(reversed(NAMES))].to_csv(index=False)
    assert list(follow(policy, io.StringIO(text), "rows.csv")) == whole


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("flow,heat,level\n1,2,3\n", "has no column 'speed'"),
        ("", "has no column 'flow'"),
        ("flow,heat,level,speed\n1\n", "line 2, column .*: no value"),
        ("flow,heat,level,speed\nx,x,x,x\n", "line 2, column .*: 'x' is no number"),
        ("flow,heat,level,speed\nnan,nan,inf,nan\n", "line 2, column .* is no number"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, text: str, words: str) -> None:
    policy = Policy.load(policy_file(tmp_path))
    with pytest.raises(DataError, match=words):
        list(follow(policy, io.StringIO(text), "rows.csv"))


def test_a_policy_file_repeats_and_damage_is_named(tmp_path: Path) -> None:
    path = policy_file(tmp_path)
    content = path.read_bytes()
    assert policy_file(tmp_path).read_bytes() == content
    for bad in (content[: len(content) // 2], b"", b"text"):
        path.write_bytes(bad)
        with pytest.raises(DataError, match=r"policy\.zip is damaged"):
            Policy.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("policy.json", json.dumps({"job": {"method": "greedy"}, "limit": 1}))
    with pytest.raises(DataError, match=r"policy\.zip is damaged \(settings\)"):
        Policy.load(path)
    with pytest.raises(DataError, match="is no policy file"):
        Policy.load(tmp_path / "none.zip")


def test_the_command_tells_alarms_by_its_status(tmp_path: Path) -> None:
    path = policy_file(tmp_path)
    rng = np.random.default_rng(4)
    quiet = a_csv(MEAN + 0.1 * SD * rng.standard_normal((10, 4)))
    loud = a_csv(MEAN + SD * (5 + rng.standard_normal((10, 4))))
    run = CliRunner().invoke
    command = ["monitor", "--policy", str(path)]
    assert run(app, command, input=quiet).exit_code == 0
    done = run(app, [*command, "--stop", "--json"], input=loud)
    assert done.exit_code == ALARMED
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert set(lines[0]) == {"next"}
    assert [line["alarm"] for line in lines[1:]] == [False] * (len(lines) - 2) + [True]
    (tmp_path / "rows.csv").write_text(loud)
    text = run(app, [*command, "--input", str(tmp_path / "rows.csv")])
    assert "ALARM" in text.stdout
    missing = run(app, [*command, "--input", str(tmp_path / "none.csv")])
    assert missing.exit_code == 1
    assert "none.csv cannot be read" in str(missing.exception) + missing.output


def test_the_example_is_the_same_for_everybody(tmp_path: Path) -> None:
    write_example(tmp_path / "a.csv", tmp_path / "a.yaml")
    write_example(tmp_path / "b.csv", tmp_path / "b.yaml")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    table = plant(np.random.default_rng(1))
    assert table.shape == (ROWS, 9)
    before, after = table.iloc[:800], table.iloc[800:]
    moved = (after.mean() - before.mean()) / before.std()
    assert moved["reactor_temperature"] > 0.6
    assert abs(moved["feed_flow"]) < 0.5


@pytest.mark.parametrize("method", ["causal_sr", "causal_sr_no_graph"])
def test_an_alarm_names_its_cause_and_the_way_it_took(tmp_path: Path, method: str) -> None:
    """A chain of four: the second stream begins, and the third and fourth follow."""
    rng = np.random.default_rng(5)

    def chain(steps: int, shift: float) -> np.ndarray:
        own = rng.standard_normal((steps, 4)) + shift * np.array([0, 1, 0, 0])
        values = own.copy()
        for j in range(1, 4):
            values[:, j] = 0.8 * values[:, j - 1] + 0.6 * own[:, j]
        return values

    rows, none = chain(2000, 0.0), np.empty((0, 4))
    model = StreamModel(
        NAMES, rows, np.corrcoef(rows, rowvar=False), np.zeros((4, 4)),
        Records(MEAN, SD, rows, none, none, 0),
    )  # fmt: skip
    model.save(tmp_path / "streams.npz")
    graphs = np.eye(4, k=1, dtype=bool)[None]
    write_arrays(tmp_path / "graphs.npz", {"graphs": graphs})
    given = {"graphs": tmp_path / "graphs.npz"} if method == "causal_sr" else {}
    job = PolicyJob(
        seed=3, source="plant", method=method, m=3, protocols=["fair"],
        statistic=CONFIG.statistic, options=CONFIG.options_of(method),
    )  # fmt: skip
    write_policy(job, tmp_path / "streams.npz", 5.0, given, tmp_path / "policy.zip")
    policy = Policy.load(tmp_path / "policy.zip")
    readings = list(follow(policy, io.StringIO(a_csv(MEAN + SD * chain(40, 2.0))), "rows.csv"))
    alarms = [reading for reading in readings if reading.alarm]
    assert alarms
    assert not any(reading.causes for reading in readings if not reading.alarm)
    last = alarms[-1].causes[0]
    assert f"cause: {last.stream} " in as_text(alarms[-1])
    if method == "causal_sr_no_graph":
        assert last.paths == [], "without a graph there is no way to draw"
        return
    assert (last.stream, last.probability > 0.9, last.shift > 0.5) == (NAMES[1], True, True)
    assert last.paths
    assert all(path[0] == NAMES[1] for path in last.paths)
