"""Pods that differ only in name, labels, node and times: most pods of a cluster are equal to another one.

They are found by their text, which is much faster than to decode them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, KeysView

from kubeapi import decode
from kubeapi.decoders import POD_TEXT
from kubeapi.device_shares import annotated_shares
from kubeapi.meta import replaced
from kubeapi.pods import POD_GROUP_LABEL
from scheduler_core.loading.parsed_pods import ParsedPod
from scheduler_core.loading.read_objects import name_in

_MOST_TEXTS = 20_000
"""Number of shared texts, and of shared labels.  Beyond this limit they are forgotten: pods that share them are near each other in a list."""
_MOST_KINDS = 10_000
"""Number of remembered pods; beyond this limit most pods equal no other."""
_NO_LABELS: dict[str, str] = {}


class SharedTexts:
    """Texts that occur in many pods, such as node names, namespaces and labels."""

    def __init__(self, nodes: Iterable[str] = ()) -> None:
        self._texts: dict[str, str] = {}
        self._labels: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
        self._nodes = {"": "", **{name: name for name in nodes}}
        self.node = self._nodes.setdefault
        """Returns the name of a node, which all its pods share, given the name twice."""

    def shared(self, text: str) -> str:
        """Return the text that all pods share."""
        return self.share()(text, text)

    def share(self) -> Callable[[str, str], str]:
        """Return a function that returns the text that all pods share, given the text twice."""
        if len(self._texts) >= _MOST_TEXTS:
            self._texts.clear()
        return self._texts.setdefault

    @property
    def nodes(self) -> KeysView[str]:
        """Return the names of all nodes, and the empty text."""
        return self._nodes.keys()

    def labels(self, labels: dict[str, str] | None, name: str) -> dict[str, str]:
        """Return *labels*, which are changed, of the pod *name* with shared values; equal labels are shared, unless they have the name."""
        if not labels:
            return _NO_LABELS
        share, own = self.share(), False
        for key, value in labels.items():
            labels[key] = name if value == name else share(value, value)
            own |= value == name
        if own:
            return labels
        if len(self._labels) >= _MOST_TEXTS:
            self._labels.clear()
        return self._labels.setdefault(tuple(labels.items()), labels)


class PodTextCache:
    """ParsedPods of pods by the text of all that equal pods share."""

    def __init__(self, texts: SharedTexts) -> None:
        self._texts = texts
        self._drafts: dict[bytes, ParsedPod | None] = {}
        self._namespaces: set[str] = set()
        self._key = b""

    def parsed_pod(self, text: decode.Text) -> tuple[str, ParsedPod | None] | None:
        """Return key and parsed pod of a pod that equals one before; None if there is none."""
        self._key = b""
        try:
            pod = POD_TEXT.decode(text)
            meta, spec, status = pod.metadata, pod.spec, pod.status
            namespace, name = meta.namespace or "default", meta.name
            if not name or "/" in name or not name.isprintable() or namespace not in self._namespaces:
                namespace, name = name_in("Pod", meta)
                self._namespaces.add(namespace)
        except (ValueError, RecursionError):
            # Its reader reports the problem.
            return None
        node, nominated, started = spec.node_name, status.nominated_node_name, status.start_time
        spec.node_name = status.nominated_node_name = ""
        status.start_time = None
        # Of the labels, the group decides.
        group = (meta.labels or {}).get(POD_GROUP_LABEL)
        self._key = decode.ENCODER.encode((spec, status, group, meta.owner_references, annotated_shares(meta.annotations)))
        if self._key not in self._drafts:
            return None
        key = f"{namespace}/{name}"
        if (equal := self._drafts[self._key]) is None:
            return key, None
        share, created, started = self._texts.share(), meta.creation_timestamp or "", started or ""
        # By place, because there are hundreds of thousands.
        return key, ParsedPod(
            key,
            share(namespace, namespace),
            equal.form,
            equal.traits,
            self._texts.labels(meta.labels, name),
            self._texts.node(node, node),
            equal.group,
            share(created, created),
            share(started, started),
            meta.deletion_timestamp is not None,
            meta.uid if equal.traits.containers or node else "",
            replaced(equal.attached, nominated=nominated) if nominated else equal.attached,
        )

    def remember(self, parsed_pod: ParsedPod | None) -> None:
        """Remember the parsed pod of the pod that was looked for last, unless its name decides on its claims, or it is nominated."""
        if (
            self._key
            and len(self._drafts) < _MOST_KINDS
            and (parsed_pod is None or not (parsed_pod.claims or parsed_pod.entries or parsed_pod.nominated))
        ):
            self._drafts[self._key] = parsed_pod
