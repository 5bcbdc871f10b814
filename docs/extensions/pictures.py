"""The same look for every picture."""

from pathlib import Path
from typing import Any

import matplotlib as mpl

STYLE = Path(__file__).parents[1] / "pictures.mplstyle"


def apply_style(*_: Any) -> None:
    """Undo what the last script changed, and set the style."""
    mpl.rcdefaults()
    mpl.use("agg")
    mpl.style.use(STYLE)
