"""What the current settings ask for: every file of the job graph, and the command that makes it."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from causaldq.errors import ConfigError


@dataclass(frozen=True)
class PlannedJob:
    rule: str
    outputs: list[str]
    command: str


def planned_jobs(root: Path, profile: str, options: Sequence[str] = ()) -> list[PlannedJob]:
    """All jobs of a profile, as Snakemake would run them with these further options."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", "--dry-run", "--forceall", "--printshellcmds"),
            *("--config", f"profile={profile}", *options),
        ],
        cwd=root,
        env=os.environ | {"CAUSALDQ_READ_ONLY": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        text = (done.stdout + done.stderr).strip()
        raise ConfigError(f"snakemake cannot plan profile {profile}: {text.splitlines()[-1]}")
    return parse(done.stdout + done.stderr)


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
