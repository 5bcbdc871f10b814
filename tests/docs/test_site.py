"""The documentation that `make docs` built: whole, without network, and about what there is."""

import contextlib
import inspect
import io
import re
import shlex
from pathlib import Path

import click
import pytest
import typer
import yaml
from site_pages import Site

import causaldq
from causaldq.__main__ import app
from causaldq.methods.registry import AGENTS, NAMES, method_names
from causaldq.pipeline.report.judges import evidence

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "docs" / "_build" / "html"
WRITTEN = sorted({*ROOT.glob("docs/*.md"), *ROOT.glob("docs/how/*.md"), *ROOT.glob("config/*.md")})


@pytest.fixture(scope="module")
def site() -> Site:
    assert (BUILT / "index.html").exists(), "there is no site yet: make docs"
    return Site(BUILT)


# --- the site ------------------------------------------------------------------------------------


def test_every_link_leads_somewhere(site: Site) -> None:
    assert len(site.pages) > 30
    assert site.broken_links() == []


def test_nothing_comes_from_another_machine(site: Site) -> None:
    assert site.from_elsewhere() == []
    for style in BUILT.rglob("*.css"):
        asked = re.findall(r"url\(\s*['\"]?(?:https?:)?//|@import", style.read_text())
        assert asked == [], style


def test_names_of_functions_stand_apart_in_formulas() -> None:
    joined = re.compile(r"<mi>(log|exp|max|min)</mi><m(i|n|sub)>|</m(i|n|sub)><mi>(log|exp)</mi>")
    pages = {page.name: joined.search(page.read_text()) for page in BUILT.glob("how/*.html")}
    assert len(pages) > 5
    assert [name for name, found in pages.items() if found] == []


def test_every_picture_has_words(site: Site) -> None:
    assert [
        (path.name, page.without_alt) for path, page in site.pages.items() if page.without_alt
    ] == []


def test_what_is_wrong_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html">1</a><a href="a.html#top">2</a><a href="#nowhere">3</a>'
        '<a href="https://example.org">4</a><img src="//cdn.example.org/x.png">'
    )
    site = Site(tmp_path)
    assert site.broken_links() == ["a.html: b.html", "a.html: #nowhere"]
    assert site.from_elsewhere() == ["a.html: //cdn.example.org/x.png"]
    assert site.pages[tmp_path / "a.html"].without_alt == ["//cdn.example.org/x.png"]


# --- the API -------------------------------------------------------------------------------------


def defined(site: Site) -> set[str]:
    return {
        name for path, page in site.pages.items() if path.parent.name == "api" for name in page.ids
    }


@pytest.mark.parametrize("name", causaldq.__all__)
def test_every_public_name_is_in_the_reference(site: Site, name: str) -> None:
    found = getattr(causaldq, name)
    if inspect.ismodule(found):
        assert f"module-causaldq.{name}" in defined(site)
        return
    assert f"causaldq.{name}" in defined(site)
    if inspect.isclass(found):
        own = [
            member
            for member, value in vars(found).items()
            if not member.startswith("_")
            and (callable(value) or isinstance(value, property | classmethod))
        ]
        files = {"StreamModel": {"save", "load"}}  # of the pipeline
        missing = [m for m in own if f"causaldq.{name}.{m}" not in defined(site)]
        assert set(missing) <= files.get(name, set())


@pytest.mark.parametrize("name", [*NAMES, *AGENTS])
def test_every_method_is_in_the_reference_and_is_explained(site: Site, name: str) -> None:
    assert any(found.startswith(f"causaldq.methods.{name}.") for found in defined(site))
    explained = "".join(page.read_text() for page in ROOT.glob("docs/how/*.md"))
    assert f"`{name}`" in explained


