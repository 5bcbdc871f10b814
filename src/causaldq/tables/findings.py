"""What was found in a file, and the one line that refuses it."""

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from causaldq.errors import DataError

SHOWN = 40


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or odd.

    Examples
    --------
    >>> Finding("constant", "column 'valve'", "always 3", "left out").kind
    'constant'
    """

    kind: str
    where: str
    """The file, a line, a column."""
    what: str
    """What was found, and what it means."""
    done: str
    """What the settings of `causaldq inspect --write` do about it."""


def refuse(path: Path, text: str) -> NoReturn:
    """Raise what is wrong with a file as one line."""
    line = " ".join(f"{path}{'' if text.startswith(',') else ' '}{text}".split())
    raise DataError(line) from None


def show(value: object) -> str:
    """A cell or a name for a message: short, and on one line whatever it holds."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 4]}...'"


def some(items: list[str], most: int = 4) -> str:
    """The first few of some words.

    Examples
    --------
    >>> some(["a", "b", "c"], most=2), some(["a", "b"], most=2)
    ('a, b and 1 more', 'a, b')
    """
    rest = len(items) - most
    return ", ".join(items[:most]) + (f" and {rest} more" if rest > 0 else "")
