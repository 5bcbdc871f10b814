"""Hashes of code, remembered: hundreds of jobs of one run ask for the same few."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from causaldq.files import sha256
from causaldq.pipeline import code

PLACE = Path(".snakemake/causaldq.pipeline.code")


def cached_hash(root: Path, script: Path, settings: object) -> str:
    """What `job_hash` says, which takes it longer than many a job takes for its work.

    A note is believed while all files that the code was found in have the content they had,
    and the package has the same modules.
    """
    entries = [script.resolve(), *code.named_files(settings)]
    name = hashlib.sha256("\0".join(map(str, entries)).encode()).hexdigest()
    note = root / PLACE / f"{name[:16]}.json"
    known = _read(note)
    if known and known["seen"] == _seen(known["seen"]["files"]):
        return str(known["hash"])
    found = code.job_hash(script, settings)
    files = [*code.reachable(*entries), code.PACKAGE / "pipeline" / "code.py"]
    _write(note, {"hash": found, "seen": _seen(map(str, files))})
    return found


def _seen(files: Any) -> dict[str, Any]:
    """What decides which code is run: contents, and which modules there are to import."""
    modules = "\0".join(sorted(map(str, code.PACKAGE.rglob("*.py"))))
    return {
        "files": {name: sha256(Path(name)) for name in files if os.path.isfile(name)},
        "modules": hashlib.sha256(modules.encode()).hexdigest(),
    }


def _read(note: Path) -> dict[str, Any] | None:
    try:
        known = json.loads(note.read_text())
    except (OSError, ValueError):
        return None
    is_whole = isinstance(known, dict) and {"hash", "seen"} <= known.keys()
    return known if is_whole and "files" in known["seen"] else None


def _write(note: Path, known: dict[str, Any]) -> None:
    """Where Snakemake keeps its notes, if it does. Jobs at the same time write the same."""
    if note.parent.parent.is_dir():
        note.parent.mkdir(exist_ok=True)
        temporary = note.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(known))
        temporary.replace(note)
