"""Admission of the new given pods: those of controllers' objects, and Pods that are not in the cluster yet."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from expansion.admission import quota_charges, quotas, service_accounts, validation
from expansion.admission.admit import Rules
from expansion.admission.new_claims import CLAIM, NewClaims
from expansion.admission.pod_defaults import DefaultClasses
from expansion.admission.quota_charges import Rest, is_new, is_stored, origin_of
from expansion.admission.quotas import Shortage
from expansion.contents import Content, full_name, items, namespace_of, parsed
from expansion.created import Expansion, Place
from expansion.notes import AnnotationsUnknown, RefusedByServer, TemplateMissing
from kubeapi.decode import section
from kubeapi.field_path import FieldPath
from kubeapi.gather import whole_name
from kubeapi.gathered import GatheredObjects
from kubeapi.names import CLUSTER_SCOPED, Name
from kubeapi.problem import Problem, ProblemKind
from workloadbuilder.adapters.shared.known_objects import group_of, similar_name

_GROUPS = ("PodGroup", "CompositePodGroup")
_DEVICES = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice", "DeviceTaintRule")
_CLASS = "PriorityClass"
_TEMPLATE = "ResourceClaimTemplate"
_WITHOUT_ACCOUNTS = frozenset({"", "apps", "batch", "jobset.x-k8s.io", "leaderworkerset.x-k8s.io"})
"""API groups whose controllers create no ServiceAccounts."""
_CLAIMS = frozenset({"ResourceClaim", _TEMPLATE})


@dataclasses.dataclass(slots=True)
class Admitted:
    """Given objects that were changed, volumes for new claims, the objects whose pods would be refused, with the reason, and notes.

    *unread* are quotas, LimitRanges and RuntimeClasses with fields that cannot be read.
    """

    changed: list[Content] = dataclasses.field(default_factory=list)
    refused: list[Problem] = dataclasses.field(default_factory=list)
    notes: list[Problem] = dataclasses.field(default_factory=list)
    unread: list[Problem] = dataclasses.field(default_factory=list)


def admit_new_objects(expansion: Expansion, rest: Rest, place: Place | None = None) -> Admitted:
    """Admit the new pods of *expansion*, which are changed in place, and the given ones.

    With *place*, of the given objects, ``Rules`` are strict, and the objects are validated too.
    """
    strict = place is not None
    accounts = service_accounts.known_accounts((*rest.others, *expansion.others)) if strict else {}
    rules = Rules.from_objects((expansion.kinds, rest.kinds), strict=strict, accounts=accounts, plugins=expansion.admission_plugins)
    result = Admitted()
    created = [each for each in expansion.objects if each["kind"] == "Pod" and not is_stored(each)]
    if not rules:
        errors = ((pod, error) for pod in created for error in validation.errors_of_label(pod))
        result.refused += dict.fromkeys(_refused(origin_of(pod, expansion.origins), validation.described(error)) for pod, error in errors)
        return result
    if strict or rules.plugins or rules.limits or rules.quotas or rules.runtimes:
        names = {full_name(each) for each in expansion.objects if each["kind"] == "Pod"}
        result.changed += [each for each in _new_objects(expansion.kinds["Pod"]) if full_name(each) not in names]
    pods = [*created, *result.changed]
    reasons = dict.fromkeys(_refusals(rules, expansion, rest, pods, place))
    if strict:
        claims = NewClaims(expansion, rest, pods)
        result.changed += claims.changed()
        result.notes += claims.notes()
        reasons |= dict.fromkeys(claims.refusals(rules.limits))
        result.notes += dict.fromkeys(_missing_templates(expansion, rest, pods))
    result.unread += rules.unread
    result.notes += _unknown_namespaces(rules, pods)
    for shortage in _shortages(rules, expansion, rest, pods):
        found = Problem(shortage.cause, tuple(shortage.origins))
        if found.kind is ProblemKind.QUOTA_UNKNOWN:
            result.notes.append(found)
        else:
            reasons.setdefault(found)
    result.refused += reasons
    return result


def _refusals(rules: Rules, expansion: Expansion, rest: Rest, pods: Iterable[Content], place: Place | None) -> Iterator[Problem]:
    """Yield the given objects that are refused, or whose pods are, with the reason."""
    of_manifests = [*_of_manifests(expansion, place)] if place is not None else []
    yield from of_manifests
    invalid = {name for each in of_manifests for name in each.names}
    operators = {each.object for each, manifest in expansion.given() if group_of(str(manifest["apiVersion"])) not in _WITHOUT_ACCOUNTS}
    for pod in pods:
        origin = origin_of(pod, expansion.origins)
        # The template of these pods has the same errors.
        own = origin.kind == "Pod"
        for reason in rules.admit(pod, created=not own, by_operator=origin in operators) if origin not in invalid else ():
            at = place(pod, FieldPath("spec")) if place is not None and own else ""
            yield _refused(origin, reason, at)
    for group in _new_groups(expansion) if place is not None else ():
        yield from (_refused(origin_of(group, expansion.origins), reason) for reason in rules.missing(group))
    if place is not None:
        yield from _of_other_objects(rules, expansion, rest, place)


def _refused(name: Name, reason: str, at: str = "") -> Problem:
    """Return the problem of an object that is refused, or whose pods are; *at* is the position of the error, if it is known."""
    return Problem.about(name, RefusedByServer(reason, at))


def _unknown_namespaces(rules: Rules, pods: Iterable[Content]) -> list[Problem]:
    """Return a note about the namespaces of *pods* whose annotations admission plugins need, and that are not among the objects."""
    unknown = rules.plugins.unknown_namespaces(pods, rules.described_namespaces)
    return [Problem(AnnotationsUnknown(), tuple(Name("Namespace", "", each) for each in sorted(unknown)))] if unknown else []


def _missing_templates(expansion: Expansion, rest: Rest, pods: Iterable[Content]) -> Iterator[Problem]:
    """Yield the ResourceClaimTemplates that *pods* name, and that do not exist, with a similar name if there is one."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    for existing in filter(None, map(whole_name, (*expansion.kinds[_TEMPLATE], *rest.kinds[_TEMPLATE]))):
        names[existing[0]].add(existing[1])
    for created in (*expansion.objects, *expansion.joined):
        if created["kind"] == _TEMPLATE:
            names[namespace_of(created)].add(full_name(created)[1])
    sorted_names = {namespace: sorted(each) for namespace, each in names.items()}
    similar: dict[tuple[str, str], str] = {}
    for pod in pods:
        namespace = namespace_of(pod)
        for entry in items(section(pod, "spec"), "resourceClaims"):
            name = entry.get("resourceClaimTemplateName")
            if isinstance(name, str) and name and name not in names[namespace]:
                if (namespace, name) not in similar:
                    similar[namespace, name] = similar_name(name, sorted_names.get(namespace, ()))
                missing = TemplateMissing(Name(_TEMPLATE, namespace, name), similar[namespace, name])
                yield Problem.about(origin_of(pod, expansion.origins), missing)


