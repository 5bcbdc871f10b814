"""One run of the test profile, committed with its results, for all attacks."""

from pathlib import Path

import pytest
from clones import commit, make_clone, snakemake


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which the test profile has run, and its results are committed."""
    folder = make_clone(tmp_path_factory.mktemp("finished") / "clone")
    snakemake(folder, "-j2", "--config", "profile=ci")
    commit(folder, "results", "results/ci")
    return folder
