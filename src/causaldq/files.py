"""Reading and writing files: atomically, and with hashes.

A file either has its final name and its whole content, or does not exist.
"""

import csv
import hashlib
import io
import json
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from causaldq.errors import DataError

if TYPE_CHECKING:
    import pandas as pd


SMALL_BYTES, LARGEST_RATIO = 64 << 20, 20
"""What an archive may unfold to: a small size, or so many times its own. Measured values, of which
policies mostly consist, hardly ever go below half."""
BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Ways to compress of which zipfile unfolds only as much as is asked for."""
HEADERS: dict[tuple[int, int], Callable[..., tuple[tuple[int, ...], bool, np.dtype[Any]]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
DAMAGE = (
    *(ArithmeticError, EOFError, LookupError, MemoryError, OSError, RuntimeError, TypeError),
    *(ValueError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What Python raises on damaged archives and arrays. zipfile takes damage to a directory for
features that it does not support, and numpy reads the header of an array as Python."""


def one_line(error: Exception) -> str:
    """What an error of a library says, short and on one line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())[:200] or type(error).__name__


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
        raise DataError(f"{path} does not exist; check the name, or make it first") from None
    except (OSError, ValueError, RecursionError) as error:
        reason = one_line(error)
        raise DataError(f"{path} is not valid JSON ({reason}); make it again") from None


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


def read_arrays(
    path: Path, *needed: str, remedy: str = "make it again"
) -> dict[str, npt.NDArray[Any]]:
    """Arrays of an .npz, refused if it is damaged or lacks any of those needed."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            # Ours are not compressed, so that nothing in them is longer than the file.
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise ValueError("it is compressed")
            if sum(entry.file_size for entry in entries) > path.stat().st_size:
                raise ValueError("it is shorter than what it says it holds")
            arrays = {
                entry.filename.removesuffix(".npy"): _array(archive.read(entry))
                for entry in entries
            }
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; check the name, or make it first") from None
    except DAMAGE as error:
        raise DataError(f"{path} is damaged ({one_line(error)}); {remedy}") from None
    for name in needed:
        if name not in arrays:
            raise DataError(f"{path} has no array {name!r}; {remedy}")
    return arrays


def _array(content: bytes) -> npt.NDArray[Any]:
    """An array in numpy's format, whose header is not believed: it may ask for any memory."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in HEADERS:
        raise ValueError(f"an array has version {version}")
    shape, columns_first, dtype = HEADERS[version](stream)
    start = stream.tell()
    if dtype.hasobject or not dtype.itemsize:
        raise ValueError(f"an array holds {dtype}")
    if math.prod(shape) * dtype.itemsize != len(content) - start:
        raise ValueError("an array is not as long as its header says")
    order: Literal["F", "C"] = "F" if columns_first else "C"
    return np.ndarray(shape, dtype, content, start, order=order).copy(order="K")


def by_name(paths: Iterable[Path]) -> dict[str, Path]:
    """Files by their name without its ending."""
    return {path.stem: path for path in paths}


def sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def csv_text(table: "pd.DataFrame") -> str:
    """A CSV with one spelling for each number."""
    return table.to_csv(index=False, float_format="%.10g", lineterminator="\n")


def write_csv(path: Path, table: "pd.DataFrame") -> None:
    write_text(path, csv_text(table))


def read_csv(path: Path, *needed: str) -> "pd.DataFrame":
    """A table of results, refused if it is damaged or lacks any of the columns needed."""
    import pandas as pd

    try:
        table = pd.read_csv(path, compression=None)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; check the name, or make it first") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is no table ({one_line(error)}); make it again") from None
    for name in needed:
        if name not in table:
            raise DataError(f"{path} has no column {name!r}; make it again")
    return table


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
