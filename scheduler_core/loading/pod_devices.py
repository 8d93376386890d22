"""Claims of pods to devices: the ResourceClaims that exist, and those that are still to be created from templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from kubeapi.base_structs import Record
from kubeapi.gather import Name
from scheduler_core.loading.extended_resources import ExtendedSpecs
from scheduler_core.loading.parsed_pod_specs import ParsedPodSpec, ParsedPodSpecs
from scheduler_core.loading.parsed_pods import ParsedPod
from scheduler_core.model.device_claims import EXTENDED, DeviceClaim, DeviceNeed, DeviceObjects, KnownClaim, PodEntry, spec_of

GroupEntries = Callable[[Name], Mapping[PodEntry, str | None] | None]
"""Returns the entries of a PodGroup: each without its index, with the claim that was created for it; None if there is no such group."""


class _HeldError(Exception):
    """A claim that keeps the pod out of the scheduling queue; the message is kube-scheduler's."""


class _Claim(Record, frozen=True):
    """Claim of a pod: the index of its entry, its identity, and the object if it exists."""

    index: int
    identity: DeviceClaim
    name: str
    known: KnownClaim | None
    template: Name = ("", "")
    parsed_pod: ParsedPod | None = None
    """The pod, for its extended resources."""
    reserved: bool = False
    """Whether it is reserved for the pod or its PodGroup."""


