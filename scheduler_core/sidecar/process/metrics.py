"""Prometheus metrics of the sidecar.

Edge: prometheus_client.  Names, labels, label values and buckets are those of the cluster's kube-scheduler where it has them, with the prefix
``muster_`` for ``scheduler_``.  ``placement_total`` is the name of ``generated_placements_total`` in KEP-5732.  Objects of the cluster
cannot add time series, except those of the largest gangs, which are few and are replaced at each update.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

import prometheus_client
from prometheus_client.metrics import MetricWrapperBase

from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_37, SchedulerBehavior
from scheduler_core.causes.live import Deviation
from scheduler_core.diagnosis.fragmentation import Fragment
from scheduler_core.model.decision import Decision
from scheduler_core.model.names import Name
from scheduler_core.model.status import Status
from scheduler_core.placement.counters import Counters
from scheduler_core.sidecar.queue.states import QUEUES, UNDER_WAY, State
from scheduler_core.sidecar.settings import Settings
from scheduler_core.sidecar.writes import WriteOutcome
from scheduler_core.wording.phrases import shape_words

CONTENT_TYPE = prometheus_client.CONTENT_TYPE_PLAIN_0_0_4
SECONDS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384)
"""kube-scheduler's buckets for the durations of its attempts."""
_POD_VICTIMS = (1, 2, 4, 8, 16, 32, 64)
_GROUP_VICTIMS = (*_POD_VICTIMS, 128, 256, 512, 1024)

_SCHEDULED, _UNSCHEDULABLE, _PREEMPTING, _ERROR = "scheduled", "unschedulable", "waiting_on_preemption", "error"
_RESULTS = {Status.SUCCESS: _SCHEDULED, Status.UNSCHEDULABLE: _UNSCHEDULABLE, Status.UNRESOLVABLE: _UNSCHEDULABLE}
"""kube-scheduler's result of each status; any other status is an error."""
_RESULT_LABELS = ("result", "profile")
_KINDS = ("pod", "podgroup")
_KINDS_APART = (*_KINDS, "compositepodgroup")
"""kube-scheduler's kinds of entities, from 1.38 on with trees apart."""


@dataclasses.dataclass(frozen=True, slots=True)
class Described:
    """Description of a metric: its name in Prometheus, its labels and its help text."""

    name: str
    labels: tuple[str, ...]
    about: str


