"""The objects that quotas count: the new ones, with what they bring with them, those that they replace, and the rest of the cluster."""

from __future__ import annotations

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from muster.commands.simulate.admission import created_objects
from muster.commands.simulate.admission.admit import namespace_of, parsed
from muster.commands.simulate.admission.limit_ranges import items, section
from muster.commands.simulate.admission.quotas import Charge, Charges
from muster.commands.simulate.expansion import Expansion
from muster.commands.simulate.pod_owners import Controller
from scheduler_core.loading.gather import label, whole_name
from scheduler_core.loading.gathered import GatheredObjects, Objects
from scheduler_core.model.decision import Name
from workloadbuilder.adapters.shared.known_objects import group_of

Content = dict[str, Any]
_CLAIM, _TEMPLATE, _GROUP = "PersistentVolumeClaim", "ResourceClaimTemplate", "PodGroup"
_NOT_COUNTED = frozenset({"Node", "Pod", "PersistentVolume", "ResourceSlice"})
"""Kinds of which a cluster has many objects, and that quotas do not count, or that are counted apart."""
_NAMELESS = "(without a name)"
_EXISTS = (b'"uid"', b'"creationTimestamp"', b'"nodeName"')
"""Fields of a pod that the API server or the scheduler sets."""


@dataclasses.dataclass(slots=True)
class Rest:
    """The rest of the cluster.

    Attributes:
        kinds: its objects by kind.
        replaced: those of its pods that PATH replaces.
        others: its objects of other kinds.
        owners: the objects at PATH whose pods are replaced.

    """

    kinds: Mapping[str, Objects] = dataclasses.field(default_factory=lambda: defaultdict(list))
    replaced: list[GatheredObjects] = dataclasses.field(default_factory=list)
    others: Iterable[GatheredObjects] = ()
    owners: set[Controller] = dataclasses.field(default_factory=set)


def charges(expansion: Expansion, rest: Rest, pods: Sequence[Content], namespaces: Collection[str]) -> dict[str, Charges]:
    """Return what quotas count, by namespace; *pods* are the new pods of *expansion* and at PATH."""
    return {each: _in_namespace(_Counted(expansion, rest, each), pods, each) for each in sorted(namespaces)}


def _in_namespace(counted: _Counted, pods: Sequence[Content], namespace: str) -> Charges:
    mine = [each for each in pods if namespace_of(each) == namespace]
    own = [*counted.own()]
    created = [(each, origin, number) for controller, origin in own for each, number in counted.created(controller, origin, mine)]
    new = (
        *(Charge(each, counted.origin(each)) for each in mine),
        *(Charge(each, counted.origin(user)) for user in (*mine, *counted.groups) for each in counted.claims(user)),
        *(Charge(each, counted.origin(each)) for each in counted.created_claims()),
        *(Charge(each, origin, origin not in counted.controllers) for each, origin in own),
        *(Charge(one, origin) for each, origin, number in created for one in created_objects.repeated([(each, number)])),
    )
    return Charges(
        new,
        [*counted.replaced()],
        lambda: [*counted.present()],
        [Charge(each, origin) for each, origin, number in created if number is None],
    )


