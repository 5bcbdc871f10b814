"""What every method has to keep to, as a test that anybody can run on a method of their own."""

from copy import deepcopy
from typing import Any

import numpy as np

from causaldq.arguments import seed_of, sensors_of, whole
from causaldq.callables import callable_method
from causaldq.errors import CausalDQError
from causaldq.methods.base import Method, Problem, State
from causaldq.methods.resolve import MethodLike, name_of, resolved
from causaldq.run import step
from causaldq.state_arrays import digest, flat
from causaldq.types import Floats, Ints

GARBAGE = (np.nan, np.inf, -np.inf, 1e300, -7.0)
RUNS, STEPS = 4, 12


class ContractError(CausalDQError):
    """A method that does not do what methods promise."""


def check_method(
    method: MethodLike, *, p: int = 7, sensors: int = 3, graph: bool = True, seed: int = 0
) -> None:
    """Check that a method keeps to the contract; raise `ContractError` if not.

    The contract: sensors are distinct streams, as many as there are; nothing that was not read,
    and nothing of the future, moves a choice or the statistic; the same seed gives the same course;
    runs side by side do not touch each other, and can be dropped or repeated; no step changes what
    was read before; a step of no runs is a step; and fewer readings than sensors, or none, are
    taken as they come. A method need not say which streams it suspects (`contributions`); if it
    does, it gives a number for each.

    Parameters
    ----------
    method : str, class or callable
        A name, a subclass of `Method`, or a function of the `Problem`.
    p, sensors : int
        Size of the problem to check it on.
    graph : bool
        Whether the problem comes with a causal graph (a chain).
    seed : int
        Of the values.

    Examples
    --------
    >>> check_method("bayes_posterior")
    >>> check_method("greedy", p=5, sensors=5)
    """
    p, seed = whole("p", p, 1), seed_of(seed)
    sensors = sensors_of(sensors, p)
    rng = np.random.default_rng(seed)
    mixing = rng.standard_normal((p, p + 3))
    covariance = mixing @ mixing.T / p + 0.2 * np.eye(p)
    chain = np.eye(p, k=1, dtype=bool)[None] if graph else None
    made = resolved(callable_method(method), Problem(covariance, sensors, graphs=chain))
    checked = _Checked(made, name_of(method), covariance, seed)
    checked.shapes()
    checked.determinism()
    checked.hidden_values()
    checked.batching()
    checked.no_runs()
    checked.fewer_readings()


