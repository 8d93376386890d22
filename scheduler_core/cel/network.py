"""IP addresses and CIDRs (Go's net/netip; Kubernetes 1.37.1, ``apiserver/pkg/cel/library/ip.go`` and ``cidr.go``)."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass

from scheduler_core.cel.values import Extension, Fault, Value, no_overload

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class IP(Extension):
    """Address."""

    TYPE = "net.IP"
    address: _Address

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.address.max_prefixlen // 8


@dataclass(frozen=True, slots=True)
class CIDR(Extension):
    """Address and length of the prefix; the address can have bits after the prefix."""

    TYPE = "net.CIDR"
    address: _Address
    bits: int

    @property
    def size(self) -> int:
        """Number of bytes of the prefix."""
        return -(-self.bits // 8)

    def network(self) -> int:
        """Return the bits of the prefix, as a number."""
        return int(self.address) >> (self.address.max_prefixlen - self.bits)


def _parse_ip(text: str) -> IP:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise Fault(f'IP Address "{text}" parse error during conversion from string') from None
    if "%" in text:
        raise Fault(f'IP address "{text}" with zone value is not allowed')
    if address.version == 6 and address.ipv4_mapped is not None:
        raise Fault(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return IP(address)


def _parse_cidr(text: str) -> CIDR:
    address, slash, bits = text.rpartition("/")
    valid = slash and bits.isascii() and bits.isdigit() and (bits == "0" or bits[0] != "0") and len(bits) <= 3
    if not valid:
        raise Fault(f"network address parse error during conversion from string: {text}")
    parsed = _parse_ip(address).address
    if int(bits) > parsed.max_prefixlen:
        raise Fault(f"network address parse error during conversion from string: {text}")
    return CIDR(parsed, int(bits))


def _valid(parse: Callable[[str], Value]) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        try:
            parse(text)
        except Fault:
            return False
        return True

    return test


def _contains_ip(network: CIDR, ip: IP) -> bool:
    return network.address.version == ip.address.version and network.network() == CIDR(ip.address, network.bits).network()


def _contains_cidr(outer: CIDR, inner: CIDR) -> bool:
    return outer.bits <= inner.bits and _contains_ip(outer, IP(inner.address))


def _of_other_type(parse: Callable[[str], Value], text: str) -> Value:
    """Return *text* parsed; as upstream, the error does not name it."""
    try:
        return parse(text)
    except Fault:
        raise no_overload() from None


def _masked(network: CIDR) -> CIDR:
    kind = type(network.address)
    return CIDR(kind(network.network() << (network.address.max_prefixlen - network.bits)), network.bits)


def _link_local_multicast(ip: IP) -> bool:
    packed = ip.address.packed
    return packed[:3] == b"\xe0\x00\x00" if ip.address.version == 4 else packed[0] == 0xFF and packed[1] & 0x0F == 2


def _global_unicast(ip: IP) -> bool:
    address = ip.address
    if address.is_multicast or address.is_unspecified or address.is_loopback or address.is_link_local:
        return False
    return str(address) != "255.255.255.255"


OVERLOADS: dict[str, Callable[..., Value]] = {
    "string_to_ip": _parse_ip,
    "cidr_ip": lambda network: IP(network.address),
    "is_ip": _valid(_parse_ip),
    "ip_is_canonical": lambda text: str(_parse_ip(text).address) == text,
    "ip_family": lambda ip: ip.address.version,
    "ip_is_unspecified": lambda ip: ip.address.is_unspecified,
    "ip_is_loopback": lambda ip: ip.address.is_loopback,
    "ip_is_link_local_multicast": _link_local_multicast,
    "ip_is_link_local_unicast": lambda ip: ip.address.is_link_local,
    "ip_is_global_unicast": _global_unicast,
    "ip_to_string": lambda ip: str(ip.address),
    "string_to_cidr": _parse_cidr,
    "is_cidr": _valid(_parse_cidr),
    "cidr_contains_ip_string": lambda network, text: _contains_ip(network, _of_other_type(_parse_ip, text)),
    "cidr_contains_ip_ip": _contains_ip,
    "cidr_contains_cidr_string": lambda network, text: _contains_cidr(network, _of_other_type(_parse_cidr, text)),
    "cidr_contains_cidr": _contains_cidr,
    "cidr_prefix_length": lambda network: network.bits,
    "cidr_masked": _masked,
    "cidr_to_string": lambda network: f"{network.address}/{network.bits}",
}
