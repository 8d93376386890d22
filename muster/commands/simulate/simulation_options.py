"""Options of a simulation: each is one of the command line and a key of a batch line, and sets a part of the request.

``simulate``, ``fit`` and ``why`` have options from here.  Imports are kept few so that the help starts quickly.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from expansion.managed_clusters import MANAGED_CLUSTERS
from expansion.pod_creation import ADMISSION_PLUGINS
from muster.commands.described_nodes.description_syntax import NODES
from muster.commands.options import near
from muster.commands.pod_creation import POD_TEMPLATE
from muster.commands.simulate import node_addition
from scheduler_core.model import placement_options
from scheduler_core.model.options import REMEDIES_BY_DEFAULT
from scheduler_core.model.placement_options import BUDGET, DEVICE_TOPOLOGY, KUBERNETES, LARGEST_BUDGET, PLUGIN, RANK_ORDER, STRATEGY
from validators import rule_options
from validators.options import SWITCH, Option, OptionType, decode_names, items, names, one_of, whole_number

IGNORABLE = frozenset(
    {
        "spec.resourceClaims",
        "spec.topologySpreadConstraints",
        *(
            f"spec.volumes.{name}"
            for name in (
                *("persistentVolumeClaim", "ephemeral", "awsElasticBlockStore", "gcePersistentDisk", "azureDisk", "azureFile"),
                *("cinder", "portworxVolume", "vsphereVolume", "iscsi", "rbd"),
            )
        ),
    }
)
"""Fields of pods that can exclude nodes and are not modelled, or not in all cases."""


def _ignored(fields: tuple[str, ...]) -> frozenset[str]:
    for field in fields:
        if (bare := re.sub(r"\[\d+\]", "", field)) not in IGNORABLE:
            hint = near(bare, IGNORABLE) or f"; the fields are {', '.join(sorted(IGNORABLE))}"
            raise ValueError(f"{field!r} is not a field that can be ignored{hint}")
    return frozenset(fields)


def _admission_plugins(names: tuple[str, ...]) -> frozenset[str]:
    for name in names:
        if name not in ADMISSION_PLUGINS:
            hint = near(name, ADMISSION_PLUGINS)
            raise ValueError(
                f"{name!r} is no admission plugin that can be switched on{hint}; these are {', '.join(ADMISSION_PLUGINS)}:"
                " others are on by default, or change no field of pods that decides on nodes"
            )
    return frozenset(names)


def _decode_name(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("must be a name")
    return value


def _decode_configuration(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("must be a KubeSchedulerConfiguration")  # noqa: TRY004 - readers raise ValueError
    return value


def _with_key(option: Option[Any], decode: Callable[[object], Any]) -> Option[Any]:
    return dataclasses.replace(option, type=dataclasses.replace(option.type, decode=decode))


GATES = _with_key(rule_options.GATES, rule_options.decode_gate_switches)
"""The value of the key is the switches, which change the gates of the command line."""
SCHEDULER_CONFIG = _with_key(placement_options.SCHEDULER_CONFIG, _decode_configuration)
"""The value of the key is the object of the configuration, that of the command line the path of its file."""
REMEDIES = Option(
    "--remedies",
    whole_number(0, LARGEST_BUDGET, "ROOTS", unit="roots"),
    "Number of roots for which remedies are searched if they are not placed.",
    unset=f"{REMEDIES_BY_DEFAULT}; with greedy 0",
)
ORDER = Option("--order", names("ROOT,..."), "Order in which roots are scheduled; others follow by priority, age and name.")
EVICT = Option("--evict", SWITCH, "Evict the victims and run the next cycle too.")
SCHEDULER_NAME = Option("--scheduler-name", OptionType(lambda texts: texts[-1], _decode_name, "NAME"), "Place only pods of this scheduler.")
DRAIN = Option(
    "--drain",
    names("NODE|LABEL=VALUE,..."),
    "What if this node, or all nodes with this label (rack=r3), are removed; their pods become pending.",
)
CORDON = Option(
    "--cordon",
    names("NODE|LABEL=VALUE,..."),
    "What if this node, or all nodes with this label, take no new pods; running pods stay.",
)
ADD_NODES = Option(
    "--add-nodes",
    OptionType(node_addition.parse_additions, node_addition.decode_additions, "'N like NODE[,label=value...]'", repeatable=True),
    "What if there are N more nodes, new and empty (repeatable); or only N, with --like.",
)
LIKE = Option(
    "--like",
    OptionType(node_addition.parse_copied_nodes, node_addition.decode_copied_nodes, "NODE[,label=value...]", repeatable=True),
    "The node that --add-nodes N copies.",
)
IGNORE = Option(
    "--ignore",
    OptionType(lambda texts: _ignored(tuple(items(texts))), lambda value: _ignored(decode_names(value)), metavar="FIELD", repeatable=True),
    "Ignore a field that is not modelled (repeatable).",
)
ADMISSION_PLUGINS_ON = Option(
    "--admission-plugins",
    OptionType(
        lambda texts: _admission_plugins(tuple(items(texts))),
        lambda value: _admission_plugins(decode_names(value)),
        metavar="NAME,...",
        repeatable=True,
    ),
    f"Admission plugins of the API server that are on besides its defaults: {', '.join(ADMISSION_PLUGINS)} (repeatable).",
)
PLATFORM = Option(
    "--platform",
    one_of(tuple(MANAGED_CLUSTERS), str),
    "Managed cluster, whose admission plugins are on by its documentation, in addition to --admission-plugins.",
)
FRAGMENTATION = Option("--fragmentation", SWITCH, "Report the largest gang of each kind of pod that fits in one zone or rack now.")
TIMINGS = Option("--timings", SWITCH, "Report the duration in seconds.")
FOUR_STATUSES = Option("--four-statuses", SWITCH, "Report roots that no eviction can help, and do not try preemption for them (KEP-6012).")
NOMINATED_FIRST = Option("--nominated-first", SWITCH, "Use the domain of nominated pods if it is feasible (KEP-5732).")
PERCENTAGE_OF_PLACEMENTS = Option(
    "--percentage-of-placements",
    whole_number(0, 100),
    "Stop once N percent of the placements are feasible; 0: depends on their number (KEP-5732).  With Kubernetes 1.38, all placements"
    " are compared, and a note says when kube-scheduler stops earlier.",
    unset="100; with 1.38 that of the scheduler configuration, or 0",
)
EVERY_POD = Option("--every-pod", SWITCH, "Reject a domain if one pod of the group fits on no node of it (KEP-5732).")
PREEMPT_FOR_LEFTOVERS = Option("--preempt-for-leftovers", SWITCH, "Also preempt for additional pods of a running gang (KEP-6012).")

FIELDS: Mapping[Option[Any], tuple[str, ...]] = {
    STRATEGY: ("cycle", "strategy"),
    KUBERNETES: ("behavior",),
    RANK_ORDER: ("cycle", "rank_order"),
    GATES: ("cycle", "gates"),
    ORDER: ("cycle", "order"),
    EVICT: ("cycle", "evict"),
    TIMINGS: ("timings",),
    FRAGMENTATION: ("fragmentation",),
    NODES: ("nodes",),
    DRAIN: ("drain",),
    CORDON: ("cordon",),
    ADD_NODES: ("additions",),
    LIKE: ("additions",),
    SCHEDULER_NAME: ("cycle", "scheduler_name"),
    SCHEDULER_CONFIG: ("configuration",),
    DEVICE_TOPOLOGY: ("device_topology",),
    PLUGIN: ("cycle", "plugins"),
    BUDGET: ("cycle", "budget"),
    REMEDIES: ("remedies",),
    IGNORE: ("cycle", "ignore"),
    ADMISSION_PLUGINS_ON: ("admission_plugins",),
    POD_TEMPLATE: ("pod_templates",),
    PLATFORM: ("platform",),
    FOUR_STATUSES: ("cycle", "placing", "four_statuses"),
    NOMINATED_FIRST: ("cycle", "placing", "nominated_first"),
    PERCENTAGE_OF_PLACEMENTS: ("cycle", "placing", "percentage_of_placements"),
    EVERY_POD: ("cycle", "placing", "every_pod"),
    PREEMPT_FOR_LEFTOVERS: ("cycle", "placing", "preempt_for_leftovers"),
}
"""The field of the request that each option sets."""
BY_KEY: Mapping[str, Option[Any]] = {each.key: each for each in FIELDS}
"""The options by their keys in a batch line."""
BY_NAME: Mapping[str, Option[Any]] = {each.name: each for each in FIELDS}
"""The options by the names of their parameters."""
