"""Who an object is: its kind, name and owner, as adapters need them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from validators import field
from validators.field import FieldError, FieldPath
from validators.model.decode import Json
from workloadbuilder.adapters.shared.fields import Fields
from workloadbuilder.adapters.shared.known_objects import Known
from workloadbuilder.item import WHOLE, Owner

COMPILERS = frozenset(
    {
        ("jobset.x-k8s.io", "JobSet"),
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
        ("trainer.kubeflow.org", "TrainJob"),
        ("grove.io", "PodCliqueSet"),
    }
)
"""Kinds whose controllers own other controllers' objects and make the one Workload of them all (KEP-6089, "Core Principles")."""


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """An object's identity; *controller* is what controls it, if anything does."""

    owner: Owner
    namespace: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    controller: Owner | None = None

    @property
    def compiled_above(self) -> bool:
        """Whether the controller of this object's controller makes the Workload."""
        return self.controller is not None and (self.controller.group, self.controller.kind) in COMPILERS


def read_identity(found: Json, errors: list[FieldError], warnings: list[FieldError]) -> tuple[Subject, Fields]:
    """The identity of an object, and its fields; what is wrong is added to *errors* and *warnings*."""
    top = Fields(found, WHOLE, errors)
    metadata = top.mapping("metadata")
    name = metadata.text("name")
    if not name and (prefix := metadata.text("generateName")):
        name = prefix.rstrip("-.")
        detail = f"the API server will add letters to it; the name {name!r} stands for what it makes"
        warnings.append(field.invalid(FieldPath("metadata", "generateName"), prefix, detail))
    subject = Subject(
        Owner(top.text("apiVersion"), top.text("kind"), name, metadata.text("uid")),
        metadata.text("namespace"),
        metadata.annotations("labels"),
        metadata.annotations(),
        _controller(metadata),
    )
    return subject, top


def display_name(owner: Owner, namespace: str = "") -> str:
    """An object as it is told: ``JobSet research/train``."""
    return f"{owner.kind} {namespace}/{owner.name}" if namespace else f"{owner.kind} {owner.name}"


def left_to_controller(about: Subject, known: Known) -> str:
    """Why no groups are made for an object whose controller makes the Workload; empty where it does not."""
    above = about.controller
    if above is None or not about.compiled_above:
        return ""
    made = known.compiles(above.group, above.kind, about.namespace, above.name)
    return f"its groups are {'made with those' if made else 'those of the Workload'} of {display_name(above)}, to which it belongs"


def _controller(metadata: Fields) -> Owner | None:
    for each in metadata.each_item("ownerReferences"):
        if each.flag("controller"):
            return Owner(each.text("apiVersion"), each.text("kind"), each.text("name"), each.text("uid"))
    return None


def described(workload: Json, controller: Owner) -> bool:
    """Whether a Workload's ``controllerRef`` is *controller*."""
    errors: list[FieldError] = []
    reference = Fields(workload, WHOLE, errors).mapping("spec").mapping("controllerRef")
    named = reference.text("apiGroup"), reference.text("kind"), reference.text("name")
    return named == (controller.group, controller.kind, controller.name)


def name_of(found: Json) -> str:
    """An object's name, as far as it is written."""
    errors: list[FieldError] = []
    return Fields(found, WHOLE, errors).mapping("metadata").text("name")
