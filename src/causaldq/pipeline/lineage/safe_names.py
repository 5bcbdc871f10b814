"""Which names may stand in a record: those of the project's own data files.

Records are read from disk, where anybody may have written them. A name that leads elsewhere
would let a record point commands that hash, copy or delete at files of its choice.
"""

import configparser
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any


class SafeNames:
    """A project's folder, and what lies in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folders: dict[str, bool] = {}

    @cached_property
    def _home(self) -> Path:
        return self.root.resolve()

    def objection(self, name: str) -> str | None:
        """Why a name does not stand for a data file of the project; None if it does."""
        path = PurePosixPath(name)
        plain = path.as_posix() == name and not path.is_absolute() and ".." not in path.parts
        if not plain or not path.name or not name.isprintable():
            return "is no plain path from the project's folder"
        if path.suffix in (".py", ".pyc") or any(part.startswith(".") for part in path.parts):
            return "is no data file"
        if not self._is_inside(str(path.parent)):
            return "lies behind a link that leads out of the project"
        if os.path.islink(self.root / name) and not self._may_lead_to(self.root / name):
            return "is a link that leads out of the project"
        return None

    def _is_inside(self, folder: str) -> bool:
        if folder not in self._folders:
            whole = Path(os.path.realpath(self.root / folder))
            self._folders[folder] = whole.is_relative_to(self._home)
        return self._folders[folder]

    def _may_lead_to(self, link: Path) -> bool:
        """DVC may put links to its cache in the place of files."""
        target = Path(os.path.realpath(link))
        return any(target.is_relative_to(place) for place in (self._home, *self._dvc_caches))

    @cached_property
    def _dvc_caches(self) -> list[Path]:
        """Where DVC is told to keep its cache, if not inside the project."""
        found = []
        for name in ("config", "config.local"):
            settings = configparser.ConfigParser(strict=False, interpolation=None)
            try:
                settings.read(self.root / ".dvc" / name)
            except (configparser.Error, UnicodeDecodeError):
                continue
            if place := settings.get("cache", "dir", fallback=None):
                found.append(Path(os.path.realpath(self.root / ".dvc" / place.strip("\"'"))))
        return found

    def named_outside(self, settings: Any) -> set[str]:
        """Files outside the project that settings name, such as a user's own data."""
        whole = {os.path.abspath(self._home / text) for text in texts(settings) if "/" in text}
        return {name for name in whole if not Path(name).is_relative_to(self._home)}


def printable(text: str) -> str:
    """A text that tells a terminal nothing but itself.

    Examples
    --------
    >>> printable("a\\x1b[2J, σ")
    'a\\\\x1b[2J, σ'
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def texts(value: Any) -> Iterator[str]:
    """Every text among settings, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)
