"""ServiceAccounts that new pods name.

Source: Kubernetes 1.37.1, plugin/pkg/admission/serviceaccount.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from expansion.contents import Content
from kubeapi.decode import section
from kubeapi.gathered import GatheredObjects, Unusable

KIND = "ServiceAccount"
_DEFAULT = "default"
"""Name of the account that a controller creates in each namespace, and that pods without one get."""
_MIRROR = "kubernetes.io/config.mirror"


def known_accounts(objects: Iterable[GatheredObjects]) -> dict[str, frozenset[str]]:
    """Return the names of the ServiceAccounts among *objects*, by namespace, where all of the namespace are known.

    That is so if the one is there that a controller has created, with its uid: manifests list only some accounts.
    """
    names: defaultdict[str, set[str]] = defaultdict(set)
    listed = set()
    for each in objects:
        if each.kind == KIND and each.api_version == "v1" and (metadata := _metadata(each)):
            namespace, name = str(metadata.get("namespace") or "default"), str(metadata.get("name"))
            names[namespace].add(name)
            if name == _DEFAULT and metadata.get("uid"):
                listed.add(namespace)
    return {namespace: frozenset(names[namespace]) for namespace in sorted(listed)}


def account_refusals(pod: Content, namespace: str, accounts: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield the reason why a new *pod* of *namespace* would be refused for its ServiceAccount, in the words of the API server."""
    spec = section(pod, "spec")
    name = spec.get("serviceAccountName") or spec.get("serviceAccount") or _DEFAULT
    is_mirror = _MIRROR in section(section(pod, "metadata"), "annotations")
    if isinstance(name, str) and not is_mirror and name not in accounts.get(namespace, (name,)):
        yield f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'


def _metadata(gathered: GatheredObjects) -> Mapping[str, Any]:
    try:
        return section(gathered.content(), "metadata")
    except Unusable:
        return {}
