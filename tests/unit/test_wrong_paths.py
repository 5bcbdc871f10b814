"""Whatever path a command is given: an answer, or one line and status 1."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from causaldq.__main__ import app

ROOT = Path(__file__).parents[2]
BINARY = b"\0\xff\xfe"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a little of everything, to which paths are relative."""
    (tmp_path / "binary").write_bytes(BINARY)
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "config").mkdir()
    for name in ("defaults", "ci"):
        (tmp_path / f"config/{name}.yaml").write_bytes((ROOT / f"config/{name}.yaml").read_bytes())
    (tmp_path / "config/binary.yaml").write_bytes(BINARY)
    (tmp_path / "config/deep.yaml").write_text("[" * 5000)
    (tmp_path / "config/folder.yaml").mkdir()
    results = tmp_path / "results/broken"
    (results / "records/a.json").mkdir(parents=True)
    (results / "records/b.json").write_bytes(BINARY)
    (results / "records/c.json").write_text("[" * 100_000)
    for name in ("add", "claims", "graphs"):
        (results / f"{name}.csv").write_bytes(BINARY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


PATHS = (
    *(
        "nosuch",
        "nosuch/a/b",
        "binary",
        "binary/below",
        "empty",
        "folder",
        "dangling",
        ".",
        "..",
        "/",
    ),
    *("results", "results/broken", "results/broken/add.csv", "results/broken/records/a.json"),
)
COMMANDS = [
    *(["trace", path] for path in PATHS),
    *(["trace", path, "--cell", "greedy"] for path in PATHS),
    *(["replay", path] for path in PATHS),
    *(["resources", path] for path in PATHS),
    *(["missing", path] for path in PATHS),
    *(["diff", path, "results/broken"] for path in PATHS),
    *(["readme", path, "--scenario", "p10", "--file", "empty"] for path in PATHS),
    *(
        ["readme", str(ROOT / "results/paper"), "--scenario", "p50", "--file", path]
        for path in PATHS
    ),
    *(["check", profile] for profile in ("nosuch", "binary", "deep", "folder", "defaults")),
    *(["check", "ci", "--folder", path] for path in PATHS),
    *(["watch", path] for path in PATHS),
    *(["inspect", path, "--write", "out"] for path in PATHS),
    *(["fit", path, "--table", path, "--sensors", "2", "-o", "out"] for path in PATHS),
    *(["watch", path, "--table", path] for path in PATHS),
    *(["fit", path, "--sensors", "2", "-o", "out"] for path in PATHS),
    *(["crate", path, "--profile", "broken"] for path in PATHS),
    *(["example", path] for path in ("folder", "binary/below", "/proc/nosuch/a.csv")),
    *(["verify", path] for path in PATHS if "broken" not in path),
]


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_wrong_path_is_one_line(command: list[str]) -> None:
    done = CliRunner().invoke(app, command)
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 1
    (line,) = (done.output.strip() or str(done.exception)).splitlines()
    name, _, text = line.partition(": ")
    assert name in ("DataError", "ConfigError")
    assert len(text) > 10


@pytest.mark.usefixtures("place")
def test_nothing_is_written_on_the_way(place: Path) -> None:
    before = sorted(os.walk(place))
    for command in COMMANDS:
        CliRunner().invoke(app, command)
    assert sorted(os.walk(place)) == before
    assert (place / "empty").read_bytes() == b""
