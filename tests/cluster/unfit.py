"""Groups that the API server accepts and Muster refuses, and what kubectl prints about them: they depend on the version of Kubernetes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from tests import builders
from tests.cluster.programs import find
from tests.cluster.resources import Manifest


@dataclasses.dataclass(frozen=True, slots=True)
class Unfit:
    """A group with one fault.

    Attributes:
        kind: its kind.
        version: version of the API that every Kubernetes serves.
        spec: its spec by its name.
        rule: rule of Muster that refuses it.
        field: field of the cause.
        detail: message of the cause, without the rule, of a group with the name x.

    """

    kind: str
    version: str
    spec: Callable[[str], dict[str, Any]]
    rule: str
    field: str
    detail: str

    @property
    def message(self) -> str:
        """Return the message of the cause of a group with the name x."""
        return f"{self.detail} [muster: {self.rule}]"

    @property
    def cause(self) -> str:
        """Return the cause of a group with the name x, as kubectl prints it."""
        return f"{self.field}: {self.message}"

    @property
    def refusal(self) -> str:
        """Return what kubectl prints when a group with the name x is refused."""
        return f'The {self.kind} "x" is invalid: {self.cause}'


ALL_WITHOUT_GANG = Unfit(
    kind="PodGroup",
    version="v1beta1",
    # It leaves as a whole, and is not placed as a whole.
    spec=lambda _: {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}},
    rule="all-needs-gang",
    field="spec.disruptionMode",
    detail='Invalid value: "all": cannot have "all" disruption mode when scheduling policy is other than "gang"',
)
OWN_PARENT = Unfit(
    kind="CompositePodGroup",
    version="v1alpha3",
    spec=lambda name: {"parentCompositePodGroupName": name, "workloadRef": {"workloadName": "train", "templateName": "train"}},
    rule="parent-acyclic",
    field="spec.parentCompositePodGroupName",
    detail='Invalid value: "x": must not lead back to the group itself: x → x',
)


def unfit() -> Unfit:
    """Return the group that the API server of the programs accepts: from 1.38 on it refuses mode All without a gang itself."""
    return ALL_WITHOUT_GANG if find().minor() < 38 else OWN_PARENT


def unfit_group(name: str, namespace: str, version: str = "") -> Manifest:
    """Return the manifest of ``unfit``, of another *version* of the API if one is given."""
    group = unfit()
    return builders.group(group.kind, name, version=version or group.version, metadata={"namespace": namespace}, **group.spec(name))


def is_refused(answer: object) -> bool:
    """Return true if the text of *answer* says that Muster refuses ``unfit``."""
    return f"[muster: {unfit().rule}]" in str(answer)
