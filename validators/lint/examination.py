"""Results of examining documents: findings with their positions in the file, annotations, comments and counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from kubeapi.names import CLUSTER_SCOPED
from kubeapi.versions import served_versions
from validators import pipeline
from validators.lint import fixes, suppress
from validators.lint.comments import Comment
from validators.lint.documents import Document, Manifest, NotKubernetes, Unreadable
from validators.lint.finding import LONGEST_NAME, NOT_KUBERNETES, UNREADABLE, Checked, Finding, Subject, shortened
from validators.lint.places import Span
from validators.rules.base import Severity


@dataclasses.dataclass(slots=True)
class Examination:
    """Results of examining documents, each by itself.

    Attributes:
        objects_skipped: file and number of each object with an invalid shape.
        documents_skipped: file and offset of each document with such an object.
        tools: files that are skipped because of their content, each with its tool.
        foreign: number of documents that are not judged, by kind: ``KIND`` or ``KIND.GROUP``.

    """

    findings: list[Finding] = dataclasses.field(default_factory=list)
    checked: list[Checked] = dataclasses.field(default_factory=list)
    annotations: list[suppress.Annotation] = dataclasses.field(default_factory=list)
    comments: list[tuple[str, Comment]] = dataclasses.field(default_factory=list)
    objects_skipped: list[tuple[str, int]] = dataclasses.field(default_factory=list)
    documents_skipped: list[tuple[str, int]] = dataclasses.field(default_factory=list)
    tools: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    documents: int = 0
    foreign: dict[str, int] = dataclasses.field(default_factory=dict)

    def add(self, other: Examination) -> None:
        """Add the results of *other*."""
        for name in ("findings", "checked", "annotations", "comments", "objects_skipped", "documents_skipped", "tools"):
            getattr(self, name).extend(getattr(other, name))
        self.documents += other.documents
        for kind, count in other.foreign.items():
            self.foreign[kind] = self.foreign.get(kind, 0) + count

    def add_file(self, manifest: Manifest) -> None:
        """Add what a file has besides objects; or its tool, if it is that of another tool."""
        if manifest.tool:
            self.tools.append((manifest.file, manifest.tool))
        self.comments += ((manifest.file, comment) for comment in manifest.comments)
        parts = (part for part in manifest.parts if not isinstance(part, Document))
        self.findings += (finding_of_file(part, is_discovered=manifest.is_discovered) for part in parts)

    def add_unreadable(self, manifest: Manifest) -> None:
        """Add the findings for what cannot be read in a file that is only looked up."""
        self.findings += (finding_of_file(part) for part in manifest.parts if isinstance(part, Unreadable))

    def add_document(self, document: Document, examined: pipeline.Examined, *, with_fixes: bool, is_listed: bool = False) -> None:
        """Add the result of a document; with *is_listed*, also to the list of validated objects."""
        self.documents += 1
        if examined.foreign:
            kind = _kind_of(document.content)
            self.foreign[kind] = self.foreign.get(kind, 0) + 1
            return
        if is_listed:
            self.checked.append(Checked(document.file, document.index, subject_of(document.content)))
        if examined.violations or examined.further:
            self.findings += findings_of(document, (*examined.violations, *examined.further), with_fixes=with_fixes)
        if examined.violations:
            self.objects_skipped.append((document.file, document.index))
            self.documents_skipped.append((document.file, document.chunk.base))
        self.annotations += _annotations_of(document)


def subject_of(content: Mapping[str, object]) -> Subject:
    """Return apiVersion, kind, namespace and name of a document, shortened; empty where they are absent or not strings."""
    metadata = content.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    api_version, kind = _text(content.get("apiVersion")), _text(content.get("kind"))
    cluster_scoped = kind in CLUSTER_SCOPED and served_versions.serves(api_version.rpartition("/")[0], kind)
    namespace = "" if cluster_scoped else _text(fields.get("namespace")) or "default"
    return Subject(api_version, kind, namespace, _text(fields.get("name")) or _text(fields.get("generateName")))


def _kind_of(content: Mapping[str, object]) -> str:
    """Return the kind of a document as kubectl reads it, with its API group if it has one: ``ConfigMap``, ``Queue.scheduling.volcano.sh``."""
    group = _text(content.get("apiVersion")).rpartition("/")[0]
    kind = _text(content.get("kind"))
    return f"{kind}.{group}" if group else kind


def _text(value: object) -> str:
    return shortened(value, LONGEST_NAME) if isinstance(value, str) else ""


def _annotations_of(document: Document) -> Iterator[suppress.Annotation]:
    """Yield the annotation that suppresses findings of the document, if it has one."""
    metadata = document.content.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    value = annotations.get(suppress.ANNOTATION) if isinstance(annotations, dict) else None
    if isinstance(value, str):
        span = document.span(suppress.ANNOTATION_PATH)
        subject = subject_of(document.content)
        yield suppress.Annotation(document.file, document.index, subject, value, span, document.source(span.line))


def findings_of(document: Document, violations: Iterable[pipeline.Violation], *, with_fixes: bool) -> list[Finding]:
    """Return the findings for the violations of a document, with their positions in the file.

    The edits of fixes need the places of all fields; without *with_fixes*, no finding has one.
    """
    findings: list[Finding] = []
    for each in violations:
        span = document.span(each.error.path)
        findings.append(
            Finding(
                rule=each.error.origin,
                severity=each.severity,
                message=shortened(str(each.error)),
                type=each.error.type.value,
                field=shortened(str(each.error.path)),
                file=document.file,
                span=span,
                document=subject_of(document.content),
                index=document.index,
                source=document.source(span.line),
                fix=fixes.text_fix(document, each.error) if with_fixes else None,
            )
        )
    return findings


def finding_of_file(part: Unreadable | NotKubernetes, *, is_discovered: bool = False) -> Finding:
    """Return the finding for a document that is unreadable or not a Kubernetes object, in a file that may be discovered."""
    unreadable = isinstance(part, Unreadable)
    return Finding(
        rule=UNREADABLE if unreadable else NOT_KUBERNETES,
        severity=Severity.ERROR if unreadable else Severity.WARNING,
        message=part.message,
        type=None,
        field="",
        file=part.file,
        span=Span(part.line, part.column, part.line, max(part.column, part.end_column)),
        source=part.source,
        is_counted=is_discovered and not unreadable,
    )
