"""Key pairs: host names, and the PEM texts that belong together.  Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
import re

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DNS = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*")
LONGEST_NAME = 253


class BadNameError(ValueError):
    """A name that cannot be in a certificate."""


@dataclasses.dataclass(frozen=True, slots=True)
class Names:
    """Subject alternative names of a leaf, without duplicates, in the order given."""

    dns: tuple[str, ...]
    addresses: tuple[Address, ...]

    def __str__(self) -> str:
        return ", ".join([*self.dns, *map(str, self.addresses)])


@dataclasses.dataclass(frozen=True, slots=True)
class Authority:
    """A CA: its certificate and private key, PEM."""

    certificate: bytes
    key: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """A leaf with its private key, and the certificate of the CA that signed it, PEM."""

    ca: bytes
    certificate: bytes
    key: bytes


def names_of(texts: tuple[str, ...]) -> Names:
    """Parse *texts* as DNS names and IP addresses.

    Raises:
        BadNameError: a text is neither, or there is no text.
    """
    dns: dict[str, None] = {}
    addresses: dict[Address, None] = {}
    for text in texts:
        address = _address(text)
        if address is not None:
            addresses[address] = None
            continue
        name = text.lower()
        if len(name) > LONGEST_NAME or not _DNS.fullmatch(name):
            raise BadNameError(f"{text!r} must be a DNS name (letters, digits, '-' and '.') or an IP address")
        dns[name] = None
    if not dns and not addresses:
        raise BadNameError("at least one name must be given: the API server calls the webhook as SERVICE.NAMESPACE.svc")
    return Names(tuple(dns), tuple(addresses))


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
