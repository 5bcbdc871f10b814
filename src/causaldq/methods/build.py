"""A method from its name: the class of that name, in the file of that name.

Jobs come here rather than to the registry, so that a new method is no change to the others:
what a job runs is the file of its own method, and what that imports.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from causaldq.methods.base import Method, Problem


def method_class(name: str) -> type[Method[Any]] | None:
    """`OracleSet` of oracle_set.py; None if there is no such file."""
    place = f"causaldq.methods.{name}"
    if find_spec(place) is None:
        return None
    kind: type[Method[Any]] = getattr(
        import_module(place), "".join(part.capitalize() for part in name.split("_"))
    )
    return kind


def index_class(name: str) -> type[Method[Any]] | None:
    """The same; None also if the method has to be trained for each problem."""
    kind = method_class(name)
    return None if kind is None or kind.trained else kind


def build(
    kind: type[Method[Any]],
    problem: Problem,
    options: Mapping[str, Any],
    weights: Mapping[str, Any] | None = None,
) -> Method[Any]:
    """The method with settings of its own and the weights of a network, if it has such."""
    return kind.rebuilt(problem, options, weights or {})
