"""Pages for everybody: what scrolls sideways is reached by keyboard; headings, links have names."""

import re
from pathlib import Path
from typing import Any

THUMBNAIL = re.compile(r'(<a class="reference internal") (href="[^"]+"><span class="doc">([^<]+)<)')
LANDMARKS = {
    '<aside class="sidebar-drawer"': "Pages",
    '<aside class="toc-drawer"': "On this page",
    '<aside class="toc-drawer no-toc"': "On this page",
}
"""What the theme leaves without a name, and its name."""


def make_accessible(*event: Any) -> None:
    _app, _page, _template, context, _tree = event
    if "body" in context:
        body = context["body"].replace("<pre>", '<pre tabindex="0">')
        body = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
        # The gallery hides the text of these links behind a picture.
        if "sphx-glr-thumbcontainer" in body:
            body = THUMBNAIL.sub(r'\1 aria-label="\3" \2', body)
        context["body"] = body
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(
            'role="heading"', 'role="heading" aria-level="2"'
        )


def name_landmarks(app: Any, error: Exception | None) -> None:
    """Label what the theme's own template writes, once the pages are there."""
    for page in [] if error else Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for tag, name in LANDMARKS.items():
            text = text.replace(f"{tag}>", f'{tag} aria-label="{name}">')
        text = text.replace('<div id="search-results">', '<h1>Search</h1><div id="search-results">')
        page.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    # After the theme, which wraps tables.
    app.connect("html-page-context", make_accessible, priority=900)
    app.connect("build-finished", name_landmarks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