class PodDevices:
    """Resolves the claims of pods."""

    def __init__(self, objects: DeviceObjects, groups: GroupEntries) -> None:
        self._objects = objects
        self._groups = groups
        self._extended = ExtendedSpecs(objects.resources)

    def resolved(self, parsed_pods: Sequence[ParsedPod], forms: ParsedPodSpecs) -> list[ParsedPod]:
        """Return *parsed_pods* with the requirements of their claims."""
        found = {
            number: self._claims_or_reason(parsed_pod) for number, parsed_pod in enumerate(parsed_pods) if self._has_claims(parsed_pod)
        }
        uses = Counter(key for claims, _ in found.values() for key in {each.identity.key for each in claims})
        shared = frozenset(key for key, count in uses.items() if count > 1)
        return [
            self._with_claims(parsed_pod, *found[number], forms, shared) if number in found else parsed_pod
            for number, parsed_pod in enumerate(parsed_pods)
        ]

    def resolved_pod(self, parsed_pod: ParsedPod, forms: ParsedPodSpecs, shared: Container[str]) -> ParsedPod:
        """Return *parsed_pod* with the present requirements of its claims; *shared* are the keys of claims that several pods use."""
        if not self._has_claims(parsed_pod) and not parsed_pod.form.devices:
            return parsed_pod
        return self._with_claims(parsed_pod, *self._claims_or_reason(parsed_pod), forms, shared)

    def _has_claims(self, parsed_pod: ParsedPod) -> bool:
        return bool(parsed_pod.entries) or self._has_extended(parsed_pod)

    def _claims_or_reason(self, parsed_pod: ParsedPod) -> tuple[list[_Claim], str]:
        """Return the claims of a pod without a node, or the reason that keeps it out of the scheduling queue."""
        try:
            return ([] if parsed_pod.node else [*self._claims(parsed_pod), *self._extended_claims(parsed_pod)]), ""
        except _HeldError as error:
            return [], str(error)

    def _with_claims(
        self, parsed_pod: ParsedPod, claims: list[_Claim], held: str, forms: ParsedPodSpecs, shared: Container[str]
    ) -> ParsedPod:
        form = self._form(parsed_pod, claims, forms, shared)
        return parsed_pod.with_attached(form, device_claims=tuple(each.identity for each in claims), held=held)

    def _form(self, parsed_pod: ParsedPod, claims: Sequence[_Claim], forms: ParsedPodSpecs, shared: Container[str]) -> ParsedPodSpec:
        needs = tuple(self._need(each, shared) for each in claims)
        return forms.with_devices(parsed_pod.form, needs, len(parsed_pod.entries))

    def _has_extended(self, parsed_pod: ParsedPod) -> bool:
        return bool(parsed_pod.containers) and not parsed_pod.node and self._extended.find(parsed_pod.containers) is not None

    def _extended_claims(self, parsed_pod: ParsedPod) -> Iterator[_Claim]:
        """Yield the claim for the extended resources of a pod, if it has any."""
        if self._has_extended(parsed_pod):
            label = f"pod/{parsed_pod.name[1]}/{EXTENDED}"
            yield _Claim(-1, DeviceClaim(f"{parsed_pod.name[0]}:{label}", label, is_extended=True), label, None, parsed_pod=parsed_pod)

    def _need_of_extended(self, parsed_pod: ParsedPod) -> DeviceNeed:
        claims = self._objects.extended.get(parsed_pod.name, {})
        # A claim of a deleted pod of the same name is not its own; a pod or owner in a file can lack the uid.
        own = [allocated for uid, allocated in claims.items() if not uid or parsed_pod.uid in ("", uid)]
        if len(own) == 1 and own[0] is not None:
            return DeviceNeed("spec.containers", allocated=own[0])
        # kube-scheduler deletes a claim of an earlier attempt first.
        refusal = "cannot schedule extended resource claim" if own else ""
        return DeviceNeed("spec.containers", extended=self._extended.find(parsed_pod.containers), refusal=refusal)

    def _need(self, claim: _Claim, shared: Container[str]) -> DeviceNeed:
        if claim.parsed_pod is not None:
            return self._need_of_extended(claim.parsed_pod)
        field = f"spec.resourceClaims[{claim.index}]"
        if claim.known is not None and claim.known.allocation is not None:
            known = claim.known
            untimed = not known.timed and not claim.reserved
            return DeviceNeed(field, allocated=known.allocation, unavailable=known.failed, untimed=untimed)
        written = self._objects.templates[claim.template] if claim.known is None else claim.known.spec
        spec, refusal = spec_of(written)
        return DeviceNeed(field, spec, refusal=refusal, shared=claim.identity.key if claim.identity.key in shared else "")

    def _claims(self, parsed_pod: ParsedPod) -> Iterator[_Claim]:
        """Yield the claims of a pod; an entry for which no claim is needed has none.  Raises _HeldError."""
        namespace, pod = parsed_pod.name
        entries = self._groups((namespace, parsed_pod.group)) or {}
        for index, each in enumerate(parsed_pod.entries):
            of_group = PodEntry(each.name, each.claim, each.template) in entries
            label = f"podgroup/{parsed_pod.group}/{each.name}" if of_group else f"pod/{pod}/{each.name}"
            if not each.claim and not each.template:
                raise _HeldError(f'pod "{namespace}/{pod}", spec.resourceClaim "{each.name}": none of the supported fields are set')
            if each.claim:
                yield self._existing(index, parsed_pod, each.claim, f"{namespace}/{each.claim}", of_group=of_group)
                continue
            created = entries.get(PodEntry(each.name, each.claim, each.template)) if of_group and not each.known else each.created
            if created:
                claim = self._existing(index, parsed_pod, created, label, of_group=of_group)
                self._check_owner(parsed_pod, claim)
                yield claim
            elif not each.known:
                if (namespace, each.template) not in self._objects.templates:
                    raise _HeldError(f'pod "{namespace}/{pod}": ResourceClaim not created yet')
                yield _Claim(index, DeviceClaim(f"{namespace}:{label}", label), label, None, (namespace, each.template))

    def _existing(self, index: int, parsed_pod: ParsedPod, name: str, label: str, *, of_group: bool) -> _Claim:
        namespace = parsed_pod.name[0]
        key = f"{namespace}/{name}"
        if (known := self._objects.claims.get((namespace, name))) is None:
            raise _HeldError(f'could not find ResourceClaim "{key}"')
        if known.deleting:
            raise _HeldError(f'resourceclaim "{name}" is being deleted')
        return _Claim(index, DeviceClaim(key, label, of_group), name, known, reserved=_is_reserved(known, parsed_pod))

    def _check_owner(self, parsed_pod: ParsedPod, claim: _Claim) -> None:
        """Raise _HeldError if a claim from a template was created for another pod, or an earlier one of the same name."""
        known, (namespace, pod) = claim.known, parsed_pod.name
        if known is None or (parsed_pod.group and known.owner == ("PodGroup", parsed_pod.group)):
            return
        if known.owner[0] == "Pod" and (known.owner_uid == parsed_pod.uid if known.owner_uid and parsed_pod.uid else known.owner[1] == pod):
            return
        why = f"neither Pod nor PodGroup {parsed_pod.group} is the owner" if parsed_pod.group else "Pod is not owner"
        raise _HeldError(f"ResourceClaim {namespace}/{claim.name} was not created for Pod {namespace}/{pod} ({why})")


def _is_reserved(known: KnownClaim, parsed_pod: ParsedPod) -> bool:
    """Return whether a claim is reserved for a pod, by uid, or for its PodGroup, by name as in kube-scheduler; files can lack uids."""
    users = known.users - {""}
    of_pod = parsed_pod.uid in users if parsed_pod.uid and users else ("pods", parsed_pod.name[1]) in known.consumers
    return of_pod or ("podgroups", parsed_pod.group) in known.consumers
