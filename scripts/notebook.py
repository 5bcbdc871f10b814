"""Run a notebook on finished results with papermill, and render it to an HTML page."""

from pathlib import Path

from causaldq import command
from causaldq.report.notebook import run_notebook

if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--notebook", type=Path, required=True, help="template, .ipynb")
    parser.add_argument("--results", type=Path, required=True, help="folder it reads")
    parser.add_argument("--output", type=Path, required=True, help="page, .html")
    command.run(parser, lambda a: run_notebook(a.notebook, a.results, a.output))
