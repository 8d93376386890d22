"""AdmissionReview v1: decoding and encoding.  [edge: msgspec]

Only the envelope is decoded.  The objects in it stay raw JSON, which validation decodes once, into the types it needs.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from typing import Any

import msgspec

from kubeapi.versions import served_versions
from kubeapi.versions.conversion import Form

API_VERSION = "admission.k8s.io/v1"
MAX_ANNOTATION = 4096
"""Limit for the text of an audit annotation, in characters; audit events are stored for every request."""
OPERATIONS = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})
_WITH_NEW, _WITH_OLD = frozenset({"CREATE", "UPDATE"}), frozenset({"UPDATE", "DELETE"})


class BadReview(ValueError):
    """The body is not an AdmissionReview of version v1; the text gives the reason."""


class _Kind(msgspec.Struct, frozen=True, gc=False):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Resource(msgspec.Struct, frozen=True, gc=False):
    group: str = ""
    version: str = ""
    resource: str = ""


class _Request(msgspec.Struct, frozen=True, rename="camel", gc=False):
    uid: str
    kind: _Kind
    operation: str
    resource: _Resource = _Resource()
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    dry_run: bool | None = None
    object: msgspec.Raw = msgspec.Raw(b"null")
    old_object: msgspec.Raw = msgspec.Raw(b"null")


class _Review(msgspec.Struct, frozen=True, rename="camel", gc=False):
    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


_DECODER = msgspec.json.Decoder(_Review)


class AdmissionRequest(msgspec.Struct, frozen=True, gc=False):
    """Request of an AdmissionReview.  ``new`` and ``old`` are the objects as raw JSON, None if absent."""

    uid: str
    group: str
    version: str
    kind: str
    operation: str
    resource: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    dry_run: bool = False
    new: bytes | None = None
    old: bytes | None = None

    @property
    def api_version(self) -> str:
        """The apiVersion of the objects."""
        return served_versions.named(self.group, self.version)

    @property
    def form(self) -> Form:
        """The form of the objects."""
        return served_versions.form_of(self.api_version)

    def with_object(self, new: bytes) -> AdmissionRequest:
        """Return this request with another object."""
        return msgspec.structs.replace(self, new=new)


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """Answer before it is encoded.

    ``status`` is the Status of a refusal, ``patch`` a list of RFC 6902 operations, ``rules`` the ids of the rules that
    refused or warned, ``unenforced`` the errors that did not refuse the object because of the mode of enforcement, and
    ``unenforced_rules`` their rules.
    """

    allowed: bool
    status: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    patch: tuple[dict[str, Any], ...] = ()
    unenforced: tuple[str, ...] = ()
    unenforced_rules: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """Return the HTTP code that the user sees."""
        return 200 if self.status is None else int(self.status["code"])


def decode(body: bytes) -> AdmissionRequest:
    """Return the request in *body*.

    Raises:
        BadReview: *body* is not JSON, not an AdmissionReview of v1, or nested too deeply.
    """
    try:
        review = _DECODER.decode(body)
    except RecursionError:
        raise BadReview("the JSON is nested too deeply") from None
    except msgspec.ValidationError as error:
        raise BadReview(f"not an AdmissionReview: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadReview(f"not JSON: {error}") from None
    if review.kind != "AdmissionReview" or review.api_version != API_VERSION:
        raise BadReview(
            f"must be an AdmissionReview of {API_VERSION}, is {review.kind or 'nothing'!r} of {review.api_version or 'no version'!r}"
        )
    if review.request is None:
        raise BadReview("the AdmissionReview must have a request")
    return _checked(review.request)


def _checked(request: _Request) -> AdmissionRequest:
    if not request.uid:
        raise BadReview("request.uid must not be empty: the API server matches the answer by it")
    if request.operation not in OPERATIONS:
        raise BadReview(f"request.operation must be one of {', '.join(sorted(OPERATIONS))}, is {request.operation!r}")
    new, old = _object(request.object, "object"), _object(request.old_object, "oldObject")
    if new is None and request.operation in _WITH_NEW:
        raise BadReview(f"request.object must be given for {request.operation}")
    if old is None and request.operation in _WITH_OLD:
        raise BadReview(f"request.oldObject must be given for {request.operation}")
    return AdmissionRequest(
        uid=request.uid,
        group=request.kind.group,
        version=request.kind.version,
        kind=request.kind.kind,
        operation=request.operation,
        resource=request.resource.resource,
        subresource=request.sub_resource,
        name=request.name,
        namespace=request.namespace,
        dry_run=request.dry_run is True,
        new=new,
        old=old,
    )


def _object(raw: msgspec.Raw, name: str) -> bytes | None:
    text = bytes(raw)
    if text == b"null":
        return None
    if not text.startswith(b"{"):
        raise BadReview(f"request.{name} must be an object")
    return text


def encode(request: AdmissionRequest, verdict: Verdict) -> bytes:
    """Return the AdmissionReview that answers *request*, with the same uid and version."""
    response: dict[str, Any] = {"uid": request.uid, "allowed": verdict.allowed}
    if verdict.status is not None:
        response["status"] = verdict.status
    if verdict.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(json.dumps(verdict.patch, separators=(",", ":")).encode()).decode()
    if verdict.warnings:
        response["warnings"] = list(verdict.warnings)
    annotations = _audit_annotations(verdict)
    if annotations:
        response["auditAnnotations"] = annotations
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response})


def _audit_annotations(verdict: Verdict) -> dict[str, str]:
    annotations = {}
    if verdict.rules:
        annotations["rules"] = ",".join(verdict.rules)
    if verdict.unenforced:
        text = "; ".join(verdict.unenforced)
        annotations["not-enforced"] = text if len(text) <= MAX_ANNOTATION else f"{text[:MAX_ANNOTATION]}…"
    return annotations
