"""The order of an acyclic graph."""

import numpy as np

from causaldq.types import Bools, Ints


def topological_order(directed: Bools) -> Ints:
    """(p,), streams of an acyclic graph, causes before effects; entry [i, j]: from i to j."""
    left = directed.copy()
    remaining = np.ones(len(left), dtype=bool)
    order = []
    while remaining.any():
        roots = np.flatnonzero(remaining & ~left.any(axis=0))
        if not len(roots):
            raise ValueError("the graph has a cycle")
        order += roots.tolist()
        remaining[roots] = False
        left[roots] = False
    return np.array(order, dtype=np.int64)
