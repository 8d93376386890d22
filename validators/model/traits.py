"""Traits of a tree of templates, computed in one pass over the templates.

Most rules are about something that most objects do not have.  Such a rule names its traits (``Rule.relevant_traits``)
and runs only if one of them occurs: all rules together then cost one walk over the templates, not twenty.  Traits are
computed from all templates, validated or not: a rule may run without result, but is never skipped by mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubeapi import content
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.priority import SYSTEM_CLASSES
from kubeapi.workloads import CompositePodGroupTemplate, CompositeShape, LeafShape, Workload
from validators.model.views import PodSpec

# Plain integers: each operation on an enum.IntFlag creates a member, which costs as much as a rule.
ALWAYS = 1
"""A trait of every object."""
ALL_WITHOUT_GANG = 1 << 1
"""A template with disruption mode All, and another policy than gang."""
INVALID_POLICY = 1 << 2
"""A policy with neither basic nor gang, or with both."""
GANG_BELOW_ONE = 1 << 3
"""A gang with a minimum below 1."""
GANG_ABOVE_CHILDREN = 1 << 4
"""A composite template whose gang needs more groups than the template has children."""
MODE_ALL = 1 << 5
"""A template with disruption mode All."""
MODE_NOT_ALL = 1 << 6
"""A template with another mode, or without one."""
MIXED_MODES = 1 << 7
"""Templates with mode All and templates without it."""
INVALID_MODE = 1 << 8
"""A mode with neither single nor all, or with both."""
PRIORITY = 1 << 9
"""A priority given as a number."""
PRIORITY_CLASS = 1 << 10
"""A priority class."""
SEVERAL_PRIORITY_CLASSES = 1 << 11
"""Different priority classes; a class and no class differ too."""
PREEMPTION_POLICY = 1 << 12
"""A preemption policy."""
SEVERAL_CONSTRAINTS = 1 << 13
"""A template with more than one topology constraint."""
RESOURCE_CLAIMS = 1 << 14
"""A resource claim."""
CHILDLESS = 1 << 15
"""A composite template without children."""
NESTED = 1 << 16
"""A composite template below another."""
LONG_LIST = 1 << 17
"""A list of templates that is too long."""
REPEATED_NAME = 1 << 18
"""Two templates with one name."""
INVALID_LISTS = 1 << 19
"""A Workload with neither leaf nor composite templates on its first level, or with both."""
EMPTY_NAME = 1 << 20
"""An empty name, namespace or topology key where it is required."""
INVALID_NAME = 1 << 21
"""A malformed name."""
INVALID_KEY = 1 << 22
"""A topology key that is not a label key."""
IN_TREE = 1 << 23
"""A CompositePodGroup, or a group with a parent."""
TOPOLOGY = 1 << 24
"""A topology constraint."""
STATUS = 1 << 25
"""A group with conditions, or with names of claims that were created for it."""

GANG_ABOVE_BASIC = 1 << 26
"""A composite template with a gang policy above a template without one."""
SYSTEM_CLASS = 1 << 27
"""A built-in priority class."""

ANY = (1 << 28) - 1
"""All traits, for objects without templates other than pods: no rule is skipped for them."""


def of_leaves(leaves: Iterable[LeafShape]) -> int:
    """Return the traits that only leaves can have."""
    traits = ALWAYS
    for leaf in leaves:
        policy = leaf.scheduling_policy
        basic, gang = policy.basic, policy.gang
        if (basic is None) is (gang is None):
            traits |= INVALID_POLICY
        if gang is not None and gang.min_count < 1:
            traits |= GANG_BELOW_ONE
        if leaf.resource_claims:
            traits |= RESOURCE_CLAIMS
    return traits


def of_composites(composites: Iterable[CompositeShape]) -> int:
    """Return the traits that only composites can have."""
    traits = ALWAYS
    for each in composites:
        policy = each.scheduling_policy
        gang = policy.gang
        minimum = 1 if gang is None else gang.min_group_count
        if (policy.basic is None) is (gang is None):
            traits |= INVALID_POLICY
        if minimum < 1:
            traits |= GANG_BELOW_ONE
        if isinstance(each, CompositePodGroupTemplate):
            child_composites = each.composite_pod_group_templates
            children = len(each.pod_group_templates or ())
            if child_composites:
                traits |= NESTED
                children += len(child_composites)
            if not children:
                traits |= CHILDLESS
            if minimum > children:
                traits |= GANG_ABOVE_CHILDREN
            if gang is not None and any(child.scheduling_policy.gang is None for child in each.children):
                traits |= GANG_ABOVE_BASIC
    return traits


def of_shapes(shapes: Iterable[LeafShape | CompositeShape]) -> tuple[int, set[str], set[str]]:
    """Return the traits that leaves and composites can have, their priority classes and their topology keys."""
    traits = ALWAYS
    classes: set[str] = set()
    keys: set[str] = set()
    last_class = last_key = None
    for shape in shapes:
        mode, constraints, class_name = shape.disruption_mode, shape.scheduling_constraints, shape.priority_class_name
        single_mode, all_mode = (None, None) if mode is None else (mode.single, mode.all)
        if all_mode is None:
            traits |= MODE_NOT_ALL
        else:
            traits |= MODE_ALL if shape.scheduling_policy.gang is not None else MODE_ALL | ALL_WITHOUT_GANG
        if mode is not None and (single_mode is None) is (all_mode is None):
            traits |= INVALID_MODE
        # Templates mostly have the class of the one before.
        if class_name != last_class:
            classes.add(class_name)
            last_class = class_name
        if shape.priority is not None:
            traits |= PRIORITY
        if shape.preemption_policy is not None:
            traits |= PREEMPTION_POLICY
        if constraints is not None and (topology := constraints.topology):
            if topology[0].key != last_key:
                last_key = topology[0].key
                keys.add(last_key)
            if len(topology) > 1:
                traits |= SEVERAL_CONSTRAINTS
                keys.update([each.key for each in topology])
    return _of_all(traits, classes, keys), classes, keys


def _of_all(traits: int, classes: set[str], keys: set[str]) -> int:
    """Return *traits* and the traits that depend on all shapes together."""
    if traits & MODE_ALL and traits & MODE_NOT_ALL:
        traits |= MIXED_MODES
    if len(classes) > 1:
        traits |= SEVERAL_PRIORITY_CLASSES
    classes.discard("")
    if classes:
        traits |= PRIORITY_CLASS
        if not classes.isdisjoint(SYSTEM_CLASSES):
            traits |= SYSTEM_CLASS
    if keys:
        traits |= TOPOLOGY
    if not content.all_label_keys(keys):
        traits |= INVALID_KEY
    return traits


def of_group(new: PodGroup | CompositePodGroup) -> int:
    """Return the traits of a group as a whole.  Its name is not looked at: it may be invalid."""
    traits = EMPTY_NAME | INVALID_NAME
    if isinstance(new, CompositePodGroup) or new.spec.parent_composite_pod_group_name is not None:
        traits |= IN_TREE
    if new.status.conditions or (isinstance(new, PodGroup) and new.status.resource_claim_statuses):
        traits |= STATUS
    return traits


def of_pod(spec: PodSpec) -> int:
    """Return all traits but those of claims and priorities that the pod does not have."""
    traits = ANY
    if not spec.resource_claims and not any(
        each.resources is not None and each.resources.claims for each in (*(spec.init_containers or ()), *(spec.containers or ()))
    ):
        traits &= ~RESOURCE_CLAIMS
    if spec.priority is None:
        traits &= ~PRIORITY
    if not spec.priority_class_name:
        traits &= ~PRIORITY_CLASS
    if spec.preemption_policy is None:
        traits &= ~PREEMPTION_POLICY
    return traits


def of_workload(new: Workload, names: Sequence[str], classes: Iterable[str], keys: Iterable[str]) -> int:
    """Return the traits of a Workload as a whole, from the names, classes and keys of its templates."""
    traits, spec, metadata = ALWAYS, new.spec, new.metadata
    if bool(spec.pod_group_templates) is bool(spec.composite_pod_group_templates):
        traits |= INVALID_LISTS
    if len({*names}) < len(names):
        traits |= REPEATED_NAME
    labels, subdomains = [metadata.namespace, *names], [metadata.name, *classes]
    if "" in labels or "" in keys or not metadata.name:
        traits |= EMPTY_NAME
    if (reference := spec.controller_ref) is not None:
        if reference.api_group:
            subdomains.append(reference.api_group)
        if not reference.kind or not reference.name:
            traits |= EMPTY_NAME
        if content.path_segment(reference.kind) or content.path_segment(reference.name):
            traits |= INVALID_NAME
    if metadata.generate_name or not content.all_labels(labels) or not content.all_subdomains(subdomains):
        traits |= INVALID_NAME
    if (metadata.labels or metadata.annotations) and not content.all_label_keys([*(metadata.labels or ()), *(metadata.annotations or ())]):
        traits |= INVALID_NAME
    return traits
