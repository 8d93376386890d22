"""Checks that several rules share: a union, topology constraints, resource claims, a list of messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from validators import content, field
from validators.field import FieldError, FieldPath
from validators.model.workload import MAX_CLAIMS, MAX_TOPOLOGY, Constraints, DisruptionMode, ResourceClaim


def messages(path: FieldPath, value: str, check: Callable[[str], Iterable[str]]) -> Iterator[FieldError]:
    """An Invalid error for each message that *check* has on *value*."""
    for text in check(value):
        yield field.invalid(path, value, text)


def union(path: FieldPath, members: Mapping[str, object]) -> Iterator[FieldError]:
    """Exactly one of *members* must be there: not None, and no empty list."""
    present = [name for name, value in members.items() if value is not None and value != ()]
    names = ", ".join(f"`{name}`" for name in members)
    if len(present) > 1:
        yield field.invalid(path, f"{{{', '.join(present)}}}", f"must specify exactly one of: {names}")
    elif not present:
        yield field.invalid(path, "", f"must specify one of: {names}")


def mode_union(path: FieldPath, mode: DisruptionMode | None) -> Iterator[FieldError]:
    """A disruption mode that is there is exactly one of its modes."""
    if mode is not None:
        yield from union(path, {"single": mode.single, "all": mode.all})


def topology(path: FieldPath, constraints: Constraints | None) -> Iterator[FieldError]:
    """At most one topology constraint, with a label key.  *path* is that of the constraints.

    An empty key is another rule's: required fields are told as shape.
    """
    listed = (constraints and constraints.topology) or ()
    if len(listed) > MAX_TOPOLOGY:
        yield field.too_many(path / "topology", len(listed), MAX_TOPOLOGY)
        return
    for place, constraint in enumerate(listed):
        if constraint.key:
            yield from messages(path.join(("topology", place, "key")), constraint.key, content.label_key)


def empty_keys(path: FieldPath, constraints: Constraints | None) -> Iterator[FieldError]:
    """A topology constraint names its key."""
    listed = (constraints and constraints.topology) or ()
    if len(listed) <= MAX_TOPOLOGY:
        for place, constraint in enumerate(listed):
            if not constraint.key:
                yield field.required(path.join(("topology", place, "key")), "a topology constraint names a node label")


def crowded_claims(path: FieldPath, claims: Sequence[ResourceClaim] | None) -> Iterator[FieldError]:
    """At most four resource claims."""
    if claims and len(claims) > MAX_CLAIMS:
        yield field.too_many(path, len(claims), MAX_CLAIMS)


def claims(path: FieldPath, listed: Sequence[ResourceClaim] | None) -> Iterator[FieldError]:
    """At most four claims, of different names, each from exactly one source.  *path* is that of the list."""
    listed = listed or ()
    if len(listed) > MAX_CLAIMS:
        yield from crowded_claims(path, listed)
        return
    seen: set[str] = set()
    for place, claim in enumerate(listed):
        here = path / place
        if claim.name in seen:
            yield field.duplicate(here, claim.name, "must be unique among the resource claims")
        seen.add(claim.name)
        sources = {"resourceClaimName": claim.resource_claim_name, "resourceClaimTemplateName": claim.resource_claim_template_name}
        yield from union(here, sources)
        if claim.name:
            yield from messages(here / "name", claim.name, content.label)
        for name, value in sources.items():
            if value is not None:
                yield from messages(here / name, value, content.subdomain)


def empty_claim_names(path: FieldPath, listed: Sequence[ResourceClaim] | None) -> Iterator[FieldError]:
    """A resource claim has a name."""
    if listed and len(listed) <= MAX_CLAIMS:
        for place, claim in enumerate(listed):
            if not claim.name:
                yield field.required(path.join((place, "name")))


def beyond_parallelism(path: FieldPath, count: int, parallelism: int) -> Iterator[FieldError]:
    """A Job's gang is no larger than the Job.  *path* is that of the gang's count."""
    if count > parallelism:
        yield field.invalid(path, count, f"must not be greater than parallelism ({parallelism})")
