"""What a method is.

A method knows the problem, and sees only the values of the streams it chose to read. It
holds no state of its own: `start` makes a state, `observe` returns the next one. A state
has one row for each replication, so that a whole batch of monitoring runs advances at
once, and rows can be dropped (a run has alarmed) or repeated (one past, many futures).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from causaldq.evaluation.calibration import CalibrationSettings, limit_for
from causaldq.setting import Settings
from causaldq.statistic import StatisticSettings
from causaldq.types import Bools, Floats, Ints

GraphNeed = Literal["estimated", "known", "none"]


@dataclass(frozen=True)
class Problem:
    """What every method knows before monitoring begins."""

    covariance: Floats
    """(p, p), in control; streams have mean zero."""
    m: int
    """Sensors."""
    statistic: StatisticSettings
    graphs: Bools | None = None
    """(g, p, p), equally likely acyclic causal graphs; entry [i, j] says that i causes j."""

    @property
    def p(self) -> int:
        return len(self.covariance)


@dataclass(frozen=True)
class Truth:
    """What only a bound may know."""

    shifted: Bools
    """(n, p), the streams that will shift."""
    mean: Floats
    """(n, p), their mean after the change."""

    def take(self, rows: npt.NDArray[np.generic]) -> "Truth":
        return Truth(self.shifted[rows], self.mean[rows])


@dataclass(frozen=True)
class State:
    """Base of all states: fields are arrays, or states, with one row a replication."""

    def take(self, rows: npt.NDArray[np.generic]) -> Self:
        """Keep, drop or repeat replications."""
        return replace(self, **{f.name: _rows(getattr(self, f.name), rows) for f in fields(self)})

    def put(self, rows: npt.NDArray[np.generic], other: Self) -> Self:
        """Replace some replications by those of another state."""
        return replace(
            self,
            **{
                f.name: _put(getattr(self, f.name), rows, getattr(other, f.name))
                for f in fields(self)
            },
        )


def _rows(value: object, rows: npt.NDArray[np.generic]) -> object:
    if isinstance(value, np.ndarray):
        return value[rows]
    return value.take(rows)  # type: ignore[attr-defined]


def _put(value: object, rows: npt.NDArray[np.generic], other: object) -> object:
    if isinstance(value, np.ndarray):
        value = value.copy()
        value[rows] = other
        return value
    return value.put(rows, other)  # type: ignore[attr-defined]


S = TypeVar("S", bound=State)


class Method(ABC, Generic[S]):
    """Chooses m streams to read, and turns what was read into an alarm statistic."""

    options: ClassVar[type[Settings] | None] = None
    """Settings of its own, the constructor's second argument; None if it has none."""

    is_bound: ClassVar[bool] = False
    """True if the method uses the truth: a yardstick, not a competitor."""

    trained: ClassVar[bool] = False
    """True if the method was trained for one of the protocols, and may differ between them."""

    limit_depends_on_shift: ClassVar[bool] = False
    """True for a bound whose statistic knows the shift: it needs a limit for each."""

    graph: ClassVar[GraphNeed] = "none"
    """What `Problem.graphs` should hold for it."""

    publishes_run_length: ClassVar[bool] = False
    """True if the method's own publication sets its limit by simulation to a run length."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @abstractmethod
    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> S:
        """State of n replications before anything is read. Only bounds receive the truth."""

    @abstractmethod
    def choose(self, state: S, rng: np.random.Generator) -> Ints:
        """Streams to read next, (n, m), distinct in each row."""

    @abstractmethod
    def observe(self, state: S, streams: Ints, values: Floats, rng: np.random.Generator) -> S:
        """Take in the values (n, m) of the chosen streams (n, m)."""

    @abstractmethod
    def statistic(self, state: S) -> Floats:
        """Alarm statistic (n,); an alarm is raised when it exceeds the limit."""

    def contributions(self, state: S) -> Floats:
        """How strongly each stream speaks for a shift (n, p), for the report of an alarm."""
        raise NotImplementedError(f"{type(self).__name__} does not tell streams apart")

    def published_limit(
        self, in_control: Callable[[], Floats], settings: CalibrationSettings
    ) -> float:
        """Limit of the `paper` protocol; in-control statistics (paths, steps) if asked for.

        The nominal chi-square quantile with p degrees of freedom, unless the method's own
        publication sets another.
        """
        if self.publishes_run_length:
            return limit_for(in_control(), settings.arl0)
        from scipy.special import chdtri  # slow to import, and rarely needed

        return float(chdtri(self.problem.p, 1.0 - settings.nominal_level))


def top(scores: Floats, m: int, rng: np.random.Generator) -> Ints:
    """The m largest of each row of scores (n, p), ties broken at random; (n, m), ascending."""
    return largest(scores, m, rng.random(scores.shape))


def largest(scores: npt.NDArray[np.floating[Any]], m: int, order: npt.NDArray[Any]) -> Ints:
    """Places of the m largest of each row (n, p), (n, m), ascending.

    Of equals, those that come first in `order` (n, p) are taken.
    """
    place = scores.shape[1] - m
    chosen = scores >= np.partition(scores, place, axis=1)[:, place, None]
    # Sorting decides only where it must: between equals at the edge.
    unclear = np.flatnonzero(chosen.sum(axis=1) != m)
    if len(unclear):
        sorted_places = np.lexsort((order[unclear], -scores[unclear]), axis=1)
        chosen[unclear] = False
        chosen[unclear[:, None], sorted_places[:, :m]] = True
    return np.nonzero(chosen)[1].reshape(-1, m)
