"""Names are DNS labels or subdomains, as their field requires."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kubeapi import content
from kubeapi.field_path import FieldPath, Key
from kubeapi.groups import CompositePodGroup, PodGroup
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import SCHEDULING
from kubeapi.versions.kubernetes_releases import LAST_WITH_WORKLOAD_REF
from kubeapi.workloads import Workload
from validators import field
from validators.field import FieldError
from validators.model import traits
from validators.model.objects import KINDS
from validators.model.templates import SPEC
from validators.rules import checks
from validators.rules.base import PODS, About, Context, Example, Rule

_METADATA = FieldPath("metadata")
_FOR_LABEL = f"must be no more than {content.LONGEST_LABEL} characters: pods name this group by the label {POD_GROUP_LABEL}"


def check(context: Context) -> Iterator[FieldError]:
    """Yield errors at the name."""
    yield from _metadata(context)
    new = context.new
    if isinstance(new, (PodGroup, CompositePodGroup)):
        yield from _references(new)
    if isinstance(new, (Workload, PodGroup, CompositePodGroup)):
        yield from _shapes(context)
    if new.kind in PODS:
        yield from _pod(context)


def _metadata(context: Context) -> Iterator[FieldError]:
    metadata, path = context.new.metadata, _METADATA
    if context.settings.linting and served_versions.serves(SCHEDULING, context.new.kind):
        # At admission the API server has validated these itself.
        for name, keys in (("labels", metadata.labels), ("annotations", metadata.annotations)):
            for key in sorted(keys) if keys and not content.all_label_keys(keys) else ():
                yield from (field.invalid(path.join((name, Key(key))), key, text) for text in content.label_key(key))
    if metadata.generate_name:
        for text in content.subdomain(content.mask_trailing_dash(metadata.generate_name), unit="characters"):
            yield from checks.messages(path / "generateName", metadata.generate_name, _always(text))
    # Tested first: a valid name then costs no path and no generator.
    if metadata.name and content.subdomain(metadata.name):
        yield from checks.messages(path / "name", metadata.name, _long_name)
    elif context.form.custom and isinstance(context.new, PodGroup) and len(metadata.name) > content.LONGEST_LABEL:
        yield field.invalid(path / "name", metadata.name, _FOR_LABEL)
    if metadata.namespace and content.label(metadata.namespace) and context.new.kind not in CLUSTER_SCOPED:
        yield from checks.messages(path / "namespace", metadata.namespace, lambda name: content.label(name, unit="characters"))


def _long_name(name: str) -> list[str]:
    return content.subdomain(name, unit="characters")


def _always(text: str) -> Callable[[str], list[str]]:
    return lambda _: [text]


def _references(new: PodGroup | CompositePodGroup) -> Iterator[FieldError]:
    parent, reference = new.spec.parent_composite_pod_group_name, new.spec.workload_ref
    if parent is not None and content.subdomain(parent):
        yield from checks.messages(SPEC / "parentCompositePodGroupName", parent, content.subdomain)
    if reference is None:
        return
    if reference.workload_name and content.subdomain(reference.workload_name):
        yield from checks.messages(SPEC.join(("workloadRef", "workloadName")), reference.workload_name, content.subdomain)
    if reference.template_name and content.label(reference.template_name):
        yield from checks.messages(SPEC.join(("workloadRef", "templateName")), reference.template_name, content.label)


def _shapes(context: Context) -> Iterator[FieldError]:
    templates = context.templates
    if not content.all_labels(templates.validated_names):
        for shape, name in zip(templates.validated, templates.validated_names, strict=True):
            if name and content.label(name):
                yield from checks.messages(templates.path(shape) / "name", name, content.label)
    malformed = {name for name in templates.priority_classes if content.subdomain(name)}
    for each in templates.validated if malformed else ():
        if each.priority_class_name in malformed:
            yield from checks.messages(templates.path(each) / "priorityClassName", each.priority_class_name, content.subdomain)


def _pod(context: Context) -> Iterator[FieldError]:
    pod, path = context.pod_spec, context.pod_path
    group = pod.scheduling_group.pod_group_name if pod.scheduling_group is not None else None
    if group is not None and content.subdomain(group):
        yield from checks.messages(path.join(("schedulingGroup", "podGroupName")), group, _long_name)
    if pod.priority_class_name and content.subdomain(pod.priority_class_name):
        yield from checks.messages(path / "priorityClassName", pod.priority_class_name, _long_name)
    reference = pod.workload_ref
    if reference is not None and context.settings.minor <= LAST_WITH_WORKLOAD_REF:
        formats = (("name", reference.name, content.subdomain), ("podGroup", reference.pod_group, content.label))
        for name, value, validate in (*formats, ("podGroupReplicaKey", reference.pod_group_replica_key, content.label)):
            if value:
                yield from checks.messages(path.join(("workloadRef", name)), value, validate)


RULE = Rule(
    id="schema-format",
    kinds=frozenset(KINDS) - {"Node"},
    about=About.SHAPE,
    why="Names become parts of URLs, host names and labels; objects with other names cannot be stored or referred to.",
    source="KEP-6012, Changes to the Workload API (template names are DNS labels), WorkloadReference; Kubernetes 1.37.1",
    check=check,
    relevant_traits=traits.INVALID_NAME,
    good=(
        Example("""\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train.v2}
spec:
  podGroupTemplates:
  - name: workers-4x4
    schedulingPolicy: {gang: {minCount: 4}}
"""),
    ),
    bad=(
        Example(
            """\
apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata: {name: train_v2}
spec:
  podGroupTemplates:
  - name: Workers.4x4
    schedulingPolicy: {gang: {minCount: 4}}
""",
            at=("metadata.name", "spec.podGroupTemplates[0].name"),
        ),
    ),
)
