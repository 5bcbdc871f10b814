"""Clones in which the real pipeline has run."""

import shutil
from pathlib import Path

import pytest
from clones import finished_run


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which the test profile has run to its end. Do not change it."""
    return finished_run(tmp_path_factory)


@pytest.fixture
def copy_of_finished(finished: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    copy = tmp_path / "clone"
    shutil.copytree(finished, copy, symlinks=True)
    return copy
