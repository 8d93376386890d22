"""Checks that several rules share: unions, topology constraints, resource claims, gangs, the scheduling of a Job."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from kubeapi import content
from kubeapi.devices import TAINT_EFFECTS
from kubeapi.field_path import FieldPath
from kubeapi.jobs import JobScheduling
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.pods import PodResourceClaim
from kubeapi.workloads import MAX_CLAIMS, MAX_TOPOLOGY, CompositePolicy, Constraints, DisruptionMode, Policy
from validators import field
from validators.field import FieldError, Fix, Repair
from validators.model.objects import namespace_of
from validators.rules.base import Context

FIXED = "field is immutable"
"""Detail of an error at a field that does not change after creation."""
_LONGEST_DRIVER = 63
_LONGEST_IDENTIFIER = 32
_MOST_NAMES = 500
"""Names among which a similar one is searched for: the search takes microseconds for each."""


def gang_of_one(policy: Policy | CompositePolicy) -> Fix | None:
    """Return the fix of a basic *policy* below a gang: like a basic group, a gang of one counts as soon as one of its members is placed."""
    if policy.basic is None:
        return None
    count = "minGroupCount" if isinstance(policy, CompositePolicy) else "minCount"
    return Fix(Repair.RENAME, "gang", below=("basic",), also=(Fix(Repair.REPLACE, {count: 1}, below=("basic",)),))


def messages(path: FieldPath, value: str, check: Callable[[str], Iterable[str]]) -> Iterator[FieldError]:
    """Yield an Invalid error for each message that *check* returns for *value*."""
    for text in check(value):
        yield field.invalid(path, value, text)


def pod_group_name(path: FieldPath, name: str | None) -> Iterator[FieldError]:
    """Yield errors at the name of the PodGroup of a pod."""
    if name is None:
        yield field.invalid(path, None, "must specify one of: `podGroupName`")
    elif content.subdomain(name):
        yield from messages(path, name, lambda value: content.subdomain(value, unit="characters"))


def driver_name(path: FieldPath, name: str) -> Iterator[FieldError]:
    """Yield errors at the name of a driver of devices."""
    if not name:
        yield field.required(path)
        return
    yield from messages(path, name, content.subdomain_caseless)
    if len(name) > _LONGEST_DRIVER:
        yield field.too_long(path, _LONGEST_DRIVER, "characters")


def identifier(path: FieldPath, name: str) -> Iterator[FieldError]:
    """Yield errors at the name of an attribute or capacity of devices, without its domain."""
    if len(name.encode()) > _LONGEST_IDENTIFIER:
        yield field.too_long(path, _LONGEST_IDENTIFIER)
    yield from messages(path, name, content.c_identifier)


def qualified_name(path: FieldPath, name: str) -> Iterator[FieldError]:
    """Yield errors at the name of an attribute or capacity of devices, with or without its domain."""
    *domains, last = name.split("/")
    if len(domains) > 1:
        yield field.invalid(path, name, "must not contain more than one slash")
        return
    for each in domains:
        yield from domain(path, each) if each else [field.invalid(path, "", "the domain must not be empty")]
    if domains and not last:
        yield field.invalid(path, "", "the name must not be empty")
    else:
        yield from identifier(path, last)


def domain(path: FieldPath, name: str) -> Iterator[FieldError]:
    """Yield errors at the name of a driver, as the domain of an attribute or of a slice."""
    if len(name.encode()) > _LONGEST_DRIVER:
        yield field.too_long(path, _LONGEST_DRIVER)
    yield from messages(path, name, lambda each: content.subdomain(each.lower()))


def device_taint(path: FieldPath, key: str, value: str, effect: str) -> Iterator[FieldError]:
    """Yield errors at the fields of a taint of devices."""
    yield from messages(path / "key", key, content.label_key)
    yield from messages(path / "value", value, content.label_value)
    if not effect:
        yield field.required(path / "effect")
    elif effect not in TAINT_EFFECTS:
        yield field.not_supported(path / "effect", effect, TAINT_EFFECTS)


def union(path: FieldPath, members: Mapping[str, object]) -> Iterator[FieldError]:
    """Yield an error unless exactly one of *members* is set: neither None nor an empty list."""
    present = [name for name, value in members.items() if value is not None and value != ()]
    names = ", ".join(f"`{name}`" for name in members)
    if len(present) > 1:
        yield field.invalid(path, f"{{{', '.join(present)}}}", f"must specify exactly one of: {names}")
    elif not present:
        yield field.invalid(path, "", f"must specify one of: {names}")


def mode_union(path: FieldPath, mode: DisruptionMode | None) -> Iterator[FieldError]:
    """Yield an error if a disruption mode is set but is not exactly one of single and all."""
    if mode is not None:
        yield from union(path, {"single": mode.single, "all": mode.all})


def topology(path: FieldPath, constraints: Constraints | None) -> Iterator[FieldError]:
    """Yield errors unless there is at most one topology constraint, with a label key.  *path* is that of the constraints.

    Empty keys are left to another rule, which reports required fields.
    """
    listed = (constraints and constraints.topology) or ()
    if len(listed) > MAX_TOPOLOGY:
        yield field.too_many(path / "topology", len(listed), MAX_TOPOLOGY)
        return
    for index, constraint in enumerate(listed):
        if constraint.key:
            yield from messages(path.join(("topology", index, "key")), constraint.key, content.label_key)


def empty_keys(path: FieldPath, constraints: Constraints | None) -> Iterator[FieldError]:
    """Yield errors for topology constraints without a key."""
    listed = (constraints and constraints.topology) or ()
    if len(listed) <= MAX_TOPOLOGY:
        for index, constraint in enumerate(listed):
            if not constraint.key:
                yield field.required(path.join(("topology", index, "key")), "a topology constraint names a node label")


def too_many_claims(path: FieldPath, claims: Sequence[PodResourceClaim] | None) -> Iterator[FieldError]:
    """Yield an error for more than four resource claims."""
    if claims and len(claims) > MAX_CLAIMS:
        yield field.too_many(path, len(claims), MAX_CLAIMS)


def claims(path: FieldPath, listed: Sequence[PodResourceClaim] | None) -> Iterator[FieldError]:
    """Yield errors unless there are at most four claims with unique names and one source each.  *path* is that of the list."""
    listed = listed or ()
    if len(listed) > MAX_CLAIMS:
        yield from too_many_claims(path, listed)
        return
    seen: set[str] = set()
    for index, claim in enumerate(listed):
        claim_path = path / index
        if claim.name in seen:
            yield field.duplicate(claim_path, claim.name, "must be unique among the resource claims")
        seen.add(claim.name)
        sources = {"resourceClaimName": claim.resource_claim_name, "resourceClaimTemplateName": claim.resource_claim_template_name}
        yield from union(claim_path, sources)
        if claim.name:
            yield from messages(claim_path / "name", claim.name, content.label)
        for name, value in sources.items():
            if value is not None:
                yield from messages(claim_path / name, value, content.subdomain)


def empty_claim_names(path: FieldPath, listed: Sequence[PodResourceClaim] | None) -> Iterator[FieldError]:
    """Yield errors for resource claims without a name."""
    if listed and len(listed) <= MAX_CLAIMS:
        for index, claim in enumerate(listed):
            if not claim.name:
                yield field.required(path.join((index, "name")))


def missing(context: Context, path: FieldPath, kind: str, name: str, detail: str) -> FieldError:
    """Return an error for a reference to an object that does not exist; its fix is the object of the namespace with the nearest name."""
    error = field.not_found(path, name, detail)
    if not context.settings.fixes:
        return error
    names = _names(context, kind)
    return error if names is None else dataclasses.replace(error, fix=unsafe(field.nearest(name, names)))


def missing_class(context: Context, kind: str, error: FieldError) -> FieldError:
    """Return *error* about a reference to a class of *kind* that is not known; it is a warning if there may be other classes."""
    return error if kind in context.settings.complete_kinds else field.as_warning(error)


def _names(context: Context, kind: str) -> set[str] | None:
    """Return the names of the objects of *kind* in the namespace; None if there are more than ``_MOST_NAMES``."""
    namespace = "" if kind in CLUSTER_SCOPED else context.namespace
    names: set[str] = set()
    for each in context.lookup.list_kind(kind) or ():
        if namespace_of(each) == namespace:
            names.add(each.metadata.name)
            # Thousands of objects are not read for each of thousands of errors.
            if len(names) > _MOST_NAMES:
                return None
    return names


def unsafe(fix: Fix | None) -> Fix | None:
    """Return *fix* as one that may not be what the author wants."""
    return None if fix is None else dataclasses.replace(fix, is_safe=False)


def beyond_parallelism(path: FieldPath, count: int, parallelism: int) -> Iterator[FieldError]:
    """Yield an error if a gang is larger than its Job.  *path* is that of the gang's count."""
    if count > parallelism:
        yield field.invalid(path, count, f"must not be greater than parallelism ({parallelism})")


