"""What occurs in a tree of templates, found in one look at each template.

Most rules speak of something that most objects do not have.  Such a rule names the traits without which it has nothing to
say (``Rule.where``), and is asked only where one of them occurs: six templates then cost one walk, not twenty.  A trait is
told of all templates, judged or not: a rule may be asked in vain, but is never passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from validators import content
from validators.model.workload import CompositePodGroupTemplate, CompositeShape, LeafShape, Workload

# Plain numbers: each operation on an enum.IntFlag makes a member, which costs as much as a rule.
ALWAYS = 1
"""Every object has this one."""
BASIC_LEAF = 1 << 1
"""A leaf with the basic policy."""
ODD_POLICY = 1 << 2
"""A policy that is neither basic nor gang, or both."""
LOW_GANG = 1 << 3
"""A gang with a minimum below 1."""
WIDE_GANG = 1 << 4
"""A composite template whose gang asks for more groups than it has children."""
MODE_ALL = 1 << 5
"""A template of disruption mode All."""
MODE_NOT_ALL = 1 << 6
"""A template of another mode, or of none."""
MIXED_MODES = 1 << 7
"""Both of them in one tree."""
ODD_MODE = 1 << 8
"""A mode that is neither single nor all, or both."""
PRIORITY = 1 << 9
"""A priority that is written out."""
CLASS = 1 << 10
"""A priority class."""
SEVERAL_CLASSES = 1 << 11
"""Different priority classes; one and none differ, too."""
PREEMPTION = 1 << 12
"""A preemption policy."""
SEVERAL_CONSTRAINTS = 1 << 13
"""A template with more than one topology constraint."""
CLAIMS = 1 << 14
"""A resource claim."""
CHILDLESS = 1 << 15
"""A composite template without children."""
NESTED = 1 << 16
"""A composite template below another."""
CROWDED = 1 << 17
"""A list of templates that is too long."""
REPEATED_NAME = 1 << 18
"""Two templates of one name."""
ODD_LISTS = 1 << 19
"""A Workload with neither leaves nor composites on its first level, or with both."""
UNNAMED = 1 << 20
"""An empty name, namespace or topology key, where one is demanded."""
ILL_NAMED = 1 << 21
"""A name that is not of its form."""
ILL_KEYED = 1 << 22
"""A topology key that is no label key."""

ANY = (1 << 23) - 1
"""What is assumed of an object that has no templates."""


def of_leaves(leaves: Iterable[LeafShape]) -> int:
    """The traits that leaves alone can have."""
    found = ALWAYS
    for leaf in leaves:
        policy = leaf.scheduling_policy
        basic, gang = policy.basic, policy.gang
        if (basic is None) is (gang is None):
            found |= ODD_POLICY
        if basic is not None:
            found |= BASIC_LEAF
        if gang is not None and gang.min_count < 1:
            found |= LOW_GANG
        if leaf.resource_claims:
            found |= CLAIMS
    return found


def of_composites(composites: Iterable[CompositeShape]) -> int:
    """The traits that composites alone can have."""
    found = ALWAYS
    for each in composites:
        policy = each.scheduling_policy
        gang = policy.gang
        minimum = 1 if gang is None else gang.min_group_count
        if (policy.basic is None) is (gang is None):
            found |= ODD_POLICY
        if minimum < 1:
            found |= LOW_GANG
        if isinstance(each, CompositePodGroupTemplate):
            below = each.composite_pod_group_templates
            children = len(each.pod_group_templates or ())
            if below:
                found |= NESTED
                children += len(below)
            if not children:
                found |= CHILDLESS
            if minimum > children:
                found |= WIDE_GANG
    return found


def of_shapes(shapes: Iterable[LeafShape | CompositeShape]) -> tuple[int, set[str], set[str]]:
    """The traits that both can have, and the different priority classes and topology keys that they name."""
    found = ALWAYS
    classes: set[str] = set()
    keys: set[str] = set()
    last_class = last_key = None
    for shape in shapes:
        mode, constraints, named = shape.disruption_mode, shape.scheduling_constraints, shape.priority_class_name
        single, whole = (None, None) if mode is None else (mode.single, mode.all)
        found |= MODE_NOT_ALL if whole is None else MODE_ALL
        if mode is not None and (single is None) is (whole is None):
            found |= ODD_MODE
        # Neighbours mostly name the same.
        if named != last_class:
            classes.add(named)
            last_class = named
        if shape.priority is not None:
            found |= PRIORITY
        if shape.preemption_policy is not None:
            found |= PREEMPTION
        if constraints is not None and (topology := constraints.topology):
            if topology[0].key != last_key:
                last_key = topology[0].key
                keys.add(last_key)
            if len(topology) > 1:
                found |= SEVERAL_CONSTRAINTS
                keys.update([each.key for each in topology])
    return found | _of_all(found, classes, keys), classes, keys


def _of_all(found: int, classes: set[str], keys: set[str]) -> int:
    """What shows only when all shapes have been seen."""
    if found & MODE_ALL and found & MODE_NOT_ALL:
        found |= MIXED_MODES
    if len(classes) > 1:
        found |= SEVERAL_CLASSES
    classes.discard("")
    if classes:
        found |= CLASS
    if not content.all_label_keys(keys):
        found |= ILL_KEYED
    return found


def of_workload(new: Workload, names: Sequence[str], classes: Iterable[str], keys: Iterable[str]) -> int:
    """The traits of a Workload as a whole, with the names, classes and keys of its templates."""
    found, spec, metadata = ALWAYS, new.spec, new.metadata
    if bool(spec.pod_group_templates) is bool(spec.composite_pod_group_templates):
        found |= ODD_LISTS
    if len({*names}) < len(names):
        found |= REPEATED_NAME
    labels, subdomains = [metadata.namespace, *names], [metadata.name, *classes]
    if "" in labels or "" in keys or not metadata.name:
        found |= UNNAMED
    if (reference := spec.controller_ref) is not None:
        if reference.api_group:
            subdomains.append(reference.api_group)
        if not reference.kind or not reference.name:
            found |= UNNAMED
        if content.path_segment(reference.kind) or content.path_segment(reference.name):
            found |= ILL_NAMED
    if metadata.generate_name or not content.all_labels(labels) or not content.all_subdomains(subdomains):
        found |= ILL_NAMED
    if (metadata.labels or metadata.annotations) and not content.all_label_keys([*(metadata.labels or ()), *(metadata.annotations or ())]):
        found |= ILL_NAMED
    return found
