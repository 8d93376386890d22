"""All fields that the API marks as required are set, and no required name is empty."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.field_path import FieldPath
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.versions.kubernetes_releases import LAST_WITH_WORKLOAD_REF
from kubeapi.workloads import Workload
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.job_parts import job_part
from validators.model.objects import KINDS
from validators.model.templates import SPEC
from validators.rules import checks
from validators.rules.base import CREATE_AND_UPDATE, PODS, About, Context, Example, Rule

_REFERENCE = "a CompositePodGroup is always created from a Workload's template"


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the missing field.

    Gang counts and policies have their own rules; in files the JSON Schema reports their absence too.
    """
    new = context.new
    if not context.creating:
        # All other required fields are immutable, or their change is reported.
        old = context.old
        if (
            isinstance(new, CompositePodGroup)
            and isinstance(old, CompositePodGroup)
            and not new.spec.workload_ref
            and old.spec.workload_ref
        ):
            yield field.required(SPEC / "workloadRef", _REFERENCE)
        return
    yield from _metadata(context)
    if isinstance(new, Workload):
        yield from _controller(new)
    if isinstance(new, (PodGroup, CompositePodGroup)):
        yield from _references(new)
    if isinstance(new, (Workload, PodGroup, CompositePodGroup)):
        yield from _shapes(context)
    if (job := job_part(new)) is not None and job.spec.scheduling is not None:
        yield from checks.empty_keys(job.path("scheduling", "schedulingConstraints"), job.spec.scheduling.scheduling_constraints)
        yield from checks.empty_claim_names(job.path("scheduling", "resourceClaims"), job.spec.scheduling.resource_claims)
    if new.kind in PODS:
        yield from _old_reference(context)


def _metadata(context: Context) -> Iterator[FieldError]:
    metadata = context.new.metadata
    if not metadata.name and not metadata.generate_name:
        yield field.required(FieldPath("metadata", "name"), "name or generateName is required")
    # In files an absent namespace is the default one.
    if not metadata.namespace and not context.settings.linting and context.new.kind not in CLUSTER_SCOPED:
        yield field.required(FieldPath("metadata", "namespace"), "must be the namespace of the request")


def _controller(new: Workload) -> Iterator[FieldError]:
    reference = new.spec.controller_ref
    if reference is not None:
        for name, value in (("kind", reference.kind), ("name", reference.name)):
            if not value:
                yield field.required(SPEC.join(("controllerRef", name)))


def _references(new: PodGroup | CompositePodGroup) -> Iterator[FieldError]:
    reference = new.spec.workload_ref
    if reference is None:
        if isinstance(new, CompositePodGroup):
            yield field.required(SPEC / "workloadRef", _REFERENCE)
        return
    for name, value in (("workloadName", reference.workload_name), ("templateName", reference.template_name)):
        if not value:
            yield field.required(SPEC.join(("workloadRef", name)))


def _shapes(context: Context) -> Iterator[FieldError]:
    templates = context.templates
    if "" in templates.validated_names:
        for shape, name in zip(templates.validated, templates.validated_names, strict=True):
            if not name:
                yield field.required(templates.path(shape) / "name", "a template must have a name")
    if "" in templates.topology_keys:
        for shape, _ in templates.constrained:
            yield from checks.empty_keys(templates.path(shape) / "schedulingConstraints", shape.scheduling_constraints)
    for leaf in templates.validated_leaves:
        if leaf.resource_claims and any(not claim.name for claim in leaf.resource_claims):
            yield from checks.empty_claim_names(templates.path(leaf) / "resourceClaims", leaf.resource_claims)


def _old_reference(context: Context) -> Iterator[FieldError]:
    reference = context.pod_spec.workload_ref
    if reference is not None and context.settings.minor <= LAST_WITH_WORKLOAD_REF:
        for name, value in (("name", reference.name), ("podGroup", reference.pod_group)):
            if not value:
                yield field.required(context.pod_path.join(("workloadRef", name)))


RULE = Rule(
    id="schema-required",
    kinds=frozenset(KINDS) - {"Node"},
    about=About.SHAPE,
    on=CREATE_AND_UPDATE,
    why="An object without a required field cannot be stored.",
    source="KEP-4671, API; KEP-6012, Design Details; field names and tags of Kubernetes 1.37.1",
    check=check,
    relevant_traits=traits.EMPTY_NAME | traits.RESOURCE_CLAIMS,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {generateName: workers-}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: replica-0}
spec:
  schedulingPolicy: {basic: {}}
""",
            at=("spec.workloadRef",),
        ),
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {labels: {app: train}}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("metadata.name",),
        ),
    ),
)
