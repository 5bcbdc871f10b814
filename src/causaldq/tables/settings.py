"""How a plant's file is read, and which of its rows and columns are used; kept as TOML."""

import json
import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from causaldq.errors import ConfigError, DataError
from causaldq.files import one_line
from causaldq.setting import Count, Distinct, DistinctOrNone, Positive, Settings

Separator = Literal[",", ";", "\t", "|", " "]
Encoding = Literal[
    "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1"
]
Decimal = Literal[".", ","]
S = TypeVar("S", bound=Settings)


class TableSettings(Settings):
    """What `causaldq inspect --write` writes, and `fit` and `watch` read.

    What is not said is found out from the file, except for `gaps` and `spikes`: rows and cells
    are left out only where these say so.

    Examples
    --------
    >>> TableSettings(time="minute", gaps="leave_out").missing is None
    True
    """

    separator: Annotated[Separator | None, Field(description="between cells")] = None
    encoding: Annotated[Encoding | None, Field(description="of the text")] = None
    decimal: Annotated[Decimal | None, Field(description="decimal point or comma")] = None
    header: Annotated[
        Annotated[int, Field(ge=0)] | None, Field(description="line of the names; 0: none")
    ] = None
    first: Annotated[Count | None, Field(description="line of the first row")] = None
    time: Annotated[str | None, Field(description="column that is the time, no stream")] = None
    time_format: Annotated[
        str | None, Field(description="of its dates, if not ISO 8601, as %d.%m.%Y %H:%M")
    ] = None
    streams: Annotated[Distinct[str] | None, Field(description="columns to watch")] = None
    missing: Annotated[
        DistinctOrNone[str] | None,
        Field(description="cells that mean no value, besides empty ones; by default, all text"),
    ] = None
    gaps: Annotated[
        Literal["refuse", "leave_out"], Field(description="normal rows that lack a value")
    ] = "refuse"
    spikes: Annotated[
        Positive | None,
        Field(description="cells of normal rows this far from the median are no value"),
    ] = None
    normal: Annotated[
        str | None,
        Field(pattern=r"^\d+:\d+$", description="rows of normal operation, FIRST:LAST from 1"),
    ] = None


def as_toml(settings: TableSettings, comments: list[str]) -> str:
    """The settings that are not defaults, each with what it means."""
    lines = [f"# {comment}" for comment in comments]
    for name, value in settings.model_dump(exclude_defaults=True).items():
        told = TableSettings.model_fields[name].description
        lines += ["", f"# {told}", f"{name} = {_value(value)}"]
    return "\n".join(lines).lstrip("\n") + "\n"


def _value(value: object) -> str:
    """Strings, numbers and lists are spelt in TOML as in JSON, but for one character."""
    if isinstance(value, list):
        return "[\n" + "".join(f"    {_value(item)},\n" for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_settings(path: Path) -> TableSettings:
    """How a file is read, from a file."""
    writes = f"`causaldq inspect FILE --write {path.name}` writes settings"
    return read_toml(path, TableSettings, writes)


def read_toml(path: Path, model: type[S], remedy: str) -> S:
    """Settings of a TOML file, refused if anything in them is misspelt or impossible."""
    try:
        found = tomllib.loads(path.read_bytes().decode("utf-8"))
        return model.model_validate_json(json.dumps(found, allow_nan=False))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        known = ", ".join(model.model_fields)
        told = remedy if first["loc"][1:] else f"the settings are {known}"
        raise ConfigError(f"{path}, {place}: {first['msg'].lower()}; {told}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"{path} is no TOML ({one_line(error)}); {remedy}") from None


def given(path: Path | None, normal: str, time: str) -> TableSettings:
    """Settings from a file, if there is one, in which what a command line says is changed."""
    settings = TableSettings() if path is None else read_settings(path)
    told = {key: value for key, value in (("normal", normal), ("time", time)) if value}
    return settings.model_copy(update=told)


def row_slice(path: Path, normal: str | None, rows: int) -> slice:
    """Rows of normal operation, given as FIRST:LAST from 1; all by default."""
    if not normal:
        return slice(0, rows)
    match = re.fullmatch(r"(\d{1,12}):(\d{1,12})", normal)
    if not match or not 1 <= int(match[1]) < int(match[2]) <= rows:
        raise DataError(
            f"--normal {normal}: give FIRST:LAST, rows counted from 1 without the header;"
            f" {path} has {rows} rows"
        )
    return slice(int(match[1]) - 1, int(match[2]))
