"""Injection: which streams shift, when, by how much, into which in-control paths.

A shifted mean is mu_c = delta * direction + sigma * noise: linear in both. An injected set
therefore holds paths, directions and noise once, and serves every delta and sigma with
the same random numbers. A recorded anomaly is written the same way: its mean is the
direction, and delta = 1 gives it back as it was recorded.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from causaldq.errors import DataError
from causaldq.files import read_arrays, write_arrays
from causaldq.models.streams import StreamModel
from causaldq.seeds import generator
from causaldq.setting import Case, Moved, Places, Protocol, Settings
from causaldq.types import Bools, Floats, Ints
from causaldq.worlds.changes import Change, group_orders, spread_of

SHIFTED = 1.0
"""A recorded anomaly shifts a stream if it moves its mean by so many standard deviations."""


class Cell(Settings):
    """One combination of case, noise and shift."""

    case: Case
    sigma: float
    delta: float

    @property
    def key(self) -> str:
        return self.key_of(self.case, self.sigma, self.delta)

    @staticmethod
    def key_of(case: str, sigma: float, delta: float) -> str:
        return f"{case}/{float(sigma):g}/{float(delta):g}"


def fixed_order(places: Places, p: int, seed: int) -> Ints:
    """(p,), the order whose first k streams `paper` shifts, in training and in the test."""
    return np.arange(p) if places == "first" else generator(seed, "places").permutation(p)


def shifted_streams(
    protocol: Protocol,
    n: int,
    k: int,
    order: Ints,
    rng: np.random.Generator,
    groups: Ints | None = None,
) -> Bools:
    """Which streams shift, (n, p): the first k of a fixed order (`paper`), or any k (`fair`).

    With `groups` (p, p), all streams by their closeness to each, `fair` draws one stream, and
    those closest to it shift with it; `paper` takes the group of the first.
    """
    p = len(order)
    mask = np.zeros((n, p), dtype=bool)
    if groups is not None:
        first = np.repeat(order[0], n) if protocol == "paper" else rng.integers(p, size=n)
        np.put_along_axis(mask, groups[first, :k], True, axis=1)
    elif protocol == "paper":
        mask[:, order[:k]] = True
    else:
        places = np.argsort(rng.random((n, p)), axis=1)[:, :k]
        np.put_along_axis(mask, places, True, axis=1)
    return mask


def pattern(case: Case, mask: Bools) -> Floats:
    """Signs of the shift, (n, p): all +1 (case a), or alternating from +1 (case b)."""
    if case == "case_a":
        return mask.astype(np.float64)
    alternating = np.where(np.cumsum(mask, axis=1) % 2 == 1, 1.0, -1.0)
    return np.asarray(mask * alternating, np.float64)


def direction(signs: Floats, model: StreamModel, propagate: bool) -> Floats:
    """Mean shift at delta = 1, (n, p): at the shifted streams only, or propagating downstream."""
    return signs @ model.total_effects() if propagate else signs


def recorded_shift(anomalous: Floats) -> tuple[Bools, Floats]:
    """Which streams (p,) rows under an anomaly (n, p) shift, and their mean (p,)."""
    mean = anomalous.mean(axis=0)
    return np.abs(mean) > SHIFTED, mean


@dataclass(frozen=True)
class InjectedSet:
    """Test replications with everything needed to shift them."""

    paths: dict[Protocol, Floats]
    """(n, steps, p) for each protocol, in control throughout."""
    change: int
    """First step that is shifted."""
    shifted: dict[Protocol, Bools]
    """(n, p) for each protocol."""
    directions: dict[tuple[Protocol, Case], Floats]
    """(n, p) mean shift at delta = 1 for each protocol and case."""
    noise: Floats
    """(n, p), standard normal, scaled by sigma."""

    def mean(self, protocol: Protocol, case: Case, delta: float, sigma: float) -> Floats:
        """mu_c, (n, p)."""
        return delta * self.directions[protocol, case] + sigma * self.noise

    def change_of(self, protocol: Protocol, cell: Cell, moves: Moved, ramp: int) -> Change:
        """A cell's change: of means, at once or slowly, or of deviations by 1 + delta."""
        if moves == "deviation":
            shifted = self.shifted[protocol]
            return Change(np.zeros(shifted.shape), spread_of(shifted, 1.0 + cell.delta))
        return Change(self.mean(protocol, cell.case, cell.delta, cell.sigma), ramp=ramp)

    def save(self, path: Path) -> None:
        arrays = {"change": np.array(self.change), "noise": self.noise}
        first = next(iter(self.paths.values()))
        if all(paths is first for paths in self.paths.values()):
            arrays["paths"] = first
        else:
            arrays |= {f"paths.{protocol}": paths for protocol, paths in self.paths.items()}
        arrays |= {f"shifted.{protocol}": mask for protocol, mask in self.shifted.items()}
        arrays |= {
            f"direction.{protocol}.{case}": mean
            for (protocol, case), mean in self.directions.items()
        }
        write_arrays(path, arrays)

    @classmethod
    def load(cls, path: Path) -> "InjectedSet":
        arrays = read_arrays(path, "change", "noise")
        paths: dict[Protocol, Floats] = {}
        shifted: dict[Protocol, Bools] = {}
        directions: dict[tuple[Protocol, Case], Floats] = {}
        for name, array in arrays.items():
            kind, *place = name.split(".")
            if kind == "shifted":
                shifted[place[0]] = array  # type: ignore[index]
            elif kind == "paths" and place:
                paths[place[0]] = array  # type: ignore[index]
            elif kind == "direction":
                directions[place[0], place[1]] = array  # type: ignore[index]
        if "paths" in arrays:
            paths = dict.fromkeys(shifted, arrays["paths"])
        return cls(
            paths=paths,
            change=int(arrays["change"]),
            shifted=shifted,
            directions=directions,
            noise=arrays["noise"],
        )


