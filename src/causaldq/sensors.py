"""Sensors as they are: some always read, some failed, some costly, some that move together.

A method chooses m streams as if every sensor could be read at any time. What the plant allows is
decided here, around that choice, and so holds for every method.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from pydantic import Field, ValidationError

from causaldq.covariance import CovarianceLike, blocks
from causaldq.errors import ConfigError
from causaldq.setting import Count, Positive, Settings
from causaldq.types import Bools, Floats, Ints

LONGEST_REST = 64
"""Rows after which a sensor that gave nothing is asked again at the latest."""
DEAD = 3
"""Times in a row that a sensor is asked for and gives nothing, until its stream no longer counts in
the statistic. With a reading it counts again."""
SPIKE = 5.0
"""A reading further off than this, in standard deviations, is believed only if repeated. Normal
operation has one in 1.7 million: rows of normal operation cannot show what such readings do, and
the alarm limit, which is set without this rule, does not feel it."""
REPEAT = 0.5
"""A reading is a repeat if the one before it of the same sensor was off to the same side by at
least this share."""
PERSISTS = 3
"""So many readings of a sensor in a row that are further off than `SPIKE` are no chance, whatever
the side: the last of them is believed."""


class PlainSettings(Settings):
    """Settings that a user makes: what is wrong with them is told as of every public function."""

    if not TYPE_CHECKING:  # checkers are to see the fields

        def __init__(self, **given: Any) -> None:
            try:
                super().__init__(**given)
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(str(part) for part in first["loc"])
                raise ConfigError(f"{type(self).__name__}: {place}: {first['msg']}") from None

        # Files are validated as before: pydantic would call an __init__ that it takes for another.
        __init__.__pydantic_base_init__ = True


class SensorRules(PlainSettings):
    """What the plant allows.

    Examples
    --------
    >>> rules = SensorRules(always=["flow"], cost={"purity": 3.0}, budget=4.0, moves=1)
    >>> rules.without
    []
    """

    always: Annotated[list[str], Field(description="read at every step")] = []
    without: Annotated[list[str], Field(description="failed or taken away: never asked for")] = []
    cost: Annotated[dict[str, Positive], Field(description="of a reading; 1 where not given")] = {}
    budget: Annotated[
        Positive | None, Field(description="cost of a step at most; the number of sensors if null")
    ] = None
    groups: Annotated[
        list[list[str]], Field(description="sensors that are read together or not at all")
    ] = []
    moves: Annotated[
        Count | None, Field(description="sensors that may change from one step to the next")
    ] = None
    ranges: Annotated[
        dict[str, tuple[float, float]],
        Field(description="least and largest value that a stream can have; others are no readings"),
    ] = {}


@dataclass(frozen=True)
class Layout:
    """The rules in numbers, for p streams of which at most m are read."""

    m: int
    always: tuple[int, ...]
    without: frozenset[int]
    cost: Floats
    """(p,)"""
    budget: float
    together: tuple[tuple[int, ...], ...]
    """For each stream, all that are read with it, itself included."""
    moves: int
    low: Floats
    """(p,), least value that is a reading."""
    high: Floats

    @classmethod
    def of(cls, rules: SensorRules, names: Sequence[str], m: int) -> Self:
        """Refuses rules that name unknown streams or leave nothing to choose."""
        place = {name: i for i, name in enumerate(names)}
        p = len(names)
        grouped = [name for group in rules.groups for name in group]
        for name in (*rules.always, *rules.without, *rules.cost, *grouped, *rules.ranges):
            if name not in place:
                raise ConfigError(f"there is no stream {name!r}; there are {', '.join(names)}")
        repeated = [name for name in grouped if grouped.count(name) > 1]
        if repeated:
            raise ConfigError(f"{repeated[0]!r} stands in two groups; give it one")
        for name, (low, high) in rules.ranges.items():
            if not low < high:
                raise ConfigError(f"the range of {name!r} is {low} to {high}; give least, largest")
        together: list[tuple[int, ...]] = [(i,) for i in range(p)]
        for group in rules.groups:
            members = tuple(sorted(place[name] for name in group))
            for i in members:
                together[i] = members
        without = frozenset(place[name] for name in rules.without)
        least, largest = np.full(p, -np.inf), np.full(p, np.inf)
        for name, bounds in rules.ranges.items():
            least[place[name]], largest[place[name]] = bounds
        made = cls(
            m=m,
            always=tuple(place[name] for name in rules.always),
            without=without,
            cost=np.array([rules.cost.get(name, 1.0) for name in names]),
            budget=float(m) if rules.budget is None else rules.budget,
            together=tuple(together),
            moves=p if rules.moves is None else rules.moves,
            low=least,
            high=largest,
        )
        _check(made, names)
        return made

    @cached_property
    def is_plain(self) -> bool:
        """Whether the method's choice can be taken as it is."""
        return (
            not (self.always or self.without)
            and bool((self.cost == 1.0).all())
            and self.budget >= self.m
            and all(len(unit) == 1 for unit in self.together)
            and self.moves >= self.m
        )


