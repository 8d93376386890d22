"""A Job's linkage annotations name a template and an existing parent."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.field_path import FieldPath, Key
from validators import field
from validators.field import FieldError
from validators.model.job_parts import TEMPLATE
from validators.rules import checks
from validators.rules.base import About, Context, Example, Profile, Rule

PARENT = "scheduling.k8s.io/parent-compositepodgroup"
PARENT_IN_KEP = "scheduling.k8s.io/parent-composite-podgroup"


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the annotation.  The parent's key is read in the spelling of Kubernetes 1.37 and of KEP-6089."""
    annotations = context.new.metadata.annotations or {}
    if TEMPLATE in annotations:
        path, name = _path(TEMPLATE), annotations[TEMPLATE]
        yield from checks.messages(path, name, content.label)
    for key in (PARENT, PARENT_IN_KEP):
        if key in annotations:
            yield from _parent(context, key, annotations[key])


def _path(key: str) -> FieldPath:
    return FieldPath("metadata", "annotations", Key(key))


def _parent(context: Context, key: str, name: str) -> Iterator[FieldError]:
    malformed = list(checks.messages(_path(key), name, content.subdomain))
    yield from malformed
    lookup = context.lookup
    if (
        not malformed
        and lookup.list_kind("CompositePodGroup") is not None
        and lookup.get("CompositePodGroup", context.namespace, name) is None
    ):
        yield field.not_found(_path(key), name, f"there must be a CompositePodGroup of this name in namespace {context.namespace}")


_JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train-workers-0
  annotations:
    scheduling.k8s.io/group-template-name: workers
    scheduling.k8s.io/parent-compositepodgroup: replica-0
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: train}]
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  workloadRef: {workloadName: train, templateName: replica}
  schedulingPolicy: {basic: {}}
"""

RULE = Rule(
    id="linkage-annotations",
    kinds=frozenset({"Job"}),
    about=About.TREE,
    profile=Profile.KEP,
    why="The Job controller creates the pods' PodGroup from this template, below this parent; with a wrong name there is no PodGroup "
    "and no gang.",
    source="KEP-6089, Downward Template and Parent Mapping via Well-Known Annotations (which writes parent-composite-podgroup; "
    "Kubernetes 1.37 spells it parent-compositepodgroup)",
    check=check,
    good=(Example(_JOB), Example(_JOB.replace("parent-compositepodgroup", "parent-composite-podgroup"))),
    bad=(
        Example(
            _JOB.replace("group-template-name: workers", "group-template-name: train/workers"), at=(f"metadata.annotations[{TEMPLATE}]",)
        ),
        Example(
            _JOB.replace("parent-compositepodgroup: replica-0", "parent-compositepodgroup: replica-9"),
            at=(f"metadata.annotations[{PARENT}]",),
        ),
    ),
)
