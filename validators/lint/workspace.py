"""Linting of files that change, as in an editor: the findings of ``engine`` for all files together.

After a change of a file, a document is examined again only if its content changed.  It is validated together with the other
documents only if its content, or an object that its rules looked up, changed.  While a file has an unreadable document, the objects
that it had before remain known, so that references to them are not reported during an edit.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping

from kubeapi.meta import replaced
from validators import pipeline
from validators.lint import engine
from validators.lint.documents import Document, Manifest, Unreadable
from validators.lint.engine import Pending
from validators.lint.examination import Examination, findings_of
from validators.lint.finding import Finding, file_order
from validators.lint.object_index import Key, ObjectIndex, Place, RecordingLookup
from validators.model.objects import Object, namespace_of
from validators.object_lookup import counting
from validators.rules.base import Settings


@dataclasses.dataclass(slots=True, eq=False)
class _Entry:
    """Document with its results; ``unit`` is what it was validated with."""

    document: Document
    examined: pipeline.Examined
    violations: tuple[pipeline.Violation, ...] = ()
    unit: _Unit | None = None


@dataclasses.dataclass(slots=True, eq=False)
class _Unit:
    """Documents that were validated together, and the keys of the index on which their violations depend."""

    entries: set[_Entry]
    reads: frozenset[Key]


@dataclasses.dataclass(slots=True)
class _File:
    """File with its documents, and the objects that it has in the index."""

    manifest: Manifest
    entries: list[_Entry]
    objects: dict[Place, Object]


class Workspace:
    """Set of files with their findings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._files: dict[str, _File] = {}
        self._index = ObjectIndex[Place]()
        self._readers: dict[Key, set[_Unit]] = {}
        """Documents that depend on a key."""

    @property
    def files(self) -> Mapping[str, Manifest]:
        """The files, by name."""
        return {name: each.manifest for name, each in self._files.items()}

    def update(self, manifests: Iterable[Manifest], removed: Iterable[str] = ()) -> frozenset[str]:
        """Add or replace files and remove others; return the files whose findings may have changed."""
        changed: set[Key] = set()
        fresh: list[_Entry] = []
        names: set[str] = set()
        for manifest in manifests:
            names.add(manifest.file)
            fresh += self._replace(manifest, changed)
        for name in removed:
            if name in self._files:
                names.add(name)
                self._replace(Manifest(name, ()), changed)
                del self._files[name]
        outdated = {*fresh, *self._outdated(changed)}
        self._validate(outdated)
        return frozenset(names | {entry.document.file for entry in outdated})

    def findings(self, file: str) -> tuple[Finding, ...]:
        """Return the findings of a file, in order."""
        current = self._files.get(file)
        if current is None:
            return ()
        results = Examination()
        results.add_file(current.manifest)
        for entry in current.entries:
            results.add_document(entry.document, entry.examined, with_fixes=self._settings.fixes)
            results.findings += findings_of(entry.document, entry.violations, with_fixes=self._settings.fixes)
        return engine.report_on(results, (file,), self._settings).findings

    def named(self, kind: str, namespace: str, name: str) -> Document | None:
        """Return the document with the object of that name: the first one with the object that counts."""
        lookup = RecordingLookup(self._index)
        listed = lookup.read(("name", kind, namespace, name))
        chosen = counting(item for _, item in listed)
        return next((self._document_at(place) for place, item in listed if item is chosen), None)

    def objects(self, kind: str) -> list[Object]:
        """Return the objects of a kind, in order of their files; also those of which only the name can be read."""
        return [item for _, item in self._index.objects(("kind", kind))]

    def _document_at(self, place: Place) -> Document | None:
        for name, current in self._files.items():
            if file_order(name) == place[0]:
                return next((each.document for each in current.entries if each.document.index == place[1]), None)
        return None

    def _replace(self, manifest: Manifest, changed: set[Key]) -> list[_Entry]:
        """Put a file in place of its last version, add to *changed* the keys of changed objects; return the new documents."""
        before = self._files.get(manifest.file) or _File(Manifest(manifest.file, ()), [], {})
        unused: dict[int, list[_Entry]] = {}
        for entry in before.entries:
            unused.setdefault(id(entry.document.content), []).append(entry)
        entries: list[_Entry] = []
        fresh: list[_Entry] = []
        for document in manifest.documents:
            same = unused.get(id(document.content))
            if same:
                entry = same.pop(0)
                entry.document = document
            else:
                entry = _Entry(document, self._examined(document, before.objects))
                fresh.append(entry)
            entries.append(entry)
        for entry in (each for left in unused.values() for each in left):
            self._forget(entry)
        objects = _objects(manifest.file, entries)
        if any(isinstance(part, Unreadable) for part in manifest.parts):
            objects = _with_last_readable(objects, before.objects)
        self._index_objects(before.objects, objects, changed)
        self._files[manifest.file] = _File(manifest, entries, objects)
        return fresh

    def _examined(self, document: Document, before: Mapping[Place, Object]) -> pipeline.Examined:
        """Examine a document.  An object that equals the one before it is the same one, so that nothing depends on the change."""
        examined = pipeline.examine(document.content, self._settings)
        last = before.get((file_order(document.file), document.index))
        same = examined.object is not None and type(last) is type(examined.object) and last == examined.object
        return replaced(examined, object=last) if same else examined

    def _index_objects(self, before: Mapping[Place, Object], now: Mapping[Place, Object], changed: set[Key]) -> None:
        for place, item in before.items():
            if now.get(place) is not item:
                changed |= self._index.remove(place, item)
        for place, item in now.items():
            if before.get(place) is not item:
                changed |= self._index.add(place, item)

    def _outdated(self, changed: Iterable[Key]) -> Iterator[_Entry]:
        """Yield the documents that depend on *changed*."""
        for unit in {each for key in changed for each in self._readers.get(key, ())}:
            yield from unit.entries
            self._drop(unit)

    def _validate(self, entries: Iterable[_Entry]) -> None:
        pending: dict[Place, tuple[_Entry, Pending]] = {}
        for entry in entries:
            examined = entry.examined
            if examined.object is not None and not examined.violations:
                place = file_order(entry.document.file), entry.document.index
                pending[place] = entry, Pending(examined.object, examined.form, examined.templates)
        validated = engine.second_pass(pending, lambda place: pending[place][1], lambda: RecordingLookup(self._index), self._settings)
        for lookup, violations in validated:
            unit = _Unit({pending[place][0] for place in violations}, frozenset(lookup.reads))
            for key in unit.reads:
                self._readers.setdefault(key, set()).add(unit)
            for place, listed in violations.items():
                entry = pending[place][0]
                entry.violations, entry.unit = listed, unit

    def _forget(self, entry: _Entry) -> None:
        if entry.unit is not None:
            entry.unit.entries.discard(entry)
            if not entry.unit.entries:
                self._drop(entry.unit)

    def _drop(self, unit: _Unit) -> None:
        for key in unit.reads:
            self._readers[key].discard(unit)
            if not self._readers[key]:
                del self._readers[key]
        unit.reads = frozenset()


def _objects(file: str, entries: Iterable[_Entry]) -> dict[Place, Object]:
    order = file_order(file)
    return {(order, each.document.index): each.examined.object for each in entries if each.examined.object is not None}


def _with_last_readable(objects: dict[Place, Object], before: Mapping[Place, Object]) -> dict[Place, Object]:
    """Return *objects* and, after them, objects of the last version with other names."""
    names = {(each.kind, namespace_of(each), each.metadata.name) for each in objects.values()}
    left = {at: each for at, each in before.items() if (each.kind, namespace_of(each), each.metadata.name) not in names}
    free = itertools.count(max((number for _, number in (*objects, *before)), default=0) + 1)
    return objects | {at if at not in objects else (at[0], next(free)): each for at, each in left.items()}
