"""Cases of the admission of pods (``tests/cases/pod-admission.json``): each is answered by a real API server.

``python -m tests.cluster.pod_admission`` records the answers anew.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cluster.api import Api, ApiError
from tests.cluster.control_plane import ControlPlane
from tests.cluster.options import Options
from tests.cluster.resources import Manifest
from tests.cluster.take_effect import remove_classes

CASES = Path(__file__).parent.parent / "cases" / "pod-admission.json"
KEPT = ("overhead", "nodeSelector", "priorityClassName", "tolerations")
"""Fields of a pod's spec that admission sets, besides the resources of its containers."""
_BY_CONTROLLERS = "node.kubernetes.io/"
_SETTLED_SECONDS = 1.0


def read() -> list[dict[str, Any]]:
    """Return the cases: name, objects, pods, and the answer to each pod."""
    cases: list[dict[str, Any]] = json.loads(CASES.read_text(encoding="utf-8"))
    return cases


def answers(api: Api, namespace: str, case: dict[str, Any]) -> list[Manifest]:
    """Create the pods of a case one after the other, which can be objects of other kinds; return the answer to each."""
    return [_answer(api, namespace, {"apiVersion": "v1", "kind": "Pod", **pod}) for pod in case["pods"]]


def create(api: Api, namespace: str, case: dict[str, Any]) -> None:
    """Create the objects of a case; quotas also get their status."""
    for each in case["objects"]:
        cluster_scoped = each["kind"] in {"RuntimeClass", "PriorityClass"}
        metadata = each["metadata"] if cluster_scoped else {**each["metadata"], "namespace": namespace}
        api.create({**{key: value for key, value in each.items() if key != "status"}, "metadata": metadata})
        if "status" in each:
            api.set_status(each["kind"], metadata["name"], namespace, status=each["status"])


def remove(api: Api, case: dict[str, Any]) -> None:
    """Delete the objects of a case that are not in its namespace; a default class must not be that of later pods."""
    for each in case["objects"]:
        if each["kind"] == "RuntimeClass":
            api.delete(each["kind"], each["metadata"]["name"])
    remove_classes(api, [each["metadata"]["name"] for each in case["objects"] if each["kind"] == "PriorityClass"])


def shown(pod: Manifest) -> Manifest:
    """Return what admission decides of a pod: resources by container, and the fields ``KEPT``."""
    spec = pod["spec"]
    containers = [*spec.get("initContainers", ()), *spec["containers"]]
    result: Manifest = {
        "resources": [{key: each.get("resources", {}).get(key) or {} for key in ("requests", "limits")} for each in containers]
    }
    for name in KEPT:
        value = spec.get(name)
        if name == "tolerations":
            value = [each for each in value or () if not each.get("key", "").startswith(_BY_CONTROLLERS)]
        if value:
            result[name] = value
    return result


def _answer(api: Api, namespace: str, pod: Manifest) -> Manifest:
    try:
        created = api.create({**pod, "metadata": {**pod["metadata"], "namespace": namespace}}, fieldValidation="Strict")
    except ApiError as error:
        return {"refused": str(error.status.get("message", "")).replace(namespace, "NAMESPACE")}
    return shown(created) if pod["kind"] == "Pod" else {}


def main() -> int:
    """Record the answers of a control plane."""
    cases = read()
    with ControlPlane(Options()) as plane:
        for case in cases:
            name = plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "test-"}})["metadata"]["name"]
            create(plane.api, name, case)
            time.sleep(_SETTLED_SECONDS)
            case["answers"] = answers(plane.api, name, case)
            remove(plane.api, case)
    CASES.write_text("[\n" + ",\n".join(_lines(cases)) + "\n]\n", encoding="utf-8")
    return 0


def _lines(cases: list[dict[str, Any]]) -> Iterator[str]:
    return (json.dumps(each) for each in cases)


if __name__ == "__main__":
    sys.exit(main())
