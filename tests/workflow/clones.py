"""Temporary clones in which the real pipeline runs."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from causaldq.pipeline.lineage.record_files import fold, packed_text, read_entries

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.org")


def make_clone(folder: Path) -> Path:
    """A clone of this repository, into which changes not committed yet are committed."""
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--modified", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if name.startswith("results/"):
            continue
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    commit(folder, "changes")
    return folder


def small_clone(folder: Path, *without: str) -> Path:
    """A clone whose test profile is one scenario with two methods, one of them trained.

    Beside the studies that take longest, it is without those that are named.
    """
    make_clone(folder)
    place = folder / "config/ci.yaml"
    settings = yaml.safe_load(place.read_text())
    settings["methods"] = ["causal_dq", "greedy"]
    settings["sources"] = {"sim_p10": settings["sources"]["sim_p10"]}
    settings["scenarios"] = {"p10": settings["scenarios"]["p10"]}
    settings["scenarios"]["p10"]["training_study"] = None
    settings["report"]["showcase"] = None
    for study in ("theory", "cross", "flare_scale", *without):
        settings[study] = None
    place.write_text(yaml.safe_dump(settings, sort_keys=False))
    params = folder / "params.yaml"
    params.write_text(params.read_text().replace("profile: quick", "profile: ci"))
    commit(folder, "a part of the test profile")
    return folder


def finished_run(factory: pytest.TempPathFactory) -> Path:
    """A clone in which the test profile has run to its end.

    Of the processes that test side by side, the first runs it; each gets a copy.
    """
    base = factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "finished"
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            made = make_clone(factory.mktemp("made") / "clone")
            snakemake(made, "-j2", "--config", "profile=ci")
            made.rename(shared)
    return shutil.copytree(shared, factory.mktemp("finished") / "clone", symlinks=True)


def commit(folder: Path, message: str, *more: str) -> str:
    """Commit everything, and files that git would ignore if they are named; the commit."""
    for command in (
        ["add", "--all"],
        *([["add", "--force", *more]] if more else []),
        [*IDENTITY, "commit", "--quiet", "--allow-empty", "--message", message],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return call(folder, "git", "rev-parse", "HEAD").stdout.strip()


def environment() -> dict[str, str]:
    """The user's environment, with this Python's tools first and no settings of ours."""
    kept = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    return kept | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": ""}


def call(folder: Path, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command in a clone; on failure show what it printed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=3600,
    )
    if check and done.returncode:
        pytest.fail(f"{' '.join(command)}\n{done.stdout[-6000:]}")
    return done


def start(folder: Path, *command: str) -> subprocess.Popen[bytes]:
    """Start a command in a clone, as the head of a group of processes that a signal can reach."""
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment(),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def snakemake(
    folder: Path, *arguments: str, check: bool = True
) -> subprocess.CompletedProcess[str]:
    return call(folder, "snakemake", *arguments, check=check)


def jobs(output: str) -> dict[str, int]:
    """How many jobs of each rule Snakemake says that it does, or would do."""
    found = re.findall(r"^(\w+) +(\d+)$", output.partition("Job stats:")[2], re.MULTILINE)
    return {rule: int(count) for rule, count in found if rule not in ("all", "total")}


def wait_until(happened: Callable[[], bool], run: subprocess.Popen[bytes]) -> None:
    """Wait for something that a run does on its way, however slow the machine is."""
    while not happened():
        assert run.poll() is None, "the run ended before it could be disturbed"
        time.sleep(0.02)


def records(folder: Path, profile: str = "ci") -> dict[str, dict[str, Any]]:
    """What the records of a run say, by job."""
    entries = read_entries(folder, folder / "results" / profile / "records")
    return {entry.job: entry.said for entry in entries if entry.said is not None}


def edit_records(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Let every record of a run of the test profile say something else, as `change` makes it."""
    place = folder / "results/ci/records"
    said = list(records(folder).values())
    for record in said:
        change(record)
    for rule in {record["rule"] for record in said}:
        of_rule = [record for record in said if record["job"].partition("/")[0] == rule]
        fold(place / f"{rule}.jsonl.xz", packed_text(of_rule))


def edit_record(folder: Path, job: str, change: Callable[[dict[str, Any]], object]) -> None:
    edit_records(folder, lambda record: change(record) if record["job"] == job else None)


def products(folder: Path, profile: str = "ci") -> dict[str, bytes]:
    """What must be the same, byte for byte, however it was made."""
    places = [
        *(folder / "artifacts" / profile).rglob("*"),
        *(folder / "results" / profile / "tables").rglob("*"),
        folder / "results" / profile / "add.csv",
        folder / "results" / profile / "headline.md",
        folder / "results" / profile / "overview.html",
        *(folder / "results" / profile / "figures").glob("*.p*"),
        *(folder / "results" / profile).glob("*.pdf"),
    ]
    return {str(p.relative_to(folder)): p.read_bytes() for p in places if p.is_file()}


def differences(one: Path, other: Path, profile: str = "ci") -> list[str]:
    """Names of products that are not the same in both folders."""
    a, b = products(one, profile), products(other, profile)
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
