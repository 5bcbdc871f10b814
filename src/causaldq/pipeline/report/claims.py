"""The paper's claims, and what our measurements say of each."""

import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from causaldq.errors import DataError
from causaldq.pipeline.config import Config
from causaldq.pipeline.report.codes import card, claim_code
from causaldq.pipeline.report.judges import JUDGES
from causaldq.pipeline.report.judges.cells import TABLES
from causaldq.pipeline.report.judges.delays import MORE_ALARMS
from causaldq.pipeline.report.judges.evidence import (
    FAILS,
    HOLDS,
    MOST_SEEDS,
    SOME_READINGS,
    UNKNOWN,
    VERDICTS,
    Judgement,
    Piece,
    count,
    seeds_to_decide,
)
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.latex import RULE, bold, latex, line, tabular
from causaldq.pipeline.report.tidy import Tidy

PARTS = ("delays", "learning", "theory")
PROTOCOLS = ("paper", "fair")
COLUMNS = [
    *("id", "part", "headline", "place", "claim", "verdict", "verdict_paper", "verdict_fair"),
    *("supporting", "cells", "supporting_paper", "cells_paper", "supporting_fair", "cells_fair"),
    *("open", "missing", "seeds_to_decide", "evidence", "against", "tables"),
]
CELL_COLUMNS = [
    *("id", "protocol", "cell", "outcome", "detail", "table"),
    *("seeds_to_support", "seeds_to_contradict"),
]
COMPARISON_COLUMNS = ["approach", "property", "ticked", "measured", "claims"]
NAMED = 3
"""Cells against a claim that the evidence names; claim_cells.csv has all."""

CAPTION = (
    "What the paper claims about {what}, and what was measured. A claim holds if every cell (one"
    " measured delay, or one comparison) speaks for it, does not hold (bold) if a cell contradicts"
    " it beyond noise, and is inconclusive otherwise. In parentheses are the cells that speak for"
    " it, of all that were measured; a dash says that a claim does not concern a protocol. Where"
    " two methods are compared, intervals also count how training seeds differ. A delay that is"
    " shorter {more} decides nothing. Rates of false alarms are in \\texttt{{claims.csv}}, and all"
    " cells in \\texttt{{claim\\_cells.csv}}."
)
PART_NAMES = {
    "delays": "delays and alarms",
    "learning": "training and the causal graph",
}
THEORY_CAPTION = (
    "What holds of the statements in section 5 of the paper. A statement is read in up to three"
    " ways: as printed, as in its proof, and as it is used. The parentheses give the number of"
    " readings in which it holds, of those that it has, and bold marks statements that hold in none"
    " of them. The tables on theory have all checks, also those of corrected readings."
)
COMPARISON_CAPTION = (
    "Properties that the paper ascribes to approaches (its table 1), with its ticks as printed: a"
    " tick says that an approach has the property, and a cross that it has not. The line below"
    " Causal DQ gives what was measured here: the verdicts on the claims that each of its ticks"
    " rests on, and how often each was reached where there are several."
)


def caption(part: str) -> str:
    if part == "theory":
        return THEORY_CAPTION
    return CAPTION.format(what=PART_NAMES[part], more=MORE_ALARMS)


def concerns(config: Config) -> bool:
    """Whether a config has anything to do with the paper's tables."""
    return any({s.table, *s.also} & set(TABLES) for s in config.scenarios.values())


def read_claims(path: Path) -> list[dict[str, Any]]:
    """Claims with an id, their place, what they say, and who judges them."""
    claims: list[dict[str, Any]] = yaml.safe_load(path.read_text())
    seen: set[str] = set()
    for number, claim in enumerate(claims, start=1):
        where = f"{path}, claim {claim.get('id', number)}"
        for key in ("id", "place", "part", "claim"):
            if key not in claim:
                raise DataError(f"{where}: {key!r} is missing")
        if claim["id"] in seen:
            raise DataError(f"{where}: the id stands twice; give each claim its own")
        seen.add(claim["id"])
        if claim["part"] not in PARTS:
            raise DataError(f"{where}: there is no part {claim['part']!r}; give one of {PARTS}")
        if ("judge" in claim) == ("theory" in claim):
            raise DataError(f"{where}: give either a judge or ids of checks under theory")
        if "judge" in claim:
            _check_judge(where, claim["judge"], claim.get("with", {}))
    return claims


