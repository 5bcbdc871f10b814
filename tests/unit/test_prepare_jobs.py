"""From files to streams, injected sets and events; limits and delays on recorded rows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from made import training

from causaldq.errors import DataError
from causaldq.files import read_json
from causaldq.learn.environment import draw_episodes
from causaldq.methods.base import Method, State, Truth
from causaldq.models.streams import Records, StreamModel
from causaldq.pipeline.jobs import describe, fetch, inject, prepare
from causaldq.pipeline.jobs.fetch import FetchJob
from causaldq.pipeline.jobs.inject import InjectJob
from causaldq.pipeline.jobs.prepare import PrepareJob, without_constant_streams
from causaldq.pipeline.loading import load_config, merge
from causaldq.pipeline.plan import Plan
from causaldq.pipeline.sources.catalogue import Catalogue, FileSet, read_catalogue
from causaldq.pipeline.sources.fetch import Delivered
from causaldq.pipeline.sources.flares import FlareSource
from causaldq.pipeline.sources.own import OwnSource
from causaldq.pipeline.sources.tep import TepSource
from causaldq.run import delays, event_delays
from causaldq.types import Floats, Ints
from causaldq.worlds.events import Events
from causaldq.worlds.shifts import InjectedSet, fixed_order, insert_anomaly, recorded_shift

ROOT = Path(__file__).parents[2]
CONFIG = load_config(ROOT / "config", {"profile": "ci"})
MOMENTS = ROOT / "data/reference/flare_moments.json"
CATALOGUE = read_catalogue(ROOT / "data/sources.yaml")


def source(name: str, **changes: Any) -> Any:
    wanted = CONFIG.sources[name]
    return type(wanted).model_validate(merge(wanted.model_dump(), changes))


def fetch_job(name: str, wanted: Any) -> FetchJob:
    sets = {dataset: CATALOGUE[dataset].part(FileSet) for dataset in wanted.datasets}
    return FetchJob(source=name, wanted=wanted, sets=sets)


Prepared = tuple[StreamModel, dict[str, Any], Events]


def prepared(job: PrepareJob, given: Path, folder: Path) -> Prepared:
    names = {"streams": "s.npz", "facts": "s.json", "events": "e.npz", "tidy": "t.parquet"}
    files = {option: folder / name for option, name in names.items()}
    prepare.run(job, given=given, reference=MOMENTS, **files)
    model = StreamModel.load(files["streams"])
    return model, read_json(files["facts"]), Events.load(files["events"])


def fetched(name: str, wanted: Any, folder: Path, output: Path) -> None:
    fetch.run(fetch_job(name, wanted), folder=folder, output=output)


# --- Tennessee Eastman -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Prepared]:
    folder = tmp_path_factory.mktemp("tep")
    wanted = source("tep")
    manifest = folder / "tep.json"
    fetched("tep", wanted, folder / "raw", manifest)
    job = PrepareJob(seed=1, source="tep", wanted=wanted)
    return folder, prepared(job, manifest, folder)


def test_the_process_is_scaled_by_its_training_rows(tep: tuple[Path, Prepared]) -> None:
    folder, (model, facts, events) = tep
    assert model.p == facts["p"] == 50
    assert facts["label"] == "tep_classic (package)"
    assert model.records is not None
    np.testing.assert_allclose(model.rows.mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(model.rows.std(0, ddof=1), 1, atol=1e-9)
    assert model.rows.shape == (500, 50)
    assert model.records.held_out.shape == (960, 50)
    # back in their units, the rows are those of the file: a row a variable, from the third on
    raw = np.loadtxt(folder / "raw/tep_classic/d00.dat").T[:, 2:]
    back = model.records.mean + model.records.sd * model.rows
    np.testing.assert_allclose(back, raw, rtol=1e-9)
    assert events.names == ("fault 1", "fault 3")
    assert events.values.shape == (2, 960, 50)
    assert events.change.tolist() == [160, 160]
    raw = np.loadtxt(folder / "raw/tep_classic/d03_te.dat")[:, 2:]
    np.testing.assert_allclose(
        model.records.mean + model.records.sd * events.values[1], raw, rtol=1e-9
    )
    table = pd.read_parquet(folder / "t.parquet")
    assert set(table["fault"]) == set(range(22))


def test_fetched_files_that_change_are_refused(tmp_path: Path) -> None:
    wanted = source("tep")
    manifest = tmp_path / "tep.json"
    fetched("tep", wanted, tmp_path / "raw", manifest)
    file = tmp_path / "raw/tep_classic/d05.dat"
    file.write_bytes(file.read_bytes()[:-1] + b"9")
    job = PrepareJob(seed=1, source="tep", wanted=wanted)
    with pytest.raises(DataError, match=r"d05\.dat has changed .* delete .*tep\.json"):
        prepared(job, manifest, tmp_path)
    file.unlink()
    with pytest.raises(DataError, match=r"d05\.dat is gone"):
        prepared(job, manifest, tmp_path)
    assert not (tmp_path / "s.npz").exists()


def test_what_is_passed_over_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CAUSALDQ_MIRROR", raising=False)
    wanted = source("tep", datasets=["tep_rieth", "tep_rieth_run1", "tep_classic"])
    fetched("tep", wanted, tmp_path, tmp_path / "m.json")
    told = read_json(tmp_path / "m.json")
    assert told["dataset"] == "tep_classic"
    assert len(told["passed_over"]) == 2
    assert "CAUSALDQ_MIRROR is not set" in told["passed_over"][0]
    assert capsys.readouterr().err.count("passed over") == 2
    only = source("tep", datasets=["tep_rieth_run1"], fetch=["mirror"])
    with pytest.raises(DataError, match=r"tep_rieth_run1.* cannot be had"):
        fetched("tep", only, tmp_path, tmp_path / "n.json")
    assert not (tmp_path / "n.json").exists()


def test_a_stream_that_does_not_exist_is_named(tmp_path: Path) -> None:
    wanted = source("tep", streams=["xmeas_1", "xmeas_99"])
    assert isinstance(wanted, TepSource)
    manifest = tmp_path / "tep.json"
    fetched("tep", wanted, tmp_path / "raw", manifest)
    with pytest.raises(DataError, match="no variable 'xmeas_99'"):
        prepared(PrepareJob(seed=1, source="tep", wanted=wanted), manifest, tmp_path)


def test_a_fetch_depends_on_the_files_wanted_and_on_nothing_else_in_the_catalogue() -> None:
    def changed(name: str, **values: Any) -> Catalogue:
        edited = merge(CATALOGUE.model_dump(), {"sets": {name: values}})
        return Catalogue.model_validate(edited)

    def asks(catalogue: Catalogue) -> FetchJob:
        return fetch.settings(Plan(CONFIG, catalogue), "tep")

    def shows(catalogue: Catalogue) -> describe.DescribeJob:
        return describe.settings(Plan(CONFIG, catalogue))

    asked = asks(CATALOGUE)
    assert asked.sets["tep_classic"].files == CATALOGUE["tep_classic"].files
    prose = changed("tep_classic", title="Another title", licence="MIT", citation="nobody")
    assert asks(prose) == asked
    assert asks(changed("tep_rieth", remedy="wait")) == asked
    hashed = {"d00.dat": {"hash": f"md5:{'0' * 32}"}}
    assert asks(changed("tep_classic", files=hashed)) != asked
    assert asks(changed("tep_classic", mirror="elsewhere")) != asked
    # What is shown depends on the prose that is shown, and not on how files are had.
    shown = shows(CATALOGUE)
    assert set(shown.credits) == {"tep_classic", "flares_surrogate"}
    assert shows(prose) != shown
    assert shows(changed("tep_classic", citation="nobody", files=hashed)) == shown
    few = Catalogue(sets={"flares_surrogate": CATALOGUE["flares_surrogate"]})
    with pytest.raises(DataError, match="there is no data set 'tep_classic'"):
        asks(few)


# --- flares ------------------------------------------------------------------------------------


def windows_that_tell_where_they_are_from(window: int = 60) -> StreamModel:
    """Quiet test rows 0.. and 1000.., flare rows -5000.. and -9000.., of two streams."""
    steps = np.arange(float(window))
    quiet = np.concatenate([steps, 1000 + steps])
    flare = np.concatenate([-5000 + steps, -9000 + steps])

    def both(values: Floats) -> Floats:
        return np.stack([values, values], axis=1)

    return StreamModel(
        ("x", "y"),
        both(np.sin(steps)),
        np.eye(2),
        np.zeros((2, 2)),
        Records(np.zeros(2), np.ones(2), both(quiet), both(steps), both(flare), window),
    )


def test_a_set_is_a_quiet_window_and_then_flare_rows() -> None:
    sets = insert_anomaly(
        windows_that_tell_where_they_are_from(),
        protocols=["paper", "fair"],
        case="case_a",
        replications=200,
        horizon=30,
        rng=np.random.default_rng(3),
    )
    assert sets.change == 60
    seen = set()
    for protocol in sets.paths:
        mean = sets.mean(protocol, "case_a", 1.0, 0.0)
        whole = sets.paths[protocol][:, :, 0].copy()
        whole[:, 60:] += mean[:, :1]
        for row in whole.round(6):
            quiet, flare = row[:60], row[60:]
            assert (np.diff(quiet) == 1).all()
            assert len(set(flare)) == 30
            in_order = bool((np.diff(flare) == 1).all())
            assert in_order == (protocol == "fair")
            seen.add((protocol, quiet[0], -9000 <= flare.min() < -8000))
    # `paper` always takes the first window of each kind, `fair` every pair
    expected = {("fair", q, f) for q in (0.0, 1000.0) for f in (True, False)}
    assert seen == expected | {("paper", 0.0, False)}


def test_too_many_flare_rows_are_refused() -> None:
    with pytest.raises(DataError, match="a window has 60 rows"):
        insert_anomaly(
            windows_that_tell_where_they_are_from(), protocols=["paper"], case="case_a",
            replications=2, horizon=61, rng=np.random.default_rng(3),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"train_quiet": "surrogate_B_3"}, "'surrogate_B_3' is labelled B; give a quiet one"),
        ({"test_flare": ["surrogate_Q_5"]}, "'surrogate_Q_5' is labelled Q; give a flare window"),
    ],
)
def test_windows_of_the_wrong_kind_are_refused(changes: dict[str, Any], words: str) -> None:
    wanted = source("flares", windows={"flares_surrogate": changes})
    assert isinstance(wanted, FlareSource)
    found = Delivered("flares_surrogate", "made", {})
    with pytest.raises(DataError, match=words):
        wanted.read(found, MOMENTS, np.random.default_rng(1))


def test_surrogate_flares_say_that_they_are(tmp_path: Path) -> None:
    wanted = source("flares")
    manifest = tmp_path / "flares.json"
    fetched("flares", wanted, tmp_path, manifest)
    job = PrepareJob(seed=1, source="flares", wanted=wanted)
    model, facts, events = prepared(job, manifest, tmp_path)
    assert facts["label"] == "flares_surrogate (made)"
    assert model.p == 24
    assert len(events) == 0
    assert model.records is not None
    used = wanted.windows["flares_surrogate"]
    assert len(model.records.held_out) == 60 * len(used.test_quiet)
    # by the scale of quiet windows, half of the parameters move beyond any doubt
    mask, mean = recorded_shift(model.records.test_anomalous)
    assert mask.sum() >= 12
    assert np.abs(mean).max() > 10


def test_paper_trains_on_flare_rows_and_fair_does_not() -> None:
    model = windows_that_tell_where_they_are_from()
    assert model.records is not None
    trained = training(Plan(CONFIG), "p10.causal_dq.s0.paper")
    rng = np.random.default_rng(1)
    plan = trained.plan.model_copy(update={"k": 1})
    paper = draw_episodes(model, plan, 20, 40, rng)
    fair = draw_episodes(model, plan.model_copy(update={"protocol": "fair"}), 20, 40, rng)
    for n in range(20):
        after = paper.values[n, paper.change[n] :, 0]
        assert set(after) <= set(model.records.anomalous[:, 0])
        assert paper.shifted[n].all()
    assert (fair.shifted.sum(axis=1) == 1).all()
    assert np.abs(fair.values).max() < 3


# --- the user's own ----------------------------------------------------------------------------


def own(tmp_path: Path, **changes: Any) -> tuple[OwnSource, Path]:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.standard_normal((120, 4)) * 3 + 7, columns=list("abcd"))
    path = tmp_path / "plant.csv"
    table.to_csv(path, index=False)
    given = {"kind": "own", "file": str(path), "first_in_control": 11, "last_in_control": 90}
    return OwnSource.model_validate(given | {"held_out": 0.25, "first_fault": 101} | changes), path


def test_own_rows_are_split_in_their_order(tmp_path: Path) -> None:
    wanted, path = own(tmp_path)
    model, facts, events = prepared(PrepareJob(seed=1, source="x", wanted=wanted), path, tmp_path)
    raw = pd.read_csv(path).to_numpy()
    assert model.records is not None
    units = lambda rows: model.records.mean + model.records.sd * rows  # noqa: E731
    np.testing.assert_allclose(units(model.rows), raw[10:70])
    np.testing.assert_allclose(units(model.records.held_out), raw[70:90])
    # monitoring begins on held-out rows, goes through the unknown ones, and meets the fault
    np.testing.assert_allclose(units(events.values[0]), raw[70:])
    assert events.change.tolist() == [30]
    assert facts["label"] == "own (plant.csv)"
    assert facts["in_control_rows"] == 60
    assert facts["held_out_rows"] == 20


def test_more_sensors_than_streams_are_refused_by_name(tmp_path: Path) -> None:
    wanted, path = own(tmp_path)
    prepared(PrepareJob(seed=1, source="x", wanted=wanted), path, tmp_path)
    job = InjectJob(
        seed=1, scenario="plant", m=5, k=2, protocols=["fair"], places="random", cases=["case_a"],
        propagate=False, together=False, replications=3, in_control_steps=4, horizon=4,
    )  # fmt: skip
    with pytest.raises(DataError, match=r"scenarios\.plant\.m: 5 .* p = 4 streams"):
        inject.run(job, streams=tmp_path / "s.npz", output=tmp_path / "i.npz")
    assert not (tmp_path / "i.npz").exists()
    fewer = job.model_copy(update={"m": 4})
    inject.run(fewer, streams=tmp_path / "s.npz", output=tmp_path / "i.npz")
    assert InjectedSet.load(tmp_path / "i.npz").paths["fair"].shape == (3, 8, 4)


def test_a_constant_stream_is_dropped_with_a_note(tmp_path: Path) -> None:
    wanted, path = own(tmp_path)
    recorded = wanted.read(wanted.files(path), None, np.random.default_rng(1))
    recorded.in_control[:, 2] = 4.0
    kept = without_constant_streams(recorded)
    assert kept.names == ["a", "b", "d"]
    assert kept.held_out.shape[1] == kept.events[0][1].shape[1] == 3
    assert kept.notes[-1].endswith("in-control rows: c")


# --- recorded rows as paths --------------------------------------------------------------------


def recorded_line(n: int = 50, held_out: int = 30) -> StreamModel:
    """Rows that count upwards, held-out rows that count from 1000."""
    none = np.empty((0, 1))
    rows = np.arange(float(n))[:, None]
    kept = 1000 + np.arange(float(held_out))[:, None]
    records = Records(np.zeros(1), np.ones(1), kept, none, none, 0)
    return StreamModel(("x",), rows, np.eye(1), np.zeros((1, 1)), records)


def test_paths_of_recorded_rows() -> None:
    model = recorded_line()
    rng = np.random.default_rng(1)
    single = model.in_control(40, 20, rng, "paper")[:, :, 0]
    blocks = model.in_control(40, 20, rng, "fair")[:, :, 0]
    assert (single < 1000).all()
    assert (np.diff(single) == 1).mean() < 0.1
    assert (np.diff(blocks) == 1).mean() > 0.6
    assert (model.in_control(5, 9, rng, "paper", held_out=True) >= 1000).all()
    consecutive = model.segments(40, 20, rng)[:, :, 0]
    assert (np.diff(consecutive) == 1).all()
    assert set(consecutive[:, 0]) == set(range(1000, 1011))
    # where the rows are too few they go round
    around = model.segments(40, 35, rng)[:, :, 0]
    assert set(np.diff(around).ravel()) == {1.0, -29.0}


def test_places_of_the_paper_are_drawn_once() -> None:
    order = fixed_order("random", 50, 7)
    assert sorted(order) == list(range(50))
    assert np.array_equal(order, fixed_order("random", 50, 7))
    assert not np.array_equal(order, fixed_order("random", 50, 8))
    assert np.array_equal(fixed_order("first", 4, 7), np.arange(4))


# --- events ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Total(State):
    total: Floats


class Sum(Method[Total]):
    """Adds up what it reads."""

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> Any:
        return Total(np.zeros(n))

    def choose(self, state: Any, rng: np.random.Generator) -> Ints:
        return np.zeros((len(state.total), 1), dtype=np.int64)

    def observe(self, state: Any, streams: Ints, values: Floats, rng: np.random.Generator) -> Any:
        return Total(state.total + values[:, 0])

    def statistic(self, state: Any) -> Floats:
        return np.asarray(state.total, np.float64)


def slow_event_delay(
    values: Floats, start: int, change: int, limit: float
) -> tuple[int, int, bool]:
    """One run, written out."""
    total, alarms = 0.0, 0
    for t in range(start, len(values)):
        total += values[t]
        if total > limit and t < change:
            alarms, total = alarms + 1, 0.0
        elif total > limit:
            return alarms, t - change + 1, False
    return alarms, len(values) - change, True


@pytest.mark.parametrize("limit", [7.0, 0.5])
def test_event_delays_against_one_run_after_another(limit: float) -> None:
    """With the lower limit many runs alarm at the first row they watch."""
    rng = np.random.default_rng(5)
    recordings = rng.exponential(size=(3, 60, 1))
    recordings[2, 30:] = 0.0
    which = np.tile([0, 1, 2], 30)
    start = rng.integers(0, 20, size=90)
    change = np.full(90, 30)
    method = Sum.__new__(Sum)
    start[:9] = 30  # the fault is there when the watch begins
    found = event_delays(method, recordings, which, start, change, limit, rng)
    expected = [
        slow_event_delay(recordings[w, :, 0], s, 30, limit)
        for w, s in zip(which, start, strict=True)
    ]
    assert list(zip(found.false_alarms, found.delay, found.missed, strict=True)) == expected
    assert found.missed.any()
    assert not found.missed.all()
    assert (found.false_alarms > 1).any()
    assert np.array_equal(found.in_control_steps, 30 - start)


def test_recordings_of_unequal_length_are_refused() -> None:
    with pytest.raises(DataError, match="differ in length"):
        Events.of([("a", np.zeros((3, 1)), 1), ("b", np.zeros((4, 1)), 1)], 1)


def test_runs_begin_anew_after_a_false_alarm_if_asked_to() -> None:
    rng = np.random.default_rng(6)
    paths = rng.exponential(size=(40, 60, 1))
    method = Sum.__new__(Sum)
    shift = np.full((40, 1), 0.5)
    left_out = delays(method, paths, 30, [shift], [None], 7.0, rng)[0]
    anew = delays(method, paths, 30, [shift], [None], 7.0, rng, restart=True)[0]
    assert np.array_equal(left_out.false_alarm, anew.false_alarm)
    assert (left_out.delay[left_out.false_alarm] == 0).all()
    moved = paths[:, :, 0] + 0.5 * (np.arange(60) >= 30)
    expected = [slow_event_delay(row, 0, 30, 7.0)[1] for row in moved]
    assert anew.delay.tolist() == expected
