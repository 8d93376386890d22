"""The CustomResourceDefinitions of the cluster are those of this version of Muster."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from muster.doctor.control_plane import APPLY_DEFINITIONS, definitions
from muster.doctor.finding import Check, Result, Unseen, warning
from muster.doctor.manifests import labels_at
from muster.doctor.world import Item, World
from validators.reports import custom_resources

_RELEASE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
_COMPARED = "group", "scope", "names", "versions"


def check(world: World) -> Iterator[Result]:
    """Yield a result for each definition that differs, at the first field."""
    if "customresourcedefinitions" in world.unread:
        yield Unseen("the CustomResourceDefinitions could not be read")
        return
    ours = {each["metadata"]["name"]: each["spec"] for each in custom_resources.definitions()}
    for item in definitions(world):
        spec = item.content.get("spec")
        theirs = {name: spec[name] for name in _COMPARED if name in spec} if isinstance(spec, Mapping) else {}
        path = _difference(theirs, {name: ours[item.name][name] for name in _COMPARED}, "spec")
        if path:
            yield warning(item, path, "differs from the definition of this version of Muster", _command(item))


def _difference(theirs: Any, ours: Any, path: str) -> str:
    """Return the path of the first field that differs; empty if none does."""
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        pairs = ((f"{path}.{name}", theirs.get(name), ours.get(name)) for name in dict.fromkeys((*ours, *theirs)))
    elif isinstance(theirs, Sequence) and isinstance(ours, Sequence) and len(theirs) == len(ours) and not isinstance(ours, str):
        pairs = ((f"{path}[{number}]", *each) for number, each in enumerate(zip(theirs, ours, strict=True)))
    else:
        return path if theirs != ours else ""
    return next(filter(None, (_difference(one, other, at) for at, one, other in pairs)), "")


def _command(item: Item) -> str:
    name, namespace = (labels_at(item.content, "metadata", "annotations").get(each, "") for each in _RELEASE)
    if not name:
        return APPLY_DEFINITIONS
    return f"helm upgrade {shlex.quote(name)} deploy/chart --namespace {shlex.quote(namespace)} --reset-then-reuse-values"


CHECK = Check(
    id="definitions-differ",
    why="The API server drops fields that an older definition lacks, or refuses values that this version accepts.",
    examine=check,
)
