"""Very many streams with memory: `innovation_filter` on few factors and own dynamics.

The filter, its hypotheses and its sums are those of `causaldq.methods.innovation_filter`. What it
knows of the plant is a `FactorDynamics` in place of a `StateSpace`, so that no matrix (p, p) is
made. Where both models are the same, so are the statistics.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import numpy.typing as npt

from causaldq.arguments import whole
from causaldq.calibration import RunLength
from causaldq.covariance import FactorCovariance
from causaldq.errors import DataError
from causaldq.fitting import LIMITS
from causaldq.limits import Limit, known_from
from causaldq.memory_limits import bounding_limit
from causaldq.methods.base import Method, Problem
from causaldq.methods.change_times import over_times
from causaldq.methods.information import TIE, most_informative
from causaldq.methods.innovation_filter import (
    InnovationFilter,
    InnovationFilterSettings,
    InnovationState,
)
from causaldq.models.diagnoses import diagnose
from causaldq.models.factor_dynamics import FactorDynamics
from causaldq.models.fit_dynamics import fit_factor_dynamics
from causaldq.models.rows import block_length, fit_scale
from causaldq.monitor import Monitor
from causaldq.normal import choices, table
from causaldq.run import step
from causaldq.seeds import generator
from causaldq.state_arrays import part
from causaldq.types import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

NAME = "factor_filter"
LEFT_OUT = 0.2
"""Of the rows, the last, on which the run length is measured with a model fitted to the others."""
LEAST_ROWS = 100


class FactorFilter(InnovationFilter):
    """`InnovationFilter` on a `FactorDynamics`.

    Examples
    --------
    >>> plant = FactorDynamics.of(np.full((6, 1), 0.7), [0.9], [0.5] * 6, [0.1] * 6)
    >>> method = FactorFilter(Problem(plant.covariance, 2), None, plant)
    >>> rng = np.random.default_rng(0)
    >>> method.choose(method.start(3, None, rng), rng).shape
    (3, 2)
    """

    def __init__(
        self,
        problem: Problem,
        settings: InnovationFilterSettings | None,
        plant: FactorDynamics,
    ) -> None:
        Method.__init__(self, problem)
        self.plant = plant
        self.model = cast(Any, plant)
        self.settings = settings = settings or InnovationFilterSettings()
        self.share = min(settings.most_shifted, problem.m / problem.p)
        self.kappas = np.array([*settings.inflations, *settings.harmless])
        self.null = settings.mean_error * plant.mean_error
        nothing = np.zeros((1, problem.p))
        no_inflation = np.zeros((1, problem.p, len(self.kappas)))
        _, *unread = self._judged(nothing, nothing, no_inflation, np.arange(problem.p)[None])
        self.unread = unread

    @classmethod
    def rebuilt(
        cls, problem: Problem, options: Mapping[str, Any], learned: Mapping[str, npt.NDArray[Any]]
    ) -> "FactorFilter":
        settings = InnovationFilterSettings.model_validate(options)
        return cls(problem, settings, FactorDynamics(**learned))

    def learned(self) -> Mapping[str, npt.NDArray[Any]]:
        """The plant's model."""
        return self.plant.arrays()

    def choose(self, state: InnovationState, rng: np.random.Generator) -> Ints:
        n = len(state.time)
        noise = 1.0 + TIE * rng.random((n, self.problem.p))
        loadings, alone = self.plant.unsure(state.covariance)
        worth = self._worth(state, alone + np.einsum("npg,npg->np", loadings, loadings))
        return np.concatenate(
            [
                most_informative(
                    FactorCovariance(loadings[i], alone[i]),
                    worth[i : i + 1],
                    self.problem.m,
                    noise=noise[i : i + 1],
                )
                for i in range(n)
            ]
        )

    def worth(self, state: InnovationState) -> Floats:
        loadings, alone = self.plant.unsure(state.covariance)
        return self._worth(state, alone + np.einsum("npg,npg->np", loadings, loadings))

    def _worth(self, state: InnovationState, variance: Floats) -> Floats:
        """As of `InnovationFilter.worth`, with the variance (n, p) of what is read next."""
        spread = np.sqrt(variance)
        seen = state.size * (1.0 - state.absorbed) / spread[:, None]
        widened, moved, size = self.unread
        worth = over_times(
            state.total,
            state.widened + state.moved * np.log1p(seen),
            widened + moved * np.log1p(size / spread),
        )
        return np.asarray(worth * variance * np.minimum(1.0, state.unread / self.plant.period))

    def _absorbed(
        self, absorbed: Floats, place: Ints, left: Floats, seen: Any, streams: Ints
    ) -> Floats:
        kept = absorbed * self.plant.a
        kept.reshape(-1)[place] += seen.own_gain[:, None] * left
        return np.asarray(kept, np.float64)


