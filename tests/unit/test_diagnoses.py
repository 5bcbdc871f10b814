"""Each diagnosis on a plant that has exactly its fault."""

import numpy as np
import pytest
from scipy.stats import norm

from causaldq.models import diagnoses
from causaldq.models.diagnoses import diagnose
from causaldq.types import Floats

NAMES = tuple("abcdefgh")
P = len(NAMES)


def rows_with_memory(n: int, memory: float, rng: np.random.Generator) -> Floats:
    rows = rng.normal(size=(n + 50, P))
    for t in range(1, len(rows)):
        rows[t] = memory * rows[t - 1] + np.sqrt(1 - memory**2) * rows[t]
    return rows[50:]


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_sound_rows_have_nothing_wrong(memory: float) -> None:
    wrong = [
        diagnose(rows_with_memory(1000, memory, np.random.default_rng(seed)), NAMES)
        for seed in range(30)
    ]
    assert sum(map(bool, wrong)) <= 1  # a word about a mean is wrong once in a thousand


@pytest.mark.parametrize("memory", [0.0, 0.8])
def test_a_drifting_plant_is_called_by_its_name(memory: float) -> None:
    drifts = 0
    for seed in range(10):
        rows = rows_with_memory(1000, memory, np.random.default_rng(seed))
        rows[:, 2] += np.linspace(-2, 2, 1000)
        rows[:, 5] -= np.linspace(-1, 3, 1000)
        found = diagnose(rows, NAMES)
        assert {stream for one in found for stream in one.streams} == {"c", "f"}
        assert found[0].fault == "drift"
        assert "c (+" in found[0].text or "f (-" in found[0].text
        drifts += len(found[0].streams)
    assert drifts >= 18  # with memory, a line can look like a step now and then


def test_a_stream_that_wanders_off_drifts() -> None:
    """A random walk has no mean, and no single step explains it: found 19 times in 20."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rows_with_memory(1000, 0.3, rng)
        rows[:, 1] = np.cumsum(rng.normal(size=1000))
        found += [(one.fault, one.streams) for one in diagnose(rows, NAMES)]
    assert found.count(("drift", ("b",))) >= 16
    assert {streams for _, streams in found} == {("b",)}


@pytest.mark.parametrize("memory", [0.0, 0.8])
def test_a_change_inside_the_normal_rows_is_found_where_it_is(memory: float) -> None:
    for seed in range(10):
        rows = rows_with_memory(1000, memory, np.random.default_rng(seed))
        rows[620:, [1, 4]] += 2.5
        (found,) = diagnose(rows, NAMES)
        assert found.fault == "change inside"
        assert set(found.streams) == {"b", "e"}
        assert np.abs(np.array(found.rows) - 620).max() <= 25
        assert f"from row {found.rows[0]} on" in found.text


def test_heavy_tails_are_named_with_their_rows() -> None:
    rng = np.random.default_rng(1)
    rows = rows_with_memory(1000, 0.5, rng)
    spikes = [100, 333, 512, 900]
    rows[spikes, 3] += 12.0
    (found,) = diagnose(rows, NAMES)
    assert (found.fault, found.streams) == ("heavy tails", ("d",))
    assert set(spikes) <= set(found.rows) <= {row + lag for row in spikes for lag in (0, 1)}


def test_too_few_rows_say_how_many_would_do() -> None:
    rng = np.random.default_rng(2)
    (found,) = diagnose(rows_with_memory(60, 0.0, rng), NAMES)
    assert found.fault == "too few rows"
    assert "60 for 8 streams" in found.text
    assert "give 80 or more" in found.text


def test_held_values_are_no_fault() -> None:
    rng = np.random.default_rng(3)
    rows = rows_with_memory(1000, 0.5, rng)
    rows[1::2, 0] = rows[::2, 0]
    assert diagnose(rows, NAMES) == []


def test_the_stream_that_changed_most_comes_first() -> None:
    rows = rows_with_memory(1000, 0.0, np.random.default_rng(4))
    rows[500:, 1] += 2.0
    rows[600:, 4] -= 4.0
    rows[400:, 6] += 3.0
    (found,) = diagnose(rows, NAMES)
    assert found.streams == ("e", "g", "b")
    assert np.abs(np.array(found.rows) - [600, 400, 500]).max() <= 5
    assert found.text.index("e (-") < found.text.index("g (+") < found.text.index("b (+")


def test_tails_are_heavy_where_three_values_are_more_than_five_deviations_off() -> None:
    values = np.random.default_rng(5).permutation(norm.ppf((np.arange(1000) + 0.5) / 1000))
    rows = np.column_stack([np.random.default_rng(6).permutation(values) for _ in range(2)])
    rows[[200, 400], 0] = 5.5, -5.5
    rows[[300, 500], 1] = 5.5, -5.5
    assert diagnose(rows, ("a", "b")) == []
    rows[700, 0] = 5.5
    (found,) = diagnose(rows, ("a", "b"))
    assert (found.fault, found.streams, found.rows) == ("heavy tails", ("a",), (200, 400, 700))


def test_a_word_about_a_mean_is_as_often_wrong_as_its_level_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The largest of p bridges passes the level with about the chance that is asked for.

    Its bound is sharp where the chance is small; .1 is, and 1500 trials know it to .008.
    """
    monkeypatch.setattr(diagnoses, "LEVEL", 0.1)
    monkeypatch.setattr(diagnoses, "SMALLEST", 0.0)
    rng = np.random.default_rng(7)
    trials = [diagnose(rng.normal(size=(400, 2)), ("a", "b")) for _ in range(1500)]
    words = {"drift", "change inside"}
    wrong = np.mean([any(one.fault in words for one in found) for found in trials])
    assert 0.07 < wrong < 0.11
