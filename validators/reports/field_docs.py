"""Documentation of fields: description, default, limits, and whether a field can change; and JSON Schemas for editors.

Sources: KEP-4671, KEP-6012, KEP-5732, KEP-6089; limits and defaults of Kubernetes 1.37.1.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kubeapi.field_path import FieldPath
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import served_versions
from kubeapi.workloads import MAX_CLAIMS, MAX_PRIORITY, MAX_TEMPLATES, MAX_TOPOLOGY
from validators import schema
from validators.reports.explain import example_fields
from validators.rules.base import GROUPS, WORKLOAD, Rule

FIXED = "immutable"
_LISTED = "templates cannot be added or removed"
_SHORT, _LONG = {"maxLength": 63}, {"maxLength": 253}
_COUNT = {"minimum": 1, "maximum": 2**31 - 1}
_POLICIES = ["Never", "PreemptLowerPriority"]

KINDS = tuple(sorted(WORKLOAD | GROUPS | {"PriorityClass", "Pod", "Job", "JobSet"}))
"""Kinds with a schema for editors: all that are validated."""


@dataclasses.dataclass(frozen=True, slots=True)
class FieldDoc:
    """Documentation of one field.

    Attributes:
        about: the description, one or two sentences.
        default: the value that the API server sets, as it is written in YAML.
        limits: keywords of JSON Schema that the value satisfies.
        change: whether the field can change after creation; empty where no rule is about that.

    """

    about: str
    default: str = ""
    limits: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    change: str = ""


FIELDS: Mapping[str, FieldDoc] = {
    "apiVersion": FieldDoc("API group and version of the object."),
    "kind": FieldDoc("Kind of the object."),
    "metadata": FieldDoc("Standard metadata of the object."),
    "metadata.name": FieldDoc("Name of the object, unique for its kind in the namespace.", limits=_LONG, change=FIXED),
    "metadata.generateName": FieldDoc("Prefix of a name that the API server generates."),
    "metadata.namespace": FieldDoc("Namespace of the object.", default="default", change=FIXED),
    "spec": FieldDoc("Desired state of the object."),
    "status": FieldDoc("Observed state; written by controllers."),
    "dependsOn.status": FieldDoc("State of the replicated job that is waited for: `Ready` or `Complete`."),
    "conditions": FieldDoc("Conditions, one for each type."),
    "conditions.type": FieldDoc("Type of the condition."),
    "conditions.status": FieldDoc("`True`, `False` or `Unknown`."),
    "conditions.observedGeneration": FieldDoc("Generation of the object that the condition is about."),
    "conditions.lastTransitionTime": FieldDoc("When the status changed last."),
    "conditions.reason": FieldDoc("Why the condition has this status, in one word."),
    "conditions.message": FieldDoc("Why the condition has this status, for people."),
    "resourceClaimStatuses": FieldDoc("Claims that were created from templates.", limits={"maxItems": MAX_CLAIMS}),
    "resourceClaimStatuses.name": FieldDoc("Name of the claim in the spec of the group."),
    "resourceClaimStatuses.resourceClaimName": FieldDoc("ResourceClaim that was created.", limits=_LONG),
    "controllerRef": FieldDoc("The object whose controller manages the Workload, such as a Job.", change=FIXED),
    "controllerRef.apiGroup": FieldDoc("API group of the object; empty for the core group.", limits=_LONG, change=FIXED),
    "controllerRef.kind": FieldDoc("Kind of the object.", change=FIXED),
    "controllerRef.name": FieldDoc("Name of the object.", change=FIXED),
    "podGroupTemplates": FieldDoc("Templates of groups of pods.", limits={"maxItems": MAX_TEMPLATES}, change=_LISTED),
    "podGroupTemplates.name": FieldDoc("Name of the template, unique in the whole Workload.", limits=_SHORT, change=_LISTED),
    "compositePodGroupTemplates": FieldDoc(
        "Templates of groups of groups. At most four levels are allowed, with the pod groups.",
        limits={"maxItems": MAX_TEMPLATES},
        change=_LISTED,
    ),
    "compositePodGroupTemplates.name": FieldDoc("Name of the template, unique in the whole Workload.", limits=_SHORT, change=_LISTED),
    "schedulingPolicy": FieldDoc("How the members of the group are scheduled. Exactly one of `basic` and `gang` is set."),
    "schedulingPolicy.basic": FieldDoc("The members are scheduled one by one, the standard behaviour of Kubernetes.", change=FIXED),
    "schedulingPolicy.gang": FieldDoc(
        "At least the minimum of members is scheduled together, or none.", change="can change, not be added or removed"
    ),
    "gang.minCount": FieldDoc("Minimum number of pods that are scheduled together.", limits=_COUNT, change="can change"),
    "gang.minGroupCount": FieldDoc("Minimum number of child groups that are scheduled together.", limits=_COUNT, change="can change"),
    "CompositePodGroup/gang.minGroupCount": FieldDoc(
        "Minimum number of child groups that are scheduled together.", limits=_COUNT, change="immutable before Kubernetes 1.38"
    ),
    "CompositePodGroup/schedulingPolicy": FieldDoc(
        "How the child groups are scheduled. Exactly one of `basic` and `gang` is set.", change="immutable before Kubernetes 1.38"
    ),
    "schedulingConstraints": FieldDoc("Where the pods of the group can run.", change=FIXED),
    "schedulingConstraints.topology": FieldDoc(
        "Topology levels. All pods of the group run in one domain of each.", limits={"maxItems": MAX_TOPOLOGY}, change=FIXED
    ),
    "topology.key": FieldDoc(
        "Key of a node label. All pods run on nodes with one value of this label.", limits={"minLength": 1, "maxLength": 317}, change=FIXED
    ),
    "disruptionMode": FieldDoc("How the group is disrupted. Exactly one of `single` and `all` is set.", change=FIXED),
    "PodGroup/spec.disruptionMode": FieldDoc(
        "How the group is disrupted. Exactly one of `single` and `all` is set.", default="{single: {}}", change=FIXED
    ),
    "CompositePodGroup/spec.disruptionMode": FieldDoc(
        "How the group is disrupted. Exactly one of `single` and `all` is set.", default="{single: {}}", change=FIXED
    ),
    "disruptionMode.single": FieldDoc("The members can be disrupted independently of each other.", change=FIXED),
    "disruptionMode.all": FieldDoc("All members are disrupted together. The group must be a gang.", change=FIXED),
    "resourceClaims": FieldDoc("Claims for devices that the pods of the group share.", limits={"maxItems": MAX_CLAIMS}, change=FIXED),
    "resourceClaims.name": FieldDoc("Name of the claim, unique in the group.", limits=_SHORT, change=FIXED),
    "resourceClaims.resourceClaimName": FieldDoc("Existing ResourceClaim of the namespace.", limits=_LONG, change=FIXED),
    "resourceClaims.resourceClaimTemplateName": FieldDoc(
        "ResourceClaimTemplate of the namespace, from which the claim is created.", limits=_LONG, change=FIXED
    ),
    "priorityClassName": FieldDoc("PriorityClass of the group or pod.", limits=_LONG, change=FIXED),
    "priority": FieldDoc("Priority of the group or pod. It is set from the PriorityClass.", limits={"maximum": MAX_PRIORITY}, change=FIXED),
    "preemptionPolicy": FieldDoc("Whether lower priorities can be preempted.", limits={"enum": _POLICIES}, change=FIXED),
    "PodGroup/spec.preemptionPolicy": FieldDoc(
        "Whether groups of lower priority can be preempted.", default="PreemptLowerPriority", limits={"enum": _POLICIES}, change=FIXED
    ),
    "CompositePodGroup/spec.preemptionPolicy": FieldDoc(
        "Whether groups of lower priority can be preempted.", default="PreemptLowerPriority", limits={"enum": _POLICIES}, change=FIXED
    ),
    "PriorityClass/preemptionPolicy": FieldDoc(
        "Whether pods of lower priority can be preempted.", default="PreemptLowerPriority", limits={"enum": _POLICIES}, change=FIXED
    ),
    "PriorityClass/value": FieldDoc("The priority.", limits={"maximum": MAX_PRIORITY}, change=FIXED),
    "PriorityClass/globalDefault": FieldDoc("Whether it is the class of pods without one. Only one class can be the default."),
    "PriorityClass/description": FieldDoc("Text for people: when to use this class."),
    "parentCompositePodGroupName": FieldDoc(
        "CompositePodGroup of the namespace that is the parent of this group.", limits=_LONG, change=FIXED
    ),
    "workloadRef": FieldDoc("Workload and template from which the group was created.", change=FIXED),
    "workloadRef.workloadName": FieldDoc("Workload of the namespace.", limits=_LONG, change=FIXED),
    "workloadRef.templateName": FieldDoc("Template in that Workload, on any level.", limits=_SHORT, change=FIXED),
    "schedulingGroup": FieldDoc("The group that the pod is a member of.", change=FIXED),
    "schedulingGroup.podGroupName": FieldDoc("PodGroup of the namespace.", limits=_LONG, change=FIXED),
    f"labels.{POD_GROUP_LABEL}": FieldDoc(
        "PodGroup of the namespace, unless `spec.schedulingGroup` names one.", limits=_SHORT, change=FIXED
    ),
    "schedulerName": FieldDoc("Scheduler of the pod. All pods of a group have the same one.", default="default-scheduler", change=FIXED),
    "parallelism": FieldDoc("Maximum number of pods that run at the same time.", default="1"),
    "spec.scheduling": FieldDoc("How the pods of the object are scheduled as a group."),
    "replicatedJobPolicies": FieldDoc("Scheduling of single replicated Jobs."),
    "replicatedJobPolicies.targetReplicatedJob": FieldDoc("Name of the replicated Job."),
    "replicatedJobs": FieldDoc("Jobs of the JobSet, each with a number of replicas."),
    "replicatedJobs.replicas": FieldDoc("Number of Jobs that are created from the template.", default="1"),
}
"""Documentation by the end of a field path without indices, optionally after ``KIND/``.  The longest match applies."""


def find(kind: str, path: Sequence[str | int]) -> FieldDoc | None:
    """Return the documentation of a field of an object of *kind*; indices in *path* are ignored."""
    names = [part for part in path if isinstance(part, str)]
    ends = (".".join(names[start:]) for start in range(len(names)))
    keys = (key for end in ends for key in (f"{kind}/{end}", end))
    return next((FIELDS[key] for key in keys if key in FIELDS), None)


def in_words(limits: Mapping[str, Any]) -> str:
    """Return limits as a phrase: ``at least 1, at most 8 items``."""
    words = {
        "minimum": "at least {:,}",
        "maximum": "at most {:,}",
        "minLength": "at least {:,} character",
        "maxLength": "at most {:,} characters",
        "maxItems": "at most {:,} items" if limits.get("maxItems") != 1 else "at most {:,} item",
        "enum": "one of {}",
    }
    return ", ".join(words[name].format(", ".join(limit) if isinstance(limit, Sequence) else limit) for name, limit in limits.items())


def json_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of *kind*, with descriptions, defaults and limits, for all API versions that have its fields."""
    name = served_versions.schema_of(served_versions.hub_of(kind).name, kind)
    versions = [row.name for row in served_versions.current(kind) if served_versions.schema_of(row.name, kind) == name]
    result: dict[str, Any] = copy.deepcopy(schema.document(name))
    *others, last = versions
    result["description"] = f"{kind} of {', '.join(others)}{' and ' if others else ''}{last}."
    result["properties"]["apiVersion"] = {"enum": versions}
    result["properties"]["kind"] = {"const": kind}
    result["required"] = ["apiVersion", "kind", *result.get("required", ())]
    custom = [each for each in versions if served_versions.form_of(each).custom]
    if kind == "PodGroup" and custom:
        # The name of a custom resource is the value of a label.
        of_custom = {"properties": {"apiVersion": {"enum": custom}}, "required": ["apiVersion"]}
        result |= {"if": of_custom, "then": {"properties": {"metadata": {"properties": {"name": _SHORT}}}}}
    waiting: list[tuple[dict[str, Any], tuple[str, ...]]] = [(result, ())]
    described: set[str] = set()
    while waiting:
        part, path = waiting.pop(0)
        for field, below in part.get("properties", {}).items():
            _describe(below, kind, (*path, field))
            for inner in (below, below.get("items", {})):
                target = str(inner.get("$ref", "")).rpartition("/")[2]
                if target and target not in described:
                    described.add(target)
                    waiting.append((result["$defs"][target], (*path, field)))
                waiting.append((inner, (*path, field)))
    return result


