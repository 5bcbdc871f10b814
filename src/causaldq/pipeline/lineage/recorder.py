"""What watches a job from its first moment to its last, and writes its record."""

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import resource
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from causaldq.files import sha256
from causaldq.pipeline.lineage.code_hash_cache import cached_hash
from causaldq.pipeline.lineage.file_access import FileAccess, within
from causaldq.pipeline.lineage.records import (
    LOCK,
    CodeFacts,
    FileFacts,
    Record,
    Resources,
    facts,
    folder_of,
    job_of,
    now,
    profile_of,
    seed_of,
    write_record,
)
from causaldq.pipeline.lineage.repository import git_state, told


class JobRecorder:
    """Stands beside a job from its first moment to its last, and writes its record."""

    def __init__(self, arguments: argparse.Namespace, started: str) -> None:
        self.root = Path.cwd()
        self.started = started
        self.log: Path = arguments.log
        self.script = Path(sys.argv[0])
        self.settings = _settings(arguments)
        self.hash = cached_hash(self.root, self.script, self.settings)
        self.commit, self.dirty = git_state(self.root)
        self.told = told(self.root)
        self.given = {name: facts(self.root / name) for name in files_named(arguments, self.root)}

    @staticmethod
    def wanted(arguments: argparse.Namespace) -> bool:
        """Jobs of a run have their log in its place; a script tried by hand leaves no record."""
        log = arguments.log
        return log is not None and not log.is_absolute() and profile_of(log) is not None

    def write(self, observed: FileAccess, status: int) -> None:
        inputs, outputs = self._files(observed)
        job = job_of(self.log)
        record = Record(
            job=job,
            rule=job.partition("/")[0],
            script=self.script.as_posix(),
            command=shlex.join(["python", *sys.argv]),
            settings=self.settings,
            seed=seed_of(self.settings),
            inputs=inputs,
            outputs=outputs,
            code=CodeFacts(
                commit=self.commit,
                dirty=self.dirty,
                hash=self.hash,
                lock=sha256(Path(LOCK)) if Path(LOCK).is_file() else None,
            ),
            started=self.started,
            ended=now(),
            status=status,
            resources=_resources(),
            host={"name": self.told.get("host"), **host()},
            operator=self.told.get("operator"),
        )
        write_record(self.root, str(profile_of(self.log)), record)
        # The process ends here, and what it holds goes with it: with torch loaded, Python would
        # look for garbage in it for a third of a second.
        gc.freeze()

    def _files(self, observed: FileAccess) -> tuple[dict[str, FileFacts], dict[str, FileFacts]]:
        """What was read, and what was made and is still there."""
        records = folder_of(str(profile_of(self.log))).as_posix()

        def present(names: Iterable[str]) -> list[str]:
            return sorted(
                name
                for name in names
                if not name.startswith(f"{records}/") and (self.root / name).is_file()
            )

        outputs = {name: facts(self.root / name) for name in present(observed.written)}
        # A given file was looked at before the work began, others after it.
        inputs = {
            name: self.given.get(name) or facts(self.root / name)
            for name in present(observed.read | set(self.given))
            if name not in outputs
        }
        return inputs, outputs


def files_named(arguments: argparse.Namespace, root: Path) -> list[str]:
    """Files that exist and are named on the command line."""
    found = set()
    for text in _texts(vars(arguments).values()):
        for part in (text, text.partition("=")[2]):
            # Text that is no name, such as JSON, may be too long to ask for.
            if part and len(part) < 1000 and os.path.isfile(part):
                name = within(root, Path(part))
                found.add(name if name else Path(os.path.abspath(part)).as_posix())
    # The log of an earlier try may lie there.
    log = None if arguments.log is None else Path(os.path.abspath(arguments.log)).as_posix()
    return sorted(found - {log})


def _texts(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _texts(value)
        elif isinstance(value, str | Path):
            yield str(value)


def _settings(arguments: argparse.Namespace) -> Any:
    text = getattr(arguments, "settings", None) or getattr(arguments, "config", None)
    if not isinstance(text, str):
        return None
    try:
        return json.loads(text if text.lstrip().startswith("{") else Path(text).read_text())
    except (ValueError, OSError):
        return None


def _resources() -> Resources:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Resources(
        cpu_seconds=round(sum(u.ru_utime + u.ru_stime for u in used), 3),
        peak_memory_bytes=max(_own_peak() or used[0].ru_maxrss, used[1].ru_maxrss) * 1024,
    )


def _own_peak() -> int | None:
    """Peak memory of this process in KiB; None where the system does not tell.

    `ru_maxrss` of the process itself would not do: Linux carries it over when a program starts
    another in its place, so that a small job is told the size of the Snakemake that forked it.
    VmHWM belongs to the memory that the job's own program was given when it started. For
    processes that the job starts `ru_maxrss` is good: they begin with no more than the job has.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return None


def host() -> dict[str, Any]:
    """What the last bits of a number can depend on. Nothing is imported for it."""
    found: dict[str, Any] = {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "threads": int(os.environ.get("OMP_NUM_THREADS") or 0) or None,
    }
    for name in ("numpy", "scipy", "torch"):
        found[name] = _installed(name)
    if numpy := sys.modules.get("numpy"):
        blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        found["blas"] = f"{blas.get('name')} {blas.get('version')}"
        found["blas_kernels"] = os.environ.get("OPENBLAS_CORETYPE")
    if torch := sys.modules.get("torch"):
        found["torch"] = torch.__version__
        found["torch_instructions"] = torch.backends.cpu.get_cpu_capability()
        found["threads"] = torch.get_num_threads()
    return found


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
