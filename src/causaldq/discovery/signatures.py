"""Signatures: how far every stream moves when one stream's own term moves.

Let v_r be stream r minus its regression on a set C of other streams. If C holds the causes
of r and none of its effects, v_r is the own term of r, and

    s_r = S v_r / (v_r' S v_r)

are the total effects of r on all streams. So a causal graph enters only by the choice of C:
its parents of r. Two choices need no graph: with C empty, s_r is plain correlation; with
all others in C, nothing but r moves.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from causaldq.types import Bools, Floats, Ints


@dataclass(frozen=True)
class Hypotheses:
    """What might have happened: one cause and one signature each."""

    signatures: Floats
    """(h, p), mean shift of all streams when the cause moves by one standard deviation."""
    causes: Ints
    """(h,), the stream where it began."""
    prior: Floats
    """(h,), sums to one."""

    @property
    def p(self) -> int:
        return int(self.signatures.shape[1])

    def by_cause(self, weights: Floats) -> Floats:
        """Sum weights (..., h) over the hypotheses of each cause, (..., p)."""
        member = self.causes[:, None] == np.arange(self.p)
        return np.asarray(weights @ member, np.float64)


def signature(covariance: Floats, stream: int, given: Ints) -> Floats:
    """s_r for one deviation of r = `stream`, with C = `given`, (p,)."""
    own = np.zeros(len(covariance))
    own[stream] = 1.0
    if len(given):
        block = covariance[np.ix_(given, given)]
        own[given] = -np.linalg.solve(block, covariance[given, stream])
    moved = covariance @ own
    return np.asarray(np.sqrt(covariance[stream, stream]) * moved / moved[stream], np.float64)


ParentSets = dict[tuple[int, tuple[int, ...]], float]
"""Prior of each stream r with each set C."""


def hypotheses(covariance: Floats, sets: ParentSets) -> Hypotheses:
    """One hypothesis for each (r, C)."""
    total = sum(sets.values())
    return Hypotheses(
        np.array([signature(covariance, r, np.array(c, dtype=np.int64)) for r, c in sets]),
        np.array([r for r, _ in sets], dtype=np.int64),
        np.array([weight / total for weight in sets.values()]),
    )


def parent_sets(graphs: Bools) -> ParentSets:
    """Parents in each of the graphs (g, p, p): graphs that agree on them share a hypothesis."""
    p = graphs.shape[1]
    counted = Counter(
        (r, tuple(np.flatnonzero(graph[:, r]).tolist())) for r in range(p) for graph in graphs
    )
    return {key: count / (len(graphs) * p) for key, count in sorted(counted.items())}


def nothing_given(p: int) -> ParentSets:
    """C empty: plain correlation."""
    return {(r, ()): 1.0 / p for r in range(p)}


def all_given(p: int) -> ParentSets:
    """C holds all others: a shift stays where it is."""
    return {(r, tuple(i for i in range(p) if i != r)): 1.0 / p for r in range(p)}


def mixed(parts: Iterable[tuple[float, ParentSets]]) -> ParentSets:
    """Several families with their shares; sets that occur in several add up."""
    together: ParentSets = {}
    for share, sets in parts:
        for key, weight in sets.items() if share > 0 else ():
            together[key] = together.get(key, 0.0) + share * weight
    return together


def graph_free(p: int) -> ParentSets:
    """C empty and C all together, half each."""
    return mixed([(0.5, nothing_given(p)), (0.5, all_given(p))])
