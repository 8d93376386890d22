"""Volumes of a pod: names and sources; what containers mount of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in import downward, names, resources
from validators.built_in.shared_checks import Content, below, duplicates, formatted, items, needed, number, one_of, reference, text
from validators.field import FieldError

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_NEEDED = {
    "persistentVolumeClaim": ("claimName",),
    "configMap": ("name",),
    "secret": ("secretName",),
    "hostPath": ("path",),
    "nfs": ("server", "path"),
    "csi": ("driver",),
    "flexVolume": ("driver",),
    "image": ("reference",),
    "cephfs": ("monitors",),
    "rbd": ("monitors",),
}
"""Fields that must not be empty, by source of the volume."""
_SOURCES = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi", "glusterfs", "flocker",
    "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI", "fc", "flexVolume", "configMap", "azureFile",
    "vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
"""Sources in the order of validateVolumeSource of Kubernetes 1.37.1, pkg/apis/core/validation."""


def volumes(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the volumes of a pod."""
    listed = items(spec, "volumes", at)
    for path, each in listed:
        name = text(each, "name")
        if not name:
            yield field.required(path / "name")
        else:
            yield from formatted(name, path / "name", content.label(name))
        sources = sorted(each.keys() - {"name"}, key=_rank)
        for extra in sources[1:]:
            yield field.forbidden(path / extra, "may not specify more than 1 volume type")
        for source in sources[:1]:
            yield from needed(section(each, source), path / source, *_NEEDED.get(source, ()))
            yield from _details(source, section(each, source), path / source)
    yield from duplicates((path / "name", each.get("name")) for path, each in listed)


def _rank(source: str) -> int:
    """Return the position of a source in the order in which the API server looks for them: it refuses all but the first."""
    return _SOURCES.index(source) if source in _SOURCES else len(_SOURCES)


def _details(source: str, given: Content, at: FieldPath) -> Iterator[FieldError]:
    yield from _files(source, given, at)
    if source in _CHECKS:
        yield from _CHECKS[source](given, at)
    elif source == "emptyDir" and str(given.get("sizeLimit")).startswith("-"):
        yield field.forbidden(at / "sizeLimit", "SizeLimit field must be a valid resource quantity")
    elif source == "csi" and (driver := text(given, "driver")):
        yield from formatted(driver, at / "driver", content.subdomain(driver.lower()))
        yield from reference(given, "nodePublishSecretRef", at)
    elif source == "nfs" and (shared := text(given, "path")) and not shared.startswith("/"):
        yield field.invalid(at / "path", shared, "must be an absolute path")
    elif source == "ephemeral":
        template = section(given, "volumeClaimTemplate")
        if not template:
            yield field.required(at / "volumeClaimTemplate")
        else:
            yield from claim_spec(section(template, "spec"), at.join(("volumeClaimTemplate", "spec")))
            metadata, path = section(template, "metadata"), at.join(("volumeClaimTemplate", "metadata"))
            yield from names.labels(section(metadata, "labels"), path / "labels")
            yield from names.annotation_keys(section(metadata, "annotations"), path / "annotations")
            for name in sorted(metadata.keys() - {"labels", "annotations", "creationTimestamp"}):
                yield field.forbidden(path / name, "cannot be set")
    elif source == "hostPath" and ".." in text(given, "path").split("/"):
        yield field.invalid(at / "path", text(given, "path"), "must not contain '..'")


def _fibre_channel(given: Content, at: FieldPath) -> Iterator[FieldError]:
    targets = given.get("targetWWNs")
    if bool(targets) == bool(given.get("wwids")):
        detail = "must specify either targetWWNs or wwids, but not both"
        yield field.invalid(at / "targetWWNs", targets, detail) if targets else field.required(at / "targetWWNs", detail)
    if targets and given.get("lun") is None:
        yield field.required(at / "lun", "lun is required if targetWWNs is specified")
    elif targets and not 0 <= number(given, "lun") <= _LARGEST_UNIT:
        yield field.invalid(at / "lun", number(given, "lun"), f"must be between 0 and {_LARGEST_UNIT}, inclusive")


_LARGEST_UNIT = 255


def _quobyte(given: Content, at: FieldPath) -> Iterator[FieldError]:
    yield from needed(given, at, "registry", "volume")
    registry = text(given, "registry")
    if registry and len(text(given, "tenant").encode()) > _LONGEST_TENANT:
        yield field.required(at / "tenant", f"must be a UUID and may not exceed a length of {_LONGEST_TENANT} characters")
    elif registry and not all(map(_is_address, registry.split(","))):
        yield field.invalid(at / "registry", registry, "must be a host:port pair or multiple pairs separated by commas")


_is_address = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]*):[^\[\]:]*").fullmatch
"""A host and a port, either of which may be empty: SplitHostPort of Go, net."""
_LONGEST_TENANT = 64


