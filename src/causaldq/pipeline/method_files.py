"""Methods with the files they need: networks and graphs, as a job is given them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from causaldq.files import read_arrays
from causaldq.methods.base import Method, Problem
from causaldq.methods.build import build, method_class
from causaldq.methods.causal_dq import CausalDq
from causaldq.models.streams import StreamModel
from causaldq.setting import Name, Protocol, Settings
from causaldq.statistic import StatisticSettings

GRAPHS, NETWORK = "graphs", "network"
"""Names among the files given: possible causal graphs, and a network for all problems. The
others are networks of one problem, by protocol."""


class MonitorSettings(Settings):
    """What a method runs with; shared by calibration and evaluation."""

    seed: int
    method: Name
    m: int
    protocols: list[Protocol]
    statistic: StatisticSettings
    options: dict[str, Any]
    """Of the method itself."""

    def of(self, run: "MethodRun") -> Self:
        """The same for another method."""
        return self.model_copy(update={"method": run.method, "options": run.options})


class MethodRun(Settings):
    """One of several methods that a job goes through."""

    method: str
    options: dict[str, Any]
    seed: int | None = None
    """Training seed of a learned method."""
    limits: str | None = None
    """Which limits it uses."""

    @property
    def name(self) -> str:
        return self.method if self.seed is None else f"{self.method}.s{self.seed}"


def shared_weights(network: Path | None) -> Mapping[str, Any] | None:
    """Of a network for all problems, if there is one."""
    if network is None:
        return None
    from causaldq.learn.equivariant.checkpoint import load_equivariant

    return load_equivariant(network).weights


def build_method(
    job: MonitorSettings, protocol: Protocol, model: StreamModel, given: dict[str, Path]
) -> Method[Any]:
    """The method, with its network if it is a learned one."""
    graphs = read_arrays(given[GRAPHS], GRAPHS)[GRAPHS] if GRAPHS in given else None
    problem = Problem(model.covariance, job.m, job.statistic, graphs)
    kind = method_class(job.method)
    if kind is not None and not issubclass(kind, CausalDq):
        return build(kind, problem, job.options, shared_weights(given.get(NETWORK)))
    from causaldq.learn.checkpoint import load_checkpoint

    expected = {
        "p": model.p,
        "m": job.m,
        "settings": {
            "plan": {"protocol": protocol},
            "statistic": job.statistic.model_dump(),
        },
    }
    return load_checkpoint(given[protocol], expected).method(problem, kind or CausalDq)


Given = dict[str, dict[str, Path]]
"""By run, and by what they are: graphs, a network, or networks by protocol."""


def by_run(given: Mapping[str, Path]) -> Given:
    """From names RUN:NAME."""
    found: Given = {}
    for place, path in given.items():
        run, _, name = place.partition(":")
        found.setdefault(run, {})[name] = path
    return found
