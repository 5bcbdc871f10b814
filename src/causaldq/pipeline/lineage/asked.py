"""What a person asks for: a file, a code from the PDF or a card, or a name that is nearly right."""

import difflib
from pathlib import Path

from causaldq.errors import DataError
from causaldq.pipeline.report.codes import cell_of

SEPARATOR = ":"
"""Between a profile and a code: `paper:noise_free_p10`, `quick:noise_free/p10/…/0.25`."""


def resolve(root: Path, asked: Path, cell: str | None) -> tuple[Path, str | None]:
    """The file and the cell that are meant.

    Raises
    ------
    DataError
        If no table of the profile has such a code, with those that nearly have it.
    """
    profile, is_code, code = str(asked).partition(SEPARATOR)
    results = root / "results" / profile
    if not is_code or asked.exists() or not results.is_dir():
        return asked, cell
    # A card's code may end with which of the cell's numbers it is.
    meant = cell_of(code) or cell_of(code.rpartition("/")[0])
    if meant is not None:
        return results / "add.csv", ", ".join(f"{key}={value}" for key, value in meant.items())
    tables = {path.stem: path for path in sorted((results / "tables").glob("*.tex"))}
    if code in tables:
        return tables[code], cell
    raise DataError(f"there is no {asked}{meant_by(code, list(tables))}")


def nearest(name: str, known: list[str]) -> list[str]:
    """Names that are nearly the same, the nearest first."""
    lowered = {text.lower(): text for text in known}
    return [lowered[text] for text in difflib.get_close_matches(name.lower(), lowered, 3, 0.6)]


def meant_by(name: str, known: list[str]) -> str:
    """What may have been meant, as the end of a message."""
    near = nearest(name, known)
    return f"; did you mean {' or '.join(near)}?" if near else ""
