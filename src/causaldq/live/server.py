"""The live page, its events, and Prometheus' text, on one small server."""

import asyncio
import hmac
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

from causaldq.errors import ConfigError
from causaldq.live.control import LONGEST, Control
from causaldq.live.outputs import say
from causaldq.live.page_state import PageState
from causaldq.live.records import SCHEMA_FILE, as_line
from causaldq.live.session import Session

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import (
        FileResponse,
        JSONResponse,
        PlainTextResponse,
        Response,
        StreamingResponse,
    )
    from starlette.routing import Route
except ImportError as error:
    raise ConfigError(
        f"the page needs {error.name}, which is not installed: pip install 'causaldq[live]'"
    ) from None

TEMPLATES = Path(__file__).parent / "templates"
PAUSE = 0.1
"""Seconds between two looks for new records."""
QUIET = 15.0
"""Seconds after which a silent connection is shown to be alive."""
HEADERS = {
    # Nothing from elsewhere, nothing inline, in nobody's frame.
    "Content-Security-Policy": (
        "default-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def application(page_state: PageState, control: Control, token: str, hosts: list[str]) -> Starlette:
    """Read-only, unless there is a token and the caller knows it."""

    def file(name: str, kind: str) -> Route:
        async def send(_: Request) -> Response:
            return FileResponse(TEMPLATES / name, media_type=kind, headers=HEADERS)

        return Route("/" if name == "index.html" else f"/{name}", send)

    async def snapshot(_: Request) -> Response:
        shown = page_state.snapshot() | {"commands": bool(token)}
        return JSONResponse(shown, headers=HEADERS)

    async def schema(_: Request) -> Response:
        return FileResponse(SCHEMA_FILE, media_type="application/json", headers=HEADERS)

    async def metrics(_: Request) -> Response:
        return PlainTextResponse(
            page_state.metrics(), headers=HEADERS, media_type="text/plain; version=0.0.4"
        )

    async def events(request: Request) -> Response:
        last = request.headers.get("last-event-id") or request.query_params.get("after", "")
        return StreamingResponse(
            _told(page_state, last), headers=HEADERS, media_type="text/event-stream"
        )

    async def command(request: Request) -> Response:
        if not token:
            return JSONResponse(
                {"error": "this page is read-only; start it with CAUSALDQ_TOKEN set"}, 403
            )
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return JSONResponse({"error": "the token is wrong"}, 401)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > 2 * LONGEST:
                return JSONResponse({"error": "the command is too long"}, 413)
        try:
            text = json.loads(body)["command"]
        except (KeyError, TypeError, ValueError, RecursionError):
            text = None
        if not isinstance(text, str) or len(text) > LONGEST:
            return JSONResponse({"error": 'give {"command": "acknowledge"}'}, 400)
        control.waiting.append(text)
        return JSONResponse({"taken": text}, 202)

    return Starlette(
        routes=[
            file("index.html", "text/html"),
            file("page.js", "text/javascript"),
            file("page.css", "text/css"),
            Route("/snapshot", snapshot),
            Route("/schema", schema),
            Route("/metrics", metrics),
            Route("/events", events),
            Route("/command", command, methods=["POST"]),
        ],
        # A page of another site cannot pretend to be this one by its name.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)],
    )


async def _told(page_state: PageState, last: str) -> AsyncIterator[str]:
    """Server-sent events after the last one told; all, and that, if another process told it."""
    known = page_state.number_of(last)
    number, quiet = known or 0, 0.0
    if known is None and last not in ("", "0"):
        yield "event: again\ndata: {}\n\n"
    while not page_state.closed:
        for place, record in page_state.since(number):
            number, quiet = place, 0.0
            yield f"id: {page_state.id_of(place)}\ndata: {as_line(record)}\n\n"
        await asyncio.sleep(PAUSE)
        quiet += PAUSE
        if quiet >= QUIET:
            quiet = 0.0
            yield ": still here\n\n"


@contextmanager
def serving(
    session: Session, control: Control, *, host: str, port: int, token: str
) -> Iterator[PageState]:
    """Serve the page in a thread of its own while rows are watched."""
    page_state = PageState(session)
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--page {port} at {host}: {error}; give another port") from None
    hosts = ["localhost", "127.0.0.1", "[::1]", host, f"[{host}]"]
    # Told to listen to everybody, it cannot know by which name they call it.
    app = application(page_state, control, token, ["*"] if host == "0.0.0.0" else hosts)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    say(f"page: http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/")
    try:
        yield page_state
    finally:
        page_state.closed = server.should_exit = True
        thread.join()
        listening.close()
