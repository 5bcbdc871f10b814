"""What jobs that make streams are given."""

from causaldq.setting import Settings
from causaldq.sources.settings import FlareSource, OwnSource, SimulationSource, TepSource


class SimulateJob(Settings):
    seed: int
    source: str
    simulation: SimulationSource


class FetchJob(Settings):
    source: str
    wanted: TepSource | FlareSource


class PrepareJob(Settings):
    seed: int
    source: str
    wanted: TepSource | FlareSource | OwnSource
