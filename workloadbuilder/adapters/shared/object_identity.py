"""Kind, name and owner of an object."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kubeapi.decode import Json
from kubeapi.field_path import FieldPath
from validators import field
from validators.field import FieldError
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.workload_item import WHOLE, Owner

COMPILERS = frozenset(
    {
        ("jobset.x-k8s.io", "JobSet"),
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
        ("trainer.kubeflow.org", "TrainJob"),
        ("grove.io", "PodCliqueSet"),
    }
)
"""Kinds whose controllers own objects of other controllers and create the only Workload for all (KEP-6089, "Core Principles")."""


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """Identity of an object; *controller* is its controlling owner, None if it has none."""

    owner: Owner
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    controller: Owner | None = None

    @property
    def compiled_above(self) -> bool:
        """Return True if the kind of this object's controller is in ``COMPILERS``, so that the Workload belongs to it."""
        return self.controller is not None and (self.controller.group, self.controller.kind) in COMPILERS


def read_identity(manifest: Json, errors: list[FieldError], warnings: list[FieldError]) -> tuple[Subject, Fields]:
    """Return the identity of an object and its fields; add to *errors* and *warnings*."""
    top = Fields(manifest, WHOLE, errors)
    metadata = top.mapping("metadata")
    name = metadata.text("name")
    if not name and (prefix := metadata.text("generateName")):
        name = prefix.rstrip("-.")
        detail = f"the API server will append a random suffix; the name {name!r} is used in its place"
        warnings.append(field.invalid(FieldPath("metadata", "generateName"), prefix, detail))
    subject = Subject(
        Owner(top.text("apiVersion"), top.text("kind"), name, metadata.text("uid")),
        metadata.text("namespace"),
        metadata.annotations("labels"),
        metadata.annotations(),
        _controller(metadata),
    )
    return subject, top


def warn_if_suspended(fields: Fields, what: str, warnings: list[FieldError], *, created: str = "pods") -> bool:
    """Return the flag ``suspend`` of *fields*; if it is set, add a warning that *what* creates its objects later."""
    if suspended := fields.flag("suspend"):
        detail = f"the {what} is suspended: its {created} are created when it is resumed"
        warnings.append(field.invalid(fields.path / "suspend", suspended, detail))
    return suspended


def display_name(owner: Owner, namespace: str = "") -> str:
    """Return an object's name for messages: ``JobSet research/train``."""
    return f"{owner.kind} {namespace}/{owner.name}" if namespace else f"{owner.kind} {owner.name}"


def left_to_controller(about: Subject, known: Known) -> str:
    """Return the reason why an object gets no groups: they are created with those of its controller; empty if they are not.

    What an owner that is not compiled here has decided is in the object that it made: in the template of its pods, or in annotations.
    """
    controller = about.controller
    if controller is None or not about.compiled_above:
        return ""
    if not known.compiles(controller.group, controller.kind, about.namespace, controller.name):
        return ""
    return f"its groups are created with those of its controller, {display_name(controller)}"


def _controller(metadata: Fields) -> Owner | None:
    for each in metadata.each_item("ownerReferences"):
        if each.flag("controller"):
            return Owner(each.text("apiVersion"), each.text("kind"), each.text("name"), each.text("uid"))
    return None


def described(workload: Json, controller: Owner) -> bool:
    """Return True if a Workload's ``controllerRef`` is *controller*."""
    errors: list[FieldError] = []
    reference = Fields(workload, WHOLE, errors).mapping("spec").mapping("controllerRef")
    named = reference.text("apiGroup"), reference.text("kind"), reference.text("name")
    return named == (controller.group, controller.kind, controller.name)


def name_of(manifest: Json) -> str:
    """Return an object's name; empty if it has none."""
    errors: list[FieldError] = []
    return Fields(manifest, WHOLE, errors).mapping("metadata").text("name")
