"""What the current settings ask for: every file of the job graph, and the command that makes it."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from causaldq.errors import ConfigError

GREETING = re.compile("Using .*profile")
"""What Snakemake says before anything else."""
LATEX = "CAUSALDQ_LATEX"
"""Tells the workflow whether to plan the PDFs, whatever is installed."""
MADE = ("artifacts", "results", "logs")


@dataclass(frozen=True)
class PlannedJob:
    rule: str
    outputs: list[str]
    command: str


def planned_jobs(
    root: Path, profile: str, options: Sequence[str] = (), has_latex: bool | None = None
) -> list[PlannedJob]:
    """All jobs of a profile, as Snakemake would run them with these further options.

    `has_latex`: whether to plan for a machine with LaTeX; None for this one as it is.
    """
    # A profile of Snakemake's own could leave jobs out of the plan.
    others = (LATEX, "SNAKEMAKE_PROFILE")
    environment = {key: value for key, value in os.environ.items() if key not in others}
    if has_latex is not None:
        environment[LATEX] = "yes" if has_latex else "no"
    with _with_room_for_notes(root.resolve()) as folder:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "snakemake", "--snakefile", root.resolve() / "Snakefile"),
                *("--dry-run", "--forceall", "--printshellcmds"),
                *("--config", f"profile={profile}", *options),
            ],
            cwd=folder,
            env=environment | {"CAUSALDQ_READ_ONLY": "1"},
            capture_output=True,
            text=True,
        )
    text = done.stdout + done.stderr
    if done.returncode:
        said = [line for line in text.splitlines() if line.strip() and not GREETING.match(line)]
        reason = said[-1].strip() if said else f"status {done.returncode}"
        raise ConfigError(f"snakemake cannot plan profile {profile}: {reason}")
    return parse(text)


@contextmanager
def _with_room_for_notes(root: Path) -> Iterator[Path]:
    """The project's folder; where that cannot be written, one of links to all but what jobs make.

    Snakemake keeps notes even of a plan, in the folder that it works in, and plans no job whose
    output is there and cannot be written.
    """
    notes = root / ".snakemake"
    if os.access(notes if notes.exists() else root, os.W_OK):
        yield root
        return
    with tempfile.TemporaryDirectory() as place:
        for entry in root.iterdir():
            if entry.name not in (notes.name, *MADE):
                (Path(place) / entry.name).symlink_to(entry)
        yield Path(place)


def parse(text: str) -> list[PlannedJob]:
    """Jobs from the output of a dry run that prints commands."""
    jobs = []
    for block in re.split(r"^(?=(?:local)?rule \w+:$)", text, flags=re.MULTILINE)[1:]:
        rule = re.match(r"(?:local)?rule (\w+):", block)
        outputs = re.search(r"^    output: (.*)$", block, re.MULTILINE)
        command = re.search(r"^Shell command: (.*)$", block, re.MULTILINE)
        if rule and outputs and command:
            jobs.append(PlannedJob(rule.group(1), outputs.group(1).split(", "), command.group(1)))
    return jobs
