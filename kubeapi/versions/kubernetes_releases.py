"""Minor versions of Kubernetes 1, and what changed in them.

A change is a ``Since``: it is written down once, here, or beside the rule that it concerns.  Code compares the version with it;
``muster explain`` and the generated pages show its text.

Sources: KEP-4671, KEP-5732 and KEP-6012; Kubernetes 1.35 to 1.37.1, and 1.38.0-beta.0.
"""

from __future__ import annotations

from typing import Self

OLDEST, TODAY, NEWEST = 35, 37, 38
"""The oldest, default and newest version that can be mirrored."""


class Since(int):
    """First minor version of Kubernetes in which a change holds: ``minor >= CHANGE``.

    Attributes:
        change: what holds from that version on, as a clause without a full stop, in Markdown.

    """

    change: str

    def __new__(cls, minor: int, change: str) -> Self:
        """Return the version with the text of the change."""
        since = super().__new__(cls, minor)
        since.change = change
        return since

    def __str__(self) -> str:
        """Return the change as a sentence."""
        return f"From Kubernetes {name(self)} on, {self.change}."


LAST_WITH_WORKLOAD_REF = 35
"""The last version whose pods have ``spec.workloadRef``; later ones have ``spec.schedulingGroup``."""
FIRST_WITH_MUTABLE_COMPOSITES = Since(38, "`minGroupCount` of a CompositePodGroup can change")
FIRST_WITH_COMPOSITE_CONDITIONS = Since(
    38, "kube-scheduler writes conditions of CompositePodGroups, and has a reason for each kind of invalid group"
)
FIRST_WITHOUT_POLICY_DEFAULT = Since(38, "an absent `preemptionPolicy` of a group is that of its priority class; before, it was a default")
FIRST_WITH_COMPOSITE_FINALIZER = Since(
    38, "the API server adds the protection finalizer to CompositePodGroups, and a controller removes it"
)
FIRST_WITH_WORKLOAD_NAME = Since(
    38, "a Job whose annotation names a template also names the Workload of the template, in `scheduling.k8s.io/workload-name`"
)
FIRST_WITH_OWNER_IN_GROUP_NAMES = Since(38, "the hash in the name of a group depends on the uid of its owner")
FIRST_WITH_OWNED_JOBS = Since(
    38, "the Job controller creates the Workload of every Job with `spec.scheduling`, also of a Job with an owner"
)
FIRST_WITH_CUT_TEMPLATE_NAMES = Since(38, "the name of a Job's template is at most 63 characters long")


def changes() -> list[Since]:
    """Return the changes of this module, in order of version."""
    return sorted(each for each in globals().values() if isinstance(each, Since))


def name(minor: int) -> str:
    """Return a version in the form that users write: ``1.37``."""
    return f"1.{int(minor)}"


def names(first: int = OLDEST, last: int = NEWEST) -> dict[str, int]:
    """Return the minor versions from *first* to *last* by name."""
    return {name(minor): minor for minor in range(first, last + 1)}
