"""Streams and shifts to try methods on, in a line each."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Literal, get_args

import numpy as np

from causaldq.arguments import number, seed_of, whole
from causaldq.covariance import is_diagonal, variance_of
from causaldq.errors import ConfigError
from causaldq.models.streams import StreamModel
from causaldq.seeds import generator
from causaldq.types import Floats
from causaldq.worlds.changes import Change, group_orders, spread_of
from causaldq.worlds.shifts import pattern, shifted_streams
from causaldq.worlds.simulation import SimulationSource
from causaldq.worlds.simulation import simulate as simulate_model

Signs = Literal["same", "alternating", "random"]


def simulate(
    p: int,
    *,
    degree: float = 6.0,
    weights: tuple[float, float] = (0.5, 1.0),
    rows: int = 500,
    tails: float | None = None,
    covariance_rows: int | None = None,
    seed: int = 0,
) -> StreamModel:
    """Streams of a linear structural equation model on a random acyclic graph.

    Every stream has variance one, whatever its place in the graph.

    Parameters
    ----------
    p : int
        Streams, at least two.
    degree : float
        Expected edges per stream, in and out; 0 for independent streams. There are at most p - 1.
    weights : (float, float)
        Smallest and largest size of an edge's weight, before streams are scaled.
    rows : int
        In-control rows that are recorded, for whoever estimates something from them; at least 10.
    tails : float, optional
        Degrees of freedom, more than two, of Student's t for the streams' own terms; by default
        they are normal.
    covariance_rows : int, optional
        Rows that the covariance is estimated from, as `Monitor.fit` does it; by default methods
        know the true one. Values come from the true one all the same.
    seed : int
        The same seed gives the same streams.

    Returns
    -------
    StreamModel
        With `names`, `rows` (rows, p), `covariance` (p, p), the true direct `effects` (p, p), and
        `in_control(n, steps, rng)`, which draws fresh values (n, steps, p).

    Examples
    --------
    >>> streams = simulate(10, degree=3, seed=1)
    >>> streams.covariance.shape
    (10, 10)
    >>> streams.in_control(4, 25, np.random.default_rng(0)).shape
    (4, 25, 10)
    """
    p, rows, seed = whole("p", p, 2), whole("rows", rows, 10), seed_of(seed)
    degree = number("degree", degree, "of 0 or more", lambda x: x >= 0)
    try:
        low, high = (number("a weight", w, "above 0", lambda x: x > 0) for w in weights)
    except (TypeError, ValueError):
        raise ConfigError(f"weights are {weights!r}; give the smallest and the largest") from None
    if low > high:
        raise ConfigError(f"weights are {weights!r}; give 0 < low <= high")
    if tails is not None:
        tails = float(number("tails", tails, "above 2, or None", lambda x: x > 2))
    if covariance_rows is not None:
        covariance_rows = whole("covariance_rows", covariance_rows, 10)
    rng = generator(seed, "simulate", p)
    if degree == 0 and tails is None and covariance_rows is None:
        names = tuple(f"x{i + 1}" for i in range(p))
        drawn = rng.standard_normal((rows, p))
        return StreamModel(names, drawn, np.eye(p), np.zeros((p, p)))
    settings = SimulationSource(
        p=p,
        expected_degree=float(degree),
        weight_low=float(low),
        weight_high=float(high),
        rows=rows,
        tails=tails,
        covariance_rows=covariance_rows,
    )
    return simulate_model(settings, rng)


@dataclass(frozen=True)
class Shift:
    """A change of the streams' means, or of how far they scatter.

    Parameters
    ----------
    size : float
        How far a mean moves, in standard deviations of its stream.
    streams : int or sequence of (int or str)
        How many streams shift, drawn anew for every replication; or which ones, by number or name.
    signs : {"same", "alternating", "random"}
        Directions of the shifts: all up, up and down in turn, or drawn.
    propagate : bool
        Whether what begins at these streams propagates downstream along the true graph.
    ramp : int
        Steps over which the shift grows, evenly; 1 for a step.
    spread : float
        Factor of the shifted streams' standard deviation from the change on.
    together : bool
        Whether the streams drawn are a group: one of them, and those that correlate with it most.

    Examples
    --------
    >>> Shift(1.0, streams=["x2"]).means(simulate(4, degree=0), 1, np.random.default_rng(0))
    array([[0., 1., 0., 0.]])

    Two streams of four scatter twice as far:

    >>> change = Shift(0.0, streams=2, spread=2.0).change(
    ...     simulate(4, degree=0), 1, np.random.default_rng(0)
    ... )
    >>> sorted(change.spread[0].tolist())
    [1.0, 1.0, 2.0, 2.0]
    """

    size: float = 1.0
    streams: int | Sequence[int | str] = 1
    signs: Signs = "same"
    propagate: bool = False
    ramp: int = 1
    spread: float = 1.0
    together: bool = False

    def __post_init__(self) -> None:
        number("size", self.size, "of deviations, finite", lambda _: True)
        number("spread", self.spread, "above 0", lambda x: x > 0)
        whole("ramp", self.ramp, 1)
        if self.signs not in get_args(Signs):
            raise ConfigError(f"signs are {self.signs!r}; give one of {', '.join(get_args(Signs))}")
        if isinstance(self.streams, int | np.integer):
            whole("streams", self.streams, 1)
        elif isinstance(self.streams, str) or not isinstance(self.streams, Collection):
            raise ConfigError(
                f"streams are {self.streams!r}; give how many shift, or a list of which"
            )
        elif not len(self.streams):
            raise ConfigError("streams are an empty list; give at least one, or how many shift")

    def shifted(self, model: StreamModel, n: int, rng: np.random.Generator) -> Floats:
        """Sign of each stream's own shift (n, p); zero where it does not begin."""
        if isinstance(self.streams, int | np.integer):
            count = int(self.streams)
            if not 1 <= count <= model.p:
                raise ConfigError(f"{count} shifted streams of {model.p}; give 1 to {model.p}")
            groups = group_orders(np.asarray(model.covariance)) if self.together else None
            mask = shifted_streams("fair", n, count, np.arange(model.p), rng, groups)
        else:
            places = [_place(stream, model) for stream in self.streams]
            if len(set(places)) < len(places):
                raise ConfigError(f"streams are {self.streams!r}; name each of them once")
            mask = np.zeros((n, model.p), dtype=bool)
            mask[:, places] = True
        if self.signs == "random":
            return np.asarray(mask * rng.choice([-1.0, 1.0], mask.shape), np.float64)
        return pattern("case_a" if self.signs == "same" else "case_b", mask)

    def means(self, model: StreamModel, n: int, rng: np.random.Generator) -> Floats:
        """Means after the change, (n, p), one row per replication."""
        return self.change(model, n, rng).mean

    def change(self, model: StreamModel, n: int, rng: np.random.Generator) -> Change:
        """What happens to n replications, means and all."""
        signs = self.shifted(model, n, rng)
        if self.propagate and not (model.effects.any() or is_diagonal(model.covariance)):
            raise ConfigError(
                "the streams are correlated, but their effects on each other are not known: nothing"
                " can propagate; give effects, or propagate=False"
            )
        own = self.size * signs * np.sqrt(variance_of(model.covariance))
        mean = np.asarray(own @ model.total_effects() if self.propagate else own, np.float64)
        return Change(mean, spread_of(signs != 0, self.spread), self.ramp)


def _place(stream: int | str, model: StreamModel) -> int:
    if isinstance(stream, str):
        if stream not in model.names:
            raise ConfigError(f"there is no stream {stream!r}; there are {', '.join(model.names)}")
        return model.names.index(stream)
    if not isinstance(stream, Integral) or isinstance(stream, bool) or not 0 <= stream < model.p:
        raise ConfigError(f"there is no stream {stream!r}; give 0 to {model.p - 1}, or names")
    return int(stream)
