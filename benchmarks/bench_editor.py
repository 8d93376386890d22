"""Processor time of the language server after a keystroke, compared with linting the workspace anew, and for a completion."""

from __future__ import annotations

import asyncio
import functools
import io
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from benchmarks import measure
from validators.lint import files, lint_files
from validators.rules.base import Settings

FILES = 1000
KEYSTROKES = 100
LIMIT_SECONDS = 0.05
"""Of a keystroke, and of a completion."""
WHOLE = 5
"""Number of times that the whole workspace is linted again."""

DOCUMENTS = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: {name}
  labels:
    team: research
spec:
  # A comment.
  schedulingPolicy:
    gang:
      minCount: {count}
---
apiVersion: v1
kind: Pod
metadata:
  name: {name}
  labels:
    team: research
spec:
  schedulingGroup:
    podGroupName: {name}
  containers:
  - name: main
    image: registry.example/train:1
---
"""
"""25 lines."""
TEMPLATE = """\
  - name: t{number}
    schedulingPolicy:
      gang:
        minCount: 4
"""


def main() -> None:
    """Measure and print."""
    many = "".join(DOCUMENTS.format(name=f"edited-{number}", count=number + 1) for number in range(21))
    one = "apiVersion: scheduling.k8s.io/v1beta1\nkind: Workload\nmetadata:\n  name: edited-1\nspec:\n  podGroupTemplates:\n"
    one += "".join(TEMPLATE.format(number=number) for number in range(124))
    rows = []
    for title, text in (("525 lines, 42 objects", many), ("502 lines, one Workload", one)):
        for others in (0, FILES):
            with tempfile.TemporaryDirectory(prefix="muster-bench-") as name:
                top = Path(name).resolve()
                for number in range(others):
                    (top / f"f{number}.yaml").write_text(DOCUMENTS.format(name=f"g{number}", count=2), encoding="utf-8")
                (top / "edited.yaml").write_text(text, encoding="utf-8")
                keystroke, completion = asyncio.run(_seconds(top, text))
                anew = statistics.median(_anew(top) for _ in range(WHOLE))
            limit = measure.verdict(max(keystroke, completion), LIMIT_SECONDS, at_least=False)
            figures = (f"{keystroke * 1e3:.1f} ms", f"{anew * 1e3:,.0f} ms", f"{keystroke / anew:.4f}", f"{completion * 1e3:.1f} ms")
            rows.append([title, f"{others:,}", *figures, f"50 ms: {limit}"])
    columns = ("edited file", "other files", "after a keystroke", "whole workspace anew", "ratio", "completion", "limit")
    measure.table("Processor time of `muster lsp` after a keystroke", columns, rows)


async def _seconds(top: Path, text: str) -> tuple[float, float]:
    """Return seconds of processor time of the server for one keystroke in ``edited.yaml``, and for one completion in its middle.

    Each keystroke adds a letter to a name.  The keys of a gang are completed, in a text whose last line does not parse.
    """
    client, published = LanguageClient("bench", "1"), asyncio.Event()
    versions: dict[int | None, bool] = {}

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def on_diagnostics(params: types.PublishDiagnosticsParams) -> None:
        versions[params.version] = True
        published.set()

    async def is_published(version: int) -> None:
        while version not in versions:
            published.clear()
            await published.wait()

    await client.start_io(sys.executable, "-m", "muster", "lsp")
    folders = [types.WorkspaceFolder(top.as_uri(), "bench")]
    answer = await client.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities(), workspace_folders=folders))
    assert answer.server_info is not None
    client.initialized(types.InitializedParams())
    uri = (top / "edited.yaml").as_uri()
    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", 1, text)))
    await is_published(1)
    process = client._server  # noqa: SLF001 - the library has no other way to the number of the process
    assert process is not None
    before = 0.0
    for version in range(2, KEYSTROKES + 12):
        if version == 12:  # the first ones also load what was not needed before
            before = _processor_seconds(process.pid)
        changed = text.replace("name: edited-1\n", f"name: edited-1{'x' * (version % 50)}\n")
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        change = types.TextDocumentContentChangeWholeDocument(changed)
        client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
        await is_published(version)
    keystroke = (_processor_seconds(process.pid) - before) / KEYSTROKES
    identifier = types.VersionedTextDocumentIdentifier(KEYSTROKES + 12, uri)
    change = types.TextDocumentContentChangeWholeDocument(f"{text}broken: [")
    client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
    await is_published(KEYSTROKES + 12)
    line = text[: text.index("minCount", len(text) // 2)].count("\n")
    completed = types.CompletionParams(types.TextDocumentIdentifier(uri), types.Position(line, text.splitlines()[line].index("minCount")))
    before = _processor_seconds(process.pid)
    for _ in range(KEYSTROKES):
        assert await client.text_document_completion_async(completed)
    completion = (_processor_seconds(process.pid) - before) / KEYSTROKES
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return keystroke, completion


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _anew(top: Path) -> float:
    """Return the seconds of processor time to read and lint all files."""
    started = time.process_time()
    read = functools.partial(files.read_manifests, [str(top)], io.BytesIO())
    lint_files.run(read(), settings=Settings(linting=True))
    return time.process_time() - started


if __name__ == "__main__":
    main()
