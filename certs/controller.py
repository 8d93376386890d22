"""Certificate of one replica: each tick reads the cluster and renews the files; the leader also makes the next step of a rotation.

A tick writes at most one object, and the next one reads the state again.  So a lost race, a failed request, or the end of the
process between two writes needs no handling of its own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Protocol

from apiserver.api import TRANSPORT, ReplyError
from certs.replica_files import Published
from certs.rotation_run import CONFLICT, Installation, Rotation, clock_skew
from certs.rotation_steps import RotationError, Step
from certs.store import StoreError

NEXT_STEP_SECONDS = 1.0
"""Pause between two steps, which limits the writes if another writer undoes them."""
FAILURES = ("secret", "request", "race", "refused", "replicas", "files", "bug")
"""Failures: the Secret has no usable pair, a request failed, another writer was first, the certificate must not be rotated, a replica
does not serve the new one in time, the files cannot be written, an error of the program."""


class Observer(Protocol):
    """Receiver of the events of a controller."""

    def leads(self, *, leading: bool) -> None:
        """Note whether this replica leads."""

    def clock(self, offset: float, skew: str) -> None:
        """Note the time of the API server minus that of this machine, in seconds, and a report if they differ much."""

    def failed(self, reason: str, text: str) -> None:
        """Note a failure: *reason* is one of FAILURES; called at each tick while it lasts."""


class Controller:
    """One replica's part in the certificate of an installation.

    *term* returns the number of the term in which this replica leads, from 1; 0 while it does not.
    """

    def __init__(
        self,
        installation: Installation,
        rotation: Rotation,
        published: Published,
        term: Callable[[], int],
        observer: Observer,
        poll_seconds: float,
    ) -> None:
        self._installation, self._rotation, self._published = installation, rotation, published
        self._term, self._observer, self._poll = term, observer, poll_seconds

    def tick(self) -> float:
        """Read the cluster, renew the files and make one step; return the seconds until the next call."""
        try:
            return self._tick()
        except RotationError as error:
            self._observer.failed("refused", str(error))
        except StoreError as error:
            self._observer.failed("files", str(error))
        except ReplyError as error:
            self._observer.failed("race" if error.code == CONFLICT else "request", str(error))
        except (ValueError, *TRANSPORT) as error:
            self._observer.failed("request", f"{type(error).__name__}: {error}")
        return self._poll

    def _tick(self) -> float:
        term = self._term()
        reading = self._installation.read()
        here = dt.datetime.now(dt.UTC)
        if reason := self._published.update(reading, here):
            self._observer.failed("secret", reason)
        if reading.now is not None:
            self._observer.clock((reading.now - here).total_seconds(), clock_skew(reading, here))
        # What was read before the term began can lack writes of the leader before.
        began = self._term() != term
        leading = term > 0 and not began
        self._observer.leads(leading=leading)
        if not leading:
            return NEXT_STEP_SECONDS if began else self._poll
        step = self._rotation.advance(reading)
        if step is Step.OBSERVE and (late := self._rotation.overdue()):
            self._observer.failed("replicas", f"not every replica serves the new certificate: {late}")
        return self._poll if step is Step.DONE else NEXT_STEP_SECONDS
