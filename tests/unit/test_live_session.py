"""Alarms as events, and commands while it runs."""

import json
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from plants import NAMES, monitor, rows

from causaldq import Session, WatchSettings
from causaldq.errors import ConfigError
from causaldq.live.control import LONGEST, MOST, Control
from causaldq.live.hooks import TRIES, Hooks
from causaldq.live.records import Record, as_line
from causaldq.live.settings import OnAlarm, read_settings


def session(method: str = "bayes_posterior", **settings: object) -> Session:
    return Session(monitor(method), WatchSettings(**settings))  # type: ignore[arg-type]


def fed(made: Session, values: np.ndarray, first: int = 0) -> list[Record]:
    found = []
    for t, row in enumerate(values, start=first):
        found += made.row(dict(zip(NAMES, row, strict=True)), time=t)
    return found


def events(records: list[Record]) -> list[str]:
    return [record["event"] for record in records if record["kind"] == "event"]


FAULTY = rows(30, seed=1, fault=0)
NORMAL = rows(300, seed=2)


def test_an_alarm_is_raised_once_and_cleared_when_it_is_over() -> None:
    made = session(clear_after=7)
    records = fed(made, np.vstack([FAULTY, NORMAL]))
    assert events(records)[:2] == ["raised", "cleared"]
    raised, cleared = [r for r in records if r["kind"] == "event"][:2]
    assert raised["alarm"] == cleared["alarm"] == 1
    assert raised["statistic"] > raised["limit"]
    assert next(iter(raised["streams"])) == "level"
    below = [r for r in records if r["kind"] == "reading" and r["step"] <= cleared["step"]][-7:]
    assert not any(r["alarm"] for r in below)
    before = next(r for r in records if r.get("step") == cleared["step"] - 7)
    assert before["alarm"]


def test_after_an_alarm_it_may_begin_afresh() -> None:
    made = session(after="restart")
    records = fed(made, FAULTY)
    assert events(records)[0] == "raised"
    assert set(events(records)[1:]) == {"repeated"}
    assert {r["alarm"] for r in records if r["kind"] == "event"} == {1}
    readings = [r for r in records if r["kind"] == "reading"]
    alarms = [k for k, r in enumerate(readings) if r["alarm"]]
    assert len(alarms) > 1
    for k in alarms[:-1]:  # what a monitor says that has never seen a row
        fresh = monitor()
        fresh._streams = np.array([NAMES.index(name) for name in readings[k]["next"]])
        again = fresh.update(dict(zip(NAMES, FAULTY[k + 1], strict=True)))
        assert again.statistic == readings[k + 1]["statistic"]


def test_an_alarm_is_not_cleared_while_its_streams_are_not_read() -> None:
    """A statistic that nothing has come to is below the limit, and says nothing."""
    made = session(after="restart", clear_after=4)
    for row in FAULTY:
        fed(made, row[None])
        if made.alarm is not None:
            break
    assert made.alarm is not None
    for _ in range(20):
        assert events(made.row({})) == []
    made.alarm.record["streams"] = {"level": 1.0}
    others = [{"flow": 10.0}] * 20
    assert all(events(made.row(row)) == [] for row in others)
    made.command("without level")
    assert [event for row in others for event in events(made.row(row))] == ["cleared"], (
        "if it cannot be read, any reading counts"
    )


def test_an_alarm_may_be_the_end() -> None:
    made = session(after="stop")
    assert not made.ended
    fed(made, FAULTY)
    assert made.ended


def test_an_alarm_names_its_causes_and_their_paths() -> None:
    made = session("causal_sr")
    values = rows(40, seed=3)
    values[:, 1:] += 2 * np.array([20.0, 0.1, 0.5, 3.0, 0.2]) * 0.5 ** np.arange(5)
    raised = next(r for r in fed(made, values) if r["kind"] == "event")
    assert raised["causes"][0]["stream"] in NAMES
    paths = [path for cause in raised["causes"] for path in cause["paths"]]
    assert paths
    for path in paths:
        places = [NAMES.index(name) for name in path]
        assert places == list(range(places[0], places[0] + len(places))), "along the graph"
    json.loads(as_line(raised))


