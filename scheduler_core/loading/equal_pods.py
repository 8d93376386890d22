"""Pods that differ only in name, labels, node and times: most pods of a cluster are equal to another one.

They are found by their text, which is much faster than to decode them.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

from scheduler_core.loading.drafts import Draft
from scheduler_core.loading.gather import Name
from scheduler_core.loading.read_objects import name_in
from scheduler_core.model import wire, wire_texts

_MOST_TEXTS = 20_000
"""Number of shared texts; beyond this limit most texts occur in one pod only."""
_MOST_KINDS = 10_000
"""Number of remembered pods; beyond this limit most pods equal no other."""


class SharedTexts:
    """Texts that occur in many pods, such as node names, namespaces and labels."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._nodes: dict[str, str] = {}

    def shared(self, text: str) -> str:
        """Return the text that all pods share."""
        return (self._texts.setdefault if len(self._texts) < _MOST_TEXTS else self._texts.get)(text, text)

    def node(self, name: str) -> str:
        """Return the name of a node, which all its pods share."""
        return self._nodes.setdefault(name, name)

    def labels(self, labels: Mapping[str, str] | None, name: str) -> dict[str, str]:
        """Return *labels* of the pod *name* with shared values; many pods have a label with their name."""
        if not labels:
            return {}
        share = self._texts.setdefault if len(self._texts) < _MOST_TEXTS else self._texts.get
        return {key: name if value == name else share(value, value) for key, value in labels.items()}


class EqualPods:
    """Drafts of pods by the text of all that equal pods share."""

    def __init__(self, texts: SharedTexts) -> None:
        self._texts = texts
        self._drafts: dict[bytes, Draft | None] = {}
        self._key = b""

    def draft(self, text: wire.Text) -> tuple[Name, Draft | None] | None:
        """Return name and draft of a pod that equals one before; None if there is none."""
        self._key = b""
        try:
            pod = wire_texts.POD_TEXT.decode(text)
            namespace, name = name_in("Pod", pod.metadata)
        except (ValueError, RecursionError):
            # Its reader reports the problem.
            return None
        meta, spec, status = pod.metadata, pod.spec, pod.status
        node, nominated, started = spec.node_name, status.nominated_node_name, status.start_time
        spec.node_name = status.nominated_node_name = ""
        status.start_time = None
        self._key = wire.ENCODER.encode((spec, status, meta.owner_references))
        if self._key not in self._drafts:
            return None
        shared = self._texts.shared
        full_name = shared(namespace), name
        if (equal := self._drafts[self._key]) is None:
            return full_name, None
        draft = copy.copy(equal)
        draft.key, draft.namespace = f"{namespace}/{name}", full_name[0]
        draft.node, draft.nominated = self._texts.node(node), nominated
        draft.labels = self._texts.labels(meta.labels, name)
        draft.created, draft.started = shared(meta.creation_timestamp or ""), shared(started or "")
        draft.terminating = meta.deletion_timestamp is not None
        draft.uid = meta.uid if draft.containers else ""
        return full_name, draft

    def remember(self, draft: Draft | None) -> None:
        """Remember the draft of the pod that was looked for last, unless its name decides on its claims."""
        if self._key and len(self._drafts) < _MOST_KINDS and (draft is None or not (draft.claims or draft.entries)):
            self._drafts[self._key] = draft
