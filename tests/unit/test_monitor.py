"""A monitor at work: the same as a loop over the method, through missing values and files."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made import made
from scipy.special import gammainc, gammaincc
from typer.testing import CliRunner

from causaldq import Monitor, example_plant
from causaldq.__main__ import app
from causaldq.calibration import RunLength
from causaldq.commands import ALARMED
from causaldq.errors import CausalDQError, ConfigError, DataError
from causaldq.example import FAULT, ROWS, STREAMS, plant
from causaldq.files import write_arrays, write_json
from causaldq.limits import Limit
from causaldq.live.records import as_text, of_event
from causaldq.live.rows import Row, RowReader
from causaldq.methods.base import Problem
from causaldq.models.streams import Records, StreamModel
from causaldq.pipeline.jobs import policy
from causaldq.pipeline.loading import load_config
from causaldq.seeds import generator

CONFIG = load_config(Path(__file__).parents[2] / "config", {"profile": "ci"})
NAMES = ("flow", "heat", "level", "speed")
MEAN, SD = np.array([10.0, 300.0, 5.0, -2.0]), np.array([1.0, 20.0, 0.1, 3.0])


def monitor_file(folder: Path, method: str = "greedy", limit: float = 12.0) -> Path:
    """As the pipeline writes it."""
    rng = np.random.default_rng(1)
    none = np.empty((0, 4))
    rows = rng.standard_normal((50, 4))
    model = StreamModel(
        NAMES, rows, np.corrcoef(rows, rowvar=False), np.zeros((4, 4)),
        Records(MEAN, SD, rows, none, none, 0),
    )  # fmt: skip
    model.save(folder / "streams.npz")
    job = policy.PolicyJob(
        seed=3, source="plant", arl0=50.0, method=method, m=2, protocols=["fair"],
        statistic=CONFIG.statistic, options=CONFIG.options_of(method),
    )  # fmt: skip
    limits = {"limit": limit, "arl0": 48.0, "low": 40.0, "high": None}
    write_json(folder / "limits.json", {"fair": {"*": limits}})
    files = {"streams": "streams.npz", "limits": "limits.json", "output": "a.monitor"}
    policy.run(job, given={}, **{option: folder / name for option, name in files.items()})
    return folder / "a.monitor"


def a_csv(values: np.ndarray) -> str:
    return pd.DataFrame(values, columns=NAMES).to_csv(index_label="time")


def watched(monitor: Monitor, text: str) -> list:  # type: ignore[type-arg]
    reader = RowReader(monitor.names, "rows.csv")
    found = [reader.take(line) for line in text.encode().splitlines(keepends=True)]
    return [monitor.update(row.values, row.time) for row in found if isinstance(row, Row)]


@pytest.mark.parametrize("method", ["greedy", "tssrp", "asmp", "tras", "cmab", "random"])
def test_monitoring_is_a_loop_over_the_method(tmp_path: Path, method: str) -> None:
    """The same sensors and statistics, in standard deviations."""
    monitor = Monitor.load(monitor_file(tmp_path, method))
    scaled = np.random.default_rng(2).standard_normal((30, 4)) + np.array([0, 0, 1.5, 0])
    problem = monitor.method.problem
    readings = watched(monitor, a_csv(MEAN + SD * scaled))
    rng = generator(3, method, "follow")
    machine = made(method, problem)
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


def test_only_the_sensors_asked_for_are_looked_at(tmp_path: Path) -> None:
    path = monitor_file(tmp_path)
    scaled = np.random.default_rng(2).standard_normal((20, 4))
    whole = watched(Monitor.load(path), a_csv(MEAN + SD * scaled))
    table = pd.DataFrame(MEAN + SD * scaled, columns=NAMES)
    for row, reading in enumerate(whole):
        table.loc[row, [name for name in NAMES if name not in reading.read]] = np.nan
    text = table[list(reversed(NAMES))].to_csv(index=False)
    assert watched(Monitor.load(path), text) == whole


@pytest.mark.parametrize(
    "row",
    ["", "x,x,x,x", "nan,nan,inf,nan", "1e300,1e300,-1e300,1e300", "#N/A,Bad,No Data,-", "1"],
)
def test_a_row_without_usable_values_is_a_step_that_says_so(tmp_path: Path, row: str) -> None:
    monitor = Monitor.load(monitor_file(tmp_path))
    asked = monitor.next
    readings = watched(monitor, f"flow,heat,level,speed\n{row or ','}\n10,300,5,-2\n")
    if row == "":  # an empty line is no row
        assert [reading.missing for reading in readings] == [[]]
        return
    first, second = readings
    assert set(first.read) | set(first.missing) == set(asked)
    assert first.missing
    assert np.isfinite(second.statistic)
    assert second.missing == []


@pytest.mark.parametrize("text", ["flow,heat,level\n1,2,3\n", "flow;heat;level;speed\n"])
def test_a_file_without_a_column_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match=r"rows\.csv has no column"):
        watched(Monitor.load(monitor_file(tmp_path)), text)


def test_fewer_readings_are_what_a_method_makes_of_fewer_readings(tmp_path: Path) -> None:
    monitor = Monitor.load(monitor_file(tmp_path))
    machine, problem = made("greedy", monitor.method.problem), monitor.method.problem
    rng = generator(3, "greedy", "follow")
    state = machine.start(1, None, rng)
    streams = machine.choose(state, rng)
    for t in range(10):
        values = np.random.default_rng(t).standard_normal(problem.p)
        kept = streams[:, : t % 3]
        named = {NAMES[i]: MEAN[i] + SD[i] * values[i] for i in kept[0]}
        reading = monitor.update(named)
        state = machine.observe(state, kept, values[kept[0]][None], rng)
        machine.choose(state, rng)
        assert reading.statistic == pytest.approx(machine.statistic(state)[0], rel=1e-9)
        assert len(reading.missing) == 2 - t % 3
        assert len(reading.next) == 2
        if t % 3 == 1:  # of four sensors one has failed: others are asked for
            assert not set(reading.next) & set(reading.missing)
        streams = np.array([[NAMES.index(name) for name in reading.next]])


def test_values_may_come_by_name_or_in_order(tmp_path: Path) -> None:
    path = monitor_file(tmp_path)
    one, other, third = (Monitor.load(path) for _ in range(3))
    for t in range(5):
        row = pd.Series(MEAN + SD * np.random.default_rng(t).standard_normal(4), index=NAMES)
        first = one.update(row)
        assert other.update(row[other.next].to_dict()) == first
        assert third.update(list(row[third.next])) == first
    with pytest.raises(DataError, match="no stream 'pressure'"):
        one.update({"pressure": 1.0})
    with pytest.raises(DataError, match="3 values for 2 sensors"):
        one.update([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "method", ["greedy", "tssrp", "asmp", "cmab", "bayes_posterior", "round_robin", "causal_sr"]
)
def test_a_saved_monitor_resumes_where_it_was(tmp_path: Path, method: str) -> None:
    rows = example_plant()
    monitor = Monitor.fit(rows[:300], 3, arl0=20, method=method, paths=20)
    for minute in range(700, 715):
        monitor.update(rows.loc[minute], time=minute)
    monitor.save(tmp_path / "a.monitor")
    again = Monitor.load(tmp_path / "a.monitor")
    assert again.summary() == monitor.summary()
    assert again.next == monitor.next
    for minute in range(715, 740):
        assert again.update(rows.loc[minute], minute) == monitor.update(rows.loc[minute], minute)
    again.save(tmp_path / "b.monitor")
    monitor.save(tmp_path / "a.monitor")
    assert (tmp_path / "a.monitor").read_bytes() == (tmp_path / "b.monitor").read_bytes()


def test_damage_is_named(tmp_path: Path) -> None:
    path = monitor_file(tmp_path)
    content = path.read_bytes()
    assert monitor_file(tmp_path).read_bytes() == content
    flipped = bytearray(content)
    flipped[content.index(MEAN.tobytes()) + 3] ^= 1
    for bad in (content[: len(content) // 2], b"", b"text", bytes(flipped)):
        path.write_bytes(bad)
        with pytest.raises(DataError, match="damaged"):
            Monitor.load(path)
    with pytest.raises(DataError, match="does not exist"):
        Monitor.load(tmp_path / "none.monitor")
    write_arrays(path, {name: np.zeros(1) for name in ("mean", "sd", "covariance", "streams")})
    with pytest.raises(DataError, match="no array 'monitor'"):
        Monitor.load(path)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"limit": Limit(np.nan, 50.0, RunLength(None, 1.0, None))}, "alarm limit is nan"),
        ({"limit": Limit(np.inf, 50.0, RunLength(None, 1.0, None))}, "alarm limit is inf"),
        ({"mean": np.array([1.0, np.nan, 1.0, 1.0])}, "'heat' has no finite mean"),
        ({"sd": np.array([1.0, 1.0, 0.0, 1.0])}, "'level' has no finite mean and positive"),
        ({"sd": np.ones(3)}, "must have shape"),
        ({"names": ("a", "b", "b", "c")}, "3 different names for 4 streams"),
    ],
)
def test_what_could_never_alarm_is_refused(changed: dict[str, object], words: str) -> None:
    whole = {
        "name": "greedy", "names": NAMES, "mean": MEAN, "sd": SD,
        "limit": Limit(12.0, 50.0, RunLength(50.0, 40.0, 60.0)),
    }  # fmt: skip
    with pytest.raises(DataError, match=words):
        Monitor(made("greedy", Problem(np.eye(4), 2)), **{**whole, **changed})  # type: ignore[arg-type]
    with pytest.raises(CausalDQError, match="positive"):
        Monitor(made("greedy", Problem(np.ones((4, 4)) - 0.5 * np.eye(4), 2)), **whole)  # type: ignore[arg-type]


def test_the_interval_of_false_alarms_is_that_of_a_rate() -> None:
    """An exact one: at its ends as many alarms, or as few, have a chance of 2.5%."""
    rows = example_plant()[:700]
    reached = Monitor.fit(rows, 3, arl0=50, method="greedy", paths=40).limit.reached
    assert reached.value is not None
    assert reached.high is not None
    alarms = len(rows) / reached.value
    assert reached.low < reached.value < reached.high
    assert gammaincc(alarms + 1, len(rows) / reached.low) == pytest.approx(0.025)
    assert gammainc(alarms, len(rows) / reached.high) == pytest.approx(0.025)


def test_the_commands_fit_watch_and_tell_alarms_by_status(tmp_path: Path) -> None:
    run = CliRunner().invoke
    rows = example_plant()
    rows.to_csv(tmp_path / "plant.csv")
    fit = [
        "fit", str(tmp_path / "plant.csv"), "--sensors", "3", "--normal", "1:700", "--arl0", "100",
        "--method", "greedy", "--time", "minute", "-o", str(tmp_path / "plant.monitor"),
    ]  # fmt: skip
    done = run(app, fit)
    assert done.exit_code == 0, done.output
    assert "100 asked" in done.stdout
    command = ["watch", str(tmp_path / "plant.monitor")]
    assert run(app, command, input=rows[:5].to_csv()).exit_code == 0
    done = run(app, [*command, "--stop", "--json", "--time", "minute"], input=rows[790:].to_csv())
    assert done.exit_code == ALARMED
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert (lines[0]["kind"], len(lines[0]["next"])) == ("start", 3)
    assert (lines[-1]["kind"], lines[-1]["event"]) == ("event", "raised")
    readings = lines[1:-1]
    assert [line["alarm"] for line in readings] == [False] * (len(readings) - 1) + [True]
    assert 800 <= int(readings[-1]["time"]) < 850
    text = run(app, [*command, str(tmp_path / "plant.csv")])
    assert "ALARM" in text.stdout
    missing = run(app, [*command, str(tmp_path / "none.csv")])
    assert missing.exit_code == 1
    assert "none.csv: No such file" in str(missing.exception) + missing.output
    for bad in (
        ["--normal", "7"],
        ["--normal", "1:9000"],
        ["--time", "hour"],
        ["--method", "gredy"],
    ):
        done = run(app, [*fit, *bad])
        assert done.exit_code == 1
        assert "Error: " in str(done.exception) + done.output


@pytest.mark.parametrize(
    ("rows", "sensors", "words"),
    [
        (np.zeros((50, 3)), 2, "does not vary"),
        (np.ones(5), 2, "give \\(rows, streams\\)"),
        (np.random.default_rng(0).standard_normal((400, 3)), 4, "4 sensors for 3 streams"),
        (np.random.default_rng(0).standard_normal((400, 3)), 0, "0 sensors for 3 streams"),
        (np.random.default_rng(0).standard_normal((20, 3)), 2, "20 rows .* too few"),
        ([["a", "b"], ["c", "d"]], 1, "no numbers"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), 1, "column 'b' is not numeric"),
        (pd.DataFrame([[1.0, 2.0]] * 9, columns=["a", "a"]), 1, "two streams are called 'a'"),
        (pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [1.0, 2.0, 4.0]}), 1, "'a' .* row 1"),
    ],
)
def test_rows_that_cannot_be_used_are_named(rows: object, sensors: int, words: str) -> None:
    with pytest.raises(CausalDQError, match=words):
        Monitor.fit(rows, sensors, arl0=20, method="greedy")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("bayes_posteriour", "did you mean bayes_posterior"),
        ("causal_dq", "has to be trained"),
        ("oracle_set", "is a bound"),
        ("causal_dq_eq", "needs a trained network"),
        (lambda problem: problem, "gives a Problem"),
    ],
)
def test_methods_that_cannot_be_used_are_named(method: object, words: str) -> None:
    rows = example_plant()[:300]
    with pytest.raises(ConfigError, match=words):
        Monitor.fit(rows, 3, arl0=20, method=method)  # type: ignore[arg-type]


def test_a_given_graph_must_be_acyclic_and_fit() -> None:
    rows = example_plant()[:300]
    for graph, words in ((np.eye(3), "has shape"), (np.ones((8, 8)), "cycle")):
        with pytest.raises(ConfigError, match=words):
            Monitor.fit(rows, 3, arl0=20, method="causal_sr", graph=graph)


def test_the_example_is_the_same_for_everybody(tmp_path: Path) -> None:
    run = CliRunner().invoke
    for name in ("a.csv", "b.csv"):
        assert run(app, ["example", str(tmp_path / name)]).exit_code == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    again = run(app, ["example", str(tmp_path / "a.csv")])
    assert again.exit_code == 1
    assert "exists already" in str(again.exception) + again.output
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
    job = policy.PolicyJob(
        seed=3, source="plant", arl0=50.0, method=method, m=3, protocols=["fair"],
        statistic=CONFIG.statistic, options=CONFIG.options_of(method),
    )  # fmt: skip
    limits = {"limit": 5.0, "arl0": 50.0, "low": 40.0, "high": 60.0}
    write_json(tmp_path / "limits.json", {"fair": {"*": limits}})
    path = tmp_path / "a.monitor"
    files = {"streams": tmp_path / "streams.npz", "limits": tmp_path / "limits.json"}
    policy.run(job, **files, given=given, output=path)
    readings = watched(Monitor.load(path), a_csv(MEAN + SD * chain(40, 2.0)))
    alarms = [reading for reading in readings if reading.alarm]
    assert alarms
    assert not any(reading.causes for reading in readings if not reading.alarm)
    last = alarms[-1].causes[0]
    told = as_text(of_event("raised", 1, 40, None, "above", alarms[-1]))
    assert f"cause: {last.stream} " in told
    if method == "causal_sr_no_graph":
        assert last.paths == [], "without a graph there is no way to draw"
        return
    assert (last.stream, last.probability > 0.9, last.shift > 0.5) == (NAMES[1], True, True)
    assert last.paths
    assert all(path[0] == NAMES[1] for path in last.paths)


def test_a_stream_of_the_example_has_the_mean_and_deviation_it_is_given() -> None:
    """In 800 rows with a little memory a deviation is known to 4%, a mean to 5% of it."""
    rows = example_plant().iloc[:FAULT]
    for name, (mean, deviation) in STREAMS.items():
        assert rows[name].std() == pytest.approx(deviation, rel=0.16)
        assert rows[name].mean() == pytest.approx(mean, abs=0.2 * deviation)
