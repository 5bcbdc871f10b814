"""What causal discovery is given."""

from causaldq.discovery.settings import DiscoverySettings
from causaldq.setting import GraphQualities, Settings


class DiscoverJob(Settings):
    seed: int
    source: str
    discovery: DiscoverySettings
    quality: GraphQualities
