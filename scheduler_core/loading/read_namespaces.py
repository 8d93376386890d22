"""Namespaces: their labels, for namespace selectors of affinity terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubeapi.gather import Name
from kubeapi.gathered import GatheredObjects
from kubeapi.nodes import Namespace
from kubeapi.problem import Problem
from scheduler_core.causes.input_problems import NamespacesUnknown
from scheduler_core.loading.read_objects import name_in, typed
from scheduler_core.model.names import Name as ObjectName
from scheduler_core.model.namespace_selectors import needing_labels
from scheduler_core.model.pods import PodRecord

Labels = Mapping[str, str]


def read_namespace(gathered: GatheredObjects) -> tuple[Name, Labels]:
    """Return the name of a namespace, and its labels.  Raises Unusable."""
    namespace = typed(gathered, Namespace)
    return name_in(gathered.kind, namespace.metadata), namespace.metadata.labels or {}


def missing_namespaces(pods: Iterable[PodRecord], known: Mapping[str, Labels]) -> Iterator[Problem]:
    """Return a problem for each pod with a selector that needs the labels of a namespace which is not in *known*."""
    pods = tuple(pods)
    missing = tuple(sorted({pod.namespace for pod in pods} - known.keys()))
    if not missing:
        return
    for pod in pods:
        if pod.shape.affinity is None:
            continue
        for field in needing_labels(pod.shape.affinity):
            yield Problem.about(ObjectName("Pod", pod.namespace, pod.name), NamespacesUnknown(field, missing))
