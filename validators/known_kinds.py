"""Kinds that are known by API group, and the errors of objects whose group, version or kind is nearly a known one."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping

from kubeapi.field_path import FieldPath
from kubeapi.versions import served_versions
from kubeapi.versions.api_versions import TABLE
from validators import field
from validators.built_in import shapes
from validators.field import ErrorType, FieldError, Fix, Repair
from validators.model import controllers, own_gangs

RULE = "kind-known"
_UNCHECKED = {
    "kueue.x-k8s.io": ("AdmissionCheck", "WorkloadPriorityClass"),
    "scheduling.run.ai": ("PodGroup",),
    "scheduling.x-k8s.io": ("PodGroup",),
}
"""Further kinds that other parts of the project read."""
_COMPLETE = frozenset({"", "apps", "batch"})
"""Groups of the API server alone: no other project adds kinds to them."""


@functools.lru_cache(maxsize=256)
def error(api_version: str, kind: str) -> FieldError | None:
    """Return the error of an object of an unknown kind that differs from a known one by one letter, or has another group; None without."""
    group, _, version = api_version.rpartition("/")
    known = _known()
    if kind in known.get(group, {}):
        versions = known[group][kind]
        near = [each for each in versions if version not in versions and field.is_slip(version, each)]
        return _misspelt("apiVersion", api_version, (served_versions.named(group, each) for each in near))
    kinds = [each for each in known.get(group, {}) if field.is_slip(kind, each)]
    if kinds:
        return _misspelt("kind", kind, kinds)
    near_groups = [each for each in known if kind in known[each] and (group in _COMPLETE or field.is_slip(group, each))]
    return _misspelt("apiVersion", api_version, _api_versions({each: known[each][kind] for each in near_groups}, version))


def _api_versions(versions: Mapping[str, Iterable[str]], written: str) -> Iterable[str]:
    """Yield the API versions of groups with their *versions*: those with the version that is *written*, if there are any."""
    for group, served in versions.items():
        for version in {written}.intersection(served) or sorted(served) or (written,):
            yield served_versions.named(group, version)


def _misspelt(name: str, value: str, known: Iterable[str]) -> FieldError | None:
    listed = [*known]
    if not listed:
        return None
    detail = f"there is no such {'kind in this group' if name == 'kind' else 'group and version of this kind'}; did you mean {' or '.join(listed)}?"
    fix = Fix(Repair.REPLACE, listed[0], is_safe=field.is_slip(value, listed[0])) if len(listed) == 1 else None
    found = FieldError(ErrorType.NOT_SUPPORTED, FieldPath(name), value, detail, RULE, fix=fix)
    return dataclasses.replace(found, suggestion=listed[0])


@functools.cache
def _known() -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Return the known versions of each kind by API group; none where no version is known."""
    known: dict[str, dict[str, frozenset[str]]] = {}
    rows = [(row.group, each.kind, {row.version}) for row in TABLE for each in row.kinds]
    rows += [(group, kind, {*shapes.versions_of(group, kind)}) for group, kind in shapes.kinds()]
    rows += [(group, kind, set()) for group, kind in (*controllers.GROUPS_AND_KINDS, *own_gangs.GROUPS_AND_KINDS)]
    rows += [(group, kind, set()) for group, kinds in _UNCHECKED.items() for kind in kinds]
    for group, kind, versions in sorted(rows, key=lambda row: row[:2]):
        kinds = known.setdefault(group, {})
        kinds[kind] = kinds.get(kind, frozenset()) | versions
    return known
