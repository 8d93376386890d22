"""Changes from an existing Workload to another one: objects to patch, recreate, create and delete.

Only the minimum of a gang is mutable: in the Workload's template, in its PodGroups, and from Kubernetes 1.38 on in
CompositePodGroups.  Everything else is immutable (KEP-6012; Kubernetes 1.37), so objects that differ there are recreated.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.versions.kubernetes_releases import FIRST_WITH_MUTABLE_COMPOSITES, TODAY
from workloadbuilder import existing_workload, templates
from workloadbuilder.blueprint import Blueprint, Placed, copied, placed
from workloadbuilder.check import check_blocks
from workloadbuilder.check_tree import check_tree
from workloadbuilder.errors import BuildError, in_order
from workloadbuilder.resolve import resolve
from workloadbuilder.templates import COMPOSITES, LEAVES
from workloadbuilder.workload_item import WorkloadItem

_SPEC = FieldPath("spec")


class Action(enum.StrEnum):
    """Action on an object, or on each group of a template."""

    PATCH = "patch"
    RECREATE = "recreate"
    CREATE = "create"
    DELETE = "delete"


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One action: on the Workload, or on every group of *template*.

    *path* is the path of the difference in the new Workload; for DELETE, in the old one.  *patch* is a JSON merge patch (RFC
    7386); None unless the action is PATCH.
    """

    action: Action
    kind: str
    template: str
    path: FieldPath
    patch: Json | None
    reason: str


def changes(old_workload: Json, new: Json | WorkloadItem, *, kubernetes: int = TODAY) -> tuple[Change, ...]:
    """Return the changes to *new*, a Workload or the tree from which one is built; empty if nothing differs.

    The Workload comes first, then groups from the top of the tree down and by name; deletions come last, from the bottom up.
    *kubernetes* is the minor version of the API server.  A Workload does not contain the number of groups of a template, so a
    change of that number is not in the result.

    Raises:
        BuildError: one of the Workloads is invalid, or no valid one can be built from the tree.
    """
    old = existing_workload.read(old_workload, kubernetes, stored=True)
    if isinstance(new, WorkloadItem):
        new_templates, reference = placed(_spec(new, kubernetes)), None
    else:
        blueprint = existing_workload.read(new, kubernetes)
        new_templates, reference = blueprint.templates, blueprint.workload["spec"].get("controllerRef")
    pairs = [_compare(name, old.templates.get(name), new_templates.get(name)) for name in {**old.templates, **new_templates}]
    group_changes = [change for pair in pairs for change in _group_changes(pair, kubernetes)]
    group_changes.sort(key=lambda change: _order(change, old.templates, new_templates))
    immutable = [(path, reason) for pair in pairs for path, reason in pair.immutable]
    if not isinstance(new, WorkloadItem) and reference != old.workload["spec"].get("controllerRef"):
        immutable.append((_SPEC / "controllerRef", "controllerRef is immutable"))
    return (*_workload_changes(old, pairs, immutable), *group_changes)


@dataclasses.dataclass(frozen=True, slots=True)
class _Pair:
    """A template in both Workloads: the differences in *immutable* fields, by path and reason, and a changed minimum."""

    name: str
    old: Placed | None
    new: Placed | None
    immutable: tuple[tuple[FieldPath, str], ...]
    minimum: int | None = None
    """New minimum, if only the minimum of the scheduling policy differs."""


def _spec(root: WorkloadItem, kubernetes: int) -> dict[str, Json]:
    resolution = resolve(root)
    tree = resolution.root
    errors = () if tree is None else (*check_tree(tree, kubernetes), *check_blocks(tree, None, strict=True))
    if tree is None or resolution.errors or errors:
        raise BuildError(in_order([*resolution.errors, *errors]))
    return templates.spec(tree)


def _compare(name: str, old: Placed | None, new: Placed | None) -> _Pair:
    if old is None or new is None:
        present, change = (new, "added") if old is None else (old, "removed")
        path = _SPEC if present is None else present.path
        return _Pair(name, old, new, ((path, f"template {name!r} is {change}: the set of templates is immutable"),))
    if (old.above, old.composite) != (new.above, new.composite):
        return _Pair(name, old, new, ((new.path, f"template {name!r} is moved: its position is immutable"),))
    before, after = _normalized(old), _normalized(new)
    immutable = tuple(
        (new.path / field, f"{field} of template {name!r} is immutable")
        for field in before
        if field != "minimum" and before[field] != after[field]
    )
    minimum = (
        after["minimum"] if before["minimum"] != after["minimum"] and before["schedulingPolicy"] == after["schedulingPolicy"] else None
    )
    return _Pair(name, old, new, immutable, minimum)


def normalized_group(manifest: Mapping[str, Json]) -> dict[str, Json]:
    """Return the fields of a group in a normal form, in which equivalent groups are equal; without the priority, which admission sets."""
    spec = manifest["spec"]
    shape = _shape(spec, composite=manifest["kind"] == "CompositePodGroup")
    reference = spec.get("workloadRef") or {}
    linkage = spec.get("parentCompositePodGroupName") or "", reference.get("workloadName"), reference.get("templateName")
    return {**shape, "linkage": linkage}


