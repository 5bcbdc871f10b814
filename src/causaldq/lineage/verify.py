"""Is everything on disk what the records, dvc.lock and the current settings say it is?

Files are hashed anew; time stamps, Snakemake's notes and DVC's caches are not looked at.
"""

import hashlib
import json
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from causaldq.code import job_hash
from causaldq.errors import DataError
from causaldq.lineage.changes import changed_settings, described
from causaldq.lineage.planned import PlannedJob, planned_jobs
from causaldq.lineage.records import LOCK, Ledger, Record, place_of, same_command

Kind = Literal["missing", "changed", "unexplained", "stale"]
NOT_ASKED_FOR = "the current settings do not ask for it"


@dataclass(frozen=True)
class Finding:
    """Something wrong with a file.

    missing: asked for, and not there. changed: not what its record says. unexplained: no
    record says how it was made. stale: made by other settings, code or data than the current.
    """

    kind: Kind
    file: str
    why: str


@dataclass(frozen=True)
class Verdict:
    profile: str
    jobs: int
    files: int
    findings: list[Finding]
    notes: list[str]
    """Worth knowing, and no fault."""


def verify(
    root: Path,
    profile: str,
    options: Sequence[str] = (),
    within: Path | None = None,
    plan: Callable[[Path, str, Sequence[str]], list[PlannedJob]] = planned_jobs,
) -> Verdict:
    """Check a profile, or what lies below a path and all that this was made from.

    `options`: what the run was given beyond its profile, as Snakemake takes it after --config.
    """
    ledger = Ledger(root, profile)
    jobs = {name: job for job in plan(root, profile, options) for name in job.outputs}
    findings = [*_check(ledger, jobs), *_check_lock(root, profile)]
    names = set(jobs) | set(ledger.products())
    if within is not None:
        names = _upstream(ledger, {n for n in names if Path(n).is_relative_to(within)})
        if not names:
            raise DataError(f"{within} is no file of profile {profile}; give one that it makes")
        # dvc.lock speaks of whole folders.
        findings = [f for f in findings if any(Path(n).is_relative_to(f.file) for n in names)]
    return Verdict(
        profile, len({id(r) for r in ledger.makers.values()}), len(names), findings, _notes(ledger)
    )


def _upstream(ledger: Ledger, names: set[str]) -> set[str]:
    """Files, and all files they were made from."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            record = ledger.makers.get(name)
            waiting += record.inputs if record else []
    return found


def _check(ledger: Ledger, jobs: dict[str, PlannedJob]) -> Iterator[Finding]:
    failed = {
        name: record
        for record in ledger.records
        if record.status != 0
        for name, job in jobs.items()
        if same_command(job.command, record.command)
    }
    for name in sorted(set(jobs) | set(ledger.products())):
        found, record = ledger.hash(name), ledger.makers.get(name)
        if found is None:
            job = failed.get(name)
            status = f"its job ended with status {job.status}" if job else "it is asked for"
            yield Finding("missing", name, status)
        elif record is None:
            yield Finding("unexplained", name, "no record says how it was made")
        elif found != record.outputs[name].sha256:
            yield Finding("changed", name, f"{place_of(ledger.profile, record.job)} has another")
        elif name not in jobs:
            if not _needs_what_is_not_here(record):
                yield Finding("stale", name, NOT_ASKED_FOR)
        elif why := _stale(ledger, record, jobs[name]):
            yield Finding("stale", name, why)
    for name, why in ledger.broken.items():
        yield Finding("changed", name, why)
    for name in _inputs_gone(ledger, jobs):
        yield Finding("missing", name, "files here were made from it")


def _needs_what_is_not_here(record: Record) -> bool:
    """Only the PDF: without LaTeX it is not asked for, and made elsewhere it is no less good."""
    return record.rule == "document" and shutil.which("latexmk") is None


def _stale(ledger: Ledger, record: Record, job: PlannedJob) -> str | None:
    """Why a job would now give something else; None if it would not."""
    if not same_command(record.command, job.command):
        return _other_command(record, job)
    if record.code.hash != job_hash(ledger.root / record.script, record.settings):
        commit = (record.code.commit or "no commit")[:7]
        return f"made by other code than that of {record.script} now (then at {commit})"
    for name, known in record.inputs.items():
        found = ledger.hash(name)
        if found is not None and found != known.sha256:
            return f"made from another {name}"
    return None


def _other_command(record: Record, job: PlannedJob) -> str:
    words = shlex.split(job.command)
    changes = changed_settings(record.settings, _settings(words))
    if changes:
        return f"made with other settings ({described(changes)})"
    only_then = [word for word in record.words if word not in words]
    only_now = [word for word in words if word not in record.words]
    return f"made by another command ({' '.join(only_then)} → {' '.join(only_now)})"


def _settings(words: list[str]) -> Any:
    for option in ("--settings", "--config"):
        if option in words[:-1]:
            text = words[words.index(option) + 1]
            return json.loads(text) if text.startswith("{") else text
    return None


def _inputs_gone(ledger: Ledger, jobs: dict[str, PlannedJob]) -> list[str]:
    """Files that no job makes, such as the paper's numbers."""
    used = {
        name for file, record in ledger.makers.items() if file in jobs for name in record.inputs
    }
    return sorted(n for n in used if n not in jobs and ledger.hash(n) is None)


