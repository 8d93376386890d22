"""Pods with shares of devices outside DRA (``kubeapi.device_shares``), and the nodes on which others have shares of whole devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from expansion.contents import Content, items, namespace_of, parsed
from expansion.marked_pods import SHARES, marked_pods
from expansion.notes import ShareNotJudged, SharesUncounted
from kubeapi.decode import section
from kubeapi.device_shares import HAMI, KAI, VOLCANO, first_share, share_fields
from kubeapi.gather import gather
from kubeapi.gathered import GatheredObjects, Given, NameSearch, ObjectList
from workloadbuilder.adapters.shared.named_groups import named_group

REGISTERED = {"hami.io/node-nvidia-register": HAMI, "volcano.sh/node-vgpu-register": VOLCANO}
"""Annotations of nodes whose GPUs are divided; with HAMi, the node has a multiple of them as allocatable ``nvidia.com/gpu``."""
WHOLE = frozenset({"amd.com/gpu", "nvidia.com/gpu"})
"""Resources of whole devices, of which others have shares."""
_RESERVATIONS = "kai-resource-reservation"
"""Namespace of the pods with which KAI takes a whole GPU for the pods that share it."""
_GPU_GROUP = re.compile(r"runai-gpu-group(/.*)?")
"""Labels that name such a GPU."""
_ENDED = frozenset({"Failed", "Succeeded"})


def share_of(pod: Mapping[str, Any]) -> ShareNotJudged | None:
    """Return the share of a device that a pod requests; None if it requests none."""
    spec, annotations = section(pod, "spec"), section(section(pod, "metadata"), "annotations")
    holders = [spec, *items(spec, "containers"), *items(spec, "initContainers")]
    amounts = (section(section(holder, "resources"), part) for holder in holders for part in ("limits", "requests"))
    share = first_share(share_fields(annotations, amounts))
    return None if share is None else ShareNotJudged(share.scheduler, share.key, annotation=share.annotation)


def without_shares(pods: ObjectList) -> tuple[ObjectList, list[tuple[Content, ShareNotJudged]]]:
    """Return *pods* without those that wait for a share of a device, and these.

    The other members of their groups, which wait for them, are left out too.
    """
    left_out = [waiting for each in marked_pods(pods, SHARES) if (waiting := _waiting(each)) is not None]
    if not left_out:
        return pods, left_out
    rest = _without(pods, lambda each: _waiting(each) is not None, SHARES)
    groups = {(namespace_of(pod), group): share for pod, share in left_out if (group := named_group(pod)) is not None}
    if not groups:
        return rest, left_out

    def is_member(gathered: GatheredObjects) -> bool:
        pod = parsed(gathered)
        group = named_group(pod)
        share = groups.get((namespace_of(pod), group)) if pod is not None and group is not None else None
        if pod is None or share is None or not _is_waiting(pod):
            return False
        left_out.append((pod, share))
        return True

    return _without(rest, is_member, NameSearch(group.name for _, group in groups)), left_out


def _waiting(gathered: GatheredObjects) -> tuple[Content, ShareNotJudged] | None:
    """Return a pod with the share of a device that it waits for; None if it waits for none."""
    pod = parsed(gathered)
    share = share_of(pod) if pod is not None else None
    return (pod, share) if pod is not None and share is not None and _is_waiting(pod) else None


def _without(pods: ObjectList, excluded: Callable[[GatheredObjects], bool], names: NameSearch) -> ObjectList:
    kinds, _ = gather(pods.given(excluded, names if names.are_few else None))
    return kinds["Pod"]


def _is_waiting(pod: Mapping[str, Any]) -> bool:
    return not section(pod, "spec").get("nodeName") and section(pod, "status").get("phase") not in _ENDED


def uncounted_shares(objects: Iterable[Given], nodes: Collection[str]) -> Iterator[tuple[str, SharesUncounted]]:
    """Yield the names of those of *nodes* whose whole devices others may have shares of, which is not counted, with the reason.

    The devices that KAI shares are counted if its reservation pods are among *objects*.
    """
    kinds, _ = gather(objects)
    for node in _with_keys(kinds["Node"], NameSearch(REGISTERED)):
        name, annotations = str(section(node, "metadata").get("name")), section(section(node, "metadata"), "annotations")
        if name in nodes and (key := next((each for each in REGISTERED if each in annotations), None)) is not None:
            yield name, SharesUncounted(name, REGISTERED[key], key)
    reserved = {(node, group) for pod in _running(kinds["Pod"], NameSearch((_RESERVATIONS,)), nodes) for node, group in _gpu_groups(pod)}
    for pod in _running(kinds["Pod"], SHARES, nodes):
        share, node_name = share_of(pod), pod["spec"]["nodeName"]
        groups = {*_gpu_groups(pod)}
        if share is not None and not (share.scheduler == KAI and groups and groups <= reserved):
            yield node_name, SharesUncounted(node_name, share.scheduler, share.key)


def _gpu_groups(pod: Content) -> Iterator[tuple[str, str]]:
    """Yield the node of a pod with each of the GPUs that it shares, or reserves for others, on the node."""
    for key, value in section(section(pod, "metadata"), "labels").items():
        if named := _GPU_GROUP.fullmatch(key):
            yield pod["spec"]["nodeName"], (named[1] or "").removeprefix("/") or str(value)


def _running(pods: ObjectList, keys: NameSearch, nodes: Collection[str]) -> Iterator[Content]:
    for pod in _with_keys(pods, keys):
        if section(pod, "spec").get("nodeName") in nodes and section(pod, "status").get("phase") not in _ENDED:
            yield pod


def _with_keys(listed: ObjectList, keys: NameSearch) -> Iterator[Content]:
    """Yield those of the objects whose text has one of *keys*: a large cluster has few of them."""
    return (content for each in listed.with_names(keys) if (content := parsed(each)) is not None)
