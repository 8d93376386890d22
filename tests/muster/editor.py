"""An editor: a real client of the language server, over its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.forked import ForkedProcess
from tests.sampling import WHOLE

WAIT_SECONDS = 60


class Editor:
    """Editor with one workspace folder, whose files it can open and change."""

    def __init__(self, top: Path, client: LanguageClient) -> None:
        self.top = top
        self.client = client
        self._diagnostics: dict[str, list[types.PublishDiagnosticsParams]] = {}
        self._news = asyncio.Event()
        self._versions: dict[str, int] = {}
        self.messages: list[str] = []
        self.watched: list[str] = []

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self._diagnostics.setdefault(params.uri, []).append(params)
            self._news.set()

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def shown(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(params: types.RegistrationParams) -> None:
            self.watched += [each.method for each in params.registrations]

    def uri(self, name: str) -> str:
        return (self.top / name).as_uri()

    async def open(self, name: str, text: str | None = None) -> list[types.Diagnostic]:
        """Open a file, with its content on disk or *text*; return its diagnostics."""
        content = (self.top / name).read_text(encoding="utf-8") if text is None else text
        self._versions[name] = 1
        item = types.TextDocumentItem(self.uri(name), "yaml", 1, content)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self._version(name)

    async def change(self, name: str, text: str) -> list[types.Diagnostic]:
        """Replace the text of an open file; return its diagnostics."""
        self._versions[name] += 1
        document = types.VersionedTextDocumentIdentifier(self._versions[name], self.uri(name))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        return await self._version(name)

    def close(self, name: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(self.uri(name))))

    def saved(self, name: str) -> None:
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(self.uri(name))))

    def changed_on_disk(self, name: str, kind: types.FileChangeType = types.FileChangeType.Changed) -> None:
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([types.FileEvent(self.uri(name), kind)]))

    def rules(self, name: str) -> list[str]:
        """Return the rules of the diagnostics that a file has now."""
        published = self._diagnostics.get(self.uri(name))
        return [str(each.code) for each in published[-1].diagnostics] if published else []

    def published(self) -> set[str]:
        """Return the URIs for which diagnostics were published."""
        return set(self._diagnostics)

    async def hover(self, name: str, line: int, character: int) -> str:
        """Return the help for a position; empty if there is none."""
        place = types.TextDocumentIdentifier(self.uri(name)), types.Position(line, character)
        answer = await self.client.text_document_hover_async(types.HoverParams(*place))
        assert answer is None or isinstance(answer.contents, types.MarkupContent)
        return answer.contents.value if answer is not None else ""

    async def definition(self, name: str, line: int, character: int) -> tuple[str, int, int] | None:
        """Return file, line and column of the definition of what is at a position."""
        place = types.TextDocumentIdentifier(self.uri(name)), types.Position(line, character)
        answer = await self.client.text_document_definition_async(types.DefinitionParams(*place))
        if answer is None:
            return None
        assert isinstance(answer, types.Location)
        return Path(answer.uri).name, answer.range.start.line, answer.range.start.character

    async def fixes(self, name: str, line: int, *, only: str | None = None) -> list[types.CodeAction]:
        """Return the quick fixes of a line."""
        lines = types.Range(types.Position(line, 0), types.Position(line, 999))
        context = types.CodeActionContext([], only=None if only is None else [only])
        params = types.CodeActionParams(types.TextDocumentIdentifier(self.uri(name)), lines, context)
        answer = await self.client.text_document_code_action_async(params)
        return [each for each in answer or () if isinstance(each, types.CodeAction)]

    async def completions(self, name: str, marked: str) -> dict[str, types.CompletionItem]:
        """Give an open file the text *marked* without its mark ``|``; return what can be typed at the mark, by label and in order."""
        before, after = marked.split("|")
        await self.change(name, before + after)
        items = await self.client.text_document_completion_async(types.CompletionParams(*self._at_end_of(name, before)))
        assert isinstance(items, list)
        assert [each.sort_text for each in items] == sorted(each.sort_text or "" for each in items)
        return {each.label: each for each in items}

    async def completed(self, name: str, marked: str, label: str) -> str:
        """Return the text of a file after the choice *label* was taken at the mark."""
        item = (await self.completions(name, marked))[label]
        assert isinstance(item.text_edit, types.TextEdit)
        return applied(marked.replace("|", "", 1), [item.text_edit])

    async def outline(self, name: str) -> Sequence[types.DocumentSymbol] | Sequence[types.SymbolInformation]:
        """Return the symbols of a file."""
        answer = await self.client.text_document_document_symbol_async(
            types.DocumentSymbolParams(types.TextDocumentIdentifier(self.uri(name)))
        )
        return answer or []

    async def renamed(self, name: str, before: str, new: str) -> dict[str, list[types.TextEdit]]:
        """Rename what is after the text *before* of a file; return the edits by file."""
        document, position = self._at_end_of(name, before)
        answer = await self.client.text_document_rename_async(types.RenameParams(text_document=document, position=position, new_name=new))
        assert answer is not None
        return {Path(uri).name: list(edits) for uri, edits in (answer.changes or {}).items()}

    async def renameable(self, name: str, before: str) -> types.PrepareRenamePlaceholder:
        """Return the name that can be renamed after the text *before* of a file."""
        document, position = self._at_end_of(name, before)
        answer = await self.client.text_document_prepare_rename_async(types.PrepareRenameParams(document, position))
        assert isinstance(answer, types.PrepareRenamePlaceholder)
        return answer

    def _at_end_of(self, name: str, before: str) -> tuple[types.TextDocumentIdentifier, types.Position]:
        line = before.rpartition("\n")[2]
        position = types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)
        return types.TextDocumentIdentifier(self.uri(name)), position

    async def until(self, condition: Callable[[], Any], what: str) -> None:
        """Wait for diagnostics with which *condition* holds."""
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while not condition():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            published = {uri: [each.code for each in listed[-1].diagnostics] for uri, listed in self._diagnostics.items()}
            raise AssertionError(f"not within {WAIT_SECONDS} s: {what}; published: {published}; messages: {self.messages}") from None

    async def _version(self, name: str) -> list[types.Diagnostic]:
        version = self._versions[name]

        def is_published() -> bool:
            return any(each.version == version for each in self._diagnostics.get(self.uri(name), []))

        await self.until(is_published, f"diagnostics of version {version} of {name}")
        return next(list(each.diagnostics) for each in reversed(self._diagnostics[self.uri(name)]) if each.version == version)


def applied(text: str, edits: Sequence[types.TextEdit]) -> str:
    """Return *text* after edits, whose columns are units of UTF-16."""
    starts = [0, *(at + 1 for at, each in enumerate(text) if each == "\n")]

    def offset(position: types.Position) -> int:
        line = text[starts[position.line] :]
        return starts[position.line] + len(line.encode("utf-16-le")[: 2 * position.character].decode("utf-16-le"))

    for edit in sorted(edits, key=lambda each: each.range.start, reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


@contextlib.asynccontextmanager
async def started(
    top: Path, *arguments: str, capabilities: types.ClientCapabilities | None = None, folders: bool = True, directory: Path | None = None
) -> AsyncIterator[Editor]:
    """Start ``muster lsp`` for the folder *top*, in *directory* or there, and end it.

    In `make soak` it is started as an editor does.
    """
    client = LanguageClient("editor", "1")
    editor = Editor(top, client)
    process = None
    if WHOLE:
        await client.start_io(str(Path(sys.executable).parent / "muster"), "lsp", *arguments, cwd=directory or top)
    else:
        process = await _forked(client, arguments, directory or top)
    workspace = [types.WorkspaceFolder(top.as_uri(), top.name)] if folders else None
    answer = await client.initialize_async(
        types.InitializeParams(capabilities=capabilities or types.ClientCapabilities(), workspace_folders=workspace)
    )
    assert answer.server_info is not None
    assert answer.server_info.name == "muster"
    client.initialized(types.InitializedParams())
    yield editor
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    assert editor.messages == []
    assert process is None or process.wait(WAIT_SECONDS) == 0


async def _forked(client: LanguageClient, arguments: Sequence[str], folder: Path) -> ForkedProcess:
    """Fork a server whose standard input and output are the connection of *client*."""
    with socket.create_server(("127.0.0.1", 0)) as listening, tempfile.TemporaryFile() as errors:
        await client.start_tcp(*listening.getsockname())
        connection, _ = listening.accept()
        with connection:
            return ForkedProcess(["lsp", *arguments], connection, errors, os.environ, folder, given=connection)
