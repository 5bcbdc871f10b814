"""What jobs took, what a cluster is asked for, and the profile that asks."""

import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from causaldq.__main__ import app
from causaldq.errors import DataError
from causaldq.pipeline.lineage.records import CodeFacts, Record, Resources, write_record
from causaldq.pipeline.lineage.usage import records_below, usage

ROOT = Path(__file__).parents[2]
PROFILES = ROOT / "workflow" / "profiles"


def record(job: str, seconds: int, megabytes: int, status: int = 0) -> Record:
    return Record(
        job=job,
        rule=job.partition("/")[0],
        script="scripts/a.py",
        command="python scripts/a.py",
        settings=None,
        seed=None,
        inputs={},
        outputs={},
        code=CodeFacts(commit=None, dirty=None, hash="", lock=None),
        started="2026-01-01T00:00:00.000+00:00",
        ended=f"2026-01-01T00:{seconds // 60:02d}:{seconds % 60:02d}.000+00:00",
        status=status,
        resources=Resources(cpu_seconds=1.0, peak_memory_bytes=megabytes * 10**6),
        host={},
    )


JOBS = [
    record("train/a", 20, 300),
    record("train/b", 100, 200),
    record("train/c", 600, 900, status=1),
    record("tables", 2, 100),
]


def test_a_rule_takes_what_its_largest_and_its_longest_job_took() -> None:
    tables, train = usage(JOBS)
    assert (tables.rule, tables.jobs, train.rule, train.jobs) == ("tables", 1, "train", 2)
    assert (train.mean_seconds, train.longest_seconds, train.peak_mb) == (60, 100, 300)


def test_more_is_asked_for_than_was_taken() -> None:
    tables, train = usage(JOBS)
    # 450 + 1.5 * 100 and 450 + 1.5 * 300, in hundreds; 15 + 2 * 2 and 15 + 2 * 100, in minutes
    assert (tables.mem_mb, tables.runtime) == (600, 1)
    assert (train.mem_mb, train.runtime) == (900, 4)


def test_the_table_is_of_all_runs_that_are_named(tmp_path: Path) -> None:
    for number, job in enumerate(JOBS):
        write_record(tmp_path, f"run{number % 2}", job)
    folders = [str(tmp_path / "results" / name) for name in ("run0", "run1")]
    printed = CliRunner().invoke(app, ["resources", *folders]).stdout.splitlines()
    assert printed[0].split("  ")[0] == "rule"
    assert [line.split() for line in printed[1:]] == [
        ["tables", "1", "2.0", "2.0", "100", "600", "1"],
        ["train", "2", "60.0", "100.0", "300", "900", "4"],
    ]


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no records; give results/<profile> of a run"):
        records_below(tmp_path / "results" / "quick")


def test_the_cluster_runs_as_one_machine_does() -> None:
    default, slurm = (
        yaml.safe_load((PROFILES / name / "config.yaml").read_text())
        for name in ("default", "slurm")
    )
    # One machine's cores are no limit for a cluster; notebooks there run one after another.
    shared = default.keys() - {"cores", "printshellcmds", "resources"}
    assert {key: slurm.get(key) for key in shared} == {key: default[key] for key in shared}


def test_the_cluster_profile_knows_every_rule_and_no_other() -> None:
    text = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    made = set(re.findall(r"^ *rule (\w+):\n(?:.+\n|\n(?=    ))*? +shell:", text, re.MULTILINE))
    made |= {"figures", "pictures"}  # made in a loop, which names them
    slurm = yaml.safe_load((PROFILES / "slurm/config.yaml").read_text())
    grouped = {pair.partition("=")[0] for pair in slurm["groups"]}
    trained = {"train", "train_fair", "train_paper"}
    assert grouped == made - {"fetch", "theory", "propagation", "train_equivariant", "cross"}
    assert set(slurm["set-resources"]) <= made | trained
