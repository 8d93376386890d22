"""Adapter for RayService (ray.io): the RayCluster that it creates.

During an upgrade that creates a new cluster, the pods of two clusters run at a time; the pods of one are placed.
"""

from __future__ import annotations

import dataclasses

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.shared import object_identity, pod_sets
from workloadbuilder.adapters.shared.adapter_result import Dependent, Reading
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known

_SPEC = FieldPath("spec")
_NAME, _KIND = "ray.io/originated-from-cr-name", "ray.io/originated-from-crd"


def adapt(manifest: Json, known: Known) -> Reading:  # noqa: ARG001 - signature of adapters
    """Read a RayService; never raises, for any JSON."""
    errors: list[FieldError] = []
    warnings: list[FieldError] = []
    about, top = object_identity.read_identity(manifest, errors, warnings)
    spec = top.mapping("spec")
    object_identity.warn_if_suspended(spec, "RayService", warnings, created="RayCluster")
    cluster = spec.mapping("rayClusterConfig")
    if "rayClusterConfig" not in spec:
        errors.append(field.required(cluster.path, "a RayService must have a RayCluster"))
    metadata = {
        "name": _cluster_name(top.mapping("status")) or about.owner.name,
        "labels": {**about.labels, _NAME: about.owner.name, _KIND: "RayService"},
        "annotations": dict(about.annotations),
    }
    child = {"apiVersion": about.owner.api_version, "kind": "RayCluster", "metadata": metadata, "spec": cluster.given}
    result = Reading(about.owner, about.namespace, errors=tuple(errors), warnings=tuple(warnings))
    return dataclasses.replace(result, dependents=(Dependent(pod_sets.owned(child, about.owner), cluster.path, _SPEC),))


def _cluster_name(status: Fields) -> str:
    """Return the name of the cluster, to which KubeRay appends five random characters; empty if none is there yet."""
    named = (status.mapping(each).text("rayClusterName") for each in ("activeServiceStatus", "pendingServiceStatus"))
    return next(filter(None, named), "")
