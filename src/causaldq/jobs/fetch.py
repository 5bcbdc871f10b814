"""Fetching a source's files: the first of its data sets that can be had."""

import sys
from pathlib import Path

from causaldq.errors import DataError
from causaldq.files import sha256, write_json
from causaldq.jobs.settings.data import FetchJob
from causaldq.sources.catalogue import Catalogue, read_catalogue
from causaldq.sources.fetch import Fetched, Source, fetch, given
from causaldq.sources.settings import FlareSource, TepSource

RIETH_IN_CONTROL = ["TEP_FaultFree_Training.RData", "TEP_FaultFree_Testing.RData"]
RIETH_FAULTY = ["TEP_Faulty_Testing.RData"]


def run_fetch(job: FetchJob, catalogue: Path, folder: Path, output: Path) -> None:
    """Get the files into `folder`, and write down what they are and where they came from."""
    known = read_catalogue(catalogue)
    passed_over: list[str] = []
    for name in job.wanted.datasets:
        # Only the last may be downloaded: nobody wants gigabytes because a mirror lacks a file.
        is_last = name == job.wanted.datasets[-1]
        order = [way for way in job.wanted.fetch if is_last or way == "mirror"]
        try:
            found = _get(name, job.wanted, known, order, folder / name)
        except DataError as error:
            passed_over.append(str(error))
            continue
        for message in passed_over:
            print(f"passed over: {message}", file=sys.stderr)
        print(f"{job.source}: {found.label}", file=sys.stderr)
        write_json(output, _manifest(found, passed_over))
        return
    raise DataError(f"{job.source}: {'; '.join(passed_over)}")


def _get(
    name: str, wanted: TepSource | FlareSource, known: Catalogue, order: list[Source], folder: Path
) -> Fetched:
    mirror = Path(wanted.mirror) if wanted.mirror else None
    if isinstance(wanted, TepSource):
        faulty = RIETH_FAULTY if wanted.faults else []
        files = RIETH_IN_CONTROL + faulty if name == "tep_rieth" else None
        return fetch(name, known, order, mirror, folder, files)
    path = Path(wanted.path) if wanted.path else None
    if name == "flares_surrogate":
        return Fetched(name, {}, {"": ("made", "data/reference/flare_moments.json")})
    if path is not None and path.is_dir() == (name == "flares_swan"):
        return given(name, known, path)
    if name == "flares_bigdata":
        raise DataError(f"{name}: no path given; {known[name].remedy}")
    return fetch(name, known, order, mirror, folder)


def _manifest(found: Fetched, passed_over: list[str]) -> dict[str, object]:
    files = {
        name: {
            "path": str(path),
            "sha256": sha256(path),
            "bytes": path.stat().st_size,
            "source": found.origins[name][0],
            "place": found.origins[name][1],
        }
        for name, path in found.files.items()
    }
    return {
        "dataset": found.name,
        "label": found.label,
        "files": files,
        "passed_over": passed_over,
    }
