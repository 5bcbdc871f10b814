"""Is everything on disk what the records, dvc.lock and the current settings say it is?

Files are hashed anew; time stamps, Snakemake's notes and DVC's caches are not looked at.
"""

import hashlib
import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from causaldq.errors import DataError
from causaldq.pipeline.lineage.absent import (
    Absent,
    is_left_to_a_run,
    may_be_absent,
    what_is_absent,
)
from causaldq.pipeline.lineage.audit import Code, objections
from causaldq.pipeline.lineage.changes import changed_settings, described
from causaldq.pipeline.lineage.dry_run import PlannedJob, planned_jobs
from causaldq.pipeline.lineage.dvc_lock import locked_stages
from causaldq.pipeline.lineage.given_files import GivenFiles
from causaldq.pipeline.lineage.manifest import (
    Attested,
    attest,
    place_of_manifest,
    place_of_signature,
    write_manifest,
)
from causaldq.pipeline.lineage.provenance import PROVENANCE, provenance, tells_of_now
from causaldq.pipeline.lineage.record_files import drop
from causaldq.pipeline.lineage.records import LOCK, RAW, Record, RecordStore, same_command
from causaldq.pipeline.lineage.repository import head
from causaldq.pipeline.lineage.safe_names import SafeNames
from causaldq.pipeline.report.tidy import SHORT

Kind = Literal["missing", "changed", "unexplained", "invalid", "stale"]
DOCUMENT = "document"
"""The rule that makes the PDFs."""
NOT_ASKED_FOR = "the current settings do not ask for it"


