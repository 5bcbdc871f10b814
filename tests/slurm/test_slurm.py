"""The pipeline on a real Slurm: the same bytes, and a node may fail on the way."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from clones import ROOT, differences, make_clone, snakemake, wait_until
from cluster import Cluster
from test_pipeline import CI

from causaldq.pipeline.lineage.usage import records_below, usage

# This cluster has no accounting, and is asked more often than the queue of a busy one.
HERE = (
    *("--slurm-status-command", "squeue"),
    *("--slurm-init-seconds-before-status-checks", "2"),
)


@pytest.fixture(scope="session")
def finished(cluster: Cluster, place: Path) -> Path:
    """A clone in which the test profile has run on the cluster, whose node failed on the way.

    Do not change it.
    """
    folder = make_clone(place / "cluster")
    log = folder / "run.log"
    with log.open("w") as output:
        run = subprocess.Popen(
            ["snakemake", "--workflow-profile", "slurm", *HERE, *CI],
            cwd=folder,
            env=cluster.environment,
            stdout=output,
            stderr=output,
        )
    training = folder / "artifacts/ci/checkpoints"
    wait_until(lambda: any(training.glob("*.partial.safetensors")), run)
    cluster.fail_node()
    cluster.start_node()
    if run.wait(2400):
        pytest.fail(log.read_text()[-6000:])
    return folder


def test_a_node_fails_and_the_bytes_are_the_same(
    finished: Path, local: Path, cluster: Cluster
) -> None:
    restarts = cluster.ask("squeue", "--noheader", "--states=all", "--Format=RestartCnt")
    assert any(int(count) for count in restarts.split()), "no job was hit"
    assert differences(finished, local) == []


def test_what_the_cluster_made_is_not_made_again(finished: Path) -> None:
    assert "Nothing to be done" in snakemake(finished, "-j1", *CI).stdout


def test_short_jobs_share_a_place_in_the_queue(finished: Path, cluster: Cluster) -> None:
    done = records_below(finished / "results/ci")
    queued = cluster.ask("squeue", "--noheader", "--states=all").splitlines()
    assert 1 < len(queued) <= len(done) / 4


def test_every_rule_asks_for_what_it_takes(finished: Path) -> None:
    profile = yaml.safe_load((ROOT / "workflow/profiles/slurm/config.yaml").read_text())
    default = dict(text.split("=") for text in profile["default-resources"])
    for taken in usage(records_below(finished / "results/ci")):
        asked = default | profile["set-resources"].get(taken.rule, {})
        assert at_first(asked["mem_mb"]) >= taken.mem_mb, taken
        # How busy this machine is, the margin has to cover.
        assert at_first(asked["runtime"]) * 60 > taken.longest_seconds, taken


def at_first(asked: Any) -> int:
    """What the first attempt asks for."""
    return int(str(asked).removesuffix("* attempt"))
