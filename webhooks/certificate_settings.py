"""Settings of the serving certificate: how files are read, and how replicas renew it themselves; see ``webhooks.settings``."""

import dataclasses

from certs.pair import Names, names_of
from kubeapi import content
from validators.options import Option, OptionType, items, one_of, parse_address, scalar, seconds, setting, whole_number

FILES, MANAGED = "files", "managed"


def _object_name(text: str) -> str:
    """Read the name of an object, which becomes a part of URLs."""
    if complaints := content.subdomain(text):
        raise ValueError(complaints[0])
    return text


OBJECT_NAME = scalar(_object_name, "NAME")
OBJECT_NAMES = OptionType(lambda texts: tuple(map(_object_name, items(texts))), metavar="NAME,NAME")
HOST_NAMES = OptionType(lambda texts: names_of(tuple(items(texts))) if any(texts) else None, metavar="NAME,NAME")
ADDRESSES = OptionType(lambda texts: tuple(str(parse_address(each)) for each in items(texts)), metavar="HOST:PORT")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CertificateSettings:
    """Settings of the certificate; one field for each variable, durations in seconds."""

    tls_poll_seconds: float = setting(
        Option(
            "",
            seconds(0.1, 60),
            default="2",
            purpose="period of reading both files again, which detects every kind of replacement, also of symlinks",
        )
    )
    certificates: str = setting(
        Option(
            "--certificates",
            one_of((FILES, MANAGED), str),
            "Serving certificate from files, or created and renewed in a Secret.",
            FILES,
            purpose="files: from --tls-cert and --tls-key; managed: the replicas create it in a Secret, renew it and write every caBundle",
        )
    )
    certificate_namespace: str = setting(
        Option("", OBJECT_NAME, default="muster-system", purpose="managed: namespace of Secret, Service and Lease")
    )
    certificate_secret: str = setting(Option("", OBJECT_NAME, default="muster-webhook-tls", purpose="managed: Secret with the certificate"))
    certificate_service: str = setting(
        Option("", OBJECT_NAME, default="muster-webhook", purpose="managed: Service of the webhooks, whose endpoints are the replicas")
    )
    certificate_configurations: tuple[str, ...] = setting(
        Option(
            "",
            OBJECT_NAMES,
            default="muster,muster-pods,muster-join",
            purpose="managed: webhook configurations that get the CA; one that does not exist is left out",
        )
    )
    certificate_lease: str = setting(
        Option("", OBJECT_NAME, default="muster-webhook", purpose="managed: Lease by which the replicas elect the one that renews")
    )
    certificate_names: Names | None = setting(
        Option(
            "", HOST_NAMES, purpose="managed: DNS names and IP addresses of the certificate; empty: SERVICE.NAMESPACE.svc, as it is called"
        )
    )
    certificate_replicas: tuple[str, ...] = setting(
        Option("", ADDRESSES, purpose="managed: addresses HOST:PORT of all replicas, for servers without a Service; empty: its endpoints")
    )
    certificate_days: int = setting(
        Option(
            "", whole_number(1, 3650), default="365", purpose="managed: validity of a new certificate; it is renewed after two thirds of it"
        )
    )
    certificate_poll_seconds: float = setting(
        Option(
            "",
            seconds(1, 600),
            default="5",
            purpose="managed: period of reading Secret and caBundles; a caBundle that was emptied is restored after it",
        )
    )
    certificate_settle_seconds: float = setting(
        Option(
            "",
            seconds(0, 600),
            default="10",
            purpose="managed: time for API servers to read a new caBundle, and for all processes of a replica to load a new certificate",
        )
    )
