"""Files are fetched whole and checked, or not at all, and it is known from where."""

import hashlib
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests

from causaldq.errors import DataError
from causaldq.pipeline.sources.catalogue import Catalogue, read_catalogue
from causaldq.pipeline.sources.fetch import USER_AGENT, Fetched, fetch, given

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
CONTENT = bytes(range(256)) * 1200  # more than one chunk

Answer = Callable[[BaseHTTPRequestHandler, int], None]
"""Answers a request, given how many there were before it."""


class Server:
    """A server on this machine that answers as a test tells it to."""

    def __init__(self) -> None:
        self.answer: Answer = whole
        self.requests: list[dict[str, str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.requests.append({"path": self.path, **dict(self.headers)})
                self.close_connection = True
                outer.answer(self, len(outer.requests) - 1)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_address[1]}"

    def ranges(self) -> list[str | None]:
        return [request.get("Range") for request in self.requests]


def send(
    handler: BaseHTTPRequestHandler, status: int, body: bytes, length: int, **headers: str
) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(length))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def whole(handler: BaseHTTPRequestHandler, _: int) -> None:
    send(handler, 200, CONTENT, len(CONTENT))


def resumable(upto: list[int]) -> Answer:
    """Honours ranges, and breaks off at the given byte of the file in each request."""

    def answer(handler: BaseHTTPRequestHandler, count: int) -> None:
        asked = re.match(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        start = int(asked[1]) if asked else 0
        end = upto[count] if count < len(upto) else len(CONTENT)
        body = CONTENT[start:end]
        place = f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}"
        headers = {"Content_Range": place} if asked else {}
        send(handler, 206 if asked else 200, body, len(CONTENT) - start, **headers)

    return answer


def refusing(status: int) -> Answer:
    return lambda handler, _: send(handler, status, b"no", 2)


def source(result: Fetched) -> str:
    """Where its files came from, as its label says."""
    return result.label.removeprefix(f"{result.name} (").removesuffix(")")


