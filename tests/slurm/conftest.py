"""A cluster for the tests, and the local run that it is compared with."""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from clones import environment, make_clone, snakemake
from cluster import Cluster

# Stopped by `kill`, too, the tests stop their daemons.
signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """Where everything happens, gone afterwards. Sockets need a short name."""
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def cluster(place: Path) -> Iterator[Cluster]:
    made = Cluster(place / "slurm", environment())
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def local(place: Path) -> Path:
    """A clone in which the test profile has run on this machine. Do not change it."""
    folder = make_clone(place / "local")
    snakemake(folder, "-j1", "--config", "profile=ci")
    return folder