# --- what pages say ------------------------------------------------------------------------------


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["index", "guide", "choosing"])
def test_the_python_of_a_page_prints_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(ROOT / "docs" / f"{page}.md")
    compared, names = 0, {}
    for number, (language, text) in enumerate(found):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(text, names)
        follows, shown = found[number + 1] if number + 1 < len(found) else ("python", "")
        if follows == "" and not shown.startswith("causaldq "):
            assert printed.getvalue() == shown
            compared += 1
    assert compared == 1


def commands() -> list[tuple[str, str]]:
    """(page, line) of every command that a page shows."""
    return [
        (page.name, line.removeprefix("$ "))
        for page in WRITTEN
        for language, text in blocks(page)
        for line in text.splitlines()
        if not language and re.match(r"(\$ )?(python -m )?(causaldq|make|snakemake) ", line)
    ]


def test_every_command_that_is_shown_exists() -> None:
    known = typer.main.get_command(app)
    assert isinstance(known, click.Group) or hasattr(known, "commands")
    makefile = (ROOT / "Makefile").read_text()
    assert len(commands()) > 15
    for page, line in commands():
        words = shlex.split(line, comments=True)
        words = words[2:] if words[0] == "python" else words
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), f"{page}: {line}"
        elif words[0] == "causaldq":
            command = known.commands.get(words[1])
            assert command is not None, f"{page}: {line}"
            options = {option for parameter in command.params for option in parameter.opts}
            asked = {word for word in words[2:] if word.startswith("-") and word != "-"}
            assert asked <= options, f"{page}: {line}"
        elif "--configfile" in words:
            assert (ROOT / words[words.index("--configfile") + 1]).exists(), f"{page}: {line}"


def test_every_script_that_is_shown_exists() -> None:
    shown = {
        name
        for page in [*WRITTEN, ROOT / "README.md"]
        for name in re.findall(r"python ((?:tools|scripts|examples)/\S+\.py)", page.read_text())
    }
    assert len(shown) >= 5
    assert [name for name in sorted(shown) if not (ROOT / name).exists()] == []


def test_no_page_carries_a_whole_program() -> None:
    """Programs are files with a command line, which linters and types check."""
    long = {
        page.name: len(text.splitlines())
        for page in WRITTEN
        for language, text in blocks(page)
        if language == "python" and len(text.splitlines()) > 30
    }
    assert long == {}


def test_methods_that_pages_name_exist() -> None:
    text = (ROOT / "docs/choosing.md").read_text()
    table = re.findall(r"^\| [^|]+ \| ([^|]+) \|", text, re.MULTILINE)
    named = {name for cell in table for name in re.findall(r"`(\w+)`", cell)}
    assert named
    assert named <= set(method_names(learned=True))


def test_every_verdict_is_explained() -> None:
    page = (ROOT / "docs/verdict.md").read_text()
    words = {
        value for name, value in vars(evidence).items() if name.isupper() and isinstance(value, str)
    }
    assert len(words) >= 3
    for word in words:
        assert f"| {word}" in page, word


def test_every_file_of_settings_is_explained() -> None:
    page = (ROOT / "config/README.md").read_text()
    for file in (*ROOT.glob("config/*.yaml"), *ROOT.glob("config/*.json")):
        assert f"`{file.name}`" in page, file.name
    defaults = yaml.safe_load((ROOT / "config/defaults.yaml").read_text())
    schema = yaml.safe_load((ROOT / "config/schema.json").read_text())
    section = page.partition("## The keys that matter first")[2]
    keys = {
        key
        for row in re.findall(r"^\| (`[^|]+)\|", section, re.MULTILINE)
        for key in re.findall(r"`(\w+)`", row)
    }
    assert len(keys) >= 8
    assert keys <= {*defaults, *schema["properties"]}


def test_the_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == causaldq.__version__
    released = re.findall(
        r"^## (\d+\.\d+\.\d+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert released[0] == causaldq.__version__


def test_the_workflow_catalogue_can_read_what_it_asks_for() -> None:
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment"}
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
