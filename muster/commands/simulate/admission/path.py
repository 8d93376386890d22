"""Admission of the new pods at PATH: those of controllers' objects, and Pods that are not in the cluster yet."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from muster.commands.simulate.admission import validation
from muster.commands.simulate.admission.admit import Rules, namespace_of, parsed, quota_shortages
from muster.commands.simulate.admission.limit_ranges import items, section
from muster.commands.simulate.admission.storage_classes import PLACE_NOT_KNOWN, StorageClasses
from muster.commands.simulate.expansion import Expansion
from muster.commands.simulate.places import Places
from muster.commands.simulate.what_if import whole_name
from scheduler_core.loading.gather import label
from scheduler_core.loading.gathered import GatheredObjects, Objects
from scheduler_core.model.decision import Name
from scheduler_core.model.problem import Problem
from validators.field import FieldPath
from workloadbuilder.adapters.shared.known_objects import group_of

Content = dict[str, Any]
_KUEUE, _QUEUE = "kueue.x-k8s.io", "ClusterQueue"
_CLAIM = "PersistentVolumeClaim"
_GROUPS = ("PodGroup", "CompositePodGroup")
_NAMED = 4
"""Maximum number of objects that a reason names."""
_EXISTS = (b'"uid"', b'"creationTimestamp"', b'"nodeName"')
"""Fields of a pod that the API server or the scheduler sets."""


@dataclasses.dataclass(slots=True)
class Rest:
    """The rest of the cluster: its objects by kind, and those of its pods that PATH replaces."""

    kinds: Mapping[str, Objects] = dataclasses.field(default_factory=lambda: defaultdict(list))
    replaced: list[GatheredObjects] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class Admitted:
    """Objects at PATH that were changed, volumes for new claims, the objects whose pods would be refused, with the reason, and notes."""

    changed: list[Content] = dataclasses.field(default_factory=list)
    refused: list[Problem] = dataclasses.field(default_factory=list)
    notes: list[Problem] = dataclasses.field(default_factory=list)


def admit_path(expansion: Expansion, rest: Rest, places: Places | None = None) -> Admitted:
    """Admit the new pods of *expansion*, which are changed in place, and those at PATH.

    With *places*, of the objects at PATH, ``Rules`` are strict, and the objects are validated too.
    """
    strict = places is not None
    rules = Rules.from_objects((expansion.kinds, rest.kinds), strict=strict)
    result = Admitted()
    if not rules:
        return result
    created = [each for each in expansion.objects if each["kind"] == "Pod" and not _is_stored(each)]
    if strict or rules.limits or rules.quotas or rules.runtimes:
        names = {_name(each) for each in expansion.objects if each["kind"] == "Pod"}
        result.changed += [each for each in _new_objects(expansion.kinds["Pod"]) if _name(each) not in names]
    pods = [*created, *result.changed]
    reasons: dict[Problem, None] = dict.fromkeys(_of_manifests(expansion, places)) if places is not None else {}
    invalid = {each.object for each in reasons}
    for pod in pods:
        origin = _origin(pod, expansion.origins)
        # The template of these pods has the same errors.
        for reason in rules.admit(pod) if origin not in invalid else ():
            at = places.place(pod, FieldPath("spec")) if places is not None and origin.startswith("Pod ") else ""
            reasons.setdefault(Problem(origin, f"{reason} ({at})" if at else reason))
    for group in _new_groups(expansion) if strict else ():
        for reason in rules.missing(group):
            reasons.setdefault(Problem(_origin(group, expansion.origins), reason))
    if places is not None:
        reasons |= dict.fromkeys(_of_scheduling(expansion, places))
    replaced = [content for each in rest.replaced if (content := parsed(each)) is not None]
    running = _running(expansion, rest) if rules.quotas else ()
    if strict:
        _admit_claims(expansion, rest, pods, result)
    for namespace, reason in quota_shortages(rules, pods, replaced, running):
        origins = dict.fromkeys(_origin(each, expansion.origins) for each in pods if namespace_of(each) == namespace)
        named = [*origins]
        more = f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else ""
        reasons.setdefault(Problem(f"{', '.join(named[:_NAMED])}{more}", reason))
    result.refused += reasons
    return result


def queue_notes(others: Iterable[GatheredObjects]) -> Iterator[Problem]:
    """Yield a note if the cluster has queues of Kueue."""
    queues = [each for each in others if each.kind == _QUEUE and group_of(each.api_version) == _KUEUE]
    if queues:
        yield Problem(
            _QUEUE, f"quotas of Kueue are not considered (the cluster has {len(queues):,} {_QUEUE}{'s' if len(queues) > 1 else ''})"
        )


def _admit_claims(expansion: Expansion, rest: Rest, pods: Iterable[Content], result: Admitted) -> None:
    """Set the default class of new claims, also of the ephemeral volumes of *pods*; bind the claims of classes that bind at once."""
    stored = (*expansion.kinds["StorageClass"], *rest.kinds["StorageClass"])
    classes = StorageClasses.from_objects(content for each in stored if (content := parsed(each)) is not None)
    if not classes.by_name:
        return
    for pod in pods:
        for volume in items(section(pod, "spec"), "volumes"):
            template = section(section(volume, "ephemeral"), "volumeClaimTemplate")
            if isinstance(template, dict):
                classes.set_default(template)
    created = [each for each in expansion.objects if each["kind"] == _CLAIM]
    own = [*_new_objects(expansion.kinds[_CLAIM])]
    for claim in (*created, *own):
        classes.set_default(claim)
        if (bound := classes.volume(claim)) is not None:
            result.changed.append(bound)
            result.notes.append(Problem(label(_CLAIM, (namespace_of(claim), _name(claim)[1])), PLACE_NOT_KNOWN))
    result.changed += own


def _of_manifests(expansion: Expansion, places: Places) -> Iterator[Problem]:
    """Yield the errors of the controllers' objects at PATH, with their positions."""
    for controller, manifest in zip(expansion.controllers, expansion.manifests, strict=True):
        for error in validation.errors_of_controller(manifest):
            at = places.place(manifest, error.path)
            yield Problem(controller.label, f"{validation.described(error)} ({at})" if at else validation.described(error))


