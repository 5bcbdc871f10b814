"""Clones in which the real pipeline has run."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest
from clones import make_clone, snakemake


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which the test profile has run to its end. Do not change it.

    Of the processes that test side by side, the first runs it; each gets a copy.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "finished"
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            made = make_clone(tmp_path_factory.mktemp("made") / "clone")
            snakemake(made, "-j2", "--config", "profile=ci")
            made.rename(shared)
    return shutil.copytree(shared, tmp_path_factory.mktemp("finished") / "clone", symlinks=True)


@pytest.fixture
def copy_of_finished(finished: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    copy = tmp_path / "clone"
    shutil.copytree(finished, copy, symlinks=True)
    return copy
