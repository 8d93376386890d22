"""Creation of groups from the templates of a Workload, at any depth.

A group refers to its Workload and template, and copies all fields of the template that the scheduler uses.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.versions import served_versions
from validators import field
from workloadbuilder import names
from workloadbuilder.errors import BuildError
from workloadbuilder.templates import COMPOSITES, LEAVES

_COPIED = (
    *("schedulingPolicy", "schedulingConstraints", "resourceClaims", "disruptionMode"),
    *("priorityClassName", "priority", "preemptionPolicy"),
)

Index = int | Sequence[int] | None
"""Index of one of several groups of a template, or a sequence: one index for each template with several groups, from the top."""


@dataclasses.dataclass(frozen=True, slots=True)
class Placed:
    """Template with its position in the tree: below the template named *above*, which is empty at the top."""

    template: Mapping[str, Json]
    path: FieldPath
    composite: bool
    above: str = ""
    level: int = 1


def placed(spec: Mapping[str, Json]) -> dict[str, Placed]:
    """Return the templates of a Workload's *spec* by name, parents first."""
    return {each.template["name"]: each for each in _placed(spec, FieldPath("spec"), "", 1)}


def _placed(holder: Mapping[str, Json], path: FieldPath, above: str, level: int) -> Iterator[Placed]:
    for index, template in enumerate(holder.get(LEAVES) or ()):
        yield Placed(template, path.join((LEAVES, index)), composite=False, above=above, level=level)
    for index, template in enumerate(holder.get(COMPOSITES) or ()):
        template_path = path.join((COMPOSITES, index))
        yield Placed(template, template_path, composite=True, above=above, level=level)
        yield from _placed(template, template_path, template["name"], level + 1)


class Blueprint:
    """Valid Workload from which groups are created.

    *references* are the ownerReferences of groups; with one, the names of groups end in the hash of Kubernetes 1.*kubernetes*, which
    also serves the groups.  *several* has the names of the templates with several groups; None if that is unknown.
    """

    __slots__ = ("_several", "kubernetes", "references", "templates", "workload")

    def __init__(
        self, workload: Mapping[str, Json], *, references: Sequence[Json], kubernetes: int, several: frozenset[str] | None = None
    ) -> None:
        self.workload = workload
        self.references = references
        self.kubernetes = kubernetes
        self.templates = placed(workload["spec"])
        self._several = several

    @property
    def name(self) -> str:
        """Return the Workload's name."""
        name: str = self.workload["metadata"]["name"]
        return name

    def group_name(self, template: str, index: Sequence[int]) -> str:
        """Return the name of the group of *template* at *index*."""
        owner_uid = self.references[0]["uid"] if self.references else ""
        longest = names.longest_group_name(self.workload["apiVersion"], composite=self.templates[template].composite)
        return names.group_name(self.name, template, index, owner_uid=owner_uid, kubernetes=self.kubernetes, longest=longest)

    def chosen(
        self,
        template: str,
        *,
        composite: bool,
        name: str | None,
        parent: str | None,
        index: Index,
        references: Sequence[Json] | None,
    ) -> dict[str, Json]:
        """Return one group of *template*; *name* and *parent* default to those that all groups of the tree would have.

        Raises:
            BuildError: there is no such template of this kind, or *index* does not fit it.
        """
        source = self.templates.get(template)
        if source is None or source.composite is not composite:
            raise BuildError([self._missing(template, composite=composite)])
        indices = self._indices(source, index, needed=name is None or (bool(source.above) and parent is None))
        if source.above and parent is None:
            has_own_index = template in self._several if self._several is not None else True
            parent = self.group_name(source.above, indices[:-1] if has_own_index else indices)
        return self.group(source, name or self.group_name(template, indices), parent or "", references)

    def group(self, source: Placed, name: str, parent: str, references: Sequence[Json] | None = None) -> dict[str, Json]:
        """Return the group *name* of the template *source*, below the group *parent* if that is not empty."""
        metadata: dict[str, Json] = {"name": name}
        if namespace := self.workload["metadata"].get("namespace"):
            metadata["namespace"] = namespace
        if owners := self.references if references is None else references:
            metadata["ownerReferences"] = copied(owners)
        spec: dict[str, Json] = {"parentCompositePodGroupName": parent} if parent else {}
        spec["workloadRef"] = {"workloadName": self.name, "templateName": source.template["name"]}
        for each in _COPIED:
            value = source.template.get(each)
            if value is not None and value not in ("", []):
                spec[each] = copied(value)
        kind = "CompositePodGroup" if source.composite else "PodGroup"
        group, _, version = self.workload["apiVersion"].rpartition("/")
        return {
            "apiVersion": served_versions.closest(kind, group, version, self.kubernetes),
            "kind": kind,
            "metadata": metadata,
            "spec": spec,
        }

    def _missing(self, template: str, *, composite: bool) -> field.FieldError:
        have = " ".join(name for name, each in self.templates.items() if each.composite is composite)
        kind = "compositePodGroupTemplate" if composite else "podGroupTemplate"
        return field.not_found(FieldPath("spec"), template, f'{kind} "{template}" not found in workload "{self.name}" (have [{have}])')

    def _indices(self, source: Placed, index: Index, *, needed: bool) -> tuple[int, ...]:
        indices = () if index is None else (index,) if isinstance(index, int) else tuple(index)
        name = source.template["name"]
        if any(isinstance(each, bool) or not isinstance(each, int) or each < 0 for each in indices):
            raise BuildError([field.invalid_struct(source.path, f"an index of template {name!r} must be a number of at least 0")])
        if self._several is not None and needed:
            indexed = self._indexed_templates(source)
            if len(indices) != len(indexed):
                must = f"one number for each of {', '.join(indexed)}" if indexed else "absent: the template has only one group"
                raise BuildError([field.invalid_struct(source.path, f"the index of template {name!r} must be {must}")])
        return indices

    def _indexed_templates(self, source: Placed) -> list[str]:
        """Return the names of the template and its ancestors that have several groups, from the top."""
        indexed: list[str] = []
        while True:
            name = source.template["name"]
            if self._several is not None and name in self._several:
                indexed.insert(0, name)
            if not source.above:
                return indexed
            source = self.templates[source.above]


def copied(value: Json) -> Json:
    """Return a deep copy of a JSON value."""
    if isinstance(value, dict):
        return {name: copied(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [copied(each) for each in value]
    # Checked last: isinstance of an abstract class costs more than all other checks.
    if not isinstance(value, (str, int, float)) and isinstance(value, Mapping):
        return {name: copied(each) for name, each in value.items()}
    return value
