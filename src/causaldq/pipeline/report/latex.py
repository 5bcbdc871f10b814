"""LaTeX tables, from rows of cells."""

from collections.abc import Iterable

RULE = r"\midrule"
SYMBOLS = {
    "%": r"\%",
    "&": r"\&",
    "_": r"\_",
    "–": "--",
    "δ": r"$\delta$",
    "σ": r"$\sigma$",
    "λ": r"$\lambda$",
    "∞": r"$\infty$",
}


def latex(text: str) -> str:
    """Text as LaTeX; commands in it are left alone."""
    return "".join(SYMBOLS.get(letter, letter) for letter in text)


def bold(text: str, *, when: bool = True) -> str:
    return rf"\textbf{{{text}}}" if when else text


def grey(text: str) -> str:
    return rf" \textcolor{{gray}}{{\footnotesize {text}}}"


def line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def heading(title: str, width: int) -> list[str]:
    """A rule, and a title over all columns for the rows below."""
    return [RULE, rf"\multicolumn{{{width}}}{{@{{}}l}}{{\emph{{{title}}}}} \\"]


def tabular(columns: str, lines: Iterable[str], *, is_small: bool = False) -> str:
    """A whole table. `lines` are rows and rules, the head among them."""
    start = [r"\footnotesize"] if is_small else []
    start += [rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule"]
    return "\n".join([*start, *lines, r"\bottomrule", r"\end{tabular}", ""])
