"""One object of a migration, with its changes and losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from kubeapi.versions import served_versions
from kubeapi.versions.kubernetes_releases import TODAY
from validators import object_lookup, pipeline
from validators.field import FieldError
from validators.lint.documents import Document
from validators.lint.examination import subject_of
from validators.lint.finding import Subject
from validators.migrate import migrate_object, pod_groups
from validators.migrate.change import Change, Parts, Replace, applied
from validators.migrate.groups import Group
from validators.migrate.migrate_object import Lost, Noted
from validators.migrate.outcome import Loss, Migrated, Note, Refused, Spot
from validators.model.objects import Named
from validators.rules.base import Profile, Settings, Severity


class ObjectMigration:
    """Object with its changes, its losses, and the groups that are written after it.

    Attributes:
        is_removed: True if the object is left out, because the inputs have the same one twice after the migration.

    """

    def __init__(self, document: Document, to: str) -> None:
        self.document = document
        self.changes: list[Change] = []
        self.lost: list[Lost] = []
        self.notes: list[tuple[Parts, str]] = []
        self.made: list[Group] = []
        self.is_removed = False
        for step in (*migrate_object.steps(document.content, to), *pod_groups.steps(document.content, to)):
            if isinstance(step, Lost):
                self.lost.append(step)
            elif isinstance(step, Noted):
                self.notes.append((step.path, step.message))
            else:
                self.changes.append(step)

    @property
    def content(self) -> Mapping[str, Json]:
        """The object before the migration."""
        return self.document.content

    @property
    def subject(self) -> Subject:
        """The object's apiVersion, kind, namespace and name."""
        return subject_of(self.content)

    @property
    def is_retired(self) -> bool:
        """True if the version of the object is retired."""
        return migrate_object.is_retired(self.content.get("apiVersion"), self.content.get("kind"))

    @property
    def is_moved(self) -> bool:
        """True if the object gets another API group."""
        return any(isinstance(each, Replace) and each.path == ("apiVersion",) for each in self.changes)

    @property
    def is_document(self) -> bool:
        """True if the object is a YAML document by itself."""
        return not self.document.route and not self.document.chunk.is_json

    def migrated_content(self) -> dict[str, Json]:
        """Return the object after all changes."""
        return applied(self.content, self.changes)

    def spot(self, path: Parts) -> Spot:
        """Return the position of a field in the input."""
        field_path = FieldPath(*path)
        span = self.document.span(field_path)
        return Spot(self.document.file, span.line, span.column, self.subject, str(field_path))

    def losses(self) -> Iterable[Loss]:
        """Return the losses with their positions."""
        return (Loss(self.spot(each.path), each.lost, each.meant, each.remedy) for each in self.lost)

    def located_notes(self) -> Iterable[Note]:
        """Return the notes with their positions."""
        return (Note(self.spot(path), message) for path, message in self.notes)

    def migrated(self) -> Migrated | None:
        """Return the changes of the object; None if there are none."""
        if not self.changes:
            return None
        return Migrated(self.spot(("apiVersion",)), str(self.migrated_content().get("apiVersion")), tuple(self.changes))

    def refused(self) -> Sequence[Refused]:
        """Return the errors of the object in its old version; if there are none, those of the migrated object and its groups."""
        api_version, kind = str(self.content.get("apiVersion")), str(self.content.get("kind"))
        minor = migrate_object.minor_of(api_version, kind) if self.is_retired else None
        errors = _errors_of(self.content, minor) if minor is not None else []
        if errors:
            return [self._refused(each, each.path, f"is not valid in Kubernetes 1.{minor} either: ") for each in errors]
        prefix = f"would not be valid in {self._target()}: "
        written = served_versions.form_of(api_version).written
        errors = _errors_of(self.migrated_content(), TODAY) if self.changes else []
        refused = [self._refused(each, written(each.path), prefix) for each in errors]
        for group in self.made:
            of_group = f"PodGroup {group.name} {prefix}"
            refused += (self._refused(each, FieldPath(), f"{of_group}{each.path}: ") for each in _errors_of(group.content or {}, TODAY))
        return refused

    def _target(self) -> str:
        """Return where the migrated object would be used, for people."""
        current = str(self.migrated_content().get("apiVersion"))
        return current if served_versions.form_of(current).custom else f"Kubernetes 1.{TODAY}"

    def _refused(self, error: FieldError, path: FieldPath, prefix: str) -> Refused:
        hint = "; this looks like a template: render it first" if "{{" in str(error.value) else ""
        return Refused(self.spot(path.parts), f"{prefix}{error}{hint}")


def _errors_of(content: Mapping[str, Json], minor: int) -> list[FieldError]:
    """Return the errors with which the API server of Kubernetes 1.*minor* would refuse an object by itself."""
    settings = Settings(profile=Profile.UPSTREAM, minor=minor, linting=True)
    examined = pipeline.examine(content, settings)
    violations = examined.violations
    if not violations and examined.object is not None and not isinstance(examined.object, Named):
        violations = pipeline.validate_document(examined.object, settings, lookup=object_lookup.NOTHING, form=examined.form)
    return [each.error for each in violations if each.severity is Severity.ERROR]
