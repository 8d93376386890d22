"""The settings of the sidecar: each is declared here, once, with its option, its bounds, its default and what it is for.

``muster sidecar`` derives its options and their help from them, and the documentation its table; all layers above take their defaults from
here.  The variable of a setting is ``MUSTER_`` and the name of its option.  Little is imported: ``muster sidecar --help`` is to be quick.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, get_args

from scheduler_core.model.options import COMPLETE, STRATEGIES
from scheduler_core.sidecar.writes import EvictionMethod
from validators.gates import Gates

if TYPE_CHECKING:
    from scheduler_core.placement.extension_points import Plugins

LEASE_NAMESPACE, LEASE_NAME = "muster-system", "muster-sidecar"
NAMESPACE_VARIABLE = "MUSTER_LEASE_NAMESPACE"
"""The variable with the namespace of the lease, where none is given."""


class Mode(enum.StrEnum):
    """Mode of the sidecar; each can be enabled by itself."""

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


@dataclasses.dataclass(frozen=True, slots=True)
class Knob:
    """Declaration of a setting.

    Attributes:
        option: ``--writers``, or ``--labels/--no-labels``.
        help: what it is for.
        metavar: what a value is called.
        choices: the values, where they are few.
        bounds: the least and the largest number, whole if the least is; None: there is none.
        unset: what holds where it is not given, in words, possibly none; None: the default of the field is shown.
        repeatable: whether it can be given several times.

    """

    option: str
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    bounds: tuple[float, float | None] | None = None
    unset: str | None = None
    repeatable: bool = False

    @property
    def flag(self) -> str:
        """The option alone: ``--labels`` of ``--labels/--no-labels``."""
        return self.option.partition("/")[0]

    @property
    def name(self) -> str:
        """The option as a variable of a program: ``scheduler_name``."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def variable(self) -> str:
        """The variable of the environment: ``MUSTER_SCHEDULER_NAME``."""
        return f"MUSTER_{self.name.upper()}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the sidecar; the knob of each field describes it.

    A *budget* of 0 is the usual one of a search.  Without a *lease* there is one replica at most.
    """

    kubeconfig: Annotated[
        str | None, Knob("--kubeconfig", "Kubeconfig of the cluster.", "FILE", unset="as for kubectl; in a pod its service account")
    ] = None
    context: Annotated[str | None, Knob("--context", "Context of the kubeconfig.", "NAME", unset="the current context")] = None
    modes: Annotated[frozenset[Mode], Knob("--mode", f"Enabled modes, of {', '.join(Mode)}.", "MODE,…")] = frozenset(
        {Mode.VALIDATE, Mode.PLACE, Mode.PREEMPT, Mode.PROTECT}
    )
    scheduler_name: Annotated[str, Knob("--scheduler-name", "The spec.schedulerName of the pods that it binds.", "NAME")] = "muster"
    strategy: Annotated[
        str,
        Knob(
            "--strategy",
            "greedy: decide as kube-scheduler; complete: also search where greedy leaves pods without a node.",
            choices=STRATEGIES,
        ),
    ] = COMPLETE
    budget: Annotated[int, Knob("--budget", "Maximum number of search steps for a root.", "STEPS", bounds=(1, None), unset="")] = 0
    eviction_method: Annotated[
        EvictionMethod,
        Knob("--evict", "How victims are removed: evict respects PodDisruptionBudgets, delete does not.", choices=tuple(EvictionMethod)),
    ] = EvictionMethod.EVICT
    by_label: Annotated[
        bool, Knob("--labels/--no-labels", "Find the pods of a group by label if the API server drops spec.schedulingGroup.")
    ] = True
    settle_seconds: Annotated[
        float, Knob("--settle", "Time for which a violation must last before it is reported.", "SECONDS", bounds=(0.0, 600.0))
    ] = 2.0
    lease: Annotated[
        tuple[str, str] | None,
        Knob(
            "--lease",
            "Lease by which replicas elect a leader; none: no election.",
            "NAMESPACE/NAME|none",
            unset=f"{LEASE_NAME}, in {NAMESPACE_VARIABLE} or {LEASE_NAMESPACE}",
        ),
    ] = (LEASE_NAMESPACE, LEASE_NAME)
    identity: Annotated[str, Knob("--identity", "Name of this replica in the lease.", "NAME", unset="host name and process id")] = ""
    gates: Annotated[
        Gates, Knob("--gates", "Feature gates of the API server; all others are on.", "A=true,B=false", unset="", repeatable=True)
    ] = dataclasses.field(default_factory=Gates)
    plugins: Annotated[
        "Plugins | None",
        Knob("--plugin", "An installed placement plugin (repeatable).", "NAME,…", unset="", repeatable=True),
    ] = None
    writers: Annotated[int, Knob("--writers", "Maximum number of concurrent writes.", "N", bounds=(1, 64))] = 8
    silence_seconds: Annotated[
        float,
        Knob(
            "--silence",
            "Time without a message after which a watch is restarted; the API server sends one at least every minute.",
            "SECONDS",
            bounds=(5.0, 600.0),
        ),
    ] = 90.0
    probe_bind: Annotated[
        str, Knob("--probe-bind", "Address of probes, metrics and /explain; port 0 selects a free port.", "HOST:PORT")
    ] = "127.0.0.1:8080"

    @property
    def places(self) -> bool:
        """Return whether any mode places pods."""
        return bool(self.modes & {Mode.PLACE, Mode.UNGATE})


def knobs() -> Mapping[str, Knob]:
    """Return the knob of each field of Settings, in the order in which they are told."""
    return {each.name: get_args(each.type)[1] for each in dataclasses.fields(Settings)}


def default_value(field: str) -> str | float | None:
    """Return the default of a field as its option has it; None where it has none that is shown."""
    default = None if knobs()[field].unset is not None else getattr(Settings, field)
    if isinstance(default, frozenset):
        return ",".join(each for each in Mode if each in default)
    return str(default) if isinstance(default, enum.Enum) else default
