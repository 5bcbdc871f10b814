"""Who imports whom in src/causaldq: prints the graph of its rooms, and fails if there is a cycle.

A room is a module or package of the library, and one of the pipeline's. Run by
`python tests/layers.py` and by tests/unit/test_architecture.py.
"""

import ast
import sys
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "causaldq"


def room(module: str) -> str | None:
    """`causaldq.methods.tras` is in methods, `causaldq.pipeline.jobs.train` in pipeline.jobs."""
    parts = module.split(".")[1:]
    if not parts:
        return None
    return ".".join(parts[:2]) if parts[0] == "pipeline" and len(parts) > 1 else parts[0]


def imports(path: Path) -> set[str]:
    """Modules of the package that a file imports, wherever in it the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.startswith("causaldq.") and exists(name)}


def exists(module: str) -> bool:
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return place.is_dir() or place.with_suffix(".py").is_file()


def graph() -> dict[str, set[str]]:
    """The rooms that each room imports from."""
    uses: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE).with_suffix("").parts
        module = ".".join(("causaldq", *inside)).removesuffix(".__init__")
        here = room(module)
        if here is None:
            continue  # the list of public names
        found = {room(name) for name in imports(path)}
        uses[here] |= {other for other in found if other not in (None, "pipeline", here)}
    return dict(uses)


def reach(uses: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for other in uses.get(waiting.pop(), set()) - seen:
            seen.add(other)
            waiting.append(other)
    return seen


def knots(uses: dict[str, set[str]]) -> list[list[str]]:
    """Groups of rooms that reach each other."""
    reached = {here: reach(uses, here) for here in uses}
    groups = {
        frozenset(other for other in reached[here] if here in reached.get(other, set()))
        for here in uses
        if here in reached[here]
    }
    return sorted(sorted(group) for group in groups)


def main() -> int:
    uses = graph()
    for here in sorted(uses, key=lambda name: (len(reach(uses, name)), name)):
        print(f"{here}: {' '.join(sorted(uses[here]))}")
    found = knots(uses)
    print("knots:", found or "none")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
