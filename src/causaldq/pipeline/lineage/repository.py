"""What git says of the project's folder."""

import io
import os
import shutil
import subprocess
from pathlib import Path

LINK, PROGRAM = "120000", "100755"
"""Modes of files, as git tells them."""
CODE_PLACES = (
    *("Snakefile", "workflow", "scripts", "src", "config", "data", "notebooks"),
    *("pyproject.toml", "requirements.lock"),
)
"""What a commit must hold for its results to be made again."""

_KEPT = ("GIT_CONFIG", "GIT_EXEC_PATH")
"""How git itself is set up, such as which folders it may look at."""


def environment() -> dict[str, str]:
    """That of git: it looks at the folder it is called in, and at objects as they were stored."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k.startswith(_KEPT)}
    as_stored = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": os.devnull}
    return kept | as_stored | {"GIT_OPTIONAL_LOCKS": "0"}


GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.commitGraph=false")
"""Without the notes on commits and files that git keeps beside them, and believes."""


def git(root: Path, *arguments: str) -> str | None:
    """What git says; None if it fails, as it does where there is no repository."""
    try:
        done = subprocess.run(
            [*GIT, *arguments],
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
    """Put files of a commit into a folder; whether the commit has any of them.

    As they were stored: attributes, by which an archive leaves out or rewrites files, have no say.
    """
    listed = git(root, "ls-tree", "-r", "-z", commit, "--", *places)
    entries = [line.split("\t", 1) for line in (listed or "").split("\0") if line]
    files = [(*facts.split()[::2], name) for facts, name in entries if " blob " in facts]
    if not files or any(".." in name.split("/") for _, _, name in files):
        return False
    # Links last, so that nothing is written through one.
    files.sort(key=lambda file: file[0] == LINK)
    wanted = "".join(f"{blob}\n" for _, blob, _ in files).encode()
    told = subprocess.run(
        [*GIT, "cat-file", "--batch"], cwd=root, env=environment(), input=wanted,
        capture_output=True, check=True,
    )  # fmt: skip
    stream = io.BytesIO(told.stdout)
    for mode, _, name in files:
        content = stream.read(int(stream.readline().split()[2]))
        stream.read(1)
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if mode == LINK:
            place.symlink_to(content.decode())
        else:
            place.write_bytes(content)
            place.chmod(0o755 if mode == PROGRAM else 0o644)
    return True


def copy_code(root: Path, folder: Path) -> None:
    """Put the project's own code, as it is now, into a folder."""
    for name in CODE_PLACES:
        source = root / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "raw", "*.egg-info")
            shutil.copytree(source, folder / name, ignore=ignored)
        elif source.is_file():
            shutil.copy2(source, folder / name)
