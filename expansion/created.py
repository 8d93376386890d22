"""The objects that controllers create for given ones, and what was not created; and the objects to look up."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from expansion.contents import Content
from expansion.pod_owners import Controller
from kubeapi.base_structs import Record
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from kubeapi.gather import gather
from kubeapi.gathered import Given, ObjectList
from kubeapi.names import Name
from kubeapi.problem import Problem
from kubeapi.versions.kubernetes_releases import TODAY
from validators.gates import ALL_ON, Gates
from validators.model.start_order import Wait

Place = Callable[[Mapping[str, Any], FieldPath], str]
"""Returns where a field of an object is written, such as a file with a line; empty if that is not known."""


@dataclasses.dataclass(slots=True)
class Cluster:
    """Further objects by kind, and those of other kinds."""

    kinds: dict[str, ObjectList] = dataclasses.field(default_factory=dict)
    others: ObjectList = dataclasses.field(default_factory=ObjectList)
    problems: list[Problem] = dataclasses.field(default_factory=list)

    @classmethod
    def from_sources(cls, objects: Iterable[Given]) -> Cluster:
        """Return *objects* by kind."""
        others = ObjectList()
        kinds, problems = gather(objects, others)
        return cls(kinds, others, problems)


class OrderedPods(Record, frozen=True):
    """Created *pods* of the object *origin*, each with its part; *waits* are the parts that are created only after others."""

    origin: Name
    pods: Sequence[tuple[str, Content]]
    waits: Mapping[str, Wait]


class PodSets(Record, frozen=True):
    """Created *pods* of one object; *indexes* has for each the number of the part of equal pods that it belongs to, *names* their names.

    *owned* are the created objects whose controllers create pods, owners first, each with the numbers of these parts.
    """

    pods: Sequence[Content]
    indexes: Sequence[int]
    names: Mapping[int, str]
    owned: Sequence[tuple[Content, frozenset[int]]] = ()


class ConfinedPods(Record, frozen=True):
    """Created *pods* of the object *origin* that Kueue places in one domain of *topology*; its *field* requires it, and they name their group."""

    origin: Name
    field: str
    topology: str
    pods: Sequence[Content]


@dataclasses.dataclass(slots=True)
class Expansion:
    """Created objects, and what was not created.

    Attributes:
        objects: the groups and pods.
        origins: the given object of each created object.
        controllers: the given objects that were read.
        manifests: the same objects.
        kinds: the given objects of the kinds that are read.
        skipped: objects that create pods and could not be read, with the reason.
        others: the given objects of other kinds.
        notes: what the created objects cannot express, and objects that create no pods.
        ordered: those of the created pods whose controllers create some only after others.
        pod_sets: the created pods of each object.
        confined: those of the created pods that Kueue confines to a domain, and whose group another object describes.
        kubernetes: minor version of Kubernetes whose controllers created them, and whose API server admits them.
        gates: feature gates of both.
        admission_plugins: those of the API server that are on besides its defaults.
        refused: objects that Kueue refuses, with the reason.
        joined: groups of other schedulers in the cluster that pods of *objects* name, with their members there, which they replace.
        minimums: the field of the given object with the minimum of a created group, unless that is in scheduling blocks; None if no field has it.

    """

    objects: list[Content] = dataclasses.field(default_factory=list)
    origins: dict[Name, Name] = dataclasses.field(default_factory=dict)
    controllers: list[Controller] = dataclasses.field(default_factory=list)
    manifests: list[Content] = dataclasses.field(default_factory=list)
    kinds: dict[str, ObjectList] = dataclasses.field(default_factory=dict)
    skipped: list[Problem] = dataclasses.field(default_factory=list)
    notes: list[Problem] = dataclasses.field(default_factory=list)
    others: ObjectList = dataclasses.field(default_factory=ObjectList)
    ordered: list[OrderedPods] = dataclasses.field(default_factory=list)
    pod_sets: dict[Name, PodSets] = dataclasses.field(default_factory=dict)
    confined: list[ConfinedPods] = dataclasses.field(default_factory=list)
    kubernetes: int = TODAY
    gates: Gates = ALL_ON
    admission_plugins: frozenset[str] = frozenset()
    refused: list[Problem] = dataclasses.field(default_factory=list)
    joined: list[Content] = dataclasses.field(default_factory=list)
    minimums: dict[Name, str | None] = dataclasses.field(default_factory=dict)

    def add_minimums(self, groups: Iterable[Content], minimums: Mapping[str, FieldPath | None]) -> None:
        """Record the fields *minimums*, by template, of created *groups*."""
        for each in groups:
            template = str(section(section(each, "spec"), "workloadRef").get("templateName"))
            if template in minimums:
                path = minimums[template]
                self.minimums[identity(each)] = None if path is None else str(path)

    def given(self) -> Iterator[tuple[Controller, Content]]:
        """Yield the given objects that were read."""
        return zip(self.controllers, self.manifests, strict=True)

    def rename(self, taken: Collection[Name]) -> None:
        """Rename the created pods whose names are *taken* by other pods of the cluster: most controllers add random letters."""
        names = {*taken, *self.origins} if taken else set()
        for each in self.objects if taken else ():
            if each["kind"] == "Pod" and (name := identity(each)) in taken:
                origin = self.origins.pop(name)
                names.add(renamed := with_free_name(each, origin, names))
                self.origins[renamed] = origin


def identity(content: Content) -> Name:
    """Return the kind, namespace and name of a created object."""
    metadata = content["metadata"]
    return Name(content["kind"], metadata.get("namespace") or "default", metadata["name"])


def with_free_name(pod: Content, origin: Name, taken: Container[Name]) -> Name:
    """Rename a *pod* that is created for the object *origin*, and whose name is *taken* by another pod; return its name."""
    given = pod["metadata"]["name"]
    suffixes = itertools.chain(("",), (f"-{number}" for number in itertools.count(2)))
    while identity(pod) in taken:
        pod["metadata"]["name"] = f"{given}-of-{origin.kind.lower()}{next(suffixes)}"
    return identity(pod)
