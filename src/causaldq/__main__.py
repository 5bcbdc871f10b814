"""python -m causaldq: small tools around the pipeline."""

import json
from pathlib import Path
from typing import Annotated

import typer

from causaldq.errors import CausalDQError
from causaldq.loading import load_config, schema

app = typer.Typer(help=__doc__, add_completion=False, no_args_is_help=True)


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


if __name__ == "__main__":
    app()
