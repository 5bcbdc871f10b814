"""Whether anything has changed since a run ended: then there is no need to ask Snakemake.

Snakemake takes some seconds to find that there is nothing to be done. So a run that has ended
leaves a note of all files that it depends on or made, by size and time of change, and of what it
said at its end. While every one is as it was, that is said again.
"""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

GIVEN = (
    *("Snakefile", "workflow", "profiles", "config", "scripts", "notebooks", "src", "data"),
    *("requirements.lock", "results/paper"),
)
"""What runs are made from, and the committed one that they are compared with."""


def said_before(root: Path, profile: str) -> str | None:
    """What was said at the end of the last run, if nothing has changed since."""
    try:
        note = json.loads(_note(root, profile).read_text())
        return str(note["said"]) if note["state"] == state(root, profile) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(root: Path, profile: str, said: str) -> None:
    """Leave a note that all is done, and what was said."""
    place = _note(root, profile)
    if place.parent.is_dir():
        place.write_text(json.dumps({"state": state(root, profile), "said": said}))


def state(root: Path, profile: str) -> str:
    """Hash over every file's name, size and time of change, and over what else decides a run."""
    digest = hashlib.sha256(f"{sys.version}\0{shutil.which('latexmk')}\0".encode())
    for folder in (*GIVEN, f"artifacts/{profile}", f"results/{profile}"):
        for path in sorted(_files(root / folder)):
            facts = os.stat(path)
            digest.update(f"{path}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def _files(place: Path) -> Iterator[str]:
    if place.is_file():
        yield str(place)
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (os.path.join(folder, name) for name in names)


def _note(root: Path, profile: str) -> Path:
    return root / ".snakemake" / f"causaldq.up_to_date.{Path(profile).name}.json"
