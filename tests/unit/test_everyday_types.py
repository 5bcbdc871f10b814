"""Types as pandas and numpy hand them out, and numbers that cannot be meant."""

import copy
import pickle
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from plants import NAMES, monitor, rows

from causaldq import Fleet, LargeMonitor, Limit, Monitor, SensorRules, WatchSettings
from causaldq.calibration import RunLength
from causaldq.errors import ConfigError, DataError
from causaldq.live.rows import RowReader
from causaldq.methods import Greedy, Random
from causaldq.methods.base import Method, Problem, State, top
from causaldq.methods.tssrp import Tssrp, TssrpSettings
from causaldq.normal import choices, edges_of, table

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
        ({"seed": -1}, "seed is -1; give a whole number of 0 or more"),
        ({"seed": True}, "seed is True"),
        ({"sensors": True}, "True sensors for 6 streams"),
        ({"paths": 4}, "paths is 4; give a whole number of 5 or more"),
        ({"arl0": float("nan")}, "arl0 is nan"),
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
        ([True, False] * 60, "column 'extra' is not numeric .bool"),
        (pd.array([True, False] * 60, dtype="boolean"), "column 'extra' is not numeric .boolean"),
        (pd.Series([True, 2.0] * 60, dtype=object), "column 'extra' is not numeric .object"),
        ([1 + 2j, 3j] * 60, "column 'extra' is not numeric .complex128"),
        ([1e-200, 3e-200] * 60, "'extra' are of a size whose square is no number, such as 1e-200"),
        ([1e200, 3.0] * 60, "'extra' are of a size whose square"),
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


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (NORMAL.to_numpy() + 1j, "they are complex128"),
        (NORMAL.to_numpy() > 5, "they are bool"),
        (NORMAL.to_numpy().astype("M8[s]"), "they are datetime64"),
        (NORMAL.to_numpy().astype("m8[s]"), "they are timedelta64"),
        (np.ma.array(NORMAL, mask=NORMAL > 300), "no finite value in row"),
    ],
)
def test_arrays_are_taken_for_numbers_only_if_they_are(values: Any, words: str) -> None:
    with pytest.raises(DataError, match=words):
        table(values, None)


def test_an_array_without_masked_cells_is_whole() -> None:
    np.testing.assert_array_equal(table(np.ma.array(NORMAL), None)[1], NORMAL)


@pytest.mark.parametrize("names", ["abcdef", 6])
def test_names_are_a_list(names: Any) -> None:
    with pytest.raises(ConfigError, match="give a list of 6"):
        table(NORMAL.to_numpy(), names)


def test_times_must_not_go_back() -> None:
    """Blocks of rows keep their memory only if rows follow each other; numbers may be anything."""
    times = pd.date_range("2026-10-25", periods=120, freq="h", tz="Europe/Rome")
    ordered = NORMAL.set_axis(times)
    np.testing.assert_array_equal(table(ordered, None)[1], NORMAL)
    swapped = ordered.iloc[[*range(50), 51, 50, *range(52, 120)]]
    with pytest.raises(DataError, match=r"2026-10-27 .* in row 51 comes after .*sort_index"):
        table(swapped, None)
    np.testing.assert_array_equal(table(swapped.sort_index(), None)[1], NORMAL)
    table(swapped.reset_index(drop=True), None)
    table(NORMAL.iloc[::-1], None)


LINKED = np.zeros((6, 6), dtype=bool)
LINKED[0, 3] = LINKED[3, 5] = True


@pytest.mark.parametrize(
    "graph",
    [
        pd.DataFrame(LINKED, index=NAMES, columns=NAMES),
        pd.DataFrame(LINKED, index=NAMES, columns=NAMES).iloc[::-1, [2, 0, 1, 4, 5, 3]],
        pd.DataFrame(LINKED, columns=NAMES),
        pd.DataFrame(LINKED),
        LINKED.astype(float),
        [(0, 3), (3, 5)],
        [("flow", "purity"), ("purity", "steam")],
        pd.DataFrame({"cause": ["flow", "purity"], "effect": ["purity", "steam"]}),
    ],
)
def test_a_graph_links_the_streams_that_it_names(graph: Any) -> None:
    found = edges_of(graph, NAMES)
    assert found is not None
    assert found.tolist() == [[0, 3], [3, 5]]


