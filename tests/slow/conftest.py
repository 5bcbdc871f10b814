"""One run of the test profile, committed with its results, for all attacks."""

from pathlib import Path

import pytest
from clones import commit, finished_run


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which the test profile has run, and its results are committed."""
    folder = finished_run(tmp_path_factory)
    commit(folder, "results", "results/ci")
    return folder
