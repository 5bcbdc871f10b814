"""One command for a whole run: what it will do and how long, how far it is, and what was found.

Snakemake's own log goes to a file; what it says of its jobs moves a bar at a terminal, and gives a
line now and then elsewhere.
"""

import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from causaldq.pipeline.jobs.faults import OUTPUTS
from causaldq.pipeline.lineage.record_files import read_entries
from causaldq.pipeline.lineage.records import folder_of
from causaldq.pipeline.lineage.usage import usage_by_rule
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.plan import Plan

QUIET_SECONDS = 30.0
"""Least time between two lines where there is no terminal."""
GUESSED = 2.0
"""Seconds of a job of which no run at hand tells."""
TRUST = 60.0
"""Seconds of work after which the pace of this run counts as much as what was expected."""
STOPPED = 130


class Run:
    """What Snakemake's lines say of a run, one after the other."""

    def __init__(self, seconds: dict[str, float], cores: int) -> None:
        """`seconds`: what a job of each rule takes, as far as known."""
        self.seconds, self.cores = seconds, cores
        self.jobs: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        self.running: list[str] = []
        self.errors: list[str] = []
        self.idle = self._listing = self._failing = False

    def read(self, line: str) -> None:
        """Take in one line."""
        text = line.strip()
        if text == "Job stats:":
            self._listing = True
        elif self._listing and (count := re.fullmatch(r"(\w+) +(\d+)", text)):
            self._listing = count[1] != "total"
            if count[1] not in ("total", "all"):
                self.jobs[count[1]] = int(count[2])
        elif started := re.match(r"(?:local)?(?:rule|checkpoint) (\w+):", text):
            self.running.append(started[1])
        elif ended := re.match(r"Finished jobid: \d+ \(Rule: (\w+)\)", text):
            self._end(ended[1])
            self.done[ended[1]] += ended[1] in self.jobs
        elif failed := re.match(r"Error in rule (\w+)", text):
            self._end(failed[1])
            self._failing = True
            self.errors.append(failed[1])
        elif self._failing and (log := re.match(r"log: (\S+)", text)):
            self.errors[-1] += f"\n{log[1]}"
            self._failing = False
        elif text.startswith("Nothing to be done"):
            self.idle = True

    def _end(self, rule: str) -> None:
        if rule in self.running:
            self.running.remove(rule)

    @property
    def is_planned(self) -> bool:
        """Whether Snakemake has said what it will do."""
        return bool(self.jobs) and not self._listing

    @property
    def total(self) -> int:
        return self.jobs.total()

    def work(self, jobs: Counter[str]) -> float:
        """Seconds that jobs should take, one after the other."""
        return sum(count * self.seconds.get(rule, GUESSED) for rule, count in jobs.items())

    def left(self, elapsed: float) -> float:
        """Seconds to the end: as expected at first, by this run's own pace later."""
        done = self.work(self.done)
        pace = (elapsed * self.cores + TRUST) / (done + TRUST) if done else 1.0
        return (self.work(self.jobs) - done) * pace / self.cores


def in_words(seconds: float) -> str:
    """A duration as one says it.

    Examples
    --------
    >>> in_words(40), in_words(200), in_words(9000)
    ('less than a minute', '3 minutes', '2.5 hours')
    """
    minutes = seconds / 60
    if minutes < 1:
        return "less than a minute"
    if minutes < 1.5:
        return "a minute"
    return f"{minutes:.0f} minutes" if minutes < 90 else f"{minutes / 60:.1f} hours"


def known_seconds(root: Path, profile: str, jobs: Iterable[str]) -> dict[str, float]:
    """What a job of each rule took: in the last run of the profile, or else in the committed one.

    Of the committed run, the jobs of the same names count, where there are any.
    """
    for name in (profile, "paper"):
        entries = read_entries(root, root / folder_of(name))
        said = [entry.said for entry in entries if entry.said is not None]
        if said:
            wanted = set(jobs)
            same = [one for one in said if one["job"].partition("/")[2] in wanted]
            return usage_by_rule(said) | usage_by_rule(same)
    return {}


Draw = Callable[[Run, float], None]


def run_snakemake(command: list[str], log: Path, run: Run, draw: Draw) -> int:
    """Run Snakemake with its output in a file; its exit status.

    It is in a session of its own, so that Ctrl-C reaches it once, from here. Raises BlockingIOError
    if another run is writing that file.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    started: list[int] = []
    stopped: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        if not stopped:
            stopped.append(number)
            for group in started:
                os.killpg(group, signal.SIGINT)

    # Before the start: what is caught here is not ignored there, even in a shell's background.
    before = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        with (
            own_log(log) as file,
            subprocess.Popen(
                command,
                env=os.environ | home_for_caches(log.parent),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            ) as process,
        ):
            started.append(process.pid)
            assert process.stdout is not None
            for line in process.stdout:
                file.write(line)
                file.flush()
                run.read(line)
                draw(run, time.monotonic() - begin)
        return STOPPED if stopped else process.returncode
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def own_log(path: Path) -> Iterator[IO[str]]:
    """A log, empty and for this run alone."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.truncate(0)
        yield file


def home_for_caches(folder: Path) -> dict[str, str]:
    """A home in the folder for a user whose own is not there or cannot be written to.

    Such users are made for containers. Snakemake, matplotlib and Jupyter end without one.
    """
    if os.access(os.path.expanduser("~"), os.W_OK):
        return {}
    (home := folder / "home").mkdir(exist_ok=True)
    return {"HOME": str(home.resolve())}


