"""Objects as YAML, compiled, and what came of them in few words."""

from __future__ import annotations

from typing import Any

import yaml

from workloadbuilder.adapters.compiled import Compiled, CompileOptions, compile_object
from workloadbuilder.adapters.shared.known_objects import Known


def compiled(text: str, *, further: str = "", levels: dict[str, str] | None = None, **wanted: Any) -> Compiled:
    """The first object of *text*, the others and those of *further* being known."""
    documents = [each for each in yaml.safe_load_all(text) if each]
    known = Known(documents, [each for each in yaml.safe_load_all(further) if each], levels)
    found = compile_object(documents[0], known, CompileOptions(**wanted))
    assert found is not None
    return found


def sound(text: str, **more: Any) -> Compiled:
    """As ``compiled``, of an object with which nothing is wrong."""
    found = compiled(text, **more)
    assert told(found.errors) == []
    return found


def told(errors) -> list[str]:
    """Errors, or warnings but for a missing uid, as people see them."""
    return [f"{error.path}: {error}" for error in errors if str(error.path) != "metadata.uid"]


def lost(found: Compiled) -> list[str]:
    """Where something is lost."""
    return [str(loss.path) for loss in found.losses]


def spec(found: Compiled) -> dict[str, Any]:
    """The Workload's templates."""
    workload = found.objects[0]
    assert workload["kind"] == "Workload"
    return {name: value for name, value in workload["spec"].items() if name != "controllerRef"}


def root(found: Compiled) -> dict[str, Any]:
    """The Workload's one root template."""
    (templates,) = spec(found).values()
    (template,) = templates
    return template


def names(found: Compiled, kind: str) -> list[str]:
    """The names of what was made of *kind*, in order."""
    return [each["metadata"]["name"] for each in found.objects if each["kind"] == kind]


def pods(found: Compiled) -> dict[str, str]:
    """Each pod with its group."""
    return {each["metadata"]["name"]: each["spec"]["schedulingGroup"]["podGroupName"] for each in found.objects if each["kind"] == "Pod"}


def parents(found: Compiled) -> dict[str, str]:
    """Each group with the group above it."""
    groups = [each for each in found.objects if each["kind"] in {"PodGroup", "CompositePodGroup"}]
    return {each["metadata"]["name"]: each["spec"].get("parentCompositePodGroupName", "") for each in groups}


def sources(found: Compiled) -> dict[str, dict[str, str]]:
    """Who decided about each block of each template."""
    return {each.name: {block.field: f"{block.value} ({block.source})" for block in each.blocks} for each in found.explained}


def unquoted(lines: list[str]) -> list[str]:
    """Lines with one kind of quotes: how the builder quotes names is its own matter."""
    return [line.replace('"', "'") for line in lines]
