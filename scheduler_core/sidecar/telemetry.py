"""What the sidecar tells about itself in figures.

Edge: prometheus_client.  Names and labels are kube-scheduler's where it has them, with ``muster_`` for ``scheduler_``, and
KEP-5732's for placements.  No object can add to them: no label takes a value from outside but those of the largest gangs, which
are few at a time, and are told anew each time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import prometheus_client
from prometheus_client.metrics import MetricWrapperBase

from scheduler_core.decision import Decision, Status
from scheduler_core.fragmentation import Fragment
from scheduler_core.placement.looked import Looked

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_PLAIN_0_0_4
SECONDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384)
"""kube-scheduler's buckets for the durations of its attempts."""


_RESULTS = {
    Status.SUCCESS: "scheduled",
    Status.UNSCHEDULABLE: "unschedulable",
    Status.UNRESOLVABLE: "unschedulable",
    Status.WAIT: "waiting",
}
"""kube-scheduler's results, and one for roots that are held back; all else is an error."""


@dataclasses.dataclass(frozen=True, slots=True)
class Described:
    """One figure: its name in Prometheus, its labels, and what it is."""

    name: str
    labels: tuple[str, ...]
    about: str


class Telemetry:
    """The figures of one process."""

    def __init__(self, profile: str = "muster") -> None:
        """*profile* is what kube-scheduler calls so: the name of the scheduler."""
        self._profile = profile
        self.registry = prometheus_client.CollectorRegistry()
        # Memory, files and when it was started, as every component tells them.
        prometheus_client.ProcessCollector(registry=self.registry)
        self._of_attempts(self.registry)
        self._of_preemption(self.registry)
        self._of_the_process(self.registry)

    def _of_attempts(self, registry: prometheus_client.CollectorRegistry) -> None:
        self.attempts = prometheus_client.Counter(
            "muster_podgroup_schedule_attempts", "Attempts to schedule a root, by the result.", ("result", "profile"), registry=registry
        )
        self.attempt_seconds = prometheus_client.Histogram(
            "muster_podgroup_scheduling_attempt_duration_seconds",
            "From the snapshot to the writes of an attempt.",
            ("result", "profile"),
            buckets=SECONDS,
            registry=registry,
        )
        self.algorithm_seconds = prometheus_client.Histogram(
            "muster_podgroup_scheduling_algorithm_duration_seconds",
            "Time to decide on the roots of one cycle.",
            buckets=SECONDS,
            registry=registry,
        )
        self.pending = prometheus_client.Gauge("muster_pending_pod_groups", "Roots that wait, by why.", ("queue",), registry=registry)
        self.placements = prometheus_client.Counter("muster_placement", "Candidate placements of groups.", registry=registry)
        self.evaluations = prometheus_client.Counter(
            "muster_placement_evaluations", "Placements of groups that were looked at, by the result.", ("result",), registry=registry
        )
        self.evaluation_seconds = prometheus_client.Histogram(
            "muster_placement_evaluation_duration_seconds",
            "Time of a cycle for each placement looked at in it: they are evaluated together.",
            ("result",),
            buckets=(0.00001, 0.0001, *SECONDS),
            registry=registry,
        )
        self._looked = Looked()

    def _of_preemption(self, registry: prometheus_client.CollectorRegistry) -> None:
        self.victims = prometheus_client.Histogram(
            "muster_preemption_victims", "Pods that left for one root.", buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512), registry=registry
        )
        self.preemptions = prometheus_client.Counter("muster_preemption_attempts", "Roots for which others left.", registry=registry)

    def _of_the_process(self, registry: prometheus_client.CollectorRegistry) -> None:
        self.writes = prometheus_client.Counter(
            "muster_writes", "Writes, by kind and by what became of them.", ("kind", "outcome"), registry=registry
        )
        self.events = prometheus_client.Counter("muster_watch_events", "Changes that were watched.", ("kind",), registry=registry)
        self.invalid = prometheus_client.Gauge("muster_invalid_trees", "Trees that break a rule.", registry=registry)
        self.leader = prometheus_client.Gauge("muster_leader", "1 while this process may write.", registry=registry)
        self.largest_gang = prometheus_client.Gauge(
            "muster_largest_gang",
            "The largest gang of pods of a shape that fits into one domain of a level now.",
            ("level", "shape"),
            registry=registry,
        )

    def looked_at(self, looked: Looked, seconds: float) -> None:
        """Tell what was looked at until now, and that the last of it took *seconds*."""
        generated = looked.generated - self._looked.generated
        for result, count in (
            ("feasible", looked.feasible - self._looked.feasible),
            ("infeasible", looked.infeasible - self._looked.infeasible),
        ):
            if count:
                self.evaluations.labels(result=result).inc(count)
                self.evaluation_seconds.labels(result=result).observe(seconds / generated)
        self.placements.inc(generated)
        self._looked = dataclasses.replace(looked)

    def fragmentation(self, fragments: Iterable[Fragment]) -> None:
        """Tell these, and none of those told before."""
        self.largest_gang.clear()
        for each in fragments:
            self.largest_gang.labels(level=each.key, shape=each.shape).set(each.largest)

    def attempted(self, decision: Decision, seconds: float) -> None:
        """Count an attempt that took so long."""
        labels = {"result": _RESULTS.get(decision.status, "error"), "profile": self._profile}
        self.attempts.labels(**labels).inc()
        self.attempt_seconds.labels(**labels).observe(seconds)

    def preempted(self, victims: int) -> None:
        """Count a root for which so many pods are made to leave."""
        self.preemptions.inc()
        self.victims.observe(victims)

    def waiting(self, roots: Mapping[str, int]) -> None:
        """Tell how many roots wait, by queue."""
        for queue in sorted(roots):
            self.pending.labels(queue=queue).set(roots[queue])

    def described(self) -> tuple[Described, ...]:
        """What each figure is, by name."""
        found = [each for each in vars(self).values() if isinstance(each, MetricWrapperBase)]
        return tuple(sorted((_described(each) for each in found), key=lambda each: each.name))

    def text(self) -> bytes:
        """All figures in Prometheus' text format."""
        return prometheus_client.generate_latest(self.registry)


def _described(metric: MetricWrapperBase) -> Described:
    (family,) = metric.describe()
    suffix = "_total" if family.type == "counter" else ""
    return Described(f"{family.name}{suffix}", tuple(metric._labelnames), family.documentation)  # noqa: SLF001 - nothing public tells them
