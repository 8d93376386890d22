"""Changes and remedies in words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import assert_never

from kubeapi.resource_names import at_least
from scheduler_core.causes import changes
from scheduler_core.causes.changes import Change, SearchedRoots, SearchLimit, TakenAhead
from scheduler_core.causes.domains import PodRule
from scheduler_core.causes.node_count import NodeLabel
from scheduler_core.model.decision import Remedy
from scheduler_core.model.delayed_claims import class_and_size, written
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.resource_values import row_of
from scheduler_core.wording.nouns import counted, labelled_nodes, level, listed, preposition
from scheduler_core.wording.titles import Shown, domain_place, domain_text, taint_text, titled, titles

_MOST = 8
"""Maximum number of pods, nodes and domains that a change names."""


_RULES = {PodRule.AFFINITY: "pod affinity", PodRule.ANTI_AFFINITY: "pod anti-affinity", PodRule.SPREAD: "topology spread"}


def remedy_text(remedy: Remedy, shown: Shown = titled) -> str:
    """Return the change of a remedy, and the reason why it is larger than needed."""
    text = change_text(remedy.change, shown)
    match remedy.because:
        case None:
            return text
        case changes.MoreThanSums(nodes) as sums:
            expected = f"not {nodes:,} as by the sum of requests" if nodes else "though the sum of what is free is enough"
            return f"{text}, {expected}: {_waste(sums)}"
        case ahead:
            return f"{text}, because {_taken_ahead(ahead, shown)}"


def limit_text(limit: SearchLimit | None) -> str:
    """Return the limit that ended a search for remedies; empty if there is none."""
    match limit:
        case None:
            return ""
        case SearchLimit.TRIES:
            return "the search for remedies stopped at the maximum number of tries; there may be more"
        case SearchLimit.STEPS:
            return "some changes could not be decided within the search limits; there may be more remedies"
    assert_never(limit)


def searched_text(roots: SearchedRoots) -> str:
    """Return for which roots remedies were searched, and how to search for all of them."""
    return (
        f"searched for {roots.searched:,} of the {roots.failed:,} roots that are not placed; set --remedies {roots.failed} for all of them"
    )


def change_text(change: Change, shown: Shown = titled) -> str:  # noqa: PLR0911 - one case for each kind of change
    """Return a change in words, such as ``minCount of PodGroup default/a lowered from 4 to 2``."""
    match change:
        case changes.DeletedBudgets(budgets, disruptions):
            instead = f", or changed to allow {counted(disruptions, 'disruption')}" if disruptions else ""
            return f"{' and '.join(map(shown, budgets))} deleted{instead}; the victims are then evicted"
        case changes.EnabledPlugin(plugin):
            return f"admission plugin {plugin} on{' when the pods are created again' if change.stored else ''} ({plugin_question(change)})"
        case changes.Successive():
            return ", and ".join(_successive([*_single_changes(change)], shown))
    if isinstance(change, changes.PodChange):
        return _pod_change(change, shown)
    if isinstance(change, changes.GroupChange):
        return _group_change(change, shown)
    if isinstance(change, changes.Relaxation):
        subject, verb = relaxation_parts(change, shown)
        return f"{subject} {verb[0]}"
    if isinstance(change, changes.NodeChange):
        return _node_change(change)
    if isinstance(change, changes.StorageChange):
        return _storage_change(change)
    if isinstance(change, changes.DeviceChange):
        return _device_change(change, shown)
    assert_never(change)


def plugin_question(change: changes.EnabledPlugin) -> str:
    """Return how to judge pods with an admission plugin; the manifest of *stored* pods is what a new API server would get."""
    return f"judge {'their manifest with muster fit' if change.stored else 'with'} --admission-plugins {change.plugin}"


def _pod_change(change: changes.PodChange, shown: Shown) -> str:
    match change:
        case changes.AwaitedDeletions(pods):
            return (
                f"wait for {counted(len(pods), 'pod')} that {'is' if len(pods) == 1 else 'are'} being deleted: {titles(pods, shown, _MOST)}"
            )
        case changes.MovedPods(moves):
            moved = [f"{each.pod.namespace}/{each.pod.name} from {each.before} to {each.after}" for each in moves]
            return f"{counted(len(moves), 'running pod')} moved: {listed(moved, _MOST)}"
        case changes.EvictedUnits(pods, units):
            return f"{titles(units, shown, _MOST)} evicted ({counted(pods, 'running pod')})"
    assert_never(change)


def _single_changes(change: Change) -> Iterator[Change]:
    """Yield the changes that are made one after the other."""
    if isinstance(change, changes.Successive):
        yield from _single_changes(change.first)
        yield from _single_changes(change.second)
    else:
        yield change


def _successive(several: Sequence[Change], shown: Shown) -> Iterator[str]:
    """Yield each change in words; taints that the same pods tolerate together."""
    for owner, alike in itertools.groupby(several, key=lambda each: each.owner if isinstance(each, changes.ToleratedTaint) else None):
        group = [*alike]
        taints = [taint_text(each.taint) for each in group if isinstance(each, changes.ToleratedTaint)]
        if owner is not None and len(taints) > 1:
            yield f"taints {listed(taints)} tolerated by {_pods_of(owner, shown)}"
        else:
            yield from (change_text(each, shown) for each in group)


def _group_change(change: changes.GroupChange, shown: Shown) -> str:
    match change:
        case changes.LoweredMinimums(groups):
            return _lowered(groups, shown)
        case changes.WidenedTopology(groups, before, key):
            return f"topology {_constraint(groups)} of {titles(groups, shown)} widened from {level(before)} to {level(key)} ({key})"
        case changes.DroppedTopology(keys, groups):
            return f"topology {_constraint((*keys, *groups[1:]))} {listed(keys)} of {titles(groups, shown)} dropped"
    assert_never(change)


def _constraint(several: Sequence[object]) -> str:
    return "constraint" if len(several) == 1 else "constraints"


def _lowered(groups: Sequence[changes.LoweredMinimum], shown: Shown) -> str:
    """Return the change of each group; groups that change alike are listed together."""
    if len({(each.field, each.before, each.minimum) for each in groups}) > 1:
        return listed([_lowered([each], shown) for each in groups], _MOST)
    first = groups[0]
    return f"{first.field} of {titles([each.group for each in groups], shown)} lowered from {first.before} to {first.minimum}"


def relaxation_parts(change: changes.Relaxation, shown: Shown) -> tuple[str, tuple[str, str]]:
    """Return the rule of pods that is relaxed; and a verb for the change, and one for the rule that applies without it."""
    match change:
        case changes.ToleratedTaint(taint, owner):
            pods = f"by {_pods_of(owner, shown)}"
            return f"taint {taint_text(taint)}", (f"tolerated {pods}", f"is not tolerated {pods}")
        case changes.DroppedSelectors(owner, node_selector, node_affinity):
            both = "node selector and affinity" if node_selector else "node affinity"
            rule = both if node_affinity else "node selector"
            return f"{rule} of {_pods_of(owner, shown)}", ("dropped", "apply" if node_selector and node_affinity else "applies")
        case changes.DroppedPodRules(owner, rules):
            rule = listed([_RULES[each] for each in rules])
            return f"{rule} of {_pods_of(owner, shown)}", ("dropped", "applies" if len(rules) == 1 else "apply")
        case changes.RemovedGates(owner):
            return f"scheduling gates of {_pods_of(owner, shown)}", ("removed", "remain")
    assert_never(change)


def _pods_of(owner: Name, shown: Shown) -> str:
    return shown(owner) if owner.kind == "Pod" else f"the pods of {shown(owner)}"


def _node_change(change: changes.NodeChange) -> str:
    match change:
        case changes.UncordonedNodes(nodes):
            return f"node {nodes[0]} uncordoned" if len(nodes) == 1 else f"{len(nodes)} nodes uncordoned: {listed(nodes, _MOST)}"
        case changes.AddedNodes(count, domains):
            where = f" {_places(domains)}" if domains else ""
            return f"{counted(count, 'more node')}{where} {_kind(change)}"
        case changes.AddedNodesByDomain(parts):
            by_domain = [f"{part.count} {_places(part.domains)} {_kind(part)}" for part in parts]
            return f"{counted(sum(part.count for part in parts), 'more node')}: {listed(by_domain, _MOST)}"
    assert_never(change)


def _places(domains: Sequence[Domain]) -> str:
    return f"{preposition(domains[0].key)} {' and '.join(map(domain_text, domains))}"


def _kind(added: changes.AddedNodes) -> str:
    amounts = [f"{at_least(row_of(each.resource), each.amount)} {row_of(each.resource)}" for each in added.larger]
    return f"like {added.like}{f', but with {listed(amounts)}' if amounts else ''}"


def _storage_change(change: changes.StorageChange) -> str:  # noqa: PLR0911 - one case for each change
    match change:
        case changes.AddedVolumes(volumes, domain, nodes):
            kinds = [f"{counted(each.count, 'more local volume')} of {class_and_size(each.storage_class, each.size)}" for each in volumes]
            return f"{listed(kinds)}{_on_nodes(domain, nodes)}"
        case changes.RaisedCapacities(capacities):
            return listed([figure for each in capacities for figure in _raised(each)])
        case changes.RaisedAttachLimits(driver, before, more):
            limits = {each.limit for each in before}
            amount = f"from {min(limits)} to {min(limits) + more}" if len(limits) == 1 else f"by {more}"
            return f"attach limit of CSI driver {driver} raised {amount} on {listed([each.node for each in before])}"
        case changes.CreatedClassesLike(classes, like):
            return f"StorageClass {listed(classes)} created like {like}"
        case changes.CreatedClasses(classes, provisioner):
            return f"StorageClass {listed(classes)} created with provisioner {provisioner}"
        case changes.DroppedAllowedTopologies(storage_class):
            return f"allowed topologies of StorageClass {storage_class} dropped"
        case changes.RemovedSelectedNodes(claims):
            named = listed([f"{each.claim.namespace}/{each.claim.name} ({each.node})" for each in claims])
            return f"selected node of {'claim' if len(claims) == 1 else 'claims'} {named} removed"
    assert_never(change)


def _raised(capacity: changes.RaisedCapacity) -> Iterator[str]:
    """Yield each figure that is raised."""
    match capacity.nodes:
        case NodeLabel(key, values):
            where = f" {labelled_nodes(key, values)}"
        case domain:
            where = _in_domain(domain)
    for noun, size in (("maximum volume size", capacity.volume), ("storage capacity", capacity.capacity)):
        if size is not None:
            start = f"from {written(size.before)} " if size.before is not None else ""
            yield f"{noun} of class {capacity.storage_class}{where} raised {start}to {written(size.after)}"


def _in_domain(domain: Domain | None) -> str:
    return "" if domain is None else f" {domain_place(domain)}"


def _on_nodes(domain: Domain | None, nodes: Sequence[str]) -> str:
    """Return the place of new volumes or devices: `` in rack r1, on n1 and n2``, `` on node n1``."""
    if domain is not None and nodes == (domain.value,) and preposition(domain.key) == "on":
        return f" {domain_place(domain)}"
    return f"{_in_domain(domain)}, on {listed(nodes)}"


def _device_change(change: changes.DeviceChange, shown: Shown) -> str:
    match change:
        case changes.AddedDevices(count, device_class, domain, nodes):
            return f"{counted(count, 'more device')} of class {device_class}{_on_nodes(domain, nodes)}"
        case changes.ToleratedDeviceTaint(taint, request):
            return f"device taint {taint_text(taint)} tolerated by {_request(request, shown)}"
        case changes.DroppedDeviceSelectors(request):
            return f"selectors of {_request(request, shown)} dropped"
        case changes.ChangedDeviceClass(request, before, after):
            return f"class of {_request(request, shown)} changed from {before} to {after}"
        case changes.DroppedDeviceConstraint(attribute, claim):
            return f"constraint about {attribute} of {shown(claim)} dropped"
    assert_never(change)


def _request(request: changes.RequestOfClaim, shown: Shown) -> str:
    return f"request {request.request} of {shown(request.claim)}"


def _taken_ahead(reason: TakenAhead, shown: Shown) -> str:
    others = f" and {counted(reason.others, 'more root')}" if reason.others else ""
    verbs = "are ahead in the queue and use" if reason.others else "is ahead in the queue and uses"
    return f"{shown(reason.first)}{others} {verbs} {reason.nodes} of them"


def _waste(sums: changes.MoreThanSums) -> str:
    match sums.waste:
        case None:
            return f"because of the {listed([_RULES[each] for each in sums.rules])} of the pods"
        case changes.Waste.REST:
            return f"each holds only {counted(sums.holds, 'pod')}"
        case changes.Waste.PIECES:
            return "what is free on the present nodes is in pieces too small for a pod"
        case changes.Waste.ONE_BY_ONE:
            return "the pods get their nodes one by one, spread and not packed"
        case changes.Waste.SIZES:
            return "what pods leave of a node is too small for those of another size"
    assert_never(sums.waste)
