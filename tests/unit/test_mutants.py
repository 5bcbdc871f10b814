"""The tool that changes code: what it changes, what it leaves alone, and what it runs then."""

from pathlib import Path
from typing import Any

import mutants
import pytest

CODE = """
@cache(size=5)
def f(x: int = 1, y: "float" = 2.5) -> Literal[3]:
    '''At most 7.'''
    if x < 4 and not y:
        return f"{x + 1}"
    return -x * [True][0]
"""


def test_operators_and_constants_are_changed_but_no_annotation_decorator_or_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "SOURCE", tmp_path)
    (tmp_path / "causaldq").mkdir()
    path = tmp_path / "causaldq" / "made.py"
    path.write_text(CODE)
    found = list(mutants.mutants(path))
    assert sorted((mutant.line, mutant.before, mutant.after) for mutant in found) == [
        (3, "1", "2"),
        (3, "2.5", "3.5"),
        (5, "4", "5"),
        (5, "not y", "(y)"),
        (5, "x < 4", "(x <= 4)"),
        (5, "x < 4 and not y", "(x < 4 or not y)"),
        (7, "-x", "(+x)"),
        (7, "-x * [True][0]", "(-x / [True][0])"),
        (7, "0", "1"),
        (7, "True", "False"),
    ]
    for mutant in found:
        end = mutant.start + len(mutant.before)
        new = CODE[: mutant.start] + mutant.after + CODE[end:]
        assert new != CODE
        compile(new, "made.py", "exec")


def test_the_nearest_tests_come_first() -> None:
    near = mutants.tests_of(mutants.SOURCE / "causaldq/tables/oddities.py", 2)
    assert near[0].name == "test_oddities.py"
    assert near[1].name.startswith("test_inspect")


def test_what_is_explained_is_still_there() -> None:
    every = {mutant.key for path in mutants.library() for mutant in mutants.mutants(path)}
    assert mutants.explained() <= every
    assert len(every) > 1000


def test_marks_tell_which_places_are_reached_and_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "SOURCE", tmp_path)
    (tmp_path / "causaldq").mkdir()
    path = tmp_path / "causaldq" / "made.py"
    path.write_text("def f(x):\n    return 1 + 2 * x if x > 3 else 7\n")
    found = dict(enumerate(mutants.mutants(path)))
    seen: list[str] = []

    def reached(number: int, value: object) -> object:
        seen.append(found[number].before)
        return value

    made: dict[str, Any] = {"reached_": reached}
    exec(mutants.marked(path.read_bytes(), found), made)
    assert made["f"](5) == 11
    assert seen == ["3", "x > 3", "1", "2", "2 * x", "1 + 2 * x"]
    seen.clear()
    assert made["f"](0) == 7
    assert seen == ["3", "x > 3", "7"]
