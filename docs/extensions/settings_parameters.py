"""A method's settings as numpydoc parameters: name, default and meaning are in its fields."""

from typing import Any

from causaldq.setting import Settings


def add_parameters(*event: Any) -> None:
    _app, what, _name, found, _options, lines = event
    if what != "class" or not (isinstance(found, type) and issubclass(found, Settings)):
        return
    lines += ["", "Parameters", "----------"]
    for field, facts in found.model_fields.items():
        default = facts.get_default(call_default_factory=True)
        lines += [f"{field} : default {default}", f"    {facts.description or ''}"]
    lines.append("")


def setup(app: Any) -> dict[str, bool]:
    # Before numpydoc, which turns sections into fields.
    app.connect("autodoc-process-docstring", add_parameters, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
