"""Existing PersistentVolumes that the PersistentVolume controller binds new claims to, before their pods are scheduled.

Source: Kubernetes 1.37.1, ``pkg/controller/volume/persistentvolume`` (syncUnboundClaim) and ``pkg/volume/util/finder.go``
(FindMatchingVolume).  Claims with a selector, and those of ephemeral volumes, are only bound to the volume that they name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from expansion.contents import Content, full_name
from kubeapi import quantity
from kubeapi.decode import section

BOUND = "pv.kubernetes.io/bind-completed"
CLASS = "volume.beta.kubernetes.io/storage-class"
_FREE = frozenset({None, "", "Available"})
"""Phases of a volume that no claim has; a new one has none."""


class StaticVolumes:
    """Volumes that new claims can be bound to, each once; *delayed* are the classes that wait for a pod."""

    def __init__(self, volumes: Iterable[Content], delayed: Collection[str]) -> None:
        self._volumes = {str(section(each, "metadata").get("name")): each for each in volumes if isinstance(each.get("spec"), dict)}
        self._delayed = delayed
        self._taken: set[str] = set()

    def bind(self, claim: Content) -> bool:
        """Bind a new claim to the volume that the controller binds it to; return whether there is one."""
        spec, metadata = section(claim, "spec"), section(claim, "metadata")
        name = self._named(claim) if spec.get("volumeName") else self._matching(claim)
        if not name or BOUND in section(metadata, "annotations"):
            return False
        self._taken.add(name)
        claim["spec"] = {**spec, "volumeName": name}
        claim["metadata"] = {**metadata, "annotations": {**section(metadata, "annotations"), BOUND: "yes"}}
        return True

    def _named(self, claim: Content) -> str:
        """Return the volume that a claim names; empty if it is not free, or does not suit the claim."""
        name = str(claim["spec"]["volumeName"])
        volume = self._volumes.get(name)
        if volume is None or name in self._taken:
            return ""
        if _reference(volume):
            return name if _is_reserved(volume, claim) else ""
        return name if _class(volume) == _class(claim) and _suits(volume, claim) else ""

    def _matching(self, claim: Content) -> str:
        """Return the volume that is reserved for a claim, or the smallest that suits it if it does not wait for a pod; else an empty text."""
        usable = [
            name
            for name, volume in sorted(self._volumes.items())
            if name not in self._taken and _suits(volume, claim) and not section(volume, "metadata").get("deletionTimestamp")
        ]
        if reserved := [name for name in usable if _is_reserved(self._volumes[name], claim)]:
            return reserved[0]
        if _class(claim) in self._delayed or section(claim, "spec").get("selector") is not None:
            return ""
        free = [name for name in usable if self._is_free(name) and _class(self._volumes[name]) == _class(claim)]
        return min(free, key=lambda name: quantity.exact(_storage(self._volumes[name], "capacity")), default="")

    def _is_free(self, name: str) -> bool:
        volume = self._volumes[name]
        return not _reference(volume) and section(volume, "status").get("phase") in _FREE


def _suits(volume: Content, claim: Content) -> bool:
    """Return whether a volume has the size, the access modes and the mode that a claim requests."""
    offered, requested = section(volume, "spec"), section(claim, "spec")
    if (offered.get("volumeMode") or "Filesystem") != (requested.get("volumeMode") or "Filesystem"):
        return False
    if not {*_texts(requested, "accessModes")} <= {*_texts(offered, "accessModes")}:
        return False
    try:
        return quantity.exact(_storage(volume, "capacity")) >= quantity.exact(_storage(claim, "requests"))
    except ValueError:
        return False


def _storage(content: Content, kind: str) -> str:
    """Return the storage of the capacity of a volume, or of the requests of a claim."""
    spec = section(content, "spec")
    return str(section(spec if kind == "capacity" else section(spec, "resources"), kind).get("storage") or "0")


def _reference(volume: Content) -> Mapping[str, Any]:
    return section(section(volume, "spec"), "claimRef")


def _is_reserved(volume: Content, claim: Content) -> bool:
    """Return whether a volume is reserved for a new claim; one with a uid is for a claim that exists already."""
    reference = _reference(volume)
    return (reference.get("namespace"), reference.get("name")) == full_name(claim) and not reference.get("uid")


def _class(content: Content) -> str:
    """Return the storage class of a volume or of a claim; empty if it has none."""
    annotated = section(section(content, "metadata"), "annotations").get(CLASS)
    return str(annotated if annotated is not None else section(content, "spec").get("storageClassName") or "")


def _texts(content: Mapping[str, Any], name: str) -> list[str]:
    listed = content.get(name)
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
