"""Draw the README's picture: one monitoring run, from the streams read to the alarm."""

from pathlib import Path

from causaldq.pipeline import command
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.report.overview import draw_overview

if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--output", type=Path, required=True, help="picture, .png")
    command.run(
        parser,
        lambda a: draw_overview(
            load_config(Path("config"), {"sources": {"picture": {"p": 12}}}),
            source="picture",
            m=3,
            shifted=[4, 8],
            delta=1.5,
            output=a.output,
        ),
    )
