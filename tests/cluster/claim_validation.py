"""Cases of the validation of claims to devices, and of slices, each answered by a real API server.

They are in ``tests/cases/claim-validation.json`` and ``slice-validation.json``.  ``python -m tests.cluster.claim_validation`` records the
answers anew: those of the version of the programs.
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
from tests.cluster.resources import RESOURCES

CASES, SLICES = (Path(__file__).parent.parent / "cases" / f"{name}-validation.json" for name in ("claim", "slice"))
INVALID = 422


def read(path: Path = CASES) -> list[dict[str, Any]]:
    """Return the cases: a name, ``devices`` of a claim or ``spec`` of a slice, and the errors of API servers; see ``recorded``."""
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
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


def slice_of(spec: Any) -> dict[str, Any]:
    """Return a ResourceSlice with *spec*."""
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}


def errors(api: Api, whole: dict[str, Any]) -> list[list[str]]:
    """Return the errors of the API server about an object, in order of field."""
    # Compact, as clients in Go send it: the size of parameters counts.
    body = json.dumps(whole, separators=(",", ":"), ensure_ascii=False)
    version, plural, namespaced = RESOURCES[whole["kind"]]
    place = f"namespaces/{whole['metadata']['namespace']}/{plural}" if namespaced else plural
    try:
        api.send("POST", f"/apis/{version}/{place}", body.encode(), query={"dryRun": "All"})
    except ApiError as error:
        if error.code != INVALID:
            raise
        return sorted(list(each) for each in error.causes)
    return []


def main() -> int:
    """Record the answers of a control plane."""
    with ControlPlane(Options()) as plane, new_namespace(plane.api) as namespace:
        key = _key(plane.programs.minor())
        for path in (CASES, SLICES):
            cases = read(path)
            for case in cases:
                whole = slice_of(case["spec"]) if path is SLICES else claim(case["devices"], namespace=namespace)
                answer = errors(plane.api, whole)
                case.pop(key, None)
                if answer != case.get("errors"):
                    case[key] = answer
            path.write_text("[\n" + ",\n".join(json.dumps(each, ensure_ascii=False) for each in cases) + "\n]\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
