"""Input of a cluster's objects from paths: JSON of any size, and YAML as the linter reads it.

A cluster is much larger than manifests, so JSON is split and not parsed here, and large files are not kept in memory.  Inputs that
cannot be read are listed as problems; the rest is processed.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import BinaryIO

import click

from expansion.pod_creation import UNCHANGED, PodCreation
from kubeapi import decode, gathered, json_values
from kubeapi.decode import Source
from kubeapi.gathered import Given
from kubeapi.problem import Problem
from muster.commands import options, topology_keys
from muster.commands.described_nodes.node_manifests import DescribedNodes
from muster.commands.progress import Progress
from muster.commands.simulate import completed_input, file_texts, stored_objects
from muster.commands.simulate.completed_input import ClusterInput
from muster.render.file_notes import (
    CreatingTool,
    DocumentUnreadable,
    FilesOfTool,
    FileTooLarge,
    FileUnreadable,
    KeyRepeated,
    NoFile,
    TextNotJson,
)
from validators.lint import discovery, documents, file_content, files
from validators.lint.documents import Document
from validators.lint.limits import LARGEST_FILE

LARGEST_JSON = 1024**3
"""Bytes.  150,000 pods as kubectl prints them take some 700 MB without managed fields, 150 MB with only the fields that are read."""
_LONG = 20 * 1024**2
"""Bytes from which reading is shown as progress."""
_COLLECT_AFTER = 100_000
"""Number of new objects after which the garbage collector runs: those of a cluster are many, and have no cycles."""
_BEGINS_AS_JSON = b"{"
_BLANK = b"\xef\xbb\xbf \t\r\n"


def read_cluster_input(  # noqa: PLR0913 - what a cluster is made of
    paths: Sequence[str],
    further: Sequence[str],
    progress: Progress,
    *,
    cluster: ClusterInput | None = None,
    described: DescribedNodes | None = None,
    change: Callable[[list[Given]], tuple[list[Given], list[Problem]]] | None = None,
    creation: PodCreation = UNCHANGED,
    strict: bool = False,
    attributes: Collection[str] = (),
    assumes_slots: bool = False,
) -> ClusterInput:
    """Return the objects at *paths*, with the pods that controllers create, and those at *further* with other names.

    Args:
        paths: the objects that the answer is about, if there are further ones.
        further: paths of further objects.
        progress: receives the names of large files.
        cluster: further objects that are read already.
        described: nodes that are further objects.
        change: changes the further objects; returns them and the problems of reading them.
        creation: how the pods of controllers' objects are created.
        strict: as for ``complete``; and refuse duplicate keys in the JSON at *paths*, also if there are no further objects.
        attributes: attributes of devices that are topology keys, besides the labels of nodes.
        assumes_slots: as for ``complete``.

    Raises:
        click.UsageError: a path does not exist, the file of *described* cannot be written, or no node has the topology key of the gang that
            *creation* makes.

    """
    has_cluster = bool(further) or cluster is not None or bool(described)
    inputs = read_files(paths, progress, strict=strict or has_cluster)
    if inputs.files:
        inputs.problems += empty_directories(paths)
    inputs.skipped += inputs.problems
    known = read_files(further, progress, leave_out=paths, into=cluster)
    known.problems += empty_directories(further)
    if described:
        known.objects += described.objects((*known.objects, *inputs.objects))
    if change is not None:
        known.objects, problems = change(known.objects)
        known.problems += problems
    inputs.stored += known.stored
    inputs.behavior = known.behavior
    creation = topology_keys.with_whole_key(creation, (*inputs.objects, *known.objects), attributes)
    completed_input.complete(
        inputs, known.objects if has_cluster else None, known.problems, creation, strict=strict, assumes_slots=assumes_slots
    )
    return inputs


def read_files(
    paths: Sequence[str],
    progress: Progress,
    *,
    leave_out: Sequence[str] = (),
    into: ClusterInput | None = None,
    strict: bool = False,
) -> ClusterInput:
    """Return the objects at *paths* as they are, added to those of *into*; files that are among *leave_out* too are omitted.

    If *strict*, JSON objects with duplicate keys are refused, as kubectl does; otherwise the last value counts.

    Raises:
        click.UsageError: a path does not exist.

    """
    inputs = into or ClusterInput()
    gc.set_threshold(_COLLECT_AFTER)
    try:
        skipped: dict[str, Counter[str]] = {}
        named = _files(paths, [files.identity(each) for each in _files(leave_out, (), {})], skipped)
    except files.PathError as error:
        raise click.UsageError(str(error)) from None
    inputs.problems += _files_of_tools(skipped)
    inputs.files += len(skipped)
    for file in named:
        _read(file, inputs, progress, is_given=file in paths, strict=strict)
    return inputs


def empty_directories(paths: Iterable[str]) -> list[Problem]:
    """Return a problem for each of *paths* that is a directory without a file to read."""
    return [Problem(NoFile(files.SUFFIXES), place=each) for each in files.empty_directories(paths)]


def _files(paths: Iterable[str], leave_out: Iterable[str], skipped: dict[str, Counter[str]]) -> list[str]:
    """Return each file once, those of a directory in the order of their names; count in *skipped* the others by tool, by directory."""
    seen = set(leave_out)
    unique = []
    for path in paths:
        is_directory = os.path.isdir(path)  # noqa: PTH112 - names are kept as given
        if not is_directory:
            files.check_exists(path)
        tools = discovery.discover([path]).tools if is_directory else {}
        # A path that is not a directory is opened as given: it can be a pipe, which has no other name.
        for file in sorted(files.identities([path])) if is_directory else [path]:
            if (same := files.identity(file)) in seen:
                continue
            if same in tools:
                skipped.setdefault(path, Counter())[tools[same]] += 1
                continue
            seen.add(same)
            unique.append(file)
    return unique


def _files_of_tools(skipped: Mapping[str, Counter[str]]) -> list[Problem]:
    """Return a problem for each tool among *skipped* that creates objects: those are not read.  Report the files of the other tools."""
    context = click.get_current_context(silent=True)
    called = context.command_path if context is not None else "muster simulate"
    others = sum(skipped.values(), Counter[str]())
    named = {tool: number for tool, number in others.items() if tool not in {*CreatingTool}}
    options.report_skipped(called, named, "a file that is named is read")
    creating = [(path, tool) for path, tools in skipped.items() for tool in CreatingTool if tool in tools]
    return [Problem(FilesOfTool(tool, called), place=path) for path, tool in creating]


def _read(file: str, inputs: ClusterInput, progress: Progress, *, is_given: bool, strict: bool) -> None:
    name = files.display_name(_near(file))
    inputs.files += 1
    try:
        if not strict and _take_stored(file, name, inputs, progress):
            return
        if file == files.STDIN:
            content = _content(sys.stdin.buffer, progress, name)
        else:
            with open(file, "rb") if is_given else file_content.open_regular(file) as stream:  # noqa: PTH123 - as above
                content = _content(stream, progress, name)
    except OSError as error:
        inputs.problems.append(Problem(FileUnreadable((error.strerror or str(error)).lower()), place=name))
        return
    if strict and len(content) <= LARGEST_FILE:
        inputs.texts[name] = content
    if content.lstrip(_BLANK).startswith(_BEGINS_AS_JSON) and _take_json(name, content, inputs, strict=strict):
        return
    _take_manifest(name, content, inputs)


def _take_stored(file: str, name: str, inputs: ClusterInput, progress: Progress) -> bool:
    """Add the objects of a large file of JSON, which stay there; return False if it must be read whole."""
    if file == files.STDIN or not LARGEST_FILE < file_texts.size(file) <= LARGEST_JSON:
        return False
    stored = file_texts.OpenFile(file, name)
    objects = stored_objects.read_objects(stored, lambda done, total: progress.part(f"reading {name}", done, total))
    if objects is None:
        return False
    inputs.objects += objects
    inputs.stored.append(stored)
    return True


def _near(file: str) -> str:
    """Return the path of a file relative to the working directory, if it is below that."""
    if not os.path.isabs(file) or file == files.STDIN:  # noqa: PTH117 - names are kept as given
        return file
    near = os.path.relpath(file)
    return file if near.startswith(os.pardir) else near


def _content(stream: BinaryIO | io.BufferedReader, progress: Progress, name: str) -> bytes:
    """Return the content, up to one byte more than the limit; the limit is lower for text that does not begin as JSON."""
    content = stream.read(LARGEST_FILE + 1)
    if len(content) <= LARGEST_FILE or not content.lstrip(_BLANK).startswith(_BEGINS_AS_JSON):
        return content
    progress.show(f"reading {name}")
    return content + stream.read(LARGEST_JSON + 1 - len(content))


def _take_json(name: str, content: bytes, inputs: ClusterInput, *, strict: bool) -> bool:
    """Add the JSON values of a text; return False if there are none and it can be YAML."""
    if len(content) > LARGEST_JSON:
        inputs.problems.append(Problem(FileTooLarge(LARGEST_JSON), place=name))
        return True
    good: list[Source] = []
    bad: list[Problem] = []
    place = 0
    for value in json_values.split(content):
        text = bytes(value) if isinstance(value, memoryview) else value
        why = _not_json(text) or (_duplicate_key(text) if strict else None)
        if why is None:
            good.append(text)
            continue
        place = content.index(bytes(text)[:64], place)
        line = content.count(b"\n", 0, place + len(text) - len(bytes(text).lstrip())) + 1
        bad.append(Problem(why, place=f"{name}:{line}"))
    if not good and len(content) <= LARGEST_FILE:
        return False
    inputs.objects += good
    inputs.problems += bad
    return True


def _not_json(text: decode.Text) -> TextNotJson | None:
    """Return why a text is not used; None if it is JSON."""
    try:
        decode.VALUE.decode(text)
    except RecursionError:
        return TextNotJson(gathered.DEEP)
    except ValueError as error:
        return TextNotJson(str(error))
    return None


def _duplicate_key(text: decode.Text) -> KeyRepeated | None:
    """Return why a JSON text is not used; None if no object in it has a key twice.

    Without duplicates, encoding the decoded value again gives as many colons, unless a text has an escaped one.
    """
    try:
        if bytes(text).count(b":") == decode.ENCODER.encode(decode.parse(text)).count(b":"):
            return None
    except (decode.NotJson, RecursionError):
        # A value without duplicates is left out when it is sorted by kind, without the other objects of its list.
        pass
    from validators.lint import json_text
    from validators.lint.places import Fault

    try:
        next(json_text.values(bytes(text).decode("utf-8", "surrogateescape")))
    except Fault as fault:
        return KeyRepeated(fault.message)
    return None


def _take_manifest(name: str, content: bytes, inputs: ClusterInput) -> None:
    if len(content) > LARGEST_FILE:
        inputs.problems.append(Problem(FileTooLarge(LARGEST_JSON, LARGEST_FILE), place=name))
        return
    for part in documents.parse(name, content).parts:
        if isinstance(part, Document):
            inputs.objects.append(part.content)
        else:
            inputs.problems.append(Problem(DocumentUnreadable(part.message), place=f"{part.file}:{part.line}:{part.column}"))
