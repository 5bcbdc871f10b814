"""One hash over what was done to get the tidy results, printed on the PDF and every page.

It covers, for each job behind them, what it ran, with which settings and code, what it read and
what it made; and nothing that differs from run to run, such as times and hosts. So it is the
same wherever the same work is done, and the records of a run give it anew.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from causaldq.errors import DataError
from causaldq.files import canonical_json, read_json, sha256_of_text, write_json
from causaldq.pipeline.lineage.records import Record, RecordStore, profile_of

PROVENANCE = "provenance"
"""The rule that writes it."""


def run_provenance(tidy: list[Path], output: Path) -> None:
    """Write the hash of every job behind tidy results, and the one over them all."""
    store = RecordStore(Path(), str(profile_of(output)))
    write_json(output, provenance(store, [path.as_posix() for path in tidy]))


def provenance(store: RecordStore, files: Iterable[str]) -> dict[str, Any]:
    """What was done to get some files, by job."""
    names = list(files)
    records = store.behind(names)
    for name in (*names, *(name for record in records for name in record.inputs)):
        if name not in store.makers and name.startswith(("results/", "artifacts/")):
            raise DataError(f"{name} has no successful record; delete it and run again")
    jobs = {record.job: _digest(record) for record in records}
    return {"version": 1, "hash": hash_over(jobs), "jobs": jobs}


def tells_of_now(store: RecordStore, record: Record, name: str) -> bool:
    """Whether a file that this module has written is what the records give now."""
    path = store.root / name
    try:
        return not path.is_file() or read_json(path) == provenance(store, record.inputs)
    except DataError:
        return False


def hash_over(digests: dict[str, str]) -> str:
    """One hash over named ones, whatever their order."""
    return sha256_of_text(canonical_json(sorted(digests.items())))


def _digest(record: Record) -> str:
    done = {
        "command": record.words,
        "settings": record.settings,
        "code": record.code.hash,
        "inputs": {name: known.sha256 for name, known in record.inputs.items()},
        "outputs": {name: known.sha256 for name, known in record.outputs.items()},
    }
    return sha256_of_text(canonical_json(done))
