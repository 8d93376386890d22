"""Settings of the webhook server, each with the declaration of its option or variable.

The options of ``muster serve``, their help and the table in the documentation derive from the declarations.  The environment is an
argument, so this module is pure; options override it.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

from validators import rule_options
from validators.gates import GateError, Gates
from validators.options import (
    ADDRESS,
    FILE,
    NAME,
    PATHS,
    SWITCH,
    Address,
    Option,
    OptionError,
    OptionType,
    items,
    one_of,
    options_of,
    parse_address,
    read_variable,
    scalar,
    seconds,
    setting,
    whole_number,
)
from validators.rules import base
from webhooks import admission_options
from webhooks.admission_options import Finalizers, Joining, PlacedBy
from webhooks.certificate_settings import MANAGED, CertificateSettings
from webhooks.enforcement import EnforcementPolicy
from webhooks.limit_settings import LimitSettings

SERVERS = ("uvicorn", "gunicorn")


def _client_names(texts: Sequence[str]) -> tuple[str, ...]:
    """Read names of certificates.  A list without a name is refused, because it would accept every certificate."""
    names = tuple(items(texts))
    if not names and any(texts):
        raise ValueError("must have a name")
    return names


CLIENT_NAMES = OptionType(_client_names, metavar="NAME", repeatable=True)
MAYBE_ADDRESS = scalar(lambda text: parse_address(text) if text else None, "HOST:PORT")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings(LimitSettings):
    """Settings of the webhook server; one field for each variable, durations in seconds, sizes in bytes."""

    bind: Address = setting(
        Option(
            "--bind",
            ADDRESS,
            "Address to serve on over TLS; port 0 selects a free port.",
            "127.0.0.1:9443",
            purpose="the default address is reachable from this machine only",
        )
    )
    probe_bind: Address | None = setting(
        Option(
            "--probe-bind",
            MAYBE_ADDRESS,
            "Address for probes and metrics without TLS.",
            purpose="address for /healthz, /readyz and /metrics without TLS, so that probes and scrapes need no CA; empty: none",
        )
    )
    tls_probes: bool = setting(
        Option(
            "",
            SWITCH,
            default="true",
            purpose="false: /healthz, /readyz and /metrics only at --probe-bind, if other clients reach the TLS port too",
        )
    )
    tls_cert: str = setting(
        Option(
            "--tls-cert",
            FILE,
            "Certificate chain, PEM; reloaded when it changes.",
            purpose="certificate chain, leaf first, PEM; the API server calls webhooks over TLS only",
        )
    )
    tls_key: str = setting(
        Option("--tls-key", FILE, "Private key, PEM; reloaded when it changes.", purpose="the leaf's private key, PEM, not encrypted")
    )
    client_ca: str = setting(
        Option(
            "--client-ca",
            FILE,
            "CA of client certificates, PEM; others cannot connect.",
            purpose="CA that signs the client certificates of the API servers, PEM; reloaded when it changes. Other clients cannot connect to "
            "the address of --bind; empty: every client can",
        )
    )
    client_name: tuple[str, ...] = setting(
        Option(
            "--client-name",
            CLIENT_NAMES,
            "Name of client certificates, common name, DNS name or URI; others are refused (repeatable).",
            purpose="names of the client certificates of --client-ca that are accepted, common name, DNS name or URI, separated by commas; a client "
            "with another certificate gets 403; empty: every certificate of the CA",
        )
    )
    objects: tuple[str, ...] = setting(
        Option(
            "--objects",
            PATHS,
            "Cluster objects that rules look up (repeatable).",
            purpose="files or directories with the cluster objects that rules look up, one per line; no others are assumed to exist",
        )
    )
    cluster: bool = setting(
        Option(
            "--cluster",
            SWITCH,
            "Look objects up in the API server.",
            "false",
            purpose="rules look objects up in caches that watch the API server",
        )
    )
    kubeconfig: str = setting(
        Option(
            "--kubeconfig",
            FILE,
            "Kubeconfig; default: as for kubectl, in a pod its service account.",
            purpose="kubeconfig for --cluster and --certificates managed; empty: as for kubectl, in a pod its service account",
        )
    )
    context: str = setting(
        Option(
            "--context",
            NAME,
            "Context of the kubeconfig; default: the current context.",
            purpose="context of the kubeconfig; empty: the current context",
        )
    )
    watch_pods: bool = setting(
        Option(
            "", SWITCH, default="false", purpose="with --cluster, also watch pods: some rules check more, and memory grows with the cluster"
        )
    )
    stale_seconds: float = setting(
        Option(
            "",
            seconds(5, 3600),
            default="120",
            purpose="time without contact after which a cached kind counts as unknown and causes no refusals; bookmarks arrive every minute",
        )
    )
    profile: base.Profile = setting(rule_options.PROFILE)
    kubernetes: int = setting(rule_options.KUBERNETES)
    gates: Gates = setting(rule_options.GATES)
    rules: tuple[tuple[str, base.Severity], ...] = setting(rule_options.RULES)
    enforcement: EnforcementPolicy = setting(admission_options.ENFORCEMENT)
    finalizers: Finalizers = setting(admission_options.FINALIZERS)
    placed_by: PlacedBy = setting(admission_options.PLACED_BY)
    scheduler_name: str = setting(admission_options.SCHEDULER_NAME)
    server: str = setting(
        Option(
            "--server",
            one_of(SERVERS, str),
            "Library that serves HTTP.",
            "uvicorn",
            purpose="library that serves HTTP; gunicorn's own worker has no deadline for handshakes and request heads",
        )
    )
    workers: int = setting(
        Option(
            "--workers",
            whole_number(1, 64),
            "Worker processes.",
            "2",
            purpose="worker processes; validation is CPU-bound, so use one for each available core",
        )
    )

    @classmethod
    def from_environ(cls, environ: Mapping[str, str], given: Mapping[str, Any] | None = None) -> Self:
        """Return the settings of the variables in *environ*, but for those that the values *given* override, by field.

        An absent or empty variable means the default.

        Raises:
            OptionError: a value is invalid, or two values exclude each other.
        """
        values = dict(given or {})
        settings = cls(**{field: values[field] if field in values else read_variable(option, environ) for field, option in OPTIONS.items()})
        try:
            settings = dataclasses.replace(settings, gates=settings.gates.of_version(settings.kubernetes))
        except GateError as error:
            raise OptionError(f"{label('gates')}: {error}") from None
        if settings.cluster and settings.objects:
            raise OptionError(f"{label('objects')} and {label('cluster')} exclude each other: choose one")
        if settings.certificates == MANAGED and (settings.tls_cert or settings.tls_key):
            raise OptionError(f"{label('certificates')} and {label('tls_cert')} exclude each other: choose one")
        if settings.body_bytes * 4 > settings.total_body_bytes * 3:
            raise OptionError(f"{label('body_bytes')} must be at most three quarters of {label('total_body_bytes')}")
        if not settings.tls_probes and not settings.probe_bind:
            raise OptionError(f"{label('tls_probes')} is false: {label('probe_bind')} must be given, or nobody can probe the server")
        return settings

    @property
    def judging(self) -> base.Settings:
        """Return the validation settings: profile, gates, version and severities."""
        return base.Settings(profile=self.profile, minor=self.kubernetes, gates=self.gates, severities=self.rules)

    @property
    def joining(self) -> Joining:
        """Return how pods join their groups."""
        return Joining(self.placed_by, self.scheduler_name)


_PART = {each.name: number for number, part in enumerate((LimitSettings, CertificateSettings), 1) for each in dataclasses.fields(part)}
OPTIONS: Mapping[str, Option[Any]] = dict(sorted(options_of(Settings).items(), key=lambda each: _PART.get(each[0], 0)))
"""The option of each field, in the order of the documentation: those of the certificate last."""


def label(field: str) -> str:
    """Return the option and variable of a field, for messages."""
    return OPTIONS[field].label
