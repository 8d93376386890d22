"""Paths to the objects that are compiled, each with its place in its file, and to those that may be looked up."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence

import click

from validators.lint import files
from validators.lint.documents import Document, Manifest, Unreadable
from workloadbuilder.adapters.shared.known_objects import Known


@dataclasses.dataclass(frozen=True, slots=True)
class CompileInputs:
    """Documents in the order of files and positions, and *problems*, a line each.

    What is no Kubernetes object is passed over, as the linter does it: a chart's values may lie beside its manifests.
    """

    documents: tuple[Document, ...]
    known: Known
    problems: tuple[str, ...] = ()


def read_compile_inputs(paths: Sequence[str], further: Sequence[str], levels: Mapping[str, str]) -> CompileInputs:
    """The objects at *paths*, and those at *further* to be looked up; *levels* are labels by the names of levels.

    Raises:
        click.UsageError: a path does not exist, or one of *further* cannot be read.
    """
    try:
        identities = files.identities(paths)
        manifests = files.read_manifests(paths, sys.stdin.buffer)
        more = files.read_manifests(further, sys.stdin.buffer, leave_out=identities)
    except files.PathError as error:
        raise click.UsageError(str(error)) from None
    looked_up = []
    for part in (part for manifest in more for part in manifest.parts):
        if isinstance(part, Unreadable):
            raise click.UsageError(f"--objects: {part.file}:{part.line}: {part.message}")
        if isinstance(part, Document):
            looked_up.append(part.content)
    documents = tuple(part for manifest in manifests for part in manifest.parts if isinstance(part, Document))
    known = Known((each.content for each in documents), looked_up, levels)
    problems = [line for manifest in manifests for line in _problems(manifest)]
    if not manifests:
        problems.append(f"no {', '.join(files.SUFFIXES)} file in {', '.join(paths)}")
    return CompileInputs(documents, known, tuple(problems))


def _problems(manifest: Manifest) -> list[str]:
    return [f"{part.file}:{part.line}:{part.column}: {part.message}" for part in manifest.parts if isinstance(part, Unreadable)]
