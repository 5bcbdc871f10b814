"""What the search for possible graphs is given."""

from causaldq.discovery.settings import DiscoverySettings, UncertaintySettings
from causaldq.setting import Settings


class PossibleGraphsJob(Settings):
    seed: int
    source: str
    discovery: DiscoverySettings
    uncertainty: UncertaintySettings