def test_commands_change_what_happens_and_are_told() -> None:
    made = session()
    assert events(made.command("acknowledge")) == ["refused"]
    fed(made, FAULTY)
    assert events(made.command("  acknowledge ")) == ["acknowledged"]
    assert events(made.command("acknowledge")) == ["refused"]
    assert events(made.command("reset")) == ["cleared", "reset"]
    assert made.alarm is None
    assert events(made.command("without level")) == ["without"]
    assert all("level" not in r["next"] for r in fed(made, NORMAL[:50]) if r["kind"] == "reading")
    assert events(made.command("without level")) == ["refused"]
    assert events(made.command("with level")) == ["with"]
    assert any("level" in r["next"] for r in fed(made, NORMAL[:50]) if r["kind"] == "reading")
    assert events(made.command("maintenance on")) == ["maintenance on"]
    step = made.monitor.step
    assert {r["reason"] for r in fed(made, FAULTY)} == {"maintenance"}
    assert made.monitor.step == step
    assert events(made.command("maintenance on")) == ["refused"]
    assert events(made.command("maintenance off")) == ["maintenance off"]
    assert events(fed(made, NORMAL[:20])) == []


@pytest.mark.parametrize(
    "text",
    [
        "stop", "", "reset now", "acknowledge 1", "without", "without pressure", "with level",
        "with", "maintenance", "maintenance maybe", "RESET", "rm -rf /", "reset\x00", "é",
        "\x1b[2J", "without level; with level", "__import__('os')", "x" * 5000,
    ],
)  # fmt: skip
def test_a_command_that_is_none_is_refused_and_changes_nothing(text: str) -> None:
    made = session()
    before = json.dumps(made.snapshot()[0])
    (record,) = made.command(text)
    assert record["event"] == "refused"
    assert record["detail"].isprintable()
    assert len(record["detail"]) < 300
    assert json.dumps(made.snapshot()[0]) == before


def test_all_sensors_but_one_can_be_left_out() -> None:
    made = session()
    for name in NAMES[:-1]:
        assert events(made.command(f"without {name}")) == ["without"]
    assert made.next == [NAMES[-1]]
    assert events(made.command(f"without {NAMES[-1]}")) == ["refused"]
    assert all(r["read"] == [NAMES[-1]] for r in fed(made, NORMAL[:5]))


# --- the control file ----------------------------------------------------------------------------


def test_commands_come_from_the_end_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "control"
    path.write_text("reset\n")
    control = Control(path)
    assert control.take() == [], "what stood there before is not for this run"
    with path.open("a") as handle:
        handle.write("acknowledge\nwithout le")
    assert control.take() == ["acknowledge"]
    with path.open("a") as handle:
        handle.write("vel\n\n   \nwith level\n")
    assert control.take() == ["without level", "with level"]
    assert control.take() == []
    path.write_text("reset\n")
    assert control.take() == ["reset"], "a file that was emptied begins again"
    path.unlink()
    assert control.take() == []


@pytest.mark.parametrize(
    ("content", "count"),
    [(b"\xff\xfe\x00\n", 1), (b"x" * (MOST + 5), 1), (b"x" * 5000 + b"\n", 1), (b"\n" * 50, 0)],
)
def test_a_control_file_of_rubbish_does_no_harm(tmp_path: Path, content: bytes, count: int) -> None:
    path = tmp_path / "control"
    control = Control(path)
    path.write_bytes(content)
    found = control.take()
    assert len(found) == count
    assert all(len(text) <= LONGEST for text in found)


def test_a_control_file_that_is_a_folder_gives_nothing(tmp_path: Path) -> None:
    assert Control(tmp_path).take() == []
    assert Control(tmp_path / "none").take() == []


