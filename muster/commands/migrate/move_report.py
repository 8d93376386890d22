"""Report of a move of custom resources to the built-in API group, as text and as JSON (version 1; keys are only added)."""

from __future__ import annotations

from collections.abc import Iterator

from kubeapi.pods import POD_GROUP_LABEL
from muster.commands.migrate.cluster_move import ClusterMove, LabelledPods, MovedObject
from validators.migrate.moves import MoveAction
from validators.migrate.stored_objects import name_of
from validators.reports.counts import counted
from validators.reports.escape import json_text, printable

VERSION = 1
_DONE = {
    MoveAction.CREATE: ("created", "would be created"),
    MoveAction.SET_METADATA: ("labels, annotations and owners carried over", "labels, annotations and owners would be carried over"),
    MoveAction.SET_STATUS: ("status carried over", "status would be carried over"),
    MoveAction.SET_OWNER: ("owner of other objects", "would own other objects"),
    MoveAction.REMOVE_FINALIZERS: ("finalizers of the custom resource removed", "finalizers of the custom resource would be removed"),
    MoveAction.DELETE: ("custom resource deleted", "custom resource would be deleted"),
}


def as_text(move: ClusterMove) -> str:
    """Return one line for each object, then what keeps the label, then a summary."""
    lines = [_line(each, dry_run=move.dry_run) for each in move.objects]
    lines += (line for (namespace, name), each in sorted(move.labelled.items()) for line in _labelled(namespace, name, each))
    return "\n".join((*lines, _summary(move))) + "\n"


def as_json(move: ClusterMove) -> str:
    """Return one JSON document."""
    content = {
        "version": VERSION,
        "dryRun": move.dry_run,
        "objects": [
            {
                "object": _name(each),
                "to": str(each.target["apiVersion"]) if each.target is not None else None,
                "actions": [action.value for action in dict.fromkeys(each.actions)],
                "problem": each.problem or None,
                "waitsFor": [*each.waits_for],
            }
            for each in move.objects
        ],
        "onlyLabelled": [
            {"podGroup": f"{namespace}/{name}", "pods": each.pods, "controllers": sorted(each.controllers)}
            for (namespace, name), each in sorted(move.labelled.items())
        ],
    }
    return json_text(content, indent=1)


def _summary(move: ClusterMove) -> str:
    if not move.objects:
        return "there are no custom resources to move"
    waiting = [each for each in move.objects if each.waits_for]
    moved, rest = sum(each.has_replacement and not each.waits_for for each in move.objects), len(move.objects) - len(waiting)
    sentences = []
    if rest:
        sentences.append(f"{moved} of {counted(rest, 'custom resource')} {'would be moved' if move.dry_run else 'moved'}")
    if waiting:
        verb, them = ("is", "it waits") if len(waiting) == 1 else ("are", "they wait")
        sentences.append(f"{counted(len(waiting), 'custom resource')} {verb} being deleted since an earlier move: {them} for finalizers")
    if move.dry_run:
        sentences.append("nothing is written")
    return "; ".join(sentences)


def _line(moved: MovedObject, *, dry_run: bool) -> str:
    done = ", ".join(_DONE[each][dry_run] for each in dict.fromkeys(moved.actions))
    if moved.problem:
        return printable(f"{_name(moved)}: not moved: {moved.problem}{f' (before that: {done})' if done else ''}")
    to = f" as {moved.target['apiVersion']}" if moved.target is not None else ""
    waits = f"the custom resource is being deleted, and waits for {', '.join(moved.waits_for)}" if moved.waits_for else ""
    return printable(f"{_name(moved)}{to}: {', '.join(filter(None, (done, waits))) or 'the custom resource is deleted already'}")


def _labelled(namespace: str, name: str, pods: LabelledPods) -> Iterator[str]:
    number = counted(pods.pods, "pod")
    has, they = ("has", "it") if pods.pods == 1 else ("have", "them")
    yield printable(
        f"PodGroup {namespace}/{name}: {number} only {has} the label {POD_GROUP_LABEL}: kube-scheduler does not count {they} as members; "
        "Muster does"
    )
    for each in sorted(pods.controllers):
        yield printable(f"    {each} creates such pods until its pod template has schedulingGroup.podGroupName in place of the label")


def _name(moved: MovedObject) -> str:
    kind, namespace, name = name_of(moved.source)
    return f"{kind} {namespace}/{name}"
