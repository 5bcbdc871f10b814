"""The workflow tools: what they add to the work, and how long whole runs took."""

import base64
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from causaldq.pipeline.lineage.records import RecordStore
from causaldq.pipeline.measure import Measurement, Target, seconds

TRIVIAL = """
rule all:
    input: expand("{n}.done", n=range(int(config["jobs"])))

rule one:
    output: touch("{n}.done")
    shell: "true"
"""

WHOLE_RUNS = {"quick": 5.0, "paper": 90.0}
"""Profiles, and the minutes that they are meant to take at most."""


def tool(name: str) -> str:
    """A tool of the environment that this Python is from."""
    return str(Path(sys.executable).with_name(name))


def workflow_cost(records: Path, rounds: int) -> list[Measurement]:
    """What the tools add to `quick`, and whole runs where there are records of them."""
    python, snakemake = sys.executable, [tool("snakemake"), "--config", "profile=quick"]
    deciding = _timed("Snakemake, deciding what to run, quick", [*snakemake, "--dry-run"], rounds)
    checking = _timed("DVC, deciding which stages to run", [tool("dvc"), "status"], rounds)
    a_job = Measurement("Snakemake, a job beyond its work", _job_costs(rounds), "s")
    count = _count_jobs([*snakemake, "--dry-run", "--forceall"])
    both = [
        decided + checked + count * each
        for decided, checked, each in zip(
            deciding.values, checking.values, a_job.values, strict=True
        )
    ]
    whole = end_to_end(records)
    minutes = {row.what: row.values[0] for row in whole if row.unit == "minutes"}
    measured = [
        deciding,
        checking,
        a_job,
        Measurement("jobs in quick", [count], "jobs"),
        Measurement("both tools together, quick", both, "s"),
    ]
    if "quick, whole run" in minutes:
        share = [t / (60 * minutes["quick, whole run"]) for t in both]
        what = "both tools together, share of quick"
        measured.append(Measurement(what, share, target=Target("at most", 0.1)))
    for script in ("train", "calibrate"):
        # Beside the tools: Python starts and imports once a job.
        command = [python, f"scripts/{script}.py", "--help"]
        measured.append(_timed(f"start of a job, scripts/{script}.py", command, rounds))
    return [*measured, *whole, *work_of_jobs(Path.cwd())]


def work_of_jobs(root: Path, cores: int | None = None) -> list[Measurement]:
    """What the jobs of whole runs took by themselves, from their records, whenever they ran.

    The detail says where the time goes: seconds of CPU, by rule.
    """
    cores = cores or os.cpu_count() or 1
    measured = []
    for profile in WHOLE_RUNS:
        by_rule: dict[str, float] = {}
        for record in RecordStore(root, profile).records:
            taken = by_rule.get(record.rule, 0.0) + record.resources.cpu_seconds
            by_rule[record.rule] = round(taken, 3)
        if "report" in by_rule:
            what = f"{profile}, CPU time of its jobs over {cores} cores"
            minutes = sum(by_rule.values()) / 60 / cores
            measured.append(Measurement(what, [minutes], "minutes", detail={"by_rule": by_rule}))
    return measured


def _count_jobs(command: list[str]) -> float:
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"^total +(\d+)$", listed, re.MULTILINE)
    return float(found[1]) if found else math.nan


def _timed(what: str, command: list[str], rounds: int) -> Measurement:
    def run() -> None:
        subprocess.run(command, capture_output=True, check=True)

    return Measurement(what, [seconds(run) for _ in range(rounds)], "s")


def _job_costs(rounds: int) -> list[float]:
    """Jobs that do nothing, many less one."""
    many = 41

    def run(jobs: int) -> float:
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "Snakefile").write_text(TRIVIAL)
            command = [tool("snakemake"), "--cores", "1", "--config", f"jobs={jobs}"]
            return seconds(
                lambda: subprocess.run(command, cwd=directory, capture_output=True, check=True)
            )

    return [(run(many) - run(1)) / (many - 1) for _ in range(rounds)]


def end_to_end(records: Path, cores: int | None = None) -> list[Measurement]:
    """How long profiles took, from Snakemake's records of their jobs, where it has them.

    A profile counts if it ran in one go to its end: no pause, and the report is there.
    """
    cores = cores or os.cpu_count() or 1
    # By end: a job's outputs share it, while Snakemake notes the start of one after the other.
    jobs: dict[str, dict[float, float]] = {}
    finished = set()
    for output, record in _records(records):
        parts = Path(output).parts
        if len(parts) > 1 and parts[0] in ("artifacts", "results"):
            starts = jobs.setdefault(parts[1], {})
            start, end = record["starttime"], record["endtime"]
            starts[end] = min(start, starts.get(end, start))
            if parts[2:] == ("report.html",):
                finished.add(parts[1])
    measured = []
    for profile, minutes in WHOLE_RUNS.items():
        times = {(start, end) for end, start in jobs.get(profile, {}).items()}
        if profile in finished and not _pauses(times):
            wall = max(end for _, end in times) - min(start for start, _ in times)
            idle = 1.0 - _core_seconds(times, cores) / (cores * wall)
            target = Target("at most", minutes)
            measured.append(Measurement(f"{profile}, whole run", [wall / 60], "minutes", target))
            what = f"{profile}, share of {cores} cores' time without a job"
            measured.append(Measurement(what, [idle], target=Target("at most", 0.1)))
    return measured


def _core_seconds(times: set[tuple[float, float]], cores: int) -> float:
    """Time of jobs on cores. More jobs than cores are none: Snakemake notes an end after the
    next start."""
    changes = sorted([*((start, 1) for start, _ in times), *((end, -1) for _, end in times)])
    taken, running = 0.0, 0
    for (time, change), (later, _) in pairwise(changes):
        running += change
        taken += min(running, cores) * (later - time)
    return taken


def _pauses(times: set[tuple[float, float]], longest: float = 60.0) -> bool:
    """Whether there is more than a minute in which no job ran."""
    reached = min(start for start, _ in times)
    for start, end in sorted(times):
        if start - reached > longest:
            return True
        reached = max(reached, end)
    return False


def _records(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Outputs and what Snakemake noted of them; file names are the outputs' in base64."""
    for path in sorted(folder.rglob("*")) if folder.exists() else []:
        if path.is_file():
            name = "".join(part.removeprefix("@") for part in path.relative_to(folder).parts)
            record = json.loads(path.read_text())
            if None not in (record.get("starttime"), record.get("endtime")):
                yield base64.b64decode(name).decode(), record
