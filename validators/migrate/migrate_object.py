"""Changes of one object of a retired version or another API group, and of references to owners of such versions.

Sources: KEP-4671 (v1alpha1, API), k8s.io/api v0.35.9 and v0.36.6 (scheduling), KEP-6012 (Changes to the PodGroup API).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

from kubeapi.content import LONGEST_LABEL
from kubeapi.decode import Json
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import V1ALPHA1, V1ALPHA2
from kubeapi.versions.kubernetes_releases import OLDEST, TODAY
from kubeapi.versions.served_versions import WORKLOAD_GROUPS
from kubeapi.versions.v1alpha2 import CONDITIONS, MODES
from validators.migrate import references
from validators.migrate.change import Change, Parts, Remove, Rename, Replace, Unwrap


@dataclasses.dataclass(frozen=True, slots=True)
class Lost:
    """Field of an object that the current form cannot express."""

    path: Parts
    lost: str
    meant: str
    remedy: str


@dataclasses.dataclass(frozen=True, slots=True)
class Noted:
    """Note about a field of an object, without a loss."""

    path: Parts
    message: str


Step = Change | Lost | Noted
_REMOVED: Mapping[tuple[str, str], str] = {
    ("resource.k8s.io", "ResourceClass"): "a DeviceClass takes its place",
    ("resource.k8s.io", "ResourceClassParameters"): "selectors and configurations of a DeviceClass take its place",
    ("resource.k8s.io", "ResourceClaimParameters"): "requests, selectors and configurations of a ResourceClaim take its place",
    ("resource.k8s.io", "PodSchedulingContext"): "kube-scheduler allocates devices itself",
}
"""Kinds that only retired versions of an API group had, with what to use instead."""


def is_retired(api_version: Json, kind: Json) -> bool:
    """Return whether this version of the kind is in the table of versions, but current servers no longer serve it."""
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return False
    served_kind = served_versions.find(api_version, kind)
    return served_kind is not None and served_kind.until < TODAY


def minor_of(api_version: str, kind: str) -> int | None:
    """Return the last minor version of Kubernetes that served a retired version of *kind*; None if it cannot be mirrored."""
    served_kind = served_versions.find(api_version, kind)
    return served_kind.until if served_kind is not None and served_kind.until >= OLDEST else None


def group_of(api_version: Json) -> str:
    """Return the API group of an ``apiVersion``; empty for the core group."""
    return api_version.rpartition("/")[0] if isinstance(api_version, str) else ""


def is_replaced(api_version: Json, kind: Json, to: str) -> bool:
    """Return whether objects of this version of the kind get another version: it is retired, or *to* is of another API group.

    *to* is a version, or the ``apiVersion`` of an API group.
    """
    group = group_of(to)
    moves = group != group_of(api_version) and served_versions.serves(group, str(kind)) and group_of(api_version) in WORKLOAD_GROUPS
    return is_retired(api_version, kind) or (moves and served_versions.find(str(api_version), str(kind)) is not None)


def target_of(api_version: str, kind: str, to: str) -> str:
    """Return the target ``apiVersion`` of a *kind* of *api_version*, if groups and Workloads are migrated to *to*."""
    group, _, version = to.rpartition("/")
    return served_versions.closest(kind, group if served_versions.serves(group, kind) else group_of(api_version), version)


def hub(content: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return an object of any version in the current form."""
    return served_versions.form_of(str(content.get("apiVersion"))).to_hub(content)


def steps(content: Mapping[str, Json], to: str) -> Iterator[Step]:
    """Yield the changes, losses and notes of an object; none if neither the object nor an owner gets another version."""
    api_version, kind = content.get("apiVersion"), content.get("kind")
    if (too_long := _name_too_long(content, to)) is not None:
        yield too_long
        to = to.rpartition("/")[2]
    if is_replaced(api_version, kind, to):
        yield Replace(("apiVersion",), target_of(str(api_version), str(kind), to))
        yield from _copied_from_a_cluster(content)
        of_form = {
            ("Workload", V1ALPHA1): _workload_v1alpha1,
            ("Workload", V1ALPHA2): _workload_v1alpha2,
            ("PodGroup", V1ALPHA2): _pod_group_v1alpha2,
        }
        steps_of_form = of_form.get((str(kind), served_versions.form_of(str(api_version))))
        spec = content.get("spec")
        if steps_of_form is not None and isinstance(spec, Mapping):
            yield from steps_of_form(content, spec)
    elif (lost := _not_convertible(api_version, kind, to)) is not None:
        yield lost
    yield from _owners(content, to)
    yield from (_old_source(path) for path in references.old_sources(content))


def _name_too_long(content: Mapping[str, Json], to: str) -> Lost | None:
    """Return the loss of a PodGroup that stays in its API group, because its name is too long for the other one; None for others."""
    metadata = content.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    group = group_of(content.get("apiVersion"))
    moves = content.get("kind") == "PodGroup" and group in WORKLOAD_GROUPS and group != group_of(to)
    if not moves or not served_versions.form_of(to).custom or not isinstance(name, str) or len(name) <= LONGEST_LABEL:
        return None
    return Lost(
        ("metadata", "name"),
        f"the whole object: PodGroup {name} stays in {group}",
        f"labels of pods name the PodGroups of {group_of(to)}, and have at most {LONGEST_LABEL} characters",
        "give the PodGroup a shorter name, also in the pods that name it",
    )


