"""Do the unit tests notice? Change one operator or constant at a time, and run the tests.

Mutants are drawn from core and learn with a fixed seed. The unit tests are first run with the
places of all of them marked, to learn which test reaches which mutant. Then each mutant is run
against the tests that reach it, the quickest first, and against the whole test files nearest to
it, until one fails. Those that no test notices are listed; tools/mutants.toml says of some why
nobody could notice. What was learned and found is kept in a folder: a run that was stopped goes on
where it was, and survivors can be tried again when tests were added.
"""

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("pytest", "hypothesis", "numpy", "pandas", "scipy.stats", "pydantic", "torch", "yaml")
SOURCE, TESTS = ROOT / "src", ROOT / "tests" / "unit"
MARKER = ROOT / "tools/mutants_marker.py"
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
    def end(self) -> int:
        return self.start + len(self.before.encode())

    @property
    def key(self) -> tuple[str, str, str]:
        """What tools/mutants.toml knows it by."""
        return str(self.path.relative_to(SOURCE / "causaldq")), self.code, self.after

    @property
    def label(self) -> str:
        """What a log knows it by: the place, too, since a line may have two of the same."""
        return f"{self} at {self.start}"

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


def run(source: Path, tests: list[str], folder: Path) -> None:
    """Run tests against the library at `source`, in a process of its own; write what became."""
    import pytest

    class Reports:
        def pytest_runtest_logreport(self, report: Any) -> None:
            row = {"test": report.nodeid, "seconds": report.duration, "failed": report.failed}
            with (folder / "reports").open("a") as file:
                file.write(json.dumps(row) + "\n")

    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    os.chdir(ROOT)
    os.setpgrp()
    os.environ |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    os.environ["MUTANTS_REACHED"] = str(folder / "reached")
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(source))
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={folder}/tests"]
    once = [] if (source / MARKER.name).exists() else ["-x"]
    os._exit(pytest.main([*options, *once, *tests], plugins=[Reports()]))


