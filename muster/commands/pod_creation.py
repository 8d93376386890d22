"""Creation of the pods of controllers' objects: the options ``--level`` and ``--no-pods``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from expansion.pod_creation import Gang, PodCreation

Command = TypeVar("Command", bound=Callable[..., Any])

_KIND = re.compile(r"[A-Z][A-Za-z0-9]*(\.[a-z0-9.-]+)?")


def from_options(given: dict[str, Any], gang: Gang | None = None) -> PodCreation:
    """Return the creation of the options ``--level`` and ``--no-pods``, which are taken from *given*."""
    return PodCreation(gang, given.pop("levels"), given.pop("without_pods"))


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
