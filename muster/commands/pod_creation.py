"""Creation of the pods of controllers' objects: the options ``--level`` and ``--no-pods``, and the gang of ``--gang``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_KIND = re.compile(r"[A-Z][A-Za-z0-9]*(\.[a-z0-9.-]+)?")


Content = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Gang:
    """Gang of all pods; *topology* is the node label of its one domain, empty for no constraint."""

    topology: str = ""

    def spec(self, pods: int) -> Content:
        """Return the spec of the PodGroup of *pods* pods."""
        spec: Content = {"schedulingPolicy": {"gang": {"minCount": pods}}}
        return spec | self.constraints()

    def constraints(self) -> Content:
        """Return the topology constraint as a part of the spec of a group; empty if there is none."""
        return {"schedulingConstraints": {"topology": [{"key": self.topology}]}} if self.topology else {}


@dataclasses.dataclass(frozen=True, slots=True)
class PodCreation:
    """Creation of the pods of the objects at PATH.

    Attributes:
        gang: gang to make of objects that are none; None for no change.
        levels: node labels by the names of other schedulers' topology levels.
        without_pods: unknown kinds that create no pods, as ``KIND`` or ``KIND.GROUP``.

    """

    gang: Gang | None = None
    levels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    without_pods: frozenset[str] = frozenset()

    def creates_none(self, group: str, kind: str) -> bool:
        """Return whether objects of a kind are said to create no pods."""
        return not self.without_pods.isdisjoint((kind, f"{kind}.{group}"))

    @classmethod
    def from_options(cls, given: dict[str, Any], gang: Gang | None = None) -> PodCreation:
        """Return that of the options ``--level`` and ``--no-pods``, which are taken from *given*."""
        return cls(gang, given.pop("levels"), given.pop("without_pods"))


UNCHANGED = PodCreation()
"""As their controllers create them."""


def _labels(_context: click.Context, _parameter: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    from kubeapi import content

    labels = {}
    for text in texts:
        name, equals, label = text.partition("=")
        if not name or not equals or content.label_key(label):
            raise click.BadParameter(f"{text!r} must be NAME=LABEL, with LABEL the key of a node label", param_hint="--level")
        labels[name] = label
    return labels


def _unknown_kinds(_context: click.Context, _parameter: click.Parameter, texts: Iterable[str]) -> frozenset[str]:
    from workloadbuilder.adapters import kinds

    listed = [each.strip() for text in texts for each in text.split(",")]
    for each in listed:
        if not _KIND.fullmatch(each):
            raise click.BadParameter(f"{each!r} must be KIND or KIND.GROUP, such as Widget.example.com", param_hint="--no-pods")
        kind, _, group = each.partition(".")
        if any(kind == name and group in {"", known} for known, name in (*kinds.KINDS, *kinds.SINGLE, ("", "Pod"))):
            raise click.BadParameter(f"{each!r} is a kind that is read: its pods are known", param_hint="--no-pods")
    return frozenset(listed)


levels = click.option(
    "--level",
    "levels",
    multiple=True,
    callback=_labels,
    metavar="NAME=LABEL",
    help="Node label for a topology level of another scheduler, such as rack=example.com/rack (repeatable).",
)
without_pods = click.option(
    "--no-pods",
    "without_pods",
    multiple=True,
    callback=_unknown_kinds,
    metavar="KIND[.GROUP],...",
    help="Unknown kind at PATH that creates no pods, such as Widget.example.com: it is not skipped (repeatable).",
)
