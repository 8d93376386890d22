"""Pods, unique by name: first parsed pods, then records once nodes and priority classes are known."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Container, Hashable, Iterable, Mapping

from kubeapi.controllers import CONTROLLERS
from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects, Objects, Unusable
from kubeapi.meta import Condition, OwnerReference
from kubeapi.pods import DEFAULT_SCHEDULER, Pod, PodStatus
from kubeapi.problem import Problem
from scheduler_core.causes.input_problems import NodeUnknown
from scheduler_core.loading.extended_requests import Containers
from scheduler_core.loading.inline_disks import disks_of
from scheduler_core.loading.parsed_pod_specs import (
    FormVolumes,
    Images,
    ParsedPodSpec,
    ParsedPodSpecs,
    claims_of,
    entries_of,
)
from scheduler_core.loading.parsed_pods import NOTHING_ATTACHED, Attached, ParsedPod, Traits
from scheduler_core.loading.pod_text_cache import PodTextCache, SharedTexts
from scheduler_core.loading.read_objects import name_in, one_each, typed
from scheduler_core.model.attach_limits import AttachLimits
from scheduler_core.model.delayed_claims import Provisioner
from scheduler_core.model.names import Name as ObjectName
from scheduler_core.model.pods import Health
from scheduler_core.model.volume_users import VolumeKey
from scheduler_core.model.volumes import ClaimName, PodClaim, PodVolumes, VolumeObjects

_MOST_TRAITS = 20_000
"""Maximum number of traits that are remembered for pods with equal ones."""
_ENDED = frozenset({"Succeeded", "Failed"})


def read_pods(
    objects: Objects, nodes: Mapping[str, object], volumes: VolumeObjects, problems: list[Problem]
) -> tuple[list[ParsedPod], Reader]:
    """Return the usable pods that have not finished, sorted by name, and their reader; the node of a bound pod must exist."""
    reader = Reader(nodes=nodes)
    parsed_pods = [*filter(None, one_each(objects, reader.read_pod, problems, "/".join).good.values())]
    parsed_pods.sort(key=operator.attrgetter("key"))
    parsed_pods = [reader.find_volumes(each, volumes) for each in parsed_pods]
    shared = _shared_claims(parsed_pods)
    if unknown := reader.texts.nodes - {"", *nodes}:
        problems += [unknown_node(each) for each in parsed_pods if each.node in unknown]
        parsed_pods = [each for each in parsed_pods if each.node not in unknown]
    # Only after all users of a volume are known.
    return [reader.resolve_claims(each, volumes, shared) for each in parsed_pods], reader


def _shared_claims(parsed_pods: Iterable[ParsedPod]) -> frozenset[Name]:
    """Return the claims that pods without a node use more than once."""
    with_claims = (each for each in parsed_pods if each.attached.claims and not each.node)
    uses = Counter((each.namespace, claim.name) for each in with_claims for claim in each.claims)
    return frozenset(name for name, count in uses.items() if count > 1)


def unknown_node(parsed_pod: ParsedPod) -> Problem:
    """Return the problem of a pod whose node does not exist."""
    return Problem.about(ObjectName("Pod", *parsed_pod.name), NodeUnknown(parsed_pod.node))


class Reader:
    """Reads pods; interns texts that occur in many pods, such as node names, namespaces and labels.

    *membership* are label keys that name a pod's PodGroup if its spec names none; the first one present is used.  *nodes* are names of
    nodes, as texts to share.
    """

    def __init__(self, membership: tuple[str, ...] = (), nodes: Iterable[str] = ()) -> None:
        self._membership = membership
        self.forms = ParsedPodSpecs()
        self.texts = SharedTexts(nodes)
        self._equal_pods = PodTextCache(self.texts)
        self._known_traits: dict[tuple[Hashable, ...], Traits] = {}

    def read_pod(self, gathered: GatheredObjects) -> tuple[str, ParsedPod | None]:
        """Return the key and the parsed pod of a pod; None if it has finished."""
        text = gathered.text
        if not self._membership and (equal := self._equal_pods.parsed_pod(text)) is not None:
            return equal
        pod = typed(GatheredObjects(gathered.kind, gathered.api_version, text), Pod)
        namespace, name = name_in(gathered.kind, pod.metadata)
        parsed_pod = self.parsed_pod((self.texts.shared(namespace), name), pod)
        self._equal_pods.remember(parsed_pod)
        return f"{namespace}/{name}", parsed_pod

    def parsed_pod(self, name: Name, pod: Pod) -> ParsedPod | None:
        """Return the parsed pod of *pod*; None if it has finished.

        Raises:
            Unusable: a quantity is negative or unreadable.

        """
        if pod.status.phase in _ENDED:
            return None
        try:
            form, images, containers = self.forms.form_for(pod)
            disks = tuple(disks_of(pod.spec))
            claims = tuple(claims_of(name[1], pod.spec))
            entries = entries_of(pod) if pod.spec.resource_claims else ()
        except ValueError as error:
            raise Unusable(str(error)) from None
        meta, spec, nominated = pod.metadata, pod.spec, pod.status.nominated_node_name
        group = self.group(pod)
        return ParsedPod(
            key="/".join(name),
            namespace=self.texts.shared(name[0]),
            form=form,
            traits=self._traits(pod, group, images, containers),
            labels=self.texts.labels(meta.labels, name[1]),
            node=self.texts.node(spec.node_name, spec.node_name),
            group=self.texts.shared(group),
            created=self.texts.shared(meta.creation_timestamp or ""),
            started=self.texts.shared(pod.status.start_time or ""),
            terminating=meta.deletion_timestamp is not None,
            uid=meta.uid if containers or entries or spec.node_name else "",
            attached=Attached(nominated, claims, disks=disks, entries=entries)
            if nominated or claims or disks or entries
            else NOTHING_ATTACHED,
        )

    def _traits(self, pod: Pod, group: str, images: Images, containers: Containers) -> Traits:
        spec, status = pod.spec, pod.status
        # In the order of the fields of Traits.
        values = (
            spec.priority,
            spec.priority_class_name,
            spec.preemption_policy,
            None if group else spec.workload_ref,
            spec.scheduler_name or DEFAULT_SCHEDULER,
            any(map(_is_preemption, status.conditions or ())),
            tuple(each.name for each in spec.scheduling_gates or ()),
            _health(status),
            images,
            _controller(pod.metadata.owner_references),
            containers,
        )
        if (known := self._known_traits.get(values)) is None:
            if len(self._known_traits) >= _MOST_TRAITS:
                self._known_traits.clear()
            known = self._known_traits[values] = Traits(*values)
        return known

    def find_volumes(self, parsed_pod: ParsedPod, volumes: VolumeObjects) -> ParsedPod:
        """Return *parsed_pod* with its CSI volumes and ReadWriteOncePod claims, and record it as user of what it uses."""
        if parsed_pod.attached is NOTHING_ATTACHED or not (parsed_pod.claims or parsed_pod.disks):
            return parsed_pod
        single_pod = _single_pod_claims(volumes, parsed_pod.name[0], parsed_pod.claims)
        inline = (volume for _, disk in parsed_pod.disks if (volume := disk.csi) is not None)
        found = tuple(sorted({*_csi_volumes(volumes, parsed_pod.name[0], parsed_pod.claims), *inline}))
        if (found, single_pod) != (parsed_pod.csi_volumes, parsed_pod.single_pod):
            parsed_pod = parsed_pod.with_attached(csi_volumes=found, single_pod=single_pod)
        volumes.users.add(parsed_pod.key, parsed_pod.node, parsed_pod.uses)
        return parsed_pod

    def resolve_claims(self, parsed_pod: ParsedPod, volumes: VolumeObjects, shared: Container[Name] = ()) -> ParsedPod:
        """Return *parsed_pod* with the requirements of its claims in its form; for a pod with a node, only with its volumes that count.

        *shared* are claims that several pods without a node use.
        """
        if parsed_pod.attached is NOTHING_ATTACHED or not (parsed_pod.claims or parsed_pod.disks):
            return parsed_pod
        attach = volumes.attach or AttachLimits()
        counted = attach.of_pod(parsed_pod.key, parsed_pod.node, parsed_pod.csi_volumes, volumes.users)
        named = volumes.users.named(parsed_pod.name, counted.shared, parsed_pod.single_pod, [disk for _, disk in parsed_pod.disks])
        unresolved = parsed_pod.unresolved or parsed_pod.form
        resolved = PodVolumes((), frozenset(), ()) if parsed_pod.node else volumes.of_pod(parsed_pod.name, parsed_pod.claims, shared)
        disks = {field for field, disk in parsed_pod.disks if _is_modelled(volumes, disk.csi)}
        added = FormVolumes(resolved.needs, resolved.modelled | disks, counted.requests, bool(named))
        return parsed_pod.with_attached(
            self.forms.with_volumes(unresolved, added),
            bound_claims=resolved.bound,
            delayed_claims=resolved.delayed,
            named_volumes=named,
            unresolved=unresolved,
        )

    def __len__(self) -> int:
        """Return the number of cached specs."""
        return len(self.forms)

    def retain(self, forms: Collection[ParsedPodSpec]) -> None:
        """Drop all cached forms except *forms*."""
        self.forms.retain(forms)

    def group(self, pod: Pod) -> str:
        """Return the name of the PodGroup of *pod*; empty if none."""
        labels = pod.metadata.labels
        if (group := pod.group) or pod.spec.workload_ref is not None or not labels:
            return group
        return next((group_name for key in self._membership if (group_name := labels.get(key))), "")


def _controller(owners: Iterable[OwnerReference] | None) -> tuple[str, str]:
    """Return kind and name of the controller among *owners*; empty texts if its selector is not used."""
    for owner in owners or ():
        if owner.controller:
            return (owner.kind, owner.name) if CONTROLLERS.get(owner.kind) == owner.api_version else ("", "")
    return "", ""


def _csi_volumes(objects: VolumeObjects, namespace: str, claims: Iterable[PodClaim]) -> set[VolumeKey]:
    """Return the CSI volumes of the *claims* of a pod in *namespace*."""
    found = (_csi_volume(objects, (namespace, each.name), each) for each in claims)
    return {volume for volume in found if volume is not None}


def _single_pod_claims(objects: VolumeObjects, namespace: str, claims: Iterable[PodClaim]) -> tuple[str, ...]:
    """Return the ReadWriteOncePod claims of a pod in *namespace*; those of ephemeral volumes do not count."""
    names = sorted({each.name for each in claims if each.template is None})
    return tuple(name for name in names if (claim := objects.claims.get((namespace, name))) is not None and claim.single_pod)


def _is_modelled(objects: VolumeObjects, volume: VolumeKey | None) -> bool:
    """Return whether an inline disk is modelled that counts as *volume*; None if it does not count."""
    return volume is None or (objects.attach is not None and volume[0] not in objects.attach.required)


def _csi_volume(objects: VolumeObjects, name: ClaimName, of_pod: PodClaim) -> VolumeKey | None:
    """Return the CSI volume of a claim, by the provisioner of its class if it has none; None for a volume of another kind."""
    if (claim := objects.claim(name, of_pod)) is None:
        return None
    if (volume := objects.volumes.get(claim.volume)) is not None:
        # The handle of a migrated volume is not read: each PersistentVolume counts as one volume.
        return volume.key or ((volume.driver, f"volume {claim.volume}") if volume.driver else None)
    provisioner = objects.provisioners.get(claim.storage_class, Provisioner())
    return (provisioner.driver, f"claim {'/'.join(name)}") if provisioner.driver else None


def _health(status: PodStatus) -> Health:
    if status.phase == "Pending":
        return Health.STARTING
    ready = any(each.type == "Ready" and each.status == "True" for each in status.conditions or ())
    # Objects in files often have no status.
    return Health.READY if ready or not status.phase else Health.UNREADY


def _is_preemption(condition: Condition) -> bool:
    return condition.type == "DisruptionTarget" and condition.status == "True" and condition.reason == "PreemptionByScheduler"
