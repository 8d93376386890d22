"""The builder: a controller's tree of items in, Workload, PodGroups and CompositePodGroups out.

Unlike Kubernetes 1.37's own, it finds templates at any depth, sets the links to parents, copies ``preemptionPolicy``, and
makes the groups of a whole tree.  A tree is resolved once, so callbacks run once, whatever is asked for and how often.
"""

from __future__ import annotations

from collections.abc import Iterator

from validators import field
from validators.field import FieldError
from validators.model.decode import Json
from workloadbuilder import groups, identity, stored, templates, unchanged
from workloadbuilder.blueprint import Blueprint, Index, copied
from workloadbuilder.check import check_blocks, count_path
from workloadbuilder.check_tree import check_tree
from workloadbuilder.errors import BuildError, in_order
from workloadbuilder.identity import BuildOptions
from workloadbuilder.item import WHOLE, Owner, WorkloadItem
from workloadbuilder.resolve import Resolution, Resolved, resolve

__all__ = ["BuildOptions", "Builder"]


class Builder:
    """Makes scheduling objects of one tree of items; or, by ``from_workload``, groups of a Workload that is there already."""

    __slots__ = ("_blueprint", "_options", "_resolution", "_root")

    def __init__(self, root: WorkloadItem, options: BuildOptions) -> None:
        self._begin(root, options, None)

    @classmethod
    def from_workload(cls, workload: Json) -> Builder:
        """A builder of groups for a Workload that a parent's controller, or a person, has made.

        Groups belong to the Workload's controller, unless another owner is named.

        Raises:
            BuildError: it is no Workload of a version that is served, or one that the API server refuses.
        """
        builder = cls.__new__(cls)
        builder._begin(None, None, stored.read(workload))  # noqa: SLF001 - a second way to construct
        return builder

    def resolved(self) -> Resolved:
        """The tree with each item's final configuration, and who decided about each block.

        Raises:
            BuildError: the tree cannot be walked, or a callback fails; or the builder has no tree.
        """
        resolution = self._resolve()
        if resolution.errors or resolution.root is None:
            raise BuildError(resolution.errors)
        return resolution.root

    def validate(self, old_root: WorkloadItem | None = None) -> tuple[FieldError, ...]:
        """All that is wrong with the tree, in order of field path; none means that it can be built.

        With *old_root*, the tree that the Workload there was built from, also what a Workload does not let change.
        Of blocks that could not be read (``UserIntent.unread``) nothing is said: their reader has told.
        """
        if self._options is None:
            return self._no_tree("cannot validate a builder constructed from an existing workload")
        return in_order(self._errors(self._options, old_root, strict=False))

    def warnings(self) -> tuple[FieldError, ...]:
        """What will be built, but less than hoped for: without owner references, or a gang that is never complete."""
        if self._options is None:
            return ()
        root = self._resolve().root
        found = [] if root is None else [error for item in root.walk() for error in _unreachable(item)]
        return in_order([*identity.warnings(self._options.owner), *found])

    def build_workload(self) -> dict[str, Json]:
        """The Workload, as JSON; the caller may change it.

        Raises:
            BuildError: the tree is not sound (``validate`` says why), or the builder has no tree.
        """
        if self._options is None:
            raise BuildError(self._no_tree("BuildWorkload is not available on a Builder created from an existing Workload"))
        workload: dict[str, Json] = copied(self._made().workload)
        return workload

    def pod_group(
        self, template: str, *, name: str | None = None, parent: str | None = None, index: Index = None, owner: Owner | None = None
    ) -> dict[str, Json]:
        """One PodGroup of a leaf template, wherever that stands in the tree.

        *parent* is the CompositePodGroup above it, by default the one that ``groups`` would make.  *index* tells which of
        several groups it is: a number for each template, from the top down, of which there are several.

        Raises:
            BuildError: no Workload can be built, there is no such template, or *index* is not what it needs.
        """
        references = None if owner is None else identity.owner_references(owner)
        return self._made().chosen(template, composite=False, name=name, parent=parent, index=index, references=references)

    def composite_pod_group(
        self, template: str, *, name: str | None = None, parent: str | None = None, index: Index = None, owner: Owner | None = None
    ) -> dict[str, Json]:
        """One CompositePodGroup of a composite template, wherever that stands; as ``pod_group``."""
        references = None if owner is None else identity.owner_references(owner)
        return self._made().chosen(template, composite=True, name=name, parent=parent, index=index, references=references)

    def groups(self) -> tuple[dict[str, Json], ...]:
        """Every group of the tree: ``replicas`` of each item below each group of its parent; parents first.

        Raises:
            BuildError: no Workload can be built, there would be more than 100,000, or the builder has no tree.
        """
        return tuple(groups.groups(self.resolved(), self._made()))

    def _begin(self, root: WorkloadItem | None, options: BuildOptions | None, blueprint: Blueprint | None) -> None:
        self._root = root
        self._options = options
        self._blueprint = blueprint
        self._resolution: Resolution | None = None

    def _resolve(self) -> Resolution:
        if self._resolution is None:
            if self._options is None:
                raise BuildError(self._no_tree("a builder created from an existing Workload has no tree of items"))
            self._resolution = resolve(self._root)
        return self._resolution

    def _errors(self, options: BuildOptions, old_root: WorkloadItem | None, *, strict: bool) -> Iterator[FieldError]:
        resolution = self._resolve()
        yield from identity.check(options)
        yield from resolution.errors
        root = resolution.root
        if root is not None:
            yield from check_tree(root)
            yield from check_blocks(root, options, strict=strict)
            if old_root is not None:
                yield from unchanged.check(root, resolve(old_root).root)

    def _made(self) -> Blueprint:
        if self._blueprint is None:
            if self._options is None:
                raise BuildError(self._no_tree("no Workload available"))
            if errors := in_order(self._errors(self._options, None, strict=True)):
                raise BuildError(errors)
            root = self.resolved()
            self._blueprint = Blueprint(
                templates.workload(root, self._options),
                references=identity.owner_references(self._options.owner),
                hashed=bool(self._options.owner.uid),
                several=groups.several(root),
            )
        return self._blueprint

    def _no_tree(self, detail: str) -> tuple[FieldError, ...]:
        return (field.invalid_struct(WHOLE, detail),)


def _unreachable(item: Resolved) -> Iterator[FieldError]:
    """A composite gang of more groups than are made below it."""
    policy = item.config.policy
    if item.composite and policy is not None and policy.minimum is not None:
        below = sum(child.item.replicas for child in item.children)
        if policy.minimum > below:
            detail = f"must be at most {below}, the number of groups that are made below it: else it is never reached"
            yield field.invalid(count_path(item), policy.minimum, detail)
