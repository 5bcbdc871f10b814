"""Numbers as a user gives them: made Python's own, or refused with what would be right."""

from collections.abc import Callable
from math import isfinite
from numbers import Integral, Real
from typing import Any

from causaldq.errors import ConfigError


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number within its range; true and false are none.

    Examples
    --------
    >>> whole("paths", 20, 10)
    20
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    wanted = f"of {least} or more" if most is None else f"from {least} to {most}"
    raise ConfigError(f"{name} is {value!r}; give a whole number {wanted}")


def number(name: str, value: Any, wanted: str, allowed: Callable[[float], bool]) -> float:
    """A finite number of which `allowed` is true, which an error calls `wanted`.

    Examples
    --------
    >>> number("confidence", 0.9, "between 0 and 1", lambda x: 0 < x < 1)
    0.9
    """
    if isinstance(value, Real) and not isinstance(value, bool) and isfinite(value):
        found = int(value) if isinstance(value, Integral) else float(value)
        if allowed(found):
            return found
    raise ConfigError(f"{name} is {value!r}; give a number {wanted}")


def seed_of(value: Any) -> int:
    """A seed of random numbers."""
    return whole("seed", value, 0)


def sensors_of(value: Any, p: int) -> int:
    """Sensors, one to as many as there are streams."""
    try:
        return whole("sensors", value, 1, p)
    except ConfigError:
        raise ConfigError(
            f"{value!r} sensors for {p} streams; give a whole number from 1 to {p}"
        ) from None
