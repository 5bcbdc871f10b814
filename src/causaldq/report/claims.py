"""The paper's claims, and what our measurements say of each."""

from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from causaldq.errors import DataError


def read_claims(path: Path) -> list[dict[str, Any]]:
    """Claims with an id, their place, what they say, and the checks that judge them."""
    claims: list[dict[str, Any]] = yaml.safe_load(path.read_text())
    for number, claim in enumerate(claims, start=1):
        for key in ("id", "place", "claim", "theory"):
            if key not in claim:
                raise DataError(f"{path}, claim {number}: {key!r} is missing")
    return claims


def judge(claims: list[dict[str, Any]], checks: list[dict[str, Any]]) -> pd.DataFrame:
    """One row a claim: its verdict as the paper states it, and corrected where we could.

    A claim holds if every reading that is the paper's own (printed, in the proof, or used)
    does, and holds in part if some do. What a corrected reading reaches is told beside it.
    """
    by_id = {check["id"]: check for check in checks}
    rows = []
    for claim in claims:
        missing = [name for name in claim["theory"] if name not in by_id]
        if missing:
            raise DataError(f"claim {claim['id']}: there is no check {', '.join(missing)}")
        evidence = [by_id[name] for name in claim["theory"]]
        own = [check for check in evidence if check["reading"] != "corrected"]
        corrected = [check for check in evidence if check["reading"] == "corrected"]
        rows.append(
            {
                "id": claim["id"],
                "place": claim["place"],
                "claim": claim["claim"],
                "verdict": together(own),
                "as_printed": together([c for c in own if c["reading"] == "as printed"]),
                "vacuous": int(any(check["vacuous"] for check in own)),
                "corrected": together(corrected),
                "evidence": ";".join(claim["theory"]),
            }
        )
    return pd.DataFrame(rows)


def together(checks: list[dict[str, Any]]) -> str:
    """One verdict of several; empty if there are none."""
    verdicts = {check["verdict"] for check in checks}
    if len(verdicts) <= 1:
        return next(iter(verdicts), "")
    return "holds in part" if {"holds", "holds in part"} & verdicts else "does not hold"
