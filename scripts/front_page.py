"""Write the page that a person reads first, from tidy results and finished figures."""

from pathlib import Path

from causaldq import command
from causaldq.config import Config
from causaldq.report.jobs import run_front_page

if __name__ == "__main__":
    parser = command.parser(__doc__)
    command.add_settings(parser, Config)
    parser.add_argument("--tidy", type=Path, nargs="+", required=True, help="tidy results")
    parser.add_argument("--figures", type=Path, nargs="+", required=True, help="by figures.py")
    parser.add_argument("--notebooks", type=Path, nargs="+", required=True, help="templates")
    parser.add_argument("--template", type=Path, required=True, help="of the page, .html")
    parser.add_argument("--document", action="store_true", help="there is a paper.pdf to link to")
    parser.add_argument("--output", type=Path, required=True, help="page, .html")
    command.run(
        parser,
        lambda a: run_front_page(
            command.settings(a.settings, Config),
            a.tidy,
            a.figures,
            a.notebooks,
            a.template,
            a.output,
            document=a.document,
        ),
    )
