"""What a setting can be: the base of all settings, and the ranges they share."""

import json
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Protocol = Literal["paper", "fair"]
Case = Literal["case_a", "case_b"]
Places = Literal["first", "random"]
Moved = Literal["mean", "deviation"]
GraphQualities = Literal["estimated", "no_edges", "low", "ground_truth"]
Share = Annotated[float, Field(gt=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


T = TypeVar("T")


def _no_duplicates(values: list[T]) -> list[T]:
    if len(set(values)) != len(values):
        raise ValueError("the list names a value twice")
    return values


DistinctOrNone = Annotated[list[T], AfterValidator(_no_duplicates)]
Distinct = Annotated[DistinctOrNone[T], Field(min_length=1)]


class Settings(BaseModel):
    """Base of all settings: unknown keys are errors, values do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    def as_argument(self) -> str:
        """Its text on a command line. The order is kept: it is the order of what is shown."""
        return json.dumps(self.model_dump(), separators=(",", ":"), allow_nan=False)
