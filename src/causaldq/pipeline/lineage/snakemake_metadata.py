"""What Snakemake remembers of finished jobs, kept in step with the records.

Snakemake decides what to run again from notes in .snakemake/metadata, one for each file. It
takes a file without a note for a good one, and believes a note whatever has become of the
file. After `dvc pull`, `git checkout` or a copy, files and notes may not belong together, and
old results would be served for new settings. So, before Snakemake looks:

- a file that is what its record says gets the note of the job that made it;
- a file that is not, or has no record, gets a note that makes Snakemake make it again.

Records carry what is needed for that, so .snakemake may be lost at any time.
"""

import json
import re
from base64 import urlsafe_b64encode
from datetime import datetime
from pathlib import Path
from typing import Any

from causaldq.files import sha256_of_text, write_text
from causaldq.pipeline.lineage.provenance import PROVENANCE, tells_of_now
from causaldq.pipeline.lineage.records import Record, RecordStore, same_command, write_record

KEPT = ("rule", "code", "params", "input", "log", "software_stack_hash", "record_format_version")
"""Parts of a note that a record does not hold in its own words."""

NAME_LIMIT = 254
"""Longest name of a note's file; longer ones become folders, as Snakemake does it."""


class SnakemakeMetadata:
    """Snakemake's notes in one working folder."""

    def __init__(self, root: Path, version: int) -> None:
        self.folder = root / ".snakemake" / "metadata"
        self.version = version
        """Format of the notes; others are not understood, and not restored."""

    def place(self, name: str) -> Path:
        text = urlsafe_b64encode(name.encode()).decode()
        parts = [text[i : i + NAME_LIMIT] for i in range(0, len(text), NAME_LIMIT)]
        return self.folder.joinpath(*(f"@{part}" for part in parts[:-1]), parts[-1])

    def read(self, name: str) -> dict[str, Any] | None:
        try:
            note = json.loads(self.place(name).read_text())
        except (OSError, ValueError):
            return None
        return note if isinstance(note, dict) else None

    def write(self, name: str, note: dict[str, Any]) -> None:
        # Snakemake takes notes without this folder for those of an old version of itself.
        self.folder.with_name("incomplete").mkdir(parents=True, exist_ok=True)
        write_text(self.place(name), json.dumps(note))

    def fits(self, name: str, record: Record) -> bool:
        """Whether the note of a file tells of the same job as the record."""
        note = self.read(name)
        if note is None or note.get("record_format_version") != self.version:
            return False
        hashes = re.findall(r"'([0-9a-f]{64})'", " ".join(note.get("params") or []))
        checksums = note.get("input_checksums") or {}
        return (
            same_command(note.get("shellcmd") or "", record.command)
            and (not hashes or record.code.hash in hashes)
            and all(
                checksum.removeprefix("sha256:") == record.inputs[path].sha256
                for path, checksum in checksums.items()
                if path in record.inputs
            )
        )

    def note_of(self, record: Record) -> dict[str, Any] | None:
        """The note that Snakemake wrote for a job, from its record."""
        kept = record.snakemake
        if kept is None or kept.get("record_format_version") != self.version:
            return None
        return {
            **kept,
            "shellcmd": record.command,
            "starttime": datetime.fromisoformat(record.started).timestamp(),
            "endtime": datetime.fromisoformat(record.ended).timestamp(),
            # Snakemake's report tells jobs apart by it.
            "job_hash": int(sha256_of_text(record.job)[:12], 16),
            "incomplete": False,
            "input_checksums": {
                path: f"sha256:{record.inputs[path].sha256}"
                for path in kept["input"]
                if path in record.inputs
            },
        }

    def distrust(self, name: str, reason: str) -> None:
        """Make Snakemake make a file again, and say why."""
        self.write(
            name,
            {"record_format_version": self.version, "params": [reason], "incomplete": False},
        )


def reconcile(store: RecordStore, metadata: SnakemakeMetadata) -> dict[str, str]:
    """Bring Snakemake's notes in step with the records; files to be made again, with reasons."""
    doubts: dict[str, str] = {}
    for record in store.records:
        present = [name for name in record.outputs if store.makers.get(name) is record]
        present = [name for name in present if store.hash(name) is not None]
        reason = store.doubt(record)
        if reason is None:
            reason = _settle(store, metadata, record, present)
        if reason is not None:
            doubts |= dict.fromkeys(present, reason)
    doubts |= {
        name: "what was done before is not what it tells of"
        for name, record in store.makers.items()
        if record.rule == PROVENANCE and not tells_of_now(store, record, name)
    }
    unknown = set(store.products()) - set(store.makers)
    doubts |= dict.fromkeys(sorted(unknown), "no record says how it was made")
    for name, reason in doubts.items():
        metadata.distrust(name, reason)
    return doubts


def _settle(
    store: RecordStore, metadata: SnakemakeMetadata, record: Record, present: list[str]
) -> str | None:
    """Keep what Snakemake knows of a good job, or tell it again; why neither can be done."""
    # A job may also write files that its rule does not declare; Snakemake has no notes of them.
    noted = [name for name in present if metadata.read(name)]
    if noted and all(metadata.fits(name, record) for name in noted):
        note = metadata.read(noted[0]) or {}
        for name in set(present) - set(noted):
            metadata.write(name, note)
        kept = {key: note.get(key) for key in KEPT}
        if kept != record.snakemake:
            write_record(store.root, store.profile, record.model_copy(update={"snakemake": kept}))
        return None
    restored = metadata.note_of(record)
    if restored is None:
        return "its job was not run to its end by Snakemake"
    for name in present:
        metadata.write(name, restored)
    return None
