"""What dvc.lock says of each stage's outputs. Other tools write it, and merges may break it."""

from pathlib import Path, PurePosixPath
from typing import Annotated

import yaml
from pydantic import AfterValidator, BaseModel, ValidationError

from causaldq.errors import DataError
from causaldq.files import one_line

REMEDY = "restore it from git, or delete it and run dvc repro"


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts:
        raise ValueError(f"{path!r} lies outside the project")
    return path


class Output(BaseModel):
    """A file or folder that a stage made."""

    path: Annotated[str, AfterValidator(_inside)]
    md5: str


class Stage(BaseModel):
    outs: list[Output] = []


class _Lock(BaseModel):
    stages: dict[str, Stage] = {}


def locked_stages(lock: Path) -> dict[str, Stage]:
    """The stages of a dvc.lock by name; none if there is no such file.

    Raises
    ------
    DataError
        If the file is not one that DVC has written.
    """
    try:
        content = yaml.safe_load(lock.read_bytes())
        return _Lock.model_validate(content).stages
    except FileNotFoundError:
        return {}
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "top level"
        reason = f"{place}: {first['msg']}"
    except (OSError, yaml.YAMLError, ValueError, RecursionError) as error:
        reason = one_line(error)
    raise DataError(f"{lock} is damaged ({reason[:200]}); {REMEDY}")
