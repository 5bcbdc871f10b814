"""Can a job have written this record? Against itself, the clock, and the repository's commits.

Records are text that anybody can edit. What they say is held against what can be known
without them; what cannot, such as the host, is held by the manifest: causaldq's manifest module.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from os.path import splitext
from pathlib import Path
from typing import Any

from causaldq.files import sha256
from causaldq.pipeline.code import job_hash
from causaldq.pipeline.lineage.records import LOCK, RAW, Record, seed_of
from causaldq.pipeline.lineage.repository import git, head, is_in_history, lay_out

SLACK = timedelta(minutes=10)
"""What clocks of machines that share a folder may differ by."""
GIVEN_BY_COMMIT = ("src", "scripts", "data", "notebooks", LOCK)
"""What jobs run and read that no job has made."""
SCRIPT = re.compile(r"scripts/\w+\.py")

ASK = """
import json, sys
from pathlib import Path
sys.path.insert(0, str(Path("src").resolve()))
try:
    from causaldq.pipeline.code import job_hash
except ImportError:
    from causaldq.code import job_hash
jobs = json.load(sys.stdin)
print(json.dumps([job_hash(Path(s), v) if Path(s).is_file() else None for s, v in jobs]))
"""
"""Asks a commit's own code for hashes: what they are over may have changed since."""


def objections(root: Path, profile: str, records: Iterable[Record]) -> dict[str, str]:
    """By job, why its record cannot be what the job has written; good ones are left out."""
    records = list(records)
    own = {record.job: contradiction(record, profile) for record in records}
    found = {job: why for job, why in own.items() if why}
    return Code(root).objections(records) | found


def contradiction(record: Record, profile: str) -> str | None:
    """What is wrong with a record by itself."""
    words = record.words
    if record.rule != record.job.partition("/")[0]:
        return f"the job {record.job} is not of the rule {record.rule}"
    if SCRIPT.fullmatch(record.script) is None or words[:2] != ["python", record.script]:
        return f"its command is no run of {record.script}"
    if _after(words, "--log") != f"logs/{profile}/{record.job}.log":
        return "its command writes the log of another job"
    if (output := _output_not_named(record)) is not None:
        return f"its command does not make {output}"
    given = _after(words, "--settings") or _after(words, "--config")
    if given is not None and given.startswith("{") and _parsed(given) != record.settings:
        return "its settings are not those of its command"
    if record.seed != seed_of(record.settings):
        return f"its seed is {record.seed}, that of its settings {seed_of(record.settings)}"
    if record.when_ended < record.when_started:
        return "it ended before it started"
    if record.when_ended > datetime.now(UTC) + SLACK:
        return f"it ended in the future, {record.ended}"
    return None


def _output_not_named(record: Record) -> str | None:
    """An output that the command neither names, nor its folder, nor a file of the same stem."""
    parts = (part for word in record.words for part in (word, word.partition("=")[2]))
    stems = {splitext(part)[0] for part in parts}
    for name in record.outputs:
        folders = [folder.as_posix() for folder in Path(name).parents[:-1]]
        if not name.startswith(RAW) and stems.isdisjoint([splitext(name)[0], *folders]):
            return name
    return None


def _after(words: list[str], option: str) -> str | None:
    return words[words.index(option) + 1] if option in words[:-1] else None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def hashes_in(tree: Path, jobs: list[tuple[str, Any]]) -> list[str | None]:
    """Hashes of the code behind scripts with settings, by a tree's own reckoning."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", ASK],
        cwd=tree,
        input=json.dumps([[script, settings] for script, settings in jobs]),
        capture_output=True,
        text=True,
    )
    found: list[str | None] = json.loads(done.stdout) if done.returncode == 0 else []
    return found or [None] * len(jobs)


class Code:
    """The code at hand, and that of earlier commits."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def head(self) -> str | None:
        return head(self.root)

    def is_here(self, record: Record) -> bool:
        """Whether the code at hand is that of a record."""
        script = self.root / record.script
        return script.is_file() and job_hash(script, record.settings) == record.code.hash

    def objections(self, records: Iterable[Record]) -> dict[str, str]:
        """By job, why its commit cannot be where its code is from."""
        by_commit: dict[str, list[Record]] = defaultdict(list)
        for record in records:
            if record.code.commit is not None and self.head is not None:
                by_commit[record.code.commit].append(record)
        found: dict[str, str] = {}
        for commit, jobs in by_commit.items():
            found |= self._of_commit(commit, jobs)
        return found

    def unknown(self, records: Iterable[Record]) -> dict[str, str]:
        """By job, why nobody can say which code it ran: it is in no commit, and not here."""
        found = {}
        for record in records:
            committed = record.code.commit is not None and not record.code.dirty
            if not (committed and self.head) and not self.is_here(record):
                where = "and there is no git here" if committed else "which was not committed"
                found[record.job] = f"it ran other code than that here, {where}"
        return found

    def _of_commit(self, commit: str, records: list[Record]) -> dict[str, str]:
        if not is_in_history(self.root, commit):
            why = f"its commit {commit[:7]} is not in the history of this repository's HEAD"
            if (git(self.root, "rev-parse", "--is-shallow-repository") or "").strip() == "true":
                why += ", which is cut short: `git fetch --unshallow`"
            return {record.job: why for record in records}
        told = git(self.root, "show", "--no-patch", "--format=%ct", commit)
        made = datetime.fromtimestamp(int(told or 0), UTC)
        known, given = self._hashes(commit, records)
        found = {}
        for record in records:
            if record.when_started < made - SLACK:
                found[record.job] = f"it started before its commit {commit[:7]} was made"
            elif record.code.hash != known[record.job] and not record.code.dirty:
                found[record.job] = f"its code is not that of its commit {commit[:7]}"
            elif not record.code.dirty and (other := _other_given(record, given)):
                found[record.job] = f"its {other} is not that of its commit {commit[:7]}"
        return found

    def _hashes(
        self, commit: str, records: list[Record]
    ) -> tuple[dict[str, str | None], dict[str, str]]:
        """Hashes of the code of jobs, and of the files that a commit gave them."""
        jobs = [(record.script, record.settings) for record in records]
        names = {name for record in records for name in record.inputs if not name.startswith("/")}
        with tempfile.TemporaryDirectory() as place:
            tree = Path(place)
            if not lay_out(self.root, commit, tree, GIVEN_BY_COMMIT):
                return dict.fromkeys((record.job for record in records), None), {}
            hashes = hashes_in(tree, jobs)
            given = {n: sha256(tree / n) for n in (LOCK, *names) if (tree / n).is_file()}
        return dict(zip((record.job for record in records), hashes, strict=True)), given


def _other_given(record: Record, given: dict[str, str]) -> str | None:
    """A file that a commit holds, and of which a record has another hash."""
    used = {name: known.sha256 for name, known in record.inputs.items()} | {LOCK: record.code.lock}
    return next((name for name in used.keys() & given.keys() if used[name] != given[name]), None)
