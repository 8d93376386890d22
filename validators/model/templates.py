"""The template tree of a Workload, or the one shape of a group, laid flat: the walk that all rules share.

Two views are kept apart because the API server keeps them apart (Kubernetes 1.37.1, declarative and hand-written
validation): *every* template, and those that are *judged*, that is, whose own fields are looked at.  A template is not
judged below a list that is itself refused (too long, items added or removed), nor where it is the same as before.
Paths are made only when asked for: a clean object costs no path.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import cast

from validators.field import FieldPath
from validators.model import traits
from validators.model.group import CompositePodGroup, PodGroup
from validators.model.meta import deep_equal
from validators.model.workload import (
    MAX_TEMPLATES,
    CompositePodGroupTemplate,
    CompositeShape,
    LeafShape,
    PodGroupTemplate,
    Template,
    TopologyConstraint,
    Workload,
    WorkloadSpec,
)
from validators.once import Once

LEAVES, COMPOSITES = "podGroupTemplates", "compositePodGroupTemplates"
SPEC = FieldPath("spec")

Holder = WorkloadSpec | CompositePodGroupTemplate


@dataclasses.dataclass(frozen=True, slots=True)
class TemplateList:
    """One list of templates that is judged; ``old`` is what it was before an update."""

    path: FieldPath
    new: Sequence[Template]
    old: Sequence[Template]
    updating: bool
    closed: bool = False
    """Whether it may not change at all, its feature gate being off."""

    @property
    def added(self) -> list[int]:
        """Places of items that the old list does not have, by name."""
        names = {item.name for item in self.old}
        return [place for place, item in enumerate(self.new) if item.name not in names]

    @property
    def removed(self) -> list[str]:
        """Names that the new list no longer has."""
        names = {item.name for item in self.new}
        return [item.name for item in self.old if item.name not in names]

    @property
    def refused(self) -> bool:
        """Whether the list is refused as a whole, so that nothing in it is judged."""
        return self.closed or len(self.new) > MAX_TEMPLATES or (self.updating and bool(self.added or self.removed))


class Templates:
    """One walk over a tree of templates (or over the single shape of a group)."""

    def __init__(
        self,
        new: Workload | PodGroup | CompositePodGroup,
        old: Workload | PodGroup | CompositePodGroup | None,
        *,
        composites_closed: bool = False,
    ) -> None:
        self._composites_closed = composites_closed
        self.leaves: list[LeafShape] = []
        self.composites: list[CompositeShape] = []
        self.judged_leaves: list[LeafShape] = self.leaves
        self.judged_composites: list[CompositeShape] = self.composites
        self.crowded = False
        """Whether some list is too long."""
        self._lists: list[TemplateList] | None = None
        self._spec = new.spec
        self._old: dict[int, LeafShape | CompositeShape] = {}
        if isinstance(new, Workload):
            self._flatten(new.spec)
            if old is not None or self.crowded:
                self._reach(new.spec, old.spec if isinstance(old, Workload) else None)
        else:
            self._single(new, old)
        self.traits, self.priority_classes, self.topology_keys = self._traits(new)

    @property
    def lists(self) -> list[TemplateList]:
        """The lists of templates that are judged; on an update, those that are not as they were."""
        if self._lists is None:
            # On creation only the lists are wanting: what is judged in them is known, and is not to change its order.
            judged = self.judged_leaves, self.judged_composites
            self._reach(self._spec, None)
            self.judged_leaves, self.judged_composites = judged
        return self._lists or []

    @Once
    def judged(self) -> list[LeafShape | CompositeShape]:
        """The templates whose own fields are to be judged; leaves first."""
        return [*self.judged_leaves, *self.judged_composites]

    @Once
    def with_mode(self) -> list[LeafShape | CompositeShape]:
        """Those of them that name a disruption mode."""
        return [shape for shape in self.judged if shape.disruption_mode is not None]

    @Once
    def names(self) -> list[str]:
        """The names of all templates, leaves first; a group's shape has none."""
        if not isinstance(self._spec, WorkloadSpec):
            return []
        return [template.name for template in cast("list[Template]", self.leaves + self.composites)]

    @Once
    def judged_names(self) -> list[str]:
        """The names of the templates that are judged, in the order of ``judged``."""
        if not isinstance(self._spec, WorkloadSpec):
            return []
        if self.judged_leaves is self.leaves:
            return self.names
        return [template.name for template in cast("list[Template]", self.judged)]

    @Once
    def constrained(self) -> list[tuple[LeafShape | CompositeShape, tuple[TopologyConstraint, ...]]]:
        """The judged templates that have topology constraints, with these."""
        return [
            (shape, constraints.topology)
            for shape in self.judged
            if (constraints := shape.scheduling_constraints) is not None and constraints.topology
        ]

    def old(self, shape: LeafShape | CompositeShape) -> LeafShape | CompositeShape | None:
        """What a judged template was before the update; None on creation."""
        return self._old.get(id(shape))

    def path(self, shape: LeafShape | CompositeShape) -> FieldPath:
        """Where *shape* stands (the very object, not one that is equal)."""
        if shape is self._spec:
            return SPEC
        # The walk goes on from where the last path was found: the first is no dearer for it, and all cost one walk.
        while (found := self._paths.get(id(shape))) is None:
            path, template = next(self._walking)
            self._paths.setdefault(id(template), path)
        return found

    @Once
    def _paths(self) -> dict[int, FieldPath]:
        """The paths found so far, by the identity of the template."""
        return {}

    @Once
    def _walking(self) -> Iterator[tuple[FieldPath, Template]]:
        """The one walk that ``path`` takes, as far as it has come."""
        return self.walk()

    def walk(self) -> Iterator[tuple[FieldPath, Template]]:
        """Every template with its path, a parent before its children, leaves before composites, else as written."""
        return _walk(self._spec)

    def _flatten(self, spec: WorkloadSpec) -> None:
        stack: list[Holder] = [spec]
        while stack:
            holder = stack.pop()
            leaves, composites = holder.pod_group_templates, holder.composite_pod_group_templates
            if leaves:
                self.leaves.extend(leaves)
                self.crowded = self.crowded or len(leaves) > MAX_TEMPLATES
            if composites:
                self.composites.extend(composites)
                stack.extend(reversed(composites))
                self.crowded = self.crowded or len(composites) > MAX_TEMPLATES

    def _traits(self, new: Workload | PodGroup | CompositePodGroup) -> tuple[int, set[str], set[str]]:
        """What occurs in the tree (see validators.model.traits), and all its priority classes and topology keys."""
        found, classes, keys = traits.of_shapes([*self.leaves, *self.composites])
        found |= traits.of_leaves(self.leaves) | traits.of_composites(self.composites)
        if self.crowded:
            found |= traits.CROWDED
        # Of a group's own names nothing is found out here.
        found |= traits.of_workload(new, self.names, classes, keys) if isinstance(new, Workload) else traits.UNNAMED | traits.ILL_NAMED
        return found, classes, keys

    def _single(self, new: PodGroup | CompositePodGroup, old: Workload | PodGroup | CompositePodGroup | None) -> None:
        if isinstance(new, PodGroup):
            self.leaves.append(new.spec)
        else:
            self.composites.append(new.spec)
        if old is None or isinstance(old, Workload):
            return
        if deep_equal(new.spec, old.spec):
            self.judged_leaves, self.judged_composites = [], []
        self._old[id(new.spec)] = old.spec

    def _reach(self, spec: object, old_spec: WorkloadSpec | None) -> None:
        self.judged_leaves, self.judged_composites, self._lists = [], [], []
        if not isinstance(spec, WorkloadSpec):
            return
        updating = old_spec is not None
        stack: list[tuple[FieldPath, Holder, Holder | None]] = [(SPEC, spec, old_spec)]
        while stack:
            path, holder, old = stack.pop()
            for template_list in _lists_of(path, holder, old, updating=updating, closed=self._composites_closed and path is SPEC):
                if not (updating and deep_equal(tuple(template_list.new), tuple(template_list.old))):
                    self._lists.append(template_list)
                    if not template_list.refused:
                        stack.extend(self._judge(template_list))

    def _judge(self, template_list: TemplateList) -> Iterator[tuple[FieldPath, Holder, Holder | None]]:
        before: dict[str, Template] = {}
        for item in template_list.old:
            before.setdefault(item.name, item)
        for place, item in enumerate(template_list.new):
            old = before.get(item.name)
            if old is not None and deep_equal(item, old):
                continue
            if old is not None:
                self._old[id(item)] = old
            if isinstance(item, PodGroupTemplate):
                self.judged_leaves.append(item)
            else:
                self.judged_composites.append(item)
                yield template_list.path / place, item, old if isinstance(old, CompositePodGroupTemplate) else None


