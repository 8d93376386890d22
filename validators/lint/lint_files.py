"""Linting of files in memory: every document by itself, then every document together with all others.

The report does not depend on the order of the manifests.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence

from validators import pipeline
from validators.lint import engine
from validators.lint.against import Before
from validators.lint.documents import Document, Manifest
from validators.lint.engine import FirstPass, Pending
from validators.lint.examination import findings_of
from validators.lint.finding import Report, file_order
from validators.lint.object_index import IndexLookup, ObjectIndex
from validators.model.objects import Object, namespace_of
from validators.object_lookup import group_rank
from validators.rules.base import Settings


def run(
    manifests: Iterable[Manifest],
    objects: Iterable[Manifest] = (),
    *,
    settings: Settings,
    before: Before | None = None,
    listed: Container[str] = (),
    watch: Callable[[Sequence[Manifest]], Iterable[Manifest]] = iter,
) -> Report:
    """Validate all documents of *manifests*; those of *objects* are only for the lookup.

    If both have an object with the same name, the one in *manifests* is used, because applying it replaces the other one.  With
    *before*, changes of objects are validated too.  Of the kinds *listed*, no other objects exist.  *watch* returns the manifests that it is
    given, and sees when each is validated.
    """
    ordered = sorted(manifests, key=lambda each: file_order(each.file))
    validated: list[Object] = []
    pending: dict[int, tuple[Document, Pending]] = {}

    def keep(document: Document, examined: pipeline.Examined, item: Object) -> None:
        if not examined.violations:
            pending[len(validated)] = document, Pending(item, examined.form, examined.templates)
        validated.append(item)

    first = FirstPass(settings, keep)
    for manifest in watch(ordered):
        first.read_manifest(manifest)
    results = first.examination
    lookup_only = sorted(objects, key=lambda each: file_order(each.file))
    known = [*engine.known_objects(lookup_only, results)]
    index = _index(known, validated)
    if before is not None:
        after = [(document.file, new.object) for document, new in pending.values()]
        olds = before.matched(after)
        pending = {
            place: (document, Pending(new.object, new.form, new.templates, old))
            for (place, (document, new)), old in zip(pending.items(), olds, strict=True)
        }
    lookup = IndexLookup(index, listed)
    for _, violations in engine.second_pass(pending, lambda place: pending[place][1], lambda: lookup, settings):
        for place, found in violations.items():
            results.findings += findings_of(pending[place][0], found, with_fixes=settings.fixes)
    return engine.report_on(results, tuple(each.file for each in ordered), settings)


def _index(known: Sequence[Object], validated: Sequence[Object]) -> ObjectIndex[int]:
    """Return all objects, by their numbers; those that are only looked up are before the *validated* ones."""
    names = {(each.kind, namespace_of(each), each.metadata.name, group_rank(each)) for each in validated}
    index = ObjectIndex[int]()
    for number, item in enumerate((*known, *validated), -len(known)):
        if number >= 0 or not engine.is_replaced(item, lambda *name: name in names):
            index.append(number, item)
    return index
