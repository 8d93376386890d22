"""Messages that break the protocol: a request gets the error response of JSON-RPC, a notification is left out with a line in the log.

Other messages are handled by the library, which has no answer for these.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls import exceptions
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol

log = logging.getLogger("muster.lsp")
_VERSION = "2.0"


class CheckedProtocol(LanguageServerProtocol):
    """Protocol of the library, with a check of each message before it is decoded."""

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return an object of a message as it is; ``handle_message`` decodes the whole."""
        return data

    def handle_message(self, message: Any) -> None:
        """Handle a message, or answer that it is none."""
        identifier = message.get("id") if isinstance(message, Mapping) else None
        identifier = identifier if isinstance(identifier, int | str) and not isinstance(identifier, bool) else None
        try:
            decoded = self._decoded(message, identifier)
        except JsonRpcException as error:
            is_notification = isinstance(message, Mapping) and "id" not in message and isinstance(message.get("method"), str)
            if is_notification:
                log.warning("notification %s left out: %s", message["method"], error)
            else:
                self.refuse(error, identifier)
            return
        super().handle_message(decoded)

    def refuse(self, error: JsonRpcException, identifier: int | str | None = None) -> None:
        """Send the error response to the request with *identifier*; None if it cannot be known."""
        log.warning("message refused: %s", error)
        # The library omits an identifier that is null, which must be in the response.
        self._send_data({"jsonrpc": _VERSION, "id": identifier, "error": {"code": error.code, "message": str(error)}})

    def _decoded(self, message: Any, identifier: int | str | None) -> Any:
        """Return a message as the library decodes it.

        Raises:
            JsonRpcException: it is none, or must not be sent now.

        """
        if not isinstance(message, Mapping):
            raise exceptions.JsonRpcInvalidRequest("a message must be an object; batches are no part of the protocol")
        if message.get("jsonrpc") != _VERSION:
            raise exceptions.JsonRpcInvalidRequest(f'jsonrpc must be "{_VERSION}"')
        if "id" in message and identifier is None:
            raise exceptions.JsonRpcInvalidRequest("id must be a number or a string")
        method = message.get("method")
        if "method" in message or not message.keys() & {"result", "error"}:
            if not isinstance(method, str):
                raise exceptions.JsonRpcInvalidRequest("method must be a string")
            self._check_state(method)
            if method not in self.fm.features and method not in self.fm.builtin_features and method != types.CANCEL_REQUEST:
                raise exceptions.JsonRpcMethodNotFound(f"there is no method {method}")
        try:
            # The library describes what it cannot decode in its log, as a traceback.
            decoded = super().structure_message(dict(message))
        except JsonRpcException:
            raise exceptions.JsonRpcInvalidParams(f"params of {method} are not those of the protocol") from None
        _check_uris(message.get("params"))
        # The library keeps documents by their unquoted URI.
        if method == types.TEXT_DOCUMENT_DID_CHANGE and unquote(decoded.params.text_document.uri) not in self.workspace.text_documents:
            raise exceptions.JsonRpcInvalidParams("the document is not open")
        return decoded

    def _check_state(self, method: str) -> None:
        if self._shutdown and method != types.EXIT:
            raise exceptions.JsonRpcInvalidRequest("the server is shut down")
        is_initialized = self._workspace is not None
        if not is_initialized and method not in {types.INITIALIZE, types.EXIT}:
            raise exceptions.JsonRpcServerNotInitialized("initialize must be the first request")
        if is_initialized and method == types.INITIALIZE:
            raise exceptions.JsonRpcInvalidRequest("initialize was sent before")


def _check_uris(params: Any) -> None:
    for uri in _uris(params):
        try:
            urlsplit(uri)
        except ValueError as error:
            raise exceptions.JsonRpcInvalidParams(f"uri is none: {error}") from None


def _uris(params: Any) -> Iterator[str]:
    """Yield the URIs of documents and folders in the params of a message."""
    left = [params]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            yield from (value[name] for name in ("rootUri", "uri") if isinstance(value.get(name), str))
            left += value.values()
        elif isinstance(value, list):
            left += value
