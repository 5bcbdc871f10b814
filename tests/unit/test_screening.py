"""Links between very many streams, where screening leaves few pairs to test."""

import numpy as np
import pytest

from causaldq.discovery.algorithms import check
from causaldq.discovery.pc import skeleton
from causaldq.discovery.screening import screened_edges
from causaldq.errors import DiscoveryError
from causaldq.types import Floats


def chains(p: int, n: int, length: int, seed: int = 0) -> Floats:
    """Streams that each follow from the one before, in chains of some length."""
    rows = np.random.default_rng(seed).standard_normal((n, p))
    for j in range(p):
        if j % length:
            rows[:, j] = 0.8 * rows[:, j - 1] + 0.6 * rows[:, j]
    return rows


def test_many_chains_are_found_link_by_link() -> None:
    rows = chains(2100, 400, 4)
    found = {tuple(edge) for edge in screened_edges(rows, level=0.01).tolist()}
    true = {(j - 1, j) for j in range(2100) if j % 4}
    assert len(found & true) > 0.99 * len(true)
    assert len(found - true) < 0.05 * len(true)


def test_the_links_are_those_of_pc_where_screening_misses_nothing() -> None:
    rows = chains(12, 3000, 6, seed=2)
    linked, _ = skeleton(np.corrcoef(rows.T), len(rows), 1e-4)
    assert screened_edges(rows, level=1e-4).tolist() == np.argwhere(np.triu(linked)).tolist()


def test_common_factors_are_taken_out_first() -> None:
    rows = chains(200, 500, 4, seed=3)
    rows += 1.5 * np.random.default_rng(4).standard_normal((500, 1))
    with pytest.raises(DiscoveryError, match="factors=None"):
        screened_edges(rows)
    found = {tuple(edge) for edge in screened_edges(rows, level=0.01, factors=None).tolist()}
    true = {(j - 1, j) for j in range(200) if j % 4}
    assert len(found & true) > 0.9 * len(true)


def test_pc_on_very_many_streams_says_what_to_do() -> None:
    with pytest.raises(DiscoveryError, match=r"screened_edges.*edge list"):
        check(np.empty((10, 5000)), ("a",))