class _Checked:
    """One method, with values to try it on."""

    def __init__(self, method: Method[Any], name: str, covariance: Floats, seed: int) -> None:
        self.method, self.name, self.seed = method, name, seed
        rng = np.random.default_rng(seed + 1)
        factor = np.linalg.cholesky(covariance)
        self.paths: Floats = rng.standard_normal((RUNS, STEPS, len(covariance))) @ factor.T
        self.paths += rng.choice([0.0, 2.0], (RUNS, 1, len(covariance)))

    def fail(self, what: str) -> None:
        raise ContractError(f"{self.name}: {what}")

    def course(self, paths: Floats) -> tuple[Ints, Floats]:
        """Streams read (steps, n, m) and statistics (steps, n)."""
        rng = np.random.default_rng(self.seed)
        state = self.method.start(len(paths), None, rng)
        self.check_state("start", state)
        read, values = [], []
        for t in range(paths.shape[1]):
            streams = self.method.choose(state, rng)
            self.check_choice(streams, len(paths))
            readings = np.take_along_axis(paths[:, t], streams, axis=1)
            state = self.method.observe(state, streams, readings, rng)
            self.check_state("observe", state)
            read.append(streams)
            values.append(self.method.statistic(state))
            self.check_statistic(values[-1], len(paths))
        return np.array(read), np.array(values)

    def check_state(self, step: str, state: object) -> None:
        if not isinstance(state, State):
            self.fail(f"{step} must give a subclass of State, not {type(state).__name__}")

    def check_statistic(self, values: Floats, runs: int) -> None:
        if np.shape(values) != (runs,) or not isinstance(values, np.ndarray):
            self.fail(f"statistic gives shape {np.shape(values)}; give an array (runs,)")

    def check_choice(self, streams: Ints, runs: int) -> None:
        problem = self.method.problem
        if not isinstance(streams, np.ndarray) or streams.dtype.kind not in "iu":
            self.fail("choose must give an array of whole numbers, the streams to read")
        if streams.shape != (runs, problem.m):
            self.fail(f"choose gives shape {streams.shape}; give (runs, sensors)")
        if streams.min() < 0 or streams.max() >= problem.p:
            self.fail(f"choose names streams outside 0 to {problem.p - 1}")
        if any(len(set(row)) < problem.m for row in streams.tolist()):
            self.fail("choose names a stream twice in one step")

    def shapes(self) -> None:
        """What each step gives, and that it leaves what it was given as it was."""
        if np.isnan(self.course(self.paths)[1]).any():
            self.fail("the statistic must be one number per run, never NaN")
        rng = np.random.default_rng(self.seed)
        state = self.method.start(RUNS, None, rng)
        for t in range(STEPS):
            before = deepcopy(state)
            streams = self.method.choose(state, rng)
            readings = np.take_along_axis(self.paths[:, t], streams, axis=1)
            after = self.method.observe(state, streams, readings, rng)
            self.method.statistic(after)
            if digest(flat(state)) != digest(flat(before)):
                self.fail("a step changes the state that it was given; give a new one")
            state = after
        try:
            told = self.method.contributions(state)
        except NotImplementedError:
            return
        shape = (RUNS, self.method.problem.p)
        if np.shape(told) != shape or np.isnan(told).any():
            self.fail(f"contributions gives shape {np.shape(told)}; give numbers {shape}")

    def determinism(self) -> None:
        first, second = self.course(self.paths), self.course(self.paths)
        if not all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)):
            self.fail("the same values and seed give another course; use only the generator given")

    def hidden_values(self) -> None:
        read, values = self.course(self.paths)
        for garbage in GARBAGE:
            for future in (1, STEPS // 2, STEPS):
                spoilt = np.full_like(self.paths, garbage)
                rows = np.arange(RUNS)[:, None]
                for t in range(future):
                    spoilt[rows, t, read[t]] = self.paths[rows, t, read[t]]
                with np.errstate(all="ignore"):
                    again = self.course(spoilt)
                known = min(future + 1, STEPS)
                if not np.array_equal(again[0][:known], read[:known]):
                    self.fail("a value that was not read changes which sensors are chosen")
                if not np.array_equal(again[1][:future], values[:future]):
                    self.fail("a value that was not read changes the statistic")

    def batching(self) -> None:
        """A run that is kept while another is dropped goes on as before."""
        for kept in (np.arange(1, RUNS), np.array([0, 0, 2])):
            rng = np.random.default_rng(self.seed)
            state = self.method.start(RUNS, None, rng)
            for t in range(STEPS // 2):
                state, _, _ = step(self.method, state, self.paths[:, t], rng)
            before = self.method.statistic(state)
            taken = state.take(kept)
            if not np.array_equal(self.method.statistic(taken), before[kept]):
                self.fail("State.take changes the statistic of the runs that are kept")
            alone = self._readings(taken, kept)
            together = self._readings(state, np.arange(RUNS))[kept]
            if not np.allclose(alone, together, rtol=1e-9, atol=1e-9):
                self.fail("what one run reads changes the statistic of another")

    def _readings(self, state: Any, runs: Ints) -> Floats:
        """Statistics after some steps in which given streams are read."""
        m = self.method.problem.m
        for t in range(STEPS // 2, STEPS):
            streams = np.tile(np.sort((np.arange(m) + t) % self.method.problem.p), (len(runs), 1))
            values = np.take_along_axis(self.paths[runs, t], streams, axis=1)
            # One generator per step and run order would tie randomness to the batch: methods that
            # draw while observing are compared with the same draws per run.
            state = self.method.observe(state, streams, values, _SameForAll(self.seed + t))
        return self.method.statistic(state)

    def no_runs(self) -> None:
        rng = np.random.default_rng(self.seed)
        state = self.method.start(0, None, rng)
        for _ in range(2):
            state, streams, value = step(
                self.method, state, np.empty((0, self.method.problem.p)), rng
            )
            if streams.shape[0] or value.shape != (0,):
                self.fail("a step of no runs must give no sensors and no statistic")

    def fewer_readings(self) -> None:
        rng = np.random.default_rng(self.seed)
        state = self.method.start(1, None, rng)
        for t in range(STEPS):
            streams = self.method.choose(state, rng)
            if streams.shape != (1, self.method.problem.m):
                self.fail("after readings went missing, choose gives another number of sensors")
            read = streams[:, : t % (self.method.problem.m + 1)]
            values = np.take_along_axis(self.paths[:1, t], read, axis=1)
            state = self.method.observe(state, read, values, rng)
            if np.isnan(self.method.statistic(state)).any():
                self.fail(f"the statistic is NaN after {read.shape[1]} of its sensors were read")


class _SameForAll(np.random.Generator):
    """A generator that draws one row and repeats it, so that every run gets the same numbers."""

    def __init__(self, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))

    def standard_normal(self, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        return self._rows(super().standard_normal, size)

    def random(self, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        return self._rows(super().random, size)

    @staticmethod
    def _rows(draw: Any, size: Any) -> Any:
        if not isinstance(size, tuple):
            return draw(size)
        row = draw((1, *size[1:]))
        return np.repeat(row, size[0], axis=0)
