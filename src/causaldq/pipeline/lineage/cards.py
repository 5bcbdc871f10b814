"""A lineage card for every measured number of overview, pages and tables, on one page.

A card has the number as it is printed, from the tidy results, and as its runs give it now; and
the jobs behind it, from the records. The page needs nothing but itself: a script in it shows the
card that the address names.
"""

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from causaldq.files import by_name, read_csv, sha256
from causaldq.pipeline.config import Config
from causaldq.pipeline.evaluation.aggregate import aggregate, gather
from causaldq.pipeline.evaluation.training import read_curves, summarise, verdict
from causaldq.pipeline.lineage.changes import flat
from causaldq.pipeline.lineage.records import Record, RecordStore
from causaldq.pipeline.lineage.sentences import sentence
from causaldq.pipeline.report import codes
from causaldq.pipeline.report.catalogue import catalogue, training_shown
from causaldq.pipeline.report.claims import PROTOCOLS, tally, verdict_words
from causaldq.pipeline.report.judges.evidence import Count
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.tidy import Tidy, table_name
from causaldq.pipeline.sources.catalogue import Credits


@dataclass(frozen=True)
class Card:
    """One printed number, or a few words that count."""

    what: str
    printed: str
    recomputed: str
    way: str
    """What it was recomputed from."""
    files: list[str]
    """What it comes from first; the jobs behind it follow from that."""
    file: str
    """The result it stands in."""
    cell: str | None = None
    """Which number, as `trace` takes it; None for the whole file."""


@dataclass(frozen=True)
class Given:
    """The files that numbers are computed from again, by what they are."""

    runs: list[Path]
    limits: list[Path]
    facts: list[Path]
    curves: list[Path]
    published: Path
    credits: Mapping[str, Credits]
    """What is said of data sets, by name."""


def cards_page(config: Config, tidy: Tidy, given: Given, provenance: str, template: Path) -> str:
    """HTML with all cards, tables and jobs."""
    store = RecordStore(Path(), config.profile)
    cards = dict(all_cards(config, tidy, given))
    pages = Environment(
        loader=FileSystemLoader(template.parent), autoescape=True, undefined=StrictUndefined
    )
    data = {
        "profile": config.profile,
        "cards": {code: asdict(card) for code, card in cards.items()},
        "tables": tables_of(config, tidy),
        "jobs": jobs_behind(store, cards.values(), given),
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).encode()
    # A twelfth of the size; and no text of a record can end the script that it stands in.
    packed = base64.b64encode(gzip.compress(text, mtime=0)).decode()
    page = pages.get_template(template.name)
    return page.render(title=config.report.title, provenance=provenance, data=packed)


def all_cards(config: Config, tidy: Tidy, given: Given) -> Iterator[tuple[str, Card]]:
    yield from cell_cards(config, tidy, given)
    if "claims" in tidy.files:
        yield from claim_cards(config, tidy)
    if "training" in tidy.files:
        yield from training_cards(config, tidy, given)
    yield from file_cards(config, tidy)


# --- delays ------------------------------------------------------------------------------


def cell_cards(config: Config, tidy: Tidy, given: Given) -> Iterator[tuple[str, Card]]:
    """A card for the delay and one for the run length of each cell."""
    runs = {path.stem: path for path in given.runs}
    gathered = gather(config, runs, by_name(given.limits), by_name(given.facts))
    table = aggregate(gathered, read_csv(given.published))
    again = {codes.cell_code(row): row for _, row in table.iterrows()}
    for _, row in tidy.add.iterrows():
        code = codes.cell_code(row)
        for column, (name, spell) in PRINTED.items():
            found = again.get(code)
            yield (
                f"{code}/{column}",
                Card(
                    what=f"{name}: {described(row)}",
                    printed=spell(row[column]),
                    recomputed="no such cell" if found is None else spell(found[column]),
                    way="from its runs and limits",
                    files=str(row["files"]).split(";"),
                    file=f"results/{config.profile}/add.csv",
                    cell=", ".join(f"{key}={row[key]}" for key in codes.CELL),
                ),
            )


def _delay(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:.1f}"


def _run_length(value: float) -> str:
    return "∞" if value == float("inf") else f"{value:.0f}"


PRINTED = {
    "add": ("Mean delay in readings", _delay),
    "arl0": ("Mean steps to a false alarm (ARL0)", _run_length),
}
"""What is printed of a cell on pages, and how."""


def described(row: "pd.Series[Any]") -> str:
    """A cell in the words that tables print."""
    noise = f", σ = {row['sigma']:g}" if row["sigma"] else ""
    return (
        f"{label(row['method'])}, {label(row['setting'])}, δ = {row['delta']:g}{noise},"
        f" {label(row['protocol'])}, scenario {row['scenario']}"
    )


def tables_of(config: Config, tidy: Tidy) -> dict[str, Any]:
    """Every table: the cells that it shows if they are delays, and what its rows come from."""
    shown: dict[str, list[list[Any]]] = {}
    for _, row in tidy.add.iterrows():
        noise = f", σ = {row['sigma']:g}" if row["sigma"] else ""
        panel = f"{label(row['protocol'])}, {label(row['setting'])}{noise}"
        scenario = row["scenario"]
        name = table_name(row["table"], scenario)
        panel = panel if name.endswith(scenario) else f"{scenario}: {panel}"
        code = codes.cell_code(row)
        shown.setdefault(name, []).append(
            [panel, label(row["method"]), float(row["delta"]), code, _delay(row["add"])]
        )
    names = [table.name for table in catalogue(config).tables]
    return {name: shown.get(name, []) for name in names}


