"""Draw the README's picture: one monitoring run, from the streams read to the alarm."""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from causaldq.calibration import limit_for
from causaldq.methods.base import Problem
from causaldq.methods.bayes_posterior import BayesPosterior
from causaldq.pipeline.loading import load_config
from causaldq.pipeline.report.figures import save
from causaldq.pipeline.report.palette import ALARM, BLUE, INK
from causaldq.run import statistics, step
from causaldq.seeds import generator
from causaldq.worlds.simulation import SimulationSource, simulate

P, M, SHIFTED, DELTA = 12, 3, [4, 8], 1.5
CHANGE, STEPS = 30, 44


def draw(output: Path) -> None:
    """Which streams were read, what they showed, and when the alarm was raised."""
    config = load_config(Path("config"), {"sources": {"picture": {"p": P}}})
    wanted = config.sources["picture"]
    assert isinstance(wanted, SimulationSource)
    rng = generator(config.seed, "picture", "overview")
    model = simulate(wanted, rng)
    method = BayesPosterior(Problem(model.covariance, M, config.statistic))
    limit = limit_for(
        statistics(method, model.in_control(200, 800, rng), None, rng), config.calibration.arl0
    )
    values = model.in_control(1, STEPS, rng)
    values[:, CHANGE:, SHIFTED] += DELTA
    shown = np.full((model.p, STEPS), np.nan)
    trace = np.zeros(STEPS)
    state = method.start(1, None, rng)
    for t in range(STEPS):
        state, read, statistic = step(method, state, values[:, t], rng)
        shown[read[0], t] = values[0, t, read[0]]
        trace[t] = statistic[0]
    over = np.flatnonzero(trace[CHANGE:] > limit)
    alarm = CHANGE + int(over[0]) if len(over) else None
    if alarm is not None:
        shown[:, alarm + 1 :] = np.nan
        trace[alarm + 1 :] = np.nan

    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(8.2, 4.4), sharex=True, height_ratios=[2.4, 1.0]
    )
    top.set_facecolor("#ececec")
    top.imshow(shown, aspect="auto", cmap="RdBu_r", vmin=-3, vmax=3, interpolation="none")
    for stream in SHIFTED:
        corner, size = (CHANGE - 0.5, stream - 0.5), (STEPS - CHANGE, 1)
        top.add_patch(Rectangle(corner, *size, fill=False, edgecolor=ALARM, linewidth=2, zorder=3))
    top.set_xticks(np.arange(STEPS) - 0.5, minor=True)
    top.set_yticks(np.arange(model.p) - 0.5, minor=True)
    top.grid(which="minor", color="white", linewidth=0.6)
    top.tick_params(which="both", length=0)
    top.set_yticks([0, model.p - 1], ["stream 1", f"stream {model.p}"])
    top.set_title(
        f"Of {model.p} streams, {M} can be read at a time: coloured what a sensor reads, grey what"
        f" nobody sees.\nFrom step {CHANGE} on, the outlined streams are shifted by {DELTA:g}"
        " standard deviations.",
        fontsize=10,
        loc="left",
    )
    bottom.plot(trace, color=BLUE)
    bottom.axhline(limit, color=INK, linestyle="--", lw=1)
    often = f"limit: one false alarm in {config.calibration.arl0:g} steps"
    bottom.text(0.2, limit, often, va="bottom", fontsize=9)
    for axis in (top, bottom):
        axis.axvline(CHANGE - 0.5, color=INK, lw=1, linestyle=":")
    at_height = {"transform": bottom.get_xaxis_transform(), "va": "center"}
    bottom.text(CHANGE - 0.9, 0.5, "change", ha="right", **at_height)
    if alarm is not None:
        for axis in (top, bottom):
            axis.axvline(alarm + 0.5, color=ALARM, lw=1.5)
        text = f"alarm, {alarm - CHANGE + 1} steps later"
        bottom.text(alarm + 0.9, 0.5, text, color=ALARM, **at_height)
    bottom.set_xlim(-0.5, STEPS - 0.5)
    bottom.set_xlabel("time step")
    bottom.set_ylabel("evidence")
    save(figure, output)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("docs/overview.png"))
    draw(parser.parse_args().output)
