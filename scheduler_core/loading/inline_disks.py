"""Disks of inline volumes: sources of a pod's volumes that are not claims and that other pods can use too."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping

from kubeapi.pods import PodSpec
from scheduler_core.model.volume_users import Disk

Source = Mapping[str, object]
_FIELDS = {
    "aws_elastic_block_store": ("awsElasticBlockStore", "volumeID"),
    "gce_persistent_disk": ("gcePersistentDisk", "pdName"),
    "iscsi": ("iscsi", "iqn"),
    "rbd": ("rbd", "image"),
}
"""Struct name, and field with the name of the disk, by attribute."""
_sources = operator.attrgetter(*_FIELDS)
_NO_SOURCES = (None,) * len(_FIELDS)
_POOL = "rbd"
"""Default pool of RBD images."""


def disks_of(spec: PodSpec) -> Iterator[tuple[str, Disk]]:
    """Yield the disks of a pod, each with its field.

    Raises:
        ValueError: a field has the wrong type; the text names it.

    """
    for index, volume in enumerate(spec.volumes or ()):
        if _sources(volume) == _NO_SOURCES:
            continue
        for attribute, (kind, name) in _FIELDS.items():
            if (source := getattr(volume, attribute)) is not None:
                field = f"spec.volumes[{index}].{kind}"
                yield field, _disk(kind, name, source, field)


def _disk(kind: str, name: str, source: Source, field: str) -> Disk:
    disk = _text(source, name, field)
    if kind == "rbd":
        disk = f"{_text(source, 'pool', field) or _POOL}/{disk}"
    read_only = source.get("readOnly") or False
    if not isinstance(read_only, bool):
        raise ValueError(f"{field}.readOnly must be a boolean")  # noqa: TRY004 - of the input
    # Two pods on a node cannot use one EBS volume at all.
    return Disk(kind, disk, read_only=read_only and kind != "awsElasticBlockStore", monitors=_monitors(source, field))


def _text(source: Source, name: str, field: str) -> str:
    value = source.get(name) or ""
    if not isinstance(value, str):
        raise ValueError(f"{field}.{name} must be a string")  # noqa: TRY004 - of the input
    return value


def _monitors(source: Source, field: str) -> tuple[str, ...]:
    monitors = source.get("monitors") or ()
    if not isinstance(monitors, list | tuple) or not all(isinstance(each, str) for each in monitors):
        raise ValueError(f"{field}.monitors must be a list of strings")
    return tuple(sorted(set(monitors)))
