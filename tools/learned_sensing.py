"""Does learning where to look earn its place? The filter's sensors beside others, few sensors.

All methods share the filter's statistic (`bayes_posterior`) and differ in what they hold a reading
of each stream to be worth; the set is then grown as the filter grows its own. Worths are

    filter      probability of a shift times its expected size
    one step    what the reading is expected to add to the statistic, if there was a change
    two steps   the same over two readings: after the first, go on there or look elsewhere
    learned     the filter's, times the exponential of what a small network makes of each stream

The network is trained by evolution strategies: weights are moved in random directions, forward and
back, on the same values, and the mean delay itself is what counts. Training, validation and test
have streams, values and places of their own. Prints a table; writes nothing.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from look_ahead import LookAhead, Watch

from causaldq.calibration import average_run_length, run_lengths
from causaldq.methods import OracleSet
from causaldq.methods.base import Method, Problem, Truth
from causaldq.methods.bayes_posterior import BayesState
from causaldq.models.streams import StreamModel
from causaldq.run import delays, simulated_limit, statistics, step
from causaldq.seeds import generator
from causaldq.types import Floats, Ints
from causaldq.worlds.public import simulate
from causaldq.worlds.shifts import shifted_streams

ARL0 = 200.0
SEED = 22
DEGREES = {"independent": 0.0, "SEM": 6.0}


@dataclass(frozen=True)
class Size:
    """How much is done."""

    p: int = 50
    m: int = 3
    k: int = 3
    deltas: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0)
    arl0: float = ARL0
    before: int = 50
    """In-control steps before the change."""
    horizon: int = 300
    replications: int = 1000
    """Runs through each change."""
    paths: int = 600
    """In-control paths behind a limit in validation, and as many to check it."""
    test_paths: int = 2000
    """The same in the test."""
    graphs: int = 2
    """SEM graphs that the runs are divided among."""
    generations: int = 60
    every: int = 20
    """Generations between two looks at validation streams."""
    pairs: int = 12
    """Directions tried in each generation, forward and back."""
    runs: int = 128
    """For each of them."""
    ahead: int = 100
    """Steps after the change in training; later alarms count as at the last."""
    noise: float = 0.15
    """Size of a move in each direction."""
    rate: float = 0.02
    """How far weights go in a generation."""


QUICK = Size(
    p=8, m=2, k=2, deltas=(2.0,), arl0=20.0, before=10, horizon=40, replications=40,
    paths=40, test_paths=60, graphs=1, generations=2, every=1, pairs=2, runs=16, ahead=20,
)  # fmt: skip


# --- sensors -----------------------------------------------------------------------------------


FEATURES, HIDDEN = 8, 4
SHAPES = ((FEATURES, HIDDEN), (HIDDEN,), (FEATURES,), (HIDDEN,), (2 * HIDDEN + 1, HIDDEN))
COUNT = sum(int(np.prod(shape)) for shape in SHAPES)
FIRST = FEATURES * HIDDEN + HIDDEN
"""Weights of the hidden units; those after them are zero before training."""
RECENT = 3
"""Level of the change time that features of the recent past are of, 8 to 16 steps ago."""


class Learned(Watch):
    """The filter's worths times exp(r_i), the same function of every stream's features f_i:

    h_i = tanh(W' f_i + b),   r_i = a' f_i + h_i' (v + C' c),   c = (mean h, max h, evidence).
    """

    def __init__(self, problem: Problem, weights: Floats) -> None:
        super().__init__(problem)
        ends = np.cumsum([int(np.prod(shape)) for shape in SHAPES])
        parts = np.split(weights, ends[:-1])
        self.weights = [part.reshape(shape) for part, shape in zip(parts, SHAPES, strict=True)]
        inverse = np.linalg.inv(np.asarray(self.covariance))
        self.alone: Floats = np.log(np.diag(inverse))

    def worths(self, state: BayesState) -> Floats:
        worth = super().worths(state)
        features, evidence = self.features(state, worth)
        inner, bias, direct, plain, context = self.weights
        hidden = np.tanh(features @ inner + bias)
        pooled = np.concatenate([hidden.mean(axis=1), hidden.max(axis=1), evidence], axis=1)
        gates = plain + pooled @ context
        residual = features @ direct + (hidden @ gates[:, :, None])[:, :, 0]
        return worth * np.exp(np.clip(residual, -5.0, 5.0))

    def features(self, state: BayesState, worth: Floats) -> tuple[Floats, Floats]:
        """Of streams (n, p, f), and the evidence for a change (n, 1); all of size one or so."""
        n, p = worth.shape
        rows = np.arange(n)
        likeliest = (state.total + self.log_span).argmax(axis=1)
        recent = RECENT * self.times.kept
        seen = np.empty((n, p, FEATURES))
        seen[:, :, 0] = np.log(worth / worth.mean(axis=1, keepdims=True)) / 2
        seen[:, :, 1] = np.log1p(state.unread) / 2
        information = state.information[rows, likeliest]
        seen[:, :, 2] = state.log_ratio[rows, likeliest] / 2
        seen[:, :, 3] = np.log1p(information)
        seen[:, :, 4] = np.minimum(state.score[rows, likeliest] ** 2 / (1 + information), 12) / 3
        seen[:, :, 5] = state.log_ratio[:, recent] / 2
        seen[:, :, 6] = np.log1p(state.information[:, recent])
        seen[:, :, 7] = self.alone / 2
        return np.clip(seen, -4.0, 4.0), np.minimum(self.log_evidence(state), 10.0)[:, None] / 5


# --- training ----------------------------------------------------------------------------------


def streams_of(kind: str, size: Size, purpose: str, number: int) -> StreamModel:
    """Streams of a kind; another graph for every purpose and number."""
    seed = int(generator(SEED, "streams", kind, purpose, number).integers(2**31))
    return simulate(size.p, degree=DEGREES[kind], rows=10, seed=seed)


def shifts(size: Size, n: int, rng: np.random.Generator) -> Floats:
    """Means (n, p) of a shift by one deviation, of k streams anywhere."""
    return shifted_streams("fair", n, size.k, np.arange(size.p), rng).astype(np.float64)


@dataclass(frozen=True)
class Batch:
    """What one generation is tried on: every direction sees the same values."""

    problem: Problem
    past: Floats
    """(runs, before, p), in control."""
    future: Floats
    """(runs, ahead, p), shifted."""
    cell: Ints
    """Shift size of each run, (runs,)."""

    def costs(self, weights: Floats, moved: Sequence[Floats], share: float) -> Floats:
        """Mean delay for each shift size (moved, sizes) of moved weights.

        The past is that of the weights as they are, for all: what was read before the change says
        nothing about it. So is the limit, above which a share of the runs comes before the change.
        """
        method, rng = Learned(self.problem, weights), generator(SEED, "ties")
        state, highest = method.start(len(self.past), None, rng), np.full(len(self.past), -np.inf)
        for t in range(self.past.shape[1]):
            state, _, value = step(method, state, self.past[:, t], rng)
            highest = np.maximum(highest, value)
        limit = float(np.quantile(highest, 1.0 - share))
        kept = np.flatnonzero(highest <= limit)
        delay = np.array([self._delays(one, state.take(kept), kept, limit) for one in moved])
        cells = [self.cell[kept] == cell for cell in np.unique(self.cell)]
        return np.array([delay[:, runs].mean(axis=1) for runs in cells]).T

    def _delays(self, weights: Floats, state: BayesState, runs: Ints, limit: float) -> Floats:
        """Readings after the change up to the alarm, at most all of them, (runs,)."""
        method, rng = Learned(self.problem, weights), generator(SEED, "ties")
        steps = self.future.shape[1]
        delay, running = np.full(len(runs), float(steps)), np.arange(len(runs))
        for t in range(steps):
            state, _, value = step(method, state, self.future[runs[running], t], rng)
            over = value > limit
            delay[running[over]] = np.minimum(delay[running[over]], t + 1.0)
            going = np.flatnonzero(delay[running] > t + 1)
            if len(going) < 0.8 * len(running):
                running, state = running[going], state.take(going)
        return delay


def batch(kind: str, size: Size, generation: int) -> Batch:
    streams = streams_of(kind, size, "train", generation)
    rng = generator(SEED, "train", kind, generation)
    paths = streams.in_control(size.runs, size.before + size.ahead, rng)
    sizes = np.array(size.deltas)
    cell = np.arange(size.runs) % len(sizes)
    future = paths[:, size.before :] + (sizes[cell, None] * shifts(size, size.runs, rng))[:, None]
    return Batch(Problem(streams.covariance, size.m), paths[:, : size.before], future, cell)


def first_weights(rng: np.random.Generator) -> Floats:
    """Random hidden units, and nothing made of them: the filter."""
    weights = np.zeros(COUNT)
    weights[: FEATURES * HIDDEN] = rng.standard_normal(FEATURES * HIDDEN) / np.sqrt(FEATURES)
    return weights


def alarm_share(kind: str, size: Size) -> float:
    """Share of in-control runs of the filter, at its limit, that alarm in the first steps."""
    streams = streams_of(kind, size, "train", -1)
    rng = generator(SEED, "share", kind)
    paths = streams.in_control(size.replications, int(2 * size.arl0), rng)
    filter_ = Watch(Problem(streams.covariance, size.m))
    limit = simulated_limit(filter_, paths, size.arl0, generator(SEED, "ties"))
    seen = statistics(filter_, paths[:, : size.before], None, generator(SEED, "ties"))
    return float((seen.max(axis=1) > limit).mean())


def train(size: Size, kinds: Sequence[str]) -> Iterator[Floats]:
    """Untrained weights, then their means over every so many generations; kinds take turns."""
    share = {kind: alarm_share(kind, size) for kind in kinds}
    rng = generator(SEED, "directions")
    weights = first_weights(rng)
    momentum, square = np.zeros(COUNT), np.zeros(COUNT)
    recent = np.zeros(COUNT)
    yield weights
    for generation in range(1, size.generations + 1):
        kind = kinds[generation % len(kinds)]
        trial = batch(kind, size, generation)
        moves = size.noise * rng.standard_normal((size.pairs, COUNT))
        costs = trial.costs(weights, [*(weights + moves), *(weights - moves)], share[kind])
        # Delays count relative to the mean for their shift size: all sizes alike.
        forward, back = np.split((costs / costs.mean(axis=0)).mean(axis=1), 2)
        slope = (forward - back) / 2 @ moves / size.noise**2 / size.pairs
        momentum = 0.9 * momentum + 0.1 * slope
        square = 0.95 * square + 0.05 * slope**2
        stride = momentum / (1 - 0.9**generation)
        stride /= np.sqrt(square / (1 - 0.95**generation)) + 1e-12
        weights = weights - size.rate * stride
        recent = recent + weights / size.every
        if generation % size.every == 0:
            yield recent
            recent = np.zeros(COUNT)


# --- comparison --------------------------------------------------------------------------------

NAMES = ("filter", "one step", "two steps", "learned", "oracle set")


def made(name: str, problem: Problem, weights: Floats) -> Method[Any]:
    """One of NAMES; the weights are the network's."""
    if name in ("one step", "two steps"):
        return LookAhead(problem, 1 if name == "one step" else 2)
    if name == "learned":
        return Learned(problem, weights)
    return Watch(problem) if name == "filter" else OracleSet(problem)


