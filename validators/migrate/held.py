"""One object of a call, with everything that becomes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from validators import lookup, pipeline
from validators.field import FieldError, FieldPath
from validators.lint.documents import Document
from validators.lint.finding import Subject
from validators.lint.lint_files import subject_of
from validators.migrate import migrate_object
from validators.migrate.change import Change, Parts, applied
from validators.migrate.groups import Group
from validators.migrate.migrate_object import Lost, Noted
from validators.migrate.outcome import Loss, Migrated, Note, Refused, Spot
from validators.model.decode import Json
from validators.model.objects import Named
from validators.rules.base import Profile, Settings, Severity
from validators.versions import served
from validators.versions.releases import TODAY


class Held:
    """An object, its changes, what is lost of it, and the groups that are made behind it."""

    def __init__(self, document: Document, to: str) -> None:
        self.document = document
        self.changes: list[Change] = []
        self.lost: list[Lost] = []
        self.notes: list[tuple[Parts, str]] = []
        self.made: list[Group] = []
        for step in migrate_object.steps(document.content, to):
            if isinstance(step, Lost):
                self.lost.append(step)
            elif isinstance(step, Noted):
                self.notes.append((step.path, step.message))
            else:
                self.changes.append(step)

    @property
    def content(self) -> Mapping[str, Json]:
        """The object before."""
        return self.document.content

    @property
    def subject(self) -> Subject:
        """What it says it is."""
        return subject_of(self.content)

    @property
    def is_retired(self) -> bool:
        """Whether its own version is one that is gone."""
        return migrate_object.is_retired(self.content.get("apiVersion"), self.content.get("kind"))

    def migrated_content(self) -> dict[str, Json]:
        """The object after all changes."""
        return applied(self.content, self.changes)

    def spot(self, path: Parts) -> Spot:
        """Where a field stands in the input."""
        where = FieldPath(*path)
        span = self.document.span(where)
        return Spot(self.document.file, span.line, span.column, self.subject, str(where))

    def losses(self) -> Iterable[Loss]:
        """What is lost, by place."""
        return (Loss(self.spot(each.path), each.lost, each.meant, each.remedy) for each in self.lost)

    def located_notes(self) -> Iterable[Note]:
        """What is noted, by place."""
        return (Note(self.spot(path), message) for path, message in self.notes)

    def migrated(self) -> Migrated | None:
        """What was changed; None where nothing was."""
        if not self.changes:
            return None
        return Migrated(self.spot(("apiVersion",)), str(self.migrated_content().get("apiVersion")), tuple(self.changes))

    def refused(self) -> Sequence[Refused]:
        """What is wrong with the object as it is, in its own version's words, or would be with it, or with a group of it, afterwards."""
        api_version, kind = str(self.content.get("apiVersion")), str(self.content.get("kind"))
        minor = migrate_object.minor_of(api_version, kind) if self.is_retired else None
        found = _faults(self.content, minor) if minor is not None else []
        if found:
            return [self._refused(each, each.path, f"is not valid in Kubernetes 1.{minor} either: ") for each in found]
        told = f"would not be valid in Kubernetes 1.{TODAY}: "
        written = served.form_of(api_version).written
        found = _faults(self.migrated_content(), TODAY) if self.changes else []
        refused = [self._refused(each, written(each.path), told) for each in found]
        for group in self.made:
            about = f"PodGroup {group.name} {told}"
            refused += (self._refused(each, FieldPath(), f"{about}{each.path}: ") for each in _faults(group.content or {}, TODAY))
        return refused

    def _refused(self, error: FieldError, path: FieldPath, told: str) -> Refused:
        hint = "; this looks like a template: render it first" if "{{" in str(error.value) else ""
        return Refused(self.spot(path.parts), f"{told}{error}{hint}")


def _faults(content: Mapping[str, Json], minor: int) -> list[FieldError]:
    """What the API server of Kubernetes 1.*minor* would refuse in an object by itself."""
    settings = Settings(profile=Profile.UPSTREAM, minor=minor, linting=True)
    examined = pipeline.examine(content, settings)
    judged = examined.violations
    if not judged and examined.object is not None and not isinstance(examined.object, Named):
        judged = pipeline.validate_document(examined.object, settings, lookup=lookup.NOTHING, form=examined.form)
    return [each.error for each in judged if each.severity is Severity.ERROR]