class LargeMonitor(Monitor):
    """A `Monitor` of very many streams with memory, by `innovation_filter` without a matrix.

    For rows that follow from rows before, above the 2,000 streams up to which
    `Monitor.fit(method="innovation_filter")` works; below, that is the one to take. The model has
    few common factors, and a memory of each stream's own.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> plant = FactorDynamics.of(np.full((40, 1), 0.6), [0.9], [0.8] * 40, [0.1] * 40)
    >>> rows = plant.simulate(1, 1000, rng)[0]
    >>> rows[900:, 7] += 4.0
    >>> monitor = LargeMonitor.fit(rows[:800], sensors=10, names=[f"s{i}" for i in range(40)])
    >>> for row in rows[900:940]:
    ...     reading = monitor.update(dict(zip(monitor.names, row)))
    >>> reading.alarm, next(iter(monitor.changes()))
    (True, 's7')
    """

    @classmethod
    def fit(  # type: ignore[override]
        cls,
        rows: "pd.DataFrame | npt.ArrayLike",
        sensors: int,
        *,
        arl0: float = 200.0,
        names: Sequence[str] | None = None,
        factors: int | None = None,
        seed: int = 0,
    ) -> Self:
        """Learn normal operation; the alarm limit is the bound log `arl0`.

        Parameters
        ----------
        rows : DataFrame or array, shape (n, p)
            Rows of normal operation, evenly spaced in time, one column per stream, without gaps.
        sensors : int
            Streams that can be read at a time, m.
        arl0 : float
            Wanted steps to a false alarm.
        names : sequence of str, optional
            Of the streams, where the rows have no columns.
        factors : int, optional
            Common ones; by default as many as make the last fifth of the rows likeliest.
        seed : int
            The same rows and seed give the same monitor.

        Returns
        -------
        LargeMonitor
            Its summary tells the run length on the last fifth of the rows, watched once by a
            filter that was fitted to those before.
        """
        labels, values = table(rows, names)
        sensors, arl0, _, seed = choices(
            sensors, arl0, None, seed, len(labels), "innovation_filter", "bound"
        )
        if len(values) < LEAST_ROWS:
            raise DataError(f"{len(values)} rows of normal operation; give at least {LEAST_ROWS}")
        if factors is not None:
            factors = whole("factors", factors, 0, len(labels))
        scale = fit_scale(values, labels)
        scaled = scale.apply(values)
        plant = fit_factor_dynamics(scaled, factors)
        limit = bounding_limit(arl0)
        reached = _reached(values, labels, sensors, plant.factors, limit, seed)
        monitor = cls(
            FactorFilter(Problem(plant.covariance, sensors), None, plant),
            name=NAME,
            names=labels,
            mean=scale.mean,
            sd=scale.sd,
            limit=Limit(limit, arl0, reached),
            seed=seed,
            facts={
                "rows": len(values),
                "covariance": "factor",
                "shrinkage": 0.0,
                "memory": block_length(scaled),
                "factors": plant.factors,
                "model": "few common factors and a memory of each stream's own",
                "limit": LIMITS["bound"],
                "why": [one.text for one in diagnose(values, labels)],
            },
        )
        monitor._warn()
        return monitor

    @classmethod
    def _rebuilt(
        cls, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], method: Any = None
    ) -> Self:
        def made(problem: Problem) -> FactorFilter:
            return FactorFilter.rebuilt(problem, facts["options"], part(arrays, "learned"))

        return super()._rebuilt(facts, arrays, method or made)


def _reached(
    rows: Floats, names: tuple[str, ...], sensors: int, factors: int, limit: float, seed: int
) -> RunLength:
    """Run length on the last rows, by a filter that was fitted to those before."""
    first = len(rows) - math.floor(LEFT_OUT * len(rows))
    scale = fit_scale(rows[:first], names)
    plant = fit_factor_dynamics(scale.apply(rows[:first]), factors)
    method = FactorFilter(Problem(plant.covariance, sensors), None, plant)
    rng = generator(seed, "left out")
    state, alarms = method.start(1, None, rng), 0
    for row in scale.apply(rows[first:]):
        state, _, value = step(method, state, row[None], rng)
        if value[0] > limit:
            alarms += 1
            state = method.again(state, np.array([0]), None, rng)
    return known_from(np.array([float(len(rows) - first)]), np.array([float(alarms)]))
