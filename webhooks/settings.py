"""The settings of the webhook server: each is declared here, once, with its bounds, its default, its reason and its option.

The variable of a setting is ``MUSTER_`` and its name.  ``muster serve`` derives its options and their help from them, and the documentation its
table.  The environment comes in as a mapping, so that this module stays pure; ``muster serve`` lays its options over it.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Self, get_args

from validators.gates import GateError, Gates
from validators.rules import base
from validators.versions import releases
from webhooks import knobs
from webhooks.knobs import Knob

FINALIZERS = ("none", "podgroup", "all")
SERVERS = ("uvicorn", "gunicorn")
_VERSIONS = f"{releases.name(releases.OLDEST)} to {releases.name(releases.NEWEST)}"


class SettingError(ValueError):
    """A knob holds a value it cannot have; the message names the knob, the value and what must hold."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the webhook server; one field for each knob, durations in seconds, sizes in bytes."""

    bind: Annotated[
        knobs.Address,
        Knob(
            knobs.ADDRESS,
            "127.0.0.1:9443",
            "a server that is not told where to listen stays on this machine",
            "--bind",
            "Where to serve over TLS; port 0 takes a free one.",
        ),
    ]
    probe_bind: Annotated[
        knobs.Address | None,
        Knob(
            knobs.MAYBE_ADDRESS,
            "",
            "/healthz, /readyz and /metrics on a plain port: probes and scrapes need no CA; empty: none",
            "--probe-bind",
            "Where to serve probes and metrics without TLS.",
        ),
    ]
    tls_cert: Annotated[
        str,
        Knob(
            knobs.FILE,
            "",
            "the leaf and what signed it, PEM; the API server calls no webhook without TLS",
            "--tls-cert",
            "Certificate chain, PEM; re-read when it changes.",
        ),
    ]
    tls_key: Annotated[
        str, Knob(knobs.FILE, "", "the leaf's private key, PEM, not encrypted", "--tls-key", "Private key, PEM; re-read when it changes.")
    ]
    tls_poll_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(0.1, 60),
            "2",
            "how often both files are read again: that is cheap and sees every kind of replacement, symlinks too",
        ),
    ]
    objects: Annotated[
        tuple[str, ...],
        Knob(
            knobs.LINES,
            "",
            "files or directories of objects that rules may look up, one a line; they are all there is",
            "--objects",
            "Cluster objects that rules may look up (repeatable).",
        ),
    ]
    cluster: Annotated[
        bool,
        Knob(
            knobs.SWITCH,
            "false",
            "rules look objects up in the API server, by watched caches",
            "--cluster",
            "Look objects up in the API server.",
        ),
    ]
    kubeconfig: Annotated[
        str,
        Knob(
            knobs.FILE,
            "",
            "how --cluster finds the API server; empty: the pod's service account",
            "--kubeconfig",
            "How --cluster finds it; default: the pod's service account.",
        ),
    ]
    watch_pods: Annotated[
        bool, Knob(knobs.SWITCH, "false", "with --cluster, watch pods too: some rules see more, and memory grows with the cluster")
    ]
    stale_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(5, 3600),
            "120",
            "a cache not heard of for so long counts as unknown: nothing is refused for it; bookmarks come each minute",
        ),
    ]
    profile: Annotated[
        base.Profile,
        Knob(
            knobs.PROFILE,
            "kep",
            "kep: all that the documents demand; upstream: what the API server itself demands",
            "--profile",
            "All that the documents demand, or what the API server does.",
        ),
    ]
    kubernetes: Annotated[
        int,
        Knob(
            knobs.VERSION,
            releases.name(releases.TODAY),
            f"the version of the API server to be mirrored: {_VERSIONS}",
            "--kubernetes",
            f"The API server to be mirrored: {_VERSIONS}.",
        ),
    ]
    gates: Annotated[
        Gates,
        Knob(
            knobs.GATES,
            "",
            "feature gates of that API server, as A=true,B=false; all on where not named",
            "--gates",
            "Its feature gates; all on where not named.",
        ),
    ]
    rules: Annotated[
        tuple[tuple[str, base.Severity], ...],
        Knob(knobs.RULES, "", "severities of rules, as ID=warning,ID=off", "--rule", "error, warning or off (repeatable)."),
    ]
    finalizers: Annotated[
        str,
        Knob(
            knobs.one_of(FINALIZERS),
            "podgroup",
            "which protection finalizers /mutate adds; all only where something removes the composite's again",
            "--finalizers",
            "Which protection finalizers /mutate adds.",
        ),
    ]
    server: Annotated[
        str,
        Knob(
            knobs.one_of(SERVERS),
            "uvicorn",
            "the library that serves HTTP; gunicorn's own worker has no deadline for a handshake and for a request's head",
            "--server",
            "The library that serves HTTP.",
        ),
    ]
    workers: Annotated[
        int,
        Knob(
            knobs.whole(1, 64), "2", "processes; judging is bound to the processor, so one for each core given", "--workers", "Processes."
        ),
    ]
    threads: Annotated[int, Knob(knobs.whole(1, 64), "4", "requests a worker judges at once: a large Workload does not hold small ones up")]
    connections: Annotated[
        int,
        Knob(
            knobs.whole(10, 20000),
            "1000",
            "connections for each worker; at the limit the longest idle one makes room. Bursts of hundreds are normal",
        ),
    ]
    backlog: Annotated[int, Knob(knobs.whole(1, 65535), "2048", "connections the kernel keeps waiting for accept: bursts are normal")]
    body_bytes: Annotated[
        int,
        Knob(
            knobs.whole(1024, 64 * 1024 * 1024),
            str(7 * 1024 * 1024),
            "largest request body: an update holds two objects of up to 3 MiB, the envelope gets 1 MiB; as controller-runtime",
        ),
    ]
    request_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(0.1, 30),
            "2.5",
            "deadline for each: a handshake, receiving a request, its turn to be judged, taking the answer; below the "
            "3 s after which the API server has given up",
        ),
    ]
    keepalive_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(1, 3600),
            "120",
            "idle time of a connection; above the API server's own 90 s, so that no request meets a closing one",
        ),
    ]
    drain_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(0, 300),
            "0",
            "time between SIGTERM and the stop, not ready but answering: until no endpoint list names this server any more",
        ),
    ]
    stop_seconds: Annotated[float, Knob(knobs.seconds(1, 300), "10", "time that requests in flight get after the drain")]
    stuck_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(5, 600),
            "30",
            "a worker with an older request, or a loop that stands as long, is replaced: a stuck rule costs no more",
        ),
    ]

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Read every knob out of *environ*; an absent or empty one takes its default.

        Raises:
            SettingError: a value cannot be read, or two of them do not go together.
        """
        settings = cls(**{knob.field: _read(knob, environ) for knob in KNOBS})
        if settings.cluster and settings.objects:
            raise SettingError(f"{label('objects')} and {label('cluster')} exclude each other: choose one")
        return settings

    @property
    def judging(self) -> base.Settings:
        """Return the validation settings: profile, gates, version and severities."""
        return base.Settings(profile=self.profile, minor=self.kubernetes, gates=self.gates, severities=self.rules)


def _read(knob: Knob, environ: Mapping[str, str]) -> Any:
    text = environ.get(knob.name, "").strip() or knob.default
    try:
        return knob.kind.read(text)
    except GateError as error:
        raise SettingError(f"{knob.label}: {error}") from None
    except ValueError as error:
        raise SettingError(f"{knob.label} is {text!r}: {error}") from None


KNOBS: tuple[Knob, ...] = tuple(dataclasses.replace(get_args(each.type)[1], field=each.name) for each in dataclasses.fields(Settings))
"""All knobs, in the order in which they are told."""


def label(field: str) -> str:
    """Return how messages name a knob: its option and its variable."""
    return next(knob.label for knob in KNOBS if knob.field == field)


def table() -> tuple[tuple[str, str, str, str], ...]:
    """The knobs as rows of text: variable, option, default, reason."""
    return tuple((knob.name, knob.option, knob.default, knob.reason) for knob in KNOBS)
