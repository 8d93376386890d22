"""Every knob of the webhook server: its name, its default, its reason, and the settings that come of them.

The environment comes in as a mapping, so that this module stays pure; ``muster serve`` lays its options over it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from validators.gates import GateError, Gates
from validators.rules import base
from validators.versions import releases
from webhooks import knobs

FINALIZERS = ("none", "podgroup", "all")
SERVERS = ("uvicorn", "gunicorn")


class SettingError(ValueError):
    """A knob holds a value it cannot have; the message names the knob, the value and what must hold."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the webhook server runs with; one field for each knob, durations in seconds, sizes in bytes."""

    bind: knobs.Address
    probe_bind: knobs.Address | None
    tls_cert: str
    tls_key: str
    tls_poll_seconds: float
    objects: tuple[str, ...]
    cluster: bool
    kubeconfig: str
    watch_pods: bool
    stale_seconds: float
    profile: base.Profile
    kubernetes: int
    gates: Gates
    rules: tuple[tuple[str, base.Severity], ...]
    finalizers: str
    server: str
    workers: int
    threads: int
    connections: int
    backlog: int
    body_bytes: int
    request_seconds: float
    keepalive_seconds: float
    drain_seconds: float
    stop_seconds: float
    stuck_seconds: float

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Settings:
        """Read every knob out of *environ*; an absent or empty one takes its default.

        Raises:
            SettingError: a value cannot be read, or two of them do not go together.
        """
        settings = cls(**{knob.field: _read(knob, environ) for knob in KNOBS})
        if settings.cluster and settings.objects:
            raise SettingError("--objects (MUSTER_OBJECTS) and --cluster (MUSTER_CLUSTER) exclude each other: choose one")
        return settings

    @property
    def judging(self) -> base.Settings:
        """How strictly requests are judged, and as which API server."""
        return base.Settings(profile=self.profile, minor=self.kubernetes, gates=self.gates, severities=self.rules)


def _read(knob: knobs.Knob, environ: Mapping[str, str]) -> Any:
    text = environ.get(knob.name, "").strip() or knob.default
    label = f"{knob.option} ({knob.name})" if knob.option else knob.name
    try:
        return knob.read(text)
    except GateError as error:
        raise SettingError(f"{label}: {error}") from None
    except ValueError as error:
        raise SettingError(f"{label} is {text!r}: {error}") from None


