"""Volumes of a pod: names and sources; what containers mount of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from validators import content, field
from validators.built_in.parts import Content, duplicates, formatted, items, needed, number, section, text
from validators.field import FieldError, FieldPath

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
}
"""Fields that must not be empty, by source of the volume."""


def volumes(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the volumes of a pod."""
    listed = items(spec, "volumes", at)
    for path, each in listed:
        name = text(each, "name")
        if not name:
            yield field.required(path / "name")
        else:
            yield from formatted(name, path / "name", content.label(name))
        sources = sorted(each.keys() - {"name"})
        for extra in sources[1:]:
            yield field.forbidden(path / extra, "may not specify more than 1 volume type")
        for source in sources[:1]:
            yield from needed(section(each, source), path / source, *_NEEDED.get(source, ()))
            yield from _details(source, section(each, source), path / source)
    yield from duplicates((path / "name", each.get("name")) for path, each in listed)


def _details(source: str, given: Content, at: FieldPath) -> Iterator[FieldError]:
    yield from _files(given, at)
    if source == "projected":
        for path, each in items(given, "sources", at):
            for name in ("configMap", "secret"):
                if name in each:
                    yield from needed(section(each, name), path / name, "name")
            yield from _token(each, path)
    elif source == "nfs" and (shared := text(given, "path")) and not shared.startswith("/"):
        yield field.invalid(at / "path", shared, "must be an absolute path")
    elif source == "ephemeral":
        template = section(given, "volumeClaimTemplate")
        if not template:
            yield field.required(at / "volumeClaimTemplate")
        else:
            yield from claim_spec(section(template, "spec"), at.join(("volumeClaimTemplate", "spec")))
    elif source == "hostPath" and ".." in text(given, "path").split("/"):
        yield field.invalid(at / "path", text(given, "path"), "must not contain '..'")


def _files(given: Content, at: FieldPath) -> Iterator[FieldError]:
    if not 0 <= (mode := number(given, "defaultMode")) <= _MOST_OPEN:
        yield field.invalid(at / "defaultMode", mode, "must be a number between 0 and 0777 (octal), both inclusive")
    for path, each in items(given, "items", at):
        yield from needed(each, path, "key", "path")


def _token(source: Content, at: FieldPath) -> Iterator[FieldError]:
    token, path = section(source, "serviceAccountToken"), at / "serviceAccountToken"
    if source.get("serviceAccountToken") is not None:
        yield from needed(token, path, "path")
        if not _SHORTEST_SECONDS <= number(token, "expirationSeconds", _SHORTEST_SECONDS) <= _LONGEST_SECONDS:
            yield field.invalid(path / "expirationSeconds", token["expirationSeconds"], "must be from 10 minutes to 2^32 seconds")


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
    if "storage" not in section(given, "resources", "requests"):
        yield field.required(at.join(("resources", "requests", "storage")), "a storage request is required")
    if name := text(given, "storageClassName"):
        yield from formatted(name, at / "storageClassName", content.subdomain(name))


def mounts(container: Content, at: FieldPath, known: Collection[str]) -> Iterator[FieldError]:
    """Yield the errors of the mounts and block devices of a container; *known* are the names of the pod's volumes."""
    paths: list[tuple[FieldPath, str]] = []
    for kind, where in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        for path, each in items(container, kind, at):
            name = text(each, "name")
            yield from needed(each, path, "name", where)
            if name and name not in known:
                yield field.not_found(path / "name", name, "" if not known else f"the volumes of the pod are {', '.join(sorted(known))}")
            paths.append((path / where, text(each, where)))
            if (below := text(each, "subPath")) and (below.startswith("/") or ".." in below.split("/")):
                yield field.invalid(path / "subPath", below, "must be a relative path, and must not contain '..'")
            if below and text(each, "subPathExpr"):
                yield field.invalid(path / "subPathExpr", each["subPathExpr"], "subPathExpr and subPath are mutually exclusive")
    seen = set()
    for path, value in paths:
        if value in seen:
            yield field.invalid(path, value, "must be unique")
        seen.add(value)
