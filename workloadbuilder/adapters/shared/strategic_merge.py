"""Strategic merge patches, as the API server and many controllers merge a pod template into another one."""

from __future__ import annotations

from collections.abc import Mapping

from kubeapi.decode import Json
from workloadbuilder.blueprint import copied

_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "imagePullSecrets": "name",
    "schedulingGates": "name",
    "resourceClaims": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}
"""Key of the entries of the lists of a pod that are merged; other lists are replaced."""


def merged(given: Json, patch: Json, name: str = "") -> Json:
    """Return a value of the field *name* with a strategic merge patch; null removes a field."""
    if isinstance(given, Mapping) and isinstance(patch, Mapping):
        result = {key: copied(value) for key, value in given.items()}
        for key, value in patch.items():
            if value is None:
                result.pop(key, None)
            else:
                result[key] = merged(result.get(key), value, key)
        return result
    if name in _KEYS and isinstance(given, list) and isinstance(patch, list):
        return _merged_list(given, patch, _KEYS[name])
    return copied(patch)


def _merged_list(given: list[Json], patch: list[Json], key: str) -> list[Json]:
    places = {str(each.get(key)): place for place, each in enumerate(given) if isinstance(each, Mapping)}
    result = [copied(each) for each in given]
    for each in patch:
        place = places.get(str(each.get(key))) if isinstance(each, Mapping) else None
        if place is None:
            result.append(copied(each))
        else:
            result[place] = merged(result[place], each)
    return result
