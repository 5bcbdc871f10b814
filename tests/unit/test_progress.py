"""How far a piece of work is, where nobody is watching."""

import pytest

from causaldq import progress


def test_the_time_left_is_that_of_the_pace_so_far(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three of the five units at hand took 60 seconds; two are left."""
    now = [100.0]
    monkeypatch.setattr("causaldq.progress.time.monotonic", lambda: now[0])
    monkeypatch.setattr(progress, "QUIET_SECONDS", 60.0)
    with progress.Reporter("training", 10, "epoch", done=5, bar=False) as shown:
        for _ in range(3):
            now[0] += 20.0
            shown.advance()
    assert capsys.readouterr().err == "training: epoch 8/10 , 40 s left\n"
