"""Parts of the fields that a snapshot keeps, which several kinds have: metadata, amounts, selectors, affinity, taints."""

from __future__ import annotations

from muster.commands.snapshot.shapes import Each, Entries, Fields, ScalarShape, Unread

KEPT, NAME, TEXT, UNREAD = ScalarShape.KEPT, ScalarShape.NAME, ScalarShape.TEXT, ScalarShape.UNREAD
AMOUNTS = Entries(key=ScalarShape.RESOURCE)
LABELS = Entries(value=NAME)
NAMES = Each(NAME)
NAMED: Fields = {"name": NAME, "namespace": NAME}

METADATA: Fields = {
    "name": NAME,
    "namespace": NAME,
    "creationTimestamp": KEPT,
    "deletionTimestamp": KEPT,
    "labels": LABELS,
    # Name and apiVersion of the controller are read of pods.
    "ownerReferences": Each({"apiVersion": KEPT, "kind": KEPT, "name": NAME, "uid": UNREAD, "controller": KEPT}),
    "generateName": UNREAD,
    "uid": UNREAD,
    "annotations": Unread(dict),
    "finalizers": Unread(list),
}
EXPRESSIONS = Each({"key": KEPT, "operator": KEPT, "values": NAMES})
SELECTOR: Fields = {"matchLabels": LABELS, "matchExpressions": EXPRESSIONS}
NODE_TERM: Fields = {"matchExpressions": EXPRESSIONS, "matchFields": EXPRESSIONS}
_POD_TERM: Fields = {
    "topologyKey": KEPT,
    "labelSelector": SELECTOR,
    "namespaces": NAMES,
    "namespaceSelector": SELECTOR,
    "matchLabelKeys": Each(KEPT),
    "mismatchLabelKeys": Each(KEPT),
}
_REQUIRED, _PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
_POD_AFFINITY: Fields = {_REQUIRED: Each(_POD_TERM), _PREFERRED: Each({"weight": KEPT, "podAffinityTerm": _POD_TERM})}
AFFINITY: Fields = {
    "nodeAffinity": {
        _REQUIRED: {"nodeSelectorTerms": Each(NODE_TERM)},
        _PREFERRED: Each({"weight": KEPT, "preference": NODE_TERM}),
    },
    "podAffinity": _POD_AFFINITY,
    "podAntiAffinity": _POD_AFFINITY,
}
SPREAD = Each(
    {
        **dict.fromkeys(("maxSkew", "topologyKey", "whenUnsatisfiable", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy"), KEPT),
        "labelSelector": SELECTOR,
        "matchLabelKeys": Each(KEPT),
    }
)
TAINTS = Each({"key": KEPT, "effect": KEPT, "value": NAME})
TOLERATIONS = Each({"key": KEPT, "operator": KEPT, "value": NAME, "effect": KEPT, "tolerationSeconds": KEPT})
