"""Profile ``upstream`` compared with kube-apiserver 1.37.1 and 1.38.0-beta.0: recorded answers of that server, or of its code.

Each case is one request.  Those of layer ``validation`` go to /validate, those of ``mutation`` and ``defaulting`` to
/mutate; the verdict, the set of (field, type) of all causes, words of the message and values after the patch must agree.
"""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path

import pytest

from validators import pipeline
from validators.gates import Gates
from validators.model.objects import KINDS
from validators.object_lookup import NOTHING, KnownObjects
from validators.rules.base import Profile, Settings
from webhooks.admission import jsonpatch, review
from webhooks.admission import verdict as admit
from webhooks.admission_options import Finalizers

TABLES = {"v1.37": "admission.json", "v1.38": "admission-1.38.json"}
"""Tables by the track of their cases."""
CASES = [
    case
    for track, name in TABLES.items()
    for case in json.loads((Path(__file__).parent.parent / "cases" / name).read_text(encoding="utf-8"))
    if case["track"] == track
]
LAYERS = {"validation", "mutation", "defaulting"}


def variants() -> list[object]:
    """Yield each case, and the same in each other API version for which it holds."""
    results = []
    for case in CASES:
        # Claims are judged where they are read from files: `muster review` is not asked about them.
        if case["layer"] in LAYERS and case["kind"] in KINDS:
            for version in [None, *(case.get("alsoApiVersions") or [])]:
                variant = copy.deepcopy(case)
                for key in ("object", "oldObject"):
                    if version and variant.get(key):
                        variant[key]["apiVersion"] = version
                results.append(pytest.param(variant, id=f"{case['track']}-{case['id']}@{version or 'own'}"))
    return results


def request_of(case: dict) -> bytes:
    output = case.get("object") or case["oldObject"]
    group, _, version = output["apiVersion"].rpartition("/")
    metadata = output.get("metadata") or {}
    request = {
        "uid": case["id"],
        "kind": {"group": group, "version": version, "kind": case["kind"]},
        "resource": {"group": group, "version": version, "resource": "some"},
        "operation": case["operation"],
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "subResource": case.get("subresource") or "",
        "object": case.get("object"),
        "oldObject": case.get("oldObject"),
    }
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


def answer(case: dict, profile: Profile = Profile.UPSTREAM) -> dict:
    """Return the response to a case, through the wire format."""
    request = review.decode(request_of(case))
    minor = int(case["track"].partition(".")[2])
    gates = Gates.from_switches(list((case.get("gates") or {}).items()), minor)
    settings = Settings(profile=profile, minor=minor, gates=gates)
    objects = [pipeline.decode_for_lookup(each) for each in (case.get("priorityClasses") or []) + (case.get("existing") or [])]
    # The plugin Priority was off for the cases about defaults.
    known = KnownObjects([each for each in objects if each is not None], complete=True)
    lookup = NOTHING if case["layer"] == "defaulting" else known
    if case["layer"] == "validation" or case["kind"] == "PriorityClass":
        verdict = admit.validate(request, lookup, settings)
    else:
        verdict = admit.mutate(request, lookup, settings, Finalizers.AUTO)
    return json.loads(review.encode(request, verdict))["response"]


def causes(response: dict) -> set[tuple[str, str]]:
    status = response.get("status") or {}
    result = {(each["field"], each["reason"]) for each in (status.get("details") or {}).get("causes") or []}
    return result or ({("", "AdmissionForbidden")} if status.get("reason") == "Forbidden" else set())


def message_text(response: dict) -> str:
    status = response.get("status") or {}
    return " | ".join([status.get("message", ""), *(each["message"] for each in (status.get("details") or {}).get("causes") or [])]).lower()


def at(value: object, path: str) -> object:
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


@pytest.mark.parametrize("case", variants())
def test_agrees_with_the_api_server(case: dict) -> None:
    want, response = case["expect"], answer(case)

    assert want["allowed"] == response["allowed"], message_text(response)
    if not want["allowed"]:
        assert {(each["field"], each["type"]) for each in want["errors"]} == causes(response)
        for each in want["errors"]:
            assert (each.get("contains") or "").lower() in message_text(response)
    if want["allowed"] and want.get("patched"):
        patch = json.loads(base64.b64decode(response["patch"])) if response.get("patch") else []
        after = jsonpatch.apply(case["object"], patch)
        assert want["patched"] == {path: at(after, path) for path in want["patched"]}


@pytest.mark.parametrize("case", [each for each in variants() if not each.values[0]["expect"]["allowed"]])
def test_kep_refuses_what_upstream_refuses_at_the_same_places(case: dict) -> None:
    """Both profiles, if they refuse, name the same paths with the same code; ``kep`` may name more."""
    upstream, kep = answer(case), answer(case, Profile.KEP)

    assert kep["allowed"] is False
    assert upstream["status"]["code"] == kep["status"]["code"]
    assert causes(upstream) <= causes(kep)
    for cause in (kep["status"].get("details") or {}).get("causes") or []:
        assert cause["message"].endswith("]")
        assert "[muster: " in cause["message"]
