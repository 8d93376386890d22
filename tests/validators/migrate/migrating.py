"""Manifests to migrate, and calls of the migration."""

from __future__ import annotations

from validators.lint import documents
from validators.lint import lint_files as lint
from validators.lint.documents import Document
from validators.lint.finding import Finding
from validators.migrate import migrate_files as run
from validators.migrate.outcome import Migration
from validators.rules.base import Profile, Settings

WORKLOAD = """\
apiVersion: scheduling.k8s.io/v1alpha1
kind: Workload
metadata: {name: train}
spec:
  podGroups:
  - name: workers
    policy: {gang: {minCount: 4}}
  - name: driver
    policy: {basic: {}}
"""
GROUP = """\
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: workers}
spec:
  podGroupTemplateRef:
    workload:
      workloadName: train
      podGroupTemplateName: workers
  disruptionMode: PodGroup
  schedulingPolicy: {gang: {minCount: 4}}
"""
CURRENT = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: new}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
"""


def pod(name: str, group: str = "workers", *, key: str = "", workload: str = "train", more: str = "") -> str:
    """Return a pod that names a group of a Workload, as in v1alpha1."""
    replica = f", podGroupReplicaKey: {key}" if key else ""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n"
        f"  workloadRef: {{name: {workload}, podGroup: {group}{replica}}}\n{more}  containers: []\n"
    )


def together(*texts: str) -> str:
    """Join YAML documents."""
    return "---\n".join(texts)


def migrate(*texts: str, to: str = "v1beta1", name: str = "a.yaml") -> Migration:
    """Migrate the documents of one file."""
    return migrate_files({name: together(*texts)}, to=to)


def migrate_files(files: dict[str, str], to: str = "v1beta1") -> Migration:
    """Migrate several files, given by name."""
    encoded = {name: text.encode() for name, text in files.items()}
    return run.run((run.Input(name, content, documents.parse(name, content)) for name, content in encoded.items()), to)


def text_of(migration: Migration, place: int = 0) -> str:
    """Return the text of one file after the migration."""
    return migration.files[place].after.decode()


def objects_in(text: str, name: str = "a.yaml") -> list[dict[str, object]]:
    """Return the objects in a text."""
    parts = documents.parse(name, text.encode()).parts
    assert all(isinstance(part, Document) for part in parts), parts
    return [part.content for part in parts if isinstance(part, Document)]


def findings(text: str, *, minor: int = 37, profile: Profile = Profile.KEP, name: str = "a.yaml") -> tuple[Finding, ...]:
    """Return the findings of the linter in a text."""
    settings = Settings(profile=profile, minor=minor, linting=True)
    return lint.run([documents.parse(name, text.encode())], settings=settings).findings
