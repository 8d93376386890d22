"""Name of the group of a pod in the API group to which a migration leads: the field ``schedulingGroup``, or a label.

Pods and pod templates of any controller are changed.  A pod that was copied from a cluster keeps what it has: its group cannot be
changed, and counts by field and by label for groups of either API group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeapi.content import LONGEST_LABEL
from kubeapi.decode import Json, section
from kubeapi.pods import POD_GROUP_LABEL
from kubeapi.versions import served_versions
from validators.migrate import references
from validators.migrate.change import Add, Change, Parts, Remove, Replace
from validators.migrate.group_names import text
from validators.migrate.migrate_object import Lost, Noted, Step, group_of

_FIELD, _NAME = "schedulingGroup", "podGroupName"


def steps(content: Mapping[str, Json], to: str) -> Iterator[Step]:
    """Yield the steps for the pods of an object; none if the migration *to* leads to no other API group."""
    if not group_of(to) or group_of(content.get("apiVersion")) in served_versions.WORKLOAD_GROUPS:
        return
    to_label = served_versions.form_of(to).custom
    for path, holder in _pods(content):
        group = text(section(holder, "spec", _FIELD).get(_NAME))
        label = text(section(holder, "metadata", "labels").get(POD_GROUP_LABEL))
        if not (group if to_label else label):
            continue
        if label and group and label != group:
            yield _other_group(path, label)
        if not path and any(section(content, "metadata").get(each) for each in ("uid", "resourceVersion")):
            kept = ("spec", _FIELD) if to_label else _label_path(path)
            yield Noted(kept, "this pod was copied from a cluster and keeps the way in which it names its group: no pod can change it")
        elif not to_label:
            yield from _to_field(content, path, holder, group or label)
        elif len(group) > LONGEST_LABEL:
            yield _too_long(path, group)
        else:
            yield Remove((*path, "spec", _FIELD))
            if label != group:
                yield from named_by_label(holder, path, group)


def named_by_label(holder: Mapping[str, Json], path: Parts, group: str) -> Iterator[Change]:
    """Yield the changes that give *holder*, the pod or pod template at *path* of an object, the label of its *group*."""
    metadata = holder.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    if isinstance(labels, Mapping) and POD_GROUP_LABEL in labels:
        yield Replace(_label_path(path), group)
    elif isinstance(labels, Mapping):
        yield Add((*path, "metadata", "labels"), POD_GROUP_LABEL, group, after=["", *labels][-1])
    elif isinstance(metadata, Mapping):
        yield _added((*path, "metadata"), metadata, "labels", {POD_GROUP_LABEL: group})
    else:
        yield _added(path, holder, "metadata", {"labels": {POD_GROUP_LABEL: group}})


def _pods(content: Mapping[str, Json]) -> Iterator[tuple[Parts, Mapping[str, Json]]]:
    """Yield each pod and pod template in an object with its path."""
    for path, each in references.mappings(content, ()):
        spec = each.get("spec")
        if isinstance(spec, Mapping) and references.is_pod(content, spec, (*path, "spec")):
            yield path, each


def _to_field(content: Mapping[str, Json], path: Parts, holder: Mapping[str, Json], group: str) -> Iterator[Step]:
    spec = holder["spec"]
    if _FIELD not in spec:
        after = [each for each in spec if each != references.FIELD]
        yield Add((*path, "spec"), _FIELD, {_NAME: group}, after=[*after, ""][0])
    selected = section(content, "spec", "selector")
    if POD_GROUP_LABEL in {**selected, **section(selected, "matchLabels")}:
        yield Noted(_label_path(path), "the pods keep this label, because the selector of the object requires it")
        return
    # What only held the label is removed with it; an item of a list cannot lose a field.
    levels = [(*path, "metadata", "labels", POD_GROUP_LABEL), (*path, "metadata", "labels"), (*path, "metadata")]
    sizes = len(holder["metadata"]["labels"]), len(holder["metadata"])
    level = 0 if sizes[0] > 1 else 1 if sizes[1] > 1 or not path or isinstance(path[-1], int) else 2
    yield Remove(levels[level])


def _added(path: Parts, holder: Mapping[str, Json], name: str, value: Json) -> Change:
    """Return the change that sets a field, which may be null, of the mapping at *path*."""
    return Replace((*path, name), value) if name in holder else Add(path, name, value, after=[*holder, ""][0])


def _label_path(path: Parts) -> Parts:
    return (*path, "metadata", "labels", POD_GROUP_LABEL)


def _other_group(path: Parts, label: str) -> Lost:
    return Lost(
        _label_path(path),
        f"the group {label} of the label",
        "a group other than that in schedulingGroup, which counts",
        "nothing, if the group in schedulingGroup is the right one",
    )


def _too_long(path: Parts, group: str) -> Lost:
    return Lost(
        (*path, "spec", _FIELD, _NAME),
        f"the label with the group {group}",
        f"the value of a label has at most {LONGEST_LABEL} characters; the field is kept, but API servers that do not have it drop it",
        "give the PodGroup a shorter name",
    )
