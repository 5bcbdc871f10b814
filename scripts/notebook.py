"""Run a notebook on finished results with papermill, and render it to HTML."""

from pathlib import Path

from causaldq import command


def work(arguments):
    import tempfile

    import papermill
    from nbconvert import HTMLExporter

    from causaldq.files import write_text

    with tempfile.TemporaryDirectory() as folder:
        executed = Path(folder) / "executed.ipynb"
        papermill.execute_notebook(
            arguments.notebook,
            executed,
            parameters={"results": str(arguments.results)},
            progress_bar=False,
        )
        page, _ = HTMLExporter(exclude_input=True).from_filename(str(executed))
    write_text(arguments.output, page)


if __name__ == "__main__":
    parser = command.parser(__doc__)
    parser.add_argument("--notebook", type=Path, required=True, help="template, .ipynb")
    parser.add_argument("--results", type=Path, required=True, help="folder it reads")
    parser.add_argument("--output", type=Path, required=True, help="page, .html")
    command.run(parser, work)