@dataclass(frozen=True)
class Finding:
    """Something wrong with a file.

    missing: asked for, and not there. changed: not what its record says. unexplained: no
    record says how it was made. invalid: a record that cannot be what a job has written. stale:
    made by other settings, code or data than the current.
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
    left_behind: bool = False
    """Whether the current settings and code ask for something else than most of it."""
    absent: Absent | None = None
    """What is not here, and need not be."""
    provenance: str | None = None
    """The hash that the pages print, as the records give it."""
    records: str | None = None
    """The hash over all records."""
    commit: str | None = None
    """The commit of this history that has the same records."""
    has_git: bool = True
    """Whether git could be asked."""
    signature: str | None = None


def verify(
    root: Path,
    profile: str,
    options: Sequence[str] = (),
    within: Path | None = None,
    signers: Path | None = None,
    plan: Callable[[Path, str, Sequence[str], bool | None], list[PlannedJob]] = planned_jobs,
) -> Verdict:
    """Check a profile, or what lies below a path and all that this was made from.

    `options`: what the run was given beyond its profile, as Snakemake takes it after --config.
    `signers`: who may sign manifests, as `ssh-keygen -Y verify` takes it.
    """
    store = RecordStore(root, profile)
    planned = plan(root, profile, options, had_latex(store))
    jobs = {name: job for job in planned for name in job.outputs}
    gone = _absent(store, jobs)
    findings = [*_check(store, jobs, gone), *_check_lock(store)]
    findings += _records_to_prune(store, findings)
    names = set(jobs) | set(store.products())
    if within is not None:
        names = _upstream(store, {n for n in names if Path(n).is_relative_to(within)})
        if not names:
            raise DataError(f"{within} is no file of profile {profile}; give one that it makes")
        makers = {store.makers[name].job for name in names if name in store.makers}
        told = names | {store.place(job) for job in makers}
        # dvc.lock speaks of whole folders.
        findings = [f for f in findings if any(Path(n).is_relative_to(f.file) for n in told)]
    attested = attest(root, profile, signers)
    old = 2 * sum(finding.kind in ("stale", "missing") for finding in findings) > len(names)
    # Of a run that is left behind all counts that it had.
    gone = _not_here(store) if old else gone
    return Verdict(
        profile,
        jobs=len({id(r) for r in store.makers.values()}),
        files=len(names - gone),
        findings=[*findings, *_check_manifest(profile, attested)],
        notes=[*(_of_another_time(store) if old else ()), *_notes(store)],
        left_behind=old,
        absent=_told_absent(store, gone if within is None else gone & names),
        provenance=_provenance(store),
        records=attested.hash,
        commit=attested.commit,
        has_git=head(root) is not None,
        signature=attested.signature,
    )


def _check_manifest(profile: str, attested: Attested) -> Iterator[Finding]:
    if attested.problem:
        kind: Kind = "missing" if "there is none" in attested.problem else "changed"
        yield Finding(kind, place_of_manifest(profile).as_posix(), attested.problem)
    if attested.bad_signature:
        place = place_of_signature(profile).as_posix()
        yield Finding("invalid", place, attested.bad_signature)


def _provenance(store: RecordStore) -> str | None:
    """The hash that the pages print, from the records; None if they do not give it."""
    made = [record for record in store.makers.values() if record.rule == PROVENANCE]
    try:
        return str(provenance(store, made[0].inputs)["hash"])[:SHORT] if made else None
    except DataError:
        return None


def had_latex(store: RecordStore) -> bool | None:
    """Whether a run could make its PDFs, as its first page has links to them; None if unknown."""
    record = store.makers.get(f"results/{store.profile}/overview.html")
    settings = record.settings if record and isinstance(record.settings, dict) else {}
    told = settings.get("has_document")
    return told if isinstance(told, bool) else None


def _upstream(store: RecordStore, names: set[str]) -> set[str]:
    """Files, and all files they were made from."""
    return names.union(*(record.inputs for record in store.behind(names)))


def _absent(store: RecordStore, jobs: dict[str, PlannedJob]) -> set[str]:
    """What is not here and need not be: artifacts that a good record knows, as it is asked for."""
    gone = _not_here(store)
    asked = {store.makers[n].job: (store.makers[n], jobs[n]) for n in gone if n in jobs}
    # Once a job, which may have made several: it hashes the job's code.
    stale = {job for job, (record, planned) in asked.items() if _stale(store, record, planned)}
    return {n for n in gone if n not in jobs or store.makers[n].job not in stale}


def _not_here(store: RecordStore) -> set[str]:
    """What may be absent, and is: a clone has none of the results that git leaves out.

    Where one of them is here, a run has made them here, and the others are missing.
    """
    gone = {n for n in store.makers if may_be_absent(n) and store.content_hash(n) is None}
    left = {n for n in store.makers if is_left_to_a_run(n)}
    return gone if left <= gone else gone - left


def _told_absent(store: RecordStore, names: set[str]) -> Absent | None:
    jobs = {store.makers[name].job: store.makers[name] for name in names}
    return what_is_absent(sorted(names), store.makers, jobs.values()) if names else None


def _check(store: RecordStore, jobs: dict[str, PlannedJob], gone: set[str]) -> Iterator[Finding]:
    failed = {
        name: record
        for record in store.records
        if record.status != 0
        for name, job in jobs.items()
        if same_command(job.command, record.command)
    }
    for name in sorted(set(jobs) | set(store.products())):
        found, record = store.content_hash(name), store.makers.get(name)
        if name in gone:
            continue
        if found is None and name in jobs:
            job = failed.get(name)
            status = f"its job ended with status {job.status}" if job else "it is asked for"
            yield Finding("missing", name, status)
        elif record is None:
            yield Finding("unexplained", name, "no record says how it was made")
        elif found != record.outputs[name].sha256:
            yield Finding("changed", name, f"{store.place(record.job)} has another")
        elif name not in jobs:
            if record.rule != DOCUMENT or any(job.rule == DOCUMENT for job in jobs.values()):
                yield Finding("stale", name, NOT_ASKED_FOR)
            elif why := _left_behind(store, record):
                # Without LaTeX the PDFs are not asked for; made before, they are no less good.
                yield Finding("stale", name, why)
        elif why := _stale(store, record, jobs[name]):
            yield Finding("stale", name, why)
        elif record.rule == PROVENANCE and not tells_of_now(store, record, name):
            yield Finding("stale", name, "what was done before is not what it tells of")
    for name, why in store.broken.items():
        yield Finding("invalid", name, why)
    good = [record for record in store.records if record.status == 0]
    for name, why in objections(store.root, store.profile, good).items():
        yield Finding("invalid", store.place(name), why)
    yield from _not_the_publishers(store)
    for name in _inputs_unexplained(store):
        yield Finding("unexplained", name, "no record says how it was made")
    for name in _inputs_gone(store, jobs, gone):
        yield Finding("missing", name, "files here were made from it")


def _records_to_prune(store: RecordStore, listed: list[Finding]) -> Iterator[Finding]:
    """Records of nothing but files that are listed as not asked for.

    A record of what is not here may be all that is known of it, and is left alone.
    """
    unwanted = {finding.file for finding in listed if finding.why == NOT_ASKED_FOR}
    for record in store.records:
        if record.outputs and unwanted.issuperset(record.outputs):
            yield Finding("stale", store.place(record.job), NOT_ASKED_FOR)


def _stale(store: RecordStore, record: Record, job: PlannedJob) -> str | None:
    """Why a job would now give something else; None if it would not."""
    if not same_command(record.command, job.command):
        return _other_command(record, job)
    return _left_behind(store, record)


def _left_behind(store: RecordStore, record: Record) -> str | None:
    """Why the same job would now give something else: its code or what it was made from."""
    if not Code(store.root).is_here(record):
        commit = (record.code.commit or "no commit")[:7]
        return f"made by other code than that of {record.script} now (then at {commit})"
    for name, known in record.inputs.items():
        found = store.known_hash(name)
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


def _inputs_unexplained(store: RecordStore) -> list[str]:
    """What jobs have used, that a job must have made, and that no successful record tells of."""
    given, listed = GivenFiles(store), set(store.products())
    used = {
        (name, known.sha256)
        for record in store.makers.values()
        for name, known in record.inputs.items()
        if name not in store.makers and name not in listed
    }
    return sorted({name for name, known in used if not given.has(name, known)})


def _not_the_publishers(store: RecordStore) -> Iterator[Finding]:
    """Fetched files of which the records have another hash than the catalogue of data sets."""
    given = GivenFiles(store)
    told = {
        (name, known.sha256)
        for record in store.makers.values()
        for name, known in [*record.inputs.items(), *record.outputs.items()]
        if name.startswith(RAW)
    }
    for name, known in sorted(told):
        if why := given.contradicts(name, known):
            yield Finding("changed", name, why)


def _inputs_gone(store: RecordStore, jobs: dict[str, PlannedJob], gone: set[str]) -> list[str]:
    """Files that no job makes, such as the paper's numbers."""
    used = {name for file, record in store.makers.items() if file in jobs for name in record.inputs}
    used -= gone | jobs.keys()
    return sorted(name for name in used if store.content_hash(name) is None)


