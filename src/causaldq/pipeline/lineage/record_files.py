"""Where records lie: one file a rule, `records/<rule>.jsonl.xz`, and one a job until it is packed.

A job writes `records/<job>.json` when it ends, whatever runs beside it, on this machine or on
another that shares the folder. When a run ends, these are packed. A file of a rule has a first
line with what most of its jobs have in common, and then one line a job, sorted, with the rest;
`xzcat` shows it, `xzgrep` searches in it.

Nothing is lost or half-written, whenever the packing is killed: a job's file is first renamed,
then the rule's file is replaced by one that holds it, then it is deleted. Whoever reads looks at
them in the order in which they are given up, so that every record is seen, also meanwhile.
"""

import fcntl
import json
import lzma
import math
import shlex
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from causaldq.errors import DataError
from causaldq.files import canonical_json, one_line, write_bytes

LOOSE, TAKEN, PACKED = ".json", ".json.packing", ".jsonl.xz"
LARGEST = 256 << 20
"""Bytes that the file of a rule may unfold to, and that unfolding it may take."""
LOCK = ".snakemake/records.lock"
EACH = "each"
"""What the parts of a list have in common."""


@dataclass(frozen=True)
class Entry:
    """A record as it was read: what it says, or the text that says nothing."""

    place: str
    """The file from the project's folder; of a packed record, with its job after a #."""
    job: str
    text: str
    said: dict[str, Any] | None
    why: str = ""
    """What is wrong with the text."""


def read_entries(root: Path, folder: Path) -> list[Entry]:
    """All records below a folder, by job; of several for one job, the latest."""
    found: dict[str, Entry] = {}
    for suffix in (LOOSE, TAKEN):
        for path in sorted(folder.rglob(f"*{suffix}")):
            entry = _loose(root, path, path.relative_to(folder).as_posix().removesuffix(suffix))
            if entry is not None:
                found.setdefault(entry.job, entry)
    for path in sorted(folder.glob(f"*{PACKED}")):
        for entry in _packed(root, path):
            found.setdefault(entry.job, entry)
    return sorted(found.values(), key=lambda entry: entry.job)


def is_record_file(folder: Path, path: Path) -> bool:
    """Whether a file is one of those that records of a folder are read from."""
    if path.parent == folder and path.name.endswith(PACKED):
        return True
    return path.is_relative_to(folder) and path.name.endswith((LOOSE, TAKEN))


