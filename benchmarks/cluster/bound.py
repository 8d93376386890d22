"""Times at which pods are bound, from a watch."""

from __future__ import annotations

import http.client
import re
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.cluster.objects import NAMESPACE
from benchmarks.cluster.wire import credentials

_PATH = "/api/v1/namespaces/{}/pods?watch=true&fieldSelector=spec.nodeName!=&timeoutSeconds=3600&resourceVersion={}"
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')
_ADDED = b'{"type":"ADDED"'


class Bound:
    """Watch that counts the pods of *namespace* that are bound after the resourceVersion *version*; a context manager.

    ``times`` has the ``time.perf_counter`` of each binding.  The API server can end a watch on a busy machine; then it is continued.
    """

    def __init__(self, kubeconfig: Path, version: str, namespace: str = NAMESPACE) -> None:
        context, (host, port) = credentials(kubeconfig)
        self._connection = http.client.HTTPSConnection(host, port, context=context, timeout=300)
        self._namespace, self._version, self._closed = namespace, version.encode(), False
        self._response = self._open()
        self.times: list[float] = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="bound", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closed = True
        if self._connection.sock is not None:
            self._connection.sock.close()

    def _open(self) -> http.client.HTTPResponse:
        path = _PATH.format(self._namespace, self._version.decode())
        self._connection.request("GET", path, headers={"Accept": "application/json"})
        return self._connection.getresponse()

    def _run(self) -> None:
        try:
            while not self._closed:
                for line in self._response:
                    self._read(line)
                self._connection.close()
                self._response = self._open()
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            # __exit__ has closed the connection.
            return

    def _read(self, line: bytes) -> None:
        if (version := _VERSION.search(line)) is not None:
            self._version = version[1]
        # In a watch of bound pods, a pod that becomes bound is an ADDED event.
        if line.startswith(_ADDED):
            with self._changed:
                self.times.append(time.perf_counter())
                self._changed.notify_all()

    def wait(self, count: int, seconds: float) -> bool:
        """Wait until *count* pods are bound; return False if that takes longer than *seconds*."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.times) >= count, seconds)
