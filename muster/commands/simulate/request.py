"""Request of a simulation: options of the command line, overridden by those of a line of a batch."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any

from muster.commands import options, placement_plugins
from muster.commands.simulate.what_if import Addition, WhatIfError
from scheduler_core.behavior.scheduler_behavior import BEHAVIORS, SchedulerBehavior
from scheduler_core.cycle.run_cycle import CycleOptions
from scheduler_core.loading.configuration.scheduler_configuration import SchedulerConfiguration, read_configuration
from scheduler_core.model.options import ON, STRATEGIES, SWITCH, is_device_attribute
from validators.gates import GateError, Gates

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


LARGEST_BUDGET = 100_000_000
"""Search steps: some minutes for a root."""


class InvalidOptions(ValueError):
    """Invalid options; the message is for users."""


@dataclasses.dataclass(frozen=True, slots=True)
class SimulationRequest:
    """Options of one simulation."""

    cycle: CycleOptions = dataclasses.field(default_factory=CycleOptions)
    drain: tuple[str, ...] = ()
    """Nodes to remove, by name or label."""
    additions: tuple[Addition, ...] = ()
    timings: bool = False
    remedies: int | None = None
    """Maximum number of roots for which remedies are searched; None: the default of the strategy."""
    fragmentation: bool = False
    configuration: SchedulerConfiguration | None = None
    """Scheduler configuration; None: one among the objects, or the defaults."""
    behavior: SchedulerBehavior | None = None
    """Version of kube-scheduler to mirror; None: that of the cluster."""
    device_topology: tuple[str, ...] = ()
    """Attributes of devices that are topology keys."""
    only_own: bool = False
    """Evict victims, and search remedies, only for the roots of the objects at PATH."""


def with_options(request: SimulationRequest, given: object) -> SimulationRequest:
    """Return *request* changed by the ``options`` of a line of a batch.

    Raises:
        InvalidOptions: an unknown option, or an invalid value.

    """
    if given is None:
        return request
    if not isinstance(given, Mapping):
        raise InvalidOptions("options must be an object")
    for key, value in _paired(given).items():
        if key not in _READERS:
            raise InvalidOptions(f"there is no option {key!r}{options.near(key, _READERS)}")
        request = _READERS[key](request, key, value)
    return request


def names(key: str, value: object) -> tuple[str, ...]:
    """Return the names in a list, or in a string with commas.

    Raises:
        InvalidOptions: it is neither.

    """
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
        raise InvalidOptions(f"option {key} must be a list of names")
    return tuple(each.strip() for each in value if each.strip())


def _paired(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return *given* with each number of ``addNodes`` joined to its ``like``: ``8`` and ``n1`` become ``8 like n1``.

    Raises:
        InvalidOptions: the numbers of both differ.

    """
    many, likes = (value if isinstance(value, (list, tuple)) else [value] for value in (given.get("addNodes", []), given.get("like", [])))
    numbers = [each for each in many if re.fullmatch(r"\s*-?\d+\s*", str(each))]
    if len(numbers) != len(likes) or not all(isinstance(each, str) for each in likes):
        count = f"{len(numbers)} and {len(likes)}"
        raise InvalidOptions(f"option addNodes: each number needs a node to copy, as in '8 like node-7'; numbers and nodes: {count}")
    if not numbers:
        return given
    remaining = iter(likes)
    whole = [f"{each} like {next(remaining)}" if each in numbers else each for each in many]
    return {**{key: value for key, value in given.items() if key != "like"}, "addNodes": whole}


def additions(texts: object) -> tuple[Addition, ...]:
    """Return the nodes to add, each as ``N like NODE[,label=value...]``.

    Raises:
        InvalidOptions: one has a wrong form.

    """
    listed = [texts] if isinstance(texts, str) else texts
    if not isinstance(listed, (list, tuple)) or not all(isinstance(each, str) for each in listed):
        raise InvalidOptions("option addNodes must be a list of strings such as '2 like node-1,topology.kubernetes.io/zone=z2'")
    try:
        return tuple(Addition.from_text(each) for each in listed)
    except WhatIfError as error:
        raise InvalidOptions(str(error)) from None


def _strategy(request: SimulationRequest, _: str, value: object) -> SimulationRequest:
    if value not in STRATEGIES:
        raise InvalidOptions(f"option strategy must be one of {', '.join(STRATEGIES)}, is {value!r}")
    return _cycle(request, strategy=value)


def _rank_order(request: SimulationRequest, key: str, value: object) -> SimulationRequest:
    if value not in SWITCH:
        raise InvalidOptions(f"option {key} must be one of {', '.join(SWITCH)}, is {value!r}")
    return _cycle(request, rank_order=value == ON)


def _kubernetes(request: SimulationRequest, key: str, value: object) -> SimulationRequest:
    if not isinstance(value, str) or value not in BEHAVIORS:
        raise InvalidOptions(f"option {key} must be one of {', '.join(BEHAVIORS)}, is {value!r}")
    return dataclasses.replace(request, behavior=BEHAVIORS[value])


