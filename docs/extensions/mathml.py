"""Formulas as MathML, which browsers show without scripts or fonts from elsewhere."""

from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


def inline(writer: Any, node: Any) -> None:
    writer.body.append(convert(node.astext()))
    raise SkipNode


def block(writer: Any, node: Any) -> None:
    formula = convert(node.astext(), display="block")
    # Wide formulas scroll, by keyboard as well.
    writer.body.append(f'<div class="formula" tabindex="0">{formula}</div>\n')
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
