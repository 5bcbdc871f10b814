"""Files are whole or absent, repeatable, and say so when they are damaged."""

import gzip
import io
import json
import os
import pickle
import stat
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causaldq.errors import DataError
from causaldq.files import (
    canonical_json,
    read_arrays,
    read_csv,
    read_json,
    sha256,
    sha256_of_text,
    write_arrays,
    write_atomically,
    write_bytes,
    write_csv,
    write_json,
    write_text,
)
from causaldq.models.streams import StreamModel
from causaldq.worlds.shifts import InjectedSet

ARRAYS = {
    "values": np.linspace(0, 1, 12).reshape(3, 4),
    "count": np.array(7),
    "mask": np.array([True, False]),
    "names": np.array(["a", "bc"]),
}


# --- atomic ----------------------------------------------------------------------------


@pytest.mark.parametrize("existing", [None, b"old"])
def test_a_failed_write_leaves_no_trace(tmp_path: Path, existing: bytes | None) -> None:
    path = tmp_path / "result.bin"
    if existing is not None:
        path.write_bytes(existing)

    def fail(temporary: Path) -> None:
        temporary.write_bytes(b"half of the")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, fail)
    assert sorted(tmp_path.iterdir()) == ([] if existing is None else [path])
    assert existing is None or path.read_bytes() == existing


def test_a_kill_before_the_last_step_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "result.txt"
    write_text(path, "old")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("causaldq.files.os.fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "result.bin"

    def write(temporary: Path) -> None:
        assert temporary.parent == path.parent
        temporary.write_bytes(b"1")
        assert not path.exists()

    write_atomically(path, write)
    assert path.read_bytes() == b"1"
    assert list(path.parent.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_what_a_kill_left_behind_is_gone_after_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "result.bin"
    seen: list[Path] = []

    def killed(temporary: Path) -> None:
        seen.append(temporary)
        temporary.write_bytes(b"half of the")

    write_atomically(path, killed)
    # what SIGKILL in the middle of the write would have left
    seen[0].write_bytes(b"half of the")
    write_text(path, "new")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "new"


# --- repeatable ------------------------------------------------------------------------


def test_equal_arrays_have_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_arrays(tmp_path / "one.npz", ARRAYS)
    # at another time, in another order, from another layout in memory
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))
    turned = dict(reversed(ARRAYS.items()))
    turned["values"] = np.asfortranarray(turned["values"])
    write_arrays(tmp_path / "two.npz", turned)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert sha256(tmp_path / "one.npz") == sha256(tmp_path / "two.npz")


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    write_arrays(path, ARRAYS)
    for found in (read_arrays(path), dict(np.load(path))):
        assert found.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            assert found[name].dtype == array.dtype
            assert np.array_equal(found[name], array)


def test_objects_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"[Oo]bject"):
        write_arrays(tmp_path / "some.npz", {"a": np.array([{}, None], dtype=object)})
    assert not list(tmp_path.iterdir())


def test_known_hashes(tmp_path: Path) -> None:
    """FIPS 180-2, appendix B.1."""
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert sha256_of_text("abc") == abc
    write_bytes(tmp_path / "abc", b"abc")
    assert sha256(tmp_path / "abc") == abc


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(value=st.dictionaries(st.text(), json_values, max_size=4))
def test_equal_values_have_equal_text(value: dict[str, Any]) -> None:
    turned = dict(reversed(value.items()))
    assert canonical_json(turned) == canonical_json(value)
    assert json.loads(canonical_json(value)) == value


def test_json_survives_and_has_no_nan(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    write_json(path, {"b": [1, 2.5, None], "a": "é"})
    assert read_json(path) == {"a": "é", "b": [1, 2.5, None]}
    kept = path.read_bytes()
    with pytest.raises(ValueError, match=r"[Oo]ut of range"):
        write_json(path, {"a": float("nan")})
    assert path.read_bytes() == kept


def test_numbers_of_a_table_have_one_spelling(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    write_csv(path, pd.DataFrame({"a": [0.1 + 0.2, 1e-12], "b": [1, 2]}))
    assert path.read_bytes() == b"a,b\n0.3,1\n1e-12,2\n"


# --- damaged ---------------------------------------------------------------------------


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for read, name in ((read_arrays, "no.npz"), (read_json, "no.json")):
        with pytest.raises(DataError, match=rf"{name} does not exist"):
            read(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"{", b'{"a": 1', b"\xff\xfe", b"{}{}", b"nothing"])
def test_damaged_json_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "some.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"some\.json"):
        read_json(path)


def test_a_truncated_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    write_arrays(path, ARRAYS)
    content = path.read_bytes()
    for kept in range(0, len(content), 7):
        path.write_bytes(content[:kept])
        with pytest.raises(DataError, match=r"some\.npz"):
            read_arrays(path)


def test_a_flipped_bit_is_named_or_harmless(tmp_path: Path) -> None:
    """Every byte in turn, with its lowest and highest bit: no other error, no other content."""
    path = tmp_path / "some.npz"
    arrays = {"a": np.arange(3.0)}
    write_arrays(path, arrays)
    content = path.read_bytes()
    surprises: dict[str, list[int]] = {}
    for place in range(len(content)):
        for bit in (1, 128):
            harmed = bytearray(content)
            harmed[place] ^= bit
            path.write_bytes(bytes(harmed))
            try:
                found = read_arrays(path)
            except Exception as error:
                if not (isinstance(error, DataError) and "some.npz" in str(error)):
                    surprises.setdefault(repr(error), []).append(place)
            else:
                if found.keys() != arrays.keys() or not np.array_equal(found["a"], arrays["a"]):
                    surprises.setdefault(f"read {found}", []).append(place)
    assert not surprises


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    single = io.BytesIO()
    np.save(single, np.arange(3))
    for content in (b"text", single.getvalue(), pickle.dumps([1])):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"some\.npz"):
            read_arrays(path)


