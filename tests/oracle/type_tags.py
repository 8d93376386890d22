"""Types of the API with the tags from which their validation is generated.

Source: the tables of KEP-6012 and KEP-4671 with the tags of Kubernetes 1.37.1.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_KEY = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")


def short_name(value: str) -> bool:
    return len(value) <= 63 and bool(_LABEL.fullmatch(value))


def long_name(value: str) -> bool:
    return len(value) <= 253 and bool(_SUBDOMAIN.fullmatch(value))


def label_key(value: str) -> bool:
    prefix, slash, name = value.rpartition("/")
    return (not slash or long_name(prefix)) and len(name) <= 63 and bool(_KEY.fullmatch(name))


def path_segment(value: str) -> bool:
    return value not in {".", ".."} and "/" not in value and "%" not in value


@dataclasses.dataclass
class Field:
    """Field with its tags.  ``zero`` is the value that counts as absent; None and [] are the same for lists."""

    name: str
    zero: Any = None
    required: bool = False
    immutable: bool = False
    immutable_if_gate: str = ""
    gate: str = ""
    no_set_unset: bool = False
    max_items: int = 0
    fixed_items: bool = False
    unique: bool = False
    is_list: bool = False
    always: bool = False  # a struct that is not a pointer: never absent
    format: Any = None
    minimum: int | None = None
    maximum: int | None = None
    enum: tuple[str, ...] = ()
    type: Any = None


@dataclasses.dataclass
class Struct:
    fields: list[Field]
    union: tuple[str, ...] = ()


TOPOLOGY = Struct([Field("key", zero="", required=True, format=label_key)])
CONSTRAINTS = Struct([Field("topology", is_list=True, max_items=1, type=TOPOLOGY)])
CLAIM = Struct(
    [
        Field("name", zero="", required=True, format=short_name),
        Field("resourceClaimName", format=long_name),
        Field("resourceClaimTemplateName", format=long_name),
    ],
    union=("resourceClaimName", "resourceClaimTemplateName"),
)
MODE = Struct([Field("single"), Field("all")], union=("single", "all"))


def policy(count: str) -> Struct:
    gang = Struct([Field(count, zero=0, required=True, minimum=1)])
    return Struct([Field("basic", immutable=True), Field("gang", no_set_unset=True, type=gang)], union=("basic", "gang"))


def shape(*, leaf: bool, template: bool) -> list[Field]:
    """Return the fields that a template and its group share."""
    gated_constraints = {"gate": "TopologyAwareWorkloadScheduling"} if leaf else {}
    if leaf and not template:
        gated_constraints["immutable_if_gate"] = "TopologyAwareWorkloadScheduling"
    constraints = Field(
        "schedulingConstraints", type=CONSTRAINTS, immutable=not gated_constraints.get("immutable_if_gate"), **gated_constraints
    )
    fields = [
        constraints,
        Field("disruptionMode", immutable=True, required=not template, type=MODE),
        Field("priorityClassName", zero="", immutable=True, format=long_name),
        Field("priority", immutable=True, maximum=1_000_000_000),
        Field("preemptionPolicy", immutable=True, gate="PodGroupPreemptionPolicy", enum=("Never", "PreemptLowerPriority")),
    ]
    if leaf:
        fields.append(Field("resourceClaims", is_list=True, immutable=True, max_items=4, unique=True, type=CLAIM))
    return fields


LEAF_POLICY, COMPOSITE_POLICY = policy("minCount"), policy("minGroupCount")
NAME = Field("name", zero="", required=True, format=short_name)
LEAF = Struct([NAME, Field("schedulingPolicy", always=True, type=LEAF_POLICY), *shape(leaf=True, template=True)])
COMPOSITE = Struct([NAME, Field("schedulingPolicy", always=True, type=COMPOSITE_POLICY), *shape(leaf=False, template=True)])
_LIST = {"is_list": True, "max_items": 8, "fixed_items": True, "unique": True}
COMPOSITE.fields += [Field("podGroupTemplates", type=LEAF, **_LIST), Field("compositePodGroupTemplates", type=COMPOSITE, **_LIST)]
CONTROLLER = Struct(
    [
        Field("apiGroup", zero="", format=long_name),
        Field("kind", zero="", required=True, format=path_segment),
        Field("name", zero="", required=True, format=path_segment),
    ]
)
REFERENCE = Struct(
    [Field("workloadName", zero="", required=True, format=long_name), Field("templateName", zero="", required=True, format=short_name)]
)
WORKLOAD = Struct(
    [
        Field("controllerRef", immutable=True, type=CONTROLLER),
        Field("podGroupTemplates", type=LEAF, **_LIST),
        Field("compositePodGroupTemplates", type=COMPOSITE, gate="CompositePodGroup", **_LIST),
    ],
    union=("podGroupTemplates", "compositePodGroupTemplates"),
)
POD_GROUP = Struct(
    [
        Field("parentCompositePodGroupName", immutable=True, gate="CompositePodGroup", format=long_name),
        Field("workloadRef", immutable=True, type=REFERENCE),
        Field("schedulingPolicy", always=True, type=LEAF_POLICY),
        *shape(leaf=True, template=False),
    ]
)
COMPOSITE_POD_GROUP = Struct(
    [
        Field("parentCompositePodGroupName", immutable=True, format=long_name),
        Field("workloadRef", required=True, immutable=True, type=REFERENCE),
        Field("schedulingPolicy", always=True, immutable=True, type=COMPOSITE_POLICY),
        *shape(leaf=False, template=False),
    ]
)
_JOB_POLICY = Struct([Field("basic"), Field("gang", type=Struct([Field("minCount", minimum=1)]))], union=("basic", "gang"))
_JOB_SCHEDULING = Struct(
    [
        Field("schedulingPolicy", no_set_unset=True, type=_JOB_POLICY),
        Field("schedulingConstraints", immutable=True, type=CONSTRAINTS),
        Field("disruptionMode", immutable=True, type=MODE),
        Field("resourceClaims", is_list=True, immutable=True, max_items=4, unique=True, type=CLAIM),
    ]
)
JOB = Struct([Field("scheduling", no_set_unset=True, gate="WorkloadWithJob", type=_JOB_SCHEDULING)])
SPECS = {"Workload": WORKLOAD, "PodGroup": POD_GROUP, "CompositePodGroup": COMPOSITE_POD_GROUP, "Job": JOB}
