"""Settings of the serving certificate: how files are read, and how replicas renew it themselves; see ``webhooks.settings``."""

import dataclasses
from typing import Annotated

from certs.pair import Names
from webhooks import knobs
from webhooks.knobs import Knob

FILES, MANAGED = "files", "managed"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CertificateSettings:
    """Settings of the certificate; one field for each knob, durations in seconds."""

    tls_poll_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(0.1, 60),
            "2",
            "period of reading both files again, which detects every kind of replacement, also of symlinks",
        ),
    ]
    certificates: Annotated[
        str,
        Knob(
            knobs.one_of((FILES, MANAGED)),
            FILES,
            "files: from --tls-cert and --tls-key; managed: the replicas create it in a Secret, renew it and write every caBundle",
            "--certificates",
            "Serving certificate from files, or created and renewed in a Secret.",
        ),
    ]
    certificate_namespace: Annotated[str, Knob(knobs.OBJECT_NAME, "muster-system", "managed: namespace of Secret, Service and Lease")]
    certificate_secret: Annotated[str, Knob(knobs.OBJECT_NAME, "muster-webhook-tls", "managed: Secret with the certificate")]
    certificate_service: Annotated[
        str, Knob(knobs.OBJECT_NAME, "muster-webhook", "managed: Service of the webhooks, whose endpoints are the replicas")
    ]
    certificate_configurations: Annotated[
        tuple[str, ...],
        Knob(
            knobs.OBJECT_NAMES, "muster,muster-pods", "managed: webhook configurations that get the CA; one that does not exist is left out"
        ),
    ]
    certificate_lease: Annotated[
        str, Knob(knobs.OBJECT_NAME, "muster-webhook", "managed: Lease by which the replicas elect the one that renews")
    ]
    certificate_names: Annotated[
        Names | None,
        Knob(knobs.HOST_NAMES, "", "managed: DNS names and IP addresses of the certificate; empty: SERVICE.NAMESPACE.svc, as it is called"),
    ]
    certificate_replicas: Annotated[
        tuple[str, ...],
        Knob(knobs.ADDRESSES, "", "managed: addresses HOST:PORT of all replicas, for servers without a Service; empty: its endpoints"),
    ]
    certificate_days: Annotated[
        int, Knob(knobs.whole_number(1, 3650), "365", "managed: validity of a new certificate; it is renewed after two thirds of it")
    ]
    certificate_poll_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(1, 600), "5", "managed: period of reading Secret and caBundles; a caBundle that was emptied is restored after it"
        ),
    ]
    certificate_settle_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(0, 600),
            "10",
            "managed: time for API servers to read a new caBundle, and for all processes of a replica to load a new certificate",
        ),
    ]
