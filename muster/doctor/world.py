"""Objects and observations of one installation, which the checks read."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kubeapi.groups import TREE_KINDS
from kubeapi.versions import served_versions
from muster.doctor.latencies import Latency
from muster.doctor.manifests import Manifest, labels_at, text_at

if TYPE_CHECKING:
    from scheduler_core.sidecar.client.access_review import Permission

Account = tuple[str, str]
"""Namespace and name of a ServiceAccount."""


@dataclasses.dataclass(frozen=True)
class Item:
    """Object, with its place in a file (``FILE:LINE``); empty for an object of a cluster."""

    content: Manifest
    place: str = ""

    @functools.cached_property
    def kind(self) -> str:
        """Return the kind."""
        return text_at(self.content, "kind")

    @functools.cached_property
    def namespace(self) -> str:
        """Return the namespace; empty for cluster-scoped objects."""
        return text_at(self.content, "metadata", "namespace")

    @functools.cached_property
    def name(self) -> str:
        """Return the name."""
        return text_at(self.content, "metadata", "name")

    @property
    def group(self) -> str:
        """Return the API group; empty for the core group."""
        group, separator, _ = text_at(self.content, "apiVersion").partition("/")
        return group if separator else ""

    @property
    def labels(self) -> Mapping[str, str]:
        """Return the labels."""
        return labels_at(self.content, "metadata", "labels")

    @property
    def label(self) -> str:
        """Return ``Kind namespace/name`` or ``Kind name``."""
        return f"{self.kind} {f'{self.namespace}/' if self.namespace else ''}{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class IgnoredItem:
    """Object that does not count, because another API group has one of its kind, namespace and name, *used*."""

    item: Item
    used: Item


@dataclasses.dataclass(frozen=True, slots=True)
class Replica:
    """One address of the webhook server and one certificate that it serves, observed by TLS handshakes.

    Attributes:
        target: the server that it belongs to, as ``Entry.target``.
        address: HOST:PORT.
        leaf: certificate that it serves, PEM; empty if there was no handshake.
        reason: why there was no handshake; empty if there was one.
        distrust: by caBundle, why a client with that bundle does not trust the leaf; empty if it does.  Validity is not included.
        requested: True if the user named the address.

    """

    target: str
    address: str
    leaf: bytes = b""
    reason: str = ""
    distrust: Mapping[bytes, str] = dataclasses.field(default_factory=dict)
    requested: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class ApiServer:
    """Observed facts of the API server.

    Attributes:
        minor: minor version, such as 37; 0 if it is not known.
        resources: served resources of the API groups that have Workloads, as GROUP/VERSION/RESOURCE; None if they are not known.
        gates: known feature gates; None if they are not known.

    """

    minor: int = 0
    resources: frozenset[str] | None = None
    gates: Mapping[str, bool] | None = None

    def api_version(self, resource: served_versions.Resource) -> str:
        """Return the preferred version in which it serves *resource*; the first one if that is not known."""
        known = self.resources or frozenset()
        return next((each for each in resource.api_versions if f"{each}/{resource.resource}" in known), resource.api_versions[0])

    def served(self, kind: str) -> tuple[served_versions.Resource, ...]:
        """Return the resources of *kind* that it serves; that of the hub if they are not known."""
        resources, known = served_versions.resources(kind), self.resources or frozenset()
        return (
            tuple(each for each in resources if not known.isdisjoint(f"{row}/{each.resource}" for row in each.api_versions))
            or resources[:1]
        )


@dataclasses.dataclass(frozen=True, slots=True)
class DryRun:
    """Answer of the API server to the creation of an object, of which nothing is stored.

    Attributes:
        subject: the object: ``PodGroup default/muster-doctor-probe``.
        rule: rule of Muster that refuses the object; empty if nothing of Muster does.
        code: HTTP status of a refusal; 0 if the object was admitted.
        message: message of a refusal.
        warnings: warnings for the user.

    """

    subject: str
    rule: str
    code: int = 0
    message: str = ""
    warnings: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Probe:
    """Dry runs in a namespace; none if the API server serves no group that Muster refuses."""

    namespace: str
    dry_runs: tuple[DryRun, ...] = ()


def ignored_items(items: Iterable[Item]) -> Iterator[IgnoredItem]:
    """Yield those of *items* that do not count, by kind, namespace and name: the object of the first API group of its kind counts."""
    named: dict[tuple[str, str, str], list[Item]] = {}
    for item in items:
        if item.kind in TREE_KINDS and item.group in served_versions.groups_of(item.kind):
            named.setdefault((item.kind, item.namespace, item.name), []).append(item)
    for kind, namespace, name in sorted(named):
        used, *others = sorted(named[kind, namespace, name], key=lambda each: served_versions.order_of(kind, each.group))
        yield from (IgnoredItem(each, used) for each in others if each.group != used.group)


@dataclasses.dataclass(frozen=True, kw_only=True)
class World:
    """Installation at the time *now*.

    Attributes:
        items: all objects that were read, but the ignored ones.
        ignored: objects that do not count because of another one of their name.
        live: True if they are those of a cluster, and not of files, which can be a part of an installation.
        unread: resources of which objects could not be read, such as ``services``.
        api_server: facts of the API server; None if it was not observed.
        replicas: observed addresses of the webhook server.
        latencies: measured durations of reviews.
        unmeasured: replicas whose durations could not be read, each with the reason.
        bindings: pairs of ``spec.schedulerName`` and node of all running pods but those of DaemonSets and static ones.
        granted: by ServiceAccount, the permissions that were reviewed on the cluster; None of a ServiceAccount if they could not be.
        upgrade_to: minor version of Kubernetes that the cluster is to get; 0 if it keeps its own.
        probe: dry runs through the API server; None if they were not requested.

    """

    now: dt.datetime
    items: tuple[Item, ...]
    ignored: tuple[IgnoredItem, ...] = ()
    live: bool = False
    unread: frozenset[str] = frozenset()
    api_server: ApiServer | None = None
    replicas: tuple[Replica, ...] = ()
    latencies: tuple[Latency, ...] = ()
    unmeasured: tuple[str, ...] = ()
    bindings: frozenset[tuple[str, str]] = frozenset()
    granted: Mapping[Account, Mapping[Permission, bool] | None] = dataclasses.field(default_factory=dict)
    upgrade_to: int = 0
    probe: Probe | None = None

    def of_kind(self, *kinds: str) -> Iterator[Item]:
        """Yield the objects of *kinds*, in order."""
        return iter(self._by_kind.get(kinds[0], ())) if len(kinds) == 1 else (each for each in self.items if each.kind in kinds)

    def named(self, kind: str, namespace: str, name: str) -> Item | None:
        """Return an object; None if there is none."""
        return next((each for each in self.of_kind(kind) if (each.namespace, each.name) == (namespace, name)), None)

    @functools.cached_property
    def _by_kind(self) -> Mapping[str, Sequence[Item]]:
        result: dict[str, list[Item]] = {}
        for each in self.items:
            result.setdefault(each.kind, []).append(each)
        return result
