"""Volumes that the measures of a certificate count, from the raw objects; shares no code with the author of certificates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Named = dict[tuple[str, str, str], Json]
UNLIMITED = 2**31 - 1


def at(value: Any, *path: str) -> Any:
    """Return the value at *path*; an empty object if there is none."""
    for name in path:
        value = (value or {}).get(name)
    return value or {}


def size(text: Any) -> int:
    """Return bytes."""
    number = str(text).rstrip("KMGTi")
    return int(number) * 1024 ** " KMGT".index(str(text)[len(number) :][:1] or " ")


def admits(expressions: Any, labels: Json) -> bool:
    """Return true if *labels* have a value of each of *expressions*, which are all In."""
    if any(each["operator"] != "In" for each in expressions):
        raise ValueError("unknown operator")
    return all(labels.get(each["key"]) in each["values"] for each in expressions)


class CountedVolumes:
    """What pods need and nodes have, in thousandths, of each name in ``counted`` of *certificate*."""

    def __init__(self, named: Named, certificate: Json) -> None:
        self.named, counted = named, certificate.get("counted", {})
        self.counted = {row: what for row, what in counted.items() if "devices" not in what}
        self.volumes = {name: each for (kind, _, name), each in named.items() if kind == "PersistentVolume"}
        self.classes = {name: each for (kind, _, name), each in named.items() if kind == "StorageClass"}
        self.limits = {
            (name, each["name"]): at(each, "allocatable").get("count", UNLIMITED)
            for (kind, _, name), csi_node in named.items()
            if kind == "CSINode"
            for each in at(csi_node, "spec", "drivers")
        }
        self.attached = {
            (at(each, "spec")["nodeName"], self.handle(at(each, "spec", "source")["persistentVolumeName"]))
            for (kind, _, _), each in named.items()
            if kind == "VolumeAttachment"
        }
        self.users: dict[object, list[tuple[str, str]]] = {}
        for (kind, _, name), pod in named.items():
            if kind == "Pod" and at(pod, "status", "phase") not in ("Succeeded", "Failed"):
                for key in set(self.keys(pod)):
                    self.users.setdefault(key, []).append((name, at(pod, "spec").get("nodeName", "")))

    def handle(self, volume: str) -> tuple[str, str]:
        """Return driver and handle of a volume; empty without."""
        csi = at(self.volumes.get(volume), "spec", "csi")
        return csi.get("driver", ""), csi.get("volumeHandle", "")

    def claims(self, pod: Json) -> Iterator[tuple[str, Json]]:
        """Yield the claims of a pod: name and spec."""
        space, name = at(pod, "metadata", "namespace") or "default", pod["metadata"]["name"]
        for each in at(pod, "spec", "volumes"):
            claim = at(each, "persistentVolumeClaim").get("claimName") or (f"{name}-{each['name']}" if "ephemeral" in each else "")
            known = self.named.get(("PersistentVolumeClaim", space, claim))
            if claim:
                yield f"{space}/{claim}", at(known, "spec") if known else at(each, "ephemeral", "volumeClaimTemplate", "spec")

    def keys(self, pod: Json) -> Iterator[tuple[str, str]]:
        """Yield driver and handle of each claim; one that is not bound has its own handle."""
        for name, spec in self.claims(pod):
            provisioner = at(self.classes.get(spec.get("storageClassName", "")), "provisioner")
            yield self.handle(spec["volumeName"]) if spec.get("volumeName") else (str(provisioner), name)

    def takes(self, pod: Json) -> Counter[str]:
        """Return what *pod* needs."""
        result, own = Counter[str](), [key for key in set(self.keys(pod)) if self.counts(pod, key)]
        waiting = [self.suiting(name, spec) for name, spec in self.claims(pod) if self.waits(spec)]
        for name, what in self.counted.items():
            if "driver" in what:
                result[name] += 1000 * sum(driver == what["driver"] for driver, _ in own)
            else:
                result[name] += 1000 * sum(bool(found) and found <= set(what["volumes"]) for found in waiting)
        return result

    def counts(self, pod: Json, key: tuple[str, str]) -> bool:
        """Return true if the volume counts for *pod* alone."""
        node, name = at(pod, "spec").get("nodeName", ""), pod["metadata"]["name"]
        others = {where for other, where in self.users.get(key, ()) if other != name}
        if node:
            return (node, key) not in self.attached and not others & {"", node}
        return not others and not any(key == other for _, other in self.attached)

    def waits(self, spec: Json) -> bool:
        """Return true if the claim waits for a pod."""
        mode = at(self.classes.get(spec.get("storageClassName", "")), "volumeBindingMode")
        return not spec.get("volumeName") and mode == "WaitForFirstConsumer"

    def suiting(self, claim: str, spec: Json) -> set[str]:
        """Return the free volumes that match a claim."""
        refs = {name: at(each, "spec", "claimRef") for name, each in self.volumes.items()}
        if any(f"{ref.get('namespace')}/{ref.get('name')}" == claim for ref in refs.values()):
            return set()
        found = set()
        for name, each in self.volumes.items():
            offer, labels = at(each, "spec"), at(each, "metadata", "labels")
            free = (
                not refs[name]
                and at(each, "status").get("phase", "Available") == "Available"
                and "deletionTimestamp" not in each["metadata"]
            )
            suits = offer.get("storageClassName") == spec.get("storageClassName") and set(spec["accessModes"]) <= set(offer["accessModes"])
            wanted = at(spec, "selector", "matchLabels").items() <= labels.items()
            if (
                free
                and suits
                and wanted
                and size(offer["capacity"]["storage"]) >= size(at(spec, "resources", "requests").get("storage", 0))
            ):
                found.add(name)
        return found

    def has(self, node: Json) -> Counter[str]:
        """Return what *node* has."""
        result, name = Counter[str](), node["metadata"]["name"]
        for row, what in self.counted.items():
            if "driver" in what:
                limit = self.limits.get((name, what["driver"]), UNLIMITED)
                attached = sum(where == name and driver == what["driver"] for where, (driver, _) in self.attached)
                result[row] = 1000 * (limit if limit == UNLIMITED else max(0, limit - attached))
            else:
                result[row] = 1000 * sum(self.reaches(node, self.volumes[each]) for each in set(what["volumes"]))
        return result

    def reaches(self, node: Json, volume: Json) -> bool:
        """Return true if the labels of *node* admit *volume*."""
        terms = at(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms")
        return not terms or any(admits(at(term, "matchExpressions"), at(node, "metadata", "labels")) for term in terms)