class SidecarMetrics:
    """Metrics of one process."""

    def __init__(
        self,
        profile: str = Settings.scheduler_name,
        identity: str = Settings.identity,
        *,
        places: bool = True,
        behavior: SchedulerBehavior = KUBERNETES_1_37,
    ) -> None:
        """Create the metrics, with the labels of a kube-scheduler with *behavior*.

        *profile* is the scheduler name, as in kube-scheduler's label, *identity* the name of this replica.
        """
        self._profile, self._behavior = profile, behavior
        self._kinds = _KINDS_APART if behavior.counts_composites_apart else _KINDS
        self._of_group = ("entity",) if behavior.counts_composites_apart else ()
        """Labels with the kind of a root, or of the group whose placements are evaluated."""
        self._replica = (profile if places else "", identity)
        self._counters = Counters()
        self._values: dict[tuple[prometheus_client.Gauge, tuple[str, ...]], float] = {}
        # To find a series takes longer than to count.
        self._counted = functools.cache(lambda counter, *labels: counter.labels(*labels))
        self.registry = prometheus_client.CollectorRegistry()
        # Memory, open files and start time, as in every Kubernetes component.
        prometheus_client.ProcessCollector(registry=self.registry)
        self._add_attempt_metrics()
        self._add_queue_metrics()
        self._add_placement_metrics()
        self._add_preemption_metrics()
        self._add_build_metrics()
        self._add_process_metrics()

    def _counter(self, name: str, about: str, labels: Sequence[str] = ()) -> prometheus_client.Counter:
        return prometheus_client.Counter(f"muster_{name}", about, labels, registry=self.registry)

    def _gauge(self, name: str, about: str, labels: Sequence[str] = ()) -> prometheus_client.Gauge:
        return prometheus_client.Gauge(f"muster_{name}", about, labels, registry=self.registry)

    def _histogram(
        self, name: str, about: str, labels: Sequence[str] = (), buckets: Sequence[float] = SECONDS
    ) -> prometheus_client.Histogram:
        return prometheus_client.Histogram(f"muster_{name}", about, labels, buckets=buckets, registry=self.registry)

    def _add_attempt_metrics(self) -> None:
        self.pod_attempts = self._counter(
            "schedule_attempts", "Number of attempts to schedule pods, by the result. Members of groups count too.", _RESULT_LABELS
        )
        self.pod_seconds = self._histogram(
            "scheduling_attempt_duration_seconds",
            "Scheduling attempt latency in seconds (scheduling algorithm + binding) until the writes are sent. "
            "The time of a group is divided equally among its pods.",
            _RESULT_LABELS,
        )
        self.pod_algorithm_seconds = self._histogram(
            "scheduling_algorithm_duration_seconds",
            "Scheduling algorithm latency in seconds of pods without a group: their share of the cycle.",
        )
        self.attempts = self._counter(
            "podgroup_schedule_attempts",
            "Number of attempts to schedule pod group, by the result. A tree of groups counts once.",
            (*_RESULT_LABELS, *self._of_group),
        )
        self.attempt_seconds = self._histogram(
            "podgroup_scheduling_attempt_duration_seconds",
            "Pod group scheduling attempt latency in seconds, from the snapshot to the writes.",
            (*_RESULT_LABELS, *self._of_group),
        )
        self.algorithm_seconds = self._histogram(
            "podgroup_scheduling_algorithm_duration_seconds",
            "Pod group scheduling algorithm latency in seconds: its share of the cycle.",
            ("profile", *self._of_group) if self._of_group else (),
        )

    def _add_queue_metrics(self) -> None:
        self.queued = self._gauge(
            "queued_entities",
            f"Number of queued scheduling entities ({_listed(self._kinds)}; a tree of groups is one) by the queue type: 'active': ready to be "
            "attempted; 'backoff': waiting for the end of the backoff; 'unschedulable': the attempt failed, or victims are being evicted; "
            "'gated': waiting for members, a parent or the removal of scheduling gates.",
            ("queue", self._behavior.entity_label),
        )
        self.under_way = self._gauge(
            "under_way_entities",
            "Entities with binds in flight ('binding'; in no queue) or with evictions in flight ('preempting'; also in 'unschedulable').",
            ("work", self._behavior.entity_label),
        )

    def _add_placement_metrics(self) -> None:
        self.placements = self._counter(
            "placement", "Number of candidate placements of groups: generated_placements_total under its name in KEP-5732."
        )
        self.generated = self._counter(
            "generated_placements", "Number of candidate placements generated when scheduling pod groups.", ("profile", *self._of_group)
        )
        self.evaluations = self._counter(
            "placement_evaluations",
            "Number of candidate placements evaluated when scheduling pod groups, by result ('feasible' or 'infeasible').",
            (*_RESULT_LABELS, *self._of_group),
        )
        self.evaluation_seconds = self._histogram(
            "placement_evaluation_duration_seconds",
            "Latency in seconds of evaluating a single candidate placement when scheduling pod groups, by result: "
            "its share of the cycle, because placements are evaluated together.",
            (*_RESULT_LABELS, *self._of_group),
        )

    def _add_preemption_metrics(self) -> None:
        preemptor = ("preemptor",) if self._of_group else ()
        self.pod_victims = self._histogram(
            "preemption_victims",
            "Number of selected preemption victims for preemption initiated by a single pod, counted when evictions are sent.",
            buckets=_POD_VICTIMS,
        )
        self.pod_preemptions = self._counter("preemption_attempts", "Total preemption attempts in the cluster till now for single pods.")
        self.victims = self._histogram(
            "workload_preemption_victims",
            "Number of pod preemption victims caused by workload preemption, counted when evictions are sent.",
            preemptor,
            _GROUP_VICTIMS,
        )
        self.preemptions = self._counter(
            "workload_preemption_attempts",
            "Total preemption attempts initiated by workload (including pod groups) in the cluster till now, by the result: "
            "'Success': evictions are sent; 'Unschedulable': no victims help, or their eviction is refused.",
            (*preemptor, "result"),
        )

    def _add_build_metrics(self) -> None:
        self.build_objects = self._gauge(
            "build_objects",
            "Objects whose groups are asked for from mode build, by kind and result: 'built'; 'outdated': groups are replaced when the pods of "
            "the old ones are gone; 'refused' by the API server; 'failed': a write had no answer; or the reason for no groups.",
            ("kind", "result"),
        )
        self.build_waiting_pods = self._gauge("build_waiting_pods", "Pods that wait for a group of mode build.")
        self.build_longest_wait = self._gauge(
            "build_longest_wait_seconds", "Age of the oldest pod that waits for a group of mode build; 0 if there is none."
        )
        self.build_pods = self._counter(
            "build_pods",
            "Pods that have waited for a group of mode build, by outcome: 'joined', or 'released' because there is none for them.",
            ("outcome",),
        )

    def _add_process_metrics(self) -> None:
        self.deviations = self._counter(
            "placement_deviations",
            "Pods of groups that were pinned to a node, and that their scheduler has not bound as planned, by the deviation: "
            f"{', '.join(map(repr, map(str, Deviation)))}.",
            ("deviation",),
        )
        self.writes = self._counter("writes", "Writes to the API server, by kind and outcome.", ("kind", "outcome"))
        self.events = self._counter("watch_events", "Watch events received.", ("kind",))
        self.cached = self._gauge("cached_objects", "Objects in the cache, by kind; pods that have ended count too.", ("kind",))
        self.invalid = self._gauge("invalid_trees", "Trees that are invalid.")
        self.leader = self._gauge("leader", "1 while this process may write.")
        self.leading_replica = self._gauge(
            "leading_replica",
            "1 while this replica may write, by the name of the scheduler for which it places pods (empty: it places none).",
            ("scheduler_name", "identity"),
        )
        self.leads(leading=False)
        self.term_wait = self._gauge(
            "term_wait_seconds",
            "Seconds for which this replica leads and decides nothing, because its cache of the kind lacks changes from before its term. "
            "Absent while it does not wait.",
            ("kind",),
        )
        self.largest_gang = self._gauge(
            "largest_gang", "Size of the largest gang of pods of this shape that now fits into one domain of the level.", ("level", "shape")
        )

    def show_cache(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """Show *counts*, the number of objects of each kind, in every answer from now on; it is called in other threads."""
        for kind in counts():
            self.cached.labels(kind).set_function(functools.partial(_count, counts, kind))

    def leads(self, *, leading: bool) -> None:
        """Set whether this replica may write."""
        self._set(self.leader, (), leading)
        self._set(self.leading_replica, self._replica, leading)

    def term_waits(self, kinds: Iterable[str], seconds: float) -> None:
        """Set the kinds for which the current term has waited for *seconds*; none: it has begun."""
        self.term_wait.clear()
        for kind in kinds:
            self.term_wait.labels(kind).set(seconds)

    def written(self, write: str, outcome: WriteOutcome) -> None:
        """Count a write of this name."""
        self._counted(self.writes, write, outcome.value).inc()

    def received(self, resource: str) -> None:
        """Count a watch event of a resource."""
        self._counted(self.events, resource).inc()

    def built(self, objects: Mapping[tuple[str, str], int], waiting: int, oldest: float) -> None:
        """Set the number of objects whose groups are asked for, by kind and result, and of waiting pods, with the age of the oldest."""
        for labels, count in objects.items():
            self.build_objects.labels(*labels).set(count)
        self.build_waiting_pods.set(waiting)
        self.build_longest_wait.set(oldest)

    def pod_left(self, outcome: str) -> None:
        """Count a pod that has waited for a group and does no longer."""
        self.build_pods.labels(outcome).inc()

    def placements_evaluated(self, counters: Counters, seconds: float) -> None:
        """Record the placements evaluated up to now, and *seconds* for those since the last call."""
        generated = counters.generated - self._counters.generated
        for composite in (False, True):
            numbers = _counted(counters, self._counters, composite=composite)
            kind = self._kind("CompositePodGroup" if composite else "PodGroup")
            for result, count in numbers.items():
                if count:
                    self.evaluations.labels(result, self._profile, *kind).inc(count)
                    _observe(self.evaluation_seconds.labels(result, self._profile, *kind), seconds / generated, count)
            self._counted(self.generated, self._profile, *kind).inc(sum(numbers.values()))
        self.placements.inc(generated)
        self._counters = dataclasses.replace(counters)

    def _kind(self, kind: str) -> tuple[str, ...]:
        """Return the values of the labels for a group of *kind*; none if groups have no such label."""
        return (_label_of(kind, self._kinds),) if self._of_group else ()

    def fragmentation(self, fragments: Iterable[Fragment]) -> None:
        """Replace the sizes of the largest gangs."""
        self.largest_gang.clear()
        for each in fragments:
            self.largest_gang.labels(level=each.key, shape=shape_words(each.requests)).set(each.largest)

    def decided(self, decisions: Sequence[Decision], seconds: float) -> None:
        """Record that all *decisions* together took *seconds*."""
        for each in decisions:
            histogram = self.pod_algorithm_seconds if _is_pod(each.root) else self._algorithm_of(each.root)
            histogram.observe(seconds / len(decisions))

    def _algorithm_of(self, root: Name) -> prometheus_client.Histogram:
        kind = self._kind(root.kind)
        return self.algorithm_seconds.labels(self._profile, *kind) if kind else self.algorithm_seconds

    def attempted(self, decision: Decision, seconds: float, *, planned: bool = False) -> None:
        """Count an attempt that took *seconds*; *planned*: it has a preemption plan."""
        if decision.status is Status.WAIT:
            # kube-scheduler does not attempt gated pods, and has no result for them.
            return
        result = _RESULTS.get(decision.status, _ERROR)
        pods = {result: 1} if _is_pod(decision.root) else _members(decision, result)
        for pod_result, count in pods.items():
            self.pod_attempts.labels(pod_result, self._profile).inc(count)
            _observe(self.pod_seconds.labels(pod_result, self._profile), seconds / sum(pods.values()), count)
        if _is_pod(decision.root):
            return
        # Nominations without victims use the capacity of earlier victims that still exist.
        if result == _UNSCHEDULABLE and (planned or (decision.nominations and not decision.victims)):
            result = _PREEMPTING
        kind = self._kind(decision.root.kind)
        self.attempts.labels(result, self._profile, *kind).inc()
        self.attempt_seconds.labels(result, self._profile, *kind).observe(seconds)

    def preempted(self, root: Name, victims: int) -> None:
        """Count a preemption attempt for *root* with this number of victims; 0: it failed."""
        if _is_pod(root):
            self.pod_preemptions.inc()
        else:
            self.preemptions.labels(*self._kind(root.kind), (Status.SUCCESS if victims else Status.UNSCHEDULABLE).value).inc()
        if victims:
            kind = () if _is_pod(root) else self._kind(root.kind)
            of_groups = self.victims.labels(*kind) if kind else self.victims
            (self.pod_victims if _is_pod(root) else of_groups).observe(victims)

    def waiting(self, roots: Mapping[tuple[type[State], str], int]) -> None:
        """Set the number of roots in each queue, by state and kind of root."""
        for named, gauge in ((QUEUES, self.queued), (UNDER_WAY, self.under_way)):
            sums = {(name, kind): 0 for name in named.values() for kind in self._kinds}
            for (state, kind), count in roots.items():
                if state in named:
                    sums[named[state], _label_of(kind, self._kinds)] += count
            for labels, count in sums.items():
                self._set(gauge, labels, count)

    def _set(self, gauge: prometheus_client.Gauge, labels: tuple[str, ...], value: float) -> None:
        """Set a value of *gauge* if it differs from the last one: the loop sets all in each iteration."""
        if self._values.get((gauge, labels)) != value:
            self._values[gauge, labels] = value
            (gauge.labels(*labels) if labels else gauge).set(value)

    def described(self) -> tuple[Described, ...]:
        """Return the descriptions of all metrics, by name."""
        metrics = [each for each in vars(self).values() if isinstance(each, MetricWrapperBase)]
        return tuple(sorted((_described(each) for each in metrics), key=lambda each: each.name))

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return prometheus_client.generate_latest(self.registry)


def _count(counts: Callable[[], Mapping[str, int]], kind: str) -> float:
    return counts()[kind]


def _described(metric: MetricWrapperBase) -> Described:
    (family,) = metric.describe()
    suffix = "_total" if family.type == "counter" else ""
    return Described(f"{family.name}{suffix}", tuple(metric._labelnames), family.documentation)  # noqa: SLF001 - there is no public attribute


def _label_of(kind: str, kinds: Sequence[str]) -> str:
    """Return the one of *kinds* that a root or group of *kind* counts as."""
    return label if (label := kind.lower()) in kinds else "podgroup"


def _listed(kinds: Sequence[str]) -> str:
    return f"{', '.join(map(repr, kinds[:-1]))} or {kinds[-1]!r}"


def _counted(counters: Counters, before: Counters, *, composite: bool) -> dict[str, int]:
    """Return the placements by result that were evaluated since *before*: those of CompositePodGroups, or all others."""
    feasible, infeasible = (now - then for now, then in zip(counters.of_composites, before.of_composites, strict=True))
    if composite:
        return {"feasible": feasible, "infeasible": infeasible}
    return {
        "feasible": counters.feasible - before.feasible - feasible,
        "infeasible": counters.infeasible - before.infeasible - infeasible,
    }


def _is_pod(root: Name) -> bool:
    return root.kind == "Pod"


def _members(decision: Decision, result: str) -> Mapping[str, int]:
    """Return the number of pods of a group by result, counted as kube-scheduler does."""
    counts: collections.Counter[str] = collections.Counter()
    if decision.status is Status.SUCCESS:
        counts[_SCHEDULED] = len(decision.assignments)
    counts[_UNSCHEDULABLE if result == _SCHEDULED else result] = len(decision.pending)
    return +counts


def _observe(histogram: prometheus_client.Histogram, value: float, times: int) -> None:
    """Observe *value*, repeated *times* times, in one step: a cycle evaluates too many placements to observe each."""
    # prometheus_client has no public method for it.
    at = bisect.bisect_left(histogram._upper_bounds, value)  # noqa: SLF001
    histogram._sum.inc(value * times)  # noqa: SLF001
    histogram._buckets[at].inc(times)  # noqa: SLF001
