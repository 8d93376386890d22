"""Helpers that compile YAML and return parts of the result."""

from __future__ import annotations

from typing import Any

import yaml

from kubeapi.versions.kubernetes_releases import TODAY
from workloadbuilder.adapters.compiled import Compiled, CompileOptions, compile_object
from workloadbuilder.adapters.shared.known_objects import Known


def compiled(text: str, *, further: str = "", levels: dict[str, str] | None = None, kubernetes: int = TODAY, **expected: Any) -> Compiled:
    """Compile the first object of *text*; its other objects and those of *further* are known."""
    documents = [each for each in yaml.safe_load_all(text) if each]
    known = Known(documents, [each for each in yaml.safe_load_all(further) if each], levels, kubernetes)
    result = compile_object(documents[0], known, CompileOptions(**expected))
    assert result is not None
    return result


def sound(text: str, **more: Any) -> Compiled:
    """Compile an object without errors."""
    result = compiled(text, **more)
    assert error_lines(result.errors) == []
    return result


def error_lines(errors) -> list[str]:
    """Return errors, or warnings except for a missing uid, as users see them."""
    return [f"{error.path}: {error}" for error in errors if str(error.path) != "metadata.uid"]


def lost_fields(found: Compiled) -> list[str]:
    """Return the fields that are lost."""
    return [str(loss.path) for loss in found.losses]


def spec(found: Compiled) -> dict[str, Any]:
    """Return the Workload's templates."""
    workload = found.objects[0]
    assert workload["kind"] == "Workload"
    return {name: value for name, value in workload["spec"].items() if name != "controllerRef"}


def root(found: Compiled) -> dict[str, Any]:
    """Return the Workload's only root template."""
    (templates,) = spec(found).values()
    (template,) = templates
    return template


def names(found: Compiled, kind: str) -> list[str]:
    """Return the names of the generated objects of *kind*, in order."""
    return [each["metadata"]["name"] for each in found.objects if each["kind"] == kind]


def pods(found: Compiled) -> dict[str, str]:
    """Return each pod with its group."""
    return {each["metadata"]["name"]: each["spec"]["schedulingGroup"]["podGroupName"] for each in found.objects if each["kind"] == "Pod"}


def parents(found: Compiled) -> dict[str, str]:
    """Return each group with its parent."""
    groups = [each for each in found.objects if each["kind"] in {"PodGroup", "CompositePodGroup"}]
    return {each["metadata"]["name"]: each["spec"].get("parentCompositePodGroupName", "") for each in groups}


def sources(found: Compiled) -> dict[str, dict[str, str]]:
    """Return the source of each block of each template."""
    return {each.name: {block.field: f"{block.value} ({block.source})" for block in each.blocks} for each in found.explained}


def unquoted(lines: list[str]) -> list[str]:
    """Return lines with one kind of quotes: the builder's quoting of names is not compared."""
    return [line.replace('"', "'") for line in lines]