@dataclass(frozen=True)
class Outcome:
    """Of one method on the streams of one kind."""

    delay: Floats
    """(shift sizes, runs), NaN after a false alarm."""
    reached: float
    """ARL0 on paths that the limit was not set on."""


def measured(name: str, kind: str, size: Size, purpose: str, weights: Floats) -> Outcome:
    """A method on all graphs of its kind; every method sees the same values."""
    parts = [_on_graph(name, kind, size, (purpose, n), weights) for n in range(size.graphs)]
    reached = float(np.mean([part.reached for part in parts]))
    return Outcome(np.concatenate([part.delay for part in parts], axis=1), reached)


def _on_graph(name: str, kind: str, size: Size, graph: tuple[str, int], weights: Floats) -> Outcome:
    """Its limit set and checked on in-control paths, then its delays."""
    streams = streams_of(kind, size, *graph)
    method = made(name, Problem(streams.covariance, size.m), weights)

    def drawn(use: str, runs: int, steps: int) -> tuple[Floats, Floats, Truth | None]:
        rng, n = generator(SEED, graph[0], kind, graph[1], use), runs // size.graphs
        values, mean = streams.in_control(n, steps, rng), shifts(size, n, rng)
        return values, mean, Truth(mean > 0, mean) if method.is_bound else None

    ties = generator(SEED, "ties")
    values, _, truth = drawn("limit", size.paths, int(2 * size.arl0))
    limit = simulated_limit(method, values, size.arl0, ties, truth)
    values, _, truth = drawn("check", size.paths, int(2 * size.arl0))
    fresh = statistics(method, values, truth, ties, lambda _: limit)
    values, mean, truth = drawn("runs", size.replications, size.before + size.horizon)
    means, truths = [d * mean for d in size.deltas], [truth] * len(size.deltas)
    after = delays(method, values, size.before, means, truths, limit, ties)
    reached = average_run_length(*run_lengths(fresh, limit))
    return Outcome(np.concatenate([d.kept() for d in after]), reached)


