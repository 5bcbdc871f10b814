"""One job at a time, or killed in the middle: the same bytes."""

import os
import signal
from pathlib import Path

import pytest
from clones import differences, jobs, make_clone, snakemake, start, wait_until

pytestmark = pytest.mark.workflow
WITHOUT_PAGES = ("--omit-from", "notebook", "--config", "profile=ci")
"""All but what takes longest of the test profile, and holds no number of its own."""


def test_one_job_at_a_time_gives_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    alone = make_clone(tmp_path / "clone")
    snakemake(alone, "-j1", *WITHOUT_PAGES)
    assert differences(alone, finished) == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_goes_on_to_the_same_bytes(
    finished: Path, tmp_path: Path, how: signal.Signals
) -> None:
    folder = make_clone(tmp_path / "clone")
    run = start(folder, "snakemake", "-j2", *WITHOUT_PAGES)
    checkpoints = folder / "artifacts/ci/checkpoints"
    wait_until(lambda: any(checkpoints.glob("*.partial.safetensors")), run)
    os.killpg(run.pid, how)
    run.wait()
    done = snakemake(folder, "-j2", *WITHOUT_PAGES)
    assert "simulate" not in jobs(done.stdout), "what was finished is not done again"
    assert differences(folder, finished) == []
