"""Streams with a long memory: how early can a step be found, and what stands in the way?

Twenty streams of memory .9 with a daily sine of half a deviation, each at a time of day of its
own; five sensors; five streams move by one deviation. Watched by

    bayes        `bayes_posterior`, rows taken as independent
    fitted       `innovation_filter`, fitted on 1,000 rows
    harmonic     the same, after a sine of a period found in those rows is taken away
    no sine      the same on streams without a sine
    mean unknown memory and covariance known, the means as uncertain as 1,000 rows leave them
    known        everything in control is known
    exact        the same, each row a candidate, streams read where the next reading tells most
    exact, told  and told that five streams move up by one deviation

All have one limit for all fits, set on in-control paths such that they raise one alarm in 200
rows. Prints a table; writes nothing.

With --variance, streams without a sine and the known model: the noise of five streams grows, and
the filter has hypotheses of the variance or not.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from scipy.stats import chi2

from causaldq.calibration import average_run_length, limit_at_most, limit_for, run_lengths
from causaldq.methods.base import Method, Problem
from causaldq.methods.bayes_posterior import BayesPosterior
from causaldq.methods.innovation_filter import InnovationFilter, InnovationFilterSettings
from causaldq.models.in_control import fit_in_control
from causaldq.models.state_space import StateSpace
from causaldq.run import statistics
from causaldq.types import Floats, Ints

P, M, MOVED, PHI = 20, 5, 5, 0.9
DAY, AMPLITUDE, ROWS, ARL0 = 288, 0.5, 1000, 200.0
STEPS, AFTER = 600, 300
CHANGES = (0, 50, 100)
"""Rows watched before the change."""
NAMES = tuple(f"s{i}" for i in range(P))
VARIANCES: Floats = np.array([0.03, 0.2, 1.5])
"""Of shifts, as the filter has them."""
Watch = Callable[[Floats, np.random.Generator, bool], Floats]
"""Statistics (n, steps) of paths (n, steps, p), which may end early if they are in control."""


# --- streams -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recording:
    values: Floats
    """(n, steps, p), without the sine."""
    clock: Ints
    """(n, steps), rows since the first midnight."""


def recorded(
    n: int, steps: int, rng: np.random.Generator, change: int = 0, noise: Floats | float = 1.0
) -> Recording:
    """Paths whose noise (n, p) is so many times as large from a change on."""
    moves = rng.standard_normal((n, steps, P)) * np.sqrt(1.0 - PHI**2)
    values = np.empty((n, steps, P))
    values[:, 0] = rng.standard_normal((n, P))
    for t in range(1, steps):
        values[:, t] = PHI * values[:, t - 1] + moves[:, t] * (noise if t >= change else 1.0)
    return Recording(values, rng.integers(0, DAY, n)[:, None] + np.arange(steps))


def sine(clock: Ints, phase: Floats) -> Floats:
    return np.asarray(AMPLITUDE * np.sin(2 * np.pi * clock[..., None] / DAY + phase), np.float64)


def chosen(n: int, rng: np.random.Generator) -> Floats:
    """Which streams change, (n, p)."""
    return np.asarray(np.argsort(rng.random((n, P)), axis=1) < MOVED, np.float64)


# --- a sine of unknown period ------------------------------------------------------------------


def waves(clock: Ints, period: float) -> Floats:
    turned = 2 * np.pi * clock / period
    return np.stack([np.sin(turned), np.cos(turned)], axis=-1)


def found_sine(rows: Floats, clock: Ints) -> tuple[float, Floats]:
    """Period and coefficients (2, p) of a sine in rows (n, p); coefficients are 0 if none shows.

    Each stream's own memory of one row is taken out of rows and waves alike. The period is the one
    at which waves explain most of all streams together; coefficients are drawn to zero by the share
    of that which chance explains.
    """
    n, p = rows.shape
    centred = rows - rows.mean(axis=0)
    memory = (centred[1:] * centred[:-1]).sum(axis=0) / (centred[:-1] ** 2).sum(axis=0)
    left = centred[1:] - memory * centred[:-1]
    best, period, coefficients = -np.inf, np.inf, np.zeros((2, p))
    tried = 1.0 / np.arange(2.0 / n, 1.0 / 8, 0.25 / n)
    for one in tried:
        wave = waves(clock, one)
        explained, found = 0.0, np.empty((2, p))
        for i in range(p):
            design = np.column_stack([wave[1:] - memory[i] * wave[:-1], np.ones(n - 1)])
            found[:, i] = np.linalg.solve(design.T @ design, design.T @ left[:, i])[:2]
            part = (design[:, :2] - design[:, :2].mean(axis=0)) @ found[:, i]
            explained += float(part @ part / left[:, i].var())
        if explained > best:
            best, period, coefficients = explained, float(one), found
    if best < chi2.isf(0.001 / len(tried), 2 * p):
        return period, 0.0 * coefficients
    return period, coefficients * (1.0 - 2 * p / best)


# --- who watches -------------------------------------------------------------------------------


def known_model(rows: float) -> StateSpace:
    """The truth, with means as uncertain as so many rows leave them."""
    eye, one = np.eye(P), np.ones(P)
    long_run = (1.0 + PHI) / (1.0 - PHI)
    noise = 0.001 * (1.0 - PHI**2)
    return StateSpace(
        PHI * one, (1 - PHI**2 - noise) * eye, noise * eye, eye * long_run / rows, one, one,
        np.ones((P, 1)),
    )  # fmt: skip


def ceiling(so_far: Floats) -> float:
    return max(limit_at_most(so_far, ARL0), float(np.log(ARL0)))


def watched(method: Method[Any], offset: Floats | float = 0.0) -> Watch:
    def watch(paths: Floats, rng: np.random.Generator, in_control: bool) -> Floats:
        return statistics(method, paths - offset, None, rng, ceiling if in_control else None)

    return watch


def filter_of(dynamics: StateSpace, covariance: Floats, **settings: object) -> InnovationFilter:
    options = InnovationFilterSettings.model_validate(settings)
    return InnovationFilter(Problem(covariance, M, dynamics=dynamics), options)


def exact(told: bool) -> Watch:
    """Every row a candidate; S and N of each stream since each of them, as the filter has them."""

    def ratio(score: Floats, information: Floats) -> Floats:
        if told:
            return np.asarray(np.exp(score - information / 2), np.float64)
        grown = 1.0 + information[..., None] * VARIANCES
        shift = np.exp(score[..., None] ** 2 * VARIANCES / grown / 2)
        return np.asarray((shift / np.sqrt(grown)).mean(axis=-1), np.float64)

    def mixed(ratios: Floats) -> Floats:
        """Over the sets of streams, (n, candidates)."""
        if not told:
            return np.asarray(np.prod(1 + MOVED / P * (ratios - 1), axis=-1), np.float64)
        sums = [np.ones(ratios.shape[:-1])] + [np.zeros(ratios.shape[:-1])] * MOVED
        for i in range(P):
            for size in range(MOVED, 0, -1):
                sums[size] = sums[size] + sums[size - 1] * ratios[..., i]
        return np.asarray(sums[MOVED] / comb(P, MOVED), np.float64)

    def watch(paths: Floats, rng: np.random.Generator, _: bool) -> Floats:
        n, steps, p = paths.shape
        score, information, ratios = np.zeros((3, n, steps, p))
        ratios += 1.0
        read, last = np.full((n, p), -1), np.zeros((n, p))
        seen, total, rows = np.empty((n, steps)), np.ones((n, steps)), np.arange(n)[:, None]
        share = MOVED / P
        for t in range(steps):
            times = np.arange(t + 1)[None, :, None]
            kept = np.where(read >= 0, PHI ** (t - read), 0.0)
            shows = 1.0 - kept[:, None] * (read[:, None] >= times)
            weight = total[:, : t + 1] / total[:, : t + 1].sum(axis=1, keepdims=True)
            likely = share * ratios[:, : t + 1] / (1 + share * (ratios[:, : t + 1] - 1))
            worth = np.einsum("nk,nkp->np", weight, likely * shows**2) / (1 - kept**2)
            streams = np.argsort(-worth * (1 + 1e-6 * rng.random((n, p))), axis=1)[:, :M]
            value, kept = paths[rows, t, streams], kept[rows, streams]
            news, precision = value - kept * last[rows, streams], 1 / (1 - kept**2)
            shows = np.take_along_axis(shows, streams[:, None], axis=2)
            place = (rows[:, :, None], times, streams[:, None])
            score[place] += shows * (news * precision)[:, None]
            information[place] += shows**2 * precision[:, None]
            ratios[place] = ratio(score[place], information[place])
            read[rows, streams], last[rows, streams] = t, value
            total[:, : t + 1] = mixed(ratios[:, : t + 1])
            seen[:, t] = np.log(total[:, : t + 1].sum(axis=1))
        return seen

    return watch


# --- tables ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """Statistics of one fit."""

    in_control: Floats
    changed: list[Floats]
    """One for each of CHANGES."""


def one_fit(name: str, seed: int, runs: int) -> Outcome:
    """The same streams for every name."""
    rng = np.random.default_rng([seed, 23])
    phase = rng.uniform(0, 2 * np.pi, P)
    normal = recorded(1, ROWS, rng)
    records = [recorded(runs, STEPS, rng)]
    shifts = [np.zeros((runs, STEPS, P))]
    for change in CHANGES:
        records.append(recorded(runs, change + AFTER, rng))
        late = np.arange(change + AFTER) >= change
        shifts.append(late[:, None] * chosen(runs, rng)[:, None])
    rows, clock = normal.values[0], normal.clock[0]
    paths = [one.values + shift for one, shift in zip(records, shifts, strict=True)]
    if name in ("bayes", "fitted", "harmonic"):
        rows = rows + sine(clock, phase)
        paths = [x + sine(one.clock, phase) for x, one in zip(paths, records, strict=True)]
    if name == "harmonic":
        period, found = found_sine(rows, clock)
        rows = rows - waves(clock, period) @ found
        paths = [
            x - waves(one.clock, period) @ found for x, one in zip(paths, records, strict=True)
        ]
    if name == "bayes":
        fit = fit_in_control(rows, NAMES, "independent")
        watch = watched(BayesPosterior(Problem(fit.covariance.matrix, M)))
        paths = [fit.scale.apply(x) for x in paths]
    elif name in ("fitted", "harmonic", "no sine"):
        fit = fit_in_control(rows, NAMES, "state_space")
        assert fit.dynamics is not None
        watch = watched(filter_of(fit.dynamics, np.asarray(fit.covariance.matrix)))
        paths = [fit.scale.apply(x) for x in paths]
    elif name == "mean unknown":
        watch = watched(filter_of(known_model(ROWS), np.eye(P)), rows.mean(axis=0))
    elif name == "known":
        watch = watched(filter_of(known_model(1e6), np.eye(P)))
    else:
        watch = exact(told=name == "exact, told")
    noise = np.random.default_rng([seed, 24])
    return Outcome(watch(paths[0], noise, True), [watch(x, noise, False) for x in paths[1:]])


def one_growth(name: str, seed: int, runs: int, times: float) -> Outcome:
    """The known model, and noise of five streams so many times as large."""
    rng = np.random.default_rng([seed, 25])
    share = float(name.removeprefix("share "))
    watch = watched(filter_of(known_model(1e6), np.eye(P), variance_share=max(share, 1e-9)))
    normal = recorded(runs, STEPS, rng).values
    changed = [
        recorded(
            runs, change + AFTER, rng, change, 1 + (np.sqrt(times) - 1) * chosen(runs, rng)
        ).values
        for change in CHANGES
    ]
    return Outcome(watch(normal, rng, True), [watch(x, rng, False) for x in changed])


def row(name: str, outcomes: Sequence[Outcome]) -> str:
    """Reached at log ARL0, and delay with its error over fits, for each of CHANGES."""
    normal = np.concatenate([one.in_control for one in outcomes])
    limit = limit_for(normal, ARL0)
    cells = []
    for k, change in enumerate(CHANGES):
        of_fits = []
        for one in outcomes:
            seen = one.changed[k]
            quiet = ~(seen[:, :change] > limit).any(axis=1)
            of_fits.append(run_lengths(seen[quiet, change:], limit)[0])
        means = np.array([one.mean() for one in of_fits])
        error = means.std(ddof=1) / np.sqrt(len(means))
        cells.append(f"{np.concatenate(of_fits).mean():.1f} ± {error:.1f}")
    bound = average_run_length(*run_lengths(normal, float(np.log(ARL0))))
    return f"| {name} | {limit:.2f} | {bound:.0f} | " + " | ".join(cells) + " |"


WATCHES = (
    *("bayes", "fitted", "harmonic", "no sine", "mean unknown"),
    *("known", "exact", "exact, told"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fits", type=int, default=16, help="recordings to fit on")
    parser.add_argument("--runs", type=int, default=20, help="paths for each of them")
    parser.add_argument("--first", type=int, default=0, help="seed of the first recording")
    parser.add_argument("--only", nargs="*", default=None, help="of those above")
    parser.add_argument("--variance", type=float, help="times that the noise's variance grows")
    chosen_by = parser.parse_args()
    seeds = range(chosen_by.first, chosen_by.first + chosen_by.fits)
    shares = ("share 0", "share 0.1", "share 0.3", "share 0.5", "share 0.9")
    print("| | limit | reached at log 200 |", " | ".join(f"after {c}" for c in CHANGES), "|")
    for name in chosen_by.only or (WATCHES if chosen_by.variance is None else shares):
        began = time.perf_counter()
        if chosen_by.variance is None:
            found = [one_fit(name, seed, chosen_by.runs) for seed in seeds]
        else:
            found = [one_growth(name, seed, chosen_by.runs, chosen_by.variance) for seed in seeds]
        print(row(name, found), f"{time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
