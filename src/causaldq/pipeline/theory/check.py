"""What a check is, and how it comes to its verdict."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from causaldq.pipeline.theory.mdp import Mdp, random_mdp, small_mdps
from causaldq.pipeline.theory.sensors import sensor_mdps
from causaldq.pipeline.theory.settings import TheorySettings

Reading = Literal["as printed", "as in the proof", "as used", "corrected"]
"""`as used`: as the surrounding text or the algorithm takes the statement."""
Verdict = Literal["holds", "does not hold"]

TOLERANCE = 1e-9
"""Slack below minus this is a failure; above it, a strict inequality."""

T = TypeVar("T")
Example = tuple[str, dict[str, Any]]
"""A counterexample in words, and its numbers."""


@dataclass(frozen=True)
class Statement:
    """One reading of one statement of the paper, as data/reference/theory.yaml has it."""

    id: str
    place: str
    statement: str
    """Short, formulas between dollar signs."""
    reading: Reading
    note: str
    strict: bool = False
    """The statement says `smaller`, not `at most`."""
    vacuous: bool = False
    """Where it holds, so would a bound that says nothing."""


@dataclass(frozen=True)
class Check:
    """What came of trying a statement on many instances."""

    id: str
    place: str
    statement: str
    reading: Reading
    instances: int
    """Random instances tried."""
    satisfied_share: float
    """Share of them that satisfy it."""
    sensor_instances: int
    """Miniatures of the sensor problem tried."""
    sensor_share: float | None
    smallest_slack: float
    """Least of right side minus left side, over all tried; negative where it fails."""
    verdict: Verdict
    vacuous: bool
    looseness: float | None
    """Median of bound over what it bounds, where that was measured."""
    counterexample: str | None
    """The smallest found, with the numbers needed to redo it by hand."""
    witness: dict[str, Any]
    """The same numbers, for machines."""
    note: str


def problem_of(case: Any) -> Mdp:
    """The decision problem that a case is, or is about."""
    found: Mdp = getattr(case, "mdp", case)
    return found


@dataclass(frozen=True)
class Setup:
    """What the instances of a trial are drawn with."""

    rng: np.random.Generator
    settings: TheorySettings

    def problems(self) -> list[Mdp]:
        """Random ones."""
        return [random_mdp(self.rng, self.settings) for _ in range(self.settings.instances)]

    def miniatures(self) -> list[Mdp]:
        """Of the sensor problem."""
        return sensor_mdps(self.settings.sensors)


@dataclass(frozen=True)
class Trial(Generic[T]):
    """Instances of a statement, and how to measure and describe one."""

    slack: Callable[[T], float]
    """Right side minus left side."""
    drawn: Sequence[T]
    """Random ones."""
    small: Iterable[T] = ()
    """Simple ones, smallest first: where a counterexample is looked for."""
    sensors: Sequence[T] = ()
    describe: Callable[[T], Example] = lambda case: tell(problem_of(case))
    size: Callable[[T], float] = lambda case: problem_of(case).size
    looseness: float | None = None
    measured: Mapping[str, float] = field(default_factory=dict)
    """Numbers for the note of the statement."""


def on_problems(
    setup: Setup,
    slack: Callable[[Mdp], float],
    describe: Callable[[Mdp], Example] = lambda mdp: tell(mdp),
    only: Callable[[Mdp], bool] = lambda _: True,
) -> Trial[Mdp]:
    """Tried on the random problems, the small ones and the miniatures that `only` lets through."""
    return Trial(
        slack,
        [mdp for mdp in setup.problems() if only(mdp)],
        [mdp for mdp in small_mdps() if only(mdp)],
        [mdp for mdp in setup.miniatures() if only(mdp)],
        describe,
    )


def examine(statement: Statement, trial: Trial[T]) -> Check:
    """Try a statement on everything there is; one failure decides."""
    drawn = [trial.slack(case) for case in trial.drawn]
    sensors = [trial.slack(case) for case in trial.sensors]
    bar = TOLERANCE if statement.strict else -TOLERANCE

    def fails(slack: float) -> bool:
        return slack <= bar if statement.strict else slack < bar

    found = next((case for case in trial.small if fails(trial.slack(case))), None)
    if found is None:
        pairs = chain(
            zip(trial.drawn, drawn, strict=True), zip(trial.sensors, sensors, strict=True)
        )
        failed = [case for case, slack in pairs if fails(slack)]
        found = min(failed, key=trial.size, default=None)
    slacks = [*drawn, *sensors]
    if found is not None:
        slacks.append(trial.slack(found))
    text, witness = trial.describe(found) if found is not None else (None, {})
    return Check(
        id=statement.id,
        place=statement.place,
        statement=statement.statement,
        reading=statement.reading,
        instances=len(drawn),
        satisfied_share=_share(drawn, fails),
        sensor_instances=len(sensors),
        sensor_share=_share(sensors, fails) if sensors else None,
        smallest_slack=tidy(min(slacks)),
        verdict="holds" if found is None else "does not hold",
        vacuous=statement.vacuous and found is None,
        looseness=None if trial.looseness is None else float(f"{trial.looseness:.3g}"),
        counterexample=text,
        witness=witness,
        note=statement.note % trial.measured,
    )


def _share(slacks: list[float], fails: Callable[[float], bool]) -> float:
    return round(1.0 - sum(map(fails, slacks)) / len(slacks), 4)


def tidy(slack: float) -> float:
    """Six digits, and no rounding noise around 0: the same on every machine."""
    return 0.0 if abs(slack) < TOLERANCE else float(f"{slack:.6g}")


def number(value: float) -> str:
    """Six digits."""
    return f"{value:.6g}"


def row(values: Any) -> str:
    """(1, 0.5): numbers in a row."""
    return "(" + ", ".join(number(float(v)) for v in np.ravel(values)) + ")"


def rows(values: Any) -> str:
    """One row a state."""
    return "; ".join(row(v) for v in np.atleast_2d(values))


def tell(mdp: Mdp) -> Example:
    """A decision problem in words and numbers."""
    words = "one state" if mdp.states == 1 else f"{mdp.states} states"
    text = (
        f"{words}, {mdp.actions} action{'s' if mdp.actions > 1 else ''}, $r={rows(mdp.reward)}$,"
        f" $C={rows(mdp.mask)}$"
    )
    if mdp.states > 1:
        flat = mdp.transition.reshape(mdp.size, mdp.states)
        text += f", transitions by state and action ${rows(flat)}$"
    text += rf", $\gamma={number(mdp.discount)}$, $\tau={number(mdp.tau)}$"
    witness = {
        "transition": mdp.transition.tolist(),
        "reward": mdp.reward.tolist(),
        "mask": mdp.mask.astype(int).tolist(),
        "discount": mdp.discount,
        "tau": mdp.tau,
    }
    return text, witness


def example(mdp: Mdp, ending: str, **numbers: Any) -> Example:
    """A decision problem, what follows it in words, and more numbers."""
    text, witness = tell(mdp)
    more = {name: np.asarray(value).tolist() for name, value in numbers.items()}
    return text + ending, witness | more
