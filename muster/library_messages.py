"""Warnings and log records of libraries: none reaches the terminal; a server whose certificate is not verified is one line of ours.

The services write them as JSON lines instead; see ``webhooks.log``.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator

from muster import standard_output

_UNVERIFIED = "InsecureRequestWarning"
"""Name of urllib3's warning at each request to a server whose certificate is not verified."""


@contextlib.contextmanager
def hidden() -> Iterator[None]:
    """Context in which no warning or log record of a library is printed, unless warnings are requested of Python (``-W``)."""
    root, nothing = logging.getLogger(), logging.NullHandler()
    # Without a handler, the records would be printed by that of last resort.
    root.addHandler(nothing)
    try:
        if sys.warnoptions:
            yield
        else:
            with warnings.catch_warnings():
                warnings.showwarning = _Reported().show  # type: ignore[assignment] # the place is not used
                yield
    finally:
        root.removeHandler(nothing)


class _Reported:
    def __init__(self) -> None:
        self._is_reported = False

    def show(self, _message: Warning | str, category: type[Warning], *_place: object) -> None:
        """Report once that a certificate is not verified; leave out any other warning."""
        if category.__name__ == _UNVERIFIED and not self._is_reported:
            self._is_reported = True
            standard_output.report("muster: the certificate of the API server is not verified: the kubeconfig has insecure-skip-tls-verify")
