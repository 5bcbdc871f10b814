"""Injection: which streams shift, when, by how much, into which in-control paths.

A shifted mean is mu_c = delta * direction + sigma * noise: linear in both. An injected set
therefore holds paths, directions and noise once, and serves every delta and sigma with
the same random numbers.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from causaldq.files import read_arrays, write_arrays
from causaldq.setting import Case, Protocol
from causaldq.streams.model import StreamModel
from causaldq.types import Bools, Floats


def shifted_streams(protocol: Protocol, n: int, p: int, k: int, rng: np.random.Generator) -> Bools:
    """Which streams shift, (n, p): the first k (`paper`) or k at random (`fair`)."""
    mask = np.zeros((n, p), dtype=bool)
    if protocol == "paper":
        mask[:, :k] = True
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
    """Mean shift at delta = 1, (n, p): at the shifted streams only, or flowing onwards."""
    return signs @ model.total_effects() if propagate else signs


@dataclass(frozen=True)
class InjectedSet:
    """Test replications with everything needed to shift them."""

    paths: Floats
    """(n, steps, p), in control throughout."""
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

    def save(self, path: Path) -> None:
        arrays = {"paths": self.paths, "change": np.array(self.change), "noise": self.noise}
        arrays |= {f"shifted.{protocol}": mask for protocol, mask in self.shifted.items()}
        arrays |= {
            f"direction.{protocol}.{case}": mean
            for (protocol, case), mean in self.directions.items()
        }
        write_arrays(path, arrays)

    @classmethod
    def load(cls, path: Path) -> "InjectedSet":
        arrays = read_arrays(path, "paths", "change", "noise")
        shifted: dict[Protocol, Bools] = {}
        directions: dict[tuple[Protocol, Case], Floats] = {}
        for name, array in arrays.items():
            kind, *place = name.split(".")
            if kind == "shifted":
                shifted[place[0]] = array  # type: ignore[index]
            elif kind == "direction":
                directions[place[0], place[1]] = array  # type: ignore[index]
        return cls(
            paths=arrays["paths"],
            change=int(arrays["change"]),
            shifted=shifted,
            directions=directions,
            noise=arrays["noise"],
        )


def inject(
    model: StreamModel,
    *,
    k: int,
    protocols: list[Protocol],
    cases: list[Case],
    propagate: bool,
    replications: int,
    in_control_steps: int,
    horizon: int,
    rng: np.random.Generator,
) -> InjectedSet:
    """Draw the replications of one scenario; both protocols share paths and noise."""
    paths = model.in_control(replications, in_control_steps + horizon, rng)
    noise = rng.standard_normal((replications, model.p))
    places = rng.spawn(1)[0]
    shifted = {
        protocol: shifted_streams(protocol, replications, model.p, k, places)
        for protocol in protocols
    }
    directions: dict[tuple[Protocol, Case], Floats] = {
        (protocol, case): direction(pattern(case, mask), model, propagate)
        for protocol, mask in shifted.items()
        for case in cases
    }
    return InjectedSet(paths, in_control_steps, shifted, directions, noise)