@pytest.fixture
def server() -> Iterator[Server]:
    serving = Server()
    thread = threading.Thread(target=serving.http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield serving
    serving.http.shutdown()
    serving.http.server_close()
    thread.join()


def digest(content: bytes = CONTENT) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def catalogue(*addresses: str, **changed: Any) -> Catalogue:
    """A catalogue of one set with one file, `a.bin`, that holds CONTENT."""
    values = {
        "title": "A set",
        "what": "bytes",
        "obtained": "fetched",
        "address": None,
        "version": "1",
        "licence": "CC0",
        "size": "small",
        "citation": "none",
        "mirror": "there",
        "remedy": "ask for it",
        "files": {"a.bin": {"bytes": len(CONTENT), "hash": digest(), "addresses": list(addresses)}},
    }
    return Catalogue.model_validate({"sets": {"a_set": values | changed}})


def get(known: Catalogue, folder: Path, *order: Any, mirror: Path | None = None) -> Fetched:
    return fetch("a_set", known["a_set"], order or ("official",), mirror, folder)


def failure(known: Catalogue, folder: Path, *order: Any, mirror: Path | None = None) -> str:
    with pytest.raises(DataError) as caught:
        get(known, folder, *order, mirror=mirror)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def visible(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


@pytest.fixture(autouse=True)
def _nothing_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAUSALDQ_MIRROR", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


# --- the network ------------------------------------------------------------------------


def test_a_download_is_checked_named_and_recorded(server: Server, tmp_path: Path) -> None:
    address = f"{server.address}/a.bin"
    result = get(catalogue(address), tmp_path / "new")
    assert result.files["a.bin"].read_bytes() == CONTENT
    assert result.origins == {"a.bin": ("official", address)}
    assert result.label == "a_set (official)"
    assert server.requests[0]["User-Agent"] == USER_AGENT
    assert USER_AGENT.startswith("Mozilla/")
    assert visible(tmp_path / "new") == {"a.bin", "source.json"}


def test_a_second_call_asks_nobody_and_still_knows_the_source(
    server: Server, tmp_path: Path
) -> None:
    known = catalogue(f"{server.address}/a.bin")
    first = get(known, tmp_path)
    assert get(known, tmp_path, "mirror", "official") == first
    assert len(server.requests) == 1


def test_a_broken_connection_is_resumed_in_the_same_call(server: Server, tmp_path: Path) -> None:
    server.answer = resumable([100_000, 250_000])
    result = get(catalogue(f"{server.address}/a.bin"), tmp_path)
    assert result.files["a.bin"].read_bytes() == CONTENT
    starts = [int(found[6:-1]) for found in server.ranges() if found]
    assert server.ranges()[0] is None
    assert len(starts) == 2
    assert 0 < starts[0] <= 100_000 < starts[1] <= 250_000


def test_a_broken_connection_is_resumed_in_the_next_call(server: Server, tmp_path: Path) -> None:
    known = catalogue(f"{server.address}/a.bin")
    server.answer = resumable([70_000, 140_000, 210_000])
    assert "a.bin cannot be had" in failure(known, tmp_path)
    assert visible(tmp_path) == set()
    assert get(known, tmp_path).files["a.bin"].read_bytes() == CONTENT
    assert len(server.requests) == 4
    assert int(str(server.ranges()[3])[6:-1]) > 140_000
    assert not list(tmp_path.glob(".*.part"))


def test_a_server_that_cannot_resume_is_asked_for_everything(
    server: Server, tmp_path: Path
) -> None:
    server.answer = lambda handler, count: (
        send(handler, 200, CONTENT[:100_000], len(CONTENT)) if count == 0 else whole(handler, 0)
    )
    result = get(catalogue(f"{server.address}/a.bin"), tmp_path)
    assert result.files["a.bin"].read_bytes() == CONTENT


@pytest.mark.parametrize("start", [10, len(CONTENT) - 1, len(CONTENT), len(CONTENT) + 5])
def test_rubbish_left_by_an_earlier_download_is_thrown_away(
    server: Server, tmp_path: Path, start: int
) -> None:
    (tmp_path / ".a.bin.part").write_bytes(b"x" * start)
    server.answer = resumable([])
    result = get(catalogue(f"{server.address}/a.bin"), tmp_path)
    assert result.files["a.bin"].read_bytes() == CONTENT
    assert server.ranges()[-1] is None


def test_a_server_that_resumes_elsewhere_or_refuses_the_range_is_asked_anew(
    server: Server, tmp_path: Path
) -> None:
    def elsewhere(handler: BaseHTTPRequestHandler, count: int) -> None:
        if handler.headers.get("Range") is None:
            whole(handler, count)
        elif count == 0:
            send(handler, 206, b"zz", 2, Content_Range=f"bytes 3-4/{len(CONTENT)}")

    for answer in (elsewhere, lambda h, n: refusing(416)(h, n) if n == 0 else whole(h, n)):
        server.requests.clear()
        server.answer = answer
        folder = tmp_path / str(id(answer))
        folder.mkdir()
        (folder / ".a.bin.part").write_bytes(CONTENT[:100])
        result = get(catalogue(f"{server.address}/a.bin"), folder)
        assert result.files["a.bin"].read_bytes() == CONTENT
        assert server.ranges() == ["bytes=100-", None]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (CONTENT[:-1] + b"?", ["sha256", digest()[7:19], "expected"]),
        (CONTENT[:500], ["has 500 bytes", str(len(CONTENT))]),
        (b"<html>Please log in</html>", ["has 26 bytes"]),
    ],
)
def test_the_wrong_bytes_get_no_name(
    server: Server, tmp_path: Path, body: bytes, words: list[str]
) -> None:
    server.answer = lambda handler, _: send(handler, 200, body, len(body))
    message = failure(catalogue(f"{server.address}/a.bin"), tmp_path)
    assert all(word in message for word in words)
    assert {path.name for path in tmp_path.iterdir()} == {".lock"}


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_refusal_is_told(server: Server, tmp_path: Path, status: int) -> None:
    server.answer = refusing(status)
    message = failure(catalogue(f"{server.address}/a.bin"), tmp_path)
    assert str(status) in message
    assert server.address in message
    assert len(server.requests) == 1
    assert visible(tmp_path) == set()


def test_nobody_listening_is_told_and_what_was_there_stays(tmp_path: Path) -> None:
    """A name that cannot exist, and a port that nobody serves."""
    known = catalogue("http://127.0.0.1:9/a.bin")
    (tmp_path / ".a.bin.part").write_bytes(CONTENT[:1000])
    (tmp_path / "other.bin").write_bytes(b"mine")
    message = failure(known, tmp_path)
    assert "127.0.0.1: Connection refused" in message
    assert message.endswith("remedy: ask for it")
    assert (tmp_path / ".a.bin.part").read_bytes() == CONTENT[:1000]
    assert (tmp_path / "other.bin").read_bytes() == b"mine"


