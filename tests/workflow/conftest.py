"""Clones in which the real pipeline has run."""

import shutil
from pathlib import Path

import pytest
from clones import make_clone, snakemake


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which the test profile has run to its end. Do not change it."""
    folder = make_clone(tmp_path_factory.mktemp("finished") / "clone")
    snakemake(folder, "-j2", "--config", "profile=ci")
    return folder


@pytest.fixture
def copy_of_finished(finished: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    copy = tmp_path / "clone"
    shutil.copytree(finished, copy, symlinks=True)
    return copy
