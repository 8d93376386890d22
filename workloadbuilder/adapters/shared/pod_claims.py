"""Claims that a controller creates for its pods, and the volumes that it adds to them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from kubeapi.decode import Json
from workloadbuilder.adapters.shared import object_identity
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.blueprint import copied

_CLAIM = "PersistentVolumeClaim"


@dataclasses.dataclass(frozen=True, slots=True)
class PodClaims:
    """Templates of claims: specification by name, which is the name of the volume too.

    A claim has the name of its template, a hyphen, and the name of the pod or object that it is for.
    """

    templates: Mapping[str, Mapping[str, Json]] = dataclasses.field(default_factory=dict)

    @classmethod
    def read(cls, listed: Iterable[Fields]) -> PodClaims:
        """Return the claims of a list of PersistentVolumeClaims."""
        return cls({each.mapping("metadata").text("name"): each.mapping("spec").given for each in listed})

    def mount(self, pod: dict[str, Json], owner: str, *, mounted_only: bool = False) -> None:
        """Add the volumes for the claims of *owner* to a pod, with *mounted_only* those that its containers mount."""
        spec = pod["spec"]
        names = [each for each in self.templates if not mounted_only or each in _mounted(spec)]
        if names:
            volumes = [each for each in _listed(spec, "volumes") if not isinstance(each, Mapping) or each.get("name") not in names]
            own = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{owner}"}} for name in names]
            spec["volumes"] = [*volumes, *own]

    def objects(self, owners: Iterable[str], namespace: str, known: Known) -> Iterator[dict[str, Json]]:
        """Yield the claims of all *owners* that do not exist yet."""
        listed = (known.list_kind("", _CLAIM, each) for each in {namespace, namespace or "default"})
        existing = {object_identity.name_of(each) for claims in listed for each in claims}
        for owner in owners:
            for template, spec in self.templates.items():
                if (name := f"{template}-{owner}") not in existing:
                    yield {"apiVersion": "v1", "kind": _CLAIM, "metadata": {"name": name}, "spec": copied(spec)}


def _mounted(spec: Mapping[str, Json]) -> list[Json]:
    containers = [each for kind in ("containers", "initContainers") for each in _listed(spec, kind)]
    return [mount.get("name") for each in containers for mount in _listed(each, "volumeMounts") if isinstance(mount, Mapping)]


def _listed(content: Json, name: str) -> list[Json]:
    """Return a list in an untrusted object; empty if it is absent or something else."""
    listed = content.get(name) if isinstance(content, Mapping) else None
    return listed if isinstance(listed, list) else []
