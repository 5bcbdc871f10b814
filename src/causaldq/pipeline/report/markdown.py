"""Tables as Markdown: on the terminal, in the README and on pages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from causaldq.errors import DataError
from causaldq.files import read_csv, read_json
from causaldq.pipeline.measure import HEADER, Measurement
from causaldq.pipeline.propagation.summary import (
    AGENTS,
    BEST,
    CONTROLS,
    ESTIMATED,
    FILTER,
    KNOWN,
    NO_GRAPH,
)
from causaldq.pipeline.report.claims import (
    claims_markdown,
    claims_summary,
    verdict_words,
)
from causaldq.pipeline.report.codes import card, delay_code, run_length_code
from causaldq.pipeline.report.headline import first_case
from causaldq.pipeline.report.labels import label
from causaldq.pipeline.report.tables import THE_PAPERS

AGNOSTIC = ("causal_dq", "bayes_posterior", "causal_dq_eq", "non_causal_eq")
"""Methods compared with the best baseline: the paper's, and ours that are location-agnostic."""
SHOWN_AGNOSTIC = ("p10", "p50", "p100", "extreme_p50", "extreme_p100", "unseen_p30", "unseen_p200")


def headline(table: pd.DataFrame, cards: str | None = None) -> str:
    """A Markdown table: measured delay beside the published one, first case of each scenario.

    Each measured number leads to its card if `cards`, the page that has them, is given.
    """
    lines = []
    for scenario, rows in table.groupby("scenario", sort=False):
        # A scenario's cells can belong to several of the paper's tables.
        for column in ("table", "setting", "sigma"):
            rows = rows[rows[column] == rows[column].iloc[0]]
        first = rows.iloc[0]
        deltas = sorted(rows["delta"].unique())
        lines += [
            f"{scenario}: p = {first['p']}, m = {first['m']}, k = {first['k']},"
            f" {label(first['setting'])}. Delay (published):",
            "",
            "| protocol | method | " + " | ".join(f"δ = {d:g}" for d in deltas) + " | ARL0 |",
            "|---|---|" + "---:|" * (len(deltas) + 1),
        ]
        for (protocol, method), part in rows.groupby(["protocol", "method"], sort=False):
            by_delta = {row["delta"]: row for _, row in part.iterrows()}
            cells = [_cell(by_delta[delta], cards) for delta in deltas]
            arl0 = part["arl0"].iloc[0]
            length = f"{arl0:.0f}" if arl0 != float("inf") else "∞"
            length = _linked(length, run_length_code(part.iloc[0]), cards)
            lines.append(f"| {protocol} | {label(str(method))} | {' | '.join(cells)} | {length} |")
        lines.append("")
    return "\n".join(lines)


def causes(rows: pd.DataFrame, ratios: pd.DataFrame, delta: float) -> str:
    """A Markdown table: what the graph is worth where one cause shifts, and who names it."""
    correlation = next(control for control in CONTROLS if "correlation" in control[0])
    found = ratios[
        (ratios["roots"] == 1) & (ratios["delta"] == delta) & (ratios["against"] == BEST)
    ]
    by_method = {(row["problem"], row["method"], row["told"]): row for _, row in found.iterrows()}
    one = rows[(rows["roots"] == 1) & (rows["delta"] == delta)]
    named = one.groupby(["problem", "method", "told"])["top_1"].mean()

    def ratio(problem: str, method: tuple[str, str]) -> str:
        row = by_method[(problem, *method)]
        return f"{row['ratio']:.2f} ({row['low']:.2f}, {row['high']:.2f})"

    lines = [
        "| streams, sensors, edges per stream | true graph | named | graph from rows | named"
        " | no graph | correlation only | filter | Causal DQ |",
        "|---|" + "---:|" * 8,
    ]
    problems = found.drop_duplicates("problem").sort_values(
        ["expected_degree", "p"], ascending=[False, True]
    )
    for _, cell in problems.iterrows():
        name = cell["problem"]
        texts = [f"{cell['p']}, {cell['m']}, {cell['expected_degree']:g}"]
        for method in (KNOWN, ESTIMATED):
            texts += [ratio(name, method), f"{named[(name, *method)]:.0%}"]
        texts += [ratio(name, one) for one in (NO_GRAPH, correlation, FILTER, AGENTS[0])]
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join([*lines, ""])


