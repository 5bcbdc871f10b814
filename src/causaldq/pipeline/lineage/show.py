"""Lineage for people: trees on the terminal, and a page to read."""

from collections.abc import Iterator

from jinja2 import Environment, PackageLoader
from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from causaldq.pipeline.lineage.records import Record, seed_of
from causaldq.pipeline.lineage.safe_names import printable
from causaldq.pipeline.lineage.trace import Source, Step, Trace

AT_MOST = 6
"""Files of one job that are listed one by one."""


def console() -> Console:
    """The terminal; lines are not broken where the output goes to a file or another program."""
    made = Console(highlight=False, soft_wrap=True)
    return made if made.is_terminal else Console(highlight=False, width=100_000)


def short_command(record: Record) -> str:
    """A command without its long settings, and with few of many files."""
    options: list[list[str]] = [[]]
    for word in record.words:
        if word.startswith("--"):
            options.append([])
        options[-1].append("{…}" if word.startswith("{") else word)
    return " ".join(
        " ".join(words if len(words) < 5 else [*words[:2], f"… ({len(words) - 1} files)"])
        for words in options
    )


def code_of(record: Record) -> str:
    commit = record.code.commit[:7] if record.code.commit else "no commit"
    changed = " with changes" if record.code.dirty else ""
    return f"code {escape(printable(record.code.hash[:12]))} at {commit}{changed}"


def when(record: Record) -> str:
    return f"{record.started[:19].replace('T', ' ')} UTC, {record.seconds:.1f} s"


def _bad(found: Trace, name: str) -> bool:
    return name in found.lacking or any(text.startswith(f"{name} ") for text in found.doubts)


def _mark(found: Trace, name: str) -> str:
    if _bad(found, name):
        return "[red]✗[/red]"
    return "[dim]not here:[/dim]" if name in found.absent else "[green]✓[/green]"


def few(found: Trace, names: list[str]) -> list[str]:
    """The first of many files, and all that are not as recorded."""
    shown = names if len(names) <= AT_MOST else names[:3]
    return [name for name in names if name in shown or _bad(found, name)]


def _lines(found: Trace, step: Step, full: bool) -> Iterator[str]:
    record = step.record
    used = seed_of(record.settings)
    seed = f", seed {used}" if used is not None else ""
    yield f"[bold]{escape(record.job)}[/bold]  {when(record)}"
    for name in few(found, step.files):
        short = record.outputs[name].sha256[:12]
        yield f"{_mark(found, name)} {escape(name)}  [dim]sha256 {short}[/dim]"
    if more := len(step.files) - len(few(found, step.files)):
        yield f"[dim]and {more} more files, as recorded or not here[/dim]"
    yield f"[dim]{code_of(record)}{seed}[/dim]"
    command = printable(record.command if full else short_command(record))
    yield f"[dim]$ {escape(command)}[/dim]"


def _source_line(found: Trace, source: Source) -> str:
    if source.note:
        note = escape(printable(source.note))
        return f"○ {escape(source.file)}  [dim]sha256 {source.sha256[:12]}, {note}[/dim]"
    mark = _mark(found, source.file)
    return f"{mark} {escape(source.file)}  [dim]sha256 {source.sha256[:12]}, given[/dim]"


def as_tree(found: Trace, full: bool = False) -> Tree:
    """The chain; a job that several need is spelt out once."""
    shown: set[str] = set()

    def add(parent: Tree, step: Step) -> None:
        if step.record.job in shown:
            parent.add(f"[bold]{escape(step.record.job)}[/bold]  [dim](as above)[/dim]")
            return
        shown.add(step.record.job)
        branch = parent.add("\n".join(_lines(found, step, full)))
        by_name = {source.file: source for source in step.sources}
        for name in few(found, list(by_name)):
            branch.add(_source_line(found, by_name[name]))
        if more := len(by_name) - len(few(found, list(by_name))):
            branch.add(f"[dim]and {more} more such sources[/dim]")
        if step.left_out:
            branch.add(
                f"[dim]{step.left_out} more inputs, which the number does not come from[/dim]"
            )
        for before in step.before:
            add(branch, before)
        if not step.before and not step.sources:
            branch.add("[dim]starts here: made from its settings and seed alone[/dim]")

    root = Tree(f"[bold]{escape(found.file)}[/bold]")
    for cell in found.cells:
        root.label = f"{root.label}\n{escape(printable(cell))}"
    add(root, found.top)
    return root


def as_page(found: Trace) -> str:
    """The chain as a page that needs nothing else."""
    pages = Environment(loader=PackageLoader("causaldq.pipeline.lineage"), autoescape=True)
    return pages.get_template("trace.html").render(
        trace=found,
        steps=list(reversed(found.steps)),
        code_of=code_of,
        when=when,
        bad=lambda name: _bad(found, name),
        absent=found.told_absent(),
    )