def _of_another_time(store: RecordStore) -> Iterator[str]:
    """One line for a run as a whole that the current settings and code have left behind."""
    ran = Counter(record.code.commit for record in store.makers.values() if record.code.commit)
    if ran:
        commit = ran.most_common(1)[0][0]
        yield (
            f"most of it is of commit {commit[:7]}, and not what the current settings and code ask"
            " for: check that commit out to verify it as it was, or run it again"
        )


def _notes(store: RecordStore) -> list[str]:
    records = {record.job: record for record in store.makers.values()}.values()
    notes = []
    lock = store.hash(LOCK)
    others = sum(record.code.lock != lock for record in records)
    if others:
        notes.append(f"{others} of {len(records)} jobs ran with another {LOCK}")
    dirty = sum(bool(record.code.dirty) for record in records)
    if dirty:
        notes.append(f"{dirty} of {len(records)} jobs ran code that was not committed")
    return notes


# --- dvc.lock --------------------------------------------------------------------------


def _check_lock(store: RecordStore) -> Iterator[Finding]:
    """What dvc.lock says of this profile's outputs, where all of their files are here."""
    root = store.root
    gone = [Path(name) for name in store.makers if store.hash(name) is None]
    # The default profile's lies at the top, that of another in a folder named like it.
    locks = [root / "dvc.lock", root / store.profile / "dvc.lock"]
    for name, stage in ((n, s) for lock in locks for n, s in locked_stages(lock).items()):
        if not any(Path(out.path).parts[1:2] == (store.profile,) for out in stage.outs):
            continue
        for out in stage.outs:
            # A folder without files is not there at all in a clone.
            empty = may_be_absent(f"{out.path}/") and not (root / out.path).exists()
            is_here = not empty and not any(path.is_relative_to(out.path) for path in gone)
            if is_here and _md5(root / out.path) != out.md5:
                yield Finding(
                    "changed", out.path, f"stage {name} of dvc.lock has another; run dvc repro"
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
    """Delete what is listed as not asked for, and nothing else.

    A manifest that was right before is made so again; one that was not stays as it is.
    """
    places, store = SafeNames(root), RecordStore(root, verdict.profile)
    gone = [f.file for f in verdict.findings if f.why == NOT_ASKED_FOR]
    records = {store.place(record.job): record.job for record in store.records}
    for name in gone:
        if name not in records:
            if why := places.objection(name):
                raise DataError(f"{name} {why}; nothing more is deleted")
            (root / name).unlink()
    drop(root, store.folder, [records[name] for name in gone if name in records])
    manifest = place_of_manifest(verdict.profile).as_posix()
    if gone and all(finding.file != manifest for finding in verdict.findings):
        write_manifest(root, verdict.profile)
    return gone
