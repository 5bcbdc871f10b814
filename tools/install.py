"""Make .venv from requirements.lock: every package exactly, every file checked by its hash.

Any Python 3 can start this: it looks for one that will do and goes on with that. Nothing is
done where .venv is what the lock says. One that is not, or that was left half made, is made
anew; what was downloaded before comes from a cache.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "installed"
LOCK = ROOT / "requirements.lock"
CUDA_LOCK = ROOT / "requirements-cuda.lock"
OLDEST = (3, 11)
CANDIDATES = ("python3.13", "python3.12", "python3.11", "python3")
TOOLS = ("setuptools", "uv")
"""What installs the rest."""
ROOM = 2.2e9
"""Bytes that .venv takes, and a little more."""
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""PyTorch's own index of builds without CUDA; for Linux, PyPI has only one with CUDA."""
IMPATIENT = {"UV_HTTP_TIMEOUT": "5", "UV_HTTP_RETRIES": "0"}
UV_NAMES = {
    "UV_INDEX_URL": ("index-url", " "),
    "UV_EXTRA_INDEX_URL": ("extra-index-url", " "),
    "UV_FIND_LINKS": ("find-links", ","),
    "UV_INSECURE_HOST": ("trusted-host", " "),
    "SSL_CERT_FILE": ("cert", " "),
}
"""What uv calls the settings of pip, and what stands between two values."""
FAILED = """\
Failed: {command}
The lines above say why. Packages come from PyPI, or from what `pip config list` names: can that
be reached from here? Nothing is lost; the next call begins again with what was downloaded."""
CUDA_NOTE = """\
torch without CUDA cannot be had here: no wheel folder that pip knows has it for this Python, and
PyTorch's own index of CPU builds does not answer. So it is torch with CUDA, which needs no graphics
card but room: 2.7 GB to download, 4.5 GB on disk. To avoid that, stop now (Ctrl-C), put
{wheel} into a folder, and start again with
PIP_FIND_LINKS=<that folder>. Installing torch with CUDA ..."""


def main() -> int:
    """Install what is missing; the exit status."""
    wanted = wanted_state()
    if wanted.items() <= state().items():
        return 0
    if "--chosen" not in sys.argv:
        python = choose(wanted.get("python"))
        os.execv(python, [python, str(Path(__file__)), "--chosen"])
    with LOCK.open() as held:
        # Two calls at once: the second waits, and finds nothing to do.
        try:
            wait_for_others(held)
            bring_up_to_date(wanted)
        except subprocess.CalledProcessError as error:
            raise SystemExit(FAILED.format(command=" ".join(error.cmd))) from None
        except OSError as error:
            raise SystemExit(f"Failed: {error}") from None
        except KeyboardInterrupt:
            raise SystemExit("Stopped; the next call begins again.") from None
    return 0


def wait_for_others(held: IO[str]) -> None:
    """Take the lock; where the file system has none, nothing is waited for."""
    with contextlib.suppress(OSError):
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Somebody else is installing here; waiting for that to end ...")
            fcntl.flock(held, fcntl.LOCK_EX)


def bring_up_to_date(wanted: dict[str, str]) -> None:
    """Make the environment anew, or only describe the package to it again."""
    begin, found = time.monotonic(), state()
    changed = {name for name, value in wanted.items() if found.get(name) != value}
    if not changed:
        return
    STAMP.unlink(missing_ok=True)
    if changed != {"project"}:
        make_environment()
    # Built with what is installed by now, so that no build tool comes without a hash.
    isolated = ["--no-index", "--no-deps", "--no-build-isolation"]
    pip("install", "--quiet", *isolated, "--editable", str(ROOT))
    uv("check", "--quiet")
    STAMP.write_text(json.dumps({"python": "", **wanted}))
    say(f"The environment is ready after {time.monotonic() - begin:.0f} s.")


# --- what is there, and what should be -----------------------------------------------------


def wanted_state() -> dict[str, str]:
    """What .venv depends on: its place, the locks, the package's own description, and Python."""

    def digest(*files: Path) -> str:
        return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()

    given = os.environ.get("PYTHON")
    return {
        "place": str(VENV),
        "lock": digest(LOCK, CUDA_LOCK),
        "project": digest(ROOT / "pyproject.toml"),
        **({"python": given} if given else {}),
    }


def state() -> dict[str, str]:
    """What .venv was made from; nothing if it is not whole, not ours, or its Python is gone."""
    try:
        found: dict[str, str] = json.loads(STAMP.read_text())
        ours = found["place"] == str(VENV)
        tried = [venv_bin("python"), "-c", "import causaldq"]
        works = subprocess.call(tried, stderr=subprocess.DEVNULL) == 0
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return found if ours and works else {}


