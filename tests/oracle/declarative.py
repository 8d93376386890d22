"""Slow, simple implementation of the API server's validation from the tags of its types, on raw JSON.

It shares no code with the rules and has no fast path: every field of every struct is visited with its old value, tag by tag.
The rules are compared with it on random objects.  Source: the tables of KEP-6012 and KEP-4671 with the tags of
Kubernetes 1.37.1 (declarative validation: which tag stops what; hand-written validation: names, depth, priority).
"""

from __future__ import annotations

from typing import Any

from tests.oracle.type_tags import SPECS, Field, Struct

Found = set[tuple[str, str]]
INVALID, REQUIRED, DUPLICATE, FORBIDDEN = "FieldValueInvalid", "FieldValueRequired", "FieldValueDuplicate", "FieldValueForbidden"
TOO_MANY, NOT_SUPPORTED = "FieldValueTooMany", "FieldValueNotSupported"


class Judge:
    """Validation of one spec.  ``gates_off`` as on the server; no field is dropped here."""

    def __init__(self, *, updating: bool, gates_off: frozenset[str] = frozenset()) -> None:
        self.updating = updating
        self.gates_off = gates_off
        self.found: Found = set()

    def struct(self, path: str, struct: Struct, new: dict, old: dict | None) -> None:
        if struct.union:
            is_set = [self.present(new.get(name)) for name in struct.union]
            was_set = [self.present((old or {}).get(name)) for name in struct.union]
            if not (self.updating and old is not None and is_set == was_set) and sum(is_set) != 1:
                self.found.add((path, INVALID))
        for field in struct.fields:
            self.field(
                f"{path}.{field.name}", field, new.get(field.name), None if old is None else old.get(field.name), correlated=old is not None
            )

    def present(self, value: Any) -> bool:
        return value is not None and value != []

    def absent(self, field: Field, value: Any) -> bool:
        return value is None or value == field.zero or (field.is_list and value == [])

    def field(self, path: str, field: Field, new: Any, old: Any, *, correlated: bool) -> None:  # noqa: C901 - one branch a tag
        if field.always:
            new, old = new or {}, (old or {}) if correlated else None
        new, old = field.zero if new is None else new, field.zero if old is None else old
        if self.updating and correlated and equal(new, old):
            return
        stop = False
        off = bool(field.gate) and field.gate in self.gates_off
        if off and not self.absent(field, new):
            self.found.add((path, FORBIDDEN))
            stop = True
        fixed = field.immutable or (field.immutable_if_gate and field.immutable_if_gate not in self.gates_off)
        if self.updating and fixed:
            self.found.add((path, INVALID))
            stop = True
        if self.updating and field.no_set_unset and (new is None) != (old is None):
            self.found.add((path, INVALID))
            stop = True
        if field.max_items and len(new or []) > field.max_items:
            self.found.add((path, TOO_MANY))
            stop = True
        if field.fixed_items and self.updating:
            stop = self.items_moved(path, new or [], old or []) or stop
        if field.required and self.absent(field, new):
            self.found.add((path, REQUIRED))
            stop = True
        if stop or self.absent(field, new):
            return
        if field.is_list:
            self.items(path, field, new, old or [])
        else:
            self.value(path, field, new, old if correlated else None)

    def items_moved(self, path: str, new: list, old: list) -> bool:
        names, before = [each.get("name", "") for each in new], [each.get("name", "") for each in old]
        added = [place for place, name in enumerate(names) if name not in before]
        self.found.update((f"{path}[{place}]", FORBIDDEN) for place in added)
        removed = [name for name in before if name not in names]
        if removed:
            self.found.add((path, FORBIDDEN))
        return bool(added or removed)

    def items(self, path: str, field: Field, new: list, old: list) -> None:
        names = [each.get("name", "") for each in new]
        for place, each in enumerate(new):
            if field.unique and names[place] in names[:place]:
                self.found.add((f"{path}[{place}]", DUPLICATE))
            before = next((item for item in old if item.get("name", "") == names[place]), None) if field.unique else None
            if not (self.updating and before is not None and equal(each, before)):
                self.struct(f"{path}[{place}]", field.type, each, before)

    def value(self, path: str, field: Field, new: Any, old: Any) -> None:
        if field.format and not field.format(new):
            self.found.add((path, INVALID))
        if field.minimum is not None and new < field.minimum:
            self.found.add((path, INVALID))
        if field.maximum is not None and new > field.maximum:
            self.found.add((path, INVALID))
        if field.enum and new not in field.enum:
            self.found.add((path, NOT_SUPPORTED))
        if field.type:
            self.struct(path, field.type, new, old)


