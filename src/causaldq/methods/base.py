"""What a method is.

A method knows the problem, and sees only the values of the streams it chose to read. It
holds no state of its own: `start` makes a state, `observe` returns the next one. A state
has one row for each replication, so that a whole batch of monitoring runs advances at
once, and rows can be dropped (a run has alarmed) or repeated (one past, many futures).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from causaldq.calibration import CalibrationSettings, limit_for
from causaldq.covariance import CovarianceLike, Structured, refuse_dense, variance_of
from causaldq.errors import ConfigError
from causaldq.setting import Settings
from causaldq.statistic import StatisticSettings
from causaldq.types import Bools, Floats, Ints

if TYPE_CHECKING:
    from causaldq.models.state_space import StateSpace

GraphNeed = Literal["estimated", "known", "none"]


@dataclass(frozen=True)
class Problem:
    """What every method knows before monitoring begins.

    Parameters
    ----------
    covariance : array, shape (p, p), or structure
        In control; streams have mean zero. A `FactorCovariance` or `BlockCovariance` where p is
        large; (n, p, p) for n replications of different plants, for methods that allow it.
    m : int
        Sensors.
    statistic : StatisticSettings, optional
        Of the local statistic.
    graphs : array of bool, shape (g, p, p), optional
        Equally likely acyclic causal graphs; entry [i, j] says that i causes j.
    dynamics : StateSpace, optional
        How rows follow from rows before, for methods that use it; None where they do not.

    Examples
    --------
    >>> import numpy as np
    >>> Problem(np.eye(5), 2).p
    5
    """

    covariance: CovarianceLike
    m: int
    statistic: StatisticSettings = field(default_factory=StatisticSettings)
    graphs: Bools | None = None
    dynamics: "StateSpace | None" = None

    def __post_init__(self) -> None:
        shape = self.covariance.shape
        if not isinstance(self.covariance, Structured):
            if len(shape) not in (2, 3) or shape[-2] != shape[-1]:
                raise ConfigError(f"the covariance has shape {shape}; give a square matrix (p, p)")
            refuse_dense(self.p)
            if not np.isfinite(self.covariance).all() or (self.variance <= 0).any():
                raise ConfigError("the covariance must be finite, with a positive diagonal")
        if not 1 <= self.m <= self.p:
            raise ConfigError(f"{self.m} sensors for {self.p} streams; give 1 to {self.p}")
        if self.graphs is not None and np.shape(self.graphs)[1:] != (self.p, self.p):
            raise ConfigError(
                f"graphs have shape {np.shape(self.graphs)}; give (graphs, {self.p}, {self.p})"
            )

    @property
    def p(self) -> int:
        """Streams."""
        return int(self.covariance.shape[-1])

    @property
    def matrix(self) -> Floats:
        """(p, p), the covariance for methods that cannot do without; refused where p is large."""
        return np.asarray(self.covariance, np.float64)

    @property
    def variance(self) -> Floats:
        """(p,), of each stream in control."""
        return variance_of(self.covariance)


@dataclass(frozen=True)
class Truth:
    """What only a bound may know.

    Parameters
    ----------
    shifted : array of bool, shape (n, p)
        The streams that will shift.
    mean : array, shape (n, p)
        Their mean after the change.

    Examples
    --------
    >>> import numpy as np
    >>> shifted = np.array([[True, False, False]])
    >>> truth = Truth(shifted, 1.5 * shifted)
    """

    shifted: Bools
    mean: Floats

    def take(self, rows: npt.NDArray[np.generic]) -> "Truth":
        """Keep, drop or repeat replications."""
        return Truth(self.shifted[rows], self.mean[rows])


@dataclass(frozen=True)
class State:
    """Base of all states: fields are arrays, or states, with one row per replication.

    Examples
    --------
    >>> import numpy as np
    >>> @dataclass(frozen=True)
    ... class Sums(State):
    ...     total: Floats
    >>> Sums(np.array([1.0, 2.0, 3.0])).take(np.array([2, 0])).total
    array([3., 1.])
    """

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
    """Chooses m streams to read, and turns what was read into an alarm statistic.

    Subclass it for a method of your own; `causaldq.check_method` says whether it keeps to the
    contract, and `Monitor.fit`, `calibrate` and `evaluate` take the class as their `method`.

    Examples
    --------
    The streams that were furthest off when they were last read, or have not been read for long:

    >>> import numpy as np
    >>> @dataclass(frozen=True)
    ... class Last(State):
    ...     size: Floats
    >>> class Furthest(Method[Last]):
    ...     def start(self, n, truth, rng):
    ...         return Last(np.zeros((n, self.problem.p)))
    ...     def choose(self, state, rng):
    ...         return top(state.size, self.problem.m, rng)
    ...     def observe(self, state, streams, values, rng):
    ...         size = state.size + 0.1
    ...         np.put_along_axis(size, streams, np.abs(values), axis=1)
    ...         return Last(size)
    ...     def statistic(self, state):
    ...         return state.size.max(axis=1)
    >>> from causaldq import check_method
    >>> check_method(Furthest)
    """

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

    kinds_of_change: ClassVar[tuple[str, ...]] = ()
    """What `kinds` tells apart; empty if the method tells only where, not how."""

    uses_dynamics: ClassVar[bool] = False
    """True if the method makes use of `Problem.dynamics`."""

    sums_likelihood_ratios: ClassVar[bool] = False
    """True if exp(statistic) is a Shiryaev-Roberts sum: n on average after n steps in control,
    so that the limit log ARL0 keeps the run length ARL0 without calibration."""

    many_plants: ClassVar[bool] = False
    """True if `Problem.covariance` may be (n, p, p), another one for each replication."""

    publishes_run_length: ClassVar[bool] = False
    """True if the method's own publication sets its limit by simulation to a run length."""

    def __init__(self, problem: Problem) -> None:
        if len(problem.covariance.shape) == 3 and not self.many_plants:
            raise ConfigError(f"{type(self).__name__} takes one covariance (p, p), not several")
        self.problem = problem

    @classmethod
    def rebuilt(
        cls, problem: Problem, options: Mapping[str, Any], learned: Mapping[str, npt.NDArray[Any]]
    ) -> "Method[Any]":
        """The method from what a file keeps of it: settings of its own, and what was learned."""
        if cls.options is None:
            return cls(problem)
        return cls(problem, cls.options.model_validate(options))  # type: ignore[call-arg]

    def learned(self) -> Mapping[str, npt.NDArray[Any]]:
        """Arrays that training gave it, for a file; none if it was not trained."""
        return {}

    @abstractmethod
    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> S:
        """State of n replications before anything is read. Only bounds receive the truth."""

    def again(self, state: S, rows: Ints, truth: Truth | None, rng: np.random.Generator) -> S:
        """The state after an alarm of some replications: what spoke for a change is forgotten.

        A method that follows where the plant is keeps that.
        """
        return state.put(rows, self.start(len(rows), truth, rng))

    @abstractmethod
    def choose(self, state: S, rng: np.random.Generator) -> Ints:
        """Streams to read next, (n, m), distinct in each row."""

    @abstractmethod
    def observe(self, state: S, streams: Ints, values: Floats, rng: np.random.Generator) -> S:
        """Take in the values (n, k) of the streams (n, k) that were read.

        They are those chosen, or fewer where sensors failed; none at all is a step, too.
        """

    def without(self, state: S, streams: Ints) -> S:
        """The state in which streams (k,) that can no longer be read speak for no change.

        As it is, unless unread streams gain evidence with time, or keep what they had for ever.
        """
        return state

    @abstractmethod
    def statistic(self, state: S) -> Floats:
        """Alarm statistic (n,); an alarm is raised when it exceeds the limit."""

    def contributions(self, state: S) -> Floats:
        """How strongly each stream speaks for a shift (n, p), for the report of an alarm."""
        raise NotImplementedError(f"{type(self).__name__} does not tell streams apart")

    def kinds(self, state: S) -> Floats:
        """Probability (n, p, kinds) that each stream changed in each way of `kinds_of_change`."""
        raise NotImplementedError(f"{type(self).__name__} does not tell kinds of change apart")

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
