"""Podsets of Kueue as groups: one domain for all pods of a podset, or of two podsets together, and one for each slice in it.

A podset has all pods of one pod template that Kueue admits as a unit.  If its groups are one, the group gets the constraint; if they are
all below one parent, the parent does; else they get a common parent.  Slices of another size than the groups replace these.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators.field import FieldError
from workloadbuilder.adapters.shared import kueue_flavors, kueue_rules, pod_template
from workloadbuilder.adapters.shared.adapter_result import Loss, PodPlan, Positions, Reading, with_minimum
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.adapters.shared.kueue_annotations import Layer, TopologyRequest, read_request
from workloadbuilder.adapters.shared.pod_template import PodTemplate
from workloadbuilder.workload_item import WHOLE, Block, PolicyKind, SchedulingConfig, SchedulingPolicy, WorkloadItem

_SLICE_NAMES = ("slice", "inner-slice", "innermost-slice")
_LONGEST = 63
"""Longest name of a template."""


@dataclasses.dataclass(frozen=True, slots=True)
class TemplatePods:
    """Pods of one *template* that Kueue places as a unit, in the groups of the templates *leaves*."""

    template: PodTemplate
    leaves: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedPods:
    """Pods of one *template* of an object without a tree of groups; *name* is that of their group, if they get one."""

    template: PodTemplate
    name: str
    plans: tuple[PodPlan, ...]


def confined(reading: Reading, podsets: Sequence[TemplatePods], known: Known) -> Reading:
    """Return *reading* with the domains that Kueue's annotations require, and what Kueue refuses of them.

    Its tree has one level, or a root with leaves.
    """
    leaves = [leaf for each in podsets for leaf in each.leaves]
    # The API server refuses an object with two parts of one name.
    if reading.root is None or len({*leaves}) < len(leaves):
        return reading
    tree = _Tree(reading, reading.root)
    sized = [(each, sum(map(tree.pods_of, each.leaves))) for each in podsets]
    requests, refused, losses = _requests([(each.template, count) for each, count in sized], known)
    for podset, request in zip(podsets, requests, strict=True):
        tree.change_pods(podset.leaves, functools.partial(kueue_flavors.on_flavor, request=request, known=known))
    domains: dict[str, tuple[TopologyRequest, list[str]]] = {}
    for index, ((podset, count), request) in enumerate(zip(sized, requests, strict=True)):
        names = [*podset.leaves]
        if request.layers:
            names = tree.divide(names, request, count)
        if request.required:
            domains.setdefault(request.group or str(index), (request, []))[1].extend(names)
    for request, names in domains.values():
        tree.confine(names, request)
    # Its losses are complete then.
    result = tree.reading()
    return dataclasses.replace(
        result,
        refused=(*result.refused, *refused),
        losses=(*result.losses, *losses, *tree.losses),
        origins=(*result.origins, *tree.origins),
    )


def grouped(reading: Reading, podsets: Sequence[PlannedPods], root: str, known: Known) -> Reading:
    """Return *reading*, whose pods have one group or none, with a group for each of *podsets* if one must be in a domain.

    Kueue admits all pods of an object together, so that they are a gang then, unless some wait for others.
    """
    counted = [(each, sum(plan.count for plan in each.plans)) for each in podsets]
    requests, refused, losses = _requests([(each.template, count) for each, count in counted], known)
    filled = [(each, count) for each, count in counted if count]
    if not any(requests) or not filled:
        return dataclasses.replace(reading, refused=(*reading.refused, *refused), losses=(*reading.losses, *losses))
    errors, warnings = [*reading.errors], [*reading.warnings]
    if reading.root is None:
        priority = pod_template.common_priority([each.template for each, _ in filled], errors, warnings)
    else:
        priority = reading.root.priority_class_name

    def policy(minimum: int) -> SchedulingConfig:
        return SchedulingConfig(SchedulingPolicy(PolicyKind.BASIC) if reading.waits else SchedulingPolicy(PolicyKind.GANG, minimum))

    leaves = [
        WorkloadItem(each.name, each.template.path, policy(count), priority_class_name=priority, minimum_path=None)
        for each, count in filled
    ]
    top = leaves[0]
    if len(leaves) > 1:
        top = WorkloadItem(root, WHOLE, policy(len(leaves)), children=tuple(leaves), priority_class_name=priority, minimum_path=None)
    tree = dataclasses.replace(
        reading,
        root=top,
        skipped="",
        pods=tuple(dataclasses.replace(plan, template=each.name) for each, _ in filled for plan in each.plans),
        errors=tuple(errors),
        warnings=tuple(warnings),
    )
    return confined(tree, [TemplatePods(each.template, (each.name,)) for each, _ in filled], known)


def alone(reading: Reading, template: PodTemplate, known: Known) -> Reading:
    """Return *reading*, each of whose pods Kueue admits alone: one pod is always in one domain."""
    _, refused, losses = _requests([(template, 1)], known)
    kept = tuple(Loss(path, "has no effect: Kueue admits each pod alone") for path in read_request(template).paths)
    return dataclasses.replace(reading, refused=(*reading.refused, *refused), losses=(*reading.losses, *losses, *kept))


def unexpressed(podsets: Iterable[PodTemplate], why: str) -> tuple[Loss, ...]:
    """Return the losses of the domains that the pods of templates must have, and that no group expresses because of *why*."""
    requests = map(read_request, podsets)
    return tuple(loss for each in requests for loss in (*each.losses, *(unexpressed_constraint(path, why) for path in each.paths)))


def unexpressed_constraint(path: FieldPath, why: str) -> Loss:
    """Return the loss of an annotation that Kueue obeys, and that no group expresses because of *why*."""
    return Loss(path, f"Kueue obeys it, and no group expresses it: {why}", required=True)


def _requests(podsets: Sequence[tuple[PodTemplate, int]], known: Known) -> tuple[list[TopologyRequest], list[FieldError], list[Loss]]:
    """Return the request of each podset, what Kueue refuses, and losses; what is refused requires nothing."""
    requests: list[TopologyRequest] = []
    refused: list[FieldError] = []
    for template, count in podsets:
        request = read_request(template)
        errors = [*kueue_rules.errors_of_annotations(template)]
        errors = errors or [*kueue_rules.errors_of_size(request, count), *kueue_flavors.errors_of_levels(request, known)]
        refused += errors
        requests.append(TopologyRequest(losses=request.losses) if errors or not count else request)
    if not refused:
        refused += kueue_rules.errors_of_groups(podsets)
        if refused:
            requests = [dataclasses.replace(each, group="") for each in requests]
    return requests, refused, [loss for each in requests for loss in each.losses]


class _Tree:
    """Tree of *reading* that gets further levels; its *root* is a leaf, or has leaves."""

    def __init__(self, reading: Reading, root: WorkloadItem) -> None:
        self._reading = reading
        self._parent = root if root.children else None
        self._items = [*root.children] if root.children else [root]
        self._leaves = {each.name: each for each in self._items}
        self._plans = {each.name: [plan for plan in reading.pods if plan.template == each.name] for each in self._items}
        self._divided: dict[str, str] = {}
        """Names of the slices, each with the name of the leaf that they replace, which is free then."""
        self.losses: list[Loss] = []
        self.origins: list[tuple[str, Block, FieldPath]] = []

    def pods_of(self, leaf: str) -> int:
        """Return the number of pods in all groups of the template *leaf* below one group of its parent."""
        return self._leaves[leaf].replicas * sum(plan.count for plan in self._plans[leaf])

    def change_pods(self, leaves: Iterable[str], change: Callable[[PodPlan], PodPlan]) -> None:
        """Change the pods in the groups of *leaves*."""
        for leaf in leaves:
            self._plans[leaf] = [*map(change, self._plans[leaf])]

    def divide(self, names: list[str], request: TopologyRequest, count: int) -> list[str]:
        """Divide the pods of the leaves *names* into slices; return the names of the items that have the pods then."""
        leaves = [self._leaves[name] for name in names]
        first, layer = leaves[0], request.layers[0]
        if len(request.layers) == len(leaves) == 1 and layer.size * first.replicas == count and not first.default.topology:
            self._constrain(first, layer.topology, layer.path)
            return names
        if written := [path for each in leaves for _, path in each.intent.paths]:
            self.losses.append(Loss(layer.path, f"the slices are dropped: {written[0]} describes other groups", required=True))
            return names
        if any(each.default.topology for each in leaves):
            self.losses.append(Loss(layer.path, "the slices are dropped: other annotations describe the groups", required=True))
            return names
        top = self._slices(first, request.layers, count)
        at = self._items.index(first)
        self._items = [each for each in self._items if each not in leaves]
        self._items.insert(at, top)
        self._divided[top.name] = first.name
        planned = [(each.replicas, self._plans.pop(each.name)) for each in leaves]
        template, sizes = _innermost(top).name, [each.size for each in request.layers]
        self._plans[template] = [_sliced(planned, sizes, template, above=self._levels_above)]
        return [top.name]

    def confine(self, names: list[str], request: TopologyRequest) -> None:
        """Require one domain for all pods of the items *names*."""
        items = [each for each in self._items if each.name in names]
        first = items[0]
        if len(items) == 1 and first.replicas == 1 and not first.default.topology:
            self._constrain(first, request.required, request.path)
        elif self._parent is not None and len(items) == len(self._items) and not self._parent.default.topology:
            self._parent = self._with_topology(self._parent, request.required, request.path)
        else:
            self._wrap(items, request)

    def reading(self) -> Reading:
        """Return the reading with the tree as it is now."""
        if self._parent is not None:
            root = self._with_new_children(self._parent)
        elif len(self._items) == 1 and self._items[0].replicas == 1:
            (root,) = self._items
        else:
            (original,) = self._leaves.values()
            config = SchedulingConfig(_policy([original], sum(each.replicas for each in self._items)))
            root = WorkloadItem(
                original.name,
                original.path,
                config,
                children=tuple(self._items),
                priority_class_name=original.priority_class_name,
                minimum_path=None,
            )
        plans = tuple(plan for listed in self._plans.values() for plan in listed)
        children = () if self._divided else self._reading.children
        return dataclasses.replace(self._reading, root=root, pods=plans, children=children)

    def _with_new_children(self, parent: WorkloadItem) -> WorkloadItem:
        """Return *parent* with the items; a gang needs all groups of these, and a minimum that counts other groups is lost."""
        groups = sum(each.replicas for each in self._items)
        if groups == sum(each.replicas for each in parent.children):
            return dataclasses.replace(parent, children=tuple(self._items))
        policy = parent.intent.config.policy
        if policy is not None and policy.minimum is not None:
            path = next((path for block, path in parent.intent.paths if block is Block.POLICY), parent.path)
            self.losses.append(Loss(path, "its minimum counts other groups than those of Kueue's podsets", required=True))
        return dataclasses.replace(parent, children=tuple(self._items), callbacks=(with_minimum(groups),))

    @property
    def _levels_above(self) -> int:
        return 0 if self._parent is None else 1

    def _constrain(self, item: WorkloadItem, topology: str, path: FieldPath) -> None:
        self._items[self._items.index(item)] = self._with_topology(item, topology, path)

    def _with_topology(self, item: WorkloadItem, topology: str, path: FieldPath) -> WorkloadItem:
        self.origins.append((item.name, Block.TOPOLOGY, path))
        return dataclasses.replace(item, default=dataclasses.replace(item.default, topology=(topology,)))

    def _wrap(self, items: Sequence[WorkloadItem], request: TopologyRequest) -> None:
        """Give *items* a common parent with the constraint, one level below their parent."""
        first, level = items[0], self._levels_above
        config = SchedulingConfig(_policy(items, sum(each.replicas for each in items)))
        name = self._divided.get(first.name) or self._free_name(first.name, "podset")
        priority = first.priority_class_name
        wrapper = WorkloadItem(name, request.path, config, children=tuple(items), priority_class_name=priority, minimum_path=None)
        at = self._items.index(first)
        self._items = [each for each in self._items if each not in items]
        self._items.insert(at, self._with_topology(wrapper, request.required, request.path))
        for leaf in map(_innermost, items):
            if leaf.name in self._leaves:
                self._plans[leaf.name] = [_one_level_lower(plan, level) for plan in self._plans[leaf.name]]

    def _slices(self, first: WorkloadItem, layers: Sequence[Layer], count: int) -> WorkloadItem:
        """Return the items of slices in slices for *count* pods, in place of the leaf *first*."""
        item: WorkloadItem | None = None
        sizes = [count, *(each.size for each in layers)]
        for index, layer in reversed([*enumerate(layers)]):
            below = layer.size if item is None else item.replicas
            new = WorkloadItem(
                self._free_name(first.name, _SLICE_NAMES[index]),
                layer.path,
                SchedulingConfig(_policy([first], below)),
                children=() if item is None else (item,),
                replicas=sizes[index] // layer.size,
                priority_class_name=first.priority_class_name,
                minimum_path=None,
            )
            item = self._with_topology(new, layer.topology, layer.path)
        return first if item is None else item

    def _free_name(self, name: str, suffix: str) -> str:
        """Return a name of a template that no other one has."""
        taken = {*self._leaves, *(each.name for each in self._items), *([self._parent.name] if self._parent else [])}
        made = f"{name[: _LONGEST - len(suffix) - 1]}-{suffix}"
        while made in taken:
            made = f"{made[: _LONGEST - 1]}x"
        return made


def _policy(items: Iterable[WorkloadItem], minimum: int) -> SchedulingPolicy:
    """Return the policy of a new group in place of *items*, or above them: a gang of *minimum* members if they are gangs."""
    policies = [each.intent.config.policy or each.default.policy for each in items]
    if all(each is not None and each.kind is PolicyKind.GANG for each in policies):
        return SchedulingPolicy(PolicyKind.GANG, max(minimum, 1))
    return SchedulingPolicy(PolicyKind.BASIC)


def _innermost(item: WorkloadItem) -> WorkloadItem:
    while item.children:
        item = item.children[0]
    return item


def _sliced(planned: Sequence[tuple[int, Sequence[PodPlan]]], sizes: Sequence[int], template: str, *, above: int) -> PodPlan:
    """Return the pods of a podset in slices of *sizes*, those of one rank after the other.

    *planned* has the number of groups and the pods in each of them, by the former leaves; *above* levels are above the podset.
    """

    def make(positions: Positions, number: int) -> dict[str, Json]:
        inner = positions[len(positions) - len(sizes) :]
        rank = number + sum(index * size for index, size in zip(inner, sizes, strict=True))
        for groups, plans in planned:
            size = sum(each.count for each in plans)
            if rank >= groups * size:
                rank -= groups * size
                continue
            group, rank = divmod(rank, size)
            for each in plans:
                if rank < each.count:
                    return each.make((*positions[:above], group), rank)
                rank -= each.count
        raise IndexError(number)

    return PodPlan(template, sizes[-1], make, part=planned[0][1][0].part)


def _one_level_lower(plan: PodPlan, level: int) -> PodPlan:
    """Return *plan* for groups that have a further group at *level* above them."""
    return dataclasses.replace(plan, make=lambda positions, number: plan.make((*positions[:level], *positions[level + 1 :]), number))
