"""Requests to the API server; a response is read whole, or as a stream of lines.

Edge: urllib3.  What is sent without a proxy does not use it: ``exchange``.
"""

from __future__ import annotations

import datetime as dt
import re
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from types import MappingProxyType

import msgspec
import urllib3

from apiserver.connection import Connection
from apiserver.credentials import Identity
from apiserver.exchange import LARGEST_ANSWER, Exchange, Response

CONNECT_SECONDS, READ_SECONDS = 5.0, 30.0
TOKEN_SECONDS = 10.0
"""Time after which the bearer token is read again."""
LONGEST_LINE = 16 * 1024 * 1024
"""Limit for one watch event, in bytes; objects of the API server are much smaller."""
_MANAGED = frozenset({"POST", "PUT", "PATCH"})
"""Methods with a parameter ``fieldManager``."""
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

Query = Sequence[tuple[str, str]]
Warnings = tuple[str, ...]
_WARNING, _UNQUOTED = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"'), re.compile(r"\\(.)")
"""One warning in the header ``Warning`` of RFC 7234, and an escaped character in it."""

TRANSPORT = (OSError, urllib3.exceptions.HTTPError)
"""Exceptions of a request without a response."""
SILENT = urllib3.exceptions.ReadTimeoutError
"""Exception of a response whose next byte does not come in time."""


class ReplyError(Exception):
    """Error response of the API server.

    Attributes:
        code: HTTP status.
        message: message of the Status.
        reason: reason of the Status, for example ``Conflict``; empty if there is none.
        retry_after: ``Retry-After`` in seconds; None if it is not set.
        causes: reasons of the Status's causes, for example ``DisruptionBudget``.
        fields: fields of the Status's causes, for example ``metadata.uid``.

    """

    def __init__(
        self,
        code: int,
        message: str,
        reason: str = "",
        retry_after: float | None = None,
        causes: Sequence[str] = (),
        fields: Sequence[str] = (),
    ) -> None:
        super().__init__(f"HTTP {code}: {message}")
        self.code = code
        self.message = message
        self.reason = reason
        self.retry_after = retry_after
        self.causes = tuple(causes)
        self.fields = tuple(fields)


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""
    field: str = ""


class _Details(msgspec.Struct, frozen=True):
    causes: tuple[_Cause, ...] | None = None


class Failure(msgspec.Struct, frozen=True):
    """Fields of a Status that are used, and the message of a program behind the API server's proxy (``error``)."""

    code: int = 0
    message: str = ""
    error: str = ""
    reason: str = ""
    details: _Details | None = None


FAILURE = msgspec.json.Decoder(Failure)
_SHOWN = 500


_Headers = dict[str, str] | urllib3.HTTPHeaderDict
_Open = Callable[..., urllib3.BaseHTTPResponse]
_VISIBLE = re.compile(r"[!-~]*")
_OF_URLS = "/?&=%:,;+!$'()*@~"


