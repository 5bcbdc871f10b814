"""Run the recorded commands of one cell again, in an empty folder, and compare the bytes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from causaldq.errors import CausalDQError, DataError
from causaldq.files import sha256
from causaldq.lineage.records import CODE_PLACES, LOCK, Record, git
from causaldq.lineage.trace import Step, Trace


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
    tree = _Tree(root, folder)
    for step in replayable(found):
        tree.lay_out(step.record, [source.file for source in step.sources if not source.note])
        yield _run(folder, step.record)


class _Tree:
    """A folder with the code that a record names, and nothing that was made by it."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder = root, folder
        folder.mkdir(parents=True, exist_ok=True)

    def lay_out(self, record: Record, sources: list[str]) -> None:
        """Put the job's code into place: from its commit, or else as it is now."""
        if self._hash(self.folder, record) != record.code.hash and not (
            self._from_commit(record) or self._from_here(record)
        ):
            commit = (record.code.commit or "no commit")[:7]
            raise ReplayError(
                f"{record.job}: neither commit {commit} nor the folder has the code that made it"
                f" (hash {record.code.hash[:12]}); check out the commit that has"
            )
        for name in sources:
            self._bring(record, name)

    def _from_commit(self, record: Record) -> bool:
        commit = record.code.commit
        if commit is None or git(self.root, "cat-file", "-e", f"{commit}^{{commit}}") is None:
            return False
        self._clear()
        listed = git(self.root, "ls-tree", "--name-only", commit, "--", *CODE_PLACES)
        archive = subprocess.Popen(
            ["git", "archive", commit, *(listed or "").split()],
            cwd=self.root,
            stdout=subprocess.PIPE,
        )
        subprocess.run(["tar", "-x"], cwd=self.folder, stdin=archive.stdout, check=True)
        archive.wait()
        return self._hash(self.folder, record) == record.code.hash

    def _from_here(self, record: Record) -> bool:
        """The folder's own code, when it was not committed."""
        if self._hash(self.root, record) != record.code.hash:
            return False
        self._clear()
        for name in CODE_PLACES:
            source = self.root / name
            if source.is_dir():
                shutil.copytree(
                    source,
                    self.folder / name,
                    ignore=shutil.ignore_patterns("__pycache__", "raw", "*.egg-info"),
                )
            elif source.is_file():
                shutil.copy2(source, self.folder / name)
        return True

    def _clear(self) -> None:
        for name in CODE_PLACES:
            path = self.folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    @staticmethod
    def _hash(tree: Path, record: Record) -> str | None:
        """Hash of the code behind a job's script in a tree, by that tree's own reckoning."""
        job = f"Path({record.script!r}), {record.settings!r}"
        ask = f"from pathlib import Path; from causaldq.code import *; print(job_hash({job}))"
        done = subprocess.run(
            [sys.executable, "-c", ask],
            cwd=tree,
            env=os.environ | {"PYTHONPATH": str(tree.resolve() / "src")},
            capture_output=True,
            text=True,
        )
        return done.stdout.strip() if done.returncode == 0 else None

    def _bring(self, record: Record, name: str) -> None:
        """A given file that the code's commit does not hold, such as the user's own data."""
        there, here = self.folder / name, self.root / name
        known = record.inputs[name].sha256
        if there.is_file() and sha256(there) == known:
            return
        if not here.is_file() or sha256(here) != known:
            raise ReplayError(f"{record.job}: {name} is not what it was made from; restore it")
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(here, there)


def _run(folder: Path, record: Record) -> Replayed:
    environment = os.environ | {"PYTHONPATH": str(folder.resolve() / "src")}
    words = [sys.executable, *record.words[1:]]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ReplayError(f"{record.job} failed in {folder}: {last}")
    differing = [
        name
        for name, known in record.outputs.items()
        if not (folder / name).is_file() or sha256(folder / name) != known.sha256
    ]
    return Replayed(record.job, differing)


def same_environment(root: Path, records: list[Record]) -> bool:
    """Whether the pinned packages are still those of the records."""
    lock = root / LOCK
    now = sha256(lock) if lock.is_file() else None
    return all(record.code.lock == now for record in records)
