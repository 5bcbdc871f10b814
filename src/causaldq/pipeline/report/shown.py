"""What a report shows: tables and figures, each with its caption and how it is made."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from causaldq.pipeline.report.tidy import Tidy

Rows = Callable[[Tidy], pd.DataFrame]
Text = str | Callable[[Tidy], str]
"""As it is, or from what was measured."""


@dataclass(frozen=True)
class Table:
    """A LaTeX table, with the rows behind it."""

    name: str
    rows: Rows
    latex: Callable[[Tidy], str]
    caption: Text
    source: str | None = None
    """The tidy result that its rows are, where they do not say themselves what they are from."""
    short: "Table | None" = None
    """The same with the methods that the paper compares alone, if there are others in it."""

    def twin(self, tidy: Tidy) -> pd.DataFrame:
        """Its rows; where they do not name their files, with the tidy result that they are from."""
        rows = self.rows(tidy)
        return rows if self.source is None else rows.assign(files=str(tidy.files[self.source]))


@dataclass(frozen=True)
class Figure:
    """A figure, for the document and the pages."""

    name: str
    category: str
    """Of the HTML report."""
    kind: str
    """Of the caption there."""
    draw: Callable[[Tidy], Any]
    caption: Text
    height: float = 0.85
    """Of a page, at most."""
    rows: Rows | None = None
    """The cells that it draws, if it draws cells of a tidy table."""

    @property
    def of_delays(self) -> bool:
        """Whether it is drawn from the delays of all runs, and from nothing else."""
        return self.kind in ("delay", "events", "overall")


def caption(shown: Table | Figure, tidy: Tidy) -> str:
    """What stands below it."""
    return shown.caption if isinstance(shown.caption, str) else shown.caption(tidy)


def table(
    name: str,
    rows: Rows,
    latex: Callable[[pd.DataFrame], str],
    caption: str | Callable[[pd.DataFrame], str],
    source: str | None = None,
) -> Table:
    """A table that needs its rows and nothing else."""
    said = caption if isinstance(caption, str) else lambda tidy: caption(rows(tidy))
    return Table(name, rows, lambda tidy: latex(rows(tidy)), said, source)
