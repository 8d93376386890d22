"""One rotation on a live cluster, from the state in which it is to its end.

Each round reads the state, decides the next step and makes it, so that a lost race and a failed request need no handling of their
own: the next round decides again.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from apiserver.api import TRANSPORT, ReplyError
from certs import pem_bundle, rotation_steps
from certs.replicas import Clock, Connect, Replicas, connect_directly
from certs.rotation_steps import Changes, Order, RotationError, Step
from certs.webhook_configurations import Reading

POLL_SECONDS = 1.0
MOST_FAILURES = 10
"""Failed requests or lost races in a row before giving up."""
MOST_WRITES = 20
"""Twice the writes of an unfinished rotation and a requested one; more mean that another writer undoes them."""
CLOCK_SKEW = dt.timedelta(minutes=1)
"""Difference of the clocks of API server and machine that is reported."""
CONFLICT, TOO_MANY, INTERNAL = 409, 429, 500

Report = Callable[[str, str], None]
"""Called with a step and a text for people."""


class Installation(Protocol):
    """Reads and writes of one installation."""

    def read(self) -> Reading:
        """Return the current state."""

    def write_secret(self, reading: Reading, changes: Changes) -> None:
        """Change the data of the Secret in one write."""

    def write_bundles(self, reading: Reading, change: Callable[[bytes], bytes]) -> None:
        """Replace each caBundle by the result of *change*."""


@dataclasses.dataclass(frozen=True, slots=True)
class Timing:
    """Seconds between a change of trust and the use of it, longest wait for replicas, and the clock."""

    settle_seconds: float
    timeout_seconds: float
    pause: Callable[[float], None] = time.sleep
    clock: Clock = time.monotonic


class Rotation:
    """One rotation of an installation."""

    def __init__(
        self,
        installation: Installation,
        replicas: Callable[[], Sequence[str]],
        order: Order,
        timing: Timing,
        report: Report,
        connect: Connect = connect_directly,
    ) -> None:
        self._installation, self._order, self._timing, self._report = installation, order, timing, report
        self._replicas = Replicas(replicas, timing.settle_seconds, timing.clock, connect)
        self._deadline: float | None = None
        self._skew_reported = False

    def preview(self) -> tuple[Step, tuple[str, ...]]:
        """Return the next step and the reasons for it; nothing is written.  Raises as ``run``."""
        try:
            reading = self._installation.read()
        except (ReplyError, *TRANSPORT) as error:
            raise _unavailable(error) from None
        self._report_skew(reading)
        return rotation_steps.next_step(reading.state, self._order, reading.now or dt.datetime.now(dt.UTC))

    def run(self) -> bool:
        """Make all steps; return False if not every replica served the new leaf in time.

        Raises:
            RotationError: the certificate must not or cannot be rotated, or requests fail again and again.
        """
        failures = writes = 0
        while True:
            try:
                reading = self._installation.read()
                self._report_skew(reading)
                step = self.advance(reading)
            except (ReplyError, *TRANSPORT) as error:
                failures += 1
                if failures > MOST_FAILURES or not _is_transient(error):
                    raise _unavailable(error) from None
                self._report("retry", f"a request failed and the state is read again: {error}")
                self._timing.pause(POLL_SECONDS)
                continue
            failures = 0
            if step is Step.DONE:
                return True
            if step is not Step.OBSERVE:
                writes += 1
            elif not self._wait():
                return False
            if writes > MOST_WRITES:
                raise RotationError("another writer keeps changing the Secret or a caBundle: exclude both from what it applies")

    def advance(self, reading: Reading) -> Step:
        """Make the next step after *reading* and return it; nothing is written for OBSERVE and DONE.

        Raises:
            RotationError: the certificate must not or cannot be rotated.
            ReplyError and the exceptions of TRANSPORT: a request failed, or another writer was first.
        """
        # The API server validates certificates; without its time that of this machine is used.
        now = reading.now or dt.datetime.now(dt.UTC)
        state = reading.state
        step, reasons = rotation_steps.next_step(state, self._order, now)
        if step is Step.OBSERVE and self._replicas.all_serve(state):
            step, reasons = rotation_steps.next_step(dataclasses.replace(state, served=True), self._order, now)
        if step in (Step.OBSERVE, Step.DONE):
            return step
        self._deadline = None
        self._write(step, reading, now)
        self._report(step, f"{_DONE[step]}: {'; '.join(reasons)}")
        return step

    def overdue(self) -> str:
        """Return the replicas that do not serve the new leaf, with reasons, after the timeout; empty before.

        To be called after each OBSERVE.
        """
        now = self._timing.clock()
        if self._deadline is None:
            self._deadline = now + self._timing.timeout_seconds
            self._report(Step.OBSERVE, "waiting until every replica serves the new certificate")
        return "; ".join(self._replicas.reasons) if now >= self._deadline else ""

    def _write(self, step: Step, reading: Reading, now: dt.datetime) -> None:
        secret = reading.secret
        if step is Step.STAGE:
            self._installation.write_secret(reading, rotation_steps.stage(secret, self._order, now))
            self._order = dataclasses.replace(self._order, force=False, ca=False)
        elif step is Step.SWITCH:
            # An API server sees a changed caBundle a moment later, and a killed process does not know when it was changed.
            self._timing.pause(self._timing.settle_seconds)
            self._installation.write_secret(reading, rotation_steps.switch(secret))
            self._order = dataclasses.replace(self._order, force=False)
        elif step is Step.FINISH:
            self._installation.write_secret(reading, rotation_steps.finish(secret))
        else:
            required = rotation_steps.required_trust(secret)
            added = step is Step.TRUST
            self._installation.write_bundles(reading, lambda old: pem_bundle.union(old, required) if added else required)

    def _wait(self) -> bool:
        if late := self.overdue():
            self._report("timeout", f"not every replica serves the new certificate: {late}")
            return False
        self._timing.pause(POLL_SECONDS)
        return True

    def _report_skew(self, reading: Reading) -> None:
        if not self._skew_reported and (skew := clock_skew(reading, dt.datetime.now(dt.UTC))):
            self._skew_reported = True
            self._report("clock", skew)


def clock_skew(reading: Reading, here: dt.datetime) -> str:
    """Return a report if the clock of the API server differs from *here*, the time of this machine; else an empty string."""
    if reading.now is None or abs(reading.now - here) <= CLOCK_SKEW:
        return ""
    machine, server = (f"{each:%Y-%m-%d %H:%M:%S} UTC" for each in (here, reading.now))
    return f"this machine's clock is {machine}, the API server's is {server} and is used"


def _unavailable(error: Exception) -> RotationError:
    return RotationError(f"the cluster cannot be read or written: {error}")


def _is_transient(error: Exception) -> bool:
    return not isinstance(error, ReplyError) or error.code in (CONFLICT, TOO_MANY) or error.code >= INTERNAL


_DONE = {
    Step.STAGE: "staged a new certificate in the Secret",
    Step.TRUST: "every caBundle trusts the old and the new CA",
    Step.SWITCH: "the Secret has the new certificate",
    Step.DISTRUST: "every caBundle trusts the new CA only",
    Step.FINISH: "removed the old CA from the Secret",
}
"""Text for each completed step."""
