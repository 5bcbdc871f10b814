"""Flare windows: two kinds of files, their gaps, the sets made of them, and surrogates."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from causaldq.errors import DataError
from causaldq.pipeline.sources.fetch import Delivered
from causaldq.pipeline.sources.flare_tables import fill_gaps, parameters_of, window_values
from causaldq.pipeline.sources.flares import (
    SWAN_PARAMETERS,
    _more_quiet,
    index_swan,
    quiet_bigdata,
    read_bigdata,
    read_swan,
    swan_name,
)
from causaldq.pipeline.sources.surrogate import (
    FlareMoments,
    draw_offsets,
    draw_windows,
    estimate_from_swan,
    estimate_moments,
    read_moments,
    surrogate_table,
    write_moments,
)

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data" / "swan_sf"
MOMENTS = ROOT / "data" / "reference" / "flare_moments.json"
needs_windows = pytest.mark.skipif(
    not SHARED.exists(), reason=f"no copies of SWAN-SF windows in {SHARED}"
)


def told(caught: pytest.ExceptionInfo[DataError]) -> str:
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


# --- BigData Cup -------------------------------------------------------------------------------


def entry(label: str, values: dict[str, list[Any]]) -> dict[str, Any]:
    return {
        "label": label,
        "values": {
            name: {str(step): value for step, value in enumerate(series)}
            for name, series in values.items()
        },
    }


def write_lines(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.fixture
def cup(tmp_path: Path) -> Path:
    return write_lines(
        tmp_path / "train.json",
        {"17": entry("B", {"EPSX": [1, 2.5, 3], "TOTPOT": [7e20, None, 9e20]})},
        {"80": entry("Q", {"EPSX": [4, 5, 6], "TOTPOT": [float("nan"), 1, 2]})},
        {"9": entry("M", {"EPSX": [0, 0, 0], "TOTPOT": [0, 0, 0]})},
    )


def test_json_lines_become_a_tidy_table(cup: Path) -> None:
    table = read_bigdata(cup, ["80", "17"])
    expected = pd.DataFrame(
        {
            "window": ["80"] * 3 + ["17"] * 3,
            "label": ["Q"] * 3 + ["B"] * 3,
            "step": [0, 1, 2, 0, 1, 2],
            "EPSX": [4, 5, 6, 1, 2.5, 3],
            "TOTPOT": [np.nan, 1, 2, 7e20, np.nan, 9e20],
        }
    )
    pd.testing.assert_frame_equal(table, expected)


def test_steps_are_ordered_by_number_and_may_be_missing(tmp_path: Path) -> None:
    values = {"A": {"10": 10.0, "2": 2.0, "0": 0.0}, "B": {"0": 5.0, "2": 7.0}}
    path = write_lines(tmp_path / "x.json", {"1": {"label": "Q", "values": values}})
    table = read_bigdata(path, ["1"])
    assert table["A"].tolist() == [0, 2, 10]
    assert table["B"].tolist()[:2] == [5, 7]
    assert np.isnan(table["B"].iloc[2])


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """40 MB on disk, one and a half in memory: a window at a time."""
    path = tmp_path / "large.json"
    rng = np.random.default_rng(1)
    parameters = [f"P{i}" for i in range(33)]
    line = json.dumps({"@": entry("Q", {p: rng.normal(size=60).tolist() for p in parameters})})
    with path.open("w") as handle:
        for window in range(1000):
            handle.write(line.replace('"@"', f'"{window}"', 1) + "\n")
    size = path.stat().st_size
    assert size > 40e6
    peaks = []
    for wanted in (["3", "5"], ["3", "999"]):
        tracemalloc.start()
        table = read_bigdata(path, wanted)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert table.shape == (120, 36)
    assert max(peaks) < 3e6
    assert peaks[1] < 1.2 * peaks[0]


def test_reading_stops_once_everything_is_found(cup: Path) -> None:
    with cup.open("a") as handle:
        handle.write("this is no window\n")
    assert len(read_bigdata(cup, ["80"])) == 3
    with pytest.raises(DataError, match="line 4: not a window"):
        read_bigdata(cup, ["81"])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"1": {"label": "Q", "values": {"A": {"0": 1', "line 1: damaged"),
        ('{"1": {"label": "Q"}}', "line 1: damaged"),
        ('{"1": {"values": {"A": {"0": 1}}}}', "line 1: damaged"),
        ('{"1": {"label": "Q", "values": {"A": {"x": 1}}}}', "line 1: damaged"),
        ('{"1": {"label": "Q", "values": {"A": {"0": "a"}}}}', "line 1: damaged"),
        ('{"1": {"label": "Q", "values": {"A": {"0": true}}}}', "line 1: damaged"),
        ('{"1": {"label": "Q", "values": {}}}', "an empty window"),
        ('{"1": {"label": null, "values": {"A": {"0": 1}}}}', "an empty window"),
        ('{"1": 3}', "line 1: damaged"),
        ("[1, 2]", "line 1: not a window"),
        ("", "has no window '1' among its 0"),
        ("{" + '"1": {"a":' * 100_000, "line 1: damaged"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(line)
    with pytest.raises(DataError, match=words) as caught:
        read_bigdata(path, ["1"])
    assert str(path) in told(caught)


def test_other_files_are_refused(tmp_path: Path, cup: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_bigdata(tmp_path / "none.json", ["1"])
    one_line = tmp_path / "long.json"
    one_line.write_bytes(b'{"1": ' + b"0" * (17 << 20))
    with pytest.raises(DataError, match="longer than 16 MB"):
        read_bigdata(one_line, ["1"])
    with pytest.raises(DataError, match="no window was asked for"):
        read_bigdata(cup, [])
    differing = write_lines(
        tmp_path / "y.json", {"1": entry("Q", {"A": [1]})}, {"2": entry("Q", {"B": [1]})}
    )
    with pytest.raises(DataError, match="other parameters"):
        read_bigdata(differing, ["1", "2"])


# --- SWAN-SF -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "lab[B]6.0@7473_id[3648]_st[2014-01-22T23:12:00]_et[2014-01-23T11:00:00].csv",
            ("3648@2014-01-22T23:12:00", "B"),
        ),
        (
            "lab[NF]_id[3272]_st[2013-10-11T11:36:00]_et[2013-10-11T23:24:00].csv",
            ("3272@2013-10-11T11:36:00", "Q"),
        ),
        (
            "M1.0@265_Primary_ar115_s2010-08-06T06_36_00_e2010-08-06T18_24_00.csv",
            ("115@2010-08-06T06:36:00", "M"),
        ),
        (
            "FQ_ar377_s2011-02-10T00:00:00_e2011-02-10T11:48:00.csv",
            ("377@2011-02-10T00:00:00", "Q"),
        ),
        ("LICENCE.txt", None),
        ("lab[B].csv", None),
    ],
)
def test_names_of_windows(name: str, expected: tuple[str, str] | None) -> None:
    assert swan_name(name) == expected


@needs_windows
def test_real_windows_become_the_same_table() -> None:
    index = index_swan(SHARED)
    assert index["label"].value_counts().to_dict() == {"Q": 2, "B": 3, "C": 3, "M": 4}
    table = read_swan(SHARED)
    assert list(table.columns) == ["window", "label", "step", *SWAN_PARAMETERS]
    assert len(table) == 12 * 60
    path = Path(str(index.set_index("window").at["3648@2014-01-22T23:12:00", "path"]))
    raw = [line.split("\t") for line in path.read_text().splitlines()]
    assert tuple(raw[0][1:25]) == SWAN_PARAMETERS
    window = table[table["window"] == "3648@2014-01-22T23:12:00"]
    assert window["R_VALUE"].tolist() == [float(row[24]) for row in raw[1:]]
    one = read_swan(SHARED, ["3648@2014-01-22T23:12:00"])
    pd.testing.assert_frame_equal(one, window.reset_index(drop=True))


@needs_windows
def test_the_gaps_of_real_windows_are_filled_and_counted() -> None:
    table = read_swan(SHARED)
    filled = fill_gaps(table)
    assert not filled.table.isna().any(axis=None)
    assert filled.gaps["count"].sum() == table.isna().sum().sum() == 29
    b_window = filled.gaps[filled.gaps["window"].str.startswith("3648")]
    assert dict(zip(b_window["parameter"], b_window["count"], strict=True)) == {
        "TOTUSJH": 3,
        "TOTBSQ": 1,
        "TOTPOT": 1,
    }
    assert filled.messages == ("29 missing values interpolated in 2 windows",)
    known = table[list(SWAN_PARAMETERS)].notna()
    pd.testing.assert_frame_equal(
        filled.table[list(SWAN_PARAMETERS)].where(known), table[list(SWAN_PARAMETERS)]
    )


def swan_file(folder: Path, text: str | None = None, drop: str | None = None) -> Path:
    frame = pd.DataFrame(np.arange(48.0).reshape(2, 24), columns=list(SWAN_PARAMETERS))
    frame.insert(0, "Timestamp", ["2014-01-01 00:00:00", "2014-01-01 00:12:00"])
    frame = frame.drop(columns=drop) if drop else frame
    path = folder / "lab[C]1.0@1_id[2]_st[2014-01-01T00:00:00]_et[2014-01-01T11:48:00].csv"
    path.write_text(frame.to_csv(sep="\t", index=False) if text is None else text)
    return path


@pytest.mark.parametrize(
    ("text", "drop", "words"),
    [
        (None, "EPSY", "has no column 'EPSY'"),
        ("", None, "cannot be read"),
        ("\t".join(["T", *SWAN_PARAMETERS]) + "\n", None, "has no rows"),
        ("\t".join(["T", *SWAN_PARAMETERS]) + "\n" + "\t".join(["t"] * 25), None, "holds text"),
        ("a,b\n1,2\n", None, "has no column 'TOTUSJH'"),
    ],
)
def test_a_damaged_window(tmp_path: Path, text: str | None, drop: str | None, words: str) -> None:
    path = swan_file(tmp_path, text, drop)
    with pytest.raises(DataError, match=words) as caught:
        read_swan(tmp_path)
    assert str(path) in told(caught)


def test_folders_without_the_window(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no folder"):
        read_swan(tmp_path / "none")
    with pytest.raises(DataError, match="holds no window"):
        read_swan(tmp_path)
    swan_file(tmp_path)
    with pytest.raises(DataError, match="has no window '7'; it has '2@2014"):
        read_swan(tmp_path, ["7"])
    assert read_swan(tmp_path)["TOTBSQ"].tolist() == [1.0, 25.0]


# --- gaps --------------------------------------------------------------------------------------


def small_table(**columns: list[float]) -> pd.DataFrame:
    """Windows a (Q) and b (B) of three steps."""
    keys = {"window": ["a"] * 3 + ["b"] * 3, "label": ["Q"] * 3 + ["B"] * 3, "step": [0, 1, 2] * 2}
    return pd.DataFrame(keys | columns)


def test_gaps_are_interpolated_within_a_window_only() -> None:
    nan = np.nan
    filled = fill_gaps(small_table(X=[1, nan, 4, nan, 7, nan], Y=[1, 2, np.inf, 9, 8, 7]))
    assert filled.table["X"].tolist() == [1, 2.5, 4, 7, 7, 7]
    assert filled.table["Y"].tolist() == [1, 2, 2, 9, 8, 7]
    assert filled.gaps.to_numpy().tolist() == [["a", "X", 1], ["a", "Y", 1], ["b", "X", 2]]


def test_a_parameter_that_a_window_lacks_is_dropped_and_said() -> None:
    nan = np.nan
    filled = fill_gaps(small_table(X=[1, nan, 3, nan, nan, nan], Y=[1, 2, 3, 4, 5, 6]))
    assert parameters_of(filled.table) == ["Y"]
    assert filled.dropped == ("X",)
    assert filled.messages == ("X dropped: window 'b' has no value of it",)
    assert filled.gaps.empty
    with pytest.raises(DataError, match="no values at all"):
        fill_gaps(small_table(X=[nan] * 3 + [1, 2, 3]))


def test_windows_with_gaps_are_refused() -> None:
    with pytest.raises(DataError, match="has gaps"):
        window_values(small_table(X=[1, np.nan, 2, 3, 4, 5]), "a")


# --- surrogate ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moments() -> FlareMoments:
    return read_moments(MOMENTS)


def test_the_kept_numbers_are_moments_and_no_windows(moments: FlareMoments) -> None:
    assert tuple(moments.parameters) == SWAN_PARAMETERS
    assert {label: part.windows for label, part in moments.classes.items()} == {"Q": 2, "B": 3}
    assert MOMENTS.stat().st_size < 12_000


@needs_windows
def test_the_kept_numbers_are_those_of_the_real_windows(
    tmp_path: Path, moments: FlareMoments
) -> None:
    write_moments(tmp_path / "again.json", estimate_from_swan(SHARED))
    assert (tmp_path / "again.json").read_text() == MOMENTS.read_text()
    # One parameter by pandas: mean of window means, and autocorrelation about the own mean.
    table = read_swan(SHARED)
    place = moments.parameters.index("MEANPOT")
    by_window = table[table["label"] == "Q"].groupby("window")["MEANPOT"]
    quiet = moments.classes["Q"]
    assert quiet.mean[place] == pytest.approx(by_window.mean().mean(), rel=1e-4)
    assert quiet.sd[place] == pytest.approx(np.sqrt(by_window.var().mean()), rel=1e-4)
    lagged = by_window.apply(lambda series: series.autocorr(1)).mean()
    assert quiet.autocorrelation[place] == pytest.approx(lagged, abs=0.03)


@pytest.mark.parametrize("label", ["Q", "B"])
def test_surrogates_have_the_moments_that_they_are_drawn_from(
    moments: FlareMoments, label: str
) -> None:
    part = moments.classes[label]
    windows = draw_windows(moments, label, 4000, np.random.default_rng(1))
    assert windows.shape == (4000, 60, 24)
    z = (windows - np.array(part.mean)) / np.array(part.sd)
    assert np.abs(z.mean((0, 1))).max() < 0.03
    for step in (0, 30):  # stationary from the first step on
        assert np.abs(z[:, step].std(0) - 1).max() < 0.05
        difference = np.corrcoef(z[:, step].T) - np.corrcoef(z[:, 59].T)
        assert np.abs(difference).max() < 0.09
    lagged = (z[:, 1:] * z[:, :-1]).mean((0, 1)) / (z**2).mean((0, 1))
    assert np.abs(lagged - part.autocorrelation).max() < 0.02
    wanted = np.zeros((24, 24))
    for i, row in enumerate(part.correlation):
        wanted[i, : i + 1] = wanted[: i + 1, i] = row
    error = np.corrcoef(z.reshape(-1, 24).T) - wanted
    assert np.sqrt((error**2).mean()) < 0.05


def test_moments_that_can_be_met_are_met_exactly() -> None:
    """Equal memory: the innovations then have the correlation itself."""
    rng = np.random.default_rng(5)
    correlation = np.array([[1, 0.8], [0.8, 1]])
    shocks = rng.multivariate_normal([0, 0], correlation, size=(300, 60))
    values = shocks.copy()
    for step in range(1, 60):
        values[:, step] = 0.7 * values[:, step - 1] + np.sqrt(1 - 0.49) * shocks[:, step]
    parts = [
        pd.DataFrame(
            {"window": str(i), "label": "Q", "step": range(60), "X": w[:, 0], "Y": w[:, 1]}
        )
        for i, w in enumerate(values + np.array([10, -3]))
    ]
    found = estimate_moments(pd.concat(parts, ignore_index=True), ("Q",), "known").classes["Q"]
    np.testing.assert_allclose(found.mean, [10, -3], atol=0.05)
    np.testing.assert_allclose(found.correlation[1], [0.8, 1], atol=0.02)
    # About the window's own mean a share (1 + phi)/(1 - phi)/60 of the variance is lost.
    lost = (1.7 / 0.3) / 60
    np.testing.assert_allclose(np.square(found.sd), 1 - lost, atol=0.03)
    np.testing.assert_allclose(found.autocorrelation, (0.7 - lost) / (1 - lost), atol=0.03)


def test_a_surrogate_table_says_that_it_is_one(moments: FlareMoments) -> None:
    table = surrogate_table(moments, {"Q": 2, "B": 1}, np.random.default_rng(1))
    assert list(table["window"].unique()) == ["surrogate_Q_1", "surrogate_Q_2", "surrogate_B_1"]
    assert list(table.columns) == ["window", "label", "step", *SWAN_PARAMETERS]
    again = surrogate_table(moments, {"Q": 2, "B": 1}, np.random.default_rng(1))
    pd.testing.assert_frame_equal(table, again)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"steps": 0}, "steps"),
        ({"parameters": ["A"]}, "one entry for each of 1 parameters"),
        ({"more": 1}, "more"),
    ],
)
def test_damaged_moments(
    tmp_path: Path, moments: FlareMoments, change: dict[str, Any], words: str
) -> None:
    path = tmp_path / "moments.json"
    path.write_text(json.dumps(moments.model_dump() | change))
    with pytest.raises(DataError, match=words) as caught:
        read_moments(path)
    assert str(path) in told(caught)


def test_moments_and_windows_that_are_not_there(moments: FlareMoments) -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(DataError, match="labelled X; there are Q, B"):
        draw_windows(moments, "X", 1, rng)
    with pytest.raises(DataError, match="at least one"):
        surrogate_table(moments, {}, rng)
    with pytest.raises(DataError, match="no window is labelled M"):
        estimate_moments(small_table(X=[1, 2, 3, 4, 5, 6]), ("M",), "")
    with pytest.raises(DataError, match="X does not vary"):
        estimate_moments(small_table(X=[1, 1, 1, 4, 5, 6]), ("Q",), "")


def test_windows_of_other_regions_have_offsets_of_their_own(moments: FlareMoments) -> None:
    assert moments.between is not None
    rng = np.random.default_rng(2)
    offsets = draw_offsets(moments, 4000, 0.5, rng)[:, 0]
    assert offsets.std(axis=0) == pytest.approx(0.5 * np.array(moments.between.sd), rel=0.06)
    # Without them, windows are the same bytes as ever.
    alike = surrogate_table(moments, {"Q": 2, "B": 1}, np.random.default_rng(3))
    again = surrogate_table(moments, {"Q": 2, "B": 1}, np.random.default_rng(3), 0.0)
    assert alike.equals(again)
    with pytest.raises(DataError, match="make the file again"):
        draw_offsets(moments.model_copy(update={"between": None}), 1, 1.0, rng)


@needs_windows
def test_active_regions_differ_by_what_their_windows_say(moments: FlareMoments) -> None:
    table = fill_gaps(read_swan(SHARED)).table
    flares = table[table["label"] != "Q"].assign(region=lambda t: t["window"].str[:4])
    means = flares.groupby(["label", "region"])["USFLUX"].mean()
    squares = sum(((part - part.mean()) ** 2).sum() for _, part in means.groupby("label"))
    assert moments.between is not None
    assert moments.between.regions == len(means) == 8
    place = moments.parameters.index("USFLUX")
    assert moments.between.sd[place] == pytest.approx(np.sqrt(squares / 5), rel=1e-4)


def test_more_quiet_windows_set_the_scale(cup: Path) -> None:
    with cup.open("a") as handle:
        for name in ("5", "6", "7"):
            label = "C" if name == "6" else "Q"
            handle.write(json.dumps({name: entry(label, {"EPSX": [1, 2, 3]})}) + "\n")
    assert list(quiet_bigdata(cup)) == ["80", "5", "7"]
    found = Delivered("flares_bigdata", "", {cup.name: cup})
    assert _more_quiet(found, 99, ["80"]) == ["5", "7"]
    assert _more_quiet(found, 1, ["80"]) == ["5"]
    assert _more_quiet(found, 0, []) == []
    surrogate = Delivered("flares_surrogate", "", {})
    assert _more_quiet(surrogate, 2, ["surrogate_Q_1"]) == ["surrogate_Q_2", "surrogate_Q_3"]
