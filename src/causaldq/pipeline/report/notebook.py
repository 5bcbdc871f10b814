"""Notebooks as pages that need no network: formulas are MathML, which browsers draw themselves."""

import base64
import itertools
import os
import re
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import pass_context
from jinja2.runtime import Context
from latex2mathml.converter import convert
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from causaldq.files import write_text
from causaldq.pipeline.report.codes import CARDS, card, file_code
from causaldq.pipeline.report.tidy import short_hash

TEMPLATE = """{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block notebook_css -%}
<style>
body { font: 16px/1.5 system-ui, sans-serif; color: #222; padding: 0 1rem;
  max-width: 72rem; margin: 2rem auto; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.3rem; border-bottom: 1px solid #ddd; }
h3 { font-size: 1.1rem; } h2, h3 { margin-top: 2rem; }
a { color: #0b5cad; } a.anchor-link { display: none; }
img { max-width: 100%; height: auto; }
pre, code { font: 13px/1.4 ui-monospace, monospace; }
blockquote { border-left: 4px solid #ddd; margin-left: 0; padding-left: 1rem; color: #555; }
summary { cursor: pointer; margin: .5rem 0; }
.jp-OutputArea-output { overflow-x: auto; }
table { border-collapse: collapse; font-size: .84rem; margin: .8rem 0; }
th, td { padding: .25rem .6rem; text-align: left; vertical-align: top; }
thead { border-bottom: 1px solid #888; } td[style*="right"] { white-space: nowrap; }
tbody tr:nth-child(even) { background: #f5f5f5; }
.jp-RenderedHTML th, .jp-RenderedHTML td { text-align: right; }
td[id^="T_"] a { color: inherit; } span[style*="#7f7f7f"] { color: #636363 !important; }
</style>
<script>if (window.self !== window.top) addEventListener('DOMContentLoaded', () => {
 for (const picture of document.querySelectorAll('img:not([src^="data:"])'))
 picture.replaceWith(`[${picture.alt}: under its own entry of this report]`); });</script>
{%- endblock -%}
{%- block data_png -%}
<div class="jp-RenderedImage jp-OutputArea-output">
{%- set place = output | get_metadata('place', 'image/png') %}
<img alt="{{ (output | get_metadata('alt', 'image/png') or '') | escape_html }}"
 src="{{ place or 'data:image/png;base64,' ~ output.data['image/png'] }}">
</div>
{%- endblock -%}
"""
"""The template of nbconvert without its own style and scripts, a quarter of a megabyte a page.

It also leaves out what a picture says to those who cannot see it. Inside report.html, which has
every figure as an entry of its own, there are no files beside a page."""


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
            **options,
        )
        self.raw_template = TEMPLATE

    @pass_context
    def markdown2html(self, context: Context, source: str) -> str:
        attachments = context.get("cell", {}).get("attachments", {})
        renderer = FormulaRenderer(escape=False, attachments=attachments)
        return str(MarkdownWithMath(renderer=renderer).render(source))


FOOTER = (
    '<footer style="padding: 1rem 2rem; color: #555">Provenance <code>{provenance}</code>: one hash'
    " over what every job behind these numbers ran, read and made."
    " <code>python -m causaldq verify {results}</code> computes it anew.</footer>"
)


def run_notebook(notebook: Path, results: Path, provenance: Path, output: Path) -> None:
    """Execute a notebook on finished results and write the page.

    The same notebook on the same results gives the same bytes.
    """
    import papermill
    from traitlets.config import Config

    with tempfile.TemporaryDirectory() as folder:
        executed = Path(folder) / "executed.ipynb"
        # Kernels started side by side can pick the same port: each is spoken to through files
        # in a folder of its own.
        own = {"transport": "ipc", "ip": f"{folder}/kernel"}
        made = papermill.execute_notebook(
            notebook,
            executed,
            parameters={"results": str(results)},
            progress_bar=False,
            config=Config({"KernelManager": own}),
        )
    name_in_order(made)
    refer_to_figures(made, results / "figures", output.parent)
    link_numbers(made)
    page, _ = PageExporter().from_notebook_node(made, {"metadata": {"name": notebook.stem}})
    # What rich prints may be wider than the page: keys scroll it, too.
    page = page.replace('<pre style="white-space:pre;', '<pre tabindex="0" style="white-space:pre;')
    start, _, end = page.rpartition("</body>")
    told = FOOTER.format(provenance=short_hash(provenance), results=results)
    write_text(output, f"{start}{told}</body>{end}")


def refer_to_figures(notebook: Any, figures: Path, page: Path) -> None:
    """Let a page point to the figures that it shows, instead of carrying a copy of each."""
    known = {path.read_bytes(): path for path in figures.glob("*.png")}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            encoded = output.get("data", {}).get("image/png")
            path = known.get(base64.b64decode(encoded)) if encoded else None
            if path is not None:
                said = output.setdefault("metadata", {}).setdefault("image/png", {})
                said["place"] = quote(os.path.relpath(path, page))


def name_in_order(notebook: Any) -> None:
    """Number what is named at random: cells, and tables with styles.

    papermill's cell of parameters and tables that pandas styles get another name each time, and
    with it the page other bytes.
    """
    numbers = itertools.count(1)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        for output in cell.get("outputs", []):
            text = output.get("data", {}).get("text/html", "")
            for name in re.findall(r'<table id="(T_[0-9a-f]+)"', text):
                text = re.sub(rf"\b{name}(?![0-9a-f])", f"T_{next(numbers)}", text)
                output["data"]["text/html"] = text


NUMBER = r"[-+−]?\d[^<|]*"
"""What begins like one, with all that stands in the same cell."""


def link_numbers(notebook: Any, cards: str = f"../{CARDS}") -> None:
    """Let the numbers of tables lead to the card of the result that their cell is tagged with."""
    for cell in notebook.cells:
        result = cell.get("metadata", {}).get("result")
        for output in cell.get("outputs", []) if result else []:
            data, to = output.get("data", {}), card(file_code(result), cards)
            if "text/html" in data:
                linked = rf'\1<a href="{to}">\2</a>'
                data["text/html"] = re.sub(
                    rf"(<td[^>]*>)\s*({NUMBER})(?=</td>)", linked, data["text/html"]
                )
            if "text/markdown" in data:
                lines = data["text/markdown"].split("\n")
                data["text/markdown"] = "\n".join(_linked_row(line, to) for line in lines)


def _linked_row(line: str, to: str) -> str:
    if not line.startswith("|") or line.startswith("|---"):
        return line
    return re.sub(rf"(?<=\| )({NUMBER}?)(?= \|)", rf"[\1]({to})", line)
