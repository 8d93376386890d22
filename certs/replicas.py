"""Leaves that replicas serve, observed by TLS handshakes.

Edge: ssl and sockets.  A replica has several worker processes, and each reads the files at a time of its own.  A handshake reaches
any of them, so a replica counts only when it has served the leaf for some time without exception.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Sequence

from certs import rotation_steps
from certs.store import CA, CERTIFICATE

HANDSHAKE_SECONDS = 5.0
_NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL."""

Clock = Callable[[], float]
Connect = Callable[[str], contextlib.AbstractContextManager[socket.socket]]
"""Opens a connection to an address (HOST:PORT).  Raises OSError, or ValueError if the address cannot be read."""


def connect_directly(address: str) -> socket.socket:
    """Return a connection to an address that can be reached from here."""
    host, _, port = address.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), HANDSHAKE_SECONDS)


def probe(address: str, leaf: bytes, bundle: bytes, connect: Connect = connect_directly) -> str:
    """Return the reason why the server at *address* (HOST:PORT) does not serve *leaf*; empty if it does.

    A CA of *bundle* must have signed the served leaf.  Neither names nor validity are checked here: the leaf is compared whole, and
    the clock of the API server decides on its validity, not the one of this machine.
    """
    try:
        served = served_leaf(address, bundle, connect)
    except (OSError, ValueError) as error:
        return str(error) or type(error).__name__
    return "" if ssl.PEM_cert_to_DER_cert(served) == ssl.PEM_cert_to_DER_cert(_first(leaf)) else "serves another certificate"


def served_leaf(address: str, bundle: bytes | None, connect: Connect = connect_directly) -> str:
    """Return the certificate that the server at *address* (HOST:PORT) serves, as PEM.

    A CA of *bundle* must have signed it; None: any certificate is accepted.  Neither names nor validity are checked.

    Raises:
        OSError: there was no handshake.
        ValueError: *bundle* or *address* cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if bundle is None:
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(cadata=bundle.decode("ascii"))
    context.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME)
    with connect(address) as connection, context.wrap_socket(connection) as secured:
        return ssl.DER_cert_to_PEM_cert(secured.getpeercert(binary_form=True) or b"")


def _first(chain: bytes) -> str:
    begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    text = chain.decode("ascii")
    return text[text.index(begin) : text.index(end) + len(end)]


class Replicas:
    """Replicas of *addresses*, which is called for each observation, and since when each serves one leaf."""

    def __init__(
        self,
        addresses: Callable[[], Sequence[str]],
        settle_seconds: float,
        clock: Clock = time.monotonic,
        connect: Connect = connect_directly,
    ) -> None:
        self._addresses, self._settle, self._clock, self._connect = addresses, settle_seconds, clock, connect
        self._since: dict[str, float] = {}
        self._leaf = b""
        self.reasons: tuple[str, ...] = ()

    def all_serve(self, state: rotation_steps.State) -> bool:
        """Return True if there are replicas and each has served the leaf of *state* since the settling time; else set ``reasons``."""
        leaf, trust = state.secret[CERTIFICATE], state.secret[CA]
        if leaf != self._leaf:
            self._leaf, self._since = leaf, {}
        results = {each: probe(each, leaf, trust, self._connect) for each in self._addresses()}
        now = self._clock()
        self._since = {each: self._since.get(each, now) for each, reason in results.items() if not reason}
        waiting = [each for each, since in self._since.items() if now - since < self._settle]
        failed = [f"{each}: {reason}" for each, reason in results.items() if reason]
        remedies = ("delete the pod of a replica that does not answer",) if failed else ()
        self.reasons = (*failed, *remedies, *(f"{each}: its other processes may still serve the old certificate" for each in waiting))
        if not results:
            self.reasons = ("there is no replica",)
        return not self.reasons
