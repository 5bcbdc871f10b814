"""How a causal graph is found, and how its uncertainty is expressed."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from causaldq.setting import Count, Settings, Share


class DiscoverySettings(Settings):
    """How the causal graph is found on in-control rows."""

    algorithm: Annotated[
        Literal["pc", "fci", "ges", "direct_lingam", "ground_truth", "file"],
        Field(description="causal-learn's algorithm, the simulation's own graph, or a given one"),
    ] = "pc"
    file: Annotated[str | None, Field(description="CSV of edges, for `algorithm: file`")] = None
    level: Annotated[Share, Field(description="significance level of the independence tests")] = (
        0.05
    )
    max_directions: Annotated[
        Count,
        Field(description="admissible directions of undirected edges averaged in the effects"),
    ] = 64
    low_tpr: Annotated[Share, Field(description="true edges that a graph of low quality keeps")] = (
        0.17
    )
    low_fdr: Annotated[Share, Field(description="false ones among the edges of such a graph")] = (
        0.89
    )

    @model_validator(mode="after")
    def _file_given(self) -> Self:
        if (self.algorithm == "file") != (self.file is not None):
            raise ValueError("file goes with algorithm: file, and only with it")
        return self


class OrderSettings(Settings):
    """How graphs are drawn by way of orders."""

    candidates: Annotated[
        int, Field(ge=1, le=16, description="possible parents of a stream that are weighed")
    ] = 14
    max_parents: Annotated[Count, Field(description="largest parent set")] = 7
    chains: Annotated[Count, Field(description="independent searches; the best is kept")] = 2
    burn_in: Annotated[Count, Field(description="sweeps over all streams that are not used")] = 40
    spacing: Annotated[Count, Field(description="sweeps between graphs")] = 4

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
    ] = "orders"
    graphs: Annotated[Count, Field(description="how many")] = 10
    orders: OrderSettings = OrderSettings()