def _of_scheduling(expansion: Expansion, places: Places) -> Iterator[Problem]:
    """Yield the errors of the new objects of ``scheduling.k8s.io`` at PATH, with their positions."""
    for kind in (*_GROUPS, "Workload"):
        for each in _new_objects(expansion.kinds[kind]):
            for error in validation.errors_of_scheduling(each):
                at = places.place(each, error.path)
                name = label(kind, (namespace_of(each), str(section(each, "metadata").get("name"))))
                yield Problem(name, f"{validation.described(error)} ({at})" if at else validation.described(error))


def _new_groups(expansion: Expansion) -> Iterator[Content]:
    yield from (each for each in expansion.objects if each["kind"] in _GROUPS)
    for kind in _GROUPS:
        yield from _new_objects(expansion.kinds[kind])


def _new_objects(objects: Iterable[GatheredObjects]) -> Iterator[Content]:
    """Yield those of the objects at PATH that the cluster does not have yet."""
    for each in objects:
        if _is_new(each) and (content := parsed(each)) is not None and isinstance(content.get("spec"), dict):
            yield content


def _is_new(gathered: GatheredObjects) -> bool:
    """Return whether the API server has not created an object yet; manifests can have the same fields without values."""
    if not any(field in bytes(gathered.text) for field in _EXISTS):
        return True
    return not _is_stored(parsed(gathered) or {})


def _running(expansion: Expansion, rest: Rest) -> Iterator[GatheredObjects]:
    """Yield the pods of the cluster and of PATH that are not new or replaced."""
    replaced = {whole_name(each) for each in rest.replaced}
    yield from (each for each in rest.kinds["Pod"] if whole_name(each) not in replaced)
    yield from (each for each in expansion.kinds["Pod"] if not _is_new(each))


def _is_stored(content: Content) -> bool:
    """Return whether the API server has created an object, or a scheduler has placed it."""
    metadata = section(content, "metadata")
    return bool(metadata.get("uid") or metadata.get("creationTimestamp") or section(content, "spec").get("nodeName"))


def _name(pod: Content) -> tuple[str, str]:
    return namespace_of(pod), str(section(pod, "metadata").get("name"))


def _origin(pod: Content, origins: Mapping[Name, str]) -> str:
    kind, namespace, name = str(pod.get("kind")), namespace_of(pod), str(section(pod, "metadata").get("name"))
    return origins.get(Name(kind, namespace, name)) or label(kind, (namespace, name))
