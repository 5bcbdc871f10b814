"""The commands that ask the records: trace, verify, diff, crate, replay, resources."""

import dataclasses
import json
import tempfile
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer

from causaldq.errors import CausalDQError

P = ParamSpec("P")
HERE = Path()
AsJson = Annotated[bool, typer.Option("--json", help="for machines")]
Cell = Annotated[
    str | None,
    typer.Option(help='which number, such as "causal_dq, case_a, delta=0.25"; or less'),
]


def _one_line_errors(command: Callable[P, None]) -> Callable[P, None]:
    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except CausalDQError as error:
            raise SystemExit(f"{type(error).__name__}: {error}") from None

    return guarded


def add_to(app: typer.Typer) -> None:
    for command in (trace, verify, diff, crate, replay, resources):
        app.command()(_one_line_errors(command))


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, default=str))


def trace(
    file: Annotated[Path, typer.Argument(help="a table, a figure, or any file of a run")],
    cell: Cell = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="write a page to this file")] = None,
    full: Annotated[bool, typer.Option("--full", help="commands with all settings")] = False,
) -> None:
    """Show where a number or a file comes from, back to the sources.

    Ends with status 1, and says why, if anything on the way is not what its record says.
    """
    from causaldq.files import write_text
    from causaldq.lineage import show
    from causaldq.lineage.trace import as_data
    from causaldq.lineage.trace import trace as find

    found = find(HERE, file, cell)
    if html is not None:
        write_text(html, show.as_page(found))
    if as_json:
        _print_json(as_data(found))
    elif html is None:
        console = show.console()
        console.print(show.as_tree(found, full))
        if found.doubts:
            console.print("[bold red]Not vouched for:[/bold red]")
            for doubt in found.doubts:
                console.print(f"  {doubt}", markup=False)
        else:
            count = sum(len(step.files) for step in found.steps)
            console.print(f"Vouched for: {len(found.steps)} jobs, {count} files as recorded.")
    if found.doubts:
        raise SystemExit(1)


def verify(
    path: Annotated[
        Path | None,
        typer.Argument(help="results/<profile>, or something in it with all it was made from"),
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option(help="further settings of the run, KEY=VALUE")
    ] = None,
    configfile: Annotated[Path | None, typer.Option(help="settings of a run of your own")] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="delete what the current settings do not ask for")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Hash everything anew, and compare with records, dvc.lock, settings, code and data.

    Without a path: every profile that has records. Ends with status 1 if anything is stale,
    missing, changed or unexplained.
    """
    from causaldq.errors import DataError
    from causaldq.lineage import verify as checks
    from causaldq.lineage.records import profiles
    from causaldq.lineage.trace import relative

    within: Path | None = None
    wanted = profiles(HERE)
    if path is not None:
        within = Path(relative(HERE, path))
        if len(within.parts) < 2:
            raise DataError(f"{path} is no folder of a run; give one such as results/quick")
        wanted = [within.parts[1]]
        within = within if len(within.parts) > 2 else None
    if not wanted:
        raise DataError("there are no records below results/; run the pipeline first")
    options = [*(config or []), *(["--configfile", str(configfile)] if configfile else [])]
    verdicts = [checks.verify(HERE, name, options, within) for name in wanted]
    if prune:
        for verdict in verdicts:
            for name in checks.prune(HERE, verdict):
                print(f"deleted {name}")
        verdicts = [checks.verify(HERE, name, options, within) for name in wanted]
    if as_json:
        _print_json([dataclasses.asdict(verdict) for verdict in verdicts])
    else:
        for verdict in verdicts:
            print("\n".join(checks.lines(verdict)))
    if any(verdict.findings for verdict in verdicts):
        raise SystemExit(1)


def diff(
    before: Annotated[str, typer.Argument(help="a commit, or a folder such as results/quick")],
    after: Annotated[str, typer.Argument(help="another")],
    profile: Annotated[str, typer.Option(help="whose results, for commits")] = "quick",
    as_json: AsJson = False,
) -> None:
    """Say what changed between two runs: settings, code, data, and the cells that moved."""
    from causaldq.lineage.diff import compare, lines

    found = compare(HERE, before, after, profile)
    if as_json:
        _print_json(dataclasses.asdict(found))
    else:
        print("\n".join(lines(found)))


def crate(
    output: Annotated[Path, typer.Argument(help="a new folder")],
    profile: Annotated[str, typer.Option(help="whose run")] = "quick",
) -> None:
    """Pack a run as a Workflow Run RO-Crate (Provenance Run Crate)."""
    from causaldq.lineage.crate import make_crate

    print(make_crate(HERE, profile, output))


def replay(
    file: Annotated[Path, typer.Argument(help="a table, a figure, or any file of a run")],
    cell: Cell = None,
    folder: Annotated[
        Path | None, typer.Option(help="where to work, new or empty; else a temporary one")
    ] = None,
) -> None:
    """Run the recorded commands behind a number again, elsewhere, and compare the bytes.

    With --cell, jobs that gather all cells are not run again; the number is computed from the
    replayed runs instead. Ends with status 1 if anything differs.
    """
    from causaldq.lineage.trace import trace as find

    found = find(HERE, file, cell)
    if folder is not None:
        good = _replay(found, folder)
    else:
        with tempfile.TemporaryDirectory() as place:
            good = _replay(found, Path(place))
    if not good:
        raise SystemExit(1)


def resources(
    folders: Annotated[list[Path], typer.Argument(help="results/<profile>, of one run or more")],
) -> None:
    """Show what each rule's jobs took, and what a cluster's job should ask for.

    mem_mb and runtime (minutes) have a margin, and room for Snakemake itself.
    """
    from causaldq.lineage.usage import lines, records_below, usage

    records = [record for folder in folders for record in records_below(folder)]
    print("\n".join(lines(usage(records))))


def _replay(found: Any, folder: Path) -> bool:
    from causaldq.lineage import cells
    from causaldq.lineage.replay import replay as run
    from causaldq.lineage.replay import replayable, same_environment
    from causaldq.lineage.trace import settings_of

    steps = replayable(found)
    if not same_environment(HERE, [step.record for step in steps]):
        print("Note: requirements.lock has changed since; last digits may differ.")
    good = True
    for done in run(HERE, found, folder):
        other = ", ".join(done.differing)
        print(f"{done.job}: {f'other bytes in {other}' if other else 'same bytes'}", flush=True)
        good &= not done.differing
    for row in found.rows:
        mean = cells.mean_delay(folder, row, settings_of(found.steps))
        if mean is not None:
            print(f"{cells.described(row)}; {mean:.4g} from the replayed runs")
            good &= cells.is_same(mean, row)
    print("Replayed: everything is the same." if good else "Replayed: it is not the same.")
    return good
