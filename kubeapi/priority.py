"""Priority classes."""

from __future__ import annotations

from typing import ClassVar

from kubeapi.meta import Int32, ObjectMeta, Struct

PREEMPT_LOWER_PRIORITY = "PreemptLowerPriority"
PREEMPTION_POLICIES = ("Never", PREEMPT_LOWER_PRIORITY)
SYSTEM_PREFIX = "system-"


class PriorityClass(Struct, frozen=True, gc=False):
    """``scheduling.k8s.io/v1`` PriorityClass."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str | None = None
    kind: ClassVar[str] = "PriorityClass"


def _system(name: str, value: int) -> PriorityClass:
    return PriorityClass(ObjectMeta(name=name), value, preemption_policy=PREEMPT_LOWER_PRIORITY)


SYSTEM_CLASSES = {
    "system-cluster-critical": _system("system-cluster-critical", 2_000_000_000),
    "system-node-critical": _system("system-node-critical", 2_000_001_000),
}
"""The built-in classes of every cluster, with their fixed values."""
