"""What a page is told after the watch was started again."""

import asyncio
import json
from typing import Any

from plants import NAMES, monitor, rows

from causaldq import Session, WatchSettings
from causaldq.live.control import LONGEST, Control
from causaldq.live.page_state import PageState
from causaldq.live.server import _told, application

SETTINGS = WatchSettings(after="continue")


def alarmed() -> Session:
    made = Session(monitor(), SETTINGS)
    for t, row in enumerate(rows(30, seed=1, fault=0)):
        made.row(dict(zip(NAMES, row, strict=True)), time=t)
    made.command("acknowledge")
    return made


def test_the_snapshot_has_the_alarm_that_was_open_before_a_restart() -> None:
    before = alarmed()
    assert before.alarm is not None
    facts, arrays = before.snapshot()
    after = Session(monitor(), SETTINGS)
    page_state = PageState(after)  # as a watch has it: the page is there before the state is read
    after.restore(json.loads(json.dumps(facts)), arrays)
    shown = page_state.snapshot()
    assert shown["alarm"] == before.alarm.record | {"acknowledged": True}
    assert (shown["alarm"]["event"], shown["alarm"]["alarm"]) == ("raised", 1)
    assert shown["maintenance"] is False
    after.command("maintenance on")
    assert page_state.snapshot()["maintenance"] is True
    after.command("maintenance off")
    assert page_state.snapshot()["alarm"] is None


def told(page_state: PageState, last: str, count: int) -> list[str]:
    """The first events on a connection."""

    async def some() -> list[str]:
        stream = _told(page_state, last)
        return [await anext(stream) for _ in range(count)]

    return asyncio.run(some())


def test_numbers_of_an_earlier_process_are_not_taken_for_ones_own() -> None:
    session = Session(monitor(), SETTINGS)
    page_state, earlier = PageState(session), PageState(session)
    for one in (page_state, earlier):
        for row in rows(3, seed=2):
            for record in session.row(dict(zip(NAMES, row, strict=True))):
                one.write(record)
    every = told(page_state, "", 3)
    assert all("data: {" in text and "\nevent" not in text for text in every)
    ids = [text.splitlines()[0].removeprefix("id: ") for text in every]
    assert ids[-1] == page_state.snapshot()["number"]
    assert told(page_state, ids[1], 1) == every[2:]
    for last in (earlier.snapshot()["number"], "5000", "-3", f"{page_state.run}-x"):
        assert told(page_state, last, 4) == ["event: again\ndata: {}\n\n", *every]


def answered(body: bytes) -> int:
    """The status of a command that is posted with the token."""
    session, control = Session(monitor(), SETTINGS), Control(None)
    app = application(PageState(session), control, "secret", ["localhost"])
    headers = [(b"host", b"localhost"), (b"authorization", b"Bearer secret")]
    scope = {
        **{"type": "http", "method": "POST", "path": "/command", "headers": headers},
        **{"query_string": b"", "http_version": "1.1", "scheme": "http", "root_path": ""},
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return int(sent[0]["status"])


def test_a_command_is_taken_unless_it_is_too_long() -> None:
    def padded(length: int) -> bytes:
        text = b'{"command": "acknowledge"}'
        return text + b" " * (length - len(text))

    assert answered(padded(2 * LONGEST)) == 202
    assert answered(padded(2 * LONGEST + 1)) == 413
