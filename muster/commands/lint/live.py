"""``--cluster``: the objects of the live cluster, to look up or to lint, and its feature gates.  Nothing is written to the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from kubeapi.base_structs import Record
from kubeapi.meta import replaced
from muster import extras

if TYPE_CHECKING:
    from validators.lint.documents import Document, Manifest
    from validators.lint.finding import Owner, Report

AUTO = "auto"
_OWNERS = (("grove.io", "PodClique"), ("grove.io", "PodCliqueScalingGroup"))
"""Kinds that are read only because they own pods and are owned themselves."""
_Identity = tuple[str, str, str]
"""Kind, namespace and name of an object."""


class Live(Record, frozen=True):
    """Objects of a cluster.

    Attributes:
        manifests: one for each object, in order of their names.
        listed: kinds of which all objects were read.
        problems: resources that could not be read.
        owners: the controller of each object that has one.

    """

    manifests: tuple[Manifest, ...]
    listed: frozenset[str]
    problems: tuple[str, ...]
    owners: Mapping[_Identity, _Identity]

    def with_owners(self, report: Report) -> Report:
        """Return the report on all objects, with the owner in each finding."""
        return replaced(
            report,
            findings=tuple(
                replaced(each, owner=self._top_owner(each.document.kind, each.document.namespace, each.document.name))
                if each.document
                else each
                for each in report.findings
            ),
        )

    def _top_owner(self, kind: str, namespace: str, name: str) -> Owner:
        from validators.lint.finding import Owner

        current, seen = (kind, namespace, name), set[_Identity]()
        while current in self.owners and current not in seen:
            seen.add(current)
            current = self.owners[current]
        kind, namespace, name = current
        return Owner(namespace, kind, name)


def read(kubeconfig: str | None, context: str | None) -> Live:
    """Return the objects of the cluster that rules read.

    Raises:
        click.UsageError: the cluster cannot be read.

    """
    extras.require("cluster")
    from kubeapi.versions import served_versions
    from muster.commands.progress import Progress
    from muster.commands.snapshot import live_cluster
    from muster.render.problem_words import object_words, problem_words
    from validators.model import controllers, own_gangs
    from validators.model.objects import KINDS

    progress = Progress("lint")
    progress.show("reading the cluster")
    try:
        further = sorted({*controllers.GROUPS_AND_KINDS, *own_gangs.GROUPS_AND_KINDS, *_OWNERS})
        resources = [
            *(each for kind in KINDS for each in served_versions.resources(kind)),
            *(
                served_versions.Resource(_own_kind(group, kind), group, f"{kind.lower()}s", ("v1",))
                for group, kind in further
                if kind not in KINDS or kind != _own_kind(group, kind)
            ),
        ]
        answer = live_cluster.list_resources(live_cluster.connect(kubeconfig, context, instead="PATH"), resources, needed=("Pod",))
    except live_cluster.ClusterError as error:
        raise click.UsageError(str(error)) from None
    finally:
        progress.end()
    documents = [each for page in answer.lists for each in _documents(page)]
    owners = {_identity(each): owner for each in documents if (owner := _controller(each)) is not None}
    problems = tuple(f"{object_words(each)} {problem_words(each)}" for each in answer.problems)
    return Live(_manifests(documents), answer.kinds, problems, owners)


def gates(kubeconfig: str | None, context: str | None, minor: int) -> list[str]:
    """Return the gates of Kubernetes 1.*minor* in the API server, as values of ``--gates``; a gate that it does not know is off.

    Raises:
        click.UsageError: they cannot be read.

    """
    extras.require("cluster")
    from apiserver.api import TRANSPORT, ReplyError
    from apiserver.feature_gates import feature_gates
    from muster.commands.snapshot import live_cluster
    from validators.gates import DESIRED_COUNT, names

    try:
        known = feature_gates(live_cluster.connect(kubeconfig, context, instead="the gates"))
    except live_cluster.ClusterError as error:
        raise click.UsageError(str(error)) from None
    except (ReplyError, *TRANSPORT) as error:
        raise click.UsageError(f"--gates auto: /metrics of the API server cannot be read: {error}; give the gates") from None
    if not known:
        raise click.UsageError("--gates auto: /metrics of the API server has no kubernetes_feature_enabled; give the gates")
    return [f"{name}={str(known.get(name, False)).lower()}" for name in names(minor) if name in known or name != DESIRED_COUNT]


def resolved_gates(given: Sequence[str], *, minor: int, cluster: bool, kubeconfig: str | None, context: str | None) -> tuple[str, ...]:
    """Return the values of ``--gates`` with those of the cluster in place of ``auto``; values that are given have precedence.

    Raises:
        click.UsageError: ``auto`` is given without a cluster, or the gates of the cluster cannot be read.

    """
    parts = [part.strip() for text in given for part in text.split(",")]
    if AUTO not in parts:
        return tuple(given)
    if not cluster:
        raise click.UsageError("--gates auto needs --cluster")
    return (*gates(kubeconfig, context, minor), *(part for part in parts if part != AUTO))


def _documents(page: bytes) -> Iterator[Document]:
    """Yield the objects of a list; items of a typed list need not say what they are."""
    from kubeapi import decode
    from validators.lint.documents import Document, without_text

    answer = decode.parse(page)
    head = {"apiVersion": answer.get("apiVersion"), "kind": str(answer.get("kind")).removesuffix("List")}
    for item in answer.get("items") or ():
        content = head | {key: value for key, value in item.items() if value is not None}
        yield Document("", 0, content, without_text())


def _manifests(documents: Sequence[Document]) -> tuple[Manifest, ...]:
    from validators.lint.documents import Manifest

    named = [(_file(each), each) for each in documents]
    return tuple(Manifest(file, (replaced(each, file=file),)) for file, each in sorted(named, key=lambda each: each[0]))


def _own_kind(group: str, kind: str) -> str:
    """Return the kind under another name if another project has a kind of the same name."""
    from validators.model.own_gangs import OWN_KINDS

    return OWN_KINDS.get((group, kind), kind)


def _file(document: Document) -> str:
    from workloadbuilder.adapters.shared.known_objects import group_of

    kind, namespace, name = _identity(document)
    kind = _own_kind(group_of(str(document.content.get("apiVersion"))), kind)
    return f"cluster/{namespace}/{kind}/{name}" if namespace else f"cluster/{kind}/{name}"


def _identity(document: Document) -> _Identity:
    metadata = _section(document.content.get("metadata"))
    return str(document.content.get("kind")), str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def _controller(document: Document) -> _Identity | None:
    metadata = _section(document.content.get("metadata"))
    for each in metadata.get("ownerReferences") or ():
        if _section(each).get("controller") is True:
            return str(each.get("kind")), str(metadata.get("namespace") or ""), str(each.get("name"))
    return None


def _section(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
