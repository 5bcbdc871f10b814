"""Types as pandas and numpy hand them out, and numbers that cannot be meant."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plants import NAMES, monitor, rows

from causaldq import Monitor
from causaldq.errors import ConfigError, DataError
from causaldq.live.rows import RowReader
from causaldq.normal import choices, table

NORMAL = pd.DataFrame(rows(120, seed=1), columns=NAMES)


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    values = NORMAL.to_numpy()
    made = Monitor.fit(
        values, np.int64(3), arl0=np.int64(20), paths=np.int64(10), seed=np.int64(1),  # type: ignore[arg-type]
        names=NORMAL.columns, method="greedy", progress=False,
    )  # fmt: skip
    made.save(tmp_path / "m")
    same = Monitor.fit(NORMAL, 3, arl0=20, paths=10, seed=1, method="greedy", progress=False)
    assert Monitor.load(tmp_path / "m").identity == same.identity


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sensors": 3.0}, "3.0 sensors for 6 streams; give a whole number"),
        ({"arl0": "500"}, "arl0 is '500'"),
        ({"paths": 10.5}, "paths is 10.5"),
        ({"seed": None}, "seed is None"),
        ({"arl0": 1e12}, "give at most 500000"),
        ({"arl0": 1e12, "paths": 1000}, "give at most 100000"),
        ({"arl0": 1e12, "limit": "simulated", "method": "innovation_filter"}, "at most 500000"),
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any], words: str) -> None:
    usual = {"sensors": 3, "arl0": 200, "paths": None, "seed": 0, "p": 6, "method": "greedy"}
    with pytest.raises(ConfigError, match=words):
        choices(**{**usual, "limit": "auto", **given})


def test_a_bound_needs_no_paths() -> None:
    assert choices(3, 1e12, None, 0, 6, "innovation_filter", "bound")[1] == 1e12


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.date_range("2026", periods=120), "column 'extra' is not numeric .datetime64"),
        (pd.Categorical(["a", "b"] * 60), "column 'extra' is not numeric .category"),
        (pd.array([1, 2, None] * 40, dtype="Int64"), "stream 'extra' has no finite value in row 2"),
    ],
)
def test_columns_that_cannot_be_used_are_named(column: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        table(NORMAL.assign(extra=column), None)


def test_nullable_columns_without_gaps_are_numbers() -> None:
    kept = NORMAL.assign(flow=NORMAL["flow"].round().astype("Int64"))
    np.testing.assert_array_equal(table(kept, None)[1][:, 0], NORMAL["flow"].round())


def test_no_rows_are_refused() -> None:
    with pytest.raises(DataError, match="there are no rows"):
        monitor().check(NORMAL[:0])


@pytest.mark.parametrize(
    "columns",
    [pd.RangeIndex(6), pd.MultiIndex.from_product([["A"], NAMES])],
    ids=["whole numbers", "several levels"],
)
def test_rows_come_under_the_names_of_the_fit(columns: pd.Index) -> None:
    frame = NORMAL.set_axis(columns, axis=1)
    made, named = monitor(), monitor()
    made.names = table(frame, None)[0]
    made._known = frozenset(made.names)
    found = made.update(frame.iloc[0])
    assert found.statistic == named.update(NORMAL.iloc[0]).statistic
    assert found.missing == []


def test_a_frame_of_one_row_is_a_row() -> None:
    made, by_name = monitor(), monitor()
    assert made.update(NORMAL.iloc[[0]]) == by_name.update(NORMAL.iloc[0])
    with pytest.raises(DataError, match="2 rows at once"):
        made.update(NORMAL[:2])


def test_a_file_that_is_no_plain_csv_is_refused_with_the_remedy() -> None:
    reader = RowReader(NAMES, "rows.csv")
    with pytest.raises(DataError, match="give --table"):
        reader.take(";".join(NAMES).encode())
