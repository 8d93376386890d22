"""Times at which pods are bound, from a watch."""

from __future__ import annotations

import http.client
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.cluster.objects import NAMESPACE
from benchmarks.cluster.wire import credentials

_PATH = f"/api/v1/namespaces/{NAMESPACE}/pods?watch=true&fieldSelector=spec.nodeName!=&timeoutSeconds=3600&resourceVersion="
_ADDED = b'{"type":"ADDED"'


class Bound:
    """Watch that counts the pods bound after the resourceVersion *version*; a context manager.

    ``times`` has the ``time.perf_counter`` of each binding.
    """

    def __init__(self, kubeconfig: Path, version: str) -> None:
        context, (host, port) = credentials(kubeconfig)
        self._connection = http.client.HTTPSConnection(host, port, context=context, timeout=300)
        self._connection.request("GET", f"{_PATH}{version}", headers={"Accept": "application/json"})
        self._response = self._connection.getresponse()
        self.times: list[float] = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="bound", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._connection.sock is not None:
            self._connection.sock.close()

    def _run(self) -> None:
        try:
            for line in self._response:
                # In a watch of bound pods, a pod that becomes bound is an ADDED event.
                if line.startswith(_ADDED):
                    with self._changed:
                        self.times.append(time.perf_counter())
                        self._changed.notify_all()
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            # __exit__ has closed the connection.
            return

    def wait(self, count: int, seconds: float) -> bool:
        """Wait until *count* pods are bound; return False if that takes longer than *seconds*."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self.times) >= count, seconds)
