"""Settings of methods that are not in a publication of others."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from causaldq.setting import Positive, Settings


class CausalSrSettings(Settings):
    """The Shiryaev-Roberts mixture over root causes."""

    deltas: Annotated[
        list[Positive], Field(min_length=1, description="shift sizes looked for, in deviations")
    ]
    delta_prior: Annotated[
        list[Positive] | None,
        Field(description="weight of each size, up and down alike; null: all the same"),
    ]
    graph_free: Annotated[
        float,
        Field(ge=0, lt=1, description="prior share of the signatures that need no graph"),
    ]
    prune: Annotated[
        float,
        Field(ge=0, lt=1, description="a cause below this share of all weight draws no sensor"),
    ]
    order_seed: Annotated[
        int, Field(ge=0, description="of the order that the control `random_order` draws")
    ]

    @model_validator(mode="after")
    def _one_weight_a_size(self) -> Self:
        if self.delta_prior is not None and len(self.delta_prior) != len(self.deltas):
            raise ValueError(
                f"delta_prior has {len(self.delta_prior)} weights for {len(self.deltas)} deltas;"
                " give one each, or null"
            )
        return self
