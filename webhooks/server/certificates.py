"""Certificate that the replicas manage: one thread in one worker process of each replica runs the controller of ``certs``.

The worker that has the lock of the replica's directory runs it.  The kernel releases the lock at the end of a process, so that
another worker continues.  All workers serve the files that the controller writes.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apiserver.api import Api
from apiserver.connect import ConnectError, find_connection
from apiserver.election import Election
from apiserver.lease import Lease
from certs import replica_files
from certs.controller import FAILURES, Controller
from certs.pair import Names, names_of
from certs.rotation_run import Rotation, Timing
from certs.rotation_steps import Order, Step
from certs.store import StoreError
from certs.webhook_configurations import Cluster, Place
from validators.options import OptionError
from webhooks import log
from webhooks.settings import Settings

if TYPE_CHECKING:
    # Not at run time: this module is imported before the directory of the metrics exists, which prometheus_client reads at import.
    from webhooks.server.metrics import Telemetry

FIELD_MANAGER = "muster-certs"
OBSERVE_SECONDS = 300.0
"""Time after which a replica without the new certificate is a failure; a kubelet needs up to two minutes to start a container."""
LOCK_SECONDS = 1.0
LOAD_SECONDS = 1.0
"""Time in which a process loads files that it has found to be changed, with a margin."""
_LEVELS = {"race": "info", "secret": "warning"}
LOCK = "lock"


class Managed:
    """Certificate of this replica, in a directory that all its workers share."""

    def __init__(self, settings: Settings) -> None:
        """Read the address and the credentials of the cluster.

        Raises:
            OptionError: there is no usable kubeconfig and no pod's service account.
        """
        self._settings = settings
        try:
            self._connection = find_connection(settings.kubeconfig or None, settings.context or None)
        except ConnectError as error:
            raise OptionError(
                f"--certificates managed: there is no cluster to keep the certificate in: {error}; give --kubeconfig or --context"
            ) from None

    def prepare(self, directory: Path) -> tuple[str, str]:
        """Create *directory* with a pair that nobody trusts; return the paths of certificate and key.

        Raises:
            OptionError: the directory cannot be written.
        """
        self._directory, self._published = directory, replica_files.Published(directory)
        # All workers have one identity: only one of them is a candidate, and the next one continues its term.
        self._identity = f"{socket.gethostname()}_{directory.parent.name}"
        try:
            directory.mkdir(0o700)
            self._published.write_placeholder(self._names, dt.datetime.now(dt.UTC))
        except (StoreError, OSError) as error:
            raise OptionError(f"--certificates managed: {error}") from None
        return self._published.files

    def untrusted(self, leaf: bytes) -> str:
        """Return the reason why the API server does not trust *leaf*; empty if it does."""
        load_seconds = self._settings.tls_poll_seconds + LOAD_SECONDS
        return replica_files.untrusted(leaf, replica_files.read_status(self._directory), dt.datetime.now(dt.UTC), load_seconds)

    def clock_offset(self) -> float:
        """Return the time of the API server minus that of this machine, in seconds."""
        status = replica_files.read_status(self._directory)
        return 0.0 if status is None else status.clock_offset

    def start(self, telemetry: Telemetry) -> None:
        """Start the thread; called in each worker after the fork."""
        threading.Thread(target=self._run, args=(telemetry,), name="certificate", daemon=True).start()

    def _run(self, telemetry: Telemetry) -> None:
        lock = (self._directory / LOCK).open("wb")
        while not _locked(lock):
            time.sleep(LOCK_SECONDS)
        report = Report(telemetry)
        api = Api(self._connection, FIELD_MANAGER)
        lease = Lease(api, self._settings.certificate_namespace, self._settings.certificate_lease, Election(self._identity), report.lease)
        lease.start()
        controller = self._controller(api, lease.term, report)
        while True:
            time.sleep(_guarded(controller, report, self._settings.certificate_poll_seconds))

    def _controller(self, api: Api, term: Callable[[], int], report: Report) -> Controller:
        given = self._settings
        place = Place(given.certificate_namespace, given.certificate_secret, given.certificate_service, given.certificate_configurations)
        cluster = Cluster(api, place, create=True)
        addresses = (lambda: given.certificate_replicas) if given.certificate_replicas else cluster.replicas
        order = Order(self._names, self._names, days=given.certificate_days)
        timing = Timing(given.certificate_settle_seconds, OBSERVE_SECONDS)
        rotation = Rotation(cluster, addresses, order, timing, report.step)
        return Controller(cluster, rotation, self._published, term, report, given.certificate_poll_seconds)

    @property
    def _names(self) -> Names:
        given = self._settings
        return given.certificate_names or names_of((f"{given.certificate_service}.{given.certificate_namespace}.svc",))


class Report:
    """Metrics and log lines of the controller; a failure that lasts is logged once, and counted at each tick."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._logged: dict[str, str] = {}
        self._failing: set[str] = set()
        self._skewed = False
        telemetry.rotations_begin(Step, FAILURES)

    def step(self, step: str, text: str) -> None:
        """Log and count a step of the rotation."""
        self._logged.clear()
        self._telemetry.rotation_step(step)
        log.write("info", "rotation", {"step": step, "message": text})

    def lease(self, level: str, text: str) -> None:
        """Log a change of the leader."""
        log.write(level, "lease", {"message": text})

    def leads(self, *, leading: bool) -> None:
        """See certs.controller.Observer."""
        # Called after the cluster was read and the files were written.
        for reason in ("request", "files"):
            self._logged.pop(reason, None)
        self._telemetry.certificate_leader(leading=leading)

    def clock(self, offset: float, skew: str) -> None:
        """See certs.controller.Observer."""
        self._telemetry.clock_offset(offset)
        if skew and not self._skewed:
            log.write("warning", "rotation", {"step": "clock", "message": skew})
        self._skewed = bool(skew)

    def failed(self, reason: str, text: str) -> None:
        """See certs.controller.Observer."""
        self._failing.add(reason)
        self._telemetry.certificate_failure(reason)
        if self._logged.get(reason) != text:
            self._logged[reason] = text
            log.write(_LEVELS.get(reason, "error"), "rotation", {"failure": reason, "reason": text})

    def tick_ended(self) -> None:
        """Set for each reason whether this tick has failed."""
        for reason in FAILURES:
            self._telemetry.certificate_failing(reason, failing=reason in self._failing)
        self._failing.clear()


def _guarded(controller: Controller, report: Report, otherwise: float) -> float:
    """Return the seconds until the next tick; a bug must not end the thread."""
    try:
        return controller.tick()
    except Exception as error:  # noqa: BLE001 - the certificate is renewed in the next months by nobody else
        report.failed("bug", f"{type(error).__name__}: {error}")
        return otherwise
    finally:
        report.tick_ended()


def _locked(file: Any) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
