"""The objects of a cluster as one document that ``simulate`` reads: a List in JSON, the same bytes for the same objects."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubeapi import decode
from kubeapi.decode import Source
from kubeapi.gather import CONFIGURATION, Name, gather, left_out, whole_name
from kubeapi.gathered import DEEP, GatheredObjects, Given, ObjectList, Objects, Unusable
from kubeapi.problem import Problem
from muster.commands.progress import Progress
from muster.commands.snapshot import other_projects_fields
from muster.commands.snapshot.fields import FIELDS, UNLIKE
from muster.commands.snapshot.other_projects_fields import key_of
from muster.commands.snapshot.prune import pruned
from muster.commands.snapshot.redact import redacted
from muster.commands.snapshot.shapes import Shape
from scheduler_core.loading.configuration.scheduler_configuration import read_by_any_version
from validators.reports.escape import json_escapes

Content = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """Objects by kind, namespace and name, and the unreadable ones."""

    objects: tuple[Content, ...]
    problems: tuple[Problem, ...]

    def redacted(self, salt: str | None) -> Kept:
        """Return the same with names hashed; without a *salt*, it is derived from the whole content, which cannot be guessed."""
        given = hashlib.sha256(self.document()).digest() if salt is None else salt.encode()
        return dataclasses.replace(self, objects=tuple(redacted(self.objects, given)))

    def document(self) -> bytes:
        """Return one List with an object per line."""
        return b'{"apiVersion":"v1","kind":"List","items":[\n%s\n]}\n' % b",\n".join(map(_written, self.objects))

    def lines(self) -> bytes:
        """Return only the objects, one per line."""
        return b"".join(_written(each) + b"\n" for each in self.objects)


def _written(content: Content) -> bytes:
    return json_escapes(decode.ENCODER.encode(content).decode()).encode()


def keep_simulated_fields(sources: Iterable[Given], configuration: Source | None = None, progress: Progress | None = None) -> Kept:
    """Return the objects that ``simulate`` reads, with only the fields that it reads; lists are expanded.

    A scheduler *configuration* replaces those among *sources*.
    """
    others = ObjectList()
    gathered, problems = gather(sources, others)
    kinds: dict[str, Objects] = {**gathered, **_looked_up(others)}
    if configuration is not None:
        kinds[CONFIGURATION] = gather((configuration,))[0][CONFIGURATION]
    kinds[CONFIGURATION] = [each for each in kinds[CONFIGURATION] if _is_valid(each, problems)]
    progress = progress or Progress("snapshot")
    total = sum(len(kinds[kind]) for kind in FIELDS)
    kept = (each for kind, fields in FIELDS.items() for each in _of_kind(kinds[kind], fields, problems))
    objects = [*progress.over(kept, total, "selecting fields")]
    return Kept(tuple(objects), tuple(problems))


def _looked_up(others: Iterable[GatheredObjects]) -> dict[str, Objects]:
    """Return the objects of the kinds that adapters look up."""
    keys = {(each.group, each.kind): key_of(each.group, each.kind) for each in other_projects_fields.RESOURCES}
    wanted: dict[str, list[GatheredObjects]] = {key: [] for key in keys.values()}
    for each in others:
        if (key := keys.get((each.api_version.rpartition("/")[0], each.kind))) is not None:
            wanted[key].append(each)
    return {**wanted}


def _is_valid(gathered: GatheredObjects, problems: list[Problem]) -> bool:
    """Return whether a scheduler configuration has no errors; they are added to *problems*."""
    try:
        refusals = read_by_any_version(gathered.content()).refusals
    except Unusable as error:
        refusals = [left_out(CONFIGURATION, ("", ""), str(error))]
    problems += refusals
    return not refusals


def _of_kind(listed: Iterable[GatheredObjects], fields: Mapping[str, Shape], problems: list[Problem]) -> Iterator[Content]:
    nameless: list[Content] = []
    # Objects of several API groups are all kept: which one counts is reported when the snapshot is read.
    named: dict[tuple[Name, str], list[GatheredObjects]] = {}
    for each in listed:
        if (name := whole_name(each)) is None:
            nameless += _pruned(each, fields, ("", ""), problems)
        else:
            named.setdefault((name, each.group), []).append(each)
    yield from sorted(nameless, key=decode.ENCODER.encode)
    for name, group in sorted(named):
        counting, unlike = _counting(named[name, group])
        for content in _pruned(counting, fields, name, problems):
            yield content
            if unlike:
                yield {**content, UNLIKE: True}


def _counting(several: Sequence[GatheredObjects]) -> tuple[GatheredObjects, bool]:
    """Return the used object of several with one name, and whether another one differs."""
    if len(several) == 1:
        return several[0], False
    by_text = {each.canonical(): each for each in several}
    return by_text[min(by_text)], len(by_text) > 1


def _pruned(gathered: GatheredObjects, fields: Mapping[str, Shape], name: Name, problems: list[Problem]) -> Iterator[Content]:
    try:
        yield pruned(gathered.content(), fields)
    except Unusable as error:
        problems.append(left_out(gathered.kind, name, str(error)))
    except RecursionError:
        problems.append(left_out(gathered.kind, name, DEEP))
