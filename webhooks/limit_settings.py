"""Settings of the webhook server about its limits: connections, sizes, durations; see ``webhooks.settings``."""

import dataclasses
from typing import Annotated

from webhooks import knobs
from webhooks.certificate_settings import CertificateSettings
from webhooks.knobs import Knob


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings(CertificateSettings):
    """Limits of the webhook server; one field for each knob, durations in seconds, sizes in bytes.  They extend those of the certificate."""

    threads: Annotated[
        int,
        Knob(
            knobs.whole_number(1, 64), "4", "small requests that a worker processes at once; those above 64 KiB have a thread of their own"
        ),
    ]
    connections: Annotated[
        int,
        Knob(
            knobs.whole_number(10, 20000),
            "1000",
            "limit for the connections of a worker; above it the longest idle one is closed. Bursts of hundreds are normal",
        ),
    ]
    backlog: Annotated[
        int, Knob(knobs.whole_number(1, 65535), "2048", "connections that the kernel queues for accept, as bursts are normal")
    ]
    body_bytes: Annotated[
        int,
        Knob(
            knobs.whole_number(1024, 64 * 1024 * 1024),
            str(7 * 1024 * 1024),
            "largest request body: two objects of up to 3 MiB in an update, and 1 MiB for the envelope; as in controller-runtime",
        ),
    ]
    total_body_bytes: Annotated[
        int,
        Knob(
            knobs.whole_number(4096, 16 * 1024 * 1024 * 1024),
            str(32 * 1024 * 1024),
            "limit for all request bodies under way in a worker; a quarter is reserved for bodies of up to 64 KiB. The default holds "
            "three of the largest bodies, and the pod's memory limit of 768Mi leaves enough to decode one",
        ),
    ]
    request_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(0.1, 30),
            "2.5",
            "deadline for each of: handshake, request head, request body, waiting for a thread; below the API server's timeout of 3 s",
        ),
    ]
    keepalive_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(1, 3600),
            "120",
            "idle time after which a connection is closed; above the API server's 90 s, so that no request arrives on a closing connection",
        ),
    ]
    drain_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(0, 300),
            "0",
            "time between SIGTERM and the stop: the server is not ready but still answers, until it is removed from all endpoint lists",
        ),
    ]
    stop_seconds: Annotated[float, Knob(knobs.seconds(1, 300), "10", "time for requests in flight after the drain")]
    stuck_seconds: Annotated[
        float,
        Knob(
            knobs.seconds(5, 600),
            "30",
            "age of a request, or of a blocked event loop, at which its worker is replaced, so that a stuck rule does not block the server",
        ),
    ]
