"""A Job's linkage annotations name a template, its existing Workload and an existing parent."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi import content
from kubeapi.field_path import FieldPath, Key
from kubeapi.versions.kubernetes_releases import FIRST_WITH_WORKLOAD_NAME
from kubeapi.workloads import Workload
from validators import field
from validators.field import FieldError
from validators.model.job_parts import TEMPLATE, WORKLOAD
from validators.model.templates import TemplatesByName
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
    if WORKLOAD in annotations and context.settings.minor >= FIRST_WITH_WORKLOAD_NAME:
        yield from _workload(context, annotations[WORKLOAD], annotations.get(TEMPLATE, ""))
    for key in (PARENT, PARENT_IN_KEP):
        if key in annotations:
            yield from _parent(context, key, annotations[key])


def _path(key: str) -> FieldPath:
    return FieldPath("metadata", "annotations", Key(key))


def _workload(context: Context, name: str, template: str) -> Iterator[FieldError]:
    if not name or context.lookup.list_kind("Workload") is None:
        return
    workload = context.lookup.get("Workload", context.namespace, name)
    if workload is None:
        yield checks.missing(
            context, _path(WORKLOAD), "Workload", name, f"there must be a Workload of this name in namespace {context.namespace}"
        )
    elif isinstance(workload, Workload) and template and TemplatesByName(workload).find(template)[0] is None:
        yield field.not_found(_path(TEMPLATE), template, f"there must be a template of this name in Workload {name}")


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

_NAMED = f"""\
{_JOB.replace("  annotations:", f"  annotations:{chr(10)}    {WORKLOAD}: train")}---
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {{name: train}}
spec:
  podGroupTemplates:
  - name: workers
    schedulingPolicy: {{gang: {{minCount: 4}}}}
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
    changes=(FIRST_WITH_WORKLOAD_NAME,),
    good=(Example(_JOB), Example(_JOB.replace("parent-compositepodgroup", "parent-composite-podgroup"))),
    bad=(
        Example(
            _JOB.replace("group-template-name: workers", "group-template-name: train/workers"), at=(f"metadata.annotations[{TEMPLATE}]",)
        ),
        Example(
            _JOB.replace("parent-compositepodgroup: replica-0", "parent-compositepodgroup: replica-9"),
            at=(f"metadata.annotations[{PARENT}]",),
        ),
        Example(
            _NAMED.replace("workload-name: train", "workload-name: training"),
            at=(f"metadata.annotations[{WORKLOAD}]",),
            kubernetes="1.38",
            fixed=_NAMED,
        ),
    ),
)