# --- claims and training -------------------------------------------------------------------


def claim_cards(config: Config, tidy: Tidy) -> Iterator[tuple[str, Card]]:
    """A card for each verdict with its counts, and for how often each verdict was given."""
    cells = pd.read_csv(tidy.files["claim_cells"], keep_default_na=False)
    file = f"results/{config.profile}/claims.csv"
    recounted = {}
    for _, row in tidy.claims.iterrows():
        again = recount(row, cells[cells["id"] == row["id"]])
        recounted[row["id"]] = again["verdict"]
        for protocol in ("", *PROTOCOLS):
            which = label(protocol) if protocol else "both protocols"
            yield (
                codes.claim_code(row["id"], protocol),
                Card(
                    what=f"Verdict on “{row['claim']}” ({which})",
                    printed=verdict_words(row, protocol),
                    recomputed=verdict_words(again, protocol),
                    way="from the cells in claim_cells.csv",
                    files=[file],
                    file=file,
                    cell=f"id={row['id']}",
                ),
            )
    for part in ("measured", "theory"):
        rows = tidy.claims[(tidy.claims["part"] == "theory") == (part == "theory")]
        yield (
            codes.tally_code(part),
            Card(
                what=f"How often each verdict was given, {part}",
                printed=f"{len(rows)}: {tally(rows['verdict'])}",
                recomputed=f"{len(rows)}: {tally(rows['id'].map(recounted))}",
                way="from the cells in claim_cells.csv",
                files=[file],
                file=file,
            ),
        )


def recount(row: "pd.Series[Any]", cells: pd.DataFrame) -> "pd.Series[Any]":
    """A claim with its counts and verdicts from its cells; a statement of theory as it is."""
    again = row.copy()
    if row["part"] == "theory":
        return again
    for end, part in {
        "": cells,
        **{f"_{name}": cells[cells["protocol"] == name] for name in PROTOCOLS},
    }.items():
        if pd.isna(row[f"verdict{end}"]):
            continue
        found = Counter(part["outcome"])
        count = Count(*(found[outcome] for outcome in ("for", "against", "open", "missing")))
        again[f"verdict{end}"] = count.verdict
        again[f"supporting{end}"], again[f"cells{end}"] = count.supporting, count.measured
        if not end:
            again["open"], again["missing"] = count.open, count.missing
    return again


def training_cards(config: Config, tidy: Tidy, given: Given) -> Iterator[tuple[str, Card]]:
    """A card for each sentence on training."""
    again = Tidy(config, list(tidy.files.values()))
    again.training = summarise(read_curves(given.curves), config.evaluation.confidence)
    file = f"results/{config.profile}/training.csv"
    sentences = zip(verdict(training_shown(tidy)), verdict(training_shown(again)), strict=True)
    for number, (printed, recomputed) in enumerate(sentences):
        yield (
            codes.training_code(number),
            Card(
                what="What training shows",
                printed=printed,
                recomputed=recomputed,
                way="from the logs of training",
                files=[file],
                file=file,
            ),
        )


def file_cards(config: Config, tidy: Tidy) -> Iterator[tuple[str, Card]]:
    """A card for each tidy result as a whole: its hash, and that of its record."""
    store = RecordStore(Path(), config.profile)
    for path in tidy.files.values():
        name = path.as_posix()
        record = store.makers.get(name)
        if record is not None:
            yield (
                codes.file_code(path.name),
                Card(
                    what=f"The numbers that {path.name} holds",
                    printed=f"sha256 {sha256(path)}",
                    recomputed=f"sha256 {record.outputs[name].sha256}",
                    way="by its record; replay makes the file again",
                    files=[name],
                    file=name,
                ),
            )


# --- jobs ----------------------------------------------------------------------------------


def jobs_behind(store: RecordStore, cards: Iterable[Card], given: Given) -> dict[str, Any]:
    """All jobs behind some numbers, by name."""
    names = [name for card in cards for name in (*card.files, card.file)]
    return {
        record.job: _facts(record) | {"did": sentence(record, given.credits)}
        for record in store.behind(names)
    }


def _facts(record: Record) -> dict[str, Any]:
    return {
        "rule": record.rule,
        "command": record.command,
        "settings": [[key, _short(value)] for key, value in _settings(record.settings)],
        "seed": record.seed,
        "started": record.started[:19].replace("T", " "),
        "seconds": round(record.seconds, 1),
        "host": record.host.get("name"),
        "cpu": record.host.get("cpu"),
        "operator": record.operator,
        "commit": record.code.commit,
        "dirty": bool(record.code.dirty),
        "code": record.code.hash,
        "inputs": {name: facts.sha256 for name, facts in record.inputs.items()},
        "outputs": {name: facts.sha256 for name, facts in record.outputs.items()},
    }


def _settings(settings: Any) -> Iterator[tuple[str, Any]]:
    """Every single setting, also of the parts of a list."""
    for key, value in flat(settings):
        if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
            for number, part in enumerate(value, 1):
                yield from ((f"{key}.{number}.{rest}", said) for rest, said in flat(part))
        elif key:
            yield key, value


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}…"
