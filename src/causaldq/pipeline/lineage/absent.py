"""What a clone does not have: files that git does not keep, known by the hashes in the records."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from causaldq.pipeline.lineage.records import RAW, Record

LEFT_TO_A_RUN = (
    *("report.html", "tables/*.csv", "figures/*.pdf"),
    *("curves.csv", "paths.csv", "watch.csv"),
)
"""Results that repeat others, or that a figure was drawn from; .gitignore lists the same."""


def is_left_to_a_run(name: str) -> bool:
    """Whether a file is one of the results that git does not keep."""
    return any(PurePosixPath(name).match(f"results/*/{pattern}") for pattern in LEFT_TO_A_RUN)


def may_be_absent(name: str) -> bool:
    """Whether a file may be known by its hash alone, as git does not keep it.

    Examples
    --------
    >>> may_be_absent("results/paper/tables/overall.csv"), may_be_absent("results/paper/add.csv")
    (True, False)
    """
    return is_left_to_a_run(name) or name.startswith(("artifacts/", RAW))


@dataclass(frozen=True)
class Absent:
    """Files that are not here, and what it takes to have them."""

    folders: dict[str, int]
    """How many, by the kind of file, which the folder says; of results beside all others, one."""
    size: int
    seconds: float
    """That the jobs took which made them."""

    @property
    def files(self) -> int:
        return sum(self.folders.values())

    def told(self, maker: str) -> str:
        """In one line, with what makes them again."""
        counted = self.folders.items()
        kinds = ", ".join(kind if "." in kind else f"{count} in {kind}" for kind, count in counted)
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
    kinds = Counter(path.parent.name if len(path.parts) > 3 else path.name for path in paths)
    size = sum(makers[name].outputs[name].size for name in names if name in makers)
    return Absent(dict(kinds.most_common()), size, sum(record.seconds for record in jobs))


def _size(count: int) -> str:
    return f"{count / 1e6:.0f} MB" if count >= 1e7 else f"{count / 1e6:.1f} MB"


def _time(seconds: float) -> str:
    return f"about {seconds / 60:.0f} minutes" if seconds >= 90 else f"about {seconds:.0f} s"
