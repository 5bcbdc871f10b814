"""Links from pages to files of the repository that are no pages: results, settings.

The site is built inside the repository, so such a link leads there instead of to a copy, whose
own links would be broken.
"""

import os
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class RepositoryLinks(SphinxTransform):
    default_priority = 5

    def apply(self, **_: Any) -> None:
        source = Path(self.env.srcdir)
        page = source / self.env.docname
        for node in list(self.document.findall(addnodes.download_reference)):
            target = (page.parent / node["reftarget"]).resolve()
            if target.is_relative_to(source) or not target.exists():
                continue
            site = Path(self.app.outdir) / self.env.docname
            address = Path(os.path.relpath(target, site.parent)).as_posix()
            node.replace_self(nodes.reference("", "", *node.children, refuri=address))


def setup(app: Any) -> dict[str, bool]:
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
