"""Where an HTTP/1.1 request ends in a stream of bytes, and the limits that hold until then.

It reads nothing: bytes come in as they arrive.  What the head says is gunicorn's business; here its end is found and
the body collected, by length or by chunks.
"""

from __future__ import annotations

import re

HEAD_BYTES = 32 * 1024
"""Largest request line and header fields together.  The API server sends well under 1 KiB."""
LINE_BYTES = 256
"""Longest chunk size line, and longest trailer line."""
TRAILER_BYTES = 4096
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(;[^\r\n]*)?")
_END = b"\r\n\r\n"


class FramingError(ValueError):
    """Bytes that are no request, or one that is too large: ``code`` is the HTTP answer."""

    def __init__(self, message: str, code: int = 400) -> None:
        super().__init__(message)
        self.code = code


def split_head(buffer: bytearray) -> bytes | None:
    """Cut the head of a request, up to and with its empty line, off *buffer*; None while it is not complete.

    Raises:
        FramingError: it is larger than HEAD_BYTES.
    """
    while buffer[:2] == b"\r\n":
        # RFC 9112 2.2: empty lines before a request are to be ignored.
        del buffer[:2]
    end = buffer.find(_END)
    if end > HEAD_BYTES or (end < 0 and len(buffer) > HEAD_BYTES):
        raise FramingError(f"request line and headers must be at most {HEAD_BYTES} bytes", 431)
    if end < 0:
        return None
    head = bytes(buffer[: end + len(_END)])
    del buffer[: end + len(_END)]
    return head


class Body:
    """A body that is being received: of known *length*, or in chunks where that is None.

    Raises FramingError at once where the length alone exceeds *limit*.
    """

    def __init__(self, length: int | None, limit: int) -> None:
        self._left = length
        self._limit = limit
        self._trailer = 0
        self.content = bytearray()
        self.done = length == 0
        self._chunked = length is None
        self._state = "size" if self._chunked else "bytes"
        if length is not None and length > limit:
            raise self._too_large()

    def feed(self, buffer: bytearray) -> None:
        """Take what belongs to the body off *buffer*; ``done`` tells when there is nothing more to come.

        Raises:
            FramingError: malformed chunks, or more than the limit.
        """
        while not self.done and self._step(buffer):
            pass

    def _step(self, buffer: bytearray) -> bool:
        """Take one piece; False when *buffer* holds none that is complete."""
        if self._state == "bytes":
            return self._take(buffer)
        line = self._line(buffer)
        if line is None:
            return False
        if self._state == "size":
            self._begin_chunk(line)
        elif self._state == "after":
            if line:
                raise FramingError("a chunk must be followed by an empty line")
            self._state = "size"
        else:
            self._trailer += len(line)
            if self._trailer > TRAILER_BYTES:
                raise FramingError(f"trailers must be at most {TRAILER_BYTES} bytes", 431)
            self.done = not line
        return True

    def _take(self, buffer: bytearray) -> bool:
        left = self._left or 0
        if not buffer:
            return False
        piece = buffer[:left]
        self.content += piece
        del buffer[: len(piece)]
        self._left = left - len(piece)
        if self._left == 0:
            self._state = "after"
            self.done = not self._chunked
        return True

    def _begin_chunk(self, line: bytes) -> None:
        found = _SIZE.fullmatch(line)
        if not found:
            raise FramingError("a chunk must begin with its size in hexadecimal digits")
        self._left = int(found[1], 16)
        if len(self.content) + self._left > self._limit:
            raise self._too_large()
        self._state = "bytes" if self._left else "trailer"

    def _line(self, buffer: bytearray) -> bytes | None:
        end = buffer.find(b"\r\n", 0, LINE_BYTES + 2)
        if end < 0:
            if len(buffer) > LINE_BYTES:
                raise FramingError(f"a line between chunks must be at most {LINE_BYTES} bytes")
            return None
        line = bytes(buffer[:end])
        del buffer[: end + 2]
        return line

    def _too_large(self) -> FramingError:
        return FramingError(f"the body must be at most {self._limit} bytes", 413)
