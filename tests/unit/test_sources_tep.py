"""Three kinds of files of the Tennessee Eastman Process become the same table."""

import csv
import importlib.metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadr
import pytest
from pyarrow import parquet

from causaldq.errors import DataError
from causaldq.pipeline.jobs.prepare import write_table
from causaldq.pipeline.sources.tep import (
    COLUMNS,
    COPY_NAMES,
    KEYS,
    PAPER_STREAMS,
    VARIABLES,
    fault_rows,
    in_control_rows,
    last_sample_in_control,
    read_classic,
    read_rieth,
    read_rieth_run1,
)

SHARED = Path(__file__).parents[3] / "shared" / "data" / "tep_rieth2017"
needs_copies = pytest.mark.skipif(
    not SHARED.exists(), reason=f"no copies of run 1 of Rieth et al. in {SHARED}"
)

# The base case that Downs and Vogel print: what every in-control mean must be close to. It
# names each column independently of any header.
BASE_CASE = """
.25052 3664 4509.3 9.3477 26.902 42.339 2705 75 120.4 .33712 80.109 50 2633.7 25.16 50 3102.2
22.949 65.731 230.31 341.43 94.599 77.297 32.188 8.8933 26.383 6.882 18.776 1.6567 32.958 13.823
23.978 1.2565 18.579 2.2633 4.8436 2.2986 .01787 .8357 .09858 53.724 43.828
63.053 53.98 24.644 61.302 22.21 40.064 38.1 46.534 47.446 41.106 18.114
"""


@pytest.fixture(scope="module")
def classic_files() -> dict[str, Path]:
    try:
        package = importlib.metadata.distribution("bibmon")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("bibmon, which carries the classic files, is not installed")
    folder = Path(str(package.locate_file("bibmon/tennessee_eastman")))
    names = [f"d{fault:02}{end}.dat" for fault in (0, 1, 6, 21) for end in ("", "_te")]
    return {name: folder / name for name in names}


@pytest.fixture(scope="module")
def classic(classic_files: dict[str, Path]) -> pd.DataFrame:
    return read_classic(classic_files)


@pytest.fixture(scope="module")
def run1() -> pd.DataFrame:
    return read_rieth_run1({path.name: path for path in SHARED.glob("fault*.csv")})


def near_base_case(rows: np.ndarray) -> bool:
    expected = np.array([float(number) for number in BASE_CASE.split()])
    return bool((np.abs(rows.mean(0) / expected - 1) < 0.08).all())


def test_the_variables_are_those_of_the_paper() -> None:
    assert len(VARIABLES) == len(COPY_NAMES) == len(set(COPY_NAMES)) == 52
    assert COLUMNS[0] == "xmeas_1"
    assert COLUMNS[40:42] == ("xmeas_41", "xmv_1")
    assert COLUMNS[-1] == "xmv_11"
    # The paper takes columns 5 to 55 of faultNumber, simulationRun, sample, xmeas_1, ...
    header = ["faultNumber", "simulationRun", "sample", *COLUMNS]
    assert list(PAPER_STREAMS) == header[5:55]
    assert len(PAPER_STREAMS) == 50
    named = {variable.id: variable for variable in VARIABLES}
    assert named["xmeas_7"] == ("xmeas_7", "Reactor pressure", "kPa gauge")
    assert named["xmeas_37"].description == "Component D in product (stream 11)"
    assert named["xmv_3"] == ("xmv_3", "A feed flow (stream 1)", "%")


def test_the_copy_calls_the_variables_what_downs_and_vogel_do() -> None:
    for short, variable in zip(COPY_NAMES, VARIABLES, strict=True):
        assert short.split()[0].lower() in variable.description.lower()


