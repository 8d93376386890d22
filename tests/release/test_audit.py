"""Advisories about the locked packages: a release stops at one, and goes on where the service cannot be reached."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from release import audit
from release.tree import RefusalError
from tests.cluster.process import free_port

ADVISORY = {
    "id": "GHSA-test-0000-0001",
    "aliases": ["CVE-2026-00001"],
    "summary": "reads another file",
    "affected": [
        {
            "package": {"name": "old", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.0.1"}]}],
        }
    ],
}
WITHDRAWN = {**ADVISORY, "id": "GHSA-test-0000-0002", "withdrawn": "2026-01-01T00:00:00Z"}
STOPPED = "old 1.0.0 has a known vulnerability: CVE-2026-00001, GHSA-test-0000-0001; fixed in 1.0.1: renew requirements-ci.txt"


class Service(BaseHTTPRequestHandler):
    """An advisory service with one advisory about old 1.0.0, and one that was withdrawn."""

    asked: list[tuple[str, str]]

    def do_POST(self) -> None:
        query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = query["package"]["name"]
        self.asked.append((name, query["version"]))
        content = json.dumps({"vulns": [ADVISORY, WITHDRAWN]} if (name, query["version"]) == ("old", "1.0.0") else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    Service.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/query"
    server.shutdown()
    thread.join()
    server.server_close()


def locked(folder: Path, *pins: str) -> Path:
    (folder / audit.LOCK).write_text("# Made by hand.\n" + "\n".join(pins), encoding="utf-8")
    return folder


def test_a_known_vulnerability_stops_the_release(tmp_path: Path, service: str) -> None:
    assert [*audit.problems(locked(tmp_path, "new==1.0.0", "old==1.0.0"), service=service)] == [STOPPED]
    assert {("new", "1.0.0"), ("old", "1.0.0")} < {*Service.asked}


def test_other_packages_stop_nothing(tmp_path: Path, service: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert [*audit.problems(locked(tmp_path, "new==1.0.0", "old==1.0.1"), service=service)] == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", [ADVISORY["id"], "CVE-2026-00001"])
def test_an_advisory_can_be_accepted_while_it_is_one(tmp_path: Path, service: str, name: str) -> None:
    assert [*audit.problems(locked(tmp_path, "old==1.0.0"), [name], service)] == []
    with pytest.raises(RefusalError, match=f"no package of requirements-ci.txt has the advisory {name}"):
        [*audit.problems(locked(tmp_path, "old==1.0.1"), [name], service)]


@pytest.mark.parametrize("pins", [["old"], ["old==1.0.0 ; nonsense =="]], ids=["no version", "no requirement"])
def test_a_lock_that_cannot_be_audited_stops_the_release(tmp_path: Path, service: str, pins: list[str]) -> None:
    with pytest.raises(RefusalError, match="pip-audit failed: "):
        [*audit.problems(locked(tmp_path, *pins), service=service)]


def test_one_line_says_that_nothing_was_audited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    service = f"http://127.0.0.1:{free_port()}/v1/query"

    assert [*audit.problems(locked(tmp_path, "old==1.0.0"), service=service)] == []
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"release: the packages of requirements-ci.txt were not audited: {service} cannot be reached: [Errno ")
