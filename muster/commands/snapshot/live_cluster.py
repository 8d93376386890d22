"""The objects of a live cluster, page by page, as the API server writes them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

from apiserver.api import TRANSPORT, Api, ReplyError
from apiserver.connect import ConnectError, configuration
from scheduler_core.loading.gather import GROUP_OF
from scheduler_core.model import wire
from scheduler_core.model.snapshot import Problem
from validators.model import decode

PAGE = 500
VERSIONS = ("v1", "v1beta1", "v1alpha3", "v1alpha2", "v1alpha1")
"""Versions that are understood, the preferred first."""
RESOURCES = {
    "Node": "nodes",
    "Pod": "pods",
    "PodGroup": "podgroups",
    "CompositePodGroup": "compositepodgroups",
    "Workload": "workloads",
    "PriorityClass": "priorityclasses",
    "PodDisruptionBudget": "poddisruptionbudgets",
}
NEEDED = ("Node", "Pod")
"""Kinds without which there is nothing to simulate."""
FORBIDDEN, NOT_FOUND, GONE = 403, 404, 410


class ClusterError(Exception):
    """The cluster cannot be read, told for a person."""


@dataclasses.dataclass(frozen=True, slots=True)
class Read:
    """Lists as the API server answers them, and what could not be read."""

    lists: tuple[bytes, ...]
    problems: tuple[Problem, ...]


def read(kubeconfig: str | None, context: str | None) -> Read:
    """All that ``simulate`` reads of a cluster; kinds that it does not serve are passed over.

    Raises:
        ClusterError: there is no kubeconfig that can be used, no answer, or nodes or pods may not be listed.

    """
    try:
        api = Api(configuration(kubeconfig, context))
    except ConnectError as error:
        why = _of_file(str(error), kubeconfig or os.environ.get("KUBECONFIG"))
        raise ClusterError(f"there is no cluster to read: {why}; give a PATH, --kubeconfig or --context") from None
    cluster = _Cluster(api)
    lists: list[bytes] = []
    problems: list[Problem] = []
    try:
        for kind, resource in RESOURCES.items():
            try:
                lists += cluster.pages(GROUP_OF[kind], resource)
            except ReplyError as error:
                if kind in NEEDED or error.code != FORBIDDEN:
                    raise
                problems.append(Problem(resource, f"cannot be listed: {error}"))
    except ReplyError as error:
        raise ClusterError(f"{api.host}: {resource} cannot be listed: {error}") from None
    except (ValueError, *TRANSPORT) as error:
        raise ClusterError(f"{api.host} cannot be read: {_reason(error)}") from None
    return Read(tuple(lists), tuple(problems))


class _Cluster:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._served: dict[str, dict[str, str]] = {}

    def pages(self, group: str, resource: str) -> list[bytes]:
        """The pages of one resource in all namespaces; none where it is not served."""
        if (path := self._path(group, resource)) is None:
            return []
        try:
            return [*self._listed(path, [("limit", str(PAGE))])]
        except ReplyError as error:
            if error.code != GONE:
                raise
            # It took too long for the pages to be of one moment: all at once, then.
            return [*self._listed(path, [])]

    def _listed(self, path: str, query: list[tuple[str, str]]) -> Iterator[bytes]:
        following = query
        while True:
            page = self._api.read(path, following)
            yield page
            metadata = wire.FIELDS.decode(page).get("metadata", b"{}")
            token = (decode.parse(metadata) or {}).get("continue")
            if not token:
                return
            following = [*query, ("continue", str(token))]

    def _path(self, group: str, resource: str) -> str | None:
        if not group:
            return f"/api/v1/{resource}"
        if group not in self._served:
            self._served[group] = self._discovered(group)
        return self._served[group].get(resource)

    def _discovered(self, group: str) -> dict[str, str]:
        """Where each resource of a group is listed, in the best version that has it."""
        found: dict[str, str] = {}
        served = {each.get("version") for each in self._answer(f"/apis/{group}").get("versions") or ()}
        for version in (each for each in VERSIONS if each in served):
            for each in self._answer(f"/apis/{group}/{version}").get("resources") or ():
                found.setdefault(str(each.get("name")), f"/apis/{group}/{version}/{each.get('name')}")
        return found

    def _answer(self, path: str) -> dict[str, Any]:
        try:
            answer = decode.parse(self._api.read(path))
        except ReplyError as error:
            if error.code == NOT_FOUND:
                return {}
            raise
        if not isinstance(answer, dict):
            raise ClusterError(f"the answer to {path} is no object")
        return answer


def _of_file(why: str, kubeconfig: str | None) -> str:
    """*why*, with the name of the kubeconfig where that is not in it."""
    return f"{kubeconfig}: {why}" if kubeconfig and kubeconfig not in why else why


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
