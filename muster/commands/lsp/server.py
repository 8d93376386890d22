"""The language server: requests and notifications of the editor.

Only this package knows the protocol; the library pygls reads and writes its messages.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcParseError, PyglsError
from pygls.lsp.server import LanguageServer

from muster.commands.lsp import completion, field_help, positions, quick_fixes, rename, symbols
from muster.commands.lsp.checked_messages import CheckedProtocol, log
from muster.commands.lsp.session import Options, Session
from muster.extras import DISTRIBUTION
from validators.lint.files import SUFFIXES

_SCHEMES = ("file:", "untitled:")
_CONFIGURATION = (".muster.yaml", "pyproject.toml")
_WATCHED = ("**/*.{yaml,yml,json}", "**/{.gitignore,Kustomization,pyvenv.cfg,.muster.yaml,pyproject.toml}")


class MusterServer(LanguageServer):
    """Language server of one editor."""

    def __init__(self, session: Session, options_of: Callable[[str], tuple[Options, str]]) -> None:
        # Whole texts: the library splits lines at more characters than the protocol, and would apply partial changes elsewhere.
        full = types.TextDocumentSyncKind.Full
        super().__init__("muster", metadata.version(DISTRIBUTION), text_document_sync_kind=full, protocol_cls=CheckedProtocol)
        self.session = session
        self._options_of = options_of
        self._unpublished: set[str] = set()
        """Files whose diagnostics are those of the last configuration."""
        self._uris: dict[str, str] = {}
        """URI of each file that the editor has opened, by name: editors write one path as different URIs."""
        self._published: dict[str, list[types.Diagnostic]] = {}
        self._loading: asyncio.Task[None] | None = None
        self._is_outdated = False

    def report_server_error(self, error: Exception, source: type[PyglsError | JsonRpcException]) -> None:
        """Answer a message that is not JSON; write any other error, which is a mistake of this server, to the log, and show it."""
        if source is JsonRpcException and isinstance(error, ValueError | RecursionError) and isinstance(self.protocol, CheckedProtocol):
            self.protocol.refuse(JsonRpcParseError("a message must be JSON in UTF-8"))
        elif isinstance(error, JsonRpcInternalError):
            # The library has wrapped an exception of a handler, with the lines of its traceback.
            log.error("internal error: %s\n%s", error, "".join((error.data or {}).get("traceback", ())))
            super().report_server_error(error, source)
        elif not isinstance(error, JsonRpcException):
            log.error("internal error", exc_info=error)
            super().report_server_error(error, source)

    async def load(self) -> None:
        """Read the folders of the workspace, and publish all findings; again if they have changed meanwhile."""
        self._is_outdated = True
        if self._loading is None or self._loading.done():
            self._loading = asyncio.current_task()
            while self._is_outdated:
                self._is_outdated = False
                changed, self._unpublished = self._unpublished, set()
                for names in self.session.load(self._folders()):
                    changed |= names
                    await asyncio.sleep(0)
                self.publish(changed)
            self._loading = None

    def configure(self) -> None:
        """Read the configuration of the first folder of the workspace; the next ``load`` uses it.  A mistake in it is shown."""
        folders = self._folders()
        if not folders:
            return
        options, problem = self._options_of(folders[0])
        if problem:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"muster: {problem}"))
        self._unpublished |= self.session.configure(options)

    def opened(self, uri: str, text: str) -> None:
        """Lint the text of a file that is open in the editor; other schemes show another version of a file, as that of git."""
        if not uri.startswith(_SCHEMES):
            return
        path = path_of(uri)
        name = self.session.name_of(path)
        self._uris[name] = uri
        self.publish({*self.session.write(path, text), name})

    def closed(self, uri: str) -> None:
        """Lint the content on disk of a file that was open."""
        path = path_of(uri)
        changed = {*self.session.close(path), self.session.name_of(path)}
        self.publish(changed)
        self._uris.pop(self.session.name_of(path), None)

    async def changed_on_disk(self, paths: Sequence[str], *, is_open: bool = False) -> None:
        """Read files again, all of them if others may be read now; of an open file only the effect on others is new."""
        is_configuration = any(path.endswith(_CONFIGURATION) for path in paths)
        if is_configuration:
            self.configure()
        if is_configuration or not all(path.endswith(SUFFIXES) and self.session.knows(path) for path in paths):
            await self.load()
        elif not is_open:
            self.publish(self.session.reload(paths))

    def publish(self, names: Iterable[str]) -> None:
        """Publish the diagnostics of files whose findings may have changed."""
        codec = self.workspace.position_codec
        for name in sorted(names):
            diagnostics = [*positions.diagnostics(self.session.findings(name), self.session.documents(name), codec)]
            uri = self.uri_of(name)
            if diagnostics == self._published.get(uri, []) and name not in self._uris:
                continue
            self._published[uri] = diagnostics
            version = self.workspace.get_text_document(uri).version if name in self._uris else None
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    def uri_of(self, name: str) -> str:
        """Return the URI of a file, as the editor writes it if it is open."""
        return self._uris.get(name) or uris.from_fs_path(name) or name

    def watch_files(self) -> None:
        """Ask the editor to report changes on disk, if it can."""
        watched = self.client_capabilities.workspace and self.client_capabilities.workspace.did_change_watched_files
        if watched and watched.dynamic_registration:
            watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("muster-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self.client_register_capability(types.RegistrationParams([registration]))

    def _folders(self) -> list[str]:
        folders = [each.uri for each in self.workspace.folders.values()]
        if not folders and self.workspace.root_uri:
            folders = [self.workspace.root_uri]
        return [path_of(each) for each in folders]


def path_of(uri: str) -> str:
    """Return the path of a file; a URI that is not of a file is returned as it is, but for characters that no path can have."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return (path or uri).replace("\0", "%00").encode(errors="replace").decode()


