"""Fetch the files of a source, check their hashes, and write down where they came from."""

from pathlib import Path

from causaldq import command
from causaldq.jobs.fetch import run_fetch
from causaldq.jobs.settings.data import FetchJob

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, FetchJob)
    parser.add_argument("--catalogue", type=Path, required=True, help="data/sources.yaml")
    parser.add_argument("--folder", type=Path, required=True, help="where files are kept")
    parser.add_argument("--output", type=Path, required=True, help="what was fetched, .json")
    command.run(
        parser,
        lambda a: run_fetch(
            command.settings(a.settings, FetchJob), a.catalogue, a.folder, a.output
        ),
    )
