"""Settings of sources; light, so that planning and small jobs need no pandas."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from causaldq.setting import Count, Distinct, Settings


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
