"""Records: for each job, what ran, on what, with which code, and what came out.

A record is written by the job itself when it ends, so that what it says of inputs, outputs and
code is what the job saw: to results/<profile>/records/<job>.json, where the job is named like its
log, logs/<profile>/<job>.log. When a run ends, its records are packed, one file a rule: see
causaldq.pipeline.lineage.record_files.
"""

import shlex
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator

from causaldq.errors import DataError
from causaldq.files import sha256, write_json
from causaldq.pipeline.lineage.record_files import Entry, is_record_file, read_entries
from causaldq.pipeline.lineage.safe_names import SafeNames
from causaldq.pipeline.lineage.small_files import SmallFiles
from causaldq.setting import Settings

LOCK = "requirements.lock"
ABOUT_RECORDS = ("manifest.json", "manifest.json.sig")
"""What is said of all records together: see causaldq.pipeline.lineage.manifest."""
RAW = "data/raw/"
"""Where fetched data lie."""


class FileFacts(Settings):
    """What a file was when a job used or made it."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: int


class CodeFacts(Settings):
    """Which code a job ran."""

    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")] | None
    dirty: bool | None
    """True if the code at hand was not the commit's."""
    hash: str
    """Over everything the job's script can reach: see causaldq.pipeline.code."""
    lock: str | None
    """Hash of requirements.lock, which pins every package."""


class Resources(Settings):
    """What a job took, child processes included."""

    cpu_seconds: float
    peak_memory_bytes: int
    """Of the largest process, the job itself or one that it started."""


class Record(Settings):
    """One job."""

    version: Literal[1] = 1
    job: str
    rule: str
    script: str
    command: str
    settings: Any
    """What was given as --settings or --config; null if the job takes none."""
    seed: int | None
    inputs: dict[str, FileFacts]
    outputs: dict[str, FileFacts]
    code: CodeFacts
    started: str
    ended: str
    status: int
    resources: Resources
    host: dict[str, Any]
    operator: str | None = None
    """Who ran it, if it was told: `git config causaldq.operator`. Its host's name is in `host`."""
    snakemake: dict[str, Any] | None = None
    """What Snakemake remembers of the job beyond this: see `snakemake_metadata`."""

    @field_validator("started", "ended")
    @classmethod
    def _is_a_time(cls, text: str) -> str:
        if datetime.fromisoformat(text).tzinfo is None:
            raise ValueError("a time without its zone")
        return text

    @property
    def words(self) -> list[str]:
        """The command as a shell reads it."""
        return words_of(self.command)

    @property
    def when_started(self) -> datetime:
        return datetime.fromisoformat(self.started)

    @property
    def when_ended(self) -> datetime:
        return datetime.fromisoformat(self.ended)

    @property
    def seconds(self) -> float:
        return (self.when_ended - self.when_started).total_seconds()


def words_of(command: str) -> list[str]:
    """A command as a shell reads it; as it stands if no shell can."""
    return list(_words_of(command))