@pytest.mark.parametrize(
    ("graph", "names", "words"),
    [
        (pd.DataFrame(LINKED, index=NAMES, columns=list("abcdef")), NAMES, "like the streams: 'a'"),
        (LINKED * np.nan, NAMES, "cells that are no numbers"),
        ([("flow", "purity"), ("flow",)], NAMES, "different lengths"),
        ([(0, 1)], ("1", "2", "3", "4", "5", "6"), "1, which is the place of one stream and the"),
    ],
)
def test_a_graph_that_could_mean_other_streams_is_refused(
    graph: Any, names: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        edges_of(graph, names)


def test_one_stream_has_no_graph_to_look_for() -> None:
    made = Monitor.fit(NORMAL[["flow"]], 1, arl0=20, paths=10, method="causal_sr", progress=False)
    assert made.update([10.0]).read == ["flow"]


def answer(found: Any) -> tuple[Any, ...]:
    return found.read, found.missing, found.statistic, found.next


ROW, ASKED = NORMAL.iloc[0], monitor().next


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (ROW[[ASKED[0], *ASKED]], "two values of"),
        ({1: 0.0, "1": 0.0}, "no stream '1'"),
        (ROW[ASKED].to_numpy()[:, None], "a value is a ndarray"),
        ([ROW, ROW, ROW], "a value is a Series"),
        ({ASKED[0]: [1.0]}, "a value is a list"),
        ("123", "str without values for 3 sensors"),
        (b"123", "bytes without values"),
        (set(ROW[ASKED]), "set without values"),
        (5.0, "float without values"),
        (None, "NoneType without values"),
        (np.array(5.0), "ndarray without values"),
    ],
)
def test_what_is_no_row_is_refused_and_changes_nothing(given: Any, words: str) -> None:
    made, other = monitor(), monitor()
    with pytest.raises(DataError, match=words):
        made.update(given)
    assert answer(made.update(ROW)) == answer(other.update(ROW))


@pytest.mark.parametrize("value", [True, np.True_, 1j, np.complex128(1), np.timedelta64(4, "ns")])
def test_what_is_no_measurement_is_missing_whoever_made_it(value: Any) -> None:
    made = monitor()
    asked = made.next
    assert made.update({asked[0]: value}).missing == asked


