"""Which code a step runs: a hash over everything it can reach in this package.

The hash covers what Python executes. Comments, docstrings and layout do not change it, so
editing them re-runs nothing; any other edit re-runs exactly the steps that can reach it.
The package `lineage` is left out: it watches the steps and writes beside their results.
"""

import ast
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
ONLOOKERS = "lineage"


def job_hash(script: Path, settings: object) -> str:
    """Hash of the code behind a job: of its script, and of the methods its settings name."""
    named = sorted(set(_methods(settings)))
    return code_hash(script, *(path for path in map(_method_file, named) if path.is_file()))


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


def _method_file(name: str) -> Path:
    return PACKAGE / "methods" / f"{name}.py"


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
    """The entries and, transitively, the files they import, in one fixed order."""
    found: set[Path] = set()
    waiting = list(entries)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += imported(path)
    return sorted(found)


@cache
def executed(path: Path) -> str:
    """The syntax tree of a file as text, without docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [part for part in node.body if not _is_text(part)] or [ast.Pass()]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@cache
def imported(path: Path) -> tuple[Path, ...]:
    """Files of this package that a file imports, wherever in it the import stands."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return tuple(sorted({file for name in names for file in _files(name)}))


def _files(name: str) -> list[Path]:
    """The file of a module, and of the packages it lies in."""
    parts = name.split(".")
    if parts[0] != PACKAGE.name:
        return []
    places = [PACKAGE.joinpath(*parts[1:n]) for n in range(1, len(parts) + 1)]
    packages = [place / "__init__.py" for place in places]
    files = [f for f in (*packages, places[-1].with_suffix(".py")) if f.is_file()]
    return [f for f in files if not f.is_relative_to(PACKAGE / ONLOOKERS)]
