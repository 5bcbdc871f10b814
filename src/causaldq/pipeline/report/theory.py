"""The verdicts on the paper's theorems, for people."""

from itertools import groupby
from typing import Any

import pandas as pd

from causaldq.pipeline.report.latex import RULE, bold, line, tabular

CAPTION = (
    "Which statements of the paper's section 5 hold, each tried on random decision problems and,"
    " where that makes sense, on miniatures of the sensor problem. Readings are as printed, as in"
    " the proof, as used by text or algorithm, and corrected by us. The shares are of problems that"
    " satisfy a statement. The slack is the smallest right side minus left side: below zero, it"
    " is a counterexample. ``Vacuous'' bounds hold and say nothing. $C$ is the causal mask,"
    " $n=\\sum C$, $h(n)$ the largest causal entropy, $Q^*$ the optimum with the entropy in"
    " question and $Q_0$ the optimum without."
)
FIGURE_CAPTION = (
    "Errors measured on a miniature of the sensor problem, beside the bounds on them. On the left"
    " is exact value iteration, with its distance to the optimum without entropy. Where a measured"
    " line lies above its dashed one, the printed bound of Corollary 1 does not hold. On the right"
    " is sampled Q-learning, with the distance to each learner's own optimum. The dotted line"
    " bounds that error without any theorem, so that a bound of Theorem 2 above it says nothing."
    " Causal entropy is that of the masked actions; the non-causal agent of the paper's experiments"
    " has no entropy."
)
PARTS = ("theory_values", "theory_errors")
AGENTS = {"causal": "causal entropy", "soft": "entropy of all actions", "plain": "no entropy"}


def theory_table(checks: list[dict[str, Any]]) -> str:
    """A LaTeX tabular: one line a statement and reading, in the order given."""
    lines = [
        r"Place & Statement & Reading & \multicolumn{2}{c}{Share} & Slack & Verdict \\",
        r" & & & random & sensors & & \\",
    ]
    for place, group in groupby(checks, key=lambda check: check["place"]):
        lines.append(RULE)
        for i, check in enumerate(group):
            cells = [
                place if i == 0 else "",
                r"\raggedright " + check["statement"],
                check["reading"],
                _percent(check["satisfied_share"]),
                _percent(check["sensor_share"]),
                _slack(check["smallest_slack"]),
                _verdict(check),
            ]
            lines.append(line(cells))
    return tabular("lp{92mm}lrrrl", lines, is_small=True)


def parts(checks: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Two tables of a page each: what is said of values, and what of errors and time."""
    first = next(i for i, check in enumerate(checks) if check["place"] == "Corollary 1")
    return dict(zip(PARTS, (checks[:first], checks[first:]), strict=True))


def counterexamples(checks: list[dict[str, Any]]) -> str:
    """A LaTeX list of the smallest counterexamples found."""
    items = [
        rf"\item[--] {check['place']}, {check['reading']} ({check['statement']}):"
        f" {check['counterexample']}"
        for check in checks
        if check["counterexample"]
    ]
    return "\n".join([r"\begin{itemize}", *items, r"\end{itemize}", ""]) if items else ""


def verdict_counts(checks: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Number of verdicts of each kind, by reading."""
    found: dict[str, dict[str, int]] = {}
    for check in checks:
        row = found.setdefault(check["reading"], {})
        row[verdict_words(check)] = row.get(verdict_words(check), 0) + 1
    return found


def verdict_words(check: dict[str, Any]) -> str:
    return f"{check['verdict']}{', vacuous' if check['vacuous'] else ''}"


def _verdict(check: dict[str, Any]) -> str:
    words = verdict_words(check)
    return bold(words, when=check["verdict"] == "does not hold")


def _percent(share: float | None) -> str:
    if share is None:
        return "--"
    percent = 100 * share
    # never round a failure away, nor up to one
    text = f"{percent:.1f}" if 0 < percent < 1 or 99 < percent < 100 else f"{percent:.0f}"
    return rf"{text}\%"


def _slack(slack: float) -> str:
    if slack == 0:
        return "0"
    mantissa, _, exponent = f"{slack:.2g}".partition("e")
    return f"${mantissa}$" if not exponent else rf"${mantissa}\cdot10^{{{int(exponent)}}}$"


def theory_figure(curves: pd.DataFrame) -> Any:
    """Errors (solid), printed bounds (dashed) and corrected ones (dash-dotted), two panels."""
    import matplotlib.pyplot as plt

    from causaldq.pipeline.report.palette import COLOURS

    titles = {
        "iteration": "exact iteration, to the optimum\nwithout entropy (Corollary 1)",
        "learning": "sampled learning, to its own\noptimum (Theorem 2)",
    }
    figure, axes = plt.subplots(1, 2, figsize=(8.8, 3.6))
    for axis, (panel, title) in zip(axes, titles.items(), strict=True):
        rows = curves[(curves["panel"] == panel) & (curves["step"] > 0)]
        for colour, agent in zip(COLOURS, AGENTS, strict=False):
            line = rows[rows["agent"] == agent]
            look = {"color": colour, "linewidth": 1.1}
            axis.plot(line["step"], line["error"], **(look | {"linewidth": 2.0}))
            axis.plot(line["step"], line["bound_printed"], linestyle="--", **look)
            axis.plot(line["step"], line["bound_corrected"], linestyle="-.", **look)
            if panel == "learning":
                axis.plot(line["step"], line["trivial"], linestyle=":", **look)
                axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("iterations" if panel == "iteration" else "updates")
    axes[0].set_ylabel(r"largest error $\|Q_t-Q\|_\infty$")
    handles = [
        plt.Line2D([], [], color=colour, linewidth=2.0)
        for colour, _ in zip(COLOURS, AGENTS, strict=False)
    ]
    names = list(AGENTS.values())
    for style, name in (("-", "measured"), ("--", "bound, printed"), ("-.", "bound, corrected")):
        handles.append(plt.Line2D([], [], color="grey", linestyle=style))
        names.append(name)
    handles.append(plt.Line2D([], [], color="grey", linestyle=":"))
    names.append("twice the largest value")
    figure.legend(handles, names, loc="outside right center", fontsize=8)
    return figure
