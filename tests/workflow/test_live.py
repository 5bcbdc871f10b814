"""The live page in a browser, and a watch by MQTT: a fault is seen, acknowledged and cleared."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Browser, chromium

ROOT = Path(__file__).parents[2]
MOSQUITTO = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
PATIENCE = 1800.0
TOKEN = "for this test alone"
pytestmark = pytest.mark.workflow


def causaldq(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "causaldq", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def until(found: Callable[[], Any], what: str) -> Any:
    """Wait for something to come true; how long it takes is no part of the test."""
    deadline = time.monotonic() + PATIENCE
    while not (value := found()):
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.05)
    return value


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example and a monitor that weighs root causes."""
    folder = tmp_path_factory.mktemp("plant")
    causaldq(folder, "example", "plant.csv")
    fit = ["--sensors", "3", "--normal", "1:700", "--time", "minute", "--arl0", "500"]
    causaldq(folder, "fit", "plant.csv", *fit, "--method", "causal_sr", "-o", "plant.monitor")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with chromium() as started:
        yield started


@contextmanager
def watching(plant: Path, folder: Path, token: str = "") -> Iterator[tuple[str, Path]]:
    """A watch with a page on a file that rows are appended to; its address and the file."""
    rows = folder / "rows.csv"
    rows.write_text("".join((plant / "plant.csv").read_text().splitlines(True)[:1]))
    command = [
        *(sys.executable, "-m", "causaldq", "watch", str(plant / "plant.monitor"), str(rows)),
        *("--time", "minute", "--page", "0", "--output", str(folder / "out.jsonl"), "--json"),
    ]
    said = (folder / "said").open("w+")
    process = subprocess.Popen(
        command, stderr=said, env={**os.environ, "CAUSALDQ_TOKEN": token}, cwd=folder
    )
    try:
        line = until(
            lambda: re.search(r"page: (http://127\.0\.0\.1:\d+/)", (folder / "said").read_text()),
            "the page's address",
        )
        yield line[1], rows
    finally:
        process.terminate()
        assert process.wait(PATIENCE) in (0, 3)
        said.close()


def append(rows: Path, plant: Path, first: int, last: int) -> None:
    lines = (plant / "plant.csv").read_text().splitlines(True)[first + 1 : last + 1]
    with rows.open("a") as handle:
        handle.writelines(lines)


