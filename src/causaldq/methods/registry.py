"""All methods that are not learned. A new one is a file beside this and a line here."""

from typing import Any

from causaldq.methods.asmp import Asmp
from causaldq.methods.base import Method
from causaldq.methods.cmab import Cmab
from causaldq.methods.cusum import Cusum
from causaldq.methods.full_observation import FullObservation
from causaldq.methods.greedy import Greedy
from causaldq.methods.oracle_set import OracleSet
from causaldq.methods.random import Random
from causaldq.methods.round_robin import RoundRobin
from causaldq.methods.tras import Tras
from causaldq.methods.tssrp import Tssrp

INDEX_METHODS: dict[str, type[Method[Any]]] = {
    "tssrp": Tssrp,
    "asmp": Asmp,
    "cmab": Cmab,
    "tras": Tras,
    "greedy": Greedy,
    "random": Random,
    "round_robin": RoundRobin,
    "oracle_set": OracleSet,
    "full_observation": FullObservation,
    "cusum": Cusum,
}


def is_bound(method: str) -> bool:
    """Whether a method uses the truth: a yardstick, not a competitor."""
    return method in INDEX_METHODS and INDEX_METHODS[method].is_bound
