"""The objects that quotas count: the new ones, with what they bring with them, those that they replace, and the rest of the cluster."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from expansion.admission import created_objects
from expansion.admission.quotas import Charge, Charges
from expansion.contents import Content, full_name, items, namespace_of, parsed
from expansion.created import Expansion
from expansion.pod_owners import Controller
from kubeapi.decode import section
from kubeapi.gather import whole_name
from kubeapi.gathered import GatheredObjects, Objects
from kubeapi.names import Name
from kubeapi.pods import group_in
from workloadbuilder.adapters.shared.known_objects import group_of

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
        replaced: those of its pods that given objects replace.
        others: its objects of other kinds.
        owners: the given objects whose pods are replaced.

    """

    kinds: Mapping[str, Objects] = dataclasses.field(default_factory=lambda: defaultdict(list))
    replaced: list[GatheredObjects] = dataclasses.field(default_factory=list)
    others: Iterable[GatheredObjects] = ()
    owners: set[Controller] = dataclasses.field(default_factory=set)


def charges(expansion: Expansion, rest: Rest, pods: Iterable[Content], namespaces: Collection[str]) -> dict[str, Charges]:
    """Return what quotas count, by namespace; *pods* are the new pods, created and given."""
    counted = _Counted(expansion, rest, pods, namespaces) if namespaces else None
    return {each: counted.charges(each) for each in sorted(namespaces)} if counted is not None else {}


