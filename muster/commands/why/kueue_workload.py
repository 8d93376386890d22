"""Kueue's Workload of a pod or group, with the conditions and admission checks that say whether Kueue has admitted it.

Source: Kueue 0.17.0, ``apis/kueue/v1beta2/workload_types.go``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apiserver.api import TRANSPORT, Api, ReplyError
from apiserver.discovery import base_path, served
from kubeapi import content, decode
from kubeapi.decode import section
from kubeapi.kueue import POD_GROUP, WORKLOAD
from muster.commands.why.subject import NOT_FOUND, StatusCondition, Subject, status_conditions

KUEUE = ("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1")
_TRUE = "True"
_RESERVED, _ADMITTED = "QuotaReserved", "Admitted"
_ALWAYS = frozenset({_RESERVED, _ADMITTED, "PodsReady"})
_IF_TRUE = frozenset({"Evicted", "Preempted", "Requeued", "DeactivationTarget", "Finished"})
"""Conditions that say something only if they are true."""


@dataclasses.dataclass(frozen=True, slots=True)
class AdmissionCheck:
    """State of one admission check of a Workload."""

    name: str
    state: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class KueueWorkload:
    """Workload of Kueue as it is stored."""

    namespace: str
    name: str
    content: Mapping[str, Any]

    @property
    def conditions(self) -> tuple[StatusCondition, ...]:
        """Return the conditions that matter: of a Workload that is admitted, not that it has quota."""
        listed = status_conditions(self.content)
        admitted = any((each.type, each.status) == (_ADMITTED, _TRUE) for each in listed)
        return tuple(
            each
            for each in listed
            if (each.type in _ALWAYS or (each.type in _IF_TRUE and each.status == _TRUE)) and not (admitted and each.type == _RESERVED)
        )

    @property
    def checks(self) -> tuple[AdmissionCheck, ...]:
        """Return the admission checks."""
        listed = section(self.content, "status").get("admissionChecks")
        found = (each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, Mapping))
        return tuple(AdmissionCheck(*(_text(each.get(key)) for key in ("name", "state", "message"))) for each in found)


def read_workload(api: Api, subjects: Sequence[Subject]) -> tuple[KueueWorkload | None, str]:
    """Return the Workload of Kueue for *subjects*, a pod or group with those above it, and why it cannot be read.

    It is that which the annotation or the label of the pod names, or that of an owner.  Without Kueue there is none.
    """
    try:
        version = next((each for each in KUEUE if "workloads" in served(api, each)), "")
        if not version:
            return None, ""
        namespace = subjects[0].namespace
        path = f"{base_path(version)}/namespaces/{namespace}/workloads"
        for name in dict.fromkeys(_names(subjects)):
            if (found := _read(api, f"{path}/{name}")) is not None:
                return KueueWorkload(namespace, name, found), ""
        owners = {owner for subject in subjects for owner in _owners(subject.content)}
        if not owners:
            return None, ""
        listed = decode.parse(api.read(path)).get("items")
        for each in listed if isinstance(listed, list) else ():
            if not owners.isdisjoint(_owners(each)):
                return KueueWorkload(namespace, _text(section(each, "metadata").get("name")), each), ""
    except (ReplyError, ValueError, AttributeError, *TRANSPORT) as error:
        return None, f"Kueue's Workload cannot be read: {' '.join(str(error).split())[:300]}"
    return None, ""


def _names(subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield the names of Workloads that the metadata of *subjects* have; a pod group has that of its Workload."""
    for subject in subjects:
        metadata = section(subject.content, "metadata")
        for name in (section(metadata, "annotations").get(WORKLOAD), section(metadata, "labels").get(POD_GROUP)):
            if isinstance(name, str) and not content.subdomain(name):
                yield name


def _owners(manifest: object) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, name and uid of each owner of an object."""
    listed = section(manifest, "metadata").get("ownerReferences")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, Mapping):
            yield _text(each.get("kind")), _text(each.get("name")), _text(each.get("uid"))


def _read(api: Api, path: str) -> Mapping[str, Any] | None:
    try:
        found = decode.parse(api.read(path))
    except ReplyError as error:
        if error.code == NOT_FOUND:
            return None
        raise
    return found if isinstance(found, Mapping) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
