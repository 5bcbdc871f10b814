"""The entities of an RO-Crate, and the files that it is to hold."""

import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from causaldq.errors import DataError
from causaldq.files import sha256
from causaldq.pipeline.lineage.crate_code import CrateCode
from causaldq.pipeline.lineage.records import Record, RecordStore
from causaldq.pipeline.lineage.verify import Finding

Entity = dict[str, Any]
PARAMETER_PROFILE = "https://bioschemas.org/profiles/FormalParameter/1.0-RELEASE"
FORMATS = {
    ".npz": "application/zip",
    ".safetensors": "application/octet-stream",
    ".parquet": "application/vnd.apache.parquet",
    ".tex": "text/x-tex",
    ".yaml": "application/yaml",
    ".smk": "text/plain",
    ".lock": "text/plain",
    ".ipynb": "application/x-ipynb+json",
}


@dataclass(frozen=True)
class Packed:
    """What a crate says of its making."""

    findings: list[Finding]
    """What `verify` found, if the run was packed anyway."""
    operator: str
    host: str
    """For jobs whose records do not say it."""


def ref(name: str) -> dict[str, str]:
    return {"@id": name}


def address(name: str) -> str:
    """A file's name as an address."""
    return quote(name)


class CrateEntities:
    """What a crate is made of, each entity once."""

    def __init__(self, store: RecordStore, packed: Packed, scratch: Path) -> None:
        self.store, self.packed = store, packed
        made = {record.job: record for record in store.makers.values()}
        self.records = sorted(made.values(), key=lambda record: record.started)
        self.entities: dict[str, Entity] = {}
        self.files: list[str] = []
        self.data = {name for r in self.records for name in (*r.inputs, *r.outputs)}
        self.code = CrateCode(store.root, self.records, scratch)
        if self.code.unknown and not packed.findings:
            job = self.code.unknown[0].job
            raise DataError(f"{job}: its code is in no commit, and not here; run it again")

    def path(self, name: str) -> Path:
        """Where a file of the crate is taken from: code from its commit, data from here."""
        if name in self.data:
            return self.store.root / name
        for prefix, tree in sorted(self.code.trees.items(), reverse=True):
            inside = name.removeprefix(prefix)
            if name.startswith(prefix) and (tree / inside).is_file():
                return tree / inside
        return self.store.root / name

    def script(self, record: Record) -> str:
        """A job's script, as it lies in the crate."""
        return f"{self.code.prefix.get(record.job, '')}{record.script}"

    def add(self, identity: str, kind: str | list[str], /, **facts: Any) -> dict[str, str]:
        """An entity, once; what comes later under the same name is left out."""
        known = {key: value for key, value in facts.items() if value not in (None, [])}
        self.entities.setdefault(identity, {"@id": identity, "@type": kind, **known})
        return ref(identity)

    def file(self, name: str, /, **facts: Any) -> dict[str, str]:
        if name not in self.files:
            self.files.append(name)
        path = self.path(name)
        guess = FORMATS.get(path.suffix) or mimetypes.guess_type(name)[0] or "text/plain"
        given = {
            "name": name,
            "encodingFormat": guess,
            "contentSize": str(path.stat().st_size) if path.is_file() else None,
            "sha256": sha256(path) if path.is_file() else None,
        }
        return self.add(address(name), facts.pop("kind", "File"), **(given | facts))

    def graph(self) -> list[Entity]:
        """All entities; a list of one is written as that one."""
        return [
            {
                key: value[0] if isinstance(value, list) and len(value) == 1 else value
                for key, value in entity.items()
            }
            for entity in self.entities.values()
        ]

    def rules(self) -> list[str]:
        return list(dict.fromkeys(record.rule for record in self.records))

    def formal(self, identity: str, name: str, description: str) -> dict[str, str]:
        return self.add(
            f"#{identity}",
            "FormalParameter",
            name=name,
            additionalType="PropertyValue" if name == "settings" else "File",
            conformsTo=ref(PARAMETER_PROFILE),
            description=description,
            valueRequired=True,
        )

    def property_value(
        self, identity: str, name: str, value: str, /, **facts: Any
    ) -> dict[str, str]:
        return self.add(identity, "PropertyValue", name=name, value=value, **facts)

    def example(self, entity: dict[str, str], parameter: dict[str, str]) -> None:
        """Say which parameter a value was given for."""
        examples = self.entities[entity["@id"]].setdefault("exampleOfWork", [])
        if parameter not in examples:
            examples.append(parameter)


class Options:
    """Which option of a job's command a file was given by."""

    def __init__(self, record: Record) -> None:
        self.by_value: dict[str, str] = {}
        option = "script"
        for word in record.words[2:]:
            if word.startswith("--"):
                option = word[2:]
            else:
                self.by_value[word] = option
                self.by_value[word.partition("=")[2] or word] = option

    def of(self, name: str) -> str:
        """The option; that of the folder a file is in; `files` if it was not on the command."""
        for place in (name, Path(name).parent.as_posix()):
            if place in self.by_value:
                return self.by_value[place]
        return "files"
