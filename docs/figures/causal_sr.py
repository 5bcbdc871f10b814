"""Signatures of one stream: what moves with it, by what is held fixed."""

import matplotlib.pyplot as plt
import numpy as np

import causaldq
from causaldq.discovery.signatures import signature

streams = causaldq.simulate(12, degree=2.5, seed=3)
root = streams.names.index("x6")
parents = np.flatnonzero(streams.effects[:, root])
others = np.array([i for i in range(streams.p) if i != root])
truth = streams.total_effects()[root]

figure, panels = plt.subplots(1, 3, sharey=True, figsize=(7.4, 3.2))
named = ", ".join(streams.names[i] for i in parents)
for axes, given, title in (
    (panels[0], parents, f"C = parents: {named}"),
    (panels[1], np.array([], dtype=int), "C empty: correlation"),
    (panels[2], others, "C = all others"),
):
    axes.barh(streams.names, signature(streams.covariance, root, given))
    axes.plot(truth, streams.names, "|", color="black", markersize=12, markeredgewidth=2)
    axes.set(title=title, xlim=(-1.1, 1.1))
panels[0].invert_yaxis()
panels[1].set_xlabel("shift of each stream when x6 shifts by 1 (black: true effects)")