class Api:
    """Client with the address, trust and credentials of a connection; thread-safe.

    Writes name *field_manager* for ``metadata.managedFields``; if empty, the API server uses the User-Agent.

    Attributes:
        host: URL of the API server.
        connection: the connection.

    """

    def __init__(self, connection: Connection, field_manager: str = "") -> None:
        self.host: str = connection.host
        self.connection = connection
        self._field_manager = (("fieldManager", field_manager),) if field_manager else ()
        self._lock = threading.Lock()
        self._identity, self._expires = Identity(), float("-inf")
        self._headers: _Headers = {}
        self._open: _Open | None = None
        self._exchange: Exchange | None = None
        self._base, self._head = self.host, ""

    def open(self, path: str, query: Query = (), read_seconds: float = READ_SECONDS) -> urllib3.BaseHTTPResponse:
        """Send a GET and return the response with its body unread; *read_seconds* limits the time without data.

        Raises:
            ReplyError: the status is not 2xx.
            OSError, urllib3.exceptions.HTTPError: there is no response.

        """
        return self._request("GET", path, query, read_seconds, None, {})

    def read(self, path: str, query: Query = (), headers: Mapping[str, str] = MappingProxyType({})) -> bytes:
        """Return the body of the response to a GET with further *headers*.  Raises as ``open``."""
        return _read_body(self._request("GET", path, query, READ_SECONDS, None, headers))

    def send(
        self, method: str, path: str, body: bytes | None, *, content_type: str = JSON, query: Query = (), seconds: float = READ_SECONDS
    ) -> bytes:
        """Send a request with any method and return the body of the response, which must begin within *seconds*.  Raises as ``open``."""
        return self._sent(method, path, body, content_type, query, seconds).body

    def send_heeding_warnings(self, method: str, path: str, body: bytes, *, query: Query = (), seconds: float = READ_SECONDS) -> Warnings:
        """Send a request with a body in JSON and return the warnings of the response.  Raises as ``open``."""
        response = self._sent(method, path, body, JSON, query, seconds)
        return tuple(_UNQUOTED.sub(r"\1", each) for each in _WARNING.findall(response.headers.get("warning", "")))

    def _sent(self, method: str, path: str, body: bytes | None, content_type: str, query: Query, seconds: float) -> Response:
        if method in _MANAGED:
            query = (*query, *self._field_manager)
        self._renewed()
        if (exchange := self._exchange) is None:
            kind = {"Content-Type": content_type} if body is not None else {}
            by_proxy = self._request(method, path, query, seconds, body, kind, total=seconds)
            headers = {name.lower(): ", ".join(by_proxy.headers.getlist(name)) for name in by_proxy.headers}
            return Response(by_proxy.status, headers, _read_body(by_proxy))
        url = self._url(path, query)
        if not _VISIBLE.fullmatch(url):
            url = urllib.parse.quote(url, safe=_OF_URLS)
        of_body = f"Content-Type: {content_type}\r\n" if body is not None else ""
        if body is not None or method in _MANAGED:
            of_body += f"Content-Length: {len(body or b'')}\r\n"
        head = f"{method} {url} HTTP/1.1\r\n{self._head}{of_body}\r\n"
        response = exchange.response(head.encode("latin-1") + (body or b""), seconds)
        if response.status >= 300:
            self._refused(response.status)
            raise reply_error(response.status, response.body, _seconds(response.headers.get("retry-after")))
        return response

    def _url(self, path: str, query: Query) -> str:
        return f"{self._base}{path}{f'?{urllib.parse.urlencode(list(query))}' if query else ''}"

    def _refused(self, status: int) -> None:
        if status == HTTPStatus.UNAUTHORIZED:
            self._expires = float("-inf")
            self.connection.credentials.refused()

    def _request(
        self,
        method: str,
        path: str,
        query: Query,
        seconds: float,
        body: bytes | None,
        headers: Mapping[str, str],
        total: float | None = None,
    ) -> urllib3.BaseHTTPResponse:
        send = self._renewed()
        timeout = urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds, total=total)
        sent = self._headers.copy()
        sent.update(headers)
        response = send(
            method, self._url(path, query), body=body, headers=sent, timeout=timeout, retries=False, redirect=False, preload_content=False
        )
        if response.status >= 300:
            self._refused(response.status)
            raise _error(response)
        return response

    def _renewed(self) -> _Open:
        """Return the function that sends a request.  It reads the credentials again regularly: a kubelet or a plugin renews them."""
        now = time.monotonic()
        if self._open is not None and now < self._expires:
            return self._open
        identity = self.connection.credentials.identity()
        with self._lock:
            if self._open is None or identity.certificate != self._identity.certificate:
                self._open, self._base = self._connected(identity)
            if identity != self._identity or not self._headers:
                self._headers = _headers((("Accept", JSON), ("User-Agent", "muster"), *identity.headers))
                host = urllib.parse.urlsplit(self.host).netloc.rpartition("@")[2]
                # ``credentials.header`` admits no line breaks.
                self._head = "".join(f"{name}: {value}\r\n" for name, value in (("Host", host), *self._headers.items()))
            self._identity, self._expires = identity, now + TOKEN_SECONDS
            return self._open

    def _connected(self, identity: Identity) -> tuple[_Open, str]:
        """Return the function that sends a request, and the part of a URL that it needs before the path."""
        try:
            manager = self.connection.pools(identity.certificate)
            self._exchange = self.connection.exchange(identity.certificate, CONNECT_SECONDS)
        except ValueError as error:
            raise OSError(str(error)) from None
        # The pool manager spends a third of a request on finding the connection pool by URL; only a proxy needs that.
        if isinstance(manager, urllib3.ProxyManager):
            return manager.urlopen, self.host
        return manager.connection_from_url(self.host).urlopen, urllib.parse.urlsplit(self.host).path.rstrip("/")

    def identity(self) -> Identity:
        """Return what is shown to the API server.  Raises OSError if it cannot be read."""
        self._renewed()
        return self._identity


def _headers(pairs: Sequence[tuple[str, str]]) -> _Headers:
    """Return headers, as a dict unless a name is there twice."""
    by_name = dict(pairs)
    return by_name if len(by_name) == len(pairs) else urllib3.HTTPHeaderDict(pairs)


def lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """Yield the lines of a stream as they arrive.  Raises ValueError if one is longer than LONGEST_LINE."""
    incomplete = bytearray()
    for chunk in response.stream(65536, decode_content=True):
        incomplete += chunk
        if len(incomplete) > LONGEST_LINE:
            raise ValueError(f"a watch event must be at most {LONGEST_LINE} bytes")
        *complete, incomplete = incomplete.split(b"\n")
        yield from (bytes(each) for each in complete if each.strip())


def _read_body(response: urllib3.BaseHTTPResponse) -> bytes:
    try:
        content = response.read(LARGEST_ANSWER + 1, decode_content=True)
        if len(content) > LARGEST_ANSWER:
            raise ValueError(f"an answer must be at most {LARGEST_ANSWER} bytes")
        return content
    finally:
        response.release_conn()


def _error(response: urllib3.BaseHTTPResponse) -> ReplyError:
    content = response.read(65536, decode_content=False)
    # Unread bytes would be read as the start of the next response.
    (response.close if response.length_remaining else response.release_conn)()
    return reply_error(response.status, content, _seconds(response.headers.get("Retry-After")))


def reply_error(code: int, content: bytes, retry_after: float | None = None) -> ReplyError:
    """Return the error of a response with the body *content*."""
    try:
        failure = FAILURE.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        failure = Failure(message="no reason given")
    causes = (failure.details and failure.details.causes) or ()
    message = (failure.message or failure.error)[:_SHOWN]
    return ReplyError(code, message, failure.reason, retry_after, [each.reason for each in causes], [each.field for each in causes])


def micro_time() -> str:
    """Return the time as a metav1.MicroTime: ``2026-01-31T12:00:00.000000Z``."""
    return dt.datetime.now(dt.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 6 else None
