"""Malformed messages to the language server: the error responses of JSON-RPC and the protocol, and no traceback."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}
SHUTDOWN, EXIT = {"jsonrpc": "2.0", "id": "end", "method": "shutdown"}, {"jsonrpc": "2.0", "method": "exit"}
HOVER = {"textDocument": {"uri": "file:///none.yaml"}, "position": {"line": 0, "character": 0}}
PARSE, REQUEST, METHOD, PARAMS, EARLY = -32700, -32600, -32601, -32602, -32002


def call(identifier: Any, method: Any = "textDocument/hover", **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identifier, "method": method, **fields}


MALFORMED: dict[str, tuple[object, tuple[object, int] | None]] = {
    "no JSON": (b"{oops", (None, PARSE)),
    "no UTF-8": (b"\xff\xfe", (None, PARSE)),
    "nested too deeply": (b"[" * 100_000, (None, PARSE)),
    "a batch": ([call(2)], (None, REQUEST)),
    "a number": (5, (None, REQUEST)),
    "no version": ({"id": 2, "method": "textDocument/hover"}, (2, REQUEST)),
    "an old version": ({**call(3), "jsonrpc": "1.0"}, (3, REQUEST)),
    "no method": ({"jsonrpc": "2.0", "id": 4}, (4, REQUEST)),
    "a method that is no text": (call(5, 7), (5, REQUEST)),
    "an id that is an object": (call({}), (None, REQUEST)),
    "an id that is true": (call(True), (None, REQUEST)),
    "an unknown method": (call(6, "muster/none"), (6, METHOD)),
    "params of another form": (call("a", params={"a": 1}), ("a", PARAMS)),
    "params that are a number": (call(8, params=5), (8, PARAMS)),
    "no params": (call(9), (9, PARAMS)),
    "a URI with half of an address": (call(11, params={**HOVER, "textDocument": {"uri": "file://[none.yaml"}}), (11, PARAMS)),
    "a second initialize": ({**INITIALIZE, "id": 10}, (10, REQUEST)),
    "an unknown notification": ({"jsonrpc": "2.0", "method": "$/none"}, None),
    "a notification with other params": ({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {}}, None),
    "a change of nothing": (
        {
            "jsonrpc": "2.0",
            "method": "textDocument/didChange",
            "params": {"textDocument": {"uri": "file:///none.yaml", "version": 1}, "contentChanges": []},
        },
        None,
    ),
    "a change of a file that is not open": (
        {
            "jsonrpc": "2.0",
            "method": "textDocument/didChange",
            "params": {"textDocument": {"uri": "file:///none.yaml", "version": 1}, "contentChanges": [{"text": "a: 1"}]},
        },
        None,
    ),
    "a response to nothing": ({"jsonrpc": "2.0", "id": 99, "result": None}, None),
}


def exchanged(messages: Sequence[object], before: str = "") -> tuple[list[dict[str, Any]], str]:
    """Return the responses of a server to *messages*, and its standard error; its process runs the code *before* first."""
    texts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in messages]
    sent = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(each), each) for each in texts)
    program = f"{before}\nfrom muster.__main__ import main; main()"
    process = subprocess.run([sys.executable, "-c", program, "lsp"], input=sent, capture_output=True, check=False, timeout=60)
    answers = [json.loads(each) for each in re.split(rb"(?:Content-[^\r]*\r\n)+\r\n", process.stdout) if each]
    assert 0 == process.returncode
    return answers, process.stderr.decode()


@pytest.fixture(scope="module")
def answered() -> tuple[list[dict[str, Any]], str]:
    """All malformed messages to one server, which answers a request at the end as before."""
    return exchanged([INITIALIZE, *(message for message, _ in MALFORMED.values()), call("good", params=HOVER), SHUTDOWN, EXIT])


def test_each_request_gets_its_error_and_the_server_goes_on(answered: tuple[list[dict[str, Any]], str]) -> None:
    errors = [(each["id"], each["error"]["code"]) for each in answered[0] if "error" in each]
    assert [want for _, want in MALFORMED.values() if want is not None] == errors
    results = {each["id"]: each["result"] for each in answered[0] if "result" in each}
    assert ({1, "good", "end"}, None) == (results.keys(), results["good"])
    assert not [each for each in answered[0] if each.get("method") == "window/showMessage"]


def test_the_log_has_one_line_of_ours_for_each(answered: tuple[list[dict[str, Any]], str]) -> None:
    lines = answered[1].splitlines()
    assert all(each.startswith(("muster lsp: message refused: ", "muster lsp: notification ")) for each in lines), answered[1]
    assert len([each for each in MALFORMED.values() if each[1]]) + 4 == len(lines)


def test_requests_before_initialize_and_after_shutdown_are_refused() -> None:
    answers, _ = exchanged([call(1, params=HOVER), {**INITIALIZE, "id": 2}, SHUTDOWN, call(3, params=HOVER), EXIT])
    assert [(1, EARLY), (3, REQUEST)] == [(each["id"], each["error"]["code"]) for each in answers if "error" in each]


@pytest.mark.parametrize("name", ["a\0b.yaml", "%00.yaml", "\ud800.yaml", "a" * 5000, "a%20b.yaml"])
def test_a_name_that_no_file_can_have_is_one_of_no_file(name: str) -> None:
    uri = f"file:///{name}"
    opened = {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": "kind: Workload\n"}}
    notifications = [{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": opened}]
    changed = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "kind: Job\n"}]}
    notifications.append({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": changed})
    notifications.append({"jsonrpc": "2.0", "method": "textDocument/didClose", "params": opened})
    hover = call(2, params={"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
    outline = call(3, "textDocument/documentSymbol", params={"textDocument": {"uri": uri}})
    answers, log = exchanged([INITIALIZE, hover, outline, *notifications, hover | {"id": 4}, SHUTDOWN, EXIT])

    assert {2: None, 3: [], 4: None} == {each["id"]: each["result"] for each in answers if each.get("id") in (2, 3, 4)}
    assert "" == log


def test_a_mistake_of_the_server_is_in_the_log_and_shown() -> None:
    opened = {"textDocument": {"uri": "file:///none.yaml", "languageId": "yaml", "version": 1, "text": "kind: Workload\n"}}
    given = [INITIALIZE, {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": opened}, SHUTDOWN, EXIT]
    answers, log = exchanged(given, "from muster.commands.lsp import server; server.MusterServer.publish = lambda *_: 1 / 0")

    assert log.startswith("muster lsp: internal error: ZeroDivisionError: division by zero\n  File ")
    assert ["Error in server: ZeroDivisionError: division by zero"] == [each["params"]["message"] for each in answers if "params" in each]
