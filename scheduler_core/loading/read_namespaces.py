"""Namespaces: their labels, for namespace selectors of affinity terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kubeapi.nodes import Namespace
from scheduler_core.loading.gather import Name
from scheduler_core.loading.gathered import GatheredObjects
from scheduler_core.loading.read_objects import name_in, typed
from scheduler_core.model.names import Name as ObjectName
from scheduler_core.model.namespace_selectors import needing_labels
from scheduler_core.model.pods import PodRecord
from scheduler_core.model.problem import Problem, ProblemKind

Labels = Mapping[str, str]
_SHOWN = 3


def read_namespace(gathered: GatheredObjects) -> tuple[Name, Labels]:
    """Return the name of a namespace, and its labels.  Raises Unusable."""
    namespace = typed(gathered, Namespace)
    return name_in(gathered.kind, namespace.metadata), namespace.metadata.labels or {}


def missing_namespaces(pods: Iterable[PodRecord], known: Mapping[str, Labels]) -> Iterator[Problem]:
    """Return a problem for each pod with a selector that needs the labels of a namespace which is not in *known*."""
    pods = tuple(pods)
    missing = sorted({pod.namespace for pod in pods} - known.keys())
    if not missing:
        return
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    for pod in pods:
        if pod.shape.affinity is None:
            continue
        for field in needing_labels(pod.shape.affinity):
            text = f"{field} needs the labels of all namespaces with pods; there is no Namespace {', '.join(missing[:_SHOWN])}{more}"
            name = ObjectName("Pod", pod.namespace, pod.name)
            yield Problem.about(name, ProblemKind.MISSING_NAMESPACE, f"{text}: add it to the objects")
