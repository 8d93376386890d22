"""Settings of the webhook server, each declared once, with bounds, default, reason and option.

The variable of a setting is ``MUSTER_`` and its name.  The options of ``muster serve``, their help and the table in the
documentation derive from the declarations.  The environment is an argument, so this module is pure; options override it.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, Self, get_args

from kubeapi.versions import releases
from validators.gates import GateError, Gates
from validators.rules import base
from webhooks import enforcement as modes
from webhooks import knobs
from webhooks.certificate_settings import MANAGED, CertificateSettings
from webhooks.knobs import Knob
from webhooks.limit_settings import LimitSettings

SERVERS = ("uvicorn", "gunicorn")
_VERSIONS = f"{releases.name(releases.OLDEST)} to {releases.name(releases.NEWEST)}"


class SettingError(ValueError):
    """Invalid value of a knob; the message has the knob, the value and the requirement."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings(LimitSettings):
    """Settings of the webhook server; one field for each knob, durations in seconds, sizes in bytes."""

    bind: Annotated[
        knobs.Address,
        Knob(
            knobs.ADDRESS,
            "127.0.0.1:9443",
            "the default address is reachable from this machine only",
            "--bind",
            "Address to serve on over TLS; port 0 selects a free port.",
        ),
    ]
    probe_bind: Annotated[
        knobs.Address | None,
        Knob(
            knobs.MAYBE_ADDRESS,
            "",
            "address for /healthz, /readyz and /metrics without TLS, so that probes and scrapes need no CA; empty: none",
            "--probe-bind",
            "Address for probes and metrics without TLS.",
        ),
    ]
    tls_probes: Annotated[
        bool,
        Knob(knobs.SWITCH, "true", "false: /healthz, /readyz and /metrics only at --probe-bind, if other clients reach the TLS port too"),
    ]
    tls_cert: Annotated[
        str,
        Knob(
            knobs.FILE,
            "",
            "certificate chain, leaf first, PEM; the API server calls webhooks over TLS only",
            "--tls-cert",
            "Certificate chain, PEM; reloaded when it changes.",
        ),
    ]
    tls_key: Annotated[
        str, Knob(knobs.FILE, "", "the leaf's private key, PEM, not encrypted", "--tls-key", "Private key, PEM; reloaded when it changes.")
    ]
    objects: Annotated[
        tuple[str, ...],
        Knob(
            knobs.LINES,
            "",
            "files or directories with the cluster objects that rules look up, one per line; no others are assumed to exist",
            "--objects",
            "Cluster objects that rules look up (repeatable).",
        ),
    ]
    cluster: Annotated[
        bool,
        Knob(
            knobs.SWITCH,
            "false",
            "rules look objects up in caches that watch the API server",
            "--cluster",
            "Look objects up in the API server.",
        ),
    ]
    kubeconfig: Annotated[
        str,
        Knob(
            knobs.FILE,
            "",
            "kubeconfig for --cluster and --certificates managed; empty: as for kubectl, in a pod its service account",
            "--kubeconfig",
            "Kubeconfig; default: as for kubectl, in a pod its service account.",
        ),
    ]
    context: Annotated[
        str,
        Knob(
            knobs.NAME,
            "",
            "context of the kubeconfig; empty: the current context",
            "--context",
            "Context of the kubeconfig; default: the current context.",
        ),
    ]
    watch_pods: Annotated[
        bool, Knob(knobs.SWITCH, "false", "with --cluster, also watch pods: some rules check more, and memory grows with the cluster")
    ]
    stale_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(5, 3600),
            "120",
            "time without contact after which a cached kind counts as unknown and causes no refusals; bookmarks arrive every minute",
        ),
    ]
    profile: Annotated[
        base.Profile,
        Knob(
            knobs.PROFILE,
            "kep",
            "kep: all rules of the KEPs; upstream: only the rules of the API server",
            "--profile",
            "All rules of the KEPs, or only those of the API server.",
        ),
    ]
    kubernetes: Annotated[
        int,
        Knob(
            knobs.VERSION,
            releases.name(releases.TODAY),
            f"version of the API server to mirror: {_VERSIONS}",
            "--kubernetes",
            f"API server version to mirror: {_VERSIONS}.",
        ),
    ]
    gates: Annotated[
        Gates,
        Knob(
            knobs.GATES,
            "",
            "feature gates of the API server, as A=true,B=false; all others are on",
            "--gates",
            "Feature gates of the API server; all others are on.",
        ),
    ]
    rules: Annotated[
        tuple[tuple[str, base.Severity], ...],
        Knob(knobs.RULES, "", "severities of rules, as ID=warning,ID=off", "--rule", "error, warning or off (repeatable)."),
    ]
    enforcement: Annotated[
        modes.EnforcementPolicy,
        Knob(
            knobs.ENFORCEMENT,
            modes.Enforcement.DENY,
            "consequence of an error: deny, warn (allowed, with a warning) or audit (allowed, recorded); ID=audit for one rule",
            "--enforcement",
            "deny, warn or audit, for all rules or for one (repeatable).",
        ),
    ]
    finalizers: Annotated[
        str,
        Knob(
            knobs.FINALIZERS,
            "",
            "protection finalizers that /mutate adds; empty: those that the API server adds, podgroup, and from Kubernetes 1.38 on all; "
            "before 1.38, use all only if the sidecar removes those of CompositePodGroups",
            "--finalizers",
            "Protection finalizers that /mutate adds; default: those that the API server adds.",
        ),
    ]
    server: Annotated[
        str,
        Knob(
            knobs.one_of(SERVERS),
            "uvicorn",
            "library that serves HTTP; gunicorn's own worker has no deadline for handshakes and request heads",
            "--server",
            "Library that serves HTTP.",
        ),
    ]
    workers: Annotated[
        int,
        Knob(
            knobs.whole_number(1, 64),
            "2",
            "worker processes; validation is CPU-bound, so use one for each available core",
            "--workers",
            "Worker processes.",
        ),
    ]

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Read every knob from *environ*; an absent or empty variable means the default.

        Raises:
            SettingError: a value is invalid, or two values exclude each other.
        """
        settings = cls(**{knob.field: _read(knob, environ) for knob in KNOBS})
        try:
            knobs.gates(environ.get("MUSTER_GATES", ""), settings.kubernetes)
        except GateError as error:
            raise SettingError(f"{label('gates')}: {error}") from None
        if settings.cluster and settings.objects:
            raise SettingError(f"{label('objects')} and {label('cluster')} exclude each other: choose one")
        if settings.certificates == MANAGED and (settings.tls_cert or settings.tls_key):
            raise SettingError(f"{label('certificates')} and {label('tls_cert')} exclude each other: choose one")
        if settings.body_bytes * 4 > settings.total_body_bytes * 3:
            raise SettingError(f"{label('body_bytes')} must be at most three quarters of {label('total_body_bytes')}")
        if not settings.tls_probes and not settings.probe_bind:
            raise SettingError(f"{label('tls_probes')} is false: {label('probe_bind')} must be given, or nobody can probe the server")
        return settings

    @property
    def added_finalizers(self) -> knobs.Finalizers:
        """Return the protection finalizers that /mutate adds."""
        return knobs.finalizers_of(self.finalizers, self.kubernetes)

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


_PART = {each.name: number for number, part in enumerate((LimitSettings, CertificateSettings), 1) for each in dataclasses.fields(part)}
KNOBS: tuple[Knob, ...] = tuple(
    dataclasses.replace(get_args(each.type)[1], field=each.name)
    for each in sorted(dataclasses.fields(Settings), key=lambda each: _PART.get(each.name, 0))
)
"""All knobs, in the order of the documentation: those of the certificate last."""


def label(field: str) -> str:
    """Return a knob's option and variable, for messages."""
    return next(knob.label for knob in KNOBS if knob.field == field)


def table() -> tuple[tuple[str, str, str, str], ...]:
    """Return the knobs as rows of text: variable, option, default, reason."""
    return tuple((knob.name, knob.option, knob.default, knob.reason) for knob in KNOBS)
