"""Pod forms: the parts of a spec that decide placement, shared by equal pods."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Collection, Hashable, Iterable, Iterator

from kubeapi import decode, pod_requests
from kubeapi.affinity import Affinity
from kubeapi.base_structs import Record, replaced
from kubeapi.device_shares import share_fields
from kubeapi.pods import Container, Pod, PodSpec, PodStatus, Toleration, TopologySpreadConstraint, Volume, has_tag
from scheduler_core.loading import object_errors
from scheduler_core.loading.extended_requests import Containers, extended_requests
from scheduler_core.loading.read_claim_requests import template_claim
from scheduler_core.model.attach_limits import Amount
from scheduler_core.model.delayed_claims import ClaimRequest
from scheduler_core.model.device_claims import DeviceNeed, PodEntry
from scheduler_core.model.pods import Port
from scheduler_core.model.volumes import PodClaim, VolumeNeed
from scheduler_core.plugins import registry

# Volume sources that scheduler plugins read: VolumeBinding, VolumeZone, NodeVolumeLimits (claims, and volumes that
# migrate to a CSI driver) and VolumeRestrictions.  An inline csi volume constrains nothing (Kubernetes 1.37.1, CSILimits.PreFilter).
_VOLUMES = {
    "persistent_volume_claim": "persistentVolumeClaim",
    "ephemeral": "ephemeral",
    "aws_elastic_block_store": "awsElasticBlockStore",
    "gce_persistent_disk": "gcePersistentDisk",
    "azure_disk": "azureDisk",
    "azure_file": "azureFile",
    "cinder": "cinder",
    "portworx_volume": "portworxVolume",
    "vsphere_volume": "vsphereVolume",
    "iscsi": "iscsi",
    "rbd": "rbd",
}
_sources = operator.attrgetter(*_VOLUMES)
_NO_SOURCES = (None,) * len(_VOLUMES)


Images = tuple[str, ...]
"""Images of a pod's containers, init containers and image volumes, with a tag; sorted."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ParsedPodSpec:
    """A PodShape before the rows of resources are known; equal pods share one object."""

    demand: pod_requests.PodRequests
    node_selector: tuple[tuple[str, str], ...]
    affinity: Affinity | None
    tolerations: tuple[Toleration, ...]
    spread: tuple[TopologySpreadConstraint, ...]
    ports: tuple[Port, ...]
    kept: tuple[tuple[str, Hashable], ...]
    unmodelled: tuple[str, ...]
    wrong: tuple[object_errors.FieldProblem, ...]
    """Errors in its constraints."""
    volumes: tuple[VolumeNeed, ...] = ()
    named_volumes: bool = False
    """True if its pods have volumes whose names matter."""
    devices: tuple[DeviceNeed, ...] = ()

    def requests(self) -> list[ClaimRequest]:
        """Return the specifications of the claims that wait for their first consumer."""
        return [each.request for each in self.volumes if each.request is not None]


class FormVolumes(Record, frozen=True):
    """Additions of a pod's claims to its form.

    Attributes:
        needs: requirements on nodes.
        modelled: fields that are modelled.
        requests: its volumes that count against limits, by row.
        named: True if the pods have volumes whose names matter.

    """

    needs: tuple[VolumeNeed, ...] = ()
    modelled: frozenset[str] = frozenset()
    requests: tuple[Amount, ...] = ()
    named: bool = False


class ParsedPodSpecs:
    """Cache of forms.

    Lookup is first by the encoded spec, which is fast, then by the content of the form.
    """

    def __init__(self) -> None:
        self._declared = registry.declared()
        self._by_spec: dict[bytes, tuple[ParsedPodSpec, Images, Containers]] = {}
        self._by_content: dict[bytes, ParsedPodSpec] = {}
        self._by_volumes: dict[tuple[ParsedPodSpec, FormVolumes], ParsedPodSpec] = {}
        self._by_devices: dict[tuple[ParsedPodSpec, tuple[DeviceNeed, ...], int], ParsedPodSpec] = {}

    def __len__(self) -> int:
        """Return the number of cached specs."""
        return len(self._by_spec) + len(self._by_volumes) + len(self._by_devices)

    def retain(self, forms: Collection[ParsedPodSpec]) -> None:
        """Drop all cached forms except *forms*."""
        self._by_spec = {key: found for key, found in self._by_spec.items() if found[0] in forms}
        self._by_content = {key: form for key, form in self._by_content.items() if form in forms}
        self._by_volumes = {key: form for key, form in self._by_volumes.items() if form in forms}
        self._by_devices = {key: form for key, form in self._by_devices.items() if form in forms}

    def form_for(self, pod: Pod) -> tuple[ParsedPodSpec, Images, Containers]:
        """Return the form of *pod*, its images and its extended resources.

        Raises:
            ValueError: a quantity is negative or unreadable; the text names the field.

        """
        spec = pod.spec
        unmodelled = tuple(_unmodelled(pod))
        volumes = tuple(each.image.reference for each in spec.volumes or () if each.image is not None)
        apart = self._declared.distinguishing(pod)
        key = decode.ENCODER.encode((_spec_fields(spec), _status_fields(pod.status), unmodelled, volumes, apart))
        if (found := self._by_spec.get(key)) is None:
            found = self._by_spec[key] = (
                self._interned(_form(pod, unmodelled, self._declared.kept_of_pod(pod))),
                _images(spec, volumes),
                extended_requests(spec),
            )
        return found

    def with_volumes(self, form: ParsedPodSpec, volumes: FormVolumes) -> ParsedPodSpec:
        """Return *form*, which has no requirements of claims yet, with those of *volumes*."""
        if volumes == _NO_VOLUMES:
            return form
        key = form, volumes
        if (resolved := self._by_volumes.get(key)) is None:
            unmodelled = tuple(field for field in form.unmodelled if field not in volumes.modelled)
            demand = form.demand
            if volumes.requests:
                demand = replaced(demand, requests=tuple(sorted((*demand.requests, *volumes.requests))))
            resolved = self._by_volumes[key] = self._interned(
                dataclasses.replace(form, demand=demand, unmodelled=unmodelled, volumes=volumes.needs, named_volumes=volumes.named)
            )
        return resolved

    def with_devices(self, form: ParsedPodSpec, needs: tuple[DeviceNeed, ...], entries: int) -> ParsedPodSpec:
        """Return *form* with the requirements of the claims in its first *entries* of ``spec.resourceClaims``, which are modelled."""
        key = form, needs, entries
        if (resolved := self._by_devices.get(key)) is None:
            modelled = {f"spec.resourceClaims[{index}]" for index in range(entries)}
            unmodelled = tuple(field for field in form.unmodelled if field not in modelled)
            resolved = self._by_devices[key] = self._interned(dataclasses.replace(form, unmodelled=unmodelled, devices=needs))
        return resolved

    def _interned(self, form: ParsedPodSpec) -> ParsedPodSpec:
        return self._by_content.setdefault(decode.ENCODER.encode(form), form)


