"""Every page of a finished run, opened in a browser that has no network."""

import base64
import gzip
import hashlib
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest
import yaml
from browser import CHROMIUM, Browser, BrowserError, Page, chromium
from clones import ROOT

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]

SITE = ROOT / "docs/_build/html"

LOOK = """(async () => {
  const pictures = [...document.images];
  await Promise.all(pictures.map((picture) => picture.decode().catch(() => null)));
  await new Promise((done) => setTimeout(done, 200));
  return {
    broken: pictures.filter((p) => !p.naturalWidth).map((p) => p.src.slice(0, 200)),
    silent: pictures.filter((p) => !p.alt || p.alt.startsWith('No description')).length,
    pictures: pictures.length,
    links: [...new Set([...document.links].map((link) => link.href))],
    places: [...document.querySelectorAll('[id], a[name]')].map((e) => e.id || e.name),
  };
})()"""
"""What a page shows and points to, once its pictures have been decoded or have failed."""

WALK = """(async () => {
  const wait = () => new Promise((done) => setTimeout(done, 50));
  const until = async (found) => {
    for (let n = 0; n < 6000 && !found(); n++) await wait();
    return found();
  };
  const link = (text) => [...document.querySelectorAll('nav li a')]
    .find((a) => a.textContent === text);
  const all = (query) => [...document.querySelectorAll(query)];
  const names = Object.keys(categories).sort();
  const shown = new Set(), broken = [];
  for (const category of names) {
    document.querySelector('nav ol li a').click();
    await until(() => link(category));
    link(category).click();
    await until(() => all('nav a[iconname=eye]').length);
    const eyes = all('nav a[iconname=eye]').length;
    for (let n = 0; n < eyes; n++) {
      const eye = all('nav a[iconname=eye]')[n];
      if (eye.getAttribute('href') !== '#') continue;
      eye.click();
      const fresh = () => all('#app img, #app iframe, #app object, #app embed')
        .find((e) => !e.closest('nav') && !shown.has(e.src || e.data));
      const found = await until(fresh);
      if (!found) { broken.push(`${category}, entry ${n + 1}: shows nothing`); continue; }
      shown.add(found.src || found.data);
      if (found.tagName !== 'IMG') continue;
      await found.decode().catch(() => null);
      if (!found.naturalWidth) broken.push(`${category}, entry ${n + 1}: broken picture`);
    }
  }
  const wanted = Object.entries(results)
    .filter(([, entry]) => ['image/png', 'text/html'].includes(entry.mime_type))
    .filter(([, entry]) => !shown.has(entry.data_uri)).map(([name]) => name);
  return { broken, never_shown: wanted, shown: shown.size, first: names[0] };
})()"""
"""Click on every entry of every category of Snakemake's report."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


def faults(page: Page, file: Path, seen: dict[str, Any]) -> list[str]:
    """All that is wrong with a page, in words."""
    found = [f"complains: {text}" for text in page.complaints]
    found += [f"asks the network for {address}" for address in page.outside]
    found += [f"picture does not load: {address}" for address in seen["broken"]]
    for link in seen["links"]:
        parts = urlsplit(link)
        if parts.scheme != "file":
            continue
        target = Path(unquote(parts.path))
        if not target.is_file():
            found.append(f"link leads nowhere: {link}")
        elif parts.fragment and target == file and unquote(parts.fragment) not in seen["places"]:
            found.append(f"no such place on the page: #{parts.fragment}")
    return found


def look(browser: Browser, file: Path) -> tuple[dict[str, Any], list[str]]:
    file = file.resolve()
    page = browser.open(file)
    seen = page.evaluate(LOOK)
    return seen, faults(page, file, seen)


def test_every_page_is_whole_and_keeps_to_itself(finished: Path, browser: Browser) -> None:
    results = finished / "results/ci"
    pages = [results / "overview.html", *sorted((results / "notebooks").glob("*.html"))]
    assert {page.stem for page in pages} == {
        *("overview", "data", "graph", "training", "detection", "places", "faults"),
        *("causes", "claims", "theory", "audit"),
    }
    looked = {page.stem: look(browser, page) for page in pages}
    assert {name: wrong for name, (_, wrong) in looked.items() if wrong} == {}
    assert {name: seen["silent"] for name, (seen, _) in looked.items() if seen["silent"]} == {}
    for name in ("data", "graph", "training", "detection", "places", "causes"):
        assert looked[name][0]["pictures"] > 0, name
        assert (results / f"notebooks/{name}.html").read_text().count('src="data:image') == 0, name


def test_pages_are_for_everybody(finished: Path, browser: Browser) -> None:
    results = finished / "results/ci"
    pages = [results / "overview.html", results / "cards.html", *results.glob("notebooks/*.html")]
    for file in pages:
        assert browser.open(file.resolve()).barriers() == [], file.name


@pytest.mark.skipif(not SITE.exists(), reason="no documentation: make docs")
def test_the_documentation_is_for_everybody(browser: Browser) -> None:
    pages = [*SITE.glob("*.html"), *SITE.glob("how/*.html"), *SITE.glob("gallery/*.html")]
    barriers = {}
    for file in [*pages, *SITE.glob("api/*.html")]:
        page = browser.open(file)
        barriers[file.name] = page.barriers()
        browser.call("Page.close", page=page)
    assert len(barriers) > 30
    assert {name: found for name, found in barriers.items() if found} == {}


def test_what_keeps_people_out_would_be_found(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><title>page</title><img src='data:,'><p style='color:#ddd'>pale"
    )
    found = " ".join(browser.open(page).barriers())
    assert "image-alt" in found
    assert "color-contrast" in found
    assert "html-has-lang" in found


SWITCH = """(() => {
  const button = document.querySelector('.switches button[data-method="greedy"]');
  const shown = () => [...document.querySelectorAll('svg g[data-method="greedy"]')]
    .filter((g) => getComputedStyle(g).display !== 'none').length;
  const before = shown();
  button.click();
  const after = shown();
  button.click();
  const dot = document.querySelector('svg g[data-method="greedy"] circle');
  dot.dispatchEvent(new PointerEvent('pointerenter'));
  return { before, after, again: shown(), said: document.getElementById('pointed').textContent };
})()"""
"""Switch a method off and on again, and point at one of its dots."""


def test_methods_of_the_chart_are_switched_off_and_on(finished: Path, browser: Browser) -> None:
    page = browser.open((finished / "results/ci/overview.html").resolve())
    seen = page.evaluate(SWITCH)
    assert seen["before"] > 0
    assert seen["after"] == 0
    assert seen["again"] == seen["before"]
    rows = pd.read_csv(finished / "results/ci/add.csv")
    first = rows.query("scenario == 'p10' and table == 'noise_free' and method == 'greedy'").iloc[0]
    assert f"Greedy, δ = {first['delta']:g}: {first['add']:.1f} steps" in seen["said"]


def test_the_page_to_read_first_leads_to_everything(finished: Path, browser: Browser) -> None:
    results = finished.resolve() / "results/ci"
    seen, _ = look(browser, results / "overview.html")
    linked = {Path(unquote(urlsplit(link).path)) for link in seen["links"]}
    wanted = {results / "report.html", results / "add.csv", *results.glob("*.pdf")}
    wanted |= set(results.glob("notebooks/*.html"))
    assert wanted <= linked
    tables = {path.stem for path in results.glob("tables/*.tex")}
    assert tables <= {unquote(urlsplit(link).fragment) for link in seen["links"]}
    assert all(path.is_relative_to(results) for path in linked)


def test_every_entry_of_the_report_can_be_looked_at(finished: Path, browser: Browser) -> None:
    file = (finished / "results/ci/report.html").resolve()
    page = browser.open(file)
    seen = page.evaluate(LOOK)
    walked = page.evaluate(WALK)
    assert faults(page, file, seen) == []
    assert walked["broken"] == []
    assert walked["never_shown"] == []
    assert walked["shown"] > 10
    assert walked["first"] == "At a glance"


NUMBERS = """[...document.querySelectorAll('a[href*="cards.html#"]:not(.columns a), table.cells a')]
  .map((a) => ({ text: a.textContent, to: decodeURIComponent(a.hash.slice(1)) }))"""
"""Numbers that lead to a card, as they are printed, with the code of the card."""

CARD = """(async () => {
  location.hash = encodeURIComponent(%s);
  await new Promise((done) => setTimeout(done, 0));
  for (let n = 0; n < 100 && !document.getElementById('printed'); n++)
    await new Promise((done) => setTimeout(done, 20));
  const text = (id) => document.getElementById(id)?.textContent;
  return { printed: text('printed'), recomputed: text('recomputed'), replay: text('replay'),
    steps: document.querySelectorAll('main ol > li').length };
})()"""
"""What the card of a code says."""

UNLINKED = """(() => {
  const plain = document.body.cloneNode(true);
  plain.querySelectorAll('a, script, style, math, footer, h2, th, code, p.explained, section.files')
    .forEach((e) => e.remove());
  const cells = [...plain.querySelectorAll('td')].map((td) => td.textContent.trim());
  return cells.filter((text) => /^[\\d.]+/.test(text) || /\\d+ of \\d+/.test(text));
})()"""
"""Cells of tables that begin with a number, or count something, outside of any link."""


def cards_of(page: Page, numbers: list[dict[str, str]]) -> Iterator[str]:
    """What is wrong with the cards that numbers lead to."""
    for number in numbers:
        card = page.evaluate(CARD % json.dumps(number["to"]))
        if number["text"] and card["printed"] != number["text"]:
            yield f"{number['to']}: {number['text']} is {card['printed']} on its card"
        if card["printed"] != card["recomputed"]:
            yield f"{number['to']}: {card['printed']} printed, {card['recomputed']} recomputed"
        if not card["steps"] or "causaldq replay results/ci/" not in (card["replay"] or ""):
            yield f"{number['to']}: its card does not say where it comes from"


def test_every_number_of_pages_and_tables_has_a_card_that_says_the_same(
    finished: Path, browser: Browser
) -> None:
    results = (finished / "results/ci").resolve()
    overview = browser.open(results / "overview.html")
    numbers = overview.evaluate(NUMBERS)
    rows = pd.read_csv(results / "add.csv")
    shown = rows[(rows["scenario"] == "p10") & (rows["table"] == "noise_free")]
    # Each delay, a run length for each method and protocol, and what is said of claims.
    assert len(numbers) >= len(shown) + len(shown) // shown["delta"].nunique() + 2
    assert overview.evaluate(UNLINKED) == []
    pages = [p for p in sorted((results / "notebooks").glob("*.html")) if p.stem != "audit"]
    assert len(pages) == 9
    whole: set[str] = set()
    for place in pages:
        opened = browser.open(place)
        assert opened.evaluate(UNLINKED) == [], place.name
        for number in opened.evaluate(NUMBERS):
            if number["to"].startswith("file/"):
                whole.add(number["to"])
            else:
                numbers.append(number)
    page = browser.open(results / "cards.html")
    # Numbers that are not of single cells lead to the result that holds them.
    assert {"file/overall.csv", "file/training.csv", "file/propagation.csv"} <= whole
    assert list(cards_of(page, [{"text": "", "to": code} for code in sorted(whole)])) == []
    for table in ("noise_free_p10", "tep_m5", "train_test"):
        page.evaluate(f"location.hash = {json.dumps(f'ci:{table}')}")
        page.evaluate("new Promise((done) => setTimeout(done, 200))")
        cells = page.evaluate(NUMBERS)
        twin = pd.read_csv(results / f"tables/{table}.csv")
        assert sorted(cell["text"] for cell in cells) == sorted(f"{v:.1f}" for v in twin["add"])
        numbers += cells
    # A browser follows 200 changes of an address within half a minute, and no more.
    for start in range(0, len(numbers), 100):
        page = browser.open(results / "cards.html")
        assert list(cards_of(page, numbers[start : start + 100])) == []
        assert page.complaints == []
    # Words as they are printed find the same cards.
    page.evaluate("location.hash = encodeURIComponent('Causal DQ, case (a), δ = 0.5, fair')")
    page.evaluate("new Promise((done) => setTimeout(done, 200))")
    found = page.evaluate("[...document.querySelectorAll('main ul a')].map((a) => a.hash)")
    assert any("noise_free/p10/causal_dq/fair/case_a/0/0.5/add" in code for code in found)


def test_a_card_of_another_number_is_found(
    finished: Path, browser: Browser, tmp_path: Path
) -> None:
    """The test above can fail: a page whose card was edited, and one whose number was."""
    text = (finished / "results/ci/cards.html").read_text()
    code = "noise_free/p10/greedy/fair/case_a/0/0.5/add"
    packed = re.findall(r'id="data">(.*?)</script>', text)[0]
    data = json.loads(gzip.decompress(base64.b64decode(packed)))
    printed = data["cards"][code]["printed"]
    data["cards"][code]["recomputed"] = "999.9"
    other = base64.b64encode(gzip.compress(json.dumps(data).encode())).decode()
    (tmp_path / "cards.html").write_text(text.replace(packed, other))
    page = browser.open(tmp_path / "cards.html")
    (fault,) = cards_of(page, [{"text": printed, "to": code}])
    assert fault.endswith("printed, 999.9 recomputed")
    assert len(list(cards_of(page, [{"text": "12345.6", "to": code}]))) == 2


RAW_FILES = """[...document.querySelectorAll('main table tr')]
  .map((row) => [...row.cells].map((cell) => cell.textContent))
  .filter(([name]) => name.startsWith('data/raw/'))"""
"""Files as they were fetched, with their hashes, on the card that is open."""


def until(page: Page, expression: str) -> Any:
    """The value of an expression, once it has one; a click may lead to another page."""
    for _ in range(18_000):
        try:
            if found := page.evaluate(expression):
                return found
        except BrowserError:
            pass
        time.sleep(0.1)
    pytest.fail(f"it never came true: {expression}")


def test_the_auditors_walk_by_clicks_ends_at_the_bytes_that_were_fetched(
    finished: Path, browser: Browser
) -> None:
    """Overview, a number, its card; all tables, one of recorded data, a number, its raw files."""
    page = browser.open((finished / "results/ci/overview.html").resolve())
    page.evaluate("document.querySelector('a[href*=\"cards.html#\"]').click()")
    assert until(page, "document.getElementById('printed')?.textContent")
    page.evaluate("document.querySelector('a[href=\"#\"]').click()")
    until(page, "document.querySelector('ul.columns a[href=\"#tep_m5\"]') !== null")
    page.evaluate("document.querySelector('ul.columns a[href=\"#tep_m5\"]').click()")
    until(page, "document.querySelector('table.cells a') !== null")
    page.evaluate("document.querySelector('table.cells a').click()")
    listed = dict(until(page, RAW_FILES))
    catalogue = yaml.safe_load((finished / "data/sources.yaml").read_text())["tep_classic"]
    assert "data/raw/tep_classic/d00.dat" in listed
    for name, shown in listed.items():
        path = finished / name
        assert shown == hashlib.sha256(path.read_bytes()).hexdigest()
        if path.name in catalogue["files"]:
            assert catalogue["files"][path.name]["hash"] == f"sha256:{shown}"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("<p id='here'>fine <a href='#here'>up</a> <a href='other.html'>other</a></p>", None),
        ("<a href='nothing.html'>gone</a>", "link leads nowhere"),
        ("<a href='#nowhere'>gone</a>", "no such place"),
        ("<img src='nothing.png'>", "picture does not load"),
        ("<img src='data:image/png;base64,AAAA'>", "picture does not load"),
        ("<script>throw new Error('planted')</script>", "complains: Uncaught Error: planted"),
        ("<script>setTimeout(() => missing(), 50)</script>", "missing is not defined"),
        ("<script>Promise.reject(new Error('late'))</script>", "Error: late"),
        ("<script>console.error('planted')</script>", "console.error: planted"),
        ("<script src='nothing.js'></script>", "ERR_FILE_NOT_FOUND"),
        ("<img src='http://example.org/a.png'>", "asks the network for http://example.org/a.png"),
        ("<script>fetch('https://example.org/')</script>", "asks the network"),
    ],
)
def test_a_planted_fault_is_found(
    browser: Browser, tmp_path: Path, content: str, fault: str | None
) -> None:
    (tmp_path / "other.html").write_text("")
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><title>page</title>{content}")
    _, found = look(browser, page)
    if fault is None:
        assert found == []
    else:
        assert any(fault in text for text in found), found
