"""The code of a run's jobs, from the commits that they ran at."""

from collections import Counter
from pathlib import Path

from causaldq.pipeline.lineage.audit import hashes_in
from causaldq.pipeline.lineage.records import Record
from causaldq.pipeline.lineage.repository import CODE_PLACES, copy_code, is_in_history, lay_out


class CrateCode:
    """The code of a run's jobs, from the commits that they ran at.

    Most jobs ran at one commit, whose code lies where it always does; that of others lies below
    code/<commit>/.
    """

    def __init__(self, root: Path, records: list[Record], scratch: Path) -> None:
        self.trees: dict[str, Path] = {}
        """By where they lie in the crate."""
        self.commits: dict[str, str] = {}
        self.prefix: dict[str, str] = {}
        """Where the code of each job lies."""
        self.unknown = records
        for number, commit in enumerate(self._commits(root, records)):
            tree = scratch / str(number)
            tree.mkdir()
            if commit is None:
                copy_code(root, tree)
            elif not lay_out(root, commit, tree, (*CODE_PLACES, "README.md")):
                continue
            self._take(tree, commit or "not committed")

    @staticmethod
    def _commits(root: Path, records: list[Record]) -> list[str | None]:
        """Of the records, those of most jobs first; None for the code that is here."""
        counts = Counter(record.code.commit for record in records)
        known = [c for c, _ in counts.most_common() if c is not None and is_in_history(root, c)]
        return [*known, None]

    def _take(self, tree: Path, commit: str) -> None:
        """Keep a tree if it has the code of any job that has none yet."""
        hashes = hashes_in(tree, [(record.script, record.settings) for record in self.unknown])
        found = {
            r.job for r, known in zip(self.unknown, hashes, strict=True) if known == r.code.hash
        }
        if not found:
            return
        prefix = f"code/{commit[:12].replace(' ', '_')}/" if self.trees else ""
        self.trees[prefix], self.commits[prefix] = tree, commit
        self.prefix |= dict.fromkeys(found, prefix)
        self.unknown = [record for record in self.unknown if record.job not in found]
