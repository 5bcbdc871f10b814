"""Simulated runs of the Tennessee Eastman Process.

tep-studio needs a C compiler and is not installed with the rest: most tests use a stand-in with the
part of its interface that is used. Where it is installed, the last test runs the real one.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from made import DEFAULTS

from causaldq.errors import DataError
from causaldq.pipeline.evaluation.faults import recordings
from causaldq.pipeline.sources import tep_studio
from causaldq.pipeline.sources.catalogue import FileSet
from causaldq.pipeline.sources.fetch import Delivered
from causaldq.pipeline.sources.tep import PAPER_STREAMS, TepSource
from causaldq.pipeline.sources.tep_studio import TepStudioSource
from causaldq.worlds.events import Events

ROOT = Path(__file__).parents[2]
RUN1 = ROOT.parent / "shared" / "data" / "tep_rieth2017"
MADE = Delivered("tep_studio", "tep_studio (made)", {})


def source(**changed: Any) -> TepStudioSource:
    small = {"faults": [1, 6], "train_rows": 30, "test_rows": 40, "onset": 10, "warm_up": 5}
    return TepStudioSource(
        kind="tep_studio",
        **DEFAULTS["source_defaults"]["tep_studio"] | small | {"held_out_runs": 3} | changed,
    )


class StandIn:
    """Noise by seed, the first measurement off under a fault; fault 6 shuts the plant down."""

    def __init__(self, *, horizon: float) -> None:
        self.rows = round(horizon * 20)

    def run(
        self, *, seed: int, disturbance_schedule: Callable[[float], Any], record_every: int
    ) -> SimpleNamespace:
        assert record_every == tep_studio.STEPS_A_SAMPLE
        rng = np.random.default_rng(seed)
        results = []
        for row in range(self.rows):
            under = np.asarray(disturbance_schedule(row * 0.05))
            measured = rng.normal(size=41)
            measured[2] += 100 * under.any()
            results.append(SimpleNamespace(measurements=measured, implemented_action=np.ones(12)))
            if under[5]:
                break
        return SimpleNamespace(results=tuple(results))


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tep_studio", SimpleNamespace(ClosedLoopSimulation=StandIn))


@pytest.mark.usefixtures("stand_in")
def test_runs_are_sorted_by_what_they_are_for_and_faults_set_in_when_they_should() -> None:
    found = source().read(MADE, None, np.random.default_rng(1))
    assert found.names == list(PAPER_STREAMS)
    assert found.in_control.shape == (30, 50)
    assert found.held_out.shape == (120, 50)
    assert found.window == 40
    assert [name for name, _, _ in found.events] == ["fault 1", "fault 1", "fault 6", "fault 6"]
    for _, rows, first in found.events:
        assert rows.shape == (40, 50)
        off = rows[:, 0] > 50
        assert list(off) == [row >= first for row in range(40)]
    assert [note.partition(":")[0] for note in found.notes] == ["fault 6, run 1", "fault 6, run 2"]
    assert (found.events[2][1][10:] == found.events[2][1][10]).all()
    # Every run has noise of its own, and all of it follows from the seed.
    assert len(np.unique(found.table["xmeas_1"])) > 30 + 120 + 80
    again = source().read(MADE, None, np.random.default_rng(1))
    assert found.table.equals(again.table)


@pytest.mark.usefixtures("stand_in")
def test_runs_in_control_are_recordings_of_their_own() -> None:
    found = source().read(MADE, None, np.random.default_rng(1))
    events = Events.of(found.events, 50)
    watched = recordings(found.held_out, found.window, events, 10)
    assert {part.shape[:2] for part in watched.in_control} == {(3, 40), (4, 10)}


def test_without_the_package_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tep_studio", None)
    with pytest.raises(DataError, match=r"pip install 'causaldq\[tep\]'.*C compiler"):
        source().read(MADE, None, np.random.default_rng(1))

    def absent(name: str) -> str:
        raise tep_studio.PackageNotFoundError(name)

    monkeypatch.setattr(tep_studio, "version", absent)
    with pytest.raises(DataError, match="C compiler"):
        source().get("tep_studio", FileSet(obtained="made", files={}), ["mirror"], Path())


@pytest.mark.skipif(not RUN1.exists(), reason="run 1 of Rieth et al. is not beside the checkout")
def test_run_1_of_rieth_goes_the_same_way() -> None:
    files = {path.name: path for path in RUN1.glob("fault*.csv")}
    wanted = TepSource(kind="tep", **DEFAULTS["source_defaults"]["tep"])
    found = wanted.read(Delivered("tep_rieth_run1", "", files), None, np.random.default_rng(1))
    events = Events.of(found.events, 50)
    watched = recordings(found.held_out, found.window, events, 160)
    # Twenty rows before a fault are no stretch: what is left are the rows held out.
    assert [part.shape[:2] for part in watched.in_control] == [(1, 150)]
    assert len(events) == 20
    assert set(events.change) == {20}


def test_the_real_simulator_follows_its_seed() -> None:
    pytest.importorskip("tep_studio", reason="tep-studio is not installed")
    small = source(train_rows=10, test_rows=12, onset=5, warm_up=0, held_out_runs=1, faults=[4])
    found = small.read(MADE, None, np.random.default_rng(1))
    again = small.read(MADE, None, np.random.default_rng(1))
    assert found.table.equals(again.table)
    # Fault 4 warms the reactor's cooling water, and its valve opens.
    valve = found.names.index("xmv_10")
    for _, rows, first in found.events:
        assert rows[first + 2 :, valve].mean() > rows[:first, valve].mean() + 1
