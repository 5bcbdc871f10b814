"""
Missing sensors
===============

Sensors fail. A monitor takes what arrives: names may be left out of `Monitor.update`, or be
None or NaN. Here the very sensor that would show the fault is dead, and in another course three
readings in ten are lost.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np

from causaldq import Monitor, example_plant

rows = example_plant()
monitor = Monitor.fit(rows[:700], sensors=3, arl0=500, paths=100)
file = Path(mkdtemp()) / "plant.monitor"
monitor.save(file)


# %%
# Each course begins with the same monitor, from its file.


def course(lost):
    """Statistics from minute 740 to the alarm, if ``lost(stream)`` says which readings fail."""
    watching = Monitor.load(file)
    found = []
    for minute, row in rows[740:].iterrows():
        values = {name: row[name] for name in watching.next if not lost(name)}
        found.append(watching.update(values, time=minute))
        if found[-1].alarm:
            break
    return found


rng = np.random.default_rng(0)
courses = {
    "all sensors work": course(lambda _: False),
    "3 in 10 readings lost": course(lambda _: rng.random() < 0.3),
    "reactor_temperature dead": course(lambda stream: stream == "reactor_temperature"),
}

figure, axes = plt.subplots()
for name, readings in courses.items():
    last = readings[-1]
    lost = np.mean([len(reading.missing) / 3 for reading in readings])
    suspect = next(iter(last.contributions))
    alarm = f"alarm at minute {last.time}, first {suspect}" if last.alarm else "no alarm"
    print(f"{name}: {lost:.0%} of readings missing, {alarm}")
    (line,) = axes.plot([r.time for r in readings], [r.statistic for r in readings], label=name)
    if last.alarm:
        axes.plot(last.time, last.statistic, "o", color=line.get_color())
axes.axhline(monitor.limit.value, color="black", linestyle="--", linewidth=1)
axes.axvline(800, color="grey", linewidth=1)
axes.set(
    xlabel="minute (the fault sets in at 800)",
    ylabel="statistic",
    title="Statistic in three courses; circles are alarms",
)
figure.legend(loc="outside lower center", ncols=3)
plt.show()

# %%
# With its sensor dead, the reactor's temperature shows in what it acts on: pressure and purity.
# `Reading.missing` lists what was asked for and did not come.