class _Counted:
    """Objects of *namespaces*, read once for all of them."""

    def __init__(self, expansion: Expansion, rest: Rest, pods: Iterable[Content], namespaces: Collection[str]) -> None:
        self._expansion, self._rest, self._namespaces = expansion, rest, namespaces
        self._controllers = frozenset(each.object for each in expansion.controllers)
        """The given objects of controllers: by its pods it is known of each whether the cluster has it."""
        self._pods = self._by_namespace(pods)
        self._pods_of: defaultdict[tuple[str, Name], list[Content]] = defaultdict(list)
        for namespace, listed in self._pods.items():
            for each in listed:
                self._pods_of[namespace, self._origin(each)].append(each)
        created = (each for each in expansion.objects if each["kind"] == _GROUP)
        own = (content for each in expansion.kinds[_GROUP] if is_new(each) and (content := parsed(each)) is not None)
        self._groups = self._by_namespace(each for each in (*created, *own) if section(each, "spec").get("resourceClaims"))
        """The new groups with claims."""
        self._shared = {full_name(each): _templates_of(each) for listed in self._groups.values() for each in listed}
        templates = (parsed(each) for each in (*expansion.kinds[_TEMPLATE], *rest.kinds[_TEMPLATE]))
        self._templates = {full_name(each): each for each in reversed([each for each in templates if each is not None])}
        self._created_claims = self._by_namespace(each for each in expansion.objects if each["kind"] == _CLAIM)
        replaced = (content for each in rest.replaced if (content := parsed(each)) is not None)
        self._replaced = {key: [*self._with_claims(listed)] for key, listed in self._by_namespace(replaced).items()}

    def charges(self, namespace: str) -> Charges:
        """Return what the quotas of *namespace* count."""
        own, pods = self._own[namespace], self._pods[namespace]
        created = [(each, origin, number) for manifest, origin in own for each, number in self._created(manifest, origin, namespace)]
        users = (*pods, *self._groups[namespace])
        new = (
            *(Charge(each, self._origin(each)) for each in pods),
            *(Charge(each, self._origin(user)) for user in users for each in self._claims(user)),
            *(Charge(each, self._origin(each)) for each in self._created_claims[namespace]),
            *(Charge(each, origin, origin not in self._controllers) for each, origin in own),
            *(Charge(one, origin) for each, origin, number in created for one in created_objects.repeated([(each, number)])),
        )
        uncounted = [Charge(each, origin) for each, origin, number in created if number is None]
        return Charges(new, self._replaced.get(namespace, ()), lambda: self._present(namespace), uncounted)

    def _by_namespace(self, contents: Iterable[Content]) -> defaultdict[str, list[Content]]:
        """Return those of *contents* that are in the namespaces, in order."""
        found: defaultdict[str, list[Content]] = defaultdict(list)
        for each in contents:
            if (namespace := namespace_of(each)) in self._namespaces:
                found[namespace].append(each)
        return found

    def _origin(self, content: Content) -> Name:
        """Return the given object to which an object belongs."""
        return origin_of(content, self._expansion.origins)

    @functools.cached_property
    def _own(self) -> Mapping[str, list[tuple[Content, Name]]]:
        """Return the new given objects other than pods, each with its name, by namespace."""
        found: defaultdict[str, list[tuple[Content, Name]]] = defaultdict(list)
        existing = {(each.kind, group_of(each.api_version), whole_name(each)) for each in self._others()}
        running = {each.object for each in self._rest.owners}
        kinds = self._expansion.kinds
        for each in (*(each for kind, those in kinds.items() if kind != "Pod" for each in those), *self._expansion.others):
            content = parsed(each) if is_new(each) else None
            if content is None or (namespace := namespace_of(content)) not in self._namespaces:
                continue
            name = Name(each.kind, *full_name(content))
            if (each.kind, group_of(each.api_version), whole_name(each)) not in existing and name not in running:
                found[namespace].append((content, name))
        return found

    def _created(self, manifest: Content, origin: Name, namespace: str) -> Iterator[tuple[Content, created_objects.Number]]:
        """Yield what the controller of a given object creates besides pods and claims."""
        if origin in self._controllers:
            yield from created_objects.of_controller(manifest, self._pods_of.get((namespace, origin), ()))

    def _claims(self, user: Content) -> Iterator[Content]:
        """Yield the claims that are created for a pod or a group."""
        yield from created_objects.resource_claims(user, self._templates, self._shared.get((namespace_of(user), group_in(user)), ()))
        yield from created_objects.ephemeral_claims(user)

    def _with_claims(self, pods: Iterable[Content]) -> Iterator[Content]:
        """Yield the pods that given objects replace, with their claims."""
        for each in pods:
            yield each
            yield from self._claims(each)

    def _present(self, namespace: str) -> Iterator[Content]:
        """Yield the objects that stay."""
        replaced = self._replaced.get(namespace, ())
        gone = {str(section(each, "metadata").get("name")) for each in replaced if each.get("kind") == _CLAIM}
        for each, name in self._existing[namespace]:
            if (each.kind != _CLAIM or name not in gone) and (content := parsed(each)) is not None:
                yield content

    @functools.cached_property
    def _existing(self) -> Mapping[str, list[tuple[GatheredObjects, str]]]:
        """Return the objects of the cluster and the given pods that are not new or replaced, with their names, by namespace."""
        found: defaultdict[str, list[tuple[GatheredObjects, str]]] = defaultdict(list)
        for each in (*self._running(), *self._others()):
            namespace, name = whole_name(each) or ("", "")
            if namespace in self._namespaces:
                found[namespace].append((each, name))
        return found

    def _running(self) -> Iterator[GatheredObjects]:
        """Yield the pods of the cluster and the given ones that are not new or replaced."""
        replaced = {whole_name(each) for each in self._rest.replaced}
        yield from (each for each in self._rest.kinds["Pod"] if not replaced or whole_name(each) not in replaced)
        yield from (each for each in self._expansion.kinds["Pod"] if not is_new(each))

    def _others(self) -> Iterator[GatheredObjects]:
        counted = (listed for kind, listed in self._rest.kinds.items() if kind not in _NOT_COUNTED)
        return itertools.chain(*counted, self._rest.others)


def _templates_of(group: Content) -> frozenset[str]:
    return frozenset(str(each.get("resourceClaimTemplateName")) for each in items(section(group, "spec"), "resourceClaims"))


def origin_of(content: Content, origins: Mapping[Name, Name]) -> Name:
    """Return the given object to which a created object belongs; its own name if it is given itself."""
    name = Name(str(content.get("kind")), namespace_of(content), str(section(content, "metadata").get("name") or _NAMELESS))
    return origins.get(name, name)


def is_new(gathered: GatheredObjects) -> bool:
    """Return whether the API server has not created an object yet; manifests can have the same fields without values."""
    if not any(field in bytes(gathered.text) for field in _EXISTS):
        return True
    return not is_stored(parsed(gathered) or {})


def is_stored(content: Content) -> bool:
    """Return whether the API server has created an object, or a scheduler has placed it."""
    metadata = section(content, "metadata")
    if metadata.get("uid") or metadata.get("creationTimestamp"):
        return True
    # The spec of a ResourceSlice has a node from the beginning.
    return bool(section(content, "spec").get("nodeName")) and content.get("kind") != "ResourceSlice"
