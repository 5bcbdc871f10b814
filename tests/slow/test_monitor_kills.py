"""A watch that is killed again and again writes what one that was never killed writes.

`CAUSALDQ_KILLS=100` kills it a hundred times; ten times in CI.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from causaldq import Monitor, example_plant
from causaldq.calibration import RunLength
from causaldq.limits import Limit
from causaldq.methods.base import Problem
from causaldq.methods.resolve import resolved

ROWS = 300
KILLS = min(int(os.environ.get("CAUSALDQ_KILLS", "10")), ROWS // 3)
AT_START = 5
"""Every so many, a process is killed before it has written anything new, or soon after."""


def test_kills_at_random_moments_change_nothing(tmp_path: Path) -> None:
    """SIGKILL at random lines, and at random moments of the start; saved every few rows.

    Rows come in as many parts as there are kills: no process, however fast, has written the
    line at which the next is to be killed.
    """
    rng, part = random.Random(24), ROWS // KILLS
    command = made(tmp_path)
    place = tmp_path / "rows.csv"
    rows = place.read_text().splitlines(keepends=True)
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    subprocess.run([*command, *files(calm, 1)], check=False, capture_output=True)
    events = [
        json.loads(line)["event"] for line in (calm / "alarms.jsonl").read_text().splitlines()
    ]
    assert {"raised", "cleared"} <= set(events)
    resumed = 0
    for number in range(KILLS):
        place.write_text("".join(rows[: 1 + (number + 1) * part]))
        wanted = number * part + rng.randint(1, part)
        process = subprocess.Popen(
            [*command, *files(killed, rng.randrange(1, 8)), "--follow"],
            stderr=subprocess.PIPE,
            text=True,
        )
        if number % AT_START:
            _wait(lambda least=wanted: readings(killed / "out.jsonl") >= least, process)
        else:
            time.sleep(rng.uniform(0.0, 1.0))
        process.send_signal(signal.SIGKILL)
        resumed += "resumed after row" in process.communicate()[1]
        assert process.returncode == -signal.SIGKILL
    place.write_text("".join(rows))
    done = subprocess.run([*command, *files(killed, 1)], capture_output=True, text=True)
    assert "resumed after row" in done.stderr
    assert resumed >= KILLS // 2
    for name in ("out.jsonl", "alarms.jsonl"):
        assert (killed / name).read_bytes() == (calm / name).read_bytes()


def made(folder: Path) -> list[str]:
    """A monitor of the example plant, its rows with a few gaps, and the command to watch them."""
    rows = example_plant()[600 : 600 + ROWS].set_axis(range(ROWS))
    normal = rows[:200]
    scaled = (normal - normal.mean()) / normal.std()
    Monitor(
        resolved("bayes_posterior", Problem(np.cov(scaled.T), 3)),
        name="bayes_posterior",
        names=list(rows),
        mean=normal.mean().to_numpy(),
        sd=normal.std().to_numpy(),
        limit=Limit(6.0, 200.0, RunLength(200.0, 150.0, 260.0)),
    ).save(folder / "plant.monitor")
    rows = rows.mask(np.random.default_rng(24).random(rows.shape) < 0.05)
    rows.to_csv(folder / "rows.csv", index_label="minute")
    (folder / "calm").mkdir()
    (folder / "killed").mkdir()
    return [
        sys.executable, "-m", "causaldq", "watch", str(folder / "plant.monitor"),
        str(folder / "rows.csv"), "--time", "minute", "--json",
    ]  # fmt: skip


def files(folder: Path, save_every: int) -> list[str]:
    return [
        "--output", str(folder / "out.jsonl"), "--alarms", str(folder / "alarms.jsonl"),
        "--state", str(folder / "state"), "--save-every", str(save_every),
    ]  # fmt: skip


def readings(path: Path) -> int:
    """How many rows are answered."""
    return path.read_bytes().count(b'"kind": "reading"') if path.exists() else 0


def _wait(done: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    while not done():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.005)
