"""Fetching a source's files: the first of its data sets that can be had."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.errors import DataError
from causaldq.pipeline import places
from causaldq.pipeline.sources.catalogue import FileSet
from causaldq.pipeline.sources.registry import Source, is_fetched
from causaldq.setting import Settings

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan

RAW = Path("data/raw")


class FetchJob(Settings):
    source: str
    wanted: Source
    sets: dict[str, FileSet]
    """Of data/sources.yaml, the data sets that are wanted, without the prose about them."""


def settings(plan: "Plan", source: str) -> FetchJob:
    wanted = plan.fetched()[source]
    sets = {name: plan.data_sets[name].part(FileSet) for name in wanted.datasets}
    return FetchJob(source=source, wanted=wanted, sets=sets)


def inputs(plan: "Plan", source: str) -> "Files":
    # The user's own files, which no rule makes; a change of them is noticed.
    return {"own": list(plan.fetched()[source].own_files().values())}


OUTPUTS = {"output": places.FETCHED}


def run(job: FetchJob, *, own: Path | None = None, folder: Path = RAW, output: Path) -> None:
    """Fetch the files of a source, check their hashes, and write down where they came from."""
    wanted = job.wanted
    if not is_fetched(wanted):
        raise TypeError(f"{job.source} is not fetched")
    passed_over: list[str] = []
    for name in wanted.datasets:
        # Only the last may be downloaded: nobody wants gigabytes because a mirror lacks a file.
        is_last = name == wanted.datasets[-1]
        order = [way for way in wanted.fetch if is_last or way == "mirror"]
        try:
            found = wanted.get(name, job.sets[name], order, folder / name)
        except DataError as error:
            passed_over.append(str(error))
            continue
        for message in passed_over:
            print(f"passed over: {message}", file=sys.stderr)
        print(f"{job.source}: {found.label}", file=sys.stderr)
        found.write_manifest(output, passed_over)
        return
    raise DataError(f"{job.source}: {'; '.join(passed_over)}")