def test_classic_files_are_put_the_right_way_round(classic: pd.DataFrame) -> None:
    assert tuple(classic.columns) == (*KEYS, *COLUMNS)
    counts = classic.groupby(["split", "fault"]).size().to_dict()
    assert counts == {
        **{("train", fault): 480 for fault in (1, 6, 21)},
        ("train", 0): 500,
        **{("test", fault): 960 for fault in (0, 1, 6, 21)},
    }
    for split in ("train", "test"):
        assert near_base_case(in_control_rows(classic, split, COLUMNS))
        assert in_control_rows(classic, split).shape[1] == 50


def test_the_first_numbers_of_a_transposed_file_are_the_first_variable(
    classic_files: dict[str, Path], classic: pd.DataFrame
) -> None:
    first_line = classic_files["d00.dat"].read_text().splitlines()[0].split()
    stored = classic[(classic["fault"] == 0) & (classic["split"] == "train")]
    assert stored["xmeas_1"].tolist() == [float(number) for number in first_line]
    assert stored["sample"].tolist() == list(range(1, 501))


@needs_copies
def test_the_copy_of_run_1_has_its_own_numbers_under_the_standard_names(
    run1: pd.DataFrame,
) -> None:
    assert tuple(run1.columns) == (*KEYS, *COLUMNS)
    assert run1.groupby("fault").size().to_dict() == dict.fromkeys(range(21), 500)
    with (SHARED / "fault3.csv").open() as handle:
        raw = list(csv.reader(handle))
    rows = run1[run1["fault"] == 3][list(COLUMNS)].to_numpy()
    assert rows[17].tolist() == [float(cell) for cell in raw[18][1:]]
    assert near_base_case(in_control_rows(run1, "train", COLUMNS))


@needs_copies
def test_a_fault_acts_after_the_sample_that_is_said(
    classic: pd.DataFrame, run1: pd.DataFrame
) -> None:
    """Fault 6 is the loss of feed A, which falls to nothing at once."""
    for table, split, expected in ((classic, "test", 160), (run1, "train", 20)):
        values, first = fault_rows(table, 6, 1, split, ["xmeas_1"])  # type: ignore[arg-type]
        assert first == expected
        assert values[:first].min() > 0.1
        assert np.abs(values[first:]).max() < 0.1
    values, first = fault_rows(classic, 6, 1, "train", ["xmeas_1"])
    assert first == 0
    assert np.abs(values).max() < 0.1


def rieth_frame(rng: np.random.Generator) -> pd.DataFrame:
    keys = [(fault, run, s) for fault in (0, 2) for run in (1, 2) for s in range(1, 6)]
    frame = pd.DataFrame(keys, columns=["faultNumber", "simulationRun", "sample"])
    values = pd.DataFrame(rng.normal(size=(len(keys), 52)), columns=list(COLUMNS))
    return pd.concat([frame.astype({"faultNumber": float}), values], axis=1)


def test_rdata_becomes_the_same_table(tmp_path: Path) -> None:
    frame = rieth_frame(np.random.default_rng(1))
    name = "TEP_Faulty_Testing.RData"
    pyreadr.write_rdata(str(tmp_path / name), frame, df_name="faulty_testing", compress="gzip")
    table = read_rieth({name: tmp_path / name})
    assert tuple(table.columns) == (*KEYS, *COLUMNS)
    assert set(table["split"]) == {"test"}
    assert table["fault"].tolist() == frame["faultNumber"].tolist()
    assert table["fault"].dtype == np.int64
    assert table["sample"].tolist() == frame["sample"].tolist()
    np.testing.assert_array_equal(table[list(COLUMNS)], frame[list(COLUMNS)])
    one = read_rieth({name: tmp_path / name}, runs=[2])
    assert set(one["run"]) == {2}
    assert len(one) == 10
    assert list(one.dtypes) == list(table.dtypes)


