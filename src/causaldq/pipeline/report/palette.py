"""One look for each method, the same in every figure, table and page.

Seven colours that are told apart with any kind of colour vision (after Okabe and Ito), the same
again dashed and dotted. Bounds, which know where the shift is, are black.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from causaldq.methods.registry import AGENTS, NAMES, is_bound

COLOURS = ("#d55e00", "#e69f00", "#cc79a7", "#56b4e9", "#7f7f7f", "#0072b2", "#009e73")
RED, ORANGE, PINK, SKY, GREY, BLUE, GREEN = COLOURS
DASHES = ("-", "--", ":", "-.")
MARKERS = "osv^D<>ph*"
INK = "#222222"
ALARM = RED
FOREMOST = ("causal_dq", "non_causal", "sdq", "tssrp", "asmp", "greedy", "bayes_posterior")
"""The five methods that the paper compares, the baseline to beat, and what we recommend."""
LIMIT, ORACLE = "cusum", "oracle_set"
"""Bounds that figures show: grey below the first, which is told everything; the other dashed."""
_ORDER = list(dict.fromkeys([*FOREMOST, *AGENTS, *(name for name in NAMES if not is_bound(name))]))
_BOUNDS = [name for name in NAMES if is_bound(name)]


@dataclass(frozen=True)
class Look:
    """How a method is drawn."""

    colour: str
    dashes: str
    marker: str | None
    width: float


def look(method: str) -> Look:
    """How a method is drawn; one that is not ours goes by its name.

    Examples
    --------
    >>> look("causal_dq").colour, look("oracle_set").colour
    ('#d55e00', '#222222')
    """
    if method in _BOUNDS:
        return Look(INK, DASHES[1 + _BOUNDS.index(method) % 3], None, 1.2)
    known = method in _ORDER
    place = _ORDER.index(method) if known else len(_ORDER) + sum(map(ord, method))
    return Look(
        COLOURS[place % len(COLOURS)],
        DASHES[place // len(COLOURS) % len(DASHES)],
        MARKERS[place % len(MARKERS)],
        2.4 if method == "causal_dq" else 1.4,
    )


def foremost(methods: Iterable[str], at_most: int) -> list[str]:
    """The methods to show where there is no room for all, bounds left out.

    Examples
    --------
    >>> foremost(["oracle_set", "random", "greedy", "causal_dq"], 2)
    ['causal_dq', 'greedy']
    """
    found = [method for method in dict.fromkeys(methods) if not is_bound(method)]
    first = [method for method in FOREMOST if method in found]
    return [*first, *(method for method in found if method not in first)][:at_most]


def spread(places: Sequence[float], gap: float, rounds: int = 200) -> list[float]:
    """Places at least a gap apart, in their order and near to where they were.

    Examples
    --------
    >>> [round(place, 2) for place in spread([1.0, 0.0, 1.0], 0.5)]
    [0.75, 0.0, 1.25]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = list(places)
    for _ in range(rounds):
        for below, above in itertools.pairwise(order):
            lacking = max(0.0, gap - (moved[above] - moved[below])) / 2
            moved[below] -= lacking
            moved[above] += lacking
    return moved
