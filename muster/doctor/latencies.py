"""99th percentile of the duration of reviews, from the metrics of webhook servers."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable

QUANTILE = 0.99
_BUCKET = re.compile(r"^muster_review_duration_seconds_bucket\{([^}]*)\} ([0-9.eE+-]+)(?: \d+)?$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


@dataclasses.dataclass(frozen=True, slots=True)
class Latency:
    """Duration of the reviews of one path.

    Attributes:
        source: where the metrics are from.
        path: path of the webhook, such as ``/validate``.
        count: number of reviews.
        p99_seconds: 99 % of them took at most this long; infinite if they took longer than the largest bucket.

    """

    source: str
    path: str
    count: int
    p99_seconds: float


def read_latencies(source: str, text: str) -> tuple[Latency, ...]:
    """Return the latency of each path in metrics in Prometheus' text format, in the order of the paths."""
    by_path: dict[str, dict[float, float]] = {}
    for match in _BUCKET.finditer(text):
        labels = dict(_LABEL.findall(match[1]))
        try:
            bound, count = float(labels.get("le", "nan")), float(match[2])
        except ValueError:
            continue
        if not math.isnan(bound) and math.isfinite(count):
            buckets = by_path.setdefault(labels.get("path", ""), {})
            buckets[bound] = buckets.get(bound, 0.0) + count
    return tuple(_latency(source, path, sorted(buckets.items())) for path, buckets in sorted(by_path.items()))


def _latency(source: str, path: str, buckets: list[tuple[float, float]]) -> Latency:
    total = buckets[-1][1]
    return Latency(source, path, int(total), _quantile(buckets, total) if total else 0.0)


def _quantile(buckets: Iterable[tuple[float, float]], total: float) -> float:
    """Return the quantile as Prometheus' ``histogram_quantile`` interpolates it."""
    rank, low, below = QUANTILE * total, 0.0, 0.0
    for bound, count in buckets:
        if count >= rank:
            return bound if math.isinf(bound) else low + (bound - low) * (rank - below) / (count - below)
        low, below = bound, count
    return math.inf
