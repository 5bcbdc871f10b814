"""The code hash: blind to comments, sensitive to everything that runs."""

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from causaldq.pipeline import code
from causaldq.pipeline.lineage.code_hash_cache import PLACE, cached_hash


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package that may be edited."""
    copy = tmp_path / "causaldq"
    shutil.copytree(code.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "PACKAGE", copy)
    code.forget()
    yield copy
    code.forget()


def hash_after(package: Path, module: str, old: str, new: str, entry: str) -> tuple[str, str]:
    def fresh() -> str:
        code.forget()
        return code.code_hash(package / entry)

    before = fresh()
    path = package / module
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return before, fresh()


def test_comments_docstrings_and_layout_do_not_count(package: Path) -> None:
    before, after = hash_after(
        package,
        "statistic.py",
        '"""Take in the values',
        '"""Reworded. Take in the values',
        "pipeline/jobs/train.py",
    )
    assert before == after
    before, after = hash_after(
        package,
        "statistic.py",
        "        keep = 1.0",
        "        # why\n\n        keep = 1.0",
        "pipeline/jobs/train.py",
    )
    assert before == after


def test_the_hash_is_the_same_wherever_scripts_and_package_lie(
    package: Path, tmp_path: Path
) -> None:
    hashes = set()
    for folder in ("above", "zebra"):
        script = tmp_path / folder / "train.py"
        script.parent.mkdir()
        script.write_text("from causaldq.pipeline.jobs import train\n")
        assert (script < package) == (folder == "above")
        hashes.add(code.code_hash(script))
    assert len(hashes) == 1


def test_an_edit_reaches_the_steps_that_use_it_and_no_others(package: Path) -> None:
    edit = ("statistic.py", "1.0 - self.settings.decay", "1.0 - 2 * self.settings.decay")
    before, after = hash_after(package, *edit, "pipeline/jobs/train.py")
    assert before != after
    before, after = hash_after(package, edit[0], edit[2], edit[1], "pipeline/jobs/simulate.py")
    assert before == after


def test_an_import_inside_a_function_counts(package: Path) -> None:
    names = {
        p.relative_to(package).as_posix()
        for p in code.reachable(package / "pipeline/jobs/calibrate.py")
    }
    assert "methods/causal_dq.py" in names


def reached(package: Path, entry: str) -> set[str]:
    paths = code.reachable(package / entry)
    return {path.relative_to(package).as_posix() for path in paths}


def test_what_type_checkers_alone_read_does_not_count(package: Path) -> None:
    """Else every job would depend on the plan, and through it on all settings."""
    own = {"pipeline/jobs/simulate.py", "worlds/simulation.py", "files.py", "setting.py"}
    found = reached(package, "pipeline/jobs/simulate.py")
    assert own <= found
    assert not found & {"pipeline/plan.py", "pipeline/config.py", "pipeline/places.py"}
    block = "if TYPE_CHECKING:\n    from causaldq.pipeline.plan import Plan\n"
    edit = ("pipeline/jobs/simulate.py", block, block + "    Plans = list[Plan]\n")
    before, after = hash_after(package, *edit, "pipeline/jobs/simulate.py")
    assert before == after
    unasked = ("pipeline/jobs/simulate.py", block, block.replace("if TYPE_CHECKING", "if True"))
    before, after = hash_after(package, unasked[0], edit[2], unasked[2], unasked[0])
    assert before != after
    assert "pipeline/config.py" in reached(package, "pipeline/jobs/simulate.py")


def test_what_plans_a_job_is_not_what_it_runs(package: Path) -> None:
    job = "pipeline/jobs/calibrate.py"
    assert "methods/registry.py" not in reached(package, job), "its settings ask the registry"
    for old, new, counts in (
        ("run = plan.limits[limits]", "run = plan.limits[str(limits)]", False),
        ("def settings(plan", "def settings(job", True),
        ("def _limits(job", "def _limit(job", True),
    ):
        before, after = hash_after(package, job, old, new, job)
        assert (before != after) == counts, old
    # Elsewhere a function of that name is work like any other.
    module = package / "seeds.py"
    module.write_text(module.read_text() + "\ndef settings(plan):\n    return 1\n")
    before, after = hash_after(package, "seeds.py", "return 1\n", "return 2\n", job)
    assert before != after


@pytest.mark.parametrize("job", ["calibrate", "discover", "evaluate", "fetch", "inject", "policy",
    "possible_graphs", "prepare", "showcase", "simulate", "theory", "train", "train_equivariant",
])  # fmt: skip
def test_jobs_with_a_share_of_the_settings_do_not_depend_on_all_of_them(
    package: Path, job: str
) -> None:
    found = reached(package, f"pipeline/jobs/{job}.py")
    assert not found & {"pipeline/config.py", "pipeline/plan.py", "pipeline/loading.py"}
    others = {name for name in found if name.startswith("pipeline/jobs/")}
    assert others == {f"pipeline/jobs/{job}.py"}


