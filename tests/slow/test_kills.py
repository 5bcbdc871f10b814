"""A run that is killed again and again, at random moments, ends in the same bytes.

`CAUSALDQ_KILLS=20` kills Snakemake twenty times and `dvc repro` ten times; two and one in CI.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from clones import call, differences, environment, records, small_clone, snakemake, start

pytestmark = pytest.mark.workflow
KILLS = int(os.environ.get("CAUSALDQ_KILLS", "2"))
DELAYS = ("-j2", "--config", "profile=ci", "--", "delays")
"""All that numbers come from; pages would take longest, and hold no number of their own."""
IDLE = ("propagation", "faults")
IN_ONE_RUN = 10


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing has disturbed."""
    folder = small_clone(tmp_path_factory.mktemp("whole") / "clone", *IDLE)
    snakemake(folder, *DELAYS)
    return folder


def moments(folder: Path) -> int:
    """How many jobs have begun, and how many have ended: by their logs and their records."""
    return sum(1 for _ in (folder / "logs/ci").rglob("*.log")) + len(records(folder))


def killed(folder: Path, command: list[str], at: int) -> bool:
    """Start a run and kill all of it at some moment that is new; whether it was still at work."""
    at = max(at, moments(folder) + 1)
    run = start(folder, *command)
    while run.poll() is None and moments(folder) < at:
        time.sleep(0.01)
    at_work = run.poll() is None
    if at_work:
        os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    return at_work


@pytest.mark.parametrize(
    ("command", "kills"),
    [(["snakemake", *DELAYS], KILLS), (["dvc", "repro", "delays"], KILLS)],
    ids=["snakemake", "dvc"],
)
def test_kills_at_random_moments_change_no_byte(
    command: list[str], kills: int, whole: Path, tmp_path: Path
) -> None:
    """A run has some fifteen moments: more kills take more runs."""
    rng = random.Random(f"kills of {command[0]}")
    for start_of_run in range(0, kills, IN_ONE_RUN):
        share = min(IN_ONE_RUN, kills - start_of_run)
        folder = small_clone(tmp_path / f"clone_{start_of_run}", *IDLE)
        when = sorted(rng.sample(range(1, moments(whole) - 2), share))
        hits = sum(killed(folder, command, at) for at in when)
        assert 2 * hits >= share, "it ended before it could be disturbed"
        call(folder, *command)
        assert differences(folder, whole) == []
        verified(folder)


def verified(folder: Path) -> None:
    python = ["env", f"PYTHONPATH={folder}/src", "python", "-m", "causaldq"]
    assert "what the records say" in call(folder, *python, "verify", "results/ci/add.csv").stdout


def test_a_full_disk_leaves_nothing_half_written(whole: Path, tmp_path: Path) -> None:
    """No file may grow beyond 64 KiB, as where a disk is full; then there is room again."""
    folder = tmp_path / "clone"
    shutil.copytree(whole, folder, symlinks=True)
    for name in ("artifacts", "results/ci"):
        shutil.rmtree(folder / name)
    limit = 65536

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        ["snakemake", *DELAYS], cwd=folder, env=environment(), preexec_fn=no_room,
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode != 0
    assert "File too large" in done.stdout
    made = {p.relative_to(folder) for p in (folder / "artifacts").rglob("*") if p.is_file()}
    fitting = {p for p in made if (whole / p).stat().st_size <= limit}
    assert made
    assert made == fitting, "what has no room is not there in part"
    assert all((folder / p).read_bytes() == (whole / p).read_bytes() for p in made)
    snakemake(folder, *DELAYS)
    assert differences(folder, whole) == []
    verified(folder)
