"""GET requests to the API server, whole or as a stream of lines.

Edge: kubernetes, for the address, trust and credentials, and urllib3, on which it stands.  Its models are not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import urllib3
from kubernetes import client

CONNECT_SECONDS, LIST_SECONDS = 5.0, 30.0
LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of one watch event; the API server keeps objects well below."""


class ReplyError(Exception):
    """The API server answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"HTTP {code}: {message}")
        self.code = code


class Failure(msgspec.Struct, frozen=True):
    """What a Status says of an error."""

    code: int = 0
    message: str = ""


FAILURE = msgspec.json.Decoder(Failure)


class Api:
    """GET requests to the API server, with the client library's address, trust and credentials."""

    def __init__(self, configuration: client.Configuration) -> None:
        self._client = client.ApiClient(configuration)

    def open(self, path: str, query: Sequence[tuple[str, str]], read_seconds: float) -> urllib3.BaseHTTPResponse:
        """The answer to a GET, its body not yet read; *read_seconds* is the longest silence.

        Raises:
            ReplyError: the answer is not 200.
            OSError, urllib3.exceptions.HTTPError: there is none.
        """
        request = self._client.param_serialize("GET", path, query_params=list(query), auth_settings=["BearerToken"])
        response: Any = self._client.call_api(*request, _request_timeout=(CONNECT_SECONDS, read_seconds)).response
        if response.status != 200:
            content = response.read(4096, decode_content=False)
            response.release_conn()
            raise ReplyError(response.status, _message(content))
        found: urllib3.BaseHTTPResponse = response
        return found

    def read(self, path: str, query: Sequence[tuple[str, str]] = ()) -> bytes:
        """The whole answer to a GET.  Raises as ``open``."""
        response = self.open(path, query, LIST_SECONDS)
        try:
            return response.read(decode_content=True)
        finally:
            response.release_conn()


def lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """The lines of a stream as they arrive.  Raises ValueError where one is longer than LONGEST_LINE."""
    rest = bytearray()
    for piece in response.stream(65536, decode_content=True):
        rest += piece
        if len(rest) > LONGEST_LINE:
            raise ValueError(f"a watch event must be at most {LONGEST_LINE} bytes")
        *whole, last = rest.split(b"\n")
        rest = last
        yield from (bytes(each) for each in whole if each.strip())


def _message(content: bytes) -> str:
    try:
        return FAILURE.decode(content).message[:200]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return "no reason given"