def minimum(path: FieldPath, count: int | None) -> Iterator[FieldError]:
    """Yield an error if the count of a gang is set and less than 1."""
    if count is not None and count < 1:
        yield field.invalid(path, count, "must be greater than or equal to 1")


def all_with_basic(path: FieldPath, mode: DisruptionMode | None, *, gang: bool) -> Iterator[FieldError]:
    """Yield an error for disruption mode All without a gang.  *path* is that of the mode."""
    if not gang and mode is not None and mode.all is not None:
        yield field.invalid(path, "all", "the disruptionMode `all` is not supported with the Basic scheduling policy")


def job_blocks(path: FieldPath, blocks: JobScheduling, parallelism: int | None) -> Iterator[FieldError]:
    """Yield the errors of the scheduling of a Job (KEP-6089, Job Integration).  *path* is that of the blocks."""
    policy, at = blocks.scheduling_policy, path / "schedulingPolicy"
    if policy is not None:
        yield from union(at, {"basic": policy.basic, "gang": policy.gang})
    count = policy.gang.min_count if policy and policy.gang else None
    yield from minimum(at.join(("gang", "minCount")), count)
    yield from topology(path / "schedulingConstraints", blocks.scheduling_constraints)
    yield from empty_keys(path / "schedulingConstraints", blocks.scheduling_constraints)
    yield from mode_union(path / "disruptionMode", blocks.disruption_mode)
    yield from claims(path / "resourceClaims", blocks.resource_claims)
    yield from empty_claim_names(path / "resourceClaims", blocks.resource_claims)
    if count is not None:
        yield from beyond_parallelism(at.join(("gang", "minCount")), count, 1 if parallelism is None else parallelism)
    # A Job without a policy is Basic.
    gang = policy is not None and policy.basic is None
    yield from all_with_basic(path / "disruptionMode", blocks.disruption_mode, gang=gang)
