"""Permissions of this process, checked by SelfSubjectAccessReview, or of a ServiceAccount, checked by SubjectAccessReview."""

from __future__ import annotations

import dataclasses

import msgspec

from apiserver.api import Api

_GROUP = "/apis/authorization.k8s.io/v1"
PATH, ACCOUNTS_PATH = f"{_GROUP}/selfsubjectaccessreviews", f"{_GROUP}/subjectaccessreviews"
REVIEW_SECONDS = 5.0
"""Time limit of one review."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Permission:
    """Permission to use one verb on a resource; an empty *namespace* means all namespaces, an empty *name* any object."""

    resource: str
    """Resource, with its subresource: ``pods/binding``."""
    verb: str
    group: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        """Return the permission as ``kubectl auth can-i`` writes it: ``create pods/binding``, ``patch podgroups.scheduling.k8s.io/status``."""
        resource, _, subresource = self.resource.partition("/")
        text = f"{self.verb} {resource}{f'.{self.group}' if self.group else ''}{f'/{subresource}' if subresource else ''}"
        return text + (
            f" {'/'.join(filter(None, (self.namespace, self.name)))}"
            if self.name
            else f" in namespace {self.namespace}"
            if self.namespace
            else ""
        )


class _Attributes(msgspec.Struct, frozen=True, omit_defaults=True):
    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    resource_attributes: _Attributes
    user: str = ""
    groups: tuple[str, ...] = ()


class _Status(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    api_version: str = "authorization.k8s.io/v1"
    kind: str = "SelfSubjectAccessReview"
    spec: _Spec
    status: _Status = _Status()


class _Reviewed(msgspec.Struct, frozen=True):
    status: _Status


_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(_Reviewed).decode


def is_granted(api: Api, permission: Permission, account: tuple[str, str] | None = None) -> bool:
    """Return whether this process has *permission*, or the ServiceAccount *account* (namespace, name).

    Raises:
        ReplyError: the server refused the review.
        OSError, urllib3.exceptions.HTTPError, ValueError: there was no readable response.

    """
    resource, _, subresource = permission.resource.partition("/")
    attributes = _Attributes(permission.verb, resource, permission.group, subresource, permission.namespace, permission.name)
    if account is None:
        review, path = _Review(spec=_Spec(attributes)), PATH
    else:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}", "system:authenticated")
        spec = _Spec(attributes, f"system:serviceaccount:{':'.join(account)}", groups)
        review, path = _Review(kind="SubjectAccessReview", spec=spec), ACCOUNTS_PATH
    return _DECODE(api.send("POST", path, _ENCODE(review), seconds=REVIEW_SECONDS)).status.allowed
