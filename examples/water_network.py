"""A water network as streams: hourly pressures at all junctions, with and without a leak.

EPANET, which `epyt` brings together with the networks, does the hydraulics. Demands follow a
typical day and vary at random: the whole town by an autoregressive factor, every junction by
itself. Needs ``pip install '.[water]'``.
"""

import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import ClassVar

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from causaldq.errors import ConfigError, DataError

TOWN, MEMORY = 0.05, 0.8
"""Standard deviation of the whole town's demand factor, and its correlation hour to hour."""
HOUSE = 0.2
"""Standard deviation of each junction's own demand factor, anew every hour."""
LOGGER = 0.05
"""Standard deviation of a reading's error, in metres of water."""

DAY, HOUR = 24, 3600
# Codes of EPANET's toolkit: what to count, what a node and a link have, options, times.
NODES, TANKS, LINKS, PATTERNS = 0, 1, 2, 3
PRESSURE, LENGTH = 11, 1
ACCURACY, DEMAND_MULTIPLIER = 1, 4
DURATION, HYDRAULIC_STEP, PATTERN_STEP, PATTERN_START, REPORT_STEP, REPORT_START = 0, 1, 3, 4, 5, 6
FIRST_ERROR = 100
"""EPANET's codes below this one are warnings."""


class Network:
    """A network that epyt ships, by the name of its file.

    EPANET holds one at a time: the next that is made takes the place of this one.

    Attributes
    ----------
    p : int
        Junctions.
    names : list of str
        Theirs; all arrays are in this order.
    places : array, shape (nodes, 2)
        Where they are on the map; reservoirs and tanks come last.
    pipes, lengths : arrays, shapes (links, 2) and (links,)
        The nodes that each link joins, and its length in metres.
    typical : array, shape (24, p)
        Demand by hour of the day: the mean over the days that the file has.
    """

    held: ClassVar["Network | None"] = None

    def __init__(self, file: str = "L-TOWN.inp") -> None:
        api = self.api = toolkit()
        found = sorted(Path(str(resources.files("epyt"))).rglob(file))
        if not found:
            raise DataError(f"epyt ships no network {file!r}; L-TOWN.inp is one")
        self.folder = tempfile.TemporaryDirectory()  # for EPANET's reports
        api.ENopen(str(found[0]), f"{self.folder.name}/report.txt", f"{self.folder.name}/out.bin")
        Network.held = self
        self._check()
        nodes = api.ENgetcount(NODES)
        self.p = nodes - api.ENgetcount(TANKS)  # junctions come first
        self.names = [api.ENgetnodeid(k + 1) for k in range(self.p)]
        self.places = np.array([api.ENgetcoord(k + 1) for k in range(nodes)])
        links = range(1, api.ENgetcount(LINKS) + 1)
        self.pipes = np.array([api.ENgetlinknodes(k) for k in links]) - 1
        self.lengths = np.array([api.ENgetlinkvalue(k, LENGTH) for k in links])
        self.typical = self._typical_day()
        self._give_patterns()

    # --- hydraulics ----------------------------------------------------------------------------

    def demands(self, hours: int, rng: np.random.Generator) -> np.ndarray:
        """Random demands (hours, p), from midnight on."""
        town = TOWN * rng.standard_normal(hours)
        for hour in range(1, hours):
            town[hour] = MEMORY * town[hour - 1] + np.sqrt(1 - MEMORY**2) * town[hour]
        own = 1 + HOUSE * rng.standard_normal((hours, self.p))
        return np.resize(self.typical, own.shape) * (1 + town[:, None]) * np.maximum(own, 0.0)

    def pressures(self, demands: np.ndarray) -> np.ndarray:
        """Pressures (hours, p) under demands (hours, p), from midnight on."""
        api, rows = self.api, np.empty(demands.shape)
        self._set(range(self.p), demands)
        api.ENsettimeparam(DURATION, (len(rows) - 1) * HOUR)
        api.ENopenH()
        api.ENinitH(0)
        more = 1
        while more:
            now = self._solve()
            if now % HOUR == 0:  # and not a moment at which a pump starts or stops
                rows[now // HOUR] = self._now()
            more = api.ENnextH()
        api.ENcloseH()
        return rows

    def readings(self, hours: int, rng: np.random.Generator, leak=None) -> np.ndarray:
        """What loggers at all junctions would show (hours, p), from midnight on.

        A leak is (junction, flow, first hour): more demand at one place, from one hour on. The day
        before is simulated too, so that tanks and pumps have left the file's first state.
        """
        demands = self.demands(DAY + hours, rng)
        if leak is not None:
            junction, flow, start = leak
            demands[DAY + start :, junction] += flow
        rows = self.pressures(demands)[DAY:]
        return rows + LOGGER * rng.standard_normal(rows.shape)

    def signatures(self, flow: float) -> np.ndarray:
        """How a leak at each junction moves the pressures at all, per unit of flow; (p, p).

        At the mean demand and the first level of tanks: one solution for each junction.
        """
        api, mean = self.api, self.typical.mean(axis=0)
        self._set(range(len(mean)), mean[None])
        api.ENopenH()
        moved = np.empty((len(mean) + 1, len(mean)))
        for junction in range(-1, len(mean)):  # first none
            if junction >= 0:
                self._set([junction], mean[None] + flow)
            api.ENinitH(0)
            self._solve()
            moved[junction + 1] = self._now()
            if junction >= 0:
                self._set([junction], mean[None])
        api.ENcloseH()
        return (moved[1:] - moved[0]) / flow

    # --- on the map ----------------------------------------------------------------------------

    def distances(self, junction: int) -> np.ndarray:
        """Metres along pipes from one junction to all, (p,)."""
        shape = (len(self.places), len(self.places))
        # Pumps and valves have no length, and an entry of zero would be no link.
        graph = coo_array((np.maximum(self.lengths, 0.1), tuple(self.pipes.T)), shape)
        return dijkstra(graph.tocsr(), directed=False, indices=junction)[: self.p]

    # --- EPANET --------------------------------------------------------------------------------

    def _typical_day(self) -> np.ndarray:
        """(24, p), from the file's base demands and patterns."""
        api, step = self.api, self.api.ENgettimeparam(PATTERN_STEP)
        days = {0: np.ones(DAY)}
        typical = np.zeros((DAY, self.p))
        for k in range(self.p):
            node = k + 1
            for category in range(1, api.ENgetnumdemands(node) + 1):
                which = api.ENgetdemandpattern(node, category)
                if which not in days:
                    length = api.ENgetpatternlen(which)
                    values = [api.ENgetpatternvalue(which, i) for i in range(1, length + 1)]
                    days[which] = by_hour(np.array(values), step)
                typical[:, k] += api.ENgetbasedemand(node, category) * days[which]
        return typical

    def _give_patterns(self) -> None:
        """One demand a junction with a pattern of its own, so that any demands can be set."""
        api = self.api
        self.first = api.ENgetcount(PATTERNS) + 1
        for k in range(self.p):
            node = k + 1
            api.ENaddpattern(f"own-{k}")
            for category in range(1, api.ENgetnumdemands(node) + 1):
                api.ENsetbasedemand(node, category, float(category == 1))
            api.ENsetdemandpattern(node, 1, self.first + k)
        for time in (HYDRAULIC_STEP, PATTERN_STEP, REPORT_STEP):
            api.ENsettimeparam(time, HOUR)
        for time in (PATTERN_START, REPORT_START):
            api.ENsettimeparam(time, 0)
        api.ENsetoption(DEMAND_MULTIPLIER, 1.0)
        api.ENsetoption(ACCURACY, 1e-4)

    def _set(self, junctions, demands: np.ndarray) -> None:
        self._check()
        for k in junctions:
            self.api.ENsetpattern(self.first + k, demands[:, k].tolist(), len(demands))

    def _solve(self) -> int:
        now = self.api.ENrunH()
        self._check()
        return now

    def _now(self) -> np.ndarray:
        return np.array(self.api.ENgetnodevalues(PRESSURE)[: self.p])

    def _check(self) -> None:
        if Network.held is not self:
            raise DataError("EPANET holds another network by now; make this one again")
        if self.api.errcode >= FIRST_ERROR:
            raise DataError(f"EPANET stopped with its error {self.api.errcode}")


@dataclass(frozen=True)
class Normal:
    """Pressures of normal operation at each hour of the day."""

    mean: np.ndarray
    """(24, p)"""
    sd: np.ndarray
    """(24, p)"""

    @classmethod
    def of(cls, rows: np.ndarray) -> "Normal":
        """From whole days (24 days, p), from midnight on."""
        days = rows.reshape(-1, DAY, rows.shape[1])
        return cls(days.mean(axis=0), days.std(axis=0, ddof=1))

    def scaled(self, rows: np.ndarray) -> np.ndarray:
        """Rows (hours, p), from midnight on, in deviations from what is normal at that hour."""
        return (rows - np.resize(self.mean, rows.shape)) / np.resize(self.sd, rows.shape)


def toolkit():
    """EPANET's functions."""
    try:
        from epyt.src.epanetapi import epanetapi
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"water networks need {error.name}, which is not installed: pip install '.[water]'"
        ) from None
    return epanetapi()


def by_hour(pattern: np.ndarray, step: int) -> np.ndarray:
    """Means (24,) of a pattern with values `step` seconds apart, by hour of the day."""
    seconds = np.arange(0, max(len(pattern) * step, DAY * HOUR), min(step, HOUR))
    hour = seconds // HOUR % DAY
    values = pattern[seconds // step % len(pattern)]
    return np.bincount(hour, values, DAY) / np.bincount(hour, minlength=DAY)
