"""Plants' files as they come: all that is odd is found, and the rows that are sound are used."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mangled import (
    BAD,
    CLOCK,
    LOST,
    ODD,
    PLANT,
    SAME,
    STREAMS,
    Change,
    cells,
    dates,
    kinds,
    put,
    semicolons,
    settled,
)  # fmt: skip
from typer.testing import CliRunner

from causaldq import example_plant
from causaldq.__main__ import app
from causaldq.errors import DataError
from causaldq.live.rows import Clock, Row, RowReader, Skipped
from causaldq.spacing import rows_in
from causaldq.tables import content, inspection
from causaldq.tables import reader as table_reader
from causaldq.tables.inspection import inspect
from causaldq.tables.layout import laid_out
from causaldq.tables.rows import normal_rows
from causaldq.tables.settings import TableSettings


@pytest.mark.parametrize(("change", "expected"), [c[1:] for c in SAME], ids=[c[0] for c in SAME])
def test_what_can_be_told_is_told_and_the_rows_are_the_same(
    tmp_path: Path, change: Change, expected: list[tuple[str, str]]
) -> None:
    path = put(tmp_path, change(PLANT))
    found = inspect(path)
    clock = [] if any(kind == "clock" for kind, _ in expected) else [CLOCK]
    assert sorted(kinds(found)) == sorted([*expected, *clock])
    assert found.rows == 400
    fit = normal_rows(path, settled(found, tmp_path))
    assert fit.left_out == []
    assert list(fit.rows) == STREAMS
    np.testing.assert_array_equal(fit.rows, PLANT[STREAMS])
    if {kind for kind, _ in expected} & {
        "gzip",
        "parquet",
        "no name",
    } or b"\0" in path.read_bytes():
        return  # no lines of text, or of more cells than names: refused when watched
    watched = watched_rows(path.read_bytes().splitlines(keepends=True), settled(found, tmp_path))
    np.testing.assert_array_equal(watched, PLANT[STREAMS])


def watched_rows(lines: Iterable[bytes], form: TableSettings) -> list[list[float]]:
    """Values of the streams as `watch` reads them."""
    reader = RowReader(STREAMS, form=form)
    taken = [reader.take(line) for line in lines]
    return [
        [float(row.values[name] or "nan") for name in STREAMS]
        for row in taken
        if isinstance(row, Row)
    ]


@pytest.mark.parametrize(
    ("change", "expected", "lost"), [c[1:] for c in LOST], ids=[c[0] for c in LOST]
)
def test_rows_that_lack_a_value_are_counted_and_left_out(
    tmp_path: Path, change: Change, expected: list[tuple[str, str]], lost: list[int]
) -> None:
    path = put(tmp_path, change(PLANT))
    found = inspect(path)
    spiky = expected[0][0] == "spikes"
    assert sorted(kinds(found)) == sorted([*expected, ("gaps", "normal rows"), CLOCK])
    assert f"{len(lost)} of {found.rows} " in found.findings[-1].what
    fit = normal_rows(path, settled(found, tmp_path))
    rows, left_out = fit.rows, fit.left_out
    count = f"{len(lost)} of {found.rows} normal rows lack a value and are left out"
    spikes = [f"{len(lost)} spikes in normal rows are no values"] if spiky else []
    assert left_out == [*spikes, count]
    kept = np.delete(np.arange(found.rows), lost)
    assert rows.index.tolist() == kept.tolist()
    # A row that was put in is lost, and none of the others.
    source = kept if found.rows == 400 else slice(None)
    np.testing.assert_array_equal(rows, PLANT[STREAMS].iloc[source])
    if expected[0][0] not in ("spikes", "code"):
        with pytest.raises(DataError, match=r"plant\.csv, line \d+, column '\w+': "):
            normal_rows(path, TableSettings(time="minute"))


@pytest.mark.parametrize(("change", "expected"), [c[1:] for c in ODD], ids=[c[0] for c in ODD])
def test_what_is_odd_is_told_and_kept(
    tmp_path: Path, change: Change, expected: list[tuple[str, str]]
) -> None:
    path = put(tmp_path, change(PLANT))
    found = inspect(path)
    clock = [] if any(kind == "clock" for kind, _ in expected) else [CLOCK]
    assert sorted(kinds(found)) == sorted([*expected, *clock])
    fit = normal_rows(path, settled(found, tmp_path))
    rows, left_out = fit.rows, fit.left_out
    assert left_out == []
    assert len(rows) == found.rows
    assert rows.shape[1] >= 8


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d %H:%M",
        "%Y-%m-%dT%H:%M:%S+02:00",
        "%d.%m.%Y %H:%M",
        "%d/%m/%Y %H:%M:%S",
        "%m/%d/%Y %I:%M:%S %p",
        "%d-%b-%Y %H:%M",
    ],
)
def test_dates_are_the_time_and_evenly_spaced(tmp_path: Path, form: str) -> None:
    found = inspect(put(tmp_path, dates(form)(PLANT)))
    assert kinds(found) == [("dates", "column 'minute'")]
    assert found.settings is not None
    assert found.settings.time == "minute"


def test_a_date_that_is_missing_and_a_gap_are_told(tmp_path: Path) -> None:
    table = dates("%d.%m.%Y %H:%M")(PLANT)
    table.loc[5, "minute"] = "soon"
    table = table.drop(index=range(100, 106))
    found = {finding.kind: finding.what for finding in inspect(put(tmp_path, table)).findings}
    assert set(found) == {"dates", "no time", "uneven times"}
    assert found["no time"] == "cells that are no times: 1, the first 'soon'"
    # The step over the unread time, and the one over six rows that are not there.
    assert found["uneven times"] == "steps other than the usual 600: 2, first at line 8"


def test_texts_are_counted_by_word(tmp_path: Path) -> None:
    found = inspect(put(tmp_path, cells("steam_flow", BAD)(PLANT)))
    text = next(finding for finding in found.findings if finding.kind == "text")
    assert text.what == "text among numbers: 'Bad' (2), 'No Data' (1)"
    assert text.done == "no value"
    assert found.settings is not None
    assert found.settings.missing == ["Bad", "No Data"]


def test_a_text_that_the_settings_do_not_name_is_refused(tmp_path: Path) -> None:
    found = settled(inspect(put(tmp_path, cells("steam_flow", BAD)(PLANT))), tmp_path)
    path = put(tmp_path, cells("steam_flow", {**BAD, 80: "Offline"})(PLANT))
    with pytest.raises(DataError, match="line 82, column 'steam_flow': 'Offline' is no number"):
        normal_rows(path, found)


def test_only_rows_that_are_used_need_to_be_sound(tmp_path: Path) -> None:
    path = put(tmp_path, cells("steam_flow", {**BAD, 300: "Bad", 301: 1e9})(PLANT))
    found = inspect(path, normal="101:290")
    assert kinds(found) == [CLOCK]
    fit = normal_rows(path, TableSettings(time="minute", normal="101:290"))
    rows, left_out = fit.rows, fit.left_out
    assert left_out == []
    assert fit.times == [str(minute) for minute in range(100, 290)]
    np.testing.assert_array_equal(rows, PLANT[STREAMS][100:290])
    assert rows.index[0] == 100


def test_two_streams_are_the_least(tmp_path: Path) -> None:
    two = inspect(put(tmp_path, PLANT[STREAMS[:2]]))
    assert kinds(two) == []
    assert two.settings is not None
    assert two.settings.streams == STREAMS[:2]
    one = inspect(put(tmp_path, PLANT[["minute", STREAMS[0]]]))
    assert one.settings is None
    assert kinds(one) == [CLOCK, ("no streams", "file")]
    done = CliRunner().invoke(app, ["inspect", str(one.path), "--write", str(tmp_path / "s.toml")])
    assert done.exit_code == 1
    assert "fewer than two streams" in str(done.exception)
    assert not (tmp_path / "s.toml").exists()


def test_cells_without_a_value_in_parquet(tmp_path: Path) -> None:
    table = PLANT.astype({"feed_flow": "Float64", "steam_flow": object})
    table.loc[3, "feed_flow"] = pd.NA
    table.loc[9, "steam_flow"] = None
    path = tmp_path / "plant.parquet"
    table.to_parquet(path)
    found = inspect(path)
    assert [kind for kind, _ in kinds(found)] == ["parquet", "clock", "missing", "missing", "gaps"]
    rows = normal_rows(path, settled(found, tmp_path)).rows
    np.testing.assert_array_equal(rows, PLANT[STREAMS].drop(index=[3, 9]))


def test_a_column_that_only_rises_is_asked_about(tmp_path: Path) -> None:
    path = put(tmp_path, PLANT)
    with pytest.raises(DataError, match="column 'minute': goes one way only; is it a clock"):
        normal_rows(path, TableSettings())
    assert "minute" in normal_rows(path, TableSettings(streams=["minute", *STREAMS])).rows
    assert "minute" not in normal_rows(path, TableSettings(time="minute")).rows


def test_lines_are_watched_as_the_settings_say() -> None:
    form = TableSettings(separator=";", decimal=",", header=2, first=4, missing=["bad"])
    reader = RowReader(["a", "b", "a (2)"], form=form)
    assert [reader.take(line) for line in (b"Plant\n", b"a;b;a\n", b"kg;C;s\n")] == [None] * 3
    for line, values in ((b"1,5;;Bad\n", ["1.5", "", ""]), (b"2;3,25;4\n", ["2", "3.25", "4"])):
        row = reader.take(line)
        assert isinstance(row, Row)
        assert list(row.values.values()) == values
    again = RowReader(["a", "b", "a (2)"], form=form)
    again.restore(reader.snapshot())
    assert isinstance(again.take(b"2;3;4\n"), Row)
    for bad in (TableSettings(header=0), TableSettings(encoding="utf-16")):
        with pytest.raises(DataError, match="watch"):
            RowReader(["a"], form=bad)


def test_the_command_shows_writes_and_is_obeyed(tmp_path: Path) -> None:
    run = CliRunner().invoke
    table = example_plant().reset_index()
    lines = [row.split(";") for row in semicolons(table.assign(valve=7.1)).splitlines()]
    for row, word in BAD.items():
        lines[row + 1][3] = word
    path = put(tmp_path, "\n".join(["Plant [bold]4", *map(";".join, lines), ""]))
    chosen = tmp_path / "plant.toml"
    command = ["inspect", str(path), "--normal", "1:700", "--write", str(chosen)]
    done = run(app, command, env={"COLUMNS": "250"})
    assert done.exit_code == 0, done.output
    for word in ("title", "Plant [bold]4", "decimal comma", "constant", "'No Data' (1)"):
        assert word in done.stdout
    assert "900 rows, 10 columns, 8 streams; findings: 8" in done.stdout
    fit = ["fit", str(path), "--table", str(chosen), "--sensors", "3", "--arl0", "100"]
    done = run(app, [*fit, "--method", "greedy", "-o", str(tmp_path / "m")])
    assert done.exit_code == 0, done.output
    assert "fitted on 697 rows" in done.stdout
    assert "3 of 700 normal rows lack a value and are left out" in done.stdout
    watch = ["watch", str(tmp_path / "m"), str(path), "--table", str(chosen), "--json"]
    records = [json.loads(line) for line in run(app, watch).stdout.splitlines()]
    told = [record for record in records if record["kind"] == "reading"]
    assert [line["time"] for line in told[:3]] == ["0", "1", "2"]
    assert len(told) == 900
    assert {name for line in told for name in line["missing"]} <= {"steam_flow"}
    piped = run(app, [*watch[:2], "-", *watch[3:]], input=path.read_text())
    assert piped.stdout == run(app, watch).stdout
    again = run(app, command)
    assert again.exit_code == 1
    assert "exists already" in str(again.exception)


def test_machines_are_told_the_same(tmp_path: Path) -> None:
    path = put(tmp_path, cells("steam_flow", BAD)(PLANT))
    done = CliRunner().invoke(app, ["inspect", str(path), "--json"])
    told = json.loads(done.stdout)
    found = inspect(path)
    assert found.settings is not None
    assert [(f["kind"], f["where"]) for f in told["findings"]] == kinds(found)
    assert TableSettings.model_validate(told["settings"]) == found.settings


def test_excel_is_read_where_openpyxl_is(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Plant 4"])
    for row in [STREAMS, ["kg/h"] * 8, *PLANT[STREAMS].astype(object).to_numpy().tolist()]:
        book.active.append(row)
    book.active.cell(5, 2).value = "Bad"
    book.create_sheet("Notes")
    path = tmp_path / "plant.xlsx"
    book.save(path)
    found = inspect(path)
    assert sorted({kind for kind, _ in kinds(found)}) == [
        *("excel", "gaps", "missing", "sheets", "text", "title", "units"),
    ]
    rows = normal_rows(path, settled(found, tmp_path)).rows
    np.testing.assert_array_equal(rows, PLANT[STREAMS].drop(index=1))


def test_dates_are_watched_in_the_format_that_inspect_found(tmp_path: Path) -> None:
    table = PLANT.drop(columns="minute", errors="ignore")
    stamps = pd.date_range("2026-01-30", periods=len(table), freq="h").strftime("%d.%m.%Y %H:%M")
    table.insert(0, "stamp", stamps)
    path = tmp_path / "dates.csv"
    table.to_csv(path, index=False)
    form = settled(inspect(path), tmp_path)
    assert (form.time, form.time_format) == ("stamp", "%d.%m.%Y %H:%M")
    clock = Clock(3600.0, form=form.time_format)
    said = [clock.judge(stamp) for stamp in [*stamps[:60], stamps[59], stamps[3], stamps[62]]]
    assert said[:60] == [("", "")] * 60
    assert [reason for reason, _ in said[60:]] == ["doubled", "late", ""]
    assert said[-1][1] == "2 rows did not come"


def test_a_clock_with_decimal_commas_is_watched_and_gives_a_span(tmp_path: Path) -> None:
    days = [f"{45000 + row / 1440:.5f}".replace(".", ",") for row in range(400)]
    lines = [f"{day};{row % 7},5;{row % 5},25" for row, day in enumerate(days)]
    path = tmp_path / "excel.csv"
    path.write_text("\n".join(["day;flow;level", *lines]) + "\n")
    form = settled(inspect(path), tmp_path)
    assert (form.time, form.decimal) == ("day", ",")
    rows = normal_rows(path, form)
    assert rows_in("2 hours", "day", rows.times, rows.decimal) == pytest.approx(120.0, rel=0.02)
    reader = RowReader(["flow", "level"], time="day", clock=Clock(), form=form)
    found = [reader.take(f"{line}\n".encode()) for line in ["day;flow;level", *lines[:3], lines[1]]]
    assert [one.notes for one in found[1:4] if isinstance(one, Row)] == [()] * 3
    assert isinstance(found[4], Skipped)
    assert found[4].reason == "late"


def test_a_file_that_is_asked_about_nothing_is_made_numbers_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plant.csv"
    PLANT.to_csv(path, index=False)
    read, real = list[str](), table_reader.column

    def counted(name: str, *rest: Any) -> Any:
        read.append(name)
        return real(name, *rest)

    monkeypatch.setattr(table_reader, "column", counted)
    monkeypatch.setattr(inspection, "column", counted)
    inspect(path)
    assert sorted(read) == sorted(PLANT.columns)


def test_a_header_of_numbers_is_a_header(tmp_path: Path) -> None:
    table = PLANT[STREAMS][:60] + 0.5
    table.columns = pd.Index(range(101, 101 + len(STREAMS)))
    for name in (None, "minute", "7"):
        path = tmp_path / f"{name}.csv"
        table.to_csv(path, index=name is not None, index_label=name)
        streams = [str(column) for column in table.columns]
        found = normal_rows(path, TableSettings(time=name))
        assert list(found.rows) == streams
        np.testing.assert_array_equal(found.rows, table)
        assert [one.kind for one in found.findings] == ["numeric header"]
    whole = (1000 * table).round().astype(int)
    whole.to_csv(tmp_path / "whole.csv", index=False)
    found = normal_rows(tmp_path / "whole.csv", TableSettings())
    assert len(found.rows) == 61, "whole numbers above whole numbers may be a row"
    assert [one.kind for one in found.findings] == ["no header"]


def test_fit_says_what_it_guessed_and_counts_rows_as_the_file_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(10.0, 1.0, (700, 4))
    rows[500:, 1] += 6.0
    path = tmp_path / "bare.csv"
    pd.DataFrame(rows).to_csv(path, index=False, header=False)
    given = ["fit", str(path), "--sensors", "2", "--method", "greedy", "--arl0", "20"]
    given += ["--normal", "101:700", "-o", str(tmp_path / "m"), "--anyway"]
    done = CliRunner().invoke(app, given)
    assert "numbers where names are expected" in done.stderr
    assert int(done.stdout.split("from row ")[1].split()[0]) in range(495, 507), "501 of the file"
    with_table = tmp_path / "bare.toml"
    assert (
        CliRunner().invoke(app, ["inspect", str(path), "--write", str(with_table)]).exit_code == 0
    )
    assert not CliRunner().invoke(app, [*given, "--table", str(with_table)]).stderr


@pytest.mark.parametrize(("normal", "shared"), [("", 100), ("1:650", 50), ("1:600", 0)])
def test_rows_of_the_fit_are_not_called_held_out(tmp_path: Path, normal: str, shared: int) -> None:
    path = tmp_path / "plant.csv"
    example_plant().to_csv(path)
    fit = ["fit", str(path), "--sensors", "3", "--time", "minute", "--method", "greedy"]
    fit += ["-o", str(tmp_path / "plant.monitor"), "--arl0", "20", "--held-out", "601:700"]
    done = CliRunner().invoke(app, [*fit, *(["--normal", normal] if normal else [])])
    told = f"{done.exception} {done.output}"
    assert (f"{shared} of these rows are among the rows of the fit" in told) == bool(shared)
    assert ("100 rows held out" in told) != bool(shared)


def test_whole_numbers_are_names_unless_the_settings_say_that_there_are_none(
    tmp_path: Path,
) -> None:
    records: list[list[object]] = [["1", "2", "3"], ["0.5", "1.5", "2.5"]]
    named = laid_out(tmp_path, records, [1, 2], ".")
    assert (named.names, len(named.lines)) == (["1", "2", "3"], 1)
    bare = laid_out(tmp_path, records, [1, 2], ".", header=0, first=1)
    assert len(bare.lines) == 2
    assert [finding.kind for finding in bare.findings] == ["no header"]


def test_a_table_is_printed_unless_json_is_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path, PLANT)
    done = CliRunner().invoke(app, ["inspect", str(path)])
    assert done.stdout.splitlines()[-1].endswith("findings: 1")
    assert "{" not in done.stdout


@pytest.mark.parametrize(("rows", "stuck"), [(19, False), (20, True)])
def test_a_sensor_is_stuck_from_twenty_rows_on(tmp_path: Path, rows: int, stuck: bool) -> None:
    table = PLANT.copy()
    table.loc[table.index[100 : 100 + rows], "feed_flow"] = 12.0
    found = kinds(inspect(put(tmp_path, table)))
    assert (("stuck", "column 'feed_flow'") in found) == stuck


def test_as_many_values_as_may_be_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plant.parquet"
    PLANT.to_parquet(path, index=False)
    monkeypatch.setattr(content, "MOST_CELLS", PLANT.size)
    assert inspect(path).rows == len(PLANT)
    monkeypatch.setattr(content, "MOST_CELLS", PLANT.size - 1)
    with pytest.raises(DataError, match="more than"):
        inspect(path)