_NO_VOLUMES = FormVolumes()


def _spec_fields(spec: PodSpec) -> tuple[object, ...]:
    """Return all fields that a form depends on, without volumes, whose names differ from pod to pod."""
    return (
        spec.containers,
        spec.init_containers,
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.topology_spread_constraints,
        spec.overhead,
        spec.resources,
        spec.host_network,
        spec.host_users,
        spec.ephemeral_containers,
    )


def _status_fields(status: PodStatus) -> tuple[object, ...]:
    """Return the status fields that requests depend on."""
    pending = [each.reason for each in status.conditions or () if each.type == "PodResizePending"]
    return status.container_statuses, status.init_container_statuses, status.allocated_resources, status.resources, pending


def _form(pod: Pod, unmodelled: tuple[str, ...], kept: tuple[tuple[str, Hashable], ...]) -> ParsedPodSpec:
    spec = pod.spec
    return ParsedPodSpec(
        pod_requests.demand(pod),
        tuple(sorted((spec.node_selector or {}).items())),
        None if spec.affinity == Affinity() else spec.affinity,
        spec.tolerations or (),
        spec.topology_spread_constraints or (),
        tuple(sorted({port for container in _running(spec) for port in _ports(container, host_network=spec.host_network)})),
        kept,
        unmodelled,
        tuple(object_errors.constraints(spec)),
    )


def _images(spec: PodSpec, volumes: Iterable[str]) -> Images:
    containers = (each.image for each in (*(spec.init_containers or ()), *(spec.containers or ())))
    return tuple(sorted(name if has_tag(name) else f"{name}:latest" for name in (*containers, *volumes)))


def _unmodelled(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    containers = (*(spec.containers or ()), *(spec.init_containers or ()))
    resources = [each for each in (spec.resources, *(each.resources for each in containers)) if each is not None]
    yield from share_fields(pod.metadata.annotations, (amounts for each in resources for amounts in (each.requests, each.limits)))
    for index, volume in enumerate(spec.volumes or ()):
        yield from (f"spec.volumes[{index}].{name}" for name in _constraining_sources(volume))
    for index in range(len(spec.resource_claims or ())):
        yield f"spec.resourceClaims[{index}]"


def claims_of(pod: str, spec: PodSpec) -> Iterator[PodClaim]:
    """Yield the persistent volume claims of the pod with the name *pod*."""
    for index, volume in enumerate(spec.volumes or ()):
        if (source := volume.persistent_volume_claim) is not None:
            name = source.get("claimName", "")
            if not isinstance(name, str):
                raise ValueError(f"spec.volumes[{index}].persistentVolumeClaim.claimName must be a string")
            yield PodClaim(index, name)
        elif volume.ephemeral is not None:
            yield PodClaim(index, f"{pod}-{volume.name}", template_claim(volume.ephemeral, f"spec.volumes[{index}].ephemeral"))


def entries_of(pod: Pod) -> tuple[PodEntry, ...]:
    """Return the entries of ``spec.resourceClaims``."""
    created = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses or ()}
    return tuple(
        PodEntry(
            each.name, each.resource_claim_name or "", each.resource_claim_template_name or "", each.name in created, created.get(each.name)
        )
        for each in pod.spec.resource_claims or ()
    )


def _constraining_sources(volume: Volume) -> Iterator[str]:
    # Most volumes have other sources, such as the token of the service account.
    if _sources(volume) != _NO_SOURCES:
        yield from (name for field, name in _VOLUMES.items() if getattr(volume, field) is not None)


def _running(spec: PodSpec) -> Iterator[Container]:
    """Return containers that run as long as the pod does."""
    yield from (each for each in spec.init_containers or () if each.restart_policy == "Always")
    yield from spec.containers or ()


def _ports(container: Container, *, host_network: bool) -> Iterator[Port]:
    for port in container.ports or ():
        # With hostNetwork every container port is a host port (core/v1 defaults).
        if number := port.host_port or (port.container_port if host_network else 0):
            yield port.protocol or "TCP", port.host_ip or "0.0.0.0", number  # noqa: S104
