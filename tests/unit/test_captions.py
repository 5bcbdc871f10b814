"""Captions are sentences, short enough to be read, and say only what was drawn or printed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from causaldq.errors import DataError
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.report import captions, flares, theory
from causaldq.pipeline.report.catalogue import catalogue
from causaldq.pipeline.report.shown import Figure, Table, caption
from causaldq.pipeline.report.tidy import Tidy

ROOT = Path(__file__).parents[2]
MOST_WORDS = 130
ABBREVIATED = re.compile(
    r"\b(bold|star|dashed|dotted|grey|red|black|blue|orange|darker|thick|thin|lines|dots|left"
    r"|right|above|below|--) ?:",
    re.IGNORECASE,
)
"""A mark, a colon, and what it means, without a verb."""


def has_rows(one: Table | Figure, tidy: Tidy) -> bool:
    """The committed run may be older than the settings."""
    try:
        return one.rows is None or len(one.rows(tidy)) > 0
    except DataError:
        return False


def said(profile: str) -> Iterator[tuple[str, str]]:
    """Captions by name, from the committed run where they need one."""
    config = load_config(ROOT / "config", {"profile": profile})
    tidy = Tidy(config, sorted((ROOT / "results/paper").glob("*.csv")))
    shown = catalogue(config)
    for one in [*shown.tables, *shown.figures]:
        if isinstance(one.caption, str) or has_rows(one, tidy):
            yield one.name, caption(one, tidy)


@pytest.mark.parametrize("profile", ["ci", "quick", "paper"])
def test_captions_are_whole_sentences_that_can_be_read(profile: str) -> None:
    found = dict(said(profile))
    assert len(found) > 20
    for name, text in found.items():
        prose, _, _ = text.partition(" Faults: ")
        assert text.endswith("."), name
        assert len(prose.split()) <= MOST_WORDS, name
        assert prose.count(";") <= 2, name
        assert not ABBREVIATED.search(prose), name
        assert " -- " not in prose, name


@pytest.mark.parametrize("profile", ["ci", "paper"])
def test_captions_are_filled_in_and_escaped_for_latex(profile: str) -> None:
    for name, text in said(profile):
        plain = re.sub(r"\$[^$]*\$", "", text)
        assert not re.search(r"(?<!\\)[%&#_]", plain), name
        assert not re.search(r"(?<![a-z}])\{", plain), name
        assert text.count("{") == text.count("}"), name


def test_the_caption_that_a_notebook_shows_as_well_has_no_latex_in_it() -> None:
    assert not re.search(r"[\\`%]", theory.FIGURE_CAPTION)


def cells(deltas: list[float], methods: list[str]) -> pd.DataFrame:
    rows = [(delta, method, 0.0) for delta in deltas for method in methods]
    return pd.DataFrame(rows, columns=["delta", "method", "sigma"])


def test_a_figure_of_delays_is_described_as_it_is_drawn() -> None:
    lines = captions.delays(cells([0.5, 1.0], ["greedy", "oracle_set"]), "size", "p10")
    assert "dashed line is the oracle set" in lines
    assert "grey area" not in lines  # no CUSUM ran
    assert "grey area" in captions.delays(cells([0.5, 1.0], ["greedy", "cusum"]), "size", "p10")
    dots = captions.delays(cells([1.0], ["greedy", "cusum"]), "size", "p10")
    assert "dashed" not in dots
    assert "grey tick" in dots
    assert "bounds" in dots
    assert "bounds" not in captions.delays(cells([1.0], ["greedy"]), "size", "p10")


def test_a_graph_is_judged_only_where_the_truth_is_known() -> None:
    columns = ["p", "kind"]
    none = captions.graph("s", pd.DataFrame(columns=columns), 4)
    assert "No edge was found" in none
    assert "not known" not in none
    found = captions.graph("s", pd.DataFrame([(30, "found")], columns=columns), None)
    assert "$p=30$ streams" in found
    assert "true graph is not known" in found
    assert "its row" in found  # drawn as a matrix
    right = captions.graph("s", pd.DataFrame([(4, "right")], columns=columns), 4)
    assert "An edge is right if" in right
    assert "its row" not in right


def test_flares_stand_beside_the_range_that_the_paper_printed() -> None:
    rows = pd.DataFrame({"p": [24, 24], "m": [6, 6], "draw": [0, 1]})
    published = pd.read_csv(ROOT / "data/reference/published.csv")
    published = published[(published["table"] == "sfd") & (published["metric"] == "add")]
    text = flares.scale_caption(rows, published.assign(published_add=published["value"]))
    assert "12.8 to 18.2 steps with 6 sensors and 6.2 to 10.6 steps with 10 sensors." in text
    assert "printed" not in flares.scale_caption(rows, published.assign(published_add=None))
