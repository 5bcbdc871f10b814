"""The example of water leaks: hydraulics as streams, and methods that know what a leak does."""

import sys

import numpy as np
import pandas as pd
import pytest
import water_comparison
from water_leaks import FLOWS, FilterFixed, FilterInTurn, LeakMixture, alike, placed, watched
from water_network import Network, Normal, by_hour, toolkit

import causaldq
from causaldq.errors import ConfigError, DataError
from causaldq.methods import BayesPosterior
from causaldq.methods.base import Problem

DEMAND = 9
"""EPANET's code of the flow that leaves the network at a node."""


@pytest.fixture
def network() -> Network:
    return Network("Net3.inp")  # 92 junctions


# --- hydraulics -----------------------------------------------------------------------------


def test_what_is_asked_for_leaves_the_network_and_comes_from_its_sources(network: Network) -> None:
    demands = network.demands(30, np.random.default_rng(0))
    rows = network.pressures(demands)
    assert rows.shape == demands.shape
    flows = np.array(network.api.ENgetnodevalues(DEMAND))  # of the last hour
    np.testing.assert_allclose(flows[: network.p], demands[-1], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(flows[network.p :].sum(), -demands[-1].sum(), rtol=1e-3)


def test_a_leak_lowers_pressures_from_its_hour_on_and_its_own_most(network: Network) -> None:
    quiet = network.readings(24, np.random.default_rng(5))
    for junction in (20, 50, 80):
        rows = network.readings(24, np.random.default_rng(5), (junction, 100.0, 10))
        drop = quiet - rows  # the same demands and errors of reading
        np.testing.assert_array_equal(drop[:10], 0.0)
        assert (drop[10] > -1e-3).all()
        assert drop[10].argmax() == junction


@pytest.mark.filterwarnings("ignore:WARNING. System has negative pressures")
def test_signatures_are_the_drops_of_single_leaks(network: Network) -> None:
    """Against a whole run with constant demand, of which the first hour is the same state."""
    demands = np.tile(network.typical.mean(axis=0), (2, 1))
    signatures = network.signatures(50.0)
    for junction in (10, 60):
        leaking = demands.copy()
        leaking[:, junction] += 50.0
        moved = (network.pressures(leaking) - network.pressures(demands))[0] / 50.0
        np.testing.assert_allclose(signatures[junction], moved, atol=2e-4)


def test_the_same_seed_gives_the_same_readings(network: Network) -> None:
    first, other = (network.readings(3, np.random.default_rng(seed)) for seed in (1, 2))
    again = Network("Net3.inp").readings(3, np.random.default_rng(1))
    np.testing.assert_allclose(first, again, atol=1e-3)
    assert (first != other).any(axis=0).all()
    with pytest.raises(DataError, match="holds another network"):
        network.readings(3, np.random.default_rng(1))


def test_a_typical_day_is_a_mean_over_days() -> None:
    two_days = np.concatenate([np.arange(48.0), 2.0 + np.arange(48.0)])  # a value each half hour
    np.testing.assert_allclose(by_hour(two_days, 1800), 1.5 + 2 * np.arange(24))
    np.testing.assert_allclose(by_hour(np.array([1.0, 3.0]), 12 * 3600), [1.0] * 12 + [3.0] * 12)


def test_pipes_lead_no_shorter_way_than_their_sum(network: Network) -> None:
    """Bellman and Ford's relaxation has nothing left to shorten, and every way has a last pipe."""
    found = np.append(network.distances(7), np.full(len(network.places) - network.p, np.inf))
    lengths = np.maximum(network.lengths, 0.1)
    both = np.concatenate([network.pipes, network.pipes[:, ::-1]])
    assert found[7] == 0.0
    for _ in range(len(network.places)):  # sources are no junctions: their distances follow
        np.minimum.at(found, both[:, 1], found[both[:, 0]] + np.tile(lengths, 2))
    np.testing.assert_allclose(found[: network.p], network.distances(7))


def test_normal_hours_have_mean_zero_and_variance_one() -> None:
    rng = np.random.default_rng(0)
    rows = np.tile(np.arange(24.0)[:, None], (10, 3)) + rng.standard_normal((240, 3))
    scaled = Normal.of(rows).scaled(rows).reshape(10, 24, 3)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0, ddof=1), 1.0)