def _normalized(placed: Placed) -> dict[str, Json]:
    """Return the fields of a template in a normal form, in which equivalent templates are equal."""
    template = placed.template
    shape = _shape(template, composite=placed.composite)
    return {**shape, "priority": template.get("priority"), "preemptionPolicy": template.get("preemptionPolicy")}


def _shape(template: Mapping[str, Json], *, composite: bool) -> dict[str, Json]:
    gang = (template.get("schedulingPolicy") or {}).get("gang")
    return {
        "schedulingPolicy": "basic" if gang is None else "gang",
        "minimum": None if gang is None else gang["minGroupCount" if composite else "minCount"],
        "schedulingConstraints": [each["key"] for each in (template.get("schedulingConstraints") or {}).get("topology") or ()],
        "resourceClaims": {each["name"]: _without_nulls(each) for each in template.get("resourceClaims") or ()},
        # A template without a mode means Single.
        "disruptionMode": "all" if (template.get("disruptionMode") or {}).get("all") is not None else "single",
        "priorityClassName": template.get("priorityClassName") or "",
    }


def _without_nulls(value: Mapping[str, Json]) -> dict[str, Json]:
    return {name: each for name, each in value.items() if each is not None}


def _minimum_field(placed: Placed) -> str:
    return "minGroupCount" if placed.composite else "minCount"


def _group_changes(pair: _Pair, kubernetes: int) -> Iterator[Change]:
    current = pair.new or pair.old
    if current is None:
        return
    kind = "CompositePodGroup" if current.composite else "PodGroup"
    reason = "; ".join(text for _, text in pair.immutable)
    if pair.old is None:
        yield Change(Action.CREATE, kind, pair.name, current.path, None, reason)
    elif pair.new is None:
        yield Change(Action.DELETE, kind, pair.name, current.path, None, reason)
    elif pair.old.composite is not pair.new.composite:
        yield Change(Action.DELETE, "PodGroup" if current.composite else "CompositePodGroup", pair.name, pair.old.path, None, reason)
        yield Change(Action.CREATE, kind, pair.name, current.path, None, reason)
    elif pair.immutable:
        yield Change(Action.RECREATE, kind, pair.name, pair.immutable[0][0], None, reason)
    elif pair.minimum is not None:
        minimum_field = _minimum_field(current)
        path = current.path.join(("schedulingPolicy", "gang", minimum_field))
        if current.composite and kubernetes < FIRST_WITH_MUTABLE_COMPOSITES:
            reason = f"{minimum_field} of a CompositePodGroup is immutable before Kubernetes 1.{FIRST_WITH_MUTABLE_COMPOSITES}"
            yield Change(Action.RECREATE, kind, pair.name, path, None, reason)
        else:
            patch = {"spec": {"schedulingPolicy": {"gang": {minimum_field: pair.minimum}}}}
            yield Change(Action.PATCH, kind, pair.name, path, patch, f"{minimum_field} of template {pair.name!r} is {pair.minimum} now")


def _order(change: Change, old: Mapping[str, Placed], new: Mapping[str, Placed]) -> tuple[bool, int, str, str]:
    """Return the sort key: from the top of the tree down and by name; deletions last, from the bottom up."""
    if change.action is Action.DELETE:
        return True, -old[change.template].level, change.template, change.kind
    return False, new[change.template].level, change.template, change.kind


def _workload_changes(old: Blueprint, pairs: list[_Pair], immutable: list[tuple[FieldPath, str]]) -> Iterator[Change]:
    if immutable:
        immutable.sort(key=lambda each: (str(each[0]), each[1]))
        yield Change(Action.RECREATE, "Workload", "", immutable[0][0], None, "; ".join(text for _, text in immutable))
        return
    minimums = {pair.name: pair.minimum for pair in pairs if pair.minimum is not None}
    if minimums:
        # A merge patch replaces whole lists, so it contains the old lists with the new minimums.
        spec = old.workload["spec"]
        body = _with_minimums(spec, minimums)
        changed = ", ".join(f"{name!r} ({minimums[name]})" for name in sorted(minimums))
        yield Change(Action.PATCH, "Workload", "", _SPEC, {"spec": body}, f"the minimum changes in {changed}")


def _with_minimums(holder: Mapping[str, Json], minimums: Mapping[str, int]) -> dict[str, Json]:
    """Return copies of the lists of templates in *holder*, with the new minimums."""
    lists: dict[str, Json] = {}
    for name, minimum_field in ((LEAVES, "minCount"), (COMPOSITES, "minGroupCount")):
        if not holder.get(name):
            continue
        lists[name] = []
        for template in holder[name]:
            copy = {**copied(template), **_with_minimums(template, minimums)}
            if template["name"] in minimums:
                copy["schedulingPolicy"] = {"gang": {minimum_field: minimums[template["name"]]}}
            lists[name].append(copy)
    return lists
