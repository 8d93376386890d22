"""Annotations with which users describe the group of an object whose API has no building blocks, or has none on this cluster.

They concern the top group of the object, and stand for its blocks of KEP-6089: a block in the object itself wins.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from kubeapi.field_path import FieldPath, Key
from kubeapi.priority import SYSTEM_CLASSES
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.shared.adapter_result import ANY_POSITION, Dependent, PodPlan, Reading
from workloadbuilder.adapters.shared.kueue_annotations import integer
from workloadbuilder.adapters.shared.pod_sets import ONE_BY_ONE
from workloadbuilder.workload_item import WHOLE, Block, DisruptionMode, PolicyKind, SchedulingConfig, SchedulingPolicy, WorkloadItem

TOPOLOGY = "muster.dev/topology"
"""Key of a node label: the object is placed on nodes with one value of it."""
MIN_COUNT = "muster.dev/min-count"
"""Minimum of the gang: of pods, or of groups if the object has a group of groups."""
DISRUPTION_MODE = "muster.dev/disruption-mode"
"""``single`` or ``all``."""
_BLOCKS = {TOPOLOGY: Block.TOPOLOGY, MIN_COUNT: Block.POLICY, DISRUPTION_MODE: Block.DISRUPTION_MODE}
KEYS = frozenset(_BLOCKS)


def path(key: str) -> FieldPath:
    """Return the path of an annotation of an object."""
    return FieldPath("metadata", "annotations", Key(key))


def with_annotations(reading: Reading, annotations: Mapping[str, str], *, grouped: bool) -> Reading:
    """Return *reading* with the blocks of *annotations*, and with errors and warnings about them.

    An object whose controller creates no group gets one if it is to be *grouped*, or has one of the annotations: a gang of all pods that
    do not wait for others.  An object that is to be grouped is placed whole: groups without a policy of the user are gangs where they can be.
    """
    given = {key: annotations[key] for key in _BLOCKS if key in annotations}
    if given or grouped:
        reading = _with_group(reading)
    if grouped and reading.root is not None:
        reading = dataclasses.replace(reading, root=_whole(reading.root, reading.gangs))
    return _with_blocks(reading, given) if given else reading


def _with_group(reading: Reading) -> Reading:
    """Return *reading* with a tree if its controller creates no group."""
    if reading.root is not None or reading.link:
        return reading
    if reading.possible_root is not None:
        return dataclasses.replace(reading, root=reading.possible_root, skipped="")
    return _as_gang(reading) if reading.skipped in ("", ONE_BY_ONE) and not reading.errors else reading


def _with_blocks(reading: Reading, given: Mapping[str, str]) -> Reading:
    if reading.dependents:
        return dataclasses.replace(reading, dependents=tuple(_passed_on(each, given) for each in reading.dependents))
    if reading.root is None:
        why = reading.skipped or "the group of this object is described elsewhere"
        return _with(reading, warnings=[_without_effect(key, given[key], why) for key in given])
    root, errors, warnings = reading.root, list[FieldError](), list[FieldError]()
    paths, values, unread = dict(root.intent.paths), dict[str, object](), [*root.intent.unread]
    for key, text in given.items():
        block = _BLOCKS[key]
        if block in paths or block in unread:
            warnings.append(_without_effect(key, text, f"{paths.get(block, root.path)} is set"))
            continue
        value, why = _read(key, text, root, reading.pods)
        if why:
            errors.append(field.invalid(path(key), text, why))
            unread.append(block)
        else:
            values[block.value] = value
        paths[block] = path(key)
    config: SchedulingConfig = dataclasses.replace(root.intent.config, **values)  # type: ignore[arg-type]  # each block has its type
    intent = dataclasses.replace(
        root.intent, config=config, paths=tuple(paths.items()), unread=tuple(unread), composite=bool(root.children)
    )
    return _with(dataclasses.replace(reading, root=dataclasses.replace(root, intent=intent)), errors, warnings)


def _whole(item: WorkloadItem, gangs: Mapping[str, SchedulingPolicy]) -> WorkloadItem:
    """Return a tree with the policies *gangs*, by template, in place of default ones."""
    default = dataclasses.replace(item.default, policy=gangs.get(item.name, item.default.policy))
    return dataclasses.replace(item, default=default, children=tuple(_whole(each, gangs) for each in item.children))


def _as_gang(reading: Reading) -> Reading:
    """Return *reading* with a tree of one gang; pods that are created only after others run cannot be in it."""
    name = reading.owner.kind.lower()
    plans = [each if each.part in reading.waits or not each.count else dataclasses.replace(each, template=name) for each in reading.pods]
    members = [each for each in plans if each.template == name]
    if not members or reading.named_group() is not None:
        return reading
    classes = sorted({str(each.make(ANY_POSITION, 0)["spec"].get("priorityClassName") or "") for each in members})
    errors = [] if len(classes) == 1 else [field.invalid_struct(WHOLE, f"the pods of one gang have one priority class: {_listed(classes)}")]
    gang = SchedulingConfig(SchedulingPolicy(PolicyKind.GANG, sum(each.count for each in members)))
    # No group can have a system class.
    priority = "" if classes[0] in SYSTEM_CLASSES else classes[0]
    root = WorkloadItem(name, default=gang, priority_class_name=priority, minimum_path=path(MIN_COUNT))
    return _with(dataclasses.replace(reading, root=root, pods=tuple(plans), skipped=""), errors)


def _listed(classes: Sequence[str]) -> str:
    return ", ".join(each or "none" for each in classes)


def _passed_on(dependent: Dependent, given: Mapping[str, str]) -> Dependent:
    """Return an object that the controller creates, with the annotations that it has not itself."""
    metadata = dependent.manifest["metadata"]
    annotations = {**given, **(metadata.get("annotations") or {})}
    return dataclasses.replace(dependent, manifest={**dependent.manifest, "metadata": {**metadata, "annotations": annotations}})


def _with(reading: Reading, errors: Iterable[FieldError] = (), warnings: Iterable[FieldError] = ()) -> Reading:
    before = reading.relocate

    def relocate(error: FieldError) -> FieldError:
        """Return an error below an annotation, whose value has no fields, at the annotation."""
        key = next((each for each in _BLOCKS if error.path.starts_with(path(each))), None)
        return before(error) if key is None else dataclasses.replace(error, path=path(key))

    return dataclasses.replace(reading, errors=(*reading.errors, *errors), warnings=(*reading.warnings, *warnings), relocate=relocate)


def _without_effect(key: str, text: str, why: str) -> FieldError:
    return field.invalid(path(key), text, f"has no effect: {why}")


def _read(key: str, text: str, root: WorkloadItem, pods: Sequence[PodPlan]) -> tuple[object, str]:
    """Return the value of a block, and the reason why it is none; empty without."""
    if key == TOPOLOGY:
        return (text,), ""
    if key == DISRUPTION_MODE:
        known = [each.value for each in DisruptionMode]
        return (DisruptionMode(text), "") if text in known else (None, f"must be {' or '.join(known)}")
    minimum = integer(text)
    if minimum is None or minimum < 1:
        return None, "must be a whole number of at least 1"
    most, members = (sum(each.replicas for each in root.children), "groups") if root.children else (_pods_of(root, pods), "pods")
    why = f"must not be greater than the number of {members} ({most})" if minimum > most else ""
    return SchedulingPolicy(PolicyKind.GANG, minimum), why


def _pods_of(root: WorkloadItem, pods: Sequence[PodPlan]) -> int:
    return sum(each.count for each in pods if each.template == root.name)
