"""One hash over what every job behind the tidy results ran, read and made."""

from pathlib import Path
from typing import TYPE_CHECKING

from causaldq.pipeline import places

if TYPE_CHECKING:
    from causaldq.pipeline.plan import Files, Plan


def inputs(plan: "Plan") -> "Files":
    from causaldq.pipeline.jobs.tidy_results import judged

    return {"tidy": judged(plan)}


OUTPUTS = {"output": places.PROVENANCE}


def run(*, tidy: list[Path], output: Path) -> None:
    """Write one hash over what every job behind the tidy results ran, read and made."""
    from causaldq.pipeline.lineage.provenance import run_provenance

    run_provenance(tidy, output)