def post(address: str, body: bytes, token: str | None) -> int:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(address + "command", body, headers, method="POST")
    try:
        return int(urllib.request.urlopen(request, timeout=PATIENCE).status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_fault_is_seen_on_the_page_and_acknowledged_by_keyboard(
    plant: Path, tmp_path: Path, browser: Browser
) -> None:
    with watching(plant, tmp_path, TOKEN) as (address, rows):
        page = browser.open(address)

        def text(query: str) -> str:
            return str(page.evaluate(f"document.querySelector({query!r}).textContent"))

        append(rows, plant, 700, 790)
        bad = (plant / "plant.csv").read_text().splitlines()[791].split(",")
        with rows.open("a") as handle:
            handle.write(",".join([bad[0], *[""] * 8]) + "\n")
        until(lambda: "row 91, time 790; no alarm" in text("#status"), "the rows before the fault")
        assert page.evaluate("document.querySelectorAll('#sensors tbody tr').length") == 8
        assert page.evaluate("document.querySelectorAll('#sensors path.missing').length") == 3
        assert len(text("#next").split("_")) > 1
        append(rows, plant, 791, 880)
        until(lambda: "there is an alarm" in text("#status"), "the alarm")
        until(lambda: "reactor_temperature" in text("#causes"), "the suspected cause")
        assert page.barriers() == []
        assert text("#alert").startswith("Alarm 1: statistic")
        assert page.evaluate("document.querySelector('#alert').getAttribute('role')") == "alert"
        graph = page.evaluate(
            "(() => { const heads = [...document.querySelectorAll('#graph marker path')];"
            "const edges = [...document.querySelectorAll('#graph .edge')];"
            "const boxes = [...document.querySelectorAll('#graph .node rect')].map("
            "  (r) => r.getBoundingClientRect());"
            "return { heads: heads.length, edges: edges.length, ends: edges.filter("
            "  (e) => e.getAttribute('marker-end').startsWith('url(#head')).length,"
            "  covered: edges.filter((e) => { const p = e.getPointAtLength(e.getTotalLength() - 4)"
            "    .matrixTransform(e.getScreenCTM()); return boxes.some((b) => p.x > b.left && p.x <"
            "    b.right && p.y > b.top && p.y < b.bottom); }).length,"
            "  cause: document.querySelector('#graph .node.cause').textContent }; })()"
        )
        assert graph["edges"] == graph["ends"] > 0
        assert graph["covered"] == 0, "every arrowhead can be seen"
        assert graph["cause"] == "reactor_temperature"
        # To the form by the tabulator alone, and off it goes.
        for _ in range(30):
            page.press("Tab")
            if page.evaluate("document.activeElement.id") == "token":
                break
        else:
            pytest.fail("the form cannot be reached by keyboard")
        page.evaluate(f"document.getElementById('token').value = {TOKEN!r}")
        page.evaluate("document.getElementById('command').value = 'acknowledge'")
        page.evaluate("document.getElementById('form').requestSubmit()")
        until(lambda: "(acknowledged)" in text("#alert"), "the acknowledgement")
        assert "acknowledged" in text("#events tbody tr")
        unnamed = page.evaluate(
            "[...document.querySelectorAll('svg[role=img]')].filter((e) =>"
            " !e.getAttribute('aria-label')).length + [...document.querySelectorAll('input')]"
            ".filter((e) => !e.labels.length).length"
        )
        assert unnamed == 0
        phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        browser.call("Emulation.setDeviceMetricsOverride", phone, page)
        until(
            lambda: page.evaluate(
                "Math.min(...[...document.querySelectorAll('#statistic text')].map("
                "  (e) => e.getBoundingClientRect().height)) > 11"
            ),
            "words that can be read on a phone",
        )
        browser.call("Emulation.clearDeviceMetricsOverride", page=page)
        assert page.complaints == []
        assert all(url.startswith(address) for url in page.outside)
        if folder := os.environ.get("CAUSALDQ_PICTURES"):
            page.evaluate("window.scrollTo(0, 0)")
            page.picture(Path(folder) / "live.png")
    events = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    raised = next(e for e in events if e.get("event") == "raised")
    assert 800 <= int(raised["time"]) < 830


def test_the_page_is_read_only_without_a_token(plant: Path, tmp_path: Path) -> None:
    with watching(plant, tmp_path) as (address, rows):
        assert post(address, b'{"command": "reset"}', None) == 403
        assert post(address, b'{"command": "reset"}', "") == 403
        stolen = urllib.request.Request(address, headers={"Host": "elsewhere.example"})
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(stolen, timeout=PATIENCE)
        append(rows, plant, 0, 20)
        metrics = until(lambda: _metrics(address).get("causaldq_rows_total") == 20, "the metrics")
        assert metrics
        assert _metrics(address)["causaldq_alarm"] == 0
        snapshot = json.loads(urllib.request.urlopen(address + "snapshot").read())
        assert snapshot["commands"] is False
        assert [row["step"] for row in snapshot["rows"] if row["kind"] == "reading"][-1] == 20


@pytest.mark.parametrize(
    ("body", "token", "status"),
    [
        (b'{"command": "acknowledge"}', TOKEN, 202),
        (b'{"command": "acknowledge"}', "guessed", 401),
        (b'{"command": "acknowledge"}', None, 401),
        (b'{"command": 5}', TOKEN, 400),
        (b"acknowledge", TOKEN, 400),
        (b"[" * 1500, TOKEN, 400),
        (b'{"command": "' + b"x" * 5000 + b'"}', TOKEN, 413),
    ],
)
def test_commands_need_the_token(
    commanded: str, body: bytes, token: str | None, status: int
) -> None:
    assert post(commanded, body, token) == status


@pytest.fixture(scope="module")
def commanded(plant: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with watching(plant, tmp_path_factory.mktemp("commanded"), TOKEN) as (address, _):
        yield address


def _metrics(address: str) -> dict[str, float]:
    """Every line as Prometheus would take it."""
    text = urllib.request.urlopen(address + "metrics", timeout=PATIENCE).read().decode()
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP|TYPE) causaldq_\w+ .+", line)
            continue
        match = re.fullmatch(r'(causaldq_\w+(?:\{\w+="[^"]*"\})?) (\S+)', line)
        assert match, line
        found[match[1]] = float(match[2])
    return found


def test_the_guide_prints_what_it_says(tmp_path: Path) -> None:
    """Every command of docs/monitor.md, in its order and in one folder."""
    page = (ROOT / "docs/monitor.md").read_text()
    started = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    shown = "".join(re.findall(r"```console\n(.*?)```", page, re.DOTALL))
    commands = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", shown, re.MULTILINE)
    assert len(commands) > 20
    for command, wanted in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, env=started, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.stdout == wanted, command
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    for text in re.findall(r"```toml\n(.*?)```", page, re.DOTALL):
        (tmp_path / "plant.toml").write_text(text.partition("[on_alarm]")[0])
        watched = ["watch", "plant.monitor", "odd.csv", "--settings", "plant.toml"]
        assert "steam_flow" not in causaldq(tmp_path, *watched).partition("most")[0]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.skipif(MOSQUITTO is None, reason="no mosquitto: apt-get install mosquitto")
def test_a_plant_is_watched_by_mqtt(plant: Path, tmp_path: Path) -> None:
    """The example of docs/monitor.md against a broker of its own."""
    mqtt = pytest.importorskip("paho.mqtt.client")
    port = free_port()
    settings = tmp_path / "mosquitto.conf"
    settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n")
    broker = subprocess.Popen([str(MOSQUITTO), "-c", str(settings)], stderr=subprocess.DEVNULL)
    try:
        until(lambda: _listens(port), "the broker")
        command = [
            *(sys.executable, str(ROOT / "examples/mqtt_watch.py"), str(plant / "plant.monitor")),
            *("--port", str(port)),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
            try:
                assert watch.stdout is not None
                assert watch.stdout.readline().startswith("first: ")
                heard: list[tuple[str, Any]] = []
                client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
                client.on_message = lambda _c, _u, m: heard.append((m.topic, json.loads(m.payload)))
                client.connect("127.0.0.1", port)
                client.subscribe([("plant/next", 1), ("plant/alarm", 1)])
                client.loop_start()
                table = (plant / "plant.csv").read_text().splitlines()
                names = table[0].split(",")
                for line in table[780:860]:
                    row = dict(zip(names, line.split(","), strict=True))
                    row["product_flow"] = "broken"
                    client.publish("plant/row", json.dumps(row), qos=1).wait_for_publish(PATIENCE)
                client.publish("plant/row", b"{no json", qos=1)
                client.publish("plant/command", b"acknowledge", qos=1)
                until(
                    lambda: (
                        [x["event"] for topic, x in heard if topic == "plant/alarm"][:2]
                        == ["raised", "acknowledged"]
                    ),
                    "alarm and acknowledgement",
                )
                assert any(topic == "plant/next" and len(x) == 3 for topic, x in heard)
                client.loop_stop()
            finally:
                watch.terminate()
    finally:
        broker.terminate()
        broker.wait(PATIENCE)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
