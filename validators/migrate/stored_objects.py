"""Stored objects of a cluster, and what a newer version of Kubernetes answers about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubeapi.decode import Json, section
from kubeapi.versions import kubernetes_releases
from validators import pipeline, rules
from validators.field import FieldError
from validators.gates import Gates
from validators.object_lookup import KnownObjects
from validators.rules.base import About, Operation, Profile, Settings, Severity

Content = Mapping[str, Json]
Name = tuple[str, str, str]
"""Kind, namespace and name."""


class ObjectsToUpgrade:
    """Stored objects, with the newer version's answers about them."""

    def __init__(self, objects: Iterable[Content], minor: int, gates: Gates | None = None) -> None:
        self.objects = {name_of(each): each for each in objects}
        self.minor = minor
        self.gates = gates or Gates()
        self._lookup = KnownObjects(filter(None, map(pipeline.decode_for_lookup, self.objects.values())), complete=False)

    def errors(self, content: Content, operation: Operation, minor: int = 0) -> tuple[FieldError, ...]:
        """Return the errors of the API server about the creation of an object, or an update that changes nothing.

        *minor* is the version that is asked, by default the newer one.
        """
        return tuple(self._errors(content, operation, Profile.UPSTREAM, minor or self.minor))

    def tree_errors(self, content: Content) -> tuple[FieldError, ...]:
        """Return the errors of the newer scheduler about the place of a group in its tree, for which it places no group of the tree."""
        return tuple(each for each in self._errors(content, Operation.CREATE, Profile.KEP, self.minor) if _is_of_scheduler(each.origin))

    def stuck_errors(self, content: Content) -> tuple[FieldError, ...]:
        """Return the errors for which an object must be created again before the upgrade."""
        return (*self.errors(content, Operation.UPDATE), *self.tree_errors(content))

    def _errors(self, content: Content, operation: Operation, profile: Profile, minor: int) -> Iterator[FieldError]:
        violations = pipeline.validate(
            str(content["kind"]),
            content,
            content if operation is Operation.UPDATE else None,
            operation,
            api_version=str(content["apiVersion"]),
            settings=Settings(profile=profile, minor=minor, gates=self.gates),
            lookup=self._lookup,
        )
        return (each.error for each in violations if each.severity is Severity.ERROR)

    def parent(self, content: Content) -> Content | None:
        """Return the parent of a group; None if it has none, or one that is not stored."""
        parent = section(content, "spec").get("parentCompositePodGroupName")
        return self.objects.get(("CompositePodGroup", name_of(content)[1], str(parent))) if parent else None

    def upwards(self, content: Content) -> Iterator[Content]:
        """Yield an object, its parent and so on; of groups that are each other's parents, each once."""
        seen: set[Name] = set()
        above: Content | None = content
        while above is not None and (name := name_of(above)) not in seen:
            yield above
            seen.add(name)
            above = self.parent(above)

    def tree(self, content: Content) -> tuple[str, str]:
        """Return namespace and Workload of an object; for a group without a Workload, its root, or of a cycle its first group."""
        groups = [*self.upwards(content)]
        for each in groups:
            kind, namespace, name = name_of(each)
            if workload := name if kind == "Workload" else section(each, "spec", "workloadRef").get("workloadName"):
                return namespace, str(workload)
        names = [name_of(each)[1:] for each in groups]
        return names[-1] if self.parent(groups[-1]) is None else min(names)


def _is_of_scheduler(rule_id: str) -> bool:
    rule = rules.ALL[rule_id]
    return rule.about is About.TREE and rule.since > kubernetes_releases.TODAY


def name_of(content: Content) -> Name:
    """Return kind, namespace and name of an object."""
    metadata = section(content, "metadata")
    return str(content["kind"]), str(metadata.get("namespace") or "default"), str(metadata.get("name"))


def references_of(content: Content) -> list[Mapping[str, Any]]:
    """Return the owner references of an object."""
    references = section(content, "metadata").get("ownerReferences")
    return [each for each in references if isinstance(each, Mapping)] if isinstance(references, list) else []