def _not_convertible(api_version: Json, kind: Json, to: str) -> Lost | None:
    """Return the loss of an object of a version that its API group does not have, or no longer; None for others.

    Custom kinds can have versions that are not known here.
    """
    if not isinstance(api_version, str) or not isinstance(kind, str) or served_versions.find(api_version, kind) is not None:
        return None
    group = api_version.rpartition("/")[0]
    is_known = served_versions.serves(group, kind) and group not in served_versions.FOREIGN
    if not is_known and (group, kind) not in _REMOVED:
        return None
    current = target_of(api_version, kind, to) if is_known else ""
    return Lost(
        ("apiVersion",),
        f"the whole object: {kind} of {api_version} cannot be converted",
        _not_served(group),
        f"write the object again in {current}; its fields can be others" if is_known else f"remove the object: {_REMOVED[group, kind]}",
    )


def _not_served(group: str) -> str:
    is_custom = any(row.form.custom for row in served_versions.versions_in(group))
    return f"the definitions of {group} have no such version" if is_custom else f"Kubernetes 1.{TODAY} does not serve this version"


def _old_source(path: Parts) -> Lost:
    return Lost(
        path,
        "source of a claim",
        "the claim, or template of claims, of the pod until Kubernetes 1.30; newer API servers drop this field",
        "write its resourceClaimName or resourceClaimTemplateName in place of it, beside the name of the entry",
    )


def _workload_v1alpha1(_: Mapping[str, Json], spec: Mapping[str, Json]) -> Iterator[Step]:
    """Yield the steps of a Workload of v1alpha1."""
    if "podGroups" not in spec:
        return
    yield Rename(("spec", "podGroups"), "podGroupTemplates")
    for index, group in _mappings(spec["podGroups"]):
        if "policy" in group:
            yield Rename(("spec", "podGroups", index, "policy"), "schedulingPolicy")
            yield from _desired(group["policy"], ("spec", "podGroups", index, "policy", "basic"))


def _desired(policy: Json, at: Parts) -> Iterator[Step]:
    basic = policy.get("basic") if isinstance(policy, Mapping) else None
    if not isinstance(basic, Mapping) or "desiredCount" not in basic:
        return
    yield Remove((*at, "desiredCount"))
    if basic["desiredCount"] is not None:
        yield Lost(
            (*at, "desiredCount"),
            str(basic["desiredCount"]),
            "a hint for the expected number of pods: the first pod was placed where all of them fit; no pod waited for this number",
            "nothing, if pods may start one by one; if they are useful only together, use policy `gang` with a minCount",
        )


def _workload_v1alpha2(_: Mapping[str, Json], spec: Mapping[str, Json]) -> Iterator[Step]:
    """Yield the steps of a Workload of v1alpha2."""
    for index, template in _mappings(spec.get("podGroupTemplates")):
        yield from _mode(template, ("spec", "podGroupTemplates", index))


def _pod_group_v1alpha2(content: Mapping[str, Json], spec: Mapping[str, Json]) -> Iterator[Step]:
    """Yield the steps of a PodGroup of v1alpha2."""
    yield from _mode(spec, ("spec",))
    if "podGroupTemplateRef" in spec:
        reference, at = spec["podGroupTemplateRef"], ("spec", "podGroupTemplateRef")
        yield Rename(at, "workloadRef")
        if isinstance(reference, Mapping) and isinstance(reference.get("workload"), Mapping):
            yield Unwrap(at, "workload")
            if "podGroupTemplateName" in reference["workload"]:
                yield Rename((*at, "workload", "podGroupTemplateName"), "templateName")
    status = content.get("status")
    for index, condition in _mappings(status.get("conditions") if isinstance(status, Mapping) else None):
        if condition.get("type") in CONDITIONS:
            yield Replace(("status", "conditions", index, "type"), CONDITIONS[condition["type"]])


def _mode(shape: Mapping[str, Json], at: Parts) -> Iterator[Step]:
    mode = shape.get("disruptionMode")
    if isinstance(mode, str) and mode in MODES:
        yield Replace((*at, "disruptionMode"), {MODES[mode]: {}})


def _copied_from_a_cluster(content: Mapping[str, Json]) -> Iterator[Step]:
    metadata = content.get("metadata")
    if isinstance(metadata, Mapping) and metadata.get("resourceVersion"):
        yield Noted(
            ("metadata", "resourceVersion"),
            "this object was copied from a cluster; remove the resourceVersion before creating it again: the API server refuses objects "
            "with one",
        )


def _owners(content: Mapping[str, Json], to: str) -> Iterator[Step]:
    """Yield the steps for owners that get another version and, when created again, another uid."""
    metadata = content.get("metadata")
    for index, owner in _mappings(metadata.get("ownerReferences") if isinstance(metadata, Mapping) else None):
        if not is_replaced(owner.get("apiVersion"), owner.get("kind"), to):
            continue
        at = ("metadata", "ownerReferences", index)
        yield Replace((*at, "apiVersion"), target_of(owner["apiVersion"], owner["kind"], to))
        if owner.get("uid"):
            yield Lost(
                (*at, "uid"),
                str(owner["uid"]),
                f"the {owner['kind']} that owns this object; an object of another version is created anew, and has another uid then",
                "set the uid of the new owner, or remove the reference: the garbage collector deletes objects whose owner does not exist",
            )


def _mappings(values: Json) -> Iterator[tuple[int, Mapping[str, Json]]]:
    """Yield the mappings in a list with their indices; nothing if *values* is not a list."""
    for index, each in enumerate(values if isinstance(values, list) else ()):
        if isinstance(each, Mapping):
            yield index, each
