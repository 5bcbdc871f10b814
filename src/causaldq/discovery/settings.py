"""How the uncertainty of a causal graph is expressed."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from causaldq.setting import Count, Settings


class OrderSettings(Settings):
    """How graphs are drawn by way of orders."""

    candidates: Annotated[
        int, Field(ge=1, le=16, description="possible parents of a stream that are weighed")
    ]
    max_parents: Annotated[Count, Field(description="largest parent set")]
    chains: Annotated[Count, Field(description="independent searches; the best is kept")]
    burn_in: Annotated[Count, Field(description="sweeps over all streams that are not used")]
    spacing: Annotated[Count, Field(description="sweeps between graphs")]

    @model_validator(mode="after")
    def _candidates_suffice(self) -> Self:
        if self.max_parents > self.candidates:
            raise ValueError(f"max_parents {self.max_parents} exceeds candidates {self.candidates}")
        return self


class UncertaintySettings(Settings):
    """Which graphs are taken for possible."""

    by: Annotated[
        Literal["orders", "extensions", "bootstrap"],
        Field(
            description="orders: drawn from the posterior; extensions: ways to settle the open"
            " edges of the discovered graph; bootstrap: discovered anew on resampled rows"
        ),
    ]
    graphs: Annotated[Count, Field(description="how many")]
    orders: OrderSettings
