"""One plant, row by row: which sensors to read next, the statistic, the alarm, the suspects."""

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from causaldq.calibration import RunLength
from causaldq.callables import callable_method
from causaldq.covariance import CovarianceLike, Structured
from causaldq.errors import CausalDQError, ConfigError, DataError, FallsShort
from causaldq.fitting import CovarianceChoice, LimitChoice, fitted
from causaldq.limits import Limit
from causaldq.memory_limits import reached_on_recordings
from causaldq.methods.base import Method, Problem
from causaldq.methods.registry import AGENTS, NAMES, saved_method
from causaldq.methods.resolve import MethodLike, name_of, resolved
from causaldq.models.graph_covariance import STRUCTURES
from causaldq.models.in_control import ModelChoice
from causaldq.models.rows import fit_scale
from causaldq.normal import (
    choices,
    edges_of,
    graphs_for,
    refuse_dependent,
    table,
    wants_graph,
)
from causaldq.online import SHOWN, Online
from causaldq.promise import in_words, not_kept
from causaldq.sealed import Arrays, content, read_sealed, write_sealed
from causaldq.state_arrays import part
from causaldq.statistic import StatisticSettings

if TYPE_CHECKING:
    import pandas as pd

VERSION = 2
"""Of the file format."""


class Monitor(Online):
    """A calibrated method at work on one plant.

    Made by `Monitor.fit` from rows of normal operation, or by `Monitor.load`. Reads only the
    sensors it asks for.

    Attributes
    ----------
    next : list of str
        Names of the sensors to read at the next step.
    names : tuple of str
        All streams.
    limit : Limit
        The alarm limit, with the run length asked for and reached.

    Examples
    --------
    >>> from causaldq import Monitor, example_plant
    >>> rows = example_plant()
    >>> monitor = Monitor.fit(rows[:700], sensors=3, arl0=100, method="greedy")
    >>> len(monitor.next)
    3
    >>> reading = monitor.update(rows.loc[700, monitor.next], time=700)
    >>> reading.alarm, reading.missing
    (False, [])
    """

    @classmethod
    def fit(
        cls,
        rows: "pd.DataFrame | npt.ArrayLike",
        sensors: int,
        *,
        arl0: float = 200.0,
        method: MethodLike = "bayes_posterior",
        graph: npt.ArrayLike | Sequence[tuple[str, str]] | None = None,
        names: Sequence[str] | None = None,
        model: ModelChoice = "auto",
        covariance: CovarianceChoice = "auto",
        limit: LimitChoice = "auto",
        paths: int | None = None,
        seed: int = 0,
        progress: bool = True,
    ) -> Self:
        """Learn normal operation, and calibrate a method to a rate of false alarms.

        Scale and covariance come from all rows; the alarm limit from rows that the method was not
        fitted on (`causaldq.limits.cross_fitted_limit`), in blocks that keep their memory. A method
        that models the memory itself (`innovation_filter`) has limits of its own
        (`causaldq.memory_limits`). Either way the summary says what run length was reached on rows
        left out of the fit.

        Parameters
        ----------
        rows : DataFrame or array, shape (n, p)
            Rows of normal operation, evenly spaced in time, one column per stream, without gaps.
            Columns whose names are no strings are called by what `str` makes of them.
        sensors : int
            Streams that can be read at a time, m.
        arl0 : float
            Wanted steps to a false alarm.
        method : str, class or callable
            A name (see `causaldq.method_names`), a subclass of `Method`, or a function of the
            `Problem`. The default is a filter over the time of the change and the streams that
            shifted.
        graph : array, shape (p, p), or pairs of streams, optional
            What causes what, entry [i, j] true if stream i acts on stream j, or an edge list of
            (cause, effect) by name or number, for methods that weigh root causes (`causal_sr`). By
            default they draw several graphs that the rows allow.
        names : sequence of str, optional
            Of the streams, where the rows have no columns.
        model : {"auto", "independent", "state_space"}
            Of normal rows, for methods that use one with memory: rows independent of each other,
            a state-space model, or the one that later rows speak for.
        covariance : {"auto", "dense", "factor", "graph", "block"}
            A matrix, the default up to 2,000 streams; few common factors or a sparse graph, above
            by default what makes later rows likelier; or a matrix for each part of `graph`.
        limit : {"auto", "bound", "simulated", "cross_fitted"}
            How the alarm limit is set with a state-space model: by the bound log `arl0`, which
            needs no calibration, or by simulation of fit and run together, which takes longer and
            comes closer to `arl0`; without one it is cross-fitted.
        paths : int, optional
            In-control paths behind the limit; its error is about 1 / sqrt(paths). By default 200,
            and 10 above 2,000 streams.
        seed : int
            The same rows and seed give the same monitor.
        progress : bool
            Show a bar at a terminal.

        Returns
        -------
        Monitor

        Raises
        ------
        CausalDQError
            If the rows cannot be used; the message names the stream, the row and the remedy.
        """
        method = callable_method(method)
        labels, values = table(rows, names)
        p = len(labels)
        sensors, arl0, paths, seed = choices(sensors, arl0, paths, seed, p, method, limit)
        scale = fit_scale(values, labels)
        if covariance in ("auto", "dense"):
            refuse_dependent(scale.apply(values), labels)
        edges = edges_of(graph, labels)
        if covariance == "block" and not wants_graph(method):
            graphs = None
        else:
            graphs = graphs_for(method, edges, labels, values, scale, seed)
        found = fitted(
            method, values, labels, sensors, graphs, arl0=arl0, model=model, limit=limit,
            paths=paths, seed=seed, progress=progress, covariance=covariance, edges=edges,
        )  # fmt: skip
        monitor = cls(
            found.method,
            name=_called(method),
            names=labels,
            mean=found.scale.mean,
            sd=found.scale.sd,
            limit=found.limit,
            seed=seed,
            facts=found.facts,
        )
        monitor._warn()
        return monitor

    # --- what it is ----------------------------------------------------------------------------

    @property
    def falls_short(self) -> bool:
        """Whether false alarms come more than twice as often as asked for."""
        return not_kept(self.limit, self.facts)

    def check(self, *recordings: "pd.DataFrame | npt.ArrayLike") -> RunLength:
        """Steps to a false alarm on rows of normal operation that it was not fitted on.

        Each recording is watched from its first to its last row, anew after each alarm. The
        summary tells the result, and so does a file that is saved afterwards.

        Parameters
        ----------
        recordings : DataFrame or array, shape (n, p)
            Consecutive rows of normal operation, with the streams of the fit in its order.

        Returns
        -------
        RunLength
            With a 95% interval, which is the wider the fewer recordings there are and the more
            they differ.

        Examples
        --------
        >>> from causaldq import Monitor, example_plant
        >>> rows = example_plant()
        >>> monitor = Monitor.fit(rows[:500], sensors=3, arl0=100, method="greedy")
        >>> monitor.check(rows[500:600], rows[600:700]).low > 10
        True
        """
        scaled = []
        for number, recording in enumerate(recordings, 1):
            named = hasattr(recording, "columns")
            labels, values = table(recording, None if named else self.names)
            if labels != self.names:
                raise DataError(
                    f"recording {number} does not have the streams of the fit in its order; it has"
                    f" {', '.join(labels)}, give {', '.join(self.names)}"
                )
            scaled.append((values - self.mean) / self.sd)
        if not scaled:
            raise ConfigError("no recording to check on; give rows of normal operation")
        found = reached_on_recordings(self.method, scaled, self.limit.value, self.seed)
        self.facts["held_out"] = {
            "recordings": len(scaled),
            "rows": sum(map(len, scaled)),
            "reached": [found.value, found.low, found.high],
        }
        self._warn()
        return found

    def _warn(self) -> None:
        """Say it if the promise is not kept, whoever fits, checks or loads the monitor."""
        if self.falls_short:
            lines = self.summary().splitlines()
            warnings.warn("\n".join(lines[: 1 + len(self.facts.get("why", []))]), FallsShort, 3)

    def changes(self) -> dict[str, tuple[str, float]]:
        """The streams that most likely have changed, how, and with what probability.

        Returns
        -------
        dict
            Stream to kind of change ("mean up", "mean down", "variance") and its probability given
            that there was a change, largest first; empty for a method that tells no kinds apart.

        Examples
        --------
        >>> from causaldq import Monitor, example_plant
        >>> rows = example_plant()
        >>> monitor = Monitor.fit(rows[:400], 3, arl0=100, method="innovation_filter")
        >>> for minute in range(780, 850):
        ...     reading = monitor.update(rows.loc[minute, monitor.next])
        >>> next(iter(monitor.changes().items()))[1][0]
        'mean up'
        """
        named = self.method.kinds_of_change
        if not named:
            return {}
        chances = self.method.kinds(self._state)[0]
        kinds, sizes = chances.argmax(axis=1), chances.max(axis=1)
        return {
            self.names[i]: (named[kinds[i]], float(sizes[i]))
            for i in np.argsort(-sizes, kind="stable")[:SHOWN]
        }

    def summary(self) -> str:
        """What was fitted, and the rate of false alarms asked for and reached.

        Returns
        -------
        str
            Some lines for people; where the promise is not kept, that comes first.

        Examples
        --------
        >>> from causaldq import Monitor, example_plant
        >>> monitor = Monitor.fit(example_plant()[:700], sensors=3, arl0=100, method="greedy")
        >>> print(monitor.summary().splitlines()[0])
        greedy: 8 streams, 3 read at a time, fitted on 700 rows
        """
        about = f"{self.name}: {len(self.names)} streams, {self.method.problem.m} read at a time"
        return "\n".join(in_words(about, self.limit, self.facts))

    def __repr__(self) -> str:
        return f"<Monitor {self.name}: {len(self.names)} streams, step {self.step}>"

    # --- in a file -----------------------------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write the monitor with all that it has seen, so that `load` resumes where it is.

        Parameters
        ----------
        path : path
            The file appears whole or not at all.
        """
        write_sealed(path, "monitor", VERSION, *self._whole())

    def _whole(self) -> tuple[dict[str, Any], Arrays]:
        """What it is and what it has seen."""
        facts, arrays = self._made_of()
        seen, seen_arrays = self.snapshot()
        return {**facts, "seen": seen}, arrays | seen_arrays

    def _made_of(self) -> tuple[dict[str, Any], Arrays]:
        """What does not change while it watches."""
        problem, reached = self.method.problem, self.limit.reached
        arrays: Arrays = {
            "mean": self.mean,
            "sd": self.sd,
            **_kept(problem.covariance),
            **{f"learned.{key}": array for key, array in self.method.learned().items()},
        }
        if problem.graphs is not None:
            arrays["graphs"] = problem.graphs
        facts = {
            "method": self.name,
            "options": self.options,
            "names": list(self.names),
            "sensors": problem.m,
            "statistic": problem.statistic.model_dump(),
            "limit": self.limit.value,
            "asked": self.limit.asked,
            "reached": [reached.value, reached.low, reached.high],
            "seed": self.seed,
            "facts": self.facts,
        }
        if isinstance(problem.covariance, Structured):
            facts["structure"] = problem.covariance.kind
        return facts, arrays

    @property
    def identity(self) -> str:
        """A hash of all that does not change while it watches."""
        return content(*self._made_of())

    @classmethod
    def load(cls, path: str | PathLike[str], *, method: MethodLike | None = None) -> Self:
        """Read a monitor that `save` wrote. Nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.
        method : class or callable, optional
            For a monitor with a method of your own: what makes it.

        Returns
        -------
        Monitor
            It goes on from the row after the last one that it had seen.

        Raises
        ------
        CausalDQError
            If the file is damaged, of another version, or could never alarm.
        """
        needed = ("mean", "sd", "streams")
        facts, arrays = read_sealed(path, "monitor", VERSION, "fit it again", *needed)
        try:
            monitor = cls._rebuilt(facts, arrays, method)
        except CausalDQError as error:
            raise type(error)(f"{path}: {error}".removeprefix(f"{path}: {path} ")) from None
        except (KeyError, TypeError, ValueError, ValidationError, np.linalg.LinAlgError) as error:
            reason = str(error).splitlines()[0]
            raise DataError(f"{path} is no monitor, or damaged ({reason}); fit it again") from None
        monitor._warn()
        return monitor

    @classmethod
    def _rebuilt(
        cls, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], method: Any = None
    ) -> Self:
        """The monitor from what `save` keeps of it."""
        problem = Problem(
            _covariance(facts, arrays),
            facts["sensors"],
            StatisticSettings.model_validate(facts["statistic"]),
            arrays.get("graphs"),
        )
        if method is None:
            made = saved_method(facts["method"]).rebuilt(
                problem, facts["options"], part(arrays, "learned")
            )
        else:
            made = _made_for(problem, method, facts["method"])
        monitor = cls(
            made,
            name=facts["method"],
            names=facts["names"],
            mean=arrays["mean"],
            sd=arrays["sd"],
            limit=Limit(facts["limit"], facts["asked"], RunLength(*facts["reached"])),
            options=facts["options"],
            seed=facts["seed"],
            facts=facts["facts"],
        )
        monitor.restore(facts["seen"], arrays)
        return monitor


def _called(method: MethodLike) -> str:
    """The name of a monitor's method; one of the user's own is never that of one of ours."""
    name = name_of(method)
    return f"own {name}" if not isinstance(method, str) and name in (*NAMES, *AGENTS) else name


def _made_for(problem: Problem, method: MethodLike, saved: str) -> Method[Any]:
    """What the user gives for the method of a file, whose limit holds for no other."""
    made = resolved(callable_method(method), problem)
    ours = saved in (*NAMES, *AGENTS)
    if not (isinstance(made, saved_method(saved)) if ours else not isinstance(method, str)):
        raise ConfigError(
            f"its method is {saved!r}, and its limit holds for no other, such as"
            f" {name_of(method)!r}; load it without `method`, or give what made it"
        )
    return made


def _kept(covariance: CovarianceLike) -> Arrays:
    """The covariance in a file."""
    if isinstance(covariance, Structured):
        return {f"covariance.{name}": array for name, array in covariance.parts().items()}
    return {"covariance": covariance}


def _covariance(facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> CovarianceLike:
    if "structure" in facts:
        return STRUCTURES[facts["structure"]](**part(arrays, "covariance"))
    return arrays["covariance"]
