"""Security contexts of pods and containers, their operating system, and the user namespace."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubeapi.decode import section
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.built_in import windows
from validators.built_in.shared_checks import Content, below, duplicates, integer, items, one_of, text
from validators.field import FieldError

_HIGHEST_ID = 2**31 - 1
_IDS = ("runAsUser", "runAsGroup", "fsGroup")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_CONTAINERS = ("containers", "initContainers")
_LONGEST_SYSCTL = 253
_is_sysctl = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?", re.ASCII).fullmatch
_SHARED = {"hostNetwork": ("net.",), "hostIPC": ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")}
"""Beginnings of the sysctls that a pod cannot set in the namespace of the host, by the field that shares it."""
_OF_LINUX = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
)
_SHARES_OF_LINUX = ("hostUsers", "shareProcessNamespace")
_SECCOMP, _APP_ARMOR = "seccomp.security.alpha.kubernetes.io/pod", "container.apparmor.security.beta.kubernetes.io/"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def security(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of all security contexts of a pod, and of its operating system."""
    yield from _pod_context(spec, section(spec, "securityContext"), at / "securityContext")
    own_users = spec.get("hostUsers") is False
    for path, each in _containers(spec, at):
        yield from _container_context(section(each, "securityContext"), path / "securityContext", own_users=own_users)
        if own_users and each.get("volumeDevices"):
            yield field.forbidden(path / "volumeDevices", "when `hostUsers` is false")
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if own_users and spec.get(name) is True:
            yield field.forbidden(at / name, "when `hostUsers` is false")
    yield from windows.host_processes(spec, at)
    if spec.get("os") is not None:
        yield from _operating_system(spec, at)


def pod_annotations(given: Content, spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the annotations of a pod that the API server reads."""
    names = {text(each, "name") for _, each in _containers(spec, at)}
    for key, value in given.items():
        path = at / Key(key)
        if key == _DELETION_COST and not integer(str(value), bits=32):
            yield field.invalid(path, value, "must be a 32bit integer")
        elif (
            key == _SECCOMP and value not in {"runtime/default", "docker/default", "unconfined"} and not str(value).startswith("localhost/")
        ):
            yield field.invalid(path, value, "must be a valid seccomp profile")
        elif key.startswith(_APP_ARMOR):
            if key.removeprefix(_APP_ARMOR) not in names:
                yield field.invalid(path, key.removeprefix(_APP_ARMOR), "container not found")
            if value not in {"", "runtime/default", "unconfined"} and not str(value).startswith("localhost/"):
                yield field.invalid(path, value, "invalid AppArmor profile name")


def _containers(spec: Content, at: FieldPath) -> Iterator[tuple[FieldPath, Content]]:
    for kind in _CONTAINERS:
        yield from items(spec, kind, at)


def _pod_context(spec: Content, context: Content, at: FieldPath) -> Iterator[FieldError]:
    yield from _common(context, at)
    groups = context.get("supplementalGroups")
    for index, group in enumerate(groups if isinstance(groups, list) else ()):
        yield from _identity(group, at.join(("supplementalGroups", index)))
    yield from one_of(context, "fsGroupChangePolicy", at, ("OnRootMismatch", "Always"), has_default=False)
    yield from one_of(context, "supplementalGroupsPolicy", at, ("Merge", "Strict"), has_default=False)
    yield from one_of(context, "seLinuxChangePolicy", at, ("MountOption", "Recursive"), has_default=False)
    listed = items(context, "sysctls", at)
    for path, each in listed:
        name = text(each, "name").replace("/", ".")
        if not name:
            yield field.required(path / "name")
        elif not _is_sysctl(name) or len(name) > _LONGEST_SYSCTL:
            detail = f"must have at most {_LONGEST_SYSCTL} characters and consist of names with dots, such as net.core.somaxconn"
            yield field.invalid(path / "name", each["name"], detail)
        for sharing, starts in _SHARED.items():
            if spec.get(sharing) is True and name.startswith(starts):
                yield field.invalid(path / "name", each["name"], f"may not be specified when '{sharing}' is true")
    yield from duplicates((path / "name", each.get("name")) for path, each in listed)


def _container_context(context: Content, at: FieldPath, *, own_users: bool) -> Iterator[FieldError]:
    yield from _common(context, at)
    yield from one_of(context, "procMount", at, ("Default", "Unmasked"), has_default=False)
    if context.get("procMount") == "Unmasked" and not own_users:
        yield field.invalid(at / "procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`")
    if context.get("allowPrivilegeEscalation") is not False:
        return
    if context.get("privileged") is True:
        yield field.invalid(at, "", "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
    added = section(context, "capabilities").get("add")
    if isinstance(added, list) and "CAP_SYS_ADMIN" in added:
        yield field.invalid(at, "", "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")


def _common(context: Content, at: FieldPath) -> Iterator[FieldError]:
    for name in _IDS:
        yield from _identity(context.get(name), at / name)
    for name, kind in (("seccompProfile", "seccomp"), ("appArmorProfile", "AppArmor")):
        if context.get(name) is not None:
            yield from _profile(section(context, name), at / name, kind)
    yield from windows.options(context, at)


def _identity(value: object, at: FieldPath) -> Iterator[FieldError]:
    if isinstance(value, int) and not 0 <= value <= _HIGHEST_ID:
        yield field.invalid(at, value, f"must be between 0 and {_HIGHEST_ID}, inclusive")


def _profile(profile: Content, at: FieldPath, kind: str) -> Iterator[FieldError]:
    name, own, path = profile.get("type"), profile.get("localhostProfile"), at / "localhostProfile"
    if not name:
        yield field.required(at / "type", f"type is required when {kind} is set")
    elif name not in _PROFILES:
        yield field.not_supported(at / "type", name, _PROFILES)
    if name != "Localhost" and own is not None and (kind == "seccomp" or name in _PROFILES):
        yield field.invalid(path, own, f"can only be set when {kind} type is Localhost")
    elif name == "Localhost" and (own is None or (kind == "AppArmor" and not own)):
        yield field.required(path, f"must be set when {kind} type is Localhost")
    elif name == "Localhost" and kind == "AppArmor" and own != str(own).strip():
        yield field.invalid(path, own, "must not be padded with whitespace")
    elif name == "Localhost" and kind == "seccomp":
        yield from below(str(own), path)


def _operating_system(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    name = text(section(spec, "os"), "name")
    contexts = [(at, spec), *_containers(spec, at)]
    if not name:
        yield field.required(at / "os" / "name")
    elif name not in {"linux", "windows"}:
        yield field.not_supported(at / "os", name, ("linux", "windows"))
    for path, each in contexts:
        context, inner = section(each, "securityContext"), path / "securityContext"
        if name == "linux" and context.get("windowsOptions") is not None:
            yield field.forbidden(inner / "windowsOptions", "windows options cannot be set for a linux pod")
        for wrong in _OF_LINUX if name == "windows" else ():
            if context.get(wrong) not in (None, []):
                yield field.forbidden(inner / wrong, "cannot be set for a windows pod")
    if name == "windows":
        shared = [each for each in ("hostPID", "hostIPC") if spec.get(each) is True]
        for wrong in (*shared, *(each for each in _SHARES_OF_LINUX if spec.get(each) is not None)):
            yield field.forbidden(at / wrong, "cannot be set for a windows pod")
        if spec.get("resources") is not None:
            yield field.forbidden(at / "resources", "may not be set for a windows pod")
