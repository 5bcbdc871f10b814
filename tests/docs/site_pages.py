"""A built site as tests see it: what its pages ask for, link to, and define."""

from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class Page(HTMLParser):
    """What one page says."""

    path: Path
    links: list[str] = field(default_factory=list)
    """Where it leads, if clicked."""
    loads: list[str] = field(default_factory=list)
    """What a browser fetches to show it."""
    ids: set[str] = field(default_factory=set)
    without_alt: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload", "manifest"):
            self.loads.append(given["href"])
        if tag != "a" and "src" in given:
            self.loads.append(given["src"])
        self.loads += [part.split()[0] for part in given.get("srcset", "").split(",") if part]
        # A thumbnail has its title beside it, and stays silent.
        silent = "alt" in given and given.get("src", "").endswith("_thumb.png")
        if tag == "img" and not given.get("alt", "").strip() and not silent:
            self.without_alt.append(given.get("src", ""))


@dataclass(frozen=True)
class Site:
    folder: Path

    @cached_property
    def pages(self) -> dict[Path, Page]:
        return {path: Page(path) for path in sorted(self.folder.rglob("*.html"))}

    def broken_links(self) -> list[str]:
        """Links and files that a page names and that are not there, as 'page: address'."""
        return [
            f"{path.relative_to(self.folder)}: {address}"
            for path, page in self.pages.items()
            for address in (*page.links, *page.loads)
            if not self._resolves(path, address)
        ]

    def _resolves(self, path: Path, address: str) -> bool:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            return True
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.exists():
            return False
        page = self.pages.get(target)
        return not parts.fragment or page is None or unquote(parts.fragment) in page.ids

    def from_elsewhere(self) -> list[str]:
        """What a browser would ask of another machine to show a page."""
        return [
            f"{path.relative_to(self.folder)}: {address}"
            for path, page in self.pages.items()
            for address in page.loads
            if urlsplit(address).scheme in ("http", "https") or urlsplit(address).netloc
        ]