def _check(layout: Layout, names: Sequence[str]) -> None:
    if len(layout.without) == len(names):
        raise ConfigError("every sensor is left out; nothing can be watched")
    for i, unit in enumerate(layout.together):
        if not _fits(layout, unit):
            raise ConfigError(
                f"{', '.join(names[j] for j in unit)} cannot be read at one step of at most"
                f" {layout.m} sensors and cost {layout.budget:g}: raise the budget, or take"
                f" {names[i]!r} out of its group"
            )
    always = tuple({j for i in layout.always for j in layout.together[i]} - layout.without)
    if not _fits(layout, always):
        raise ConfigError(
            f"the sensors that are always read are {len(always)} and cost"
            f" {layout.cost[list(always)].sum():g}; a step has at most {layout.m} sensors and cost"
            f" {layout.budget:g}"
        )


def _fits(layout: Layout, unit: tuple[int, ...]) -> bool:
    inside = [i for i in unit if i not in layout.without]
    return len(inside) <= layout.m and layout.cost[inside].sum() <= layout.budget + 1e-9


@dataclass(frozen=True)
class SensorState:
    """What the sensors did so far, each (p,)."""

    unread: Ints
    """Rows since a value was last taken."""
    misses: Ints
    """Times in a row that it was asked for and gave nothing."""
    rest: Ints
    """Rows for which another sensor is asked for instead."""
    lean: Floats
    """How far off its last reading was, in standard deviations, given the others of its row."""
    again: Bools
    """Its last reading was set aside: it is to be read again."""
    odd: Ints
    """Readings in a row that were further off than `SPIKE`."""

    @classmethod
    def new(cls, p: int) -> Self:
        none = np.zeros(p, dtype=np.int64)
        return cls(none, none, none, np.zeros(p), np.zeros(p, dtype=bool), none)

    def due(self) -> Bools:
        """Sensors to be read whatever the method wants: set aside, or dead and rested."""
        rested: Bools = (self.misses >= DEAD) & (self.rest == 0)
        return self.again | rested

    def dead(self, layout: Layout) -> Ints:
        """Streams that are left out, or whose sensors have given nothing `DEAD` times in a row."""
        gone = self.misses >= DEAD
        gone[list(layout.without)] = True
        return np.flatnonzero(gone)

    def after(self, missing: Ints, arrived: Ints, off: Floats, spikes: Bools) -> Self:
        """One row later. A sensor that gives nothing rests for 1, 2, 4, ... rows.

        Streams that gave nothing, those that did with how far off each is, and which of these were
        set aside.
        """
        read, aside = arrived[~spikes], arrived[spikes]
        unread, misses, lean = self.unread + 1, self.misses.copy(), self.lean.copy()
        lean[arrived] = off
        odd = self.odd.copy()
        odd[arrived] = np.where(np.abs(off) > SPIKE, odd[arrived] + 1, 0)
        unread[read] = 0
        misses[arrived] = 0
        misses[missing] += 1
        rest = np.maximum(self.rest - 1, 0)
        rest[missing] = np.minimum(2 ** np.minimum(misses[missing] - 1, 30), LONGEST_REST)
        again = np.zeros_like(self.again)
        again[aside] = True
        return replace(
            self, unread=unread, misses=misses, rest=rest, lean=lean, again=again, odd=odd
        )


