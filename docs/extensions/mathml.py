"""Formulas as MathML, which browsers show without scripts or fonts from elsewhere."""

import re
from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

NAMED = r"<mi>(?:log|exp|max|min)</mi>"
SPACE = '<mspace width="0.17em" />'


def formula(text: str, display: str = "inline") -> str:
    """With the spaces that TeX puts around the name of a function."""
    made = convert(text, display=display)
    made = re.sub(
        rf"({NAMED})(?=<m(?:i|n|sub|sup|subsup|frac|sqrt)>|<mo>&#x02211;)", rf"\1{SPACE}", made
    )
    return re.sub(rf"(</m(?:i|n|sub|sup|frac)>)(?={NAMED})", rf"\1{SPACE}", made)


def inline(writer: Any, node: Any) -> None:
    writer.body.append(formula(node.astext()))
    raise SkipNode


def block(writer: Any, node: Any) -> None:
    # Wide formulas scroll, by keyboard as well.
    shown = formula(node.astext(), display="block")
    writer.body.append(f'<div class="formula" tabindex="0">{shown}</div>\n')
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
