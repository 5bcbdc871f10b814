"""What differs between two sets of settings."""

from collections.abc import Iterator, Mapping
from typing import Any


def flat(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every single setting with its place, such as `agent.reward.hit`."""
    if isinstance(value, Mapping) and value:
        for key in value:
            yield from flat(value[key], f"{place}.{key}" if place else str(key))
    else:
        yield place, value


def changed_settings(old: Any, new: Any) -> dict[str, tuple[Any, Any]]:
    """Settings that differ, old and new; None where there was none."""
    a, b = dict(flat(old)), dict(flat(new))
    return {key: (a.get(key), b.get(key)) for key in a | b if a.get(key) != b.get(key)}


def described(changes: Mapping[str, tuple[Any, Any]], at_most: int = 3) -> str:
    """The first few changes on one line."""
    texts = [f"{key or 'settings'}: {old} → {new}" for key, (old, new) in changes.items()]
    more = len(texts) - at_most
    return "; ".join(texts[:at_most]) + (f"; and {more} more" if more > 0 else "")
