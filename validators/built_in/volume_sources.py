"""Sources of the volumes of a pod.

Source: Kubernetes 1.37.1, pkg/apis/core/validation, validateVolumeSource.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.built_in import volume_claims, volume_files
from validators.built_in.shared_checks import Content, below, formatted, needed, number, one_of, reference, text
from validators.field import FieldError

_SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi", "glusterfs", "flocker",
    "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc", "flexVolume", "configMap", "azureFile",
    "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
"""Sources in the order in which the API server looks for them: it refuses all but the first."""
_NEEDED = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "configMap": ("name",),
    "csi": ("driver",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "hostPath": ("path",),
    "image": ("reference",),
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "quobyte": ("registry", "volume"),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "secret": ("secretName",),
    "storageos": ("volumeName",),
    "vsphereVolume": ("volumePath",),
}
"""Fields that must not be empty."""
_LARGEST_UNIT = 255
"""Of a partition, and of a logical unit."""
_LONGEST_DRIVER = 63
_LONGEST_TENANT = 64
_LONGEST_TARGET = 64
_is_address = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]*):[^\[\]:]*").fullmatch
"""A host and a port, either of which may be empty: SplitHostPort of Go, net."""
_INITIATORS = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.[A-Za-z0-9.-]+:[^,;*&$|\s]+\Z", re.ASCII).search,
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}", re.ASCII).fullmatch,
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}", re.ASCII).fullmatch,
}
"""Forms of the names of iSCSI, by their first letters."""


def volume_source(volume: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the source of a volume, whose other field is its name."""
    sources = sorted(volume.keys() - {"name"}, key=_rank)
    for extra in sources[1:]:
        yield field.forbidden(at / extra, "may not specify more than 1 volume type")
    for source in sources[:1]:
        given, path = section(volume, source), at / source
        yield from needed(given, path, *_NEEDED.get(source, ()))
        yield from volume_files.files(source, given, path)
        if source in _CHECKS:
            yield from _CHECKS[source](given, path)
    initiated = section(volume, "iscsi")
    if initiated.get("initiatorName") is not None and len(f"{text(volume, 'name')}:{text(initiated, 'targetPortal')}") > _LONGEST_TARGET:
        detail = f"with iscsi.initiatorName, the name and iscsi.targetPortal must have less than {_LONGEST_TARGET} characters"
        yield field.invalid(at / "name", text(volume, "name"), detail)


def _rank(source: str) -> int:
    return _SOURCES.index(source) if source in _SOURCES else len(_SOURCES)


