"""causaldq: fit a monitor, watch a plant; with the pipeline installed, its tools as well."""

from importlib.util import find_spec

import typer

from causaldq import commands

HAS_PIPELINE = bool(find_spec("yaml") and find_spec("jinja2"))
LACKING = "" if HAS_PIPELINE else (
    "\n\nverify, trace, replay and all else of the pipeline is not installed here: in a clone,"
    " `make environment`, then `. .venv/bin/activate`."
)  # fmt: skip

app = typer.Typer(help=f"{__doc__}{LACKING}", add_completion=False, no_args_is_help=True)
commands.add_to(app)
if HAS_PIPELINE:
    from causaldq.pipeline import commands as pipeline_commands

    pipeline_commands.add_to(app)


def main() -> None:
    """The console command."""
    app()


if __name__ == "__main__":
    main()
