"""Captions of the figures of one problem: streams, graph, training, delays, and a closer look."""

import pandas as pd

from causaldq.methods.registry import is_bound
from causaldq.pipeline.evaluation.edges import UNJUDGED
from causaldq.pipeline.report.palette import LIMIT, ORACLE

MOST_DRAWN = 15
"""Streams up to which a graph is drawn with arrows; beyond, as a matrix."""
WATCH = (
    "Where each method points its sensors in one replication of scenario {scenario}, fair protocol."
    " Each panel is a method, and each mark is a reading of one stream at one step, red if the"
    " stream is among those that shift. The vertical line is the change, and the triangle is the"
    " alarm: the title of a panel says how many steps lie between them."
)
TRADEOFF = (
    "Delay against the number of steps to a false alarm that limits are set for, in scenario"
    " {scenario}, fair protocol. Each line is a method and its band a 95\\% interval. False alarms"
    " are rarer further to the right, and alarms after the change are earlier further down. Limits"
    " are set on paths of {steps:g} steps; for longer runs they rest on the rate of alarms up to"
    " there."
)
PLACES = (
    "Delay of the same networks with the shift in the places that they were trained on, and with"
    " the shift anywhere, in scenario {scenario}. Each panel is a method; the legend says where its"
    " networks were trained, and where the shift was in the test. Lines are means over training"
    " seeds, and dots are single seeds. All limits are set for the same number of steps to a false"
    " alarm, so that only the places differ."
)


def delays(rows: pd.DataFrame, size: str, scenario: str) -> str:
    """Of delays against shifts, or of methods at the only shift there is."""
    methods = set(rows["method"])
    if rows["delta"].nunique() <= 1:
        bounds = " Black marks are bounds, which know where the shift is or read every stream."
        return (
            f"Average detection delay of every method, in steps, with {size} (scenario {scenario})."
            " Dots are means and lines are their 95\\% intervals: the further to the left, the"
            " earlier the alarm. A grey tick is the number that the paper printed, where it has"
            f" one.{bounds if any(map(is_bound, methods)) else ''}"
        )
    said = [
        f"Average detection delay against the size of the shift, with {size} (scenario"
        f" {scenario}). Each line is a method and its band a 95\\% interval: the lower the line,"
        " the earlier the alarm."
    ]
    if rows["sigma"].nunique() > 1:
        said.append(f"The noise on the shift is the smallest measured, $\\sigma={_least(rows)}$.")
    if ORACLE in methods:
        said.append("The dashed line is the oracle set, whose sensors sit on the shifted streams.")
    if LIMIT in methods:
        said.append(
            "In the grey area a method would be earlier than a CUSUM chart that reads every stream"
            " and is told which of them shift, and how far."
        )
    said.append("Methods that the figure has no room for are in the tables.")
    return " ".join(said)


def _least(rows: pd.DataFrame) -> str:
    return f"{rows['sigma'].min():g}"


def training(size: str, scenario: str) -> str:
    return (
        f"Training of the learned methods with {size} (scenario {scenario}), a column for each"
        " protocol. Above is the paper's reward per episode, counted alike for all agents, whatever"
        " they are themselves rewarded for. Below are the hits of the frozen network: of the"
        " shifted streams that its sensors could cover, the share that they do. Thick lines are"
        " means over training seeds, with a 95\\% band above, and thin lines are single seeds. A"
        " dot marks the epoch at which the mean reward reaches 95\\% of its final value."
    )


def streams(source: str, size: str, scenario: str) -> str:
    return (
        f"Some streams of {source} in the first replication of a problem with {size} (scenario"
        f" {scenario}), a column for each protocol. Some of them shift and some do not. The scale"
        " is in standard deviations of readings in control, and the dotted line marks the change."
        " Readings of a shifted stream are red from there on, and the black line is the stream's"
        " mean."
    )


def graph(source: str, rows: pd.DataFrame, p: int | None) -> str:
    """Of a source's edges; p, if the settings know it, stands where there are none."""
    known = p if rows.empty else int(rows["p"].iloc[0])
    of = source if known is None else f"the $p={known}$ streams of {source}"
    said = [f"Causal graph of {of}, estimated from readings in control."]
    if rows.empty:
        said.append("No edge was found.")
    elif rows["kind"].isin(UNJUDGED).all():
        said.append("The true graph is not known, so that nothing can be said of its quality.")
    else:
        said.append(
            "An edge is right if it was found as it is. Its direction is open if it was found"
            " without one, which counts as right. It is reversed if it was found the wrong way"
            " round, extra if there is none in the true graph, and missed if there is one that was"
            " not found. All but extra edges point the true way."
        )
    if known is not None and known > MOST_DRAWN and not rows.empty:
        said.append("A mark is an edge from the stream of its row to the stream of its column.")
    return " ".join(said)
