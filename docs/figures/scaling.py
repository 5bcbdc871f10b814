"""Time and memory of a step from ten streams to ten thousand, as `make bench` measured them."""

import json
from pathlib import Path

import matplotlib.pyplot as plt

results = Path.cwd().parents[1] / "results"  # Sphinx runs a script in its own folder
measured = json.loads((results / "bench.json").read_text())["scale"][0]
figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.2))
quantities = (
    ("seconds by p", 1000.0, "CPU time of a step, ms", 20),
    ("MB by p", 1.0, "covariance, state and step, MB", 500),
)
for axes, (quantity, unit, label, most) in zip(panels, quantities, strict=True):
    for form, marker in (("matrix", "s"), ("factors", "o")):
        found = {int(p): unit * value for p, value in measured["detail"][quantity][form].items()}
        axes.plot(list(found), list(found.values()), marker=marker, label=form)
    axes.axhline(most, color="black", linestyle="--", linewidth=1)
    axes.text(10, most * 1.1, f"at most {most} at p = 10,000", fontsize=9)
    axes.set(xscale="log", yscale="log", xlabel="streams, p; m = p/10, at most 100", ylabel=label)
    axes.set_ylim(top=3 * most)
panels[0].legend(loc="lower right")
