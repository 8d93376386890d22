"""Observations of running webhook servers: TLS handshakes with their replicas, and their metrics."""

from __future__ import annotations

import dataclasses
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import click

from certs import pem_bundle
from certs.replicas import Connect, connect_directly, served_leaf
from muster.doctor.entries import Entry
from muster.doctor.latencies import Latency, read_latencies
from muster.doctor.world import Replica

HANDSHAKES = 8
"""Handshakes with a replica.  Each reaches one of its worker processes, which load a new certificate one by one."""
METRICS_SECONDS = 10.0
LARGEST_METRICS = 16 * 1024 * 1024
"""Limit for one answer or file, in bytes."""
_SCHEMES = ("http://", "https://")


def observed(
    called: Sequence[Entry], given: Sequence[str], endpoints: Callable[[Entry], tuple[Sequence[str], Connect]]
) -> Iterator[Replica]:
    """Yield the replicas of each server: those *given*, else the *endpoints* of its Service, else the host of its URL.

    A replica whose processes serve different certificates is yielded for each of them.
    """
    for target in dict.fromkeys(each.target for each in called if each.host):
        same = [each for each in called if each.target == target]
        requested = bool(given) or same[0].service is None
        addresses, connect = (given or (target,), connect_directly) if requested else endpoints(same[0])
        for address in addresses:
            yield from _observe(Replica(target, address, requested=requested), {each.ca_bundle for each in same}, connect)


def _observe(replica: Replica, bundles: Iterable[bytes], connect: Connect) -> Iterator[Replica]:
    """Yield the replica for each certificate that its processes serve, and for a failed handshake, after which no other is tried."""
    leaves, reason = dict[bytes, None](), ""
    for _ in range(HANDSHAKES):
        leaf, reason = _handshake(replica.address, None, connect)
        if reason:
            break
        leaves[leaf] = None
    readable = [each for each in bundles if pem_bundle.certificates(each)]
    alike = len(leaves) == 1 and not reason
    distrust = {each: _distrust(replica.address, each, [*leaves], connect, alike=alike) for each in readable if leaves}
    for leaf in leaves:
        yield dataclasses.replace(replica, leaf=leaf, distrust={each: reasons[leaf] for each, reasons in distrust.items()})
    if reason:
        yield dataclasses.replace(replica, reason=reason)


def _distrust(address: str, ca_bundle: bytes, leaves: Sequence[bytes], connect: Connect, *, alike: bool) -> dict[bytes, str]:
    """Return for each of the served *leaves* why a client with *ca_bundle* does not trust it; empty if it does.

    *alike* is True if all processes answer in the same way.
    """
    trusted, reason = set[bytes](), ""
    for _ in range(1 if alike else HANDSHAKES):
        leaf, refused = _handshake(address, ca_bundle, connect)
        trusted.add(leaf)
        reason = refused or reason
    # A failed handshake does not show its leaf, which is none that a CA of the bundle has signed.
    return {each: "" if each in trusted or (not alike and pem_bundle.signer(each, ca_bundle)) else reason for each in leaves}


def _handshake(address: str, ca_bundle: bytes | None, connect: Connect) -> tuple[bytes, str]:
    """Return the served leaf, or why there was no handshake."""
    try:
        return served_leaf(address, ca_bundle, connect).encode(), ""
    except (OSError, ValueError) as error:
        return b"", str(getattr(error, "verify_message", "")) or str(error) or type(error).__name__


def given_latencies(sources: Sequence[str]) -> Iterator[Latency]:
    """Yield the latencies in metrics at *sources*: files, or URLs of servers.

    Raises:
        click.UsageError: a source cannot be read, or has no durations of reviews.

    """
    for source in sources:
        try:
            text = _read(source)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise click.UsageError(f"--metrics {source}: cannot be read: {reason}") from None
        latencies = read_latencies(source, text)
        if not latencies:
            raise click.UsageError(f"--metrics {source}: has no muster_review_duration_seconds: give the metrics of a webhook server")
        yield from latencies


def _read(source: str) -> str:
    if source.startswith(_SCHEMES):
        with urllib.request.urlopen(source, timeout=METRICS_SECONDS) as response:  # noqa: S310 - only these schemes
            content: bytes = response.read(LARGEST_METRICS + 1)
    else:
        with Path(source).open("rb") as stream:
            content = stream.read(LARGEST_METRICS + 1)
    if len(content) > LARGEST_METRICS:
        raise ValueError(f"must be at most {LARGEST_METRICS:,} bytes")
    return content.decode("utf-8", "replace")
