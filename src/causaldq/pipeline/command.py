"""What all command-line scripts share: arguments, a log, a record, one-line errors, one thread.

Import this before numpy or torch: results must not depend on how many threads a machine
has, nor on how wide its vectors are, and a job's parallelism belongs to Snakemake.
"""

import argparse
import ctypes
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import IO

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"

# Wider vectors add in another order, and a trained network shows it. Nearly all x86 processors
# of the last ten years have AVX2, which for matrices of this size is about as fast as AVX-512.
_AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
}
if (_processor := Path("/proc/cpuinfo")).exists() and " avx2 " in _processor.read_text():
    os.environ.update(_AVX2)

# A step of a method makes and frees arrays of a megabyte. glibc hands such memory back to the
# kernel, which has to clear it again at the next step: up to a third of a job's time.
if hasattr(_libc := ctypes.CDLL(None), "mallopt"):
    _M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
    _libc.mallopt(_M_MMAP_THRESHOLD, 32 << 20)
    _libc.mallopt(_M_TRIM_THRESHOLD, 1 << 30)

from causaldq.errors import CausalDQError  # noqa: E402
from causaldq.pipeline.arguments import add_options, call  # noqa: E402
from causaldq.pipeline.lineage.file_access import watched_access  # noqa: E402
from causaldq.pipeline.lineage.recorder import JobRecorder  # noqa: E402
from causaldq.pipeline.lineage.records import now  # noqa: E402

STARTED = now()


class _Tee:
    """Writes to the terminal and, without the bar's control characters, to the log."""

    def __init__(self, terminal: IO[str], log: IO[str]) -> None:
        self.terminal, self.log = terminal, log

    def write(self, text: str) -> int:
        self.log.write(text)
        self.log.flush()
        return self.terminal.write(text)

    def flush(self) -> None:
        self.terminal.flush()

    def isatty(self) -> bool:
        return False


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the options that every script has."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--log",
        type=Path,
        help="also write messages to this file; logs/<profile>/<job>.log also gets a record,"
        " results/<profile>/records/<job>.json",
    )
    return made


def main(job: ModuleType) -> None:
    """Be the command of a job."""
    made = parser(job.run.__doc__)
    add_options(made, job.run)
    run(made, lambda arguments: call(job.run, arguments))


def run(made: argparse.ArgumentParser, work: Callable[[argparse.Namespace], None]) -> None:
    """Parse, do the work, write its record, turn errors into one line and an exit status."""
    arguments = made.parse_args()
    recorder = JobRecorder(arguments, STARTED) if JobRecorder.wanted(arguments) else None
    with watched_access(Path.cwd()) as observed:
        status = _guarded(arguments, work)
    if recorder:
        recorder.write(observed, status)
    sys.exit(status)


def _guarded(arguments: argparse.Namespace, work: Callable[[argparse.Namespace], None]) -> int:
    """Do the work with its messages in the log as well; the exit status."""
    terminal = sys.stderr
    log: IO[str] | None = None
    if arguments.log:
        arguments.log.parent.mkdir(parents=True, exist_ok=True)
        log = arguments.log.open("w")
        if not terminal.isatty():
            sys.stderr = _Tee(terminal, log)
    try:
        work(arguments)
    except CausalDQError as error:
        _complain(f"{type(error).__name__}: {error}", terminal, log)
        return 1
    except Exception:
        _complain(traceback.format_exc().rstrip(), terminal, log)
        return 2
    finally:
        sys.stderr = terminal
        if log:
            log.close()
    return 0


def _complain(message: str, terminal: IO[str], log: IO[str] | None) -> None:
    for place in (terminal, log):
        if place:
            print(message, file=place, flush=True)