def _empty_directory(given: Content, at: FieldPath) -> Iterator[FieldError]:
    if str(given.get("sizeLimit")).startswith("-"):
        yield field.forbidden(at / "sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path(given: Content, at: FieldPath) -> Iterator[FieldError]:
    if ".." in text(given, "path").split("/"):
        yield field.invalid(at / "path", text(given, "path"), "must not contain '..'")


def _git_repository(given: Content, at: FieldPath) -> Iterator[FieldError]:
    yield from below(text(given, "directory"), at / "directory")


def _partition(given: Content, at: FieldPath) -> Iterator[FieldError]:
    if not 0 <= number(given, "partition") <= _LARGEST_UNIT:
        yield field.invalid(at / "partition", number(given, "partition"), f"must be between 0 and {_LARGEST_UNIT}, inclusive")


def _network_file_system(given: Content, at: FieldPath) -> Iterator[FieldError]:
    if not (path := text(given, "path")).startswith("/"):
        yield field.invalid(at / "path", path, "must be an absolute path")


def _iscsi(given: Content, at: FieldPath) -> Iterator[FieldError]:
    for name in ("iqn", "initiatorName"):
        value = text(given, name)
        if not value and (name == "iqn" or given.get(name) is None):
            continue
        if (form := _INITIATORS.get(value[:3])) is None:
            yield field.invalid(at / name, value, "must be valid format starting with iqn, eui, or naa")
        elif not form(value):
            yield field.invalid(at / name, value, "must be valid format")
    if not 0 <= number(given, "lun") <= _LARGEST_UNIT:
        yield field.invalid(at / "lun", number(given, "lun"), f"must be between 0 and {_LARGEST_UNIT}, inclusive")
    if given.get("secretRef") is None and (given.get("chapAuthDiscovery") is True or given.get("chapAuthSession") is True):
        yield field.required(at / "secretRef", "with chapAuthDiscovery or chapAuthSession")


def _flocker(given: Content, at: FieldPath) -> Iterator[FieldError]:
    name, identity = text(given, "datasetName"), text(given, "datasetUUID")
    if not name and not identity:
        yield field.required(at, "one of datasetName and datasetUUID is required")
    elif name and identity:
        yield field.invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield field.invalid(at / "datasetName", name, "must not contain '/'")


def _secret_name(given: Content, at: FieldPath) -> Iterator[FieldError]:
    if given.get("secretRef") is not None:
        yield from needed(section(given, "secretRef"), at / "secretRef", "name")


def _storage_os(given: Content, at: FieldPath) -> Iterator[FieldError]:
    for name in ("volumeName", "volumeNamespace"):
        if value := text(given, name):
            yield from formatted(value, at / name, content.label(value))
    yield from _secret_name(given, at)


def _fibre_channel(given: Content, at: FieldPath) -> Iterator[FieldError]:
    targets = given.get("targetWWNs")
    if bool(targets) == bool(given.get("wwids")):
        detail = "must specify either targetWWNs or wwids, but not both"
        yield field.invalid(at / "targetWWNs", targets, detail) if targets else field.required(at / "targetWWNs", detail)
    if targets and given.get("lun") is None:
        yield field.required(at / "lun", "lun is required if targetWWNs is specified")
    elif targets and not 0 <= number(given, "lun") <= _LARGEST_UNIT:
        yield field.invalid(at / "lun", number(given, "lun"), f"must be between 0 and {_LARGEST_UNIT}, inclusive")


def _quobyte(given: Content, at: FieldPath) -> Iterator[FieldError]:
    registry = text(given, "registry")
    if registry and len(text(given, "tenant").encode()) > _LONGEST_TENANT:
        yield field.required(at / "tenant", f"must be a UUID and may not exceed a length of {_LONGEST_TENANT} characters")
    elif registry and not all(map(_is_address, registry.split(","))):
        yield field.invalid(at / "registry", registry, "must be a host:port pair or multiple pairs separated by commas")


def _flex_volume(given: Content, at: FieldPath) -> Iterator[FieldError]:
    for key in section(given, "options"):
        if f".{key.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io")):
            yield field.invalid(at / "options" / Key(key), key, "kubernetes.io and k8s.io namespaces are reserved")


def _azure_disk(given: Content, at: FieldPath) -> Iterator[FieldError]:
    yield from one_of(given, "cachingMode", at, ("None", "ReadOnly", "ReadWrite"), has_default=False)
    yield from one_of(given, "kind", at, ("Dedicated", "Managed", "Shared"), has_default=False)
    start, form = _DISKS.get(
        str(given.get("kind")), ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd")
    )
    if not text(given, "diskURI").startswith(start):
        yield field.not_supported(at / "diskURI", text(given, "diskURI"), (form,))


_DISKS = {
    "Managed": (
        "/subscriptions/",
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}",
    )
}
"""Beginning and form of an URI by kind of the disk; the default is Shared."""


def _csi(given: Content, at: FieldPath) -> Iterator[FieldError]:
    if driver := text(given, "driver"):
        if len(driver.encode()) > _LONGEST_DRIVER:
            yield field.too_long(at / "driver", _LONGEST_DRIVER)
        yield from formatted(driver, at / "driver", content.subdomain(driver.lower()))
    yield from reference(given, "nodePublishSecretRef", at)


def _ephemeral(given: Content, at: FieldPath) -> Iterator[FieldError]:
    if given.get("volumeClaimTemplate") is None:
        yield field.required(at / "volumeClaimTemplate")
    else:
        yield from volume_claims.claim_template(section(given, "volumeClaimTemplate"), at / "volumeClaimTemplate")


_CHECKS: Mapping[str, Callable[[Content, FieldPath], Iterator[FieldError]]] = {
    "awsElasticBlockStore": _partition,
    "azureDisk": _azure_disk,
    "cinder": _secret_name,
    "csi": _csi,
    "emptyDir": _empty_directory,
    "ephemeral": _ephemeral,
    "fc": _fibre_channel,
    "flexVolume": _flex_volume,
    "flocker": _flocker,
    "gcePersistentDisk": _partition,
    "gitRepo": _git_repository,
    "hostPath": _host_path,
    "iscsi": _iscsi,
    "nfs": _network_file_system,
    "projected": volume_files.projected,
    "quobyte": _quobyte,
    "storageos": _storage_os,
}
