"""Raw objects of a cluster by name, from which changes are written as whole objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubeapi.decode import plain
from kubeapi.gather import gather
from kubeapi.gathered import GatheredObjects, Given
from kubeapi.names import CLUSTER_SCOPED
from kubeapi.pods import Container
from scheduler_core.cluster.accepted import accepted_content
from scheduler_core.cluster.cluster import Cluster, named_objects
from scheduler_core.cluster.group_store import Key
from scheduler_core.model.decision import Step
from scheduler_core.model.snapshot import ClusterSnapshot
from scheduler_core.whatif.edits.node_templates import OWNERS, Content, belongs_to_its_node, section

_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_OF_CONTAINER = frozenset(Container.__struct_encode_fields__)


class Book:
    """Raw objects, and the objects that a change has replaced.

    Changed objects are in answers, which are for others too.  So pods are without what placement does not read of their containers, such as
    environment and command, and all objects without the copy of them that kubectl keeps in an annotation.
    """

    def __init__(self, objects: Iterable[Given]) -> None:
        """Open lists; of several objects of one name use the one that loading uses."""
        self._objects, _ = gather(objects)
        self._named: dict[str, dict[Key, GatheredObjects]] = {}
        self._replaced: dict[Key, Content] = {}
        self._pods_by_words: dict[tuple[str, ...], list[GatheredObjects]] = {}

    def get(self, kind: str, namespace: str, name: str) -> Content | None:
        """Return a copy of the object, which may be modified; None if it does not exist, or if loading leaves it out."""
        key = (kind, "" if kind in CLUSTER_SCOPED else namespace, name)
        if (replaced := self._replaced.get(key)) is not None:
            return {**plain(replaced)}
        gathered = self._objects_of_kind(kind).get(key)
        return None if gathered is None else _content(gathered)

    def objects_on_node(self, node: str) -> list[Content]:
        """Return copies of the DaemonSet and static pods on *node*, sorted by namespace and name, each name once."""
        encoded_name = node.encode()
        named = named_objects("Pod", (each for each in self._mentioning(OWNERS) if encoded_name in bytes(each.text)))
        pods = [content for key in sorted(named) if (content := _content(named[key])) is not None]
        return [
            pod for pod in pods if isinstance(pod.get("spec"), dict) and pod["spec"].get("nodeName") == node and belongs_to_its_node(pod)
        ]

    def free(self, names: Iterable[str], part: str) -> Iterator[str]:
        """Return those of *names* that no node has and no pod mentions; all of them contain *part*."""
        texts = [bytes(each.text) for each in self._mentioning((part,))]
        for name in names:
            if not any(name.encode() in text for text in texts) and self.get("Node", "", name) is None:
                yield name

    def all(self, kind: str, namespace: str) -> list[Content]:
        """Return copies of all objects of a kind in a namespace, sorted by name."""
        keys = {key for key in (*self._objects_of_kind(kind), *self._replaced) if key[0] == kind and key[1] == namespace}
        return [content for key in sorted(keys) if (content := self.get(*key)) is not None]

    def belongs_to_its_node(self, namespace: str, pod: str) -> bool:
        """Return whether a pod is a DaemonSet or static pod; it is parsed only if its text has a word for that."""
        gathered = self._objects_of_kind("Pod").get(("Pod", namespace, pod))
        if gathered is None or not any(word.encode() in bytes(gathered.text) for word in OWNERS):
            return False
        return belongs_to_its_node(gathered.content())

    def naming(self, kind: str, namespace: str, names: Iterable[str]) -> list[Content]:
        """Return copies of the objects of a kind in a namespace whose text has one of *names*, sorted by name: only these are parsed."""
        encoded = [name.encode() for name in names]
        texts = {key: bytes(each.text) for key, each in self._objects_of_kind(kind).items() if key[1] == namespace}
        found = sorted(key for key, text in texts.items() if any(name in text for name in encoded))
        return [content for key in found if (content := self.get(*key)) is not None]

    def with_steps(self, steps: Sequence[Step]) -> Book:
        """Return the same objects with those that *steps* apply."""
        return _ChangedBook(self, {key_of(step.apply): dict(step.apply) for step in steps if step.apply is not None})

    def without_pods(self, pods: Iterable[str]) -> Book:
        """Return the same objects without *pods*, by ``namespace/name``."""
        left_out = {("Pod", *pod.partition("/")[::2]) for pod in pods}
        others = (each for kind, several in self._objects.items() if kind != "Pod" for each in several)
        return Book((*others, *(each for key, each in self._objects_of_kind("Pod").items() if key not in left_out)))

    def cluster(self, snapshot: ClusterSnapshot) -> Cluster:
        """Return the cluster of these objects, of which *snapshot* was made."""
        return Cluster(snapshot, self._objects)

    def _mentioning(self, words: tuple[str, ...]) -> list[GatheredObjects]:
        """Return the pods whose text contains one of *words*: of many pods, only these are parsed."""
        if words not in self._pods_by_words:
            encoded = [word.encode() for word in words]
            self._pods_by_words[words] = [
                gathered for gathered in self._objects.get("Pod", ()) if any(word_bytes in bytes(gathered.text) for word_bytes in encoded)
            ]
        return self._pods_by_words[words]

    def _objects_of_kind(self, kind: str) -> Mapping[Key, GatheredObjects]:
        if kind not in self._named:
            self._named[kind] = named_objects(kind, self._objects.get(kind, ()))
        return self._named[kind]


def _content(gathered: GatheredObjects) -> Content | None:
    """Return a copy of an object for an answer; None if loading leaves it out."""
    if (content := accepted_content(gathered)) is None:
        return None
    section(section(content, "metadata"), "annotations").pop(_APPLIED, None)
    if gathered.kind == "Pod":
        spec = section(content, "spec")
        for name in _CONTAINERS:
            if isinstance(containers := spec.get(name), list):
                spec[name] = [{key: value for key, value in each.items() if key in _OF_CONTAINER} for each in containers]
    return content


class _ChangedBook(Book):
    def __init__(self, book: Book, over: Mapping[Key, Content]) -> None:
        vars(self).update(vars(book))
        self._replaced = {**self._replaced, **over}


def key_of(content: Mapping[str, Any]) -> Key:
    """Return kind, namespace and name of an object, or of what a step deletes."""
    metadata, kind = content.get("metadata") or content, str(content.get("kind", ""))
    return kind, "" if kind in CLUSTER_SCOPED else metadata.get("namespace") or "default", str(metadata.get("name", ""))


def key_of_step(step: Step) -> Key:
    """Return kind, namespace and name of the object that *step* changes."""
    return key_of(step.apply or step.delete or {})


def after(cluster: Cluster, steps: Iterable[Step]) -> Cluster:
    """Return a fork of *cluster* after *steps*."""
    fork, added = cluster.fork(), []
    for step in steps:
        if step.apply is not None:
            added.append(step.apply)
        else:
            fork.remove(*key_of_step(step))
    fork.apply(*added)
    return fork


def merged(*changes: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps of several successive changes; an object that is replaced twice appears once, in its last version."""
    return tuple(net_changes(step for steps in changes for step in steps).values())


def net_changes(steps: Iterable[Step]) -> dict[Key, Step]:
    """Return the net effect of *steps* in any order: the last step on each object, by its key."""
    return {key_of_step(step): step for step in steps}
