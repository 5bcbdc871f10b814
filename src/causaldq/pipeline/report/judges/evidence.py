"""What speaks for a claim and what against it, and the verdict that follows."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from causaldq.estimates import Error, half_width, sum_of_errors

Outcome = Literal["for", "against", "open", "missing"]

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "inconclusive"
SOME_READINGS = "holds in some readings"
"""Of a statement in words that can be read in several ways; measurements have one reading."""
VERDICTS = (HOLDS, SOME_READINGS, FAILS, UNKNOWN)


MOST_SEEDS = 1000
"""Nobody trains more; a gain that would take them is as good as none."""


class Seeds(NamedTuple):
    """Training seeds with which a cell within noise would speak for a claim, or against it.

    Of each agent, if means and spreads stay as they are; None if it would not.
    """

    to_support: int | None = None
    to_contradict: int | None = None


NOT_BY_SEEDS = Seeds()


@dataclass(frozen=True)
class Piece:
    """One thing that was looked at, and whether it speaks for the claim."""

    cell: str
    outcome: Outcome
    """`open`: measured, but within noise; `missing`: not measured in this profile."""
    detail: str
    protocol: str = ""
    """Empty where there is none, as for numbers in print."""
    table: str = ""
    """Name of its rows in results/<profile>/tables."""
    seeds: Seeds = NOT_BY_SEEDS


@dataclass(frozen=True)
class Judgement:
    """All that bears on one claim."""

    pieces: list[Piece]
    unit: str = "cells"
    notes: dict[str, str] = field(default_factory=dict)
    """More to know, by protocol."""


@dataclass(frozen=True)
class Count:
    """How many pieces speak for a claim, and how many do not."""

    supporting: int
    against: int
    open: int
    missing: int

    @property
    def measured(self) -> int:
        return self.supporting + self.against + self.open

    @property
    def verdict(self) -> str:
        """A claim about every cell fails with one that contradicts it beyond noise, holds if all
        that was measured speaks for it, and is inconclusive if neither is so.
        """
        if self.against:
            return FAILS
        return HOLDS if self.supporting and not self.open else UNKNOWN


def count(pieces: Iterable[Piece]) -> Count:
    found = Counter(piece.outcome for piece in pieces)
    return Count(found["for"], found["against"], found["open"], found["missing"])


def of_gain(low: float, high: float, least: float, cells: int = 1) -> Outcome:
    """A gain is claimed, and lies between low and high.

    It is there if it is surely above zero, and not there if it is surely below the least
    one that would matter: so surely that none of so many cells of a claim would be by chance.
    """
    if low > 0:
        return "for"
    return "against" if widened(low, high, cells)[1] < least else "open"


def of_equality(low: float, high: float, margin: float, cells: int = 1) -> Outcome:
    """That two things differ by less than a margin is claimed; so much between low and high."""
    if -margin < low and high < margin:
        return "for"
    low, high = widened(low, high, cells)
    return "against" if low > margin or high < -margin else "open"


def widened(low: float, high: float, cells: int) -> tuple[float, float]:
    """A 95% interval as wide as it must be for 95% of all of so many to cover (Bonferroni).

    One cell that contradicts a claim decides against it, so chance must not be given 36 tries. By
    normal quantiles; those of few seeds would be further out still.
    """
    middle, factor = (low + high) / 2, ndtri(1 - 0.025 / cells) / ndtri(0.975)
    return middle + factor * (low - middle), middle + factor * (high - middle)


def seeds_of_gain(low: float, high: float, least: float, seeds: float) -> Seeds:
    """How many seeds `of_gain` would take, where so many left it open."""
    middle = (low + high) / 2
    return Seeds(*(_seeds(high - middle, way, seeds) for way in (middle, least - middle)))


def seeds_of_equality(low: float, high: float, margin: float, seeds: float) -> Seeds:
    """The same of `of_equality`."""
    middle = abs(low + high) / 2
    half = (high - low) / 2
    return Seeds(*(_seeds(half, way, seeds) for way in (margin - middle, middle - margin)))


def _seeds(half: float, way: float, seeds: float) -> int | None:
    """Seeds of two agents at which an interval's half width is less than `way`."""
    if seeds < 2 or not way > 0 or not np.isfinite(half):
        return None
    more = np.arange(int(seeds) + 1, MOST_SEEDS + 1)
    of_one_seed = half / half_width(Error(1 / seeds, 2 * (seeds - 1)), 0.95)
    widths = np.array([half_width(Error(1 / n, 2.0 * (n - 1)), 0.95) for n in more])
    enough = more[of_one_seed * widths < way]
    return int(enough[0]) if len(enough) else None


def seeds_to_decide(pieces: Iterable[Piece]) -> int | None:
    """Seeds that would decide a claim about every cell: one against it, or all for it."""
    left = [piece.seeds for piece in pieces if piece.outcome == "open"]
    ways = [seeds.to_contradict for seeds in left if seeds.to_contradict is not None]
    if left and all(seeds.to_support is not None for seeds in left):
        ways.append(max(seeds.to_support or 0 for seeds in left))
    return min(ways, default=None)


def shortening(
    first: Mapping[str, Any], second: Mapping[str, Any], confidence: float
) -> tuple[float, float, float]:
    """By what share the first delay is shorter than the second, with its interval.

    Errors of the logarithms, as if the two were independent: both ran on the same paths, so
    that the interval is, if anything, too wide.
    """
    log_ratio, error = log_of_ratio(first, second)
    half = half_width(error, confidence)
    low, high = (1 - float(np.exp(log_ratio + sign * half)) for sign in (1, -1))
    return 1 - float(np.exp(log_ratio)), low, high


def log_of_ratio(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[float, Error]:
    """Logarithm of the ratio of two delays, and its error."""
    log_ratio = float(np.log(first["add"] / second["add"]))
    relative = [Error((row["se"] / row["add"]) ** 2, row["freedom"]) for row in (first, second)]
    return log_ratio, sum_of_errors(relative)
