"""All methods but those that learn one problem. A new one is a file here and its name below."""

from functools import cache
from typing import Any

from causaldq.methods.base import Method
from causaldq.methods.build import method_class
from causaldq.methods.causal_dq_eq import CausalDqEq

NAMES = (
    "tssrp",
    "asmp",
    "cmab",
    "tras",
    "greedy",
    "bayes_posterior",
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

FIELD = ("greedy", "tssrp", "asmp", "tras", "cmab")
"""Methods of others, whose best is to be beaten."""


@cache
def index_methods() -> dict[str, type[Method[Any]]]:
    """By name."""
    found = {name: method_class(name) for name in NAMES}
    return {name: kind for name, kind in found.items() if kind is not None}


def is_bound(method: str) -> bool:
    """Whether a method uses the truth: a yardstick, not a competitor."""
    kind = index_methods().get(method)
    return kind is not None and kind.is_bound


def has_shared_network(method: str) -> bool:
    """Whether a method uses a network that is trained once for all problems."""
    kind = index_methods().get(method)
    return kind is not None and issubclass(kind, CausalDqEq)