class TemplatesByName:
    """The templates of a Workload by name, each with the one directly above it; walked no further than has been asked."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        """Held, for who looks this up by the identity of the Workload."""
        self._walking = _walk_names(workload.spec)
        self._found: dict[str, tuple[Template, Template | None]] = {}

    def find(self, name: str) -> tuple[Template | None, Template | None]:
        """The template of that name, and the one above it.  Of several the first, a list before what is below it."""
        while name not in self._found:
            found = next(self._walking, None)
            if found is None:
                return None, None
            self._found.setdefault(found[0].name, found)
        return self._found[name]


# Functions and not methods: a walk that is kept by what walks must not hold it, or only the collector would free the two.


def _walk(spec: object) -> Iterator[tuple[FieldPath, Template]]:
    stack: list[tuple[FieldPath, Template | None, Holder | None]] = [(SPEC, None, spec if isinstance(spec, WorkloadSpec) else None)]
    while stack:
        path, template, holder = stack.pop()
        if template is not None:
            yield path, template
        if holder is None:
            continue
        for place, leaf in enumerate(holder.pod_group_templates or ()):
            yield path.join((LEAVES, place)), leaf
        children = holder.composite_pod_group_templates or ()
        stack.extend((path.join((COMPOSITES, place)), children[place], children[place]) for place in reversed(range(len(children))))


def _walk_names(spec: WorkloadSpec) -> Iterator[tuple[Template, Template | None]]:
    stack: list[tuple[Holder, Template | None]] = [(spec, None)]
    while stack:
        holder, parent = stack.pop()
        composites = holder.composite_pod_group_templates or ()
        children: list[Template] = [*(holder.pod_group_templates or ()), *composites]
        for template in children:
            yield template, parent
        stack.extend((each, each) for each in reversed(composites))


def _lists_of(path: FieldPath, holder: Holder, old: Holder | None, *, updating: bool, closed: bool) -> Iterator[TemplateList]:
    yield TemplateList(path / LEAVES, holder.pod_group_templates or (), (old and old.pod_group_templates) or (), updating)
    composites, before = holder.composite_pod_group_templates or (), (old and old.composite_pod_group_templates) or ()
    yield TemplateList(path / COMPOSITES, composites, before, updating, closed)
