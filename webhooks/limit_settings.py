"""Settings of the webhook server about its limits: connections, sizes, durations; see ``webhooks.settings``."""

import dataclasses

from validators.options import Option, seconds, setting, whole_number
from webhooks.certificate_settings import CertificateSettings


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings(CertificateSettings):
    """Limits of the webhook server; one field for each variable, durations in seconds, sizes in bytes.  They extend those of the certificate."""

    threads: int = setting(
        Option(
            "",
            whole_number(1, 64),
            default="4",
            purpose="small requests that a worker processes at once; those above 64 KiB have a thread of their own",
        )
    )
    connections: int = setting(
        Option(
            "",
            whole_number(10, 20000),
            default="1000",
            purpose="limit for the connections of a worker; above it the longest idle one is closed. Bursts of hundreds are normal",
        )
    )
    backlog: int = setting(
        Option("", whole_number(1, 65535), default="2048", purpose="connections that the kernel queues for accept, as bursts are normal")
    )
    body_bytes: int = setting(
        Option(
            "",
            whole_number(1024, 64 * 1024 * 1024),
            default=str(7 * 1024 * 1024),
            purpose="largest request body: two objects of up to 3 MiB in an update, and 1 MiB for the envelope; as in controller-runtime",
        )
    )
    total_body_bytes: int = setting(
        Option(
            "",
            whole_number(4096, 16 * 1024 * 1024 * 1024),
            default=str(32 * 1024 * 1024),
            purpose="limit for all request bodies under way in a worker; a quarter is reserved for bodies of up to 64 KiB. The default holds "
            "three of the largest bodies, and the pod's memory limit of 768Mi leaves enough to decode one",
        )
    )
    request_seconds: float = setting(
        Option(
            "",
            seconds(0.1, 30),
            default="2.5",
            purpose="deadline for each of: handshake, request head, request body, waiting for a thread; below the API server's timeout of 3 s",
        )
    )
    keepalive_seconds: float = setting(
        Option(
            "",
            seconds(1, 3600),
            default="120",
            purpose="idle time after which a connection is closed; above the API server's 90 s, so that no request arrives on a closing connection",
        )
    )
    drain_seconds: float = setting(
        Option(
            "",
            seconds(0, 300),
            default="0",
            purpose="time between SIGTERM and the stop: the server is not ready but still answers, until it is removed from all endpoint lists",
        )
    )
    stop_seconds: float = setting(Option("", seconds(1, 300), default="10", purpose="time for requests in flight after the drain"))
    stuck_seconds: float = setting(
        Option(
            "",
            seconds(5, 600),
            default="30",
            purpose="age of a request, or of a blocked event loop, at which its worker is replaced, so that a stuck rule does not block the server",
        )
    )
