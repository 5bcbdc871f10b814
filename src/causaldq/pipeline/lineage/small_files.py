"""What is small enough for git: runs, limits, graphs and facts, byte for byte in one Parquet file.

A clone that has no artifacts can so compute every number again from its runs. What is large, such
as networks and injected sets, is known there by its hash alone.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.errors import DataError
from causaldq.files import one_line, write_atomically

if TYPE_CHECKING:
    import pyarrow.parquet as pq

PLACE = "results/{profile}/small_files.parquet"
COLUMNS = ["file", "content"]
LARGEST_BYTES = 1 << 30
"""What such a file may unfold to; that of the paper's profile holds 25 MB."""


def write_small_files(output: Path, files: Iterable[Path], level: int = 1) -> None:
    """Keep files, named as they are given, in the order of their names."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = sorted(path.as_posix() for path in files)
    content = [Path(name).read_bytes() for name in names]
    columns = [pa.array(names, pa.string()), pa.array(content, pa.binary())]
    table = pa.table(columns, names=COLUMNS)

    def write(temporary: Path) -> None:
        # One page, so that what files have in common is kept once.
        pages = {"data_page_size": LARGEST_BYTES, "use_dictionary": False}
        pq.write_table(table, temporary, compression="zstd", compression_level=level, **pages)

    write_atomically(output, write)


class SmallFiles:
    """The small files of a profile, as far as its results have them."""

    def __init__(self, root: Path, profile: str) -> None:
        self.place = root / PLACE.format(profile=profile)

    @cached_property
    def contents(self) -> dict[str, bytes]:
        """By name; nothing if there is no such file or it is damaged, of which `verify` tells."""
        try:
            return read_small_files(self.place)
        except DataError:
            return {}

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return {name: hashlib.sha256(text).hexdigest() for name, text in self.contents.items()}

    def hash(self, name: str) -> str | None:
        return self._hashes.get(name)


def read_small_files(path: Path) -> dict[str, bytes]:
    """Contents by name."""
    # Jobs write records without it, and hundreds of them need not load it.
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            found = _unfolded(file)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; run the rule that makes it") from None
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"{path} is damaged ({one_line(error)}); delete it and run again") from None
    return found


def _unfolded(file: "pq.ParquetFile") -> dict[str, bytes]:
    """Contents by name, row by row: what a file says of its size need not be true."""
    groups = range(file.metadata.num_row_groups)
    size = sum(file.metadata.row_group(group).total_byte_size for group in groups)
    if size > LARGEST_BYTES or file.schema_arrow.names != COLUMNS:
        raise ValueError("it is not one of ours")
    found: dict[str, bytes] = {}
    left = LARGEST_BYTES
    for batch in file.iter_batches(batch_size=1):
        for name, content in zip(*batch.to_pydict().values(), strict=True):
            if not (isinstance(name, str) and isinstance(content, bytes)):
                raise ValueError("it is not one of ours")
            left -= len(name) + len(content)
            if left < 0:
                raise ValueError("it unfolds to too much")
            found[name] = content
    return found


@contextmanager
def laid_out(root: Path, small: SmallFiles, names: Iterable[str]) -> Iterator[Path]:
    """A folder in which files lie at their places: the project's own, if it has them all."""
    absent = [name for name in names if not (root / name).is_file()]
    if not absent:
        yield root
        return
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            place = Path(folder) / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if name not in absent:
                shutil.copyfile(root / name, place)
            elif name in small.contents:
                place.write_bytes(small.contents[name])
        yield Path(folder)