@pytest.mark.parametrize("method", ["bayes_posterior", "random", "asmp", "tras"])
@pytest.mark.parametrize(
    "twin", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_goes_on_by_itself(method: str, twin: Any) -> None:
    made, other = monitor(method), monitor(method)
    for _, row in NORMAL[:10].iterrows():
        assert answer(made.update(row)) == answer(other.update(row))
    copied = twin(made)
    courses = [
        [answer(one.update(row)) for _, row in NORMAL[10:40].iterrows()]
        for one in (copied, made, other)
    ]
    assert courses[0] == courses[1] == courses[2]


@dataclass(frozen=True)
class Sizes(State):
    size: Any


class Furthest(Method[Sizes]):
    """As the docstring of `Method` has it: it does not say which streams it suspects."""

    def start(self, n: int, truth: Any, rng: Any) -> Any:
        return Sizes(np.zeros((n, self.problem.p)))

    def choose(self, state: Any, rng: Any) -> Any:
        return top(state.size, self.problem.m, rng)

    def observe(self, state: Any, streams: Any, values: Any, rng: Any) -> Any:
        size = state.size + 0.1
        np.put_along_axis(size, streams, np.abs(values), axis=1)
        return Sizes(size)

    def statistic(self, state: Any) -> Any:
        return state.size.max(axis=1)


def fit(method: Any, rows: Any = NORMAL, sensors: int = 3) -> Monitor:
    return Monitor.fit(rows, sensors, arl0=20, paths=10, method=method, progress=False)


def test_a_method_need_not_tell_streams_apart(tmp_path: Path) -> None:
    made = fit(Furthest)
    found = made.update(NORMAL.iloc[0])
    assert found.statistic > 0
    assert found.contributions == {}
    made.save(tmp_path / "own")
    with pytest.raises(ConfigError, match="'Furthest' is not one of ours"):
        Monitor.load(tmp_path / "own")
    with pytest.raises(ConfigError, match="'Furthest', and its limit holds for no other"):
        Monitor.load(tmp_path / "own", method="greedy")
    again = Monitor.load(tmp_path / "own", method=Furthest)
    fleet = Fleet([copy.copy(made)])
    fleet.update(NORMAL.iloc[[1]])
    assert fleet.contributions(0) == {}
    assert answer(again.update(NORMAL.iloc[1])) == answer(made.update(NORMAL.iloc[1]))


def test_a_limit_is_used_for_no_other_method(tmp_path: Path) -> None:
    """Both keep the same state, so that nothing else would tell them apart."""
    fit("greedy").save(tmp_path / "m")
    for other in ("random", Random, lambda problem: Random(problem)):
        with pytest.raises(ConfigError, match="'greedy', and its limit holds for no other"):
            Monitor.load(tmp_path / "m", method=other)
    assert type(Monitor.load(tmp_path / "m", method=Greedy).method) is Greedy


def test_a_method_called_like_one_of_ours_is_not_taken_for_it(tmp_path: Path) -> None:
    def tssrp(problem: Problem) -> Tssrp:
        return Tssrp(problem, TssrpSettings(shift=0.3))

    made = fit(tssrp)
    assert made.summary().startswith("own tssrp: 6 streams")
    made.save(tmp_path / "m")
    with pytest.raises(ConfigError, match="'own tssrp' is not one of ours"):
        Monitor.load(tmp_path / "m")
    again: Any = Monitor.load(tmp_path / "m", method=tssrp).method
    assert again.settings.shift == 0.3


def test_settings_of_a_method_are_saved_with_it(tmp_path: Path) -> None:
    problem, limit = monitor().method.problem, Limit(6.0, 200.0, RunLength(200.0, 150.0, 260.0))
    made = Monitor(
        Tssrp(problem, TssrpSettings(shift=0.3)), name="tssrp", names=NAMES,
        mean=np.zeros(6), sd=np.ones(6), limit=limit,
    )  # fmt: skip
    made.save(tmp_path / "m")
    again: Any = Monitor.load(tmp_path / "m").method
    assert again.settings.shift == 0.3
    assert monitor("tssrp").options == {}


def test_what_cannot_be_written_or_is_no_path_is_said(tmp_path: Path) -> None:
    made = monitor()
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "m"):
        with pytest.raises(DataError, match=r"cannot be written .*; give a file in a folder"):
            made.save(path)
    for call in (made.save, Monitor.load):
        with pytest.raises(DataError, match="None is no path"):
            call(None)  # type: ignore[operator]


@pytest.mark.parametrize("method", ["greedy", "bayes_posterior", "tssrp_cov", "innovation_filter"])
@pytest.mark.parametrize("more", [lambda r: 1.8 * r["heat"] + 32, lambda r: r["flow"] + r["heat"]])
def test_streams_that_follow_from_others_are_named(method: str, more: Any) -> None:
    with pytest.raises(DataError, match=r"linearly dependent in the rows: .*heat, more; drop one"):
        fit(method, NORMAL.assign(more=more(NORMAL)))


def test_a_recording_with_other_streams_is_told_which_it_needs() -> None:
    with pytest.raises(DataError, match=r"in its order; it has steam, .* give flow, heat"):
        monitor().check(NORMAL[list(NAMES[::-1])])


def test_the_summary_says_what_was_asked() -> None:
    made = monitor()
    made.limit = replace(made.limit, asked=1.5)
    assert "1.5 asked" in made.summary()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: SensorRules(always="flow"), "SensorRules: always: .*list"),
        (lambda: SensorRules(cost={"flow": -1.0}), "SensorRules: cost.flow: .*greater than 0"),
        (lambda: WatchSettings(after="never"), "WatchSettings: after: "),
        (lambda: WatchSettings(nothing=1), "WatchSettings: nothing: Extra inputs"),
        (lambda: LargeMonitor.fit(NORMAL, 3, factors=1.5), "factors is 1.5; give a whole number"),
    ],
)
def test_settings_are_refused_like_everything_else(call: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        call()
    read = WatchSettings.model_validate_json('{"sensors": {"ranges": {"flow": [0, 1]}}}')
    assert read.sensors.ranges == {"flow": (0.0, 1.0)}