def inject(
    model: StreamModel,
    *,
    k: int,
    order: Ints,
    protocols: list[Protocol],
    cases: list[Case],
    propagate: bool,
    together: bool = False,
    replications: int,
    in_control_steps: int,
    horizon: int,
    rng: np.random.Generator,
) -> InjectedSet:
    """Draw the replications of one scenario; both protocols share noise and, if simulated, paths.

    Recorded rows of the test are those held out: drawn one by one (`paper`), or consecutive.
    """
    steps = in_control_steps + horizon
    if model.records is None:
        shared = model.in_control(replications, steps, rng)
        paths = dict.fromkeys(protocols, shared)
    else:
        paths = {
            protocol: model.in_control(replications, steps, rng, protocol, held_out=True)
            if protocol == "paper"
            else model.segments(replications, steps, rng)
            for protocol in protocols
        }
    noise = rng.standard_normal((replications, model.p))
    chosen = rng.spawn(1)[0]
    groups = group_orders(np.asarray(model.covariance)) if together else None
    shifted = {
        protocol: shifted_streams(protocol, replications, k, order, chosen, groups)
        for protocol in protocols
    }
    directions: dict[tuple[Protocol, Case], Floats] = {
        (protocol, case): direction(pattern(case, mask), model, propagate)
        for protocol, mask in shifted.items()
        for case in cases
    }
    return InjectedSet(paths, in_control_steps, shifted, directions, noise)


def insert_anomaly(
    model: StreamModel,
    *,
    protocols: list[Protocol],
    case: Case,
    replications: int,
    horizon: int,
    rng: np.random.Generator,
) -> InjectedSet:
    """A quiet window of the test in its order, then `horizon` rows of a window of the anomaly.

    `paper`: always the first window of each; rows drawn without replacement, in random order.
    `fair`: any of them; consecutive rows from a random start, so that they keep their order.
    """
    if model.records is None or not len(model.records.test_anomalous):
        raise DataError("the source has no recorded anomaly to insert")
    window = model.records.window
    if horizon > window:
        raise DataError(f"a window has {window} rows; give a horizon of at most that")
    quiet = model.records.held_out.reshape(-1, window, model.p)
    anomaly = model.records.test_anomalous.reshape(-1, window, model.p)
    paths: dict[Protocol, Floats] = {}
    means: dict[tuple[Protocol, Case], Floats] = {}
    shifted: dict[Protocol, Bools] = {}
    for protocol in protocols:
        if protocol == "paper":
            before, after = np.zeros((2, replications), dtype=np.int64)
            rows = np.argsort(rng.random((replications, window)), axis=1)[:, :horizon]
        else:
            before = rng.integers(len(quiet), size=replications)
            after = rng.integers(len(anomaly), size=replications)
            start = rng.integers(window - horizon + 1, size=replications)
            rows = start[:, None] + np.arange(horizon)
        mean = anomaly.mean(axis=1)[after]
        inserted = anomaly[after[:, None], rows] - mean[:, None, :]
        paths[protocol] = np.concatenate([quiet[before], inserted], axis=1)
        means[protocol, case] = mean
        shifted[protocol] = np.abs(mean) > SHIFTED
    return InjectedSet(paths, window, shifted, means, np.zeros((replications, model.p)))
