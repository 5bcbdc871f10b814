"""Getting the files of a data set, from wherever the settings allow, never silently.

A file gets its name only after its hash has been checked. Sources are tried in the order the
settings give; which one a file came from is recorded beside it and ends up in result tables.
A download that breaks off resumes where it stopped, in this call or the next.
"""

import fcntl
import hashlib
import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from causaldq.errors import DataError
from causaldq.files import read_json, sha256, write_atomically, write_json
from causaldq.pipeline.sources.catalogue import FileEntry, FileSet

Way = Literal["mirror", "package", "official"]

MIRROR_VARIABLE = "CAUSALDQ_MIRROR"
RECORD = "source.json"
USER_AGENT = "Mozilla/5.0 (X11; Linux x86_64) causaldq/0.1"
"""Harvard Dataverse refuses the agents of some download tools, pooch's among them."""
ATTEMPTS = 3
CHUNK = 1 << 16
TIMEOUT_SECONDS = 30.0


class SourceError(Exception):
    """One source cannot deliver a file; the next may."""


@dataclass(frozen=True)
class Fetched:
    """The files of a data set, checked, and where each came from."""

    name: str
    files: Mapping[str, Path]
    origins: Mapping[str, tuple[str, str]]
    """File name: the source and the place in it. Besides the sources that are fetched from
    there are `given`, by the user, and `found`, in the folder without a record of its origin."""

    @property
    def label(self) -> str:
        """For tables: `tep_classic (package)`, or `(mirror+official)` if files come from both."""
        return f"{self.name} ({'+'.join(sorted({way for way, _ in self.origins.values()}))})"

    def write_manifest(self, path: Path, passed_over: Sequence[str]) -> None:
        """Write down what the files are, where they came from, and what could not be had."""
        files = {
            name: {
                "path": str(file),
                "sha256": sha256(file),
                "bytes": file.stat().st_size,
                "source": self.origins[name][0],
                "place": self.origins[name][1],
            }
            for name, file in self.files.items()
        }
        told = {"dataset": self.name, "label": self.label, "passed_over": passed_over}
        write_json(path, told | {"files": files})


@dataclass(frozen=True)
class Delivered:
    """Files to read a data set from."""

    name: str
    label: str
    files: Mapping[str, Path]
    passed_over: Sequence[str] = ()


def read_manifest(path: Path) -> Delivered:
    """What was fetched, refused if a file is gone or not what it was then."""
    told = read_json(path)
    for entry in told["files"].values():
        file = Path(entry["path"])
        if not file.is_file() or sha256(file) != entry["sha256"]:
            state = "has changed" if file.is_file() else "is gone"
            raise DataError(f"{file} {state} since it was fetched; delete {path} and run again")
    files = {name: Path(entry["path"]) for name, entry in told["files"].items()}
    return Delivered(told["dataset"], told["label"], files, told["passed_over"])


def fetch(
    name: str,
    data_set: FileSet,
    order: Sequence[Way],
    mirror: Path | None,
    folder: Path,
    files: Sequence[str] | None = None,
) -> Fetched:
    """The files of data set `name`, in `folder`; all of them unless `files` names some.

    `mirror` is a folder with the sets' own folders in it; without it the environment
    variable CAUSALDQ_MIRROR is asked.
    """
    wanted = _wanted(name, data_set, files)
    nearby = mirror or _mirror_of_the_environment()
    origins: dict[str, tuple[str, str]] = {}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _only_one_at_a_time(folder):
            for file, entry in wanted.items():
                kept = _kept(folder, file, entry)
                origins[file] = kept or _obtain(name, data_set, file, order, nearby, folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {_reason(error)}") from None
    return Fetched(name, {file: folder / file for file in wanted}, origins)


def given(name: str, data_set: FileSet, path: Path) -> Fetched:
    """A file, or the files of a folder, that the user gives for data set `name`."""
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.is_file())
    elif path.is_file():
        found = [path]
    else:
        remedy = f"; {data_set.remedy}" if data_set.remedy else ""
        raise DataError(_one_line(f"{name}: {path} does not exist{remedy}"))
    origins = {file.name: ("given", str(file)) for file in found}
    return Fetched(name, {file.name: file for file in found}, origins)


