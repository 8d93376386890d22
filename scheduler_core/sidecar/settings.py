"""Settings of the sidecar: the single declaration of each option, with its bounds, default and help text.

``muster sidecar`` derives its options and help from these declarations, and so does the documentation.  All higher layers take their
defaults from here.  The environment variable of a setting is ``MUSTER_`` plus the option name.  Imports are kept few so that
``muster sidecar --help`` starts quickly.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, get_args

from scheduler_core.behavior.scheduler_behavior import BEHAVIORS
from scheduler_core.model.options import COMPLETE, ON, STRATEGIES, SWITCH
from scheduler_core.sidecar.writes import EvictionMethod
from validators.gates import Gates

if TYPE_CHECKING:
    from scheduler_core.loading.configuration.scheduler_configuration import SchedulerConfiguration
    from scheduler_core.model.scheduler_profile import SchedulerProfile
    from scheduler_core.placement.extension_points import Plugins

LEASE_NAMESPACE, LEASE_NAME = "muster-system", "muster-sidecar"
EXPLAIN_SECRET, EXPLAIN_TOKEN_HEADER = "muster-explain", "X-Muster-Token"
"""Secret with the key ``token`` that the manifests mount, and the header with the token: the API server forwards no bearer tokens."""
NAMESPACE_VARIABLE = "MUSTER_LEASE_NAMESPACE"
"""Environment variable with the namespace of the lease, used without ``--lease``."""


class Mode(enum.StrEnum):
    """Mode of the sidecar; any set of modes can be enabled, but preempt needs place or ungate."""

    VALIDATE = "validate"
    """Reports invalid trees on their groups."""
    PLACE = "place"
    """Binds the pods whose ``spec.schedulerName`` is ours."""
    UNGATE = "ungate"
    """Pins the pods with our scheduling gate, of any scheduler, and removes the gate."""
    PREEMPT = "preempt"
    """Evicts pods to free capacity for roots that are placed."""
    PROTECT = "protect"
    """Adds and removes the protection finalizers of groups."""


@dataclasses.dataclass(frozen=True, slots=True)
class Knob:
    """Declaration of a setting.

    Attributes:
        option: ``--writers``, or ``--labels/--no-labels``.
        help: help text.
        metavar: placeholder of the value in the help.
        choices: allowed values; empty if not restricted.
        bounds: minimum and maximum, of type int if the minimum is; None: no bound.
        unset: text for the default in the help, possibly empty; None: the default of the field is shown.
        repeatable: whether the option can be given several times.

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
        """The option as an identifier: ``scheduler_name``."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def variable(self) -> str:
        """The environment variable: ``MUSTER_SCHEDULER_NAME``."""
        return f"MUSTER_{self.name.upper()}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the sidecar; the ``Knob`` of each field describes it.

    A *budget* of 0 means the default search budget.  Without a *lease*, at most one replica is allowed to run.
    """

    kubeconfig: Annotated[
        str | None, Knob("--kubeconfig", "Kubeconfig of the cluster.", "FILE", unset="as for kubectl; in a pod its service account")
    ] = None
    context: Annotated[str | None, Knob("--context", "Context of the kubeconfig.", "NAME", unset="the current context")] = None
    modes: Annotated[frozenset[Mode], Knob("--mode", f"Enabled modes, of {', '.join(Mode)}.", "MODE,…")] = frozenset(
        {Mode.VALIDATE, Mode.PLACE, Mode.PREEMPT, Mode.PROTECT}
    )
    scheduler_name: Annotated[str, Knob("--scheduler-name", "The spec.schedulerName of the pods that it binds.", "NAME")] = "muster"
    scheduler_config: Annotated[
        "SchedulerConfiguration | None",
        Knob(
            "--scheduler-config",
            "KubeSchedulerConfiguration (v1) with a profile for the scheduler name: plugins, weights, scoring strategies.",
            "FILE",
            unset="kube-scheduler's default profile",
        ),
    ] = None
    device_topology: Annotated[
        tuple[str, ...],
        Knob(
            "--device-topology",
            "Attribute of devices, such as gpu.example.com/clique, that is a topology key: a node is in the domain that its devices name"
            " (repeatable).",
            "ATTRIBUTE,…",
            unset="",
            repeatable=True,
        ),
    ] = ()
    kubernetes: Annotated[
        str,
        Knob(
            "--kubernetes",
            "Version of kube-scheduler to mirror: its decisions with greedy, reasons, messages and labels of metrics.",
            choices=tuple(BEHAVIORS),
            unset="that of the API server",
        ),
    ] = ""
    strategy: Annotated[
        str,
        Knob(
            "--strategy",
            "greedy: decide as kube-scheduler; complete: also search where greedy leaves pods without a node.",
            choices=STRATEGIES,
        ),
    ] = COMPLETE
    rank_order: Annotated[
        str,
        Knob(
            "--rank-order",
            "Give equal pods of a group nodes by their indexes, so that consecutive ones are neighbours; greedy never does.",
            choices=SWITCH,
        ),
    ] = ON
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
    explain_token_file: Annotated[
        str | None,
        Knob(
            "--explain-token-file",
            "File with the token that clients of /explain must send, as a bearer token or in X-Muster-Token; read at each request."
            " Without a token, only clients on this machine are answered, such as kubectl port-forward.",
            "FILE",
            unset="",
        ),
    ] = None

    @property
    def places(self) -> bool:
        """Return whether any mode places pods."""
        return bool(self.modes & {Mode.PLACE, Mode.UNGATE})

    @property
    def profile(self) -> "SchedulerProfile | None":
        """Return the profile by which pods are placed; None for kube-scheduler's default."""
        return self.scheduler_config.profiles.profile(self.scheduler_name) if self.scheduler_config else None


def knobs() -> Mapping[str, Knob]:
    """Return the knob of each field of Settings, in the order of the documentation."""
    return {each.name: get_args(each.type)[1] for each in dataclasses.fields(Settings)}


def default_value(field: str) -> str | float | None:
    """Return the default of a field in the form of its option; None if no default is shown."""
    default = None if knobs()[field].unset is not None else getattr(Settings, field)
    if isinstance(default, frozenset):
        return ",".join(each for each in Mode if each in default)
    return str(default) if isinstance(default, enum.Enum) else default
