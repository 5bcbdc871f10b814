"""A run that is killed again and again, at random moments, ends in the same bytes.

`CAUSALDQ_KILLS=20` kills each of Snakemake and `dvc repro` twenty times; fewer in CI.
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
import yaml
from clones import call, commit, differences, environment, make_clone, snakemake

pytestmark = pytest.mark.workflow
KILLS = int(os.environ.get("CAUSALDQ_KILLS", "5"))
CI = ("--config", "profile=ci")
COMMANDS = {"snakemake": ["snakemake", "-j2", *CI], "dvc": ["dvc", "repro"]}


def small_clone(folder: Path) -> Path:
    """A clone whose test profile is one scenario with two methods, one of them trained."""
    make_clone(folder)
    place = folder / "config/ci.yaml"
    settings = yaml.safe_load(place.read_text())
    settings["methods"] = ["causal_dq", "greedy"]
    settings["sources"] = {"sim_p10": settings["sources"]["sim_p10"]}
    settings["scenarios"] = {"p10": settings["scenarios"]["p10"]}
    settings["scenarios"]["p10"]["training_study"] = None
    settings["report"]["showcase"] = None
    settings["theory"] = settings["cross"] = settings["propagation"] = None
    place.write_text(yaml.safe_dump(settings, sort_keys=False))
    params = folder / "params.yaml"
    params.write_text(params.read_text().replace("profile: quick", "profile: ci"))
    commit(folder, "a part of the test profile")
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing has disturbed."""
    folder = small_clone(tmp_path_factory.mktemp("whole") / "clone")
    snakemake(folder, "-j2", *CI)
    return folder


def jobs_done(folder: Path) -> int:
    """Jobs whose record is there, and those that a run's end has packed."""
    places = (folder / "results/ci/records").rglob("*.json*")
    return sum(1 if p.suffix != ".jsonl" else len(p.read_text().splitlines()) for p in places)


def killed(folder: Path, command: list[str], rng: random.Random, most: int) -> bool:
    """Start a run and kill all of it at a random moment; whether it was still at work.

    The moment is so many jobs, and so much of a second, after the start: on any machine some
    kills hit the plan, some a job, and some the moment between two.
    """
    before, jobs, pause = jobs_done(folder), rng.randrange(most), rng.uniform(0.0, 1.5)
    run = subprocess.Popen(
        command, cwd=folder, env=environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while run.poll() is None and jobs_done(folder) < before + jobs:
        time.sleep(0.02)
    time.sleep(pause)
    at_work = run.poll() is None
    if at_work:
        os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    return at_work


@pytest.mark.parametrize("by", COMMANDS)
def test_kills_at_random_moments_change_no_byte(by: str, whole: Path, tmp_path: Path) -> None:
    folder = small_clone(tmp_path / "clone")
    rng = random.Random(f"kills of {by}")
    most = 1 + 2 * jobs_done(whole) // (KILLS + 1)
    hits = sum(killed(folder, COMMANDS[by], rng, most) for _ in range(KILLS))
    assert hits >= KILLS // 2, "it ended before it could be disturbed"
    call(folder, *COMMANDS[by])
    assert differences(folder, whole) == []
    verified(folder)


def verified(folder: Path) -> None:
    python = ["env", f"PYTHONPATH={folder}/src", "python", "-m", "causaldq"]
    assert "what the records say" in call(folder, *python, "verify", "results/ci").stdout


def test_a_full_disk_leaves_nothing_half_written(whole: Path, tmp_path: Path) -> None:
    """No file may grow beyond a few kB, as where a disk is full; then there is room again."""
    folder = tmp_path / "clone"
    shutil.copytree(whole, folder, symlinks=True)
    shutil.rmtree(folder / "artifacts")
    limit = 8192

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        ["snakemake", "-j2", *CI], cwd=folder, env=environment(), preexec_fn=no_room,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode != 0
    made = [p for p in (folder / "artifacts").rglob("*") if p.is_file()]
    assert all(p.read_bytes() == (whole / p.relative_to(folder)).read_bytes() for p in made)
    snakemake(folder, "-j2", *CI)
    assert differences(folder, whole) == []
    verified(folder)
