"""New PersistentVolumeClaims: those given, those that controllers create, and those of ephemeral volumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from expansion.admission.created_objects import ephemeral_claims
from expansion.admission.limit_ranges import LimitRanges
from expansion.admission.quota_charges import Rest, is_new, origin_of
from expansion.admission.static_volumes import StaticVolumes
from expansion.admission.storage_classes import StorageClasses
from expansion.contents import Content, full_name, items, namespace_of, parsed
from expansion.created import Expansion
from expansion.notes import PlaceUnknown, RefusedByServer
from kubeapi.decode import section
from kubeapi.gather import whole_name
from kubeapi.names import Name
from kubeapi.problem import Problem

CLAIM = "PersistentVolumeClaim"


class NewClaims:
    """New claims of *expansion*, created and given, and of the ephemeral volumes of *pods*, with the default StorageClass."""

    def __init__(self, expansion: Expansion, rest: Rest, pods: Sequence[Content]) -> None:
        self._origins = expansion.origins
        self._existing = {whole_name(each) for each in rest.kinds[CLAIM]}
        stored = (*expansion.kinds["StorageClass"], *rest.kinds["StorageClass"])
        self._classes = StorageClasses.from_objects(content for each in stored if (content := parsed(each)) is not None)
        self._volumes = [*expansion.kinds["PersistentVolume"], *rest.kinds["PersistentVolume"]]
        self._pods = pods
        self._created = [each for each in expansion.objects if each["kind"] == CLAIM]
        self._own = [content for each in expansion.kinds[CLAIM] if is_new(each) and _has_spec(content := parsed(each)) and content]
        if self._classes.by_name:
            for each in (*_templates(pods), *self._created, *self._own):
                self._classes.set_default(each)

    def changed(self) -> Iterator[Content]:
        """Bind the claims that do not wait for a pod; yield the volumes, the given claims, and those of ephemeral volumes."""
        claims = [*self._created, *self._own]
        existing = StaticVolumes((each for each in map(parsed, self._volumes if claims else ()) if each is not None), self._classes.delayed)
        bound_to_existing = [each for each in claims if existing.bind(each)]
        if self._classes.by_name or bound_to_existing:
            yield from (bound for each in claims if (bound := self._classes.volume(each)) is not None)
            yield from self._own
        if self._classes.by_name:
            for claim, _ in self._ephemeral():
                if (bound := self._classes.volume(claim)) is not None:
                    yield from (claim, bound)

    def notes(self) -> Iterator[Problem]:
        """Yield a note for each claim that was bound at once, for the ephemeral volumes of an object only one."""
        for each in (*self._created, *self._own):
            if section(each, "status").get("phase") == "Bound":
                yield Problem.about(Name(CLAIM, *full_name(each)), PlaceUnknown())
        bound = (origin for claim, origin in self._ephemeral() if self._classes.volume(claim) is not None)
        yield from (Problem.about(each, PlaceUnknown(ephemeral=True)) for each in dict.fromkeys(bound))

    def refusals(self, ranges: Mapping[str, LimitRanges]) -> Iterator[Problem]:
        """Yield the reasons why LimitRanges, by namespace, refuse claims."""
        named = ((each, origin_of(each, self._origins)) for each in (*self._created, *self._own))
        for claim, origin in (*named, *self._ephemeral()) if ranges else ():
            mine = ranges.get(namespace_of(claim))
            if mine is not None and full_name(claim) not in self._existing:
                yield from (Problem.about(origin, RefusedByServer(reason)) for reason in mine.claim_violations(claim))

    def _ephemeral(self) -> Iterator[tuple[Content, Name]]:
        """Yield the claims of ephemeral volumes that do not exist yet, each with the given object."""
        for pod in self._pods:
            for claim in ephemeral_claims(pod):
                if full_name(claim) not in self._existing:
                    yield claim, origin_of(pod, self._origins)


def _templates(pods: Sequence[Content]) -> Iterator[Content]:
    for pod in pods:
        for volume in items(section(pod, "spec"), "volumes"):
            template = section(section(volume, "ephemeral"), "volumeClaimTemplate")
            if isinstance(template, dict):
                yield template


def _has_spec(content: Content | None) -> bool:
    return content is not None and isinstance(content.get("spec"), dict)
