"""Describe sources, one replication of each, and the edges of their graphs, as tidy tables."""

from pathlib import Path

from causaldq import command
from causaldq.config import Config
from causaldq.jobs.describe import run_describe


def _by_name(paths):
    return {path.stem: path for path in paths}


if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, Config)
    parser.add_argument("--catalogue", type=Path, required=True, help="data sets, .yaml")
    parser.add_argument("--facts", type=Path, nargs="+", required=True, help="of the sources")
    parser.add_argument("--streams", type=Path, nargs="*", default=[], help="of the graphs")
    parser.add_argument("--injected", type=Path, nargs="+", required=True, help="by inject.py")
    parser.add_argument("--graphs", type=Path, nargs="*", default=[], help="by discover.py")
    parser.add_argument("--sources", type=Path, required=True, help="what they are, .csv")
    parser.add_argument("--paths", type=Path, required=True, help="a replication of each, .csv")
    parser.add_argument("--edges", type=Path, required=True, help="found and true, .csv")
    command.run(
        parser,
        lambda a: run_describe(
            command.settings(a.settings, Config),
            a.catalogue,
            _by_name(a.facts),
            _by_name(a.streams),
            _by_name(a.injected),
            _by_name(a.graphs),
            a.sources,
            a.paths,
            a.edges,
        ),
    )