def location_agnostic(rows: pd.DataFrame) -> str:
    """A Markdown table: location-agnostic methods against the best baseline."""
    methods = [m for m in AGNOSTIC if m in set(rows["method"])]
    lines = [
        "| streams, sensors, shifted | best baseline | " + " | ".join(map(label, methods)) + " |",
        "|---|---|" + "---:|" * len(methods),
    ]
    by_cell = {(row["scenario"], row["method"]): row for _, row in rows.iterrows()}
    for _, cell in rows.drop_duplicates("scenario").iterrows():
        if cell["scenario"] not in SHOWN_AGNOSTIC:
            continue
        unseen = "" if cell["seen"] else ", *not trained on*"
        best = by_cell[cell["scenario"], cell["against"]]
        texts = [f"{cell['p']}, {cell['m']}, {cell['k']}{unseen}"]
        texts.append(f"{label(cell['against'])}: {best['geometric_mean']:.1f} steps")
        for method in methods:
            row = by_cell.get((cell["scenario"], method))
            texts.append(
                "" if row is None else f"{row['ratio']:.2f} ({row['low']:.2f}, {row['high']:.2f})"
            )
        lines.append(f"| {' | '.join(texts)} |")
    return "\n".join([*lines, ""])


def speed(measured: dict[str, list[dict[str, Any]]]) -> str:
    """The table that `make bench` prints, and where the time of whole runs goes."""
    found = [Measurement.from_record(record) for part in measured.values() for record in part]
    lines = [HEADER, *(measurement.row() for measurement in found), ""]
    listed = [m for m in found if "by_rule" in m.detail]
    profiles = {m.what.partition(",")[0]: m.detail["by_rule"] for m in listed}
    if profiles:
        lines += ["Where the time goes, in seconds of CPU:", "", *_by_rule(profiles), ""]
    return "\n".join(lines)


def _by_rule(profiles: dict[str, dict[str, float]], least: float = 0.01) -> list[str]:
    """Rules by profiles; those that take little anywhere together in the last line."""
    total = {profile: sum(taken.values()) for profile, taken in profiles.items()}
    rules = {rule: None for taken in profiles.values() for rule in taken}
    share = {
        rule: max(taken.get(rule, 0.0) / total[profile] for profile, taken in profiles.items())
        for rule in rules
    }
    shown = [rule for rule in sorted(rules, key=lambda r: -share[r]) if share[rule] >= least]
    rest = {p: total[p] - sum(taken.get(r, 0.0) for r in shown) for p, taken in profiles.items()}

    def line(rule: str, seconds: dict[str, float]) -> str:
        cells = [f"{seconds[p]:,.0f} ({seconds[p] / total[p]:.0%})" for p in profiles]
        return f"| {' | '.join([rule, *cells])} |"

    return [
        f"| rule | {' | '.join(profiles)} |",
        "|---|" + "---:|" * len(profiles),
        *(line(rule, {p: taken.get(rule, 0.0) for p, taken in profiles.items()}) for rule in shown),
        line(f"{len(rules) - len(shown)} others", rest),
        line("all", total),
    ]


def filled(page: str, name: str, text: Callable[[], str]) -> str:
    """A page with a text between the markers of a name, if it has them."""
    start, end = f"<!-- {name}: generated by `make readme` -->\n", f"<!-- end of {name} -->"
    before, found, rest = page.partition(start)
    if not found:
        return page
    _, closed, after = rest.partition(end)
    if not closed:
        raise DataError(f"the place for {name} does not end; put {end} after it")
    return f"{before}{start}{text()}\n{end}{after}"