def _notes(ledger: Ledger) -> list[str]:
    records = {record.job: record for record in ledger.makers.values()}.values()
    notes = []
    lock = ledger.hash(LOCK)
    others = sum(record.code.lock != lock for record in records)
    if others:
        notes.append(f"{others} of {len(records)} jobs ran with another {LOCK}")
    dirty = sum(bool(record.code.dirty) for record in records)
    if dirty:
        notes.append(f"{dirty} of {len(records)} jobs ran code that was not committed")
    return notes


# --- dvc.lock --------------------------------------------------------------------------


def _check_lock(root: Path, profile: str) -> Iterator[Finding]:
    """What dvc.lock says of this profile's outputs."""
    lock = root / "dvc.lock"
    if not lock.is_file():
        return
    for stage, entry in yaml.safe_load(lock.read_text()).get("stages", {}).items():
        outs = entry.get("outs", [])
        if not any(Path(out["path"]).parts[1:2] == (profile,) for out in outs):
            continue
        for out in outs:
            if _md5(root / out["path"]) != out["md5"]:
                yield Finding(
                    "changed", out["path"], f"stage {stage} of dvc.lock has another; run dvc repro"
                )


def _md5(path: Path) -> str | None:
    """DVC's hash of a file, or of a folder: that of a list of its files' hashes."""
    if path.is_file():
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "md5").hexdigest()
    if not path.is_dir():
        return None
    files = sorted(p for p in path.rglob("*") if p.is_file())
    listed = [{"md5": _md5(p), "relpath": p.relative_to(path).as_posix()} for p in files]
    listed.sort(key=lambda entry: str(entry["relpath"]))
    text = json.dumps(listed, sort_keys=True)
    return f"{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}.dir"


def prune(root: Path, verdict: Verdict) -> list[str]:
    """Delete what the current settings do not ask for, and the records of it."""
    ledger = Ledger(root, verdict.profile)
    gone = [f.file for f in verdict.findings if f.why == NOT_ASKED_FOR]
    for name in gone:
        (root / name).unlink()
    for record in ledger.records:
        if record.outputs and not any((root / name).exists() for name in record.outputs):
            (root / place_of(verdict.profile, record.job)).unlink()
    return gone


REMEDIES = {
    "missing": "`dvc pull` restores it if it was pushed; else run snakemake",
    "changed": "the next run makes it again; `dvc checkout` restores it if it is in the cache",
    "unexplained": "the next run makes it again if it is asked for; delete it if it is not",
    "stale": "the next run makes it again",
}


MANY = 5
"""If more files of a folder have one thing wrong, one line tells; `--json` lists them all."""


def lines(verdict: Verdict) -> Iterator[str]:
    """The verdict for people."""
    for kind, remedy in REMEDIES.items():
        alike: dict[tuple[Path, str], list[str]] = {}
        for finding in verdict.findings:
            if finding.kind == kind:
                place = Path(finding.file).parent, finding.why
                alike.setdefault(place, []).append(finding.file)
        if alike:
            yield f"{kind} ({remedy}):"
        for (folder, why), files in alike.items():
            if len(files) > MANY:
                yield f"  {folder}/, {len(files)} files: {why}"
            else:
                yield from (f"  {file}: {why}" for file in files)
    if any(finding.why == NOT_ASKED_FOR for finding in verdict.findings):
        yield "`verify --prune` deletes what the current settings do not ask for."
    yield from (f"note: {note}" for note in verdict.notes)
    if verdict.findings:
        yield f"{verdict.profile}: {len(verdict.findings)} findings in {verdict.files} files"
    else:
        yield (
            f"{verdict.profile}: {verdict.files} files are what the records say, and what the"
            " current settings, code and data ask for"
        )