def allowed(
    wanted: Ints, strength: Floats, layout: Layout, state: SensorState, current: Ints | None
) -> Ints:
    """Streams to read next, ascending: the method's choice as far as the plant allows.

    Candidates are taken in turn, each with its group, as long as number, cost and moves allow:
    those always read; those due to be read again; those that the method wants, the most suspicious
    first; the others, longest unread first; and, if nothing else is left, those that rest.

    Parameters
    ----------
    wanted : array, shape (m,)
        The method's choice.
    strength : array, shape (p,)
        How strongly each stream speaks for a change.
    layout : Layout
        The rules.
    state : SensorState
        What the sensors did so far.
    current : array or None
        Streams that the sensors are at; None before the first step, when none has to move.
    """
    due = state.due()
    if layout.is_plain and not (state.rest.any() or due.any()):
        return wanted
    place = np.full(len(strength), 3)
    place[wanted] = 2
    place[due] = 1
    place[state.rest > 0] = 4
    place[list(layout.always)] = 0
    unread = np.where(place == 3, state.unread, 0)
    order = np.lexsort((-strength, -unread, np.where(place == 4, state.rest, 0), place))
    here = None if current is None else set(current.tolist())
    chosen: list[int] = []
    cost, moves = 0.0, 0
    for stream in order.tolist():
        if stream in layout.without or stream in chosen:
            continue
        unit = [i for i in layout.together[stream] if i not in layout.without]
        price = cost + float(layout.cost[unit].sum())
        moved = moves + (0 if here is None else sum(i not in here for i in unit))
        if len(chosen) + len(unit) <= layout.m and price <= layout.budget + 1e-9:
            if moved > layout.moves and stream not in layout.always:
                continue
            chosen += unit
            cost, moves = price, moved
            if len(chosen) == layout.m:
                break
    return np.array(sorted(chosen), dtype=np.int64)


def set_aside(
    covariance: CovarianceLike, streams: Ints, values: Floats, seen: SensorState
) -> tuple[Bools, Floats]:
    """Readings that are not to be believed yet, (k,), and how far off each is, (k,).

    How far off: the residual of a reading given the others of its row, in its own standard
    deviations, d_i = (S^-1 x)_i / sqrt((S^-1)_ii). One wrong value among right ones has the
    largest of all, by Cauchy and Schwarz. So the furthest off is taken out, as long as it is
    further off than `SPIKE`, and the others are judged without it. It is believed if `repeated`,
    or if it is the third such reading in a row, and else set aside.

    Parameters
    ----------
    covariance : array, shape (p, p), or structure
        In control.
    streams : array, shape (k,)
        Streams that were read.
    values : array, shape (k,)
        Their values, standardised.
    seen : SensorState
        What the sensors did before.
    """
    aside, off = np.zeros(len(streams), dtype=bool), np.zeros(len(streams))
    left = np.arange(len(streams))
    while len(left):
        inside = streams[left]
        precision = np.linalg.inv(blocks(covariance, inside[None])[0])
        off[left] = precision @ values[left] / np.sqrt(np.diagonal(precision))
        furthest = left[np.argmax(np.abs(off[left]))]
        if abs(off[furthest]) <= SPIKE:
            break
        stream = streams[furthest]
        persists = seen.odd[stream] + 1 >= PERSISTS
        aside[furthest] = not (persists or repeated(off[furthest], seen.lean[stream]))
        left = left[left != furthest]
    return aside, off


def repeated(off: float, lean: float) -> bool:
    """Whether the sensor's last reading was off to the same side, at least half as far."""
    return bool(np.sign(off) * lean >= REPEAT * abs(off))
