"""Options of Windows in security contexts, and pods whose containers are processes of the host.

Source: Kubernetes 1.37.1, pkg/apis/core/validation, validateWindowsSecurityContextOptions and validateWindowsHostProcessPod.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubeapi import content
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from validators import field
from validators.built_in.shared_checks import Content, formatted, items, text
from validators.field import FieldError

_LONGEST_CREDENTIALS = 64 * 1024
_LONGEST_DOMAIN, _LONGEST_USER = 255, 104
_has_control_character = re.compile(r"[\x00-\x1f\x7f]").search
_is_net_bios_name = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_DNS_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_is_dns_name = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*", re.ASCII).fullmatch
_has_forbidden_character = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search


def options(context: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of the options of Windows in the security context of a pod or a container."""
    given, path = section(context, "windowsOptions"), at / "windowsOptions"
    if (name := given.get("gmsaCredentialSpecName")) is not None:
        yield from formatted(str(name), path / "gmsaCredentialSpecName", content.subdomain(str(name)))
    if given.get("gmsaCredentialSpec") is not None and not 0 < len(text(given, "gmsaCredentialSpec").encode()) <= _LONGEST_CREDENTIALS:
        yield field.invalid(path / "gmsaCredentialSpec", "", f"must have from 1 to {_LONGEST_CREDENTIALS} bytes")
    if given.get("runAsUserName") is not None:
        user = text(given, "runAsUserName")
        yield from formatted(user, path / "runAsUserName", _user_messages(user))


def _user_messages(written: str) -> Iterator[str]:
    """Yield what is wrong with the name of a user, with or without a domain and a backslash before it."""
    *domains, user = written.split("\\")
    if not written:
        yield "must not be empty"
    elif _has_control_character(written):
        yield "must not contain control characters"
    elif len(domains) > 1:
        yield "must not contain more than one backslash"
    else:
        if domains and len(domains[0].encode()) > _LONGEST_DOMAIN:
            yield f"the domain must have at most {_LONGEST_DOMAIN} bytes"
        if domains and not (_is_net_bios_name(domains[0]) or _is_dns_name(domains[0])):
            yield "the domain must be a name of NetBIOS or DNS"
        if not 0 < len(user.encode()) <= _LONGEST_USER:
            yield f"the user must have from 1 to {_LONGEST_USER} bytes"
        if user and not user.strip(". "):
            yield "the user must not consist only of periods or spaces"
        if _has_forbidden_character(user):
            yield 'the user must not contain the characters "/\\:;|=,+*?<>@[]'


def host_processes(spec: Content, at: FieldPath) -> Iterator[FieldError]:
    """Yield the errors of a pod with containers that are processes of the host: then all are, and have its network."""
    of_pod = _host_process(spec)
    found = []
    for kind in ("containers", "initContainers"):
        for path, each in items(spec, kind, at):
            own = _host_process(each)
            if of_pod is not None and own is not None and of_pod is not own:
                yield field.invalid(
                    path.join(("securityContext", "windowsOptions", "hostProcess")), own, f"must be that of the pod, {of_pod}"
                )
            found.append(of_pod if own is None else own)
    if any(found):
        if not all(found):
            yield field.invalid(at, "", "if a container has hostProcess, all containers must have it")
        if spec.get("hostNetwork") is not True:
            yield field.invalid(at / "hostNetwork", value=False, detail="must be true if a container has hostProcess")


def _host_process(holder: Content) -> bool | None:
    value = section(holder, "securityContext", "windowsOptions").get("hostProcess")
    return value if isinstance(value, bool) else None