class _Counted:
    """Objects of one *namespace*."""

    def __init__(self, expansion: Expansion, rest: Rest, namespace: str) -> None:
        self.expansion, self.rest, self.namespace = expansion, rest, namespace
        self.controllers = frozenset(each.label for each in expansion.controllers)
        """The controllers' objects at PATH: by its pods it is known of each whether the cluster has it."""
        created = (each for each in expansion.objects if each["kind"] == _GROUP)
        own = (content for each in expansion.kinds[_GROUP] if is_new(each) and (content := parsed(each)) is not None)
        groups = [each for each in (*created, *own) if namespace_of(each) == namespace]
        self.groups = [each for each in groups if section(each, "spec").get("resourceClaims")]
        """The new groups with claims."""
        self._shared = {str(section(each, "metadata").get("name")): _templates_of(each) for each in self.groups}
        listed = (parsed(each) for each in (*expansion.kinds[_TEMPLATE], *rest.kinds[_TEMPLATE]))
        found = [each for each in listed if each is not None]
        self._templates = {(namespace_of(each), str(section(each, "metadata").get("name"))): each for each in reversed(found)}

    def origin(self, content: Content) -> str:
        """Return the object at PATH to which an object belongs."""
        return origin_of(content, self.expansion.origins)

    def own(self) -> Iterator[tuple[Content, str]]:
        """Yield the new objects at PATH other than pods, each with its name in messages."""
        existing = {(each.kind, group_of(each.api_version), whole_name(each)) for each in self._others()}
        running = {each.label for each in self.rest.owners}
        listed = (*(each for kind, those in self.expansion.kinds.items() if kind != "Pod" for each in those), *self.expansion.others)
        for each in listed:
            content = parsed(each) if is_new(each) else None
            if content is None or namespace_of(content) != self.namespace:
                continue
            name = label(each.kind, (self.namespace, str(section(content, "metadata").get("name"))))
            if (each.kind, group_of(each.api_version), whole_name(each)) not in existing and name not in running:
                yield content, name

    def created(self, manifest: Content, origin: str, pods: Iterable[Content]) -> Iterator[tuple[Content, created_objects.Number]]:
        """Yield what the controller of an object at PATH creates besides pods and claims."""
        if origin in self.controllers:
            yield from created_objects.of_controller(manifest, [each for each in pods if self.origin(each) == origin])

    def created_claims(self) -> Iterator[Content]:
        """Yield the claims that controllers create."""
        return (each for each in self.expansion.objects if each["kind"] == _CLAIM and namespace_of(each) == self.namespace)

    def claims(self, user: Content) -> Iterator[Content]:
        """Yield the claims that are created for a pod or a group."""
        group = str(section(section(user, "spec"), "schedulingGroup").get("podGroupName"))
        yield from created_objects.resource_claims(user, self._templates, self._shared.get(group, ()))
        yield from created_objects.ephemeral_claims(user)

    def replaced(self) -> Iterator[Content]:
        """Yield the pods that PATH replaces, with their claims."""
        for each in self.rest.replaced:
            if (content := parsed(each)) is not None and namespace_of(content) == self.namespace:
                yield content
                yield from self.claims(content)

    def present(self) -> Iterator[Content]:
        """Yield the objects that stay."""
        gone = {str(section(each, "metadata").get("name")) for each in self.replaced() if each.get("kind") == _CLAIM}
        for each in (*self._running(), *self._others()):
            name = whole_name(each) or ("", "")
            stays = name[0] == self.namespace and (each.kind != _CLAIM or name[1] not in gone)
            if stays and (content := parsed(each)) is not None:
                yield content

    def _running(self) -> Iterator[GatheredObjects]:
        """Yield the pods of the cluster and of PATH that are not new or replaced."""
        replaced = {whole_name(each) for each in self.rest.replaced}
        yield from (each for each in self.rest.kinds["Pod"] if not replaced or whole_name(each) not in replaced)
        yield from (each for each in self.expansion.kinds["Pod"] if not is_new(each))

    def _others(self) -> Iterator[GatheredObjects]:
        counted = (listed for kind, listed in self.rest.kinds.items() if kind not in _NOT_COUNTED)
        return itertools.chain(*counted, self.rest.others)


def _templates_of(group: Content) -> frozenset[str]:
    return frozenset(str(each.get("resourceClaimTemplateName")) for each in items(section(group, "spec"), "resourceClaims"))


def origin_of(content: Content, origins: Mapping[Name, str]) -> str:
    """Return the object at PATH to which a created object belongs; its own name if it is at PATH."""
    kind, namespace, name = str(content.get("kind")), namespace_of(content), str(section(content, "metadata").get("name") or _NAMELESS)
    return origins.get(Name(kind, namespace, name)) or label(kind, (namespace, name))


def is_new(gathered: GatheredObjects) -> bool:
    """Return whether the API server has not created an object yet; manifests can have the same fields without values."""
    if not any(field in bytes(gathered.text) for field in _EXISTS):
        return True
    return not is_stored(parsed(gathered) or {})


def is_stored(content: Content) -> bool:
    """Return whether the API server has created an object, or a scheduler has placed it."""
    metadata = section(content, "metadata")
    return bool(metadata.get("uid") or metadata.get("creationTimestamp") or section(content, "spec").get("nodeName"))
