"""Claims of pods to devices: the ResourceClaims that exist, and those that are still to be created from templates."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence

from kubeapi.gather import Name
from scheduler_core.loading.extended_resources import ExtendedSpecs
from scheduler_core.loading.pod_drafts import Draft
from scheduler_core.loading.pod_forms import PodForm, PodForms
from scheduler_core.model.device_claims import EXTENDED, DeviceClaim, DeviceNeed, DeviceObjects, KnownClaim, PodEntry, spec_of

GroupEntries = Callable[[Name], Mapping[PodEntry, str | None] | None]
"""Returns the entries of a PodGroup: each without its index, with the claim that was created for it; None if there is no such group."""


class _HeldError(Exception):
    """A claim that keeps the pod out of the scheduling queue; the message is kube-scheduler's."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Claim:
    """Claim of a pod: the index of its entry, its identity, and the object if it exists."""

    index: int
    identity: DeviceClaim
    name: str
    known: KnownClaim | None
    template: Name = ("", "")
    draft: Draft | None = None
    """The pod, for its extended resources."""
    reserved: bool = False
    """Whether it is reserved for the pod or its PodGroup."""


class PodDevices:
    """Resolves the claims of pods."""

    def __init__(self, objects: DeviceObjects, groups: GroupEntries) -> None:
        self._objects = objects
        self._groups = groups
        self._extended = ExtendedSpecs(objects.resources)

    def resolved(self, drafts: Sequence[Draft], forms: PodForms) -> list[Draft]:
        """Return *drafts* with the requirements of their claims."""
        found = {number: self._claims_or_reason(draft) for number, draft in enumerate(drafts) if self._has_claims(draft)}
        uses = Counter(key for claims, _ in found.values() for key in {each.identity.key for each in claims})
        shared = frozenset(key for key, count in uses.items() if count > 1)
        return [
            self._with_claims(draft, *found[number], forms, shared) if number in found else draft for number, draft in enumerate(drafts)
        ]

    def resolved_pod(self, draft: Draft, forms: PodForms, shared: Container[str]) -> Draft:
        """Return *draft* with the present requirements of its claims; *shared* are the keys of claims that several pods use."""
        if not self._has_claims(draft) and not draft.form.devices:
            return draft
        return self._with_claims(draft, *self._claims_or_reason(draft), forms, shared)

    def _has_claims(self, draft: Draft) -> bool:
        return bool(draft.entries) or self._has_extended(draft)

    def _claims_or_reason(self, draft: Draft) -> tuple[list[_Claim], str]:
        """Return the claims of a pod without a node, or the reason that keeps it out of the scheduling queue."""
        try:
            return ([] if draft.node else [*self._claims(draft), *self._extended_claims(draft)]), ""
        except _HeldError as error:
            return [], str(error)

    def _with_claims(self, draft: Draft, claims: list[_Claim], held: str, forms: PodForms, shared: Container[str]) -> Draft:
        form = self._form(draft, claims, forms, shared)
        return draft.with_attached(form, device_claims=tuple(each.identity for each in claims), held=held)

    def _form(self, draft: Draft, claims: Sequence[_Claim], forms: PodForms, shared: Container[str]) -> PodForm:
        needs = tuple(self._need(each, shared) for each in claims)
        return forms.with_devices(draft.form, needs, len(draft.entries))

    def _has_extended(self, draft: Draft) -> bool:
        return bool(draft.containers) and not draft.node and self._extended.find(draft.containers) is not None

    def _extended_claims(self, draft: Draft) -> Iterator[_Claim]:
        """Yield the claim for the extended resources of a pod, if it has any."""
        if self._has_extended(draft):
            label = f"pod/{draft.name[1]}/{EXTENDED}"
            yield _Claim(-1, DeviceClaim(f"{draft.name[0]}:{label}", label, is_extended=True), label, None, draft=draft)

    def _need_of_extended(self, draft: Draft) -> DeviceNeed:
        claims = self._objects.extended.get(draft.name, {})
        # A claim of a deleted pod of the same name is not its own; a pod or owner in a file can lack the uid.
        own = [allocated for uid, allocated in claims.items() if not uid or draft.uid in ("", uid)]
        if len(own) == 1 and own[0] is not None:
            return DeviceNeed("spec.containers", allocated=own[0])
        # kube-scheduler deletes a claim of an earlier attempt first.
        refusal = "cannot schedule extended resource claim" if own else ""
        return DeviceNeed("spec.containers", extended=self._extended.find(draft.containers), refusal=refusal)

    def _need(self, claim: _Claim, shared: Container[str]) -> DeviceNeed:
        if claim.draft is not None:
            return self._need_of_extended(claim.draft)
        field = f"spec.resourceClaims[{claim.index}]"
        if claim.known is not None and claim.known.allocation is not None:
            known = claim.known
            untimed = not known.timed and not claim.reserved
            return DeviceNeed(field, allocated=known.allocation, unavailable=known.failed, untimed=untimed)
        written = self._objects.templates[claim.template] if claim.known is None else claim.known.spec
        spec, refusal = spec_of(written)
        return DeviceNeed(field, spec, refusal=refusal, shared=claim.identity.key if claim.identity.key in shared else "")

    def _claims(self, draft: Draft) -> Iterator[_Claim]:
        """Yield the claims of a pod; an entry for which no claim is needed has none.  Raises _HeldError."""
        namespace, pod = draft.name
        entries = self._groups((namespace, draft.group)) or {}
        for index, each in enumerate(draft.entries):
            of_group = PodEntry(each.name, each.claim, each.template) in entries
            label = f"podgroup/{draft.group}/{each.name}" if of_group else f"pod/{pod}/{each.name}"
            if not each.claim and not each.template:
                raise _HeldError(f'pod "{namespace}/{pod}", spec.resourceClaim "{each.name}": none of the supported fields are set')
            if each.claim:
                yield self._existing(index, draft, each.claim, f"{namespace}/{each.claim}", of_group=of_group)
                continue
            created = entries.get(PodEntry(each.name, each.claim, each.template)) if of_group and not each.known else each.created
            if created:
                claim = self._existing(index, draft, created, label, of_group=of_group)
                self._check_owner(draft, claim)
                yield claim
            elif not each.known:
                if (namespace, each.template) not in self._objects.templates:
                    raise _HeldError(f'pod "{namespace}/{pod}": ResourceClaim not created yet')
                yield _Claim(index, DeviceClaim(f"{namespace}:{label}", label), label, None, (namespace, each.template))

    def _existing(self, index: int, draft: Draft, name: str, label: str, *, of_group: bool) -> _Claim:
        namespace = draft.name[0]
        key = f"{namespace}/{name}"
        if (known := self._objects.claims.get((namespace, name))) is None:
            raise _HeldError(f'could not find ResourceClaim "{key}"')
        if known.deleting:
            raise _HeldError(f'resourceclaim "{name}" is being deleted')
        return _Claim(index, DeviceClaim(key, label, of_group), name, known, reserved=_is_reserved(known, draft))

    def _check_owner(self, draft: Draft, claim: _Claim) -> None:
        """Raise _HeldError if a claim from a template was created for another pod, or an earlier one of the same name."""
        known, (namespace, pod) = claim.known, draft.name
        if known is None or (draft.group and known.owner == ("PodGroup", draft.group)):
            return
        if known.owner[0] == "Pod" and (known.owner_uid == draft.uid if known.owner_uid and draft.uid else known.owner[1] == pod):
            return
        why = f"neither Pod nor PodGroup {draft.group} is the owner" if draft.group else "Pod is not owner"
        raise _HeldError(f"ResourceClaim {namespace}/{claim.name} was not created for Pod {namespace}/{pod} ({why})")


def _is_reserved(known: KnownClaim, draft: Draft) -> bool:
    """Return whether a claim is reserved for a pod, by uid, or for its PodGroup, by name as in kube-scheduler; files can lack uids."""
    users = known.users - {""}
    of_pod = draft.uid in users if draft.uid and users else ("pods", draft.name[1]) in known.consumers
    return of_pod or ("podgroups", draft.group) in known.consumers
