"""Files are whole or absent, repeatable, and say so when they are damaged."""

import io
import json
import os
import pickle
import stat
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
from causaldq.shifts import InjectedSet
from causaldq.streams.model import StreamModel

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