def _loose(root: Path, path: Path, job: str) -> Entry | None:
    """A job's own file; None if it has just been packed."""
    place = path.relative_to(root).as_posix()
    try:
        text = path.read_text(errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        return Entry(place, job, "", None, str(error.strerror))
    return Entry(place, job, text, *_parsed(text))


def _parsed(text: str) -> tuple[dict[str, Any] | None, str]:
    try:
        said = json.loads(
            text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_once_each
        )
    except (ValueError, RecursionError) as error:
        return None, one_line(error)
    return (said, "") if isinstance(said, dict) else (None, "it is no object")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no value of JSON")


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is no number that can be kept")
    return number


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys differ: of two values, people see the first and Python the last."""
    said = dict(pairs)
    if len(said) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice!r} stands twice in an object")
    return said


def _packed(root: Path, path: Path) -> Iterator[Entry]:
    """The records of a rule."""
    place, rule = path.relative_to(root).as_posix(), path.name.removesuffix(PACKED)
    try:
        head, *lines = unfolded(path).splitlines() or [""]
    except (OSError, lzma.LZMAError, EOFError) as error:
        yield Entry(place, rule, "", None, one_line(error))
        return
    first, why = _parsed(head)
    if first is None or not isinstance(first.get("usual"), dict):
        yield Entry(place, rule, head, None, why or "its first line is not one of ours")
        return
    seen: set[str] = set()
    for number, text in enumerate(lines, 2):
        line, why = _parsed(text)
        said = None if line is None else _unfolded(line, first["usual"])
        job = said.get("job") if said else None
        if not isinstance(job, str) or job.partition("/")[0] != rule:
            said, why = None, why or "it belongs to no job of this rule"
        elif job in seen:
            said, why = None, f"it is a second record of the job {job}"
        if said is None or not isinstance(job, str):
            yield Entry(f"{place}, line {number}", f"{rule}, line {number}", text, None, why)
        else:
            seen.add(job)
            short = job.partition("/")[2] or job
            yield Entry(f"{place}#{short}", job, text, said)


# --- packing ---------------------------------------------------------------------------


def fold(path: Path, text: str) -> None:
    """Write the file of a rule."""
    write_bytes(path, lzma.compress(text.encode()))


def unfolded(path: Path) -> str:
    """The text of a rule's file; one that would fill the memory is refused."""
    reader = lzma.LZMADecompressor(memlimit=LARGEST)
    text = reader.decompress(path.read_bytes(), LARGEST)
    if not reader.eof:
        raise EOFError(f"it ends too early, or unfolds to more than {LARGEST >> 20} MiB")
    if reader.unused_data:
        raise EOFError("something follows its end")
    return text.decode(errors="replace")


def pack(root: Path, folder: Path) -> int:
    """Move the records of single jobs into the files of their rules; how many there were."""
    with _alone(root):
        for path in sorted(folder.rglob(f"*{LOOSE}")):
            path.replace(path.with_name(path.name.removesuffix(LOOSE) + TAKEN))
        taken: dict[str, dict[str, dict[str, Any]]] = {}
        done = []
        for path in sorted(folder.rglob(f"*{TAKEN}")):
            job = path.relative_to(folder).as_posix().removesuffix(TAKEN)
            entry = _loose(root, path, job)
            if entry is not None and entry.said is not None and entry.said.get("job") == job:
                taken.setdefault(job.partition("/")[0], {})[job] = entry.said
                done.append(path)
            else:
                # It stays what it is, to be found and told of.
                path.replace(path.with_name(path.name.removesuffix(TAKEN) + LOOSE))
        for rule, records in taken.items():
            _rewrite(root, folder / f"{rule}{PACKED}", records, ())
        # Folders stay: a job that is still at work may be about to write there.
        for path in done:
            path.unlink()
    return len(done)


def drop(root: Path, folder: Path, jobs: Collection[str]) -> None:
    """Delete records, packed or not."""
    if not jobs:
        return
    with _alone(root):
        for rule in sorted({job.partition("/")[0] for job in jobs}):
            if (path := folder / f"{rule}{PACKED}").is_file():
                _rewrite(root, path, {}, jobs)
        for job in jobs:
            for suffix in (TAKEN, LOOSE):
                (folder / f"{job}{suffix}").unlink(missing_ok=True)


def _rewrite(root: Path, path: Path, new: dict[str, dict[str, Any]], gone: Collection[str]) -> None:
    """Put records into the file of a rule, in the place of those that it has, and take some out."""
    entries = list(_packed(root, path)) if path.exists() else []
    if bad := [entry for entry in entries if entry.said is None]:
        raise DataError(
            f"{bad[0].place} is damaged ({bad[0].why}); `git checkout` restores it, or delete it"
            " and run again"
        )
    records = {entry.job: entry.said for entry in entries if entry.said is not None} | new
    kept = {job: records[job] for job in sorted(records) if job not in gone}
    if kept:
        fold(path, packed_text(list(kept.values())))
    else:
        path.unlink()


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """One at a time: each replaces whole files. The kernel drops the lock when its holder dies."""
    place = root / LOCK
    place.parent.mkdir(exist_ok=True)
    with place.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


# --- what many records have in common ----------------------------------------------------


def packed_text(records: list[dict[str, Any]]) -> str:
    """The file of a rule: what is usual, then what is not, record by record."""
    folded = [_folded(record) for record in records]
    shared = usual(folded) if len(folded) > 1 else {}
    lines = [{"usual": shared}]
    for record, short in zip(records, folded, strict=True):
        line = without(short, shared)
        again = _unfolded(line, shared)
        is_whole = again is not None and same(again, record)
        lines.append(line if is_whole else {"whole": record})
    return "".join(f"{_spelt(line)}\n" for line in lines)


def _spelt(value: Any) -> str:
    """JSON as the workflow writes settings on a command line."""
    return json.dumps(value, separators=(",", ":"))


def same(one: Any, other: Any) -> bool:
    """Whether two values are one in JSON; in Python, true and 1 are equal."""
    return canonical_json(one) == canonical_json(other)


def _folded(record: dict[str, Any]) -> dict[str, Any]:
    """A record that says nothing twice: its command and Snakemake's notes repeat its settings."""
    try:
        words: list[str | None] = list(shlex.split(record["command"]))
        settings = record["settings"]
        notes = _replaced(record["snakemake"], _names(_repeated(record, words)))
    except (KeyError, TypeError, ValueError, AttributeError):
        return record
    for number, word in enumerate(words):
        given = _parsed(word)[0] if word and word.startswith("{") else None
        if given is not None and same(given, settings) and _spelt(given) == word:
            # In the order of the command, so that it can be spelt again.
            settings, words[number] = given, None
    return record | {"command": words, "settings": settings, "snakemake": notes}


def _unfolded(line: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any] | None:
    """A record from its line; None if it cannot be one."""
    if "whole" in line:
        return line["whole"] if isinstance(line["whole"], dict) else None
    try:
        record: dict[str, Any] = restored(line, shared)
        if not isinstance(record["command"], list):
            return record
        text = _spelt(record["settings"])
        words = [text if word is None else word for word in record["command"]]
        known = {canonical_json({"as": k}): v for k, v in _repeated(record, words).items()}
        notes = _replaced(record["snakemake"], known)
        return record | {"command": shlex.join(words), "snakemake": notes}
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError):
        return None


