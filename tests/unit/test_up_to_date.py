"""A run that has ended is not asked for again while no file has changed."""

import os
from pathlib import Path

import pytest

from causaldq.pipeline.up_to_date import remember, said_before


@pytest.fixture
def ended(tmp_path: Path) -> Path:
    """A folder in which a run has ended."""
    for name in ("config/ci.yaml", "src/a.py", "results/ci/add.csv", "data/raw/rows.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one")
    (tmp_path / ".snakemake").mkdir()
    assert said_before(tmp_path, "ci") is None
    remember(tmp_path, "ci", "the end")
    return tmp_path


def test_what_was_said_is_said_again(ended: Path) -> None:
    assert said_before(ended, "ci") == "the end"
    assert said_before(ended, "paper") is None


@pytest.mark.parametrize("name", ["config/ci.yaml", "src/a.py", "results/ci/add.csv", "src/new.py"])
def test_after_any_change_snakemake_is_asked(ended: Path, name: str) -> None:
    (ended / name).write_text("other")
    assert said_before(ended, "ci") is None


def test_a_file_touched_or_gone_counts_and_one_of_another_run_does_not(ended: Path) -> None:
    (ended / "results/quick").mkdir()
    (ended / "results/quick/add.csv").write_text("other")
    (ended / "src/__pycache__").mkdir()
    (ended / "src/__pycache__/a.pyc").write_text("bytes")
    assert said_before(ended, "ci") == "the end"
    os.utime(ended / "data/raw/rows.csv", ns=(1, 1))
    assert said_before(ended, "ci") is None
    remember(ended, "ci", "the end")
    (ended / "results/ci/add.csv").unlink()
    assert said_before(ended, "ci") is None


def test_a_note_that_cannot_be_read_is_no_note(ended: Path) -> None:
    note = next((ended / ".snakemake").iterdir())
    for text in ("", "[]", "{"):
        note.write_text(text)
        assert said_before(ended, "ci") is None
