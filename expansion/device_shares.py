"""Shares of devices that other schedulers give to pods, outside DRA: by annotations, or by resources whose sum over a node says nothing.

A pod with a share can be on a node only if one of its devices has enough left, which only the scheduler that divides the devices knows.
Resources of MIG devices (``nvidia.com/mig-1g.5gb``) and of time slicing are ordinary extended resources, and are no such shares.

Sources: KAI Scheduler 0.13, ``pkg/common/constants`` and ``docs/gpu-sharing``; HAMi 2.10, ``charts/hami`` (the configuration of devices) and
``pkg/device``; Volcano 1.15, ``pkg/scheduler/api/devices``; GPU Share of Alibaba Cloud, and Koordinator 1.7, by their documentation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from expansion.contents import Content, items, namespace_of, parsed
from expansion.notes import ShareNotJudged, SharesUncounted
from kubeapi.decode import section
from kubeapi.gather import gather
from kubeapi.gathered import GatheredObjects, Given, NameSearch, ObjectList
from workloadbuilder.adapters.shared.named_groups import NamedGroup, named_group

_KAI, _HAMI, _VOLCANO = "KAI Scheduler", "HAMi", "Volcano"
ANNOTATIONS = {
    **dict.fromkeys(("gpu-fraction", "gpu-fraction-num-devices", "gpu-memory"), _KAI),
    **dict.fromkeys(
        (f"nvidia.com/{key}" for key in ("nouse-gputype", "nouse-gpuuuid", "use-gputype", "use-gpuuuid", "vgpu-mode")),
        _HAMI,
    ),
}
"""Annotations of pods, with the scheduler that obeys them."""
_ASCEND = ("Ascend310P", "Ascend910A", "Ascend910B2", "Ascend910B3", "Ascend910B4", "Ascend910B4-1", "Ascend910C")
_ILUVATAR = ("BI-V100", "BI-V150", "MR-V100", "MR-V50")
_PARTS = {
    **dict.fromkeys(
        (
            *(f"nvidia.com/{part}" for part in ("gpucores", "gpumem", "gpumem-percentage")),
            *(f"amd.com/{part}" for part in ("gpucores", "gpumem")),
            *(f"cambricon.com/mlu.smlu.{part}" for part in ("vcore", "vmemory")),
            *(f"enflame.com/{part}" for part in ("gcu-core", "gcu-memory")),
            *(f"huawei.com/{chip}-{part}" for chip in _ASCEND for part in ("core", "memory")),
            *(f"hygon.com/{part}" for part in ("dcucores", "dcumem")),
            *(f"iluvatar.ai/{chip}.{part}" for chip in _ILUVATAR for part in ("vCore", "vMem")),
            "kunlunxin.com/vxpu-memory",
            *(f"metax-tech.com/{part}" for part in ("vcore", "vmemory")),
            *(f"mthreads.com/{part}" for part in ("sgpu-core", "sgpu-memory")),
        ),
        _HAMI,
    ),
    **dict.fromkeys(
        (f"volcano.sh/{part}" for part in ("gpu-memory", "vgpu-cores", "vgpu-memory", "vgpu-memory-percentage", "vgpu-number")),
        _VOLCANO,
    ),
    "aliyun.com/gpu-mem": "GPU Share of Alibaba Cloud",
    **dict.fromkeys((f"koordinator.sh/{part}" for part in ("gpu-core", "gpu-memory", "gpu-memory-ratio")), "Koordinator"),
}
"""Resources that are parts of one device each, with the scheduler that divides the devices."""
_KEYS = NameSearch((*ANNOTATIONS, *_PARTS))
REGISTERED = {"hami.io/node-nvidia-register": _HAMI, "volcano.sh/node-vgpu-register": _VOLCANO}
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
    annotations = section(section(pod, "metadata"), "annotations")
    if (key := next((each for each in ANNOTATIONS if each in annotations), None)) is not None:
        return ShareNotJudged(ANNOTATIONS[key], key, annotation=True)
    requested = _requested(pod)
    if (key := next((each for each in _PARTS if each in requested), None)) is not None:
        return ShareNotJudged(_PARTS[key], key, annotation=False)
    return None


def _requested(pod: Mapping[str, Any]) -> set[str]:
    spec = section(pod, "spec")
    holders = [spec, *items(spec, "containers"), *items(spec, "initContainers")]
    amounts = (section(section(holder, "resources"), part) for holder in holders for part in ("limits", "requests"))
    return {name for listed in amounts for name, amount in listed.items() if str(amount) != "0"}


def without_shares(pods: ObjectList) -> tuple[ObjectList, list[tuple[Content, ShareNotJudged]]]:
    """Return *pods* without those that wait for a share of a device, and these.

    The other members of their groups, which wait for them, are left out too.
    """
    left_out: list[tuple[Content, ShareNotJudged]] = []
    groups: dict[tuple[str, NamedGroup], ShareNotJudged] = {}

    def waits(gathered: GatheredObjects) -> bool:
        pod = parsed(gathered) if _KEYS.places(bytes(gathered.text)) else None
        share = share_of(pod) if pod is not None else None
        if pod is None or share is None or not _is_waiting(pod):
            return False
        left_out.append((pod, share))
        if (group := named_group(pod)) is not None:
            groups[namespace_of(pod), group] = share
        return True

    rest = _without(pods, waits, _KEYS)
    if not groups:
        return (rest if left_out else pods), left_out

    def is_member(gathered: GatheredObjects) -> bool:
        pod = parsed(gathered)
        group = named_group(pod)
        share = groups.get((namespace_of(pod), group)) if pod is not None and group is not None else None
        if pod is None or share is None or not _is_waiting(pod):
            return False
        left_out.append((pod, share))
        return True

    return _without(rest, is_member, NameSearch(group.name for _, group in groups)), left_out


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
    for pod in _running(kinds["Pod"], _KEYS, nodes):
        share, node_name = share_of(pod), pod["spec"]["nodeName"]
        groups = {*_gpu_groups(pod)}
        if share is not None and not (share.scheduler == _KAI and groups and groups <= reserved):
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
    return (content for each in listed.in_memory() if keys.places(bytes(each.text)) and (content := parsed(each)) is not None)
