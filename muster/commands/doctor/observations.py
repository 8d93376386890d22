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

METRICS_SECONDS = 10.0
LARGEST_METRICS = 16 * 1024 * 1024
"""Limit for one answer or file, in bytes."""
_SCHEMES = ("http://", "https://")


def observed(
    called: Sequence[Entry], given: Sequence[str], endpoints: Callable[[Entry], tuple[Sequence[str], Connect]]
) -> Iterator[Replica]:
    """Yield the replicas of each server: those *given*, else the *endpoints* of its Service, else the host of its URL."""
    for target in dict.fromkeys(each.target for each in called if each.host):
        same = [each for each in called if each.target == target]
        requested = bool(given) or same[0].service is None
        addresses, connect = (given or (target,), connect_directly) if requested else endpoints(same[0])
        for address in addresses:
            yield _observe(Replica(target, address, requested=requested), {each.ca_bundle for each in same}, connect)


def _observe(replica: Replica, bundles: Iterable[bytes], connect: Connect) -> Replica:
    try:
        leaf = served_leaf(replica.address, None, connect).encode()
    except (OSError, ValueError) as error:
        return dataclasses.replace(replica, reason=str(error) or type(error).__name__)
    distrust = {each: _distrust(replica.address, each, connect) for each in bundles if pem_bundle.certificates(each)}
    return dataclasses.replace(replica, leaf=leaf, distrust=distrust)


def _distrust(address: str, ca_bundle: bytes, connect: Connect) -> str:
    try:
        served_leaf(address, ca_bundle, connect)
    except (OSError, ValueError) as error:
        return str(getattr(error, "verify_message", "")) or str(error) or type(error).__name__
    return ""


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
