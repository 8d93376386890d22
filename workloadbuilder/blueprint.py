"""A Workload as the blueprint of groups: each of its templates found by name, at any depth, and groups made of them.

A group refers to its Workload and template, and copies from the template all that the scheduler looks at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from validators import field
from validators.field import FieldPath
from validators.model.decode import Json
from validators.versions import served
from workloadbuilder import names
from workloadbuilder.errors import BuildError
from workloadbuilder.templates import COMPOSITES, LEAVES

_COPIED = (
    *("schedulingPolicy", "schedulingConstraints", "resourceClaims", "disruptionMode"),
    *("priorityClassName", "priority", "preemptionPolicy"),
)

Index = int | Sequence[int] | None
"""Which of several groups of one template: its place, or places from the outermost several downwards."""


@dataclasses.dataclass(frozen=True, slots=True)
class Placed:
    """A template and where it stands: below the template named *above*, which is empty at the top."""

    template: Mapping[str, Json]
    path: FieldPath
    composite: bool
    above: str = ""
    level: int = 1


def placed(spec: Mapping[str, Json]) -> dict[str, Placed]:
    """The templates of a Workload's *spec* by name, parents first."""
    return {each.template["name"]: each for each in _placed(spec, FieldPath("spec"), "", 1)}


def _placed(holder: Mapping[str, Json], path: FieldPath, above: str, level: int) -> Iterator[Placed]:
    for place, template in enumerate(holder.get(LEAVES) or ()):
        yield Placed(template, path.join((LEAVES, place)), composite=False, above=above, level=level)
    for place, template in enumerate(holder.get(COMPOSITES) or ()):
        here = path.join((COMPOSITES, place))
        yield Placed(template, here, composite=True, above=above, level=level)
        yield from _placed(template, here, template["name"], level + 1)


class Blueprint:
    """A Workload whose shape is known to be right, from which groups are made.

    *references* are the ownerReferences that groups get; with *hashed* their names end in a hash.  *several* says of
    which templates there are several groups, as far as that is known (None: not at all).
    """

    __slots__ = ("_several", "hashed", "references", "templates", "workload")

    def __init__(
        self, workload: Mapping[str, Json], *, references: Sequence[Json], hashed: bool, several: frozenset[str] | None = None
    ) -> None:
        self.workload = workload
        self.references = references
        self.hashed = hashed
        self.templates = placed(workload["spec"])
        self._several = several

    @property
    def name(self) -> str:
        """The Workload's name."""
        name: str = self.workload["metadata"]["name"]
        return name

    def group_name(self, template: str, index: Sequence[int]) -> str:
        """What the group of *template* at *index* is called."""
        return names.group_name(self.name, template, index, hashed=self.hashed)

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
        """One group of the *template* that a caller names, with the name and parent that it would have by itself if none is given.

        Raises:
            BuildError: there is no such template of this kind, or *index* is not what it needs.
        """
        found = self.templates.get(template)
        if found is None or found.composite is not composite:
            raise BuildError([self._missing(template, composite=composite)])
        places = self._places(found, index, needed=name is None or (bool(found.above) and parent is None))
        if found.above and parent is None:
            own = template in self._several if self._several is not None else True
            parent = self.group_name(found.above, places[:-1] if own else places)
        return self.group(found, name or self.group_name(template, places), parent or "", references)

    def group(self, found: Placed, name: str, parent: str, references: Sequence[Json] | None = None) -> dict[str, Json]:
        """The group *name* of a template, below the group *parent* if that is not empty."""
        metadata: dict[str, Json] = {"name": name}
        if namespace := self.workload["metadata"].get("namespace"):
            metadata["namespace"] = namespace
        if owners := self.references if references is None else references:
            metadata["ownerReferences"] = copied(owners)
        spec: dict[str, Json] = {"parentCompositePodGroupName": parent} if parent else {}
        spec["workloadRef"] = {"workloadName": self.name, "templateName": found.template["name"]}
        for each in _COPIED:
            value = found.template.get(each)
            if value is not None and value not in ("", []):
                spec[each] = copied(value)
        kind = "CompositePodGroup" if found.composite else "PodGroup"
        group, _, version = self.workload["apiVersion"].rpartition("/")
        return {"apiVersion": served.closest(kind, group, version), "kind": kind, "metadata": metadata, "spec": spec}

    def _missing(self, template: str, *, composite: bool) -> field.FieldError:
        have = " ".join(name for name, each in self.templates.items() if each.composite is composite)
        kind = "compositePodGroupTemplate" if composite else "podGroupTemplate"
        return field.not_found(FieldPath("spec"), template, f'{kind} "{template}" not found in workload "{self.name}" (have [{have}])')

    def _places(self, found: Placed, index: Index, *, needed: bool) -> tuple[int, ...]:
        places = () if index is None else (index,) if isinstance(index, int) else tuple(index)
        name = found.template["name"]
        if any(isinstance(place, bool) or not isinstance(place, int) or place < 0 for place in places):
            raise BuildError([field.invalid_struct(found.path, f"an index of template {name!r} must be a number of at least 0")])
        if self._several is not None and needed:
            line = self._line(found)
            if len(places) != len(line):
                told = (
                    f"one number for each of {', '.join(line)}, of which there are several" if line else "absent: there is one group of it"
                )
                raise BuildError([field.invalid_struct(found.path, f"the index of template {name!r} must be {told}")])
        return places

    def _line(self, found: Placed) -> list[str]:
        """The template and those above it, of which there are several groups; the topmost first."""
        line: list[str] = []
        while True:
            name = found.template["name"]
            if self._several is not None and name in self._several:
                line.insert(0, name)
            if not found.above:
                return line
            found = self.templates[found.above]


def copied(value: Json) -> Json:
    """A JSON value that shares nothing with *value*."""
    if isinstance(value, dict):
        return {name: copied(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [copied(each) for each in value]
    # Asked last: an abstract thing, and asking costs more than all the rest.
    if not isinstance(value, (str, int, float)) and isinstance(value, Mapping):
        return {name: copied(each) for name, each in value.items()}
    return value
