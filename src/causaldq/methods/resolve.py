"""A method however it is named: by its name, its class, or a function that makes it."""

from collections.abc import Callable
from typing import Any

from causaldq.errors import ConfigError
from causaldq.methods.base import Method, Problem
from causaldq.methods.registry import has_shared_network, named_method

MethodLike = str | type[Method[Any]] | Callable[[Problem], Method[Any]]
"""A registered name, a class of ours or yours, or whatever makes a method for a problem."""


def name_of(method: MethodLike) -> str:
    """What a method is called in tables and files."""
    return method if isinstance(method, str) else getattr(method, "__name__", str(method))


def resolved(method: MethodLike, problem: Problem) -> Method[Any]:
    """The method, made for a problem."""
    if isinstance(method, str):
        kind = named_method(method)
        if kind.is_bound:
            raise ConfigError(
                f"{method} is told where the shift will be: it is a bound, not a method for use"
            )
        if has_shared_network(method):
            raise ConfigError(
                f"{method} needs a trained network: give a function of the problem that makes it,"
                " with the weights that causaldq.learn trained"
            )
        return kind(problem)
    if not callable(method):
        raise ConfigError(
            f"{method!r} is no method; give a name, a class or a function of the problem"
        )
    made = method(problem)
    if not isinstance(made, Method):
        raise ConfigError(
            f"{name_of(method)} gives a {type(made).__name__}; a method is a subclass of"
            " causaldq.Method"
        )
    return made
