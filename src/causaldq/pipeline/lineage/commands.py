"""The commands that ask the records: trace, verify, diff, crate, replay, resources."""

import dataclasses
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from causaldq.commands import one_line_errors

if TYPE_CHECKING:
    from causaldq.pipeline.lineage.trace import Trace

HERE = Path()
AsJson = Annotated[bool, typer.Option("--json", help="for machines")]
Cell = Annotated[
    str | None,
    typer.Option(help='which number: "causal_dq, case_a, delta=0.25", as printed, or less'),
]

Config = Annotated[list[str] | None, typer.Option(help="further settings of the run, KEY=VALUE")]
ConfigFile = Annotated[Path | None, typer.Option(help="settings of a run of your own")]


def add_to(app: typer.Typer) -> None:
    for command in (trace, verify, manifest, diff, crate, replay, resources):
        app.command()(one_line_errors(command))


def _own_code() -> None:
    """Stop if the folder has a library of its own and this is another: it would be looked at.

    Code is compared, and numbers are computed again, with the library that runs.
    """
    from causaldq.errors import DataError
    from causaldq.pipeline.code import PACKAGE

    own = HERE / "src" / PACKAGE.name
    if (own / "pipeline").is_dir() and not own.samefile(PACKAGE):
        raise DataError(
            f"this is the causaldq of {PACKAGE.parent}, and the folder has its own in src/;"
            " activate its .venv, or `PYTHONPATH=src python -m causaldq …`"
        )


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, default=str))


def trace(
    file: Annotated[Path, typer.Argument(help="any file of a run, or a code as quick:overall")],
    cell: Cell = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="write a page to this file")] = None,
    full: Annotated[bool, typer.Option("--full", help="commands with all settings")] = False,
) -> None:
    """Show where a number or a file comes from, back to the sources.

    Ends with status 1, and says why, if anything on the way is not what its record says.
    """
    from causaldq.files import write_text
    from causaldq.pipeline.lineage import show
    from causaldq.pipeline.lineage.asked import resolve
    from causaldq.pipeline.lineage.safe_names import printable
    from causaldq.pipeline.lineage.trace import as_data
    from causaldq.pipeline.lineage.trace import trace as find

    _own_code()
    found = find(HERE, *resolve(HERE, file, cell))
    if html is not None:
        write_text(html, show.as_page(found))
    if as_json:
        _print_json(as_data(found))
    elif html is None:
        console = show.console()
        console.print(show.as_tree(found, full))
        for note in found.notes:
            console.print(f"Note: {note}.", markup=False)
        if told := found.told_absent():
            console.print(f"{told[0].upper()}{told[1:]}.", markup=False)
        if found.verified:
            count = sum(name not in found.absent for s in found.steps for name in s.files)
            depth = (" down to the runs" if found.rows else " as far as it is here") if told else ""
            console.print(f"Verified{depth}: {len(found.steps)} jobs, {count} files as recorded.")
        else:
            console.print("[bold red]Not verified:[/bold red]")
            for text in found.reasons:
                console.print(f"  {printable(text)}", markup=False)
    if not found.verified:
        raise SystemExit(1)