def overall(delay: Floats) -> float:
    """Geometric mean over shift sizes of mean delays (shift sizes, runs)."""
    return float(np.exp(np.log(np.nanmean(delay, axis=1)).mean()))


def ratio(delay: Floats, base: Floats) -> tuple[float, float, float]:
    """Of overall delays on the same runs, with its 95% interval."""

    def influence(values: Floats) -> Floats:
        """Of each run on the log of the overall delay, (runs,)."""
        means = np.nanmean(values, axis=1, keepdims=True)
        known = (~np.isnan(values)).mean(axis=1, keepdims=True)
        return np.asarray(np.nan_to_num((values / means - 1) / known).mean(axis=0))

    error = (influence(delay) - influence(base)).std(ddof=1) / np.sqrt(delay.shape[1])
    middle = overall(delay) / overall(base)
    low, high = middle * np.exp([-1.96 * error, 1.96 * error])
    return middle, float(low), float(high)


def table(kind: str, size: Size, outcomes: dict[str, Outcome]) -> str:
    """A row for each method, in Markdown."""
    sizes = [f"{delta:g}" for delta in size.deltas]
    lines = [["streams", "sensors by", *sizes, "overall", "ratio to the filter", "ARL0 reached"]]
    lines.append(["---", "---", *["---:"] * (len(sizes) + 3)])
    for name, outcome in outcomes.items():
        means = [f"{mean:.1f}" for mean in np.nanmean(outcome.delay, axis=1)]
        middle, low, high = ratio(outcome.delay, outcomes["filter"].delay)
        compared = "" if name == "filter" else f"{middle:.3f} ({low:.3f} to {high:.3f})"
        row = [kind, name, *means, f"{overall(outcome.delay):.1f}", compared]
        lines.append([*row, f"{outcome.reached:.0f}"])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def best_look(size: Size, looks: Sequence[Floats]) -> int:
    """The trained weights with the shortest delays on validation streams; 0 are the filter's."""
    found = []
    for number, weights in enumerate(looks):
        seen = [measured("learned", kind, size, "validation", weights).delay for kind in DEGREES]
        found.append([overall(delay) for delay in seen])
        said = ", ".join(f"{kind} {d:.2f}" for kind, d in zip(DEGREES, found[-1], strict=True))
        print(f"validation, after {number * size.every} generations: {said}", flush=True)
    return 1 + int(np.log(found[1:]).mean(axis=1).argmin())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="toy size, to see that it runs")
    size = QUICK if parser.parse_args(arguments).quick else Size()
    looks = list(train(size, list(DEGREES)))
    best = best_look(size, looks)
    print(f"kept: the network after {best * size.every} generations")
    final = replace(size, paths=size.test_paths)
    for kind in DEGREES:
        outcomes = {name: measured(name, kind, final, "test", looks[best]) for name in NAMES}
        print(f"\n{table(kind, size, outcomes)}", flush=True)
    print(f"\n{time.process_time() / 60:.0f} minutes of processor time")


if __name__ == "__main__":
    main()
