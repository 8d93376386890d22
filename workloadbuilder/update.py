"""From the Workload that is there to the one that is wanted: what must be patched, and what must be made anew.

Only the minimum of a gang changes in place: in the Workload's template, in the PodGroups made of it, and from Kubernetes
1.38 on in CompositePodGroups.  All else is immutable (KEP-6012; Kubernetes 1.37), so what differs there is made anew.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping

from validators.field import FieldPath
from validators.model.decode import Json
from validators.versions.releases import FIRST_WITH_MUTABLE_COMPOSITES, TODAY
from workloadbuilder import stored, templates
from workloadbuilder.blueprint import Blueprint, Placed, copied, placed
from workloadbuilder.check import check_blocks
from workloadbuilder.check_tree import check_tree
from workloadbuilder.errors import BuildError, in_order
from workloadbuilder.item import WorkloadItem
from workloadbuilder.resolve import resolve
from workloadbuilder.templates import COMPOSITES, LEAVES

_SPEC = FieldPath("spec")


class Action(enum.StrEnum):
    """What to do with an object, or with each group of a template."""

    PATCH = "patch"
    RECREATE = "recreate"
    CREATE = "create"
    DELETE = "delete"


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One thing to do: with the Workload, or with every group that is made of *template*.

    *path* is where the two Workloads differ, in the one that is wanted (in the one that is there for what goes).  *patch* is a
    JSON merge patch (RFC 7386); None where the object is not patched.
    """

    action: Action
    kind: str
    template: str
    path: FieldPath
    patch: Json | None
    reason: str


def changes(old_workload: Json, new: Json | WorkloadItem, *, kubernetes: int = TODAY) -> tuple[Change, ...]:
    """What to do so that the cluster has *new*, a Workload or the tree that it is built from; empty if it has it already.

    The Workload comes first, then groups from the top of the tree down and by name, those to delete last and from below.
    *kubernetes* is the minor version of the API server.  Whether there are more or fewer groups of a template than before
    does not stand in a Workload, and is not told.

    Raises:
        BuildError: one of the two is no sound Workload, or no sound one can be built of the tree.
    """
    old = stored.read(old_workload)
    if isinstance(new, WorkloadItem):
        wanted, reference = placed(_spec(new)), None
    else:
        blueprint = stored.read(new)
        wanted, reference = blueprint.templates, blueprint.workload["spec"].get("controllerRef")
    compared = [_compared(name, old.templates.get(name), wanted.get(name)) for name in {**old.templates, **wanted}]
    found = [change for pair in compared for change in _group_changes(pair, kubernetes)]
    found.sort(key=lambda change: _order(change, old.templates, wanted))
    fixed = [(path, reason) for pair in compared for path, reason in pair.fixed]
    if not isinstance(new, WorkloadItem) and reference != old.workload["spec"].get("controllerRef"):
        fixed.append((_SPEC / "controllerRef", "the controller that it describes is fixed"))
    return (*_workload_changes(old, compared, fixed), *found)


@dataclasses.dataclass(frozen=True, slots=True)
class _Compared:
    """A template in both Workloads: what differs and is *fixed*, by path and reason, and the minimum that is wanted."""

    name: str
    old: Placed | None
    new: Placed | None
    fixed: tuple[tuple[FieldPath, str], ...]
    minimum: int | None = None
    """Where it alone differs of the scheduling policy."""


def _spec(root: WorkloadItem) -> dict[str, Json]:
    resolution = resolve(root)
    tree = resolution.root
    found = () if tree is None else (*check_tree(tree), *check_blocks(tree, None, strict=True))
    if tree is None or resolution.errors or found:
        raise BuildError(in_order([*resolution.errors, *found]))
    return templates.spec(tree)


def _compared(name: str, old: Placed | None, new: Placed | None) -> _Compared:
    if old is None or new is None:
        there, what = (new, "added") if old is None else (old, "removed")
        path = _SPEC if there is None else there.path
        return _Compared(name, old, new, ((path, f"template {name!r} is {what}: the templates of a Workload are fixed"),))
    if (old.above, old.composite) != (new.above, new.composite):
        return _Compared(name, old, new, ((new.path, f"template {name!r} stands elsewhere: its place is fixed"),))
    before, after = _shape(old), _shape(new)
    fixed = tuple(
        (new.path / field, f"{field} of template {name!r} is immutable")
        for field in before
        if field != "minimum" and before[field] != after[field]
    )
    minimum = (
        after["minimum"] if before["minimum"] != after["minimum"] and before["schedulingPolicy"] == after["schedulingPolicy"] else None
    )
    return _Compared(name, old, new, fixed, minimum)


