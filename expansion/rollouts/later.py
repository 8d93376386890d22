"""The next update of an object that does not run yet: from its new pods to others of the same template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from expansion.contents import Content
from expansion.rollouts.group_strategies import NewCluster
from expansion.rollouts.group_updates import has_gang_of_volcano
from expansion.rollouts.running import KINDS, Rollout
from kubeapi.decode import section
from kubeapi.names import Name

_NEXT = "-next"
_NEW_NAMES = frozenset({"DaemonSet", "Deployment", "RayService"})
"""Kinds whose new pods have other names than the old ones: both can exist at a time."""
_NEW_GROUPS = frozenset({"Deployment", "RayService"})
"""Kinds of which each revision has its own groups, if their controllers make some."""
_GROUPS = frozenset({"CompositePodGroup", "PodGroup", "Workload"})
_REFERENCES = frozenset({"parentCompositePodGroupName", "podGroupName", "workloadName"})


def later_update(
    origin: Name, manifest: Content, pods: Sequence[Content], created: Iterable[Content], further: Sequence[Content] = ()
) -> Rollout | None:
    """Return the update to the same template of an object with new *pods*, which have no nodes yet; None if it cannot hang.

    An update that deletes before it creates cannot: the new pods have the places of the old ones.  A gang of a revision can wait in any
    case.  *created* are the objects that controllers create for the object; *further* as in ``Rollout``.
    """
    if origin.kind not in KINDS or not pods:
        return None
    own = [each for each in created if each["kind"] in _GROUPS and origin.kind in _NEW_GROUPS]
    names = {name: f"{name}{_NEXT}" for name in (str(each["metadata"]["name"]) for each in own)}
    groups = [_renamed(each, names) for each in own]
    new = [_renamed(each, names | _next_name(each, origin.kind)) for each in pods]
    update = Rollout(origin, manifest, pods, new, further=[*groups, *further], restarts=True)
    strategy = update.strategy()
    beside = isinstance(strategy, NewCluster) or getattr(strategy, "surge", 0) > 0
    return update if beside or (origin.kind in _NEW_GROUPS and has_gang_of_volcano(manifest)) else None


def _next_name(pod: Content, kind: str) -> dict[str, str]:
    name = str(pod["metadata"]["name"])
    return {name: f"{name}{_NEXT}"} if kind in _NEW_NAMES else {}


def _renamed(content: Content, names: Mapping[str, str]) -> Content:
    """Return a copy of an object with another name, if *names* has one, and with references to those of other groups."""
    metadata = section(content, "metadata")
    name = str(metadata.get("name"))
    renamed: Content = _with_references(content, names)
    return {**renamed, "metadata": {**metadata, "name": names.get(name, name)}}


def _with_references(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {
            key: names.get(each, each) if key in _REFERENCES and isinstance(each, str) else _with_references(each, names)
            for key, each in value.items()
        }
    return [_with_references(each, names) for each in value] if isinstance(value, list) else value
