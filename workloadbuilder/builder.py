"""Builder of Workload, PodGroups and CompositePodGroups from a controller's tree of items.

Unlike the builder of Kubernetes 1.37, it supports templates at any depth, sets the references to parents, copies
``preemptionPolicy``, and creates the groups of a whole tree.  A builder resolves its tree once, so callbacks run only once.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.decode import Json
from kubeapi.versions.kubernetes_releases import TODAY
from validators import field
from validators.field import FieldError
from workloadbuilder import existing_workload, groups, templates, unchanged, workload_owner
from workloadbuilder.blueprint import Blueprint, Index, copied
from workloadbuilder.check import check_blocks, count_path
from workloadbuilder.check_tree import check_tree
from workloadbuilder.errors import BuildError, in_order
from workloadbuilder.resolve import Resolution, Resolved, resolve
from workloadbuilder.workload_item import WHOLE, Owner, WorkloadItem
from workloadbuilder.workload_owner import BuildOptions

__all__ = ["BuildOptions", "Builder"]


class Builder:
    """Builder for one tree of items; or, by ``from_workload``, for the groups of an existing Workload."""

    __slots__ = ("_blueprint", "_options", "_resolution", "_root")

    def __init__(self, root: WorkloadItem, options: BuildOptions) -> None:
        self._begin(root, options, None)

    @classmethod
    def from_workload(cls, workload: Json, *, kubernetes: int = TODAY) -> Builder:
        """Return a builder of groups for a Workload that a parent's controller or a user has created.

        Groups belong to the Workload's controller, unless another owner is passed.  *kubernetes* is the minor version of the API
        server.

        Raises:
            BuildError: it is not a Workload of a served version, or the API server would refuse it.
        """
        builder = cls.__new__(cls)
        builder._begin(None, None, existing_workload.read(workload, kubernetes, stored=True))  # noqa: SLF001 - a second way to construct
        return builder

    def resolved(self) -> Resolved:
        """Return the tree with each item's final configuration, and the source of each block.

        Raises:
            BuildError: the tree is malformed, a callback fails, or the builder has no tree.
        """
        resolution = self._resolve()
        if resolution.errors or resolution.root is None:
            raise BuildError(resolution.errors)
        return resolution.root

    def validate(self, old_root: WorkloadItem | None = None) -> tuple[FieldError, ...]:
        """Return all errors of the tree in order of field path; without errors it can be built.

        With *old_root*, the tree of the existing Workload, changes of immutable fields are errors too.  Consequences of blocks
        that could not be read (``UserIntent.unread``) are omitted: their errors are reported already.
        """
        if self._options is None:
            return self._no_tree("cannot validate a builder constructed from an existing workload")
        return in_order(self._errors(self._options, old_root, strict=False))

    def warnings(self) -> tuple[FieldError, ...]:
        """Return warnings: there are no owner references, or a gang can never be complete."""
        if self._options is None:
            return ()
        root = self._resolve().root
        unreachable = [] if root is None else [error for item in root.walk() for error in _unreachable(item)]
        return in_order([*workload_owner.warnings(self._options.owner), *unreachable])

    def build_workload(self) -> dict[str, Json]:
        """Return the Workload as JSON; the caller may change it.

        Raises:
            BuildError: the tree is invalid (see ``validate``), or the builder has no tree.
        """
        if self._options is None:
            raise BuildError(self._no_tree("BuildWorkload is not available on a Builder created from an existing Workload"))
        workload: dict[str, Json] = copied(self._build().workload)
        return workload

    def pod_group(
        self, template: str, *, name: str | None = None, parent: str | None = None, index: Index = None, owner: Owner | None = None
    ) -> dict[str, Json]:
        """Return one PodGroup of a leaf template at any depth of the tree.

        *parent* is the CompositePodGroup above it; the default is the one that ``groups`` would create.  *index* selects one of
        several groups: a number for each template with several groups, from the top down.

        Raises:
            BuildError: no Workload can be built, there is no such template, or *index* does not fit it.
        """
        references = None if owner is None else workload_owner.owner_references(owner)
        return self._build().chosen(template, composite=False, name=name, parent=parent, index=index, references=references)

    def composite_pod_group(
        self, template: str, *, name: str | None = None, parent: str | None = None, index: Index = None, owner: Owner | None = None
    ) -> dict[str, Json]:
        """Return one CompositePodGroup of a composite template at any depth; see ``pod_group``."""
        references = None if owner is None else workload_owner.owner_references(owner)
        return self._build().chosen(template, composite=True, name=name, parent=parent, index=index, references=references)

    def groups(self) -> tuple[dict[str, Json], ...]:
        """Return all groups of the tree, ``replicas`` of each item below each group of its parent; parents first.

        Raises:
            BuildError: no Workload can be built, there would be more than 100,000 groups, or the builder has no tree.
        """
        return tuple(groups.groups(self.resolved(), self._build()))

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
        yield from workload_owner.check(options)
        yield from resolution.errors
        root = resolution.root
        if root is not None:
            yield from check_tree(root, options.rules_of)
            yield from check_blocks(root, options, strict=strict)
            if old_root is not None:
                yield from unchanged.check(root, resolve(old_root).root)

    def _build(self) -> Blueprint:
        if self._blueprint is None:
            if self._options is None:
                raise BuildError(self._no_tree("no Workload available"))
            if errors := in_order(self._errors(self._options, None, strict=True)):
                raise BuildError(errors)
            root = self.resolved()
            self._blueprint = Blueprint(
                templates.workload(root, self._options),
                references=workload_owner.owner_references(self._options.owner),
                kubernetes=self._options.kubernetes,
                several=groups.several(root),
            )
        return self._blueprint

    def _no_tree(self, detail: str) -> tuple[FieldError, ...]:
        return (field.invalid_struct(WHOLE, detail),)


def _unreachable(item: Resolved) -> Iterator[FieldError]:
    """Yield a warning for a composite gang whose minimum exceeds the number of its child groups."""
    policy = item.config.policy
    if item.composite and policy is not None and policy.minimum is not None:
        count = sum(child.item.replicas for child in item.children)
        if policy.minimum > count:
            detail = f"must be at most {count}, the number of its child groups: otherwise the gang is never complete"
            yield field.invalid(count_path(item), policy.minimum, detail)