def _shape(found: Placed) -> dict[str, Json]:
    """What of a template counts, in one form for all ways of writing the same."""
    template = found.template
    policy = template["schedulingPolicy"]
    gang = policy.get("gang")
    return {
        "schedulingPolicy": "basic" if gang is None else "gang",
        "minimum": None if gang is None else gang[_counted(found)],
        "schedulingConstraints": [each["key"] for each in (template.get("schedulingConstraints") or {}).get("topology") or ()],
        "resourceClaims": {each["name"]: _without_nulls(each) for each in template.get("resourceClaims") or ()},
        # A group has Single where its template names no mode.
        "disruptionMode": "all" if (template.get("disruptionMode") or {}).get("all") is not None else "single",
        "priorityClassName": template.get("priorityClassName") or "",
        "priority": template.get("priority"),
        "preemptionPolicy": template.get("preemptionPolicy"),
    }


def _without_nulls(value: Mapping[str, Json]) -> dict[str, Json]:
    return {name: each for name, each in value.items() if each is not None}


def _counted(found: Placed) -> str:
    return "minGroupCount" if found.composite else "minCount"


def _group_changes(pair: _Compared, kubernetes: int) -> Iterator[Change]:
    there = pair.new or pair.old
    if there is None:
        return
    kind = "CompositePodGroup" if there.composite else "PodGroup"
    reason = "; ".join(text for _, text in pair.fixed)
    if pair.old is None:
        yield Change(Action.CREATE, kind, pair.name, there.path, None, reason)
    elif pair.new is None:
        yield Change(Action.DELETE, kind, pair.name, there.path, None, reason)
    elif pair.old.composite is not pair.new.composite:
        yield Change(Action.DELETE, "PodGroup" if there.composite else "CompositePodGroup", pair.name, pair.old.path, None, reason)
        yield Change(Action.CREATE, kind, pair.name, there.path, None, reason)
    elif pair.fixed:
        yield Change(Action.RECREATE, kind, pair.name, pair.fixed[0][0], None, reason)
    elif pair.minimum is not None:
        counted = _counted(there)
        path = there.path.join(("schedulingPolicy", "gang", counted))
        if there.composite and kubernetes < FIRST_WITH_MUTABLE_COMPOSITES:
            reason = f"{counted} of a CompositePodGroup is immutable before Kubernetes 1.{FIRST_WITH_MUTABLE_COMPOSITES}"
            yield Change(Action.RECREATE, kind, pair.name, path, None, reason)
        else:
            patch = {"spec": {"schedulingPolicy": {"gang": {counted: pair.minimum}}}}
            yield Change(Action.PATCH, kind, pair.name, path, patch, f"{counted} of template {pair.name!r} is {pair.minimum} now")


def _order(change: Change, old: Mapping[str, Placed], new: Mapping[str, Placed]) -> tuple[bool, int, str, str]:
    """From the top of the tree down and by name; what goes last, from below."""
    if change.action is Action.DELETE:
        return True, -old[change.template].level, change.template, change.kind
    return False, new[change.template].level, change.template, change.kind


def _workload_changes(old: Blueprint, compared: list[_Compared], fixed: list[tuple[FieldPath, str]]) -> Iterator[Change]:
    if fixed:
        fixed.sort(key=lambda each: (str(each[0]), each[1]))
        yield Change(Action.RECREATE, "Workload", "", fixed[0][0], None, "; ".join(text for _, text in fixed))
        return
    minimums = {pair.name: pair.minimum for pair in compared if pair.minimum is not None}
    if minimums:
        # A merge patch replaces a list whole: it is the old one, with nothing but the minimums changed.
        spec = old.workload["spec"]
        body = _with_minimums(spec, minimums)
        told = ", ".join(f"{name!r} ({minimums[name]})" for name in sorted(minimums))
        yield Change(Action.PATCH, "Workload", "", _SPEC, {"spec": body}, f"the minimum changes of {told}")


def _with_minimums(holder: Mapping[str, Json], minimums: Mapping[str, int]) -> dict[str, Json]:
    """The lists of templates in *holder*, copied, with other minimums."""
    made: dict[str, Json] = {}
    for listed, counted in ((LEAVES, "minCount"), (COMPOSITES, "minGroupCount")):
        if not holder.get(listed):
            continue
        made[listed] = []
        for template in holder[listed]:
            copy = {**copied(template), **_with_minimums(template, minimums)}
            if template["name"] in minimums:
                copy["schedulingPolicy"] = {"gang": {counted: minimums[template["name"]]}}
            made[listed].append(copy)
    return made
