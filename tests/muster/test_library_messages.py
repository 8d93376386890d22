"""No warning of a library reaches the terminal; an API server whose certificate is not verified is one line of Muster's, once."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from muster import cli, library_messages
from tests.muster.simulated import pod
from tests.muster.test_snapshot_cluster import Api

LINE = "muster: the certificate of the API server is not verified: the kubeconfig has insecure-skip-tls-verify"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a kubeconfig of a server whose certificate nobody trusts."""
    top = tmp_path_factory.mktemp("insecure")
    assert 0 == CliRunner().invoke(cli.main, ["certs", "issue", "--out", str(top), "--name", "127.0.0.1"]).exit_code
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(top / "tls.crt", top / "tls.key")
    server = Api()
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    cluster = {"server": f"https://127.0.0.1:{server.server_address[1]}", "insecure-skip-tls-verify": True}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": cluster}],
        "users": [{"name": "me", "user": {"token": "a-token"}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "current-context": "here",
    }
    (top / "config").write_text(json.dumps(config), encoding="utf-8")
    (top / "mine.json").write_text(json.dumps(pod("mine")), encoding="utf-8")
    yield top
    server.shutdown()
    thread.join()
    server.server_close()


COMMANDS = {
    "fit": (0, ["fit", "mine.json", "--cluster"]),
    "topology": (0, ["topology", "--cluster"]),
    "lint": (0, ["lint", "--cluster", "--no-config"]),
    "snapshot": (0, ["snapshot"]),
    "doctor": (2, ["doctor", "--cluster"]),
    "why": (2, ["why", "pod/none"]),
}


@pytest.mark.parametrize(("status", "arguments"), COMMANDS.values(), ids=COMMANDS)
def test_an_unverified_certificate_is_one_line_of_ours(here: Path, status: int, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "muster", *arguments, "--kubeconfig", "config"]
    answer = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False, timeout=60)
    lines = answer.stderr.splitlines()
    assert (status, 1) == (answer.returncode, lines.count(LINE)), answer.stderr
    assert not [each for each in lines if "Warning" in each or "warn" in each]


def test_no_warning_of_a_library_is_printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "warnoptions", [])
    with library_messages.hidden():
        warnings.simplefilter("always")
        warnings.warn("of a library", DeprecationWarning, stacklevel=1)
    assert ("", "") == capsys.readouterr()


def test_no_record_of_a_library_is_printed() -> None:
    code = "import logging; {}logging.getLogger('urllib3').warning('no'); logging.error('neither')"
    for before, want in (("", True), ("from muster import extras; extras.require('cluster'); ", False)):
        answer = subprocess.run([sys.executable, "-c", code.format(before)], capture_output=True, text=True, check=True)
        assert want == bool(answer.stderr)


def test_warnings_that_are_requested_of_python_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "warnoptions", ["default"])
    before = warnings.showwarning
    with library_messages.hidden():
        assert before is warnings.showwarning
