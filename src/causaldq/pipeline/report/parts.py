"""What is in which PDF: the paper's own tables and figures, or everything else."""

import re
from collections.abc import Sequence

from causaldq.pipeline.report.catalogue import Catalogue
from causaldq.pipeline.report.shown import Figure, Table

OWN = (
    (r"comparison", "Table 1"),
    (r"training_p(10|50|100)", "Figure 2"),
    (r"noise_free_p10", "Table 2"),
    (r"noise_free_p50", "Table 3"),
    (r"noise_free_p100", "Table 4"),
    (r"noise_p50", "Table 5"),
    (r"noise_p100", "Table 6"),
    (r"train_test", "Table 7"),
    (r"extreme_.*", "Table 8"),
    (r"graph_metrics", "Table 9"),
    (r"graph_quality", "Table 10"),
    (r"training_tep.*", "Figure 3"),
    (r"tep_.*", "Table 11"),
    (r"sfd_.*", "Table 12"),
    (r"training_flares.*", "Figure 4"),
    (r"hyperparameters", "Table 13"),
)
"""Names here, and what they are in the paper, in its order. Its figure 1 is a drawing."""
FIRST_WITHOUT_PAPER = r"(delay|events)_.*"
"""What comes first of data that the paper has nothing on."""
Shown = Table | Figure


def place_in_paper(name: str) -> tuple[int, str] | None:
    """Where the paper has a table or a figure, and how it is called there.

    Examples
    --------
    >>> place_in_paper("noise_free_p50")
    (4, 'Table 3')
    >>> place_in_paper("cross") is None
    True
    """
    for number, (pattern, called) in enumerate(OWN):
        if re.fullmatch(pattern, name):
            return number, called
    return None


def parts(shown: Catalogue) -> tuple[list[Shown], list[Shown]]:
    """What the paper has, in its order, and the rest, where its tables have all methods."""
    everything: Sequence[Shown] = [*shown.tables, *shown.figures]
    own = [one for one in everything if place_in_paper(one.name)]
    own.sort(key=_in_order)
    if not own:
        own = [one for one in everything if re.fullmatch(FIRST_WITHOUT_PAPER, one.name)]
    rest = [one for one in everything if one not in own or _has_more(one)]
    return own, rest


def _in_order(one: Shown) -> tuple[int, list[int]]:
    """The paper's order, smaller problems first where it has several in one place."""
    place, _ = place_in_paper(one.name) or (len(OWN), "")
    return place, [int(number) for number in re.findall(r"\d+", one.name)]


def _has_more(one: Shown) -> bool:
    return isinstance(one, Table) and one.short is not None and bool(place_in_paper(one.name))
