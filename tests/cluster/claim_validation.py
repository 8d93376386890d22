"""Cases of the validation of claims to devices (``tests/cases/claim-validation.json``): each is answered by a real API server.

``python -m tests.cluster.claim_validation`` records the answers anew: those of the version of the programs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kubeapi.versions import kubernetes_releases
from tests.cluster.api import Api, ApiError
from tests.cluster.conftest import new_namespace
from tests.cluster.control_plane import ControlPlane
from tests.cluster.options import Options

CASES = Path(__file__).parent.parent / "cases" / "claim-validation.json"
INVALID = 422


def read() -> list[dict[str, Any]]:
    """Return the cases: a name, ``devices`` of a claim, and the errors of API servers; see ``recorded``."""
    cases: list[dict[str, Any]] = json.loads(CASES.read_text(encoding="utf-8"))
    return cases


def recorded(case: dict[str, Any], minor: int) -> list[list[str]]:
    """Return the errors of Kubernetes 1.*minor*: field, type and message each.  A case names them only where the default's differ."""
    found: list[list[str]] = case.get(_key(minor), case["errors"])
    return found


def _key(minor: int) -> str:
    return "errors" if minor == kubernetes_releases.TODAY else f"errors-{kubernetes_releases.name(minor)}"


def claim(devices: Any, kind: str = "ResourceClaim", namespace: str = "default") -> dict[str, Any]:
    """Return a claim, or a template of claims, with *devices*."""
    spec = {"devices": devices}
    whole = spec if kind == "ResourceClaim" else {"spec": spec}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "c", "namespace": namespace}, "spec": whole}


def errors(api: Api, namespace: str, devices: Any, kind: str = "ResourceClaim") -> list[list[str]]:
    """Return the errors of the API server, in order of field."""
    # Compact, as clients in Go send it: the size of parameters counts.
    body = json.dumps(claim(devices, kind, namespace), separators=(",", ":"), ensure_ascii=False)
    path = f"/apis/resource.k8s.io/v1/namespaces/{namespace}/{kind.lower()}s"
    try:
        api.send("POST", path, body.encode(), query={"dryRun": "All"})
    except ApiError as error:
        if error.code != INVALID:
            raise
        return sorted(list(each) for each in error.causes)
    return []


def main() -> int:
    """Record the answers of a control plane."""
    cases = read()
    with ControlPlane(Options()) as plane, new_namespace(plane.api) as namespace:
        key = _key(plane.programs.minor())
        for case in cases:
            answer = errors(plane.api, namespace, case["devices"])
            case.pop(key, None)
            if answer != case.get("errors"):
                case[key] = answer
    CASES.write_text("[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in cases) + "\n]\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
