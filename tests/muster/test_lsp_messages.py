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
    "a response to nothing": ({"jsonrpc": "2.0", "id": 99, "result": None}, None),
}


def exchanged(messages: Sequence[object]) -> tuple[list[dict[str, Any]], str]:
    """Return the responses of a server to *messages*, and its standard error."""
    texts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in messages]
    sent = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(each), each) for each in texts)
    process = subprocess.run([sys.executable, "-m", "muster", "lsp"], input=sent, capture_output=True, check=False, timeout=60)
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
    assert len([each for each in MALFORMED.values() if each[1]]) + 2 == len(lines)


def test_requests_before_initialize_and_after_shutdown_are_refused() -> None:
    answers, _ = exchanged([call(1, params=HOVER), {**INITIALIZE, "id": 2}, SHUTDOWN, call(3, params=HOVER), EXIT])
    assert [(1, EARLY), (3, REQUEST)] == [(each["id"], each["error"]["code"]) for each in answers if "error" in each]
