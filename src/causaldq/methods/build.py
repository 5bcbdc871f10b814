"""A method from its name: the class of that name, in the file of that name.

Jobs come here rather than to the registry, so that a new method is no change to the others:
what a job runs is the file of its own method, and what that imports.
"""

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
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


def build(
    kind: type[Method[Any]],
    problem: Problem,
    options: Mapping[str, Any],
    network: Path | None = None,
) -> Method[Any]:
    """The method with settings of its own, if it has any, and a network, if it needs one."""
    if kind.options is None:
        return kind(problem)
    settings = kind.options.model_validate(options)
    if network is None:
        return kind(problem, settings)  # type: ignore[call-arg]
    with_network: Method[Any] = kind.with_network(problem, settings, network)  # type: ignore[attr-defined]
    return with_network
