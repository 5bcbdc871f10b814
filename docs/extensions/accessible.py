"""Pages for everybody: what scrolls sideways is reached by keyboard, headings have a level."""

from typing import Any


def make_focusable(*event: Any) -> None:
    _app, _page, _template, context, _tree = event
    if "body" in context:
        body = context["body"].replace("<pre>", '<pre tabindex="0">')
        context["body"] = body.replace(
            '<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'
        )
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(
            'role="heading"', 'role="heading" aria-level="2"'
        )


def setup(app: Any) -> dict[str, bool]:
    # After the theme, which wraps tables.
    app.connect("html-page-context", make_focusable, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