def _wanted(name: str, data_set: FileSet, files: Sequence[str] | None) -> dict[str, FileEntry]:
    if data_set.obtained != "fetched":
        how = "is made by this project" if data_set.obtained == "made" else "has to be given"
        remedy = f": {data_set.remedy}" if data_set.remedy else ""
        raise DataError(f"{name} cannot be fetched, it {how}{remedy}")
    for file in files or []:
        if file not in data_set.files:
            raise DataError(f"{name} has no file {file!r}; it has {', '.join(data_set.files)}")
    return {file: data_set.files[file] for file in (files or data_set.files)}


def _mirror_of_the_environment() -> Path | None:
    value = os.environ.get(MIRROR_VARIABLE)
    return Path(value) if value else None


@contextmanager
def _only_one_at_a_time(folder: Path) -> Iterator[None]:
    """Processes that fetch into the same folder take turns."""
    with (folder / ".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _kept(folder: Path, file: str, entry: FileEntry) -> tuple[str, str] | None:
    """Where a file that is already there came from; None if it is absent or not the right one."""
    path = folder / file
    if not path.is_file() or _difference(path, entry):
        return None
    origin = _record(folder).get(file)
    return (origin[0], origin[1]) if origin else ("found", str(path))


def _record(folder: Path) -> dict[str, list[str]]:
    path = folder / RECORD
    if not path.exists():
        return {}
    try:
        content = read_json(path)
    except DataError:
        return {}
    entries = content.items() if isinstance(content, dict) else ()
    return {file: origin for file, origin in entries if _is_origin(origin)}


def _is_origin(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(x, str) for x in value)


def _obtain(
    name: str,
    data_set: FileSet,
    file: str,
    order: Sequence[Way],
    mirror: Path | None,
    folder: Path,
) -> tuple[str, str]:
    """Try the sources in order; the first that delivers the right bytes is recorded."""
    ways: dict[Way, Callable[[], str]] = {
        "mirror": lambda: _from_mirror(data_set, file, mirror, folder),
        "package": lambda: _from_package(data_set, file, folder),
        "official": lambda: _from_publisher(data_set, file, folder),
    }
    failures = _damage(folder / file, data_set.files[file])
    for source in order:
        try:
            place = ways[source]()
        except (SourceError, OSError) as error:
            failures.append(f"{source}: {_reason(error)}")
            continue
        write_json(folder / RECORD, _record(folder) | {file: [source, place]})
        return source, place
    tried = "; ".join(failures) or "no source is allowed"
    remedy = f"; remedy: {data_set.remedy}" if data_set.remedy else ""
    raise DataError(_one_line(f"{name}/{file} cannot be had ({tried}){remedy}"))


def _damage(path: Path, entry: FileEntry) -> list[str]:
    difference = _difference(path, entry) if path.is_file() else None
    return [f"kept: {path} {difference}"] if difference else []


def _from_mirror(data_set: FileSet, file: str, mirror: Path | None, folder: Path) -> str:
    if mirror is None:
        raise SourceError(f"no folder given, {MIRROR_VARIABLE} is not set")
    places = [mirror / part / file for part in (data_set.mirror, ".") if part]
    for place in places:
        if place.is_file():
            _copy(place, folder / file, data_set.files[file])
            return str(place)
    raise SourceError(f"{places[0]} does not exist")


def _from_package(data_set: FileSet, file: str, folder: Path) -> str:
    """Copy a file out of an installed package, whose code is not imported."""
    package = data_set.package
    if package is None:
        raise SourceError("no package carries this set")
    try:
        distribution = importlib.metadata.distribution(package.name)
    except importlib.metadata.PackageNotFoundError:
        wanted = f"{package.name}=={package.version}"
        raise SourceError(f"{wanted} is not installed") from None
    place = Path(str(distribution.locate_file(f"{package.folder}/{file}")))
    if not place.is_file():
        raise SourceError(f"{package.name} {distribution.version} has no {package.folder}/{file}")
    _copy(place, folder / file, data_set.files[file])
    return f"{package.name} {distribution.version}"


def _copy(origin: Path, target: Path, entry: FileEntry) -> None:
    def write(temporary: Path) -> None:
        shutil.copyfile(origin, temporary)
        _insist(temporary, entry, str(origin))

    write_atomically(target, write)


def _from_publisher(data_set: FileSet, file: str, folder: Path) -> str:
    entry = data_set.files[file]
    if not entry.addresses:
        raise SourceError("the publisher has no such single file")
    failures = []
    for address in entry.addresses:
        try:
            _download(_resolved(address), folder / file, entry)
        except (SourceError, OSError) as error:
            failures.append(_reason(error))
            continue
        return address
    raise SourceError(", then ".join(failures))


def _resolved(address: str) -> str:
    """The http address behind a DOI and a file name; other addresses as they are."""
    if not address.startswith("doi:"):
        return address
    from pooch import downloaders

    doi, _, file = address.removeprefix("doi:").rpartition("/")
    try:
        repository = downloaders.doi_to_repository(doi, headers=_headers(), timeout=TIMEOUT_SECONDS)
        return str(repository.download_url(file))
    except (ValueError, LookupError, TypeError) as error:
        if isinstance(error, OSError):
            raise
        raise SourceError(f"{address} cannot be resolved, its archive does not list it") from None


def _headers() -> dict[str, str]:
    # Without compression the bytes counted are the bytes of the file, so a part can be resumed.
    return {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}


def _download(address: str, target: Path, entry: FileEntry) -> None:
    """Download to a part file, which outlives a broken connection, and name it when checked."""
    part = target.with_name(f".{target.name}.part")
    for attempt in range(1, ATTEMPTS + 1):
        start = _size(part)
        if start < entry.bytes:
            try:
                _append(address, part, start)
            except OSError:
                moved = _size(part) != start
                if moved and attempt < ATTEMPTS:
                    continue
                raise
        difference = _difference(part, entry)
        if difference is None:
            _name(part, target)
            return
        part.unlink()
        if start == 0:
            raise SourceError(f"{address} {difference}")
    raise SourceError(f"{address} did not deliver the file in {ATTEMPTS} attempts")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _append(address: str, part: Path, start: int) -> None:
    """Add what the server has from byte `start` on; all of it if it cannot resume."""
    from pooch import HTTPDownloader

    headers = _headers() | ({"Range": f"bytes={start}-"} if start else {})
    with part.open("ab" if start else "wb") as output:

        def check(response: Any, *_: object, **__: object) -> None:
            resumed = response.status_code == 206 and _continues(response.headers, start)
            if response.status_code in (200, 206, 416) and not resumed:
                output.truncate(0)
            if response.status_code == 206 and not resumed:
                raise OSError(f"{address} resumes at another byte than asked")

        download = HTTPDownloader(
            progressbar=sys.stderr.isatty(),
            chunk_size=CHUNK,
            headers=headers,
            timeout=TIMEOUT_SECONDS,
            hooks={"response": check},
        )
        download(address, output, None)


def _continues(headers: Mapping[str, str], start: int) -> bool:
    found = re.match(r"bytes (\d+)-", headers.get("Content-Range", ""))
    return found is not None and int(found[1]) == start


def _name(part: Path, target: Path) -> None:
    with part.open("rb+") as handle:
        os.fsync(handle.fileno())
    part.chmod(0o644)
    part.replace(target)


def _insist(path: Path, entry: FileEntry, place: str) -> None:
    difference = _difference(path, entry)
    if difference:
        raise SourceError(f"{place} {difference}")


def _difference(path: Path, entry: FileEntry) -> str | None:
    """How a file differs from what the catalogue says; None if it does not."""
    size = path.stat().st_size
    if size != entry.bytes:
        return f"has {size} bytes where {entry.bytes} are expected"
    algorithm, _, expected = entry.hash.partition(":")
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, algorithm).hexdigest()
    if digest != expected:
        return f"has {algorithm} {digest[:12]}... where {expected[:12]}... is expected"
    return None


def _reason(error: Exception) -> str:
    """The gist of an error; those of the network are wordy and nested."""
    text = _one_line(str(error)) or type(error).__name__
    found = re.search(r"\[Errno -?\d+\] ([^'\")]+)", text)
    if found and "HTTP" in text:
        host = re.search(r"host='([^']+)'", text)
        return f"{host[1]}: {found[1]}" if host else found[1]
    return text if len(text) <= 200 else f"{text[:197]}..."


def _one_line(text: str) -> str:
    return " ".join(text.split())
