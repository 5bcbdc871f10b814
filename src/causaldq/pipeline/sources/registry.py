"""All kinds of sources. A new one is a file here and a line below."""

from functools import reduce
from importlib import import_module
from operator import or_
from typing import TYPE_CHECKING, Annotated, TypeGuard

from pydantic import Field

from causaldq.pipeline.sources.base import FetchedSource, RecordedSource
from causaldq.worlds.simulation import SimulationSource

KINDS = {
    # the file's name, which is the `kind` in the settings: its class
    "tep": "TepSource",
    "tep_studio": "TepStudioSource",
    "flares": "FlareSource",
    "own": "OwnSource",
}

if TYPE_CHECKING:
    Source = SimulationSource | RecordedSource
else:
    RECORDED = [
        getattr(import_module(f"causaldq.pipeline.sources.{kind}"), name)
        for kind, name in KINDS.items()
    ]
    Source = Annotated[reduce(or_, RECORDED, SimulationSource), Field(discriminator="kind")]


def is_recorded(source: Source) -> TypeGuard[RecordedSource]:
    return isinstance(source, RecordedSource)


def is_fetched(source: Source) -> TypeGuard[FetchedSource]:
    return isinstance(source, FetchedSource)