def _gates(request: SimulationRequest, _: str, value: object) -> SimulationRequest:
    if not isinstance(value, Mapping) or not all(isinstance(on, bool) for on in value.values()):
        raise InvalidOptions("option gates must be an object of feature gates, each true or false")
    before = dict.fromkeys(request.cycle.gates.off, False)
    try:
        return _cycle(request, gates=Gates.from_switches([*before.items(), *value.items()]))
    except GateError as error:
        raise InvalidOptions(str(error)) from None


def _flag(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidOptions(f"option {key} must be true or false")
    return value


def _scheduler(request: SimulationRequest, key: str, value: object) -> SimulationRequest:
    if value is not None and not isinstance(value, str):
        raise InvalidOptions(f"option {key} must be a name")
    return _cycle(request, scheduler_name=value)


def _configuration(request: SimulationRequest, key: str, value: object) -> SimulationRequest:
    if isinstance(value, SchedulerConfiguration):
        return dataclasses.replace(request, configuration=value)
    if not isinstance(value, Mapping):
        raise InvalidOptions(f"option {key} must be a KubeSchedulerConfiguration")
    configuration = read_configuration(value)
    if configuration.errors:
        raise InvalidOptions(f"option {key}: {'; '.join(f'{each.path}: {each}' for each in configuration.errors)}")
    return dataclasses.replace(request, configuration=configuration)


def _device_topology(request: SimulationRequest, key: str, value: object) -> SimulationRequest:
    attributes = names(key, value)
    if wrong := [each for each in attributes if not is_device_attribute(each)]:
        raise InvalidOptions(f"option {key}: {wrong[0]!r} must be an attribute with its domain, such as gpu.example.com/clique")
    return dataclasses.replace(request, device_topology=attributes)


def _percentage(request: SimulationRequest, key: str, value: object) -> SimulationRequest:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 100:
        raise InvalidOptions(f"option {key} must be a number from 0 to 100")
    return _placing(request, percentage_of_placements=value)


def _ignore(request: SimulationRequest, key: str, value: object) -> SimulationRequest:
    fields = names(key, value)
    for field in fields:
        if (bare := re.sub(r"\[\d+\]", "", field)) not in IGNORABLE:
            near = options.near(bare, IGNORABLE) or f"; the fields are {', '.join(sorted(IGNORABLE))}"
            raise InvalidOptions(f"option ignore: {field!r} is not a field that can be ignored{near}")
    return _cycle(request, ignore=frozenset(fields))


def _plugin(request: SimulationRequest, key: str, value: object) -> SimulationRequest:
    plugin_names = names(key, value)
    # An empty list of a line overrides the command line.
    if not plugin_names and value != []:
        raise InvalidOptions(f"option {key} {value!r} {placement_plugins.NAMES_NONE}")
    try:
        return _cycle(request, plugins=placement_plugins.load(plugin_names))
    except placement_plugins.PluginError as error:
        raise InvalidOptions(str(error)) from None


def _remedies(request: SimulationRequest, key: str, value: object) -> SimulationRequest:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_BUDGET:
        raise InvalidOptions(f"option {key} must be a number of roots from 0 to {LARGEST_BUDGET}")
    return dataclasses.replace(request, remedies=value)


def _budget(request: SimulationRequest, key: str, value: object) -> SimulationRequest:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_BUDGET:
        raise InvalidOptions(f"option {key} must be a number of steps from 1 to {LARGEST_BUDGET}")
    return _cycle(request, budget=value)


def _cycle(request: SimulationRequest, **changes: Any) -> SimulationRequest:
    return dataclasses.replace(request, cycle=dataclasses.replace(request.cycle, **changes))


def _placing(request: SimulationRequest, **changes: Any) -> SimulationRequest:
    return _cycle(request, placing=dataclasses.replace(request.cycle.placing, **changes))


_READERS: dict[str, Callable[[SimulationRequest, str, object], SimulationRequest]] = {
    "strategy": _strategy,
    "rankOrder": _rank_order,
    "gates": _gates,
    "kubernetes": _kubernetes,
    "order": lambda request, key, value: _cycle(request, order=names(key, value)),
    "evict": lambda request, key, value: _cycle(request, evict=_flag(key, value)),
    "timings": lambda request, key, value: dataclasses.replace(request, timings=_flag(key, value)),
    "fragmentation": lambda request, key, value: dataclasses.replace(request, fragmentation=_flag(key, value)),
    "drain": lambda request, key, value: dataclasses.replace(request, drain=names(key, value)),
    "addNodes": lambda request, _, value: dataclasses.replace(request, additions=additions(value)),
    "schedulerName": _scheduler,
    "schedulerConfig": _configuration,
    "deviceTopology": _device_topology,
    "plugin": _plugin,
    "budget": _budget,
    "remedies": _remedies,
    "ignore": _ignore,
    "fourStatuses": lambda request, key, value: _placing(request, four_statuses=_flag(key, value)),
    "nominatedFirst": lambda request, key, value: _placing(request, nominated_first=_flag(key, value)),
    "percentageOfPlacements": _percentage,
    "everyPod": lambda request, key, value: _placing(request, every_pod=_flag(key, value)),
    "preemptForLeftovers": lambda request, key, value: _placing(request, preempt_for_leftovers=_flag(key, value)),
}
"""Reader of every option of a request, by the name of the option."""
