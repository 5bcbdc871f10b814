"""Which code a step runs: a hash over everything it can reach in this package.

The hash covers what Python executes. Comments, docstrings and layout do not change it, so
editing them re-runs nothing; any other edit re-runs exactly the steps that can reach it.
The package `lineage` is left out: it watches the steps and writes beside their results.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent
ONLOOKERS = "lineage"


def code_hash(entry: Path) -> str:
    """Hash of a script or module and of all modules of this package that it imports."""
    digest = hashlib.sha256()
    for path in reachable(entry.resolve()):
        name = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path.name
        digest.update(f"{name}\0{executed(path)}\0".encode())
    return digest.hexdigest()


def reachable(entry: Path) -> list[Path]:
    """The entry and, transitively, the files it imports, in one fixed order."""
    found: set[Path] = set()
    waiting = [entry]
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
