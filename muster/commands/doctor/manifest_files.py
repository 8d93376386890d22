"""The installation in files."""

from __future__ import annotations

import datetime as dt
import sys
from collections import Counter
from collections.abc import Sequence

import click

from kubeapi.field_path import FieldPath
from kubeapi.problem import Problem
from muster.commands import options
from muster.doctor.manifests import mapping_at, text_at, value_at
from muster.doctor.world import Item, World, ignored_items
from muster.render.file_notes import AlsoDefined, DocumentUnreadable, NoFile
from scheduler_core.model.names import Name
from validators.lint import discovery, files
from validators.lint.documents import Document, Unreadable


def read_installation(paths: Sequence[str], now: dt.datetime) -> tuple[World, list[Problem]]:
    """Return the installation at *paths*, and the files that could not be read.

    Files of other tools below a directory, such as templates, are skipped; their number is printed.

    Raises:
        click.UsageError: a path does not exist, or nothing at *paths* is a Kubernetes object.

    """
    try:
        inputs = discovery.discover(paths)
        manifests = files.read_manifests(inputs.files, sys.stdin.buffer, given=paths, unnamed=inputs.unnamed)
    except files.PathError as error:
        raise click.UsageError(str(error)) from None
    skipped = Counter(inputs.skipped) + Counter(each.tool for each in manifests if each.tool)
    items: dict[tuple[str, str, str, str], Item] = {}
    problems: list[Problem] = []
    for part in (part for each in manifests for part in each.parts):
        if isinstance(part, Document):
            item = Item(part.content, f"{part.file}:{part.span(FieldPath()).line}")
            first = items.setdefault((item.group, item.kind, item.namespace, item.name), item)
            if first is not item:
                duplicate = Name(item.kind, item.namespace, item.name)
                problems.append(Problem(AlsoDefined(duplicate, first.place), place=item.place))
        elif isinstance(part, Unreadable):
            problems.append(Problem(DocumentUnreadable(part.message, left_out=False), place=f"{part.file}:{part.line}:{part.column}"))
    if not (manifests or skipped):
        problems.append(Problem(NoFile(files.SUFFIXES), place=", ".join(paths)))
    if (manifests or skipped) and not (items or problems):
        raise click.UsageError(options.nothing_checked("muster doctor", paths, skipped))
    options.report_skipped("muster doctor", skipped, "name a file to read it")
    ignored = tuple(ignored_items(items.values()))
    left_out = {id(each.item) for each in ignored}
    objects = tuple(each for each in items.values() if id(each) not in left_out)
    return World(now=now, items=objects, ignored=ignored, bindings=frozenset(filter(None, map(binding_of, objects)))), problems


def binding_of(item: Item) -> tuple[str, str] | None:
    """Return ``spec.schedulerName`` and node of a running pod; None for other objects, static pods and those of DaemonSets."""
    node = text_at(item.content, "spec", "nodeName")
    if item.kind != "Pod" or not node or has_ended(item):
        return None
    owners = value_at(item.content, "metadata", "ownerReferences")
    kinds = {text_at(each, "kind") for each in owners} if isinstance(owners, list) else set()
    static = "kubernetes.io/config.mirror" in mapping_at(item.content, "metadata", "annotations")
    scheduled = not static and not kinds & {"DaemonSet", "Node"}
    return (text_at(item.content, "spec", "schedulerName") or "default-scheduler", node) if scheduled else None


def has_ended(pod: Item) -> bool:
    """Return whether no container of a pod runs any more."""
    return text_at(pod.content, "status", "phase") in ("Succeeded", "Failed")
