"""Shares of devices that other schedulers give to pods, outside DRA: by annotations, or by resources whose sum over a node says nothing.

A pod with a share can be on a node only if one of its devices has enough left, which only the scheduler that divides the devices knows.
Resources of MIG devices (``nvidia.com/mig-1g.5gb``) and of time slicing are ordinary extended resources, and are no such shares.

Sources: KAI Scheduler 0.13, ``pkg/common/constants`` and ``docs/gpu-sharing``; HAMi 2.10, ``charts/hami`` (the configuration of devices) and
``pkg/device``; Volcano 1.15, ``pkg/scheduler/api/devices``; GPU Share of Alibaba Cloud, and Koordinator 1.7, by their documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubeapi.base_structs import Record

KAI, HAMI, VOLCANO = "KAI Scheduler", "HAMi", "Volcano"
ANNOTATIONS = {
    **dict.fromkeys(("gpu-fraction", "gpu-fraction-num-devices", "gpu-memory"), KAI),
    **dict.fromkeys(
        (f"nvidia.com/{key}" for key in ("nouse-gputype", "nouse-gpuuuid", "use-gputype", "use-gpuuuid", "vgpu-mode")),
        HAMI,
    ),
}
"""Annotations of pods, with the scheduler that obeys them."""
_ASCEND = ("Ascend310P", "Ascend910A", "Ascend910B2", "Ascend910B3", "Ascend910B4", "Ascend910B4-1", "Ascend910C")
_ILUVATAR = ("BI-V100", "BI-V150", "MR-V100", "MR-V50")
PARTS = {
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
        HAMI,
    ),
    **dict.fromkeys(
        (f"volcano.sh/{part}" for part in ("gpu-memory", "vgpu-cores", "vgpu-memory", "vgpu-memory-percentage", "vgpu-number")),
        VOLCANO,
    ),
    "aliyun.com/gpu-mem": "GPU Share of Alibaba Cloud",
    **dict.fromkeys((f"koordinator.sh/{part}" for part in ("gpu-core", "gpu-memory", "gpu-memory-ratio")), "Koordinator"),
}
"""Resources that are parts of one device each, with the scheduler that divides the devices."""


class Share(Record, frozen=True):
    """Request of a share of a device.

    Attributes:
        scheduler: the project that divides the devices.
        key: the annotation or the resource by which a pod requests it.
        annotation: whether it is an annotation.

    """

    scheduler: str
    key: str
    annotation: bool


_OF_ANNOTATION = {key: f"metadata.annotations[{key}]" for key in ANNOTATIONS}
_OF_PART = {key: f"spec.containers.resources[{key}]" for key in PARTS}
_REQUESTED = frozenset(PARTS)
SHARES: Mapping[str, Share] = {
    **{field: Share(ANNOTATIONS[key], key, annotation=True) for key, field in _OF_ANNOTATION.items()},
    **{field: Share(PARTS[key], key, annotation=False) for key, field in _OF_PART.items()},
}
"""What the fields of a pod request that have shares; that of a resource is without the kind and index of the container."""


def annotated_shares(annotations: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return the fields with shares of a pod with *annotations*."""
    # Called for each pod of a cluster, of which few have such an annotation.
    if not annotations or _OF_ANNOTATION.keys().isdisjoint(annotations):
        return ()
    return tuple(field for key, field in _OF_ANNOTATION.items() if key in annotations)


def share_fields(annotations: Mapping[str, str] | None, amounts: Iterable[Mapping[str, object] | None]) -> tuple[str, ...]:
    """Return the fields with shares of a pod with *annotations* and with *amounts* of its containers, those of annotations first."""
    # Called for each pod of a cluster, of which few request one: the intersection is made only for these.
    shared = (each for each in amounts if each and not _REQUESTED.isdisjoint(each))
    requested = {key for each in shared for key in _REQUESTED.intersection(each) if str(each[key]) != "0"}
    return (*annotated_shares(annotations), *(_OF_PART[key] for key in sorted(requested)))


def first_share(fields: Iterable[str]) -> Share | None:
    """Return the first share that one of *fields* of a pod requests; None if none of them does."""
    return next((SHARES[each] for each in fields if each in SHARES), None)
