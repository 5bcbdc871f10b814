"""causaldq inspect: one table of all that is odd in a file, and settings that deal with it."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from causaldq.errors import DataError

if TYPE_CHECKING:
    from causaldq.tables.inspection import Inspection

Normal = Annotated[str, typer.Option(help="rows of normal operation, as 1:700; all by default")]
Time = Annotated[str, typer.Option(help="column that is the time, not a stream")]
TableFile = Annotated[
    Path | None, typer.Option(help="TOML: how the file is read, written by inspect")
]


def inspect(
    file: Annotated[Path, typer.Argument(help="CSV, Parquet or Excel, gzipped or not")],
    normal: Normal = "",
    time: Time = "",
    write: Annotated[
        Path | None, typer.Option(help="TOML to write, for fit and watch --table")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object")] = False,
) -> None:
    """List all that is wrong or odd in a file, and what would be done about it."""
    from causaldq.files import write_text
    from causaldq.tables import inspection
    from causaldq.tables.settings import as_toml

    if write is not None and write.exists():
        raise DataError(f"{write} exists already; give another name, or move it away")
    found = inspection.inspect(file, normal or None, time or None)
    if as_json:
        print(json.dumps(_plain(found), ensure_ascii=False))
    else:
        _show(found)
    if write is None:
        return
    if found.settings is None:
        raise DataError(f"{file} has fewer than two streams, so there is nothing to write")
    comments = [f"How {file.name!r} is read, as causaldq inspect found it."]
    comments += [f"{f.kind}, {f.where}: {f.what} -> {f.done}" for f in found.findings]
    write_text(write, as_toml(found.settings, comments))
    if not as_json:
        print(f"{write}: fit with  causaldq fit {file} --table {write}")


def _plain(found: "Inspection") -> dict[str, object]:
    return {
        "file": str(found.path),
        "rows": found.rows,
        "columns": found.columns,
        "findings": [asdict(finding) for finding in found.findings],
        "settings": found.settings and found.settings.model_dump(exclude_defaults=True),
    }


def _show(found: "Inspection") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("kind", "where", "what", "done about it")
    for finding in found.findings:
        # Text, because a cell of the file may look like markup.
        table.add_row(*map(Text, (finding.kind, finding.where, finding.what, finding.done)))
    console = Console()
    if found.findings:
        console.print(table)
    streams = found.settings.streams or () if found.settings else ()
    print(
        f"{found.path}: {found.rows} rows, {found.columns} columns, {len(streams)} streams;"
        f" findings: {len(found.findings)}"
    )
