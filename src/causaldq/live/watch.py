"""The command `watch`: puts the parts together as its options say."""

import warnings
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from causaldq.errors import ConfigError, FallsShort
from causaldq.live.control import Control
from causaldq.live.hooks import Hooks
from causaldq.live.outputs import Output, RecordFile, Screen, say
from causaldq.live.records import as_line, as_text
from causaldq.live.rows import Clock, RowReader
from causaldq.live.session import Session
from causaldq.live.settings import WatchSettings, read_settings
from causaldq.live.source import source_of
from causaldq.live.watch_loop import WatchLoop
from causaldq.monitor import Monitor
from causaldq.tables.settings import TableSettings
from causaldq.tables.settings import read_settings as read_form


@dataclass(frozen=True)
class Options:
    """As the command has them."""

    monitor: Path
    rows: str = "-"
    time: str | None = None
    as_json: bool = False
    stop: bool = False
    follow: bool = False
    table: Path | None = None
    """How rows are written."""
    settings: Path | None = None
    """What the plant allows, what follows an alarm, who is told."""
    state: Path | None = None
    save_every: int = 1
    output: Path | None = None
    alarms: Path | None = None
    control: Path | None = None
    page: int | None = None
    host: str = "127.0.0.1"
    token: str = ""


def watch_plant(options: Options, standard_input: BinaryIO) -> bool:
    """Watch until the rows end; whether there was an alarm or a fault."""
    _distinct(options)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", FallsShort)
        monitor = Monitor.load(options.monitor)
    for one in told:
        say(str(one.message))
    session = Session(monitor, _settings(options, monitor))
    place = "standard input" if options.rows == "-" else options.rows
    form = read_form(options.table) if options.table else TableSettings()
    time = options.time or form.time
    clock = Clock(session.settings.every, form=form.time_format if time == form.time else None)
    reader = RowReader(monitor.names, place, time, clock, form)
    control = Control(options.control)
    shown = as_line if options.as_json else as_text
    files = [RecordFile("output", options.output, shown)] if options.output else []
    if options.alarms:
        log = RecordFile("alarms", options.alarms, as_line, lambda r: r["kind"] == "event")
        files.append(log)
    hooks = Hooks(session.settings.on_alarm, say)
    outputs: list[Output] = [hooks] if options.output else [Screen(shown), hooks]
    with ExitStack() as closing:
        closing.callback(hooks.close)
        if options.page is not None:
            from causaldq.live.server import serving

            page = serving(
                session, control, host=options.host, port=options.page, token=options.token
            )
            outputs.append(closing.enter_context(page))
        source = source_of(
            options.rows,
            standard_input,
            follow=options.follow or options.page is not None,
            leave_half=options.state is not None,
            say=say,
        )
        WatchLoop(
            session,
            reader,
            source,
            outputs=outputs,
            files=files,
            control=control,
            state=options.state,
            save_every=options.save_every,
        ).run()
    return bool(session.alarms or session.faults)


def _distinct(options: Options) -> None:
    """Refuse one file for two purposes: the one would write over the other."""
    rows = None if options.rows == "-" else Path(options.rows)
    given = {
        "the monitor": options.monitor,
        "the rows": rows,
        **{
            f"--{name}": getattr(options, name)
            for name in ("table", "settings", "state", "output", "alarms", "control")
        },
    }
    found: dict[Path, str] = {}
    for what, path in given.items():
        if path is not None and (other := found.setdefault(path.resolve(), what)) != what:
            raise ConfigError(f"{other} and {what} are one file, {path}; give two")


def _settings(options: Options, monitor: Monitor) -> WatchSettings:
    """The file's, or those that the monitor was saved with."""
    found = (
        read_settings(options.settings)
        if options.settings
        else WatchSettings(sensors=monitor.sensors)
    )
    return found.model_copy(update={"after": "stop"}) if options.stop else found