def ran(source: Path, tests: list[str], folder: Path, limit: float) -> int | None:
    """Exit code of tests in a fork, so that large packages are imported once; None if too long."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    child = get_context("fork").Process(target=run, args=(source, tests, folder))
    child.start()
    child.join(limit)
    late = child.is_alive()
    with suppress(ProcessLookupError):
        os.killpg(child.pid or 0, signal.SIGKILL)  # with what it has started
    child.join()
    return None if late else child.exitcode


def reports(folder: Path) -> list[dict[str, Any]]:
    path = folder / "reports"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def marked(content: bytes, drawn: dict[int, Mutant]) -> bytes:
    """The text of a module that tells when the places of numbered mutants are reached."""
    opened = [(m.start, 1, -m.end, f"reached_({n}, ".encode()) for n, m in drawn.items()]
    closed = [(m.end, 0, 0, b")") for m in drawn.values()]
    for start, _, _, text in sorted(opened + closed, reverse=True):
        content = content[:start] + text + content[start:]
    return content


def compiles(content: bytes) -> bool:
    try:
        compile(content, "marked", "exec")
    except SyntaxError:
        return False
    return True


def marked_source(drawn: list[Mutant], folder: Path) -> Path:
    """A copy of the library with marks at the mutants; there are none within a pattern."""
    source = folder / "marked"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(MARKER, source)
    first = source / "causaldq/__init__.py"
    first.write_text(f"import {MARKER.stem}  # noqa\n{first.read_text()}")
    for path in {mutant.path for mutant in drawn}:
        here = {n: mutant for n, mutant in enumerate(drawn) if mutant.path == path}
        content = path.read_bytes()
        good = {n: m for n, m in here.items() if compiles(marked(content, {n: m}))}
        (source / path.relative_to(SOURCE)).write_bytes(marked(content, good))
    return source


def learn(test: Path, source: Path, folder: Path, limit: float) -> dict[str, Any]:
    """Of each test of a file that passes: how long it takes, and the mutants it reaches."""
    work = folder / test.stem
    ran(source, [str(test)], work, limit)
    seconds: Counter[str] = Counter()
    failed = set()
    for row in reports(work):
        seconds[row["test"]] += row["seconds"]
        failed |= {row["test"]} if row["failed"] else set()
    reached: dict[str, set[int]] = {name: set() for name in seconds}
    path = work / "reached"
    for line in path.read_text().splitlines() if path.exists() else []:
        number, _, name = line.partition("\t")
        reached.setdefault(name.rpartition(" (")[0], set()).add(int(number))
    shutil.rmtree(work, ignore_errors=True)
    return {
        name: {"seconds": round(seconds[name], 3), "reached": sorted(found)}
        for name, found in reached.items()
        if name not in failed
    }


def learned(drawn: list[Mutant], folder: Path, processes: int, limit: float) -> dict[str, Any]:
    """What every test reaches; read again where neither tests nor mutants have changed."""
    place = folder / "reach.json"
    known: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    others = [path for path in TESTS.glob("*.py") if not path.name.startswith("test_")]
    base = "".join([*(mutant.label for mutant in drawn), *(p.read_text() for p in sorted(others))])
    tests = {path: hashed(base + path.read_text()) for path in sorted(TESTS.glob("test_*.py"))}
    stale = [test for test in tests if known.get(test.name, {}).get("hash") != tests[test]]
    if not stale:
        return known
    source = marked_source(drawn, folder)
    with ThreadPoolExecutor(processes) as pool:
        jobs = {pool.submit(learn, test, source, folder, limit): test for test in stale}
        for done in as_completed(jobs):
            test = jobs[done]
            known[test.name] = {"hash": tests[test], "tests": done.result()}
            place.write_text(json.dumps(known))
            print(f"{len(done.result()):4} tests of {test.name} pass with marks", flush=True)
    return known


def hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def verdict(
    mutant: Mutant, number: int, reach: dict[str, Any], folder: Path, given: argparse.Namespace
) -> tuple[str, str]:
    """`killed` and by which test, or `survived`."""
    tests = {name: row for file in reach.values() for name, row in file["tests"].items() if name}
    near = [name for name, row in tests.items() if number in row["reached"]]
    near.sort(key=lambda name: tests[name]["seconds"])
    total, quick = 0.0, list[str]()
    for name in near:
        total += tests[name]["seconds"]
        if not quick or total < given.seconds:
            quick.append(name)
    files = Counter(name.partition("::")[0] for name in near)
    around = [str(test.relative_to(ROOT)) for test in tests_of(mutant.path, given.nearest)]
    wide = [file for file, _ in files.most_common(given.nearest)] or around
    work = folder / f"mutant{number}"
    source = work.with_suffix(".src")
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    place = source / mutant.path.relative_to(SOURCE)
    content = place.read_bytes()
    place.write_bytes(content[: mutant.start] + mutant.after.encode() + content[mutant.end :])
    try:
        for chosen in [quick[:25], quick[25:], *([file] for file in wide)]:
            if not chosen:
                continue
            code = ran(source, chosen, work, given.limit)
            if code == 4:  # tests that are not found: the whole files tell why
                chosen = sorted({name.partition("::")[0] for name in chosen})
                code = ran(source, chosen, work, given.limit)
            bad = [row["test"] for row in reports(work) if row["failed"]]
            if code is None:
                return "killed", f"takes longer than {given.limit:.0f} s: {chosen[0]}"
            if bad and bad[0] in tests:  # passes unchanged
                return "killed", bad[0]
            if code == 2:
                return "killed", f"import of {chosen[0]}"
        return "survived", f"{len(near)} tests reach it"
    finally:
        shutil.rmtree(source, ignore_errors=True)
        shutil.rmtree(work, ignore_errors=True)


def told(log: Path) -> dict[str, str]:
    """The last verdicts of a log, by mutant."""
    rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return {row["mutant"]: row["verdict"] for row in rows}


def explained() -> set[tuple[str, str, str]]:
    """Mutants of which it is written down why they do no harm."""
    equivalent = tomllib.loads((ROOT / "tools/mutants.toml").read_text())["equivalent"]
    return {(row["file"], row["code"], row["after"]) for row in equivalent if row["reason"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for tests of a mutant")
    parser.add_argument("--seconds", type=float, default=60.0, help="of tests chosen one by one")
    parser.add_argument("--nearest", type=int, default=4, help="test files for a mutant, at most")
    parser.add_argument("--only", default="", help="a part of the path of the modules")
    parser.add_argument("--folder", type=Path, default=ROOT / "logs/mutants")
    parser.add_argument(
        "--again",
        action="store_true",
        help="survivors once more, but for those that are explained",
    )
    given = parser.parse_args()
    known = explained()
    paths = [path for path in library() if given.only in str(path.relative_to(SOURCE))]
    every = [mutant for path in paths for mutant in mutants(path)]
    drawn = random.Random(given.seed).sample(every, min(given.mutants, len(every)))
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "verdicts.jsonl"
    found = told(log)
    left = [(number, mutant) for number, mutant in enumerate(drawn) if mutant.label not in found]
    if given.again:
        left = [
            (number, mutant)
            for number, mutant in enumerate(drawn)
            if found.get(mutant.label) != "killed" and mutant.key not in known
        ]
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in PACKAGES:
        import_module(name)
    reach = learned(drawn, folder, given.processes, given.limit) if left else {}

    def judge(number: int, mutant: Mutant) -> None:
        began = time.monotonic()
        kind, by = verdict(mutant, number, reach, folder, given)
        row = {"mutant": mutant.label, "verdict": kind, "by": by}
        found[mutant.label] = kind
        with log.open("a") as file:
            file.write(json.dumps(row | {"seconds": round(time.monotonic() - began, 1)}) + "\n")
        print(f"{len(found):4} {named(mutant):10} {mutant}  ({by})", flush=True)

    def named(mutant: Mutant) -> str:
        kind = found[mutant.label]
        return "equivalent" if kind == "survived" and mutant.key in known else kind

    with ThreadPoolExecutor(given.processes) as pool:
        for done in as_completed([pool.submit(judge, *one) for one in left]):
            done.result()
    for mutant in drawn:
        if named(mutant) == "survived":
            print(f"survived: {mutant}")
    counts = Counter(named(mutant) for mutant in drawn)
    share = counts["killed"] / max(counts["killed"] + counts["survived"], 1)
    print(f"{len(every)} possible, {len(drawn)} drawn: {dict(counts)}; {share:.0%} killed")
    return 0 if share >= 0.9 and not counts["survived"] else 1


if __name__ == "__main__":
    sys.exit(main())