KNOBS = (
    knobs.Knob(
        "MUSTER_BIND",
        "--bind",
        "127.0.0.1:9443",
        "a server that is not told where to listen stays on this machine",
        knobs.address,
    ),
    knobs.Knob(
        "MUSTER_PROBE_BIND",
        "--probe-bind",
        "",
        "/healthz, /readyz and /metrics on a plain port: probes and scrapes need no CA; empty: none",
        knobs.maybe_address,
    ),
    knobs.Knob(
        "MUSTER_TLS_CERT",
        "--tls-cert",
        "",
        "the leaf and what signed it, PEM; the API server calls no webhook without TLS",
        str,
    ),
    knobs.Knob("MUSTER_TLS_KEY", "--tls-key", "", "the leaf's private key, PEM, not encrypted", str),
    knobs.Knob(
        "MUSTER_TLS_POLL_SECONDS",
        "",
        "2",
        "how often both files are read again: that is cheap and sees every kind of replacement, symlinks too",
        knobs.seconds(0.1, 60),
    ),
    knobs.Knob(
        "MUSTER_OBJECTS",
        "--objects",
        "",
        "files or directories of objects that rules may look up, one a line; they are all there is",
        knobs.lines,
    ),
    knobs.Knob(
        "MUSTER_CLUSTER",
        "--cluster",
        "false",
        "rules look objects up in the API server, by watched caches",
        knobs.switch,
    ),
    knobs.Knob(
        "MUSTER_KUBECONFIG",
        "--kubeconfig",
        "",
        "how --cluster finds the API server; empty: the pod's service account",
        str,
    ),
    knobs.Knob(
        "MUSTER_WATCH_PODS",
        "",
        "false",
        "with --cluster, watch pods too: some rules see more, and memory grows with the cluster",
        knobs.switch,
    ),
    knobs.Knob(
        "MUSTER_STALE_SECONDS",
        "",
        "120",
        "a cache not heard of for so long counts as unknown: nothing is refused for it; bookmarks come each minute",
        knobs.seconds(5, 3600),
    ),
    knobs.Knob(
        "MUSTER_PROFILE",
        "--profile",
        "kep",
        "kep: all that the documents demand; upstream: what the API server itself demands",
        knobs.profile,
    ),
    knobs.Knob(
        "MUSTER_KUBERNETES",
        "--kubernetes",
        releases.name(releases.TODAY),
        f"the version of the API server to be mirrored: {releases.name(releases.OLDEST)} to {releases.name(releases.NEWEST)}",
        knobs.version,
    ),
    knobs.Knob(
        "MUSTER_GATES",
        "--gates",
        "",
        "feature gates of that API server, as A=true,B=false; all on where not named",
        knobs.gates,
    ),
    knobs.Knob("MUSTER_RULES", "--rule", "", "severities of rules, as ID=warning,ID=off", knobs.rules),
    knobs.Knob(
        "MUSTER_FINALIZERS",
        "--finalizers",
        "podgroup",
        "which protection finalizers /mutate adds; all only where something removes the composite's again",
        knobs.one_of(FINALIZERS),
    ),
    knobs.Knob(
        "MUSTER_SERVER",
        "--server",
        "uvicorn",
        "the library that serves HTTP; gunicorn's own worker has no deadline for a handshake and for a request's head",
        knobs.one_of(SERVERS),
    ),
    knobs.Knob(
        "MUSTER_WORKERS",
        "--workers",
        "2",
        "processes; judging is bound to the processor, so one for each core given",
        knobs.whole_number(1, 64),
    ),
    knobs.Knob(
        "MUSTER_THREADS",
        "",
        "4",
        "requests a worker judges at once: a large Workload does not hold small ones up",
        knobs.whole_number(1, 64),
    ),
    knobs.Knob(
        "MUSTER_CONNECTIONS",
        "",
        "1000",
        "connections for each worker; at the limit the longest idle one makes room. Bursts of hundreds are normal",
        knobs.whole_number(10, 20000),
    ),
    knobs.Knob(
        "MUSTER_BACKLOG",
        "",
        "2048",
        "connections the kernel keeps waiting for accept: bursts are normal",
        knobs.whole_number(1, 65535),
    ),
    knobs.Knob(
        "MUSTER_BODY_BYTES",
        "",
        str(7 * 1024 * 1024),
        "largest request body: an update holds two objects of up to 3 MiB, the envelope gets 1 MiB; as controller-runtime",
        knobs.whole_number(1024, 64 * 1024 * 1024),
    ),
    knobs.Knob(
        "MUSTER_REQUEST_SECONDS",
        "",
        "2.5",
        "deadline for each: a handshake, receiving a request, its turn to be judged, taking the answer; below the "
        "3 s after which the API server has given up",
        knobs.seconds(0.1, 30),
    ),
    knobs.Knob(
        "MUSTER_KEEPALIVE_SECONDS",
        "",
        "120",
        "idle time of a connection; above the API server's own 90 s, so that no request meets a closing one",
        knobs.seconds(1, 3600),
    ),
    knobs.Knob(
        "MUSTER_DRAIN_SECONDS",
        "",
        "0",
        "time between SIGTERM and the stop, not ready but answering: until no endpoint list names this server any more",
        knobs.seconds(0, 300),
    ),
    knobs.Knob("MUSTER_STOP_SECONDS", "", "10", "time that requests in flight get after the drain", knobs.seconds(1, 300)),
    knobs.Knob(
        "MUSTER_STUCK_SECONDS",
        "",
        "30",
        "a worker with an older request, or a loop that stands as long, is replaced: a stuck rule costs no more",
        knobs.seconds(5, 600),
    ),
)
"""All knobs, in the order in which they are told."""


def table() -> tuple[tuple[str, str, str, str], ...]:
    """The knobs as rows of text: variable, option, default, reason."""
    return tuple((knob.name, knob.option, knob.default, knob.reason) for knob in KNOBS)
