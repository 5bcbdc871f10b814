"""What a plant settles once: its sensors, what follows an alarm, who is told."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from causaldq.sensors import PlainSettings, SensorRules
from causaldq.setting import Count, Positive
from causaldq.tables.settings import read_toml

After = Literal["continue", "restart", "stop"]


class OnAlarm(PlainSettings):
    """Who is told of an alarm and of a fault."""

    command: Annotated[
        list[str],
        Field(description="a program and its arguments; the event comes to its standard input"),
    ] = []
    webhook: Annotated[
        str, Field(pattern=r"^(https?://\S+)?$", description="address that the event is posted to")
    ] = ""
    patience: Annotated[Positive, Field(description="seconds that either may take")] = 30.0


class WatchSettings(PlainSettings):
    """All settings of a watch; `read_settings` takes them from a TOML file.

    Examples
    --------
    >>> from causaldq import SensorRules
    >>> WatchSettings(after="restart", sensors=SensorRules(without=["flow"])).clear_after
    10
    """

    after: Annotated[
        After, Field(description="after an alarm: go on, forget and begin afresh, or end")
    ] = "continue"
    clear_after: Annotated[
        Count, Field(description="rows below the limit after which an alarm is cleared")
    ] = 10
    every: Annotated[
        Positive | None,
        Field(description="time between rows, seconds for dates; a longer gap is said"),
    ] = None
    sensors: SensorRules = SensorRules()
    on_alarm: OnAlarm = OnAlarm()


def read_settings(path: Path) -> WatchSettings:
    """Settings of a watch from a TOML file."""
    return read_toml(path, WatchSettings, "see docs/monitor.md")
