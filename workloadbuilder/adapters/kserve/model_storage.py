"""What KServe adds to the pods of a model: a volume, or a container that loads the model.

Source: KServe 0.20, ``storage_initializer_injector.go`` and ``workload_storage.go``; amounts are those of the ConfigMap
``inferenceservice-config`` as it is shipped.
"""

from __future__ import annotations

from kubeapi.decode import Json

_IMAGE = "image-of-kserve"
"""The configuration has the images of these containers."""
_LOADER = {"requests": {"cpu": "100m", "memory": "100Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
_MODELCAR = {"requests": {"cpu": "10m", "memory": "15Mi"}, "limits": {"cpu": "10m", "memory": "15Mi"}}
PVC, _OCI, _NATIVE = "pvc://", "oci://", "oci+native://"


def attach(pod: dict[str, Json], uri: str) -> None:
    """Add to the specification of a *pod* what the model at *uri* needs; nothing if it is empty."""
    if uri.startswith(PVC):
        claim = uri.removeprefix(PVC).partition("/")[0]
        _append(pod, "volumes", {"name": "kserve-pvc-source", "persistentVolumeClaim": {"claimName": claim, "readOnly": True}})
    elif uri.startswith(_OCI):
        _append(pod, "initContainers", container("modelcar-init", _MODELCAR))
        _append(pod, "containers", container("modelcar", _MODELCAR))
    elif uri and not uri.startswith(_NATIVE):
        _append(pod, "initContainers", container("storage-initializer", _LOADER))


def container(name: str, resources: dict[str, Json]) -> dict[str, Json]:
    """Return a container that KServe adds."""
    return {"name": name, "image": _IMAGE, "resources": {part: dict(amounts) for part, amounts in resources.items()}}


def add_agent(pod: dict[str, Json]) -> None:
    """Add the container of a logger or batcher to the specification of a *pod*."""
    _append(pod, "containers", container("agent", _LOADER))


def _append(pod: dict[str, Json], name: str, entry: dict[str, Json]) -> None:
    listed = pod.get(name)
    pod[name] = [*(listed if isinstance(listed, list) else ()), entry]