def test_a_job_runs_the_code_of_its_own_source_only(package: Path) -> None:
    def hashes() -> dict[str, str]:
        code.forget()
        script = package / "pipeline/jobs/prepare.py"
        return {kind: code.job_hash(script, {"wanted": {"kind": kind}}) for kind in ("tep", "own")}

    before = hashes()
    with (package / "pipeline/sources/tep.py").open("a") as file:
        file.write("EXTRA = 1\n")
    after = hashes()
    assert before["tep"] != after["tep"]
    assert before["own"] == after["own"]
    registry = package / "pipeline/sources/registry.py"
    registry.write_text(registry.read_text().replace("KINDS = {", 'KINDS = {"new": "New",'))
    assert hashes() == after, "a new source is no change to the others"


def test_a_job_runs_the_code_of_its_own_method_only(package: Path) -> None:
    def hashes() -> dict[str, str]:
        code.forget()
        jobs = {name: {"method": name} for name in ("greedy", "tssrp", "tras", "causal_dq")}
        jobs["several"] = {"runs": [{"method": "greedy"}, {"method": "tssrp"}]}
        script = package / "pipeline/jobs/calibrate.py"
        return {name: code.job_hash(script, job) for name, job in jobs.items()}

    before = hashes()
    for method, changed in (
        ("tssrp", {"tssrp", "several"}),
        ("tras", {"tssrp", "tras", "several"}),
    ):
        with (package / f"methods/{method}.py").open("a") as file:
            file.write("EXTRA = 1\n")
        after = hashes()
        # tssrp imports tras
        assert {name for name in before if before[name] != after[name]} == changed
        before = after
    (package / "methods/new.py").write_text("from causaldq.methods.base import Method\n")
    registry = package / "methods/registry.py"
    registry.write_text(registry.read_text().replace("NAMES = (", 'NAMES = ("new",'))
    assert hashes() == before, "a new method is no change to the others"


def test_a_remembered_hash_is_the_one_of_the_code_at_hand(package: Path, tmp_path: Path) -> None:
    script, settings = package / "pipeline/jobs/calibrate.py", {"method": "greedy"}

    def fresh() -> str:
        code.forget()
        return code.job_hash(script, settings)

    (tmp_path / PLACE.parent).mkdir()
    seen = set()
    for edited in (None, "pipeline/jobs/calibrate.py", "methods/greedy.py", "statistic.py"):
        if edited:
            with (package / edited).open("a") as file:
                file.write("EXTRA = 1\n")
        right = fresh()
        seen.add(right)
        assert cached_hash(tmp_path, script, settings) == right, "the first job"
        with pytest.MonkeyPatch.context() as without:
            without.setattr(code, "executed", None)
            assert cached_hash(tmp_path, script, settings) == right, "the next one"
    assert len(seen) == 4
    (note,) = (tmp_path / PLACE).iterdir()
    note.write_text(note.read_text()[:50])
    assert cached_hash(tmp_path, script, settings) == right, "a damaged note"
    # `from causaldq import seeds` then means another file
    known = note.read_text()
    (package / "seeds").mkdir()
    (package / "seeds/__init__.py").write_text("")
    assert fresh() != right
    assert cached_hash(tmp_path, script, settings) == fresh()
    assert note.read_text() != known


def test_where_snakemake_keeps_no_notes_none_are_left(package: Path, tmp_path: Path) -> None:
    script = package / "pipeline/jobs/inject.py"
    assert cached_hash(tmp_path, script, None) == code.job_hash(script, None)
    assert not (tmp_path / PLACE.parent).exists()


def test_the_hash_is_blind_to_fields_that_a_newer_python_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.12 gave functions and classes an empty list of type parameters."""
    file = tmp_path / "step.py"
    file.write_text("class A:\n    def f(self, x=None, *, y):\n        return {**x, None: y}\n")
    before = code.executed(file)
    code.forget()
    newer = (*(f for f in ast.FunctionDef._fields if f != "type_params"), "type_params")
    monkeypatch.setattr(ast.FunctionDef, "_fields", newer)
    monkeypatch.setattr(ast.FunctionDef, "type_params", [], raising=False)
    assert code.executed(file) == before
    code.forget()
    file.write_text(file.read_text().replace("x=None", "x=0"))
    assert code.executed(file) != before
