"""Mutated documents and requests for ``muster lsp``, sent over its standard input by an editor that does not wait for answers."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.reliability import documents
from tests.reliability.campaign import Campaign, Round
from tests.reliability.fuzzing import DoesNotHoldError, attempt
from tests.reliability.mutations import Mutator

Json = dict[str, Any]
MESSAGES, SESSIONS = 200, 15
"""Messages of a session, and sessions of a round."""
SECONDS = 60.0
"""Limit of a session, start and end of the process included; an idle machine needs two."""
INTERNAL = -32603
_FILES = 5
_REQUESTS = ("hover", "completion", "definition", "documentSymbol", "codeAction", "prepareRename", "rename")
_HEADERS = re.compile(rb"(?:Content-[^\r]*\r\n)+\r\n")


def messages(seed: int, count: int, folder: Path) -> Iterator[tuple[int | None, bytes]]:
    """Yield messages, each with the number of the request that must be answered; None if it is none, or its bytes are damaged."""
    mutator, texts = Mutator(seed), documents.documents(seed, count)
    chance = mutator.random
    for number in range(count):
        uri = (folder / f"{chance.randrange(_FILES)}.yaml").as_uri()
        method, params = _message(chance, number, uri, next(texts).decode(errors="replace"))
        if chance.random() < 0.3:
            params = mutator.value(params)
        message: Json = {"jsonrpc": "2.0", "method": method, "params": params}
        is_request = method.rpartition("/")[2] in _REQUESTS
        content = json.dumps(message | ({"id": number} if is_request else {})).encode()
        if chance.random() < 0.05:
            # The number can be damaged too.
            yield None, mutator.data(json.dumps(message | {"id": count + number}).encode())
        else:
            yield number if is_request else None, content


def _message(chance: random.Random, number: int, uri: str, text: str) -> tuple[str, Json]:
    """Return method and parameters of a message about a file."""
    document: Json = {"uri": uri}
    match chance.randrange(10):
        case 0 | 1:
            return "textDocument/didOpen", {"textDocument": document | {"languageId": "yaml", "version": number, "text": text}}
        case 2 | 3:
            return "textDocument/didChange", {"textDocument": document | {"version": number}, "contentChanges": [{"text": text}]}
        case 4:
            method = chance.choice(("didClose", "didSave"))
            return f"textDocument/{method}", {"textDocument": document}
        case 5:
            return "workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": chance.randint(1, 3)}]}
    place = {"line": chance.choice((0, chance.randrange(40), 10**9)), "character": chance.choice((0, chance.randrange(40), 2**31 - 1))}
    params: Json = {"textDocument": document, "position": place, "newName": chance.choice(("a", "", "A B", "\x1b[2J"))}
    params |= {"range": {"start": place, "end": place}, "context": {"diagnostics": []}}
    return f"textDocument/{chance.choice(_REQUESTS)}", params


def check(seed: int, before: str = "") -> None:
    """Run a session, in a process that runs the code *before* first; raise DoesNotHoldError."""
    with tempfile.TemporaryDirectory(prefix="muster-fuzz-", dir=documents.FOLDER) as name:
        folder = Path(name)
        for number, content in enumerate(documents.documents(seed, _FILES)):
            (folder / f"{number}.yaml").write_bytes(content)
        given = list(messages(seed, MESSAGES, folder))
        workspace = {"processId": None, "rootUri": None, "capabilities": {}, "workspaceFolders": [{"uri": folder.as_uri(), "name": "a"}]}
        start = [{"id": "start", "method": "initialize", "params": workspace}, {"method": "initialized", "params": {}}]
        end = [{"id": "end", "method": "shutdown"}, {"method": "exit"}]
        sent = [*map(_encoded, start), *(content for _, content in given), *map(_encoded, end)]
        done = subprocess.run(
            [sys.executable, "-c", f"{before}\nfrom muster.__main__ import main; main()", "lsp", "--no-config"],
            input=b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(each), each) for each in sent),
            capture_output=True,
            check=False,
            cwd=folder,
            timeout=SECONDS,
        )
    answers = [json.loads(each) for each in _HEADERS.split(done.stdout) if each]
    _verify(given, answers, done.returncode, done.stderr.decode(errors="replace"))


def _encoded(message: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0"} | message).encode()


def _verify(given: Sequence[tuple[int | None, bytes]], answers: Sequence[Json], status: int, log: str) -> None:
    """Raise DoesNotHoldError unless each request has one answer, none of them is an internal error, and the log has no traceback."""
    answered = [each.get("id") for each in answers if "method" not in each]
    for number, content in given:
        if number is not None and answered.count(number) != 1:
            raise DoesNotHoldError(f"{answered.count(number)} answers to {content!r}; the log ends with {log[-300:]!r}")
    if status or "end" not in answered:
        raise DoesNotHoldError(f"status {status}; the log ends with {log[-300:]!r}")
    if wrong := [each for each in answers if each.get("error", {}).get("code") == INTERNAL]:
        raise DoesNotHoldError(f"{wrong[0]}; {dict(given).get(wrong[0].get('id'))!r}")
    if (start := log.find("internal error")) >= 0 or (start := log.find("Traceback")) >= 0:
        raise DoesNotHoldError(f"the log has {log[start:][:600]!r}")


def run(seed: int, count: int = SESSIONS, before: str = "") -> Round:
    """Run *count* sessions."""
    done = attempt(range(seed * SESSIONS, seed * SESSIONS + count), lambda each: check(each, before), SECONDS)
    return Round(count * MESSAGES, done.failures)


CAMPAIGN = Campaign(
    "lsp",
    "mutated documents and messages for `muster lsp`",
    f"each request has one answer, no internal error, no traceback, exit status 0, an end within {SECONDS:g} s",
    100_000,
    run,
)
