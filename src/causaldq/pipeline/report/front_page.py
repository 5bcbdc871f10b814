"""The page that a person reads first: what was measured, what it says, and where to read on."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.training import verdict
from causaldq.pipeline.report.catalogue import (
    catalogue,
    headline_scenario,
    training_shown,
)
from causaldq.pipeline.report.chart import delay_chart
from causaldq.pipeline.report.claims import PROTOCOLS, tally, verdict_words
from causaldq.pipeline.report.codes import (
    CARDS,
    card,
    claim_code,
    tally_code,
    training_code,
)
from causaldq.pipeline.report.headline import sentences
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.markdown import headline
from causaldq.pipeline.report.tidy import Tidy

TIDY = {
    "add.csv": "every measured delay, with the published one beside it",
    "events.csv": "delays on recorded faults",
    "overall.csv": "methods over all shifts, against the best baseline",
    "cross.csv": "every policy with every alarm statistic",
    "training.csv": "where each training ends, and how soon",
    "graphs.csv": "quality of the causal graphs",
    "claims.csv": "every claim with its verdict and evidence",
    "claim_cells.csv": "every cell behind a verdict",
    "theory.json": "every check of a theorem",
}
"""Tidy results that the page links to, if they were made."""


def front_page(
    config: Config,
    tidy: Tidy,
    provenance: str,
    notebooks: list[Path],
    template: Path,
    *,
    document: bool,
) -> str:
    """HTML that needs nothing but itself; links are relative to the folder of results."""
    shown = catalogue(config)
    cells = tidy.cells(headline_scenario(config))
    has_claims = "claims" in tidy.files
    pages = Environment(
        loader=FileSystemLoader(template.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template(template.name).render(
        title=config.report.title,
        note=config.report.note,
        profile=config.profile,
        provenance=provenance,
        document=document,
        notebooks=[(path.stem, *opening(path)) for path in notebooks],
        chart=delay_chart(cells),
        sentences=list(sentences(cells, tidy.claims if has_claims else None)),
        scenario=headline_scenario(config),
        cards=CARDS,
        table=_html(headline(cells, CARDS)),
        claims=_claims(tidy) if has_claims else None,
        findings=_findings(tidy) if "training" in tidy.files else [],
        tidy={name: text for name, text in TIDY.items() if Path(name).stem in tidy.files},
        tables=[table.name for table in shown.tables],
    )


def opening(notebook: Path) -> tuple[str, str]:
    """A notebook's title and what one learns from it, as its first cell says."""
    first = "".join(json.loads(notebook.read_text())["cells"][0]["source"])
    title, learned, *_ = first.split("\n\n")
    text = " ".join(learned.split()).removeprefix("What you learn here: ")
    return title.removeprefix("# "), text[0].upper() + text[1:]


def _claims(tidy: Tidy) -> dict[str, Any]:
    measured = tidy.claims[tidy.claims["part"] != "theory"]
    theory = tidy.claims[tidy.claims["part"] == "theory"]
    return {
        "parts": [
            ("claims about measurements", _tally(measured), card(tally_code("measured"))),
            ("statements of section 5", _tally(theory), card(tally_code("theory"))),
        ],
        "protocols": [label(protocol) for protocol in PROTOCOLS],
        "rows": [
            (row["claim"], [_verdict(row, name) for name in (*PROTOCOLS, "")])
            for _, row in measured[measured["headline"] == 1].iterrows()
        ],
    }


def _tally(rows: pd.DataFrame) -> str:
    return f"{len(rows)}: {tally(rows['verdict'])}"


def _verdict(row: "pd.Series[Any]", protocol: str) -> tuple[str, str]:
    """A verdict in words, and its card."""
    return verdict_words(row, protocol), card(claim_code(row["id"], protocol))


def _findings(tidy: Tidy) -> list[tuple[str, str]]:
    """Sentences on training, each with its card."""
    sentences = verdict(training_shown(tidy))
    return [(text, card(training_code(number))) for number, text in enumerate(sentences)]


def _html(markdown: str) -> str:
    return str(markdown2html_mistune(markdown))
