"""Files and settings that cannot be used: one line that helps, and nothing left behind."""

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mangled import TEXT, put, settled
from typer.testing import CliRunner

from causaldq.__main__ import app
from causaldq.errors import CausalDQError, ConfigError, DataError
from causaldq.tables import content, layout
from causaldq.tables.inspection import inspect
from causaldq.tables.rows import normal_rows
from causaldq.tables.settings import TableSettings, as_toml, read_settings


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (b"", "is empty"),
        (b"\n \n\n", "holds empty lines only"),
        (b"a,b\n", "has a header and no rows"),
        (b"\x00\x01\x02\x03" * 500, "line 1: a byte 0x00, so this is no text"),
        (b"\x7fELF\x02\x01\xff" * 50, "so this is no text"),
        (b"PK\x03\x04 and so on", "is a damaged zip archive"),
        (b"PAR1 rubbish PAR1", "is no whole Parquet file"),
        (b"\x1f\x8b rubbish", "is a damaged gzip file"),
        (gzip.compress(TEXT.encode(), mtime=0)[:-30], "is a gzip file that was cut off"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"%PDF-1.4", "is a PDF"),
        (b"\xd0\xcf\x11\xe0 and so on", "an old Excel"),
        (b"a,b\n" + b"1," * (1 << 20), "line 2: 2097152 characters"),
        (b"a,b\n" + b"1" * 200_000 + b",2\n", "line 2: field larger than field limit"),
        (b'a,b\n"1,2\n3,4\n', "line 2: unexpected end of data; check the quotation marks"),
        (b"\xff\xfea", "no utf-16 text"),
    ],
)
def test_what_is_no_table_is_one_line(tmp_path: Path, made: bytes, words: str) -> None:
    path = put(tmp_path, made)
    done = CliRunner().invoke(app, ["inspect", str(path), "--write", str(tmp_path / "s.toml")])
    assert done.exit_code == 1
    (line,) = str(done.exception).splitlines()
    assert line.startswith(f"DataError: {path}")
    assert words in line
    assert list(tmp_path.iterdir()) == [path]


def test_what_unfolds_beyond_all_memory_is_refused_before_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert content.MOST_BYTES == 512 << 20
    bomb = gzip.compress(b"\0" * 50_000_000, mtime=0)
    assert len(bomb) < 1 << 16
    monkeypatch.setattr(content, "MOST_BYTES", 1 << 20)
    with pytest.raises(DataError, match="unfolds to more than 1 MiB"):
        inspect(put(tmp_path, bomb))
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"\0" * 5_000_000)
    with pytest.raises(DataError, match="unfolds to more than 1 MiB"):
        inspect(put(tmp_path, book.getvalue()))
    with (tmp_path / "huge.csv").open("wb") as huge:
        huge.truncate((1 << 20) + 1)
    with pytest.raises(DataError, match="is larger than 1 MiB"):
        inspect(tmp_path / "huge.csv")
    with pytest.raises(DataError, match="is larger than 1 MiB"):
        inspect(put(tmp_path, b"1,2\n" * 300_000))


def test_a_zip_archive_and_a_damaged_workbook(tmp_path: Path) -> None:
    for name, words in (("plant.csv", "is a zip archive; unpack it"), ("xl/workbook.xml", "workb")):
        book = io.BytesIO()
        with zipfile.ZipFile(book, "w") as archive:
            archive.writestr(name, TEXT)
        with pytest.raises(DataError, match=words):
            inspect(put(tmp_path, book.getvalue()))


T = TypeVar("T")


def outcome(do: Callable[[], T]) -> T | str:
    """What is done, or the line that refuses it; anything else is a failure."""
    try:
        return do()
    except CausalDQError as error:
        return str(error)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    made=st.one_of(
        st.binary(max_size=400),
        st.text(max_size=300).map(str.encode),
        st.text(alphabet='0123456789.,;\t|"\n eE-abN/:', max_size=300).map(str.encode),
        st.binary(max_size=60).map(lambda made: gzip.compress(made, mtime=0)),
        st.binary(max_size=60).map(lambda made: b"PAR1" + made),
        st.binary(max_size=60).map(lambda made: b"PK\x03\x04" + made),
    )
)  # fmt: skip
def test_random_bytes_are_a_table_or_one_line(tmp_path: Path, made: bytes) -> None:
    path = put(tmp_path, made)
    found = outcome(lambda: inspect(path))
    if isinstance(found, str):
        assert len(found.splitlines()) == 1
        assert found.startswith(str(path))
        return
    for finding in found.findings:
        assert len(f"{finding.where}{finding.what}{finding.done}".splitlines()) == 1
    if found.settings is not None:
        chosen = settled(found, tmp_path)
        rows = normal_rows(path, chosen).rows
        assert np.isfinite(rows.to_numpy(float)).all()
        assert list(rows) == chosen.streams


@settings(max_examples=200)
@given(
    names=st.lists(st.text(st.characters(codec="utf-8"), max_size=9), min_size=1, unique=True),
    words=st.lists(st.text(st.characters(codec="utf-8"), max_size=9), unique=True),
    separator=st.sampled_from([",", ";", "\t", "|", " "]),
    spikes=st.one_of(st.none(), st.floats(0.1, 1e6)),
)
def test_settings_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory,
    names: list[str],
    words: list[str],
    separator: Any,
    spikes: float | None,
) -> None:
    made = TableSettings(streams=names, missing=words, separator=separator, spikes=spikes)
    path = tmp_path_factory.getbasetemp() / "settings.toml"
    path.write_bytes(as_toml(made, []).encode())
    assert read_settings(path) == made


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("stream = ['a']", "stream: extra inputs"),
        ("header = 'one'", "header"),
        ("normal = '7'", "normal"),
        ("streams = ['a', 'a']", "names a value twice"),
        ("encoding = 'rot13'", "encoding"),
        ("streams = [", "is no TOML"),
        ("\udcff", "is no TOML"),
    ],
)
def test_wrong_settings_are_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigError, match=words) as caught:
        read_settings(path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_long_line_is_not_split(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(layout, "LONGEST_LINE", 100)
    with pytest.raises(DataError, match="line 3: 101 characters"):
        inspect(put(tmp_path, "a,b\n1,2\n" + "x" * 101 + "\n"))
    assert inspect(put(tmp_path, "a,b\n1,2\n" + "x" * 98 + ",1\n")).rows == 2
