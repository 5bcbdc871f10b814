"""What a fit tells of itself: the run length asked for and reached, and what is wrong first."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from causaldq.calibration import RunLength
from causaldq.fitting import falls_short
from causaldq.limits import Limit


def not_kept(limit: Limit, facts: Mapping[str, Any]) -> bool:
    """Whether false alarms come more than twice as often as asked for, on any rows it was tried."""
    checks = [limit]
    if "held_out" in facts:
        checks.append(replace(limit, reached=RunLength(*facts["held_out"]["reached"])))
    return any(falls_short(check) for check in checks)


def in_words(about: str, limit: Limit, facts: Mapping[str, Any]) -> list[str]:
    """Lines for people, the first of them `about` the monitor unless the promise is not kept."""
    left_out = _run_length(limit.reached, "rows left out of the fit")
    lines = [
        about + (f", fitted on {facts['rows']} rows" if "rows" in facts else ""),
        f"steps to a false alarm: {limit.asked:.10g} asked, {left_out}",
    ]
    if held_out := facts.get("held_out"):
        several = held_out["recordings"] > 1
        where = f"{held_out['rows']} rows held out"
        where += f", of {held_out['recordings']} recordings" if several else ""
        lines.append(f"held out: {_run_length(RunLength(*held_out['reached']), where)}")
    if "covariance" in facts:
        shrunk, memory = facts["shrinkage"], facts["memory"]
        lines.append(
            f"covariance: {facts['covariance'].replace('_', ' ')}"
            + (f", {facts['factors']} in common" if "factors" in facts else "")
            + (f", shrunk by {shrunk:.0%}" if shrunk else "")
            + (f"; memory of {memory} rows" if memory > 1 else "; rows have no memory")
        )
    lines += [f"{key}: {facts[key]}" for key in ("model", "limit") if key in facts]
    wrong = facts.get("why", [])
    if not_kept(limit, facts):
        first = "DO NOT RELY ON IT: false alarms come more than twice as often as asked for"
        return [first, *wrong, *lines]
    return [*lines, *wrong]


def _run_length(reached: RunLength, where: str) -> str:
    value = "no false alarm at all" if reached.value is None else f"{reached.value:.0f} reached"
    high = "no upper limit" if reached.high is None else f"{reached.high:.0f}"
    return f"{value} on {where} (95% interval {reached.low:.0f} to {high})"
