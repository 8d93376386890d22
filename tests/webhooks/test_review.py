"""AdmissionReview v1 on the wire: valid and invalid requests, and responses."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from webhooks.admission import review
from webhooks.admission.review import AdmissionRequest, BadReview, Verdict


def envelope(**changes: Any) -> bytes:
    request = {
        "uid": "u-1",
        "kind": {"group": "scheduling.k8s.io", "version": "v1beta1", "kind": "PodGroup"},
        "resource": {"group": "scheduling.k8s.io", "version": "v1beta1", "resource": "podgroups"},
        "operation": "CREATE",
        "name": "a",
        "namespace": "default",
        "object": {"kind": "PodGroup"},
        "oldObject": None,
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request | changes}).encode()


def test_a_request_is_read() -> None:
    request = review.decode(envelope(subResource="status", dryRun=True))

    assert (
        request.uid,
        request.group,
        request.version,
        request.kind,
        request.operation,
    ) == ("u-1", "scheduling.k8s.io", "v1beta1", "PodGroup", "CREATE")
    assert (
        request.resource,
        request.subresource,
        request.name,
        request.namespace,
        request.dry_run,
    ) == ("podgroups", "status", "a", "default", True)
    assert (json.loads(request.new or b""), request.old) == ({"kind": "PodGroup"}, None)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b"", "not JSON", id="nothing"),
        pytest.param(b"{", "not JSON", id="cut off"),
        pytest.param(b"\xff\xfe", "not JSON", id="not text"),
        pytest.param(b"[]", "not an AdmissionReview", id="a list"),
        pytest.param(b"{}", "must be an AdmissionReview", id="an empty object"),
        pytest.param(b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":null}', "v1beta1", id="another version"),
        pytest.param(b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "must have a request", id="no request"),
        pytest.param(envelope(uid=""), "uid", id="no uid"),
        pytest.param(envelope(uid=7), "uid", id="uid is a number"),
        pytest.param(envelope(operation="PATCH"), "operation", id="an unknown operation"),
        pytest.param(envelope(object=None), "request.object", id="nothing is created"),
        pytest.param(envelope(object="text"), "must be an object", id="the object is a text"),
        pytest.param(envelope(operation="UPDATE"), "request.oldObject", id="an update of nothing"),
        pytest.param(envelope(operation="DELETE", object=None), "request.oldObject", id="a deletion of nothing"),
        pytest.param(b'{"a":' * 100_000, "nested too deeply", id="nested, and cut off"),
        pytest.param(b'{"request":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply", id="nested without end"),
    ],
)
def test_what_is_no_review_is_reported(body: bytes, reason: str) -> None:
    with pytest.raises(BadReview, match=reason):
        review.decode(body)


def answered(verdict: Verdict) -> dict[str, Any]:
    request = AdmissionRequest(uid="u-1", group="", version="v1", kind="Pod", operation="CREATE")
    answer = json.loads(review.encode(request, verdict))
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    return answer["response"]  # type: ignore[no-any-return]


def test_a_plain_yes_says_nothing_else() -> None:
    assert answered(Verdict(allowed=True)) == {"uid": "u-1", "allowed": True}


def test_a_patch_is_base64_of_its_operations() -> None:
    operations = ({"op": "add", "path": "/a", "value": 1},)
    response = answered(Verdict(allowed=True, patch=operations))

    assert response["patchType"] == "JSONPatch"
    assert list(operations) == json.loads(base64.b64decode(response["patch"]))


def test_warnings_and_rules_ride_along() -> None:
    response = answered(Verdict(allowed=True, warnings=("careful",), rules=("gang-reachable", "parent-exists")))

    assert response["warnings"] == ["careful"]
    assert response["auditAnnotations"] == {"rules": "gang-reachable,parent-exists"}
