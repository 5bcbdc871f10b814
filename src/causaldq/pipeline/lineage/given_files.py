"""Which files need no record of a job: those that the project or its user gives."""

import hashlib
from functools import cached_property
from pathlib import Path

from causaldq.errors import CausalDQError
from causaldq.pipeline.lineage.records import RAW, RecordStore
from causaldq.pipeline.sources.catalogue import Catalogue, read_catalogue
from causaldq.pipeline.sources.fetch import RECORD as ORIGINS

CATALOGUE = "data/sources.yaml"


class GivenFiles:
    """What jobs were given, and did not make."""

    def __init__(self, store: RecordStore) -> None:
        self.store = store

    def has(self, name: str, known: str) -> bool:
        """Whether a file of this hash need not have been made by a job of this profile."""
        if name.startswith(RAW):
            # Another profile may have fetched it; the catalogue knows it then.
            return Path(name).name == ORIGINS or self._is_in_catalogue(name, known)
        return not name.startswith(("results/", "artifacts/"))

    def contradicts(self, name: str, known: str) -> str | None:
        """Why a fetched file of this hash is not the publisher's; None if nobody can say."""
        kind, expected = self._listed(name)
        if kind != "sha256" or known == expected:
            return None
        return f"it is not the one of {CATALOGUE}, {expected[:12]}"

    def _listed(self, name: str) -> tuple[str, str]:
        """The kind of hash that the catalogue has of a fetched file, and the hash."""
        data_set, _, file = name.removeprefix(RAW).partition("/")
        known_set = self._catalogue.sets.get(data_set) if self._catalogue else None
        if not name.startswith(RAW) or known_set is None or file not in known_set.files:
            return "", ""
        kind, _, expected = known_set.files[file].hash.partition(":")
        return kind, expected

    def _is_in_catalogue(self, name: str, known: str) -> bool:
        """Whether a fetched file is one of those that data/sources.yaml has the hash of."""
        kind, expected = self._listed(name)
        if not kind:
            return False
        if kind == "sha256":
            return known == expected
        if self.store.hash(name) != known:
            return False
        with (self.store.root / name).open("rb") as handle:
            return hashlib.file_digest(handle, kind).hexdigest() == expected

    @cached_property
    def _catalogue(self) -> Catalogue | None:
        try:
            return read_catalogue(self.store.root / CATALOGUE)
        except (CausalDQError, OSError):
            return None
