"""Reasons why the API server cannot call a webhook, from the text of its error, and their meaning in plain words.

The texts are those of kube-apiserver (``apiserver/pkg/util/webhook``, ``util/proxy``) and of Go's ``crypto/x509`` and ``net``.
"""

from __future__ import annotations

import dataclasses
import enum
import re

_FAILED = re.compile(r'failed calling webhook "([^"]*)": (.*)', re.DOTALL)
_NO_DRY_RUN = re.compile(r'admission webhook "([^"]*)" does not support dry run')
_DENIED = re.compile(r'admission webhook "([^"]*)" denied the request(.*)', re.DOTALL)
_CALLED = re.compile(r'^failed to call webhook: (?:Post "[^"]*": )?')


class Failure(enum.Enum):
    """Reason why a call fails; the value is its meaning."""

    TRUST = "its caBundle does not have the CA that signed the certificate of the server"
    EXPIRED = "the certificate of the server, or its CA, is expired or not yet valid"
    NAME = "the certificate of the server does not have the name by which the webhook is called"
    BUNDLE = "its caBundle cannot be read"
    CERTIFICATE = "the certificate of the server is not accepted"
    NO_SERVICE = "its Service does not exist"
    NO_PORT = "its Service does not have the port that is called"
    NO_ENDPOINTS = "no replica of the server is ready"
    REFUSED = "nothing listens at that address: no replica is ready, or the port is another one"
    NOT_RESOLVED = "the name of the server has no address"
    NO_ROUTE = "there is no network route from the API server to the server"
    TIMEOUT = (
        "the server did not answer in time: the API server does not reach its pods, as behind a firewall or a NetworkPolicy, or it hangs"
    )
    CLOSED = "the connection was closed: the server restarts, or something else listens there"
    CLIENT = (
        "the server closes the connection: it demands a client certificate (--client-ca), and that of the API server is missing, expired or of "
        "another CA"
    )
    CLIENT_NAME = "the client certificate of the API server has none of the names that the server accepts (--client-name)"
    NOT_TLS = "what answers does not speak TLS"
    PATH = "the server does not know the path that is called"
    ANSWER = "what answers is no webhook server"
    OTHER = "the server cannot be called"


_TEXTS = (
    (Failure.BUNDLE, ("unable to load root certificates", "unable to parse bytes as PEM")),
    (Failure.EXPIRED, ("certificate has expired or is not yet valid",)),
    (Failure.TRUST, ("certificate signed by unknown authority",)),
    (
        Failure.NAME,
        ("certificate is valid for", "cannot validate certificate for", "certificate is not valid for any names", "legacy Common Name"),
    ),
    (Failure.CERTIFICATE, ("x509: ",)),
    (Failure.CLIENT_NAME, ("the name of the client certificate must be one of --client-name",)),
    (Failure.NO_ENDPOINTS, ("no endpoints available",)),
    (Failure.NO_PORT, ("no service port",)),
    (Failure.NOT_TLS, ("server gave HTTP response to HTTPS client", "first record does not look like a TLS handshake")),
    (Failure.REFUSED, ("connection refused",)),
    (Failure.NOT_RESOLVED, ("no such host", "server misbehaving")),
    (Failure.NO_ROUTE, ("no route to host", "network is unreachable")),
    (Failure.TIMEOUT, ("context deadline exceeded", "i/o timeout", "Client.Timeout", "handshake timeout")),
    (Failure.PATH, ("could not find the requested resource",)),
    (Failure.ANSWER, ("received invalid webhook response", "an error on the server", "couldn't get version/kind", "unexpected content")),
    (Failure.CLOSED, ("EOF", "connection reset", "broken pipe", "use of closed network connection", "server closed idle connection")),
)
_SERVICE = re.compile(r'services? "[^"]*" not found')


@dataclasses.dataclass(frozen=True, slots=True)
class CalledWebhook:
    """Webhook that an answer of the API server is about.

    Attributes:
        webhook: its name.
        reason: the text of the API server about it.
        failure: why it cannot be called; None if it was called.
        is_denial: True if it refused the request.

    """

    webhook: str
    reason: str
    failure: Failure | None = None
    is_denial: bool = False


def called_webhook(message: str) -> CalledWebhook | None:
    """Return the webhook that a refusal of the API server names; None if the refusal is its own."""
    if match := _FAILED.search(message):
        reason = _CALLED.sub("", match[2])
        return CalledWebhook(match[1], reason, _failure(reason))
    if match := _NO_DRY_RUN.search(message):
        return CalledWebhook(match[1], message)
    if match := _DENIED.search(message):
        return CalledWebhook(match[1], match[2].removeprefix(": ").strip(), is_denial=True)
    return None


def _failure(reason: str) -> Failure:
    if _SERVICE.search(reason):
        return Failure.NO_SERVICE
    return next((each for each, texts in _TEXTS if any(text in reason for text in texts)), Failure.OTHER)