def _describe(part: dict[str, Any], kind: str, path: tuple[str, ...]) -> None:
    doc = find(kind, path)
    if doc is not None:
        changes = f" After creation: {doc.change}." if doc.change else ""
        default = f" Default: {doc.default}." if doc.default else ""
        part |= {"description": f"{doc.about}{default}{changes}", **doc.limits}


def markdown(kind: str, path: FieldPath, rules: Iterable[Rule]) -> str:
    """Return the documentation of a field as Markdown, with the reasons of *rules*; empty if there is none."""
    doc = find(kind, path.parts)
    parts = [f"**{path}**"]
    if doc is not None:
        rows = [("Default", f"`{doc.default}`" if doc.default else ""), ("Limits", in_words(doc.limits)), ("After creation", doc.change)]
        parts += [doc.about, *(f"{name}: {text}" for name, text in rows if text)]
    parts += [f"Rule `{rule.id}`: {rule.claim} {rule.why}" for rule in rules]
    return "\n\n".join(parts) if len(parts) > 1 else ""


def rules_about(rules: Iterable[Rule], kind: str, path: FieldPath) -> list[Rule]:
    """Return the rules of which a bad example has an error at a field of that name and parent, in an object of *kind*."""
    end = "." + ".".join([part for part in path.parts if isinstance(part, str)][-2:])
    return [rule for rule in rules if any(of == kind and f".{reported}".endswith(end) for reported, of in example_fields(rule))]
