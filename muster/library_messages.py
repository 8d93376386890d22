"""Warnings and log records of libraries: none reaches the terminal; a server whose certificate is not verified is one line of ours.

The services write them as JSON lines instead; see ``webhooks.log``.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator

from muster import standard_output

_UNVERIFIED = "InsecureRequestWarning"
"""Name of urllib3's warning at each request to a server whose certificate is not verified."""


@contextlib.contextmanager
def hidden() -> Iterator[None]:
    """Context in which no warning of a library is printed, unless warnings are requested of Python (``-W``)."""
    if sys.warnoptions:
        yield
        return
    with warnings.catch_warnings():
        warnings.showwarning = _Reported().show  # type: ignore[assignment] # the place is not used
        yield


def hide_records() -> None:
    """Give log records of libraries a handler that prints nothing, instead of that of last resort; for commands with such libraries."""
    # Importing it takes time, and other commands do without.
    import logging

    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())


class _Reported:
    def __init__(self) -> None:
        self._is_reported = False

    def show(self, _message: Warning | str, category: type[Warning], *_place: object) -> None:
        """Report once that a certificate is not verified; leave out any other warning."""
        if category.__name__ == _UNVERIFIED and not self._is_reported:
            self._is_reported = True
            standard_output.report("muster: the certificate of the API server is not verified: the kubeconfig has insecure-skip-tls-verify")
