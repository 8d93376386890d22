"""Wording of rejections by volumes: the claims and volumes that exclude nodes, by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from kubeapi import resource_names
from scheduler_core.causes.node_count import NodeLabel
from scheduler_core.causes.volume_causes import (
    BoundVolume,
    InsufficientStorage,
    MissingObject,
    NoFreeVolume,
    OtherNodeSelected,
    OutsideAllowedTopologies,
    SharedClaimElsewhere,
    StorageOffer,
    StorageShortage,
    UnboundClaim,
    VolumeAffinityConflict,
    VolumeCause,
    VolumeElsewhere,
    VolumeReserved,
    VolumesNotHeld,
    VolumeZoneConflict,
)
from scheduler_core.model.names import NamedClaim
from scheduler_core.model.volumes import ClaimState
from scheduler_core.wording import phrases
from scheduler_core.wording.nouns import SHOWN, any_of, counted, labelled_nodes, listed

_CLAIMS = 2
"""Maximum number of claims in a reason."""


def volume_words(cause: VolumeCause) -> str:  # noqa: C901, PLR0911 - one case for each kind of cause
    """Return *cause* in words, with the names of claims and volumes."""
    match cause:
        case VolumeAffinityConflict():
            return f"{phrases.no_match(cause.nodes)} the node affinity of its volumes: {_bound(cause.volumes)}"
        case VolumeZoneConflict():
            return f"{phrases.verb(cause.nodes, 'is', 'are')} outside the zones of its volumes: {_bound(cause.volumes)}"
        case OtherNodeSelected():
            return f"{phrases.some_of(cause.nodes)} cannot be used: node {cause.node} is selected for claim {cause.claim.short_name}"
        case InsufficientStorage():
            return f"storage class {cause.storage_class} {_offered(cause)}, {_size(cause.needed)} needed for claim {cause.claim.short_name}"
        case VolumeReserved():
            return f"{phrases.some_of(cause.nodes)} cannot use volume {cause.volume}, which is reserved for claim {cause.claim.short_name}"
        case NoFreeVolume():
            with_size = f" with {_size(cause.size)}" if cause.size else ""
            volume = f"no free volume of class {cause.storage_class}{with_size} for claim {cause.claim.short_name}"
            return f"{phrases.verb(cause.nodes, 'has', 'have')} {volume}"
        case OutsideAllowedTopologies():
            topologies = f"the allowed topologies of class {cause.storage_class}, which claim {cause.claim.short_name} uses"
            return f"{phrases.verb(cause.nodes, 'is', 'are')} outside {topologies}"
        case SharedClaimElsewhere():
            shared = "the volume of a claim that several pods share: the first pod selects its node"
            return f"{phrases.some_of(cause.nodes)} cannot use {shared}"
        case UnboundClaim():
            return f"{cause.reason}: {_unbound(cause)}"
        case MissingObject():
            name = f"{cause.object.namespace}/{cause.object.name}".lstrip("/")
            return f"{cause.reason} (there is no {cause.object.kind} {name})"
    assert_never(cause)


def elsewhere(cause: VolumeElsewhere, noun: str) -> str:
    """Return where a bound volume is, and to which domains the *noun* (pod or group) is confined."""
    where = f"claim {cause.claim.short_name} is bound to volume {cause.volume} {_place(cause.place)}"
    return f"{where}; the {noun} is confined to {any_of(cause.confined)}"


def storage_exceeded(classes: Iterable[StorageShortage]) -> str:
    """Return what each storage class offers, and what the claims need together."""
    return "; ".join(
        f"storage class {each.storage_class} offers {listed([_offer(offer) for offer in each.offers], SHOWN)},"
        f" {_size(each.needed)} needed for {counted(each.claim_count, 'claim')}"
        for each in classes
    )


def volumes_not_held(warning: VolumesNotHeld) -> str:
    """Return a warning about volumes that are given to several claims, and about pods without volumes."""
    wrong = [
        f"volume {volume} is given to claims {_names(claims)}, of which only one is bound" for volume, claims in warning.shared_volumes
    ]
    wrong += [f"pod {name} cannot use the volume of its claim on its node" for name in warning.pod_names[:SHOWN]]
    cause = "kube-scheduler does not hold volumes between the groups of a tree"
    return f"{listed(wrong)}: {cause}, so some of the pods stay pending; strategy complete holds them"


def _names(claims: Iterable[NamedClaim]) -> str:
    return listed([each.short_name for each in claims])


def _bound(volumes: Iterable[BoundVolume]) -> str:
    """Return the places of volumes: ``on node n1``, ``in zone z1``, or ``with node affinity`` if they are not simple expressions."""
    places = ((each, " and ".join(map(_place, each.places)) or "with node affinity") for each in volumes)
    return listed([f"claim {each.claim.short_name} is bound to volume {each.volume} {where}" for each, where in places], _CLAIMS)


def _place(label: NodeLabel) -> str:
    return labelled_nodes(label.key, label.values)


def _size(value: int) -> str:
    return resource_names.size("memory", value)


def _offer(offer: StorageOffer) -> str:
    return f"{_size(offer.size)} {_place(offer.place) if offer.place is not None else ''}".strip()


def _offered(cause: InsufficientStorage) -> str:
    """Return the storage for the largest volume on the refused nodes."""
    if (offer := cause.offer) is None:
        return f"has no storage capacity for {phrases.some_of(cause.nodes)}"
    size = _size(offer.size)
    if offer.place is not None:
        return f"offers at most {size}, {_place(offer.place)}" if offer.others_smaller else f"offers {size} {_place(offer.place)}"
    return f"offers {'at most ' if offer.others_smaller else ''}{size} for a volume on {phrases.some_of(cause.nodes)}"


def _unbound(cause: UnboundClaim) -> str:
    """Return why a claim is not bound."""
    claim = f"the claim of {cause.field.rpartition('.')[0]}"
    if cause.state is ClaimState.BINDING:
        return f"{claim} names a volume, but its binding is not complete"
    if cause.state is ClaimState.NO_CLASS:
        return f"there is no StorageClass {cause.storage_class}"
    if not cause.storage_class:
        return f"{claim} has no StorageClass, and no volume is bound to it"
    return f"{claim} has no volume, and StorageClass {cause.storage_class} does not wait for a pod"
