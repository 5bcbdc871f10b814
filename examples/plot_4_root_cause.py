"""
Root cause and path
===================

Where a shift propagates downstream, several streams move and one of them began. `causal_sr`
weighs for each stream how well *it shifted, and its effects followed* explains what was read.
At the alarm it names the most likely root cause, and the paths by which it reached the streams
that were read.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import causaldq

streams = causaldq.simulate(12, degree=2.5, rows=600, seed=3)
graph = streams.effects != 0  # entry [i, j]: stream i acts on stream j
rows = pd.DataFrame(streams.rows, columns=streams.names)
monitor = causaldq.Monitor.fit(rows, sensors=4, method="causal_sr", graph=graph)

# %%
# Here the graph is known. Without ``graph=`` the monitor draws several that the rows allow, and
# weighs all of them; a path is only as good as the graph it is read from.
#
# From step 60 on x9 is off by one standard deviation, and its effects follow.

rng = np.random.default_rng(0)
values = pd.DataFrame(streams.in_control(1, 160, rng)[0], columns=streams.names)
values[60:] += causaldq.Shift(1.0, streams=["x9"], propagate=True).means(streams, 1, rng)

for step, row in values.iterrows():
    reading = monitor.update(row[monitor.next], time=step)
    if reading.alarm:
        break

print(f"alarm at step {reading.time}; read: {', '.join(reading.read)}")
for cause in reading.causes[:3]:
    print(f"{cause.probability:4.0%}  {cause.stream}, shifted by {cause.shift:+.1f}")
    for path in cause.paths:
        print("      ", " -> ".join(path))

# %%
# The picture: causes above their effects, the streams read with a thick edge, and in orange the
# first suspect with its paths.

p = streams.p
depth = np.zeros(p, dtype=int)
for _ in range(p):
    for cause, effect in np.argwhere(graph):
        depth[effect] = max(depth[effect], depth[cause] + 1)
place = {}
for level in range(depth.max() + 1):
    members = np.flatnonzero(depth == level)
    for column, stream in enumerate(members):
        place[streams.names[stream]] = (column - (len(members) - 1) / 2, -level)

suspect = reading.causes[0]
on_path = {link for path in suspect.paths for link in pairwise(path)}
figure, axes = plt.subplots(figsize=(7.2, 4.2))
for i, j in np.argwhere(graph):
    link = (streams.names[i], streams.names[j])
    colour, width = ("C1", 2.5) if link in on_path else ("grey", 1.0)
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": width, "shrinkA": 14, "shrinkB": 14}
    axes.annotate("", place[link[1]], place[link[0]], arrowprops=arrow)
for name, (x, y) in place.items():
    face = "C1" if name == suspect.stream else "white"
    edge = 3.0 if name in reading.read else 1.0
    axes.plot(x, y, "o", markersize=26, color=face, markeredgecolor="black", markeredgewidth=edge)
    axes.text(x, y, name, ha="center", va="center", fontsize=9)
axes.margins(0.08, 0.15)
axes.axis("off")
axes.set_title(f"Causal graph with the first suspect, {suspect.stream}, and its paths")
plt.show()
