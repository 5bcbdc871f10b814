"""Commands that need no pipeline: fit a monitor to a file, and watch a plant with it."""

import json
import os
import re
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer

from causaldq.errors import CausalDQError, DataError

P = ParamSpec("P")
ALARMED = 3
"""Exit status of `watch` after an alarm."""
FALLS_SHORT = 4
"""Exit status of `fit` where the promised rate of false alarms is not kept."""


def one_line_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Turn what a user can cause into one line and status 1."""

    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except CausalDQError as error:
            raise SystemExit(f"{type(error).__name__}: {error}") from None
        except BrokenPipeError:
            # Whoever reads our output has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            place = error.filename2 or error.filename or "a file"
            reason = error.strerror or error
            raise SystemExit(f"DataError: {place}: {reason}; give another path") from None

    return guarded


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (example, fit, watch):
        app.command()(one_line_errors(command))


def example(file: Annotated[Path, typer.Argument(help="CSV to write")]) -> None:
    """Write rows of a small plant of our own making, to try the other commands on."""
    import numpy as np

    from causaldq.example import FAULT, ROWS, STREAMS, plant
    from causaldq.files import write_csv

    if file.exists():
        raise DataError(f"{file} exists already; give another name, or move it away")
    write_csv(file, plant(np.random.default_rng(1)))
    print(f"{file}: {len(STREAMS)} streams, {ROWS} rows, a fault from row {FAULT + 1} on")


def fit(
    file: Annotated[Path, typer.Argument(help="CSV with a header, one row per time step")],
    sensors: Annotated[int, typer.Option(help="streams that can be read at a time")],
    output: Annotated[Path, typer.Option("--output", "-o", help="monitor to write")],
    normal: Annotated[
        str, typer.Option(help="rows of normal operation, as 1:700; all by default")
    ] = "",
    arl0: Annotated[float, typer.Option(help="wanted rows to a false alarm")] = 200.0,
    method: Annotated[str, typer.Option(help="what chooses sensors and alarms")] = (
        "bayes_posterior"
    ),
    model: Annotated[
        str, typer.Option(help="of normal rows: auto, independent or state_space")
    ] = "auto",
    limit: Annotated[
        str, typer.Option(help="how it is set: auto, bound, simulated or cross_fitted")
    ] = "auto",
    time: Annotated[str, typer.Option(help="column that is the time, not a stream")] = "",
    seed: Annotated[int, typer.Option(help="the same seed gives the same monitor")] = 0,
    anyway: Annotated[
        bool, typer.Option(help="end with status 0 even if the promise is not kept")
    ] = False,
) -> None:
    """Fit a monitor to rows of normal operation.

    Ends with status 4 if false alarms come more than twice as often as asked for; the monitor is
    written all the same, and says so.
    """
    from causaldq.monitor import Monitor

    rows = _rows(file, normal, time)
    choices: dict[str, Any] = {"model": model, "limit": limit}  # checked by fit
    monitor = Monitor.fit(rows, sensors, arl0=arl0, method=method, seed=seed, **choices)
    monitor.save(output)
    print(monitor.summary())
    print(f"{output}: watch with  causaldq watch {output} FILE")
    raise SystemExit(FALLS_SHORT if monitor.falls_short and not anyway else 0)


def _rows(file: Path, normal: str, time: str) -> Any:
    import pandas as pd

    try:
        table = pd.read_csv(file)
    except FileNotFoundError:
        raise DataError(f"{file} does not exist") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{file} cannot be read as CSV: {str(error).splitlines()[0]}") from None
    if time:
        if time not in table:
            raise DataError(
                f"{file} has no column {time!r}; there are {', '.join(map(str, table))}"
            )
        table = table.drop(columns=time)
    if not normal:
        return table
    match = re.fullmatch(r"(\d+):(\d+)", normal)
    if not match or not 1 <= int(match[1]) < int(match[2]) <= len(table):
        raise DataError(
            f"--normal {normal}: give FIRST:LAST, rows counted from 1 without the header;"
            f" {file} has {len(table)} rows"
        )
    return table.iloc[int(match[1]) - 1 : int(match[2])]


def watch(
    monitor: Annotated[Path, typer.Argument(help="written by fit, or by the pipeline")],
    file: Annotated[str, typer.Argument(help="CSV with a header; - for standard input")] = "-",
    time: Annotated[str, typer.Option(help="column to show as the time")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a line")] = False,
    stop: Annotated[bool, typer.Option(help="end at the first alarm")] = False,
) -> None:
    """Watch a plant: which sensors to read next, the statistic, the alarm, the suspects.

    Ends with status 3 if there was an alarm.
    """
    from causaldq import watch as rows
    from causaldq.monitor import Monitor

    place = "standard input" if file == "-" else file
    alarms = 0
    loaded = Monitor.load(monitor)
    if loaded.falls_short:
        print(loaded.summary().splitlines()[0], file=sys.stderr)
    first = loaded.next
    print(json.dumps({"next": first}) if as_json else f"first: {' '.join(first)}", flush=True)
    with sys.stdin if file == "-" else Path(file).open(encoding="utf-8-sig") as lines:
        for reading in rows.watch(loaded, lines, place, time or None):
            shown = json.dumps(rows.as_json(reading)) if as_json else rows.as_text(reading)
            print(shown, flush=True)
            alarms += reading.alarm
            if reading.alarm and stop:
                break
    raise SystemExit(ALARMED if alarms else 0)
