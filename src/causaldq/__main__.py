"""python -m causaldq: small tools around the pipeline."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from causaldq.errors import CausalDQError
from causaldq.lineage import commands
from causaldq.loading import load_config, schema

ALARMED = 3
"""Exit status of `monitor` after an alarm."""

app = typer.Typer(help=__doc__, add_completion=False, no_args_is_help=True)
commands.add_to(app)


@app.command("schema")
def print_schema() -> None:
    """Print the JSON schema of the settings, as kept in config/schema.json."""
    print(json.dumps(schema(), indent=1, sort_keys=True))


@app.command()
def check(
    profile: Annotated[str, typer.Argument(help="name of a file in config/")] = "quick",
    folder: Annotated[Path, typer.Option(help="where the profiles are")] = Path("config"),
) -> None:
    """Validate a profile without running anything."""
    try:
        config = load_config(folder, {"profile": profile})
    except CausalDQError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from None
    print(f"{profile}: {len(config.scenarios)} scenarios, {len(config.methods)} methods, fine")


@app.command()
def readme(
    results: Annotated[Path, typer.Argument(help="a folder of results, such as results/paper")],
    scenario: Annotated[str, typer.Option(help="which scenario to show")],
    file: Annotated[Path, typer.Option(help="the page to update")] = Path("README.md"),
) -> None:
    """Put measured tables between the markers of the README."""
    from causaldq.files import write_text
    from causaldq.report.text import readme_tables

    write_text(file, readme_tables(file.read_text(), results, scenario))


@app.command()
def missing(
    results: Annotated[Path, typer.Argument(help="a folder of results, such as results/paper")],
    published: Annotated[Path, typer.Option(help="the paper's numbers")] = Path(
        "data/reference/published.csv"
    ),
) -> None:
    """List the published numbers that have no measured one beside them; status 1 if there are any.

    Delays are wanted under both protocols.
    """
    import pandas as pd

    from causaldq.report.gaps import gaps

    files = (published, results / "add.csv", results / "graphs.csv")
    for file in files:
        if not file.is_file():
            raise SystemExit(f"DataError: {file} does not exist; run the pipeline first")
    numbers, add, graphs = map(pd.read_csv, files)
    found = gaps(numbers, add, graphs, ["paper", "fair"])
    print("\n".join(found) or f"All {numbers['value'].count()} published numbers were measured.")
    raise SystemExit(1 if found else 0)


@app.command()
def monitor(
    policy: Annotated[Path, typer.Option(help="policy file, artifacts/<profile>/policies/*.zip")],
    input: Annotated[str, typer.Option(help="CSV with a header; - for standard input")] = "-",
    as_json: Annotated[bool, typer.Option("--json", help="one JSON object a line")] = False,
    stop: Annotated[bool, typer.Option(help="end at the first alarm")] = False,
) -> None:
    """Follow a plant: which sensors to read next, the statistic, the alarm, who contributes.

    Ends with status 3 if there was an alarm.
    """
    from causaldq.follow import Follower, Policy, as_text, follow

    place = "standard input" if input == "-" else input
    alarms = 0
    try:
        loaded = Policy.load(policy)
        first = Follower(loaded).next
        print(json.dumps({"next": first}) if as_json else f"first: {' '.join(first)}", flush=True)
        with sys.stdin if input == "-" else Path(input).open(encoding="utf-8-sig") as lines:
            for reading in follow(loaded, lines, place):
                text = json.dumps(asdict(reading)) if as_json else as_text(reading)
                print(text, flush=True)
                alarms += reading.alarm
                if reading.alarm and stop:
                    break
    except CausalDQError as error:
        raise SystemExit(f"{type(error).__name__}: {error}") from None
    except BrokenPipeError:
        # Whoever reads our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"{place} cannot be read: {error}") from None
    raise SystemExit(ALARMED if alarms else 0)


@app.command()
def example(
    file: Annotated[Path, typer.Argument(help="CSV to write")],
    settings: Annotated[Path, typer.Option(help="settings that go with it")] = Path("plant.yaml"),
) -> None:
    """Write a small plant of our own making, and the settings to monitor it."""
    from causaldq.example import write_example

    write_example(file, settings)
    print(f"{file}: 8 streams, 900 rows, a fault from row 801 on")
    print(f"{settings}: run it with  snakemake -j2 --configfile {settings}")


if __name__ == "__main__":
    app()
