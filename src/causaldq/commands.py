"""Commands that need no pipeline: fit a monitor to a file, and watch a plant with it."""

import os
import re
import sys
import warnings
from collections.abc import Callable
from errno import ENOSPC
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer

from causaldq.errors import CausalDQError, ConfigError, DataError, FallsShort
from causaldq.tables.command import Normal, TableFile, Time, inspect

P = ParamSpec("P")
ALARMED = 3
"""Exit status of `watch` after an alarm."""
GUESSED = ("no header", "numeric header", "ragged", "cut off")
"""What was found out about a file that had better be looked at, if nothing was said of it."""
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
            remedy = "make room and start again" if error.errno == ENOSPC else "give another path"
            raise SystemExit(f"DataError: {place}: {reason}; {remedy}") from None

    return guarded


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (example, inspect, fit, watch):
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
    file: Annotated[Path, typer.Argument(help="one row per time step: CSV, Parquet, Excel")],
    sensors: Annotated[int, typer.Option(help="streams that can be read at a time")],
    output: Annotated[Path, typer.Option("--output", "-o", help="monitor to write")],
    normal: Normal = "",
    arl0: Annotated[
        str, typer.Option(help="average rows between false alarms; or '7 days', with --time")
    ] = "200",
    method: Annotated[str, typer.Option(help="which one; see docs/choosing.md")] = (
        "bayes_posterior"
    ),
    model: Annotated[
        str, typer.Option(help="of normal rows: auto, independent or state_space")
    ] = "auto",
    limit: Annotated[
        str, typer.Option(help="how it is set: auto, bound, simulated or cross_fitted")
    ] = "auto",
    time: Time = "",
    table: TableFile = None,
    held_out: Annotated[
        str, typer.Option(help="more rows of normal operation, as 701:900, to check the fit on")
    ] = "",
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
    from causaldq.spacing import rows_in
    from causaldq.tables.rows import normal_rows
    from causaldq.tables.settings import given

    form = given(table, normal, time)
    found = normal_rows(file, form)
    for one in found.findings if table is None else ():
        if one.kind in GUESSED:
            typer.echo(f"{file}, {one.where}: {one.what}: {one.done}", err=True)
    further = normal_rows(file, given(table, held_out, time)).rows if held_out else None
    if further is not None and (shared := len(further.index.intersection(found.rows.index))):
        raise ConfigError(
            f"--held-out {held_out}: {shared} of these rows are among the rows of the fit, and say"
            f" nothing new; give --normal without them (it is {form.normal or 'all rows'})"
        )
    steps = rows_in(arl0, form.time or "", found.times, found.decimal)
    choices: dict[str, Any] = {"model": model, "limit": limit}  # checked by fit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallsShort)  # the summary says it
        monitor = Monitor.fit(found.rows, sensors, arl0=steps, method=method, seed=seed, **choices)
        if further is not None:
            monitor.check(further)
    rows = [int(row) + 1 for row in found.rows.index]
    monitor.facts["why"] = [_in_file(text, rows) for text in monitor.facts["why"]]
    monitor.save(output)
    print("\n".join([monitor.summary(), *found.left_out]))
    print(f"{output}: watch with  causaldq watch {output} FILE")
    raise SystemExit(FALLS_SHORT if monitor.falls_short and not anyway else 0)


def _in_file(text: str, rows: list[int]) -> str:
    """What a diagnosis says of rows, counted from 0 among those kept, with the file's from 1."""

    def row(match: re.Match[str]) -> str:
        return match[1] + re.sub(r"\d+", lambda number: str(rows[int(number[0])]), match[2])

    return re.sub(r"(from row |first at rows )(\d+(?:, \d+)*)", row, text)


def watch(
    monitor: Annotated[Path, typer.Argument(help="written by fit, or by the pipeline")],
    file: Annotated[
        str, typer.Argument(help="CSV with a header, a folder of them, or - for standard input")
    ] = "-",
    time: Time = "",
    table: TableFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a line")] = False,
    stop: Annotated[bool, typer.Option(help="end at the first alarm")] = False,
    follow: Annotated[bool, typer.Option(help="wait for more rows at the end")] = False,
    settings: Annotated[
        Path | None, typer.Option(help="TOML: sensors, what follows an alarm, who is told")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="file to save to, and to resume from if it exists")
    ] = None,
    save_every: Annotated[int, typer.Option(min=1, help="rows between two saves")] = 1,
    output: Annotated[
        Path | None, typer.Option(help="write records here instead of standard output")
    ] = None,
    alarms: Annotated[Path | None, typer.Option(help="alarm log to write, JSON lines")] = None,
    control: Annotated[
        Path | None, typer.Option(help="file that commands are appended to while it runs")
    ] = None,
    page: Annotated[int | None, typer.Option(help="port of a live page; 0 for any")] = None,
    host: Annotated[str, typer.Option(help="address that the page is served at")] = "127.0.0.1",
) -> None:
    """Watch a plant: which sensors to read next, the statistic, the alarm, the suspects.

    Ends with status 3 if there was an alarm or a fault. Commands by --control: reset, acknowledge,
    without TAG, with TAG, maintenance on, maintenance off. The page takes them, too, from whoever
    knows the token that the environment variable CAUSALDQ_TOKEN holds, and from nobody if there is
    none.
    """
    from causaldq.live.watch import Options, watch_plant

    wanted = Options(
        monitor=monitor,
        rows=file,
        time=time or None,
        table=table,
        settings=settings,
        as_json=as_json,
        stop=stop,
        follow=follow,
        state=state,
        save_every=save_every,
        output=output,
        alarms=alarms,
        control=control,
        page=page,
        host=host,
        token=os.environ.get("CAUSALDQ_TOKEN", ""),
    )
    raise SystemExit(ALARMED if watch_plant(wanted, sys.stdin.buffer) else 0)
