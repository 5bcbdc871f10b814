"""What the injection of shifts is given."""

from causaldq.setting import Case, Places, Protocol, Settings


class InjectJob(Settings):
    seed: int
    scenario: str
    m: int
    k: int
    protocols: list[Protocol]
    places: Places
    cases: list[Case]
    propagate: bool
    replications: int
    in_control_steps: int
    horizon: int