def equal(one: Any, other: Any) -> bool:
    """Compare semantically: an absent list equals an empty one, and an absent text that is no pointer equals the empty text."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(equal(one.get(name, _absent(name)), other.get(name, _absent(name))) for name in one.keys() | other.keys())
    if isinstance(one, list) or isinstance(other, list):
        one, other = one or [], other or []
        return len(one) == len(other) and all(equal(a, b) for a, b in zip(one, other, strict=True))
    return one == other


def _absent(name: str) -> str | int | None:
    if name in {"minCount", "minGroupCount"}:
        return 0
    return "" if name in {"name", "key", "priorityClassName", "apiGroup", "kind", "workloadName", "templateName"} else None


def hand_written(spec: dict) -> Found:
    """Yield the errors of hand-written validation of a Workload, on creation and on update."""
    result: Found = set()
    seen = {each.get("name", "") for each in spec.get("podGroupTemplates") or []}

    def listed(path: str, templates: list) -> None:
        names = set()
        for place, each in enumerate(templates):
            if each.get("name", "") in seen:
                result.add((f"{path}[{place}].name", DUPLICATE))
            names.add(each.get("name", ""))
        seen.update(names)

    def composites(path: str, templates: list) -> None:
        listed(path, templates)
        for place, each in enumerate(templates):
            here = f"{path}[{place}]"
            listed(f"{here}.podGroupTemplates", each.get("podGroupTemplates") or [])
            composites(f"{here}.compositePodGroupTemplates", each.get("compositePodGroupTemplates") or [])
            if not each.get("podGroupTemplates") and not each.get("compositePodGroupTemplates"):
                result.add((here, INVALID))

    def levels(template: dict) -> int:
        return 1 + max((levels(each) for each in template.get("compositePodGroupTemplates") or []), default=0)

    def pairs(holder: dict) -> list:
        own = [*(holder.get("podGroupTemplates") or []), *(holder.get("compositePodGroupTemplates") or [])]
        below = [pair for each in holder.get("compositePodGroupTemplates") or [] for pair in pairs(each)]
        return [(each.get("priorityClassName") or "", each.get("priority")) for each in own] + below

    roots = spec.get("compositePodGroupTemplates") or []
    composites("spec.compositePodGroupTemplates", roots)
    result.update((f"spec.compositePodGroupTemplates[{place}]", INVALID) for place, each in enumerate(roots) if levels(each) > 3)
    if len(set(pairs(spec))) > 1:
        result.add(("spec", INVALID))
    return result


def job_hand_written(spec: dict, old: dict | None) -> Found:
    """Yield the errors of hand-written validation of a Job on creation and on update, including the kind of its policy."""
    result: Found = set()
    scheduling = spec.get("scheduling")
    if scheduling is None:
        return result
    given = scheduling.get("schedulingPolicy")
    count = ((given or {}).get("gang") or {}).get("minCount")
    if count is not None and count > (1 if spec.get("parallelism") is None else spec["parallelism"]):
        result.add(("spec.scheduling.schedulingPolicy.gang.minCount", INVALID))
    resolved = {"basic": {}} if given is None else given
    if resolved.get("basic") is not None and (scheduling.get("disruptionMode") or {}).get("all") is not None:
        result.add(("spec.scheduling.disruptionMode", INVALID))
    before = ((old or {}).get("scheduling") or {}).get("schedulingPolicy")
    if given is not None and before is not None and (given.get("basic") is None) != (before.get("basic") is None):
        result.add(("spec.scheduling.schedulingPolicy", INVALID))
    return result


def expected(kind: str, new: dict, old: dict | None, gates_off: frozenset[str] = frozenset()) -> Found:
    """Return the errors that the API server reports for a spec after defaulting."""
    judge = Judge(updating=old is not None, gates_off=gates_off)
    judge.field("spec", Field("spec", always=True, type=SPECS[kind]), new, old, correlated=old is not None)
    if kind == "Workload":
        judge.found |= hand_written(new)
    if kind == "Job":
        judge.found |= job_hand_written(new, old)
    if kind == "PodGroup" and old is None and new.get("parentCompositePodGroupName") is not None and new.get("workloadRef") is None:
        judge.found.add(("spec.workloadRef", REQUIRED))
    return judge.found


def dropped(kind: str, new: dict, old: dict | None, off: frozenset[str]) -> dict:
    """Return the spec without the fields whose gate is off, unless the old object uses them."""
    if kind == "Workload":
        return _dropped_templates(new, old or {}, off)
    if kind == "Job":
        used = (old or {}).get("scheduling") is not None
        return {name: value for name, value in new.items() if used or name != "scheduling" or "WorkloadWithJob" not in off}
    result = _dropped_fields(new, old or {}, off, leaf=kind == "PodGroup")
    if kind == "PodGroup" and "CompositePodGroup" in off and (old or {}).get("parentCompositePodGroupName") is None:
        result.pop("parentCompositePodGroupName", None)
    return result


def _dropped_fields(new: dict, old: dict, off: frozenset[str], *, leaf: bool) -> dict:
    gates = {"preemptionPolicy": "PodGroupPreemptionPolicy"}
    if leaf:
        gates |= {"schedulingConstraints": "TopologyAwareWorkloadScheduling", "resourceClaims": "DRAWorkloadResourceClaims"}
    return {name: value for name, value in new.items() if not (gates.get(name) in off and old.get(name) in (None, []))}


def _dropped_templates(new: dict, old: dict, off: frozenset[str]) -> dict:
    """Match leaves with the old leaves by index, composites by name."""
    result = dict(new)
    before = old.get("podGroupTemplates") or []
    result["podGroupTemplates"] = [
        _dropped_fields(each, before[place] if place < len(before) else {}, off, leaf=True)
        for place, each in enumerate(new.get("podGroupTemplates") or [])
    ]
    composites = new.get("compositePodGroupTemplates") or []
    if "CompositePodGroup" in off and not old.get("compositePodGroupTemplates"):
        composites = []
    named = {each.get("name", ""): each for each in old.get("compositePodGroupTemplates") or []}
    result["compositePodGroupTemplates"] = [
        _dropped_templates(
            _dropped_fields(each, named.get(each.get("name", ""), {}), off, leaf=False), named.get(each.get("name", ""), {}), off
        )
        for each in composites
    ]
    return result
