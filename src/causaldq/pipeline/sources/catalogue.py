"""The catalogue of data sets: data/sources.yaml, typed."""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import Field, ValidationError

from causaldq.errors import DataError
from causaldq.setting import Count, Name, Settings

Digest = Annotated[str, Field(pattern=r"^(md5:[0-9a-f]{32}|sha256:[0-9a-f]{64})$")]
FileName = Annotated[str, Field(pattern=r"^[^/\\.][^/\\]*$")]


class FileEntry(Settings):
    """One file of a data set."""

    bytes: Annotated[Count, Field(description="its size")]
    hash: Annotated[Digest, Field(description="md5:... or sha256:..., of the whole file")]
    addresses: Annotated[
        list[str],
        Field(
            default_factory=list,
            description="where the publisher has it: http(s) addresses, or doi:<DOI>/<file>",
        ),
    ]


class Package(Settings):
    """An installed Python package that carries the files."""

    name: str
    version: str
    folder: Annotated[str, Field(description="where in site-packages the files are")]


class FileSet(Settings):
    """The part of a data set that decides what is fetched: who has its files, and their hashes."""

    obtained: Annotated[
        Literal["fetched", "given", "made"],
        Field(description="by this project; by the user, who gives a path; or made here"),
    ]
    package: Package | None = None
    mirror: Annotated[str | None, Field(description="its folder in a mirror")] = None
    remedy: Annotated[str | None, Field(description="what to do when it cannot be had")] = None
    files: Annotated[dict[FileName, FileEntry], Field(default_factory=dict)]


class Credits(Settings):
    """The part of a data set that is shown beside results made from it."""

    title: str
    address: Annotated[str | None, Field(description="the publisher's page")]
    licence: str


P = TypeVar("P", FileSet, Credits)


class DataSet(FileSet, Credits):
    """One data set: what it is, who has it, and how to recognise its files."""

    what: Annotated[str, Field(description="content, in a sentence or two")]
    version: str
    size: Annotated[str, Field(description="for people; `files` has the bytes")]
    citation: str

    def part(self, kind: type[P]) -> P:
        """What one of its parts says, so that a job is given no more than it uses."""
        return kind.model_validate(self.model_dump(include=set(kind.model_fields)))


class Catalogue(Settings):
    """All data sets by name."""

    sets: Annotated[dict[Name, DataSet], Field(min_length=1)]

    def __getitem__(self, name: str) -> DataSet:
        if name not in self.sets:
            raise DataError(
                f"there is no data set {name!r} in data/sources.yaml; it has {', '.join(self.sets)}"
            )
        return self.sets[name]


def read_catalogue(path: Path) -> Catalogue:
    """The catalogue in `path`, or one line about what is wrong with it."""
    try:
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; it belongs to the project") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    try:
        return Catalogue.model_validate({"sets": content})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        reason = " ".join(first["msg"].split())
        raise DataError(f"{path}, {place or 'top level'}: {reason}") from None
