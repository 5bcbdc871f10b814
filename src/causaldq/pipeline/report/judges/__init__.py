"""Those who judge the paper's claims, by name.

A judge reads tidy results and says what speaks for a claim and what against it; the verdict
follows from the counts. A new judge is a function in one of these files and a line here.
"""

from collections.abc import Callable

from causaldq.pipeline.report.judges import delays, graphs, printed, propagation, training
from causaldq.pipeline.report.judges.evidence import Judgement, Piece
from causaldq.pipeline.report.tidy import Tidy

Judge = Callable[..., Judgement]


def untested(_: Tidy, *, because: str) -> Judgement:
    """A claim that this project does not put to the test."""
    return Judgement([Piece("", "missing", because)], notes={"": because})


JUDGES: dict[str, Judge] = {
    judge.__name__: judge
    for judge in (
        delays.shortest,
        delays.shorter_than,
        delays.as_short_as,
        delays.robust,
        delays.lead_grows,
        delays.undetected,
        delays.no_alarm,
        delays.nominal_limit,
        delays.null_law,
        training.faster,
        training.as_fast,
        training.lead_in_epochs_grows,
        training.higher_reward,
        training.steadier,
        training.part_helps,
        graphs.accurate,
        graphs.better_is_faster,
        graphs.good_enough,
        graphs.too_poor,
        printed.bold_in_print,
        printed.bold_as_measured,
        printed.shorter_in_print,
        printed.lead_grows_in_print,
        printed.same_experiment,
        printed.own_numbers,
        propagation.shorter_on_graphs,
        untested,
    )
}