def _check_judge(where: str, name: str, parameters: dict[str, Any]) -> None:
    if name not in JUDGES:
        raise DataError(f"{where}: there is no judge {name!r}; known: {', '.join(JUDGES)}")
    try:
        inspect.signature(JUDGES[name]).bind(None, **parameters)
    except TypeError as error:
        raise DataError(f"{where}: judge {name}: {error}") from None


def judge(claims: list[dict[str, Any]], tidy: Tidy) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row a claim, and one row for each cell that was looked at."""
    rows, cells = [], []
    for claim in claims:
        if "theory" in claim:
            rows.append(_by_checks(claim, tidy))
            continue
        judgement = JUDGES[claim["judge"]](tidy, **claim.get("with", {}))
        rows.append(_by_cells(claim, judgement))
        cells += [_cell(claim["id"], piece) for piece in judgement.pieces]
    return pd.DataFrame(rows, columns=COLUMNS), pd.DataFrame(cells, columns=CELL_COLUMNS)


def _cell(claim: str, piece: Piece) -> dict[str, Any]:
    seeds = piece.seeds._asdict() if piece.outcome == "open" else {}
    return {"id": claim, **vars(piece)} | {f"seeds_{way}": n for way, n in seeds.items()}


def _by_cells(claim: dict[str, Any], judgement: Judgement) -> dict[str, Any]:
    pieces = judgement.pieces
    total = count(pieces)
    against = [piece for piece in pieces if piece.outcome == "against"]
    row: dict[str, Any] = _head(claim) | {
        "verdict": total.verdict,
        "supporting": total.supporting,
        "cells": total.measured,
        "open": total.open,
        "missing": total.missing,
        "seeds_to_decide": seeds_to_decide(pieces) if total.verdict == UNKNOWN else None,
        "evidence": _evidence(judgement),
        "against": "; ".join(_named(piece.protocol, piece.cell) for piece in against),
        "tables": ";".join(
            dict.fromkeys(p.table for p in pieces if p.outcome != "missing" and p.table)
        ),
    }
    for protocol in PROTOCOLS:
        own = count(piece for piece in pieces if piece.protocol == protocol)
        concerned = any(piece.protocol == protocol for piece in pieces)
        row |= {
            f"verdict_{protocol}": own.verdict if concerned else "",
            f"supporting_{protocol}": own.supporting if concerned else None,
            f"cells_{protocol}": own.measured if concerned else None,
        }
    return row


def _evidence(judgement: Judgement) -> str:
    """Counts under each protocol, what else is to be known, and some cells against it."""
    if not judgement.pieces:
        return "This profile measures nothing that speaks for or against it."
    sentences = []
    for protocol in dict.fromkeys(piece.protocol for piece in judgement.pieces):
        pieces = [piece for piece in judgement.pieces if piece.protocol == protocol]
        found = count(pieces)
        parts = []
        if found.measured:
            parts.append(f"{found.supporting} of {found.measured} {judgement.unit} for it")
        if found.open:
            parts.append(f"{found.open} within noise")
        if found.missing and pieces[0].cell:
            parts.append(f"{found.missing} not measured")
        if note := judgement.notes.get(protocol):
            parts.append(note)
        against = [piece for piece in pieces if piece.outcome == "against"]
        if against:
            named = "; ".join(f"{piece.cell}: {piece.detail}" for piece in against[:NAMED])
            more = f"; and {len(against) - NAMED} more" if len(against) > NAMED else ""
            parts.append(f"against it: {named}{more}")
        text = f"{_named(protocol, '; '.join(parts))}."
        sentences.append(text[0].upper() + text[1:])
    return " ".join([*sentences, *_more_seeds(judgement.pieces)])


def _more_seeds(pieces: list[Piece]) -> list[str]:
    """How many training seeds an inconclusive claim would take."""
    if count(pieces).verdict != UNKNOWN or not any(any(piece.seeds) for piece in pieces):
        return []
    if (seeds := seeds_to_decide(pieces)) is None:
        return [f"Not even {MOST_SEEDS} training seeds would decide it if means stay as they are."]
    return [f"About {seeds} training seeds would decide it if means stay as they are."]


def _named(protocol: str, text: str) -> str:
    return f"{label(protocol)}: {text}" if protocol else text


def _by_checks(claim: dict[str, Any], tidy: Tidy) -> dict[str, Any]:
    """A claim holds if it does in every reading that is the paper's own (printed, in the proof, or
    used). What a corrected reading reaches is told beside it.
    """
    row: dict[str, Any] = _head(claim)
    if "theory" not in tidy.files:
        return row | {"verdict": UNKNOWN, "evidence": "This profile checks no theorems."}
    by_id = {check["id"]: check for check in tidy.theory}
    missing = [name for name in claim["theory"] if name not in by_id]
    if missing:
        raise DataError(f"claim {claim['id']}: there is no check {', '.join(missing)}")
    checks = [by_id[name] for name in claim["theory"]]
    readings = dict.fromkeys(check["reading"] for check in checks)
    said = {
        name: HOLDS if all(c["verdict"] == HOLDS for c in checks if c["reading"] == name) else FAILS
        for name in readings
    }
    paper = [verdict for name, verdict in said.items() if name != "corrected"]
    own = [check for check in checks if check["reading"] != "corrected"]
    evidence = "; ".join(f"{name}: {verdict}" for name, verdict in said.items())
    if any(check["vacuous"] for check in own):
        evidence += "; vacuous where it holds"
    return row | {
        "verdict": paper[0] if len(set(paper)) == 1 else SOME_READINGS,
        "supporting": paper.count(HOLDS),
        "cells": len(paper),
        "open": 0,
        "missing": 0,
        "evidence": f"{evidence[0].upper()}{evidence[1:]}. Checks: {', '.join(claim['theory'])}.",
        "tables": "theory_values;theory_errors",
    }


def _head(claim: dict[str, Any]) -> dict[str, Any]:
    row = {key: claim[key] for key in ("id", "part", "place", "claim")}
    return row | {"headline": int(claim.get("headline", False))}


def verdict_words(row: pd.Series, protocol: str = "") -> str:
    """A verdict with its counts; a dash where a protocol has no part in it."""
    end = f"_{protocol}" if protocol else ""
    verdict = row[f"verdict{end}"]
    if pd.isna(verdict) or not verdict:
        return "–"
    cells, supporting = row[f"cells{end}"], row[f"supporting{end}"]
    if pd.isna(cells):
        return str(verdict)
    if verdict == UNKNOWN and not supporting:
        return str(verdict) if protocol else f"{verdict} ({_why(row)})"
    only = "true in " if verdict in (FAILS, UNKNOWN) else ""
    shares = f"{only}{supporting:.0f} of {cells:.0f}"
    if not protocol and row["missing"]:
        shares += f", {row['missing']:.0f} not measured"
    return f"{verdict} ({shares})"


def _why(row: pd.Series) -> str:
    """Why a claim is inconclusive."""
    if not row["open"]:
        return "not measured"
    return "within noise, or not measured" if row["missing"] else "within noise"


def claims_summary(verdicts: pd.DataFrame) -> list[str]:
    """The verdicts in a few sentences: counts first, then the claims that matter most."""
    measured = verdicts[verdicts["part"] != "theory"]
    theory = verdicts[verdicts["part"] == "theory"]
    lines = [
        f"{len(measured)} claims about measurements: {tally(measured['verdict'])};"
        f" {len(theory)} statements of section 5: {tally(theory['verdict'])}."
    ]
    for _, row in verdicts[verdicts["headline"] == 1].iterrows():
        by_protocol = [
            f"{label(protocol)} {verdict_words(row, protocol)}"
            for protocol in PROTOCOLS
            if verdict_words(row, protocol) != "–"
        ]
        text = f"{row['claim'].removesuffix('.')}: {verdict_words(row)}"
        if len(by_protocol) > 1 and row["verdict"] != UNKNOWN:
            text += f"; {', '.join(by_protocol)}"
        lines.append(f"{text}.")
    return lines


def tally(verdicts: "pd.Series[str]") -> str:
    """How often each verdict was given."""
    found = Counter(verdicts)
    return ", ".join(f"{verdict} {found[verdict]}" for verdict in VERDICTS if found[verdict])


def claims_markdown(verdicts: pd.DataFrame, cards: str | None = None) -> str:
    """A Markdown table; verdicts lead to their cards if `cards`, the page of these, is given."""
    lines = [
        "| claim | place | the paper's protocol | fair protocol | verdict |",
        "|---|---|---|---|---|",
    ]
    for _, row in verdicts.iterrows():
        words = [verdict_words(row, protocol) for protocol in (*PROTOCOLS, "")]
        words[-1] = f"**{words[-1]}**"
        if cards is not None:
            addresses = [card(claim_code(row["id"], p), cards) for p in (*PROTOCOLS, "")]
            words = [f"[{text}]({to})" for text, to in zip(words, addresses, strict=True)]
        lines.append(f"| {' | '.join([row['claim'], row['place'], *words])} |")
    return "\n".join([*lines, ""])


def claims_table(verdicts: pd.DataFrame) -> str:
    """A LaTeX tabular: one line a claim."""
    by_protocol = verdicts[["cells_paper", "cells_fair"]].notna().to_numpy().any()
    protocols = PROTOCOLS if by_protocol else ()
    widths = [72, 30, *(28 for _ in protocols), 36]
    lines = [
        line(["Claim", "Place", *(label(p).capitalize() for p in protocols), "Verdict"]),
        RULE,
    ]
    for _, row in verdicts.iterrows():
        *words, overall = (
            verdict_words(row, which).replace(" of ", "/") for which in (*protocols, "")
        )
        cells = [row["claim"], row["place"], *words, bold(overall, when=row["verdict"] == FAILS)]
        text = " & ".join(rf"\raggedright {latex(cell)}" for cell in cells)
        lines.append(text + r" \tabularnewline\addlinespace[2pt]")
    columns = "".join(f"p{{{width}mm}}" for width in widths)
    return tabular(columns, lines, is_small=True)


def compare_approaches(path: Path, verdicts: pd.DataFrame) -> pd.DataFrame:
    """The paper's first table, one row for each approach and property."""
    known: dict[str, Any] = yaml.safe_load(path.read_text())
    rows = []
    for approach in known["approaches"]:
        for wanted in known["properties"]:
            ids = _ids(wanted, verdicts)
            missing = set(ids) - set(verdicts["id"])
            if missing:
                raise DataError(f"{path}, {wanted['id']}: there is no claim {', '.join(missing)}")
            found = verdicts.loc[verdicts["id"].isin(ids), "verdict"]
            measured = wanted.get("note") or (found.iloc[0] if len(found) == 1 else tally(found))
            ours = approach.get("ours", False)
            rows.append(
                {
                    "approach": approach["name"],
                    "property": wanted["name"],
                    "ticked": int(wanted["id"] in approach["ticks"]),
                    "measured": measured if ours else "",
                    "claims": ";".join(ids) if ours else "",
                }
            )
    return pd.DataFrame(rows, columns=COMPARISON_COLUMNS)


def _ids(wanted: dict[str, Any], verdicts: pd.DataFrame) -> list[str]:
    if "part" in wanted:
        return list(verdicts.loc[verdicts["part"] == wanted["part"], "id"])
    return list(wanted.get("claims", []))


def comparison_table(rows: pd.DataFrame) -> str:
    """A LaTeX tabular: approaches by properties; below Causal DQ, what was measured."""
    properties = list(rows["property"].unique())
    lines = [line(["Approach", *map(latex, properties)]), RULE]
    for approach, part in rows.groupby("approach", sort=False):
        by_name = part.set_index("property").loc[properties]
        ticks = [r"$\checkmark$" if ticked else r"$\times$" for ticked in by_name["ticked"]]
        lines.append(line([latex(str(approach)), *ticks]))
        measured = by_name["measured"].fillna("").tolist()
        if any(measured):
            lines += [line([r"\quad\emph{measured}", *map(latex, measured)]), RULE]
    columns = "l" + r">{\centering\arraybackslash}p{24mm}" * len(properties)
    return tabular(columns, lines, is_small=True)
