"""Flat lists of the templates of a Workload, or of the single shape of a group, shared by all rules.

There are two sets of templates, as in the API server (Kubernetes 1.37.1, declarative and hand-written validation): *all*
templates, and *validated* templates, whose own fields are validated.  Two sorts of templates are not validated: unchanged
ones, and those below a list that is refused as a whole (too long, items added or removed).  Paths are computed on demand: a
valid object needs none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from kubeapi.base_structs import Record
from kubeapi.field_path import FieldPath
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.meta import deep_equal
from kubeapi.workloads import (
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
from validators.cached_attribute import Once
from validators.model import traits

LEAVES, COMPOSITES = "podGroupTemplates", "compositePodGroupTemplates"
SPEC = FieldPath("spec")

Holder = WorkloadSpec | CompositePodGroupTemplate


class TemplateList(Record, frozen=True):
    """List of templates that is validated; ``old`` is the list before an update."""

    path: FieldPath
    new: Sequence[Template]
    old: Sequence[Template]
    updating: bool
    immutable: bool = False
    """True if the list is immutable because its feature gate is off."""

    @property
    def added(self) -> list[int]:
        """The indices of items whose names the old list does not have."""
        names = {item.name for item in self.old}
        return [index for index, item in enumerate(self.new) if item.name not in names]

    @property
    def removed(self) -> list[str]:
        """The names that the new list no longer has."""
        names = {item.name for item in self.new}
        return [item.name for item in self.old if item.name not in names]

    @property
    def refused(self) -> bool:
        """True if the list is refused as a whole, so that its items are not validated."""
        return self.immutable or len(self.new) > MAX_TEMPLATES or (self.updating and bool(self.added or self.removed))


class Templates:
    """Templates of a Workload, or the single shape of a group."""

    def __init__(
        self,
        new: Workload | PodGroup | CompositePodGroup,
        old: Workload | PodGroup | CompositePodGroup | None,
        *,
        composites_immutable: bool = False,
    ) -> None:
        self._composites_immutable = composites_immutable
        self.leaves: list[LeafShape] = []
        self.composites: list[CompositeShape] = []
        self.validated_leaves: list[LeafShape] = self.leaves
        self.validated_composites: list[CompositeShape] = self.composites
        self.has_long_list = False
        """True if a list is too long."""
        self._lists: list[TemplateList] | None = None
        self._spec = new.spec
        self._old: dict[int, LeafShape | CompositeShape] = {}
        if isinstance(new, Workload):
            self._flatten(new.spec)
            if old is not None or self.has_long_list:
                self._collect_validated(new.spec, old.spec if isinstance(old, Workload) else None)
        else:
            self._single(new, old)
        self.traits, self.priority_classes, self.topology_keys = self._traits(new)

    @property
    def lists(self) -> list[TemplateList]:
        """The lists of templates that are validated; on an update, only those that changed."""
        if self._lists is None:
            # On creation only the lists are missing.  The validated templates are known and keep their order.
            validated = self.validated_leaves, self.validated_composites
            self._collect_validated(self._spec, None)
            self.validated_leaves, self.validated_composites = validated
        return self._lists or []

    @Once
    def validated(self) -> list[LeafShape | CompositeShape]:
        """The templates whose own fields are validated; leaves first."""
        return [*self.validated_leaves, *self.validated_composites]

    @Once
    def with_mode(self) -> list[LeafShape | CompositeShape]:
        """The validated templates that have a disruption mode."""
        return [shape for shape in self.validated if shape.disruption_mode is not None]

    @Once
    def names(self) -> list[str]:
        """The names of all templates, leaves first; empty for a group."""
        if not isinstance(self._spec, WorkloadSpec):
            return []
        return [template.name for template in cast("list[Template]", self.leaves + self.composites)]

    @Once
    def validated_names(self) -> list[str]:
        """The names of the validated templates, in the order of ``validated``."""
        if not isinstance(self._spec, WorkloadSpec):
            return []
        if self.validated_leaves is self.leaves:
            return self.names
        return [template.name for template in cast("list[Template]", self.validated)]

    @Once
    def constrained(self) -> list[tuple[LeafShape | CompositeShape, tuple[TopologyConstraint, ...]]]:
        """The validated templates that have topology constraints, with their constraints."""
        return [
            (shape, constraints.topology)
            for shape in self.validated
            if (constraints := shape.scheduling_constraints) is not None and constraints.topology
        ]

    def old(self, shape: LeafShape | CompositeShape) -> LeafShape | CompositeShape | None:
        """Return a validated template as it was before the update; None on creation."""
        return self._old.get(id(shape))

    def path(self, shape: LeafShape | CompositeShape) -> FieldPath:
        """Return the path of *shape*, by the identity of the object."""
        if shape is self._spec:
            return SPEC
        # The walk continues behind the last path: all paths together cost one walk.
        while (known := self._paths.get(id(shape))) is None:
            path, template = next(self._remaining_walk)
            self._paths.setdefault(id(template), path)
        return known

    @Once
    def _paths(self) -> dict[int, FieldPath]:
        """The paths that are known so far, by the identity of the template."""
        return {}

    @Once
    def _remaining_walk(self) -> Iterator[tuple[FieldPath, Template]]:
        """The rest of the walk that ``path`` uses."""
        return self.walk()

    def walk(self) -> Iterator[tuple[FieldPath, Template]]:
        """Yield every template with its path: parents before children, leaves before composites, otherwise in the order of the lists."""
        return _walk(self._spec)

    def _flatten(self, spec: WorkloadSpec) -> None:
        stack: list[Holder] = [spec]
        while stack:
            holder = stack.pop()
            leaves, composites = holder.pod_group_templates, holder.composite_pod_group_templates
            if leaves:
                self.leaves.extend(leaves)
                self.has_long_list = self.has_long_list or len(leaves) > MAX_TEMPLATES
            if composites:
                self.composites.extend(composites)
                stack.extend(reversed(composites))
                self.has_long_list = self.has_long_list or len(composites) > MAX_TEMPLATES

    def _traits(self, new: Workload | PodGroup | CompositePodGroup) -> tuple[int, set[str], set[str]]:
        """Return the traits of the tree (see validators.model.traits), and all its priority classes and topology keys."""
        bits, classes, keys = traits.of_shapes([*self.leaves, *self.composites])
        bits |= traits.of_leaves(self.leaves) | traits.of_composites(self.composites)
        if self.has_long_list:
            bits |= traits.LONG_LIST
        bits |= traits.of_workload(new, self.names, classes, keys) if isinstance(new, Workload) else traits.of_group(new)
        return bits, classes, keys

    def _single(self, new: PodGroup | CompositePodGroup, old: Workload | PodGroup | CompositePodGroup | None) -> None:
        if isinstance(new, PodGroup):
            self.leaves.append(new.spec)
        else:
            self.composites.append(new.spec)
        if old is None or isinstance(old, Workload):
            return
        if deep_equal(new.spec, old.spec):
            self.validated_leaves, self.validated_composites = [], []
        self._old[id(new.spec)] = old.spec

    def _collect_validated(self, spec: object, old_spec: WorkloadSpec | None) -> None:
        self.validated_leaves, self.validated_composites, self._lists = [], [], []
        if not isinstance(spec, WorkloadSpec):
            return
        updating = old_spec is not None
        stack: list[tuple[FieldPath, Holder, Holder | None]] = [(SPEC, spec, old_spec)]
        while stack:
            path, holder, old = stack.pop()
            for template_list in _lists_of(path, holder, old, updating=updating, immutable=self._composites_immutable and path is SPEC):
                if not (updating and deep_equal(tuple(template_list.new), tuple(template_list.old))):
                    self._lists.append(template_list)
                    if not template_list.refused:
                        stack.extend(self._changed_items(template_list))

    def _changed_items(self, template_list: TemplateList) -> Iterator[tuple[FieldPath, Holder, Holder | None]]:
        before: dict[str, Template] = {}
        for item in template_list.old:
            before.setdefault(item.name, item)
        for index, item in enumerate(template_list.new):
            old = before.get(item.name)
            if old is not None and deep_equal(item, old):
                continue
            if old is not None:
                self._old[id(item)] = old
            if isinstance(item, PodGroupTemplate):
                self.validated_leaves.append(item)
            else:
                self.validated_composites.append(item)
                yield template_list.path / index, item, old if isinstance(old, CompositePodGroupTemplate) else None


def all_templates(workload: Workload) -> list[Template]:
    """Return all templates of a Workload, a list before the lists below its items."""
    return [template for template, _ in _walk_names(workload.spec)]


class TemplatesByName:
    """Templates of a Workload by name, each with its parent template.  The walk goes only as far as needed."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        """This reference keeps the Workload alive: caches use its ``id()`` as their key, which must not be reused."""
        self._remaining_walk = _walk_names(workload.spec)
        self._by_name: dict[str, tuple[Template, Template | None]] = {}

    def find(self, name: str) -> tuple[Template | None, Template | None]:
        """Return the first template of that name, and its parent template.  A list comes before the lists below its items."""
        while name not in self._by_name:
            pair = next(self._remaining_walk, None)
            if pair is None:
                return None, None
            self._by_name.setdefault(pair[0].name, pair)
        return self._by_name[name]


# Functions, not methods: an object that holds its own walk would be a reference cycle, which only the garbage collector frees.


def _walk(spec: object) -> Iterator[tuple[FieldPath, Template]]:
    stack: list[tuple[FieldPath, Template | None, Holder | None]] = [(SPEC, None, spec if isinstance(spec, WorkloadSpec) else None)]
    while stack:
        path, template, holder = stack.pop()
        if template is not None:
            yield path, template
        if holder is None:
            continue
        for index, leaf in enumerate(holder.pod_group_templates or ()):
            yield path.join((LEAVES, index)), leaf
        children = holder.composite_pod_group_templates or ()
        stack.extend((path.join((COMPOSITES, index)), children[index], children[index]) for index in reversed(range(len(children))))


def _walk_names(spec: WorkloadSpec) -> Iterator[tuple[Template, Template | None]]:
    stack: list[tuple[Holder, Template | None]] = [(spec, None)]
    while stack:
        holder, parent = stack.pop()
        composites = holder.composite_pod_group_templates or ()
        children: list[Template] = [*(holder.pod_group_templates or ()), *composites]
        for template in children:
            yield template, parent
        stack.extend((each, each) for each in reversed(composites))


def _lists_of(path: FieldPath, holder: Holder, old: Holder | None, *, updating: bool, immutable: bool) -> Iterator[TemplateList]:
    yield TemplateList(path / LEAVES, holder.pod_group_templates or (), (old and old.pod_group_templates) or (), updating)
    composites, before = holder.composite_pod_group_templates or (), (old and old.composite_pod_group_templates) or ()
    yield TemplateList(path / COMPOSITES, composites, before, updating, immutable)