def test_a_damaged_file_stays_until_a_sound_one_is_there(server: Server, tmp_path: Path) -> None:
    known = catalogue(f"{server.address}/a.bin")
    (tmp_path / "a.bin").write_bytes(b"damaged")
    server.answer = refusing(403)
    assert "kept: " in failure(known, tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == b"damaged"
    server.answer = whole
    assert get(known, tmp_path).files["a.bin"].read_bytes() == CONTENT


def test_a_sound_file_needs_no_network_and_is_called_found(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(CONTENT)
    assert source(get(catalogue("http://127.0.0.1:9/a.bin"), tmp_path)) == "found"


def test_the_next_address_is_tried(server: Server, tmp_path: Path) -> None:
    known = catalogue("http://127.0.0.1:9/a.bin", f"{server.address}/a.bin")
    assert get(known, tmp_path).origins["a.bin"][1] == f"{server.address}/a.bin"


def test_two_at_a_time_download_once(server: Server, tmp_path: Path) -> None:
    """The second waits, and finds the file that appeared meanwhile."""
    known = catalogue(f"{server.address}/a.bin")
    results: list[Fetched] = []
    threads = [
        threading.Thread(target=lambda: results.append(get(known, tmp_path))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [source(result) for result in results] == ["official"] * 3
    assert len(server.requests) == 1


def test_a_file_that_appears_during_the_download_is_replaced_by_the_same_bytes(
    server: Server, tmp_path: Path
) -> None:
    def answer(handler: BaseHTTPRequestHandler, _: int) -> None:
        (tmp_path / "a.bin").write_bytes(CONTENT)
        whole(handler, 0)

    server.answer = answer
    assert get(catalogue(f"{server.address}/a.bin"), tmp_path).files["a.bin"].read_bytes() == (
        CONTENT
    )


def test_a_dataverse_doi_is_resolved(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the step at doi.org is replaced; the Dataverse interface is served here."""
    from pooch import downloaders

    listing = {"dataFile": {"filename": "a.bin", "id": 17}, "label": "a.bin"}
    reply = json.dumps({"data": {"latestVersion": {"files": [listing]}}}).encode()

    def answer(handler: BaseHTTPRequestHandler, _: int) -> None:
        if "/api/datasets/" in handler.path:
            send(handler, 200, reply, len(reply))
        else:
            whole(handler, 0)

    server.answer = answer
    monkeypatch.setattr(
        downloaders, "doi_to_url", lambda doi, **_: f"{server.address}/dataset.xhtml?id={doi}"
    )
    result = get(catalogue("doi:10.7910/DVN/ABCDEF/a.bin"), tmp_path)
    assert result.files["a.bin"].read_bytes() == CONTENT
    paths = [request["path"] for request in server.requests]
    assert paths[0].endswith("persistentId=doi:10.7910/DVN/ABCDEF")
    assert paths[-1].startswith("/api/access/datafile/17")
    assert {request["User-Agent"] for request in server.requests} == {USER_AGENT}


def test_a_dataverse_that_refuses_is_told(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pooch import downloaders

    server.answer = refusing(403)
    monkeypatch.setattr(downloaders, "doi_to_url", lambda *_, **__: server.address)
    address = "doi:10.7910/DVN/ABCDEF/a.bin"
    assert f"official: {address} cannot be resolved" in failure(catalogue(address), tmp_path)
    server.answer = lambda handler, _: send(handler, 200, b'{"data": 3}', 11)
    assert f"official: {address} cannot be resolved" in failure(catalogue(address), tmp_path)


def test_progress_is_shown_at_a_terminal_only(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    known = catalogue(f"{server.address}/a.bin")
    get(known, tmp_path / "quiet")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    get(known, tmp_path / "watched")
    assert "%" in capsys.readouterr().err


def test_errors_of_the_network_are_errors_of_the_operating_system() -> None:
    """The fetcher catches OSError and does not name the library below pooch."""
    assert issubclass(requests.exceptions.RequestException, OSError)


# --- mirror, package, order --------------------------------------------------------------


@pytest.mark.parametrize("inside", ["there", "."])
@pytest.mark.parametrize("by_environment", [False, True])
def test_a_mirror_is_copied_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str, by_environment: bool
) -> None:
    mirror = tmp_path / "mirror"
    (mirror / inside).mkdir(parents=True, exist_ok=True)
    (mirror / inside / "a.bin").write_bytes(CONTENT)
    if by_environment:
        monkeypatch.setenv("CAUSALDQ_MIRROR", str(mirror))
    given_mirror = None if by_environment else mirror
    result = get(catalogue(), tmp_path / "folder", "mirror", mirror=given_mirror)
    assert source(result) == "mirror"
    assert result.files["a.bin"].read_bytes() == CONTENT
    assert result.files["a.bin"].parent == tmp_path / "folder"


def test_a_mirror_with_the_wrong_bytes_is_refused_and_the_next_source_used(
    server: Server, tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(CONTENT[::-1])
    known = catalogue(f"{server.address}/a.bin")
    order = ("mirror", "package", "official")
    result = get(known, tmp_path / "folder", *order, mirror=tmp_path)
    assert source(result) == "official"


def test_the_one_line_says_what_was_tried_and_why_it_failed(server: Server, tmp_path: Path) -> None:
    server.answer = refusing(403)
    known = catalogue(
        f"{server.address}/a.bin",
        package={"name": "no-such-package-here", "version": "9.9", "folder": "x"},
    )
    message = failure(known, tmp_path / "f", "mirror", "package", "official", mirror=tmp_path)
    assert message.startswith("a_set/a.bin cannot be had (mirror: ")
    assert f"{tmp_path / 'there' / 'a.bin'} does not exist" in message
    assert "package: no-such-package-here==9.9 is not installed" in message
    assert "official: 403" in message


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ([], "no source is allowed"),
        (["mirror"], "CAUSALDQ_MIRROR is not set"),
        (["package"], "no package carries this set"),
        (["official"], "no such single file"),
    ],
)
def test_a_source_that_does_not_apply_says_so(tmp_path: Path, order: list[Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        fetch("a_set", catalogue()["a_set"], order, None, tmp_path)


def test_files_of_several_sources_are_told_apart(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(CONTENT)
    entry = {"bytes": len(CONTENT), "hash": digest(), "addresses": [f"{server.address}/b"]}
    known = catalogue(files={"a.bin": entry, "b.bin": entry})
    result = get(known, tmp_path / "f", "mirror", "official", mirror=tmp_path)
    assert source(result) == "mirror+official"
    only = fetch("a_set", known["a_set"], ["mirror"], tmp_path, tmp_path / "g", files=["a.bin"])
    assert list(only.files) == ["a.bin"]
    with pytest.raises(DataError, match="has no file 'c"):
        fetch("a_set", known["a_set"], ["mirror"], tmp_path, tmp_path, files=["c.bin"])


@pytest.mark.parametrize("record", ["{", "[]", '{"a.bin": 3}', '{"a.bin": ["official"]}'])
def test_a_damaged_record_does_no_harm(tmp_path: Path, record: str) -> None:
    (tmp_path / "a.bin").write_bytes(CONTENT)
    (tmp_path / "source.json").write_text(record)
    assert source(get(catalogue(), tmp_path)) == "found"


def test_what_is_not_fetched_says_how_it_is_had(tmp_path: Path) -> None:
    for how, words in (("given", "has to be given: ask for it"), ("made", "is made by this")):
        with pytest.raises(DataError, match=words):
            get(catalogue(obtained=how), tmp_path)


def test_given_files_are_taken_as_they_are(tmp_path: Path) -> None:
    known = catalogue(obtained="given")
    (tmp_path / "one.json").write_text("{}")
    assert source(given("a_set", known["a_set"], tmp_path / "one.json")) == "given"
    assert list(given("a_set", known["a_set"], tmp_path).files) == ["one.json"]
    with pytest.raises(DataError, match="does not exist; ask for it"):
        given("a_set", known["a_set"], tmp_path / "two.json")


# --- the catalogue of the project ----------------------------------------------------------


@pytest.fixture(scope="module")
def project() -> Catalogue:
    return read_catalogue(ROOT / "data" / "sources.yaml")


def test_the_catalogue_has_the_sets_that_the_project_reads(project: Catalogue) -> None:
    assert list(project.sets) == [
        "tep_classic",
        "tep_rieth",
        "tep_rieth_run1",
        "flares_bigdata",
        "flares_swan",
        "tep_studio",
        "flares_surrogate",
    ]
    with pytest.raises(DataError, match="there is no data set 'tepp'"):
        project["tepp"]


def test_the_classic_files_come_out_of_the_package(project: Catalogue, tmp_path: Path) -> None:
    """Two of them against the MD5 that others publish."""
    before = set(sys.modules)
    result = fetch("tep_classic", project["tep_classic"], ["package"], None, tmp_path)
    assert not {name for name in set(sys.modules) - before if name.startswith("bibmon")}
    assert len(result.files) == 44
    assert result.origins["d00.dat"] == ("package", "bibmon 1.2.0")
    published = {
        "d00.dat": "cd5043102a43f5917c3b7a853d16071b",
        "d00_te.dat": "0f5c530464b358b3b69b117a95d50081",
    }
    for file, md5 in published.items():
        assert hashlib.md5(result.files[file].read_bytes()).hexdigest() == md5


@pytest.mark.skipif(not SHARED.exists(), reason=f"no copies of real data in {SHARED}")
@pytest.mark.parametrize("name", ["tep_rieth_run1", "flares_swan"])
def test_the_mirror_beside_the_project_has_the_right_bytes(
    project: Catalogue, tmp_path: Path, name: str
) -> None:
    result = fetch(name, project[name], ["mirror"], SHARED, tmp_path)
    assert set(result.files) == set(project[name].files)
    assert source(result) == "mirror"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "is not valid YAML"),
        ("a_set: {title: x}", "a_set.address: Field required"),
        ("- 1", "dictionary"),
    ],
)
def test_a_catalogue_that_cannot_be_read_says_why(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "sources.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=words) as caught:
        read_catalogue(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="does not exist"):
        read_catalogue(tmp_path / "none.yaml")


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "cannot be written" in failure(catalogue(), tmp_path / "file" / "folder")
