"""Run the jobs behind one cell again, in an empty folder, and compare the bytes.

A record says what came out, never what to run. The command of a job is what the workflow of its
commit plans for the run's settings; a record that has another one is refused. No shell takes
part.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from causaldq.errors import CausalDQError, ConfigError, DataError
from causaldq.files import sha256
from causaldq.pipeline.lineage.audit import SCRIPT, hashes_in
from causaldq.pipeline.lineage.dry_run import planned_jobs
from causaldq.pipeline.lineage.records import LOCK, Record, RecordStore, words_of
from causaldq.pipeline.lineage.repository import CODE_PLACES, copy_code, is_in_history, lay_out
from causaldq.pipeline.lineage.safe_names import SafeNames, texts
from causaldq.pipeline.lineage.trace import Step, Trace
from causaldq.pipeline.lineage.verify import had_latex

CODE = tuple(place for place in CODE_PLACES if place != "data")
"""What is laid out as code, and never replaced by what lies about."""


class ReplayError(CausalDQError):
    """A recorded job cannot be run again here."""


@dataclass(frozen=True)
class Replayed:
    job: str
    differing: list[str]
    """Outputs with other bytes than recorded."""


def replayable(found: Trace) -> list[Step]:
    """The jobs of a chain, in order, that need no runs of other cells."""
    return [step for step in found.steps if not step.left_out]


def replay(root: Path, found: Trace, folder: Path) -> Iterator[Replayed]:
    """Run the jobs of a chain in `folder`, which must be empty, one by one."""
    if folder.exists() and any(folder.iterdir()):
        raise DataError(f"{folder} is not empty; give a new folder")
    steps = replayable(found)
    tree = _Tree(RecordStore(root, Path(found.file).parts[1]), folder)
    for step in steps:
        tree.lay_out(step.record, [source.file for source in step.sources if not source.note])
        yield _run(folder, step.record, tree.words(step.record))


class _Tree:
    """A folder with the code that a record names, and nothing that was made by it."""

    def __init__(self, store: RecordStore, folder: Path) -> None:
        self.store, self.root, self.folder = store, store.root, folder
        self._plans: dict[tuple[str, ...], dict[str, str]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def lay_out(self, record: Record, sources: list[str]) -> None:
        """Put the job's code into place: from its commit, or else as it is now."""
        if not self._has_code(self.folder, record) and not (
            self._from_commit(record) or self._from_here(record)
        ):
            commit = (record.code.commit or "no commit")[:7]
            raise ReplayError(
                f"{record.job}: neither commit {commit} of this repository's history nor the folder"
                f" has the code that made it (hash {record.code.hash[:12]}); check out the commit"
                " that has"
            )
        for name in sources:
            if not self._bring(name, record.inputs[name].sha256):
                raise ReplayError(f"{record.job}: {name} is not what it was made from; restore it")

    # --- code ------------------------------------------------------------------------------

    def _has_code(self, tree: Path, record: Record) -> bool:
        if SCRIPT.fullmatch(record.script) is None or not (tree / record.script).is_file():
            return False
        return hashes_in(tree, [(record.script, record.settings)]) == [record.code.hash]

    def _from_commit(self, record: Record) -> bool:
        commit = record.code.commit
        if commit is None or not is_in_history(self.root, commit):
            return False
        self._clear()
        return lay_out(self.root, commit, self.folder) and self._has_code(self.folder, record)

    def _from_here(self, record: Record) -> bool:
        """The folder's own code, when it was not committed."""
        if not self._has_code(self.root, record):
            return False
        self._clear()
        copy_code(self.root, self.folder)
        return True

    def _clear(self) -> None:
        self._plans = {}
        for name in CODE_PLACES:
            path = self.folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    # --- commands --------------------------------------------------------------------------

    def words(self, record: Record) -> list[str]:
        """The command of a job, as the workflow plans it for the run's settings."""
        for plan in self._plans_here():
            commands = {plan[name] for name in record.outputs if name in plan}
            words = words_of(commands.pop()) if len(commands) == 1 else []
            if words and words == record.words:
                if why := self._objection(words):
                    raise ReplayError(f"{record.job} is not run again: {why}")
                return words
        raise ReplayError(
            f"{record.job} is not run again: the workflow of its code plans no such command for the"
            " settings of the run; `verify` tells more"
        )

    def _plans_here(self) -> Iterator[dict[str, str]]:
        """Commands by output: for the settings that the run was given, then for its profile's."""
        for options in self._settings():
            key = tuple(options)
            if key not in self._plans:
                self._bring_given()
                try:
                    latex = had_latex(self.store)
                    jobs = planned_jobs(self.folder, self.store.profile, options, latex)
                except ConfigError:
                    jobs = []
                self._plans[key] = {name: job.command for job in jobs for name in job.outputs}
            yield self._plans[key]

    def _settings(self) -> Iterator[list[str]]:
        """Options for Snakemake. Settings are checked by the workflow's own models."""
        gathered = self.store.whole_settings()
        if gathered is not None and not any(map(_has_controls, texts(gathered.get("sources")))):
            place = self.folder / "settings.json"
            place.write_text(json.dumps({"complete": True, **gathered}))
            yield ["--configfile", place.name]
        yield []

    def _objection(self, words: list[str]) -> str | None:
        """Why a command may not be run. The workflow is ours; the settings may not be."""
        script, *rest = words[1:] or [""]
        if words[0] != "python" or SCRIPT.fullmatch(script) is None:
            return "its command is no run of a script of the project"
        if not (self.folder / script).is_file():
            return f"there is no {script}"
        outside = SafeNames(self.folder).named_outside(self.store.whole_settings())
        for word in rest:
            if word.startswith(("{", "--")):
                continue
            name = word.partition("=")[2] or word
            leads_out = PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts
            if leads_out and os.path.abspath(self.root / name) not in outside:
                return f"its command leads out of the folder, to {name}"
        return None

    # --- data ------------------------------------------------------------------------------

    def _bring_given(self) -> None:
        """Files that were given to any job, such as a user's own data: plans look for them."""
        for record in self.store.records:
            for name, known in record.inputs.items():
                if name not in self.store.makers:
                    self._bring(name, known.sha256)

    def _bring(self, name: str, known: str) -> bool:
        """A given file that the code's commit does not hold; whether it is there, and right."""
        there, here = self.folder / name, self.root / name
        if there.is_file() and sha256(there) == known:
            return True
        is_code = PurePosixPath(name).parts[0] in CODE
        if is_code or PurePosixPath(name).is_absolute() or self.store.hash(name) != known:
            return False
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(here, there)
        return True


def _has_controls(text: str) -> bool:
    """A line of a plan must not be able to hold another."""
    return any(ord(letter) < 32 for letter in text)


def _run(folder: Path, record: Record, words: list[str]) -> Replayed:
    environment = os.environ | {"PYTHONPATH": str(folder.resolve() / "src")}
    done = subprocess.run(
        [sys.executable, *words[1:]], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ReplayError(f"{record.job} failed in {folder}: {last}")
    differing = [
        name
        for name, known in record.outputs.items()
        if not (folder / name).is_file() or sha256(folder / name) != known.sha256
    ]
    return Replayed(record.job, differing)


def same_environment(root: Path, records: Iterable[Record]) -> bool:
    """Whether the pinned packages are still those of the records."""
    lock = root / LOCK
    now = sha256(lock) if lock.is_file() else None
    return all(record.code.lock == now for record in records)
