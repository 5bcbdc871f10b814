"""causaldq: fit a monitor, watch a plant; with the pipeline installed, its tools as well."""

from importlib.util import find_spec

import typer

from causaldq import commands

app = typer.Typer(help=__doc__, add_completion=False, no_args_is_help=True)
commands.add_to(app)
if find_spec("yaml") and find_spec("jinja2"):
    from causaldq.pipeline import commands as pipeline_commands

    pipeline_commands.add_to(app)


def main() -> None:
    """The console command."""
    app()


if __name__ == "__main__":
    main()
