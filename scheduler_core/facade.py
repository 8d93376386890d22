"""Public entry to the library: one simulation, with the defaults of ``muster simulate``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from kubeapi import problem as internal_problem
from kubeapi.decode import Source
from kubeapi.problem import ProblemKind
from scheduler_core.behavior.scheduler_behavior import BEHAVIORS, KUBERNETES_1_37
from scheduler_core.model import decision as internal
from scheduler_core.model.decision import Eviction, GroupCondition, RankedGroup, Search, Step, VolumeChoice, unplaced_pods
from scheduler_core.model.device_claims import DeviceClaim
from scheduler_core.model.devices import Allocation
from scheduler_core.model.names import Domain, Name
from scheduler_core.model.options import STRATEGIES, is_device_attribute
from scheduler_core.model.status import Status
from scheduler_core.wording import decision_words
from scheduler_core.wording.changes import limit_text, remedy_text
from scheduler_core.wording.conditions import conditions
from scheduler_core.wording.constraints import constraint_text
from scheduler_core.wording.pre_enqueue_words import order_words
from scheduler_core.wording.problem_words import object_words, problem_words
from validators.gates import Gates

_NOT_SEARCHED = Search("greedy", "not-searched")


@dataclasses.dataclass(frozen=True, slots=True)
class Remedy:
    """Verified change: with all *steps* applied to the input, the root has status *then*."""

    change: str
    """The change in words."""
    steps: tuple[Step, ...]
    then: Status = Status.SUCCESS


@dataclasses.dataclass(frozen=True, slots=True)
class GroupDecision:
    """Result for one group of a tree."""

    group: Name
    status: Status
    message: str = ""
    domain: Domain | None = None
    conditions: tuple[GroupCondition, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """Result for one root in one cycle.  Pods are ``namespace/name``, nodes are names."""

    root: Name
    status: Status
    message: str = ""
    assignments: Mapping[str, str] = dataclasses.field(default_factory=dict)
    nominations: Mapping[str, str] = dataclasses.field(default_factory=dict)
    victims: tuple[str, ...] = ()
    groups: tuple[GroupDecision, ...] = ()
    search: Search = _NOT_SEARCHED
    pending: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Reason for each pod of the root that is not placed."""
    remedies: tuple[Remedy, ...] = ()
    """Changes that help, the smallest first; only for roots that are not placed, and only if remedies were searched."""
    conflict: tuple[str, ...] = ()
    """Conflicting constraints in words: they cannot be satisfied together, but without any one of them the rest can."""
    remedies_note: str = ""
    """Limit of the search for remedies, if it was not exhaustive."""
    preemption: Eviction | None = None
    """None without victims, and with strategy ``greedy``."""
    volumes: Mapping[str, VolumeChoice] = dataclasses.field(default_factory=dict)
    """Choice for each claim, ``namespace/name``, of a placed pod that waited for it."""
    devices: Mapping[DeviceClaim, Allocation] = dataclasses.field(default_factory=dict)
    """Devices of the claims of the placed pods."""
    ranks: tuple[RankedGroup, ...] = ()
    """Rank order of each PodGroup with ranked pods; only of roots that are placed in rank order."""

    @classmethod
    def worded(cls, decision: internal.Decision) -> Decision:
        """Return a decision of a cycle with its values in words."""
        words = {
            "message": decision_words.message(decision),
            "pending": decision_words.pending(decision.pending),
            "groups": tuple(
                GroupDecision(each.group, each.status, decision_words.group_message(each), each.domain, conditions(decision, each))
                for each in decision.groups
            ),
            "remedies": tuple(Remedy(remedy_text(each), each.steps, each.then) for each in decision.remedies),
            "conflict": tuple(map(constraint_text, decision.conflict)),
            "remedies_note": limit_text(decision.remedies_note),
        }
        same = {each.name: getattr(decision, each.name) for each in dataclasses.fields(cls) if each.name not in words}
        return cls(**words | same)


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Input object that cannot be used, or not in full, with the consequence."""

    object: str
    """``Kind name`` or ``Kind namespace/name``, or where else the problem is, such as a file."""
    message: str
    kind: ProblemKind = ProblemKind.OTHER_PROGRAM
    names: tuple[Name, ...] = ()
    """All objects that the problem is about; ``object`` can name fewer.  Cluster-scoped objects have an empty namespace."""

    @classmethod
    def worded(cls, problem: internal_problem.Problem) -> Problem:
        """Return a problem of loading in words."""
        return cls(object_words(problem), problem_words(problem), problem.kind, problem.names)


@dataclasses.dataclass(frozen=True, slots=True)
class Simulation:
    """Result of ``simulate``.

    Attributes:
        decisions: one for each root with pending pods, in the order of the scheduling queue; with ``evict`` the decisions of the
            second cycle follow.
        pending: the reason for each pod that has no node in the end, by ``namespace/name``.
        problems: objects that could not be used, or not in full.

    """

    decisions: tuple[Decision, ...]
    pending: Mapping[str, str]
    problems: tuple[Problem, ...]

    @property
    def placed(self) -> bool:
        """Return whether every root and every pod is placed in the end."""
        last = {each.root: each.status for each in self.decisions}
        return not self.pending and all(each is Status.SUCCESS for each in last.values())


def simulate(  # noqa: PLR0913 - the options of muster simulate
    objects: Iterable[Source],
    *,
    strategy: str = "complete",
    evict: bool = False,
    order: Iterable[str] = (),
    scheduler_name: str | None = None,
    gates: Mapping[str, bool] | None = None,
    budget: int | None = None,
    remedies: int | None = None,
    scheduler_config: Mapping[str, Any] | None = None,
    rank_order: bool = True,
    device_topology: Iterable[str] = (),
    kubernetes: str = KUBERNETES_1_37.version,
) -> Simulation:
    """Place all pending groups and pods among *objects* on the nodes among them, as ``muster simulate`` does.

    Nodes, Pods, PodGroups, CompositePodGroups, Workloads, PriorityClasses, PodDisruptionBudgets, PersistentVolumeClaims,
    PersistentVolumes, StorageClasses, CSINodes, CSIDrivers, CSIStorageCapacities and VolumeAttachments are read; objects of other kinds
    are ignored.  The
    result depends on the objects alone: neither on their order nor on the time.

    >>> import scheduler_core
    >>> capacity = {"cpu": "2", "memory": "4Gi", "pods": "10"}
    >>> node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": capacity}}
    >>> container = {"name": "main", "image": "train", "resources": {"requests": {"cpu": "1"}}}
    >>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "train-0"}, "spec": {"containers": [container]}}
    >>> result = scheduler_core.simulate([node, pod])
    >>> result.placed, dict(result.decisions[0].assignments)
    (True, {'default/train-0': 'n1'})

    Stability: the parameters of this function, and the names that ``scheduler_core.__all__`` lists with their fields, keep their
    names and meaning; parameters and fields are only added, with defaults.  Which placement is chosen may change in a release
    that says so in the changelog, for example when kube-scheduler changes.  Every other module of ``scheduler_core`` is
    internal and may change in any release.

    Args:
        objects: parsed objects, or the JSON text of one object as bytes each; a List is replaced by its items.
        strategy: ``complete`` searches if greedy placement leaves pods without a node; ``greedy`` decides as kube-scheduler.
        evict: remove the victims of preemption and run a second cycle.
        order: roots whose cycles come first, as ``name``, ``namespace/name`` or ``Kind/namespace/name``.
        scheduler_name: place only pods with this ``spec.schedulerName``; by default pods of every scheduler.
        gates: feature gates of the API server, on or off; those not named are on.
        budget: steps that the search may take for one root; by default 20,000, about 50 ms.
        remedies: number of roots not placed for which remedies are computed; by default 3, with ``greedy`` 0.
        scheduler_config: a KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1); by default one among *objects*, or else
            kube-scheduler's default profile for every scheduler.  With a configuration, pods of a scheduler without a profile are
            not placed.
        rank_order: with ``complete``, let equal pods of a group exchange nodes so that pods with consecutive indexes are neighbours.
        device_topology: attributes of devices, such as ``gpu.example.com/clique``, that are topology keys: a node is in the domain that its
            devices name.
        kubernetes: version of the kube-scheduler to mirror, ``1.37`` or ``1.38``.

    Returns:
        Simulation: decisions, pods that are pending in the end, and objects that could not be used.

    Raises:
        ValueError: an unknown strategy, version or gate, a *scheduler_config* with errors, a *device_topology* without a domain, gates with which no API server starts, or *order* names a root that does not exist.
        ModuleNotFoundError: numpy is not installed; install the extra ``simulate``.

    """
    # Imported late: the names of this package are imported where numpy need not be installed.
    from scheduler_core.cluster.load import load
    from scheduler_core.cycle.run_cycle import CycleOptions, run_cycle
    from scheduler_core.exact.step_budget import DEFAULT
    from scheduler_core.loading.configuration.scheduler_configuration import read_configuration
    from scheduler_core.queueing.queue_order import OrderError
    from scheduler_core.whatif.remedies.for_decisions import with_remedies

    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}, is {strategy!r}")
    if kubernetes not in BEHAVIORS:
        raise ValueError(f"kubernetes must be one of {', '.join(BEHAVIORS)}, is {kubernetes!r}")
    behavior = BEHAVIORS[kubernetes]
    options = CycleOptions(
        strategy=strategy,
        rank_order=rank_order,
        evict=evict,
        order=tuple(order),
        scheduler_name=scheduler_name,
        gates=Gates.from_switches((gates or {}).items(), behavior.minor),
        budget=DEFAULT if budget is None else budget,
    )
    given = [*objects]
    configuration = read_configuration(scheduler_config, behavior, options.gates) if scheduler_config is not None else None
    if configuration is not None and configuration.errors:
        raise ValueError(f"scheduler_config: {'; '.join(f'{each.path}: {each}' for each in configuration.errors)}")
    attributes = tuple(device_topology)
    if wrong := [name for name in attributes if not is_device_attribute(name)]:
        raise ValueError(f"device_topology: {wrong[0]!r} must be an attribute with its domain, such as gpu.example.com/clique")
    snapshot = load(given, configuration.profiles if configuration is not None else None, attributes, behavior, options.gates)
    try:
        result = run_cycle(snapshot, options)
    except OrderError as error:
        raise ValueError(order_words(error.cause)) from None
    decisions = with_remedies(result.decisions, given, snapshot, options, remedies)
    ignored = configuration.problems(len(snapshot.nodes)) if configuration is not None else ()
    problems = map(Problem.worded, (*sorted(result.problems, key=lambda each: (object_words(each), problem_words(each))), *ignored))
    pending = decision_words.pending(unplaced_pods(decisions, result.pending))
    return Simulation(tuple(map(Decision.worded, decisions)), pending, tuple(problems))