@needs_copies
def test_real_numbers_survive_rdata(tmp_path: Path, run1: pd.DataFrame) -> None:
    """Run 1 written as Rieth et al. publish it, read back through their reader."""
    chosen = run1[run1["fault"] == 0].reset_index(drop=True)
    frame = chosen[["fault", "run", "sample", *COLUMNS]].rename(
        columns={"fault": "faultNumber", "run": "simulationRun"}
    )
    path = tmp_path / "TEP_FaultFree_Training.RData"
    pyreadr.write_rdata(str(path), frame, df_name="fault_free_training")
    table = read_rieth({path.name: path})
    assert set(table["dataset"]) == {"tep_rieth"}
    pd.testing.assert_frame_equal(
        table.drop(columns="dataset"), chosen.drop(columns="dataset"), check_exact=True
    )


def test_parquet_keeps_the_table_and_its_bytes_repeat(
    tmp_path: Path, classic: pd.DataFrame
) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    units = {variable.id: variable.unit for variable in VARIABLES}
    write_table(first, classic, units)
    write_table(second, classic.copy(), units)
    pd.testing.assert_frame_equal(pd.read_parquet(first), classic, check_exact=True)
    assert first.read_bytes() == second.read_bytes()
    fields = parquet.read_schema(first)
    assert fields.field("xmeas_7").metadata == {b"unit": b"kPa gauge"}
    assert fields.field("sample").metadata is None


# --- what is wrong is told in one line ---------------------------------------------------------


def told(caught: pytest.ExceptionInfo[DataError]) -> str:
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@pytest.mark.parametrize("content", ["", "1 2 3\n", "1 2\nx y\n", "1 2\n3\n"])
def test_a_classic_file_that_is_not_whole(tmp_path: Path, content: str) -> None:
    path = tmp_path / "d01_te.dat"
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        read_classic({path.name: path})
    assert str(path) in told(caught)
    assert "fetch it again" in told(caught)


@pytest.mark.parametrize("content", [b"", b"no RData", b"RDX2\nX\n\x00\x00"])
def test_an_rdata_file_that_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "TEP_FaultFree_Training.RData"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_rieth({path.name: path})
    assert str(path) in told(caught)


def test_files_under_other_names_columns_and_times(tmp_path: Path) -> None:
    frame = rieth_frame(np.random.default_rng(2))
    path = tmp_path / "other.RData"
    pyreadr.write_rdata(str(path), frame)
    with pytest.raises(DataError, match="neither Training nor Testing"):
        read_rieth({path.name: path})
    pyreadr.write_rdata(str(path), frame.drop(columns="xmv_4"))
    with pytest.raises(DataError, match="has no column 'xmv_4'"):
        read_rieth({"x_training.RData": path})
    with pytest.raises(DataError, match="no classic file"):
        read_classic({"d1.dat": path})
    with pytest.raises(DataError, match="no copy of run 1"):
        read_rieth_run1({"run.csv": path})
    with pytest.raises(DataError, match="no file"):
        read_classic({})
    with pytest.raises(DataError, match="has no test samples"):
        last_sample_in_control("tep_rieth_run1", "test")


def copy_of_run_1(path: Path, changed: dict[str, Any]) -> Path:
    rows = 4
    frame = pd.DataFrame(np.ones((rows, 52)), columns=list(COPY_NAMES))
    frame.insert(0, "time", 0.05 * np.arange(1, rows + 1))
    frame.assign(**changed).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"time": [0.05, 0.1, 0.2, 0.25]}, "not 3 minutes apart"),
        ({"Purge valve": [1, 2, None, 3]}, "xmv_6 has no value in row 3"),
        ({"Purge valve": [1, 2, "?", 3]}, "holds text"),
    ],
)
def test_a_copy_with_gaps(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    path = copy_of_run_1(tmp_path / "fault2.csv", changed)
    with pytest.raises(DataError, match=words) as caught:
        read_rieth_run1({path.name: path})
    assert "fetch it again" in told(caught)


def test_a_table_without_rows_in_control() -> None:
    with pytest.raises(DataError, match="no in-control train samples"):
        in_control_rows(pd.DataFrame({"fault": [1], "split": ["train"]}), "train")
