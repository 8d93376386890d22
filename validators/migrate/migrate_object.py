"""What must change in one object of ``scheduling.k8s.io`` whose version is retired, and in what it is owned by.

Sources: KEP-4671 (v1alpha1, API), k8s.io/api v0.35.9 and v0.36.6 (scheduling), KEP-6012 (Changes to the PodGroup API).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from validators.migrate.change import Change, Parts, Remove, Rename, Replace, Unwrap
from validators.model.decode import Json
from validators.versions import served
from validators.versions.releases import OLDEST, TODAY
from validators.versions.table import V1ALPHA1, V1ALPHA2
from validators.versions.v1alpha2 import CONDITIONS, MODES


@dataclasses.dataclass(frozen=True, slots=True)
class Lost:
    """What an object says and today's form cannot, at a path of the object."""

    path: Parts
    lost: str
    meant: str
    remedy: str


@dataclasses.dataclass(frozen=True, slots=True)
class Noted:
    """What somebody should know of an object, at a path of it."""

    path: Parts
    message: str


Step = Change | Lost | Noted


def is_retired(api_version: Json, kind: Json) -> bool:
    """Whether this is a version of a kind that servers of today no longer know, and that can be migrated."""
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return False
    found = served.find(api_version, kind)
    return found is not None and found.until < TODAY


def minor_of(api_version: str, kind: str) -> int | None:
    """The last minor version of Kubernetes that served a retired version of *kind*; None where it cannot be mirrored any more."""
    found = served.find(api_version, kind)
    return found.until if found is not None and found.until >= OLDEST else None


def target_of(api_version: str, kind: str, to: str) -> str:
    """The ``apiVersion`` that a *kind* of *api_version* is migrated to, where groups and Workloads go *to*."""
    return served.closest(kind, api_version.rpartition("/")[0], to)


def hub(content: Mapping[str, Json]) -> Mapping[str, Json]:
    """The object in today's form, whatever its version."""
    return served.form_of(str(content.get("apiVersion"))).to_hub(content)


def steps(content: Mapping[str, Json], to: str) -> Iterator[Step]:
    """What changes in an object, and what is lost: nothing at all where neither it nor its owners are of a retired version."""
    api_version, kind = content.get("apiVersion"), content.get("kind")
    if is_retired(api_version, kind):
        yield Replace(("apiVersion",), target_of(str(api_version), str(kind), to))
        yield from _copied_from_a_cluster(content)
        of_form = {("Workload", V1ALPHA1): _groups, ("Workload", V1ALPHA2): _templates, ("PodGroup", V1ALPHA2): _pod_group}
        found = of_form.get((str(kind), served.form_of(str(api_version))))
        spec = content.get("spec")
        if found is not None and isinstance(spec, Mapping):
            yield from found(content, spec)
    yield from _owners(content, to)


def _groups(_: Mapping[str, Json], spec: Mapping[str, Json]) -> Iterator[Step]:
    """v1alpha1's Workload."""
    if "podGroups" not in spec:
        return
    yield Rename(("spec", "podGroups"), "podGroupTemplates")
    for place, group in _mappings(spec["podGroups"]):
        if "policy" in group:
            yield Rename(("spec", "podGroups", place, "policy"), "schedulingPolicy")
            yield from _desired(group["policy"], ("spec", "podGroups", place, "policy", "basic"))


def _desired(policy: Json, at: Parts) -> Iterator[Step]:
    basic = policy.get("basic") if isinstance(policy, Mapping) else None
    if not isinstance(basic, Mapping) or "desiredCount" not in basic:
        return
    yield Remove((*at, "desiredCount"))
    if basic["desiredCount"] is not None:
        yield Lost(
            (*at, "desiredCount"),
            str(basic["desiredCount"]),
            "a hint how many pods to expect, so that a place for all of them is chosen with the first; pods were never held back by it",
            "nothing, if pods may start one by one; if they are of use together only, make the policy `gang` with a minCount",
        )


def _templates(_: Mapping[str, Json], spec: Mapping[str, Json]) -> Iterator[Step]:
    """v1alpha2's Workload."""
    for place, template in _mappings(spec.get("podGroupTemplates")):
        yield from _mode(template, ("spec", "podGroupTemplates", place))


def _pod_group(content: Mapping[str, Json], spec: Mapping[str, Json]) -> Iterator[Step]:
    """v1alpha2's PodGroup."""
    yield from _mode(spec, ("spec",))
    if "podGroupTemplateRef" in spec:
        reference, at = spec["podGroupTemplateRef"], ("spec", "podGroupTemplateRef")
        yield Rename(at, "workloadRef")
        if isinstance(reference, Mapping) and isinstance(reference.get("workload"), Mapping):
            yield Unwrap(at, "workload")
            if "podGroupTemplateName" in reference["workload"]:
                yield Rename((*at, "workload", "podGroupTemplateName"), "templateName")
    status = content.get("status")
    for place, condition in _mappings(status.get("conditions") if isinstance(status, Mapping) else None):
        if condition.get("type") in CONDITIONS:
            yield Replace(("status", "conditions", place, "type"), CONDITIONS[condition["type"]])


def _mode(shape: Mapping[str, Json], at: Parts) -> Iterator[Step]:
    word = shape.get("disruptionMode")
    if isinstance(word, str) and word in MODES:
        yield Replace((*at, "disruptionMode"), {MODES[word]: {}})


def _copied_from_a_cluster(content: Mapping[str, Json]) -> Iterator[Step]:
    metadata = content.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("resourceVersion"):
        yield Noted(
            ("metadata", "resourceVersion"),
            "this is the copy of an object in a cluster; take the resourceVersion out before it is made anew: with one the API server refuses it",
        )


def _owners(content: Mapping[str, Json], to: str) -> Iterator[Step]:
    """Owners of a retired version: they are found under another one, and have another uid once they are made anew."""
    metadata = content.get("metadata")
    for place, owner in _mappings(metadata.get("ownerReferences") if isinstance(metadata, Mapping) else None):
        if not is_retired(owner.get("apiVersion"), owner.get("kind")):
            continue
        at = ("metadata", "ownerReferences", place)
        yield Replace((*at, "apiVersion"), target_of(owner["apiVersion"], owner["kind"], to))
        if owner.get("uid"):
            yield Lost(
                (*at, "uid"),
                str(owner["uid"]),
                f"which {owner['kind']} owns this object; objects of a retired version are deleted before an upgrade, and have another "
                "uid when they are made again",
                "write the uid of the new owner, or take the reference out: with a uid that is gone the garbage collector deletes this object",
            )


def _mappings(values: Json) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """The mappings in a list, by their places; of anything else none."""
    for place, each in enumerate(values if isinstance(values, list) else ()):
        if isinstance(each, Mapping):
            yield place, each
