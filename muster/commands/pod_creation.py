"""Creation of the pods of controllers' objects: the options ``--level``, ``--no-pods`` and ``--pod-template``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from expansion.pod_creation import Gang, PodCreation
from validators.options import Option, OptionType

if TYPE_CHECKING:
    from workloadbuilder.adapters.shared.known_objects import DeclaredTemplate

Command = TypeVar("Command", bound=Callable[..., Any])

_REPLICAS = ",replicas="
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
    listed = [each.strip() for text in texts for each in text.split(",")]
    for each in listed:
        try:
            _check_kind(each)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--no-pods") from None
    return frozenset(listed)


def _check_kind(name: str) -> None:
    """Raise ValueError unless *name* is ``KIND`` or ``KIND.GROUP`` of a kind that is not read."""
    from workloadbuilder.adapters import kinds

    if not _KIND.fullmatch(name):
        raise ValueError(f"{name!r} must be KIND or KIND.GROUP, such as Widget.example.com")
    kind, _, group = name.partition(".")
    if any(kind == each and group in {"", known} for known, each in (*kinds.KINDS, *kinds.SINGLE, ("", "Pod"))):
        raise ValueError(f"{name!r} is a kind that is read: its pods are known")


def _pod_templates(texts: Iterable[str]) -> Mapping[str, tuple[DeclaredTemplate, ...]]:
    """Return the pod templates that *texts* declare, by kind.

    Raises:
        ValueError: a text is no declaration; the message has the text.

    """
    from kubeapi.json_path import parse_path
    from workloadbuilder.adapters.shared.known_objects import DeclaredTemplate

    declared: dict[str, tuple[DeclaredTemplate, ...]] = {}
    for text in texts:
        name, equals, paths = text.partition("=")
        template, with_replicas, replicas = paths.partition(_REPLICAS)
        if not equals or not template or (with_replicas and not replicas):
            raise ValueError(f"{text!r} must be KIND[.GROUP]=PATH[,replicas=PATH], such as Widget.example.com=spec.template")
        _check_kind(name)
        found = DeclaredTemplate(parse_path(template), parse_path(replicas) if replicas else None)
        if found.replicas is not None and found.replicas.wildcards > found.template.wildcards:
            raise ValueError(f"{text!r} must have at most as many [*] in the path of replicas as in that of the template")
        declared[name] = (*declared.get(name, ()), found)
    return declared


def _decode_pod_templates(value: object) -> Mapping[str, tuple[DeclaredTemplate, ...]]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise ValueError("must be a list of texts KIND[.GROUP]=PATH[,replicas=PATH]")
    return _pod_templates(texts)


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
POD_TEMPLATE: Option[Mapping[str, tuple[DeclaredTemplate, ...]]] = Option(
    "--pod-template",
    OptionType(_pod_templates, _decode_pod_templates, "KIND[.GROUP]=PATH[,replicas=PATH]", repeatable=True),
    "Path of the pod template in objects of another kind, and of its number of pods, such as"
    " Widget.example.com=spec.template,replicas=spec.size (repeatable).",
)
