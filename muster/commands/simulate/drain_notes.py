"""Notes on a drain: disruption budgets that refuse evictions, groups that are disrupted as a whole, and pods without another node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kubeapi.gather import by_name, gather
from kubeapi.gathered import Given
from kubeapi.names import Name
from kubeapi.problem import Problem
from muster.commands.simulate import drain
from muster.commands.simulate.what_if import evicted_pods
from muster.render.drain_facts import DrainedPods, EvictionsRefused, GroupDisrupted
from muster.render.tree_rows import pod_name
from scheduler_core.behavior.scheduler_behavior import KUBERNETES_1_38
from scheduler_core.model.decision import Decision
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.preemption.units.disruption_budgets import DisruptionBudgets
from scheduler_core.whatif.edits.node_templates import Content, section
from validators.model.objects import namespace_of


def evictions(objects: Iterable[Given], drained: Sequence[str]) -> dict[str, Content]:
    """Return the pods that a drain evicts, by their names ``namespace/name``.

    Args:
        objects: the objects before the drain.
        drained: the nodes, by name or label.

    """
    kinds, _ = gather(objects)
    nodes = {name: gathered for (_, name), gathered in by_name(kinds["Node"], []).items()}
    pods = evicted_pods(kinds["Pod"], drain.selected_nodes(drained, nodes))
    return {f"{namespace}/{name}": pod for (namespace, name), pod in pods.items()}


def drain_notes(evicted: Mapping[str, Content], snapshot: ClusterSnapshot, decisions: Iterable[Decision]) -> Iterator[Problem]:
    """Yield what a drain of nodes meets.

    Args:
        evicted: the pods that it evicts, as ``evictions`` returns them; those that are not in the cluster afterwards are left out.
        snapshot: the cluster after it, where these pods are pending.
        decisions: those about this cluster.

    """
    records = {pod.key: pod for pod in snapshot.pods if pod.key in evicted}
    placed = {pod for each in decisions for pod in each.assignments} & records.keys()
    bare = tuple(pod_name(key) for key in sorted(records) if not section(evicted[key], "metadata").get("ownerReferences"))
    if records:
        yield Problem(DrainedPods(len(records), len(placed), bare), place="Drain")
    yield from _refused(records, evicted, snapshot)
    yield from _disrupted(records, snapshot)


def _refused(records: Mapping[str, PodRecord], evicted: Mapping[str, Content], snapshot: ClusterSnapshot) -> Iterator[Problem]:
    """Yield the budgets that refuse some of the evictions while none of the pods is replaced yet."""
    # For the Eviction API, unlike kube-scheduler 1.37, an empty selector matches all pods.
    budgets = DisruptionBudgets(snapshot.budgets, KUBERNETES_1_38)
    counts: Counter[tuple[str, str]] = Counter()
    for key, record in sorted(records.items()):
        ready = _is_ready(evicted[key])
        for budget in budgets.budgets_of(record):
            if ready or (budget.spares_unready and not budget.healthy):
                counts[budget.namespace, budget.name] += record.name not in budget.disrupted
    allowed = {(each.namespace, each.name): max(0, each.allowed) for each in snapshot.budgets}
    for name, number in sorted(counts.items()):
        if number > allowed[name]:
            yield Problem.about(Name("PodDisruptionBudget", *name), EvictionsRefused(number, allowed[name]))


def _is_ready(pod: Content) -> bool:
    status = section(pod, "status")
    conditions = status.get("conditions")
    listed = [each for each in (conditions if isinstance(conditions, list) else ()) if isinstance(each, dict)]
    return status.get("phase", "Running") == "Running" and all(
        each.get("status") == "True" for each in listed if each.get("type") == "Ready"
    )


def _disrupted(records: Collection[str], snapshot: ClusterSnapshot) -> Iterator[Problem]:
    """Yield the groups with the disruption mode All that lose some of their pods."""
    members: dict[tuple[str, str], list[str]] = {}
    for pod in snapshot.pods:
        if pod.group:
            members.setdefault((pod.namespace, pod.group), []).append(pod.key)
    for group in snapshot.groups:
        mode = group.spec.disruption_mode
        own = members.get((namespace_of(group), group.metadata.name), []) if group.kind == "PodGroup" else []
        gone = sum(each in records for each in own)
        if mode is not None and mode.all is not None and 0 < gone < len(own):
            yield Problem.about(Name(group.kind, namespace_of(group), group.metadata.name), GroupDisrupted(gone, len(own) - gone))
