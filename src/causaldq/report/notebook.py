"""Notebooks as pages that need no network: formulas are MathML, which browsers draw themselves."""

import tempfile
from pathlib import Path
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context
from latex2mathml.converter import convert
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from causaldq.files import write_text

STYLE = (
    "<style>.jp-OutputArea-child"
    " { padding-left: var(--jp-cell-prompt-width); box-sizing: border-box; }"
    " .jp-OutputArea img { max-width: 100%; height: auto; }</style>"
)
"""Outputs in line with the text, as the prompts beside them are left out, and within the page."""

TEMPLATE = """{%- extends 'lab/index.html.j2' -%}
{%- block data_png -%}
<div class="jp-RenderedImage jp-OutputArea-output">
<img alt="{{ (output | get_metadata('alt', 'image/png') or '') | escape_html }}"
 src="data:image/png;base64,{{ output.data['image/png'] }}">
</div>
{%- endblock -%}
"""
"""The template of nbconvert, which leaves out what a picture says to those who cannot see it."""


class FormulaRenderer(IPythonRenderer):
    """Markdown with LaTeX formulas turned into MathML."""

    def inline_math(self, body: str) -> str:
        return str(convert(body))

    def block_math(self, body: str) -> str:
        return str(convert(body, display="block"))

    def multiline_math(self, text: str) -> str:
        return str(convert(text, display="block"))


class PageExporter(HTMLExporter):
    """HTML without code, prompts or anything to be loaded from elsewhere."""

    def __init__(self, **options: Any) -> None:
        super().__init__(  # type: ignore[no-untyped-call]
            exclude_input=True,
            exclude_output_prompt=True,
            mathjax_url="",
            require_js_url="",
            mermaid_js_url="",
            **options,
        )
        self.raw_template = TEMPLATE

    @pass_context
    def markdown2html(self, context: Context, source: str) -> str:
        attachments = context.get("cell", {}).get("attachments", {})
        renderer = FormulaRenderer(escape=False, attachments=attachments)
        return str(MarkdownWithMath(renderer=renderer).render(source))


def run_notebook(notebook: Path, results: Path, output: Path) -> None:
    """Execute a notebook on finished results and write the page."""
    import papermill
    from traitlets.config import Config

    with tempfile.TemporaryDirectory() as folder:
        executed = Path(folder) / "executed.ipynb"
        # Kernels started side by side can pick the same port: each is spoken to through files
        # in a folder of its own.
        own = {"transport": "ipc", "ip": f"{folder}/kernel"}
        papermill.execute_notebook(
            notebook,
            executed,
            parameters={"results": str(results)},
            progress_bar=False,
            config=Config({"KernelManager": own}),
        )
        page, _ = PageExporter().from_filename(str(executed))
    write_text(output, page.replace("</head>", f"{STYLE}</head>", 1))
