"""All objects of a call together: who names whom, which groups are made for that, and what of it is lost.

A group that nobody can make, because its Workload is not among the inputs, is a loss; so is a priority that a group cannot
have.  Of losses that are alike, one is told, where the first stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from validators.migrate import groups, references
from validators.migrate.groups import Group, MigratedWorkload, Plan, Use
from validators.migrate.held import Held
from validators.migrate.migrate_object import Lost
from validators.migrate.names import text
from validators.migrate.outcome import Refused
from validators.migrate.references import FIELD, Rank, Reference, Wrong
from validators.model.decode import Json
from validators.versions import served


def join(held: Sequence[Held], to: str) -> Iterator[Refused]:
    """Adds to *held* what follows from references between the objects; yields the references that cannot be followed."""
    uses: list[Use] = []
    for place, each in enumerate(held):
        for found in references.find(each.content):
            if isinstance(found, Wrong):
                yield Refused(each.spot(found.path), found.message)
            elif found.has_group:
                each.changes += references.changes(found, "")
                each.lost.append(_has_group(each.content, found))
            else:
                uses.append(Use(place, _namespace(each.content), found))
    workloads = _workloads(held)
    plan = groups.plan(uses, workloads, _groups_there(held), to=to)
    for group in plan.groups.values():
        for use in group.uses:
            held[use.place].changes += references.changes(use.reference, group.name)
        _settle(held, group)
    _give_priority(held, workloads, plan)
    _note_idle(held, workloads, plan)


def _namespace(content: Mapping[str, Json]) -> str:
    metadata = content.get("metadata")
    return (text(metadata.get("namespace")) if isinstance(metadata, Mapping) else "") or "default"


def _name(content: Mapping[str, Json]) -> str:
    metadata = content.get("metadata")
    return text(metadata.get("name")) if isinstance(metadata, Mapping) else ""


def _of_kind(held: Iterable[Held], kind: str) -> Iterator[tuple[int, Held]]:
    for place, each in enumerate(held):
        group = str(each.content.get("apiVersion")).rpartition("/")[0]
        if served.serves(group, kind) and each.content.get("kind") == kind and _name(each.content):
            yield place, each


def _workloads(held: Iterable[Held]) -> dict[tuple[str, str], MigratedWorkload]:
    """By namespace and name; of two of one name the first counts."""
    found: dict[tuple[str, str], MigratedWorkload] = {}
    for place, each in _of_kind(held, "Workload"):
        found.setdefault((_namespace(each.content), _name(each.content)), groups.workload(place, each.content))
    return found


def _groups_there(held: Iterable[Held]) -> dict[str, dict[str, Mapping[str, Json]]]:
    found: dict[str, dict[str, Mapping[str, Json]]] = {}
    for _, each in _of_kind(held, "PodGroup"):
        found.setdefault(_namespace(each.content), {}).setdefault(_name(each.content), each.content)
    return found


def _settle(held: Sequence[Held], group: Group) -> None:
    """Writes a group behind its Workload, or tells that it cannot be made."""
    if group.content is not None and group.workload is not None:
        held[group.workload.place].made.append(group)
        _compare(held, group)
    elif not group.is_there:
        first = group.uses[0]
        held[first.place].lost.append(_no_group(group, first.reference))


def _compare(held: Sequence[Held], group: Group) -> None:
    """Tells of pods whose priority their group does not have."""
    has = references.rank(group.content["spec"]) if group.content is not None else Rank()
    told: set[Rank] = set()
    for use in group.uses:
        rank = use.reference.rank
        if rank not in {Rank(), has} and rank not in told:
            told.add(rank)
            alike = sum(each.reference.rank == rank for each in group.uses)
            held[use.place].lost.append(_other_rank(group, use.reference, alike))


def _give_priority(held: Sequence[Held], workloads: Mapping[tuple[str, str], MigratedWorkload], plan: Plan) -> None:
    for name, rank in plan.ranks.items():
        found = workloads.get(name)
        if found is not None and found.was_v1alpha1 and rank is not None:
            held[found.place].changes += groups.template_changes(held[found.place].content, rank)


def _note_idle(held: Sequence[Held], workloads: Mapping[tuple[str, str], MigratedWorkload], plan: Plan) -> None:
    """Tells of v1alpha1's groups that no pod among the inputs names."""
    named = {key[:3] for key in plan.groups}
    for (namespace, name), found in workloads.items():
        if not found.was_v1alpha1:
            continue
        for place, group in enumerate(found.templates):
            if (namespace, name, group) not in named:
                message = (
                    f"no pod among the inputs names this group, so no PodGroup is made of it; whoever makes the pods must make one of "
                    f"template {group}, and name it in spec.schedulingGroup.podGroupName"
                )
                held[found.place].notes.append((("spec", "podGroups", place), message))


def _has_group(content: Mapping[str, Json], reference: Reference) -> Lost:
    spec: Json = content
    for part in reference.path[:-1]:
        spec = spec[part]
    return Lost(
        reference.path,
        f"{FIELD} to {_called(reference)}",
        "to which group the pod belonged in Kubernetes 1.35; since 1.36 only schedulingGroup counts",
        f"nothing, if PodGroup {spec['schedulingGroup']['podGroupName']}, which schedulingGroup names, is the right one",
    )


def _no_group(group: Group, reference: Reference) -> Lost:
    namespace, workload = group.key[:2]
    where = "is not among the inputs" if group.workload is None else f"has no template {reference.group} at its top"
    return Lost(
        reference.path,
        f"the policy of PodGroup {namespace}/{group.name}{_count(len(group.uses))}",
        f"the pods are scheduled as {_called(reference)} says; Workload {namespace}/{workload} {where}, so their PodGroup could not be "
        "made, and they wait for it",
        f"migrate the file with Workload {workload} in the same call, or make PodGroup {group.name} yourself"
        if group.workload is None
        else f"make PodGroup {group.name} yourself, or name one of {', '.join(sorted(group.workload.templates)) or 'its templates'}",
    )


def _other_rank(group: Group, reference: Reference, alike: int) -> Lost:
    rank = reference.rank
    field = "priorityClassName" if rank.class_name else "priority" if rank.priority is not None else "preemptionPolicy"
    remedy = (
        f"give all pods of Workload {reference.workload} one priority class, and write it in all of its templates and groups"
        if groups.fits_a_group(rank)
        else "give the pods a class whose value is at most 1000000000: the system's own cannot be had by a group; write it in all "
        "templates and groups of the Workload"
    )
    return Lost(
        (*reference.path[:-1], field),
        f"{rank}, for PodGroup {group.name}{_count(alike)}",
        "the pods' own priority; a Workload, its groups and all of their pods have one priority in common, by which they are queued and "
        "defended against preemption, and this group has none" + (" such" if _has_rank(group) else ""),
        remedy,
    )


def _has_rank(group: Group) -> bool:
    return group.content is not None and references.rank(group.content["spec"]) != Rank()


def _called(reference: Reference) -> str:
    replica = f", replica {reference.replica_key}" if reference.replica_key else ""
    return f"group {reference.group} of Workload {reference.workload}{replica}"


def _count(references_alike: int) -> str:
    return f" (named in {references_alike} places)" if references_alike > 1 else ""
