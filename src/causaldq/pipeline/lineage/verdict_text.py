"""What `verify` found, for people."""

from collections.abc import Iterator
from pathlib import Path

from causaldq.pipeline.lineage.safe_names import printable
from causaldq.pipeline.lineage.verify import NOT_ASKED_FOR, Finding, Verdict
from causaldq.pipeline.report.tidy import SHORT

REMEDIES = {
    "missing": "`dvc pull` restores it if it was pushed; else run snakemake",
    "changed": "the next run makes it again; `dvc checkout` restores it if it is in the cache",
    "unexplained": "the next run makes it again if it is asked for; delete it if it is not",
    "invalid": "delete it, and the next run makes its files again",
    "stale": "the next run makes it again",
}
MANY = 5
"""If more files of a folder have one thing wrong, one line tells; `--json` lists them all."""
LONGEST = 240
"""Letters of a line on a file."""


def lines(verdict: Verdict) -> Iterator[str]:
    """The verdict, line by line, whatever files are called."""
    return map(printable, _lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    for kind, remedy in REMEDIES.items():
        listed = [finding for finding in verdict.findings if finding.kind == kind]
        if listed:
            yield f"{kind} ({remedy}):"
        in_short = verdict.left_behind and kind in ("missing", "stale")
        yield from map(_short, _at_once(listed) if in_short else _by_folder(listed))
    if any(finding.why == NOT_ASKED_FOR for finding in verdict.findings):
        yield "`verify --prune` deletes what the current settings do not ask for."
    yield from (f"note: {note}" for note in verdict.notes)
    if verdict.absent:
        yield f"{verdict.profile}: {verdict.absent.told('`snakemake`')}"
    if verdict.provenance:
        yield f"{verdict.profile}: provenance {verdict.provenance}, as its pages print it"
    if verdict.records:
        where = f"as in commit {verdict.commit[:7]}" if verdict.commit else "not committed"
        if not verdict.has_git:
            where += ", as far as can be told: git knows of no repository in this folder"
        signed = f", signed {verdict.signature}" if verdict.signature else ""
        yield f"{verdict.profile}: records {verdict.records[:SHORT]}: {where}{signed}"
    if verdict.findings:
        yield f"{verdict.profile}: {len(verdict.findings)} findings in {verdict.files} files"
    else:
        yield (
            f"{verdict.profile}: {verdict.files} files are what the records say, and what the"
            " current settings, code and data ask for"
        )


def _at_once(findings: list[Finding]) -> Iterator[str]:
    """Of a run that is left behind as a whole, one line."""
    first = findings[0] if findings else None
    if first is not None:
        more = f" and {len(findings) - 1} more (`--json` lists them)" if findings[1:] else ""
        yield f"  {first.file}{more}: {first.why}"


def _by_folder(findings: list[Finding]) -> Iterator[str]:
    alike: dict[tuple[Path, str], list[str]] = {}
    for finding in findings:
        alike.setdefault((Path(finding.file).parent, finding.why), []).append(finding.file)
    for (folder, why), files in alike.items():
        if len(files) > MANY:
            yield f"  {folder}/, {len(files)} files: {why}"
        else:
            yield from (f"  {file}: {why}" for file in files)


def _short(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