def _shortages(rules: Rules, expansion: Expansion, rest: Rest, pods: Sequence[Content]) -> Iterator[Shortage]:
    """Yield what the quotas of each namespace have too little of."""
    for namespace, charges in quota_charges.charges(expansion, rest, pods, rules.quotas.keys()).items():
        yield from quotas.shortages(rules.quotas[namespace], charges)


def _of_manifests(expansion: Expansion, place: Place) -> Iterator[Problem]:
    """Yield the errors of the given objects of controllers, with their positions."""
    for controller, manifest in expansion.given():
        for error in validation.errors_of_controller(manifest, expansion.kubernetes, expansion.gates):
            at = place(manifest, error.path)
            yield _refused(controller.object, validation.described(error), at)


def _of_other_objects(rules: Rules, expansion: Expansion, rest: Rest, place: Place) -> Iterator[Problem]:
    """Yield the errors of the new given objects that are validated besides controllers' objects and pods, with their positions."""
    defaults = DefaultClasses()
    for stored in rest.kinds[_CLASS]:
        defaults.add(parsed(stored) or {})
    for kind in (*_GROUPS, "Workload", *_DEVICES, _CLASS, CLAIM):
        new = [content for each in expansion.kinds[kind] if is_new(each) and (content := parsed(each)) is not None]
        for each in sorted(new, key=full_name):
            found = (
                validation.errors_of_claim(each)
                if kind == CLAIM
                else validation.errors_of_object(each, defaults.other_than(each), expansion.kubernetes)
            )
            if kind == _CLASS:
                # Of several given defaults, the first one is created.
                defaults.add(each)
            name = Name(kind, "" if kind in CLUSTER_SCOPED else namespace_of(each), full_name(each)[1])
            for error in found:
                at = place(each, error.path)
                yield _refused(name, validation.described(error), at)
            if kind in _CLAIMS:
                yield from (_refused(name, reason) for reason in rules.without_admin_access(each))


def _new_groups(expansion: Expansion) -> Iterator[Content]:
    yield from (each for each in expansion.objects if each["kind"] in _GROUPS)
    for kind in _GROUPS:
        yield from _new_objects(expansion.kinds[kind])


def _new_objects(objects: Iterable[GatheredObjects]) -> Iterator[Content]:
    """Yield those of the given objects that the cluster does not have yet."""
    for each in objects:
        if is_new(each) and (content := parsed(each)) is not None:
            yield content if isinstance(content.get("spec"), dict) else {**content, "spec": {}}