def test_a_network_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match=r"'nowhere.inp'; L-TOWN.inp"):
        Network("nowhere.inp")


def test_without_the_extra_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "epyt"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "epyt", None)
    with pytest.raises(ConfigError, match=r"need epyt.*pip install '\.\[water\]'"):
        toolkit()


# --- methods --------------------------------------------------------------------------------


def drops(p: int) -> np.ndarray:
    """Signatures (p, p) on a line of pipes: most at the leak, less with the distance."""
    place = np.arange(p)
    return -0.4 * 0.5 ** np.abs(place[:, None] - place)


def test_every_method_keeps_to_the_contract() -> None:
    causaldq.check_method(lambda problem: LeakMixture(problem, drops(7)))
    causaldq.check_method(lambda problem: LeakMixture(problem, drops(7), np.array([0, 3, 6])))
    causaldq.check_method(lambda problem: FilterFixed(problem, np.array([0, 3, 6])))
    causaldq.check_method(FilterInTurn)


@pytest.mark.parametrize("fixed", [None, np.array([1, 4])])
def test_the_sum_grows_by_one_a_step_whatever_is_read(fixed: np.ndarray | None) -> None:
    """The property that bounds false alarms: E[R_n] = n in control."""
    covariance = 0.3 + 0.7 * np.eye(6)
    method = LeakMixture(Problem(covariance, 2), 0.1 * drops(6), fixed)
    rng = np.random.default_rng(0)
    values = rng.standard_normal((40000, 4, 6)) @ np.linalg.cholesky(covariance).T
    state = method.start(len(values), None, rng)
    for hour in range(4):
        streams = method.choose(state, rng)
        read = np.take_along_axis(values[:, hour], streams, axis=1)
        state = method.observe(state, streams, read, rng)
    sums = np.expm1(method.statistic(state))
    assert abs(sums.mean() - 4) < 4 * sums.std() / np.sqrt(len(sums))


def test_the_leak_is_found_and_named() -> None:
    rng = np.random.default_rng(1)
    method = LeakMixture(Problem(np.eye(12), 3), drops(12))
    places = rng.integers(12, size=40)
    recordings = rng.standard_normal((40, 80, 12))
    recordings[:, 20:] += FLOWS[1] * drops(12)[places][:, None]
    delay, missed, named = watched(method, recordings, 20, np.log(500), rng)
    assert not missed.any()
    kept = ~np.isnan(delay)
    assert kept.sum() >= 30
    assert (delay[kept] >= 1).all()
    assert np.mean(np.abs(named - places)[kept] <= 1) > 0.8


def test_a_watch_counts_early_alarms_and_missed_leaks() -> None:
    rows = np.zeros((3, 10, 4))
    rows[0, 2, 1] = rows[1, 6, 3] = 100.0  # before the leak at 5, and its second hour
    method, rng = BayesPosterior(Problem(np.eye(4), 4)), np.random.default_rng(0)
    delay, missed, named = watched(method, rows, 5, 50.0, rng)
    np.testing.assert_array_equal(delay, [np.nan, 2, 5])
    np.testing.assert_array_equal(missed, [False, False, True])
    assert named[:2].tolist() == [1, 3]


def test_fixed_sensors_go_one_to_each_part_that_moves_alone() -> None:
    blocks = np.kron(np.diag([3.0, 2.0, 1.0]), np.array([[1.0, 0.9], [0.9, 0.8]]))
    assert (placed(blocks, 3) // 2).tolist() == [0, 1, 2]


def test_leaks_alike_are_grouped() -> None:
    member = alike(np.repeat(np.eye(3), 4, axis=0) * np.linspace(1, 2, 12)[:, None], 3)
    assert member.sum(axis=0).tolist() == [4, 4, 4]
    assert (member.sum(axis=1) == 1).all()


# --- what the gallery shows -----------------------------------------------------------------


def test_the_table_is_of_the_scripts_settings() -> None:
    table = pd.read_csv(water_comparison.FILE)
    wanted = water_comparison.methods(drops(60), 10)
    rows = {(name, m) for name in wanted for m in water_comparison.LOGGERS}
    assert set(zip(table.method, table.loggers, strict=True)) == rows
    assert (table.asked == water_comparison.ARL0).all()
    assert (table.leaks == water_comparison.LEAKS).all()
    assert (table.delay <= water_comparison.AFTER).all()
