"""The trials of section 5: for each statement in data/reference/theory.yaml, a function of its
name in one of these modules."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from causaldq.errors import DataError
from causaldq.pipeline.theory.check import Check, Setup, Statement, Trial, examine
from causaldq.pipeline.theory.checks import (
    assumptions,
    bias,
    convergence,
    entropy,
    errors,
    learned,
    operators,
    optimum,
)
from causaldq.pipeline.theory.settings import TheorySettings
from causaldq.seeds import generator

MODULES = (operators, assumptions, entropy, optimum, errors, bias, convergence, learned)


def read_statements(path: Path) -> list[Statement]:
    """In the order of the paper."""
    written: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text())
    return [Statement(id=name, **given) for name, given in written.items()]


def trial_of(name: str) -> Callable[[Setup], Trial[Any]]:
    """The function that tries a statement."""
    for module in MODULES:
        if hasattr(module, name):
            found: Callable[[Setup], Trial[Any]] = getattr(module, name)
            return found
    raise DataError(f"data/reference/theory.yaml: nothing tries a statement {name!r}")


def run_checks(seed: int, settings: TheorySettings, statements: list[Statement]) -> list[Check]:
    """Every statement, each with random numbers of its own."""
    return [
        examine(
            one, trial_of(one.id)(Setup(generator(seed, "theory", f"check_{one.id}"), settings))
        )
        for one in statements
    ]
