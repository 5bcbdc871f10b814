"""PDFs of tables and figures, by LaTeX."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from causaldq.errors import CausalDQError
from causaldq.files import write_bytes


def render(template: str, **values: object) -> str:
    """Fill a template; LaTeX's braces are left alone."""
    environment = Environment(
        loader=PackageLoader("causaldq.pipeline.report"),
        undefined=StrictUndefined,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**values)


def compile_pdf(source: str, figures: list[Path], output: Path) -> None:
    """Run LaTeX in a folder of its own; the PDF's bytes depend on its content alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "document.tex").write_text(source)
        for path in figures:
            shutil.copy(path, folder / path.name)
        done = subprocess.run(
            ["latexmk", "-pdf", "-interaction=nonstopmode", "-halt-on-error", "document.tex"],
            cwd=folder,
            env=_environment(),
            capture_output=True,
            text=True,
            errors="replace",
        )
        if done.returncode:
            errors = [line for line in done.stdout.splitlines() if line.startswith("!")]
            raise CausalDQError(f"LaTeX failed: {' '.join(errors) or done.stdout[-500:]}")
        write_bytes(output, (folder / "document.pdf").read_bytes())


def _environment() -> dict[str, str]:
    import os

    return os.environ | {"SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}
