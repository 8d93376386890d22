"""Steps before an upgrade of a cluster, as a shell script that a person reads and runs, and as JSON (version 1; keys are only added)."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubeapi import decode
from kubeapi.groups import TREE_KINDS
from kubeapi.problem import Problem
from kubeapi.versions import served_versions
from muster.commands.snapshot import live_cluster
from muster.render.problem_words import object_words, problem_words
from validators.field import FieldError
from validators.migrate.recreate import Action, Recreation, Step
from validators.migrate.stored_objects import Content, name_of
from validators.reports.counts import counted
from validators.reports.escape import json_text, printable

VERSION = 1
_END = "END"


def stored_objects(kubeconfig: str | None, context: str | None) -> tuple[list[Content], list[Problem]]:
    """Return the Workloads and groups of a cluster, and what could not be read.

    Raises:
        ClusterError: the cluster cannot be read.
    """
    api = live_cluster.connect(kubeconfig, context, instead="PATH")
    objects: list[Content] = []
    problems: list[Problem] = []
    for kind in TREE_KINDS:
        read = live_cluster.list_resources(api, [served_versions.resource(kind)], needed=())
        problems += read.problems
        for content in map(decode.parse, read.lists):
            objects += ({"apiVersion": content["apiVersion"], "kind": kind, **each} for each in content["items"])
    return objects, problems


class UpgradeSteps:
    """Steps for a version, such as ``1.38``; *connection* has the options of kubectl for the cluster."""

    def __init__(self, recreations: Sequence[Recreation], version: str, problems: Sequence[Problem], connection: Sequence[str]) -> None:
        self.recreations = recreations
        self.version = version
        self.problems = problems
        self._connection = connection

    def as_text(self) -> str:
        """Return a script: comments with the reasons, and one command a step."""
        lines = [f"# not read: {printable(object_words(each))}: {printable(problem_words(each))}" for each in self.problems]
        lines.append(f"# Before the upgrade to Kubernetes {self.version}: {self._summary()}.")
        for each in self.recreations:
            lines += ["", *self._paragraph(each)]
        return "\n".join(lines) + "\n"

    def as_json(self) -> str:
        """Return one JSON document."""
        content = {
            "version": VERSION,
            "kubernetes": self.version,
            "problems": [{"object": object_words(each), "message": problem_words(each)} for each in self.problems],
            "recreations": [self._document(each) for each in self.recreations],
        }
        return json_text(content, indent=1)

    def _summary(self) -> str:
        stuck = sum(len(each.errors) for each in self.recreations)
        if not stuck:
            return "no object must be created again"
        without = sum(not each.steps for each in self.recreations)
        text = f"{counted(stuck, 'object')} must be created again, of {counted(len(self.recreations), 'Workload')}"
        return f"{text}; {counted(without, 'Workload')} cannot be mended here" if without else text

    def _paragraph(self, recreation: Recreation) -> Iterator[str]:
        for content, errors in recreation.errors:
            yield from (f"# {printable(f'{_label(content)} {each.path}: {each}')}" for each in errors)
        if not recreation.steps:
            yield f"# No steps: in Kubernetes {self.version} the object would still be refused. Delete it, or write it anew:"
            for content, errors in recreation.unmended:
                yield from (f"#   {printable(f'{_label(content)} {each.path}: {each}')}" for each in errors)
            return
        if recreation.waiting:
            names = ", ".join(map(_label, recreation.waiting))
            yield f"# Until the last step, pending pods of {printable(names)} are not scheduled. Pods with a node keep running."
        for owner in _controllers(recreation.errors):
            yield f"# {printable(owner)} made a part of it, and can make it again between the steps: stop its controller, or change it first."
        yield from (self._command(each) for each in recreation.steps)

    def _document(self, recreation: Recreation) -> dict[str, object]:
        return {
            "objects": [{"object": _label(content), "errors": _errors(errors)} for content, errors in recreation.errors],
            "waiting": [_label(each) for each in recreation.waiting],
            "steps": [
                {
                    "action": each.action.value,
                    "object": _label(each.content),
                    **({"create": each.content} if each.action is Action.CREATE else {}),
                    "command": self._command(each),
                }
                for each in recreation.steps
            ],
            "unmended": [{"object": _label(content), "errors": _errors(errors)} for content, errors in recreation.unmended],
        }

    def _command(self, step: Step) -> str:
        kind, namespace, name = name_of(step.content)
        resource = served_versions.resource(kind)
        target = [f"{resource.resource}.{resource.group}", name]
        match step.action:
            case Action.REMOVE_FINALIZERS:
                return self._kubectl(
                    namespace, "patch", *target, "--type=json", '--patch=[{"op": "remove", "path": "/metadata/finalizers"}]'
                )
            case Action.DELETE:
                return self._kubectl(namespace, "delete", *target, "--cascade=orphan", "--ignore-not-found")
            case Action.CREATE:
                text = json.dumps(step.content, ensure_ascii=False)
                return f"{self._kubectl(namespace, 'create', '-f', '-')} <<'{_END}'\n{text}\n{_END}"
            case Action.SET_OWNER:
                return self._set_owner(step, namespace, target)

    def _set_owner(self, step: Step, namespace: str, target: Sequence[str]) -> str:
        kind, _, owner = name_of(step.owner or {})
        resource = served_versions.resource(kind)
        before = {key: value for key, value in _reference(step.content, kind, owner).items() if key != "uid"}
        uid = self._kubectl(namespace, "get", f"{resource.resource}.{resource.group}", owner, "--output=jsonpath={.metadata.uid}")
        # The uid is known only once the owner was created: the shell puts it in.
        head, tail = f'{{"metadata": {{"ownerReferences": [{json.dumps(before)[:-1]}, "uid": "', '"}]}}'
        return f'{self._kubectl(namespace, "patch", *target)} --patch={shlex.quote(head)}"$({uid})"{shlex.quote(tail)}'

    def _kubectl(self, namespace: str, *words: str) -> str:
        return shlex.join(["kubectl", *self._connection, "-n", namespace, *words])


def _errors(errors: Iterable[FieldError]) -> list[dict[str, str]]:
    return [{"field": str(each.path), "rule": each.origin, "message": str(each)} for each in errors]


def _reference(content: Content, kind: str, name: str) -> Mapping[str, Any]:
    metadata: Any = content["metadata"]
    references: list[Mapping[str, Any]] = metadata["ownerReferences"]
    return next(each for each in references if (each.get("kind"), each.get("name")) == (kind, name))


def _controllers(errors: Iterable[tuple[Content, object]]) -> list[str]:
    """Return the controllers' objects, other than groups, that own stuck objects, each once."""
    owners: dict[str, None] = {}
    for content, _ in errors:
        metadata: Any = content["metadata"]
        for each in metadata.get("ownerReferences") or ():
            if each.get("controller") and each.get("kind") not in TREE_KINDS:
                owners[f"{each.get('kind')} {name_of(content)[1]}/{each.get('name')}"] = None
    return [*owners]


def _label(content: Content) -> str:
    kind, namespace, name = name_of(content)
    return f"{kind} {namespace}/{name}"
