"""All methods. A new one is a file here and its name below."""

import re
from functools import cache
from typing import Any

from causaldq.errors import ConfigError
from causaldq.methods.base import Method
from causaldq.methods.build import index_class, method_class
from causaldq.methods.causal_dq_eq import CausalDqEq
from causaldq.setting import Settings

NAMES = (
    "greedy",
    "tssrp",
    "asmp",
    "cmab",
    "tras",
    "bsscd",
    "cds",
    "eps_glr",
    "tssrp_cov",
    "aucrss",
    "bayes_posterior",
    "innovation_filter",
    "any_shift",
    "causal_dq_eq",
    "non_causal_eq",
    "causal_sr",
    "causal_sr_no_graph",
    "random",
    "round_robin",
    "oracle_set",
    "full_observation",
    "cusum",
)

AGENTS = ("causal_dq", "non_causal", "sdq")
"""The paper's learned methods, trained for one problem each by `causaldq.learn`."""

BASELINES = (
    *("greedy", "tssrp", "asmp", "tras", "cmab", "bsscd", "cds", "eps_glr", "tssrp_cov"),
    "aucrss",
)
"""Methods of others, whose best is to be beaten."""


@cache
def index_methods() -> dict[str, type[Method[Any]]]:
    """By name."""
    found = {name: index_class(name) for name in NAMES}
    return {name: kind for name, kind in found.items() if kind is not None}


def method_names(*, learned: bool = False) -> list[str]:
    """Names that `Monitor.fit`, `calibrate` and `evaluate` know.

    Parameters
    ----------
    learned : bool
        Also those that have to be trained first (`causaldq.learn`).

    Returns
    -------
    list of str
        Bounds, which are told where the shift will be, are left out.

    Examples
    --------
    >>> "bayes_posterior" in method_names()
    True
    """
    found = [
        name
        for name, kind in index_methods().items()
        if not kind.is_bound and (learned or not has_shared_network(name))
    ]
    return [*found, *AGENTS] if learned else found


def named_method(name: str) -> type[Method[Any]]:
    """The class of a name; an error with the nearest names if there is none."""
    kinds = index_methods()
    if name in kinds:
        return kinds[name]
    from difflib import get_close_matches

    if name in AGENTS:
        raise ConfigError(
            f"{name} has to be trained for its problem first: see causaldq.learn; without training"
            f" there are {', '.join(method_names())}"
        )
    near = get_close_matches(name, [*kinds, *AGENTS], 3)
    remedy = f"did you mean {' or '.join(near)}?" if near else f"give {', '.join(method_names())}"
    raise ConfigError(f"there is no method {name!r}; {remedy}")


def registered_name(method: Method[Any]) -> str:
    """The name of a method's class: `oracle_set` of OracleSet."""
    return re.sub("(?<!^)(?=[A-Z])", "_", type(method).__name__).lower()


def saved_method(name: str) -> type[Method[Any]]:
    """The class behind a name in a file: one of ours, trained or not."""
    kind = method_class(name) if name in NAMES or name in AGENTS else None
    if kind is None:
        raise ConfigError(f"the method {name!r} is not one of ours; give `method`, what makes it")
    return kind


def own_settings() -> dict[str, type[Settings]]:
    """By name, of the methods that have settings; relatives share those of the first."""
    found: dict[type[Settings], str] = {}
    for name, kind in index_methods().items():
        if kind.options is not None:
            found.setdefault(kind.options, name)
    return {name: options for options, name in found.items()}


def is_bound(method: str) -> bool:
    """Whether a method uses the truth: a yardstick, not a competitor."""
    kind = index_methods().get(method)
    return kind is not None and kind.is_bound


def has_shared_network(method: str) -> bool:
    """Whether a method uses a network that is trained once for all problems."""
    kind = index_methods().get(method)
    return kind is not None and issubclass(kind, CausalDqEq)