def closed_to(root: Path, profile: str) -> Path | None:
    """The first of the folders that a run writes to which this user cannot write to."""
    for name in (f"results/{profile}", f"artifacts/{profile}", "data/raw", "logs", ".snakemake"):
        place = root / name
        while not place.exists():
            place = place.parent
        if not os.access(place, os.W_OK):
            return place
    return None


class Bar:
    """How far a run is, at a terminal."""

    def __init__(self, what: str, console: Console | None = None) -> None:
        self.progress = Progress(
            TextColumn(what),
            BarColumn(bar_width=None),
            TextColumn("{task.completed:.0f}/{task.total:.0f} jobs, {task.fields[left]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[now]}"),
            console=console or Console(stderr=True),
            transient=True,
            expand=True,
        )
        self.task = self.progress.add_task(what, total=1, left="", now="")

    def __call__(self, run: Run, elapsed: float) -> None:
        if run.is_planned:
            left = f"{in_words(run.left(elapsed))} left"
            now = ", ".join(dict.fromkeys(run.running))
            done = run.done.total()
            self.progress.update(self.task, total=run.total, completed=done, left=left, now=now)
            self.progress.start()

    def close(self) -> None:
        self.progress.stop()


class Lines:
    """How far a run is, for a log."""

    def __init__(self, what: str) -> None:
        self.what, self.last = what, 0.0

    def __call__(self, run: Run, elapsed: float) -> None:
        if run.is_planned and elapsed - self.last >= QUIET_SECONDS:
            self.last = elapsed
            left = in_words(run.left(elapsed))
            say(f"{self.what}: {run.done.total()} of {run.total} jobs done, {left} left")

    def close(self) -> None:
        """Nothing is left to tidy up."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run_profile(root: Path, profile: str, *, verbose: bool) -> int:
    """Run a profile and show how far it is; the exit status."""
    cores = os.cpu_count() or 1
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores)]
    plan = Plan(load_config(root / "config", {"profile": profile}))
    # One long job behind a few networks: what it needs comes first, or all wait for it in the end.
    first = [OUTPUTS["output"].format(profile=profile, scenario=s) for s in plan.with_fault_table()]
    command += ["--config", f"profile={profile}", *(["--prioritize", *first] if first else [])]
    if verbose:
        return subprocess.call(command)
    if place := closed_to(root, profile):
        say(f"{place}: no permission to write here; a run has to. Change that, or copy the folder.")
        return 1
    log = Path("logs") / profile / "snakemake.log"
    say(f"{profile}: looking for what is to be done ...")
    run = Run({}, cores)
    show = Bar(profile) if sys.stderr.isatty() else Lines(profile)
    announced = False

    def draw(now: Run, elapsed: float) -> None:
        nonlocal announced
        if now.is_planned and not announced:
            announced = True
            # Only now: where there is nothing to be done, nobody has to wait for it.
            names = [*plan.runs, *plan.networks, *plan.limits, *plan.studies(), *plan.graphs()]
            now.seconds = known_seconds(root, profile, names)
            say(
                f"{profile}: {now.total} jobs to run, expected to take {in_words(now.left(0))}"
                f" on {cores} cores with nothing else to do. Log: {log}"
            )
        show(now, elapsed)

    try:
        status = run_snakemake(command, root / log, run, draw)
    except BlockingIOError:
        say(f"Another run of {profile} is at work in this folder; wait for it to end, or stop it.")
        return 1
    finally:
        show.close()
    if status == STOPPED:
        say("Stopped. The same command resumes from here.")
    elif status:
        say("\n".join(explain(run, root, log)))
    elif run.idle:
        say("Nothing to be done: the results are up to date.")
    return status


def compare_with_lock(root: Path, profile: str) -> str:
    """Whether a run gave the bytes of the committed dvc.lock; if so, they enter DVC's cache.

    Without a lock of the profile there is nothing to say.
    """
    own = f"profile: {profile}" in (root / "params.yaml").read_text().splitlines()
    stages = Path("dvc.yaml") if own else Path(profile, "dvc.yaml")
    lock = stages.with_suffix(".lock")
    if not (root / lock).is_file():
        return ""
    # DVC enters what is as the lock says, and refuses the rest where nobody can answer it.
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "commit", "--quiet", str(stages)],
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        return (
            f"It is not the run of {stages.with_suffix('.lock')}: `dvc status {stages}` says why."
        )
    return f"Every file has the bytes that {stages.with_suffix('.lock')} says."


def explain(run: Run, root: Path, log: Path, lines: int = 12) -> list[str]:
    """Why a run failed: the end of each failed job's log, or of Snakemake's."""
    if not run.errors:
        return [*_end_of(root / log, lines), f"The run did not start. All of it: {log}"]
    said = []
    for error in run.errors:
        rule, _, path = error.partition("\n")
        said.append(f"The job {rule} failed{f' ({path})' if path else ''}:")
        said += [f"  {line}" for line in (_end_of(root / path, lines) if path else [])]
    return [*said, f"{run.done.total()} of {run.total} jobs are done and stay. All of it: {log}"]


def _end_of(path: Path, lines: int) -> list[str]:
    try:
        return path.read_text(errors="replace").strip().splitlines()[-lines:]
    except OSError:
        return []