@lru_cache(maxsize=4096)
def _words_of(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return (command,)


def same_command(one: str, other: str) -> bool:
    """Whether a shell reads two commands alike."""
    # Most are spelt alike, and a shell's rules are slow to apply.
    return one == other or words_of(one) == words_of(other)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def profile_of(path: Path) -> str | None:
    """The profile that a log, a result or an artifact belongs to."""
    parts = path.parts
    known = len(parts) > 2 and parts[0] in ("logs", "results", "artifacts")
    return parts[1] if known else None


def folder_of(profile: str) -> Path:
    return Path("results") / profile / "records"


def job_of(log: Path) -> str:
    """A job's name, from its log: train/p10.causal_dq.s0, or aggregate."""
    return Path(*log.parts[2:]).with_suffix("").as_posix()


def place_of(profile: str, job: str) -> Path:
    return folder_of(profile) / f"{job}.json"


def facts(path: Path) -> FileFacts:
    return FileFacts(sha256=sha256(path), size=path.stat().st_size)


def seed_of(settings: Any) -> int | None:
    """The seed of a job's settings, or the one that all its networks share."""
    if not isinstance(settings, dict):
        return None
    seeds = {part.get("seed") for part in (settings, *settings.get("networks", []))} - {None}
    found = next(iter(seeds), None)
    return found if len(seeds) == 1 and isinstance(found, int) else None


def write_record(root: Path, profile: str, record: Record) -> None:
    write_json(root / place_of(profile, record.job), record.model_dump())


def parsed(entry: Entry) -> Record:
    """What a record says, if it is one."""
    why = entry.why
    if entry.said is not None:
        try:
            return Record.model_validate(entry.said)
        except ValidationError as error:
            first = error.errors()[0]
            why = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    raise DataError(f"{entry.place} is no record ({why}); delete it and run again")


class RecordStore:
    """All records of one profile, and the files they speak of as they are now.

    Files are hashed when asked for, each once; time stamps are never looked at.
    """

    def __init__(self, root: Path, profile: str) -> None:
        self.root = root
        self.profile = profile
        self.places = SafeNames(root)
        self.small = SmallFiles(root, profile)
        self._hashes: dict[str, str | None] = {}

    @property
    def folder(self) -> Path:
        return self.root / folder_of(self.profile)

    @cached_property
    def _read(self) -> tuple[list[Record], dict[str, str]]:
        records, broken = [], {}
        for entry in self.entries:
            try:
                record = parsed(entry)
            except DataError as error:
                broken[entry.place] = str(error)
                continue
            if why := self._leads_astray(record, entry.job):
                broken[entry.place] = f"{why}; delete the record and run again"
            else:
                records.append(record)
        return records, broken

    @cached_property
    def entries(self) -> list[Entry]:
        """The records as they were read, good or not."""
        return read_entries(self.root, self.folder)

    def place(self, job: str) -> str:
        """Where the record of a job was read."""
        return self._read_at.get(job, place_of(self.profile, job).as_posix())

    @cached_property
    def _read_at(self) -> dict[str, str]:
        return {entry.job: entry.place for entry in self.entries}

    def _leads_astray(self, record: Record, job: str) -> str | None:
        """Why a record must not be followed: what it names is not its own, or not the project's."""
        objection = self.places.objection
        if job != record.job or objection(place_of(self.profile, job).as_posix()):
            return f"it says that it belongs to the job {record.job}, which has another place"
        made = tuple(f"{kind}/{self.profile}/" for kind in ("artifacts", "results"))
        for name in record.outputs:
            if why := objection(name):
                return f"its output {name} {why}"
            if not name.startswith((*made, RAW)):
                return f"its output {name} is no file that jobs of {self.profile} make"
        for name in record.inputs:
            why = objection(name)
            # The user's own data may lie anywhere, and are only looked at.
            if why and name not in self.places.named_outside(record.settings):
                return f"its input {name} {why}"
        return None

    @property
    def records(self) -> list[Record]:
        return self._read[0]

    @property
    def broken(self) -> dict[str, str]:
        """Records that cannot be read or must not be followed, and why. They speak for nothing."""
        return self._read[1]

    @cached_property
    def makers(self) -> dict[str, Record]:
        """The record that speaks for each file: the latest job that wrote it and succeeded."""
        made: dict[str, Record] = {}
        for record in sorted(self.records, key=lambda r: r.when_ended):
            if record.status == 0:
                made |= dict.fromkeys(record.outputs, record)
        return made

    def behind(self, files: Iterable[str]) -> list[Record]:
        """The jobs behind some files, each once."""
        found: dict[str, Record] = {}
        waiting = list(files)
        while waiting:
            record = self.makers.get(waiting.pop())
            if record is not None and record.job not in found:
                found[record.job] = record
                waiting += record.inputs
        return list(found.values())

    def whole_settings(self) -> dict[str, Any] | None:
        """The settings of the whole run, as given to the job that gathers all runs."""
        found = [r for r in self.records if r.rule == "aggregate" and r.status == 0]
        settings = found[0].settings if found else None
        return settings if isinstance(settings, dict) else None

    def hash(self, name: str) -> str | None:
        """SHA-256 of a file as it is now; None if it is not there."""
        if name not in self._hashes:
            path = self.root / name
            self._hashes[name] = sha256(path) if path.is_file() else None
        return self._hashes[name]

    def content_hash(self, name: str) -> str | None:
        """The same, also of what only lies packed among the results; None if neither has it."""
        return self.hash(name) or self.small.hash(name)

    def known_hash(self, name: str) -> str | None:
        """The same; of what is not here at all, as the job that made it has seen it."""
        maker = self.makers.get(name)
        return self.content_hash(name) or (maker.outputs[name].sha256 if maker else None)

    def products(self) -> list[str]:
        """Files that the pipeline has made for this profile, or that lie where it makes them."""
        places = [self.root / kind / self.profile for kind in ("artifacts", "results")]
        return sorted(
            path.relative_to(self.root).as_posix()
            for place in places
            for path in place.rglob("*")
            if (path.is_file() or self._hides_files(path))
            and not is_record_file(self.folder, path)
            and path not in (self.folder.with_name(name) for name in ABOUT_RECORDS)
            and not any(part.startswith(".") for part in path.relative_to(self.root).parts)
        )

    def _hides_files(self, path: Path) -> bool:
        """Whether it is a link to a folder, which is not looked into, and no record knows why."""
        if not (path.is_symlink() and path.is_dir()):
            return False
        name = f"{path.relative_to(self.root).as_posix()}/"
        return not any(made.startswith(name) for made in self.makers)

    def doubt(self, record: Record) -> str | None:
        """Why a record does not speak for the files as they are now; None if it does."""
        if record.status != 0:
            return f"the job that made it ended with status {record.status}"
        for name, known in record.outputs.items():
            if (found := self.hash(name)) is not None and found != known.sha256:
                return f"{name} is not what its record says"
        for name, known in record.inputs.items():
            if (found := self.hash(name)) is not None and found != known.sha256:
                return f"{name} is not what it was made from"
        return None


def profiles(root: Path) -> list[str]:
    """Profiles that have records here."""
    return sorted(path.parent.name for path in (root / "results").glob("*/records"))