# --- who is told ---------------------------------------------------------------------------------


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[bytes]]]:
    got: list[bytes] = []

    class Takes(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Takes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", got
    server.shutdown()
    server.server_close()


def test_a_command_and_an_address_get_the_event(
    tmp_path: Path, receiver: tuple[str, list[bytes]]
) -> None:
    address, got = receiver
    target = tmp_path / "told; touch danger"
    code = "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read())"
    told: list[str] = []
    settings = OnAlarm(command=[sys.executable, "-c", code, str(target)], webhook=address)
    hooks = Hooks(settings, told.append)
    made = session(after="restart")
    made.command("without level")
    made.command("with level")
    records = fed(made, FAULTY)
    for record in records:
        hooks.write(record)
    hooks.close()
    wanted = [record for record in records if record["kind"] == "event"]
    assert [json.loads(text) for text in target.read_text().splitlines()] == wanted
    assert [json.loads(text) for text in got] == wanted
    assert told == []


def test_what_cannot_be_told_is_said_and_the_watch_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    settings = OnAlarm(command=[str(tmp_path / "none")], webhook="http://127.0.0.1:9/")
    hooks = Hooks(settings, told.append)
    hooks.write({"event": "raised"})
    hooks.close()
    assert [text.split(" failed")[0] for text in told] == ["on_alarm.command", "on_alarm.webhook"]
    assert f"{TRIES} times" in told[0]


def test_an_answer_that_is_no_http_does_not_end_the_telling() -> None:
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for _ in range(2 * TRIES):
                with server.accept()[0] as one:
                    one.recv(1 << 16)
                    one.sendall(b"garbage\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        hooks = Hooks(OnAlarm(webhook=address), told.append)
        for _ in range(2):
            hooks.write({"event": "raised"})
        hooks.close()
    assert [text.split(":")[0] for text in told] == [f"on_alarm.webhook failed {TRIES} times"] * 2


# --- settings ------------------------------------------------------------------------------------


def test_settings_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plant.toml"
    path.write_text(
        'after = "restart"\nclear_after = 5\nevery = 60\n[sensors]\nalways = ["flow"]\nbudget = 4\n'
        "[sensors.cost]\npurity = 2\n[sensors.ranges]\nlevel = [0, 10]\n"
        '[on_alarm]\ncommand = ["mail", "shift"]\n'
    )
    found = read_settings(path)
    assert (found.after, found.clear_after, found.every) == ("restart", 5, 60.0)
    assert found.sensors.ranges == {"level": (0.0, 10.0)}
    assert found.on_alarm.command == ["mail", "shift"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("after = 'never'", "after: input should be"),
        (
            "aftr = 'stop'",
            "aftr: extra inputs are not permitted; the settings are after, clear_after",
        ),
        ("clear_after = 0", "clear_after"),
        ("[sensors]\nmoves = 1.5", "sensors.moves"),
        ("[sensors]\nranges = {level = [1]}", "sensors.ranges.level"),
        ("[sensors]\ncost = {level = -1}", "sensors.cost.level"),
        ("[on_alarm]\ncommand = 'mail shift'", "on_alarm.command"),
        ("[on_alarm]\nwebhook = 'file:///etc/passwd'", "on_alarm.webhook"),
        ("[on_alarm]\nwebhook = 'http://127.0.0.1/my alarm'", "on_alarm.webhook"),
        ("every = nan", "no TOML"),
        ("after = ", "no TOML"),
        ("after = 2026-01-01", "no TOML"),
        ("\x00", "no TOML"),
    ],
)
def test_settings_that_are_wrong_are_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "plant.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_settings(path)


def test_a_command_that_fails_is_said() -> None:
    told: list[str] = []
    hooks = Hooks(OnAlarm(command=[sys.executable, "-c", "raise SystemExit(3)"]), told.append)
    hooks.write({"event": "raised"})
    hooks.close()
    (text,) = told
    assert text.startswith(f"on_alarm.command failed {TRIES} times")
    assert "exit status 3" in text
