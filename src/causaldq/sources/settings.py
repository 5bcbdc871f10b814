"""Settings of sources; light, so that planning and small jobs need no pandas."""

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from causaldq.setting import Count, Distinct, Name, Positive, Settings, Share


class OwnSettings(Settings):
    """What the user says of the own data. Rows count from 1, without the header."""

    first_in_control: Annotated[Count, Field(description="first row of normal operation")]
    last_in_control: Annotated[Count, Field(description="last row of normal operation")]
    first_fault: Annotated[
        Count | None, Field(description="first row under a known fault, if there is one")
    ] = None
    time: Annotated[str | None, Field(description="column with the time, if there is one")] = None
    keep: Annotated[
        Distinct[str] | None, Field(description="columns that are streams; all by default")
    ] = None
    drop: Annotated[
        Distinct[str] | None, Field(description="columns that are not streams; none by default")
    ] = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.first_in_control >= self.last_in_control:
            raise ValueError("last_in_control must be greater than first_in_control")
        if self.first_fault is not None and self.first_fault <= self.last_in_control:
            raise ValueError("first_fault must be greater than last_in_control")
        if self.keep is not None and self.drop is not None:
            raise ValueError("give keep or drop, not both")
        return self


class OwnSource(OwnSettings):
    """The user's own CSV or Parquet file."""

    kind: Literal["own"]
    file: Annotated[str, Field(description="path of the file, from where snakemake is called")]
    held_out: Annotated[Share, Field(description="share of in-control rows kept for tests")]

    @property
    def p(self) -> None:
        """Not known before the file is read."""
        return None


class SimulationSource(Settings):
    """Streams of a linear structural equation model on a random acyclic graph."""

    kind: Literal["simulation"]
    p: Annotated[int, Field(ge=2, description="streams")]
    expected_degree: Annotated[Positive, Field(description="edges of a stream, in and out")]
    weight_low: Positive
    weight_high: Positive
    rows: Annotated[int, Field(ge=10, description="in-control rows for causal discovery")]

    @model_validator(mode="after")
    def _weights_in_order(self) -> Self:
        if self.weight_low > self.weight_high:
            raise ValueError(f"weight_low {self.weight_low} exceeds weight_high {self.weight_high}")
        return self


class FetchedSource(Settings):
    """A data set of data/sources.yaml, or the first of several that can be had."""

    fetch: Annotated[
        Distinct[Literal["mirror", "package", "official"]],
        Field(description="where files may come from, in this order"),
    ]
    mirror: Annotated[
        str | None, Field(description="mirror folder; null: the variable CAUSALDQ_MIRROR")
    ]


class TepSource(FetchedSource):
    """The Tennessee Eastman Process: recorded rows in control, and under real faults."""

    kind: Literal["tep"]
    datasets: Annotated[
        Distinct[Literal["tep_rieth", "tep_rieth_run1", "tep_classic"]],
        Field(description="the first of these that can be had; all but the last from a mirror"),
    ]
    streams: Annotated[Distinct[str] | None, Field(description="variables; null: the paper's 50")]
    runs: Annotated[Count, Field(description="of a data set with many runs, how many are read")]
    faults: Annotated[list[Count], Field(description="faults whose rows are read")]
    held_out: Annotated[
        Share, Field(description="share of in-control rows kept for tests if there are no others")
    ]

    @property
    def p(self) -> int:
        from causaldq.sources.tep import PAPER_STREAMS

        return len(self.streams or PAPER_STREAMS)


WindowId = Annotated[str, BeforeValidator(str)]
"""Many are numbers, and arrive as such."""


class FlareWindows(Settings):
    """Which windows are used, by their ids."""

    train_quiet: WindowId
    train_flare: WindowId
    test_quiet: Annotated[
        list[WindowId], Field(min_length=1, description="`paper` uses the first, `fair` all")
    ]
    test_flare: Annotated[
        list[WindowId], Field(min_length=1, description="`paper` uses the first, `fair` all")
    ]
    reference: Annotated[
        list[WindowId], Field(description="more quiet windows, for the scale and the limits")
    ]


class FlareSource(FetchedSource):
    """Solar flares: quiet windows, into which rows of flare windows are inserted."""

    kind: Literal["flares"]
    datasets: Annotated[
        Distinct[Literal["flares_bigdata", "flares_swan", "flares_surrogate"]],
        Field(description="the first of these that can be had"),
    ]
    path: Annotated[
        str | None, Field(description="the user's own BigData file or folder of SWAN-SF windows")
    ]
    windows: Annotated[
        dict[Name, FlareWindows], Field(description="for each data set the windows to use")
    ]

    @property
    def p(self) -> None:
        """Not known before the windows are read."""
        return None

    @model_validator(mode="after")
    def _windows_given(self) -> Self:
        for name in self.datasets:
            if name not in self.windows:
                raise ValueError(f"windows of {name} are missing")
        return self
