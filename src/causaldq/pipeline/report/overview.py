"""The picture that explains the problem: one monitoring run, drawn."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from causaldq.calibration import limit_for
from causaldq.methods.base import Problem
from causaldq.methods.greedy import Greedy
from causaldq.pipeline.config import Config
from causaldq.pipeline.report.figures import save
from causaldq.pipeline.report.palette import ALARM, BLUE
from causaldq.run import statistics, step
from causaldq.seeds import generator
from causaldq.worlds.simulation import SimulationSource, simulate


def draw_overview(
    config: Config, source: str, m: int, shifted: list[int], delta: float, output: Path
) -> None:
    """Which streams were read, what they showed, and when the alarm was raised."""
    rng = generator(config.seed, source, "overview")
    wanted = config.sources[source]
    if not isinstance(wanted, SimulationSource):
        raise TypeError(f"{source} is not simulated")
    model = simulate(wanted, rng)
    method = Greedy(Problem(model.covariance, m, config.statistic), config.baselines.greedy)
    limit = limit_for(
        statistics(method, model.in_control(200, 800, rng), None, rng), config.calibration.arl0
    )
    change, steps = 40, 70
    values = model.in_control(1, steps, rng)
    values[:, change:, shifted] += delta
    shown = np.full((model.p, steps), np.nan)
    trace = np.zeros(steps)
    state = method.start(1, None, rng)
    for t in range(steps):
        state, read, statistic = step(method, state, values[:, t], rng)
        shown[read[0], t] = values[0, t, read[0]]
        trace[t] = statistic[0]
    over = np.flatnonzero(trace[change:] > limit)
    alarm = change + int(over[0]) if len(over) else None
    if alarm is not None:
        shown[:, alarm + 1 :] = np.nan
        trace[alarm + 1 :] = np.nan

    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(7.5, 4.6), sharex=True, height_ratios=[3, 1.3]
    )
    top.set_facecolor("#eeeeee")
    image = top.imshow(shown, aspect="auto", cmap="RdBu_r", vmin=-3, vmax=3, interpolation="none")
    for stream in shifted:
        top.plot([change - 0.5, steps - 0.5], [stream - 0.5] * 2, color="black", lw=0.8)
        top.plot([change - 0.5, steps - 0.5], [stream + 0.5] * 2, color="black", lw=0.8)
    top.set_ylabel("stream")
    top.set_yticks([])
    title = f"{model.p} streams, {m} sensors. Grey: never seen. Outlined: streams that shift."
    top.set_title(title, fontsize=10)
    figure.colorbar(image, ax=top, label="reading", pad=0.01)
    bottom.plot(trace, color=BLUE)
    bottom.axhline(limit, color="black", linestyle="--", lw=1)
    bottom.text(0.5, limit, "limit", va="bottom")
    for axis in (top, bottom):
        axis.axvline(change - 0.5, color="black", lw=1, linestyle=":")
        if alarm is not None:
            axis.axvline(alarm, color=ALARM, lw=1.5)
    bottom.text(change - 1, trace[:change].min(), "change", ha="right")
    if alarm is not None:
        text = f"alarm, {alarm - change + 1} steps later"
        bottom.text(alarm + 0.7, limit * 0.5, text, color=ALARM)
    bottom.set_xlabel("time step")
    bottom.set_ylabel("statistic")
    save(figure, output)
    plt.close(figure)
