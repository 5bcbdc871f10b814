"""Charts that read every stream: principal components, as the literature on the process has them.

T2 is the squared distance within the first components, in units of their variance; Q the squared
distance from them. The dynamic chart does the same with each row and the rows before it. How many
components are kept is that of E. L. Russell, L. H. Chiang and R. D. Braatz (2000), Fault detection
in industrial processes using canonical variate analysis and dynamic principal component analysis,
Chemometrics and Intelligent Laboratory Systems 51, 81-93.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from causaldq.methods.base import Method, Problem, State, Truth
from causaldq.types import Floats, Ints

LAGS = 2
"""Rows before that the dynamic chart sees."""
STATIC, DYNAMIC = 11, 29
"""Components kept, as published for the Tennessee Eastman Process."""
IN_A_ROW = 6
"""Rows above the limit that count as an alarm where faults are published so."""
SHARE_ABOVE = 0.01
"""Of rows in control, above the limit there."""


@dataclass(frozen=True)
class Components:
    """Principal components of rows in control, standardised."""

    vectors: Floats
    """(columns, a), those that are kept."""
    variances: Floats
    """(a,)."""
    lags: int

    def t2(self, rows: Floats) -> Floats:
        """(..., rows), of rows (..., rows, p); zero before the lags are there."""
        return self._padded((self._lagged(rows) @ self.vectors) ** 2 @ (1.0 / self.variances))

    def q(self, rows: Floats) -> Floats:
        """The same."""
        lagged = self._lagged(rows)
        left = lagged - lagged @ self.vectors @ self.vectors.T
        return self._padded((left**2).sum(axis=-1))

    def _lagged(self, rows: Floats) -> Floats:
        return lagged_rows(rows, self.lags)

    def _padded(self, values: Floats) -> Floats:
        none = np.zeros((*values.shape[:-1], self.lags))
        return np.concatenate([none, values], axis=-1)


def lagged_rows(rows: Floats, lags: int) -> Floats:
    """(..., rows - lags, p (lags + 1)), each row of (..., rows, p) with those before it."""
    last = rows.shape[-2]
    parts = [rows[..., lags - lag : last - lag, :] for lag in range(lags + 1)]
    return np.concatenate(parts, axis=-1)


def components(rows: Floats, kept: int, lags: int = 0) -> Components:
    """The first components of standardised rows (n, p) in control, one left out at least."""
    lagged = lagged_rows(rows, lags)
    kept = min(kept, lagged.shape[1] - 1)
    _, sizes, directions = np.linalg.svd(lagged - lagged.mean(axis=0), full_matrices=False)
    return Components(directions[:kept].T, sizes[:kept] ** 2 / (len(lagged) - 1), lags)


@dataclass(frozen=True)
class ChartState(State):
    """The last rows, oldest first."""

    rows: Floats
    """(n, lags + 1, p)."""
    seen: Ints
    """(n,), how many of them were read."""


class Chart(Method[ChartState]):
    """A chart as a method that reads every stream."""

    def __init__(self, components: Components, kind: Literal["t2", "q"]) -> None:
        p = len(components.vectors) // (components.lags + 1)
        super().__init__(Problem(np.eye(p), p))
        self.components, self.kind = components, kind

    def values(self, rows: Floats) -> Floats:
        """Its statistic (..., rows) on rows (..., rows, p)."""
        return self.components.t2(rows) if self.kind == "t2" else self.components.q(rows)

    def start(self, n: int, truth: Truth | None, rng: np.random.Generator) -> ChartState:
        kept = self.components.lags + 1
        return ChartState(np.zeros((n, kept, self.problem.p)), np.zeros(n, dtype=np.int64))

    def choose(self, state: ChartState, rng: np.random.Generator) -> Ints:
        return np.tile(np.arange(self.problem.p), (len(state.seen), 1))

    def observe(
        self, state: ChartState, streams: Ints, values: Floats, rng: np.random.Generator
    ) -> ChartState:
        rows = np.concatenate([state.rows[:, 1:], values[:, None]], axis=1)
        return ChartState(rows, state.seen + 1)

    def statistic(self, state: ChartState) -> Floats:
        whole = state.seen > self.components.lags
        return np.where(whole, self.values(state.rows)[:, -1], 0.0)


def charts(rows: Floats) -> dict[str, Chart]:
    """The charts of the literature, fitted on standardised rows (n, p) in control."""
    static, dynamic = components(rows, STATIC), components(rows, DYNAMIC, LAGS)
    return {
        "pca_t2": Chart(static, "t2"),
        "pca_q": Chart(static, "q"),
        "dpca_q": Chart(dynamic, "q"),
    }


def published_delays(in_control: Floats, faults: Sequence[Floats]) -> list[int]:
    """For each recording, the first of six rows in a row above the limit, from 1; 0 if none is.

    Recordings (rows,) begin with their fault. The limit is the one that a hundredth of the rows in
    control (rows,) exceed.
    """
    limit = np.quantile(in_control, 1.0 - SHARE_ABOVE)
    found = []
    for values in faults:
        runs = np.lib.stride_tricks.sliding_window_view(values > limit, IN_A_ROW).all(axis=1)
        found.append(int(runs.argmax()) + 1 if runs.any() else 0)
    return found
