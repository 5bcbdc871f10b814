"""What a clone does not have: files too large for git, of which the records know the hashes."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from causaldq.pipeline.lineage.records import RAW, Record

REPORT = "report.html"
"""Snakemake's own, of tens of megabytes, which repeats the pages."""


def may_be_absent(name: str) -> bool:
    """Whether a file may be known by its hash alone: results are in git, artifacts are not."""
    return name.startswith(("artifacts/", RAW)) or PurePosixPath(name).name == REPORT


@dataclass(frozen=True)
class Absent:
    """Files that are not here, and what it takes to have them."""

    folders: dict[str, int]
    """How many, by the kind of file, which the folder says."""
    size: int
    seconds: float
    """That the jobs took which made them."""

    @property
    def files(self) -> int:
        return sum(self.folders.values())

    def told(self, maker: str) -> str:
        """In one line, with what makes them again."""
        kinds = ", ".join(f"{count} in {folder}" for folder, count in self.folders.items())
        kinds = kinds.replace(f"1 in {REPORT}", REPORT)
        return (
            f"not here: {self.files} files of {_size(self.size)} ({kinds}), known by their hashes;"
            f" {maker} makes them again in {_time(self.seconds)} of one core,"
            " or `dvc pull` brings them if a remote has them"
        )


def what_is_absent(
    names: Iterable[str], makers: dict[str, Record], jobs: Iterable[Record]
) -> Absent:
    """Files that are not here, and how long the jobs took that have to run again for them."""
    names = list(names)
    paths = map(PurePosixPath, names)
    kinds = Counter(path.name if path.name == REPORT else path.parent.name for path in paths)
    size = sum(makers[name].outputs[name].size for name in names if name in makers)
    return Absent(dict(kinds.most_common()), size, sum(record.seconds for record in jobs))


def _size(count: int) -> str:
    return f"{count / 1e6:.0f} MB" if count >= 1e7 else f"{count / 1e6:.1f} MB"


def _time(seconds: float) -> str:
    return f"about {seconds / 60:.0f} minutes" if seconds >= 90 else f"about {seconds:.0f} s"