def _projected(given: Content, at: FieldPath) -> Iterator[FieldError]:
    paths: list[tuple[FieldPath, str]] = []
    for path, each in items(given, "sources", at):
        for name in ("configMap", "secret"):
            if name in each:
                yield from needed(section(each, name), path / name, "name")
        kinds = sorted(each.keys() & _PROJECTED)
        for name in kinds:
            yield from _files(name, section(each, name), path / name)
            paths += [(file / "path", text(item, "path")) for file, item in items(section(each, name), "items", path / name)]
        if len(kinds) > 1:
            yield field.forbidden(path, f"may not specify more than 1 volume type per source: {', '.join(kinds)}")
        yield from _token(each, path)
        yield from _trust_bundle(each, path / "clusterTrustBundle")
        yield from _pod_certificate(each, path / "podCertificate")
    yield from duplicates(paths)


_CHECKS = {"projected": _projected, "fc": _fibre_channel, "quobyte": _quobyte}
_PROJECTED = frozenset({"configMap", "secret", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"})


def _files(source: str, given: Content, at: FieldPath) -> Iterator[FieldError]:
    yield from _mode(given, "defaultMode", at)
    for path, each in items(given, "items", at):
        yield from _mode(each, "mode", path)
        yield from needed(each, path, *(("path",) if source == "downwardAPI" else ("key", "path")))
        yield from _own_path(text(each, "path"), path / "path")
        if source == "downwardAPI":
            yield from _downward_file(each, path)


def _downward_file(given: Content, at: FieldPath) -> Iterator[FieldError]:
    sources = [name for name in ("fieldRef", "resourceFieldRef") if given.get(name) is not None]
    if not sources:
        yield field.required(at, "one of fieldRef and resourceFieldRef is required")
    elif len(sources) > 1:
        yield field.invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif sources == ["fieldRef"]:
        yield from downward.field_reference(section(given, "fieldRef"), at / "fieldRef", _FIELDS)
    else:
        yield from downward.resource_reference(section(given, "resourceFieldRef"), at / "resourceFieldRef", of_volume=True)


_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")


def _mode(given: Content, name: str, at: FieldPath) -> Iterator[FieldError]:
    if not 0 <= (mode := number(given, name)) <= _MOST_OPEN:
        yield field.invalid(at / name, mode, "must be a number between 0 and 0777 (octal), both inclusive")


def _own_path(value: str, at: FieldPath) -> Iterator[FieldError]:
    yield from below(value, at)
    if value.startswith("..") and not value.startswith("../") and value != "..":
        yield field.invalid(at, value, "must not start with '..'")


def _token(source: Content, at: FieldPath) -> Iterator[FieldError]:
    token, path = section(source, "serviceAccountToken"), at / "serviceAccountToken"
    if source.get("serviceAccountToken") is not None:
        yield from needed(token, path, "path")
        yield from _own_path(text(token, "path"), path / "path")
        if not _SHORTEST_SECONDS <= number(token, "expirationSeconds", _SHORTEST_SECONDS) <= _LONGEST_SECONDS:
            yield field.invalid(path / "expirationSeconds", token["expirationSeconds"], "must be from 10 minutes to 2^32 seconds")


def _trust_bundle(source: Content, at: FieldPath) -> Iterator[FieldError]:
    bundle = section(source, "clusterTrustBundle")
    if source.get("clusterTrustBundle") is not None:
        given = [name for name in ("name", "signerName") if bundle.get(name) is not None]
        if not given:
            yield field.required(at, "either name or signerName must be specified")
        elif len(given) > 1:
            yield field.invalid(at, "", "only one of name and signerName may be used")
        elif given == ["signerName"]:
            yield from _signer(text(bundle, "signerName"), at / "signerName")
        elif bundle.get("labelSelector") is not None:
            yield field.invalid(at / "labelSelector", "", "must be unset if name is specified")


def _pod_certificate(source: Content, at: FieldPath) -> Iterator[FieldError]:
    certificate = section(source, "podCertificate")
    if source.get("podCertificate") is None:
        return
    yield from _signer(text(certificate, "signerName"), at / "signerName")
    yield from one_of(certificate, "keyType", at, _KEY_TYPES, has_default=False)
    host = text(certificate, "signerName").partition("/")[0]
    longest = _DAY if f".{host}".endswith(".kubernetes.io") else _LONGEST_DAYS * _DAY
    if not _HOUR <= (seconds := number(certificate, "maxExpirationSeconds", _HOUR)) <= longest:
        yield field.invalid(at / "maxExpirationSeconds", seconds, f"must be from {_HOUR} to {longest}")
    given = [name for name in _CERTIFICATE_PATHS if text(certificate, name)]
    if not given:
        yield field.required(at, f"specify at least one of {', '.join(_CERTIFICATE_PATHS)}")
    for name in given:
        yield from _own_path(text(certificate, name), at / name)


def _signer(name: str, at: FieldPath) -> Iterator[FieldError]:
    """Yield the error of a name of a signer, as ``example.com/a.b``."""
    host, slash, path = name.partition("/")
    labels = host.split(".")
    if not name:
        yield field.required(at)
    elif not slash or len(labels) < _SHORTEST_HOST or not (content.all_labels(labels) and content.all_subdomains(path.split("."))):
        yield field.invalid(at, name, "must be a domain and a path, such as example.com/signer-name")
    elif len(host) > _LONGEST_HOST:
        yield field.too_long(at, _LONGEST_HOST)


_SHORTEST_HOST, _LONGEST_HOST = 2, 253
"""Labels and bytes of the domain of a signer."""
_KEY_TYPES = ("ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096")
_CERTIFICATE_PATHS = ("credentialBundlePath", "keyPath", "certificateChainPath")
_HOUR, _DAY, _LONGEST_DAYS = 3600, 86_400, 91
"""Seconds, and the longest lifetime of a certificate, which is a day for a signer of Kubernetes."""
_MOST_OPEN = 0o777
_SHORTEST_SECONDS, _LONGEST_SECONDS = 600, 2**32
"""Lifetime of a token."""


def claim_spec(given: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the specification of a PersistentVolumeClaim."""
    if not given.get("accessModes"):
        yield field.required(at / "accessModes", "at least 1 access mode is required")
    modes = given.get("accessModes")
    for index, mode in enumerate(modes if isinstance(modes, list) else ()):
        if mode not in _ACCESS_MODES:
            yield field.not_supported(at.join(("accessModes", index)), mode or "", _ACCESS_MODES)
    if isinstance(modes, list) and "ReadWriteOncePod" in modes and {*_ACCESS_MODES[:3]} & {*map(str, modes)}:
        yield field.forbidden(at / "accessModes", "may not use ReadWriteOncePod with other access modes")
    storage, requests = at.join(("resources", "requests", "storage")), section(given, "resources", "requests")
    if "storage" not in requests:
        yield field.required(storage, "a storage request is required")
    elif not resources.is_quantity(requests["storage"]):
        yield field.invalid(storage, str(requests["storage"]), "must be a quantity, such as 2, 500m or 1Gi")
    elif resources.exact(requests["storage"]) <= 0:
        yield field.invalid(storage, str(requests["storage"]), "must be greater than zero")
    if name := text(given, "storageClassName"):
        yield from formatted(name, at / "storageClassName", content.subdomain(name))


def mounts(container: Content, at: FieldPath, known: Mapping[str, Content]) -> Iterator[FieldError]:
    """Yield the errors of the mounts and block devices of a container; *known* are the volumes of the pod by name."""
    paths: list[tuple[FieldPath, str]] = []
    mounted = {text(each, "name") for _, each in items(container, "volumeMounts", at)}
    for kind, where in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        for path, each in items(container, kind, at):
            name = text(each, "name")
            yield from needed(each, path, "name", where)
            if name and name not in known:
                yield field.not_found(path / "name", name, "" if not known else f"the volumes of the pod are {', '.join(sorted(known))}")
            paths.append((path / where, text(each, where)))
            yield from _mount(each, path, container)
    devices = items(container, "volumeDevices", at)
    for path, each in devices:
        yield from _device(each, path, mounted, known)
    yield from _unique(paths)
    yield from _unique([(path / "name", text(each, "name")) for path, each in devices if text(each, "name")])


def _unique(values: Iterable[tuple[FieldPath, str]]) -> Iterator[FieldError]:
    seen = set()
    for path, value in values:
        if value in seen:
            yield field.invalid(path, value, "must be unique")
        seen.add(value)


def _mount(given: Content, at: FieldPath, container: Content) -> Iterator[FieldError]:
    for name in ("subPath", "subPathExpr"):
        yield from below(text(given, name), at / name)
    if text(given, "subPath") and text(given, "subPathExpr"):
        yield field.invalid(at / "subPathExpr", given["subPathExpr"], "subPathExpr and subPath are mutually exclusive")
    propagation, recursive = given.get("mountPropagation"), given.get("recursiveReadOnly")
    yield from one_of(given, "mountPropagation", at, ("Bidirectional", "HostToContainer", "None"), has_default=False)
    yield from one_of(given, "recursiveReadOnly", at, ("Disabled", "Enabled", "IfPossible"), has_default=False)
    if propagation == "Bidirectional" and section(container, "securityContext").get("privileged") is not True:
        detail = "Bidirectional mount propagation is available only to privileged containers"
        yield field.forbidden(at / "mountPropagation", detail)
    if recursive in {"Enabled", "IfPossible"}:
        if given.get("readOnly") is not True:
            yield field.forbidden(at / "recursiveReadOnly", "may only be specified when readOnly is true")
        if propagation not in (None, "None"):
            yield field.forbidden(at / "recursiveReadOnly", "may only be specified when mountPropagation is None or not specified")


def _device(given: Content, at: FieldPath, mounted: Collection[str], known: Mapping[str, Content]) -> Iterator[FieldError]:
    name, path = text(given, "name"), text(given, "devicePath")
    if name in known and not known[name].keys() & {"persistentVolumeClaim", "ephemeral"}:
        detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        yield field.invalid(at / "name", name, detail)
    if ".." in path.split("/"):
        yield field.invalid(at / "devicePath", path, "can not contain backsteps ('..')")
    if name in mounted:
        yield field.invalid(at / "name", name, "must not already exist in volumeMounts")
