"""Tools of a forger: change files of a run, and make records, manifest and hashes fit."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from clones import edit_record, edit_records, records

from causaldq.errors import DataError
from causaldq.files import sha256, write_json
from causaldq.pipeline.lineage.manifest import write_manifest
from causaldq.pipeline.lineage.provenance import provenance
from causaldq.pipeline.lineage.record_files import fold, packed_text, unfolded
from causaldq.pipeline.lineage.records import RecordStore

Said = dict[str, Any]
RECORDS = "results/ci/records"
PROVENANCE = "results/ci/provenance.json"


def linked_copy(folder: Path, to: Path) -> Path:
    """A copy that shares what no attack changes in place: all but results and artifacts."""
    made = ("results/ci", "artifacts/ci")
    subprocess.run(["cp", "-al", folder, to], check=True)
    shutil.rmtree(to / ".git/logs", ignore_errors=True)
    for name in made:
        shutil.rmtree(to / name)
        subprocess.run(["cp", "-a", folder / name, to / name], check=True)
    return to


def put(path: Path, content: bytes | str) -> None:
    """Write a file of its own: other copies may share the one that is there."""
    path.unlink(missing_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def flip(root: Path, name: str) -> None:
    """One bit in the middle of a file, whose time stamp stays."""
    path = root / name
    stamp, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    put(path, bytes(content))
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def swap(root: Path, one: str, other: str) -> None:
    contents = [(root / name).read_bytes() for name in (one, other)]
    put(root / one, contents[1])
    put(root / other, contents[0])


def edit(root: Path, name: str, old: str, new: str) -> None:
    text = (root / name).read_text()
    assert old in text, f"{old!r} is not in {name}"
    put(root / name, text.replace(old, new, 1))


def drop_record(root: Path, job: str) -> None:
    rule = job.partition("/")[0]
    kept = [said for name, said in records(root).items() if name != job]
    of_rule = [said for said in kept if said["rule"] == rule]
    place = root / RECORDS / f"{rule}.jsonl.xz"
    fold(place, packed_text(of_rule)) if of_rule else place.unlink()


def add_record(root: Path, said: Said) -> None:
    """A record as a job leaves it, beside those that are packed."""
    write_json(root / RECORDS / f"{said['job']}.json", said)


def change(job: str, **said: Any) -> Callable[[Path], None]:
    """Let a record say something else; a dictionary changes parts of what is there."""

    def harm(root: Path) -> None:
        def update(record: Said) -> None:
            for key, value in said.items():
                record[key] = {**record[key], **value} if isinstance(value, dict) else value

        edit_record(root, job, update)

    return harm


def forge(root: Path, names: Iterable[str] = ()) -> None:
    """Make all records fit files as they are now, then the provenance, then the manifest.

    Where a record is gone there is no provenance to be had, and that of before stays.
    """
    _fit(root, names)
    store = RecordStore(root, "ci")
    made = store.makers.get(PROVENANCE)
    with suppress(DataError):
        if made is not None:
            write_json(root / PROVENANCE, provenance(store, made.inputs))
            _fit(root, [PROVENANCE])
    write_manifest(root, "ci")


def _fit(root: Path, names: Iterable[str]) -> None:
    known = {name: (sha256(root / name), (root / name).stat().st_size) for name in names}

    def fit(record: Said) -> None:
        for side in ("inputs", "outputs"):
            for name in known.keys() & record[side].keys():
                digest, size = known[name]
                record[side][name] = {"sha256": digest, "size": size}

    edit_records(root, fit)


def then_forged(harm: Callable[[Path], object], *names: str) -> Callable[[Path], None]:
    """Some harm, and records, provenance and manifest made to fit it."""

    def both(root: Path) -> None:
        harm(root)
        forge(root, names)

    return both


def edit_line(root: Path, rule: str, change: Callable[[str], str]) -> None:
    """Change the last line of the records of a rule, as text."""
    place = root / RECORDS / f"{rule}.jsonl.xz"
    *lines, last = unfolded(place).splitlines()
    fold(place, "\n".join([*lines, change(last)]) + "\n")


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def packed_line(said: Said) -> str:
    return json.dumps({"whole": said})