def choose(given: str | None) -> str:
    """The newest Python that will do; ends with one line on the remedy if there is none."""
    lacking = None
    # Not the one of the environment itself, if that is activated: it may be made anew.
    folders = os.environ.get("PATH", "").split(os.pathsep)
    outside = os.pathsep.join(folder for folder in folders if Path(folder) != VENV / "bin")
    for name in [given] if given else CANDIDATES:
        path = shutil.which(name, path=outside)
        if not path:
            continue
        # Asked in a process of its own: what has the name need not be a Python that starts.
        asked = subprocess.run(
            [path, "-c", "import sys; print(*sys.version_info[:2]); import ensurepip, venv"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        version = tuple(map(int, asked.stdout.split()))
        if version < OLDEST:
            continue
        if asked.returncode == 0:
            return path
        lacking = lacking or ".".join(map(str, version))
    if lacking:
        raise SystemExit(
            f"Python {lacking} is here without its venv module. "
            f"On Debian and Ubuntu: apt-get install python{lacking}-venv"
        )
    needed = "Causal DQ needs Python {}.{} or later".format(*OLDEST)
    if given:
        raise SystemExit(f"{needed}; {given} is not.")
    raise SystemExit(
        f"{needed}, and none is on the path. "
        "On Debian and Ubuntu: apt-get install python3 python3-venv"
    )


# --- installing ----------------------------------------------------------------------------


def make_environment() -> None:
    """An empty .venv, and all of the lock in it."""
    packages = entries(LOCK.read_text())
    say(f"Making .venv with Python {platform.python_version()} ...")
    if VENV.is_symlink():
        VENV.unlink()  # an environment that others use
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    if (free := shutil.disk_usage(VENV).free) < ROOM:
        raise SystemExit(
            f"Too little room in {ROOT}: .venv takes {ROOM / 1e9:.1f} GB,"
            f" {free / 1e9:.1f} GB are free."
        )
    pip("install", "--quiet", *locked([packages.pop(name) for name in TOOLS]))
    install_torch(packages.pop("torch"))
    say(f"Installing {len(packages)} packages of {LOCK.name} (330 MB; a minute or less) ...")
    install(list(packages.values()), "--quiet")


def install_torch(entry: str) -> None:
    """Torch without CUDA where it can be had; else with CUDA, after a word on what that takes."""
    shown = [] if sys.stderr.isatty() else ["--quiet"]
    if platform.system() != "Linux":
        install([entry], *shown)
        return
    # Only builds without CUDA call themselves so; their hashes are in the same entry.
    cpu = re.sub(r"==([\w.]+)", r"==\1+cpu", entry)
    places = {
        "a wheel folder that pip knows": ["--no-index"],
        "PyTorch's own index of CPU builds": ["--index-url", CPU_INDEX],
    }
    for place, options in places.items():
        try:
            uv("install", "--dry-run", *locked([cpu]), *options, more=IMPATIENT)
            say(f"Installing torch without CUDA from {place} (190 MB) ...")
            install([cpu], *options, *shown)
        except subprocess.CalledProcessError:
            continue
        return
    python = "cp{}{}".format(*sys.version_info[:2])
    version = re.sub(r"==(\S+).*", r"-\1", cpu.splitlines()[0])
    say(CUDA_NOTE.format(wheel=f"{version}-{python}-{python}-*_{platform.machine()}.whl"))
    install([entry, *entries(CUDA_LOCK.read_text()).values()], *shown)


def install(packages: list[str], *options: str) -> None:
    """Install entries of a lock by uv, which takes a tenth of the time, or else by pip."""
    try:
        uv("install", *locked(packages), *options)
    except subprocess.CalledProcessError:
        say("uv could not do it; pip tries the same, which may take five minutes ...")
        # What uv left half installed looks whole to pip.
        pip("install", "--ignore-installed", *locked(packages), *options)


def locked(packages: list[str]) -> list[str]:
    """Options to install exactly these: the lock is complete, so nothing is left to resolve."""
    file = VENV / "installing.txt"
    file.write_text("\n".join(packages) + "\n")
    return ["--require-hashes", "--no-deps", "--no-build-isolation", "--requirement", str(file)]


def entries(lock: str) -> dict[str, str]:
    """The entries of a lock by name, each with its hashes."""
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", lock.strip()):
        if not entry.startswith("#"):
            name = re.split(r"[^\w.-]", entry)[0]
            # A package has several if Pythons or platforms differ.
            found[name] = f"{found[name]}\n{entry}" if name in found else entry
    return found


def pip(*arguments: str) -> None:
    """Run pip of the environment."""
    # pip of Debian 12 would otherwise build in a way that setuptools no longer knows.
    cache = {} if can_cache() else {"PIP_NO_CACHE_DIR": "1"}
    run(["python", "-m", "pip", *arguments], {"PIP_USE_PEP517": "1", **cache})


def uv(verb: str, *arguments: str, more: dict[str, str] | None = None) -> None:
    """Run uv of the environment, told what pip is told."""
    python = venv_bin("python")
    settings = uv_settings(python) | (more or {})
    dry = "--dry-run" in arguments
    run(["uv", "pip", verb, "--python", python, *arguments], settings, silent=dry)


@functools.lru_cache
def uv_settings(python: str) -> dict[str, str]:
    """Where pip looks for packages and whom it trusts, by the names that uv has for it."""
    listed = subprocess.run(
        [python, "-m", "pip", "config", "list"], capture_output=True, text=True
    ).stdout
    told = dict(re.findall(r"^(?:global|install|:env:)\.([\w-]+)='(.*)'$", listed, re.MULTILINE))
    # The best match among all indexes, as with pip: a file of the wrong one has the wrong hash.
    found = {"UV_SYSTEM_CERTS": "1", "UV_INDEX_STRATEGY": "unsafe-best-match"}
    for name, (key, separator) in UV_NAMES.items():
        if key in told:
            found[name] = separator.join(told[key].replace("\\n", " ").split())
    if not can_cache():
        found["UV_NO_CACHE"] = "1"
    return {name: value for name, value in found.items() if name not in os.environ}


def can_cache() -> bool:
    """Whether downloads can be kept: a user made for a container often has no home."""
    place = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(place, os.W_OK)


def run(command: list[str], more: dict[str, str], silent: bool = False) -> None:
    """Run a command of the environment; raises if it fails."""
    output = subprocess.DEVNULL if silent else None
    command = [venv_bin(command[0]), *command[1:]]
    subprocess.run(command, env={**os.environ, **more}, check=True, stdout=output, stderr=output)


def venv_bin(name: str) -> str:
    return str(VENV / "bin" / name)


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
