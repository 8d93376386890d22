"""Volumes of a pod: names and sources; what containers mount of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in.shared_checks import Content, below, duplicates, formatted, items, needed, one_of, text
from validators.built_in.volume_sources import volume_source
from validators.field import FieldError


def volumes(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the volumes of a pod."""
    listed = items(spec, "volumes", at)
    for path, each in listed:
        if name := text(each, "name"):
            yield from formatted(name, path / "name", content.label(name))
        else:
            yield field.required(path / "name")
        yield from volume_source(each, path)
    yield from duplicates((path / "name", each.get("name")) for path, each in listed)


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
    names = {text(each, "name") for _, each in devices}
    for path, each in items(container, "volumeMounts", at):
        if text(each, "name") in names:
            yield field.invalid(path / "name", text(each, "name"), "must not already exist in volumeDevices")
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