def create(options: Options, options_of: Callable[[str], tuple[Options, str]]) -> MusterServer:
    """Return the server with all that it can do; *options_of* returns those of a folder, and a mistake in its configuration."""
    server = MusterServer(Session(options), options_of)
    _follow_files(server)
    _answer_requests(server)
    _answer_about_names(server)
    return server


def _follow_files(server: MusterServer) -> None:
    """Handle the notifications about files that are open in the editor, or change on disk."""

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        server.watch_files()
        server.configure()
        await server.load()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        server.opened(params.text_document.uri, params.text_document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        if params.content_changes:
            server.opened(params.text_document.uri, params.content_changes[-1].text)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(params: types.DidSaveTextDocumentParams) -> None:
        await server.changed_on_disk([path_of(params.text_document.uri)], is_open=True)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_folders(_: types.DidChangeWorkspaceFoldersParams) -> None:
        server.configure()
        await server.load()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_files(params: types.DidChangeWatchedFilesParams) -> None:
        await server.changed_on_disk([path_of(each.uri) for each in params.changes])


def _answer_requests(server: MusterServer) -> None:
    """Answer the requests about a position of a file."""

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix]))
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        return quick_fixes.actions(server.session, path_of(uri), uri, params, server.workspace.position_codec)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        return field_help.hover(server.session, path_of(params.text_document.uri), params.position, server.workspace.position_codec)

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[" ", '"']))
    def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        return completion.items(server.session, path_of(params.text_document.uri), params.position, server.workspace.position_codec)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> types.Location | None:
        path, codec = path_of(params.text_document.uri), server.workspace.position_codec
        target = field_help.definition(server.session, path, params.position, codec)
        return None if target is None else types.Location(server.uri_of(target.file), target.range)


def _answer_about_names(server: MusterServer) -> None:
    """Answer the requests for the outline of a file, and for renames."""

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def document_symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol] | list[types.SymbolInformation]:
        uri = params.text_document.uri
        outline = symbols.outline(server.session, path_of(uri), server.workspace.position_codec)
        text_document = server.client_capabilities.text_document
        shown = text_document.document_symbol if text_document else None
        return outline if shown and shown.hierarchical_document_symbol_support else [*symbols.flat(outline, uri)]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_rename(params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder:
        return rename.prepare(server.session, path_of(params.text_document.uri), params.position, server.workspace.position_codec)

    @server.feature(types.TEXT_DOCUMENT_RENAME)
    def rename_name(params: types.RenameParams) -> types.WorkspaceEdit:
        path, codec = path_of(params.text_document.uri), server.workspace.position_codec
        changes = rename.edits(server.session, path, params.position, params.new_name, codec)
        return types.WorkspaceEdit({server.uri_of(name): edits for name, edits in changes.items()})


def run(options: Options, options_of: Callable[[str], tuple[Options, str]]) -> None:
    """Serve the editor on standard input and output until it ends the connection."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="muster lsp: %(message)s")
    # Its messages are about its own code; what they mean for users is answered and logged by this package.
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)
    create(options, options_of).start_io()
