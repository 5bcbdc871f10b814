"""Reading and writing files: atomically, and with hashes.

A file either has its final name and its whole content, or does not exist.
"""

import csv
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from causaldq.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, then move it there.

    The temporary name is always the same, so that what a kill leaves behind is
    overwritten when the interrupted work is done again.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.temporary")
    temporary.unlink(missing_ok=True)
    try:
        write(temporary)
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    write_atomically(path, write)


def write_text(path: Path, content: str) -> None:
    write_bytes(path, content.encode())


def canonical_json(value: Any) -> str:
    """One spelling for each value, so that equal settings have equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, sort_keys=True, indent=1, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; run the rule that makes it") from None
    except ValueError as error:
        raise DataError(f"{path} is not valid JSON ({error}); delete it and run again") from None


def write_arrays(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays as an uncompressed .npz whose bytes depend on the arrays alone.

    numpy's own writer stamps the current time into the archive.
    """

    def write(temporary: Path) -> None:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(arrays):
                buffer = io.BytesIO()
                np.lib.format.write_array(
                    buffer, np.asarray(arrays[name], order="C"), allow_pickle=False
                )
                entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                archive.writestr(entry, buffer.getvalue())

    write_atomically(path, write)


def read_arrays(path: Path, *needed: str) -> dict[str, npt.NDArray[Any]]:
    """Arrays of an .npz, refused if it is damaged or lacks any of those needed."""
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
            }
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; run the rule that makes it") from None
    # zipfile reports damage to its directory as features that it does not support.
    except (ValueError, zipfile.BadZipFile, EOFError, OSError, RuntimeError, KeyError) as error:
        raise DataError(f"{path} is damaged ({error}); delete it and run again") from None
    for name in needed:
        if name not in arrays:
            raise DataError(f"{path} has no array {name!r}; delete it and run again")
    return arrays


def sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write_csv(path: Path, table: "pd.DataFrame") -> None:
    """A CSV with one spelling for each number."""
    write_text(path, table.to_csv(index=False, float_format="%.10g", lineterminator="\n"))


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """A CSV as `write_csv` writes it, for jobs too short to wait for pandas to be imported."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_spelt(row.get(name)) for name in columns] for row in rows)
    write_text(path, text.getvalue())


def _spelt(value: object) -> object:
    """A float in one spelling; nothing for what is not there or not a number."""
    if not isinstance(value, float | np.floating):
        return value
    return "" if np.isnan(value) else f"{value:.10g}"
