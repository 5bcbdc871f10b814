"""What git says of the project's folder."""

import os
import shutil
import subprocess
from pathlib import Path

CODE_PLACES = (
    *("Snakefile", "workflow", "scripts", "src", "config", "data", "notebooks"),
    *("pyproject.toml", "requirements.lock"),
)
"""What a commit must hold for its results to be made again."""

_ELSEWHERE = ("DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "COMMON_DIR", "NAMESPACE")


def environment() -> dict[str, str]:
    """That of git: it looks at the folder it is called in, and at objects as they were stored."""
    others = {f"GIT_{name}" for name in (*_ELSEWHERE, "ALTERNATE_OBJECT_DIRECTORIES")}
    kept = {key: value for key, value in os.environ.items() if key not in others}
    return kept | {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0"}


def git(root: Path, *arguments: str) -> str | None:
    """What git says; None if it fails, as it does where there is no repository."""
    try:
        done = subprocess.run(
            ["git", "-c", "core.fsmonitor=false", *arguments],
            cwd=root,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


def head(root: Path) -> str | None:
    """The commit at hand; None if the project is no repository of its own.

    Unpacked inside another repository, it must not pass that one's commits off as its own.
    """
    told = git(root, "rev-parse", "--show-toplevel", "HEAD")
    if told is None:
        return None
    top, commit = told.rsplit("\n", 2)[:2]
    return commit if Path(top).resolve() == root.resolve() else None


def git_state(root: Path) -> tuple[str | None, bool | None]:
    """The commit, and whether the code at hand differs from it."""
    commit = head(root)
    if commit is None:
        return None, None
    changes = git(root, "status", "--porcelain", "--", *CODE_PLACES)
    return commit, None if changes is None else bool(changes)


def told(root: Path) -> dict[str, str]:
    """What a user has told once of who runs jobs and where: causaldq.operator, causaldq.host."""
    lines = (git(root, "config", "--get-regexp", r"^causaldq\.") or "").splitlines()
    pairs = (line.partition(" ") for line in lines)
    return {key.removeprefix("causaldq."): value for key, _, value in pairs if value}


def tell(root: Path, what: str, value: str) -> None:
    """Keep it for the next time, where there is a repository to keep it in."""
    git(root, "config", "--local", f"causaldq.{what}", value)


def is_in_history(root: Path, commit: str) -> bool:
    """Whether the commit at hand is this one or comes after it."""
    return git(root, "merge-base", "--is-ancestor", f"{commit}^{{commit}}", "HEAD") is not None


def lay_out(root: Path, commit: str, folder: Path, places: tuple[str, ...] = CODE_PLACES) -> bool:
    """Put files of a commit into a folder; whether the commit has any of them."""
    listed = git(root, "ls-tree", "-z", "--name-only", commit, "--", *places)
    names = [name for name in (listed or "").split("\0") if name]
    if not names:
        return False
    archive = subprocess.Popen(
        ["git", "archive", commit, "--", *names],
        cwd=root,
        env=environment(),
        stdout=subprocess.PIPE,
    )
    subprocess.run(["tar", "-x"], cwd=folder, stdin=archive.stdout, check=True)
    return archive.wait() == 0


def copy_code(root: Path, folder: Path) -> None:
    """Put the project's own code, as it is now, into a folder."""
    for name in CODE_PLACES:
        source = root / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "raw", "*.egg-info")
            shutil.copytree(source, folder / name, ignore=ignored)
        elif source.is_file():
            shutil.copy2(source, folder / name)
