"""The directive `method-reference`: every registered method of a kind, so that none is left out.

Each with the description at the head of its file, its class, and its settings if it has any of
its own.
"""

import sys
from collections.abc import Iterator
from typing import Any

from docutils.parsers.rst.directives import choice
from sphinx.util.docutils import SphinxDirective

from causaldq.methods.base import Method
from causaldq.methods.build import method_class
from causaldq.methods.registry import AGENTS, NAMES, has_shared_network, is_bound

KINDS = ("untrained", "learned", "bounds")


def kind_of(name: str) -> str:
    if is_bound(name):
        return "bounds"
    return "learned" if name in AGENTS or has_shared_network(name) else "untrained"


class MethodReference(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[Any]:
        wanted = choice(self.arguments[0], KINDS)
        lines: list[str] = []
        for name in (*NAMES, *AGENTS):
            kind = method_class(name)
            if kind is not None and kind_of(name) == wanted:
                lines += reference(name, kind)
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def reference(name: str, kind: type[Method[Any]]) -> Iterator[str]:
    """Source text about one method; settings that it shares with a relative stand there."""
    title, _, text = (sys.modules[kind.__module__].__doc__ or "").partition("\n")
    yield from (f"``{name}``", "~" * (len(name) + 4), "", title.replace("*", r"\*"), "")
    if text.strip():
        yield from (".. code-block:: text", "")
        yield from (f"   {line}" for line in text.strip("\n").splitlines())
        yield ""
    yield from (f".. autoclass:: {kind.__module__}.{kind.__qualname__}", "   :no-members:", "")
    if kind.options is not None and kind.options.__module__ == kind.__module__:
        place = f"{kind.options.__module__}.{kind.options.__qualname__}"
        yield from (f".. autoclass:: {place}", "   :no-members:", "")


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("method-reference", MethodReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