def verify(
    path: Annotated[
        Path | None,
        typer.Argument(help="results/<profile>, or something in it with all it was made from"),
    ] = None,
    config: Config = None,
    configfile: ConfigFile = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="delete what the current settings do not ask for")
    ] = False,
    signers: Annotated[
        Path | None, typer.Option(help="who may sign a manifest: allowed signers of ssh-keygen")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Hash everything anew, and compare with records, dvc.lock, settings, code and data.

    Without a path: every profile that has records. Says whether the records are those of a commit.
    Ends with status 1 if anything is stale, missing, changed, unexplained or invalid.
    """
    from causaldq.errors import DataError
    from causaldq.pipeline.lineage import verify as checks
    from causaldq.pipeline.lineage.records import profiles
    from causaldq.pipeline.lineage.trace import relative
    from causaldq.pipeline.lineage.verdict_text import lines

    _own_code()
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
    options = _options(config, configfile)
    verdicts = [checks.verify(HERE, name, options, within, signers) for name in wanted]
    if prune:
        for verdict in verdicts:
            for name in checks.prune(HERE, verdict):
                print(f"deleted {name}")
        verdicts = [checks.verify(HERE, name, options, within, signers) for name in wanted]
    if as_json:
        _print_json([dataclasses.asdict(verdict) for verdict in verdicts])
    else:
        for verdict in verdicts:
            print("\n".join(lines(verdict)))
    if any(verdict.findings for verdict in verdicts):
        raise SystemExit(1)


def manifest(
    folder: Annotated[Path, typer.Argument(help="results/<profile>")],
    key: Annotated[Path | None, typer.Option("--sign", help="an ssh key to sign it with")] = None,
) -> None:
    """Write the manifest of a run's records, one hash over them all, and sign it if asked to.

    A run writes it when it ends. Commit it with the results: `verify` then says of which commit
    the records are.
    """
    from causaldq.errors import DataError
    from causaldq.pipeline.lineage.manifest import sign, write_manifest
    from causaldq.pipeline.lineage.trace import relative

    parts = Path(relative(HERE, folder)).parts
    made = write_manifest(HERE, parts[1]) if len(parts) == 2 and parts[0] == "results" else None
    if made is None:
        raise DataError(f"{folder} has no records; give results/<profile> of a run")
    print(f"{len(made.records)} records, {made.hash}")
    if key is not None:
        print(sign(HERE, parts[1], key))


def diff(
    before: Annotated[str, typer.Argument(help="a commit, or a folder such as results/quick")],
    after: Annotated[str, typer.Argument(help="another")],
    profile: Annotated[str, typer.Option(help="whose results, for commits")] = "quick",
    as_json: AsJson = False,
) -> None:
    """Say what changed between two runs: settings, code, data, and the cells that moved."""
    from causaldq.pipeline.lineage.diff import compare, lines

    found = compare(HERE, before, after, profile)
    if as_json:
        _print_json(dataclasses.asdict(found))
    else:
        print("\n".join(lines(found)))


def crate(
    output: Annotated[Path, typer.Argument(help="a new folder")],
    profile: Annotated[str, typer.Option(help="whose run")] = "quick",
    config: Config = None,
    configfile: ConfigFile = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="pack it even if it is not verified, and say so")
    ] = False,
    operator: Annotated[str | None, typer.Option(help="who ran it; kept for the next time")] = None,
    host: Annotated[str | None, typer.Option(help="where it ran; kept for the next time")] = None,
) -> None:
    """Pack a run as a Workflow Run RO-Crate (Provenance Run Crate), verified before.

    Who ran it and where is taken from `git config causaldq.operator` and `causaldq.host`.
    """
    from causaldq.errors import DataError
    from causaldq.pipeline.lineage import verify as checks
    from causaldq.pipeline.lineage.crate import make_crate
    from causaldq.pipeline.lineage.crate_entities import Packed
    from causaldq.pipeline.lineage.verdict_text import lines

    _own_code()
    who = _told("operator", operator, "who ran it")
    where = _told("host", host, "on which machine it ran")
    if output.exists():
        raise DataError(f"{output} exists already; give a new folder")
    verdict = checks.verify(HERE, profile, _options(config, configfile))
    if verdict.findings and not anyway:
        print("\n".join(lines(verdict)))
        raise DataError(f"the run of {profile} is not verified; mend it, or pack it --anyway")
    print(make_crate(HERE, profile, output, Packed(verdict.findings, who, where)))


def _told(what: str, given: str | None, question: str) -> str:
    """What only a person can say: as given, as told before, or asked for; never made up."""
    from causaldq.errors import DataError
    from causaldq.pipeline.lineage.repository import tell, told

    known = given or told(HERE).get(what)
    if not known and sys.stdin.isatty():
        known = typer.prompt(f"Say {question}")
    if not known:
        raise DataError(
            f"nobody has told {question}; give --{what} or `git config causaldq.{what}`"
        )
    if known != told(HERE).get(what):
        tell(HERE, what, known)
    return known


def _options(config: list[str] | None, configfile: Path | None) -> list[str]:
    """What a run was given, as Snakemake takes it after --config."""
    return [*(config or []), *(["--configfile", str(configfile)] if configfile else [])]


def replay(
    file: Annotated[Path, typer.Argument(help="any file of a run, or a code as quick:overall")],
    cell: Cell = None,
    folder: Annotated[
        Path | None, typer.Option(help="where to work, new or empty; else a temporary one")
    ] = None,
) -> None:
    """Run the jobs behind a number again, elsewhere, and compare the bytes.

    What is run is what the workflow of the recorded commit plans, never a record's own words. With
    --cell, jobs that gather all cells are not run again; the number is computed from the replayed
    runs instead. Ends with status 1 if anything differs or is not verified.
    """
    from causaldq.pipeline.lineage.asked import resolve
    from causaldq.pipeline.lineage.trace import trace as find

    _own_code()
    found = find(HERE, *resolve(HERE, file, cell))
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
    from causaldq.pipeline.lineage.usage import lines, records_below, usage

    records = [record for folder in folders for record in records_below(folder)]
    print("\n".join(lines(usage(records))))


def _replay(found: "Trace", folder: Path) -> bool:
    from causaldq.pipeline.lineage.replay import replay as run
    from causaldq.pipeline.lineage.replay import replayable, same_environment
    from causaldq.pipeline.lineage.safe_names import printable
    from causaldq.pipeline.lineage.trace import gone

    steps = replayable(found)
    if not same_environment(HERE, [step.record for step in steps]):
        print("Note: requirements.lock has changed since; last digits may differ.")
    good = bool(steps)
    if not steps:
        print("No job can be run again by itself; leave --cell out.")
    for done in run(HERE, found, folder):
        other = ", ".join(done.differing)
        print(f"{done.job}: {f'other bytes in {other}' if other else 'same bytes'}", flush=True)
        good &= not done.differing
    for row in found.rows:
        good &= _same_number(found, row, folder)
    made = {name for step in steps for name in step.record.outputs}
    reasons = [*found.doubts, *(gone(name) for name in found.absent if name not in made)]
    for text in reasons:
        print(f"Not verified: {printable(text)}")
    good &= not reasons
    print("Replayed: everything is the same." if good else "Replayed: it is not the same.")
    return good


def _same_number(found: "Trace", row: Any, folder: Path) -> bool:
    """Print what the replayed runs say of a cell; whether it is what the table has."""
    from causaldq.pipeline.lineage import cells, recompute
    from causaldq.pipeline.lineage.safe_names import printable

    if found.gatherer is None or recompute.kind_of(row) is None:
        print(
            f"{printable(cells.described(row))}; no such cell can be recomputed: leave --cell out"
        )
        return False
    parts = recompute.parts_of(row, found.gatherer, rivals=False)
    again = recompute.recompute(folder, HERE, row, found.gatherer, parts, rivals=False)
    other = recompute.differences(row, again, rivals=False)
    told = "; ".join(other) if other else "the same from the replayed runs"
    print(printable(f"{cells.described(row)}; {told}"))
    return not other
