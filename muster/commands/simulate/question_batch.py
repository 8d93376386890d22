"""Batch of simulations: one request per line, one answer per line.

An invalid line is answered in its place, and the rest is processed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import click

from expansion.pod_creation import PodCreation
from kubeapi import decode, gathered
from kubeapi.decode import Source
from muster.commands.described_nodes.node_manifests import described_objects
from muster.commands.progress import Progress
from muster.commands.simulate import cluster_input, completed_input, simulation
from muster.commands.simulate.cluster_input import LARGEST_JSON
from muster.commands.simulate.completed_input import ClusterInput
from muster.commands.simulate.request import InvalidOptions, SimulationRequest, with_options
from muster.commands.simulate.what_if import WhatIfError
from muster.render import answer_json
from validators.lint import files

BAD_QUESTION = 2
_NO_QUESTION = 'must be {"id": ..., "objects": [...], "options": {...}}'


def answer(paths: Sequence[str], further: Sequence[str], request: SimulationRequest, creation: PodCreation, progress: Progress) -> int:
    """Answer all requests at *paths* and return the highest exit status.

    Raises:
        click.UsageError: a path does not exist, or cannot be read.

    """
    known = cluster_input.read_cluster_input((), further, progress)
    worst = 0
    for line in _lines(paths):
        content, status = _answered(line, known, request, creation, progress)
        sys.stdout.buffer.write(answer_json.line(content).encode("utf-8", "backslashreplace"))
        # Some callers wait for each answer before they send the next request.
        sys.stdout.buffer.flush()
        worst = max(worst, status)
    return worst


def _answered(
    line: bytes, known: ClusterInput, request: SimulationRequest, creation: PodCreation, progress: Progress
) -> tuple[dict[str, object], int]:
    head: dict[str, object] = {}
    try:
        fields = _fields(line)
        head["id"] = _value(fields.get("id"))
        line_request = with_options(request, _value(fields.get("options")))
        inputs = ClusterInput([*_objects(fields.get("objects"))], stored=known.stored)
        cluster = [*known.objects, *described_objects(line_request.nodes, (*known.objects, *inputs.objects))]
        completed_input.complete(
            inputs,
            cluster if cluster or known.problems else None,
            known.problems,
            line_request.creation(creation),
            assumes_slots=line_request.assumes_slots,
        )
        result, _ = simulation.run(inputs, line_request, progress)
    except (InvalidOptions, WhatIfError, simulation.RefusedRequestError) as error:
        return {**head, "error": str(error)}, BAD_QUESTION
    finally:
        progress.end()
    return {**head, **answer_json.as_json(result)}, result.exit_status


def _fields(line: bytes) -> Mapping[str, decode.Text]:
    if len(line) > LARGEST_JSON:
        raise InvalidOptions(f"a request must be at most {LARGEST_JSON:,} bytes")
    try:
        return decode.FIELDS.decode(line)
    except decode.ValidationError:
        raise InvalidOptions(_NO_QUESTION) from None
    except RecursionError:
        raise InvalidOptions(gathered.DEEP) from None
    except ValueError as error:
        raise InvalidOptions(f"is not JSON: {error}") from None


def _value(text: decode.Text | None) -> Any:
    try:
        return None if text is None else decode.parse(text)
    except RecursionError:
        raise InvalidOptions(gathered.DEEP) from None
    except decode.NotJson as error:
        raise InvalidOptions(f"is not JSON: {error}") from None


def _objects(text: decode.Text | None) -> list[Source]:
    try:
        return [*decode.ITEMS.decode(text or b"")]
    except (ValueError, RecursionError):
        raise InvalidOptions(_NO_QUESTION) from None


def _lines(paths: Sequence[str]) -> Iterator[bytes]:
    for path in paths:
        try:
            if path == files.STDIN:
                yield from _lines_of(sys.stdin.buffer)
            else:
                with open(path, "rb") as stream:  # noqa: PTH123 - names are kept as given
                    yield from _lines_of(stream)
        except OSError as error:
            raise click.UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None


def _lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines that are not blank; a line that is too long is cut one byte above the limit."""
    while line := stream.readline(LARGEST_JSON + 1):
        if line.strip():
            yield line
        while not line.endswith(b"\n") and line:
            line = stream.readline(LARGEST_JSON)