def npy(header: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    """An array's file as its header says, whatever that is."""
    text = header.encode("latin-1")
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + data


def header(shape: str = "(3,)", descr: str = "'<f8'", order: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}"


THREE = np.arange(3.0).tobytes()
BAD_ARRAYS = {
    "more than is there": npy(header("(10,)"), THREE),
    "more than any machine has": npy(header("(10000000000000,)"), THREE),
    "more than can be counted": npy(header("(4294967296, 4294967296, 4294967296)"), THREE),
    "nothing of more than can be counted": npy(header("(0, 99999999999999999999999)")),
    "less than is there": npy(header("(2,)"), THREE),
    "less than nothing": npy(header("(-3,)"), THREE),
    "text for a shape": npy(header("'3'"), THREE),
    "text in a shape": npy(header("('3',)"), THREE),
    "objects": npy(header(descr="'|O'"), THREE),
    "objects within": npy(header(descr="[('a', '|O')]"), THREE),
    "no type": npy(header(descr="'nothing'"), THREE),
    "a type of no size": npy(header(descr="'|V0'"), THREE),
    "a call for a type": npy(header(descr="print()"), THREE),
    "no dictionary": npy("[1, 2]", THREE),
    "other keys": npy("{'a': 1}", THREE),
    "cut off": npy("{'descr': '<f8', 'shape': (3,", THREE),
    "cut off in a text": npy("{'descr': '''", THREE),
    "indented": npy("  1\n 2\n", THREE),
    "nested": npy("(" * 9000, THREE),
    "deep": npy("-" * 9000 + "1", THREE),
    "long": npy(header() + " " * 60_000, THREE),
    "a zero byte": npy("\0", THREE),
    "another version": npy(header(), THREE, b"\x09\x00"),
    "no magic": b"NUMPY",
    "nothing": b"",
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_a_bad_array_in_a_sound_archive_is_named(tmp_path: Path, case: str) -> None:
    path = tmp_path / "some.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", BAD_ARRAYS[case])
    with pytest.raises(DataError, match=r"some\.npz is damaged \(.*\); make it again") as caught:
        read_arrays(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_that_numpy_wrote_are_read(tmp_path: Path, order: Any) -> None:
    wanted = {
        "a": np.arange(12.0).reshape(3, 4, order=order),
        "b": np.array(["x", "yz"]),
        "c": np.empty((0, 4)),
        "d": np.array([1, 2], dtype=">i2"),
    }
    np.savez(tmp_path / "some.npz", **wanted)
    found = read_arrays(tmp_path / "some.npz")
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
        assert found[name].flags.writeable


def test_an_archive_that_unfolds_is_refused_before_it_does(tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    start = npy(header(f"({100 << 20},)", "'|u1'"))
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w") as entry,
    ):
        entry.write(start)
        for _ in range(100):
            entry.write(bytes(1 << 20))
    content = path.read_bytes()
    assert len(content) < 1 << 20
    # What it says of its sizes may be false as well.
    told = (100 << 20) + len(start)
    false = content.replace(told.to_bytes(4, "little"), (200).to_bytes(4, "little"))
    assert false != content
    for bad in (content, false):
        path.write_bytes(bad)
        tracemalloc.start()
        with pytest.raises(DataError, match=r"some\.npz is damaged \(.*\); make it again"):
            read_arrays(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10 << 20


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    for read in (read_arrays, read_json, read_csv):
        with pytest.raises(DataError, match=rf"{tmp_path.name} .*Is a directory"):
            read(tmp_path)
        with pytest.raises(DataError, match="Not a directory"):
            read(Path(__file__) / "some.json")


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "1" * 10_000])
def test_json_that_is_too_deep_or_too_long_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "some.json").write_text(content)
    with pytest.raises(DataError, match=r"some\.json is not valid JSON"):
        read_json(tmp_path / "some.json")


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b'"a\n', b"a\n1,2\n1,2,3\n", gzip.compress(b"a\n1\n", mtime=0)]
)
def test_a_table_that_is_none_is_named(tmp_path: Path, content: bytes) -> None:
    for name in ("some.csv", "some.csv.gz"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=rf"{name} is no table \(.*\); make it again") as caught:
            read_csv(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_a_table_without_a_column_that_is_needed_is_named(tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text("a,b\n1,2\n")
    assert read_csv(tmp_path / "some.csv", "b")["b"].tolist() == [2]
    with pytest.raises(DataError, match=r"some\.csv has no column 'c'; make it again"):
        read_csv(tmp_path / "some.csv", "b", "c")


class Trap:
    """Executed by an unpickler, it leaves a folder behind."""

    def __init__(self, trace: str) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.trace,)


def test_a_pickle_in_an_archive_is_not_executed(tmp_path: Path) -> None:
    path, trace = tmp_path / "some.npz", tmp_path / "executed"
    np.savez(path, a=np.array([Trap(str(trace)), None], dtype=object))
    with pytest.raises(DataError, match=r"some\.npz"):
        read_arrays(path)
    assert not trace.exists()


@pytest.mark.parametrize("kind", [StreamModel, InjectedSet])
def test_an_archive_of_something_else_is_named(
    tmp_path: Path, kind: type[StreamModel] | type[InjectedSet]
) -> None:
    path = tmp_path / "some.npz"
    write_arrays(path, ARRAYS)
    with pytest.raises(DataError, match=r"some\.npz"):
        kind.load(path)
