"""Do the unit tests notice? Change one operator or constant at a time, and run the tests.

Mutants are drawn from core and learn with a fixed seed. Each is run against the unit tests that
import the changed module, the most specific first, until one fails. Those that no test notices are
listed; tools/mutants.toml says of some why nobody could notice.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("pytest", "hypothesis", "numpy", "pandas", "scipy.stats", "pydantic", "torch", "yaml")
SOURCE, TESTS = ROOT / "src", ROOT / "tests" / "unit"
OTHERS: dict[type[ast.AST], Any] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.USub: ast.UAdd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    path: Path
    line: int
    before: str
    after: str
    start: int
    """Place in the file, in bytes."""
    code: str
    """The line as it was."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tools/mutants.toml knows it by."""
        return str(self.path.relative_to(SOURCE / "causaldq")), self.code, self.after

    def __str__(self) -> str:
        return f"{self.path.relative_to(SOURCE)}:{self.line}: {self.before}  ->  {self.after}"


def mutants(path: Path) -> Iterator[Mutant]:
    """All changes of one operator or constant, outside annotations and decorators."""
    content = path.read_bytes()
    starts = [0, *(i + 1 for i, byte in enumerate(content) if byte == 10)]
    for node in places(ast.parse(content)):
        after = changed(node)
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
        before = content[start:end].decode()
        if after is not None and after != before:
            code = content[starts[node.lineno - 1] :].decode().split("\n", 1)[0].strip()
            yield Mutant(path, node.lineno, before, after, start, code)


def places(node: ast.AST) -> Iterator[ast.expr]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.keyword) and child.arg == "strict":
                continue  # of a zip: only ever stops what is wrong already
            if isinstance(child, ast.expr):
                yield child
            if isinstance(child, ast.AST):
                yield from places(child)


def changed(node: ast.expr) -> str | None:
    """The text of a node with one thing about it changed; None if there is nothing to change."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            return str(not node.value)
        return str(node.value + 1) if isinstance(node.value, int | float) else None
    new: Any = copy.deepcopy(node)
    if isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not):
        return f"({ast.unparse(new.operand)})"
    if isinstance(new, ast.Compare) and type(new.ops[0]) in OTHERS:
        new.ops[0] = OTHERS[type(new.ops[0])]()
    elif type(getattr(new, "op", None)) in OTHERS:
        new.op = OTHERS[type(new.op)]()
    else:
        return None
    return f"({ast.unparse(new)})"


@cache
def homes() -> dict[str, str | None]:
    """Where the public names are; read, because the library must not be imported before a fork."""
    tree = ast.parse((SOURCE / "causaldq/__init__.py").read_text())
    (value,) = (
        n.value
        for n in tree.body
        if isinstance(n, ast.Assign) and "_HOMES" in ast.unparse(n.targets[0])
    )
    found: dict[str, str | None] = ast.literal_eval(value)
    return found


@cache
def imported(path: Path) -> set[str]:
    """Modules that a test file imports, those of the public names and of helpers included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            helper = TESTS / f"{node.module}.py"
            found |= imported(helper) if helper.exists() else {node.module}
            for alias in node.names:
                found |= {f"{node.module}.{alias.name}", homes().get(alias.name) or ""}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("causaldq")}


@cache
def tests_of(path: Path, most: int) -> list[Path]:
    """The nearest tests: that import a module, or what imports it; the most specific first."""
    uses = {test: imported(test) for test in sorted(TESTS.glob("test_*.py"))}
    found: list[Path] = []
    wanted = {module(path)}
    while wanted and len(found) < most:
        near = [test for test in uses if uses[test] & wanted and test not in found]
        found += sorted(near, key=lambda test: len(uses[test]))
        wider = wanted | {module(user) for user in library() if imported(user) & wanted}
        wanted = set() if wider == wanted else wider
    return found[:most]


def module(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def library() -> list[Path]:
    """Modules of core and learn that do something."""
    found = sorted((SOURCE / "causaldq").rglob("*.py"))
    return [path for path in found if "pipeline" not in path.parts and path.name[:2] != "__"]


def passes(source: Path, test: Path, limit: float) -> bool | None:
    """Whether a test file passes with the library at `source`; None if it takes too long.

    In a fork, so that large packages are imported once and for all.
    """
    child = get_context("fork").Process(target=run, args=(source, test))
    child.start()
    child.join(limit)
    if child.is_alive():
        child.kill()
        child.join()
        return None
    return child.exitcode == 0


@cache
def passes_unchanged(test: Path, limit: float) -> bool:
    """Whether a test file passes without any change, so that its failure means something."""
    return passes(SOURCE, test, limit) is True


def run(source: Path, test: Path) -> None:
    import pytest

    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os.chdir(ROOT)
    os.environ |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(source))
    os._exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(test)]))


def verdict(mutant: Mutant, limit: float, nearest: int) -> str:
    """`killed`, `survived`, or `untold` where tests fail or take too long without it, too."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
        place = source / mutant.path.relative_to(SOURCE)
        content = place.read_bytes()
        end = mutant.start + len(mutant.before.encode())
        place.write_bytes(content[: mutant.start] + mutant.after.encode() + content[end:])
        useless = False
        for test in tests_of(mutant.path, nearest):
            if not passes(source, test, limit):
                if passes_unchanged(test, limit):
                    return "killed"
                useless = True
    return "untold" if useless else "survived"


def explained() -> set[tuple[str, str, str]]:
    """Mutants of which it is written down why they do no harm."""
    equivalent = tomllib.loads((ROOT / "tools/mutants.toml").read_text())["equivalent"]
    return {(row["file"], row["code"], row["after"]) for row in equivalent if row["reason"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--limit", type=float, default=240.0, help="seconds for a test file")
    parser.add_argument("--nearest", type=int, default=6, help="test files for a mutant, at most")
    parser.add_argument("--only", default="", help="a part of the path of the modules")
    given = parser.parse_args()
    known = explained()
    paths = [path for path in library() if given.only in str(path.relative_to(SOURCE))]
    every = [mutant for path in paths for mutant in mutants(path)]
    drawn = random.Random(given.seed).sample(every, min(given.mutants, len(every)))
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in PACKAGES:
        import_module(name)
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(given.processes) as pool:
        results = pool.map(lambda mutant: verdict(mutant, given.limit, given.nearest), drawn)
        for mutant, found in zip(drawn, results, strict=True):
            if found == "survived" and mutant.key in known:
                found = "equivalent"
            counts[found] += 1
            print(f"{found:10} {mutant}", flush=True)
    judged = counts["killed"] + counts["survived"]
    share = counts["killed"] / max(judged, 1)
    print(f"{len(every)} possible, {len(drawn)} drawn: {dict(counts)}; {share:.0%} killed")
    return 0 if share >= 0.9 and not counts["survived"] else 1


if __name__ == "__main__":
    sys.exit(main())
