"""Objects to compile, each with its position in its file, and objects to look up."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence

import click

from muster.commands import options
from muster.commands.described_nodes.node_manifests import DescribedNodes
from muster.commands.progress import Progress
from validators.lint import discovery, files
from validators.lint.documents import Document, Manifest, Unreadable
from workloadbuilder.adapters.shared.known_objects import DeclaredTemplate, Known


@dataclasses.dataclass(frozen=True, slots=True)
class CompileInputs:
    """Documents in the order of files and positions, and *problems*, one line each.

    Documents that are not Kubernetes objects are skipped, as by the linter: a folder can also have the values of a chart.
    """

    documents: tuple[Document, ...]
    known: Known
    problems: tuple[str, ...] = ()


def read_compile_inputs(
    paths: Sequence[str],
    further: Sequence[str],
    described: DescribedNodes,
    levels: Mapping[str, str],
    pod_templates: Mapping[str, Sequence[DeclaredTemplate]],
    kubernetes: int,
    progress: Progress,
) -> CompileInputs:
    """Return the objects at *paths*, and those at *further* and *described* ones to look up, for Kubernetes 1.*kubernetes*.

    *levels* are labels by the names of levels, *pod_templates* those of kinds that have no adapter.

    Raises:
        click.UsageError: a path does not exist, or one of *further* cannot be read.
    """
    try:
        identities = files.identities(paths)
        sources = files.sources(paths, sys.stdin.buffer)
        manifests = tuple(each.manifest() for each in progress.over(sources, len(identities), "reading files"))
        sources = files.sources(further, sys.stdin.buffer, leave_out=identities)
        more = tuple(each.manifest() for each in progress.over(sources, len(files.identities(further)), "reading --objects"))
    except files.PathError as error:
        raise click.UsageError(str(error)) from None
    looked_up = []
    for part in (part for manifest in more for part in manifest.parts):
        if isinstance(part, Unreadable):
            raise click.UsageError(f"--objects: {part.file}:{part.line}: {part.message}")
        if isinstance(part, Document):
            looked_up.append(part.content)
    documents = tuple(part for manifest in manifests for part in manifest.parts if isinstance(part, Document))
    looked_up += described.objects([*looked_up, *(each.content for each in documents)])
    known = Known((each.content for each in documents), looked_up, levels, kubernetes, pod_templates=pod_templates)
    problems = [line for manifest in manifests for line in _problems(manifest)]
    problems += [f"no {', '.join(files.SUFFIXES)} file in {each}" for each in files.empty_directories(paths)]
    if not documents and not problems:
        problems.append(options.nothing_checked("muster compile", paths, discovery.discover(paths).skipped))
    return CompileInputs(documents, known, tuple(problems))


def _problems(manifest: Manifest) -> list[str]:
    return [f"{part.file}:{part.line}:{part.column}: {part.message}" for part in manifest.parts if isinstance(part, Unreadable)]
