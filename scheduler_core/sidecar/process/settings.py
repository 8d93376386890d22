"""The knobs of the sidecar, each with its default and its reason."""

from __future__ import annotations

import dataclasses
import enum

from scheduler_core.placement.extension_points import Plugins
from scheduler_core.placement.state import NO_PLUGINS
from scheduler_core.sidecar.controllers.validity import SETTLE_SECONDS
from scheduler_core.sidecar.writes import Evicting
from validators.gates import Gates


class Mode(enum.StrEnum):
    """What the sidecar does; each on or off."""

    VALIDATE = "validate"
    """Tells the groups of a tree that breaks a rule."""
    PLACE = "place"
    """Binds the pods whose ``spec.schedulerName`` is ours."""
    UNGATE = "ungate"
    """Pins the pods with our scheduling gate, of any scheduler, and opens it."""
    PREEMPT = "preempt"
    """Makes room for roots that are placed."""
    PROTECT = "protect"
    """Adds and removes the protection finalizers of groups."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the sidecar is run.

    Attributes:
        modes: what it does.
        scheduler_name: the ``spec.schedulerName`` of the pods that it binds.
        strategy: ``complete`` searches where greedy does not place a root whole; ``greedy`` decides as kube-scheduler does.
        budget: steps that the search may take for a root.
        evicting: how victims leave.
        by_label: whether a pod without ``spec.schedulingGroup`` is a member by its label.
        settle_seconds: how long a breach stands before it is told.
        identity: who this replica is in the lease.
        lease: namespace and name of the lease; None to lead without one, where there is one replica at most.
        gates: the feature gates of the API server.
        plugins: placement plugins of other packages.
        silence_seconds: how long a watch may say nothing before it is begun anew.
        writers: writes at once.

    """

    modes: frozenset[Mode] = frozenset({Mode.VALIDATE, Mode.PLACE, Mode.PREEMPT, Mode.PROTECT})
    scheduler_name: str = "muster"
    strategy: str = "complete"
    budget: int = 0
    evicting: Evicting = Evicting.EVICT
    by_label: bool = True
    settle_seconds: float = SETTLE_SECONDS
    identity: str = ""
    lease: tuple[str, str] | None = ("muster-system", "muster-sidecar")
    gates: Gates = dataclasses.field(default_factory=Gates)
    plugins: Plugins = NO_PLUGINS
    silence_seconds: float = 90.0
    writers: int = 8

    @property
    def places(self) -> bool:
        """Whether it places anything."""
        return bool(self.modes & {Mode.PLACE, Mode.UNGATE})