def _repeated(record: dict[str, Any], words: list[Any]) -> dict[str, Any]:
    """What Snakemake's notes may say again of a job, by a name for it."""
    log = words.index("--log") if "--log" in words else len(words)
    given = words.index("--settings") if "--settings" in words else None
    said = {"code": record["code"]["hash"]}
    said |= {"files": shlex.join(words[2 if given is None else given + 2 : log])}
    said |= {"settings": words[given + 1]} if given is not None else {}
    return {name: repr(text) for name, text in said.items()} | {
        "inputs": sorted(record["inputs"]),
        "log": words[log + 1 : log + 2],
    }


def _names(known: dict[str, Any]) -> dict[str, Any]:
    return {canonical_json(value): {"as": name} for name, value in known.items()}


def _replaced(notes: Any, known: dict[str, Any]) -> Any:
    """Snakemake's notes with some of their values replaced."""
    if notes is None:
        return None
    made = {key: known.get(canonical_json(value), value) for key, value in notes.items()}
    if isinstance(made.get("params"), list):
        made["params"] = [known.get(canonical_json(value), value) for value in made["params"]]
    return made


def usual(values: list[Any]) -> Any:
    """What more than half of some values have in common, part by part: [it], or [] if nothing is.

    An object has the keys that all have, in their order, so that a line never has to say that
    something is not there, and settings come back in the order of their command.

    Examples
    --------
    >>> usual([{"a": 1, "b": 5}, {"a": 1, "b": 6}, {"a": 2, "b": 7, "c": 0}])
    {'a': [1], 'b': []}
    """
    if all(isinstance(value, dict) for value in values):
        keys = [key for key in values[0] if all(key in value for value in values)]
        return {key: usual([value[key] for value in values]) for key in keys}
    if all(_is_list_of_objects(value) for value in values):
        return {EACH: usual([part for value in values for part in value])}
    texts = Counter(canonical_json(value) for value in values)
    most = max(texts, key=lambda text: texts[text])
    return [json.loads(most)] if texts[most] * 2 > len(values) else []


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def without(value: Any, shared: Any) -> Any:
    """What is left to say of a value beside what is usual.

    Examples
    --------
    >>> without({"a": 2, "b": 5}, {"a": [1], "b": []}), without({"a": 1, "b": 6}, {"a": [1]})
    ({'a': 2, 'b': 5}, {'b': 6})
    """
    if isinstance(shared, list):
        return value
    if isinstance(value, list):
        return [without(part, shared[EACH]) for part in value]
    rest = {key: without(part, shared.get(key, [])) for key, part in value.items()}
    return {key: said for key, said in rest.items() if not _goes_without(said, shared.get(key, []))}


def _goes_without(said: Any, shared: Any) -> bool:
    """Whether it is the usual."""
    return same([said], shared) if isinstance(shared, list) else said == {}


def restored(rest: Any, shared: Any) -> Any:
    """A value from what is usual and what is said of it.

    Examples
    --------
    >>> restored({"b": 6}, {"a": [1], "b": []})
    {'a': 1, 'b': 6}
    """
    if isinstance(shared, list):
        return rest
    if isinstance(rest, list):
        return [restored(part, shared[EACH]) for part in rest]
    told = {key: _or_usual(rest, key, part) for key, part in shared.items()}
    return told | {key: said for key, said in rest.items() if key not in shared}


def _or_usual(rest: dict[str, Any], key: str, shared: Any) -> Any:
    if isinstance(shared, list):
        return rest[key] if key in rest or not shared else shared[0]
    return restored(rest.get(key, {}), shared)