FINDINGS = {
    "shortest_of_five": "p50",
    "shortest_everywhere": None,
    "shortest_tep": "tep_m10",
    "shortest_sfd": "flares_m6",
    "no_alarm": None,
    "alarm_level": None,
    "pace_large": None,
    "state_helps": None,
    "beyond_correlations": None,
    "graph_no_edges": None,
}
"""Claims that the README shows, some with the scenario of an example."""


def findings_table(claims: pd.DataFrame, add: pd.DataFrame) -> str:
    """Claims with measured numbers beside published ones, and verdicts."""
    lines = ["| claim | for example, measured (published) | verdict |", "|---|---|---|"]
    by_id = {row["id"]: row for _, row in claims.iterrows()}
    for name, example in FINDINGS.items():
        told = "" if example is None else _example(add, example)
        claim = by_id[name]
        lines.append(f"| {claim['claim']} | {told} | **{verdict_words(claim)}** |")
    return "\n".join([*lines, ""])


def _example(add: pd.DataFrame, scenario: str) -> str:
    """Causal DQ and the earliest other method that the paper compares, all calibrated alike."""
    rows = first_case(add[add["scenario"] == scenario])
    rows = rows[rows["method"].isin(THE_PAPERS) & (rows["protocol"] == "fair")]
    delta = 1.0 if (rows["delta"] == 1).any() else rows["delta"].median()
    cells = {row["method"]: row for _, row in rows[rows["delta"] == delta].iterrows()}
    causal = cells.pop("causal_dq")
    other = min(cells.values(), key=lambda row: row["add"])
    said = [
        f"{label(row['method'])} {_cell(row.drop('among_best'), None)}" for row in (causal, other)
    ]
    made = "surrogate data, " if "surrogate" in str(causal["source"]) else ""
    return f"{made}{causal['m']} of {causal['p']} streams read: {', '.join(said)}"


def readme_tables(page: str, results: Path, scenario: str) -> str:
    """A page with the tables that a folder of results gives, between their markers.

    Raises
    ------
    DataError
        If a table of the results is missing or damaged, or the scenario is not among them.
    """

    def read(name: str, *needed: str) -> pd.DataFrame:
        return read_csv(results / f"{name}.csv", *needed)

    def claims() -> str:
        found = read("claims", "headline")
        shown = claims_markdown(found[found["headline"] == 1])
        return f"{claims_summary(found)[0]}\n\n{shown}"

    def delays() -> str:
        table = read("add", "scenario")
        known = table["scenario"].unique()
        if scenario not in known:
            listed = ", ".join(known)
            raise DataError(f"{results} has no scenario {scenario!r}; give one of {listed}")
        return headline(table[table["scenario"] == scenario])

    def findings() -> str:
        found = read("claims", "headline")
        return findings_table(found, read("add", "scenario"))

    texts: dict[str, Callable[[], str]] = {
        "headline": delays,
        "findings": findings,
        "claims": claims,
        "causes": lambda: causes(read("propagation"), read("propagation_compared"), 1.0),
        "location-agnostic": lambda: location_agnostic(read("overall")),
    }
    measured = results.parent / "bench.json"
    if measured.exists():
        texts["speed"] = lambda: speed(read_json(measured))
    for name, text in texts.items():
        page = filled(page, name, text)
    return page


def as_markdown(rows: pd.DataFrame) -> str:
    """A table as it is."""
    lines = [list(rows.columns), ["---"] * len(rows.columns), *rows.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _cell(row: pd.Series, cards: str | None) -> str:
    if pd.isna(row["add"]):
        return "–"
    text = f"{row['add']:.1f}"
    if row.get("among_best"):
        text = f"**{text}**"
    text = _linked(text, delay_code(row), cards)
    return text if pd.isna(row["published_add"]) else f"{text} ({row['published_add']:.1f})"


def _linked(text: str, code: str, cards: str | None) -> str:
    return text if cards is None else f"[{text}]({card(code, cards)})"
