"""An installation in memory: Secret, caBundles, and replicas that read the Secret later."""

from __future__ import annotations

import datetime as dt
import functools

from apiserver.api import ReplyError
from certs import issue, pem_bundle
from certs.pair import names_of
from certs.rotation_run import Rotation, Timing
from certs.rotation_steps import Order
from certs.webhook_configurations import Configuration, Reading

NOW = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
NAMES = names_of(("muster-webhook.muster-system.svc",))
ORDER = Order(NAMES)
SETTLE = 10.0
API_SERVER_LAG = 3.0


signer = functools.cache(pem_bundle.signer)


class KilledError(Exception):
    """End of the process."""


def days(count):
    return dt.timedelta(days=count)


def new_secret(created=NOW, *, keep=False, ca_days=3650, leaf_days=365, names=NAMES):
    ca = issue.authority(created, ca_days)
    pair = issue.leaf(ca, names, created, leaf_days)
    kept = {"ca.key": ca.key} if keep else {}
    return {"ca.crt": pair.ca, "tls.crt": pair.certificate, "tls.key": pair.key, **kept}


def conflict():
    return ReplyError(409, "the object has been modified", "Conflict")


class FakeInstallation:
    """Three replicas, three webhooks in two configurations; *lag* is the time in which a replica reads the Secret.

    At every write and at every reading of the Secret by a replica, each caBundle that an API server uses must trust each served leaf.
    """

    def __init__(self, secret, now=NOW, lag=4.0):
        self.secret, self.now, self.lag = dict(secret), now, lag
        self.bundles = [[secret.get("ca.crt", b"")] * 2, [secret.get("ca.crt", b"")]]
        self.version, self.seconds, self.log = 1, 0.0, []
        self.serving = {f"10.0.0.{each}:9443": (secret.get("tls.crt", b""), 0.0) for each in (1, 2, 3)}
        self.kill_after = self.kill_before = None
        self.failures, self._written = [], []
        self.broken = not pem_bundle.certificates(secret.get("ca.crt", b""))

    def read(self):
        found = [Configuration(f"/{number}", str(self.version), tuple(each)) for number, each in enumerate(self.bundles)]
        return Reading(dict(self.secret), str(self.version), tuple(found), self.now)

    def write_secret(self, reading, changes):
        self._begin(reading)
        self.secret = {name: value for name, value in {**self.secret, **changes}.items() if value is not None}
        self._end()

    def write_bundles(self, reading, change):
        for number, each in enumerate(self.bundles):
            new = [change(old) for old in each]
            if new != each:
                self._begin(reading)
                self.bundles[number] = new
                self._end(moved=False)
        self.version += 1

    def _begin(self, reading):
        if self.kill_before is not None:
            self.kill_before -= 1
            if self.kill_before < 0:
                raise KilledError
        if self.failures:
            raise self.failures.pop(0)
        if reading.version != str(self.version):
            raise conflict()

    def _end(self, *, moved=True):
        self.version += moved
        self.check()
        if self.kill_after is not None:
            self.kill_after -= 1
            if self.kill_after < 0:
                raise KilledError

    def check(self):
        if self.broken:
            return
        for leaf, _ in self.serving.values():
            assert all(signer(leaf, each) for bundles in self._known() for several in bundles for each in several), "a review would fail"

    def _known(self):
        """Return the caBundles that some API server may use: each reads changes up to API_SERVER_LAG later."""
        if not self._written or self._written[-1][1] != self.bundles:
            self._written.append((self.seconds, [[*each] for each in self.bundles]))
        outdated = [index for index, (moment, _) in enumerate(self._written) if moment <= self.seconds - API_SERVER_LAG]
        del self._written[: max(outdated, default=0)]
        return [bundles for _, bundles in self._written]

    def pause(self, seconds):
        self.seconds += seconds
        for number, (address, (leaf, since)) in enumerate(self.serving.items()):
            new = self.secret.get("tls.crt", b"")
            if new and leaf != new and self.seconds - since >= self.lag * (number + 1):
                self.serving[address] = new, self.seconds
        self.check()

    def probe(self, address, leaf, *_):
        return "" if self.serving[address][0] == leaf else "serves another certificate"

    def rotation(self, order=ORDER, timeout=300.0):
        timing = Timing(SETTLE, timeout, self.pause, lambda: self.seconds)
        return Rotation(self, lambda: tuple(self.serving), order, timing, lambda step, text: self.log.append((step, text)))

    @property
    def reports(self):
        """Reports but for the one that the clock of the test differs from the machine's."""
        return [each for each in self.log if each[0] != "clock"]

    def steps(self):
        return [step for step, _ in self.reports]
