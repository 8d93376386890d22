"""Settings of the sidecar, each with the declaration of its option.

``muster sidecar`` derives its options and help from the declarations, and so does the documentation.  All higher layers take their
defaults from here.  Imports are kept few so that ``muster sidecar --help`` starts quickly.
"""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from kubeapi import content
from kubeapi.pods import COSCHEDULING_LABEL, POD_GROUP_LABEL
from scheduler_core.model import placement_options
from scheduler_core.sidecar.writes import Deviations, EvictionMethod
from validators import rule_options
from validators.gates import Gates
from validators.options import (
    ADDRESS,
    FILE,
    NAME,
    SWITCH,
    Address,
    Option,
    OptionType,
    items,
    one_of,
    options_of,
    scalar,
    seconds,
    setting,
    whole_number,
)

if TYPE_CHECKING:
    from scheduler_core.behavior.scheduler_behavior import SchedulerBehavior
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
    BUILD = "build"
    """Creates the Workloads and groups of objects whose controllers create none, where the label muster.dev/groups asks for it."""


def _modes(texts: Sequence[str]) -> frozenset[Mode]:
    names = items(texts)
    for name in names:
        if name not in tuple(Mode):
            near = get_close_matches(name, tuple(Mode), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"there is no mode {name!r}{hint}; the modes are {', '.join(Mode)}")
    if not names:
        raise ValueError(f"at least one of {', '.join(Mode)} is needed")
    if "preempt" in names and not {"place", "ungate"} & set(names):
        raise ValueError("preempt needs place or ungate")
    return frozenset(map(Mode, names))


def _scheduler_name(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


def _lease(text: str) -> tuple[str, str] | None:
    if text == "none":
        return None
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise ValueError(f"{text!r} must be NAMESPACE/NAME or none")
    # The API server would answer as if the namespace did not exist.
    for part, complaints in (("namespace", content.label(namespace)), ("name", content.subdomain(name))):
        if complaints:
            raise ValueError(f"{text!r}: {part}: {complaints[0]}")
    return namespace, name


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the sidecar; the ``Option`` of each field describes it.

    A *budget* of 0 means the default search budget.  Without a *lease*, at most one replica is allowed to run.
    """

    kubeconfig: str | None = setting(
        Option("--kubeconfig", FILE, "Kubeconfig of the cluster.", unset="as for kubectl; in a pod its service account"), None
    )
    context: str | None = setting(Option("--context", NAME, "Context of the kubeconfig.", unset="the current context"), None)
    modes: frozenset[Mode] = setting(
        Option("--mode", OptionType(_modes, metavar="MODE,..."), f"Enabled modes, of {', '.join(Mode)}.", "validate,place,preempt,protect")
    )
    scheduler_name: str = setting(
        Option("--scheduler-name", scalar(_scheduler_name, "NAME"), "The spec.schedulerName of the pods that it binds.", "muster")
    )
    scheduler_config: "SchedulerConfiguration | None" = setting(
        dataclasses.replace(placement_options.SCHEDULER_CONFIG, unset="kube-scheduler's default profile"), None
    )
    device_topology: tuple[str, ...] = setting(placement_options.DEVICE_TOPOLOGY, ())
    kubernetes: "SchedulerBehavior | None" = setting(
        dataclasses.replace(
            placement_options.KUBERNETES,
            help="Version of kube-scheduler to mirror: its decisions with greedy, reasons, messages and labels of metrics.",
            unset="that of the API server",
        ),
        None,
    )
    strategy: str = setting(placement_options.STRATEGY)
    rank_order: bool = setting(placement_options.RANK_ORDER)
    budget: int = setting(placement_options.BUDGET, 0)
    eviction_method: EvictionMethod = setting(
        Option(
            "--evict",
            one_of(tuple(EvictionMethod), EvictionMethod),
            "How victims are removed: evict respects PodDisruptionBudgets, delete does not.",
            EvictionMethod.EVICT.value,
        )
    )
    deviations: Deviations = setting(
        Option(
            "--deviations",
            one_of(tuple(Deviations), Deviations),
            "Treatment of gangs that mode ungate has pinned and their scheduler does not bind as planned: report, or undo, which deletes "
            "their pods so that their controllers create them again.",
            Deviations.REPORT.value,
        )
    )
    deviation_seconds: float = setting(
        Option("--deviation-after", seconds(1, 86400), "Time after which a pinned gang that is not bound deviates from its plan.", "300.0")
    )
    by_label: bool = setting(
        Option(
            "--labels/--no-labels",
            SWITCH,
            f"Pods that name no group may name one by the label of the coscheduling plugin, {COSCHEDULING_LABEL}. The label {POD_GROUP_LABEL} "
            "is read in any case.",
            "true",
        )
    )
    settle_seconds: float = setting(
        Option("--settle", seconds(0, 600), "Time for which a violation must last before it is reported.", "2.0")
    )
    lease: tuple[str, str] | None = setting(
        Option(
            "--lease",
            scalar(_lease, "NAMESPACE/NAME|none"),
            "Lease by which replicas elect a leader; none: no election.",
            unset=f"{LEASE_NAME}, in {NAMESPACE_VARIABLE} or {LEASE_NAMESPACE}",
        ),
        (LEASE_NAMESPACE, LEASE_NAME),
    )
    identity: str = setting(Option("--identity", NAME, "Name of this replica in the lease.", unset="host name and process id"))
    gates: Gates = setting(rule_options.GATES)
    plugins: "Plugins | None" = setting(placement_options.PLUGIN, None)
    writers: int = setting(Option("--writers", whole_number(1, 64), "Maximum number of concurrent writes.", "8"))
    silence_seconds: float = setting(
        Option(
            "--silence",
            seconds(5, 600),
            "Time without a message after which a watch is restarted; the API server sends one at least every minute.",
            "90.0",
        )
    )
    probe_bind: Address = setting(
        Option("--probe-bind", ADDRESS, "Address of probes, metrics and /explain; port 0 selects a free port.", "127.0.0.1:8080")
    )
    explain_token_file: str | None = setting(
        Option(
            "--explain-token-file",
            FILE,
            "File with the token that clients of /explain must send, as a bearer token or in X-Muster-Token; read at each request."
            " Without a token, only clients on this machine are answered, such as kubectl port-forward.",
        ),
        None,
    )

    @property
    def places(self) -> bool:
        """Return whether any mode places pods."""
        return bool(self.modes & {Mode.PLACE, Mode.UNGATE})

    @property
    def profile(self) -> "SchedulerProfile | None":
        """Return the profile by which pods are placed; None for kube-scheduler's default."""
        return self.scheduler_config.profiles.profile(self.scheduler_name) if self.scheduler_config else None


OPTIONS: Mapping[str, Option[Any]] = options_of(Settings)
"""The option of each field of the settings, in the order of the documentation."""
