"""Which code a step runs: a hash over everything it can reach in this package.

The hash covers what a step executes. Comments, docstrings, layout and what is there for type
checkers alone do not change it, so editing them re-runs nothing; any other edit re-runs exactly
the steps that can reach it. Left out is what decides no result:

- the package `lineage`, which watches the steps and writes beside their results;
- lists of what there is: public names, places of files, kinds of sources;
- of a job's definition, the functions that plan it. What they decide reaches the job as
  arguments, which are compared by themselves.
"""

import ast
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
ONLOOKERS = (
    "pipeline/lineage",
    "__init__.py",
    "pipeline/places.py",
    "pipeline/sources/registry.py",
)
JOBS = "pipeline/jobs"
PLANNING = ("settings", "inputs", "outputs")
"""Functions of a job's definition that the workflow calls, with the plan, and the job does not."""


def job_hash(script: Path, settings: object) -> str:
    """Hash of the code behind a job: of its script, and of what its settings name."""
    return code_hash(script, *named_files(settings))


def named_files(settings: object) -> list[Path]:
    """Files of the methods and of the source that settings name: they are found by name only."""
    files = {PACKAGE / "methods" / f"{name}.py" for name in _methods(settings)}
    wanted = settings.get("wanted") if isinstance(settings, Mapping) else None
    if isinstance(wanted, Mapping):
        files.add(PACKAGE / "pipeline" / "sources" / f"{wanted.get('kind')}.py")
    return sorted(path for path in files if path.is_file())


def _methods(settings: object) -> Iterator[str]:
    """Every text under the key `method`, however deep."""
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            if key == "method" and isinstance(value, str):
                yield value
            yield from _methods(value)
    elif isinstance(settings, list):
        for value in settings:
            yield from _methods(value)


def code_hash(*entries: Path) -> str:
    """Hash of scripts or modules and of all modules of this package that they import."""
    return _hash(*(entry.resolve() for entry in entries))


@cache
def _hash(*entries: Path) -> str:
    digest = hashlib.sha256()
    for path in reachable(*entries):
        name = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path.name
        digest.update(f"{name}\0{executed(path)}\0".encode())
    return digest.hexdigest()


def reachable(*entries: Path) -> list[Path]:
    """The entries and, transitively, the files they import: scripts first, wherever they lie."""
    found: set[Path] = set()
    waiting = list(entries)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += imported(path)
    return sorted(found, key=lambda path: (path.is_relative_to(PACKAGE), path))


def executed(path: Path) -> str:
    """What a file executes, as text: its syntax without docstrings and what a step does not run.

    Written out here, so that it is the same text under every Python that can run the code:
    `ast.dump` is not.
    """
    return _read(path)[0]


@cache
def imported(path: Path) -> tuple[Path, ...]:
    """Files of this package that a file imports, wherever in it the import stands."""
    return tuple(sorted({file for name in _read(path)[1] for file in _files(name)}))


@cache
def _read(path: Path) -> tuple[str, frozenset[str]]:
    """What a file executes, and the names of what it imports."""
    tree = ast.parse(path.read_text())
    if path.is_relative_to(PACKAGE / JOBS):
        tree.body = [node for node in tree.body if not _plans(node)]
    text: list[str] = []
    names: set[str] = set()
    _write(tree, text, names)
    return " ".join(text), frozenset(names)


def _write(node: ast.AST, text: list[str], names: set[str]) -> None:
    """Add what a node says to the text, and what it imports to the names."""
    if isinstance(node, ast.Import):
        names |= {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom) and node.module:
        names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        node.body = [part for part in node.body if not (_is_text(part) or _is_for_checkers(part))]
    text += ("(", type(node).__name__)
    for field in node._fields:
        value = getattr(node, field, None)
        if value is None or value == [] or field == "ctx":
            continue
        text.append(field)
        for part in value if isinstance(value, list) else (value,):
            if isinstance(part, ast.AST):
                _write(part, text, names)
            else:
                text.append(repr(part))
    text.append(")")


def forget() -> None:
    """Read files again when they are asked for next."""
    for remembered in (_hash, imported, _read, _files):
        remembered.cache_clear()


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _is_for_checkers(node: ast.stmt) -> bool:
    """An `if TYPE_CHECKING:` without an else."""
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def _plans(node: ast.stmt) -> bool:
    """A function that takes the plan, by one of the names that the workflow calls."""
    return (
        isinstance(node, ast.FunctionDef)
        and node.name in PLANNING
        and [argument.arg for argument in node.args.args[:1]] == ["plan"]
    )


@cache
def _files(name: str) -> list[Path]:
    """The file of a module, and of the packages it lies in."""
    parts = name.split(".")
    if parts[0] != PACKAGE.name:
        return []
    places = [PACKAGE.joinpath(*parts[1:n]) for n in range(1, len(parts) + 1)]
    packages = [place / "__init__.py" for place in places]
    files = [f for f in (*packages, places[-1].with_suffix(".py")) if f.is_file()]
    left_out = [PACKAGE / name for name in ONLOOKERS]
    return [f for f in files if not any(f.is_relative_to(place) for place in left_out)]
